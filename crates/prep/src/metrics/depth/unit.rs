//! The depth of one unit by itself.

use std::collections::HashSet;
use std::hash::BuildHasherDefault;
use std::ops::Range;

use seqloom_format::bam::{Flags, RecordRef, cigar};

use super::{AsItIs, ByName, Change, Counts, Depth, Position};

/// Records that samtools depth leaves out.
const LEFT_OUT: u16 = Flags::UNMAPPED | Flags::SECONDARY | Flags::QC_FAIL | Flags::DUPLICATE;
/// A record this close after the first one of its unit may overlap one of an earlier unit
/// whatever its flags say: longer than reads that come in pairs.
const EDGE_BP: i32 = 512;
/// So many events are turned into levels, as far as they are settled, before there are more.
const MOST_EVENTS: usize = 1 << 17;

/// From here on, up to the next level.
#[derive(Debug, Clone, Copy)]
struct Level {
    at: Position,
    depth: u32,
}

/// A record of a template that may be open where its unit starts.
#[derive(Debug, Clone)]
pub(super) struct Doubtful {
    pub(super) name: u64,
    pub(super) reference: i32,
    start: i32,
    pub(super) end: i32,
    /// Position from which it is counted; those before were clipped.
    pub(super) clip: i32,
    /// Whether it opens its template, if it does not close it.
    pub(super) opens: bool,
    /// Its CIGAR, in bytes of the unit's.
    cigar: Range<usize>,
}

/// A worker's counts of one unit.
#[derive(Debug, Default)]
pub(in super::super) struct UnitDepth {
    /// Start of the last record: there the next unit may start.
    limit: Option<Position>,
    levels: Vec<Level>,
    doubtful: Vec<Doubtful>,
    cigars: Vec<u8>,
    open: ByName<i32>,
}

impl UnitDepth {
    pub(super) fn limit(&self) -> Option<Position> {
        self.limit
    }

    pub(super) fn doubtful(&self) -> impl Iterator<Item = &Doubtful> {
        self.doubtful.iter()
    }

    pub(super) fn open(&self) -> impl Iterator<Item = (u64, i32)> {
        self.open.iter().map(|(&name, &end)| (name, end))
    }

    /// The segments of a record that cover the reference.
    pub(super) fn blocks(&self, of: &Doubtful) -> impl Iterator<Item = Range<i32>> {
        let words = self.cigars[of.cigar.clone()].chunks_exact(4);
        let codes = words.map(|it| u32::from_le_bytes([it[0], it[1], it[2], it[3]]));
        blocks(of.start, codes.map(|word| ((word & 15) as u8, word >> 4)))
    }

    /// Number of levels at or before a place.
    fn levels_up_to(&self, place: Position) -> usize {
        self.levels.partition_point(|level| level.at <= place)
    }

    /// Segments of one depth in some positions of a sequence, each with its depth.
    pub(super) fn levels_within(
        &self,
        reference: i32,
        positions: Range<i32>,
    ) -> impl Iterator<Item = (Range<i32>, u32)> {
        let Range { start: mut from, end: to } = positions;
        let first = self.levels_up_to(Position { reference, position: from });
        let here = |level: &&Level| level.at.reference == reference;
        let before = first.checked_sub(1).map(|it| &self.levels[it]).filter(here);
        let mut depth = before.map_or(0, |level| level.depth);
        let inside = self.levels[first..]
            .iter()
            .take_while(move |level| level.at.reference == reference && level.at.position < to);
        let ends = inside.map(|level| (level.at.position, level.depth)).chain([(to, 0)]);
        ends.filter_map(move |(end, next)| {
            let segment = (from..end, depth);
            (from, depth) = (end, next);
            (!segment.0.is_empty()).then_some(segment)
        })
    }

    /// The depth from a place on.
    pub(super) fn changes_from(&self, place: Position) -> Vec<Change> {
        let first = self.levels_up_to(place);
        let before = first.checked_sub(1).map(|it| self.levels[it]);
        let mut depth =
            before.filter(|it| it.at.reference == place.reference).map_or(0, |it| it.depth as i32);
        let mut changes = Vec::new();
        if depth > 0 {
            changes.push(Change { at: place, by: depth });
        }
        for level in &self.levels[first..] {
            changes.push(Change { at: level.at, by: level.depth as i32 - depth });
            depth = level.depth as i32;
        }
        changes
    }
}

/// The segments of a record that cover the reference: M, = and X.
fn blocks(start: i32, codes: impl Iterator<Item = (u8, u32)>) -> impl Iterator<Item = Range<i32>> {
    let mut position = start;
    codes.filter_map(move |(code, length)| {
        let from = position;
        let to = position.saturating_add_unsigned(length);
        if cigar::consumes_reference(code) {
            position = to;
        }
        cigar::is_aligned(code).then_some(from..to)
    })
}

/// A hash of a name that differs in all its bits.
fn hash_of(name: &[u8]) -> u64 {
    let mix = |hash: u64, word: u64| {
        let wide = u128::from(hash ^ word) * 0x9e37_79b9_7f4a_7c15;
        (wide as u64) ^ (wide >> 64) as u64
    };
    let chunks = name.chunks_exact(8);
    let mut last = [0; 8];
    last[..chunks.remainder().len()].copy_from_slice(chunks.remainder());
    let words = chunks.map(|word| word.try_into().map_or(0, u64::from_le_bytes));
    let hash = words.fold(name.len() as u64 ^ 0x6a09_e667_f3bc_c908, mix);
    mix(mix(hash, u64::from_le_bytes(last)), 0xbb67_ae85_84ca_a73b)
}

/// One worker: the unit in work, and what is certain of those before.
#[derive(Debug, Default)]
pub(in super::super) struct DepthWorker {
    unit: UnitDepth,
    first: Position,
    /// Twice the position, and 1 where a block starts, of the sequence in work.
    events: Vec<u64>,
    /// Depth after the last level.
    depth: u32,
    /// Events that are tried to be settled again.
    most_events: usize,
    /// Names of which there is a doubtful record.
    in_doubt: HashSet<u64, BuildHasherDefault<AsItIs>>,
    certain: Counts,
}

impl DepthWorker {
    /// Takes the next record of the unit; `is_split` where it says that its read has further
    /// alignments.
    pub(in super::super) fn add(&mut self, record: &RecordRef<'_>, is_split: bool) {
        let (reference, start) = (record.reference_id(), record.position());
        if record.flags() & LEFT_OUT != 0 || reference < 0 || start < 0 {
            return;
        }
        let place = Position { reference, position: start };
        match self.unit.limit {
            None => self.first = place,
            Some(last) if last.reference != reference => self.settle(last.reference, i32::MAX),
            Some(_) if self.events.len() >= self.most_events.max(MOST_EVENTS) => {
                self.settle(reference, start);
                self.most_events = 2 * self.events.len();
            }
            Some(_) => {}
        }
        self.unit.limit = Some(place);
        let clip = self.clip(record, is_split);
        for block in blocks(start, record.full_cigar().codes()) {
            let from = block.start.max(clip);
            if from < block.end {
                self.events.extend([from as u64 * 2 + 1, block.end as u64 * 2]);
            }
        }
    }

    /// Position at which a record is clipped, as its template is in this unit.
    fn clip(&mut self, record: &RecordRef<'_>, is_split: bool) -> i32 {
        if record.flags() & (Flags::PAIRED | Flags::MATE_UNMAPPED) != Flags::PAIRED {
            return i32::MIN;
        }
        let (reference, start) = (record.reference_id(), record.position());
        let (mate_reference, mate) = (record.mate_reference_id(), record.mate_position());
        let cigar = record.full_cigar();
        let span = cigar.reference_span().max(1);
        let end = i32::try_from(i64::from(start) + span).unwrap_or(i32::MAX);
        let opens = mate == -1 || (mate_reference == reference && mate <= end);
        let name = hash_of(record.name());
        let clip = self.unit.open.remove(&name);
        if clip.is_none() && opens {
            self.unit.open.insert(name, end);
        }
        let clip = clip.unwrap_or(i32::MIN);
        let is_doubtful = is_split
            || record.has_flags(Flags::SUPPLEMENTARY)
            || (mate_reference == reference && Position { reference, position: mate } < self.first)
            || (reference == self.first.reference
                && start < self.first.position.saturating_add(EDGE_BP));
        if is_doubtful || self.in_doubt.contains(&name) {
            self.in_doubt.insert(name);
            let from = self.unit.cigars.len();
            let words = cigar.codes().map(|(code, length)| length << 4 | u32::from(code));
            self.unit.cigars.extend(words.flat_map(u32::to_le_bytes));
            let cigar = from..self.unit.cigars.len();
            self.unit.doubtful.push(Doubtful { name, reference, start, end, clip, opens, cigar });
        }
        clip
    }

    /// Turns the events before a position, where the next record starts, into levels.
    fn settle(&mut self, reference: i32, end: i32) {
        self.events.sort_unstable();
        let settled = self.events.partition_point(|event| event >> 1 < end as u64);
        let changes = self.events[..settled].chunk_by(|a, b| a >> 1 == b >> 1);
        for together in changes {
            let starts = together.iter().filter(|event| **event & 1 == 1).count();
            let before = self.depth;
            self.depth = before + starts as u32 - (together.len() - starts) as u32;
            if self.depth != before {
                let at = Position { reference, position: (together[0] >> 1) as i32 };
                self.unit.levels.push(Level { at, depth: self.depth });
            }
        }
        self.events.drain(..settled);
    }

    /// Ends the unit; what is certain of it is counted.
    pub(in super::super) fn end_unit(&mut self) -> UnitDepth {
        let Some(limit) = self.unit.limit else { return UnitDepth::default() };
        self.settle(limit.reference, i32::MAX);
        for pair in self.unit.levels.windows(2) {
            let (from, to) = (pair[0].at, pair[1].at.min(limit));
            if from.reference == to.reference && from < to && pair[0].depth > 0 {
                let length = (to.position - from.position) as u64;
                self.certain.shift(from.reference, 0, pair[0].depth, length);
            }
        }
        self.in_doubt.clear();
        (self.depth, self.most_events) = (0, 0);
        self.events.clear();
        // The next unit is most likely as large.
        let open = ByName::with_capacity_and_hasher(self.unit.open.len(), Default::default());
        std::mem::replace(&mut self.unit, UnitDepth { open, ..UnitDepth::default() })
    }

    /// Depth of all units.
    pub(in super::super) fn into_depth(self) -> Depth {
        Depth { counts: self.certain, ..Depth::default() }
    }
}
