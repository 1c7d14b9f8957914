//! One record, read in place.

use super::auxiliary::{AuxFields, AuxValue};
use super::cigar::CIGAR_LETTERS;
use super::cigar::consumes_reference;
use super::error::RecordError;
use super::flags::Flags;
use super::numbers::{u16_at, u32_at};
use crate::index::BinningScheme;

/// Bytes of a body before the read name.
pub const FIXED_BYTES: usize = 32;

/// Letter of each 4-bit base code (SAM specification 4.2.3).
pub const BASE_LETTERS: &[u8; 16] = b"=ACMGRSVTWYHKDBN";

#[inline]
fn i32_at(bytes: &[u8], offset: usize) -> i32 {
    u32_at(bytes, offset).cast_signed()
}

/// A record's body whose lengths have been checked: no getter can run out of bounds.
#[derive(Debug, Clone, Copy)]
pub struct RecordRef<'a> {
    body: &'a [u8],
    cigar_start: usize,
    bases_start: usize,
    qualities_start: usize,
    aux_start: usize,
}

impl<'a> RecordRef<'a> {
    /// Checks every length and code of `body` (one record without `block_size`); auxiliary fields
    /// are checked when they are iterated.
    ///
    /// # Errors
    /// A [`RecordError`] that names the field.
    pub fn new(body: &'a [u8]) -> Result<Self, RecordError> {
        if body.len() < FIXED_BYTES {
            return Err(RecordError::TooShort(body.len()));
        }
        for (field, offset) in [("refID", 0), ("pos", 4), ("next_refID", 20)] {
            let value = i32_at(body, offset);
            if value < -1 {
                return Err(RecordError::BadValue { field, value });
            }
        }
        let base_count = usize::try_from(i32_at(body, 16))
            .map_err(|_| RecordError::BadValue { field: "l_seq", value: i32_at(body, 16) })?;
        let cigar_start = FIXED_BYTES + usize::from(body[8]);
        let bases_start = cigar_start + 4 * usize::from(u16_at(body, 12));
        let qualities_start = bases_start + base_count.div_ceil(2);
        let aux_start = qualities_start + base_count;
        if aux_start > body.len() {
            return Err(RecordError::Overflow {
                needed_bytes: aux_start,
                available_bytes: body.len(),
            });
        }
        if cigar_start == FIXED_BYTES || body[cigar_start - 1] != 0 {
            return Err(RecordError::BadName);
        }
        let cigar = &body[cigar_start..bases_start];
        if let Some(op) = cigar.iter().step_by(4).map(|byte| byte & 0xf).find(|&op| op > 8) {
            return Err(RecordError::BadCigar(op));
        }
        Ok(Self { body, cigar_start, bases_start, qualities_start, aux_start })
    }

    /// The whole body.
    #[must_use]
    pub fn body(&self) -> &'a [u8] {
        self.body
    }

    /// Index of the reference, -1 for none.
    #[must_use]
    #[inline]
    pub fn reference_id(&self) -> i32 {
        i32_at(self.body, 0)
    }

    /// 0-based leftmost position, -1 for none.
    #[must_use]
    #[inline]
    pub fn position(&self) -> i32 {
        i32_at(self.body, 4)
    }

    /// MAPQ.
    #[must_use]
    #[inline]
    pub fn mapping_quality(&self) -> u8 {
        self.body[9]
    }

    /// The BAI bin as stored.
    #[must_use]
    pub fn bin(&self) -> u16 {
        u16_at(self.body, 10)
    }

    /// FLAG, see [`Flags`].
    #[must_use]
    #[inline]
    pub fn flags(&self) -> u16 {
        u16_at(self.body, 14)
    }

    /// Whether every bit of `bits` is set in FLAG.
    #[must_use]
    #[inline]
    pub fn has_flags(&self, bits: u16) -> bool {
        self.flags() & bits == bits
    }

    /// Index of the mate's reference, -1 for none.
    #[must_use]
    #[inline]
    pub fn mate_reference_id(&self) -> i32 {
        i32_at(self.body, 20)
    }

    /// 0-based position of the mate, -1 for none. Not checked: real files (htslib's own test data)
    /// hold arbitrary values here, and samtools prints them.
    #[must_use]
    #[inline]
    pub fn mate_position(&self) -> i32 {
        i32_at(self.body, 24)
    }

    /// TLEN.
    #[must_use]
    #[inline]
    pub fn template_length(&self) -> i32 {
        i32_at(self.body, 28)
    }

    /// Read name, without its NUL.
    #[must_use]
    #[inline]
    pub fn name(&self) -> &'a [u8] {
        &self.body[FIXED_BYTES..self.cigar_start - 1]
    }

    /// CIGAR as stored: 4 little-endian bytes per operation.
    #[must_use]
    #[inline]
    pub(crate) fn cigar_bytes(&self) -> &'a [u8] {
        &self.body[self.cigar_start..self.bases_start]
    }

    /// CIGAR operations as stored.
    #[must_use]
    #[inline]
    pub fn cigar(&self) -> CigarOps<'a> {
        CigarOps { bytes: self.cigar_bytes() }
    }

    /// CIGAR as meant: that of the `CG` tag where the stored one is its placeholder
    /// (`<l_seq>S<reference length>N`, SAM specification 4.2.2), else the stored one.
    #[must_use]
    #[inline]
    pub fn full_cigar(&self) -> CigarOps<'a> {
        self.long_cigar().unwrap_or_else(|| self.cigar())
    }

    /// The operations in the `CG` tag, where the stored CIGAR is a placeholder for them.
    #[must_use]
    pub fn long_cigar(&self) -> Option<CigarOps<'a>> {
        let (op, len) = self.cigar().next()?;
        let stored_ops = self.cigar_bytes().len() / 4;
        let is_placeholder = op == b'S' && len as usize == self.base_count();
        if !is_placeholder || self.reference_id() < 0 || self.position() < 0 {
            return None;
        }
        let Ok(Some(AuxValue::Array(array))) = self.find_aux(*b"CG") else { return None };
        let ops = array.bytes.len() / 4;
        let is_cigar = matches!(array.subtype, b'I' | b'i') && ops >= stored_ops;
        let is_known = array.bytes.iter().step_by(4).all(|byte| byte & 0xf <= 8);
        (is_cigar && is_known).then_some(CigarOps { bytes: array.bytes })
    }

    /// Number of bases.
    #[must_use]
    #[inline]
    pub fn base_count(&self) -> usize {
        self.aux_start - self.qualities_start
    }

    /// Bases as stored: two 4-bit codes a byte, the first in the high half.
    #[must_use]
    #[inline]
    pub fn packed_bases(&self) -> &'a [u8] {
        &self.body[self.bases_start..self.qualities_start]
    }

    /// The 4-bit code of base `index` (see [`BASE_LETTERS`]), `None` after the last.
    #[must_use]
    pub fn base_code(&self, index: usize) -> Option<u8> {
        if index >= self.base_count() {
            return None;
        }
        let byte = self.packed_bases()[index / 2];
        Some(if index.is_multiple_of(2) { byte >> 4 } else { byte & 0xf })
    }

    /// Phred qualities, one a byte; all 0xff when absent.
    #[must_use]
    #[inline]
    pub fn qualities(&self) -> &'a [u8] {
        &self.body[self.qualities_start..self.aux_start]
    }

    /// Offset of the auxiliary fields in the body.
    #[must_use]
    pub fn aux_start(&self) -> usize {
        self.aux_start
    }

    /// Auxiliary fields in file order.
    #[must_use]
    #[inline]
    pub fn aux(&self) -> AuxFields<'a> {
        AuxFields::new(self.body, self.aux_start)
    }

    /// The first auxiliary field named `tag`.
    ///
    /// # Errors
    /// [`RecordError::BadAux`] when a field before it is malformed.
    pub fn find_aux(&self, tag: [u8; 2]) -> Result<Option<AuxValue<'a>>, RecordError> {
        let mut fields = self.aux();
        while let Some(name) = fields.peek() {
            if name == tag {
                return fields.next().transpose().map(|field| field.map(|(_, value)| value));
            }
            fields.skip_one()?;
        }
        Ok(None)
    }

    /// 0-based position after the last aligned base. An unmapped record, or one whose CIGAR
    /// consumes no reference, counts as 1 base, as htslib's binning does.
    #[must_use]
    pub fn reference_end(&self) -> i64 {
        let span = if self.has_flags(Flags::UNMAPPED) { 0 } else { self.cigar().reference_span() };
        i64::from(self.position()) + span.max(1)
    }
}

/// Iterator over CIGAR operations: letter and length.
#[derive(Debug, Clone, Copy)]
pub struct CigarOps<'a> {
    bytes: &'a [u8],
}

impl<'a> CigarOps<'a> {
    /// The operations in a whole number of 4-byte words, each with a code of at most 8.
    pub(crate) fn of(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Bases of the reference that these operations consume.
    #[must_use]
    #[inline]
    pub fn reference_span(self) -> i64 {
        self.codes()
            .filter(|&(code, _)| consumes_reference(code))
            .map(|(_, len)| i64::from(len))
            .sum()
    }

    /// Operations as (code 0..=8, length).
    #[inline]
    pub fn codes(self) -> impl Iterator<Item = (u8, u32)> {
        self.bytes.chunks_exact(4).map(|chunk| {
            let word = u32_at(chunk, 0);
            ((word & 0xf) as u8, word >> 4)
        })
    }
}

impl Iterator for CigarOps<'_> {
    /// Letter of [`CIGAR_LETTERS`] and length.
    type Item = (u8, u32);

    fn next(&mut self) -> Option<Self::Item> {
        let (code, len) = self.codes().next()?;
        self.bytes = &self.bytes[4..];
        Some((CIGAR_LETTERS[usize::from(code)], len))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = self.bytes.len() / 4;
        (len, Some(len))
    }
}

impl ExactSizeIterator for CigarOps<'_> {}

/// Iterator over the bodies of a run of records, each preceded by its 32-bit length.
#[derive(Debug, Clone)]
pub struct FramedRecords<'a> {
    bytes: &'a [u8],
    offset: usize,
}

/// The bodies in `bytes`, a run of whole records each preceded by its `block_size`. The iterator
/// ends after the first error.
#[must_use]
pub fn framed_records(bytes: &[u8]) -> FramedRecords<'_> {
    FramedRecords { bytes, offset: 0 }
}

impl FramedRecords<'_> {
    /// Offset of the next record's `block_size` in the run.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.offset
    }
}

impl<'a> Iterator for FramedRecords<'a> {
    type Item = Result<&'a [u8], RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = &self.bytes[self.offset..];
        if rest.is_empty() {
            return None;
        }
        let body_bytes = rest.get(..4).map(|len| u32_at(len, 0) as usize);
        let needed_bytes = body_bytes.map_or(4, |len| len.saturating_add(4));
        if let Some(body) = body_bytes.and_then(|_| rest.get(4..needed_bytes)) {
            self.offset += needed_bytes;
            return Some(Ok(body));
        }
        let offset = std::mem::replace(&mut self.offset, self.bytes.len());
        let available_bytes = rest.len();
        Some(Err(RecordError::TruncatedFrame { offset, needed_bytes, available_bytes }))
    }
}

/// Sets or clears the duplicate bit of a body; a body too short to have a FLAG is left alone.
pub fn set_duplicate(body: &mut [u8], duplicate: bool) {
    const HIGH_BIT: u8 = (Flags::DUPLICATE >> 8) as u8;
    if let Some(high_byte) = body.get_mut(15) {
        *high_byte = if duplicate { *high_byte | HIGH_BIT } else { *high_byte & !HIGH_BIT };
    }
}

/// Sets the `bin` of a body; a body too short to have one is left alone.
pub fn set_bin(body: &mut [u8], bin: u16) {
    if let Some(field) = body.get_mut(10..12) {
        field.copy_from_slice(&bin.to_le_bytes());
    }
}

/// The value of the `bin` field for an alignment over `[start, end)` (SAM specification 4.2.1,
/// 5.3). Beyond 2^29 it is cut to 16 bits, as htslib does; nothing reads it there.
#[must_use]
pub fn reg2bin(start: i64, end: i64) -> u16 {
    (BinningScheme::BAI.bin(start, end) & 0xffff) as u16
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
