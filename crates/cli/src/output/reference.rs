//! The bases of the reference that an output needs: which need them, what they take, how they are
//! loaded.

use std::num::NonZeroUsize;
use std::path::Path;

use seqloom_format::bam::Reference;
use seqloom_io::reference;
use seqloom_prep::input::ReferenceSequences;

use super::arguments::OutputArguments;
use super::cram;

impl OutputArguments {
    /// Whether records are compared with the reference, or refer to it.
    pub(crate) fn needs_reference(&self) -> bool {
        self.metrics_request().wants_reference() || self.is_cram()
    }

    /// Memory of the encoders of `threads` workers beyond that of BAM's.
    pub(crate) fn encoder_bytes(&self, threads: NonZeroUsize) -> u64 {
        if self.is_cram() { cram::ENCODER_BYTES * threads.get() as u64 } else { 0 }
    }

    /// The bases of the reference, in the order of the header; in upper case for CRAM, which has
    /// their digests.
    ///
    /// # Errors
    /// When the file does not hold what the header says.
    pub(crate) fn load_reference(
        &self,
        fasta: &Path,
        references: &[Reference],
    ) -> seqloom_terminal::Result<ReferenceSequences> {
        let mut sequences = reference::load(fasta, references)?;
        if self.is_cram() {
            sequences.iter_mut().for_each(|bases| bases.make_ascii_uppercase());
        }
        Ok(ReferenceSequences::new(sequences))
    }
}

/// Memory that the bases of a reference take.
pub(crate) fn reference_bytes(references: &[Reference]) -> u64 {
    references.iter().map(|reference| u64::from(reference.length)).sum()
}
