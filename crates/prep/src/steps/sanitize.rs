//! Records made consistent with themselves, as by `samtools view --sanitize all` (1.24), which
//! `samtools fixmate` applies to every record that it reads.

use seqloom_format::bam::cigar::{
    HARD_CLIP, MAX_OP_LENGTH, SOFT_CLIP, consumes_read, consumes_reference,
};
use seqloom_format::bam::edit::{
    replace_cigar, retain_tags, set_flags, set_mapping_quality, set_position, set_reference_id,
    update_bin,
};
use seqloom_format::bam::{Flags, Header, RecordError, RecordRef};

use super::StepError;

/// Tags that say nothing of an unmapped read.
const TAGS_OF_ALIGNMENTS: [[u8; 2]; 4] = [*b"NM", *b"MD", *b"CG", *b"SM"];

/// Makes records without a place unmapped, soft-clips what is past the end of the reference, joins
/// operations of one kind, and takes CIGAR, MAPQ and tags of the alignment from unmapped records.
#[derive(Debug, Clone)]
pub(super) struct Sanitizer {
    lengths_bp: Vec<i64>,
}

/// Outcome of the check of an alignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trimmed {
    /// Nothing is past the end.
    Whole,
    /// Its end was soft-clipped.
    Clipped,
    /// An operation on the reference starts at its end or later: samtools makes such a record
    /// unmapped.
    Unmapped,
}

impl Sanitizer {
    /// For records with the references of `header`.
    pub(super) fn new(header: &Header) -> Self {
        Self { lengths_bp: header.references().iter().map(|it| i64::from(it.length)).collect() }
    }

    /// Sanitizes a record; `ops` is scratch.
    ///
    /// # Errors
    /// A malformed record, or one on a reference that the header lacks.
    pub(super) fn apply(&self, body: &mut Vec<u8>, ops: &mut Vec<u32>) -> Result<(), StepError> {
        let record = RecordRef::new(body)?;
        let flags = record.flags();
        if record.reference_id() < 0 {
            set_position(body, -1)?;
            set_flags(body, flags | Flags::UNMAPPED)?;
        } else if flags & Flags::UNMAPPED == 0 {
            self.check_place(body, ops)?;
        }
        if RecordRef::new(body)?.has_flags(Flags::UNMAPPED) {
            return clear_alignment(body);
        }
        read_cigar(body, ops)?;
        if join_neighbours(ops) {
            replace_cigar(body, ops)?;
        }
        Ok(())
    }

    /// A mapped record on a reference: is all of it there?
    fn check_place(&self, body: &mut Vec<u8>, ops: &mut Vec<u32>) -> Result<(), StepError> {
        let record = RecordRef::new(body)?;
        let (flags, start) = (record.flags(), i64::from(record.position()));
        let reference_id = record.reference_id();
        let length_bp = usize::try_from(reference_id).ok().and_then(|it| self.lengths_bp.get(it));
        let length_bp = *length_bp.ok_or(RecordError::UnknownReference(reference_id))?;
        if start < 0 {
            set_flags(body, flags | Flags::UNMAPPED)?;
        } else if start >= length_bp {
            set_flags(body, flags | Flags::UNMAPPED)?;
            set_reference_id(body, -1)?;
            set_position(body, -1)?;
        } else if record.reference_end() > length_bp {
            read_cigar(body, ops)?;
            match trim(ops, start, length_bp) {
                Trimmed::Whole => {}
                Trimmed::Clipped => replace_cigar(body, ops)?,
                Trimmed::Unmapped => {
                    set_flags(body, (flags | Flags::UNMAPPED) & !Flags::PROPER_PAIR)?;
                }
            }
        }
        Ok(())
    }
}

fn read_cigar(body: &[u8], ops: &mut Vec<u32>) -> Result<(), RecordError> {
    ops.clear();
    let cigar = RecordRef::new(body)?.full_cigar();
    ops.extend(cigar.codes().map(|(code, length)| operation(length, code)));
    Ok(())
}

/// Leaves an unmapped record without CIGAR, MAPQ and what only alignments have.
fn clear_alignment(body: &mut Vec<u8>) -> Result<(), StepError> {
    if RecordRef::new(body)?.full_cigar().codes().next().is_some() {
        replace_cigar(body, &[])?;
    }
    set_mapping_quality(body, 0)?;
    retain_tags(body, |tag, _| !TAGS_OF_ALIGNMENTS.contains(&tag))?;
    update_bin(body)?;
    Ok(())
}

fn operation(length: u32, code: u8) -> u32 {
    length << 4 | u32::from(code)
}

fn code(op: u32) -> u8 {
    (op & 0xf) as u8
}

/// Soft-clips the bases that are aligned at or after `length_bp`, and all after them (samtools'
/// `bam_trim`). samtools counts deletions and padding as clipped bases, too, so that its CIGAR is
/// longer than the read; this one is not.
fn trim(ops: &mut Vec<u32>, start: i64, length_bp: i64) -> Trimmed {
    let mut position = start;
    let crosses = |&op: &u32| {
        if consumes_reference(code(op)) {
            position += i64::from(op >> 4);
        }
        position > length_bp
    };
    let Some(at) = ops.iter().position(crosses) else { return Trimmed::Whole };
    let (last, past) = (ops[at], position - length_bp);
    let inside = i64::from(last >> 4) - past;
    if inside <= 0 {
        return Trimmed::Unmapped;
    }
    let rest = ops.split_off(at + 1);
    ops[at] = operation(inside as u32, code(last));
    let bases = |op: &u32| if consumes_read(code(*op)) { op >> 4 } else { 0 };
    let own = if consumes_read(code(last)) { past as u32 } else { 0 };
    let clipped = rest.iter().map(bases).fold(own, u32::saturating_add);
    if clipped > 0 {
        ops.push(operation(clipped.min(MAX_OP_LENGTH), SOFT_CLIP));
    }
    ops.extend(rest.into_iter().filter(|&op| code(op) == HARD_CLIP));
    Trimmed::Clipped
}

/// Joins neighbouring operations of one kind and removes empty ones; whether there were any.
fn join_neighbours(ops: &mut Vec<u32>) -> bool {
    let before = ops.len();
    ops.retain(|op| op >> 4 > 0);
    ops.dedup_by(|next, kept| {
        let length = (*next >> 4) + (*kept >> 4);
        let joins = code(*next) == code(*kept) && length <= MAX_OP_LENGTH;
        if joins {
            *kept = operation(length, code(*kept));
        }
        joins
    });
    ops.len() != before
}

#[cfg(test)]
mod tests {
    use super::*;
    use seqloom_format::bam::cigar;

    fn ops(text: &str) -> Vec<u32> {
        let parsed = cigar::parse(text.as_bytes()).map(|op| op.unwrap());
        parsed.map(|(code, length)| operation(length, code)).collect()
    }

    #[test]
    fn what_is_past_the_end_is_clipped() {
        // CIGAR, 0-based start, what is left of it on 100 bases.
        let t = |text: &str, start, expected: Option<&str>| {
            let mut trimmed = ops(text);
            match (trim(&mut trimmed, start, 100), expected) {
                (Trimmed::Unmapped, None) => {}
                (Trimmed::Whole, Some(expected)) => assert_eq!(text, expected),
                (Trimmed::Clipped, Some(expected)) => assert_eq!(trimmed, ops(expected), "{text}"),
                other => panic!("{text}: {other:?}"),
            }
        };
        t("10M", 90, Some("10M"));
        t("10M", 91, Some("9M1S"));
        t("2S8M", 95, Some("2S5M3S"));
        t("5M10D5M", 91, Some("5M4D5S"));
        t("8M2D", 91, Some("8M1D"));
        t("3H10M2P", 94, Some("3H6M4S"));
        t("8M2S5H", 94, Some("6M4S5H"));
        t("12M3H", 90, Some("10M2S3H"));
        t("2S1N8M", 99, None);
        t("6M10N4M", 94, None);
        t("6M3P4M", 94, None);
        t("1D9M1I", 99, None);
    }

    #[test]
    fn neighbours_of_one_kind_are_joined() {
        let t = |text: &str, expected: &str| {
            let mut joined = ops(text);
            assert_eq!(join_neighbours(&mut joined), text != expected, "{text}");
            assert_eq!(joined, ops(expected), "{text}");
        };
        t("10M", "10M");
        t("4M6M", "10M");
        t("2S3S2M2M1I", "5S4M1I");
        t("4=2=1X3=", "6=1X3=");
        t("5M0D5M", "10M");
        t("0M10M0I", "10M");
        t("268435455M1M", "268435455M1M");
    }
}
