//! One line of SAM text to the body of a BAM record, as htslib makes it.
//!
//! Source: SAM specification v1, sections 1.4, 1.5 and 4.2. What the specification does not allow
//! is refused. Where it is silent the result is htslib's: integers of auxiliary fields take the
//! smallest type, a mapped record without reference, position or CIGAR becomes an unmapped one.

use std::collections::HashMap;

use super::aux_text;
use super::decimal::decimal;
use super::error::{SamError, shown};
use crate::bam::{CigarOps, Flags, Reference, cigar, hard_clips_are_at_the_ends, reg2bin};
use crate::names::check_read_name;

/// Most CIGAR operations that a record's own field holds; more go to the `CG` field (SAM
/// specification 4.2.2).
const MAX_CIGAR_OPS: usize = 0xffff;

/// Longest CIGAR operation: 28 bits.
const MAX_LENGTH: u64 = cigar::MAX_OP_LENGTH as u64;

/// BAM's code of each letter of SEQ, 255 for what may not be there. U is T, as in htslib 1.24 (1.16
/// has N); letters that are no IUPAC code are N; case is lost (SAM specification 4.2.3).
const BASE_CODES: [u8; 256] = base_codes();

const fn base_codes() -> [u8; 256] {
    let mut codes = [255; 256];
    let mut letter = b'A';
    while letter <= b'Z' {
        codes[letter as usize] = 15;
        codes[letter.to_ascii_lowercase() as usize] = 15;
        letter += 1;
    }
    codes[b'.' as usize] = 15;
    let mut code = 0;
    while code < 16 {
        let letter = crate::bam::BASE_LETTERS[code];
        codes[letter as usize] = code as u8;
        codes[letter.to_ascii_lowercase() as usize] = code as u8;
        code += 1;
    }
    codes[b'U' as usize] = codes[b'T' as usize];
    codes[b'u' as usize] = codes[b'T' as usize];
    codes
}

/// Indices of reference names.
#[derive(Debug, Clone, Default)]
pub struct ReferenceNames {
    ids: HashMap<Vec<u8>, i32>,
}

impl ReferenceNames {
    /// Of a header's references.
    #[must_use]
    pub fn new(references: &[Reference]) -> Self {
        let ids = references.iter().zip(0..).map(|(it, id)| (it.name.as_bytes().to_vec(), id));
        Self { ids: ids.collect() }
    }

    /// Index of the reference `name`.
    #[must_use]
    pub(crate) fn id(&self, name: &[u8]) -> Option<i32> {
        self.ids.get(name).copied()
    }

    fn field(&self, field: &'static str, name: &[u8]) -> Result<i32, SamError> {
        if name == b"*" {
            return Ok(-1);
        }
        self.id(name).ok_or_else(|| SamError::UnknownReference {
            field,
            name: shown(name),
            has_references: !self.ids.is_empty(),
        })
    }
}

fn bad(field: &'static str, text: &[u8]) -> SamError {
    SamError::BadField { field, text: shown(text) }
}

/// Appends the body of a BAM record (without `block_size`) made of `line` to `out`. `line` has no
/// newline at its end; a carriage return there is dropped.
///
/// # Errors
/// A [`SamError`] that names the first field at fault; `out` is then as it was.
pub fn parse_record(
    line: &[u8],
    names: &ReferenceNames,
    out: &mut Vec<u8>,
) -> Result<(), SamError> {
    let start = out.len();
    let result = append(line.strip_suffix(b"\r").unwrap_or(line), names, out);
    if result.is_err() {
        out.truncate(start);
    }
    result
}

/// The fields before the auxiliary ones, and the rest.
fn split(line: &[u8]) -> Result<([&[u8]; 11], &[u8]), SamError> {
    let mut fields = [&line[..0]; 11];
    let mut rest = Some(line);
    for (count, field) in fields.iter_mut().enumerate() {
        let Some(text) = rest else { return Err(SamError::TooFewFields(count)) };
        (*field, rest) = match memchr::memchr(b'\t', text) {
            Some(tab) => (&text[..tab], Some(&text[tab + 1..])),
            None => (text, None),
        };
    }
    Ok((fields, rest.unwrap_or_default()))
}

fn append(line: &[u8], names: &ReferenceNames, out: &mut Vec<u8>) -> Result<(), SamError> {
    let (fields, rest) = split(line)?;
    let [name, flags, rname, pos, mapq, cigar, rnext, pnext, tlen, bases, qualities] = fields;
    check_read_name(name)?;
    let mut flags = number("FLAG", flags, 0, 0xffff)? as u16;
    let mut reference_id = names.field("RNAME", rname)?;
    let position = number("POS", pos, 0, i32::MAX.into())? as i32 - 1;
    let mapping_quality = number("MAPQ", mapq, 0, 255)? as u8;
    let mut mate_id = if rnext == b"=" { None } else { Some(names.field("RNEXT", rnext)?) };
    if position < 0 {
        reference_id = -1;
    }
    let mate_id_now = *mate_id.get_or_insert(reference_id);
    let mate_position = number("PNEXT", pnext, 0, i32::MAX.into())? as i32 - 1;
    let mate_id = if mate_position < 0 { -1 } else { mate_id_now };
    let template_length = number("TLEN", tlen, i32::MIN.into(), i32::MAX.into())? as i32;
    if reference_id < 0 || cigar == b"*" {
        flags |= Flags::UNMAPPED;
    }
    let start = out.len();
    for word in [reference_id, position] {
        out.extend_from_slice(&word.to_le_bytes());
    }
    // Name length (at most 255 with its NUL), MAPQ, bin, number of operations, FLAG, l_seq.
    out.extend_from_slice(&[name.len() as u8 + 1, mapping_quality, 0, 0, 0, 0]);
    out.extend_from_slice(&flags.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    for word in [mate_id, mate_position, template_length] {
        out.extend_from_slice(&word.to_le_bytes());
    }
    out.extend_from_slice(name);
    out.push(0);
    let cigar_start = out.len();
    let lengths = append_cigar(cigar, out)?;
    let bases_start = out.len();
    let base_count = append_bases(bases, out)?;
    if lengths.ops > 0 && bases != b"*" && lengths.bases != u64::from(base_count) {
        let (cigar_bases, bases) = (lengths.bases, base_count);
        return Err(SamError::CigarLength { cigar_bases, bases });
    }
    append_qualities(qualities, base_count as usize, out)?;
    let is_unmapped = flags & Flags::UNMAPPED != 0;
    let span = if is_unmapped { 1 } else { lengths.span.max(1) };
    let end = i64::from(position) + span;
    let bin = reg2bin(position.into(), end);
    out[start + 10..start + 12].copy_from_slice(&bin.to_le_bytes());
    out[start + 16..start + 20].copy_from_slice(&base_count.to_le_bytes());
    aux_text::append_fields(rest, out)?;
    let ops = if lengths.ops > MAX_CIGAR_OPS {
        move_cigar(cigar_start..bases_start, base_count, lengths.span, out)?
    } else {
        lengths.ops as u16
    };
    out[start + 12..start + 14].copy_from_slice(&ops.to_le_bytes());
    Ok(())
}

fn number(field: &'static str, text: &[u8], lowest: i64, highest: i64) -> Result<i64, SamError> {
    decimal(text, lowest, highest).ok_or_else(|| bad(field, text))
}

/// Sums of a CIGAR.
struct Lengths {
    ops: usize,
    bases: u64,
    span: i64,
}

fn append_cigar(text: &[u8], out: &mut Vec<u8>) -> Result<Lengths, SamError> {
    let mut lengths = Lengths { ops: 0, bases: 0, span: 0 };
    if text == b"*" {
        return Ok(lengths);
    }
    let start = out.len();
    for op in cigar::parse(text) {
        let (code, length) = op.map_err(|_| bad("CIGAR", text))?;
        out.extend_from_slice(&(length << 4 | u32::from(code)).to_le_bytes());
        lengths.ops += 1;
        lengths.bases += if cigar::consumes_read(code) { length.into() } else { 0 };
        lengths.span += if cigar::consumes_reference(code) { length.into() } else { 0 };
    }
    let ops = CigarOps::of(&out[start..]);
    if lengths.ops == 0 || !hard_clips_are_at_the_ends(ops) {
        return Err(bad("CIGAR", text));
    }
    Ok(lengths)
}

/// Packs SEQ, two bases a byte, and returns how many there are.
fn append_bases(text: &[u8], out: &mut Vec<u8>) -> Result<u32, SamError> {
    if text == b"*" {
        return Ok(0);
    }
    let count = i32::try_from(text.len()).map_err(|_| bad("SEQ", text))?;
    let code = |letter: u8| BASE_CODES[usize::from(letter)];
    let is_good = text.iter().fold(true, |good, &letter| good & (code(letter) < 16));
    if !is_good || text.is_empty() {
        return Err(bad("SEQ", text));
    }
    let (pairs, last) = text.as_chunks::<2>();
    out.extend(pairs.iter().map(|&[high, low]| code(high) << 4 | code(low)));
    out.extend(last.iter().map(|&high| code(high) << 4));
    Ok(count.cast_unsigned())
}

fn append_qualities(text: &[u8], base_count: usize, out: &mut Vec<u8>) -> Result<(), SamError> {
    if text == b"*" {
        out.resize(out.len() + base_count, 0xff);
        return Ok(());
    }
    if text.len() != base_count {
        return Err(SamError::QualityLength { qualities: text.len(), bases: base_count });
    }
    if text.is_empty() || !text.iter().fold(true, |good, byte| good & byte.is_ascii_graphic()) {
        return Err(bad("QUAL", text));
    }
    out.extend(text.iter().map(|byte| byte - b'!'));
    Ok(())
}

/// Moves a CIGAR of too many operations to a `CG` field at the end and leaves
/// `<l_seq>S<reference length>N` in its place (SAM specification 4.2.2). Returns their number.
fn move_cigar(
    words: std::ops::Range<usize>,
    base_count: u32,
    span: i64,
    out: &mut Vec<u8>,
) -> Result<u16, SamError> {
    let ops = words.len() / 4;
    if span as u64 > MAX_LENGTH || u64::from(base_count) > MAX_LENGTH {
        return Err(SamError::CigarTooLong { ops });
    }
    // The count fits: a line of that many operations would be beyond 8 GiB.
    out.extend_from_slice(b"CGBI");
    out.extend_from_slice(&(ops as u32).to_le_bytes());
    out.extend_from_within(words.clone());
    let placeholder = [(base_count, cigar::SOFT_CLIP), (span as u32, cigar::SKIP)]
        .map(|(length, code)| (length << 4 | u32::from(code)).to_le_bytes());
    out.splice(words, placeholder.concat());
    Ok(2)
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
