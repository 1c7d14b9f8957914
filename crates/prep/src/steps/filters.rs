//! Steps that only remove records.

use seqloom_format::bam::{AuxValue, Header, RecordRef};
use seqloom_format::bam::{Flags, RecordError};
use seqloom_format::bed::{BedIntervals, Interval, overlaps};

use super::{RecordStep, StepError, StepScratch, StepStage, Verdict, first_of};

/// How much elPrep's filters with a strict form ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// The plain form.
    Plain,
    /// The strict form.
    Strict,
}

fn keep_if(keep: bool) -> Verdict {
    if keep { Verdict::Keep } else { Verdict::Drop }
}

/// Removes unmapped reads: those with flag 0x4; strictly also those without reference or
/// position, whatever the flag says (elPrep's filter-unmapped-reads and -strict).
#[derive(Debug, Clone, Copy)]
pub(crate) struct FilterUnmapped(pub(crate) Strictness);

impl RecordStep for FilterUnmapped {
    fn name(&self) -> &'static str {
        "filter-unmapped"
    }

    fn stage(&self) -> StepStage {
        StepStage::FilterUnmapped
    }

    fn apply(&self, body: &mut Vec<u8>, _: &mut StepScratch) -> Result<Verdict, StepError> {
        let record = RecordRef::new(body)?;
        let is_placed = record.reference_id() >= 0 && record.position() >= 0;
        let is_strictly_good = is_placed || self.0 == Strictness::Plain;
        Ok(keep_if(!record.has_flags(Flags::UNMAPPED) && is_strictly_good))
    }
}

/// Keeps records that have all of the required bits of FLAG and none of the excluded ones
/// (`samtools view -f -F`). Duplicate bits are those of the input.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FilterFlags {
    /// Bits of FLAG that must be set.
    pub(crate) required: u16,
    /// None of them may be set.
    pub(crate) excluded: u16,
}

impl RecordStep for FilterFlags {
    fn name(&self) -> &'static str {
        "filter-flags"
    }

    fn stage(&self) -> StepStage {
        StepStage::FilterFlags
    }

    fn apply(&self, body: &mut Vec<u8>, _: &mut StepScratch) -> Result<Verdict, StepError> {
        let flags = RecordRef::new(body)?.flags();
        Ok(keep_if(flags & self.required == self.required && flags & self.excluded == 0))
    }
}

/// Removes records with a MAPQ below the bound, unmapped ones like all others (elPrep's
/// filter-mapping-quality, `samtools view -q`).
#[derive(Debug, Clone, Copy)]
pub(crate) struct FilterMappingQuality(pub(crate) u8);

impl RecordStep for FilterMappingQuality {
    fn name(&self) -> &'static str {
        "filter-mapping-quality"
    }

    fn stage(&self) -> StepStage {
        StepStage::FilterMappingQuality
    }

    fn apply(&self, body: &mut Vec<u8>, _: &mut StepScratch) -> Result<Verdict, StepError> {
        Ok(keep_if(RecordRef::new(body)?.mapping_quality() >= self.0))
    }
}

/// Removes records that do not match exactly (elPrep's filter-non-exact-mapping-reads and
/// -strict).
///
/// Plain: the CIGAR has an operation other than M and S; a record without CIGAR is kept. Strict:
/// not all of X0 = 1, X1 = 0, XM = 0, XO = 0 and XG = 0 are there, tags of `bwa aln`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FilterExactMatch(pub(crate) Strictness);

/// The tags of a unique exact match and their values.
const EXACT_MATCH_TAGS: [([u8; 2], i64); 5] =
    [(*b"X0", 1), (*b"X1", 0), (*b"XM", 0), (*b"XO", 0), (*b"XG", 0)];

fn has_exact_match_tags(record: &RecordRef<'_>) -> Result<bool, RecordError> {
    for (tag, value) in EXACT_MATCH_TAGS {
        if record.find_aux(tag)?.as_ref().and_then(AuxValue::as_int) != Some(value) {
            return Ok(false);
        }
    }
    Ok(true)
}

impl RecordStep for FilterExactMatch {
    fn name(&self) -> &'static str {
        "filter-exact-match"
    }

    fn stage(&self) -> StepStage {
        StepStage::FilterExactMatch
    }

    fn apply(&self, body: &mut Vec<u8>, _: &mut StepScratch) -> Result<Verdict, StepError> {
        let record = RecordRef::new(body)?;
        Ok(keep_if(match self.0 {
            Strictness::Plain => record.full_cigar().all(|(op, _)| matches!(op, b'M' | b'S')),
            Strictness::Strict => has_exact_match_tags(&record)?,
        }))
    }
}

/// Keeps records whose alignment overlaps one of the intervals (`samtools view -L`).
///
/// An unmapped read with a position (that of its mate) counts as one base there, so that it stays
/// with its mate when that one's first base is inside, and may be removed or kept without it
/// otherwise; a read without a reference is removed. Mates are judged each for itself.
#[derive(Debug, Clone)]
pub(crate) struct FilterRegions {
    by_reference: Vec<Vec<Interval>>,
}

impl FilterRegions {
    /// The filter for records with the references of `header`.
    ///
    /// # Errors
    /// [`StepError::UnknownReference`] when no reference of the intervals is in the header: the
    /// file is one for another reference. (samtools would remove every record.)
    pub(crate) fn new(regions: &BedIntervals, header: &Header) -> Result<Self, StepError> {
        let by_reference = regions.by_reference(header.references());
        match regions.names().first() {
            Some(name) if by_reference.iter().all(Vec::is_empty) => {
                let name = String::from_utf8_lossy(name).into_owned();
                let names = header.references().iter().map(|reference| reference.name.as_str());
                Err(StepError::UnknownReference { name, sequences: first_of(names) })
            }
            _ => Ok(Self { by_reference }),
        }
    }
}

impl RecordStep for FilterRegions {
    fn name(&self) -> &'static str {
        "filter-regions"
    }

    fn stage(&self) -> StepStage {
        StepStage::FilterRegions
    }

    fn apply(&self, body: &mut Vec<u8>, _: &mut StepScratch) -> Result<Verdict, StepError> {
        let record = RecordRef::new(body)?;
        let index = usize::try_from(record.reference_id()).ok();
        let Some(intervals) = index.and_then(|index| self.by_reference.get(index)) else {
            return Ok(Verdict::Drop);
        };
        let (start, end) = (i64::from(record.position()), record.reference_end());
        Ok(keep_if(overlaps(intervals, start, end)))
    }
}

#[cfg(test)]
#[path = "filters_tests.rs"]
mod tests;
