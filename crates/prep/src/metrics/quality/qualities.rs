//! Base qualities: how many bases reach Q20 and Q30 (Picard 2.27.5 CollectQualityYieldMetrics),
//! their mean by cycle (MeanQualityByCycle) and how often each is met (QualityScoreDistribution).
//!
//! Counted: primary records, duplicates, QC-failed and unmapped ones among them. Secondary and
//! supplementary alignments are not.

use seqloom_format::bam::Flags;
use seqloom_format::{MalformedState, Persist, persist_fields};

use super::cycle_sums::{CycleSums, Lengths};
use super::observed::{NO_CALL, Observed, QualitySums};
use super::padded::{LANES, Padded};

/// Qualities are below this one; BAM allows for more, SAM does not.
const QUALITIES: usize = 128;
/// Cycles after this one are not counted: a bound of memory.
const MOST_LANES: usize = (1 << 17) / LANES;
/// One "Q20 equivalent" base.
const EQUIVALENT: u64 = 20;

/// Reads, bases and qualities of all or of PF reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct YieldCounts {
    /// Primary records.
    pub reads: u64,
    /// Bases of these records.
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

persist_fields!(YieldCounts { reads, bases, q20_bases, q30_bases, quality_sum });
persist_fields!(QualityYieldCounts { all, passed });

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

persist_fields!(Cycles { qualities, reads });

/// The bases of one cycle, of which there are some.
#[derive(Debug, Clone, Copy)]
struct CountedCycle {
    /// From 1.
    cycle: u32,
    /// Sum of the qualities.
    qualities: u64,
    bases: u64,
}

impl Cycles {
    fn add(&mut self, qualities: Padded<'_>, is_reverse: bool) {
        if qualities.is_empty() {
            return;
        }
        let kept = qualities.at_most(MOST_LANES, is_reverse);
        self.qualities.add(kept, is_reverse, u16::from);
        self.reads.add(kept.len());
    }

    fn merge(&mut self, other: &Self) {
        self.qualities.merge(&other.qualities);
        self.reads.merge(&other.reads);
    }

    /// Cycles with bases.
    fn counted(&self) -> impl Iterator<Item = CountedCycle> {
        let sums = self.qualities.by_cycle().into_iter().zip(self.reads.by_cycle());
        let counted = (1..).zip(sums).filter(|(_, (_, bases))| *bases > 0);
        counted.map(|(cycle, (qualities, bases))| CountedCycle { cycle, qualities, bases })
    }
}

/// Qualities of one kind: first reads and those without a mate, then second reads.
#[derive(Debug, Clone, Default)]
struct ByCycle {
    first: Cycles,
    second: Cycles,
}

persist_fields!(ByCycle { first, second });

impl ByCycle {
    fn add(&mut self, observed: &Observed<'_>, qualities: Padded<'_>) {
        let is_second = observed.has_flags(Flags::PAIRED | Flags::SECOND_OF_PAIR);
        let cycles = if is_second { &mut self.second } else { &mut self.first };
        cycles.add(qualities, observed.has_flags(Flags::REVERSE));
    }

    /// Cycles from 1 and their means, of first and of second reads.
    fn means_of_reads(&self) -> [Vec<(u32, f64)>; 2] {
        let mean = |it: CountedCycle| (it.cycle, it.qualities as f64 / it.bases as f64);
        [&self.first, &self.second].map(|cycles| cycles.counted().map(mean).collect())
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

persist_fields!(QualityByCycleCounts { stated, original });

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

/// Smaller qualities are counted two at a time; there are hardly others.
const SMALL: usize = 64;
/// Qualities in turn are often the same, and a processor waits for a counter that it has just
/// written: each of two pairs in turn is counted for itself.
const TURNS: usize = 2;

/// How often each pair of small qualities is met, the second one times [`SMALL`] and the first one.
type Pairs = [u32; SMALL * SMALL];

/// How often each byte is met.
#[derive(Debug, Clone)]
struct ByQuality {
    counts: [u64; 256],
    /// Of these, without a base: to be taken from the others.
    no_calls: [u64; 256],
    /// [`TURNS`], or none without any; they make up `pending` qualities or less.
    pairs: Vec<Pairs>,
    pending: u32,
}

impl Default for ByQuality {
    fn default() -> Self {
        Self { counts: [0; 256], no_calls: [0; 256], pairs: Vec::new(), pending: 0 }
    }
}

impl ByQuality {
    fn add(&mut self, codes: Padded<'_>, qualities: Padded<'_>) {
        if qualities.is_empty() {
            return;
        }
        let kept = codes.len().min(qualities.len());
        let mut all = [0; LANES];
        for lanes in qualities.lanes() {
            all.iter_mut().zip(lanes).for_each(|(all, quality)| *all |= quality);
        }
        let is_small = all.iter().fold(0, |all, it| all | it) < SMALL as u8;
        if is_small {
            self.add_pairs(qualities);
        } else {
            let each = qualities.bytes().iter();
            each.for_each(|&quality| self.counts[usize::from(quality)] += 1);
        }
        let (codes, qualities) = (&codes.bytes()[..kept], qualities.bytes());
        let without = qualities[kept..].iter();
        without.for_each(|&quality| self.no_calls[usize::from(quality)] += 1);
        for at in memchr::memchr_iter(NO_CALL, codes) {
            self.no_calls[usize::from(qualities[at])] += 1;
        }
    }

    /// Counts qualities that are all small.
    fn add_pairs(&mut self, qualities: Padded<'_>) {
        let lanes = qualities.lanes();
        let count = u32::try_from(LANES * lanes.len()).unwrap_or(u32::MAX);
        self.pending = self.pending.checked_add(count).unwrap_or_else(|| {
            self.settle();
            count
        });
        // The zeros after the qualities are counted with them.
        self.no_calls[0] += (LANES * lanes.len() - qualities.len()) as u64;
        self.pairs.resize(TURNS, [0; SMALL * SMALL]);
        let [even, odd] = &mut self.pairs[..] else { return };
        for eight in lanes.as_flattened().as_chunks::<8>().0 {
            let [a, b, c, d] = pairs_of(*eight);
            even[a] += 1;
            odd[b] += 1;
            even[c] += 1;
            odd[d] += 1;
        }
    }

    /// Moves the counts of pairs to those of their qualities.
    fn settle(&mut self) {
        self.counts = self.all();
        self.pairs.iter_mut().for_each(|pairs| pairs.fill(0));
        self.pending = 0;
    }

    /// With no-calls.
    fn all(&self) -> [u64; 256] {
        let mut counts = self.counts;
        for (index, &count) in self.pairs.iter().flat_map(|pairs| pairs.iter().enumerate()) {
            counts[index % SMALL] += u64::from(count);
            counts[index / SMALL] += u64::from(count);
        }
        counts
    }

    fn counts(&self) -> [u64; QUALITIES] {
        let all = self.all();
        std::array::from_fn(|quality| all[quality] - self.no_calls[quality])
    }

    fn merge(&mut self, other: &Self) {
        self.counts.iter_mut().zip(other.counts()).for_each(|(sum, more)| *sum += more);
    }
}

/// Index of the count of a pair of small qualities.
fn pairs_of(eight: [u8; 8]) -> [usize; 4] {
    const FIRST: u64 = 0x003f_003f_003f_003f;
    let word = u64::from_le_bytes(eight);
    let pairs = word & FIRST | word >> 2 & FIRST << 6;
    [0, 16, 32, 48].map(|shift| (pairs >> shift) as usize % (SMALL * SMALL))
}

impl Persist for ByQuality {
    fn save(&self, out: &mut Vec<u8>) {
        self.counts().save(out);
    }

    fn load(bytes: &mut &[u8]) -> Result<Self, MalformedState> {
        let (mut loaded, counts) = (Self::default(), <[u64; QUALITIES]>::load(bytes)?);
        loaded.counts[..QUALITIES].copy_from_slice(&counts);
        Ok(loaded)
    }
}

/// How often each quality is met; no-calls are not counted.
#[derive(Debug, Clone, Default)]
pub struct QualityDistributionCounts {
    stated: ByQuality,
    original: ByQuality,
}

persist_fields!(QualityDistributionCounts { stated, original });

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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn qualities_are_those_counted_one_by_one(
            reads in prop::collection::vec(prop::collection::vec(
                (prop_oneof![Just(1_u8), Just(NO_CALL)], prop_oneof![
                    400 => 0_u8..64, 1 => any::<u8>(),
                ]), 0..70), 0..20),
            longer in 0..40_usize,
            settles in any::<u32>(),
        ) {
            let (mut parts, mut expected) =
                ([ByQuality::default(), ByQuality::default()], [0; QUALITIES]);
            let (mut codes_memory, mut memory) = (Vec::new(), Vec::new());
            for (number, read) in reads.iter().enumerate() {
                let (codes, mut qualities): (Vec<u8>, Vec<u8>) = read.iter().copied().unzip();
                // Original qualities may have another length.
                qualities.extend((0..longer).map(|it| it as u8));
                let codes = Padded::of(&codes, &mut codes_memory);
                let part = &mut parts[number % 2];
                part.add(codes, Padded::of(&qualities, &mut memory));
                if settles >> number & 1 == 1 {
                    part.settle();
                }
                for (code, quality) in read {
                    if *code != NO_CALL && usize::from(*quality) < QUALITIES {
                        expected[usize::from(*quality)] += 1;
                    }
                }
            }
            let [mut sum, more] = parts;
            sum.merge(&ByQuality::from_state(&more.to_state()).unwrap());
            prop_assert_eq!(sum.counts(), expected);
        }
    }

    #[test]
    fn counts_of_pairs_do_not_overflow() {
        let mut counts = ByQuality { pending: u32::MAX - 3, ..ByQuality::default() };
        let mut memory = [Vec::new(), Vec::new()];
        let [codes, qualities] = &mut memory;
        let codes = Padded::of(&[1; 4], codes);
        counts.add(codes, Padded::of(&[7; 4], qualities));
        assert_eq!((counts.pending, counts.counts()[7]), (LANES as u32, 4));
    }
}
