//! Bases and starts of adapters by cycle, and mapping qualities.
//!
//! Counted: primary records, duplicates, QC-failed and unmapped ones among them; mapping qualities
//! of the mapped ones.

use memchr::memmem;
use seqloom_format::bam::Flags;
use seqloom_format::state_of_fields;

use super::observed::{NO_CALL, Observed};

/// Cycles behind this one are not counted: a bound of memory.
const MOST_CYCLES: usize = 1 << 17;
/// 4-bit codes.
const CODES: usize = 16;

/// The adapters that are looked for: their first twelve bases, each as it is, as FastQC does.
pub const ADAPTERS: [(&str, &str); 3] = [
    ("Illumina universal", "AGATCGGAAGAG"),
    ("Nextera transposase", "CTGTCTCTTATA"),
    ("Illumina small RNA 3'", "TGGAATTCTCGG"),
];

/// What to look for, in 4-bit codes, one a byte.
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

/// Counts of one cycle by 4-bit code of the record.
type ByCode = [u64; CODES];

/// First or second reads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CycleBases {
    /// By cycle, of records on the forward strand.
    forward: Vec<ByCode>,
    /// By cycle, of records on the reverse strand, by the code in the record.
    reverse: Vec<ByCode>,
    /// By cycle, reads in which an adapter starts there.
    adapters: Vec<[u64; ADAPTERS.len()]>,
    /// Reads.
    reads: u64,
}

state_of_fields!(CycleBases { forward, reverse, adapters, reads });

/// Shares of one cycle's bases.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CycleContent {
    /// A, C, G, T, and all else (N).
    pub bases: [u64; 5],
}

impl CycleBases {
    fn add(&mut self, codes: &[u8], is_reverse: bool, finders: &AdapterFinders) {
        self.reads += 1;
        let counted = &codes[..codes.len().min(MOST_CYCLES)];
        let cycles = if is_reverse { &mut self.reverse } else { &mut self.forward };
        if cycles.len() < counted.len() {
            cycles.resize(counted.len(), [0; CODES]);
        }
        if is_reverse {
            for (cycle, &code) in cycles.iter_mut().zip(codes.iter().rev()) {
                cycle[usize::from(code & 15)] += 1;
            }
        } else {
            for (cycle, &code) in cycles.iter_mut().zip(codes) {
                cycle[usize::from(code & 15)] += 1;
            }
        }
        for adapter in 0..ADAPTERS.len() {
            let length = ADAPTERS[adapter].1.len();
            let found = if is_reverse {
                finders.reverse[adapter].rfind(codes).map(|at| codes.len() - at - length)
            } else {
                finders.forward[adapter].find(codes)
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
        merge_rows(&mut self.forward, &other.forward);
        merge_rows(&mut self.reverse, &other.reverse);
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
        let cycles = self.forward.len().max(self.reverse.len());
        let mut content = vec![CycleContent::default(); cycles];
        let mut count = |rows: &[ByCode], turn: fn(u8) -> u8| {
            for (row, cycle) in rows.iter().zip(&mut content) {
                for (code, count) in (0_u8..).zip(row) {
                    let base = match turn(code) {
                        1 => 0,
                        2 => 1,
                        4 => 2,
                        8 => 3,
                        _ => 4,
                    };
                    cycle.bases[base] += count;
                }
            }
        };
        count(&self.forward, |code| code);
        count(&self.reverse, complement);
        content
    }

    /// By cycle, of each adapter the reads in which it starts there or earlier.
    #[must_use]
    pub fn adapters_so_far(&self) -> Vec<[u64; ADAPTERS.len()]> {
        let mut sums = [0; ADAPTERS.len()];
        let cycles = self.forward.len().max(self.reverse.len());
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

/// See the module documentation.
#[derive(Debug, Clone, PartialEq, Eq)]
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

state_of_fields!(CycleCounts { first, second, mapping_qualities });

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
        reads.add(observed.codes, observed.has_flags(Flags::REVERSE), finders);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.first.merge(&other.first);
        self.second.merge(&other.second);
        let pairs = self.mapping_qualities.iter_mut().zip(&other.mapping_qualities);
        pairs.for_each(|(sum, more)| *sum += more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(read: &str) -> Vec<u8> {
        read.bytes().map(code_of).collect()
    }

    #[test]
    fn a_read_counts_the_same_on_both_strands() {
        let finders = AdapterFinders::default();
        let t = |read: &str, adapters: &[u64; 3]| {
            let forward_codes = codes(read);
            let reverse_codes: Vec<u8> =
                forward_codes.iter().rev().map(|c| complement(*c)).collect();
            let (mut forward, mut reverse) = (CycleBases::default(), CycleBases::default());
            forward.add(&forward_codes, false, &finders);
            reverse.add(&reverse_codes, true, &finders);
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
        let (mut bases, finders) = (CycleBases::default(), AdapterFinders::default());
        bases.add(&codes("CCAGATCGGAAGAGAGATCGGAAGAG"), false, &finders);
        bases.add(&codes("AGATCGGAAGAG"), false, &finders);
        let so_far = bases.adapters_so_far();
        assert_eq!([so_far[0][0], so_far[1][0], so_far[2][0], so_far[25][0]], [1, 1, 2, 2]);
        assert_eq!((so_far.len(), bases.reads()), (26, 2));
        assert_eq!(bases.content()[0].bases, [1, 1, 0, 0, 0]);
    }
}
