//! The FM-index: backward search, and from a row of the suffix array to its position.

use super::prefetch::prefetch;
use crate::index::{Block, IndexParts, KmerTable, SUPERBLOCK_ROWS_LOG2, short_suffixes, symbol};

/// A suffix array interval: the rows whose suffixes begin with what has been searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Interval {
    /// First row.
    pub first: u64,
    /// How many rows.
    pub count: u64,
}

impl Interval {
    /// The suffix array interval of k-mer `number`.
    #[inline(always)]
    #[must_use]
    pub fn of_kmer(table: &KmerTable, number: usize) -> Self {
        Self { first: table.first_row(number), count: table.occurrences(number) }
    }

    /// Whether all rows of another are among its rows.
    pub(crate) fn contains(&self, other: Self) -> bool {
        self.first <= other.first && other.first + other.count <= self.first + self.count
    }
}

/// A bi-interval: the rows of a string, and the first one of its reverse complement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BiInterval {
    /// Of the string.
    pub rows: Interval,
    /// First row of its reverse complement.
    pub reverse: u64,
}

impl BiInterval {
    /// That of the reverse complement.
    #[inline]
    #[must_use]
    pub fn turned(&self) -> Self {
        Self { rows: self.reverse(), reverse: self.rows.first }
    }

    /// The rows of the reverse complement, which occurs as often.
    #[inline]
    pub fn reverse(&self) -> Interval {
        Interval { first: self.reverse, count: self.rows.count }
    }
}

/// The loaded index's Burrows-Wheeler transform and suffix array samples.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    parts: IndexParts<'a>,
}

/// A walk from a row, a base back at a time, to the next sampled one.
#[derive(Debug, Clone, Copy)]
pub struct Walk {
    /// The row it is at; with [`SAMPLE`], the number of its sample.
    at: u64,
    /// Bases it has passed.
    pub steps: u64,
}

/// Marks a sample's number.
const SAMPLE: u64 = 1 << 63;

impl Walk {
    /// From a row.
    #[inline]
    #[must_use]
    pub fn from_row(row: u64) -> Self {
        Self { at: row, steps: 0 }
    }
}

/// What a step of a walk comes to.
#[derive(Debug, Clone, Copy)]
pub enum Step {
    /// The place of the walk's first row.
    Place(u64),
    /// The row is sampled: the next step gives the place.
    Sampled,
    /// The base before all that was passed.
    Base(usize),
}

impl<'a> Rows<'a> {
    /// The rows of a loaded index.
    #[inline]
    pub fn new(parts: IndexParts<'a>) -> Self {
        Self { parts }
    }

    #[inline(always)]
    fn block(&self, row: u64) -> &'a Block {
        &self.parts.blocks[(row >> 6) as usize]
    }

    /// The first row of each base and what was counted in the superblocks before that of `row`.
    #[inline(always)]
    fn superblock(&self, row: u64) -> &'a [u64; 4] {
        &self.parts.superblocks[(row >> SUPERBLOCK_ROWS_LOG2) as usize]
    }

    /// The row of `base` before the suffix of `row`, if that base is before it: the first row of
    /// `base`, and so many more as it occurs before `row` in the transform.
    #[inline(always)]
    fn preceding(&self, base: usize, row: u64) -> u64 {
        let block = self.block(row);
        let earlier = (block.rows[base] & earlier_rows(row)).count_ones();
        self.superblock(row)[base] + u64::from(block.before[base]) + u64::from(earlier)
    }

    /// The rows of what `interval` has with `base` before it. Of none, `first` is the row
    /// that the first of them would have.
    #[inline(always)]
    pub fn extend(&self, interval: Interval, base: usize) -> Interval {
        let first = self.preceding(base, interval.first);
        let last = self.preceding(base, interval.first + interval.count);
        Interval { first, count: last - first }
    }

    /// The rows of what `of` has with `base` before it, and the first one of its reverse complement
    /// (Li 2012, doi:10.1093/bioinformatics/bts280, algorithm 2): that ends with the complement of
    /// `base`, and comes after those of the reverse complement of `of` at the end of the text, and
    /// those with a smaller base after it.
    #[inline(always)]
    pub(crate) fn extend_backwards(&self, of: BiInterval, base: usize) -> BiInterval {
        let (longer, sentinel) = self.extend_all(of.rows);
        // All four are counted: how many are smaller could not be predicted.
        let count = |other: usize| if other > base { longer[other].count } else { 0 };
        let smaller = count(1) + count(2) + count(3);
        BiInterval { rows: longer[base], reverse: of.reverse + sentinel + smaller }
    }

    /// As [`Rows::extend_backwards`], with `base` after it.
    #[cfg(test)]
    fn extend_forwards(&self, of: BiInterval, base: usize) -> BiInterval {
        self.extend_backwards(of.turned(), 3 - base).turned()
    }

    /// The rows of a base, and of its complement.
    #[inline]
    pub fn of_base(&self, base: usize) -> BiInterval {
        let first = self.parts.first_rows;
        let rows = Interval { first: first[base], count: first[base + 1] - first[base] };
        BiInterval { rows, reverse: first[3 - base] }
    }

    /// [`Rows::preceding`] of each base.
    #[inline(always)]
    fn all_preceding(&self, row: u64) -> [u64; 4] {
        let (block, superblock) = (self.block(row), self.superblock(row));
        std::array::from_fn(|base| {
            let earlier = (block.rows[base] & earlier_rows(row)).count_ones();
            superblock[base] + u64::from(block.before[base]) + u64::from(earlier)
        })
    }

    /// What [`Rows::extend`] gives for each base, and how many rows of `interval` have none.
    #[inline(always)]
    pub fn extend_all(&self, interval: Interval) -> ([Interval; 4], u64) {
        let first = self.all_preceding(interval.first);
        let last = self.all_preceding(interval.first + interval.count);
        let longer = std::array::from_fn(|base| Interval {
            first: first[base],
            count: last[base] - first[base],
        });
        let sentinel = self.parts.sentinel_row.wrapping_sub(interval.first) < interval.count;
        (longer, u64::from(sentinel))
    }

    /// The rows of all suffixes.
    #[inline]
    pub fn all(&self) -> Interval {
        Interval { first: 0, count: self.parts.first_rows[4] }
    }

    /// The k-mer table of so many bases. They are made longer by a leading base, those of
    /// each length in order, so that the index is read from its beginning to its end for each base.
    #[must_use]
    pub fn kmer_table(&self, bases: usize) -> KmerTable {
        let IndexParts { packed, bases: forward, .. } = self.parts;
        let of_rows = |length: usize, rows: &mut dyn Iterator<Item = u64>| {
            let short = short_suffixes(2 * forward, length, |at| symbol(packed, forward, at));
            KmerTable::of_rows(length, rows.chain([self.all().count]), short)
        };
        // The empty string occurs everywhere.
        let first = (0..4).map(|base| self.extend(self.all(), base).first);
        (1..bases).fold(of_rows(1, &mut { first }), |table, length| {
            let strings = 1 << (2 * length);
            // Where a string does not occur, its first row would be here.
            let longer = |base: usize, number: usize| {
                self.extend(Interval::of_kmer(&table, number), base).first
            };
            let all = (0..4).flat_map(|base| (0..strings).map(move |number| (base, number)));
            of_rows(length + 1, &mut all.map(|(base, number)| longer(base, number)))
        })
    }

    /// Has the processor fetch what [`Rows::extend`] will read.
    #[inline(always)]
    pub fn prefetch(&self, interval: Interval) {
        prefetch(self.block(interval.first));
        prefetch(self.block(interval.first + interval.count));
    }

    /// The place of a sampled row.
    #[inline(always)]
    fn sample(&self, number: usize) -> u64 {
        let IndexParts { samples_low, samples_high, sample_shift, .. } = self.parts;
        let mut sample = u64::from(samples_low[number]);
        if !samples_high.is_empty() {
            sample |= u64::from(samples_high[number]) << 32;
        }
        sample << sample_shift
    }

    /// The place of a walk's row, if it is known here; else the walk goes one step on.
    #[inline(always)]
    pub fn step(&self, walk: &mut Walk) -> Option<u64> {
        match self.step_over(walk) {
            Step::Place(place) => Some(place),
            Step::Sampled | Step::Base(_) => None,
        }
    }

    /// As [`Rows::step`]; returns the base that the walk passes.
    #[inline(always)]
    pub fn step_over(&self, walk: &mut Walk) -> Step {
        if walk.at & SAMPLE != 0 {
            return Step::Place(self.sample((walk.at & !SAMPLE) as usize) + walk.steps);
        }
        let row = walk.at;
        let block = self.block(row);
        let bit = |rows: u64| rows >> (!row & 63) & 1;
        if bit(block.sampled) != 0 {
            let earlier = (block.sampled & earlier_rows(row)).count_ones();
            walk.at = SAMPLE | (block.samples_before + u64::from(earlier));
            return Step::Sampled;
        }
        if row == self.parts.sentinel_row {
            return Step::Place(walk.steps);
        }
        // One of the four has the row's bit; which one could not be predicted.
        let [_, c, g, t] = block.rows.map(bit);
        let base = (c + 2 * g + 3 * t) as usize & 3;
        walk.at = self.preceding(base, row);
        walk.steps += 1;
        // Then its block need not be fetched.
        let stride_log2 = self.parts.row_stride_log2;
        if walk.at.trailing_zeros() >= stride_log2 {
            walk.at = SAMPLE | walk.at >> stride_log2;
        }
        Step::Base(base)
    }

    /// Has the processor fetch what [`Rows::step`] will read.
    #[inline(always)]
    pub fn prefetch_walk(&self, walk: Walk) {
        if walk.at & SAMPLE == 0 {
            return prefetch(self.block(walk.at));
        }
        let number = (walk.at & !SAMPLE) as usize;
        prefetch(&self.parts.samples_low[number]);
        if let Some(high) = self.parts.samples_high.get(number) {
            prefetch(high);
        }
    }
}

/// The bits of the rows of its block that come before `row`.
#[inline(always)]
fn earlier_rows(row: u64) -> u64 {
    !(u64::MAX >> (row & 63))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::{BuildOptions, IndexSource, Loaded, build, check, plan};

    /// A text with its suffixes in order, and the index of it.
    struct Bench {
        /// Forward strand and its reverse complement, as codes.
        text: Vec<u8>,
        suffixes: Vec<usize>,
        loaded: Loaded,
    }

    impl Bench {
        fn new(forward: &[u8]) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let prefix = folder.path().join("x.fa");
            let letters: Vec<u8> = forward.iter().map(|&code| b"ACGT"[usize::from(code)]).collect();
            std::fs::write(&prefix, [b">x\n", &letters[..], b"\n"].concat()).unwrap();
            let ready = plan(&prefix, &BuildOptions::default(), &|_, _| ()).unwrap();
            build(ready, &prefix, &|_, _| ()).unwrap();
            let loaded = Loaded::read(IndexSource::new(&prefix, &check(&prefix).unwrap())).unwrap();
            let reverse = forward.iter().rev().map(|code| 3 - code);
            let text: Vec<u8> = forward.iter().copied().chain(reverse).collect();
            let mut suffixes: Vec<usize> = (0..=text.len()).collect();
            suffixes.sort_by_key(|&at| &text[at..]);
            Self { text, suffixes, loaded }
        }

        /// The rows of a string that occurs.
        fn rows_of(&self, string: &[u8]) -> Option<Interval> {
            let first = self.suffixes.partition_point(|&at| self.text[at..] < *string);
            let begins = |at: &&usize| self.text[**at..].starts_with(string);
            let count = self.suffixes[first..].iter().take_while(begins).count();
            (count > 0).then_some(Interval { first: first as u64, count: count as u64 })
        }

        fn bi_interval_of(&self, string: &[u8]) -> Option<BiInterval> {
            let reverse: Vec<u8> = string.iter().rev().map(|code| 3 - code).collect();
            let (rows, reverse) = (self.rows_of(string)?, self.rows_of(&reverse)?);
            Some(BiInterval { rows, reverse: reverse.first })
        }

        /// Compares what `string`, which occurs as `rows` says, has before and after it, and so on
        /// with all that occurs.
        fn compare_longer(&self, string: &mut Vec<u8>, rows: BiInterval) {
            let searched = Rows::new(self.loaded.parts());
            for base in 0..4 {
                let preceding = searched.extend(rows.rows, base);
                let expected = self.rows_of(&[&[base as u8], &string[..]].concat());
                assert_eq!(
                    (preceding.count > 0).then_some(preceding),
                    expected,
                    "{base} {string:?}"
                );
                let expected = preceding.count > 0;
                let preceding = searched.extend_backwards(rows, base);
                let longer = self.bi_interval_of(&[&[base as u8], &string[..]].concat());
                assert_eq!(expected.then_some(preceding), longer, "{base} {string:?}");
                let after = searched.extend_forwards(rows, base);
                string.push(base as u8);
                let expected = self.bi_interval_of(string);
                assert_eq!((after.rows.count > 0).then_some(after), expected, "{string:?}");
                if expected.is_some() {
                    self.compare_longer(string, after);
                }
                string.pop();
            }
        }
    }

    /// A random text, one of repeats, one that occurs in itself reverse-complemented, and short
    /// ones, at whose ends most strings are.
    fn texts() -> Vec<Vec<u8>> {
        let random: Vec<u8> =
            (0..90_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 29) as u8 & 3).collect();
        let reverse: Vec<u8> = random[..40].iter().rev().map(|code| 3 - code).collect();
        vec![
            random.clone(),
            random[..13].repeat(5),
            [&random[..40], &reverse].concat(),
            vec![0; 40],
            vec![3; 9],
            vec![2],
            random[..7].to_vec(),
        ]
    }

    #[test]
    fn strings_have_the_rows_of_their_suffixes() {
        for text in texts() {
            let bench = Bench::new(&text);
            for base in 0..4 {
                let mut string = vec![base];
                if let Some(rows) = bench.bi_interval_of(&string) {
                    bench.compare_longer(&mut string, rows);
                }
            }
        }
    }

    #[test]
    fn starts_are_where_strings_would_be() {
        for text in texts() {
            let bench = Bench::new(&text);
            for bases in 1..6 {
                let table = Rows::new(bench.loaded.parts()).kmer_table(bases);
                for number in 0..1_usize << (2 * bases) {
                    let string: Vec<u8> =
                        (0..bases).rev().map(|at| (number >> (2 * at) & 3) as u8).collect();
                    let smaller = bench.suffixes.partition_point(|&at| bench.text[at..] < *string);
                    assert_eq!(table.first_row(number), smaller as u64, "{string:?} in {text:?}");
                    let count = bench.rows_of(&string).map_or(0, |rows| rows.count);
                    assert_eq!(table.occurrences(number), count, "{string:?} in {text:?}");
                }
                assert_eq!(table.first_row(1 << (2 * bases)), bench.suffixes.len() as u64);
            }
        }
    }

    #[test]
    fn every_row_is_followed_to_its_place() {
        for text in texts() {
            let bench = Bench::new(&text);
            let rows = Rows::new(bench.loaded.parts());
            for (row, &expected) in bench.suffixes.iter().enumerate() {
                let mut walk = Walk::from_row(row as u64);
                let step = |_| rows.step(&mut walk);
                let place = (0..=bench.text.len() + 1).find_map(step);
                assert_eq!(place, Some(expected as u64), "row {row} of {text:?}");
            }
        }
    }
}
