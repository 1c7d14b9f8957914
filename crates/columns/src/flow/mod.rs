//! From blocks of input to batches of rows, by workers that do whichever is next: fetch a block,
//! or build the columns of a batch. Blocks are put in order and cut into batches behind one lock
//! (`scheduler`); batches are written in order.

mod scheduler;

use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use arrow_array::RecordBatch;
use seqloom_io::sink::output::Output;
use seqloom_runtime::failure::{Failure, lock};
use seqloom_runtime::monitor::Monitor;
use seqloom_runtime::order::Ordered;
use seqloom_runtime::pool;
use seqloom_runtime::schedule::{self, Fetch};

use self::scheduler::{Batch, Scheduler, Task};
use crate::error::ColumnsError;
use crate::stream::Encoder;

/// Rows of a batch hold no more of the input than this, but for one row that has more.
const BATCH_BYTES: u64 = 8 << 20;
/// What columns and message of a batch may hold, per byte of its rows: letters are half a byte in
/// BAM and one in a column, buffers that grow may be twice as large, and what is built is copied
/// once into the message; and the allocator keeps for a while what was freed, most of it where a
/// worker is not given its turn. Measured with -m 300M, two workers whose priorities changed all
/// the time, beside four busy loops: with 6 at most 330 MiB, with 9 223 MiB.
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

/// Called every 200 ms with bytes read, bytes there are, if that is known, and rows written;
/// `false` stops the run.
pub(crate) type Watch<'a> = &'a dyn Fn((u64, Option<u64>), u64) -> bool;

/// Where a stream goes.
pub struct Destination<'a> {
    /// How much is worked on at a time.
    pub limits: &'a Limits,
    /// What it is written to.
    pub output: &'a mut Output,
    /// Called now and then while the workers run.
    pub watch: Watch<'a>,
}

/// What a block that was accepted says of the rest of its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    /// There is more.
    More,
    /// It was the last, or nothing behind it is wanted.
    Nothing,
}

/// Rows of an input, one behind the other.
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
    let flow = Flow {
        table,
        empty,
        scheduler: Monitor::new(Scheduler::new(table, limits, BATCH_BYTES)),
        failure: Failure::default(),
        ordered: Ordered::default(),
        output: Mutex::new(output),
        rows: AtomicU64::new(0),
    };
    let wake = || flow.scheduler.wake_all();
    let watch = || {
        let goes_on = watch(table.progress(), flow.rows.load(Ordering::Relaxed));
        if goes_on { Ok(()) } else { Err(ColumnsError::Interrupted) }
    };
    pool::run(limits.threads, &flow.failure, wake, &watch, |_| flow.work())?;
    if !flow.scheduler.lock().is_complete() {
        return Err(ColumnsError::Incomplete);
    }
    lock(&flow.output).write(&encoder.end()?)?;
    let (rows, batches) = (flow.rows.load(Ordering::Relaxed), flow.ordered.committed());
    Ok(Totals { rows, batches })
}

struct Flow<'a, T: Table> {
    table: &'a T,
    empty: RecordBatch,
    scheduler: Monitor<Scheduler<'a, T>>,
    failure: Failure<ColumnsError>,
    ordered: Ordered<Encoded>,
    output: Mutex<&'a mut Output>,
    rows: AtomicU64,
}

impl<T: Table> Flow<'_, T> {
    fn work(&self) -> Result<(), ColumnsError> {
        let mut scratch = T::Scratch::default();
        let mut builders = self.table.builders();
        let (mut encoder, _) = Encoder::new(&self.empty)?;
        while let Some(task) = self.next_task() {
            match task {
                Task::Fetch => self.fetch(&mut scratch)?,
                Task::Build(batch) => self.build(batch, &mut builders, &mut encoder)?,
            }
        }
        Ok(())
    }

    fn next_task(&self) -> Option<Task<T::Block>> {
        let stopped = || self.failure.stopped();
        schedule::next_task(&self.scheduler, stopped, Scheduler::next_task)
    }

    fn fetch(&self, scratch: &mut T::Scratch) -> Result<(), ColumnsError> {
        let fetched = self.table.fetch(scratch)?;
        self.scheduler.update(|scheduler| scheduler.fetched(fetched))
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
        self.scheduler.update(|scheduler| scheduler.released(released_bytes));
        let encoded = Encoded { rows: built.num_rows() as u64, bytes: encoder.encode(&built)? };
        drop(built);
        self.ordered.deposit(sequence, encoded, |encoded| {
            lock(&self.output).write(&encoded.bytes)?;
            self.rows.fetch_add(encoded.rows, Ordering::Relaxed);
            self.scheduler.update(Scheduler::committed);
            Ok(())
        })
    }
}
