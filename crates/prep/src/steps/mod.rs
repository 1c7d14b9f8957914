//! Record steps: what looks at or changes single records, or the records of a template, in one
//! pass.
//!
//! Steps are applied in the order of [`Stage`], whatever the order in which they were added. The
//! order is elPrep's, with what elPrep does not have put where it must stand: flags beside the
//! other filters, mates after all that may remove or move a record, NM, MD and UQ after the last
//! change of an alignment. Duplicates, sorting and recalibration come between the stages that
//! change records and the two that remove tags: [`Steps::split_late`].
//!
//! Whoever wants another step implements [`RecordStep`] or [`TemplateStep`];
//! `crates/prep/examples/trim_names.rs` is a whole example.

use seqloom_format::bam::edit::EditError;
use seqloom_format::bam::{Header, HeaderError, RecordError, RecordRef, framed_records};
use seqloom_io::reference::ReferenceError;

use crate::duplicates::strand::StrandError;

mod clean;
mod dictionary;
mod filters;
mod fix_mates;
mod mismatches;
mod molecule;
mod options;
mod read_group;
mod sequences;
mod tags;
mod template;
#[cfg(test)]
mod test_bodies;

pub(crate) use clean::CleanSam;
pub(crate) use dictionary::ReplaceDictionary;
pub use filters::Strictness;
pub(crate) use filters::{
    FilterExactMatch, FilterFlags, FilterMappingQuality, FilterRegions, FilterUnmapped,
};
pub(crate) use fix_mates::FixMates;
pub use fix_mates::FixMatesOptions;
pub use mismatches::{MismatchTags, SetMismatchTags};
pub use molecule::MoleculeOptions;
pub(crate) use molecule::SetMolecule;
pub use options::{ReadGroupOptions, StepOptions};
pub(crate) use read_group::SetReadGroup;
pub use read_group::{ReadGroupMode, read_group_line};
pub use sequences::{MissingSequences, NoteMissingSequences};
pub(crate) use tags::{KeepTags, RemoveTags};
pub(crate) use template::TemplateRecords;

/// What becomes of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on to the next step.
    Keep,
    /// It is removed; later steps do not see it.
    Drop,
}

/// Why a step failed.
#[derive(Debug, thiserror::Error)]
pub enum StepError {
    /// A record is malformed.
    #[error("{0}")]
    Record(#[from] RecordError),
    /// A record could not be changed.
    #[error("{0}")]
    Edit(#[from] EditError),
    /// The header cannot be changed so.
    #[error("{0}")]
    Header(#[from] HeaderError),
    /// A read group that the header does not have.
    #[error("read group {0:?} is not in the header")]
    UnknownReadGroup(String),
    /// A read group that the header has already.
    #[error("read group {0:?} is in the header already (replace all, or choose another ID)")]
    ReadGroupExists(String),
    /// Text that does not describe a read group.
    #[error("{0:?} is not a read group: fields like ID:x, separated by tabs or spaces")]
    BadReadGroup(String),
    /// A reference whose length is another one in the new dictionary.
    #[error("reference {name} has {old_bp} bp in the input and {new_bp} bp in the new dictionary")]
    LengthDiffers {
        /// Its name.
        name: String,
        /// Length in the input's header.
        old_bp: u32,
        /// Length in the new dictionary.
        new_bp: u32,
    },
    /// A BED file with a reference that the header does not have.
    #[error("regions name the reference {0:?}, which the header does not have")]
    UnknownReference(String),
    /// From which strand of its molecule a read is cannot be told.
    #[error("{0}")]
    Strand(#[from] StrandError),
    /// The reference lacks sequences that records lie on.
    #[error("{0}")]
    Reference(#[from] ReferenceError),
    /// What a step of one's own wants to say.
    #[error("{0}")]
    Custom(String),
    /// Where an error happened.
    #[error("read {read}: step {step}: {source}")]
    At {
        /// [`RecordStep::name`]
        step: &'static str,
        /// Name of the read.
        read: String,
        /// What is wrong.
        source: Box<StepError>,
    },
}

/// Places in the order of application, first to last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// What the headers of several inputs have different is made the same.
    Merge,
    /// Unmapped reads are removed.
    FilterUnmapped,
    /// Records are removed by FLAG.
    FilterFlags,
    /// Records of low MAPQ are removed.
    FilterMappingQuality,
    /// Records that do not match exactly are removed.
    FilterExactMatch,
    /// Records outside regions are removed.
    FilterRegions,
    /// Alignments past the reference's end are clipped.
    CleanSam,
    /// The reference dictionary is replaced.
    ReferenceDictionary,
    /// What mates say of each other is set right.
    FixMates,
    /// Read groups are replaced or added.
    ReadGroup,
    /// Steps that are not of this crate, in the order in which they were added.
    Custom,
    /// NM, MD and UQ are computed.
    Mismatches,
    /// What tells the molecule of a read is set. Late, as the two behind it: it takes the place of
    /// a tag of the input, which duplicates may look at.
    Molecule,
    /// Named tags are removed. Late: after duplicates, sorting and recalibration.
    RemoveTags,
    /// All but named tags are removed. Late, and last.
    KeepTags,
}

impl Stage {
    /// Whether the stage comes after duplicates, sorting and recalibration.
    #[must_use]
    pub(crate) fn is_late(self) -> bool {
        self >= Self::Molecule
    }
}

/// A step that looks at or changes one record.
///
/// One value serves all workers at once: what changes from call to call is in the scratch.
pub trait RecordStep: Send + Sync {
    /// Name in messages and counts.
    fn name(&self) -> &'static str;

    /// Where the step stands in the order.
    fn stage(&self) -> Stage {
        Stage::Custom
    }

    /// Changes the header; called once, in the order of the stages.
    ///
    /// # Errors
    /// The header cannot be changed so.
    fn prepare_header(&self, header: &mut Header) -> Result<(), StepError> {
        let _ = header;
        Ok(())
    }

    /// Looks at one record (a body without `block_size`) and may change it; see
    /// [`seqloom_format::bam::edit`].
    ///
    /// # Errors
    /// The record is malformed, or whatever the step refuses. The run ends.
    fn apply(&self, body: &mut Vec<u8>, scratch: &mut StepScratch) -> Result<Verdict, StepError>;
}

/// A step that needs all records of a template at once (input grouped by name).
pub(crate) trait TemplateStep: Send + Sync {
    /// Name in messages and counts.
    fn name(&self) -> &'static str;

    /// Where the step stands in the order.
    fn stage(&self) -> Stage {
        Stage::Custom
    }

    /// Changes the header; called once, in the order of the stages.
    ///
    /// # Errors
    /// The header cannot be changed so.
    fn prepare_header(&self, header: &mut Header) -> Result<(), StepError> {
        let _ = header;
        Ok(())
    }

    /// Looks at the records of one template, and may change or remove them.
    ///
    /// # Errors
    /// A record is malformed, or whatever the step refuses. The run ends.
    fn apply(
        &self,
        template: &mut TemplateRecords,
        scratch: &mut StepScratch,
    ) -> Result<(), StepError>;
}

/// Buffers of one worker that steps use and give back; recycled from record to record.
#[derive(Debug, Default)]
pub struct StepScratch {
    /// Bytes for whatever a step writes; to be cleared before use.
    pub(crate) text: Vec<u8>,
    /// CIGAR operations (`length << 4 | code`); to be cleared before use.
    pub(crate) cigar: Vec<u32>,
    body: Vec<u8>,
    template: TemplateRecords,
}

/// What steps did, as sums: merged over workers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StepCounts {
    /// Records that went in.
    pub examined: u64,
    /// Records that came out.
    pub kept: u64,
    /// Records that each step removed, by its place in [`Steps::names`].
    pub dropped: Vec<u64>,
}

seqloom_format::state_of_fields!(StepCounts { examined, kept, dropped });

impl StepCounts {
    /// Records that were removed.
    #[must_use]
    pub fn removed(&self) -> u64 {
        self.dropped.iter().sum()
    }

    /// Adds the counts of another worker that applied the same steps.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.examined += other.examined;
        self.kept += other.kept;
        self.dropped.resize(self.dropped.len().max(other.dropped.len()), 0);
        self.dropped.iter_mut().zip(&other.dropped).for_each(|(sum, it)| *sum += it);
    }
}

/// One step of either kind.
enum Step {
    Record(Box<dyn RecordStep>),
    Template(Box<dyn TemplateStep>),
}

impl Step {
    fn name(&self) -> &'static str {
        match self {
            Self::Record(step) => step.name(),
            Self::Template(step) => step.name(),
        }
    }

    fn stage(&self) -> Stage {
        match self {
            Self::Record(step) => step.stage(),
            Self::Template(step) => step.stage(),
        }
    }
}

/// A chain, cut in two.
#[derive(Debug)]
pub struct SplitSteps {
    /// For records as they arrive.
    pub early: Steps,
    /// For records as they are written ([`Stage::is_late`]).
    pub late: Steps,
}

/// A chain of steps in the order of their stages, whatever order they were added in.
#[derive(Default)]
pub struct Steps {
    steps: Vec<Step>,
}

impl std::fmt::Debug for Steps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

impl Steps {
    /// A chain without steps, which keeps every record as it is.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a step behind those of its stage.
    pub fn add_record_step(&mut self, step: impl RecordStep + 'static) {
        self.add(Step::Record(Box::new(step)));
    }

    /// Adds a step behind those of its stage.
    pub(crate) fn add_template_step(&mut self, step: impl TemplateStep + 'static) {
        self.add(Step::Template(Box::new(step)));
    }

    fn add(&mut self, step: Step) {
        let at = self.steps.partition_point(|it| it.stage() <= step.stage());
        self.steps.insert(at, step);
    }

    /// Whether there is no step.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Whether [`Steps::apply`] must be given whole templates.
    #[must_use]
    pub fn needs_templates(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Template(_)))
    }

    /// Names in the order of application.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.steps.iter().map(Step::name)
    }

    /// The early and the late steps.
    #[must_use]
    pub fn split_late(mut self) -> SplitSteps {
        let at = self.steps.partition_point(|step| !step.stage().is_late());
        let late = Self { steps: self.steps.split_off(at) };
        SplitSteps { early: self, late }
    }

    /// Changes the header as all steps need it; called once.
    ///
    /// # Errors
    /// A step cannot change the header so.
    pub fn prepare_header(&self, header: &mut Header) -> Result<(), StepError> {
        self.steps.iter().try_for_each(|step| match step {
            Step::Record(step) => step.prepare_header(header),
            Step::Template(step) => step.prepare_header(header),
        })
    }

    /// Applies the steps to the records in `framed` (bodies with their `block_size` in front) and
    /// appends those that are kept to `out` in the same order and form; returns their number.
    ///
    /// Where [`Steps::needs_templates`], `framed` are the records of one template; else any run
    /// of records. On an error `out` is as it was.
    ///
    /// # Errors
    /// The first error of a step, with the names of step and read.
    pub fn apply(
        &self,
        framed: &[u8],
        out: &mut Vec<u8>,
        scratch: &mut StepScratch,
        counts: &mut StepCounts,
    ) -> Result<u64, StepError> {
        counts.dropped.resize(self.steps.len(), 0);
        let before = out.len();
        let result = if self.needs_templates() {
            self.apply_to_template(framed, out, scratch, counts)
        } else {
            self.apply_to_records(framed, out, scratch, counts)
        };
        match &result {
            Ok(kept) => counts.kept += kept,
            Err(_) => out.truncate(before),
        }
        result
    }

    fn apply_to_records(
        &self,
        framed: &[u8],
        out: &mut Vec<u8>,
        scratch: &mut StepScratch,
        counts: &mut StepCounts,
    ) -> Result<u64, StepError> {
        let mut kept = 0;
        for source in framed_records(framed) {
            counts.examined += 1;
            let mut body = std::mem::take(&mut scratch.body);
            body.clear();
            body.extend_from_slice(source?);
            let result = self.apply_to_record(&mut body, scratch, counts);
            if matches!(result, Ok(Verdict::Keep)) {
                push_framed(&body, out);
                kept += 1;
            }
            scratch.body = body;
            result?;
        }
        Ok(kept)
    }

    /// All steps on one record; none of them needs the template.
    fn apply_to_record(
        &self,
        body: &mut Vec<u8>,
        scratch: &mut StepScratch,
        counts: &mut StepCounts,
    ) -> Result<Verdict, StepError> {
        for (step, dropped) in self.steps.iter().zip(&mut counts.dropped) {
            let Step::Record(step) = step else { continue };
            match step.apply(body, scratch) {
                Ok(Verdict::Keep) => {}
                Ok(Verdict::Drop) => {
                    *dropped += 1;
                    return Ok(Verdict::Drop);
                }
                Err(error) => return Err(at(step.name(), body, error)),
            }
        }
        Ok(Verdict::Keep)
    }

    fn apply_to_template(
        &self,
        framed: &[u8],
        out: &mut Vec<u8>,
        scratch: &mut StepScratch,
        counts: &mut StepCounts,
    ) -> Result<u64, StepError> {
        let mut template = std::mem::take(&mut scratch.template);
        let result = self.fill_and_apply(framed, &mut template, scratch, counts);
        let mut kept = 0;
        if result.is_ok() {
            for body in template.kept() {
                push_framed(body, out);
                kept += 1;
            }
        }
        scratch.template = template;
        result.map(|()| kept)
    }

    /// All steps on all records of a template.
    fn fill_and_apply(
        &self,
        framed: &[u8],
        template: &mut TemplateRecords,
        scratch: &mut StepScratch,
        counts: &mut StepCounts,
    ) -> Result<(), StepError> {
        template.clear();
        for body in framed_records(framed) {
            template.push(body?);
            counts.examined += 1;
        }
        for (step, dropped) in self.steps.iter().zip(&mut counts.dropped) {
            let before = template.kept().count();
            match step {
                Step::Record(step) => apply_to_each(step.as_ref(), template, scratch)?,
                Step::Template(step) => step.apply(template, scratch).map_err(|error| {
                    at(step.name(), template.kept().next().unwrap_or_default(), error)
                })?,
            }
            *dropped += before.saturating_sub(template.kept().count()) as u64;
        }
        Ok(())
    }
}

fn apply_to_each(
    step: &dyn RecordStep,
    template: &mut TemplateRecords,
    scratch: &mut StepScratch,
) -> Result<(), StepError> {
    for index in 0..template.len() {
        let Some(body) = template.body_mut(index) else { continue };
        match step.apply(body, scratch) {
            Ok(Verdict::Keep) => {}
            Ok(Verdict::Drop) => template.remove(index),
            Err(error) => return Err(at(step.name(), body, error)),
        }
    }
    Ok(())
}

/// The error with the names of step and read.
fn at(step: &'static str, body: &[u8], error: StepError) -> StepError {
    if matches!(error, StepError::At { .. }) {
        return error;
    }
    let name = RecordRef::new(body).map_or(&b"?"[..], |record| record.name());
    let read = String::from_utf8_lossy(name).into_owned();
    StepError::At { step, read, source: Box::new(error) }
}

/// Appends a body with its length in front. A body is at most 2^31 - 1 bytes: `edit` holds it.
fn push_framed(body: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(body.len() as u32).to_le_bytes());
    out.extend_from_slice(body);
}

#[cfg(test)]
mod tests;
