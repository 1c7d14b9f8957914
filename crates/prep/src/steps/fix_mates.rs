//! What the mates of a pair say of each other, set right: `samtools fixmate` (1.24).
//!
//! Every record is sanitized first ([`super::sanitize`]). The first primary record of a name is
//! the mate of each later one. Supplementary records of paired reads take what the mate says, and
//! secondary records do not change.

use seqloom_format::bam::edit::{
    remove_tag, set_flags, set_mate_position, set_mate_reference_id, set_position,
    set_reference_id, set_tag, set_template_length, update_bin,
};
use seqloom_format::bam::{AuxValue, CIGAR_LETTERS, Flags, Header, RecordError, RecordRef};

use super::sanitize::Sanitizer;
use super::{StepError, StepScratch, StepStage, TemplateRecords, TemplateStep};

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
/// mate takes the place of the mapped one. Supplementary records get the same of their read's mate,
/// but for TLEN and `ms`. A primary record without a mate loses RNEXT, PNEXT, TLEN and the flags of
/// a mate's strand and of proper pairs.
#[derive(Debug, Clone)]
pub(crate) struct FixMates {
    options: FixMatesOptions,
    sanitizer: Sanitizer,
}

/// Fields of a primary record that its mate has.
#[derive(Debug, Clone, Copy)]
struct Mate {
    flags: u16,
    reference_id: i32,
    position: i32,
    /// Position after the last aligned base, 0-based.
    end: i64,
    mapping_quality: u8,
    score: u32,
}

impl Mate {
    fn is(&self, bits: u16) -> bool {
        self.flags & bits != 0
    }

    /// 5' end: after the last base for a reverse read, as samtools has it.
    fn five_prime(&self) -> i64 {
        if self.is(Flags::REVERSE) { self.end } else { i64::from(self.position) }
    }

    /// Which read of the template it is, as samtools counts: 1 for flag 0x80, else 0.
    fn read_index(&self) -> usize {
        usize::from(self.is(Flags::SECOND_OF_PAIR))
    }
}

/// The primary records of a template, as indices of its records.
#[derive(Debug, Default)]
struct Primaries {
    first: Option<usize>,
    has_pair: bool,
    /// The last primary record of each read.
    of_read: [Option<usize>; 2],
}

impl FixMates {
    /// The step for records with the references of `header`.
    #[must_use]
    pub(crate) fn new(header: &Header, options: FixMatesOptions) -> Self {
        Self { options, sanitizer: Sanitizer::new(header) }
    }

    fn examine(&self, body: &[u8]) -> Result<Mate, RecordError> {
        let record = RecordRef::new(body)?;
        let score = if self.options.mate_score { mate_score(record.qualities()) } else { 0 };
        Ok(Mate {
            flags: record.flags(),
            reference_id: record.reference_id(),
            position: record.position(),
            end: record.reference_end(),
            mapping_quality: record.mapping_quality(),
            score,
        })
    }

    /// The primary records of two mates.
    fn fix_pair(
        &self,
        [body1, body2]: [&mut Vec<u8>; 2],
        scratch: &mut StepScratch,
    ) -> Result<(), StepError> {
        let (mut mate1, mut mate2) = (self.examine(body1)?, self.examine(body2)?);
        let (was1, was2) = (mate1, mate2);
        take_places(&mut mate1, &mut mate2);
        mate1.flags |= Flags::PAIRED;
        mate2.flags |= Flags::PAIRED;
        take_mate_flags(&mut mate1.flags, &mate2);
        take_mate_flags(&mut mate2.flags, &mate1);
        // Text of CIGARs is the same before and after: places and flags are written later.
        set_mate_tags(body2, body1, &mate1, &mate2, scratch)?;
        set_mate_tags(body1, body2, &mate2, &mate1, scratch)?;
        let length = template_length(&mate1, &mate2);
        if self.options.template_cigar {
            set_template_cigar((&mate1, body1), (&mate2, body2), scratch)?;
        }
        let mut lost = 0;
        if self.options.proper_pair_check && !is_plausible_pair(&mate1, &mate2) {
            lost |= Flags::PROPER_PAIR;
        }
        if self.options.mate_score {
            set_tag(body1, *b"ms", AuxValue::Int32(mate2.score.cast_signed()))?;
            set_tag(body2, *b"ms", AuxValue::Int32(mate1.score.cast_signed()))?;
        }
        let of_mate = Flags::MATE_REVERSE | Flags::PROPER_PAIR;
        let is_removed = |mate: &Mate| self.options.remove_unmapped && mate.is(Flags::UNMAPPED);
        let lost1 = lost | if is_removed(&mate2) { of_mate } else { 0 };
        let lost2 = lost | if is_removed(&mate1) { of_mate } else { 0 };
        mate1.flags &= !lost1;
        mate2.flags &= !lost2;
        write_back(body1, &was1, &mate1, &mate2, length)?;
        write_back(body2, &was2, &mate2, &mate1, length.wrapping_neg())?;
        Ok(())
    }

    /// A primary record without a mate.
    fn fix_single(&self, body: &mut [u8]) -> Result<(), StepError> {
        let was = self.examine(body)?;
        let flags = was.flags & !(Flags::MATE_REVERSE | Flags::PROPER_PAIR);
        let none = Mate { reference_id: -1, position: -1, ..was };
        write_back(body, &was, &Mate { flags, ..was }, &none, 0)
    }

    /// A supplementary record and the primary record of its read's mate.
    fn fix_supplementary(
        &self,
        [body, mate_body]: [&mut Vec<u8>; 2],
        scratch: &mut StepScratch,
    ) -> Result<(), StepError> {
        let (mut own, mate) = (self.examine(body)?, self.examine(mate_body)?);
        take_mate_flags(&mut own.flags, &mate);
        set_mate_tags(body, mate_body, &mate, &own, scratch)?;
        set_flags(body, own.flags)?;
        set_mate_reference_id(body, mate.reference_id)?;
        set_mate_position(body, mate.position)?;
        Ok(())
    }

    /// Pairs the primary records of a template.
    fn fix_primaries(
        &self,
        template: &mut TemplateRecords,
        scratch: &mut StepScratch,
    ) -> Result<Primaries, StepError> {
        let mut primaries = Primaries::default();
        for index in 0..template.len() {
            let Some(body) = template.body(index) else { continue };
            let this = self.examine(body)?;
            if this.is(Flags::SECONDARY | Flags::SUPPLEMENTARY) {
                continue;
            }
            primaries.of_read[this.read_index()] = Some(index);
            let first = *primaries.first.get_or_insert(index);
            if let Some(bodies) = template.mates_mut([first, index]) {
                primaries.has_pair = true;
                self.fix_pair(bodies, scratch)?;
            }
        }
        let alone = primaries.first.filter(|_| !primaries.has_pair);
        if let Some(body) = alone.and_then(|index| template.body_mut(index)) {
            self.fix_single(body)?;
        }
        Ok(primaries)
    }
}

impl TemplateStep for FixMates {
    fn name(&self) -> &'static str {
        "fix-mates"
    }

    fn stage(&self) -> StepStage {
        StepStage::FixMates
    }

    fn apply(
        &self,
        template: &mut TemplateRecords,
        scratch: &mut StepScratch,
    ) -> Result<(), StepError> {
        for index in 0..template.len() {
            if let Some(body) = template.body_mut(index) {
                self.sanitizer.apply(body, &mut scratch.cigar)?;
            }
        }
        let primaries = self.fix_primaries(template, scratch)?;
        for index in 0..template.len() {
            let Some(body) = template.body(index) else { continue };
            let this = self.examine(body)?;
            let mate = primaries.of_read[1 - this.read_index()];
            let bodies = mate.and_then(|mate| template.mates_mut([index, mate]));
            if let Some(bodies) = bodies
                && this.is(Flags::SUPPLEMENTARY)
                && this.is(Flags::PAIRED)
            {
                self.fix_supplementary(bodies, scratch)?;
            }
        }
        if self.options.remove_unmapped {
            remove_unmapped(template)?;
        }
        Ok(())
    }
}

/// Removes unmapped reads and secondary alignments.
fn remove_unmapped(template: &mut TemplateRecords) -> Result<(), StepError> {
    for index in 0..template.len() {
        let Some(body) = template.body(index) else { continue };
        if RecordRef::new(body)?.flags() & (Flags::SECONDARY | Flags::UNMAPPED) != 0 {
            template.remove(index);
        }
    }
    Ok(())
}

/// Sum of the qualities of at least 15; absent ones count 255 each, as in samtools.
fn mate_score(qualities: &[u8]) -> u32 {
    let scored = qualities.iter().filter(|&&quality| quality >= LEAST_SCORED_QUALITY);
    scored.fold(0_u32, |sum, &quality| sum.wrapping_add(quality.into()))
}

/// An unmapped mate takes the place of a mapped one.
fn take_places(mate1: &mut Mate, mate2: &mut Mate) {
    let place = |from: &Mate, to: &mut Mate| {
        if to.is(Flags::UNMAPPED) && !from.is(Flags::UNMAPPED) {
            to.reference_id = from.reference_id;
            to.position = from.position;
        }
    };
    place(&*mate1, mate2);
    place(&*mate2, mate1);
}

/// Takes over what the mate's flags say. A mate-unmapped flag is set where it is missing, never
/// cleared: as in samtools.
fn take_mate_flags(flags: &mut u16, mate: &Mate) {
    *flags &= !Flags::MATE_REVERSE;
    *flags |= if mate.is(Flags::REVERSE) { Flags::MATE_REVERSE } else { 0 };
    *flags |= if mate.is(Flags::UNMAPPED) { Flags::MATE_UNMAPPED } else { 0 };
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
    if was.position != own.position {
        update_bin(body)?;
    }
    Ok(())
}

#[cfg(test)]
#[path = "fix_mates_tests.rs"]
mod tests;
