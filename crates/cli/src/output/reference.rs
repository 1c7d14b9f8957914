//! The bases of the reference that an output needs, and what they and its encoders take.

use std::num::NonZeroUsize;

use seqloom_format::bam::Reference;
use seqloom_prep::pipeline::ReferenceUse;

use super::arguments::OutputArguments;
use super::cram;
use crate::recalibration::RecalibrationArguments;

impl OutputArguments {
    /// Uses of the bases of the reference: by metrics where there is a FASTA.
    pub(crate) fn reference_use(
        &self,
        recalibration: &RecalibrationArguments,
        has_fasta: bool,
    ) -> ReferenceUse {
        ReferenceUse {
            metrics: has_fasta && self.metrics_request().wants_reference(),
            recalibration: recalibration.counts(),
            cram: self.is_cram(),
        }
    }

    /// Memory of the encoders of `threads` workers beyond that of BAM's.
    pub(crate) fn encoder_bytes(&self, threads: NonZeroUsize) -> u64 {
        if self.is_cram() { cram::ENCODER_BYTES * threads.get() as u64 } else { 0 }
    }

    /// Memory that the finish phase needs besides its workers': bases for `uses`, and encoders.
    pub(crate) fn finish_bytes(
        &self,
        uses: ReferenceUse,
        references: &[Reference],
        threads: NonZeroUsize,
    ) -> u64 {
        uses.bytes(references) + self.encoder_bytes(threads)
    }
}
