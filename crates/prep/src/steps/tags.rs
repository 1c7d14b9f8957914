//! Steps that remove tags.

use seqloom_format::bam::edit::retain_tags;
use seqloom_format::bam::{RecordError, RecordRef};

use super::{RecordStep, StepError, StepScratch, StepStage, Verdict};

/// Keeps the tags that `keep` names; a `CG` that holds the record's CIGAR is always kept.
fn filter_tags(body: &mut Vec<u8>, keep: impl Fn([u8; 2]) -> bool) -> Result<(), RecordError> {
    let holds_cigar = RecordRef::new(body)?.long_cigar().is_some();
    retain_tags(body, |tag, _| keep(tag) || (holds_cigar && tag == *b"CG"))
}

/// Removes the named tags (elPrep's remove-optional-fields, `samtools view -x`).
#[derive(Debug, Clone, Default)]
pub(crate) struct RemoveTags(pub(crate) Vec<[u8; 2]>);

impl RecordStep for RemoveTags {
    fn name(&self) -> &'static str {
        "remove-tags"
    }

    fn stage(&self) -> StepStage {
        StepStage::RemoveTags
    }

    fn apply(&self, body: &mut Vec<u8>, _: &mut StepScratch) -> Result<Verdict, StepError> {
        filter_tags(body, |tag| !self.0.contains(&tag))?;
        Ok(Verdict::Keep)
    }
}

/// Removes all tags but the named ones; with no name, all of them (elPrep's keep-optional-fields,
/// `samtools view --keep-tag`).
#[derive(Debug, Clone, Default)]
pub(crate) struct KeepTags(pub(crate) Vec<[u8; 2]>);

impl RecordStep for KeepTags {
    fn name(&self) -> &'static str {
        "keep-tags"
    }

    fn stage(&self) -> StepStage {
        StepStage::KeepTags
    }

    fn apply(&self, body: &mut Vec<u8>, _: &mut StepScratch) -> Result<Verdict, StepError> {
        filter_tags(body, |tag| self.0.contains(&tag))?;
        Ok(Verdict::Keep)
    }
}

#[cfg(test)]
#[path = "tags_tests.rs"]
mod tests;
