//! Picard MarkDuplicates' MOLECULAR_IDENTIFIER_TAG.

use std::io::Write as _;

use seqloom_format::bam::edit::set_tag;
use seqloom_format::bam::{AuxValue, Flags, Header, RecordRef};

use super::{RecordStep, StepError, StepScratch, StepStage, Verdict};
use crate::duplicates::strand::Strand;

/// Which tag gets it, and of what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MoleculeOptions {
    /// Tag that the name of the molecule goes to.
    pub tag: [u8; 2],
    /// The strand of the molecule is reported, too.
    pub is_duplex: bool,
}

/// Writes `REFERENCE:POSITION/` of every record into a tag, as Picard does, with the position of
/// whichever of both mates is on the reverse strand or is the mate of one that is not; and
/// where UMIs are those of duplexes, `/A` or `/B`, the strand. The reference of an unmapped record
/// is `null`, as in Java.
#[derive(Debug, Clone)]
pub(crate) struct SetMolecule {
    options: MoleculeOptions,
    names: Vec<String>,
}

impl SetMolecule {
    /// The step for records with the references of `header`.
    #[must_use]
    pub(crate) fn new(header: &Header, options: MoleculeOptions) -> Self {
        Self { options, names: header.references().iter().map(|it| it.name.clone()).collect() }
    }

    fn write_molecule(&self, record: &RecordRef<'_>, text: &mut Vec<u8>) -> Result<(), StepError> {
        let reference = usize::try_from(record.reference_id()).ok();
        let name = match reference.and_then(|reference| self.names.get(reference)) {
            _ if record.has_flags(Flags::UNMAPPED) => "null",
            Some(name) => name,
            None => "*",
        };
        let is_reverse = record.has_flags(Flags::REVERSE);
        let position = if is_reverse { record.position() } else { record.mate_position() };
        let strand = if self.options.is_duplex { Strand::of(record)? } else { None };
        let strand = match strand {
            Some(Strand::Top) => "/A",
            Some(Strand::Bottom) => "/B",
            None => "",
        };
        text.clear();
        // Memory takes all that is written to it.
        let _ = write!(text, "{name}:{}/{strand}", i64::from(position) + 1);
        Ok(())
    }
}

impl RecordStep for SetMolecule {
    fn name(&self) -> &'static str {
        "set-molecule"
    }

    fn stage(&self) -> StepStage {
        StepStage::Molecule
    }

    fn apply(&self, body: &mut Vec<u8>, scratch: &mut StepScratch) -> Result<Verdict, StepError> {
        self.write_molecule(&RecordRef::new(body)?, &mut scratch.text)?;
        set_tag(body, self.options.tag, AuxValue::String(&scratch.text))?;
        Ok(Verdict::Keep)
    }
}
