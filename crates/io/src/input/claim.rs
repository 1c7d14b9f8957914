//! Files that many workers read at once: a worker claims a chunk by one `fetch_add` and waits for
//! nobody.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Compressed bytes claimed at a time, as a part of the block size: FASTQ deflates to about a
/// quarter.
const BGZF_RATIO: usize = 4;
/// Most compressed bytes claimed at a time: deflate's ratio is at most about 1,032, and the text
/// must stay below 4 GiB.
const MAX_BGZF_CHUNK_BYTES: usize = 2 * 1024 * 1024;

/// Hands out equal chunks of a file.
#[derive(Debug)]
pub(crate) struct Chunks {
    /// Relaxed: every index is given once, whatever the order, and a chunk is known by its index.
    /// That all are taken says nothing about the data that was read.
    next: AtomicU64,
    count: u64,
    chunk_bytes: u64,
    start: u64,
    pub(crate) size: u64,
}

impl Chunks {
    pub(crate) fn new(size: u64, chunk_bytes: u64) -> Self {
        let chunk_bytes = chunk_bytes.max(1);
        let count = size.div_ceil(chunk_bytes).max(1);
        Self { next: AtomicU64::new(0), count, chunk_bytes, start: 0, size }
    }

    /// Of a file in BGZF, whose chunks give blocks of about `block_bytes` of text.
    pub(crate) fn of_bgzf(size: u64, block_bytes: usize) -> Self {
        let chunk_bytes = (block_bytes / BGZF_RATIO).clamp(1, MAX_BGZF_CHUNK_BYTES);
        Self::new(size, chunk_bytes as u64)
    }

    /// As these, but of the file from `start` on; none of them is taken.
    pub(crate) fn starting_at(&self, start: u64) -> Self {
        let start = start.min(self.size);
        let count = (self.size - start).div_ceil(self.chunk_bytes).max(1);
        Self { next: AtomicU64::new(0), count, start, ..*self }
    }

    /// The next index, `None` when all are taken.
    pub(crate) fn claim(&self) -> Option<u64> {
        // The load keeps the counter from running on while workers ask again and again.
        if self.next.load(Ordering::Relaxed) >= self.count {
            return None;
        }
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        (index < self.count).then_some(index)
    }

    pub(crate) fn is_exhausted(&self) -> bool {
        self.next.load(Ordering::Relaxed) >= self.count
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Takes all that are not taken yet, for nobody; the first index that nobody has claimed.
    pub(crate) fn close(&self) -> u64 {
        self.next.swap(self.count, Ordering::Relaxed).min(self.count)
    }

    pub(crate) fn is_last(&self, index: u64) -> bool {
        index + 1 == self.count
    }

    /// The bytes of a chunk.
    pub(crate) fn range(&self, index: u64) -> Range<u64> {
        let start = (self.start + index * self.chunk_bytes).min(self.size);
        start..start.saturating_add(self.chunk_bytes).min(self.size)
    }
}
