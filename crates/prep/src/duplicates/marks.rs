//! The result of duplicate marking: one or two bits per template.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use seqloom_format::bam::Flags;
use seqloom_format::{MalformedState, Persist};
use seqloom_runtime::memory::{Charge, Ledger};

use super::{DuplicateMode, PairEnds};
use crate::partition::numbers::TemplateNumbers;

/// Records with any of these are never marked in coordinate mode.
const NEVER_MARKED: u16 = Flags::UNMAPPED | Flags::SECONDARY | Flags::SUPPLEMENTARY;

/// Which reads of a template are duplicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkedReads {
    /// Both reads of a pair.
    Both,
    /// The first or only read (no flag 0x80).
    First,
    /// The second read (flag 0x80).
    Second,
}

/// Takes the decisions of [`super::resolve`], in no particular order.
pub trait MarkSink {
    /// The reads of the template with this ordinal are duplicates. Whether none of the marks that
    /// this sets was there.
    fn mark(&mut self, template: u64, reads: MarkedReads) -> bool;

    /// The pair, which is marked too, is an optical duplicate.
    fn mark_optical(&mut self, pair: &PairEnds);

    /// The template is of the family whose first template has the ordinal `first`; of the earlier
    /// family, if of two.
    fn put_in_family(&mut self, _template: u64, _first: u64) {}

    /// Number of the template with this ordinal in the whole input, by which samples are taken.
    fn number(&self, template: u64) -> u64 {
        template
    }
}

/// Bitmap of duplicates, shared by the threads that resolve partitions, then read by those that
/// finish records (the hand-over between the two phases orders the memory).
///
/// Relaxed: a bit is set, and a family made an earlier one, in one step each, in any order; nobody
/// reads any before the phase has ended. Records that share a family are of one worker.
///
/// Query mode takes one bit per template, coordinate mode two. Bits are ordered by the numbers of
/// templates, which are requested by their ordinals.
#[derive(Debug)]
pub struct DuplicateMarks {
    pub(super) words: Vec<AtomicU64>,
    pub(super) mode: DuplicateMode,
    pub(super) numbers: TemplateNumbers,
    /// One bit per template; empty where nobody requests which duplicates are optical.
    pub(super) optical: Vec<AtomicU64>,
    /// Of each template the number of the first of its family, subtracted from the largest value; 0
    /// where it has none. Empty where nobody requests families.
    pub(super) families: Vec<AtomicU32>,
    /// Given back with them.
    pub(super) _charge: Option<Charge>,
}

/// Kind of duplicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DuplicateKind {
    /// No duplicate.
    Unique,
    /// Copied in the library.
    Library,
    /// Read twice by the instrument. Distinguished only where that was requested.
    Optical,
}

impl DuplicateMarks {
    /// A bitmap without marks for these templates.
    pub fn new(numbers: impl Into<TemplateNumbers>, mode: DuplicateMode) -> Self {
        let numbers = numbers.into();
        Self {
            words: words(numbers.total(), mode),
            mode,
            numbers,
            optical: Vec::new(),
            families: Vec::new(),
            _charge: None,
        }
    }

    /// These marks, charged to a ledger.
    #[must_use]
    pub(crate) fn charged_to(self, ledger: &Ledger) -> Self {
        Self { _charge: Some(ledger.charge(self.bytes())), ..self }
    }

    /// Keeps apart which duplicates are optical.
    #[must_use]
    pub(crate) fn telling_optical(self) -> Self {
        Self { optical: words(self.numbers.total(), DuplicateMode::Query), ..self }
    }

    /// Keeps what family each template is of; `None` if there are more than 32 bits can
    /// distinguish.
    #[must_use]
    pub fn telling_families(self) -> Option<Self> {
        let mut families = Vec::new();
        let most = u64::from(u32::MAX);
        let templates =
            usize::try_from(self.numbers.total()).ok().filter(|it| *it as u64 <= most)?;
        families.resize_with(templates, AtomicU32::default);
        Some(Self { families, ..self })
    }

    /// Number of the first template of the family that this one is of.
    pub(crate) fn family(&self, template: u64) -> Option<u32> {
        let family = self.families.get(self.numbers.number(template) as usize)?;
        let stored = family.load(Ordering::Relaxed);
        (stored > 0).then(|| u32::MAX - stored)
    }

    /// Puts all of these into the earliest family that any of them is of.
    pub(crate) fn share_family(&self, templates: impl Iterator<Item = u64> + Clone) {
        let slot = |template| self.families.get(self.numbers.number(template) as usize);
        let stored = |family: &AtomicU32| family.load(Ordering::Relaxed);
        let earliest = templates.clone().filter_map(slot).map(stored).max().unwrap_or_default();
        templates.filter_map(slot).for_each(|family| family.store(earliest, Ordering::Relaxed));
    }

    /// Memory of families of so many templates, to be made room for before they are resolved.
    #[must_use]
    pub fn families_bytes(templates: u64) -> u64 {
        templates.saturating_mul(size_of::<AtomicU32>() as u64)
    }

    /// Memory of such a bitmap, to be charged before it is made.
    pub fn size_bytes(templates: u64, mode: DuplicateMode, writes_optical: bool) -> usize {
        if writes_optical {
            let own = Self::size_bytes(templates, mode, false);
            return own.saturating_add(Self::size_bytes(templates, DuplicateMode::Query, false));
        }
        let per_word = match mode {
            DuplicateMode::Query => 64,
            DuplicateMode::Coordinate => 32,
        };
        usize::try_from(templates.div_ceil(per_word)).unwrap_or(usize::MAX / 8).saturating_mul(8)
    }

    /// Marks reads of a template; an ordinal out of range is ignored. Whether none of the marks
    /// was there.
    pub(crate) fn set(&self, template: u64, reads: MarkedReads) -> bool {
        let template = self.numbers.number(template);
        let templates = self.numbers.total();
        debug_assert!(template < templates, "template {template} of {templates}");
        let (bit, bits) = match (self.mode, reads) {
            (DuplicateMode::Query, _) => (template, 1),
            (DuplicateMode::Coordinate, MarkedReads::First) => (template * 2, 1),
            (DuplicateMode::Coordinate, MarkedReads::Second) => (template * 2, 2),
            (DuplicateMode::Coordinate, MarkedReads::Both) => (template * 2, 3),
        };
        let bits = bits << (bit % 64);
        let word = self.words.get((bit / 64) as usize);
        word.is_some_and(|word| word.fetch_or(bits, Ordering::Relaxed) & bits == 0)
    }

    /// What sort of duplicate a record of the template is; `flags` are the record's own.
    pub(crate) fn kind(&self, template: u64, flags: u16) -> DuplicateKind {
        if !self.is_duplicate(template, flags) {
            return DuplicateKind::Unique;
        }
        let bit = self.numbers.number(template);
        let word = self.optical.get((bit / 64) as usize);
        let is_optical =
            word.is_some_and(|word| word.load(Ordering::Relaxed) >> (bit % 64) & 1 != 0);
        if is_optical { DuplicateKind::Optical } else { DuplicateKind::Library }
    }

    /// Whether a record of the template gets flag 0x400; `flags` are the record's own.
    ///
    /// Query mode: every record of a marked template. Coordinate mode: primary mapped records,
    /// each with its own mark. An ordinal out of range has no mark.
    pub fn is_duplicate(&self, template: u64, flags: u16) -> bool {
        if self.mode == DuplicateMode::Coordinate && flags & NEVER_MARKED != 0 {
            return false;
        }
        let template = self.numbers.number(template);
        let bit = match self.mode {
            DuplicateMode::Query => template,
            DuplicateMode::Coordinate => {
                template * 2 + u64::from(flags & Flags::SECOND_OF_PAIR != 0)
            }
        };
        let word = self.words.get((bit / 64) as usize);
        word.is_some_and(|word| word.load(Ordering::Relaxed) >> (bit % 64) & 1 != 0)
    }
}

impl Persist for DuplicateMarks {
    /// Of one lane, whose ordinals are numbers: runs of several are not kept.
    fn save(&self, out: &mut Vec<u8>) {
        debug_assert!(self.numbers.lanes() == 1, "marks of several lanes");
        (self.numbers.total(), self.mode == DuplicateMode::Coordinate).save(out);
        let bits = |words: &[AtomicU64]| -> Vec<u64> {
            words.iter().map(|word| word.load(Ordering::Relaxed)).collect()
        };
        (bits(&self.words), bits(&self.optical)).save(out);
        let families = self.families.iter().map(|family| family.load(Ordering::Relaxed));
        families.collect::<Vec<u32>>().save(out);
    }

    fn load(bytes: &mut &[u8]) -> Result<Self, MalformedState> {
        let (templates, is_coordinate) = <(u64, bool)>::load(bytes)?;
        let mode = if is_coordinate { DuplicateMode::Coordinate } else { DuplicateMode::Query };
        let (words, optical) = <(Vec<u64>, Vec<u64>)>::load(bytes)?;
        let size = |writes_optical| Self::size_bytes(templates, mode, writes_optical) / 8;
        let all = words.len() + optical.len();
        if words.len() != size(false) || (all != size(false) && all != size(true)) {
            return Err(MalformedState);
        }
        let families = Vec::<u32>::load(bytes)?;
        if !families.is_empty() && families.len() as u64 != templates {
            return Err(MalformedState);
        }
        let shared = |words: Vec<u64>| words.into_iter().map(AtomicU64::new).collect();
        let families = families.into_iter().map(AtomicU32::new).collect();
        let (numbers, words, optical) = (templates.into(), shared(words), shared(optical));
        Ok(Self { words, mode, numbers, optical, families, _charge: None })
    }
}

impl DuplicateMarks {
    /// Memory that it takes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        8 * (self.words.len() + self.optical.len()) as u64
            + Self::families_bytes(self.families.len() as u64)
    }
}

fn words(templates: u64, mode: DuplicateMode) -> Vec<AtomicU64> {
    let mut words = Vec::new();
    words.resize_with(DuplicateMarks::size_bytes(templates, mode, false) / 8, AtomicU64::default);
    words
}

impl MarkSink for &DuplicateMarks {
    fn mark(&mut self, template: u64, reads: MarkedReads) -> bool {
        self.set(template, reads)
    }

    fn number(&self, template: u64) -> u64 {
        self.numbers.number(template)
    }

    fn put_in_family(&mut self, template: u64, first: u64) {
        if let Some(family) = self.families.get(self.numbers.number(template) as usize) {
            // Numbers fit: see `telling_families`. Reads of one template that are in two families,
            // which mates are not, have the earlier one, whichever comes first here.
            family.fetch_max(u32::MAX - self.numbers.number(first) as u32, Ordering::Relaxed);
        }
    }

    fn mark_optical(&mut self, pair: &PairEnds) {
        for template in [pair.template, pair.template2].map(|it| self.numbers.number(it)) {
            if let Some(word) = self.optical.get((template / 64) as usize) {
                word.fetch_or(1 << (template % 64), Ordering::Relaxed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn query_mode_marks_every_record() {
        let marks = DuplicateMarks::new(65, DuplicateMode::Query);
        assert_eq!(DuplicateMarks::size_bytes(65, DuplicateMode::Query, false), 16);
        marks.set(64, MarkedReads::Second);
        for flags in [0, 0x4, 0x80, 0x100, 0x800] {
            assert!(marks.is_duplicate(64, flags));
            assert!(!marks.is_duplicate(63, flags));
            assert!(!marks.is_duplicate(0, flags));
            assert!(!marks.is_duplicate(65_000, flags));
        }
    }

    #[test]
    fn coordinate_mode_marks_primary_mapped_records_singly() {
        let marks = DuplicateMarks::new(33, DuplicateMode::Coordinate);
        assert_eq!(DuplicateMarks::size_bytes(33, DuplicateMode::Coordinate, false), 16);
        marks.set(31, MarkedReads::First);
        marks.set(32, MarkedReads::Second);
        marks.set(0, MarkedReads::Both);
        let pair =
            |template| (marks.is_duplicate(template, 0x41), marks.is_duplicate(template, 0x81));
        assert_eq!(pair(31), (true, false));
        assert_eq!(pair(32), (false, true));
        assert_eq!(pair(0), (true, true));
        assert_eq!(pair(1), (false, false));
        assert!(!marks.is_duplicate(0, 0x4));
        assert!(!marks.is_duplicate(0, 0x100));
        assert!(!marks.is_duplicate(0, 0x880));
    }

    #[test]
    fn what_is_saved_is_what_is_loaded() {
        for mode in [DuplicateMode::Query, DuplicateMode::Coordinate] {
            let marks = DuplicateMarks::new(100, mode);
            marks.set(31, MarkedReads::Both);
            marks.set(99, MarkedReads::First);
            let bytes = marks.to_state();
            let loaded = DuplicateMarks::from_state(&bytes).unwrap();
            for (template, flags) in (0..100).flat_map(|t| [0x41, 0x81].map(|f| (t, f))) {
                assert_eq!(loaded.kind(template, flags), marks.kind(template, flags));
            }
            assert_eq!(loaded.bytes(), marks.bytes());
            let mut other = bytes.clone();
            other[0] ^= 0x80;
            assert!(DuplicateMarks::from_state(&other).is_err(), "templates without words");
        }
    }

    #[test]
    fn families_are_numbered_by_their_first_templates() {
        let marks = DuplicateMarks::new(70, DuplicateMode::Query).telling_families().unwrap();
        for (template, first) in [(0, 0), (69, 0), (7, 6), (7, 9), (8, 9), (8, 6), (70, 0)] {
            (&marks).put_in_family(template, first);
        }
        let expected =
            [(0, Some(0)), (69, Some(0)), (7, Some(6)), (8, Some(6)), (6, None), (70, None)];
        let loaded = DuplicateMarks::from_state(&marks.to_state()).unwrap();
        for marks in [&marks, &loaded] {
            assert_eq!(expected.map(|(template, _)| (template, marks.family(template))), expected);
            assert_eq!(marks.bytes(), 2 * 8 + 70 * 4);
        }
        let many = DuplicateMarks::new(1 << 33, DuplicateMode::Query);
        assert!(many.telling_families().is_none());
    }

    #[test]
    fn no_templates() {
        let marks = DuplicateMarks::new(0, DuplicateMode::Query);
        assert!(!marks.is_duplicate(0, 0));
    }
}
