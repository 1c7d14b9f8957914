//! The flow of calling: every worker does whichever is next, and results leave in the order of the
//! BAM. See the module above.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use seqloom_format::bam::{Flags, RecordRef, framed_records};
use seqloom_io::alignments::{AlignmentError, AlignmentScratch};
use seqloom_runtime::failure::lock;
use seqloom_runtime::flow::{self, Flow, Shared};
use seqloom_runtime::order::Ordered;
use seqloom_runtime::pool::{Stopped, Watch};
use seqloom_runtime::schedule::Idle;
use seqloom_runtime::trace::Stage;

use super::account::{CallAccount, Skip};
use super::error::CallError;
use super::gather::{NotCalled, ReadScratch};
use super::inputs::CallInputs;
use super::record::{name_of, scan};
use super::{CallTimes, ReadInput, ReadKernel};
use crate::aligned_read::AlignedRead;
use crate::flow::scheduler::{Cost, Job, Limits, Scanned, Scheduler, Task};
use seqloom_signal::flow::pass::Components;

/// Samples per base that are expected of a read before its signal is read: 5 kHz at 400 bases a
/// second, the most of today's chemistries.
const SAMPLES_PER_BASE: u64 = 13;

/// Bytes of samples, of their record, and of what decoding needs, per sample.
const BYTES_PER_SAMPLE: u64 = 6;

/// Least memory that a worker has from the start, and most that it keeps between reads.
const PREPAID_BYTES: std::ops::RangeInclusive<u64> = 1 << 20..=256 << 20;

/// How calling runs.
#[derive(Debug, Clone, Copy)]
pub struct CallOptions<'a> {
    /// Workers, each of which calls one read at a time.
    pub threads: NonZeroUsize,
    /// Most memory of records, results and the reads being worked on.
    pub memory_bytes: u64,
    /// Text of a block of the BAM.
    pub block_bytes: u64,
    /// Time of calling.
    pub times: &'a CallTimes,
    /// Time of reading signal and of writing.
    pub components: &'a Components,
}

impl CallOptions<'_> {
    fn limits(&self) -> Limits {
        let workers = self.threads.get();
        // Records and results in one half, reads being worked on in the other, of which half is
        // what each worker has of its own.
        let half = self.memory_bytes / 2;
        let share = half / 2 / workers as u64;
        let prepaid_bytes = share.clamp(*PREPAID_BYTES.start(), *PREPAID_BYTES.end());
        let working_bytes = half.saturating_sub(prepaid_bytes * workers as u64);
        let block_bytes = self.block_bytes;
        Limits { workers, window_bytes: half, working_bytes, prepaid_bytes, block_bytes }
    }
}

/// Totals of a run.
#[derive(Debug, Default)]
pub struct CallTotals {
    /// Outcomes of all records.
    pub account: CallAccount,
    /// Records of the BAM, or of its region.
    pub records: u64,
    /// The most that was charged for records, results and work.
    pub peak_bytes: u64,
}

/// A record whose turn it is, and those before it that are not called.
pub struct Committed<'a, O> {
    /// Records that are not called, each preceded by its length; not all are of the region.
    pub skipped: &'a [u8],
    /// The record, likewise; none at the end of a block.
    pub record: Option<&'a [u8]>,
    /// Its result, or why there is none.
    pub outcome: Option<Result<&'a O, &'a Skip>>,
}

/// Size of the read of a call.
#[derive(Debug, Clone, Copy, Default)]
struct Called {
    bases: u64,
    samples: u64,
}

/// Result of a job.
struct Done<O> {
    job: Job,
    outcome: Result<Called, Skip>,
    output: O,
}

/// One worker's memory.
struct Worker<K: ReadKernel> {
    fetch: AlignmentScratch,
    read: ReadScratch,
    kernel: K::Scratch,
}

impl<K: ReadKernel> Default for Worker<K> {
    fn default() -> Self {
        Self {
            fetch: AlignmentScratch::default(),
            read: ReadScratch::default(),
            kernel: K::Scratch::default(),
        }
    }
}

struct Calling<'a, K: ReadKernel, E, C> {
    inputs: &'a CallInputs<'a>,
    kernel: &'a K,
    limits: Limits,
    times: &'a CallTimes,
    components: &'a Components,
    shared: Shared<Scheduler<'a>, E>,
    ordered: Ordered<Done<K::Output>>,
    recycled: Mutex<Vec<K::Output>>,
    commit: Mutex<(CallAccount, C)>,
}

/// Calls all reads. `commit` is called with one record after the other, in the order of the BAM,
/// and never by two workers at once; `watch` every 200 ms.
///
/// # Errors
/// The first error of input, `commit` or worker. A read that cannot be called is none.
pub fn run<K, E>(
    inputs: &CallInputs<'_>,
    kernel: &K,
    options: &CallOptions<'_>,
    watch: Watch<'_>,
    commit: impl FnMut(Committed<'_, K::Output>) -> Result<(), E> + Send,
) -> Result<CallTotals, E>
where
    K: ReadKernel,
    E: From<Stopped> + From<CallError> + Send,
{
    let limits = options.limits();
    let calling = Calling {
        inputs,
        kernel,
        limits,
        times: options.times,
        components: options.components,
        shared: Shared::new(Scheduler::new(inputs.alignments, inputs.filter, limits)),
        ordered: Ordered::default(),
        recycled: Mutex::default(),
        commit: Mutex::new((CallAccount::default(), commit)),
    };
    flow::run(&calling, options.threads, watch)?;
    let scheduler = calling.shared.scheduler().lock();
    if !scheduler.is_complete() {
        return Err(Stopped::Incomplete.into());
    }
    let account = std::mem::take(&mut lock(&calling.commit).0);
    Ok(CallTotals { account, records: scheduler.records(), peak_bytes: scheduler.peak_bytes() })
}

impl<'a, K, E, C> Flow for Calling<'a, K, E, C>
where
    K: ReadKernel,
    E: From<Stopped> + From<CallError> + Send,
    C: FnMut(Committed<'_, K::Output>) -> Result<(), E> + Send,
{
    type Scheduler = Scheduler<'a>;
    type Task = Task;
    type Worker = Worker<K>;
    type Error = E;

    fn shared(&self) -> &Shared<Scheduler<'a>, E> {
        &self.shared
    }

    fn worker(&self, _: usize) -> Result<Worker<K>, E> {
        Ok(Worker::default())
    }

    fn next(scheduler: &mut Scheduler<'a>) -> Result<Task, Idle> {
        scheduler.next_task()
    }

    fn perform(&self, worker: &mut Worker<K>, task: Task) -> Result<(), E> {
        match task {
            Task::Fetch => Ok(self.fetch(worker)?),
            Task::Call(job) => self.call(job, worker),
        }
    }

    fn wait(&self) -> Option<&Stage> {
        Some(&self.times.wait)
    }
}

impl<K, E, C> Calling<'_, K, E, C>
where
    K: ReadKernel,
    E: From<Stopped> + From<CallError> + Send,
    C: FnMut(Committed<'_, K::Output>) -> Result<(), E> + Send,
{
    fn fetch(&self, worker: &mut Worker<K>) -> Result<(), CallError> {
        let source = self.inputs.alignments;
        let fetched = self.times.bam.time(|| {
            let fetched = source.fetch(&mut worker.fetch)?;
            Ok::<_, AlignmentError>(fetched.map(|block| {
                let found = scan(&block.bytes, &self.inputs.filter);
                Scanned { block, found }
            }))
        })?;
        let cost = |bases| self.cost(bases, bases * SAMPLES_PER_BASE);
        self.shared.scheduler().update(|scheduler| scheduler.fetched(fetched, &cost))
    }

    fn cost(&self, bases: u64, samples: u64) -> Cost {
        let working_bytes =
            self.kernel.working_bytes(bases, samples) + samples * BYTES_PER_SAMPLE + bases * 12;
        Cost { working_bytes, result_bytes: self.kernel.result_bytes(bases) }
    }

    fn call(&self, mut job: Job, worker: &mut Worker<K>) -> Result<(), E> {
        let mut output = lock(&self.recycled).pop().unwrap_or_default();
        let mut largest = job.cost.working_bytes;
        let has_record = job.unit.record < job.unit.end;
        let outcome = match has_record {
            true => self.call_record(&job, worker, &mut output, &mut largest),
            false => Ok(Called::default()),
        };
        let outcome = match outcome {
            Ok(called) => Ok(called),
            Err(NotCalled::Skipped(skip)) => Err(skip),
            Err(NotCalled::Failed(error)) => return Err(error.into()),
        };
        if largest > self.limits.prepaid_bytes {
            // What a long read needed is not kept for the short ones after it.
            let fetch = std::mem::take(&mut worker.fetch);
            *worker = Worker { fetch, ..Worker::default() };
        }
        let held = if outcome.is_ok() { self.kernel.held_bytes(&output) } else { 0 };
        let must_wake_all = self.shared.scheduler().update(|scheduler| {
            scheduler.called(&mut job, held);
            scheduler.has_growing()
        });
        if must_wake_all {
            // Those who wait for memory look for something else than the others.
            self.shared.scheduler().wake_all();
        }
        let sequence = job.sequence;
        let done = Done { job, outcome, output };
        self.ordered.deposit(sequence, done, |done| self.commit(done))
    }

    /// Calls the record of a job, if it has all that a call needs.
    fn call_record(
        &self,
        job: &Job,
        worker: &mut Worker<K>,
        output: &mut K::Output,
        largest: &mut u64,
    ) -> Result<Called, NotCalled> {
        let framed = &job.block.bytes[job.unit.record..job.unit.end];
        let body = framed_records(framed).next().and_then(Result::ok).ok_or(Skip::BadCigar)?;
        let record = RecordRef::new(body).map_err(|_| Skip::BadCigar)?;
        let scratch = &mut worker.read;
        let gathered = self.inputs.gather(&record, scratch, self.times, self.components)?;
        let called = Called {
            bases: scratch.sequence.len() as u64,
            samples: scratch.signal.samples.len() as u64,
        };
        let taken = self.cost(called.bases, called.samples).working_bytes;
        *largest = taken.max(*largest);
        if taken > job.cost.working_bytes && !self.grow(job.sequence, taken) {
            return Err(Skip::NoSignal.into()); // the run has failed; nobody will see it
        }
        let aligned = AlignedRead {
            name: record.name(),
            contig: gathered.contig,
            start: gathered.start,
            is_reverse: record.has_flags(Flags::REVERSE),
            sequence: &scratch.sequence,
            reference: &scratch.reference,
            pairs: &scratch.pairs,
        };
        let input = ReadInput {
            aligned,
            signal: &scratch.signal,
            signal_path: &gathered.signal_path,
            ordinal: job.ordinal,
            record,
        };
        let outcome = self.kernel.call(&mut worker.kernel, &input, self.times, output);
        Ok(outcome.map(|()| called).map_err(Skip::Kernel)?)
    }

    /// Waits until a read that is longer than was thought may be worked on; `false` when the run
    /// has failed meanwhile.
    fn grow(&self, sequence: u64, bytes: u64) -> bool {
        self.times.wait.time(|| {
            self.shared.scheduler().lock().grows(true);
            let may_grow = self.shared.scheduler().wait_for(|scheduler| {
                let may_grow = scheduler.try_grow(sequence, bytes);
                if self.shared.stopped() { Some(false) } else { may_grow.then_some(true) }
            });
            self.shared.scheduler().lock().grows(false);
            may_grow
        })
    }

    /// Hands over a record whose turn it is.
    fn commit(&self, done: Done<K::Output>) -> Result<(), E> {
        let Done { job, outcome, output } = done;
        let Job { block, unit, held_bytes, .. } = job;
        {
            let mut guard = lock(&self.commit);
            let (account, commit) = &mut *guard;
            let skipped = &block.bytes[unit.start..unit.record];
            for body in framed_records(skipped).flatten() {
                let record = RecordRef::new(body).ok().filter(|it| self.inputs.filter.covers(it));
                let skip = record.and_then(|it| self.inputs.filter.refuses(&it).zip(Some(it)));
                if let Some((skip, record)) = skip {
                    account.skip(record.name(), &skip);
                }
            }
            let framed = &block.bytes[unit.record..unit.end];
            let record = (!framed.is_empty()).then_some(framed);
            match &outcome {
                _ if record.is_none() => {}
                Ok(of) => {
                    account.called += 1;
                    account.bases += of.bases;
                    account.samples += of.samples;
                }
                Err(skip) => account.skip(name_of(framed), skip),
            }
            let outcome = outcome.as_ref().map(|_| &output);
            let outcome = record.is_some().then_some(outcome);
            let committed = Committed { skipped, record, outcome };
            self.components.write.time(|| commit(committed))?;
        }
        lock(&self.recycled).push(output);
        if let Ok(block) = Arc::try_unwrap(block) {
            self.inputs.alignments.recycle(Box::new(block));
        }
        self.shared.scheduler().update(|scheduler| scheduler.committed(held_bytes));
        Ok(())
    }
}
