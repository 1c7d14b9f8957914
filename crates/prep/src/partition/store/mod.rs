//! Partitioned bytes under a memory cap: what is appended by all workers and read back partition by
//! partition.
//!
//! Every partition has one open chunk, charged to the ledger in full. When it is full and the
//! ledger has room for another, it is kept as it is; else the worker that filled it compresses it
//! into the spill file and its memory is used again. A partition that is appended to for the first
//! time when the ledger is full gets the memory of a full chunk of another one, which is spilled.
//! There is no merge: a partition is simply its chunks, in no particular order.
//!
//! The ledger's total is exceeded only where all of it is open chunks: who makes a store chooses
//! partitions and chunk size such that these are a fraction of it.

mod saved;
mod visit;

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

use seqloom_io::spill::{Content, SpillError, SpillExtent, SpillFile, SpillScratch};
use seqloom_runtime::failure::lock;
use seqloom_runtime::memory::{Charge, Ledger};
use seqloom_runtime::pool::Watch;

pub(crate) use saved::SavedPartition;
pub use saved::{SavedStore, SavedValue, WriteOutError, write_out};

/// Partitions are made as they are first used, this many at a time.
const SEGMENT_PARTITIONS: usize = 1024;
/// Upper bound of segments: 4 million partitions.
const MAX_SEGMENTS: usize = 4096;
/// Most partitions that are distinguished.
pub(crate) const MAX_PARTITIONS: usize = MAX_SEGMENTS * SEGMENT_PARTITIONS;

/// A chunk in memory.
#[derive(Debug)]
pub(crate) struct HeldChunk {
    pub(crate) bytes: Vec<u8>,
    charge: Charge,
}

/// A sealed chunk.
#[derive(Debug)]
pub(crate) enum Chunk {
    /// In memory.
    Memory(HeldChunk),
    /// In the spill file.
    Spilled(SpillExtent),
}

#[derive(Debug, Default)]
struct Contents {
    open: Option<HeldChunk>,
    sealed: Vec<Chunk>,
    /// Of all that was appended, wherever it is by now.
    bytes: u64,
}

#[derive(Debug, Default)]
struct Partition {
    contents: Mutex<Contents>,
}

/// Memory and spill file of the stores.
#[derive(Debug)]
pub struct Backing {
    /// Memory for stored records and what works on them.
    pub ledger: Ledger,
    /// File for chunks when the ledger is full.
    pub spill: SpillFile,
}

/// Resources of a phase over stored data.
#[derive(Clone, Copy)]
pub struct PhaseResources<'a, 'w> {
    /// Memory and spilled data.
    pub backing: &'a Backing,
    /// How many workers.
    pub threads: NonZeroUsize,
    /// Progress and interrupts.
    pub watch: Watch<'w>,
}

/// One worker's memory for appending and loading.
#[derive(Debug)]
pub struct StoreScratch {
    spill: SpillScratch,
    /// Memory of the last chunk that was spilled, to open the next one in.
    spare: Vec<u8>,
    /// A spilled chunk that is visited.
    visited: Vec<u8>,
}

impl StoreScratch {
    /// Empty scratch.
    ///
    /// # Errors
    /// When the compressor cannot be made.
    pub fn new() -> Result<Self, SpillError> {
        Ok(Self { spill: SpillScratch::new()?, spare: Vec::new(), visited: Vec::new() })
    }

    /// Spills a piece, whatever the ledger says.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn write(
        &mut self,
        backing: &Backing,
        piece: (&[u8], Content),
    ) -> Result<SpillExtent, SpillError> {
        backing.spill.append(piece, &mut self.spill)
    }

    /// Appends spilled bytes to `out`.
    ///
    /// # Errors
    /// When they cannot be read back.
    pub(crate) fn read(
        &mut self,
        backing: &Backing,
        extent: SpillExtent,
        out: &mut Vec<u8>,
    ) -> Result<(), SpillError> {
        backing.spill.read(extent, out, &mut self.spill)
    }
}

/// Chunks of all partitions, in memory or in the spill file.
#[derive(Debug)]
pub struct ChunkStore<'a> {
    backing: &'a Backing,
    chunk_bytes: usize,
    content: Content,
    segments: Vec<OnceLock<Box<[Partition]>>>,
    used: AtomicUsize,
    /// Partitions with a sealed chunk in memory, once for each, oldest first.
    kept: Mutex<VecDeque<usize>>,
}

impl<'a> ChunkStore<'a> {
    /// An empty store with chunks of about `chunk_bytes`.
    #[must_use]
    pub fn new(backing: &'a Backing, chunk_bytes: usize) -> Self {
        Self::of(Content::Bytes, backing, chunk_bytes)
    }

    /// As [`ChunkStore::new`], for framed records, which take less room when they are spilled.
    #[must_use]
    pub fn of_records(backing: &'a Backing, chunk_bytes: usize) -> Self {
        Self::of(Content::Records, backing, chunk_bytes)
    }

    fn of(content: Content, backing: &'a Backing, chunk_bytes: usize) -> Self {
        Self {
            backing,
            chunk_bytes,
            content,
            segments: (0..MAX_SEGMENTS).map(|_| OnceLock::new()).collect(),
            used: AtomicUsize::new(0),
            kept: Mutex::default(),
        }
    }

    /// Partitions in use: one more than the highest that was appended to.
    #[must_use]
    pub(crate) fn partitions(&self) -> usize {
        self.used.load(Ordering::Acquire)
    }

    /// Bytes appended to a partition so far.
    #[must_use]
    pub(crate) fn bytes(&self, partition: usize) -> u64 {
        self.existing(partition).map_or(0, |slot| lock(&slot.contents).bytes)
    }

    fn existing(&self, partition: usize) -> Option<&Partition> {
        let SegmentIndex { segment, index } = place(partition);
        self.segments[segment].get().map(|partitions| &partitions[index])
    }

    fn partition(&self, partition: usize) -> &Partition {
        let SegmentIndex { segment, index } = place(partition);
        let make = || (0..SEGMENT_PARTITIONS).map(|_| Partition::default()).collect();
        &self.segments[segment].get_or_init(make)[index]
    }

    /// Appends `parts`, one after the other, to `partition`.
    ///
    /// # Errors
    /// When a full chunk cannot be spilled.
    pub fn append(
        &self,
        partition: usize,
        parts: &[&[u8]],
        scratch: &mut StoreScratch,
    ) -> Result<(), SpillError> {
        let added: usize = parts.iter().map(|part| part.len()).sum();
        let slot = self.partition(partition);
        // Looked at first: every worker would write to this line for every record.
        if self.partitions() <= partition {
            self.used.fetch_max(partition + 1, Ordering::AcqRel);
        }
        let mut contents = lock(&slot.contents);
        if contents.open.is_none() {
            drop(contents);
            let capacity = self.chunk_bytes.max(added);
            let charge = self.charge_first(capacity as u64, scratch)?;
            contents = lock(&slot.contents);
            // Unless another worker has opened it.
            let open = || HeldChunk { bytes: Vec::with_capacity(capacity), charge };
            contents.open.get_or_insert_with(open);
        }
        let full = self.make_room(&mut contents, partition, added, &mut scratch.spare);
        if let Some(open) = &mut contents.open {
            parts.iter().for_each(|part| open.bytes.extend_from_slice(part));
        }
        contents.bytes += added as u64;
        drop(contents);
        let Some(full) = full else { return Ok(()) };
        scratch.spare = self.spill(partition, full, scratch)?;
        Ok(())
    }

    /// Spills a chunk of a partition; gives its memory back, empty.
    fn spill(
        &self,
        partition: usize,
        mut full: Vec<u8>,
        scratch: &mut StoreScratch,
    ) -> Result<Vec<u8>, SpillError> {
        let extent = scratch.write(self.backing, (&full, self.content))?;
        lock(&self.partition(partition).contents).sealed.push(Chunk::Spilled(extent));
        full.clear();
        Ok(full)
    }

    /// Charges the first chunk of a partition, for which full chunks are spilled if need be. Called
    /// without any partition's lock, since those of others are taken.
    fn charge_first(&self, bytes: u64, scratch: &mut StoreScratch) -> Result<Charge, SpillError> {
        let ledger = &self.backing.ledger;
        loop {
            if let Some(charge) = ledger.try_charge(bytes) {
                return Ok(charge);
            }
            let Some(partition) = lock(&self.kept).pop_front() else {
                return Ok(ledger.charge(bytes));
            };
            let mut contents = lock(&self.partition(partition).contents);
            let is_kept = |chunk: &Chunk| matches!(chunk, Chunk::Memory(_));
            let Some(at) = contents.sealed.iter().position(is_kept) else { continue };
            let chunk = contents.sealed.swap_remove(at);
            drop(contents);
            if let Chunk::Memory(held) = chunk {
                self.spill_held(partition, held, scratch)?;
            }
        }
    }

    /// Spills a chunk, of which no memory is left.
    fn spill_held(
        &self,
        partition: usize,
        HeldChunk { bytes, charge }: HeldChunk,
        scratch: &mut StoreScratch,
    ) -> Result<(), SpillError> {
        self.spill(partition, bytes, scratch)?;
        drop(charge);
        Ok(())
    }

    /// Makes the open chunk fit `added` more bytes; returns a full chunk that must be spilled.
    fn make_room(
        &self,
        contents: &mut Contents,
        partition: usize,
        added: usize,
        spare: &mut Vec<u8>,
    ) -> Option<Vec<u8>> {
        let open = contents.open.as_mut()?;
        if open.bytes.len() + added <= open.bytes.capacity() {
            return None;
        }
        let capacity = self.chunk_bytes.max(added);
        if let Some(charge) = self.backing.ledger.try_charge(capacity as u64) {
            let next = HeldChunk { bytes: Vec::with_capacity(capacity), charge };
            contents.sealed.push(Chunk::Memory(std::mem::replace(open, next)));
            lock(&self.kept).push_back(partition);
            return None;
        }
        // The charge of the chunk to be spilled now stands for the spare that replaces it; they
        // differ in size only where a record is larger than a chunk.
        spare.reserve_exact(capacity);
        open.charge.resize(spare.capacity() as u64);
        Some(std::mem::replace(&mut open.bytes, std::mem::take(spare)))
    }

    /// Ends the open chunk of a partition to which nothing more will come soon: the memory that it
    /// does not need is given back, and the rest can be spilled for others.
    pub(crate) fn close(&self, partition: usize) {
        let Some(slot) = self.existing(partition) else { return };
        let mut contents = lock(&slot.contents);
        let Some(mut ended) = contents.open.take() else { return };
        ended.bytes.shrink_to_fit();
        ended.charge.shrink_to(ended.bytes.capacity() as u64);
        contents.sealed.push(Chunk::Memory(ended));
        lock(&self.kept).push_back(partition);
    }

    /// Takes all chunks of a partition, which is empty afterwards.
    pub(crate) fn take(&self, partition: usize) -> Vec<Chunk> {
        self.close(partition);
        let Some(slot) = self.existing(partition) else { return Vec::new() };
        std::mem::take(&mut lock(&slot.contents).sealed)
    }
}

/// Index of a partition in the table.
#[derive(Debug, Clone, Copy)]
struct SegmentIndex {
    segment: usize,
    /// In the segment.
    index: usize,
}

/// Numbers beyond the table share the last partition, which keeps their order.
fn place(partition: usize) -> SegmentIndex {
    let partition = partition.min(MAX_PARTITIONS - 1);
    SegmentIndex { segment: partition / SEGMENT_PARTITIONS, index: partition % SEGMENT_PARTITIONS }
}

impl Chunk {
    /// The chunk in memory, read back if it was spilled: that is charged by whoever works on it.
    ///
    /// # Errors
    /// When the spill file cannot be read or a checksum differs.
    pub(crate) fn load(
        self,
        backing: &Backing,
        scratch: &mut StoreScratch,
    ) -> Result<HeldChunk, SpillError> {
        match self {
            Self::Memory(held) => Ok(held),
            Self::Spilled(extent) => {
                let (mut bytes, charge) = (Vec::new(), backing.ledger.charge(0));
                backing.spill.read(extent, &mut bytes, &mut scratch.spill)?;
                Ok(HeldChunk { bytes, charge })
            }
        }
    }
}

#[cfg(test)]
mod tests;
