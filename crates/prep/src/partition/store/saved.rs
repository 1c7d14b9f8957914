//! Stores that outlive the process: all chunks in the spill file, and where they are there.

use std::num::NonZeroUsize;
use std::sync::atomic::Ordering;

use seqloom_format::{MalformedState, Persist, persist_fields};
use seqloom_io::spill::{Content, SpillError, SpillExtent};
use seqloom_runtime::error::{Class, Place, RunError};
use seqloom_runtime::failure::lock;
use seqloom_runtime::pool::{self, Stopped, Watch};

use super::{Backing, Chunk, ChunkStore, MAX_PARTITIONS, StoreScratch};

/// Bytes of one piece of a value in the spill file.
const PIECE_BYTES: usize = 16 << 20;

/// Why stores could not be written out.
#[derive(Debug, thiserror::Error)]
pub enum WriteOutError {
    /// A chunk could not be spilled.
    #[error(transparent)]
    Spill(#[from] SpillError),
    /// The workers were stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

impl RunError for WriteOutError {
    fn class(&self) -> Class {
        match self {
            Self::Spill(spill) => spill.class(),
            Self::Stopped(stop) => stop.class(),
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::Spill(spill) => spill.place(),
            Self::Stopped(_) => Place::default(),
        }
    }
}

/// A partition of which all chunks are spilled.
pub(crate) struct SavedPartition {
    pub(crate) partition: usize,
    pub(crate) bytes: u64,
    pub(crate) chunks: Vec<SpillExtent>,
}

/// Places of the chunks of a store.
pub struct SavedStore(pub(crate) Vec<SavedPartition>);

persist_fields!(SavedPartition { partition, bytes, chunks });

impl Persist for SavedStore {
    fn save(&self, out: &mut Vec<u8>) {
        self.0.save(out);
    }

    fn load(bytes: &mut &[u8]) -> Result<Self, MalformedState> {
        Persist::load(bytes).map(Self)
    }
}

/// A value in the spill file, in pieces.
pub struct SavedValue(Vec<SpillExtent>);

impl Persist for SavedValue {
    fn save(&self, out: &mut Vec<u8>) {
        self.0.save(out);
    }

    fn load(bytes: &mut &[u8]) -> Result<Self, MalformedState> {
        Persist::load(bytes).map(Self)
    }
}

impl SavedValue {
    /// Spills the bytes of a value.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn write(bytes: &[u8], backing: &Backing) -> Result<Self, SpillError> {
        let mut scratch = StoreScratch::new()?;
        let pieces = bytes.chunks(PIECE_BYTES);
        let pieces = pieces.map(|piece| scratch.write(backing, (piece, Content::Bytes)));
        pieces.collect::<Result<_, _>>().map(Self)
    }

    /// Reads the bytes back.
    ///
    /// # Errors
    /// When the spill file cannot be read or a checksum differs.
    pub fn read(&self, backing: &Backing) -> Result<Vec<u8>, SpillError> {
        let mut scratch = StoreScratch::new()?;
        let mut bytes = Vec::new();
        for &piece in &self.0 {
            scratch.read(backing, piece, &mut bytes)?;
        }
        Ok(bytes)
    }
}

/// Spills everything that `stores` have in memory. Nothing may be appended meanwhile.
///
/// # Errors
/// The first failure of any worker.
pub fn write_out(
    stores: &[&ChunkStore<'_>],
    threads: NonZeroUsize,
    watch: Watch<'_>,
) -> Result<(), WriteOutError> {
    let all = stores.iter().flat_map(|&it| (0..it.partitions()).map(move |number| (it, number)));
    let worker = |_| Ok(StoreScratch::new()?);
    pool::for_each(threads, all, watch, worker, |scratch, (store, partition)| {
        Ok(store.write_out_partition(partition, scratch)?)
    })
    .map(drop)
}

impl<'a> ChunkStore<'a> {
    fn write_out_partition(
        &self,
        partition: usize,
        scratch: &mut StoreScratch,
    ) -> Result<(), SpillError> {
        for chunk in self.take(partition) {
            match chunk {
                Chunk::Memory(held) => self.spill_held(partition, held, scratch)?,
                spilled @ Chunk::Spilled(_) => {
                    lock(&self.partition(partition).contents).sealed.push(spilled);
                }
            }
        }
        Ok(())
    }

    /// Places of all chunks, once [`write_out`] is through.
    #[must_use]
    pub fn saved(&self) -> SavedStore {
        let saved = |partition| {
            let bytes = self.bytes(partition);
            let extent = |chunk: &Chunk| match chunk {
                Chunk::Spilled(extent) => Some(*extent),
                Chunk::Memory(_) => None,
            };
            let slot = self.existing(partition).filter(|_| bytes > 0)?;
            let chunks = lock(&slot.contents).sealed.iter().filter_map(extent).collect();
            Some(SavedPartition { partition, bytes, chunks })
        };
        SavedStore((0..self.partitions()).filter_map(saved).collect())
    }

    /// Adds what was saved to this store.
    ///
    /// # Errors
    /// A partition that no store has.
    pub fn restore(&self, saved: SavedStore) -> Result<(), MalformedState> {
        for SavedPartition { partition, bytes, chunks } in saved.0 {
            if partition >= MAX_PARTITIONS {
                return Err(MalformedState);
            }
            self.used.fetch_max(partition + 1, Ordering::AcqRel);
            let slot = self.partition(partition);
            let mut contents = lock(&slot.contents);
            contents.bytes += bytes;
            contents.sealed.extend(chunks.into_iter().map(Chunk::Spilled));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_records::backing;

    #[test]
    fn a_store_is_restored_from_where_its_chunks_are() {
        let backing = backing(1 << 20);
        let store = ChunkStore::new(&backing, 64);
        let mut scratch = StoreScratch::new().unwrap();
        let part = |partition: usize, i: usize| vec![(partition + i) as u8; 50];
        let partitions = [0, 3, 2000];
        for (partition, i) in partitions.iter().flat_map(|&p| (0..5).map(move |i| (p, i))) {
            store.append(partition, &[&part(partition, i)], &mut scratch).unwrap();
        }
        write_out(&[&store], NonZeroUsize::new(3).unwrap(), &|| Ok(())).unwrap();
        assert_eq!(backing.ledger.charged_bytes(), 0);
        let saved = SavedValue::write(&store.saved().to_state(), &backing).unwrap().to_state();
        drop(store);

        let saved = SavedValue::from_state(&saved).unwrap().read(&backing).unwrap();
        let restored = ChunkStore::new(&backing, 16);
        restored.restore(SavedStore::from_state(&saved).unwrap()).unwrap();
        assert_eq!(restored.partitions(), 2001);
        for partition in partitions {
            assert_eq!(restored.bytes(partition), 250);
            let chunks = restored.take(partition).into_iter();
            let mut chunks: Vec<_> =
                chunks.map(|it| it.load(&backing, &mut scratch).unwrap().bytes.clone()).collect();
            chunks.sort();
            let expected: Vec<u8> = (0..5).flat_map(|i| part(partition, i)).collect();
            assert_eq!(chunks.concat(), expected);
        }
    }
}
