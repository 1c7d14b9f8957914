//! What one worker has counted. Integers only: sums do not depend on their order.

use seqloom_format::state::{MalformedState, State};
use seqloom_format::state_of_fields;

use super::covariates::{NO_CONTEXT, context_columns};
use super::{Event, QUALITIES, RecalibrationOptions};

/// One error in units of [`Cell::errors`] where base alignment quality shares errors between bases:
/// 30 times the smallest common multiple of 1 to 22. Shares of an error between up to 22 bases,
/// and most up to 40, are whole numbers of units, so that sums which end in exactly half of the
/// last decimal shown are rounded half up, whatever the order of reads (GATK's floating sums round
/// some of them down). A cell holds up to 2.6e9 errors then.
const SHARED_ERROR: u64 = 30 * 232_792_560;

impl RecalibrationOptions {
    /// One error in the units of [`Cell::errors`].
    pub(super) fn error_units(&self) -> u64 {
        if self.baq_gap_open_penalty.is_some() { SHARED_ERROR } else { 1 }
    }
}

/// Observations and errors with the same covariates.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) observations: u64,
    /// In units of `RecalibrationOptions::error_units`.
    pub(super) errors: u64,
}

impl Cell {
    fn add(&mut self, other: Self) {
        self.observations += other.observations;
        self.errors = self.errors.saturating_add(other.errors);
    }

    pub(super) fn is_empty(self) -> bool {
        self.observations == 0
    }
}

state_of_fields!(Cell { observations, errors });

/// Cycles for which there is room at first.
const FIRST_CYCLES: usize = 128;

/// The cells of one read group and event, one row per quality.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EventCounts {
    /// Largest cycle there is room for.
    cycles: usize,
    /// `2 * cycles + 1` cells a row: cycles from `-cycles` on; the middle one counts bases without
    /// cycle.
    by_cycle: Vec<Cell>,
    /// Cells a row.
    context_columns: usize,
    by_context: Vec<Cell>,
}

impl State for EventCounts {
    fn save(&self, out: &mut Vec<u8>) {
        (self.cycles, self.context_columns).save(out);
        (self.by_cycle.clone(), self.by_context.clone()).save(out);
    }

    fn load(bytes: &mut &[u8]) -> Result<Self, MalformedState> {
        let (cycles, context_columns) = <(usize, usize)>::load(bytes)?;
        let (by_cycle, by_context) = <(Vec<Cell>, Vec<Cell>)>::load(bytes)?;
        let row = cycles.checked_mul(2).and_then(|it| it.checked_add(1));
        let size = |row: usize| row.checked_mul(QUALITIES);
        let is_whole = row.and_then(size) == Some(by_cycle.len())
            && size(context_columns) == Some(by_context.len());
        let counts = Self { cycles, by_cycle, context_columns, by_context };
        if is_whole { Ok(counts) } else { Err(MalformedState) }
    }
}

impl EventCounts {
    fn new(context_bases: u8) -> Self {
        let context_columns = context_columns(context_bases);
        Self {
            cycles: FIRST_CYCLES,
            by_cycle: vec![Cell::default(); QUALITIES * (2 * FIRST_CYCLES + 1)],
            context_columns,
            by_context: vec![Cell::default(); QUALITIES * context_columns],
        }
    }

    /// Makes room for cycles of reads of `length` bases.
    fn reserve(&mut self, length: usize) {
        if length <= self.cycles {
            return;
        }
        let cycles = length.next_power_of_two();
        let mut by_cycle = vec![Cell::default(); QUALITIES * (2 * cycles + 1)];
        let (old_row, new_row) = (2 * self.cycles + 1, 2 * cycles + 1);
        let rows = self.by_cycle.chunks_exact(old_row).zip(by_cycle.chunks_exact_mut(new_row));
        for (old, new) in rows {
            let at = cycles - self.cycles;
            new[at..at + old_row].copy_from_slice(old);
        }
        (self.cycles, self.by_cycle) = (cycles, by_cycle);
    }

    /// The cells of one read's length, for [`Rows::count`].
    pub(super) fn rows(&mut self, length: usize) -> Rows<'_> {
        self.reserve(length);
        Rows {
            zero_cycle: self.cycles as i64,
            cycle_row: 2 * self.cycles + 1,
            by_cycle: &mut self.by_cycle,
            context_row: self.context_columns,
            by_context: &mut self.by_context,
        }
    }

    fn merge(&mut self, other: &Self) {
        self.reserve(other.cycles);
        let (row, other_row) = (2 * self.cycles + 1, 2 * other.cycles + 1);
        let at = self.cycles - other.cycles;
        let rows = self.by_cycle.chunks_exact_mut(row).zip(other.by_cycle.chunks_exact(other_row));
        for (row, other) in rows {
            row[at..].iter_mut().zip(other).for_each(|(cell, other)| cell.add(*other));
        }
        self.by_context.iter_mut().zip(&other.by_context).for_each(|(cell, it)| cell.add(*it));
    }

    /// All of a quality.
    pub(super) fn quality(&self, quality: u8) -> Cell {
        let mut sum = Cell::default();
        self.cycle_cells(quality).iter().for_each(|cell| sum.add(*cell));
        sum
    }

    fn cycle_cells(&self, quality: u8) -> &[Cell] {
        let row = 2 * self.cycles + 1;
        &self.by_cycle[usize::from(quality) * row..][..row]
    }

    /// The cycles of a quality, and what was counted there.
    pub(super) fn by_cycle(&self, quality: u8) -> impl Iterator<Item = (i32, Cell)> {
        let cells = self.cycle_cells(quality).iter().enumerate();
        let cells = cells.map(|(at, cell)| (at as i32 - self.cycles as i32, *cell));
        cells.filter(|(cycle, cell)| *cycle != 0 && !cell.is_empty())
    }

    /// The context columns of a quality, and what was counted there.
    pub(super) fn by_context(&self, quality: u8) -> impl Iterator<Item = (usize, Cell)> {
        let row = &self.by_context[usize::from(quality) * self.context_columns..];
        let cells = row[..self.context_columns].iter().copied().enumerate();
        cells.filter(|(_, cell)| !cell.is_empty())
    }
}

/// The cells of a read's group and event, with room for its length.
pub(super) struct Rows<'a> {
    zero_cycle: i64,
    cycle_row: usize,
    by_cycle: &'a mut [Cell],
    context_row: usize,
    by_context: &'a mut [Cell],
}

impl Rows<'_> {
    /// Counts one base of `quality` (0..=93, checked) at a signed cycle, or 0 for none.
    #[inline]
    pub(super) fn count(&mut self, quality: u8, cycle: i64, context: u16, errors: u64) {
        let quality = usize::from(quality);
        let column = (self.zero_cycle + cycle) as usize;
        let cell = &mut self.by_cycle[quality * self.cycle_row + column];
        cell.observations += 1;
        cell.errors += errors;
        if context != NO_CONTEXT {
            let cell = &mut self.by_context[quality * self.context_row + usize::from(context)];
            cell.observations += 1;
            cell.errors += errors;
        }
    }
}

/// The cells of one read group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GroupCounts {
    pub(super) mismatches: EventCounts,
    /// Insertions and deletions.
    pub(super) indels: Option<[EventCounts; 2]>,
}

impl GroupCounts {
    fn new(options: &RecalibrationOptions) -> Self {
        let indels = || EventCounts::new(options.indels_context_bases);
        Self {
            mismatches: EventCounts::new(options.mismatches_context_bases),
            indels: options.indel_tables.then(|| [indels(), indels()]),
        }
    }

    /// Events that are counted, with their cells.
    pub(super) fn events(&self) -> impl Iterator<Item = (Event, &EventCounts)> {
        let indels = self.indels.iter().flat_map(|[insertions, deletions]| {
            [(Event::Insertion, insertions), (Event::Deletion, deletions)]
        });
        indels.chain([(Event::Mismatch, &self.mismatches)])
    }

    fn events_mut(&mut self) -> impl Iterator<Item = &mut EventCounts> {
        self.indels.iter_mut().flatten().chain([&mut self.mismatches])
    }
}

/// What one worker has counted: per read group about 0.5 MB for reads of up to 128 bases, 0.9 MB
/// for 256, allocated when the first read of a group is counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    groups: Vec<Option<Box<GroupCounts>>>,
}

impl State for Counts {
    fn save(&self, out: &mut Vec<u8>) {
        self.groups.len().save(out);
        for group in &self.groups {
            group.is_some().save(out);
            if let Some(GroupCounts { mismatches, indels }) = group.as_deref() {
                mismatches.save(out);
                indels.save(out);
            }
        }
    }

    fn load(bytes: &mut &[u8]) -> Result<Self, MalformedState> {
        let count = usize::load(bytes)?;
        let mut groups = Vec::new();
        for _ in 0..count {
            groups.push(if bool::load(bytes)? {
                let (mismatches, indels) = State::load(bytes)?;
                Some(Box::new(GroupCounts { mismatches, indels }))
            } else {
                None
            });
        }
        Ok(Self { groups })
    }
}

impl Counts {
    /// Nothing counted yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds what another worker has counted with the same options and header.
    pub fn merge(&mut self, other: &Self) {
        if self.groups.len() < other.groups.len() {
            self.groups.resize(other.groups.len(), None);
        }
        for (group, other) in self.groups.iter_mut().zip(&other.groups) {
            match (group, other) {
                (_, None) => {}
                (None, Some(_)) => {}
                (Some(group), Some(other)) => {
                    let events = group.events_mut().zip(other.events().map(|(_, it)| it));
                    events.for_each(|(event, other)| event.merge(other));
                }
            }
        }
        for (group, other) in self.groups.iter_mut().zip(&other.groups) {
            if group.is_none() {
                group.clone_from(other);
            }
        }
    }

    /// The cells of a group, made if there are none yet.
    pub(super) fn group(
        &mut self,
        group: usize,
        options: &RecalibrationOptions,
    ) -> &mut GroupCounts {
        if self.groups.len() <= group {
            self.groups.resize(group + 1, None);
        }
        self.groups[group].get_or_insert_with(|| Box::new(GroupCounts::new(options)))
    }

    /// Groups with counts, by index.
    pub(super) fn groups(&self) -> impl Iterator<Item = (usize, &GroupCounts)> {
        let groups = self.groups.iter().enumerate();
        groups.filter_map(|(index, group)| Some((index, group.as_deref()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Base: group, length of the read, quality, cycle, context, errors.
    type Base = (usize, usize, u8, i64, u16, u64);

    fn base() -> impl Strategy<Value = Base> {
        (0..3_usize, 1..600_usize, 0..94_u8, any::<bool>(), 0..18_u16, 0..2_u64).prop_map(
            |(group, length, quality, negative, context, errors)| {
                let cycle = if negative { -(length as i64) } else { length as i64 };
                let context = if context == 17 { NO_CONTEXT } else { context };
                (group, length, quality, cycle, context, errors)
            },
        )
    }

    fn counted(bases: &[Base]) -> Counts {
        let options = RecalibrationOptions { indel_tables: true, ..Default::default() };
        let mut counts = Counts::new();
        for &(group, length, quality, cycle, context, errors) in bases {
            let group = counts.group(group, &options);
            group.mismatches.rows(length).count(quality, cycle, context, errors);
            let indels = group.indels.as_mut().unwrap();
            indels[usize::from(quality % 2)].rows(length).count(quality, 0, context, errors);
        }
        counts
    }

    /// Everything in the counts, by its keys.
    fn content(counts: &Counts) -> Vec<(usize, Event, u8, i32, usize, Cell)> {
        let mut content = Vec::new();
        for (index, group) in counts.groups() {
            for (event, cells) in group.events() {
                for quality in 0..94 {
                    let key = |cycle, context, cell| (index, event, quality, cycle, context, cell);
                    content.push(key(0, 99, cells.quality(quality)));
                    content.extend(cells.by_cycle(quality).map(|(it, cell)| key(it, 99, cell)));
                    content.extend(cells.by_context(quality).map(|(it, cell)| key(0, it, cell)));
                }
            }
        }
        content.retain(|it| !it.5.is_empty());
        content
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn workers_count_what_one_counts(
            bases in prop::collection::vec(base(), 0..60),
            cut in 0..60_usize,
        ) {
            let cut = cut.min(bases.len());
            let whole = counted(&bases);
            let mut parts = counted(&bases[cut..]);
            parts.merge(&counted(&bases[..cut]));
            prop_assert_eq!(content(&parts), content(&whole));
            let saved = whole.to_state();
            prop_assert_eq!(Counts::from_state(&saved), Ok(whole.clone()));
            if !saved.is_empty() {
                prop_assert!(Counts::from_state(&saved[..saved.len() - 1]).is_err());
            }
            let content = content(&whole);
            let of_qualities = content.iter().filter(|it| it.3 == 0 && it.4 == 99);
            let observations: u64 = of_qualities.map(|it| it.5.observations).sum();
            prop_assert_eq!(observations, 2 * bases.len() as u64);
        }
    }
}
