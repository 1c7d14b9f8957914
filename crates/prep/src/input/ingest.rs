//! The ingest phase of aligned input: records of BAM or SAM through the steps into partitions,
//! every worker doing whichever is next.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use seqloom_format::{PackedTemplates, persist_fields};
use seqloom_io::alignments::{AlignmentError, AlignmentScratch, AlignmentSource, Truncation};
use seqloom_runtime::failure::lock;
use seqloom_runtime::flow::{self, Flow, Shared};
use seqloom_runtime::pool::{Stopped, Watch};
use seqloom_runtime::schedule::Idle;
use seqloom_runtime::trace::{Stage, ThreadTimes};

use super::scheduler::{Batch, CoordinateClaim, Scanned, Scheduler, Task};
use crate::partition::collect::{CollectError, Collector, Grouping};
use crate::partition::store::StoreScratch;
use crate::steps::{StepCounts, StepScratch, Steps};

use super::error::IngestError;
use super::names::TemplateNames;
use super::templates;

/// How records are read.
pub struct IngestOptions<'a> {
    /// How many workers.
    pub threads: NonZeroUsize,
    /// Unit that ordinals count.
    pub grouping: Grouping,
    /// Whether the header says that the input is sorted by coordinate.
    pub claim: CoordinateClaim,
    /// Where ordinals count templates: what proves that their records are together.
    pub names: Option<&'a TemplateNames<'a>>,
    /// What is done to the records of each input before they are kept; chains of the same steps.
    pub steps: &'a [Steps],
}

/// Time per stage, summed over workers, and counts that grow while ingest runs.
#[derive(Debug, Default)]
pub struct IngestTrace {
    /// Reading, inflating and checking.
    pub fetch: Stage,
    /// Running the steps on records.
    pub steps: Stage,
    /// Into partitions.
    pub collect: Stage,
    /// Workers with nothing to do.
    pub wait: Stage,
    /// How long each worker had something to do.
    pub threads: ThreadTimes,
    /// Records kept. Relaxed: a count for who watches; the total is read when the workers have
    /// ended.
    pub records: AtomicU64,
}

/// Counts of ingest.
#[derive(Debug, Default)]
pub struct IngestTotals {
    /// Records in the input.
    pub records_read: u64,
    /// Records kept.
    pub records: u64,
    /// Ordinals in use: templates or records of the input.
    pub templates: u64,
    /// Records that steps left out.
    pub steps: StepCounts,
    /// Inputs that were cut short, and where, if that is allowed.
    pub truncations: Vec<(PathBuf, Truncation)>,
    /// Inputs that are not sorted by coordinate although they say so, each with the number of the
    /// first record that is before its predecessor, from 1.
    pub unsorted: Vec<(PathBuf, u64)>,
}

persist_fields!(IngestTotals { records_read, records, templates, steps, truncations, unsorted });

/// Reads all of `source` into `collector`.
///
/// # Errors
/// The first failure of any worker.
pub fn run(
    source: &AlignmentSource,
    collector: &Collector<'_>,
    options: &IngestOptions<'_>,
    trace: &IngestTrace,
    watch: Watch<'_>,
) -> Result<IngestTotals, IngestError> {
    let threads = options.threads;
    let scheduler = Scheduler::new(source, options.grouping, options.claim, threads.get());
    let ingest = Ingest {
        source,
        collector,
        options,
        trace,
        shared: Shared::new(scheduler),
        steps: Mutex::default(),
    };
    flow::run(&ingest, threads, watch)?;
    let mut scheduler = ingest.shared.scheduler().lock();
    if !scheduler.is_complete() {
        return Err(Stopped::Incomplete.into());
    }
    if let Some(names) = options.names
        && let Some(found) = names.first_not_grouped(threads, watch)?
    {
        return Err(scheduler.not_grouped(found));
    }
    let (records_read, templates) = (scheduler.records(), scheduler.templates());
    let records = trace.records.load(Ordering::Relaxed);
    let steps = std::mem::take(&mut *lock(&ingest.steps));
    let (truncations, unsorted) = (scheduler.truncations(), scheduler.take_unsorted());
    Ok(IngestTotals { records_read, records, templates, steps, truncations, unsorted })
}

struct Ingest<'a> {
    source: &'a AlignmentSource,
    collector: &'a Collector<'a>,
    options: &'a IngestOptions<'a>,
    trace: &'a IngestTrace,
    shared: Shared<Scheduler<'a>, IngestError>,
    steps: Mutex<StepCounts>,
}

/// One worker's memory.
struct Worker {
    fetch: AlignmentScratch,
    steps: StepScratch,
    counts: StepCounts,
    packed: PackedTemplates,
    store: StoreScratch,
}

impl<'a> Flow for Ingest<'a> {
    type Scheduler = Scheduler<'a>;
    type Task = Task;
    type Worker = Worker;
    type Error = IngestError;

    fn shared(&self) -> &Shared<Scheduler<'a>, IngestError> {
        &self.shared
    }

    fn worker(&self, _: usize) -> Result<Worker, IngestError> {
        Ok(Worker {
            fetch: AlignmentScratch::default(),
            steps: StepScratch::default(),
            counts: StepCounts::default(),
            packed: PackedTemplates::default(),
            store: StoreScratch::new().map_err(CollectError::from)?,
        })
    }

    fn next(scheduler: &mut Scheduler<'a>) -> Result<Task, Idle> {
        scheduler.next_task()
    }

    fn perform(&self, worker: &mut Worker, task: Task) -> Result<(), IngestError> {
        match task {
            Task::Fetch => self.fetch(worker),
            Task::Process(batch) => {
                let position = batch.first_record;
                if let Err(error) = self.process(batch, worker) {
                    self.shared.fail_at(position, error);
                }
                Ok(())
            }
        }
    }

    fn retire(&self, worker: Worker) {
        lock(&self.steps).merge(&worker.counts);
    }

    fn wait(&self) -> Option<&Stage> {
        Some(&self.trace.wait)
    }

    fn thread_times(&self) -> Option<&ThreadTimes> {
        Some(&self.trace.threads)
    }
}

impl Ingest<'_> {
    fn fetch(&self, worker: &mut Worker) -> Result<(), IngestError> {
        let fetched = self.trace.fetch.time(|| {
            let fetched = self.source.fetch(&mut worker.fetch)?;
            Ok::<_, AlignmentError>(fetched.map(|block| {
                let found = templates::scan_block(&block.bytes, self.options.grouping);
                Scanned { block, found }
            }))
        })?;
        self.shared.scheduler().update(|scheduler| scheduler.fetched(fetched))
    }

    fn process(&self, batch: Batch, worker: &mut Worker) -> Result<(), IngestError> {
        if let Some(names) = self.options.names {
            for (record, template) in batch.numbered_templates() {
                let name = templates::name_of(template);
                names.add(batch.input, name, record, &mut worker.store)?;
            }
        }
        let records = if self.options.steps.iter().all(Steps::is_empty) {
            let templates = || batch.templates();
            self.trace.collect.time(|| self.collector.collect_each(templates(), &mut worker.store))
        } else {
            self.trace.steps.time(|| self.apply_steps(&batch, worker))?;
            let Worker { packed, store, .. } = worker;
            self.trace.collect.time(|| self.collector.collect(packed, store))
        };
        let records = records.map_err(|error| match error.template() {
            Some(ordinal) => self.at(&batch, ordinal, error.into()),
            None => error.into(),
        })?;
        self.trace.records.fetch_add(records, Ordering::Relaxed);
        if let Some(block) = batch.block {
            self.source.recycle(block);
        }
        Ok(())
    }

    /// Fills `worker.packed` with what the steps leave of the batch.
    fn apply_steps(&self, batch: &Batch, worker: &mut Worker) -> Result<(), IngestError> {
        let Worker { steps, counts, packed, .. } = worker;
        packed.clear();
        let chain = &self.options.steps[batch.input];
        for (ordinal, records) in batch.templates() {
            if packed.ends.is_empty() {
                packed.first_template = ordinal;
            }
            packed.records += chain
                .apply(records, &mut packed.bytes, steps, counts)
                .map_err(|error| self.at(batch, ordinal, error.into()))?;
            packed.ends.push(packed.bytes.len() as u32);
        }
        Ok(())
    }

    /// An error with the place of the template of a batch that it is about.
    fn at(&self, batch: &Batch, ordinal: u64, error: IngestError) -> IngestError {
        let mut templates = batch.templates().zip(batch.numbered_templates());
        let found = templates.find(|((it, _), _)| *it == ordinal);
        let Some((_, (record, records))) = found else { return error };
        let name = String::from_utf8_lossy(templates::name_of(records)).replace('\0', "");
        let (path, record) = self.shared.scheduler().lock().place_of(record);
        IngestError::At { path, record, name, error: Box::new(error) }
    }
}
