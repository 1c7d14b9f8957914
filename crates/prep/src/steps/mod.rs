//! Record steps: what looks at or changes single records, or the records of a template, in one
//! pass.
//!
//! Steps are applied in the order of [`StepStage`], whatever the order in which they were added.
//! The order is elPrep's, with what elPrep does not have put where it must be: flags next to the
//! other filters, mates after all that may remove or move a record, NM, MD and UQ after the last
//! change of an alignment. Duplicates, sorting and recalibration come between the early stages and
//! the late ones, which set the molecule's tag and remove tags: [`Steps::split_late`].
//!
//! Another step implements [`RecordStep`]; `crates/prep/examples/trim_names.rs` is a whole example.
//! One that needs all records of a template implements `TemplateStep`, in this crate, and input
//! has to be grouped by name for it.

use seqloom_format::bam::edit::EditError;
use seqloom_format::bam::{Header, HeaderError, RecordError};
use seqloom_io::reference::ReferenceError;
use seqloom_runtime::error::{Class, Place, RunError};

use crate::duplicates::strand::StrandError;

mod chain;
mod clean;
mod dictionary;
mod filters;
mod fix_mates;
mod mismatches;
mod molecule;
mod options;
mod read_group;
mod sanitize;
mod sequences;
mod tags;
mod template;
#[cfg(test)]
mod test_bodies;

pub use chain::{SplitSteps, Steps};
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

/// Outcome of a step for a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on to the next step.
    Keep,
    /// It is removed; later steps do not see it.
    Drop,
}

/// Names that are shown of many.
const SHOWN_NAMES: usize = 5;

/// The first of some names, for a message.
fn first_of<'n>(names: impl Iterator<Item = &'n str> + Clone) -> String {
    let shown: Vec<String> =
        names.clone().take(SHOWN_NAMES).map(|name| format!("{name:?}")).collect();
    match names.count() - shown.len() {
        _ if shown.is_empty() => "none".to_owned(),
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Why a step failed.
#[derive(Debug, thiserror::Error)]
pub enum StepError {
    /// A record is malformed.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A record could not be changed.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// The header cannot be changed so.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// A read group that the header does not have.
    #[error(
        "read group {id:?} is not in the header, which has {groups}; fields after the ID add it \
         (ID:{id} SM:NAME)"
    )]
    UnknownReadGroup {
        /// Its ID.
        id: String,
        /// Read groups of the header.
        groups: String,
    },
    /// A read group that the header has already.
    #[error("read group {0:?} is in the header already (replace all, or choose another ID)")]
    ReadGroupExists(String),
    /// Text that does not describe a read group.
    #[error(
        "{0:?} is not a read group: fields like ID:x, each tag once, separated by tabs or spaces"
    )]
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
    /// Regions of which none is on a reference that the header has.
    #[error(
        "no region is on a sequence of the header: the first is on {name:?}, and the header has \
         {sequences}; are they of another reference?"
    )]
    UnknownReference {
        /// The first of the regions.
        name: String,
        /// Sequences of the header.
        sequences: String,
    },
    /// From which strand of its molecule a read is cannot be determined.
    #[error(transparent)]
    Strand(#[from] StrandError),
    /// The reference lacks sequences that records are on.
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    /// A step that is not of this crate fails, by its input or by a fault of its own.
    #[error("{problem}")]
    Custom {
        /// What the exit code of the run says.
        class: Class,
        /// What is wrong.
        problem: String,
    },
    /// An error, with its read and step.
    #[error("read {read}: step {step}: {source}")]
    At {
        /// [`RecordStep::name`]
        step: &'static str,
        /// Name of the read.
        read: String,
        /// The problem.
        source: Box<StepError>,
    },
}

impl RunError for StepError {
    fn class(&self) -> Class {
        match self {
            Self::Record(_) | Self::Edit(_) | Self::Header(_) | Self::Strand(_) => Class::Input,
            Self::UnknownReadGroup { .. } | Self::ReadGroupExists(_) | Self::BadReadGroup(_) => {
                Class::Usage
            }
            Self::LengthDiffers { .. } | Self::UnknownReference { .. } => Class::Input,
            Self::Custom { class, .. } => *class,
            Self::Reference(reference) => reference.class(),
            Self::At { source, .. } => source.class(),
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::LengthDiffers { name, .. } | Self::UnknownReference { name, .. } => {
                Place::default().at_name(name)
            }
            Self::Reference(reference) => reference.place(),
            Self::At { read, source, .. } => source.place().at_name(read),
            Self::Record(_)
            | Self::Edit(_)
            | Self::Header(_)
            | Self::Strand(_)
            | Self::UnknownReadGroup { .. }
            | Self::ReadGroupExists(_)
            | Self::BadReadGroup(_)
            | Self::Custom { .. } => Place::default(),
        }
    }
}

/// Places in the order of application, first to last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StepStage {
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
    /// Fields about mates are set.
    FixMates,
    /// Read groups are replaced or added.
    ReadGroup,
    /// Steps that are not of this crate, in the order in which they were added.
    Custom,
    /// NM, MD and UQ are computed.
    Mismatches,
    /// What names the molecule of a read is set. Late, as the two after it: it takes the place of
    /// a tag of the input, which duplicates may look at.
    Molecule,
    /// Named tags are removed. Late: after duplicates, sorting and recalibration.
    RemoveTags,
    /// All but named tags are removed. Late, and last.
    KeepTags,
}

impl StepStage {
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

    /// Stage of the step.
    fn stage(&self) -> StepStage {
        StepStage::Custom
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

    /// Stage of the step.
    fn stage(&self) -> StepStage {
        StepStage::Custom
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

/// Counts of the steps, merged over workers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StepCounts {
    /// Records that went in.
    pub examined: u64,
    /// Records that came out.
    pub kept: u64,
    /// Records that each step removed, by its place in [`Steps::names`].
    pub dropped: Vec<u64>,
}

seqloom_format::persist_fields!(StepCounts { examined, kept, dropped });

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

#[cfg(test)]
mod tests;
