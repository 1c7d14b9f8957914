//! Which of two files is taken next, how far one may lead the other, and how long a pipe that gives
//! nothing is waited for.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::ReadSource;
use super::error::ReadsError;
use super::file::InputFile;
use crate::input::poll;
use crate::input::waiting::POLL_TIME;

/// Blocks by which one file may lead the other, pipes that wait for each other apart.
const MAX_LEAD_BLOCKS: u64 = 4;

impl ReadSource {
    /// Files, the one with the fewest reads first.
    pub(super) fn files_by_lag(&self) -> impl Iterator<Item = usize> + use<> {
        let swap = self.files.len() == 2
            && self.files[1].progress.expected_reads() < self.files[0].progress.expected_reads();
        let files = self.files.len();
        (0..files).map(move |index| if swap { files - 1 - index } else { index })
    }

    /// Reads by which `file` leads the other, and that one, if it is not used up.
    fn lead(&self, file: usize) -> Option<(u64, &InputFile)> {
        let other = self.files.get(1 - file).filter(|other| !other.is_exhausted())?;
        let own = self.files[file].progress.expected_reads();
        Some((own.saturating_sub(other.progress.expected_reads()), other))
    }

    /// Whether `file` does not lead by too much. A pipe may lead further while the other one has
    /// had nothing for a while: its writer may be busy with this one.
    pub(super) fn may_take(&self, file: usize) -> bool {
        let Some((lead, other)) = self.lead(file) else { return true };
        let progress = &self.files[file].progress;
        if lead <= MAX_LEAD_BLOCKS * progress.reads_per_block() {
            return true;
        }
        self.starved_for(other).is_some_and(|starved| starved >= POLL_TIME)
            && progress.bytes_of(lead) < self.options.max_skew_bytes
    }

    /// How long a pipe has had nothing.
    fn starved_for(&self, file: &InputFile) -> Option<Duration> {
        // Relaxed: see `Progress`.
        let since = file.progress.starved_since.load(Ordering::Relaxed).checked_sub(1)?;
        Some(self.started.elapsed().saturating_sub(Duration::from_millis(since)))
    }

    /// Waits for one of the pipes that have nothing; whether a further look is worth while: the
    /// other file may lead further then.
    pub(super) fn wait_for_data(
        &self,
        waiting: [Option<usize>; poll::MAX_FILES],
    ) -> Result<bool, ReadsError> {
        let pipes: Vec<_> = waiting.iter().flatten().map(|&file| &self.files[file]).collect();
        if let Some(first) = pipes.first() {
            self.check_skew(first)?;
        }
        let inputs: Vec<_> = pipes.iter().map(|pipe| &pipe.input).collect();
        Ok(self.waiting.wait(&inputs)?)
    }

    /// Fails if `starved` has had nothing for too long while the other file waits for it.
    fn check_skew(&self, starved: &InputFile) -> Result<(), ReadsError> {
        let patience = self.options.skew_patience;
        if self.starved_for(starved).is_none_or(|time| time < patience) {
            return Ok(());
        }
        for (file, ahead) in self.files.iter().enumerate().filter(|(_, file)| file.is_pipe()) {
            let Some((lead, other)) = self.lead(file) else { continue };
            let ahead_bytes = ahead.progress.bytes_of(lead);
            if std::ptr::eq(other, starved) && ahead_bytes >= self.options.max_skew_bytes {
                return Err(ReadsError::Skew {
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
