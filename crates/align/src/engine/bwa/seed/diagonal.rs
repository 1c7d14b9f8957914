//! What is known of a read that is on a diagonal: its mismatches, and which k-mers may occur
//! elsewhere.

/// More mismatches leave too little to show anything by.
pub(crate) const MOST_MISMATCHES: usize = 6;

/// The positions of a read's mismatches, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Mismatches {
    positions: [usize; MOST_MISMATCHES],
    count: usize,
}

impl Mismatches {
    pub(crate) fn of(found: &[usize]) -> Self {
        let mut positions = [0; MOST_MISMATCHES];
        positions[..found.len()].copy_from_slice(found);
        Self { positions, count: found.len() }
    }

    pub(crate) fn get(&self) -> &[usize] {
        &self.positions[..self.count]
    }
}

/// The segments between mismatches, each as its first base and one past its last.
pub(crate) fn segments(mismatches: &[usize], length: usize) -> impl Iterator<Item = [usize; 2]> {
    let starts = std::iter::once(0).chain(mismatches.iter().map(|&at| at + 1));
    let ends = mismatches.iter().copied().chain(std::iter::once(length));
    starts.zip(ends).map(|(start, end)| [start, end])
}

/// One bit for each k-mer of a read, up to 512: whether it may occur elsewhere than on the
/// diagonal.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct KmerFlags([u64; 8]);

impl KmerFlags {
    pub(crate) fn get(&self, at: usize) -> bool {
        self.0[at / 64] >> (at % 64) & 1 != 0
    }

    pub(crate) fn set(&mut self, at: usize, value: bool) {
        let bit = 1 << (at % 64);
        self.0[at / 64] = if value { self.0[at / 64] | bit } else { self.0[at / 64] & !bit };
    }
}

/// What is known of a read that is on a diagonal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DiagonalFacts {
    pub(crate) mismatches: Mismatches,
    /// The k-mers that occur twice, if they cover no mismatch; once the search has begun, those
    /// that may occur elsewhere than on the diagonal.
    pub(crate) repeated: KmerFlags,
}
