//! Base qualities: how many bases reach Q20 and Q30 (Picard 2.27.5 CollectQualityYieldMetrics),
//! their mean by cycle (MeanQualityByCycle) and how often each is met (QualityScoreDistribution).
//!
//! Counted: primary records, duplicates, QC-failed and unmapped ones among them. Secondary and
//! supplementary alignments are not.

use seqloom_format::bam::Flags;
use seqloom_format::state::{MalformedState, State};
use seqloom_format::state_of_fields;

use super::cycle_sums::{CycleSums, Lengths};
use super::observed::{NO_CALL, Observed, QualitySums};

/// Qualities are below this one; BAM allows for more, SAM does not.
const QUALITIES: usize = 128;
/// Cycles behind this one are not counted: a bound of memory.
const MOST_CYCLES: usize = 1 << 17;
/// One "Q20 equivalent" base.
const EQUIVALENT: u64 = 20;

/// Reads, bases and qualities of all or of PF reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct YieldCounts {
    /// Reads.
    pub reads: u64,
    /// Bases.
    pub bases: u64,
    /// Bases of Q20 or more.
    pub q20_bases: u64,
    /// Bases of Q30 or more.
    pub q30_bases: u64,
    /// Sum of all qualities.
    pub(crate) quality_sum: u64,
}

impl YieldCounts {
    /// Q20_EQUIVALENT_YIELD.
    #[must_use]
    pub fn q20_equivalent(&self) -> u64 {
        self.quality_sum / EQUIVALENT
    }

    fn merge(&mut self, other: &Self) {
        self.reads += other.reads;
        self.bases += other.bases;
        self.q20_bases += other.q20_bases;
        self.q30_bases += other.q30_bases;
        self.quality_sum += other.quality_sum;
    }
}

/// Quality yield, by original qualities (`OQ`) where a read has them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QualityYieldCounts {
    /// All reads.
    pub all: YieldCounts,
    /// Reads that did not fail QC.
    pub passed: YieldCounts,
}

state_of_fields!(YieldCounts { reads, bases, q20_bases, q30_bases, quality_sum });
state_of_fields!(QualityYieldCounts { all, passed });

impl QualityYieldCounts {
    pub(super) fn add(&mut self, observed: &Observed<'_>) {
        if !observed.is_primary() {
            return;
        }
        let has_original = !observed.original_qualities.is_empty();
        let original = || QualitySums::of(observed.original_qualities);
        let QualitySums { q20, q30, sum } = if has_original { original() } else { observed.sums };
        let read = YieldCounts {
            reads: 1,
            bases: observed.record.base_count() as u64,
            q20_bases: q20,
            q30_bases: q30,
            quality_sum: sum,
        };
        self.all.merge(&read);
        if !observed.has_flags(Flags::QC_FAIL) {
            self.passed.merge(&read);
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.all.merge(&other.all);
        self.passed.merge(&other.passed);
    }

    /// READ_LENGTH: the mean, rounded down.
    #[must_use]
    pub fn read_length(&self) -> u64 {
        self.all.bases.checked_div(self.all.reads).unwrap_or(0)
    }
}

/// By cycle, from 0: sums of qualities, and bases.
#[derive(Debug, Clone, Default)]
struct Cycles {
    qualities: CycleSums<u16>,
    reads: Lengths,
}

state_of_fields!(Cycles { qualities, reads });

impl Cycles {
    fn add(&mut self, qualities: &[u8], is_reverse: bool) {
        if qualities.is_empty() {
            return;
        }
        let kept = qualities.len().min(MOST_CYCLES);
        let first = if is_reverse { qualities.len() - kept } else { 0 };
        let kept = &qualities[first..first + kept];
        self.qualities.add(kept, is_reverse, u16::from);
        self.reads.add(kept.len());
    }

    fn merge(&mut self, other: &Self) {
        self.qualities.merge(&other.qualities);
        self.reads.merge(&other.reads);
    }

    /// Cycles from 1 with their sum of qualities and their bases, of which there are some.
    fn counted(&self) -> impl Iterator<Item = (u32, u64, u64)> {
        let sums = self.qualities.by_cycle().into_iter().zip(self.reads.by_cycle());
        let counted = (1..).zip(sums).filter(|(_, (_, bases))| *bases > 0);
        counted.map(|(cycle, (sum, bases))| (cycle, sum, bases))
    }
}

/// Qualities of one kind: first reads and those without a mate, then second reads.
#[derive(Debug, Clone, Default)]
struct ByCycle {
    first: Cycles,
    second: Cycles,
}

state_of_fields!(ByCycle { first, second });

impl ByCycle {
    fn add(&mut self, observed: &Observed<'_>, qualities: &[u8]) {
        let is_second = observed.has_flags(Flags::PAIRED | Flags::SECOND_OF_PAIR);
        let cycles = if is_second { &mut self.second } else { &mut self.first };
        cycles.add(qualities, observed.has_flags(Flags::REVERSE));
    }

    /// Cycles from 1 and their means, of first and of second reads.
    fn means_of_reads(&self) -> [Vec<(u32, f64)>; 2] {
        [&self.first, &self.second].map(|cycles| {
            cycles.counted().map(|(cycle, sum, bases)| (cycle, sum as f64 / bases as f64)).collect()
        })
    }

    /// Cycles from 1 and their means; second reads follow the last cycle of the first ones.
    fn means(&self) -> Vec<(u32, f64)> {
        let [first, second] = self.means_of_reads();
        // Picard leaves out cycles of first reads whose qualities are all 0.
        let mut means: Vec<_> = first.into_iter().filter(|(_, mean)| *mean > 0.0).collect();
        let first_length = means.last().map_or(0, |(cycle, _)| *cycle);
        means.extend(second.into_iter().map(|(cycle, mean)| (first_length + cycle, mean)));
        means
    }
}

/// Mean quality by cycle.
#[derive(Debug, Clone, Default)]
pub struct QualityByCycleCounts {
    stated: ByCycle,
    original: ByCycle,
}

state_of_fields!(QualityByCycleCounts { stated, original });

impl QualityByCycleCounts {
    pub(super) fn add(&mut self, observed: &Observed<'_>) {
        if observed.is_primary() {
            self.stated.add(observed, observed.qualities);
            self.original.add(observed, observed.original_qualities);
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.stated.first.merge(&other.stated.first);
        self.stated.second.merge(&other.stated.second);
        self.original.first.merge(&other.original.first);
        self.original.second.merge(&other.original.second);
    }

    /// MEAN_QUALITY by cycle.
    #[must_use]
    pub fn means(&self) -> Vec<(u32, f64)> {
        self.stated.means()
    }

    /// Mean quality by cycle of first reads, and of second ones from cycle 1 again.
    #[must_use]
    pub fn means_of_reads(&self) -> [Vec<(u32, f64)>; 2] {
        self.stated.means_of_reads()
    }

    /// MEAN_ORIGINAL_QUALITY by cycle, of reads that have tag `OQ`.
    #[must_use]
    pub fn original_means(&self) -> Vec<(u32, f64)> {
        self.original.means()
    }
}

/// Reads' qualities in turn are often the same, and a processor waits for a counter that it has
/// just written: each of four in turn counts for itself.
const TABLES: usize = 4;
/// As many qualities are counted without a look at where they end.
const AT_A_TIME: usize = 2 * TABLES;

/// How often each byte is met.
#[derive(Debug, Clone)]
struct ByQuality([[u64; 256]; TABLES]);

impl Default for ByQuality {
    fn default() -> Self {
        Self([[0; 256]; TABLES])
    }
}

impl ByQuality {
    fn add(&mut self, codes: &[u8], qualities: &[u8]) {
        let kept = codes.len().min(qualities.len());
        if memchr::memchr(NO_CALL, &codes[..kept]).is_none() {
            let (many, rest) = qualities[..kept].as_chunks::<AT_A_TIME>();
            for some in many {
                for (turn, &quality) in some.iter().enumerate() {
                    self.0[turn % TABLES][usize::from(quality)] += 1;
                }
            }
            rest.iter().for_each(|&quality| self.0[0][usize::from(quality)] += 1);
            return;
        }
        let called = codes.iter().zip(qualities).filter(|(code, _)| **code != NO_CALL);
        for (_, &quality) in called {
            self.0[0][usize::from(quality)] += 1;
        }
    }

    fn counts(&self) -> [u64; QUALITIES] {
        std::array::from_fn(|quality| self.0.iter().map(|table| table[quality]).sum())
    }

    fn merge(&mut self, other: &Self) {
        self.0[0].iter_mut().zip(other.counts()).for_each(|(sum, more)| *sum += more);
    }
}

impl State for ByQuality {
    fn save(&self, out: &mut Vec<u8>) {
        self.counts().save(out);
    }

    fn load(bytes: &mut &[u8]) -> Result<Self, MalformedState> {
        let (mut loaded, counts) = (Self::default(), <[u64; QUALITIES]>::load(bytes)?);
        loaded.0[0][..QUALITIES].copy_from_slice(&counts);
        Ok(loaded)
    }
}

/// How often each quality is met; no-calls are not counted.
#[derive(Debug, Clone, Default)]
pub struct QualityDistributionCounts {
    stated: ByQuality,
    original: ByQuality,
}

state_of_fields!(QualityDistributionCounts { stated, original });

impl QualityDistributionCounts {
    pub(super) fn add(&mut self, observed: &Observed<'_>) {
        if !observed.is_primary() || observed.qualities.is_empty() {
            return;
        }
        self.stated.add(observed.codes, observed.qualities);
        self.original.add(observed.codes, observed.original_qualities);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.stated.merge(&other.stated);
        self.original.merge(&other.original);
    }

    /// COUNT_OF_Q by quality.
    #[must_use]
    pub fn stated(&self) -> Vec<u64> {
        self.stated.counts().into()
    }

    /// COUNT_OF_OQ by quality, of reads that have tag `OQ`.
    #[must_use]
    pub fn original(&self) -> Vec<u64> {
        self.original.counts().into()
    }
}
