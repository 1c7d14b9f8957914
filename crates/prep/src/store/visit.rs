//! Looking at what a store holds without taking it out, and making room for another store.

use seqloom_io::spill::SpillError;
use seqloom_runtime::failure::lock;

use super::{Chunk, ChunkStore, StoreScratch};

impl ChunkStore<'_> {
    /// Size of its chunks, about.
    #[must_use]
    pub fn chunk_bytes(&self) -> usize {
        self.chunk_bytes
    }

    /// Sealed chunks of a partition.
    #[must_use]
    pub fn sealed_chunks(&self, partition: usize) -> usize {
        self.existing(partition).map_or(0, |slot| lock(&slot.contents).sealed.len())
    }

    /// Shows the bytes of one sealed chunk to `visit`: in place where it is in memory, so that
    /// what is changed there stays; read back to `buffer` where it is not, so that changes are
    /// lost. Nothing may be appended or taken meanwhile, and no chunk be visited twice at a time.
    ///
    /// # Errors
    /// When a spilled chunk cannot be read back; those of `visit`.
    pub fn visit_chunk<E: From<SpillError>>(
        &self,
        partition: usize,
        index: usize,
        scratch: &mut StoreScratch,
        buffer: &mut Vec<u8>,
        visit: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(slot) = self.existing(partition) else { return Ok(()) };
        let extent = match lock(&slot.contents).sealed.get_mut(index) {
            None => return Ok(()),
            // It is out of its place while it is visited, so that the lock is free for others.
            Some(Chunk::Memory { bytes, .. }) => {
                std::mem::swap(bytes, buffer);
                None
            }
            Some(Chunk::Spilled(extent)) => Some(*extent),
        };
        if let Some(extent) = extent {
            buffer.clear();
            scratch.read(self.backing, extent, buffer)?;
            return visit(buffer);
        }
        let outcome = visit(buffer);
        if let Some(Chunk::Memory { bytes, .. }) = lock(&slot.contents).sealed.get_mut(index) {
            std::mem::swap(bytes, buffer);
        }
        outcome
    }

    /// Spills chunks until `room_bytes` are free in the ledger, or nothing is left to spill: what
    /// is about to be charged for another store.
    ///
    /// # Errors
    /// When a chunk cannot be spilled.
    pub fn spill_for(&self, room_bytes: u64, scratch: &mut StoreScratch) -> Result<(), SpillError> {
        self.charge_first(room_bytes, scratch)?;
        self.backing.ledger.release(room_bytes);
        Ok(())
    }
}
