//! The candidates of a batch: the regions of its reads.

use super::regions::Region;

/// The regions of a batch's reads, one read after the other: pairs, then singles.
#[derive(Debug)]
pub struct Candidates {
    /// Reads of pairs.
    paired: usize,
    regions: Vec<Region>,
    /// Where the regions of each read end.
    ends: Vec<u32>,
}

impl Candidates {
    /// None yet, of reads the first `paired` of which are of pairs.
    pub(super) fn of_pairs(paired: usize) -> Self {
        Self { paired, regions: Vec::new(), ends: Vec::new() }
    }

    /// How many reads are of pairs, and how many there are.
    pub(super) fn counts(&self) -> [usize; 2] {
        [self.paired, self.ends.len()]
    }

    /// Adds the regions of the next read.
    pub(super) fn push(&mut self, regions: impl IntoIterator<Item = Region>) {
        self.regions.extend(regions);
        self.ends.push(self.regions.len() as u32);
    }

    /// All reads are there: no more memory is held than they take.
    pub(super) fn complete(mut self) -> Self {
        self.regions.shrink_to_fit();
        self.ends.shrink_to_fit();
        self
    }

    /// Regions of read `at`, the best first.
    pub(super) fn of(&self, at: usize) -> &[Region] {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.regions[start as usize..self.ends[at] as usize]
    }

    /// Memory held, in bytes.
    pub(super) fn held_bytes(&self) -> u64 {
        let regions = self.regions.capacity() * size_of::<Region>();
        (regions + self.ends.capacity() * size_of::<u32>()) as u64
    }
}
