//! What an engine keeps of a batch that finds nothing before it emits.

use super::{EngineReads, Read};

/// Copies of the reads of one batch, pairs first, one behind the other.
#[derive(Debug)]
pub struct CopiedReads {
    /// Of each read its name, bases and qualities.
    text: Vec<u8>,
    reads: Vec<Lengths>,
    pairs: usize,
}

/// What a read takes of the text.
#[derive(Debug, Clone, Copy)]
struct Lengths {
    name: usize,
    bases: usize,
    has_qualities: bool,
}

impl CopiedReads {
    pub(super) fn of(reads: &EngineReads<'_>) -> Self {
        let all = || reads.pairs.iter().flatten().chain(&reads.singles);
        let bytes = all().map(|read| read.name.len() + 2 * read.bases.len()).sum();
        let mut text = Vec::with_capacity(bytes);
        let copy = |read: &Read<'_>| {
            text.extend_from_slice(read.name);
            text.extend_from_slice(read.bases);
            text.extend_from_slice(read.qualities.unwrap_or_default());
            let has_qualities = read.qualities.is_some();
            Lengths { name: read.name.len(), bases: read.bases.len(), has_qualities }
        };
        let lengths = all().map(copy).collect();
        Self { text, reads: lengths, pairs: reads.pairs.len() }
    }

    /// How many reads.
    #[cfg(feature = "fake-engine")]
    pub(super) fn len(&self) -> usize {
        self.reads.len()
    }

    /// How many pairs.
    pub(super) fn pairs(&self) -> usize {
        self.pairs
    }

    /// Bytes held.
    pub(super) fn held_bytes(&self) -> u64 {
        (self.text.capacity() + self.reads.capacity() * size_of::<Lengths>()) as u64
    }

    /// The reads, pairs first.
    pub(super) fn reads(&self) -> impl Iterator<Item = Read<'_>> {
        let mut rest = &self.text[..];
        let mut take = move |count: usize| {
            let (taken, behind) = rest.split_at(count);
            rest = behind;
            taken
        };
        self.reads.iter().map(move |read| Read {
            name: take(read.name),
            bases: take(read.bases),
            qualities: read.has_qualities.then(|| take(read.bases)),
        })
    }
}
