//! Whether a record is well-formed, every part of it, and where records may start in bytes of which
//! neither the first nor the last belongs to a known one.

use super::auxiliary::fixed_size;
use super::cigar::{HARD_CLIP, consumes_read, consumes_reference};
use super::error::RecordError;
use super::flags::Flags;
use super::numbers::u32_at;
use super::record::{CigarOps, FIXED_BYTES, RecordRef, reg2bin};
use crate::names::{
    array_element_bytes, check_read_name, is_character, is_hex, is_tag, is_text, rename_read,
};

/// Highest quality: `~` in SAM text (SAM specification 1.4).
const MAX_QUALITY: u8 = 93;

/// Longest record that [`find_record`] takes for one, in bytes of its body.
const MAX_PLAUSIBLE_BYTES: usize = 256 * 1024 * 1024;

/// Records in a row that [`find_record`] looks at before it believes in the first of them.
const CHAIN_RECORDS: usize = 3;

/// Bytes that [`find_record`] checks in full at most, per byte that it searches: in good files
/// about one, in bytes made to look like records at every place their square.
const SEARCH_EFFORT: usize = 16;

/// Checks the whole of `body` (one record without `block_size`) against a header with
/// `reference_count` references, and returns the `bin` that it should have: what htslib puts in its
/// place when it reads a record with a CIGAR, whatever was stored (often 0).
///
/// Beyond [`RecordRef::new`]: the name and the auxiliary fields are as [`names`](crate::names)
/// says; both reference indices are in the header; the CIGAR of a mapped record covers its bases,
/// and hard clips are only at its ends; qualities are at most 93, or all of them absent. Let
/// through are values that are odd but readable: positions past the end of the reference, unmapped
/// records with a CIGAR, unknown read groups, a field that occurs twice.
///
/// # Errors
/// A [`RecordError`] that names the first part at fault.
pub fn check_record(body: &[u8], reference_count: usize) -> Result<u16, RecordError> {
    let record = RecordRef::new(body)?;
    check_read_name(record.name())?;
    for (field, id) in
        [("refID", record.reference_id()), ("next_refID", record.mate_reference_id())]
    {
        if usize::try_from(id).is_ok_and(|id| id >= reference_count) {
            return Err(RecordError::BadReference { field, id, reference_count });
        }
    }
    check_qualities(record.qualities())?;
    check_aux(&record)?;
    check_cigar(&record)
}

/// Makes a read name of a name in `body` that is not one, see [`rename_read`]; a body that is no
/// record stays as it is.
pub fn rename_record(body: &mut [u8]) {
    let name_bytes = body.get(8).copied().map_or(0, usize::from);
    let Some(name) = body.get_mut(FIXED_BYTES..FIXED_BYTES + name_bytes) else { return };
    // A name of `l_read_name` bytes with its NUL is never too long.
    if let [name @ .., 0] = name {
        rename_read(name);
    }
}

fn check_qualities(qualities: &[u8]) -> Result<(), RecordError> {
    let highest = qualities.iter().fold(0, |highest, &quality| quality.max(highest));
    // Absent qualities are marked by their first byte (SAM specification 4.2.3).
    if highest <= MAX_QUALITY || qualities.first() == Some(&0xff) {
        return Ok(());
    }
    Err(RecordError::BadQuality(highest))
}

fn check_cigar(record: &RecordRef<'_>) -> Result<u16, RecordError> {
    let cigar = record.full_cigar();
    if cigar.len() == 0 {
        return Ok(record.bin());
    }
    let (bases, span) = lengths(cigar);
    let is_mapped = !record.has_flags(Flags::UNMAPPED);
    let base_count = record.base_count();
    if is_mapped && base_count > 0 && bases != base_count as u64 {
        return Err(RecordError::CigarLength { cigar_bases: bases, bases: base_count });
    }
    if !hard_clips_are_at_the_ends(cigar) {
        return Err(RecordError::BadClip);
    }
    let start = i64::from(record.position());
    let span = if is_mapped { span.max(1) } else { 1 };
    Ok(reg2bin(start, start + span))
}

/// Bases of the read and of the reference that a CIGAR consumes. At most 2^32 operations of less
/// than 2^28 each: no overflow.
fn lengths(cigar: CigarOps<'_>) -> (u64, i64) {
    cigar.codes().fold((0, 0), |(bases, span), (code, len)| {
        let in_read = len * u32::from(consumes_read(code));
        let in_reference = len * u32::from(consumes_reference(code));
        (bases + u64::from(in_read), span + i64::from(in_reference))
    })
}

/// H only as first and last operation (SAM specification 1.4.6). The same rule for S is not held
/// here: samtools does not, and its own test data break it.
pub(crate) fn hard_clips_are_at_the_ends(cigar: CigarOps<'_>) -> bool {
    let last = cigar.len().saturating_sub(1);
    let mut codes = cigar.codes().enumerate();
    codes.all(|(index, (code, _))| code != HARD_CLIP || index == 0 || index == last)
}

/// Checks every auxiliary field of a record, its tag, type and value.
///
/// # Errors
/// [`RecordError::BadTag`] for the first that is malformed.
pub fn check_aux(record: &RecordRef<'_>) -> Result<(), RecordError> {
    let (body, mut at) = (record.body(), record.aux_start());
    while at < body.len() {
        let field = &body[at..];
        let bad = || {
            let tag = [field[0], field.get(1).copied().unwrap_or_default()];
            RecordError::BadTag { tag, at }
        };
        at += field_bytes(field).ok_or_else(bad)?;
    }
    Ok(())
}

/// Size of the field at the start of `field`; `None` if it is malformed. As [`AuxFields`] reads
/// it, but it makes no values of what is only looked at, and looks at all of it.
///
/// [`AuxFields`]: super::AuxFields
fn field_bytes(field: &[u8]) -> Option<usize> {
    let &[t0, t1, kind, ref data @ ..] = field else { return None };
    if !is_tag([t0, t1]) {
        return None;
    }
    let value_bytes = match kind {
        b'Z' => text_bytes(data)?,
        b'A' => usize::from(is_character(*data.first()?)),
        b'H' => {
            let digits = &data[..memchr::memchr(0, data)?];
            is_hex(digits).then_some(digits.len() + 1)?
        }
        b'B' => {
            let (&subtype, count) = data.split_first()?;
            let count = u32::from_le_bytes(*count.first_chunk()?) as usize;
            array_element_bytes(subtype)?.checked_mul(count)?.checked_add(5)?
        }
        kind => fixed_size(kind)?,
    };
    (1..=data.len()).contains(&value_bytes).then_some(3 + value_bytes)
}

/// Bytes of the text at the start of `data`, NUL included.
fn text_bytes(data: &[u8]) -> Option<usize> {
    /// Most texts end within so many bytes, for which a search is not worth setting up.
    const SHORT_BYTES: usize = 32;
    let short = &data[..data.len().min(SHORT_BYTES)];
    if let Some(end) = short.iter().position(|&byte| byte < b' ' || byte == 0x7f) {
        return (short[end] == 0).then_some(end + 1);
    }
    let end = short.len() + memchr::memchr(0, &data[short.len()..])?;
    is_text(&data[short.len()..end]).then_some(end + 1)
}

/// Result of [`find_record`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordSearch {
    /// A record starts here, most likely.
    At(usize),
    /// Nothing before this offset is a record's start; what comes there is not determined by the
    /// bytes at hand.
    NeedMore(usize),
}

/// Looks for the first place at or after `from` where a record (its `block_size`) seems to start.
///
/// It is a guess, however good: bytes of a record can look like records. What follows it up to
/// the end of `text`, or two more records, must look like records too. A caller has to confirm it
/// by reading on from a known start.
#[must_use]
pub fn find_record(text: &[u8], from: usize, reference_count: usize) -> RecordSearch {
    let effort_bytes = SEARCH_EFFORT * text.len().saturating_sub(from);
    let mut search = Search { text, reference_count, effort_bytes };
    let mut at = from;
    loop {
        match search.look_at(at) {
            Look::Record(end) if search.is_chain(end) => return RecordSearch::At(at),
            Look::Unknown => return RecordSearch::NeedMore(at),
            Look::Record(_) | Look::Nothing => at += 1,
        }
        if search.effort_bytes == 0 {
            return RecordSearch::NeedMore(text.len());
        }
    }
}

struct Search<'a> {
    text: &'a [u8],
    reference_count: usize,
    /// Bytes of seeming records that may still be checked in full.
    effort_bytes: usize,
}

/// Verdict on a place.
enum Look {
    /// A record that ends before this offset, which may be after the text.
    Record(usize),
    Nothing,
    /// Too few bytes to decide.
    Unknown,
}

impl Search<'_> {
    /// Whether records follow from `at` on, as far as there are bytes.
    fn is_chain(&mut self, mut at: usize) -> bool {
        for _ in 1..CHAIN_RECORDS {
            if at >= self.text.len() {
                return true;
            }
            match self.look_at(at) {
                Look::Record(end) => at = end,
                Look::Unknown => return true,
                Look::Nothing => return false,
            }
        }
        true
    }

    fn look_at(&mut self, at: usize) -> Look {
        let (text, reference_count) = (self.text, self.reference_count);
        let Some((fixed, rest)) =
            text.get(at..).and_then(|it| it.split_at_checked(4 + FIXED_BYTES))
        else {
            return Look::Unknown;
        };
        let body_bytes = u32_at(fixed, 0) as usize;
        let number = |offset: usize| u32_at(fixed, 4 + offset).cast_signed();
        let is_reference = |id: i32| id >= -1 && (id < 0 || (id as usize) < reference_count);
        let name_bytes = usize::from(fixed[4 + 8]);
        let cigar_bytes = 4 * usize::from(u16::from_le_bytes([fixed[4 + 12], fixed[4 + 13]]));
        let Ok(base_count) = usize::try_from(number(16)) else { return Look::Nothing };
        let parts_bytes = FIXED_BYTES
            + name_bytes
            + cigar_bytes
            + base_count.div_ceil(2).saturating_add(base_count);
        let is_plausible = (FIXED_BYTES + 2..=MAX_PLAUSIBLE_BYTES).contains(&body_bytes)
            && is_reference(number(0))
            && number(4) >= -1
            && is_reference(number(20))
            && name_bytes > 1
            && parts_bytes <= body_bytes;
        if !is_plausible {
            return Look::Nothing;
        }
        let Some(name) = rest.get(..name_bytes) else {
            let is_name = rest.iter().all(u8::is_ascii_graphic);
            return if is_name { Look::Unknown } else { Look::Nothing };
        };
        if name[name_bytes - 1] != 0 || check_read_name(&name[..name_bytes - 1]).is_err() {
            return Look::Nothing;
        }
        let end = at + 4 + body_bytes;
        let Some(body) = text.get(at + 4..end) else { return Look::Record(end) };
        self.effort_bytes = self.effort_bytes.saturating_sub(body.len());
        match check_record(body, reference_count) {
            Ok(_) => Look::Record(end),
            Err(_) => Look::Nothing,
        }
    }
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
