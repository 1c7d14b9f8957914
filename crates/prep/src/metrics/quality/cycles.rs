//! Bases and starts of adapters by cycle, and mapping qualities. An adapter is looked for where an
//! aligner would leave it: its first twelve bases end in the part of a read that no alignment
//! covers.
//!
//! Counted: primary records, duplicates, QC-failed and unmapped ones among them; mapping qualities
//! of the mapped ones.

use memchr::memmem;
use seqloom_format::bam::{Flags, cigar};
use seqloom_format::persist_fields;

use super::cycle_sums::{CycleSums, Lengths};
use super::observed::{NO_CALL, Observed};
use super::padded::{LANES, Padded};

/// Cycles after this one are not counted: a bound of memory.
const MOST_CYCLES: usize = MOST_LANES * LANES;
const MOST_LANES: usize = 1 << 12;

/// The adapters that are looked for: their first twelve bases, each as it is, as FastQC does.
pub const ADAPTERS: [(&str, &str); 3] = [
    ("Illumina universal", "AGATCGGAAGAG"),
    ("Nextera transposase", "CTGTCTCTTATA"),
    ("Illumina small RNA 3'", "TGGAATTCTCGG"),
];

/// Adapter in 4-bit codes, one a byte.
#[derive(Debug)]
pub(super) struct AdapterFinders {
    forward: [memmem::Finder<'static>; ADAPTERS.len()],
    /// Of the reverse complements, from the end on.
    reverse: [memmem::FinderRev<'static>; ADAPTERS.len()],
}

impl Default for AdapterFinders {
    fn default() -> Self {
        let codes = |adapter: usize| ADAPTERS[adapter].1.bytes().map(code_of).collect::<Vec<u8>>();
        let reversed = |adapter| codes(adapter).into_iter().rev().map(complement).collect();
        Self {
            forward: std::array::from_fn(|it| memmem::Finder::new(&codes(it)).into_owned()),
            reverse: std::array::from_fn(|it| {
                let codes: Vec<u8> = reversed(it);
                memmem::FinderRev::new(&codes).into_owned()
            }),
        }
    }
}

fn code_of(letter: u8) -> u8 {
    match letter {
        b'A' => 1,
        b'C' => 2,
        b'G' => 4,
        b'T' => 8,
        _ => NO_CALL,
    }
}

/// The code of the other strand: its bits turned round.
fn complement(code: u8) -> u8 {
    (code & 1) << 3 | (code & 2) << 1 | (code & 4) >> 1 | (code & 8) >> 3
}

/// Codes of A, C, G and T.
const BASES: [u8; 4] = [1, 2, 4, 8];

/// First or second reads.
#[derive(Debug, Clone, Default)]
pub struct CycleBases {
    /// By cycle, A, C, G and T as the sequencer read them.
    bases: [CycleSums<u8>; BASES.len()],
    lengths: Lengths,
    /// By cycle, reads in which an adapter starts there.
    adapters: Vec<[u64; ADAPTERS.len()]>,
    /// Reads that are counted, of any length.
    reads: u64,
}

persist_fields!(CycleBases { bases, lengths, adapters, reads });

/// Shares of one cycle's bases.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CycleContent {
    /// A, C, G, T, and all else (N).
    pub bases: [u64; 5],
}

impl CycleBases {
    /// Counts a read, whose last `unaligned` bases no alignment covers.
    fn add(
        &mut self,
        codes: Padded<'_>,
        is_reverse: bool,
        unaligned: usize,
        finders: &AdapterFinders,
    ) {
        self.reads += 1;
        let kept = codes.at_most(MOST_LANES, is_reverse);
        for (sums, base) in self.bases.iter_mut().zip(BASES) {
            let code = if is_reverse { complement(base) } else { base };
            sums.add(kept, is_reverse, |it| u8::from(it == code));
        }
        self.lengths.add(kept.len());
        if unaligned > 0 {
            self.add_adapters(codes.bytes(), is_reverse, unaligned, finders);
        }
    }

    fn add_adapters(
        &mut self,
        codes: &[u8],
        is_reverse: bool,
        unaligned: usize,
        finders: &AdapterFinders,
    ) {
        for (adapter, (_, bases)) in ADAPTERS.iter().enumerate() {
            let length = bases.len();
            let room = (unaligned + length - 1).min(codes.len());
            let found = if is_reverse {
                let at = finders.reverse[adapter].rfind(&codes[..room]);
                at.map(|at| codes.len() - at - length)
            } else {
                let start = codes.len() - room;
                finders.forward[adapter].find(&codes[start..]).map(|at| start + at)
            };
            if let Some(cycle) = found.filter(|cycle| *cycle < MOST_CYCLES) {
                if self.adapters.len() <= cycle {
                    self.adapters.resize(cycle + 1, [0; ADAPTERS.len()]);
                }
                self.adapters[cycle][adapter] += 1;
            }
        }
    }

    fn merge(&mut self, other: &Self) {
        self.bases.iter_mut().zip(&other.bases).for_each(|(sum, more)| sum.merge(more));
        self.lengths.merge(&other.lengths);
        merge_rows(&mut self.adapters, &other.adapters);
        self.reads += other.reads;
    }

    /// Reads counted.
    #[must_use]
    pub fn reads(&self) -> u64 {
        self.reads
    }

    /// Bases by cycle, as the sequencer read them.
    #[must_use]
    pub fn content(&self) -> Vec<CycleContent> {
        let bases = self.bases.each_ref().map(CycleSums::by_cycle);
        let all = self.lengths.by_cycle();
        let content = |(cycle, all): (usize, &u64)| {
            let [a, c, g, t] = bases.each_ref().map(|it| it.get(cycle).copied().unwrap_or(0));
            CycleContent { bases: [a, c, g, t, all - a - c - g - t] }
        };
        all.iter().enumerate().map(content).collect()
    }

    /// By cycle, of each adapter the reads in which it starts there or earlier.
    #[must_use]
    pub fn adapters_so_far(&self) -> Vec<[u64; ADAPTERS.len()]> {
        let mut sums = [0; ADAPTERS.len()];
        let cycles = self.lengths.by_cycle().len();
        let none = [0; ADAPTERS.len()];
        let rows = self.adapters.iter().chain(std::iter::repeat(&none)).take(cycles);
        rows.map(|row| {
            sums.iter_mut().zip(row).for_each(|(sum, more)| *sum += more);
            sums
        })
        .collect()
    }
}

fn merge_rows<const N: usize>(sums: &mut Vec<[u64; N]>, more: &[[u64; N]]) {
    if sums.len() < more.len() {
        sums.resize(more.len(), [0; N]);
    }
    for (sum, row) in sums.iter_mut().zip(more) {
        sum.iter_mut().zip(row).for_each(|(sum, more)| *sum += more);
    }
}

/// Counts by cycle of the read, of first and second reads apart.
#[derive(Debug, Clone)]
pub struct CycleCounts {
    /// First reads, and single ones.
    pub first: CycleBases,
    /// Second reads.
    pub second: CycleBases,
    /// Mapped reads by mapping quality.
    pub mapping_qualities: [u64; 256],
}

impl Default for CycleCounts {
    fn default() -> Self {
        Self {
            first: CycleBases::default(),
            second: CycleBases::default(),
            mapping_qualities: [0; 256],
        }
    }
}

persist_fields!(CycleCounts { first, second, mapping_qualities });

impl CycleCounts {
    pub(super) fn add(&mut self, observed: &Observed<'_>, finders: &AdapterFinders) {
        if !observed.is_primary() {
            return;
        }
        if !observed.has_flags(Flags::UNMAPPED) {
            self.mapping_qualities[usize::from(observed.record.mapping_quality())] += 1;
        }
        let is_second = observed.has_flags(Flags::PAIRED | Flags::SECOND_OF_PAIR);
        let reads = if is_second { &mut self.second } else { &mut self.first };
        let is_reverse = observed.has_flags(Flags::REVERSE);
        let unaligned = unaligned_bases(observed, is_reverse);
        reads.add(observed.codes, is_reverse, unaligned, finders);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.first.merge(&other.first);
        self.second.merge(&other.second);
        let pairs = self.mapping_qualities.iter_mut().zip(&other.mapping_qualities);
        pairs.for_each(|(sum, more)| *sum += more);
    }
}

/// Bases at the end of a read, as the sequencer read it, that its alignment leaves out; all of an
/// unmapped read.
fn unaligned_bases(observed: &Observed<'_>, is_reverse: bool) -> usize {
    if observed.has_flags(Flags::UNMAPPED) {
        return observed.codes.len();
    }
    let mut codes = observed.cigar.codes();
    let end = if is_reverse { codes.next() } else { codes.last() };
    let clipped = end.filter(|(code, _)| *code == cigar::SOFT_CLIP).map_or(0, |(_, length)| length);
    (clipped as usize).min(observed.codes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(read: &str) -> Vec<u8> {
        read.bytes().map(code_of).collect()
    }

    fn add(to: &mut CycleBases, codes: &[u8], is_reverse: bool, unaligned: usize) {
        let mut memory = Vec::new();
        let codes = Padded::of(codes, &mut memory);
        to.add(codes, is_reverse, unaligned, &AdapterFinders::default());
    }

    #[test]
    fn a_read_counts_the_same_on_both_strands() {
        let t = |read: &str, adapters: &[u64; 3]| {
            let forward_codes = codes(read);
            let reverse_codes: Vec<u8> =
                forward_codes.iter().rev().map(|c| complement(*c)).collect();
            let (mut forward, mut reverse) = (CycleBases::default(), CycleBases::default());
            add(&mut forward, &forward_codes, false, read.len());
            add(&mut reverse, &reverse_codes, true, read.len());
            assert_eq!(forward.content(), reverse.content(), "{read}");
            assert_eq!(forward.adapters_so_far(), reverse.adapters_so_far(), "{read}");
            assert_eq!(forward.adapters_so_far().last().unwrap_or(&[0; 3]), adapters, "{read}");
        };
        t("", &[0; 3]);
        t("ACGTN", &[0; 3]);
        t("ACGTNAGATCGGAAGAGAA", &[1, 0, 0]);
        t("AGATCGGAAGAGCTGTCTCTTATAAGATCGGAAGAG", &[1, 1, 0]);
        t("TTTGGAATTCTCGG", &[0, 0, 1]);
        t("TTTGGAATTCTCG", &[0; 3]);
    }

    #[test]
    fn adapters_are_counted_where_they_first_start() {
        let mut bases = CycleBases::default();
        add(&mut bases, &codes("CCAGATCGGAAGAGAGATCGGAAGAG"), false, 24);
        add(&mut bases, &codes("AGATCGGAAGAG"), false, 1);
        let so_far = bases.adapters_so_far();
        assert_eq!([so_far[0][0], so_far[1][0], so_far[2][0], so_far[25][0]], [1, 1, 2, 2]);
        assert_eq!((so_far.len(), bases.reads()), (26, 2));
        assert_eq!(bases.content()[0].bases, [1, 1, 0, 0, 0]);
    }

    #[test]
    fn aligned_bases_are_no_adapters() {
        let t = |unaligned, expected: u64| {
            for is_reverse in [false, true] {
                let mut bases = CycleBases::default();
                let mut read = codes("AGATCGGAAGAGCCCAGATCGGAAGAGTT");
                if is_reverse {
                    read = read.into_iter().rev().map(complement).collect();
                }
                add(&mut bases, &read, is_reverse, unaligned);
                let found = bases.adapters_so_far().iter().position(|sums| sums[0] > 0);
                assert_eq!(found.map_or(99, |cycle| cycle as u64), expected, "{unaligned}");
            }
        };
        t(0, 99);
        t(2, 99); // the last base of the second one is aligned
        t(3, 15);
        t(17, 15);
        t(18, 0);
    }
}
