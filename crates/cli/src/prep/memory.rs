//! Who gets how much of `-m`.
//!
//! ```text
//! floor = program, header + reference, known sites, recalibration, metrics
//!       + threads * (blocks, compressors)
//!       + open chunks + room to sort
//! ```
//!
//! What is left is for records and read ends; those that find no room are spilled. Of input in SAM
//! text one line may be long: room for it is kept above the floor.

use std::num::NonZeroUsize;

use seqloom_io::reads::MAX_RECORD_BYTES;
use seqloom_prep::input::TemplateNames;
use seqloom_prep::partition::{END_PARTITIONS, Grouping};
use seqloom_runtime::memory::ByteSize;
use seqloom_terminal::UsageError;

use crate::output::run::{MIN_CHUNK_BYTES, chunk_bytes};

/// Code, libraries, header, allocator slack.
const PROGRAM_BYTES: u64 = 48 << 20;
/// Per worker: blocks being fetched and processed, compressors, the unit being encoded.
const WORKER_BYTES: u64 = 24 << 20;
/// Below this, too little is left to sort the largest partitions with.
const MIN_STORE_BYTES: u64 = 32 << 20;
/// Of what is above the floor this part is left to the allocator, which holds more than is
/// charged. Measured with 2 million records and 512 MiB: without it, 32 KiB over the limit on one
/// machine and 31 MiB below it on another; with it, 14 to 20 MiB below it on the former.
const SLACK_SHARE: u64 = 24;
/// Kinds of read ends: pairs, fragments, markers.
const KINDS_OF_ENDS: usize = 3;

/// How the memory of a run is shared between records and workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MemoryPlan {
    /// Most memory of records and read ends.
    pub(super) store_bytes: u64,
    /// Size of one chunk of them.
    pub(super) chunk_bytes: u64,
}

/// Inputs of the plan.
#[derive(Debug, Clone, Copy)]
pub(super) struct Demand {
    pub(super) threads: NonZeroUsize,
    /// Partitions of records that have an open chunk.
    pub(super) bins: usize,
    pub(super) marks_duplicates: bool,
    /// Whether families of UMIs are marked.
    pub(super) writes_families: bool,
    pub(super) grouping: Grouping,
    /// Reference, known sites, recalibration and what metrics may hold.
    pub(super) loaded_bytes: u64,
    /// Sequences of the header, beyond what is usual.
    pub(super) header_bytes: u64,
    /// Whether an input is SAM text.
    pub(super) has_text: bool,
}

/// Longest line of SAM text: a sixteenth of the memory, and no more than BAM records may have.
pub(super) fn max_line_bytes(memory: ByteSize) -> usize {
    let share = usize::try_from(memory.0 / 16).unwrap_or(usize::MAX);
    share.min(MAX_RECORD_BYTES)
}

impl Demand {
    fn open_chunks(&self) -> u64 {
        let ends = if self.marks_duplicates { KINDS_OF_ENDS * END_PARTITIONS } else { 0 };
        let by_name = match self.grouping {
            Grouping::Templates => TemplateNames::PARTITIONS,
            // Reads that wait for their mates, and all records of families.
            Grouping::Records => {
                let kinds = [self.marks_duplicates, self.writes_families];
                kinds.into_iter().filter(|is_there| *is_there).count() * END_PARTITIONS
            }
        };
        (self.bins + ends + by_name) as u64
    }

    fn fixed_bytes(&self) -> u64 {
        let workers_bytes = self.threads.get() as u64 * WORKER_BYTES;
        PROGRAM_BYTES + self.header_bytes + self.loaded_bytes + workers_bytes
    }

    fn min_store_bytes(&self) -> u64 {
        self.open_chunks() * MIN_CHUNK_BYTES + MIN_STORE_BYTES
    }

    /// The smallest memory that works.
    pub(super) fn floor_bytes(&self) -> u64 {
        self.fixed_bytes() + self.min_store_bytes()
    }

    /// Shares out `memory`.
    ///
    /// # Errors
    /// When `memory` is below the floor.
    pub(super) fn plan(&self, memory: ByteSize) -> Result<MemoryPlan, UsageError> {
        if memory.0 < self.floor_bytes() {
            return Err(UsageError(format!(
                "-m {memory} is too small: this run needs at least {} (program and header {} + {} \
                 threads x {} + reference, known sites, recalibration and metrics {} + partitions \
                 {})",
                ByteSize(self.floor_bytes()),
                ByteSize(PROGRAM_BYTES + self.header_bytes),
                self.threads,
                ByteSize(WORKER_BYTES),
                ByteSize(self.loaded_bytes),
                ByteSize(self.min_store_bytes()),
            )));
        }
        let above_floor_bytes = memory.0 - self.floor_bytes();
        // The floor has room for the short lines that so little memory allows.
        let line_bytes = if self.has_text { max_line_bytes(memory) as u64 } else { 0 };
        let spare_bytes = above_floor_bytes - line_bytes.min(above_floor_bytes / 2);
        let store_bytes = self.min_store_bytes() + spare_bytes - spare_bytes / SLACK_SHARE;
        let chunk_bytes = chunk_bytes(store_bytes / 4 / self.open_chunks().max(1));
        Ok(MemoryPlan { store_bytes, chunk_bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_floor_is_exact_and_open_chunks_fit() {
        let threads = NonZeroUsize::new(2).unwrap();
        let demand = Demand {
            threads,
            bins: 2000,
            marks_duplicates: true,
            writes_families: true,
            grouping: Grouping::Templates,
            loaded_bytes: 7,
            header_bytes: 5,
            has_text: false,
        };
        let floor = demand.floor_bytes();
        assert!(demand.plan(ByteSize(floor - 1)).is_err());
        for memory in [floor, 2 * floor, 64 << 30] {
            let plan = demand.plan(ByteSize(memory)).unwrap();
            let slack_bytes = (memory - floor) / SLACK_SHARE;
            assert_eq!(demand.fixed_bytes() + plan.store_bytes + slack_bytes, memory);
            assert!(demand.open_chunks() * plan.chunk_bytes <= plan.store_bytes);
            let text = Demand { has_text: true, ..demand }.plan(ByteSize(memory)).unwrap();
            let kept_bytes = plan.store_bytes - text.store_bytes;
            let most_bytes = (memory / 16).min(256 << 20);
            assert!(kept_bytes >= most_bytes.min((memory - floor) / 2) * 9 / 10);
            assert!(text.store_bytes >= demand.min_store_bytes());
        }
        let apart = Demand { grouping: Grouping::Records, ..demand };
        let without = Demand { writes_families: false, ..apart };
        assert_eq!(apart.open_chunks(), without.open_chunks() + END_PARTITIONS as u64);
    }
}
