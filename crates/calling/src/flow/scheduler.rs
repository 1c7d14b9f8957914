//! What is to be done next: the state that the workers share, without any thread in it.
//!
//! Records enter in the order of the BAM and leave in that order; in between the longest is taken
//! first, so that no long one is left for the end. Two sums are bounded: what records and results
//! between the first that is not committed and the last that was read hold (the window), and what
//! the reads being worked on take. The record that the commit waits for may always start: so there
//! is always something that goes on.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use seqloom_io::alignments::{AlignmentSource, BlockCheck, RecordBlock};
use seqloom_runtime::schedule::{Fetch, Fetches, Idle, InOrder};

use super::error::CallError;
use super::record::{Filter, Scan, Unit, name_of, place_of, scan};

/// Blocks, per worker, that are being fetched or wait for a block before them.
const BLOCKS_PER_WORKER: usize = 2;

/// How many records, and what they hold, may be in memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) workers: usize,
    /// Most memory of records and results.
    pub(super) window_bytes: u64,
    /// Most memory of reads being worked on, beyond `prepaid_bytes` each.
    pub(super) working_bytes: u64,
    /// Memory that each worker has from the start.
    pub(super) prepaid_bytes: u64,
    /// Records of a block hold about this much.
    pub(super) block_bytes: u64,
}

/// Expected memory of a read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Cost {
    pub(super) working_bytes: u64,
    pub(super) result_bytes: u64,
}

/// A record for one worker.
pub(super) struct Job {
    /// Its turn.
    pub(super) sequence: u64,
    pub(super) block: Arc<RecordBlock>,
    pub(super) unit: Unit,
    /// Number of the record in the BAM.
    pub(super) ordinal: u64,
    pub(super) cost: Cost,
    /// Bytes of the window that it holds.
    pub(super) held_bytes: u64,
}

/// Work for one worker.
pub(super) enum Task {
    /// Fetch a block from the source.
    Fetch,
    /// Call a record.
    Call(Job),
}

/// Records that wait, are worked on, or wait for their turn to be written.
pub(super) struct Scheduler<'a> {
    source: &'a AlignmentSource,
    filter: Filter,
    limits: Limits,
    check: BlockCheck,
    order: InOrder<Scanned>,
    has_last_block: bool,
    last_place: u64,
    records: u64,
    /// Longest first, then in order.
    waiting: BTreeMap<(Reverse<u64>, u64), Job>,
    /// The same by sequence: cost in working memory.
    turns: BTreeMap<u64, u64>,
    /// Being worked on: what each has charged.
    running: BTreeMap<u64, u64>,
    /// Workers that wait until a read may take more than was thought.
    growing: usize,
    working_bytes: u64,
    window_bytes: u64,
    peak_bytes: u64,
    next_sequence: u64,
    committed: u64,
    fetches: Fetches,
}

/// A block, and what was found in it.
pub(super) struct Scanned {
    pub(super) block: Box<RecordBlock>,
    pub(super) found: Scan,
}

impl<'a> Scheduler<'a> {
    pub(super) fn new(source: &'a AlignmentSource, filter: Filter, limits: Limits) -> Self {
        Self {
            source,
            filter,
            limits,
            check: BlockCheck::new(source, 0),
            order: InOrder::default(),
            has_last_block: false,
            last_place: 0,
            records: 0,
            waiting: BTreeMap::new(),
            turns: BTreeMap::new(),
            running: BTreeMap::new(),
            growing: 0,
            working_bytes: 0,
            window_bytes: 0,
            peak_bytes: 0,
            next_sequence: 0,
            committed: 0,
            fetches: Fetches::default(),
        }
    }

    /// Records that were read, of the region if there is one.
    pub(super) fn records(&self) -> u64 {
        self.records
    }

    /// The most that was charged for records, results and work.
    pub(super) fn peak_bytes(&self) -> u64 {
        self.peak_bytes
    }

    /// Whether all that was read was committed, and all that is requested was read.
    pub(super) fn is_complete(&self) -> bool {
        self.has_last_block && self.waiting.is_empty() && self.committed == self.next_sequence
    }

    /// The next task, if there is one now.
    pub(super) fn next_task(&mut self) -> Result<Task, Idle> {
        if self.may_fetch() {
            self.fetches.start();
            return Ok(Task::Fetch);
        }
        if let Some(job) = self.take_job() {
            return Ok(Task::Call(job));
        }
        let finished = self.fetches.are_over() && self.waiting.is_empty();
        Err(if finished { Idle::Finished } else { Idle::Wait })
    }

    fn may_fetch(&self) -> bool {
        let ahead = self.fetches.in_work() + self.order.early();
        let expected = self.window_bytes + ahead as u64 * self.limits.block_bytes;
        let has_room = expected < self.limits.window_bytes || ahead == 0 && self.is_window_empty();
        self.fetches.may_start() && has_room && ahead < self.limits.workers * BLOCKS_PER_WORKER
    }

    fn is_window_empty(&self) -> bool {
        self.committed == self.next_sequence
    }

    fn take_job(&mut self) -> Option<Job> {
        let head = self.turns.get(&self.committed).map(|&cost| (Reverse(cost), self.committed));
        let is_full = self.window_bytes >= self.limits.window_bytes && !self.fetches.have_ended();
        let free = self.limits.working_bytes.saturating_sub(self.working_bytes);
        let most = free + self.limits.prepaid_bytes;
        let longest = || self.waiting.range((Reverse(most), 0)..).next().map(|(&key, _)| key);
        // A full window opens only at its front.
        let key = if is_full { head.or_else(longest) } else { longest().or(head) }?;
        let job = self.waiting.remove(&key)?;
        self.turns.remove(&job.sequence);
        self.running.insert(job.sequence, 0);
        self.charge(job.sequence, job.cost.working_bytes);
        Some(job)
    }

    /// Sets what a record that is worked on takes.
    fn charge(&mut self, sequence: u64, bytes: u64) {
        let bytes = bytes.saturating_sub(self.limits.prepaid_bytes);
        if let Some(charged) = self.running.get_mut(&sequence) {
            self.working_bytes = self.working_bytes - *charged + bytes;
            *charged = bytes;
        }
        self.peak_bytes = self.peak_bytes.max(self.working_bytes + self.window_bytes);
    }

    /// A worker begins or ceases to wait for [`Scheduler::try_grow`].
    pub(super) fn grows(&mut self, begins: bool) {
        if begins { self.growing += 1 } else { self.growing -= 1 }
    }

    /// Whether somebody waits for memory to be given back.
    pub(super) fn has_growing(&self) -> bool {
        self.growing > 0
    }

    /// Whether a record that is worked on may take so much; it may if it fits, or if no other is in
    /// front of it.
    pub(super) fn try_grow(&mut self, sequence: u64, bytes: u64) -> bool {
        let charged = self.running.get(&sequence).copied().unwrap_or(0);
        let requested = bytes.saturating_sub(self.limits.prepaid_bytes);
        let fits = self.working_bytes - charged + requested <= self.limits.working_bytes;
        let is_first = self.running.first_key_value().is_some_and(|(&first, _)| first == sequence);
        let may_grow = requested <= charged || fits || is_first;
        if may_grow {
            self.charge(sequence, bytes);
        }
        may_grow
    }

    /// A record was worked on: its result holds `result_bytes`.
    pub(super) fn called(&mut self, job: &mut Job, result_bytes: u64) {
        self.working_bytes -= self.running.remove(&job.sequence).unwrap_or(0);
        let expected = std::mem::replace(&mut job.cost.result_bytes, result_bytes);
        self.window_bytes = self.window_bytes - expected + result_bytes;
        job.held_bytes = job.held_bytes - expected + result_bytes;
        self.peak_bytes = self.peak_bytes.max(self.working_bytes + self.window_bytes);
    }

    /// The record whose turn it was is committed.
    pub(super) fn committed(&mut self, held_bytes: u64) {
        self.committed += 1;
        self.window_bytes -= held_bytes;
    }

    /// A fetch is back: takes its block and all that waited for it.
    pub(super) fn fetched(
        &mut self,
        fetched: Fetch<Scanned>,
        cost: &dyn Fn(u64) -> Cost,
    ) -> Result<(), CallError> {
        let Some(scanned) = self.fetches.finish(fetched) else { return Ok(()) };
        if self.has_last_block {
            return Ok(());
        }
        self.order.push(scanned.block.index, scanned);
        while let Some(scanned) = self.order.pop() {
            self.accept(scanned, cost)?;
        }
        Ok(())
    }

    fn accept(
        &mut self,
        Scanned { mut block, found }: Scanned,
        cost: &dyn Fn(u64) -> Cost,
    ) -> Result<(), CallError> {
        let scan = |bytes: &[u8]| scan(bytes, &self.filter);
        let found = self.check.accept_scanned(self.source, &mut block, found, scan)?;
        if let Some(first) = found.first_place {
            let unsorted = (first < self.last_place).then_some(0).or(found.unsorted_at);
            if let Some(at) = unsorted {
                return Err(CallError::unsorted(self.source.path(0), name_of(&block.bytes[at..])));
            }
            self.last_place = found.last_place;
        }
        if block.last || found.first_place.is_some_and(|first| self.is_after_region(first)) {
            self.has_last_block = true;
            self.fetches.end();
            self.order.clear();
        }
        let first_record = self.records;
        self.records += found.records;
        let block: Arc<RecordBlock> = Arc::from(block);
        for unit in found.units {
            self.push(&block, unit, first_record, cost);
        }
        Ok(())
    }

    fn push(
        &mut self,
        block: &Arc<RecordBlock>,
        unit: Unit,
        first_record: u64,
        cost: &dyn Fn(u64) -> Cost,
    ) {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        let has_record = unit.record < unit.end;
        let cost = if has_record { cost(unit.bases) } else { Cost::default() };
        let held_bytes = (unit.end - unit.start) as u64 + cost.result_bytes;
        self.window_bytes += held_bytes;
        self.peak_bytes = self.peak_bytes.max(self.working_bytes + self.window_bytes);
        let (block, ordinal) = (block.clone(), first_record + unit.ordinal);
        let job = Job { sequence, block, unit, ordinal, cost, held_bytes };
        self.turns.insert(sequence, cost.working_bytes);
        self.waiting.insert((Reverse(cost.working_bytes), sequence), job);
    }

    /// Whether nothing of the region is at this place or after it.
    fn is_after_region(&self, place: u64) -> bool {
        self.filter.region.is_some_and(|region| {
            place >= place_of(region.reference_id, region.end.min(1 << 31).cast_signed())
        })
    }
}

#[cfg(test)]
#[path = "scheduler_tests.rs"]
mod tests;
