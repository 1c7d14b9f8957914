//! How much is worked on at a time.

use std::num::NonZeroUsize;

/// Rows of a batch hold no more of the input than this, but for one row that has more.
pub(super) const BATCH_BYTES: u64 = 8 << 20;
/// What columns and message of a batch may hold, per byte of its rows: letters are half a byte in
/// BAM and one in a column, buffers that grow may be twice as large, and what is built is copied
/// once into the message; and the allocator keeps for a while what was freed, most of it where a
/// worker is not given its turn. Measured with -m 300M, two workers whose priorities changed all
/// the time, next to four busy loops: with 6 at most 330 MiB, with 9 223 MiB.
const GROWTH: u64 = 9;
/// More than this per worker is of no use to blocks and rows.
const MOST_PER_WORKER_BYTES: u64 = 4 * BATCH_BYTES;

/// Workers, rows of a batch, and memory.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Workers that fetch, build and write.
    pub threads: NonZeroUsize,
    /// Most rows of a batch.
    pub batch_rows: NonZeroUsize,
    /// Most memory of blocks, rows and batches, [`Limits::least_bytes`] or more.
    pub memory_bytes: u64,
}

impl Limits {
    /// The least that `memory_bytes` may be: what batches become, and two batches' rows.
    #[must_use]
    pub fn least_bytes(threads: NonZeroUsize) -> u64 {
        built_bytes(threads) + 2 * BATCH_BYTES
    }

    /// Most memory of rows and the blocks that they are in.
    pub(super) fn blocks_bytes(&self) -> u64 {
        let rest = self.memory_bytes.saturating_sub(built_bytes(self.threads));
        rest.min(self.threads.get() as u64 * MOST_PER_WORKER_BYTES)
    }
}

/// Batches that may be built or wait for their turn: one more than there are workers, so that none
/// waits for another's.
pub(super) fn most_in_flight(threads: NonZeroUsize) -> usize {
    threads.get() + 1
}

/// Memory of the batches that are built.
fn built_bytes(threads: NonZeroUsize) -> u64 {
    most_in_flight(threads) as u64 * BATCH_BYTES * GROWTH
}
