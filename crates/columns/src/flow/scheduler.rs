//! What is to be done next: the state that the workers share, without any thread in it.
//!
//! Blocks come in any order. Here they are put in the order of the input, accepted, and cut into
//! batches by the number of rows and what they hold.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use seqloom_runtime::schedule::{Fetch, Fetches, Idle};

use super::limits::{Limits, most_in_flight};
use super::table::{Block, Piece, Rest, Table};
use crate::error::ColumnsError;

/// Blocks, per worker, that are being fetched or wait for a block before them.
const BLOCKS_PER_WORKER: usize = 4;

/// Rows for one worker.
pub(super) struct Batch<B> {
    /// Its turn.
    pub(super) sequence: u64,
    pub(super) pieces: Vec<Piece<B>>,
    rows: usize,
    bytes: u64,
}

/// Work for one worker.
pub(super) enum Task<B> {
    /// Fetch a block from the source.
    Fetch,
    /// Build and write a batch.
    Build(Batch<B>),
}

/// Blocks that are read and batches that are ready for workers.
pub(super) struct Scheduler<'a, T: Table> {
    table: &'a T,
    check: T::Check,
    batch_rows: usize,
    batch_bytes: u64,
    /// Most memory of blocks.
    blocks_bytes: u64,
    /// Batches that may be built or wait for their turn.
    most_in_flight: usize,
    most_ahead: usize,
    early: BTreeMap<(usize, u64), T::Block>,
    next: (usize, u64),
    open: Batch<T::Block>,
    ready: VecDeque<Batch<T::Block>>,
    held_bytes: u64,
    /// The largest block so far, which is what one that is being fetched may come to hold: some
    /// data are a hundredth of their size where they are compressed.
    largest_bytes: u64,
    in_flight: usize,
    fetches: Fetches,
}

impl<'a, T: Table> Scheduler<'a, T> {
    pub(super) fn new(table: &'a T, limits: &Limits, batch_bytes: u64) -> Self {
        Self {
            table,
            check: table.check(),
            batch_rows: limits.batch_rows.get(),
            batch_bytes,
            blocks_bytes: limits.blocks_bytes(),
            most_in_flight: most_in_flight(limits.threads),
            most_ahead: limits.threads.get() * BLOCKS_PER_WORKER,
            early: BTreeMap::new(),
            next: (0, 0),
            open: Batch { sequence: 0, pieces: Vec::new(), rows: 0, bytes: 0 },
            ready: VecDeque::new(),
            held_bytes: 0,
            largest_bytes: 0,
            in_flight: 0,
            fetches: Fetches::default(),
        }
    }

    /// The next task, if there is one now: what is furthest down the line comes first.
    pub(super) fn next_task(&mut self) -> Result<Task<T::Block>, Idle> {
        if self.in_flight < self.most_in_flight
            && let Some(batch) = self.ready.pop_front()
        {
            self.in_flight += 1;
            return Ok(Task::Build(batch));
        }
        if self.may_fetch() {
            self.fetches.start();
            return Ok(Task::Fetch);
        }
        let finished = self.fetches.are_over() && self.ready.is_empty();
        Err(if finished { Idle::Finished } else { Idle::Wait })
    }

    fn may_fetch(&self) -> bool {
        let ahead = self.fetches.in_work() + self.early.len();
        // Were nothing allowed but what fits, a block of much more would stop everything.
        let is_idle = self.fetches.in_work() + self.in_flight + self.ready.len() == 0;
        let on_the_way = self.fetches.in_work() as u64 * self.largest_bytes;
        let has_room = self.held_bytes + on_the_way < self.blocks_bytes;
        let has_room = has_room && self.ready.len() < self.most_ahead;
        self.fetches.may_start() && ahead < self.most_ahead && (has_room || is_idle)
    }

    /// A fetch is back: takes its block and all that waited for it.
    pub(super) fn fetched(&mut self, fetched: Fetch<T::Block>) -> Result<(), ColumnsError> {
        match self.fetches.finish(fetched) {
            // After what is requested of its input.
            Some(block) if block.place() < self.next => self.table.recycle(block),
            Some(block) => {
                let bytes = block.held_bytes();
                self.held_bytes += bytes;
                self.largest_bytes = self.largest_bytes.max(bytes);
                self.early.insert(block.place(), block);
            }
            None => {}
        }
        while let Some(block) = self.early.remove(&self.next) {
            self.accept(block)?;
        }
        self.close_if_ended();
        Ok(())
    }

    fn accept(&mut self, mut block: T::Block) -> Result<(), ColumnsError> {
        self.held_bytes -= block.held_bytes();
        let rest = self.table.accept(&mut self.check, &mut block)?;
        self.held_bytes += block.held_bytes();
        self.next = match rest {
            Rest::More => (self.next.0, self.next.1 + 1),
            Rest::Nothing => (self.next.0 + 1, 0),
        };
        self.forget_unwanted();
        let block = Arc::new(block);
        let mut from = 0;
        for row in 0..block.rows() {
            let bytes = block.row_bytes(row);
            let is_full = self.open.rows == self.batch_rows
                || self.open.rows > 0 && self.open.bytes + bytes > self.batch_bytes;
            if is_full {
                self.add(&block, from, row);
                self.close();
                from = row;
            }
            self.open.rows += 1;
            self.open.bytes += bytes;
        }
        self.add(&block, from, block.rows());
        if let Some(unused) = Arc::into_inner(block) {
            self.held_bytes -= unused.held_bytes();
            self.table.recycle(unused);
        }
        Ok(())
    }

    /// Blocks of an input that is through.
    fn forget_unwanted(&mut self) {
        while let Some(first) = self.early.first_entry()
            && *first.key() < self.next
        {
            let block = first.remove();
            self.held_bytes -= block.held_bytes();
            self.table.recycle(block);
        }
    }

    fn add(&mut self, block: &Arc<T::Block>, from: usize, to: usize) {
        if from < to {
            self.open.pieces.push(Piece { block: block.clone(), rows: from..to });
        }
    }

    fn close(&mut self) {
        let sequence = self.open.sequence + 1;
        let next = Batch { sequence, pieces: Vec::new(), rows: 0, bytes: 0 };
        self.ready.push_back(std::mem::replace(&mut self.open, next));
    }

    /// The last batch is as short as it is.
    fn close_if_ended(&mut self) {
        if self.fetches.are_over() && self.early.is_empty() && self.open.rows > 0 {
            self.close();
        }
    }

    /// Blocks were given back.
    pub(super) fn released(&mut self, bytes: u64) {
        self.held_bytes -= bytes;
    }

    /// A batch is written.
    pub(super) fn committed(&mut self) {
        self.in_flight -= 1;
    }

    /// Whether all inputs came, and all that was read was written.
    pub(super) fn is_complete(&self) -> bool {
        let is_written = self.ready.is_empty() && self.in_flight == 0 && self.open.rows == 0;
        is_written && self.next.0 == self.table.inputs()
    }
}
