//! Bases of the reference in a run: what needs them, what they take, where they come from.

use std::path::Path;
use std::sync::Arc;

use seqloom_format::bam::Reference;
use seqloom_io::reference::{self, ReferenceError};
use seqloom_io::spill::SpillError;

use crate::finish::StoredRecords;
use crate::input::ReferenceSequences;
use crate::partition::StoreScratch;

/// Uses of the bases of the reference.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReferenceUse {
    /// Metrics, which compare records with them.
    pub metrics: bool,
    /// Recalibration, which counts mismatches.
    pub recalibration: bool,
    /// CRAM, which stores how records differ from them.
    pub cram: bool,
}

impl ReferenceUse {
    /// Whether anything needs them.
    #[must_use]
    pub fn is_any(self) -> bool {
        self.metrics || self.recalibration || self.cram
    }

    /// Memory of the bases; 0 where nothing needs them.
    #[must_use]
    pub fn bytes(self, references: &[Reference]) -> u64 {
        let lengths = references.iter().map(|reference| u64::from(reference.length));
        if self.is_any() { lengths.sum() } else { 0 }
    }

    /// Loads the bases of a header's sequences from a FASTA: in upper case for CRAM, which has
    /// their digests.
    ///
    /// # Errors
    /// The file does not hold what the header says.
    pub fn load(
        self,
        fasta: &Path,
        references: &[Reference],
    ) -> Result<ReferenceSequences, ReferenceError> {
        let mut sequences = reference::load(fasta, references)?;
        if self.cram {
            sequences.iter_mut().for_each(|bases| bases.make_ascii_uppercase());
        }
        Ok(ReferenceSequences::new(sequences))
    }
}

/// The bases of a run.
pub struct ReferenceRequest<'a> {
    /// Uses of the bases.
    pub uses: ReferenceUse,
    /// Their source.
    pub source: ReferenceSource<'a>,
}

/// Source of the bases.
pub enum ReferenceSource<'a> {
    /// In memory, which the ledger does not have.
    Loaded(Arc<ReferenceSequences>),
    /// In a FASTA that is loaded when duplicates are resolved and the engine's memory is free.
    Fasta {
        /// The file.
        path: &'a Path,
        /// What is charged to the ledger: the bases, and what encoders hold besides. Records are
        /// spilled for it.
        bytes: u64,
    },
}

impl ReferenceRequest<'_> {
    /// The bases; `None` where nothing needs them.
    pub(super) fn load<E: From<SpillError> + From<ReferenceError>>(
        &self,
        references: &[Reference],
        records: &StoredRecords<'_>,
    ) -> Result<Option<Arc<ReferenceSequences>>, E> {
        if !self.uses.is_any() {
            return Ok(None);
        }
        match &self.source {
            ReferenceSource::Loaded(bases) => Ok(Some(bases.clone())),
            &ReferenceSource::Fasta { path, bytes } => {
                if let Some(placed) = records.stores.first() {
                    placed.spill_for(bytes, &mut StoreScratch::new()?)?;
                }
                let charge = records.backing.ledger.charge(bytes);
                let bases = self.uses.load(path, references)?;
                Ok(Some(Arc::new(bases.charged(charge))))
            }
        }
    }
}
