//! The search of a block of BAM records for copies: each field of a record against the same field
//! of the records before.
//!
//! Records are laid out alike, so the same field of an earlier record is where a copy is found,
//! without a table of all bytes: fixed fields, name and CIGAR at the distance from record to
//! record, a sequence where an earlier read has the same bases of the reference, tags by their
//! rank. Qualities repeat within a read: runs of one value.

use super::compare::{Compare, Longest};
use super::cover::{Bytes, CoverSpan, Sources, first_columns, newest_of};
use super::history::{History, MAX_TAGS, Reads};
use super::layout::{FIXED_BYTES, Fields, tag_end};
use super::lists::{Entries, LIST_HITS};
use super::tokens::{Class, LONGEST_DISTANCE, SHORTEST_COPY, Tokens};
use super::window::{COLUMNS, HASH_64, Window};

/// Shortest name, its zero included, whose mate is looked for: the hash takes eight bytes of it.
const MIN_NAME_BYTES: usize = 12;
/// Names that are known by their last bytes.
const NAMES: usize = 1 << 10;
/// Four bytes of names that are known.
const WORDS: usize = 1 << 11;
/// Places with the same four bytes that are looked at: the last of a name.
const WORD_HITS: usize = 8;
/// Fibonacci hashing: 2^32 by the golden ratio.
const HASH_32: u32 = 0x9e37_79b1;
/// From a record's position to its mate's: a mate's position is the other's mate position.
const MATE_FIELD_BYTES: u32 = 20;
/// Shortest run of one quality that is a copy: greedy, a copy of fewer bytes is slower to write
/// than it is small; lazy, where literals of runs still are longer than a copy.
const MIN_RUN_GREEDY: u32 = 6;
const MIN_RUN_LAZY: u32 = 4;
/// Tags longer than this are looked through for runs: strings of qualities such as OQ.
const MIN_TAG_WITH_RUNS_BYTES: usize = 40;
/// Shortest tag that may be a list of several entries.
const MIN_LIST_BYTES: usize = 20;
/// Bytes before a tag that a copy of the tag may start with: the end of the one before, such as the
/// high bytes of a number or the zero of a string.
/// With a record's start it is the end of the last tag.
const BYTES_BEFORE: usize = 8;
/// Fewest bases of a read whose last qualities are copied with the tags, and their longest run.
const MIN_TAIL_BASES: usize = 48;
const MAX_TAIL_RUN: usize = 31;
/// What a copy of the last qualities and tags must have of the tags, and what it may lose against
/// the longest copy of the tags alone.
const MIN_TAIL_TAG_BYTES: usize = 6;
const MAX_TAIL_LOSS_BYTES: usize = 10;
/// Bytes of a sequence that must be equal, with name's zero and CIGAR, for a read to be a twin.
const TWIN_BYTES: usize = 8;
/// Fewest bases of a twin.
const MIN_TWIN_BASES: usize = 32;

/// One block after the other, with `K` earlier places for each column, and the sequences of `READS`
/// earlier reads. If `LAZY`, more is tried for a
/// smaller block.
pub(super) struct Search<const K: usize, const READS: usize, const LAZY: bool> {
    tokens: Tokens,
    history: History<K>,
    reads: Reads<READS>,
    /// Place of a name, by the hash of its last bytes; 0 for none.
    names: Box<[u16; NAMES]>,
    /// Place of four bytes of a name; 0 for none.
    words: Box<[u16; WORDS]>,
    entries: Entries,
    /// Bytes of all sequences, and of those that no earlier read had anything of.
    sequence_bytes: usize,
    alone_bytes: usize,
}

impl<const K: usize, const READS: usize, const LAZY: bool> Search<K, READS, LAZY> {
    /// Slots that are not records': mates' positions, and hits of the table of words if lazy.
    const OTHER_SLOTS: usize = if LAZY { WORD_HITS } else { 2 };

    pub(super) fn new() -> Self {
        Self {
            tokens: Tokens::default(),
            history: History::new(K - Self::OTHER_SLOTS),
            reads: Reads::default(),
            names: Box::new([0; NAMES]),
            words: Box::new([0; WORDS]),
            entries: Entries::new(),
            sequence_bytes: 0,
            alone_bytes: 0,
        }
    }

    /// Tokens of the last run.
    pub(super) fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    /// Searches the block, which has to be whole records; `None` if it is not.
    #[inline(always)]
    pub(super) fn run<C: Compare>(&mut self, window: &Window, compare: C) -> Option<()> {
        self.tokens.clear();
        self.history.clear();
        self.reads = Reads::default();
        self.names.fill(0);
        self.words.fill(0);
        self.entries.clear();
        (self.sequence_bytes, self.alone_bytes) = (0, 0);
        let bytes = Bytes { window, compare };
        let mut start = 0;
        while start < window.len() {
            let fields = Fields::read(window, start)?;
            self.record(bytes, &fields);
            start = fields.end;
        }
        self.tokens.literals_to(window.len(), Class::Other);
        Some(())
    }

    #[inline(always)]
    fn record<C: Compare>(&mut self, bytes: Bytes<'_, C>, fields: &Fields) {
        let twin = self.twin(bytes, fields);
        let name_end = fields.cigar - 1;
        self.head(bytes, fields, if twin.is_some() { name_end } else { fields.sequence });
        if let Some(distance) = twin {
            let at = self.tokens.covered().max(name_end);
            let length = bytes.common(at, at - distance, fields.tags.saturating_sub(at));
            if length >= SHORTEST_COPY {
                self.tokens.copy(at, length, distance, Class::Other);
            }
        }
        self.tokens.literals_to(fields.sequence, Class::Other);
        self.sequence(bytes, fields);
        let tail_slot = self.qualities(bytes, fields);
        let ranks = self.tags(bytes, fields, tail_slot);
        self.history.push(fields, ranks);
    }

    /// The distance to an earlier read with the same start, CIGAR and first bases, such as a
    /// duplicate: one copy may go from the end of the name to the qualities.
    #[inline(always)]
    fn twin<C: Compare>(&self, bytes: Bytes<'_, C>, fields: &Fields) -> Option<usize> {
        let name_end = fields.cigar - 1;
        let equal_bytes = fields.sequence - name_end + TWIN_BYTES;
        if fields.reference < 0 || fields.bases < MIN_TWIN_BASES || equal_bytes > COLUMNS {
            return None;
        }
        for distance in self.reads.of_same_start(fields) {
            let is_there = distance > 0 && distance <= name_end;
            let differ = || !bytes.equal(name_end, name_end - distance);
            if is_there && differ().trailing_zeros() as usize >= equal_bytes {
                return Some(distance);
            }
        }
        None
    }

    /// Fixed fields, name and CIGAR, up to `end`.
    #[inline(always)]
    fn head<C: Compare>(&mut self, bytes: Bytes<'_, C>, fields: &Fields, end: usize) {
        let mate_name = self.exchange_name(bytes.window, fields);
        if self.history.is_empty() {
            return;
        }
        let newest = self.history.newest();
        let mut distances = self.history.distances_of_starts(fields.start);
        if let Some(name) = mate_name {
            let back = (fields.name - name) as u32;
            if back > MATE_FIELD_BYTES && back + MATE_FIELD_BYTES <= LONGEST_DISTANCE as u32 {
                distances[K - 2] = back - MATE_FIELD_BYTES;
                distances[K - 1] = back + MATE_FIELD_BYTES;
            }
        }
        let first = self.tokens.covered().max(fields.start - BYTES_BEFORE.min(fields.start));
        let sources = Sources { distances: &distances, newest };
        let other = |range| CoverSpan::whole(range, Class::Other);
        if let Some(distance) = self.mate_distance(bytes, fields, mate_name) {
            let region = other(first..fields.name);
            bytes.cover::<K, LAZY, 3>(region, sources, &mut self.tokens);
            let at = fields.name.max(self.tokens.covered());
            let length = bytes.common(at, at - distance, fields.sequence - at);
            if length >= SHORTEST_COPY {
                self.tokens.copy(at, length, distance, Class::Other);
            }
            return;
        }
        // Names differ in length: from some column on their ends are what is opposite each other.
        let middle = fields.start + COLUMNS - 3;
        if !LAZY || end <= middle + 3 {
            bytes.cover::<K, LAZY, 3>(other(first..end), sources, &mut self.tokens);
            return;
        }
        let region = CoverSpan { starts_before: middle, ..other(first..end) };
        bytes.cover::<K, LAZY, 3>(region, sources, &mut self.tokens);
        let rest = middle.max(self.tokens.covered());
        let mut distances = self.history.distances_of_cigars(fields.cigar);
        let hits = self.exchange_words(bytes.window, rest, fields.cigar);
        distances[K - WORD_HITS..].copy_from_slice(&hits);
        let sources = Sources { distances: &distances, newest };
        if self.is_unsorted() {
            bytes.cover::<K, LAZY, 3>(other(rest..end), sources, &mut self.tokens);
        } else {
            // Literals of names have short codes there.
            bytes.cover::<K, LAZY, 4>(other(rest..end), sources, &mut self.tokens);
        }
    }

    /// Where the name with the same last bytes was, if any; this one takes its place.
    #[inline(always)]
    fn exchange_name(&mut self, window: &Window, fields: &Fields) -> Option<usize> {
        if fields.cigar - fields.name < MIN_NAME_BYTES {
            return None;
        }
        let last = window.u64_at(fields.cigar - 9);
        let place = &mut self.names[(last.wrapping_mul(HASH_64) >> 54) as usize % NAMES];
        let earlier = usize::from(*place);
        *place = fields.name as u16;
        (earlier > 0 && fields.name - earlier <= LONGEST_DISTANCE).then_some(earlier)
    }

    /// The distance to the same name, if that is not the record's before, where it is found
    /// anyway.
    #[inline(always)]
    fn mate_distance<C: Compare>(
        &self,
        bytes: Bytes<'_, C>,
        fields: &Fields,
        mate_name: Option<usize>,
    ) -> Option<usize> {
        let name = mate_name.filter(|&name| name != self.history.newest_start() + FIXED_BYTES)?;
        let name_bytes = fields.cigar - fields.name;
        let is_same = bytes.common(fields.name, name, name_bytes) == name_bytes;
        is_same.then_some(fields.name - name)
    }

    /// Distances to the last four places of names that had four of the bytes between `at` and
    /// `end`; those places are now here.
    #[inline(always)]
    fn exchange_words(&mut self, window: &Window, at: usize, end: usize) -> [u32; WORD_HITS] {
        let (mut distances, mut hits) = ([0; WORD_HITS], 0);
        for at in at..end.saturating_sub(3) {
            let word = window.u32_at(at);
            let place = &mut self.words[(word.wrapping_mul(HASH_32) >> 21) as usize % WORDS];
            let earlier = usize::from(*place);
            *place = at as u16;
            let is_near = earlier > 0 && at - earlier <= LONGEST_DISTANCE;
            if is_near && window.u32_at(earlier) == word {
                distances[hits % WORD_HITS] = (at - earlier) as u32;
                hits += 1;
            }
        }
        distances
    }

    /// Whether reads are not in the order of their positions: most have nothing of an earlier one.
    fn is_unsorted(&self) -> bool {
        2 * self.alone_bytes > self.sequence_bytes
    }

    #[inline(always)]
    fn sequence<C: Compare>(&mut self, bytes: Bytes<'_, C>, fields: &Fields) {
        let Fields { sequence, qualities, .. } = *fields;
        if fields.reference >= 0 {
            if self.tokens.covered() < qualities {
                let overlaps = self.reads.overlaps(fields);
                let range = sequence.max(self.tokens.covered())..sequence + overlaps.reached_bytes;
                let newest = overlaps.newest;
                let sources = Sources { distances: &overlaps.distances, newest };
                let region = CoverSpan::whole(range, Class::Bases);
                bytes.cover::<_, LAZY, 4>(region, sources, &mut self.tokens);
            }
            self.reads.push(fields);
        }
        let size = qualities - sequence;
        self.sequence_bytes += size;
        self.alone_bytes += if self.tokens.covered() <= sequence { size } else { 0 };
        self.tokens.literals_to(qualities, Class::Bases);
    }

    /// Gives the slot whose tags the record has, if a copy with the last qualities had all of them.
    #[inline(always)]
    fn qualities<C: Compare>(&mut self, bytes: Bytes<'_, C>, fields: &Fields) -> Option<usize> {
        let min_run = if LAZY { MIN_RUN_LAZY } else { MIN_RUN_GREEDY };
        let Fields { qualities, tags, end, .. } = *fields;
        let tail = if LAZY { self.tail(bytes, fields) } else { None };
        let qualities_end = tail.map_or(tags, |tail| tail.at);
        bytes.cover_runs(qualities..qualities_end, min_run, Class::Bases, &mut self.tokens);
        self.tokens.literals_to(qualities_end, Class::Bases);
        let tail = tail.filter(|tail| self.tokens.covered() <= tail.at);
        let Some(Copy { at, length, distance, slot }) = tail else {
            self.tokens.literals_to(tags, Class::Bases);
            return None;
        };
        self.tokens.copy(at, length, distance, Class::Other);
        (at + length >= end).then_some(slot)
    }

    /// A copy of the last qualities, which are one run, and of the tags after them.
    #[inline(always)]
    fn tail<C: Compare>(&self, bytes: Bytes<'_, C>, fields: &Fields) -> Option<Copy> {
        let Fields { bases, tags, end, .. } = *fields;
        let is_open = self.tokens.covered() + MIN_TAIL_BASES <= tags;
        if bases <= MIN_TAIL_BASES || tags >= end || self.history.is_empty() || !is_open {
            return None;
        }
        let last = [bytes.window.byte_at(tags - 1); COLUMNS];
        let is_last = bytes.compare.equal(bytes.window.columns(tags - COLUMNS / 2), &last) << 32;
        let run = (!is_last).leading_zeros() as usize;
        if run > MAX_TAIL_RUN {
            return None;
        }
        let at = tags - run;
        let distances = self.history.distances_of_tags(tags, 0);
        let differences = bytes.differences(at, &distances, first_columns(COLUMNS));
        let whole = bytes.compare.longest(&differences, 0);
        let of_tags = bytes.compare.longest(&differences, run as u32).length as usize;
        let length = whole.length as usize;
        if length < run + MIN_TAIL_TAG_BYTES || length + MAX_TAIL_LOSS_BYTES < run + of_tags {
            return None;
        }
        let sources = Sources { distances: &distances, newest: self.history.newest() };
        Some(copy_of::<_, K, LAZY>(bytes, at, whole, sources, end))
    }

    /// Tags: at each one that is not covered, the longest copy of tags of the same rank. Gives how
    /// many ranks are known.
    #[inline(always)]
    fn tags<C: Compare>(
        &mut self,
        bytes: Bytes<'_, C>,
        fields: &Fields,
        tail_slot: Option<usize>,
    ) -> usize {
        let Fields { tags, end, .. } = *fields;
        if let Some(slot) = tail_slot {
            let distance = self.history.distances_of_tags(tags, 0)[slot % K] as usize;
            return self.history.copy_tags(0, slot, distance, end);
        }
        let (mut tag, mut rank) = (tags, 0);
        // A tag has four bytes at least.
        while tag + 3 < end && rank < MAX_TAGS {
            if self.tokens.covered() <= tag + 2
                && let Some(copy) = self.tag(bytes, tag, rank, end)
            {
                let Copy { at, length, distance, slot } = copy;
                self.tokens.copy(at, length, distance, Class::Other);
                if at <= tag && at + length >= end {
                    return self.history.copy_tags(rank, slot, distance, end);
                }
            }
            let Some(next) = tag_end(bytes.window, tag, end) else { break };
            self.history.set_tag(rank, tag);
            if next - tag >= MIN_LIST_BYTES {
                self.list(bytes, tag, rank, next);
            }
            if next - tag > MIN_TAG_WITH_RUNS_BYTES && self.tokens.covered() < next {
                let min_run = if LAZY { MIN_RUN_LAZY } else { MIN_RUN_GREEDY };
                bytes.cover_runs(tag + 3..next, min_run, Class::Other, &mut self.tokens);
            }
            rank += 1;
            tag = next;
        }
        rank
    }

    /// What is left of a tag of a rank that is a list and ends at `end`: copies of entries that
    /// begin alike, wherever they were, and of tags of the same rank.
    #[inline(always)]
    fn list<C: Compare>(&mut self, bytes: Bytes<'_, C>, tag: usize, rank: usize, end: usize) {
        if bytes.window.byte_at(end - 2) != b';' {
            return;
        }
        let mut distances = self.history.distances_of_tags(tag, rank);
        let mut at = tag + 3;
        while at < end {
            let hits = self.entries.exchange(bytes, at..end, at == tag + 3);
            let from = at.max(self.tokens.covered());
            at += COLUMNS;
            if from < at.min(end) {
                distances[K - LIST_HITS..].copy_from_slice(&hits);
                let sources = Sources { distances: &distances, newest: self.history.newest() };
                let region =
                    CoverSpan { range: from..end, starts_before: at.min(end), class: Class::Other };
                bytes.cover::<K, LAZY, 4>(region, sources, &mut self.tokens);
            }
        }
    }

    /// The longest copy of the tag of a rank and what follows, perhaps with bytes before it.
    #[inline(always)]
    fn tag<C: Compare>(
        &self,
        bytes: Bytes<'_, C>,
        tag: usize,
        rank: usize,
        end: usize,
    ) -> Option<Copy> {
        let covered = self.tokens.covered();
        let before = tag.saturating_sub(covered).min(BYTES_BEFORE);
        let from = tag.max(covered) - before;
        let distances = self.history.distances_of_tags(tag, rank);
        let differences = bytes.differences(from, &distances, first_columns(COLUMNS));
        let mut column = before as u32;
        let mut longest = bytes.compare.longest(&differences, column);
        while column > 0 {
            let earlier = bytes.compare.longest(&differences, column - 1);
            if earlier.length <= longest.length {
                break;
            }
            (column, longest) = (column - 1, earlier);
        }
        let sources = Sources { distances: &distances, newest: self.history.newest() };
        let copy = copy_of::<_, K, LAZY>(bytes, from + column as usize, longest, sources, end);
        (copy.length >= SHORTEST_COPY).then_some(copy)
    }
}

/// A copy of bytes of the record in a slot.
#[derive(Debug, Clone, Copy)]
struct Copy {
    at: usize,
    length: usize,
    distance: usize,
    slot: usize,
}

/// The copy at `at` with what follows, if it was cut by the columns; it may go on into the fixed
/// fields of the next record after `end`.
#[inline(always)]
fn copy_of<C: Compare, const K: usize, const LAZY: bool>(
    bytes: Bytes<'_, C>,
    at: usize,
    longest: Longest,
    sources: Sources<'_, K>,
    end: usize,
) -> Copy {
    let most = (end + FIXED_BYTES).min(bytes.window.len()) - at;
    let mut length = longest.length as usize;
    let slot = if length >= COLUMNS - 2 && length < most {
        let farthest =
            bytes.farthest::<K, LAZY>(at + length, longest.slots, sources, most - length);
        length += farthest.bytes;
        farthest.slot
    } else {
        newest_of(longest.slots, sources.newest)
    };
    let distance = sources.distances[slot % K] as usize;
    Copy { at, length: length.min(most), distance, slot }
}
