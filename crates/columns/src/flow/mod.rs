//! From blocks of input to batches of rows, by workers that do whichever is next: fetch a block,
//! or build the columns of a batch. Blocks are put in order and cut into batches behind one lock
//! (`scheduler`); batches are written in order.

mod limits;
mod scheduler;
mod table;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use arrow_array::RecordBatch;
use seqloom_io::Output;
use seqloom_runtime::failure::lock;
use seqloom_runtime::flow::{self, Flow, Shared};
use seqloom_runtime::order::Ordered;
use seqloom_runtime::pool::{Interrupted, Stopped};
use seqloom_runtime::schedule::Idle;

use self::limits::BATCH_BYTES;
use self::scheduler::{Batch, Scheduler, Task};
use crate::error::ColumnsError;
use crate::stream::Encoder;

pub use self::limits::Limits;
pub(crate) use self::table::{Block, Piece, Rest, Table};

/// Counts of a stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Rows of all batches.
    pub rows: u64,
    /// Batches that were written.
    pub batches: u64,
}

/// Output and limits of a stream.
pub struct Destination<'a> {
    /// How much is worked on at a time.
    pub limits: &'a Limits,
    /// Output of the stream.
    pub output: &'a mut Output,
    /// Progress and interrupts: bytes read, bytes there are, if that is known, and rows written.
    pub watch: &'a dyn Fn((u64, Option<u64>), u64) -> Result<(), Interrupted>,
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
