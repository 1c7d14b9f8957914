//! A pass over the input that aligns nothing: where every cohort starts, so that several processes
//! can align a part each.
//!
//! The rule of cohorts is [`CohortCutter`]'s, which gets every block here as it does in ingest;
//! what it cuts is dropped. Malformed records and files of unequal length are found on the way.

use std::cell::Cell;
use std::num::NonZeroUsize;

use seqloom_io::reads::{Fetch, FetchScratch, InputBlock, ReadSource, ReadsError};
use seqloom_runtime::error::{Class, Place, RunError};
use seqloom_runtime::flow::{self, Flow, Shared};
use seqloom_runtime::pool::{Interrupted, Stopped};
use seqloom_runtime::schedule::{Fetches, Idle};

use crate::cohort::{CohortCutter, CohortStart, CutRules, CutTotals};
use crate::input::error::CohortError;

/// Blocks, per worker, that may wait for one before them that is still being fetched.
const EARLY_BLOCKS_PER_WORKER: usize = 4;

/// Why the input could not be scanned.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    /// Malformed input.
    #[error(transparent)]
    Input(#[from] CohortError),
    /// The workers were stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

impl RunError for ScanError {
    fn class(&self) -> Class {
        match self {
            Self::Input(input) => input.class(),
            Self::Stopped(stop) => stop.class(),
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::Input(input) => input.place(),
            Self::Stopped(_) => Place::default(),
        }
    }
}

impl From<ReadsError> for ScanError {
    fn from(error: ReadsError) -> Self {
        Self::Input(error.into())
    }
}

/// What an input holds.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Scanned {
    /// Where each of its cohorts starts.
    pub starts: Vec<CohortStart>,
    /// Its reads.
    pub reads: u64,
    /// Its templates.
    pub templates: u64,
}

/// Whether another block is to be fetched.
struct Scheduler<'a> {
    cutter: CohortCutter<'a>,
    fetches: Fetches,
    /// Blocks that may wait for one before them.
    early_at_most: usize,
}

impl Scheduler<'_> {
    fn next(&mut self) -> Result<(), Idle> {
        if self.fetches.have_ended() || self.cutter.finished() {
            return Err(Idle::Finished);
        }
        // Whatever an early block waits for is being fetched, so that a fetch is sure to end.
        let may_fetch = self.fetches.may_start() && self.cutter.early_blocks() < self.early_at_most;
        if !may_fetch && self.fetches.in_work() > 0 {
            return Err(Idle::Wait);
        }
        self.fetches.start();
        Ok(())
    }

    fn fetched(&mut self, fetched: Fetch) -> Result<(), CohortError> {
        let block = self.fetches.finish(fetched);
        block.map_or(Ok(()), |block| self.cutter.push(*block, drop))
    }
}

/// Workers that fetch and cut.
struct Scan<'a> {
    source: &'a ReadSource,
    shared: Shared<Scheduler<'a>, ScanError>,
}

impl<'a> Flow for Scan<'a> {
    type Scheduler = Scheduler<'a>;
    type Task = ();
    type Worker = FetchScratch;
    type Error = ScanError;

    fn shared(&self) -> &Shared<Scheduler<'a>, ScanError> {
        &self.shared
    }

    fn worker(&self, _: usize) -> Result<FetchScratch, ScanError> {
        Ok(FetchScratch::default())
    }

    fn next(scheduler: &mut Scheduler<'a>) -> Result<(), Idle> {
        scheduler.next()
    }

    fn perform(&self, scratch: &mut FetchScratch, (): ()) -> Result<(), ScanError> {
        let fetched = self.source.fetch(scratch)?;
        Ok(self.shared.scheduler().update(|scheduler| scheduler.fetched(fetched))?)
    }
}

/// Reads all that `source` has, the blocks in `first` before it. `watch` is called at times,
/// by this thread, with the starts that were found since the last time; it may end the scan.
///
/// # Errors
/// The first failure of any worker: malformed input above all.
pub fn scan(
    source: &ReadSource,
    first: Vec<InputBlock>,
    rules: CutRules<'_>,
    threads: NonZeroUsize,
    watch: &dyn Fn(&[CohortStart]) -> Result<(), Interrupted>,
) -> Result<Scanned, ScanError> {
    let CutRules { pairing, cohort_bases, umi } = rules;
    let cutter = CohortCutter::new(source, pairing, cohort_bases).without_umis(umi);
    let mut cutter = cutter.noting_starts();
    for block in first {
        cutter.push(block, drop)?;
    }
    let early_at_most = EARLY_BLOCKS_PER_WORKER * threads.get();
    let shared = Shared::new(Scheduler { cutter, fetches: Fetches::default(), early_at_most });
    let scan = Scan { source, shared };
    let seen = Cell::new(0);
    let watch = || {
        // Cloned, for whoever watches may take its time.
        let new = scan.shared.scheduler().lock().cutter.starts()[seen.get()..].to_vec();
        seen.set(seen.get() + new.len());
        watch(&new)
    };
    flow::run(&scan, threads, &watch)?;
    let Scheduler { cutter, .. } = scan.shared.into_scheduler();
    if !cutter.finished() {
        return Err(Stopped::Incomplete.into());
    }
    let CutTotals { reads, templates } = cutter.totals();
    Ok(Scanned { starts: cutter.into_starts(), reads, templates })
}

#[cfg(test)]
#[path = "scan_tests.rs"]
mod tests;
