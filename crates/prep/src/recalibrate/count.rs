//! Counting: one record at a time into the counts of its worker.

use seqloom_format::bam::cigar::{DELETION, INSERTION, SKIP, consumes_read, consumes_reference};
use seqloom_format::bam::{AuxValue, Flags, Header, RecordRef, Reference};

use super::applied::Unfit;
use super::baq::{self, BaqModel, BaqScratch};
use super::cigar::{self, Op};
use super::counts::{Counts, EventCounts, Extent, GroupCounts};
use super::covariates::{Cycles, SequencedBases, contexts, cycles, is_second};
use super::mask::masked;
use super::prepare::{Clipped, NO_BASE, prepare, reference_code, unpack};
use super::read_groups::{LastGroup, ReadGroup, ReadGroups, read_group};
use super::table::{Arguments, RecalibrationTable, covariate_rows};
use super::{MAX_QUALITY, RecalibrationError, RecalibrationOptions};
use crate::input::reference::ReferenceSequences;
use crate::recalibrate::known_sites::KnownSites;

/// Quality of insertions and deletions where a record has no `BI` or `BD`.
const INDEL_QUALITY: u8 = 45;

/// Bases at either end of a read without cycle in the tables of insertions and deletions.
const INDEL_CUSHION_BASES: usize = 4;

/// Flags of a base.
const MISMATCH_BIT: u8 = 1;
const INSERTION_BIT: u8 = 2;
const DELETION_BIT: u8 = 4;
const SKIP_BIT: u8 = 8;

/// Records with any of these are not counted. Supplementary ones are.
const NOT_COUNTED: u16 = Flags::UNMAPPED | Flags::SECONDARY | Flags::QC_FAIL | Flags::DUPLICATE;

/// Whether a record was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// Its bases are in the counts.
    Yes,
    /// It says nothing about errors: unmapped, secondary, duplicate, QC-fail, of mapping quality 0
    /// or 255, without bases, qualities or read group, with skipped reference, or nothing of it
    /// but adaptor and soft clips.
    No,
}

/// Working memory, kept from record to record.
#[derive(Debug, Default)]
pub struct CountScratch {
    ops: Vec<Op>,
    spare: Vec<Op>,
    codes: Vec<u8>,
    flags: Vec<u8>,
    qualities: Vec<u8>,
    contexts: Vec<u16>,
    shares: Vec<u64>,
    uncertain: Vec<bool>,
    baq: BaqScratch,
    last_group: LastGroup,
}

/// Counts the covariates of records (BaseRecalibrator).
#[derive(Debug)]
pub struct Counter<'a> {
    options: RecalibrationOptions,
    groups: ReadGroups,
    lengths: Vec<u32>,
    reference: &'a ReferenceSequences,
    known_sites: &'a KnownSites,
    baq: Option<BaqModel>,
}

impl<'a> Counter<'a> {
    /// For records with this header, whose sequences `reference` holds. What is in
    /// `known_sites` is no error.
    ///
    /// # Errors
    /// As [`RecalibrationOptions::check_for`].
    pub fn new(
        options: &RecalibrationOptions,
        header: &Header,
        reference: &'a ReferenceSequences,
        known_sites: &'a KnownSites,
    ) -> Result<Self, RecalibrationError> {
        options.check_for(header)?;
        Ok(Self {
            options: options.clone(),
            groups: ReadGroups::new(header),
            lengths: header.references().iter().map(|it| it.length).collect(),
            reference,
            known_sites,
            baq: options.baq_gap_open_penalty.map(BaqModel::new),
        })
    }

    /// Nothing counted yet, with room for everything that may be.
    #[must_use]
    pub fn counts(&self) -> Counts {
        Counts::new(&self.options, &self.full_extents())
    }

    /// Room for reads of any length and quality, of each read group.
    pub(super) fn full_extents(&self) -> Vec<Extent> {
        vec![Extent::all(self.options.max_cycle); self.groups.names().len()]
    }

    /// How covariates are counted.
    pub(super) fn options(&self) -> &RecalibrationOptions {
        &self.options
    }

    /// Names of the read groups, as tables have them.
    pub(super) fn group_names(&self) -> &[String] {
        self.groups.names()
    }

    /// What counting one record may take at most, with the read group that it would be counted
    /// for; `None` where it is not counted, or is no good record.
    pub(super) fn extent(
        &self,
        record: &RecordRef<'_>,
        scratch: &mut CountScratch,
    ) -> Option<(usize, Extent)> {
        if !is_counted(record) {
            return None;
        }
        let id = read_group(record).ok()??;
        let group = scratch.last_group.find(id, &self.groups)?;
        let qualities = &mut scratch.qualities;
        let is_original = self.options.use_original_qualities
            && take_tag(record, *b"OQ", "OQ", qualities).is_ok_and(|it| it);
        let qualities = if is_original { &qualities[..] } else { record.qualities() };
        let good = qualities.iter().filter(|&&quality| quality <= MAX_QUALITY);
        let qualities = match self.options.indel_tables {
            false => good.fold(0, |bits, quality| bits | 1 << quality),
            // Those of tags, too.
            true => Extent::all(0).qualities,
        };
        let bases = u32::try_from(record.base_count()).unwrap_or(u32::MAX);
        Some((group.name, Extent { qualities, cycles: bases.min(self.options.max_cycle) }))
    }

    /// Counts one record, whose flags are final: duplicates are marked. Of read groups and
    /// qualities for which `counts` have no room, nothing is counted.
    ///
    /// # Errors
    /// The record is malformed, its read group unknown or without platform, or it is longer than
    /// the largest cycle.
    pub fn count(
        &self,
        body: &[u8],
        scratch: &mut CountScratch,
        counts: &Counts,
    ) -> Result<Counted, RecalibrationError> {
        let record = RecordRef::new(body)?;
        if !is_counted(&record) || unfit(&record, &self.lengths).is_some() {
            return Ok(Counted::No);
        }
        let Some(id) = read_group(&record)? else { return Ok(Counted::No) };
        let group = scratch.last_group.find(id, &self.groups);
        let group = group.ok_or_else(|| unknown_group(&record, id))?;
        if !counts.wants(group.name) {
            return Ok(Counted::No);
        }
        let Some(clipped) = prepare(&record, &mut scratch.ops, &mut scratch.spare) else {
            return Ok(Counted::No);
        };
        self.check(&record, group, &clipped)?;
        let reference = self.reference.bases(record.reference_id());
        let end = clipped.start + cigar::reference_span(&scratch.ops);
        let window = usize::try_from(clipped.start).ok().zip(usize::try_from(end).ok());
        let Some(aligned) = window.and_then(|(start, end)| reference.get(start..end)) else {
            return Ok(Counted::No);
        };
        self.take_qualities(&record, &clipped, scratch)?;
        unpack(&record, clipped.first, clipped.last, &mut scratch.codes);
        flag_bases(&record, aligned, scratch);
        if !self.find_uncertain(reference, &clipped, scratch) {
            return Ok(Counted::No);
        }
        self.skip_bases(&record, &clipped, scratch);
        self.prepare_mismatches(&record, scratch);
        let counted = counts.with_group(group.name, |cells| {
            self.count_mismatches(&record, scratch, cells);
            self.count_indels(&record, &clipped, scratch, cells)
        });
        counted.unwrap_or(Ok(())).map(|()| Counted::Yes)
    }

    /// The table of what all workers have counted, merged.
    #[must_use]
    pub fn table(&self, counts: &Counts) -> RecalibrationTable {
        let mut table =
            RecalibrationTable::empty(Arguments::new(&self.options), self.groups.names().to_vec());
        counts.for_each_row(|group, quality, rows| {
            table.add_quality(group, quality, rows, self.options.error_units());
            let rows = covariate_rows(quality, rows, self.options.error_units());
            table.by_covariate.extend(rows.iter().map(|row| (row.key(group), row.datum)));
        });
        table.close();
        table
    }

    fn check(
        &self,
        record: &RecordRef<'_>,
        group: ReadGroup,
        clipped: &Clipped,
    ) -> Result<(), RecalibrationError> {
        if !group.has_platform {
            let group = self.groups.names()[group.name].clone();
            return Err(RecalibrationError::NoPlatform { read: name(record), group });
        }
        let length = clipped.last - clipped.first;
        if length > self.options.max_cycle as usize {
            let max_cycle = self.options.max_cycle;
            return Err(RecalibrationError::TooManyCycles {
                read: name(record),
                length,
                max_cycle,
            });
        }
        Ok(())
    }

    /// Copies the qualities of what is left of the read.
    fn take_qualities(
        &self,
        record: &RecordRef<'_>,
        clipped: &Clipped,
        scratch: &mut CountScratch,
    ) -> Result<(), RecalibrationError> {
        let qualities = &mut scratch.qualities;
        let is_original =
            self.options.use_original_qualities && take_tag(record, *b"OQ", "OQ", qualities)?;
        if is_original {
            qualities.truncate(clipped.last);
            qualities.drain(..clipped.first);
        } else {
            qualities.clear();
            qualities.extend_from_slice(&record.qualities()[clipped.first..clipped.last]);
        }
        check_qualities(record, qualities)
    }

    /// Finds where base alignment quality would spread errors; false where it cannot be determined.
    fn find_uncertain(
        &self,
        reference: &[u8],
        clipped: &Clipped,
        scratch: &mut CountScratch,
    ) -> bool {
        let CountScratch { ops, codes, flags, qualities, uncertain, baq, .. } = scratch;
        uncertain.clear();
        match &self.baq {
            Some(model) if flags.iter().any(|&flag| flag != 0) => {
                let read = baq::Read { ops, codes, qualities, start: clipped.start };
                model.uncertain(&read, reference, baq, uncertain)
            }
            _ => true,
        }
    }

    /// Flags bases that are not counted: no A, C, G or T, of low quality, or in a known site.
    fn skip_bases(&self, record: &RecordRef<'_>, clipped: &Clipped, scratch: &mut CountScratch) {
        let CountScratch { ops, codes, flags, qualities, .. } = scratch;
        let preserve_below = self.options.preserve_below;
        for ((flag, &code), &quality) in flags.iter_mut().zip(&*codes).zip(&*qualities) {
            // Without a branch, so that many bases are done at a time.
            *flag |= u8::from((code >= NO_BASE) | (quality < preserve_below)) * SKIP_BIT;
        }
        let span = cigar::reference_span(ops);
        if span == 0 && record.full_cigar().reference_span() == 0 {
            // Nothing but insertions: GATK looks up no sites.
            return;
        }
        let start = u32::try_from(clipped.start).unwrap_or(0);
        let end = u32::try_from(clipped.start + span.max(1)).unwrap_or(u32::MAX);
        for site in self.known_sites.overlapping(record.reference_id(), start..end) {
            if let Some(bases) = masked(ops, clipped.start, flags.len(), site) {
                flags[bases].iter_mut().for_each(|flag| *flag |= SKIP_BIT);
            }
        }
    }

    /// Contexts of the bases, and their shares of errors where base alignment quality has any.
    fn prepare_mismatches(&self, record: &RecordRef<'_>, scratch: &mut CountScratch) {
        let CountScratch { codes, flags, qualities, contexts: columns, uncertain, shares, .. } =
            scratch;
        let is_reverse = record.has_flags(Flags::REVERSE);
        let bases = self.options.mismatches_context_bases;
        let read = SequencedBases { codes, qualities, is_reverse };
        contexts(&read, self.options.low_quality_tail, bases, columns);
        if !uncertain.is_empty() {
            let units = self.options.error_units();
            share_errors(flags, MISMATCH_BIT, uncertain, units, shares);
        }
    }

    fn count_mismatches(
        &self,
        record: &RecordRef<'_>,
        scratch: &CountScratch,
        cells: &mut GroupCounts,
    ) {
        let CountScratch { flags, qualities, contexts: columns, uncertain, shares, .. } = scratch;
        let is_reverse = record.has_flags(Flags::REVERSE);
        let Cycles { first: mut cycle, step } = cycles(flags.len(), is_reverse, is_second(record));
        let mut rows = cells.mismatches.rows();
        let (is_whole, units) = (uncertain.is_empty(), self.options.error_units());
        for (at, ((&flag, &quality), &context)) in
            flags.iter().zip(qualities).zip(columns).enumerate()
        {
            if flag & SKIP_BIT == 0 {
                let errors = match is_whole {
                    true => u64::from(flag & MISMATCH_BIT) * units,
                    false => shares[at],
                };
                rows.count(quality, cycle, context, errors);
            }
            cycle += step;
        }
    }

    fn count_indels(
        &self,
        record: &RecordRef<'_>,
        clipped: &Clipped,
        scratch: &mut CountScratch,
        cells: &mut GroupCounts,
    ) -> Result<(), RecalibrationError> {
        let Some(cells) = &mut cells.indels else { return Ok(()) };
        let is_reverse = record.has_flags(Flags::REVERSE);
        let CountScratch { codes, qualities, contexts: columns, .. } = scratch;
        let bases = self.options.indels_context_bases;
        let read = SequencedBases { codes, qualities, is_reverse };
        contexts(&read, self.options.low_quality_tail, bases, columns);
        let events = [(*b"BI", "BI", INSERTION_BIT), (*b"BD", "BD", DELETION_BIT)];
        for ((tag, tag_name, bit), cells) in events.into_iter().zip(cells) {
            let qualities = &mut scratch.qualities;
            if take_tag(record, tag, tag_name, qualities)? {
                qualities.truncate(clipped.last);
                qualities.drain(..clipped.first);
                check_qualities(record, qualities)?;
            } else {
                qualities.clear();
                qualities.resize(clipped.last - clipped.first, INDEL_QUALITY);
            }
            count_indel(record, bit, self.options.error_units(), scratch, cells);
        }
        Ok(())
    }
}

/// Counts one kind of indel; `scratch.qualities` are those of that kind.
fn count_indel(
    record: &RecordRef<'_>,
    bit: u8,
    units: u64,
    scratch: &mut CountScratch,
    cells: &mut EventCounts,
) {
    let CountScratch { flags, qualities, contexts, uncertain, shares, .. } = scratch;
    let is_reverse = record.has_flags(Flags::REVERSE);
    let Cycles { first: mut cycle, step } = cycles(flags.len(), is_reverse, is_second(record));
    if uncertain.is_empty() {
        shares.clear();
        shares.extend(flags.iter().map(|flag| u64::from(flag & bit != 0) * units));
    } else {
        share_errors(flags, bit, uncertain, units, shares);
    }
    let mut rows = cells.rows();
    let with_cycle = INDEL_CUSHION_BASES..flags.len().saturating_sub(INDEL_CUSHION_BASES);
    for (at, &flag) in flags.iter().enumerate() {
        if flag & SKIP_BIT == 0 {
            let cycle = if with_cycle.contains(&at) { cycle } else { 0 };
            rows.count(qualities[at], cycle, contexts[at], shares[at]);
        }
        cycle += step;
    }
}

fn is_counted(record: &RecordRef<'_>) -> bool {
    record.flags() & NOT_COUNTED == 0
        && !matches!(record.mapping_quality(), 0 | 255)
        && record.reference_id() >= 0
        && record.position() >= 0
}

/// What a record lacks of what GATK requires of every one (its `WellformedReadFilter`), but for the
/// read group: bases with qualities, no skipped reference, and, where it is mapped, a CIGAR that
/// fits the bases and a start on its sequence.
pub(super) fn unfit(record: &RecordRef<'_>, lengths: &[u32]) -> Option<Unfit> {
    let bases = record.base_count() as u64;
    let has_qualities = record.qualities().first().is_some_and(|&quality| quality != 0xff);
    let mut cigar_bases = 0;
    for (code, len) in record.full_cigar().codes() {
        if code == SKIP {
            return Some(Unfit::Spliced);
        }
        cigar_bases += if consumes_read(code) { u64::from(len) } else { 0 };
    }
    let is_mapped =
        !record.has_flags(Flags::UNMAPPED) && record.reference_id() >= 0 && record.position() >= 0;
    let is_placed = || {
        let length = usize::try_from(record.reference_id()).ok().and_then(|id| lengths.get(id));
        length.is_some_and(|&length| i64::from(record.position()) < i64::from(length))
    };
    match () {
        () if bases == 0 || !has_qualities => Some(Unfit::NoQualities),
        () if is_mapped && cigar_bases != bases => Some(Unfit::CigarOfOtherLength),
        () if is_mapped && !is_placed() => Some(Unfit::BeyondSequence),
        () => None,
    }
}

/// Flags mismatches and the bases before insertions and deletions. `aligned` is the reference under
/// the read.
fn flag_bases(record: &RecordRef<'_>, aligned: &[u8], scratch: &mut CountScratch) {
    let CountScratch { ops, codes, flags, .. } = scratch;
    let is_reverse = record.has_flags(Flags::REVERSE);
    flags.clear();
    flags.resize(codes.len(), 0);
    let (mut base, mut reference) = (0_usize, 0_usize);
    for &(code, len) in ops.iter() {
        let len = len as usize;
        // The base before the event in sequencing order.
        let (bit, after) = match code {
            DELETION => (DELETION_BIT, base),
            INSERTION => (INSERTION_BIT, base + len),
            _ => (0, base),
        };
        let at = if is_reverse { Some(after) } else { base.checked_sub(1) };
        if let Some(flag) = at.filter(|_| bit != 0).and_then(|at| flags.get_mut(at)) {
            *flag |= bit;
        }
        let next = base + if consumes_read(code) { len } else { 0 };
        let next_reference = reference + if consumes_reference(code) { len } else { 0 };
        if next > base && next_reference > reference {
            let letters = &aligned[reference..next_reference];
            let bases = flags[base..next].iter_mut().zip(&codes[base..next]).zip(letters);
            for ((flag, &code), &letter) in bases {
                *flag |= u8::from(code != reference_code(letter));
            }
        }
        (base, reference) = (next, next_reference);
    }
}

/// Shares the errors of each uncertain run, the base before and the base after it, evenly
/// between its bases.
fn share_errors(flags: &[u8], bit: u8, uncertain: &[bool], units: u64, shares: &mut Vec<u64>) {
    let is_error = |flag: &u8| flag & bit != 0;
    shares.clear();
    shares.extend(flags.iter().map(|flag| u64::from(is_error(flag)) * units));
    let mut at = 0;
    while let Some(first) = uncertain[at..].iter().position(|&it| it).map(|it| at + it) {
        let after = uncertain[first..].iter().position(|&it| !it).map(|it| first + it);
        let block = first.saturating_sub(1)..after.map_or(flags.len(), |after| after + 1);
        let errors = flags[block.clone()].iter().filter(|flag| is_error(flag)).count() as u64;
        let bases = block.len() as u64;
        shares[block.clone()].fill((errors * units + bases / 2) / bases);
        at = block.end;
    }
}

/// Takes the qualities of a tag (as in FASTQ) where the record has it.
pub(super) fn take_tag(
    record: &RecordRef<'_>,
    tag: [u8; 2],
    tag_name: &'static str,
    qualities: &mut Vec<u8>,
) -> Result<bool, RecalibrationError> {
    let Some(text) = record.find_aux(tag)?.as_ref().and_then(AuxValue::as_string) else {
        return Ok(false);
    };
    let bases = record.base_count();
    if text.len() != bases || text.iter().any(|byte| !(b'!'..=b'~').contains(byte)) {
        let read = name(record);
        return Err(RecalibrationError::BadQualityTag { read, tag: tag_name, bases });
    }
    qualities.clear();
    qualities.extend(text.iter().map(|byte| byte - b'!'));
    Ok(true)
}

/// No quality may be above 93.
pub(super) fn check_qualities(
    record: &RecordRef<'_>,
    qualities: &[u8],
) -> Result<(), RecalibrationError> {
    match qualities.iter().copied().max() {
        Some(quality) if quality > MAX_QUALITY => {
            Err(RecalibrationError::BadQuality { read: name(record), quality })
        }
        _ => Ok(()),
    }
}

pub(super) fn unknown_group(record: &RecordRef<'_>, id: &[u8]) -> RecalibrationError {
    let group = String::from_utf8_lossy(id).into_owned();
    RecalibrationError::UnknownReadGroup { read: name(record), group }
}

/// Name of a read for messages.
pub(super) fn name(record: &RecordRef<'_>) -> String {
    String::from_utf8_lossy(record.name()).into_owned()
}

/// Lengths of the sequences of a header, by index.
pub(super) fn lengths(references: &[Reference]) -> Vec<u32> {
    references.iter().map(|it| it.length).collect()
}
