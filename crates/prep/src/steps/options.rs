//! The steps of this crate as options, and the chain that they make.

use seqloom_format::bam::Header;
use seqloom_format::bed::BedIntervals;

use super::{
    CleanSam, FilterExactMatch, FilterFlags, FilterMappingQuality, FilterRegions, FilterUnmapped,
    FixMates, FixMatesOptions, KeepTags, MoleculeOptions, ReadGroupMode, RemoveTags,
    ReplaceDictionary, SetMolecule, SetReadGroup, StepError, Steps, Strictness,
};

/// A read group for records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadGroupOptions {
    /// The whole @RG line ([`super::read_group_line`]), or, where it does not start with `@RG`,
    /// the ID of one that the header has.
    pub line_or_id: Vec<u8>,
    /// Which records get it.
    pub mode: ReadGroupMode,
}

/// Every step but the NM, MD and UQ tags, which need the reference
/// ([`super::SetMismatchTags`]). The default has no step.
#[derive(Debug, Clone, Default)]
pub struct StepOptions {
    /// Remove unmapped reads.
    pub filter_unmapped: Option<Strictness>,
    /// Bits of FLAG that records must have.
    pub require_flags: u16,
    /// Bits of FLAG that records must not have.
    pub exclude_flags: u16,
    /// Least MAPQ.
    pub min_mapping_quality: u8,
    /// Remove records that do not match exactly.
    pub exact_match: Option<Strictness>,
    /// Keep records that overlap these.
    pub regions: Option<BedIntervals>,
    /// Clip alignments past the reference's end.
    pub clean_sam: bool,
    /// The header whose dictionary is taken over.
    pub reference_dictionary: Option<Header>,
    /// Set right what mates say of each other.
    pub fix_mates: Option<FixMatesOptions>,
    /// Replace or add a read group.
    pub read_group: Option<ReadGroupOptions>,
    /// Write molecules in a tag.
    pub molecule: Option<MoleculeOptions>,
    /// Tags to remove.
    pub remove_tags: Vec<[u8; 2]>,
    /// Tags to keep, all others being removed.
    pub keep_tags: Option<Vec<[u8; 2]>>,
}

impl StepOptions {
    /// The chain of these steps for records with `header`, which is left as it is: it is
    /// [`Steps::prepare_header`] that changes it.
    ///
    /// # Errors
    /// The first step that the header does not allow.
    pub fn build(&self, header: &Header) -> Result<Steps, StepError> {
        let mut steps = Steps::new();
        self.add_filters(&mut steps, header)?;
        if self.clean_sam {
            steps.add_record_step(CleanSam::new(header));
        }
        if let Some(dictionary) = &self.reference_dictionary {
            steps.add_record_step(ReplaceDictionary::new(header, dictionary)?);
        }
        // After the dictionary records have its indices.
        let replaced = self.reference_dictionary.as_ref().unwrap_or(header);
        if let Some(options) = self.fix_mates {
            steps.add_template_step(FixMates::new(replaced, options));
        }
        if let Some(group) = &self.read_group {
            let text = &group.line_or_id;
            steps.add_record_step(if text.starts_with(b"@RG") {
                SetReadGroup::new(text, group.mode, header)?
            } else {
                SetReadGroup::existing(text, group.mode, header)?
            });
        }
        if let Some(options) = self.molecule {
            steps.add_record_step(SetMolecule::new(replaced, options));
        }
        if !self.remove_tags.is_empty() {
            steps.add_record_step(RemoveTags(self.remove_tags.clone()));
        }
        if let Some(tags) = &self.keep_tags {
            steps.add_record_step(KeepTags(tags.clone()));
        }
        Ok(steps)
    }

    fn add_filters(&self, steps: &mut Steps, header: &Header) -> Result<(), StepError> {
        if let Some(strictness) = self.filter_unmapped {
            steps.add_record_step(FilterUnmapped(strictness));
        }
        if self.require_flags | self.exclude_flags != 0 {
            let (required, excluded) = (self.require_flags, self.exclude_flags);
            steps.add_record_step(FilterFlags { required, excluded });
        }
        if self.min_mapping_quality > 0 {
            steps.add_record_step(FilterMappingQuality(self.min_mapping_quality));
        }
        if let Some(strictness) = self.exact_match {
            steps.add_record_step(FilterExactMatch(strictness));
        }
        if let Some(regions) = &self.regions {
            steps.add_record_step(FilterRegions::new(regions, header)?);
        }
        Ok(())
    }
}
