//! From blocks of input to batches of rows, by workers that do whichever is next: fetch a block,
//! or build the columns of a batch. Blocks are put in order and cut into batches behind one lock
//! (`scheduler`); batches are written in order.

mod scheduler;

use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use arrow_array::RecordBatch;
use seqloom_io::Output;
use seqloom_runtime::failure::lock;
use seqloom_runtime::flow::{self, Flow, Shared};
use seqloom_runtime::order::Ordered;
use seqloom_runtime::pool::{Interrupted, Stopped};
use seqloom_runtime::schedule::{Fetch, Idle};

use self::scheduler::{Batch, Scheduler, Task};
use crate::error::ColumnsError;
use crate::stream::Encoder;

/// Rows of a batch hold no more of the input than this, but for one row that has more.
const BATCH_BYTES: u64 = 8 << 20;
/// What columns and message of a batch may hold, per byte of its rows: letters are half a byte in
/// BAM and one in a column, buffers that grow may be twice as large, and what is built is copied
/// once into the message; and the allocator keeps for a while what was freed, most of it where a
/// worker is not given its turn. Measured with -m 300M, two workers whose priorities changed all
/// the time, next to four busy loops: with 6 at most 330 MiB, with 9 223 MiB.
const GROWTH: u64 = 9;
/// More than this per worker is of no use to blocks and rows.
const MOST_PER_WORKER_BYTES: u64 = 4 * BATCH_BYTES;

/// How much is worked on at a time.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Workers.
    pub threads: NonZeroUsize,
    /// Most rows of a batch.
    pub batch_rows: NonZeroUsize,
    /// What blocks, rows and what is made of them may hold, [`Limits::least_bytes`] or more.
    pub memory_bytes: u64,
}

impl Limits {
    /// The least that `memory_bytes` may be: what batches become, and two batches' rows.
    #[must_use]
    pub fn least_bytes(threads: NonZeroUsize) -> u64 {
        built_bytes(threads) + 2 * BATCH_BYTES
    }

    /// What rows and the blocks that they are in may hold.
    fn blocks_bytes(&self) -> u64 {
        let rest = self.memory_bytes.saturating_sub(built_bytes(self.threads));
        rest.min(self.threads.get() as u64 * MOST_PER_WORKER_BYTES)
    }
}

/// Batches that may be built or wait for their turn: one more than there are workers, so that none
/// waits for another's.
fn most_in_flight(threads: NonZeroUsize) -> usize {
    threads.get() + 1
}

/// What they become.
fn built_bytes(threads: NonZeroUsize) -> u64 {
    most_in_flight(threads) as u64 * BATCH_BYTES * GROWTH
}

/// What a stream held.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Rows.
    pub rows: u64,
    /// Batches.
    pub batches: u64,
}

/// Where a stream goes.
pub struct Destination<'a> {
    /// How much is worked on at a time.
    pub limits: &'a Limits,
    /// What it is written to.
    pub output: &'a mut Output,
    /// Progress and interrupts: bytes read, bytes there are, if that is known, and rows written.
    pub watch: &'a dyn Fn((u64, Option<u64>), u64) -> Result<(), Interrupted>,
}

/// What a block that was accepted says of the rest of its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    /// There is more.
    More,
    /// It was the last, or nothing after it is requested.
    Nothing,
}

/// Rows of an input, one after the other.
pub(crate) trait Block: Send + Sync {
    /// Input and number in it, from 0.
    fn place(&self) -> (usize, u64);
    /// Rows.
    fn rows(&self) -> usize;
    /// What a row holds, in bytes.
    fn row_bytes(&self, row: usize) -> u64;
    /// What all of it holds, in bytes.
    fn held_bytes(&self) -> u64;
}

/// What columns are made of.
pub(crate) trait Table: Sync {
    type Block: Block;
    /// What a worker keeps from fetch to fetch.
    type Scratch: Default;
    /// What is known of blocks that were accepted.
    type Check: Send;
    /// What a worker builds columns with.
    type Builders;

    fn inputs(&self) -> usize;
    fn check(&self) -> Self::Check;
    fn builders(&self) -> Self::Builders;
    /// Bytes read, and how many there are.
    fn progress(&self) -> (u64, Option<u64>);

    /// Takes the next block, never waiting for another worker.
    fn fetch(&self, scratch: &mut Self::Scratch) -> Result<Fetch<Self::Block>, ColumnsError>;

    /// Accepts blocks in order.
    fn accept(
        &self,
        check: &mut Self::Check,
        block: &mut Self::Block,
    ) -> Result<Rest, ColumnsError>;

    /// Columns of the rows of `pieces`.
    fn build(
        &self,
        builders: &mut Self::Builders,
        pieces: &[Piece<Self::Block>],
    ) -> Result<RecordBatch, ColumnsError>;

    /// Takes a block back.
    fn recycle(&self, block: Self::Block);
}

/// Some rows of a block.
pub(crate) struct Piece<B> {
    pub(crate) block: Arc<B>,
    pub(crate) rows: Range<usize>,
}

/// A batch as it is written.
struct Encoded {
    bytes: Vec<u8>,
    rows: u64,
}

/// Writes all rows of a table as a stream.
///
/// # Errors
/// The first of any worker.
pub(crate) fn run<T: Table>(
    table: &T,
    destination: Destination<'_>,
) -> Result<Totals, ColumnsError> {
    let Destination { limits, output, watch } = destination;
    let mut builders = table.builders();
    let empty = table.build(&mut builders, &[])?;
    let (encoder, head) = Encoder::new(&empty)?;
    output.write(&head)?;
    let rows = Rows {
        table,
        empty,
        shared: Shared::new(Scheduler::new(table, limits, BATCH_BYTES)),
        ordered: Ordered::default(),
        output: Mutex::new(output),
        written: AtomicU64::new(0),
    };
    let watch = || watch(table.progress(), rows.written.load(Ordering::Relaxed));
    flow::run(&rows, limits.threads, &watch)?;
    if !rows.shared.scheduler().lock().is_complete() {
        return Err(Stopped::Incomplete.into());
    }
    lock(&rows.output).write(&encoder.end()?)?;
    let (written, batches) = (rows.written.load(Ordering::Relaxed), rows.ordered.committed());
    Ok(Totals { rows: written, batches })
}

/// The rows of a table on their way to a stream.
struct Rows<'a, T: Table> {
    table: &'a T,
    empty: RecordBatch,
    shared: Shared<Scheduler<'a, T>, ColumnsError>,
    ordered: Ordered<Encoded>,
    output: Mutex<&'a mut Output>,
    /// Rows. Relaxed: a count for who watches; the total is read when the workers have ended.
    written: AtomicU64,
}

/// One worker's memory.
struct Worker<T: Table> {
    scratch: T::Scratch,
    builders: T::Builders,
    encoder: Encoder,
}

impl<'a, T: Table> Flow for Rows<'a, T> {
    type Scheduler = Scheduler<'a, T>;
    type Task = Task<T::Block>;
    type Worker = Worker<T>;
    type Error = ColumnsError;

    fn shared(&self) -> &Shared<Scheduler<'a, T>, ColumnsError> {
        &self.shared
    }

    fn worker(&self, _: usize) -> Result<Worker<T>, ColumnsError> {
        let (encoder, _) = Encoder::new(&self.empty)?;
        Ok(Worker { scratch: T::Scratch::default(), builders: self.table.builders(), encoder })
    }

    fn next(scheduler: &mut Scheduler<'a, T>) -> Result<Task<T::Block>, Idle> {
        scheduler.next_task()
    }

    fn perform(&self, worker: &mut Worker<T>, task: Task<T::Block>) -> Result<(), ColumnsError> {
        match task {
            Task::Fetch => self.fetch(&mut worker.scratch),
            Task::Build(batch) => self.build(batch, &mut worker.builders, &mut worker.encoder),
        }
    }
}

impl<T: Table> Rows<'_, T> {
    fn fetch(&self, scratch: &mut T::Scratch) -> Result<(), ColumnsError> {
        let fetched = self.table.fetch(scratch)?;
        self.shared.scheduler().update(|scheduler| scheduler.fetched(fetched))
    }

    fn build(
        &self,
        batch: Batch<T::Block>,
        builders: &mut T::Builders,
        encoder: &mut Encoder,
    ) -> Result<(), ColumnsError> {
        let Batch { sequence, pieces, .. } = batch;
        let built = self.table.build(builders, &pieces)?;
        let mut released_bytes = 0;
        for piece in pieces {
            if let Some(block) = Arc::into_inner(piece.block) {
                released_bytes += block.held_bytes();
                self.table.recycle(block);
            }
        }
        self.shared.scheduler().update(|scheduler| scheduler.released(released_bytes));
        let encoded = Encoded { rows: built.num_rows() as u64, bytes: encoder.encode(&built)? };
        drop(built);
        self.ordered.deposit(sequence, encoded, |encoded| {
            lock(&self.output).write(&encoded.bytes)?;
            self.written.fetch_add(encoded.rows, Ordering::Relaxed);
            self.shared.scheduler().update(Scheduler::committed);
            Ok(())
        })
    }
}
