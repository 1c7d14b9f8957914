//! Metrics of sequencing and alignment quality, counted as records are written: insert sizes,
//! alignment summary, quality yield, quality by cycle, quality distribution, GC bias (as Picard
//! counts them), the summary numbers of `samtools stats`, depth (as `samtools depth`), bases by
//! cycle and read groups.
//!
//! Every worker counts for itself. All counts are integers, so that their sum depends neither on
//! the order of the records nor on who saw them.

mod adapters;
mod alignment_summary;
mod cigar_sums;
mod cycle_sums;
mod cycles;
mod gc_bias;
mod histogram;
mod insert_size;
mod observed;
mod padded;
mod qualities;
mod read_groups;
mod request;
mod samtools_stats;

pub use alignment_summary::{
    AlignmentSummaryCounts, AlignmentSummaryMetrics, Category, ReadLengths,
};
pub use cycles::{ADAPTERS, CycleBases};
pub use gc_bias::GcWindows;
pub use histogram::Histogram;
pub use insert_size::{InsertSizeMetrics, PairOrientation};
pub use qualities::{QualityByCycleCounts, QualityDistributionCounts, QualityYieldCounts};
pub use read_groups::ReadGroupNames;
pub use request::MetricsRequest;
pub use samtools_stats::SamtoolsStatsCounts;

use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

use seqloom_format::bam::RecordRef;
use seqloom_format::persist_fields;
use seqloom_runtime::failure::lock;
use seqloom_runtime::order::Ordered;

use super::depth::{Depth, DepthWorker, UnitDepth};
use crate::finish::hooks::{HookError, RecordVisitor, VisitorSource};
use crate::input::reference::ReferenceSequences;
use adapters::AdapterStarts;
use cycles::{AdapterFinders, CycleCounts};
use gc_bias::GcBiasCounts;
use insert_size::InsertSizeCounts;
use observed::{Observed, ObservedScratch};
use read_groups::{ReadGroupCounts, ReadGroupsCounts};

/// A worker with this many large insert sizes hands them over: they are in memory once.
const LARGE_SIZES_PER_WORKER: u64 = 4096;
/// What the sum of insert sizes may take: 4 Mi sizes in a map, 12 bytes each, nodes two thirds
/// full.
const INSERT_SIZE_BYTES: u64 = 96 << 20;

impl MetricsRequest {
    /// Memory that counting may take beyond a few MiB per worker, by so many workers of records of
    /// so many read groups and sequences: each worker has counts of its own, and there is their
    /// sum.
    #[must_use]
    pub fn memory_bytes(&self, workers: NonZeroUsize, groups: usize, sequences: usize) -> u64 {
        let copies = workers.get() as u64 + 1;
        let of_all = |is_requested: bool, bytes: u64| if is_requested { bytes } else { 0 };
        let of_each = |is_requested: bool, number: usize, bytes: usize| {
            of_all(is_requested, copies.saturating_mul(number as u64).saturating_mul(bytes as u64))
        };
        of_all(self.insert_size, INSERT_SIZE_BYTES)
            .saturating_add(of_each(self.read_groups, groups + 1, ReadGroupCounts::MOST_BYTES))
            .saturating_add(of_each(self.depth, sequences, Depth::SEQUENCE_BYTES))
    }
}

/// Counts, of each kind that was requested.
#[derive(Debug, Clone, Default)]
pub struct GatheredMetrics {
    /// Insert sizes.
    pub insert_size: Option<InsertSizeCounts>,
    /// Alignment summary.
    pub alignment_summary: Option<AlignmentSummaryCounts>,
    /// Quality yield.
    pub quality_yield: Option<QualityYieldCounts>,
    /// Quality by cycle.
    pub quality_by_cycle: Option<QualityByCycleCounts>,
    /// Quality distribution.
    pub quality_distribution: Option<QualityDistributionCounts>,
    /// Summary numbers.
    pub samtools_stats: Option<SamtoolsStatsCounts>,
    /// By cycle.
    pub cycles: Option<CycleCounts>,
    /// Read groups.
    pub read_groups: Option<ReadGroupsCounts>,
    /// GC bias.
    pub gc_bias: Option<GcBiasCounts>,
    /// Positions of the reference by how often they are covered.
    pub depth: Option<Depth>,
}

persist_fields!(GatheredMetrics {
    insert_size,
    alignment_summary,
    quality_yield,
    quality_by_cycle,
    quality_distribution,
    samtools_stats,
    cycles,
    read_groups,
    gc_bias,
    depth,
});

/// Adds up counts where both are there.
fn merge_both<T>(sum: &mut Option<T>, more: &Option<T>, merge: impl Fn(&mut T, &T)) {
    if let (Some(sum), Some(more)) = (sum, more) {
        merge(sum, more);
    }
}

impl GatheredMetrics {
    /// Nothing counted yet.
    #[must_use]
    pub fn new(request: MetricsRequest) -> Self {
        Self {
            insert_size: request.insert_size.then(Default::default),
            alignment_summary: request.alignment_summary.then(Default::default),
            quality_yield: request.quality_yield.then(Default::default),
            quality_by_cycle: request.quality_by_cycle.then(Default::default),
            quality_distribution: request.quality_distribution.then(Default::default),
            samtools_stats: request.samtools_stats.then(Default::default),
            cycles: request.cycles.then(Default::default),
            read_groups: request.read_groups.then(Default::default),
            gc_bias: request.gc_bias.then(Default::default),
            depth: request.depth.then(Default::default),
        }
    }

    fn add(&mut self, observed: &Observed<'_>, with: &MetricsVisitors<'_>) {
        let reference = with.reference;
        if let Some(counts) = &mut self.insert_size {
            counts.add(observed.record);
        }
        if let Some(counts) = &mut self.alignment_summary {
            counts.add(observed, reference, &with.adapters);
        }
        if let Some(counts) = &mut self.quality_yield {
            counts.add(observed);
        }
        if let Some(counts) = &mut self.quality_by_cycle {
            counts.add(observed);
        }
        if let Some(counts) = &mut self.quality_distribution {
            counts.add(observed);
        }
        if let Some(counts) = &mut self.samtools_stats {
            counts.add(observed);
        }
        if let Some(counts) = &mut self.cycles {
            counts.add(observed, &with.finders);
        }
        if let Some(counts) = &mut self.read_groups {
            counts.add(observed, &with.read_groups);
        }
        if let (Some(counts), Some(reference)) = (&mut self.gc_bias, reference) {
            counts.add(observed, reference);
        }
    }

    /// Adds another worker's counts of the same request.
    pub fn merge(&mut self, other: &Self) {
        merge_both(&mut self.insert_size, &other.insert_size, InsertSizeCounts::merge);
        merge_both(
            &mut self.alignment_summary,
            &other.alignment_summary,
            AlignmentSummaryCounts::merge,
        );
        merge_both(&mut self.quality_yield, &other.quality_yield, QualityYieldCounts::merge);
        merge_both(
            &mut self.quality_by_cycle,
            &other.quality_by_cycle,
            QualityByCycleCounts::merge,
        );
        merge_both(
            &mut self.quality_distribution,
            &other.quality_distribution,
            QualityDistributionCounts::merge,
        );
        merge_both(&mut self.samtools_stats, &other.samtools_stats, SamtoolsStatsCounts::merge);
        merge_both(&mut self.cycles, &other.cycles, CycleCounts::merge);
        merge_both(&mut self.read_groups, &other.read_groups, ReadGroupsCounts::merge);
        merge_both(&mut self.gc_bias, &other.gc_bias, GcBiasCounts::merge);
        merge_both(&mut self.depth, &other.depth, Depth::merge);
    }
}

/// Counts what it is shown; the visitor of the finish phase.
#[derive(Debug)]
pub struct MetricsVisitors<'a> {
    request: MetricsRequest,
    reference: Option<&'a ReferenceSequences>,
    read_groups: ReadGroupNames,
    adapters: AdapterStarts,
    finders: AdapterFinders,
    total: Mutex<GatheredMetrics>,
    /// Units whose depth waits for those before them.
    units: Ordered<UnitDepth>,
}

impl<'a> MetricsVisitors<'a> {
    /// Nothing counted yet. With a reference the alignment summary counts mismatches; its sequences
    /// are those of the header of the records to come.
    #[must_use]
    pub fn new(request: MetricsRequest, reference: Option<&'a ReferenceSequences>) -> Self {
        Self {
            request,
            reference,
            read_groups: ReadGroupNames::default(),
            adapters: AdapterStarts::illumina(),
            finders: AdapterFinders::default(),
            total: Mutex::new(GatheredMetrics::new(request)),
            units: Ordered::default(),
        }
    }

    /// With the read groups of the header of the records to come.
    #[must_use]
    pub(crate) fn with_read_groups(self, read_groups: ReadGroupNames) -> Self {
        Self { read_groups, ..self }
    }

    /// Of a run that goes on from unit number `first` on.
    #[must_use]
    pub(crate) fn starting_at_unit(self, first: usize) -> Self {
        Self { units: Ordered::starting_at(first as u64), ..self }
    }

    /// Adds what was counted of other records, for the same request.
    pub fn add(&self, counted: &GatheredMetrics) {
        lock(&self.total).merge(counted);
    }

    /// Counts of the workers that are through.
    #[must_use]
    pub fn so_far(&self) -> GatheredMetrics {
        lock(&self.total).clone()
    }

    /// Sum of the counts of all workers.
    #[must_use]
    pub fn into_metrics(self) -> GatheredMetrics {
        self.total.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl VisitorSource for MetricsVisitors<'_> {
    fn visitor(&self) -> Box<dyn RecordVisitor + '_> {
        let counts = GatheredMetrics::new(self.request);
        let depth = self.request.depth.then(DepthWorker::default);
        let scratch = ObservedScratch::default();
        Box::new(MetricsVisitor { visitors: self, scratch, counts, depth })
    }
}

/// One worker's counts.
struct MetricsVisitor<'a> {
    visitors: &'a MetricsVisitors<'a>,
    scratch: ObservedScratch,
    counts: GatheredMetrics,
    depth: Option<DepthWorker>,
}

impl RecordVisitor for MetricsVisitor<'_> {
    fn visit(&mut self, _: u64, record: &RecordRef<'_>) -> Result<(), HookError> {
        let observed = Observed::new(record, self.visitors.request, &mut self.scratch)?;
        self.counts.add(&observed, self.visitors);
        if let Some(depth) = &mut self.depth {
            depth.add(record, observed.tags.is_split);
        }
        if let Some(counts) = &mut self.counts.insert_size
            && counts.large_sizes() >= LARGE_SIZES_PER_WORKER
        {
            let counts = std::mem::take(counts);
            if let Some(total) = &mut lock(&self.visitors.total).insert_size {
                total.merge(&counts);
            }
        }
        Ok(())
    }

    fn end_unit(&mut self, number: u64) -> Result<(), HookError> {
        let Some(depth) = &mut self.depth else { return Ok(()) };
        self.visitors.units.deposit(number, depth.end_unit(), |unit| {
            if let Some(total) = &mut lock(&self.visitors.total).depth {
                total.commit(&unit);
            }
            Ok(())
        })
    }

    fn finish(mut self: Box<Self>) -> Result<(), HookError> {
        self.counts.depth = self.depth.take().map(DepthWorker::into_depth);
        lock(&self.visitors.total).merge(&self.counts);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_records::body;
    use seqloom_format::bam::Flags;
    use seqloom_format::bam::edit::{
        set_mate_position, set_mate_reference_id, set_template_length,
    };

    /// The second read of a pair with this insert size.
    fn pair(size: i32) -> Vec<u8> {
        let flags = Flags::PAIRED | Flags::SECOND_OF_PAIR | Flags::MATE_REVERSE;
        let mut body = body("p", flags, 0, 100, 20);
        set_mate_reference_id(&mut body, 0).unwrap();
        set_mate_position(&mut body, 100 + size).unwrap();
        set_template_length(&mut body, size).unwrap();
        body
    }

    #[test]
    fn large_sizes_that_are_handed_over_early_are_counted_once() {
        let visitors = MetricsVisitors::new(MetricsRequest::ALL, None);
        let mut workers = [visitors.visitor(), visitors.visitor()];
        let sizes = || (0..20_000).map(|i| if i % 2 == 0 { 300 } else { 70_000 + i });
        for (index, size) in sizes().enumerate() {
            let body = pair(size);
            let record = RecordRef::new(&body).unwrap();
            workers[index % 3 / 2].visit(0, &record).unwrap();
        }
        let held = lock(&visitors.total).insert_size.as_ref().unwrap().large_sizes();
        assert!(held >= LARGE_SIZES_PER_WORKER, "nothing was handed over");
        workers.into_iter().for_each(|worker| worker.finish().unwrap());
        let metrics = visitors.into_metrics();
        let [row] = &metrics.insert_size.unwrap().rows()[..] else { panic!("one row") };
        assert_eq!((row.read_pairs, row.mode_bp, row.max_bp), (20_000, 300, 89_999));
        assert_eq!(metrics.samtools_stats.unwrap().sums.last_fragments, 20_000);
        assert!(metrics.quality_yield.is_some_and(|it| it.all.bases == 400_000));
    }

    #[test]
    fn memory_grows_with_workers_groups_and_sequences() {
        let bytes = |workers, groups, sequences| {
            let workers = NonZeroUsize::new(workers).unwrap();
            MetricsRequest::ALL.memory_bytes(workers, groups, sequences) - INSERT_SIZE_BYTES
        };
        assert!(bytes(1, 1, 1) < 64 << 10);
        assert!((16 << 20..32 << 20).contains(&bytes(2, 1000, 3000)), "{}", bytes(2, 1000, 3000));
        assert_eq!(bytes(5, 1000, 3000), 2 * bytes(2, 1000, 3000));
        let none = MetricsRequest::default();
        assert_eq!(none.memory_bytes(NonZeroUsize::MIN, 1000, 3000), 0);
    }

    #[test]
    fn what_is_not_requested_is_not_counted() {
        let request = MetricsRequest { quality_yield: true, ..MetricsRequest::default() };
        let visitors = MetricsVisitors::new(request, None);
        let (body, mut worker) = (pair(300), visitors.visitor());
        worker.visit(0, &RecordRef::new(&body).unwrap()).unwrap();
        worker.finish().unwrap();
        let metrics = visitors.into_metrics();
        assert!(metrics.insert_size.is_none() && metrics.samtools_stats.is_none());
        assert_eq!(metrics.quality_yield.map(|it| it.all.reads), Some(1));
    }
}
