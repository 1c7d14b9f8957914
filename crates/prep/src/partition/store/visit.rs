//! Looking at what a store holds without taking it out, and making room for another store.

use seqloom_io::spill::SpillError;
use seqloom_runtime::failure::lock;

use super::{Chunk, ChunkStore, StoreScratch};

impl ChunkStore<'_> {
    /// Size of its chunks, about.
    #[must_use]
    pub(crate) fn chunk_bytes(&self) -> usize {
        self.chunk_bytes
    }

    /// Sealed chunks of a partition.
    #[must_use]
    pub(crate) fn sealed_chunks(&self, partition: usize) -> usize {
        self.existing(partition).map_or(0, |slot| lock(&slot.contents).sealed.len())
    }

    /// Shows the bytes of one sealed chunk to `visit`: in place where it is in memory, so that
    /// what is changed there stays; read back to the scratch where it is not, so that changes are
    /// lost. Nothing may be appended or taken meanwhile, and no chunk be visited twice at a time.
    ///
    /// # Errors
    /// When a spilled chunk cannot be read back; those of `visit`.
    pub(crate) fn visit_chunk<E: From<SpillError>>(
        &self,
        partition: usize,
        index: usize,
        scratch: &mut StoreScratch,
        visit: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(slot) = self.existing(partition) else { return Ok(()) };
        let StoreScratch { spill, visited, .. } = scratch;
        let extent = match lock(&slot.contents).sealed.get_mut(index) {
            None => return Ok(()),
            // It is out of its place while it is visited, so that the lock is free for others.
            Some(Chunk::Memory(held)) => {
                std::mem::swap(&mut held.bytes, visited);
                None
            }
            Some(Chunk::Spilled(extent)) => Some(*extent),
        };
        if let Some(extent) = extent {
            visited.clear();
            self.backing.spill.read(extent, visited, spill)?;
            return visit(visited);
        }
        let outcome = visit(visited);
        if let Some(Chunk::Memory(held)) = lock(&slot.contents).sealed.get_mut(index) {
            std::mem::swap(&mut held.bytes, visited);
        }
        outcome
    }

    /// Spills chunks until `room_bytes` are free in the ledger, or nothing is left to spill: what
    /// is about to be charged for another store.
    ///
    /// # Errors
    /// When a chunk cannot be spilled.
    pub fn spill_for(&self, room_bytes: u64, scratch: &mut StoreScratch) -> Result<(), SpillError> {
        self.charge_first(room_bytes, scratch).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_records::backing;

    /// What a visit finds, after which every byte is 7.
    fn visit(store: &ChunkStore<'_>, index: usize) -> Vec<u8> {
        let mut scratch = StoreScratch::new().unwrap();
        scratch.visited.extend_from_slice(b"left over");
        let mut seen = Vec::new();
        let look = |bytes: &mut [u8]| {
            seen = bytes.to_vec();
            bytes.fill(7);
            Ok::<_, SpillError>(())
        };
        store.visit_chunk(3, index, &mut scratch, look).unwrap();
        seen
    }

    fn filled<'a>(backing: &'a crate::partition::store::Backing) -> ChunkStore<'a> {
        let store = ChunkStore::new(backing, 4);
        let mut scratch = StoreScratch::new().unwrap();
        for part in [b"one", b"two"] {
            store.append(3, &[part], &mut scratch).unwrap();
        }
        store.close(3);
        store
    }

    #[test]
    fn what_is_changed_in_memory_stays_and_nothing_is_taken() {
        let backing = backing(1 << 20);
        let store = filled(&backing);
        assert_eq!((store.sealed_chunks(3), store.sealed_chunks(2)), (2, 0));
        assert_eq!((visit(&store, 0), visit(&store, 1), visit(&store, 2)), {
            (b"one".to_vec(), b"two".to_vec(), Vec::new())
        });
        assert_eq!(visit(&store, 0), [7; 3]);
        let charged_bytes = backing.ledger.charged_bytes();
        let mut scratch = StoreScratch::new().unwrap();
        let fail = |_: &mut [u8]| Err(SpillError::NoFolder);
        assert!(store.visit_chunk(3, 0, &mut scratch, fail).is_err());
        assert_eq!(visit(&store, 0), [7; 3], "it is in its place after an error too");
        assert_eq!(backing.ledger.charged_bytes(), charged_bytes);
    }

    #[test]
    fn spilled_chunks_are_read_back_each_time() {
        let backing = backing(1 << 20);
        let store = filled(&backing);
        store.spill_for(1 << 20, &mut StoreScratch::new().unwrap()).unwrap();
        assert_eq!(backing.ledger.charged_bytes(), 0);
        for _ in 0..2 {
            let mut seen = [visit(&store, 0), visit(&store, 1)];
            seen.sort_unstable();
            assert_eq!(seen, [b"one", b"two"]);
        }
        // There is nothing more to spill, which is no reason to wait.
        store.spill_for(1 << 30, &mut StoreScratch::new().unwrap()).unwrap();
        assert_eq!(backing.ledger.charged_bytes(), 0);
    }
}
