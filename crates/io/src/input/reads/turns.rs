//! Which of two lanes is taken next, how far one may lead the other, and how long a pipe that gives
//! nothing is waited for.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::lane::InputFile;
use super::{POLL_TIME, ReadSource, poll};
use crate::input::error::SourceError;

/// Blocks by which one lane may lead the other, pipes that wait for each other apart.
const MAX_LEAD_BLOCKS: u64 = 4;

impl ReadSource {
    /// Lanes, the one with the fewest reads first.
    pub(super) fn lanes_by_lag(&self) -> impl Iterator<Item = usize> + use<> {
        let swap = self.lanes.len() == 2
            && self.lanes[1].progress.expected_reads() < self.lanes[0].progress.expected_reads();
        let lanes = self.lanes.len();
        (0..lanes).map(move |index| if swap { lanes - 1 - index } else { index })
    }

    /// Reads by which `lane` leads the other, and that one, if it is not used up.
    fn lead(&self, lane: usize) -> Option<(u64, &InputFile)> {
        let other = self.lanes.get(1 - lane).filter(|other| !other.is_exhausted())?;
        let own = self.lanes[lane].progress.expected_reads();
        Some((own.saturating_sub(other.progress.expected_reads()), other))
    }

    /// Whether `lane` does not lead by too much. A pipe may lead further while the other one has
    /// had nothing for a while: its writer may be busy with this one.
    pub(super) fn may_take(&self, lane: usize) -> bool {
        let Some((lead, other)) = self.lead(lane) else { return true };
        let progress = &self.lanes[lane].progress;
        if lead <= MAX_LEAD_BLOCKS * progress.reads_per_block() {
            return true;
        }
        self.starved_for(other).is_some_and(|starved| starved >= POLL_TIME)
            && progress.bytes_of(lead) < self.options.max_skew_bytes
    }

    /// How long a pipe has had nothing.
    fn starved_for(&self, lane: &InputFile) -> Option<Duration> {
        // Relaxed: see `Progress`.
        let since = lane.progress.starved_since.load(Ordering::Relaxed).checked_sub(1)?;
        Some(self.started.elapsed().saturating_sub(Duration::from_millis(since)))
    }

    /// Waits for one of the pipes that have nothing; whether a further look is worth while.
    pub(super) fn wait_for_data(&self, waiting: [Option<usize>; 2]) -> Result<bool, SourceError> {
        let Ok(_poller) = self.poller.try_lock() else { return Ok(false) };
        let lanes = || waiting.iter().flatten().map(|&lane| &self.lanes[lane]);
        let Some(first) = lanes().next() else { return Ok(false) };
        self.check_skew(first)?;
        let mut files = [&*first.input.file; poll::MAX_FILES];
        let mut count = 0;
        for (slot, lane) in files.iter_mut().zip(lanes()) {
            *slot = &lane.input.file;
            count += 1;
        }
        poll::readable(&files[..count], POLL_TIME)
            .map_err(|error| first.input.read_error(0, error))?;
        // Even if nothing came: the other lane may lead further from now on.
        Ok(true)
    }

    /// Fails if `starved` has had nothing for too long while the other lane waits for it.
    fn check_skew(&self, starved: &InputFile) -> Result<(), SourceError> {
        let patience = self.options.skew_patience;
        if self.starved_for(starved).is_none_or(|time| time < patience) {
            return Ok(());
        }
        for (lane, ahead) in self.lanes.iter().enumerate().filter(|(_, lane)| lane.is_pipe()) {
            let Some((lead, other)) = self.lead(lane) else { continue };
            let ahead_bytes = ahead.progress.bytes_of(lead);
            if std::ptr::eq(other, starved) && ahead_bytes >= self.options.max_skew_bytes {
                return Err(SourceError::Skew {
                    path: starved.input.path.to_path_buf(),
                    ahead: ahead.input.path.to_path_buf(),
                    ahead_bytes,
                    seconds: patience.as_secs(),
                });
            }
        }
        Ok(())
    }
}
