//! Records as they are in chunks: ordinal, size, body.

use seqloom_format::bam::{RecordError, RecordRef, set_duplicate};

pub(crate) use seqloom_io::spill::FRAME_BYTES;

use crate::duplicates::DuplicateMarks;

/// Bits of an ordinal that distinguish the records of a template.
const RECORD_BITS: u32 = 16;
/// Most records of a template.
pub(crate) const MAX_TEMPLATE_RECORDS: u64 = 1 << RECORD_BITS;

/// Ordinal of a record: its template's, and its number in that; `None` where that is too large.
pub(crate) fn record_ordinal(template: u64, index: usize) -> Option<u64> {
    let index = index as u64;
    (index < MAX_TEMPLATE_RECORDS).then_some(template << RECORD_BITS | index)
}

/// Template ordinal of a record ordinal.
pub(crate) fn template_of(record_ordinal: u64) -> u64 {
    record_ordinal >> RECORD_BITS
}

/// Frame before a record's body.
pub(crate) fn frame_of(ordinal: u64, body: &[u8]) -> [u8; FRAME_BYTES] {
    let mut frame = [0; FRAME_BYTES];
    frame[..8].copy_from_slice(&ordinal.to_le_bytes());
    frame[8..].copy_from_slice(&(body.len() as u32).to_le_bytes());
    frame
}

/// Ordinal and body of the record at the start of `bytes`.
pub(crate) fn framed(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (ordinal, rest) = bytes.split_first_chunk::<8>()?;
    let (size, rest) = rest.split_first_chunk::<4>()?;
    let body = rest.get(..u32::from_le_bytes(*size) as usize)?;
    Some((u64::from_le_bytes(*ordinal), body))
}

/// All records of a chunk: offset of the frame, ordinal, body.
pub(crate) fn frames(bytes: &[u8]) -> impl Iterator<Item = (usize, u64, &[u8])> {
    let mut offset = 0;
    std::iter::from_fn(move || {
        let at = offset;
        let (ordinal, body) = framed(&bytes[at..])?;
        offset += FRAME_BYTES + body.len();
        Some((at, ordinal, body))
    })
}

/// Appends a record's frame and body.
pub(crate) fn append_frame(ordinal: u64, body: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&frame_of(ordinal, body));
    out.extend_from_slice(body);
}

/// Sets or clears the duplicate flag of every record of a chunk.
///
/// # Errors
/// When a record is damaged.
pub(crate) fn set_duplicates(bytes: &mut [u8], marks: &DuplicateMarks) -> Result<(), RecordError> {
    let mut offset = 0;
    while let Some((ordinal, body)) = framed(&bytes[offset..]) {
        let duplicate = marks.is_duplicate(template_of(ordinal), RecordRef::new(body)?.flags());
        let body = offset + FRAME_BYTES..offset + FRAME_BYTES + body.len();
        offset = body.end;
        set_duplicate(&mut bytes[body], duplicate);
    }
    Ok(())
}
