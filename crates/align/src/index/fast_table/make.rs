//! Making the tables from the packed forward strand.

use std::num::NonZeroUsize;
use std::sync::Arc;

use super::super::error::BuildError;
use super::super::kmer_table::{KmerTable, short_suffixes};
use super::super::memory::{Large, reserved};
use super::super::packed::Packed;
use super::{FastTable, MOST_KMER_BASES, SEED_BASES, repeats};

impl FastTable {
    /// The least memory in which they are made, besides the packed bases.
    pub(in super::super) fn least_bytes(bases: u64) -> u64 {
        Self::size_bytes(bases) + repeats::least_bytes(bases)
    }

    /// Makes the tables within `memory_bytes` besides `packed`, or the least that does. They do not
    /// depend on the memory, nor on the threads.
    pub(in super::super) fn make(
        packed: &Packed,
        memory_bytes: u64,
        threads: NonZeroUsize,
    ) -> Result<Self, BuildError> {
        let bases = packed.bases();
        let left = memory_bytes.saturating_sub(Self::size_bytes(bases));
        let repeats = repeats::find(packed, left, threads)?;
        let kmer_bases = KmerTable::bases_for(bases, MOST_KMER_BASES);
        let short = short_suffixes(2 * bases, kmer_bases, |at| packed.symbol(at));
        let (rows, carries) = kmer_table(packed, kmer_bases, &short)?;
        let packed_crc = packed.crc();
        let kmer_table = Arc::new(KmerTable::new(kmer_bases, carries, rows, short));
        Ok(Self { packed_crc, kmer_table, repeats })
    }
}

/// K-mers of `length` bases: the one at hand and its reverse complement, as numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct RollingKmer {
    mask: u64,
    top: u32,
    length: usize,
    seen: usize,
    pub(super) forward: u64,
    pub(super) reverse: u64,
}

impl RollingKmer {
    pub(super) fn new(length: usize) -> Self {
        let bits = 2 * length as u32;
        Self { mask: (1 << bits) - 1, top: bits - 2, length, seen: 0, forward: 0, reverse: 0 }
    }

    /// Goes on by one base. Whether there are enough for a k-mer.
    #[inline]
    pub(super) fn push(&mut self, base: u64) -> bool {
        self.forward = (self.forward << 2 | base) & self.mask;
        self.reverse = self.reverse >> 2 | (3 - base) << self.top;
        self.seen += 1;
        self.seen >= self.length
    }
}

/// The symbols of `T` on both sides of the border between its strands, for the k-mers across it.
pub(super) fn across_border(packed: &Packed, length: usize) -> impl Iterator<Item = u64> {
    let (bases, sidecars) = (packed.bases(), length as u64 - 1);
    let places = bases.saturating_sub(sidecars)..(bases + sidecars).min(2 * bases);
    places.map(|at| u64::from(packed.symbol(at)))
}

/// The bases of the forward strand in order.
pub(super) fn forward(packed: &Packed) -> impl Iterator<Item = u64> {
    let words = packed.words();
    let bases = words.flat_map(|word| (0..32).map(move |i| word >> (62 - 2 * i) & 3));
    bases.take(packed.bases() as usize)
}

/// The first row of each k-mer of `length` bases and the number of rows, in 32 bits, and where
/// the higher bits change.
fn kmer_table(
    packed: &Packed,
    length: usize,
    short: &[u64],
) -> Result<(Large<u32>, Vec<u64>), BuildError> {
    let count = 1_usize << (2 * length);
    let mut counts = reserved::<u32>(count as u64 + 1)?;
    counts.resize(count + 1, 0);
    // K-mers that occur 2^32 times and more, as often as that.
    let mut overflows = Vec::new();
    let mut add = |number: u64| {
        let entry = &mut counts[number as usize];
        *entry = entry.wrapping_add(1);
        if *entry == 0 {
            overflows.push(number);
        }
    };
    let mut kmer = RollingKmer::new(length);
    for base in forward(packed) {
        if kmer.push(base) {
            add(kmer.forward);
            add(kmer.reverse);
        }
    }
    let mut kmer = RollingKmer::new(length);
    for base in across_border(packed, length) {
        if kmer.push(base) {
            add(kmer.forward);
        }
    }
    overflows.sort_unstable();
    // The sentinel's row is the first.
    let (mut row, mut carries) = (1_u64, Vec::new());
    let mut short = short.iter().peekable();
    let mut overflows = overflows.into_iter().peekable();
    for (number, entry) in counts.iter_mut().enumerate() {
        while short.next_if(|&&padded| padded == number as u64).is_some() {
            row += 1;
        }
        while row >> 32 > carries.len() as u64 {
            carries.push(number as u64);
        }
        let mut occurrences = u64::from(*entry);
        while overflows.next_if_eq(&(number as u64)).is_some() {
            occurrences += 1 << 32;
        }
        *entry = row as u32;
        row += occurrences;
    }
    Ok((counts, carries))
}

const _: () = assert!(SEED_BASES % 2 == 1, "a string must differ from its reverse complement");
