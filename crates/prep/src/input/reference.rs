//! Bases of the reference, for what compares reads with it: NM, MD, UQ, recalibration.

use seqloom_runtime::memory::Charge;

/// All sequences of a reference in memory, by the index they have in the header.
#[derive(Debug, Default)]
pub struct ReferenceSequences {
    sequences: Vec<Vec<u8>>,
    /// Given back with them.
    _charge: Option<Charge>,
}

impl ReferenceSequences {
    /// `sequences[i]` are the bases (ASCII, as in the FASTA) of the header's sequence `i`.
    #[must_use]
    pub fn new(sequences: Vec<Vec<u8>>) -> Self {
        Self { sequences, _charge: None }
    }

    /// These bases with what is charged for them.
    #[must_use]
    pub fn charged(self, charge: Charge) -> Self {
        Self { _charge: Some(charge), ..self }
    }

    /// Bases of a sequence; empty when there is no such sequence.
    #[must_use]
    pub(crate) fn bases(&self, reference_id: i32) -> &[u8] {
        let index = usize::try_from(reference_id).ok();
        index.and_then(|index| self.sequences.get(index)).map_or(&[], Vec::as_slice)
    }

    /// Bases of all sequences, in the order of the header.
    #[must_use]
    pub fn sequences(&self) -> &[Vec<u8>] {
        &self.sequences
    }

    /// Bases of all sequences, one after the other.
    pub(crate) fn all(&self) -> impl Iterator<Item = &[u8]> {
        self.sequences.iter().map(Vec::as_slice)
    }

    /// Memory that the bases take.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.sequences.iter().map(|sequence| sequence.capacity() as u64).sum()
    }
}
