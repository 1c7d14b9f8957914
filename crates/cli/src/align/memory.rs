//! Who gets how much of `-m`.
//!
//! ```text
//! floor = program + index + threads * (engine scratch + buffers) + one cohort + open chunks
//! ```
//!
//! What is left above the floor goes to the next cohort, as far as that keeps workers busy, and to
//! records in memory; records that find no room are spilled.

use std::num::NonZeroUsize;

use seqloom_align::ingest::HeldLimits;
use seqloom_align::{BATCH_READS, Pairing};
use seqloom_io::reads::InputBlock;
use seqloom_prep::partition::{END_PARTITIONS, GenomeBins};
use seqloom_runtime::memory::ByteSize;
use seqloom_terminal::UsageError;

use super::arguments::DEFAULT_COHORT_BASES;
use crate::output::run::{MIN_CHUNK_BYTES, chunk_bytes};

/// Code, libraries, command line, header, allocator slack.
pub(crate) const PROGRAM_BYTES: u64 = 64 << 20;
/// Per worker: engine scratch, input blocks in flight, packed records, compressors.
pub(crate) const WORKER_BYTES: u64 = 24 << 20;
/// What a worker holds of a base of the batch in its hands: the input's block, the engine's copy,
/// the record as it is packed and as it is stored, each with its quality.
const IN_HAND_PER_BASE_BYTES: u64 = 8;
/// Part of [`WORKER_BYTES`] that a batch may take: enough for reads of 2,000 bases.
const BATCH_BYTES: u64 = 8 << 20;
/// What is held of one read between seeding and emission besides its bases and qualities: its name,
/// and seven regions of 44 bytes.
const HELD_PER_READ_BYTES: u64 = 400;
/// A base and its quality, in the block of the input.
const HELD_PER_BASE_BYTES: u64 = 2;
/// Tags that a read brings along, in the block and as they will be written.
const TAGS_PER_READ_BYTES: u64 = 512;
/// A lane other than the first: its first block, and what its inputs are inflated in.
const LANE_BYTES: u64 = 4 << 20;
/// Below this, too little is left to sort the largest partitions with.
pub(crate) const MIN_STORE_BYTES: u64 = 32 << 20;

/// How the memory of a run is shared between candidates, records and workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MemoryPlan {
    /// Bounds of the memory of candidates.
    pub(super) held: HeldLimits,
    /// Most memory of records and read ends while reads are aligned.
    pub(crate) store_bytes: u64,
    /// Size of one chunk of them.
    pub(super) chunk_bytes: u64,
    /// Memory that they get when the last read is aligned: index, candidates, scratch.
    pub(super) freed_bytes: u64,
}

/// Inputs of the plan.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Demand {
    pub(super) index_bytes: u64,
    /// Copies of the index.
    pub(super) replicas: usize,
    /// Sequences of the header, known sites, recalibration and what metrics may hold.
    pub(super) loaded_bytes: u64,
    pub(super) threads: NonZeroUsize,
    /// Cores that the process may use.
    pub(super) cores: NonZeroUsize,
    pub(super) pairing: Pairing,
    pub(super) cohort_bases: u64,
    /// Mean length of the first reads; 0 when there are none.
    pub(super) read_bases: u64,
    /// More reads than a lane can have, where its size or its end says so.
    pub(super) reads_at_most: Option<u64>,
    /// Whether reads bring tags along.
    pub(super) keeps_tags: bool,
    /// Genome bins, each with an open chunk; 0 when output streams.
    pub(super) bins: usize,
    pub(super) marks_duplicates: bool,
    pub(super) lanes: usize,
}

/// The least `-m` of `align` with `threads`, each on a core, for pairs of 2x150 and all other
/// options as they are by default.
pub(crate) fn least_memory_of_pairs(
    index_bytes: u64,
    lengths_bp: impl Iterator<Item = u64>,
    threads: NonZeroUsize,
) -> ByteSize {
    let demand = Demand {
        index_bytes,
        replicas: 1,
        loaded_bytes: 0,
        threads,
        cores: threads,
        pairing: Pairing::TwoFiles,
        cohort_bases: DEFAULT_COHORT_BASES,
        read_bases: 150,
        reads_at_most: None,
        keeps_tags: false,
        bins: GenomeBins::of_lengths(lengths_bp).count(),
        marks_duplicates: true,
        lanes: 1,
    };
    ByteSize(demand.floor_bytes())
}

/// Mean read length of the first blocks, at least 1; 0 when there is no read at all.
pub(super) fn mean_read_bases(first: &[InputBlock]) -> u64 {
    let reads: u64 = first.iter().map(|block| block.reads.reads.len() as u64).sum();
    let bases: u64 = first.iter().map(|block| block.bases).sum();
    if reads == 0 { 0 } else { bases.div_ceil(reads).max(1) }
}

impl Demand {
    /// Memory of one read between seeding and emission.
    fn held_per_read_bytes(&self) -> u64 {
        let tags = if self.keeps_tags { TAGS_PER_READ_BYTES } else { 0 };
        HELD_PER_READ_BYTES + HELD_PER_BASE_BYTES * self.read_bases + tags
    }

    /// Reads of one cohort: those that take it over its size belong to it.
    fn cohort_reads(&self) -> u64 {
        let of_bases = self.cohort_bases.div_ceil(self.read_bases.max(1));
        of_bases.min(self.reads_at_most.unwrap_or(u64::MAX)) + 2
    }

    /// Memory of one cohort.
    fn cohort_bytes(&self) -> u64 {
        if self.pairing == Pairing::Single || self.read_bases == 0 {
            return 0;
        }
        self.cohort_reads() * self.held_per_read_bytes()
    }

    /// What is seeded of the next cohort while the model of one is inferred. That takes one worker
    /// 80 ms, in which 128 others seed about half a cohort; more would only touch more memory.
    ///
    /// Threads beyond the cores seed nothing meanwhile, but each has a batch in hand, and takes
    /// another one before the slowest batch of the older cohort is back.
    fn ahead_bytes(&self) -> u64 {
        let running = self.threads.min(self.cores).get() as u64;
        let others = self.threads.get() as u64 - running;
        let in_hand_bytes = 2 * BATCH_READS as u64 * self.held_per_read_bytes();
        let cohort_bytes = self.cohort_bytes();
        if cohort_bytes == 0 {
            return 0;
        }
        cohort_bytes / 8 + cohort_bytes / 256 * running.min(224) + others * in_hand_bytes
    }

    fn open_chunks(&self) -> u64 {
        let ends = if self.marks_duplicates { 3 * END_PARTITIONS } else { 0 };
        let sorted = if self.bins == 0 { 0 } else { self.bins + ends };
        sorted as u64
    }

    fn all_replicas_bytes(&self) -> u64 {
        self.index_bytes.saturating_mul(self.replicas as u64)
    }

    /// Memory of lanes before anything of them is aligned.
    fn lanes_bytes(&self) -> u64 {
        LANE_BYTES * (self.lanes.max(1) - 1) as u64
    }

    /// Memory of one worker: more for reads of many bases, of which it has a batch in hand.
    fn worker_bytes(&self) -> u64 {
        let reads = (BATCH_READS as u64).min(self.cohort_reads());
        let batch_bases = reads.saturating_mul(self.read_bases);
        let batch_bytes = batch_bases.saturating_mul(IN_HAND_PER_BASE_BYTES);
        WORKER_BYTES + batch_bytes.saturating_sub(BATCH_BYTES)
    }

    fn fixed_bytes(&self) -> u64 {
        let program = PROGRAM_BYTES + self.loaded_bytes + self.lanes_bytes();
        program + self.all_replicas_bytes() + self.threads.get() as u64 * self.worker_bytes()
    }

    fn min_store_bytes(&self) -> u64 {
        if self.bins == 0 { 0 } else { self.open_chunks() * MIN_CHUNK_BYTES + MIN_STORE_BYTES }
    }

    /// The smallest memory that works.
    pub(crate) fn floor_bytes(&self) -> u64 {
        self.fixed_bytes() + self.cohort_bytes() + self.min_store_bytes()
    }

    /// Lanes other than the first that are ingested at the same time: one for each other thread, as
    /// far as half of what candidates may hold beyond a cohort has room for a cohort of each. A
    /// cohort can then hold twice what is expected, and more.
    fn other_lanes(&self, for_held_bytes: u64) -> u64 {
        let most = self.lanes.min(self.threads.get()).max(1) as u64 - 1;
        let room = (for_held_bytes / 2).checked_div(self.cohort_bytes());
        most.min(room.unwrap_or(most))
    }

    /// Shares out `memory`.
    ///
    /// # Errors
    /// When `memory` is below the floor.
    pub(super) fn plan(&self, memory: ByteSize) -> Result<MemoryPlan, UsageError> {
        let floor_bytes = self.floor_bytes();
        let Some(spare_bytes) = memory.0.checked_sub(floor_bytes) else {
            return Err(UsageError(self.too_small(memory)));
        };
        let cohort_bytes = self.cohort_bytes();
        // Reads of many repeats hold more than most: half of the rest is theirs if they need it.
        let for_held_bytes = spare_bytes / 2;
        let at_once = self.other_lanes(for_held_bytes);
        let other_lanes_bytes = at_once * cohort_bytes;
        let for_first_bytes = for_held_bytes - other_lanes_bytes;
        let held = HeldLimits {
            ahead_bytes: cohort_bytes + for_first_bytes.min(self.ahead_bytes()),
            cohort_bytes: cohort_bytes + for_first_bytes,
            lanes: NonZeroUsize::MIN.saturating_add(at_once as usize),
            other_lanes_bytes,
        };
        let store_bytes = self.min_store_bytes() + spare_bytes - for_held_bytes;
        let chunk_bytes = chunk_bytes(store_bytes / 4 / self.open_chunks().max(1));
        let freed_bytes = self.all_replicas_bytes() + held.cohort_bytes + held.other_lanes_bytes;
        Ok(MemoryPlan { held, store_bytes, chunk_bytes, freed_bytes })
    }

    fn index_words(&self) -> String {
        let one = ByteSize(self.index_bytes);
        if self.replicas == 1 {
            format!("index {one}")
        } else {
            format!("{} copies of the index, {one} each,", self.replicas)
        }
    }

    fn too_small(&self, memory: ByteSize) -> String {
        format!(
            "-m {memory} is too small: this run needs at least {} (program {} + {} \
             + {} threads x {} + one cohort of {} reads of {} bp {} + partitions {})",
            ByteSize(self.floor_bytes()),
            ByteSize(PROGRAM_BYTES + self.loaded_bytes + self.lanes_bytes()),
            self.index_words(),
            self.threads,
            ByteSize(self.worker_bytes()),
            self.cohort_reads(),
            self.read_bases,
            ByteSize(self.cohort_bytes()),
            ByteSize(self.min_store_bytes()),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEMAND: Demand = Demand {
        index_bytes: 221 << 20,
        replicas: 1,
        loaded_bytes: 5 << 20,
        threads: NonZeroUsize::new(2).unwrap(),
        cores: NonZeroUsize::new(2).unwrap(),
        pairing: Pairing::TwoFiles,
        cohort_bases: 100_000_000,
        read_bases: 150,
        reads_at_most: None,
        keeps_tags: false,
        bins: 2000,
        marks_duplicates: true,
        lanes: 1,
    };

    #[test]
    fn every_byte_is_given_once_and_the_floor_is_exact() {
        let floor = DEMAND.floor_bytes();
        assert!(DEMAND.plan(ByteSize(floor - 1)).is_err());
        for memory in [floor, 2 * floor, 64 << 30] {
            let plan = DEMAND.plan(ByteSize(memory)).unwrap();
            let given = DEMAND.fixed_bytes() + plan.held.cohort_bytes + plan.store_bytes;
            assert_eq!(given, memory);
            assert!(DEMAND.open_chunks() * plan.chunk_bytes <= plan.store_bytes);
        }
    }

    #[test]
    fn lanes_are_read_side_by_side_where_threads_and_memory_have_room() {
        let threads = NonZeroUsize::new(16).unwrap();
        let many = Demand { lanes: 40, threads, cores: threads, ..DEMAND };
        let floor_bytes = many.floor_bytes();
        let at_once = |demand: &Demand, cohorts: u64| {
            let memory = floor_bytes + cohorts * many.cohort_bytes();
            let plan = demand.plan(ByteSize(memory)).unwrap();
            let HeldLimits { lanes, other_lanes_bytes, cohort_bytes, .. } = plan.held;
            assert_eq!(other_lanes_bytes, (lanes.get() as u64 - 1) * demand.cohort_bytes());
            let given = demand.fixed_bytes() + cohort_bytes + other_lanes_bytes + plan.store_bytes;
            assert_eq!(given, memory, "every byte is given once");
            assert!(lanes.get() == 1 || cohort_bytes >= 2 * demand.cohort_bytes());
            let alone = Demand { lanes: 1, loaded_bytes: demand.loaded_bytes, ..*demand };
            let alone = alone.plan(ByteSize(memory - demand.lanes_bytes())).unwrap();
            assert_eq!(plan.store_bytes, alone.store_bytes, "partitions pay nothing");
            lanes.get()
        };
        assert_eq!(
            [0, 3, 4, 8, 63, 64, 999].map(|it| at_once(&many, it)),
            [1, 1, 2, 3, 16, 16, 16]
        );
        assert_eq!(at_once(&Demand { lanes: 3, ..many }, 999), 3);
        assert_eq!(at_once(&Demand { threads: NonZeroUsize::MIN, ..many }, 999), 1);
        // Reads without mates hold no cohort.
        assert_eq!(at_once(&Demand { pairing: Pairing::Single, ..many }, 0), 16);
        assert_eq!(floor_bytes - Demand { lanes: 1, ..many }.floor_bytes(), 39 * LANE_BYTES);
    }

    #[test]
    fn every_copy_of_the_index_is_counted() {
        let three = Demand { replicas: 3, ..DEMAND };
        assert_eq!(three.floor_bytes() - DEMAND.floor_bytes(), 2 * DEMAND.index_bytes);
        let refused = three.plan(ByteSize(DEMAND.floor_bytes())).unwrap_err().to_string();
        assert!(refused.contains("3 copies of the index, 221M each"), "{refused}");
        let memory = ByteSize(8 << 30);
        let freed = |demand: &Demand| demand.plan(memory).unwrap();
        let (one, three) = (freed(&DEMAND), freed(&three));
        let index = |plan: &MemoryPlan| plan.freed_bytes - plan.held.cohort_bytes;
        assert_eq!(index(&three), 3 * index(&one));
    }

    #[test]
    fn threads_without_a_core_seed_two_batches_ahead() {
        let ahead = |threads| {
            let threads = NonZeroUsize::new(threads).unwrap();
            Demand { threads, ..DEMAND }.ahead_bytes()
        };
        let batch_bytes = BATCH_READS as u64 * DEMAND.held_per_read_bytes();
        assert_eq!(ahead(512) - ahead(2), 510 * 2 * batch_bytes);
        assert!(ahead(512) < DEMAND.cohort_bytes());
        let single = Demand { pairing: Pairing::Single, ..DEMAND };
        assert_eq!(single.ahead_bytes(), 0);
    }

    #[test]
    fn a_small_input_needs_no_whole_cohort() {
        let small = Demand { reads_at_most: Some(6000), ..DEMAND };
        assert!(small.cohort_bytes() * 99 < DEMAND.cohort_bytes());
        let large = Demand { reads_at_most: Some(1 << 40), ..DEMAND };
        assert_eq!(large.cohort_bytes(), DEMAND.cohort_bytes());
    }

    #[test]
    fn workers_have_room_for_a_batch_of_long_reads() {
        let of = |read_bases| Demand { pairing: Pairing::Single, read_bases, ..DEMAND };
        let floor = |read_bases| of(read_bases).floor_bytes();
        // Reads of Illumina and merged ones are what workers have room for anyway.
        assert_eq!([150, 1024, 2048].map(floor), [floor(1); 3]);
        let batch_bytes = |read_bases: u64| 512 * read_bases * IN_HAND_PER_BASE_BYTES;
        assert_eq!(floor(20_000) - floor(1), 2 * (batch_bytes(20_000) - BATCH_BYTES));
        // No batch has more than a cohort, nor more than the input.
        let most = 102 * 1_000_000 * IN_HAND_PER_BASE_BYTES;
        assert_eq!(floor(1_000_000) - floor(1), 2 * (most - BATCH_BYTES));
        let small = Demand { reads_at_most: Some(3), ..of(100_000) };
        assert_eq!(small.floor_bytes(), floor(1));
    }

    #[test]
    fn single_reads_need_no_cohort() {
        let single = Demand { pairing: Pairing::Single, ..DEMAND };
        assert_eq!(single.cohort_bytes(), 0);
        assert!(single.floor_bytes() < DEMAND.floor_bytes());
    }
}
