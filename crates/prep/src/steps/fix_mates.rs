//! What the mates of a pair say of each other, set right: `samtools fixmate` (1.16).
//!
//! Primary records of a name are taken in pairs as they come; one that is left over is no pair.
//! Secondary and supplementary records stay as they are.

use seqloom_format::bam::edit::{
    remove_tag, set_flags, set_mate_position, set_mate_reference_id, set_position,
    set_reference_id, set_tag, set_template_length, update_bin,
};
use seqloom_format::bam::{AuxValue, CIGAR_LETTERS, Flags, Header, RecordError, RecordRef};

use super::{Stage, StepError, StepScratch, TemplateRecords, TemplateStep};

/// Base qualities below this one do not count in a mate score (samtools).
const LEAST_SCORED_QUALITY: u8 = 15;

/// Options of `samtools fixmate`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FixMatesOptions {
    /// Adds `ms`, the sum of the mate's base qualities of at least 15 (`-m`).
    pub mate_score: bool,
    /// Takes the proper-pair flag from pairs that do not face each other; off: `-p`.
    pub proper_pair_check: bool,
    /// Adds `ct`, the CIGARs of the template, to the leftmost mate (`-c`).
    pub template_cigar: bool,
    /// Removes unmapped reads and secondary alignments (`-r`).
    pub remove_unmapped: bool,
}

impl Default for FixMatesOptions {
    /// `samtools fixmate -m`.
    fn default() -> Self {
        Self {
            mate_score: true,
            proper_pair_check: true,
            template_cigar: false,
            remove_unmapped: false,
        }
    }
}

/// Sets RNEXT, PNEXT, TLEN, mate flags, `MQ`, `MC` and `ms` of the mates of each pair; an unmapped
/// mate is placed beside the mapped one. A record past the end of its reference counts as
/// unmapped. What is left without a mate loses its mate flags.
#[derive(Debug, Clone)]
pub(crate) struct FixMates {
    options: FixMatesOptions,
    lengths_bp: Vec<i64>,
}

/// What a mate must know of a primary record.
#[derive(Debug, Clone, Copy)]
struct Mate {
    flags: u16,
    reference_id: i32,
    position: i32,
    /// Position behind the last aligned base, 0-based.
    end: i64,
    mapping_quality: u8,
    score: u32,
}

impl Mate {
    fn is(&self, bits: u16) -> bool {
        self.flags & bits != 0
    }

    /// 5' end: behind the last base for a reverse read, as samtools has it.
    fn five_prime(&self) -> i64 {
        if self.is(Flags::REVERSE) { self.end } else { i64::from(self.position) }
    }
}

impl FixMates {
    /// The step for records with the references of `header`.
    #[must_use]
    pub(crate) fn new(header: &Header, options: FixMatesOptions) -> Self {
        let lengths_bp = header.references().iter().map(|it| i64::from(it.length)).collect();
        Self { options, lengths_bp }
    }

    /// Reads a primary record; one without a place, or that ends past its reference, is unmapped.
    fn examine(&self, body: &[u8]) -> Result<Mate, RecordError> {
        let record = RecordRef::new(body)?;
        let mut flags = record.flags();
        if record.reference_id() < 0 || record.position() < 0 {
            flags |= Flags::UNMAPPED;
        }
        let end = record.reference_end();
        let index = usize::try_from(record.reference_id()).ok();
        if let (0, Some(index)) = (flags & Flags::UNMAPPED, index) {
            let unknown = RecordError::UnknownReference(record.reference_id());
            if end > *self.lengths_bp.get(index).ok_or(unknown)? {
                flags |= Flags::UNMAPPED;
            }
        }
        let score = if self.options.mate_score { mate_score(record.qualities()) } else { 0 };
        Ok(Mate {
            flags,
            reference_id: record.reference_id(),
            position: record.position(),
            end,
            mapping_quality: record.mapping_quality(),
            score,
        })
    }

    /// The primary records of two mates; which of them are to be removed.
    fn fix_pair(
        &self,
        [body1, body2]: [&mut Vec<u8>; 2],
        scratch: &mut StepScratch,
    ) -> Result<[bool; 2], StepError> {
        let (mut mate1, mut mate2) = (self.examine(body1)?, self.examine(body2)?);
        let (was1, was2) = (mate1, mate2);
        sync_flags_and_places(&mut mate1, &mut mate2);
        // Text of CIGARs is the same before and after: places and flags are written later.
        set_mate_tags(body2, body1, &mate1, &mate2, scratch)?;
        set_mate_tags(body1, body2, &mate2, &mate1, scratch)?;
        let length = template_length(&mate1, &mate2);
        if self.options.template_cigar {
            set_template_cigar((&mate1, body1), (&mate2, body2), scratch)?;
        }
        if self.options.proper_pair_check && !is_plausible_pair(&mate1, &mate2) {
            mate1.flags &= !Flags::PROPER_PAIR;
            mate2.flags &= !Flags::PROPER_PAIR;
        }
        if self.options.mate_score {
            set_tag(body1, *b"ms", AuxValue::Int32(mate2.score.cast_signed()))?;
            set_tag(body2, *b"ms", AuxValue::Int32(mate1.score.cast_signed()))?;
        }
        let removed = self.options.remove_unmapped;
        let [drop1, drop2] = [mate1, mate2].map(|mate| removed && mate.is(Flags::UNMAPPED));
        let no_mate = Flags::PAIRED | Flags::MATE_REVERSE | Flags::PROPER_PAIR;
        mate1.flags &= if drop2 { !no_mate } else { u16::MAX };
        mate2.flags &= if drop1 { !no_mate } else { u16::MAX };
        write_back(body1, &was1, &mate1, &mate2, length)?;
        write_back(body2, &was2, &mate2, &mate1, length.wrapping_neg())?;
        Ok([drop1, drop2])
    }

    /// A primary record without a mate; whether it is to be removed.
    fn fix_single(&self, body: &mut [u8]) -> Result<bool, StepError> {
        let mut mate = self.examine(body)?;
        let was = mate;
        if mate.is(Flags::UNMAPPED) {
            mate.reference_id = -1;
            mate.position = -1;
        }
        mate.flags &= !(Flags::PAIRED | Flags::MATE_REVERSE | Flags::PROPER_PAIR);
        let none = Mate { reference_id: -1, position: -1, ..mate };
        write_back(body, &was, &mate, &none, 0)?;
        Ok(self.options.remove_unmapped && mate.is(Flags::UNMAPPED))
    }
}

impl TemplateStep for FixMates {
    fn name(&self) -> &'static str {
        "fix-mates"
    }

    fn stage(&self) -> Stage {
        Stage::FixMates
    }

    fn apply(
        &self,
        template: &mut TemplateRecords,
        scratch: &mut StepScratch,
    ) -> Result<(), StepError> {
        let mut waiting = None;
        for index in 0..template.len() {
            let Some(body) = template.body(index) else { continue };
            let flags = RecordRef::new(body)?.flags();
            if flags & Flags::SECONDARY != 0 && self.options.remove_unmapped {
                template.remove(index);
            }
            if flags & (Flags::SECONDARY | Flags::SUPPLEMENTARY) != 0 {
                continue;
            }
            let Some(first) = waiting.take() else {
                waiting = Some(index);
                continue;
            };
            let mates = [first, index];
            let Some(bodies) = template.mates_mut(mates) else { continue };
            for (mate, is_dropped) in mates.into_iter().zip(self.fix_pair(bodies, scratch)?) {
                if is_dropped {
                    template.remove(mate);
                }
            }
        }
        if let Some(index) = waiting
            && let Some(body) = template.body_mut(index)
            && self.fix_single(body)?
        {
            template.remove(index);
        }
        Ok(())
    }
}

/// Sum of the qualities of at least 15; absent ones count 255 each, as in samtools.
fn mate_score(qualities: &[u8]) -> u32 {
    let scored = qualities.iter().filter(|&&quality| quality >= LEAST_SCORED_QUALITY);
    scored.fold(0_u32, |sum, &quality| sum.wrapping_add(quality.into()))
}

/// An unmapped mate takes the place of a mapped one, and each takes over what the other's flags
/// say. A mate-unmapped flag is set where it is missing, never cleared: as in samtools.
fn sync_flags_and_places(mate1: &mut Mate, mate2: &mut Mate) {
    let place = |from: &Mate, to: &mut Mate| {
        if to.is(Flags::UNMAPPED) && !from.is(Flags::UNMAPPED) {
            to.reference_id = from.reference_id;
            to.position = from.position;
        }
    };
    place(&*mate1, mate2);
    place(&*mate2, mate1);
    let sync = |from: &Mate, to: &mut Mate| {
        to.flags |= Flags::PAIRED;
        to.flags &= !Flags::MATE_REVERSE;
        to.flags |= if from.is(Flags::REVERSE) { Flags::MATE_REVERSE } else { 0 };
        to.flags |= if from.is(Flags::UNMAPPED) { Flags::MATE_UNMAPPED } else { 0 };
    };
    sync(&*mate1, mate2);
    sync(&*mate2, mate1);
}

/// `MQ` where the mate is mapped, and `MC` where either is.
fn set_mate_tags(
    body: &mut Vec<u8>,
    mate_body: &[u8],
    mate: &Mate,
    own: &Mate,
    scratch: &mut StepScratch,
) -> Result<(), StepError> {
    if !mate.is(Flags::UNMAPPED) {
        set_tag(body, *b"MQ", AuxValue::Int32(mate.mapping_quality.into()))?;
    }
    if !mate.is(Flags::UNMAPPED) || !own.is(Flags::UNMAPPED) {
        let cigar = RecordRef::new(mate_body)?.full_cigar();
        scratch.text.clear();
        append_cigar(
            cigar.codes().map(|(code, len)| len << 4 | u32::from(code)),
            &mut scratch.text,
        );
        if scratch.text.is_empty() {
            scratch.text.push(b'*');
        }
        set_tag(body, *b"MC", AuxValue::String(&scratch.text))?;
    }
    Ok(())
}

/// Appends CIGAR text; nothing for no operation.
pub(super) fn append_cigar(ops: impl Iterator<Item = u32>, text: &mut Vec<u8>) {
    for op in ops {
        append_number((op >> 4).into(), text);
        text.push(CIGAR_LETTERS.get((op & 0xf) as usize).copied().unwrap_or(b'?'));
    }
}

/// Appends decimal digits, without the detour through the formatting machinery.
pub(super) fn append_number(number: i64, text: &mut Vec<u8>) {
    if number < 0 {
        text.push(b'-');
    }
    let start = text.len();
    let mut rest = number.unsigned_abs();
    loop {
        text.push(b'0' + (rest % 10) as u8);
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    text[start..].reverse();
}

/// TLEN of the first: 0 unless both are mapped to one reference.
fn template_length(mate1: &Mate, mate2: &Mate) -> i32 {
    let unmapped = Flags::UNMAPPED | Flags::MATE_UNMAPPED;
    if mate1.reference_id != mate2.reference_id || mate1.is(unmapped) || mate2.is(unmapped) {
        return 0;
    }
    let length = mate2.five_prime() - mate1.five_prime();
    length.clamp(i32::MIN.into(), i32::MAX.into()) as i32
}

/// Both mapped to one reference, the left one forward and the right one reverse.
fn is_plausible_pair(mate1: &Mate, mate2: &Mate) -> bool {
    if mate1.is(Flags::UNMAPPED)
        || mate2.is(Flags::UNMAPPED)
        || mate1.reference_id != mate2.reference_id
    {
        return false;
    }
    let swapped = mate1.five_prime() > mate2.five_prime();
    let (left, right) = if swapped { (mate2, mate1) } else { (mate1, mate2) };
    !left.is(Flags::REVERSE) && right.is(Flags::REVERSE)
}

/// `ct` on the leftmost mate: read number, strand and CIGAR of both, and the gap between them.
fn set_template_cigar(
    (mate1, body1): (&Mate, &mut Vec<u8>),
    (mate2, body2): (&Mate, &mut Vec<u8>),
    scratch: &mut StepScratch,
) -> Result<(), StepError> {
    let is_placed = mate1.reference_id >= 0 && mate1.position >= 0 && mate2.position >= 0;
    if mate1.reference_id != mate2.reference_id
        || !is_placed
        || mate1.is(Flags::UNMAPPED)
        || mate2.is(Flags::UNMAPPED)
    {
        return Ok(());
    }
    let swapped = mate1.position > mate2.position;
    let ((left, left_body), (right, right_body)) =
        if swapped { ((mate2, body2), (mate1, body1)) } else { ((mate1, body1), (mate2, body2)) };
    let text = &mut scratch.text;
    text.clear();
    append_end(left, left_body, text)?;
    append_number(i64::from(right.position) - left.end, text);
    text.push(b'T');
    append_end(right, right_body, text)?;
    remove_tag(right_body, *b"ct")?;
    set_tag(left_body, *b"ct", AuxValue::String(text))?;
    Ok(())
}

/// Read number, strand and CIGAR of one mate.
fn append_end(mate: &Mate, body: &[u8], text: &mut Vec<u8>) -> Result<(), RecordError> {
    text.push(if mate.is(Flags::FIRST_OF_PAIR) { b'1' } else { b'2' });
    text.push(if mate.is(Flags::REVERSE) { b'R' } else { b'F' });
    let cigar = RecordRef::new(body)?.full_cigar();
    append_cigar(cigar.codes().map(|(code, len)| len << 4 | u32::from(code)), text);
    Ok(())
}

/// Writes the fields that may have changed.
fn write_back(
    body: &mut [u8],
    was: &Mate,
    own: &Mate,
    mate: &Mate,
    template_length: i32,
) -> Result<(), StepError> {
    set_flags(body, own.flags)?;
    set_reference_id(body, own.reference_id)?;
    set_position(body, own.position)?;
    set_mate_reference_id(body, mate.reference_id)?;
    set_mate_position(body, mate.position)?;
    set_template_length(body, template_length)?;
    let moved = was.position != own.position || (was.flags ^ own.flags) & Flags::UNMAPPED != 0;
    if moved {
        update_bin(body)?;
    }
    Ok(())
}

#[cfg(test)]
#[path = "fix_mates_tests.rs"]
mod tests;
