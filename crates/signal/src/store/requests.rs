//! Reads requested one by one: windows of requests, each fetched and decoded by one worker.

use std::sync::Arc;

use super::{Frame, SignalStore, StoreError};
use crate::flow::pass::{BatchSource, Components, Work};

/// Most reads of a window: with the requests of a window sorted by place, more do not save much
/// seeking, and the results of a window are held until their turn.
const MAX_WINDOW_READS: usize = 1024;

/// Most stored bytes of a window (but one read always fits).
const MAX_WINDOW_BYTES: u64 = 8 << 20;

/// Windows that each worker should get at least, so that all have work till the end.
const WINDOWS_PER_WORKER: usize = 8;

/// Place of a requested read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Location {
    /// Start of its record; its index for formats without records.
    pub offset: u64,
    /// Bytes of its record.
    pub size_bytes: u64,
}

/// Reads of one file, in the order of the requests.
pub struct Requests {
    store: Arc<dyn SignalStore>,
    requested: Vec<Location>,
    window_reads: usize,
    at: usize,
}

impl Requests {
    /// The reads at `requested`, to be read by `threads` workers.
    #[must_use]
    pub fn new(store: Arc<dyn SignalStore>, requested: Vec<Location>, threads: usize) -> Self {
        let share = requested.len() / (threads.max(1) * WINDOWS_PER_WORKER);
        Self { store, requested, window_reads: share.clamp(1, MAX_WINDOW_READS), at: 0 }
    }
}

impl BatchSource for Requests {
    fn next(&mut self, work: &mut Work, _: &Components) -> Result<bool, StoreError> {
        let rest = &self.requested[self.at..];
        let mut bytes = 0_u64;
        let fits = |location: &&Location| {
            let is_first = bytes == 0;
            bytes = bytes.saturating_add(location.size_bytes);
            is_first || bytes <= MAX_WINDOW_BYTES
        };
        let frames = rest.iter().take(self.window_reads).take_while(fits).map(|location| Frame {
            offset: location.offset,
            size_bytes: location.size_bytes,
            ..Frame::default()
        });
        work.batch.clear();
        work.batch.frames.extend(frames);
        work.store = Some(self.store.clone());
        (work.input, work.first_ordinal, work.must_fetch) = (0, self.at as u64, true);
        self.at += work.batch.frames.len();
        Ok(!work.batch.frames.is_empty())
    }
}
