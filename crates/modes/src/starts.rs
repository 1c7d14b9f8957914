//! The rows of all short strings, so that a search begins some bases in.

use seqloom_runtime::placement::ask_for_huge_pages;

use seqloom_align::search::prefetch::prefetch;
use seqloom_align::search::rows::{Interval, Rows};

/// Longest strings in the table: 4^12 entries are 128 MiB.
const LONGEST: usize = 12;
/// Bits of an entry that hold how often its string occurs.
const COUNT_BITS: u32 = 24;
/// It occurs so often, or oftener.
const OFTEN: u64 = (1 << COUNT_BITS) - 1;

/// First row and number of rows of each string of a length. Positions have 39 bits
/// (`index::layout`), so that both fit a word.
#[derive(Debug)]
pub(super) struct Starts {
    string_bases: usize,
    entries: Vec<u64>,
}

/// An interval as a word.
#[inline(always)]
fn entry(interval: Interval) -> u64 {
    interval.first << COUNT_BITS | interval.count.min(OFTEN)
}

impl Starts {
    /// Length of the strings for a genome of so many bases: the table has a byte a base at most.
    fn bases_for(bases: u64) -> usize {
        (1..=LONGEST).rev().find(|&k| 1 << (2 * k) <= bases / 8).unwrap_or(1)
    }

    /// Size of the table of a genome of so many bases.
    pub(super) fn size_bytes(bases: u64) -> u64 {
        8 << (2 * Self::bases_for(bases))
    }

    /// Searches for all strings of a genome of so many bases.
    pub(super) fn find(rows: &Rows<'_>, bases: u64) -> Self {
        let string_bases = Self::bases_for(bases);
        let mut entries = Vec::with_capacity(1 << (2 * string_bases));
        // They are read here and there.
        ask_for_huge_pages(&mut entries);
        entries.resize(1 << (2 * string_bases), 0);
        entries[0] = entry(rows.all());
        let mut starts = Self { string_bases, entries };
        (0..string_bases).for_each(|length| starts.lengthen(rows, length));
        starts
    }

    /// Replaces the strings of `length` bases by those with one more in front. The order of their
    /// numbers is that of their rows, so the index is read from its front to its end.
    fn lengthen(&mut self, rows: &Rows<'_>, length: usize) {
        for number in 0..1 << (2 * length) {
            let search = || {
                let bases = (0..length).map(|at| number >> (2 * at) & 3);
                bases.fold(rows.all(), |interval, base| rows.extend(interval, base))
            };
            let interval = self.get(number).unwrap_or_else(search);
            let (longer, _) = rows.extend_all(interval);
            for (base, interval) in longer.into_iter().enumerate() {
                self.entries[base << (2 * length) | number] = entry(interval);
            }
        }
    }

    /// Bases of the strings.
    pub(super) fn string_bases(&self) -> usize {
        self.string_bases
    }

    /// Has the processor fetch what [`Starts::get`] reads.
    #[inline(always)]
    pub(super) fn prefetch(&self, number: usize) {
        prefetch(&self.entries[number]);
    }

    /// The rows of string `number`; `None` where they are too many for the table.
    #[inline(always)]
    pub(super) fn get(&self, number: usize) -> Option<Interval> {
        let entry = self.entries[number];
        let count = entry & OFTEN;
        (count < OFTEN).then_some(Interval { first: entry >> COUNT_BITS, count })
    }
}
