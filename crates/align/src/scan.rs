//! A pass over the input that aligns nothing: where every cohort starts, so that several processes
//! can align a part each.
//!
//! The rule of cohorts is [`CohortCutter`]'s, which gets every block here as it does in ingest;
//! what it cuts is dropped. Malformed records and files of unequal length are found on the way.

use std::cell::Cell;
use std::num::NonZeroUsize;

use seqloom_io::source::{Fetch, FetchScratch, InputBlock, ReadSource, SourceError};
use seqloom_runtime::error::{Class, Place, RunError};
use seqloom_runtime::failure::Failure;
use seqloom_runtime::monitor::Monitor;
use seqloom_runtime::pool::{self, WorkerPanic};
use seqloom_runtime::schedule::{Fetches, Idle, next_task};

use crate::cohort::{CohortCutter, CohortStart, CutRules, CutTotals};
use crate::input_error::CohortError;

/// Blocks, per worker, that may wait for one in front of them that is still being fetched.
const EARLY_BLOCKS_PER_WORKER: usize = 4;

/// Why the input could not be scanned.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    /// Malformed input.
    #[error(transparent)]
    Input(#[from] CohortError),
    /// A bug.
    #[error(transparent)]
    Panic(#[from] WorkerPanic),
    /// The source ended although reads are missing.
    #[error("the input ended before its last block was delivered")]
    Incomplete,
    /// The run was stopped from outside.
    #[error("interrupted")]
    Interrupted,
}

impl RunError for ScanError {
    fn class(&self) -> Class {
        match self {
            Self::Input(input) => input.class(),
            Self::Panic(panic) => panic.class(),
            Self::Incomplete => Class::Bug,
            Self::Interrupted => Class::Interrupted,
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::Input(input) => input.place(),
            Self::Panic(_) | Self::Incomplete | Self::Interrupted => Place::default(),
        }
    }
}

impl From<SourceError> for ScanError {
    fn from(error: SourceError) -> Self {
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

/// What the workers share.
struct State<'a> {
    cutter: CohortCutter<'a>,
    fetches: Fetches,
    /// Blocks that may wait for one in front of them.
    early_at_most: usize,
}

impl State<'_> {
    /// Whether to fetch.
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

/// Reads all that `source` has, the blocks in `first` in front of it. `watch` is called at times,
/// by this thread, with the starts that were found since the last time; `false` ends the scan.
///
/// # Errors
/// The first failure of any worker: malformed input above all.
pub fn scan(
    source: &ReadSource,
    first: Vec<InputBlock>,
    rules: CutRules<'_>,
    threads: NonZeroUsize,
    watch: &dyn Fn(&[CohortStart]) -> bool,
) -> Result<Scanned, ScanError> {
    let CutRules { pairing, cohort_bases, umi } = rules;
    let cutter = CohortCutter::new(source, pairing, cohort_bases).without_umis(umi);
    let mut cutter = cutter.noting_starts();
    for block in first {
        cutter.push(block, drop)?;
    }
    let early_at_most = EARLY_BLOCKS_PER_WORKER * threads.get();
    let state = Monitor::new(State { cutter, fetches: Fetches::default(), early_at_most });
    let failure = Failure::default();
    let seen = Cell::new(0);
    let watch = || {
        // Cloned, for whoever watches may take its time.
        let new = state.lock().cutter.starts()[seen.get()..].to_vec();
        seen.set(seen.get() + new.len());
        if watch(&new) { Ok(()) } else { Err(ScanError::Interrupted) }
    };
    let work = |_| {
        let mut scratch = FetchScratch::default();
        while let Some(()) = next_task(&state, || failure.stopped(), State::next) {
            let fetched = source.fetch(&mut scratch)?;
            state.update(|state| state.fetched(fetched))?;
        }
        Ok::<_, ScanError>(())
    };
    pool::run(threads, &failure, || state.wake_all(), &watch, work)?;
    let State { cutter, .. } = state.into_inner();
    if !cutter.finished() {
        return Err(ScanError::Incomplete);
    }
    let CutTotals { reads, templates } = cutter.totals();
    Ok(Scanned { starts: cutter.into_starts(), reads, templates })
}

#[cfg(test)]
#[path = "scan_tests.rs"]
mod tests;
