//! The rows with which searches begin: those of all strings of a few bases.

use seqloom_runtime::placement::ask_for_huge_pages;

use super::memory::Large;

/// The first row of each string of `string_bases` bases, by its number: its bases as digits, the
/// first in the highest place.
#[derive(Debug, PartialEq, Eq)]
pub struct Starts {
    string_bases: usize,
    /// The first strings whose row reaches 2^32, 2 * 2^32, ...
    carries: Vec<u64>,
    /// The low 32 bits of the rows, then of the rows' end.
    rows: Large<u32>,
    /// Suffixes shorter than a string, filled up with A, sorted: their rows come right before those
    /// of the strings that these are.
    short: Vec<u64>,
}

impl Starts {
    /// Of parts that were read or counted.
    pub(super) fn new(
        string_bases: usize,
        carries: Vec<u64>,
        rows: Large<u32>,
        short: Vec<u64>,
    ) -> Self {
        Self { string_bases, carries, rows, short }
    }

    /// Of the first rows of all strings in order, and the rows' end.
    pub(crate) fn of_rows(
        string_bases: usize,
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
        let mut low = Vec::with_capacity((1 << (2 * string_bases)) + 1);
        // They are read here and there.
        ask_for_huge_pages(low.spare_capacity_mut());
        low.extend((0..).zip(rows).map(low_bits));
        Self::new(string_bases, carries, low.into(), short)
    }

    /// Bases of strings for a genome of so many bases, `most` or fewer: there are an eighth as many
    /// strings as bases, or fewer.
    #[must_use]
    pub fn bases_for(bases: u64, most: usize) -> usize {
        (1..=most).rev().find(|&k| 1 << (2 * k) <= bases / 8).unwrap_or(1)
    }

    /// Memory in which the rows of strings of so many bases are found: those of strings a base
    /// shorter are there, too.
    #[must_use]
    pub fn size_bytes(string_bases: usize) -> u64 {
        5 << (2 * string_bases)
    }

    /// Bases of a string.
    #[inline]
    #[must_use]
    pub fn string_bases(&self) -> usize {
        self.string_bases
    }

    pub(super) fn carries(&self) -> &[u64] {
        &self.carries
    }

    pub(super) fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// The first row of the suffixes that begin with string `number` or are larger; up to the
    /// number of strings.
    #[inline]
    #[must_use]
    pub fn start(&self, number: usize) -> u64 {
        let carries = self.carries.iter().filter(|&&first| first <= number as u64).count() as u64;
        carries << 32 | u64::from(self.rows[number])
    }

    /// How many suffixes begin with string `number`.
    #[inline]
    #[must_use]
    pub fn occurrences(&self, number: usize) -> u64 {
        let next = number as u64 + 1;
        let short = self.short.iter().filter(|&&padded| padded == next).count() as u64;
        self.start(number + 1) - self.start(number) - short
    }

    /// Where [`Starts::start`] looks, to be fetched ahead.
    #[inline]
    #[must_use]
    pub fn start_entry(&self, number: usize) -> &u32 {
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
