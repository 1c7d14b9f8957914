//! Applying a table: new qualities, by looking them up.

use std::collections::HashMap;

use seqloom_format::bam::{AuxFields, Flags, Header, RecordError, RecordRef};
use seqloom_runtime::error::{Class, Place, RunError};

use super::applied::{Applied, AppliedCounts, Unfit};
use super::count::{check_qualities, lengths, name, take_tag, unfit, unknown_group};
use super::covariates::{
    Cycles, NO_CONTEXT, SequencedBases, context_columns, contexts, cycles, is_second,
};
use super::datum::Datum;
use super::prepare::unpack;
use super::quantize::Quantization;
use super::read_groups::{LastGroup, ReadGroups};
use super::table::{Covariate, CovariateRow};
use super::view::{TableError, TableView};
use super::{Event, MAX_QUALITY, QUALITIES, RecalibrationError, RecalibrationOptions};

/// Qualities below are never changed by static quantization: they are codes of the sequencer.
const MIN_USABLE_QUALITY: usize = 6;

/// Use of the levels of dynamic quantization.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DynamicQuantization {
    /// Nothing (`--quantize-quals 0`).
    #[default]
    Off,
    /// Levels of the report (`--quantize-quals -1`).
    AsReported,
    /// So many are made (`--quantize-quals N`).
    Levels(u8),
}

/// How a table is applied. The defaults are GATK's.
#[derive(Debug, Clone, PartialEq)]
pub struct ApplyOptions {
    /// The levels that qualities are set to, in any order (`--static-quantized-quals`); none for
    /// no static quantization.
    pub static_quantized: Vec<u8>,
    /// To the level below, not to the nearest one (`--round-down-quantized`).
    pub round_down: bool,
    /// Dynamic quantization (`--quantize-quals`).
    pub quantize_levels: DynamicQuantization,
    /// Lower qualities are left as they are (`--preserve-qscores-less-than`).
    pub preserve_below: u8,
    /// Put the old qualities into an `OQ` tag where there is none (`--emit-original-quals`).
    pub emit_original: bool,
    /// Start from the qualities of the `OQ` tag where there is one (`--use-original-qualities`).
    pub use_original: bool,
    /// The quality expected of every read group, instead of what it reports
    /// (`--global-qscore-prior`).
    pub global_prior: Option<f64>,
    /// Only quantize reads whose read group the table does not have, instead of failing
    /// (`--allow-missing-read-group`).
    pub allow_missing_read_group: bool,
}

impl Default for ApplyOptions {
    fn default() -> Self {
        Self {
            static_quantized: Vec::new(),
            round_down: false,
            quantize_levels: DynamicQuantization::Off,
            preserve_below: 6,
            emit_original: false,
            use_original: false,
            global_prior: None,
            allow_missing_read_group: false,
        }
    }
}

/// Why a table cannot be applied.
#[derive(Debug, thiserror::Error)]
pub enum ApplierError {
    /// An option is out of its bounds.
    #[error(transparent)]
    Options(#[from] RecalibrationError),
    /// The table cannot be read.
    #[error(transparent)]
    Table(#[from] TableError),
}

impl RunError for ApplierError {
    fn class(&self) -> Class {
        match self {
            Self::Options(options) => options.class(),
            Self::Table(table) => table.class(),
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::Options(options) => options.place(),
            Self::Table(table) => table.place(),
        }
    }
}

/// Working memory, kept from record to record.
#[derive(Debug, Default)]
pub struct ApplyScratch {
    codes: Vec<u8>,
    qualities: Vec<u8>,
    contexts: Vec<u16>,
    last_group: LastGroup,
    counts: AppliedCounts,
    /// Records of read groups that the table does not have, by index of the group.
    missing: Vec<u64>,
}

/// The cycle of a row, without its sign, if it is one of mismatches by cycle.
fn cycle_of_mismatches(row: &CovariateRow) -> Option<i64> {
    match (row.event, row.covariate) {
        (Event::Mismatch, Covariate::Cycle(cycle)) => Some(i64::from(cycle).abs()),
        _ => None,
    }
}

/// Cells of a table of what cycles add.
fn by_cycle_cells(cycles: i64) -> usize {
    QUALITIES * (2 * cycles as usize + 1)
}

/// Changes of quality in one read group.
#[derive(Debug)]
struct GroupQualities {
    context_columns: usize,
    /// Quality by quality and context: [`QUALITIES`] rows, the last column for bases without.
    by_context: Vec<i16>,
    /// Largest cycle in the table.
    cycles: i64,
    /// Difference of each cycle: one row of [`QUALITIES`] for each cycle from `-cycles` on.
    by_cycle: Vec<i8>,
}

impl GroupQualities {
    /// Of the group `group` of a table; `None` if it has no mismatches there.
    fn new(
        view: TableView<'_>,
        group: usize,
        prior: Option<f64>,
    ) -> Result<Option<Self>, TableError> {
        let table = view.table;
        let Some(of_group) = table.by_group.get(&(group, Event::Mismatch)) else { return Ok(None) };
        let of_group = of_group.empirical_quality(prior.unwrap_or(of_group.reported));
        let base: [u8; QUALITIES] = std::array::from_fn(|quality| {
            let datum = table.by_quality.get(&(group, quality as u8, Event::Mismatch));
            datum.map_or(of_group, |datum| datum.empirical_quality(of_group.into()))
        });
        let context_columns = context_columns(table.arguments.mismatches_context_bases) + 1;
        let mut cycles = 0;
        view.for_each_quality(group, |rows| {
            cycles = rows.iter().filter_map(cycle_of_mismatches).fold(cycles, i64::max);
            Ok(())
        })?;
        let mut qualities = Self {
            context_columns,
            by_context: base
                .iter()
                .flat_map(|&quality| std::iter::repeat_n(i16::from(quality), context_columns))
                .collect(),
            cycles,
            by_cycle: vec![0; by_cycle_cells(cycles)],
        };
        view.for_each_quality(group, |rows| {
            for row in rows.iter().filter(|row| row.event == Event::Mismatch) {
                let base = base[usize::from(row.quality)];
                qualities.set(row.quality, row.covariate, &row.datum, base);
            }
            Ok(())
        })?;
        Ok(Some(qualities))
    }

    /// Notes what one covariate changes, given the quality without it.
    fn set(&mut self, quality: u8, covariate: Covariate, datum: &Datum, base: u8) {
        let change = i16::from(datum.empirical_quality(base.into())) - i16::from(base);
        let quality = usize::from(quality);
        match covariate {
            Covariate::Context(column) => {
                self.by_context[quality * self.context_columns + column] += change;
            }
            Covariate::Cycle(cycle) => {
                let row = (i64::from(cycle) + self.cycles) as usize;
                // Empirical qualities are at most 60.
                self.by_cycle[row * QUALITIES + quality] = change as i8;
            }
        }
    }

    /// New qualities of a read, below `preserve_below` as they were. `levels` maps what comes out.
    fn apply(
        &self,
        qualities: &mut [u8],
        contexts: &[u16],
        cycles: Cycles,
        preserve_below: u8,
        levels: &[u8; QUALITIES],
    ) {
        let mut row = (cycles.first + self.cycles) * QUALITIES as i64;
        for (quality, &context) in qualities.iter_mut().zip(contexts) {
            if *quality >= preserve_below {
                let old = usize::from(*quality);
                let context = match context {
                    NO_CONTEXT => self.context_columns - 1,
                    context => usize::from(context),
                };
                let by_context = self.by_context[old * self.context_columns + context];
                // Cycles that the table does not have are outside, at either end.
                let at = usize::try_from(row + old as i64).unwrap_or(usize::MAX);
                let by_cycle = if row < 0 { None } else { self.by_cycle.get(at) };
                let new = by_context + i16::from(by_cycle.copied().unwrap_or(0));
                *quality = levels[usize::from(new.clamp(1, MAX_QUALITY.into()) as u8)];
            }
            row += cycles.step * QUALITIES as i64;
        }
    }
}

/// Applies a table to records (ApplyBQSR).
#[derive(Debug)]
pub struct Applier {
    options: ApplyOptions,
    groups: ReadGroups,
    /// By index of name in `groups`; `None` where the table does not have the group.
    qualities: Vec<Option<GroupQualities>>,
    lengths: Vec<u32>,
    max_cycle: u32,
    context_bases: u8,
    low_quality_tail: u8,
    /// Level of each new quality.
    levels: [u8; QUALITIES],
}

impl Applier {
    /// For records with this header.
    ///
    /// # Errors
    /// An option is out of bounds, or the table cannot be read.
    pub fn new(
        view: TableView<'_>,
        options: &ApplyOptions,
        header: &Header,
    ) -> Result<Self, ApplierError> {
        let table = view.table;
        let too_high = options.static_quantized.iter().any(|&level| level > MAX_QUALITY);
        if too_high || options.preserve_below > MAX_QUALITY {
            return Err(RecalibrationError::BadOption("qualities must be 0 to 93").into());
        }
        let is_dynamic = options.quantize_levels != DynamicQuantization::Off;
        if is_dynamic && !options.static_quantized.is_empty() {
            let problem = "static and dynamic quantization cannot be used together";
            return Err(RecalibrationError::BadOption(problem).into());
        }
        let prior = options.global_prior.filter(|&prior| prior > 0.0);
        if options.global_prior.is_some_and(|prior| !prior.is_finite()) {
            let problem = "the global prior must be a quality";
            return Err(RecalibrationError::BadOption(problem).into());
        }
        let groups = ReadGroups::new(header);
        let in_table: HashMap<&str, usize> =
            table.read_groups.iter().enumerate().map(|(at, name)| (name.as_str(), at)).collect();
        let mut qualities = Vec::new();
        for name in groups.names() {
            let at = in_table.get(name.as_str());
            let of_group = at.map(|&at| GroupQualities::new(view, at, prior)).transpose()?;
            qualities.push(of_group.flatten());
        }
        Ok(Self {
            qualities,
            groups,
            lengths: lengths(header.references()),
            max_cycle: table.arguments.max_cycle,
            context_bases: table.arguments.mismatches_context_bases,
            low_quality_tail: table.arguments.low_quality_tail,
            levels: levels(&table.quantization, options),
            options: options.clone(),
        })
    }

    /// Read groups of the header (as tables name them) that the table does not have.
    #[cfg(test)]
    pub(super) fn missing_read_groups(&self) -> impl Iterator<Item = &str> {
        let names = self.groups.names().iter().zip(&self.qualities);
        names.filter(|(_, qualities)| qualities.is_none()).map(|(name, _)| name.as_str())
    }

    /// Memory that it may take at most, with tables of `options` for so many read groups.
    #[must_use]
    pub(super) fn most_bytes(options: &RecalibrationOptions, groups: usize) -> u64 {
        let contexts = context_columns(options.mismatches_context_bases) + 1;
        let cells = by_cycle_cells(options.max_cycle.into()) + 2 * QUALITIES * contexts;
        groups as u64 * cells as u64
    }

    /// Recalibrates one record in place. `BI` and `BD` tags are removed.
    ///
    /// # Errors
    /// The record is malformed, its read group unknown, or it is longer than the largest cycle.
    pub fn apply(
        &self,
        body: &mut Vec<u8>,
        scratch: &mut ApplyScratch,
    ) -> Result<Applied, RecalibrationError> {
        let record = RecordRef::new(body)?;
        let tags = Tags::of(&record)?;
        let unfit = match tags.read_group {
            Some(_) => unfit(&record, &self.lengths),
            None => Some(Unfit::NoReadGroup),
        };
        if let Some(unfit) = unfit {
            scratch.counts.add_unfit(unfit);
            return Ok(Applied::NotWellFormed(unfit));
        }
        let id = tags.read_group.unwrap_or_default();
        let group = scratch.last_group.find(id, &self.groups);
        let group = group.ok_or_else(|| unknown_group(&record, id))?;
        let is_original =
            self.options.use_original && take_tag(&record, *b"OQ", "OQ", &mut scratch.qualities)?;
        if !is_original {
            scratch.qualities.clear();
            scratch.qualities.extend_from_slice(record.qualities());
        }
        check_qualities(&record, &scratch.qualities)?;
        let applied = self.recalibrate(&record, group.name, scratch)?;
        let qualities_start = record.aux_start() - record.base_count();
        let aux_start = record.aux_start();
        let is_emitted = self.options.emit_original && !tags.has_original;
        if tags.has_indel_qualities {
            remove_indel_qualities(body, aux_start);
        }
        if is_emitted {
            body.extend_from_slice(b"OQZ");
            body.extend_from_within(qualities_start..aux_start);
            let text = body.len() - scratch.qualities.len();
            body[text..].iter_mut().for_each(|quality| *quality += b'!');
            body.push(0);
        }
        body[qualities_start..aux_start].copy_from_slice(&scratch.qualities);
        Ok(applied)
    }

    /// Changes `scratch.qualities`.
    fn recalibrate(
        &self,
        record: &RecordRef<'_>,
        group: usize,
        scratch: &mut ApplyScratch,
    ) -> Result<Applied, RecalibrationError> {
        let ApplyScratch { codes, qualities, contexts: columns, counts, missing, .. } = scratch;
        let (length, max_cycle) = (qualities.len(), self.max_cycle);
        if length > max_cycle as usize {
            return Err(RecalibrationError::TooManyCycles {
                read: name(record),
                length,
                max_cycle,
            });
        }
        let Some(changes) = &self.qualities[group] else {
            if !self.options.allow_missing_read_group {
                let group = self.groups.names()[group].clone();
                return Err(RecalibrationError::GroupNotInTable { read: name(record), group });
            }
            qualities.iter_mut().for_each(|it| *it = self.levels[usize::from(*it)]);
            missing.resize(missing.len().max(group + 1), 0);
            missing[group] += 1;
            return Ok(Applied::MissingReadGroup);
        };
        let is_reverse = record.has_flags(Flags::REVERSE);
        unpack(record, 0, length, codes);
        let (tail, bases) = (self.low_quality_tail, self.context_bases);
        contexts(&SequencedBases { codes, qualities, is_reverse }, tail, bases, columns);
        let cycles = cycles(length, is_reverse, is_second(record));
        let preserve_below = self.options.preserve_below;
        changes.apply(qualities, columns, cycles, preserve_below, &self.levels);
        counts.recalibrated += 1;
        Ok(Applied::Recalibrated)
    }

    /// Outcomes of the records that were given with this scratch.
    #[must_use]
    pub fn counts(&self, scratch: &ApplyScratch) -> AppliedCounts {
        let mut counts = scratch.counts.clone();
        let groups = self.groups.names().iter().zip(&scratch.missing);
        let missing = groups.filter(|(_, records)| **records > 0);
        counts.missing_read_groups = missing.map(|(name, it)| (name.clone(), *it)).collect();
        counts
    }
}

/// Tags that recalibration reads.
struct Tags<'a> {
    read_group: Option<&'a [u8]>,
    /// There is an `OQ`.
    has_original: bool,
    /// There is a `BI` or `BD`.
    has_indel_qualities: bool,
}

impl<'a> Tags<'a> {
    /// Reads all fields: what follows a malformed one would be lost.
    fn of(record: &RecordRef<'a>) -> Result<Self, RecordError> {
        let mut tags = Self { read_group: None, has_original: false, has_indel_qualities: false };
        for field in record.aux() {
            match field? {
                (tag, value) if &tag == b"RG" => {
                    tags.read_group = tags.read_group.or(value.as_string());
                }
                (tag, _) => {
                    tags.has_original |= &tag == b"OQ";
                    tags.has_indel_qualities |= matches!(&tag, b"BI" | b"BD");
                }
            }
        }
        Ok(tags)
    }
}

/// Removes `BI` and `BD` from a body; its auxiliary fields have been read before.
fn remove_indel_qualities(body: &mut Vec<u8>, aux_start: usize) {
    let mut kept = aux_start;
    let mut from = aux_start;
    loop {
        let mut fields = AuxFields::of(&body[from..]);
        let Some(Ok((tag, _))) = fields.next() else { break };
        let to = from + fields.offset();
        if !matches!(&tag, b"BI" | b"BD") {
            body.copy_within(from..to, kept);
            kept += to - from;
        }
        from = to;
    }
    body.drain(kept..from);
}

/// Level of each recalibrated quality.
fn levels(reported: &Quantization, options: &ApplyOptions) -> [u8; QUALITIES] {
    let dynamic = match options.quantize_levels {
        // GATK leaves 93 to the report.
        DynamicQuantization::Off => std::array::from_fn(|quality| {
            let last = reported.qualities[QUALITIES - 1];
            if quality + 1 == QUALITIES { last } else { quality as u8 }
        }),
        DynamicQuantization::Levels(levels) if usize::from(levels) != reported.levels() => {
            Quantization::new(reported.counts, levels).qualities
        }
        _ => reported.qualities,
    };
    match static_levels(&options.static_quantized, options.round_down) {
        Some(fixed) => dynamic.map(|quality| fixed[usize::from(quality)]),
        None => dynamic,
    }
}

/// The level that static quantization gives each quality: the nearer one in probability, or the
/// lower one. `None` without levels.
fn static_levels(static_quantized: &[u8], round_down: bool) -> Option<[u8; QUALITIES]> {
    let good = |quality: u8| 1.0 - 10_f64.powf(f64::from(quality) / -10.0);
    let mut sorted = static_quantized.to_vec();
    sorted.sort_unstable();
    let mut levels = [0; QUALITIES];
    for (quality, level) in levels.iter_mut().enumerate().take(MIN_USABLE_QUALITY) {
        *level = quality as u8;
    }
    match sorted[..] {
        [] => return None,
        [only] => {
            levels[MIN_USABLE_QUALITY..].fill(only);
            return Some(levels);
        }
        _ => {}
    }
    let mut lower = MIN_USABLE_QUALITY as u8;
    for upper in sorted {
        for quality in lower..upper {
            let is_upper = good(quality) - good(lower) > good(upper) - good(quality);
            levels[usize::from(quality)] = if is_upper && !round_down { upper } else { lower };
        }
        lower = upper;
    }
    levels[usize::from(lower)..].fill(lower);
    Some(levels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn static_quantization() {
        let t = |levels: &[u8], round_down, quality: usize, expected| {
            let mapped = static_levels(levels, round_down).unwrap();
            assert_eq!(mapped[quality], expected, "{levels:?} {quality}");
        };
        for (quality, nearest, lower) in
            [(5, 5, 5), (6, 6, 6), (7, 6, 6), (8, 10, 6), (12, 10, 10), (13, 20, 10), (22, 20, 20)]
        {
            t(&[10, 20, 30], false, quality, nearest);
            t(&[30, 10, 20], true, quality, lower);
        }
        t(&[10, 20, 30], false, 23, 30);
        t(&[10, 20, 30], true, 29, 20);
        t(&[10, 20, 30], true, 93, 30);
        t(&[25], false, 6, 25);
        t(&[25], false, 5, 5);
        assert_eq!(static_levels(&[], false), None);
    }

    #[test]
    fn tags_are_removed() {
        let t = |aux: &[u8], expected: &[u8]| {
            let mut body = [b"fixed", aux].concat();
            remove_indel_qualities(&mut body, 5);
            assert_eq!(body, [b"fixed", expected].concat());
        };
        t(b"", b"");
        t(b"NMC\x01", b"NMC\x01");
        t(b"BIZab\0", b"");
        t(b"BIZab\0NMC\x01BDZcd\0RGZx\0", b"NMC\x01RGZx\0");
    }
}
