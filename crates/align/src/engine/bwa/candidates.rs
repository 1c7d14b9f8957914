//! The candidates of a batch: the regions of its reads.

use super::regions::Region;

/// The regions of a batch's reads, one read after the other: pairs, then singles.
#[derive(Debug)]
pub struct Candidates {
    /// Reads of pairs.
    paired: usize,
    regions: Vec<Extended>,
    /// Where the regions of each read end.
    ends: Vec<u32>,
}

/// A [`Region`] as extension leaves it, without what is only known later. All regions of a cohort
/// are in memory at once.
#[derive(Debug, Clone, Copy)]
struct Extended {
    reference_start: i64,
    reference_bases: u32,
    read_start: i32,
    read_end: i32,
    /// Twice the number of the sequence, and one more if it is an ALT sequence.
    sequence: u32,
    score: i32,
    true_score: i32,
    band: i32,
    repetitive: f32,
}

impl Extended {
    fn of(region: &Region) -> Self {
        let extended = Self {
            reference_start: region.reference_start,
            reference_bases: region.reference_span() as u32,
            read_start: region.read_start,
            read_end: region.read_end,
            sequence: (region.sequence as u32) << 1 | u32::from(region.is_alt),
            score: region.score,
            true_score: region.true_score,
            band: region.band,
            repetitive: region.repetitive,
        };
        debug_assert_eq!(extended.region(), *region);
        extended
    }

    fn region(&self) -> Region {
        Region {
            reference_start: self.reference_start,
            reference_end: self.reference_start + i64::from(self.reference_bases),
            read_start: self.read_start,
            read_end: self.read_end,
            sequence: (self.sequence >> 1) as i32,
            score: self.score,
            true_score: self.true_score,
            band: self.band,
            repetitive: self.repetitive,
            is_alt: self.sequence & 1 != 0,
            ..Region::default()
        }
    }
}

impl Candidates {
    /// None yet, with room for those of so many reads, the first `paired` of which are of pairs.
    /// What a vector that has grown gives back an allocator mostly keeps.
    pub(super) fn with_capacity(paired: usize, reads: usize, regions: usize) -> Self {
        let (regions, ends) = (Vec::with_capacity(regions), Vec::with_capacity(reads));
        Self { paired, regions, ends }
    }

    /// How many reads are of pairs, and how many there are.
    pub(super) fn counts(&self) -> [usize; 2] {
        [self.paired, self.ends.len()]
    }

    /// Adds the regions of the next read.
    pub(super) fn push(&mut self, regions: &[Region]) {
        self.regions.extend(regions.iter().map(Extended::of));
        self.ends.push(self.regions.len() as u32);
    }

    /// Regions of read `at`, the best first.
    pub(super) fn of(&self, at: usize) -> impl Iterator<Item = Region> {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.regions[start as usize..self.ends[at] as usize].iter().map(Extended::region)
    }

    /// Memory held, in bytes.
    pub(super) fn held_bytes(&self) -> u64 {
        let regions = self.regions.capacity() * size_of::<Extended>();
        (regions + self.ends.capacity() * size_of::<u32>()) as u64
    }
}
