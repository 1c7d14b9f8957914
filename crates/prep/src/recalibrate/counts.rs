//! What was counted, by read group, quality and covariate. Integers only: sums do not depend on
//! their order.
//!
//! [`Counts`] are cells in tables of a size that is known beforehand, which any number of workers
//! may share; [`EventRow`] has the cells of one quality that are not empty, to be stored.

use std::sync::Mutex;

use seqloom_format::{MalformedState, Persist, persist_fields};
use seqloom_runtime::failure::lock;

use super::covariates::{NO_CONTEXT, context_columns};
use super::{Event, QUALITIES, RecalibrationOptions};

/// One error in units of [`Cell::errors`] where base alignment quality shares errors between bases:
/// 30 times the smallest common multiple of 1 to 22. Shares of an error between up to 22 bases,
/// and most up to 40, are whole numbers of units, so that sums which end in exactly half of the
/// last decimal shown are rounded half up, whatever the order of reads (GATK's floating sums round
/// some of them down). A cell holds up to 2.6e9 errors then.
const SHARED_ERROR: u64 = 30 * 232_792_560;

/// The row of a quality that is not counted.
const NO_ROW: u32 = u32::MAX;

impl RecalibrationOptions {
    /// One error in the units of [`Cell::errors`].
    pub(super) fn error_units(&self) -> u64 {
        if self.baq_gap_open_penalty.is_some() { SHARED_ERROR } else { 1 }
    }

    /// Events that are counted, with the bases of their contexts.
    fn events(&self) -> impl Iterator<Item = (Event, u8)> {
        let indels = [Event::Insertion, Event::Deletion].map(|it| (it, self.indels_context_bases));
        let indels = indels.into_iter().filter(|_| self.indel_tables);
        indels.chain([(Event::Mismatch, self.mismatches_context_bases)])
    }

    /// Memory of the cells of one quality of a read group, of reads of up to `cycles` bases.
    pub(super) fn row_bytes(&self, cycles: u32) -> u64 {
        let cells = |(_, bases)| row_cells(cycles as usize, context_columns(bases)) as u64;
        self.events().map(cells).sum::<u64>() * size_of::<RawCell>() as u64
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
    pub(super) fn add(&mut self, other: Self) {
        self.observations += other.observations;
        self.errors = self.errors.saturating_add(other.errors);
    }

    fn is_empty(self) -> bool {
        self.observations == 0
    }
}

persist_fields!(Cell { observations, errors });

/// Observations and errors of a [`Cell`]. Arrays of zeros come from the system as they are, so that
/// cells which nobody counts take no memory.
type RawCell = [u64; 2];

fn cell([observations, errors]: RawCell) -> Cell {
    Cell { observations, errors }
}

/// Qualities of a read group that are counted, and for how long reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Extent {
    /// A bit for each quality.
    pub(super) qualities: u128,
    /// Bases of the longest read.
    pub(super) cycles: u32,
}

impl Extent {
    /// All qualities, for reads of up to `cycles` bases.
    pub(super) fn all(cycles: u32) -> Self {
        Self { qualities: (1 << QUALITIES) - 1, cycles }
    }

    pub(super) fn rows(self) -> u64 {
        self.qualities.count_ones().into()
    }

    /// Union of the two.
    pub(super) fn union(self, other: Self) -> Self {
        let Self { qualities, cycles } = other;
        Self { qualities: self.qualities | qualities, cycles: self.cycles.max(cycles) }
    }
}

/// Cells of a quality: cycles from `-cycles` on, of which the middle one counts bases without
/// cycle, then contexts.
fn row_cells(cycles: usize, context_columns: usize) -> usize {
    2 * cycles + 1 + context_columns
}

/// What was counted of one event and quality of a read group: the cells that are not empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EventRow {
    pub(super) event: Event,
    /// All together.
    pub(super) total: Cell,
    /// By column.
    pub(super) by_context: Vec<(u32, Cell)>,
    /// By cycle, which is not 0.
    pub(super) by_cycle: Vec<(i32, Cell)>,
}

impl Persist for Event {
    fn save(&self, out: &mut Vec<u8>) {
        (*self as u8).save(out);
    }

    fn load(bytes: &mut &[u8]) -> Result<Self, MalformedState> {
        let number = u8::load(bytes)?;
        Self::ALL.into_iter().find(|event| *event as u8 == number).ok_or(MalformedState)
    }
}

persist_fields!(EventRow { event, total, by_context, by_cycle });

impl EventRow {
    /// Adds other cells of the same event, quality and read group.
    fn add(&mut self, other: &Self) {
        self.total.add(other.total);
        add_cells(&mut self.by_context, &other.by_context);
        add_cells(&mut self.by_cycle, &other.by_cycle);
    }
}

/// Adds the cells of `others`; both are in the order of their keys.
fn add_cells<K: Ord + Copy>(cells: &mut Vec<(K, Cell)>, others: &[(K, Cell)]) {
    cells.extend_from_slice(others);
    cells.sort_by_key(|&(key, _)| key);
    cells.dedup_by(|next, sum| {
        let is_same = next.0 == sum.0;
        if is_same {
            sum.1.add(next.1);
        }
        is_same
    });
}

/// Adds the rows of `others`, of the same quality and read group.
pub(super) fn add_rows(rows: &mut Vec<EventRow>, others: Vec<EventRow>) {
    for other in others {
        match rows.iter_mut().find(|row| row.event == other.event) {
            Some(row) => row.add(&other),
            None => rows.push(other),
        }
    }
    rows.sort_by_key(|row| row.event);
}

/// The cells of one read group and event.
#[derive(Debug)]
pub(super) struct EventCounts {
    event: Event,
    /// Largest cycle there is room for.
    cycles: usize,
    context_columns: usize,
    /// The first cell of each quality's row, or [`NO_ROW`].
    rows: [u32; QUALITIES],
    cells: Vec<RawCell>,
}

impl EventCounts {
    fn new(event: Event, context_bases: u8, extent: Extent) -> Self {
        let (cycles, context_columns) = (extent.cycles as usize, context_columns(context_bases));
        let (mut rows, mut cells) = ([NO_ROW; QUALITIES], 0);
        for (quality, row) in rows.iter_mut().enumerate() {
            if extent.qualities >> quality & 1 == 1 {
                *row = cells as u32;
                cells += row_cells(cycles, context_columns);
            }
        }
        Self { event, cycles, context_columns, rows, cells: vec![[0; 2]; cells] }
    }

    /// The cells, for [`Rows::count`].
    pub(super) fn rows(&mut self) -> Rows<'_> {
        Rows {
            zero_cycle: self.cycles as i64,
            first_context: 2 * self.cycles + 1,
            row_cells: row_cells(self.cycles, self.context_columns),
            rows: &self.rows,
            cells: &mut self.cells,
        }
    }

    /// Adds cells of the same size.
    fn merge(&mut self, other: &Self) {
        for (sum, &[observations, errors]) in self.cells.iter_mut().zip(&other.cells) {
            sum[0] += observations;
            sum[1] = sum[1].saturating_add(errors);
        }
    }

    /// The cells of a quality that are not empty, if there are any.
    fn row(&self, quality: u8) -> Option<EventRow> {
        let first = self.rows[usize::from(quality)];
        let row = self.cells.get(first as usize..)?;
        let (by_cycle, by_context) = row.split_at(2 * self.cycles + 1);
        let by_cycle = by_cycle.iter().zip(-(self.cycles as i32)..);
        let by_cycle = by_cycle.map(|(&raw, cycle)| (cycle, cell(raw)));
        let by_cycle: Vec<_> = by_cycle.filter(|(_, cell)| !cell.is_empty()).collect();
        let mut total = Cell::default();
        by_cycle.iter().for_each(|&(_, cell)| total.add(cell));
        let by_context = by_context[..self.context_columns].iter().zip(0..);
        let by_context = by_context.map(|(&raw, column)| (column, cell(raw)));
        (!total.is_empty()).then(|| EventRow {
            event: self.event,
            total,
            by_context: by_context.filter(|(_, cell)| !cell.is_empty()).collect(),
            by_cycle: by_cycle.into_iter().filter(|&(cycle, _)| cycle != 0).collect(),
        })
    }
}

/// The cells of a read's group and event.
pub(super) struct Rows<'a> {
    zero_cycle: i64,
    first_context: usize,
    row_cells: usize,
    rows: &'a [u32; QUALITIES],
    cells: &'a mut [RawCell],
}

impl Rows<'_> {
    /// Counts one base of `quality` (0..=93, checked) at a signed cycle, or 0 for none; not where
    /// the quality has no row.
    #[inline]
    pub(super) fn count(&mut self, quality: u8, cycle: i64, context: u16, errors: u64) {
        let first = self.rows[usize::from(quality)];
        if first == NO_ROW {
            return;
        }
        let row = &mut self.cells[first as usize..][..self.row_cells];
        let cell = &mut row[(self.zero_cycle + cycle) as usize];
        cell[0] += 1;
        cell[1] += errors;
        if context != NO_CONTEXT {
            let cell = &mut row[self.first_context + usize::from(context)];
            cell[0] += 1;
            cell[1] += errors;
        }
    }
}

/// The cells of one read group.
#[derive(Debug)]
pub(super) struct GroupCounts {
    pub(super) mismatches: EventCounts,
    /// Insertions and deletions.
    pub(super) indels: Option<[EventCounts; 2]>,
}

impl GroupCounts {
    fn new(options: &RecalibrationOptions, extent: Extent) -> Self {
        let bases = options.indels_context_bases;
        let indels = |event| EventCounts::new(event, bases, extent);
        Self {
            mismatches: EventCounts::new(Event::Mismatch, options.mismatches_context_bases, extent),
            indels: options
                .indel_tables
                .then(|| [indels(Event::Insertion), indels(Event::Deletion)]),
        }
    }

    fn merge(&mut self, other: &Self) {
        self.mismatches.merge(&other.mismatches);
        let both = self.indels.iter_mut().flatten().zip(other.indels.iter().flatten());
        both.for_each(|(indels, other)| indels.merge(other));
    }

    /// Counts of a quality, by event.
    pub(super) fn row(&self, quality: u8) -> Vec<EventRow> {
        let events = self.indels.iter().flatten().chain([&self.mismatches]);
        let mut rows: Vec<_> = events.filter_map(|event| event.row(quality)).collect();
        rows.sort_by_key(|row| row.event);
        rows
    }
}

/// What was counted of reads: the cells of each read group, made when its first read is counted.
#[derive(Debug)]
pub struct Counts {
    options: RecalibrationOptions,
    /// Extents that there is room for; all read groups have the same options.
    extents: Vec<Extent>,
    groups: Vec<Mutex<Option<Box<GroupCounts>>>>,
}

impl Counts {
    /// Nothing counted yet, with room for so much of each read group.
    pub(super) fn new(options: &RecalibrationOptions, extents: &[Extent]) -> Self {
        let groups = extents.iter().map(|_| Mutex::default()).collect();
        Self { options: options.clone(), extents: extents.to_vec(), groups }
    }

    /// Whether anything of a read group is counted here.
    pub(super) fn wants(&self, group: usize) -> bool {
        self.extents.get(group).is_some_and(|extent| extent.qualities != 0)
    }

    /// Adds what other workers have counted with the same options, header and room.
    pub(crate) fn merge(&mut self, other: Self) {
        for (group, other) in self.groups.iter().zip(other.groups) {
            let Some(other) = lock(&other).take() else { continue };
            match &mut *lock(group) {
                Some(group) => group.merge(&other),
                none => *none = Some(other),
            }
        }
    }

    /// Shows `change` the cells of a group that is requested.
    pub(super) fn with_group<T>(
        &self,
        group: usize,
        change: impl FnOnce(&mut GroupCounts) -> T,
    ) -> Option<T> {
        let (slot, &extent) = (self.groups.get(group)?, self.extents.get(group)?);
        let mut slot = lock(slot);
        let make = || Box::new(GroupCounts::new(&self.options, extent));
        Some(change(slot.get_or_insert_with(make)))
    }

    /// Takes the groups with counts, by index.
    pub(super) fn take_groups(&self) -> impl Iterator<Item = (usize, Box<GroupCounts>)> {
        let groups = self.groups.iter().enumerate();
        groups.filter_map(|(index, group)| Some((index, lock(group).take()?)))
    }

    /// Shows the rows of all groups, by group and quality.
    pub(super) fn for_each_row(&self, mut show: impl FnMut(usize, u8, &[EventRow])) {
        for (index, group) in self.groups.iter().enumerate() {
            let group = lock(group);
            for quality in 0..QUALITIES as u8 {
                let rows = group.as_ref().map(|group| group.row(quality)).unwrap_or_default();
                show(index, quality, &rows);
            }
        }
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

    fn counted(bases: &[Base], extents: &[Extent]) -> Counts {
        let options = RecalibrationOptions { indel_tables: true, ..Default::default() };
        let counts = Counts::new(&options, extents);
        for &(group, _, quality, cycle, context, errors) in bases {
            counts.with_group(group, |group| {
                group.mismatches.rows().count(quality, cycle, context, errors);
                let indels = group.indels.as_mut().unwrap();
                indels[usize::from(quality % 2)].rows().count(quality, 0, context, errors);
            });
        }
        counts
    }

    /// Everything in the counts, by its keys.
    fn content(counts: &Counts) -> Vec<(usize, u8, Vec<EventRow>)> {
        let mut content = Vec::new();
        counts.for_each_row(|group, quality, rows| content.push((group, quality, rows.to_vec())));
        content.retain(|it| !it.2.is_empty());
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
            let all = [Extent::all(600); 3];
            let whole = counted(&bases, &all);
            let mut parts = counted(&bases[cut..], &all);
            parts.merge(counted(&bases[..cut], &all));
            prop_assert_eq!(content(&parts), content(&whole));
            for (_, _, rows) in content(&whole) {
                let saved = rows.to_state();
                prop_assert_eq!(Vec::<EventRow>::from_state(&saved), Ok(rows));
                prop_assert!(Vec::<EventRow>::from_state(&saved[..saved.len() - 1]).is_err());
            }
            let content = content(&whole);
            let totals = content.iter().flat_map(|(.., rows)| rows);
            let observations: u64 = totals.map(|row| row.total.observations).sum();
            prop_assert_eq!(observations, 2 * bases.len() as u64);
        }

        #[test]
        fn some_qualities_at_a_time_are_all_together(
            bases in prop::collection::vec(base(), 0..60),
            first in any::<u128>(),
        ) {
            let all = Extent::all(600);
            let mut cycles = [1; 3];
            bases.iter().for_each(|it| cycles[it.0] = cycles[it.0].max(it.1 as u32));
            let halves = [first, !first].map(|qualities| {
                let qualities = qualities & all.qualities;
                content(&counted(&bases, &cycles.map(|cycles| Extent { qualities, cycles })))
            });
            let mut parts = halves.concat();
            parts.sort_by_key(|it| (it.0, it.1));
            prop_assert_eq!(parts, content(&counted(&bases, &[all; 3])));
        }

        #[test]
        fn rows_of_parts_add_up(
            bases in prop::collection::vec(base(), 0..60),
            cut in 0..60_usize,
        ) {
            let cut = cut.min(bases.len());
            let all = [Extent::all(600); 3];
            let mut sums = std::collections::BTreeMap::<_, Vec<EventRow>>::new();
            for part in [&bases[..cut], &bases[cut..]] {
                for (group, quality, rows) in content(&counted(part, &all)) {
                    add_rows(sums.entry((group, quality)).or_default(), rows);
                }
            }
            let sums: Vec<_> = sums.into_iter().map(|(key, rows)| (key.0, key.1, rows)).collect();
            prop_assert_eq!(sums, content(&counted(&bases, &all)));
        }
    }

    #[test]
    fn memory_is_that_of_the_cells() {
        let options = RecalibrationOptions { indel_tables: true, ..Default::default() };
        let extent = Extent { qualities: 0b1011, cycles: 70 };
        let group = GroupCounts::new(&options, extent);
        let events = group.indels.iter().flatten().chain([&group.mismatches]);
        let bytes: usize = events.map(|it| std::mem::size_of_val(&it.cells[..])).sum();
        assert_eq!(bytes as u64, extent.rows() * options.row_bytes(extent.cycles));
    }
}
