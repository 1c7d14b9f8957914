//! NM and MD as `samtools calmd` (1.16) has them, UQ as Picard SetNmMdAndUqTags.

use std::sync::Arc;

use seqloom_format::bam::cigar::{
    self, DELETION, DIFFERENT, EQUAL, INSERTION, MATCH, SKIP, SOFT_CLIP,
};
use seqloom_format::bam::edit::{append_tag, set_tag};
use seqloom_format::bam::{AuxValue, Flags, RecordRef};

use super::fix_mates::append_number;
use super::{RecordStep, StepError, StepScratch, StepStage, Verdict};
use crate::input::reference::ReferenceSequences;

/// Code of N.
const ANY_BASE: u8 = 15;

/// Which tags are set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MismatchTags {
    /// `NM:i`, mismatches and bases in insertions and deletions.
    pub nm: bool,
    /// `MD:Z`, the reference's bases where the read has others.
    pub md: bool,
    /// `UQ:i`, the sum of base qualities at mismatches.
    pub uq: bool,
}

/// Compares mapped reads with the reference and sets the tags.
///
/// As in samtools a tag that is right stays where it is, and any other is appended; N matches
/// nothing, `=` in the read matches everything; comparison ends where the reference ends. Reads
/// without bases or on a reference without bases are left alone. For UQ, N in the read matches N
/// in the reference (htsjdk `SequenceUtil.basesEqual`); reads without qualities get none.
#[derive(Debug, Clone)]
pub struct SetMismatchTags {
    reference: Arc<ReferenceSequences>,
    tags: MismatchTags,
}

impl SetMismatchTags {
    /// `reference` has the sequences of the header as it is after all steps before this one:
    /// after a change of the dictionary, the new one.
    #[must_use]
    pub fn new(reference: Arc<ReferenceSequences>, tags: MismatchTags) -> Self {
        Self { reference, tags }
    }
}

impl RecordStep for SetMismatchTags {
    fn name(&self) -> &'static str {
        "mismatch-tags"
    }

    fn stage(&self) -> StepStage {
        StepStage::Mismatches
    }

    fn apply(&self, body: &mut Vec<u8>, scratch: &mut StepScratch) -> Result<Verdict, StepError> {
        let record = RecordRef::new(body)?;
        let bases = self.reference.bases(record.reference_id());
        let Ok(start) = usize::try_from(record.position()) else { return Ok(Verdict::Keep) };
        if record.has_flags(Flags::UNMAPPED) || record.base_count() == 0 || bases.is_empty() {
            return Ok(Verdict::Keep);
        }
        let uq = (self.tags.uq && record.qualities().first() != Some(&0xff))
            .then(|| sum_of_mismatch_qualities(&record, bases, start));
        scratch.text.clear();
        let distance = compare(&record, bases, start, &mut scratch.text);
        let (is_right_nm, md) = (has_distance(&record, distance)?, &scratch.text);
        let is_right_md = has_md(&record, md)?;
        if self.tags.nm && !is_right_nm {
            set_tag(body, *b"NM", AuxValue::Int32(distance))?;
        }
        match is_right_md {
            Some(true) => {}
            Some(false) if self.tags.md => set_tag(body, *b"MD", AuxValue::String(md))?,
            None if self.tags.md => append_tag(body, *b"MD", AuxValue::String(md))?,
            _ => {}
        }
        if let Some(uq) = uq {
            set_tag(body, *b"UQ", AuxValue::Int32(uq))?;
        }
        Ok(Verdict::Keep)
    }
}

/// Whether NM is there and right.
fn has_distance(record: &RecordRef<'_>, distance: i32) -> Result<bool, StepError> {
    let nm = record.find_aux(*b"NM")?;
    // What is no integer reads as 0 in samtools.
    Ok(nm.is_some_and(|it| it.as_int().unwrap_or(0) as i32 == distance))
}

/// Whether MD is there, and whether it is right but for the case of its letters.
fn has_md(record: &RecordRef<'_>, md: &[u8]) -> Result<Option<bool>, StepError> {
    let old = record.find_aux(*b"MD")?;
    Ok(old.map(|it| it.as_string().is_some_and(|text| text.eq_ignore_ascii_case(md))))
}

/// 4-bit code of a letter of the reference; N's for what is no base.
fn code_of(letter: u8) -> u8 {
    match letter.to_ascii_uppercase() {
        b'=' => 0,
        b'A' | b'0' => 1,
        b'C' | b'1' => 2,
        b'M' => 3,
        b'G' | b'2' => 4,
        b'R' => 5,
        b'S' => 6,
        b'V' => 7,
        b'T' | b'U' | b'3' => 8,
        b'W' => 9,
        b'Y' => 10,
        b'H' => 11,
        b'K' => 12,
        b'D' => 13,
        b'B' => 14,
        _ => ANY_BASE,
    }
}

/// Appends the MD text and gives NM.
fn compare(record: &RecordRef<'_>, reference: &[u8], start: usize, md: &mut Vec<u8>) -> i32 {
    let (mut read, mut position) = (0_usize, start);
    let (mut matched, mut distance) = (0_i64, 0_i64);
    for (code, length) in record.full_cigar().codes() {
        let length = length as usize;
        match code {
            MATCH | EQUAL | DIFFERENT => {
                for offset in 0..length {
                    let own = record.base_code(read + offset);
                    let (Some(own), Some(&theirs)) = (own, reference.get(position + offset)) else {
                        append_number(matched, md);
                        return saturated(distance);
                    };
                    let is_match = own == 0 || (own == code_of(theirs) && own != ANY_BASE);
                    if is_match {
                        matched += 1;
                        continue;
                    }
                    append_number(matched, md);
                    md.push(theirs.to_ascii_uppercase());
                    matched = 0;
                    distance += 1;
                }
                read += length;
                position += length;
            }
            DELETION => {
                append_number(matched, md);
                matched = 0;
                md.push(b'^');
                let from = position.min(reference.len());
                let deleted = &reference[from..(position + length).min(reference.len())];
                md.extend(deleted.iter().map(u8::to_ascii_uppercase));
                distance += deleted.len() as i64;
                if deleted.len() < length {
                    break;
                }
                position += length;
            }
            INSERTION | SOFT_CLIP => {
                read += length;
                distance += if code == INSERTION { length as i64 } else { 0 };
            }
            SKIP => position += length,
            _ => {}
        }
    }
    append_number(matched, md);
    saturated(distance)
}

fn saturated(distance: i64) -> i32 {
    i32::try_from(distance).unwrap_or(i32::MAX)
}

/// Sum of the qualities of the read's bases that are not those of the reference; bases after its
/// end do not count.
fn sum_of_mismatch_qualities(record: &RecordRef<'_>, reference: &[u8], start: usize) -> i32 {
    let (mut read, mut position) = (0_usize, start);
    let mut sum = 0_i64;
    for (code, length) in record.full_cigar().codes() {
        let length = length as usize;
        if cigar::is_aligned(code) {
            for offset in 0..length {
                let Some(own) = record.base_code(read + offset) else { break };
                let Some(&theirs) = reference.get(position + offset) else { break };
                if own != code_of(theirs) {
                    sum += i64::from(record.qualities()[read + offset]);
                }
            }
        }
        if cigar::consumes_read(code) {
            read += length;
        }
        if cigar::consumes_reference(code) {
            position += length;
        }
    }
    saturated(sum)
}

#[cfg(test)]
#[path = "mismatches_tests.rs"]
mod tests;
