//! The rows with which searches begin: those of all k-mers of a few bases.

use seqloom_runtime::placement::ask_for_huge_pages;

use super::memory::Large;

/// The first row of each k-mer of `kmer_bases` bases, by its number: its bases as digits, the
/// first in the highest place.
#[derive(Debug, PartialEq, Eq)]
pub struct KmerTable {
    kmer_bases: usize,
    /// The first k-mers whose row reaches 2^32, 2 * 2^32, ...
    carries: Vec<u64>,
    /// The low 32 bits of the rows, then of the rows' end.
    rows: Large<u32>,
    /// Suffixes shorter than a k-mer, filled up with A, sorted: their rows come right before those
    /// of the k-mers that these are.
    short: Vec<u64>,
}

impl KmerTable {
    /// Of parts that were read or counted.
    pub(super) fn new(
        kmer_bases: usize,
        carries: Vec<u64>,
        rows: Large<u32>,
        short: Vec<u64>,
    ) -> Self {
        Self { kmer_bases, carries, rows, short }
    }

    /// Of the first rows of all k-mers in order, and the rows' end.
    pub(crate) fn of_rows(
        kmer_bases: usize,
        rows: impl Iterator<Item = u64>,
        short: Vec<u64>,
    ) -> Self {
        let mut carries = Vec::new();
        let low_bits = |(number, row): (u64, u64)| {
            while row >> 32 > carries.len() as u64 {
                carries.push(number);
            }
            row as u32
        };
        let mut low = Vec::with_capacity((1 << (2 * kmer_bases)) + 1);
        // They are read here and there.
        ask_for_huge_pages(low.spare_capacity_mut());
        low.extend((0..).zip(rows).map(low_bits));
        Self::new(kmer_bases, carries, low.into(), short)
    }

    /// Bases of k-mers for a genome of so many bases, `most` or fewer: there are an eighth as many
    /// k-mers as bases, or fewer.
    #[must_use]
    pub fn bases_for(bases: u64, most: usize) -> usize {
        (1..=most).rev().find(|&k| 1 << (2 * k) <= bases / 8).unwrap_or(1)
    }

    /// Memory in which the rows of k-mers of so many bases are found: those of k-mers a base
    /// shorter are there, too.
    #[must_use]
    pub fn size_bytes(kmer_bases: usize) -> u64 {
        5 << (2 * kmer_bases)
    }

    /// Bases of a k-mer.
    #[inline]
    #[must_use]
    pub fn kmer_bases(&self) -> usize {
        self.kmer_bases
    }

    pub(super) fn carries(&self) -> &[u64] {
        &self.carries
    }

    pub(super) fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// The first row of the suffixes that begin with k-mer `number` or are larger; up to the
    /// number of k-mers.
    #[inline]
    #[must_use]
    pub fn first_row(&self, number: usize) -> u64 {
        let carries = self.carries.iter().filter(|&&first| first <= number as u64).count() as u64;
        carries << 32 | u64::from(self.rows[number])
    }

    /// How many suffixes begin with k-mer `number`.
    #[inline]
    #[must_use]
    pub fn occurrences(&self, number: usize) -> u64 {
        let next = number as u64 + 1;
        let short = self.short.iter().filter(|&&padded| padded == next).count() as u64;
        self.first_row(number + 1) - self.first_row(number) - short
    }

    /// Where [`KmerTable::first_row`] looks, to be fetched ahead.
    #[inline]
    #[must_use]
    pub fn entry(&self, number: usize) -> &u32 {
        &self.rows[number]
    }
}

/// The suffixes of a text of `symbols` that are shorter than `length`, filled up with A, sorted.
pub(crate) fn short_suffixes(symbols: u64, length: usize, symbol: impl Fn(u64) -> u8) -> Vec<u64> {
    let suffix = |bases: u64| {
        let number = (symbols - bases..symbols).fold(0, |n, at| n << 2 | u64::from(symbol(at)));
        number << (2 * (length as u64 - bases))
    };
    let mut suffixes: Vec<_> = (1..(length as u64).min(symbols + 1)).map(suffix).collect();
    suffixes.sort_unstable();
    suffixes
}

/// Symbol `at` of `T`, whose forward strand is packed as in `.pac`.
pub(crate) fn symbol(packed: &[u8], bases: u64, at: u64) -> u8 {
    let forward = |at: u64| packed[(at / 4) as usize] >> (6 - 2 * (at % 4)) & 3;
    if at < bases { forward(at) } else { 3 - forward(2 * bases - 1 - at) }
}
