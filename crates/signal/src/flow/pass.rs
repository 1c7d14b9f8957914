//! One pass over raw signal: batches of stored reads, worked on by all workers, handed over in
//! order.
//!
//! A worker takes the next batch from the source (one at a time, cheap), works on it, and
//! deposits the result; whoever finds the next result in order commits it. So what is committed is
//! a function of the source, never of the number of workers or of timing. Between the batch that
//! is taken last and the one committed last there are at most [`AHEAD_PER_WORKER`] batches per
//! worker: that bounds the memory.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use seqloom_format::signal::SignalRead;
use seqloom_runtime::failure::lock;
use seqloom_runtime::flow::{self, Flow, Shared};
use seqloom_runtime::order::Ordered;
use seqloom_runtime::pool::{Stopped, Watch};
use seqloom_runtime::schedule::Idle;
use seqloom_runtime::trace;

use crate::flow::account::{Fault, Loss};
use crate::store::{DecodeScratch, Frame, FrameBatch, ReadError, SignalStore, StoreError};

/// Batches taken and not yet committed, per worker: one that is worked on and one that waits for
/// its turn, so that a slow batch does not idle the others at once.
pub(crate) const AHEAD_PER_WORKER: usize = 2;

/// Time of the parts of a pass, summed over workers.
#[derive(Debug, Default)]
pub struct Components {
    /// Opening files and reading their headers.
    pub open: trace::Stage,
    /// Reading bytes and finding records.
    pub read: trace::Stage,
    /// Inflating records.
    pub inflate: trace::Stage,
    /// Decoding reads.
    pub decode: trace::Stage,
    /// Encoding and deflating reads.
    pub encode: trace::Stage,
    /// Writing results to the output.
    pub write: trace::Stage,
}

/// A batch of stored reads and the file they are from.
#[derive(Default)]
pub struct Work {
    /// The file; `None` when there was only a fault to report.
    pub store: Option<Arc<dyn SignalStore>>,
    /// Which of the inputs that file is.
    pub input: usize,
    /// How many frames came before the first one of this batch, over the whole pass.
    pub(crate) first_ordinal: u64,
    /// Whether the frames' bytes are still to be read, by the worker.
    pub(crate) must_fetch: bool,
    /// The reads.
    pub batch: FrameBatch,
}

/// A read as it is stored.
#[derive(Clone, Copy)]
pub struct StoredRead<'a> {
    /// The file that it is in.
    pub store: &'a dyn SignalStore,
    /// The batch that it came in.
    pub batch: &'a FrameBatch,
    /// Its frame.
    pub frame: &'a Frame,
}

impl Work {
    /// The reads of the batch.
    pub fn reads(&self) -> impl Iterator<Item = StoredRead<'_>> {
        let Self { store, batch, .. } = self;
        store.iter().flat_map(move |store| {
            let store = store.as_ref();
            batch.frames.iter().map(move |frame| StoredRead { store, batch, frame })
        })
    }
}

impl StoredRead<'_> {
    /// A read that is lost, as a fault. `read` holds its id if decoding came that far; where it did
    /// not, the id alone may still be there to be read.
    #[must_use]
    pub fn fault(
        self,
        scratch: &mut DecodeScratch,
        read: &mut SignalRead,
        error: &ReadError,
    ) -> Fault {
        let Self { store, batch, frame } = self;
        let id = &mut read.read_id;
        let has_id = !id.is_empty() || store.read_id(scratch, batch, frame, id).is_ok();
        Fault {
            path: store.path().clone(),
            read_id: (has_id && !id.is_empty()).then(|| id.clone()),
            offset: store.format().has_records().then_some(frame.offset),
            reason: error.to_string(),
            loss: Loss::Read,
        }
    }
}

/// Source of batches.
pub trait BatchSource: Send {
    /// Fills `work`; `false` when there is nothing more.
    ///
    /// # Errors
    /// What makes the pass impossible. What a pass can do without becomes a fault of the batch.
    fn next(&mut self, work: &mut Work, components: &Components) -> Result<bool, StoreError>;
}

/// Work on a batch, by one worker.
pub trait Stage: Sync {
    /// Working memory, kept from batch to batch.
    type Scratch;
    /// What a batch becomes. Recycled: `process` is given one that holds an earlier result.
    type Output: Default + Send;

    /// A worker's scratch.
    fn scratch(&self) -> Self::Scratch;

    /// Turns `work` into `output`, in place of whatever that held.
    fn process(&self, scratch: &mut Self::Scratch, work: &Work, output: &mut Self::Output);
}

/// Who may take a batch.
struct Window {
    in_flight: usize,
    /// Batches that may be taken and not yet committed.
    at_most: usize,
    ended: bool,
}

/// Source and number of the next batch.
struct Supply<B> {
    source: B,
    next: u64,
}

/// How a pass runs.
pub struct PassOptions<'a> {
    /// Workers that fetch, decode and encode.
    pub threads: NonZeroUsize,
    /// Time of the components.
    pub components: &'a Components,
    /// Progress and interrupts.
    pub watch: Watch<'a>,
}

/// State that the workers of a pass share.
struct Pass<'a, B, S: Stage, C, E> {
    stage: &'a S,
    components: &'a Components,
    shared: Shared<Window, E>,
    supply: Mutex<Supply<B>>,
    ordered: Ordered<S::Output>,
    commit: Mutex<C>,
    recycled: Mutex<Vec<S::Output>>,
}

/// One worker's memory.
struct Worker<S: Stage> {
    scratch: S::Scratch,
    work: Work,
}

impl<B, S, C, E> Flow for Pass<'_, B, S, C, E>
where
    B: BatchSource,
    S: Stage,
    C: FnMut(&mut S::Output) -> Result<(), E> + Send,
    E: From<Stopped> + From<StoreError> + Send,
{
    type Scheduler = Window;
    /// To take a batch and work on it.
    type Task = ();
    type Worker = Worker<S>;
    type Error = E;

    fn shared(&self) -> &Shared<Window, E> {
        &self.shared
    }

    fn worker(&self, _: usize) -> Result<Worker<S>, E> {
        Ok(Worker { scratch: self.stage.scratch(), work: Work::default() })
    }

    fn next(window: &mut Window) -> Result<(), Idle> {
        if window.ended {
            return Err(Idle::Finished);
        }
        if window.in_flight == window.at_most {
            return Err(Idle::Wait);
        }
        window.in_flight += 1;
        Ok(())
    }

    fn perform(&self, Worker { scratch, work }: &mut Worker<S>, (): ()) -> Result<(), E> {
        let Self { components, shared, .. } = self;
        let Some(sequence) = take(&self.supply, work, components)? else {
            shared.scheduler().update(|window| window.ended = true);
            shared.scheduler().wake_all();
            return Ok(());
        };
        fetch(work, components)?;
        let mut output = lock(&self.recycled).pop().unwrap_or_default();
        self.stage.process(scratch, work, &mut output);
        self.ordered.deposit(sequence, output, |mut output| {
            components.write.time(|| (lock(&self.commit))(&mut output))?;
            lock(&self.recycled).push(output);
            shared.scheduler().update(|window| window.in_flight -= 1);
            Ok::<_, E>(())
        })
    }
}

/// Runs a pass. `commit` is called with one result after the other, in the
/// order of the source, and never by two workers at once.
///
/// # Errors
/// The first error of source, `commit` or worker.
pub fn run<B, S, E>(
    options: &PassOptions<'_>,
    source: B,
    stage: &S,
    commit: impl FnMut(&mut S::Output) -> Result<(), E> + Send,
) -> Result<(), E>
where
    B: BatchSource,
    S: Stage,
    E: From<Stopped> + From<StoreError> + Send,
{
    let &PassOptions { threads, components, watch } = options;
    let at_most = threads.get() * AHEAD_PER_WORKER;
    let pass = Pass {
        stage,
        components,
        shared: Shared::new(Window { in_flight: 0, at_most, ended: false }),
        supply: Mutex::new(Supply { source, next: 0 }),
        ordered: Ordered::default(),
        commit: Mutex::new(commit),
        recycled: Mutex::default(),
    };
    flow::run(&pass, threads, watch)
}

fn take<B: BatchSource>(
    supply: &Mutex<Supply<B>>,
    work: &mut Work,
    components: &Components,
) -> Result<Option<u64>, StoreError> {
    let mut supply = lock(supply);
    if !supply.source.next(work, components)? {
        return Ok(None);
    }
    supply.next += 1;
    Ok(Some(supply.next - 1))
}

fn fetch(work: &mut Work, components: &Components) -> Result<(), StoreError> {
    if !work.must_fetch {
        return Ok(());
    }
    let Some(store) = work.store.clone() else { return Ok(()) };
    components.read.time(|| store.fetch(&mut work.batch))
}

/// What every pass hands over besides its own: what was lost in the batch, in order, and how many
/// reads were not.
#[derive(Debug, Default)]
pub struct Tally {
    /// Reads that could be read.
    pub reads: u64,
    /// Faults of the others.
    pub faults: Vec<Fault>,
}

impl Tally {
    /// Empties it.
    pub fn clear(&mut self) {
        self.reads = 0;
        self.faults.clear();
    }
}
