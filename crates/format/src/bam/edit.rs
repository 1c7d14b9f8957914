//! Changes of a record's body in place, in a buffer that the caller owns and recycles.
//!
//! Every function checks the body before it touches it: hostile bytes give an error and leave the
//! body as it was. Nothing is allocated but growth of the buffer. New fields are appended after
//! the others and the order of the others is kept, as samtools does.

use std::ops::Range;

use super::auxiliary::{AuxFields, AuxValue};
use super::cigar::MAX_OP_LENGTH;
use super::error::RecordError;
use super::record::{FIXED_BYTES, RecordRef, reg2bin};

/// Operations that `n_cigar_op` can count; longer CIGARs go to the `CG` tag (SAM specification
/// 4.2.2).
const MAX_STORED_OPS: usize = u16::MAX as usize;

/// Longest body: `block_size` is a signed 32-bit number in htslib and htsjdk.
const MAX_BODY_BYTES: usize = i32::MAX as usize;

/// Why a record cannot be changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The record is malformed as it is.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// Text of a tag holds the NUL that ends it.
    #[error("value of tag {} has a NUL byte in it", String::from_utf8_lossy(.0))]
    NulInText([u8; 2]),
    /// An array whose bytes are not a whole number of elements of a known type.
    #[error("value of tag {} is not an array of numbers", String::from_utf8_lossy(.0))]
    BadArray([u8; 2]),
    /// A new CIGAR with an operation above 8.
    #[error("new CIGAR has the unknown operation {0}")]
    BadCigar(u8),
    /// The record would become longer than BAM can hold.
    #[error("record would have {0} bytes, more than BAM can hold")]
    TooLarge(usize),
    /// A CIGAR of more bases than one operation can hold (2^28 - 1), where it must: in a clip, or
    /// in the placeholder of one that is kept in the `CG` tag.
    #[error("CIGAR has {0} bases, more than one operation can hold")]
    SpanTooLong(u64),
}

fn put<const N: usize>(body: &mut [u8], offset: usize, bytes: [u8; N]) -> Result<(), RecordError> {
    if body.len() < FIXED_BYTES {
        return Err(RecordError::TooShort(body.len()));
    }
    body[offset..offset + N].copy_from_slice(&bytes);
    Ok(())
}

/// Sets the index of the reference, -1 for none.
///
/// # Errors
/// [`RecordError::TooShort`], as all setters of fixed fields.
pub fn set_reference_id(body: &mut [u8], reference_id: i32) -> Result<(), RecordError> {
    put(body, 0, reference_id.to_le_bytes())
}

/// Sets the 0-based leftmost position, -1 for none. The bin is not changed: [`update_bin`].
///
/// # Errors
/// [`RecordError::TooShort`]
pub fn set_position(body: &mut [u8], position: i32) -> Result<(), RecordError> {
    put(body, 4, position.to_le_bytes())
}

/// Sets MAPQ.
///
/// # Errors
/// [`RecordError::TooShort`]
pub fn set_mapping_quality(body: &mut [u8], quality: u8) -> Result<(), RecordError> {
    put(body, 9, [quality])
}

/// Sets FLAG. The bin of a record that becomes mapped or unmapped is not changed: [`update_bin`].
///
/// # Errors
/// [`RecordError::TooShort`]
pub fn set_flags(body: &mut [u8], flags: u16) -> Result<(), RecordError> {
    put(body, 14, flags.to_le_bytes())
}

/// Sets the index of the mate's reference, -1 for none.
///
/// # Errors
/// [`RecordError::TooShort`]
pub fn set_mate_reference_id(body: &mut [u8], reference_id: i32) -> Result<(), RecordError> {
    put(body, 20, reference_id.to_le_bytes())
}

/// Sets the 0-based position of the mate, -1 for none.
///
/// # Errors
/// [`RecordError::TooShort`]
pub fn set_mate_position(body: &mut [u8], position: i32) -> Result<(), RecordError> {
    put(body, 24, position.to_le_bytes())
}

/// Sets TLEN.
///
/// # Errors
/// [`RecordError::TooShort`]
pub fn set_template_length(body: &mut [u8], length: i32) -> Result<(), RecordError> {
    put(body, 28, length.to_le_bytes())
}

/// Recomputes the bin from position and CIGAR (SAM specification 4.2.1).
///
/// # Errors
/// A malformed record.
pub fn update_bin(body: &mut [u8]) -> Result<(), RecordError> {
    let record = RecordRef::new(body)?;
    let bin = reg2bin(record.position().into(), record.reference_end());
    put(body, 10, bin.to_le_bytes())
}

/// Gives the record another CIGAR, `length << 4 | code` each, and recomputes the bin.
///
/// A CIGAR of more than 65,535 operations is stored in the `CG` tag after its placeholder; where
/// the old one was stored so, its tag is removed.
///
/// # Errors
/// A malformed record, an unknown operation, or a record that would be too large for BAM.
pub fn replace_cigar(body: &mut Vec<u8>, ops: &[u32]) -> Result<(), EditError> {
    let record = RecordRef::new(body)?;
    check_fields(&record)?;
    if let Some(code) = ops.iter().map(|op| (op & 0xf) as u8).find(|&code| code > 8) {
        return Err(EditError::BadCigar(code));
    }
    let had_long_cigar = record.long_cigar().is_some();
    if ops.len() <= MAX_STORED_OPS {
        splice_cigar(body, ops)?;
        if had_long_cigar {
            remove_tag(body, *b"CG")?;
        }
    } else {
        let span = span_of(ops);
        let bases = record.base_count() as u64;
        if let Some(too_long) = [span, bases].into_iter().find(|&it| it > MAX_OP_LENGTH.into()) {
            return Err(EditError::SpanTooLong(too_long));
        }
        check_size(body.len() + 4 * ops.len() + 16)?;
        splice_cigar(body, &[(bases as u32) << 4 | 4, (span as u32) << 4 | 3])?;
        remove_tag(body, *b"CG")?;
        body.extend_from_slice(b"CGBI");
        body.extend_from_slice(&(ops.len() as u32).to_le_bytes());
        ops.iter().for_each(|op| body.extend_from_slice(&op.to_le_bytes()));
    }
    update_bin(body)?;
    Ok(())
}

/// Bases of the reference that `ops` consume.
fn span_of(ops: &[u32]) -> u64 {
    let consumes = |op: &&u32| matches!(*op & 0xf, 0 | 2 | 3 | 7 | 8);
    ops.iter().filter(consumes).map(|op| u64::from(op >> 4)).sum()
}

/// Writes `ops` (at most 65,535) in place of the stored ones.
fn splice_cigar(body: &mut Vec<u8>, ops: &[u32]) -> Result<(), EditError> {
    let record = RecordRef::new(body)?;
    let start = FIXED_BYTES + record.name().len() + 1;
    let (old_bytes, new_bytes) = (record.cigar_bytes().len(), 4 * ops.len());
    let old_len = body.len();
    let new_len = old_len - old_bytes + new_bytes;
    check_size(new_len)?;
    body.resize(old_len.max(new_len), 0);
    body.copy_within(start + old_bytes..old_len, start + new_bytes);
    body.truncate(new_len);
    for (place, op) in body[start..start + new_bytes].chunks_exact_mut(4).zip(ops) {
        place.copy_from_slice(&op.to_le_bytes());
    }
    put(body, 12, (ops.len() as u16).to_le_bytes())?;
    Ok(())
}

fn check_size(bytes: usize) -> Result<(), EditError> {
    if bytes > MAX_BODY_BYTES { Err(EditError::TooLarge(bytes)) } else { Ok(()) }
}

/// Every auxiliary field is well formed: what is appended after them can be read again.
fn check_fields(record: &RecordRef<'_>) -> Result<(), RecordError> {
    record.aux().try_for_each(|field| field.map(|_| ()))
}

/// The first field `tag`, after a look at all fields: what is appended can be read again.
fn find_in_good_fields(
    record: &RecordRef<'_>,
    tag: [u8; 2],
) -> Result<Option<Range<usize>>, RecordError> {
    let mut fields = record.aux();
    let mut found = None;
    loop {
        let start = fields.offset();
        match fields.next() {
            None => return Ok(found),
            Some(Err(error)) => return Err(error),
            Some(Ok((name, _))) if name == tag && found.is_none() => {
                found = Some(start..fields.offset());
            }
            Some(Ok(_)) => {}
        }
    }
}

/// Bytes of the first field `tag` in the body, from its name to its end.
///
/// # Errors
/// A malformed record, or a malformed field before it.
pub fn find_tag(body: &[u8], tag: [u8; 2]) -> Result<Option<Range<usize>>, RecordError> {
    let mut fields = RecordRef::new(body)?.aux();
    loop {
        let start = fields.offset();
        match fields.next() {
            None => return Ok(None),
            Some(Err(error)) => return Err(error),
            Some(Ok((name, _))) if name == tag => return Ok(Some(start..fields.offset())),
            Some(Ok(_)) => {}
        }
    }
}

/// Removes the first field `tag`; whether there was one.
///
/// # Errors
/// A malformed record, or a malformed field before it.
pub fn remove_tag(body: &mut Vec<u8>, tag: [u8; 2]) -> Result<bool, RecordError> {
    let found = find_tag(body, tag)?;
    if let Some(range) = &found {
        body.drain(range.clone());
    }
    Ok(found.is_some())
}

/// Keeps the fields for which `keep` says so.
///
/// # Errors
/// A malformed record or field.
pub fn retain_tags(
    body: &mut Vec<u8>,
    mut keep: impl FnMut([u8; 2], AuxValue<'_>) -> bool,
) -> Result<(), RecordError> {
    let record = RecordRef::new(body)?;
    check_fields(&record)?;
    let mut read = record.aux_start();
    let mut write = read;
    while read < body.len() {
        let mut fields = AuxFields::of(&body[read..]);
        let Some(Ok((tag, value))) = fields.next() else { return Err(RecordError::BadAux(read)) };
        let end = read + fields.offset();
        if keep(tag, value) {
            body.copy_within(read..end, write);
            write += end - read;
        }
        read = end;
    }
    body.truncate(write);
    Ok(())
}

/// Appends a field after the others, whether or not the record has one of that name.
///
/// # Errors
/// A malformed record or field, a value that cannot be written, or a record too large for BAM.
pub fn append_tag(body: &mut Vec<u8>, tag: [u8; 2], value: AuxValue<'_>) -> Result<(), EditError> {
    check_fields(&RecordRef::new(body)?)?;
    check_value(tag, value)?;
    check_size(body.len().saturating_add(encoded_bytes(value)))?;
    push_field(body, tag, value);
    Ok(())
}

/// Removes the first field `tag` and appends the new one, as samtools does.
///
/// # Errors
/// As [`append_tag`].
pub fn set_tag(body: &mut Vec<u8>, tag: [u8; 2], value: AuxValue<'_>) -> Result<(), EditError> {
    let old = find_in_good_fields(&RecordRef::new(body)?, tag)?;
    check_value(tag, value)?;
    check_size(body.len().saturating_add(encoded_bytes(value)))?;
    if let Some(old) = old {
        body.drain(old);
    }
    push_field(body, tag, value);
    Ok(())
}

/// Writes the new field at the place of the first field `tag`; appends it where there is none.
///
/// # Errors
/// As [`append_tag`].
pub fn replace_tag(body: &mut Vec<u8>, tag: [u8; 2], value: AuxValue<'_>) -> Result<(), EditError> {
    let old = find_in_good_fields(&RecordRef::new(body)?, tag)?;
    check_value(tag, value)?;
    check_size(body.len().saturating_add(encoded_bytes(value)))?;
    push_field(body, tag, value);
    if let Some(old) = old {
        body[old.start..].rotate_right(encoded_bytes(value));
        let start = old.start + encoded_bytes(value);
        body.drain(start..start + old.len());
    }
    Ok(())
}

fn check_value(tag: [u8; 2], value: AuxValue<'_>) -> Result<(), EditError> {
    match value {
        AuxValue::String(text) | AuxValue::Hex(text) if text.contains(&0) => {
            Err(EditError::NulInText(tag))
        }
        AuxValue::Array(array) => {
            let element_bytes = match array.subtype {
                b'c' | b'C' => 1,
                b's' | b'S' => 2,
                b'i' | b'I' | b'f' => 4,
                _ => return Err(EditError::BadArray(tag)),
            };
            let is_whole = array.bytes.len().is_multiple_of(element_bytes);
            let is_countable = u32::try_from(array.len()).is_ok();
            if is_whole && is_countable { Ok(()) } else { Err(EditError::BadArray(tag)) }
        }
        _ => Ok(()),
    }
}

/// Bytes of a field with this value: name, type and value.
fn encoded_bytes(value: AuxValue<'_>) -> usize {
    3 + match value {
        AuxValue::Character(_) | AuxValue::Int8(_) | AuxValue::UInt8(_) => 1,
        AuxValue::Int16(_) | AuxValue::UInt16(_) => 2,
        AuxValue::Int32(_) | AuxValue::UInt32(_) | AuxValue::Float(_) => 4,
        AuxValue::Double(_) => 8,
        AuxValue::String(text) | AuxValue::Hex(text) => text.len().saturating_add(1),
        AuxValue::Array(array) => array.bytes.len().saturating_add(5),
    }
}

fn push_field(body: &mut Vec<u8>, tag: [u8; 2], value: AuxValue<'_>) {
    let mut fixed = |kind: u8, bytes: &[u8]| {
        body.extend_from_slice(&[tag[0], tag[1], kind]);
        body.extend_from_slice(bytes);
    };
    match value {
        AuxValue::Character(it) => fixed(b'A', &[it]),
        AuxValue::Int8(it) => fixed(b'c', &it.to_le_bytes()),
        AuxValue::UInt8(it) => fixed(b'C', &[it]),
        AuxValue::Int16(it) => fixed(b's', &it.to_le_bytes()),
        AuxValue::UInt16(it) => fixed(b'S', &it.to_le_bytes()),
        AuxValue::Int32(it) => fixed(b'i', &it.to_le_bytes()),
        AuxValue::UInt32(it) => fixed(b'I', &it.to_le_bytes()),
        AuxValue::Float(it) => fixed(b'f', &it.to_le_bytes()),
        AuxValue::Double(it) => fixed(b'd', &it.to_le_bytes()),
        AuxValue::String(text) | AuxValue::Hex(text) => {
            fixed(if matches!(value, AuxValue::String(_)) { b'Z' } else { b'H' }, text);
            body.push(0);
        }
        AuxValue::Array(array) => {
            fixed(b'B', &[array.subtype]);
            body.extend_from_slice(&(array.len() as u32).to_le_bytes());
            body.extend_from_slice(array.bytes);
        }
    }
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;
