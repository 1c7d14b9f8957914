//! What is known of the records before: where each one's fields are, by slot.

use super::layout::Fields;
use super::tokens::LONGEST_DISTANCE;

/// A place that is none: farther from any place of a block than a distance can be.
const NONE: u32 = 1 << 31;
/// Ranks of tags that are known: a record's first tag has rank 0. bwa's records have 6 to 10 tags,
/// GATK's up to 14; what follows is not matched by rank.
pub(super) const MAX_TAGS: usize = 24;

/// The last records. `K` slots can be compared at once; the last ones are left to other places.
pub(super) struct History<const K: usize> {
    starts: [u32; K],
    cigars: [u32; K],
    /// Start of the tag of a rank.
    tags: [[u32; K]; MAX_TAGS],
    tag_counts: [u8; K],
    /// Slots for records.
    slots: usize,
    /// The slot of the next record.
    next: usize,
    is_empty: bool,
}

impl<const K: usize> History<K> {
    /// For records in the first `slots` slots.
    pub(super) fn new(slots: usize) -> Self {
        Self {
            starts: [NONE; K],
            cigars: [NONE; K],
            tags: [[NONE; K]; MAX_TAGS],
            tag_counts: [0; K],
            slots: slots.clamp(1, K),
            next: 0,
            is_empty: true,
        }
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        *self = Self::new(self.slots);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// The slot of the record before; the last one if there is none.
    #[inline(always)]
    pub(super) fn newest(&self) -> usize {
        if self.next == 0 { self.slots - 1 } else { self.next - 1 }
    }

    /// Start of the record before.
    #[inline(always)]
    pub(super) fn newest_start(&self) -> usize {
        self.starts[self.newest() % K] as usize
    }

    /// From `start`, where a record starts, to the starts of the records before.
    #[inline(always)]
    pub(super) fn distances_of_starts(&self, start: usize) -> [u32; K] {
        distances(start, &self.starts)
    }

    /// From `cigar`, where a record's CIGAR starts, to the CIGARs before.
    #[inline(always)]
    pub(super) fn distances_of_cigars(&self, cigar: usize) -> [u32; K] {
        distances(cigar, &self.cigars)
    }

    /// From `tag`, where a tag of this rank starts, to the tags of this rank before.
    #[inline(always)]
    pub(super) fn distances_of_tags(&self, tag: usize, rank: usize) -> [u32; K] {
        distances(tag, &self.tags[rank % MAX_TAGS])
    }

    /// The record at hand has a tag of this rank at `tag`.
    #[inline(always)]
    pub(super) fn set_tag(&mut self, rank: usize, tag: usize) {
        self.tags[rank % MAX_TAGS][self.next % K] = tag as u32;
    }

    /// The record at hand has the tags of the record in `slot`, from `rank` on, `distance` bytes
    /// after them, as far as they are before `end`. Gives how many ranks it has.
    #[inline(always)]
    pub(super) fn copy_tags(
        &mut self,
        rank: usize,
        slot: usize,
        distance: usize,
        end: usize,
    ) -> usize {
        let count = usize::from(self.tag_counts[slot % K]);
        for rank in rank..count {
            let tag = self.tags[rank % MAX_TAGS][slot % K] as usize + distance;
            if tag >= end {
                return rank;
            }
            self.set_tag(rank, tag);
        }
        count.max(rank)
    }

    /// The record at hand is over; it has tags of the first `tags` ranks.
    #[inline(always)]
    pub(super) fn push(&mut self, fields: &Fields, tags: usize) {
        let slot = self.next % K;
        for rank in tags..usize::from(self.tag_counts[slot]) {
            self.tags[rank % MAX_TAGS][slot] = NONE;
        }
        self.tag_counts[slot] = tags as u8;
        self.starts[slot] = fields.start as u32;
        self.cigars[slot] = fields.cigar as u32;
        self.next = if self.next + 1 == self.slots { 0 } else { self.next + 1 };
        self.is_empty = false;
    }
}

/// From `at` to each earlier place; 0 where there is none, or none within reach.
#[inline(always)]
fn distances<const K: usize>(at: usize, earlier: &[u32; K]) -> [u32; K] {
    let mut distances = [0; K];
    for (distance, &earlier) in distances.iter_mut().zip(earlier) {
        let back = (at as u32).wrapping_sub(earlier);
        *distance = if back <= LONGEST_DISTANCE as u32 { back } else { 0 };
    }
    distances
}

/// A read whose sequence others may overlap.
#[derive(Debug, Clone, Copy, Default)]
struct Read {
    reference: i32,
    unclipped_start: i32,
    /// Place of its sequence in the block; 0 for no read.
    sequence: usize,
    bases: usize,
}

/// Fewest bytes of sequence that two reads must share to be compared.
const MIN_SHARED_BYTES: i64 = 9;

/// The last `READS` reads, which a sequence is compared with, apart by the parity of their place:
/// a byte of a sequence has two bases, so only
/// those of reads whose starts are an even number of bases apart have the same bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reads<const READS: usize> {
    reads: [[Read; READS]; 2],
    next: [usize; 2],
}

/// Places that a sequence may repeat.
#[derive(Debug, Clone, Copy)]
pub(super) struct Overlaps<const READS: usize> {
    /// By slot; 0 for none.
    pub(super) distances: [u32; READS],
    /// The slot of the last read.
    pub(super) newest: usize,
    /// Bytes of the sequence from its start on that any of the reads reaches.
    pub(super) reached_bytes: usize,
}

impl<const READS: usize> Default for Reads<READS> {
    fn default() -> Self {
        Self { reads: [[Read::default(); READS]; 2], next: [0; 2] }
    }
}

impl<const READS: usize> Reads<READS> {
    fn parity(fields: &Fields) -> usize {
        (fields.unclipped_start & 1) as usize
    }

    /// Adds the read of a record.
    #[inline(always)]
    pub(super) fn push(&mut self, fields: &Fields) {
        let parity = Self::parity(fields);
        let next = &mut self.next[parity];
        self.reads[parity][*next % READS] = Read {
            reference: fields.reference,
            unclipped_start: fields.unclipped_start,
            sequence: fields.sequence,
            bases: fields.bases,
        };
        *next = (*next + 1) % READS;
    }

    /// From the sequence of `fields` to those of reads with the same unclipped start, the last one
    /// first; 0 for others.
    #[inline(always)]
    pub(super) fn of_same_start(&self, fields: &Fields) -> [usize; READS] {
        let parity = Self::parity(fields);
        let (reads, next) = (&self.reads[parity], self.next[parity]);
        let mut distances = [0; READS];
        for (back, distance) in distances.iter_mut().enumerate() {
            let read = &reads[(next + READS - 1 - back) % READS];
            let is_same = read.sequence > 0
                && read.unclipped_start == fields.unclipped_start
                && read.reference == fields.reference
                && fields.sequence - read.sequence <= LONGEST_DISTANCE;
            *distance = if is_same { fields.sequence - read.sequence } else { 0 };
        }
        distances
    }

    /// Where the sequence of `fields` overlaps those of the last reads.
    #[inline(always)]
    pub(super) fn overlaps(&self, fields: &Fields) -> Overlaps<READS> {
        let parity = Self::parity(fields);
        let newest = (self.next[parity] + READS - 1) % READS;
        let mut overlaps = Overlaps { distances: [0; READS], newest, reached_bytes: 0 };
        for (distance, read) in overlaps.distances.iter_mut().zip(&self.reads[parity]) {
            if read.sequence == 0 || read.reference != fields.reference {
                continue;
            }
            // Byte j of the sequence is byte j + ahead of the earlier one.
            let ahead = (i64::from(fields.unclipped_start) - i64::from(read.unclipped_start)) >> 1;
            // The last base of an odd number shares its byte with none.
            let shared_end = match ahead {
                0 => read.bases.min(fields.bases).div_ceil(2) as i64,
                _ => ((read.bases / 2) as i64 - ahead).min((fields.bases / 2) as i64),
            };
            let back = fields.sequence as i64 - (read.sequence as i64 + ahead);
            let is_in_reach = (1..=LONGEST_DISTANCE as i64).contains(&back);
            if shared_end - (-ahead).max(0) >= MIN_SHARED_BYTES && is_in_reach {
                *distance = back as u32;
                overlaps.reached_bytes = overlaps.reached_bytes.max(shared_end as usize);
            }
        }
        overlaps
    }
}
