//! Which k-mers of [`SEED_BASES`] bases occur more than once in `T`.
//!
//! A k-mer and its reverse complement are counted as one, the smaller: `T` holds both as often.
//! Their numbers are spread by a bijection, cut by their high bits into parts of equal size, and
//! each part is sorted with its places; as many parts at a time as the memory holds.

use std::mem;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};

use seqloom_runtime::pool;

use super::super::error::BuildError;
use super::super::memory::{Large, reserved};
use super::super::packed::Packed;
use super::SEED_BASES;
use super::make::{RollingKmer, across_border, forward};

/// Bits of a k-mer.
const KMER_BITS: u32 = 2 * SEED_BASES as u32;
/// Of these, those that say the part: enough that a part of 2^36 places is not too large.
const PART_BITS: u32 = 10;
const PARTS: usize = 1 << PART_BITS;
/// Bits of a place besides the others of a k-mer in a word.
const PLACE_BITS: u32 = 64 - (KMER_BITS - PART_BITS);
/// Stands for a k-mer across the border of the strands, which has no flag.
const NO_PLACE: u64 = (1 << PLACE_BITS) - 1;
/// Odd, so that multiplying by it modulo 2^38 is a bijection (2^64 / golden ratio: Knuth, The Art
/// of Computer Programming 3, 6.4).
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

/// One bit for each place of the forward strand: whether the [`SEED_BASES`] bases there occur twice
/// or more in `T`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Repeats {
    bases: u64,
    /// The first place in the lowest bit.
    flags: Large<u64>,
}

impl Repeats {
    /// Of flags that were read or made.
    pub(super) fn new(bases: u64, flags: Large<u64>) -> Self {
        Self { bases, flags }
    }

    /// Bytes of the flags.
    pub(in super::super) fn size_bytes(bases: u64) -> u64 {
        8 * bases.div_ceil(64)
    }

    pub(super) fn bases(&self) -> u64 {
        self.bases
    }

    pub(super) fn flags(&self) -> &[u64] {
        &self.flags
    }

    /// Whether the [`SEED_BASES`] bases at each of `count` places of `T`, 1 to 64, from `place` on
    /// occur more than once; the first in the lowest bit. They must be on one strand.
    #[inline]
    #[must_use]
    pub(crate) fn at(&self, place: u64, count: usize) -> u64 {
        let unused = 64 - count as u32;
        let first = self.forward_place(place);
        if place < self.bases {
            self.forward(first) << unused >> unused
        } else {
            // In the other order.
            let last = first + 1 - count as u64;
            (self.forward(last) << unused).reverse_bits()
        }
    }

    /// Bits of 64 places of the forward strand; zeros after the last.
    #[inline]
    fn forward(&self, place: u64) -> u64 {
        let (at, shift) = ((place >> 6) as usize, (place & 63) as u32);
        let next = self.flags.get(at + 1).copied().unwrap_or(0);
        self.flags[at] >> shift | next.checked_shl(64 - shift).unwrap_or(0)
    }

    /// Where [`Repeats::at`] looks, to be fetched ahead.
    #[inline]
    #[must_use]
    pub(crate) fn entry(&self, place: u64) -> &u64 {
        &self.flags[(self.forward_place(place) >> 6) as usize]
    }

    #[inline]
    fn forward_place(&self, place: u64) -> u64 {
        if place < self.bases { place } else { 2 * self.bases - place - SEED_BASES as u64 }
    }
}

/// Places that are held at once at the least: a few parts, with room for uneven ones.
fn least_entries(bases: u64) -> u64 {
    4 * bases / PARTS as u64 + (1 << 16)
}

/// The least memory for [`find`].
pub(super) fn least_bytes(bases: u64) -> u64 {
    8 * least_entries(bases)
}

/// Finds the repeated k-mers of the forward strand.
pub(super) fn find(
    packed: &Packed,
    memory_bytes: u64,
    threads: NonZeroUsize,
) -> Result<Repeats, BuildError> {
    let words = packed.bases().div_ceil(64);
    let mut flags = reserved(words)?;
    flags.resize_with(words as usize, || AtomicU64::new(0));
    let mut sizes = vec![0_u64; PARTS];
    for_each(packed, &mut |spread, _| sizes[part_of(spread)] += 1);
    let most = (memory_bytes / 8).max(least_entries(packed.bases()));
    let mut first = 0;
    while first < PARTS {
        let mut held = sizes[first];
        let mut end = first + 1;
        while end < PARTS && held + sizes[end] <= most {
            held += sizes[end];
            end += 1;
        }
        flag_parts(packed, &sizes, first..end, &flags, threads)?;
        first = end;
    }
    let flags = mem::take(&mut *flags).into_iter().map(AtomicU64::into_inner);
    Ok(Repeats::new(packed.bases(), flags.collect::<Vec<_>>().into()))
}

fn part_of(spread: u64) -> usize {
    (spread >> (KMER_BITS - PART_BITS)) as usize
}

/// Hands out each k-mer of the forward strand, spread, with its place, and those across the
/// border.
fn for_each(packed: &Packed, take: &mut impl FnMut(u64, u64)) {
    let spread = |kmer: &RollingKmer| {
        kmer.forward.min(kmer.reverse).wrapping_mul(SPREAD) & ((1 << KMER_BITS) - 1)
    };
    let mut kmer = RollingKmer::new(SEED_BASES);
    for (at, base) in forward(packed).enumerate() {
        if kmer.push(base) {
            take(spread(&kmer), at as u64 + 1 - SEED_BASES as u64);
        }
    }
    let mut kmer = RollingKmer::new(SEED_BASES);
    for base in across_border(packed, SEED_BASES) {
        if kmer.push(base) {
            take(spread(&kmer), NO_PLACE);
        }
    }
}

/// Sets the flags of the k-mers of some parts.
fn flag_parts(
    packed: &Packed,
    sizes: &[u64],
    parts: std::ops::Range<usize>,
    flags: &[AtomicU64],
    threads: NonZeroUsize,
) -> Result<(), BuildError> {
    let mut entries = reserved::<u64>(sizes[parts.clone()].iter().sum())?;
    entries.resize(sizes[parts.clone()].iter().sum::<u64>() as usize, 0);
    let mut ends: Vec<usize> = Vec::with_capacity(parts.len());
    let mut start = 0;
    for size in &sizes[parts.clone()] {
        ends.push(start);
        start += *size as usize;
    }
    for_each(packed, &mut |spread, place| {
        let part = part_of(spread);
        if parts.contains(&part) {
            let end = &mut ends[part - parts.start];
            entries[*end] = spread << PLACE_BITS | place;
            *end += 1;
        }
    });
    let mut rest = &mut entries[..];
    let mut pieces = Vec::with_capacity(parts.len());
    for size in &sizes[parts] {
        let (piece, others) = rest.split_at_mut(*size as usize);
        pieces.push(piece);
        rest = others;
    }
    let work = |(): &mut (), piece: &mut [u64]| {
        piece.sort_unstable();
        flag_equal(piece, flags);
        Ok(())
    };
    pool::for_each(threads, pieces.into_iter(), &|| Ok(()), |_| Ok(()), work).map(drop)
}

/// Sets the flags of the places whose k-mers are found more than once in a sorted part.
fn flag_equal(sorted: &[u64], flags: &[AtomicU64]) {
    for equal in sorted.chunk_by(|a, b| a >> PLACE_BITS == b >> PLACE_BITS) {
        if equal.len() < 2 {
            continue;
        }
        for place in equal.iter().map(|entry| entry & NO_PLACE).filter(|&place| place != NO_PLACE) {
            // Relaxed: bits are set and never read before the workers have ended.
            flags[(place >> 6) as usize].fetch_or(1 << (place & 63), Ordering::Relaxed);
        }
    }
}
