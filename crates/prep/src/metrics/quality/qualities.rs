//! Base qualities: how many bases reach Q20 and Q30 (Picard 2.27.5 CollectQualityYieldMetrics),
//! their mean by cycle (MeanQualityByCycle) and how often each is met (QualityScoreDistribution).
//!
//! Counted: primary records, duplicates, QC-failed and unmapped ones among them. Secondary and
//! supplementary alignments are not.

use seqloom_format::bam::Flags;
use seqloom_format::state::{MalformedState, State};
use seqloom_format::state_of_fields;

use super::observed::{NO_CALL, Observed};

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
    pub quality_sum: u64,
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
        let qualities = if has_original { observed.original_qualities } else { observed.qualities };
        let at_least = |level: u8| qualities.iter().filter(|&&q| q >= level).count() as u64;
        let read = YieldCounts {
            reads: 1,
            bases: observed.record.base_count() as u64,
            q20_bases: at_least(20),
            q30_bases: at_least(30),
            quality_sum: qualities.iter().map(|&quality| u64::from(quality)).sum(),
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

/// Sum of qualities and bases of a cycle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct CycleCounts {
    quality_sum: u64,
    bases: u64,
}

/// By cycle, from 0.
#[derive(Debug, Clone, Default)]
struct Cycles(Vec<CycleCounts>);

state_of_fields!(CycleCounts { quality_sum, bases });

impl State for Cycles {
    fn save(&self, out: &mut Vec<u8>) {
        self.0.save(out);
    }

    fn load(bytes: &mut &[u8]) -> Result<Self, MalformedState> {
        State::load(bytes).map(Self)
    }
}

impl Cycles {
    fn add(&mut self, qualities: &[u8], is_reverse: bool) {
        let kept = qualities.len().min(MOST_CYCLES);
        if self.0.len() < kept {
            self.0.resize(kept, CycleCounts::default());
        }
        let add = |(counts, &quality): (&mut CycleCounts, &u8)| {
            counts.quality_sum += u64::from(quality);
            counts.bases += 1;
        };
        if is_reverse {
            self.0.iter_mut().zip(qualities.iter().rev()).for_each(add);
        } else {
            self.0.iter_mut().zip(qualities).for_each(add);
        }
    }

    fn merge(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), CycleCounts::default());
        }
        for (sum, more) in self.0.iter_mut().zip(&other.0) {
            sum.quality_sum += more.quality_sum;
            sum.bases += more.bases;
        }
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
        let mean = |counts: &CycleCounts| counts.quality_sum as f64 / counts.bases as f64;
        [&self.first, &self.second].map(|cycles| {
            let counted = (1..).zip(&cycles.0).filter(|(_, it)| it.bases > 0);
            counted.map(|(cycle, counts)| (cycle, mean(counts))).collect()
        })
    }

    /// Cycles from 1 and their means; second reads follow the last cycle of the first ones.
    fn means(&self) -> Vec<(u32, f64)> {
        let mean = |counts: &CycleCounts| counts.quality_sum as f64 / counts.bases as f64;
        let (mut means, mut first_length) = (Vec::new(), 0);
        for (cycle, counts) in (1..).zip(&self.first.0).filter(|(_, it)| it.quality_sum > 0) {
            means.push((cycle, mean(counts)));
            first_length = cycle;
        }
        for (cycle, counts) in (1..).zip(&self.second.0).filter(|(_, it)| it.bases > 0) {
            means.push((first_length + cycle, mean(counts)));
        }
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

/// How often each quality is met; no-calls are not counted.
#[derive(Debug, Clone)]
pub struct QualityDistributionCounts {
    stated: [u64; QUALITIES],
    original: [u64; QUALITIES],
}

impl Default for QualityDistributionCounts {
    fn default() -> Self {
        Self { stated: [0; QUALITIES], original: [0; QUALITIES] }
    }
}

state_of_fields!(QualityDistributionCounts { stated, original });

impl QualityDistributionCounts {
    pub(super) fn add(&mut self, observed: &Observed<'_>) {
        if !observed.is_primary() || observed.qualities.is_empty() {
            return;
        }
        let count = |counts: &mut [u64; QUALITIES], qualities: &[u8]| {
            for (_, &quality) in
                observed.codes.iter().zip(qualities).filter(|&(&code, _)| code != NO_CALL)
            {
                if let Some(count) = counts.get_mut(usize::from(quality)) {
                    *count += 1;
                }
            }
        };
        count(&mut self.stated, observed.qualities);
        count(&mut self.original, observed.original_qualities);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.stated.iter_mut().zip(other.stated).for_each(|(sum, more)| *sum += more);
        self.original.iter_mut().zip(other.original).for_each(|(sum, more)| *sum += more);
    }

    /// COUNT_OF_Q by quality.
    #[must_use]
    pub fn stated(&self) -> &[u64] {
        &self.stated
    }

    /// COUNT_OF_OQ by quality, of reads that have tag `OQ`.
    #[must_use]
    pub fn original(&self) -> &[u64] {
        &self.original
    }
}
