//! Picard CleanSam: alignments past the end of their reference are soft-clipped, and unmapped
//! reads get MAPQ 0.

use seqloom_format::bam::cigar::{
    self, HARD_CLIP, MAX_OP_LENGTH, SOFT_CLIP, consumes_read, consumes_reference,
};
use seqloom_format::bam::edit::{EditError, replace_cigar, replace_tag, set_mapping_quality};
use seqloom_format::bam::{AuxValue, Flags, Header, RecordRef};

use super::{RecordStep, StepError, StepScratch, StepStage, Verdict};

/// Clips alignments that hang off the end of their reference, sets `MC` of mates that do
/// likewise, and sets MAPQ 0 where a read is unmapped.
///
/// As Picard (`AbstractAlignmentMerger.createNewCigarsIfMapsOffEndOfReference`), as many bases
/// are clipped from the read's end as positions hang over, whatever insertions and deletions are
/// there. Where that is not enough, which Picard leaves as it is, all bases at and past the end
/// of the reference are clipped.
#[derive(Debug, Clone)]
pub(crate) struct CleanSam {
    lengths_bp: Vec<i64>,
}

impl CleanSam {
    /// The step for records with the references of `header`.
    #[must_use]
    pub(crate) fn new(header: &Header) -> Self {
        Self { lengths_bp: header.references().iter().map(|it| i64::from(it.length)).collect() }
    }

    fn length_bp(&self, reference_id: i32) -> Option<i64> {
        self.lengths_bp.get(usize::try_from(reference_id).ok()?).copied()
    }

    fn clean_own(&self, body: &mut Vec<u8>, ops: &mut Vec<u32>) -> Result<(), StepError> {
        let record = RecordRef::new(body)?;
        let Some(length_bp) = self.length_bp(record.reference_id()) else { return Ok(()) };
        let start = i64::from(record.position());
        if start + record.full_cigar().reference_span() <= length_bp {
            return Ok(());
        }
        ops.clear();
        ops.extend(record.full_cigar().codes().map(|(code, len)| len << 4 | u32::from(code)));
        let bases = read_bases(ops);
        if bases > i64::from(MAX_OP_LENGTH) {
            return Err(EditError::SpanTooLong(bases.unsigned_abs()).into());
        }
        clip_to(ops, start, length_bp);
        replace_cigar(body, ops)?;
        Ok(())
    }

    fn clean_mate(&self, body: &mut Vec<u8>, scratch: &mut StepScratch) -> Result<(), StepError> {
        let record = RecordRef::new(body)?;
        let has_mate = record.has_flags(Flags::PAIRED) && !record.has_flags(Flags::MATE_UNMAPPED);
        let length_bp = self.length_bp(record.mate_reference_id());
        let (true, Some(length_bp)) = (has_mate, length_bp) else { return Ok(()) };
        let Some(AuxValue::String(text)) = record.find_aux(*b"MC")? else { return Ok(()) };
        let ops = &mut scratch.cigar;
        let start = i64::from(record.mate_position());
        let is_cigar = parse_cigar(text, ops) && read_bases(ops) <= i64::from(MAX_OP_LENGTH);
        if !is_cigar || start + span(ops) <= length_bp {
            return Ok(());
        }
        clip_to(ops, start, length_bp);
        scratch.text.clear();
        super::fix_mates::append_cigar(ops.iter().copied(), &mut scratch.text);
        replace_tag(body, *b"MC", AuxValue::String(&scratch.text))?;
        Ok(())
    }
}

impl RecordStep for CleanSam {
    fn name(&self) -> &'static str {
        "clean-sam"
    }

    fn stage(&self) -> StepStage {
        StepStage::CleanSam
    }

    fn apply(&self, body: &mut Vec<u8>, scratch: &mut StepScratch) -> Result<Verdict, StepError> {
        if RecordRef::new(body)?.has_flags(Flags::UNMAPPED) {
            set_mapping_quality(body, 0)?;
        } else {
            self.clean_own(body, &mut scratch.cigar)?;
        }
        self.clean_mate(body, scratch)?;
        Ok(Verdict::Keep)
    }
}

fn code(op: u32) -> u8 {
    (op & 0xf) as u8
}

fn span(ops: &[u32]) -> i64 {
    ops.iter().filter(|&&op| consumes_reference(code(op))).map(|op| i64::from(op >> 4)).sum()
}

fn read_bases(ops: &[u32]) -> i64 {
    ops.iter().filter(|&&op| consumes_read(code(op))).map(|op| i64::from(op >> 4)).sum()
}

/// Reads CIGAR text into `ops`; false when it is none (`*` included).
fn parse_cigar(text: &[u8], ops: &mut Vec<u32>) -> bool {
    ops.clear();
    for op in cigar::parse(text) {
        let Ok((code, length)) = op else { return false };
        ops.push(length << 4 | u32::from(code));
    }
    !ops.is_empty()
}

/// Clips the end of an alignment that starts at `start` and ends after `length_bp`.
fn clip_to(ops: &mut Vec<u32>, start: i64, length_bp: i64) {
    let overhang = start + span(ops) - length_bp;
    let trailing = match ops.last() {
        Some(&op) if code(op) == SOFT_CLIP => i64::from(op >> 4),
        _ => 0,
    };
    // Picard's first base to clip, from 0: as many as hang over, and what is clipped already.
    let from = read_bases(ops) - overhang - trailing;
    clip_from(ops, from.max(0));
    if start + span(ops) > length_bp {
        clip_from(ops, bases_before(ops, start, length_bp));
    }
}

/// Bases of the read before the first that is aligned at or after `length_bp`.
fn bases_before(ops: &[u32], start: i64, length_bp: i64) -> i64 {
    let (mut bases, mut position) = (0, start);
    for &op in ops {
        let length = i64::from(op >> 4);
        if consumes_reference(code(op)) && position + length > length_bp {
            let inside = (length_bp - position).max(0);
            return if consumes_read(code(op)) { bases + inside } else { bases };
        }
        if consumes_reference(code(op)) {
            position += length;
        }
        if consumes_read(code(op)) {
            bases += length;
        }
    }
    bases
}

/// Soft-clips the bases from `from` (0-based) on. A hard clip at the end is kept; what is
/// between the last base that is kept and the clip goes: a deletion there has no meaning, and
/// inserted or clipped bases become part of the clip. A leading hard clip stays, too.
fn clip_from(ops: &mut Vec<u32>, from: i64) {
    let hard = ops.last().copied().filter(|&op| code(op) == HARD_CLIP);
    let total = read_bases(ops);
    let mut bases = 0;
    let mut kept = 0;
    let mut cut = None;
    for (index, &op) in ops.iter().enumerate() {
        let length = if consumes_read(code(op)) { i64::from(op >> 4) } else { 0 };
        let is_leading_hard_clip = index == 0 && code(op) == HARD_CLIP;
        if bases + length >= from && !is_leading_hard_clip {
            cut = Some((op, from - bases));
            break;
        }
        bases += length;
        kept += 1;
    }
    let Some((op, inside)) = cut else { return };
    ops.truncate(kept);
    let mut clipped = total - from;
    if consumes_read(code(op)) && inside > 0 {
        if consumes_reference(code(op)) {
            ops.push((inside as u32) << 4 | op & 0xf);
        } else {
            clipped += inside;
        }
    }
    if clipped > 0 {
        ops.push((clipped as u32) << 4 | u32::from(SOFT_CLIP));
    }
    ops.extend(hard);
}

#[cfg(test)]
#[path = "clean_tests.rs"]
mod tests;
