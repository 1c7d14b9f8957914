//! Headers of SLOW5 and BLOW5.
//!
//! Text (SLOW5 specification 1.0.0, "SLOW5 ASCII"): `#slow5_version`, `#num_read_groups`, a line
//! `@name value...` per attribute with one value per read group, the types of the columns, their
//! names; fields are separated by tabs, a missing value is `.`. BLOW5 has 64 bytes before the
//! same text without its first two lines, which say what those would, and the text's length.
//!
//! Versions 0.1.0 to 1.0.0 are read. Attributes come back in byte order, as slow5lib writes them.

use memchr::memchr;

use super::error::LineDefect;
use super::limits::MAX_HEADER_BYTES;
use super::{Compression, HeaderError, RecordCompression, SignalCompression, number};
use crate::signal::{AuxiliaryField, AuxiliaryType, SignalHeader, Slow5Version};

/// First bytes of a BLOW5 file.
pub(crate) const BINARY_MAGIC: [u8; 6] = *b"BLOW5\x01";
/// First bytes of a SLOW5 file.
pub(crate) const TEXT_MAGIC: &[u8] = b"#slow5_version\t";

/// Types of the columns that every file has.
const PRIMARY_TYPES: &[u8] =
    b"#char*\tuint32_t\tdouble\tdouble\tdouble\tdouble\tuint64_t\tint16_t*";
/// Names of the columns that every file has.
const PRIMARY_NAMES: &[u8] =
    b"#read_id\tread_group\tdigitisation\toffset\trange\tsampling_rate\tlen_raw_signal\traw_signal";
const READ_GROUPS: &[u8] = b"#num_read_groups\t";
/// Offset of the length of BLOW5's text.
const TEXT_LENGTH_AT: usize = 64;
/// Offset of BLOW5's text.
const TEXT_AT: usize = 68;
/// Most labels of an enum; the value 255 is "missing".
const MAX_LABELS: usize = 255;

/// Reads the header at the start of `bytes`, which may go on after it or end within it: `None`
/// then. Gives the header and its length in bytes.
///
/// # Errors
/// When no further byte could make it a header.
pub fn parse_text(bytes: &[u8]) -> Result<Option<(SignalHeader, usize)>, HeaderError> {
    let shown = bytes.len().min(TEXT_MAGIC.len());
    if bytes[..shown] != TEXT_MAGIC[..shown] {
        return Err(HeaderError::NotSlow5);
    }
    let mut lines = Lines { bytes, at: 0, line: 0 };
    let Some(line) = lines.next()? else { return Ok(None) };
    let version = parse_version(&line[TEXT_MAGIC.len()..])
        .ok_or_else(|| lines.defect(LineDefect::BadVersion))?;
    check_version(version)?;
    let Some(line) = lines.next()? else { return Ok(None) };
    let read_groups = line
        .strip_prefix(READ_GROUPS)
        .and_then(number::parse_unsigned)
        .filter(|&groups: &u32| groups > 0)
        .ok_or_else(|| lines.defect(LineDefect::BadReadGroups))?;
    let mut header = SignalHeader { version, read_groups, ..SignalHeader::default() };
    Ok(parse_body(&mut lines, &mut header)?.then_some((header, lines.at)))
}

/// Appends the header as text. It must be one that [`check`] finds good.
pub fn append_text(header: &SignalHeader, out: &mut Vec<u8>) {
    let Slow5Version(major, minor, patch) = header.version;
    out.extend_from_slice(TEXT_MAGIC);
    out.extend_from_slice(format!("{major}.{minor}.{patch}\n").as_bytes());
    out.extend_from_slice(READ_GROUPS);
    number::append_integer(header.read_groups, out);
    out.push(b'\n');
    append_body(header, out);
}

/// Reads the binary header at the start of `bytes`, as [`parse_text`] does. Signal compression
/// counts from version 0.2.0 on, as in slow5lib.
///
/// # Errors
/// When no further byte could make it a header.
pub fn parse_binary(
    bytes: &[u8],
) -> Result<Option<(SignalHeader, Compression, usize)>, HeaderError> {
    let shown = bytes.len().min(BINARY_MAGIC.len());
    if bytes[..shown] != BINARY_MAGIC[..shown] {
        return Err(HeaderError::NotBlow5);
    }
    let Some(fixed) = bytes.first_chunk::<TEXT_AT>() else { return Ok(None) };
    let version = Slow5Version(fixed[6], fixed[7], fixed[8]);
    check_version(version)?;
    let record = match fixed[9] {
        0 => RecordCompression::None,
        1 => RecordCompression::Zlib,
        2 => RecordCompression::Zstd,
        code => return Err(HeaderError::RecordCompression(code)),
    };
    let signal = match fixed[14] {
        _ if version < Slow5Version::V0_2_0 => SignalCompression::None,
        0 => SignalCompression::None,
        1 => SignalCompression::SvbZd,
        2 => SignalCompression::ExZd,
        code => return Err(HeaderError::SignalCompression(code)),
    };
    let read_groups = u32::from_le_bytes([fixed[10], fixed[11], fixed[12], fixed[13]]);
    if read_groups == 0 {
        return Err(HeaderError::Line { line: 0, defect: LineDefect::BadReadGroups });
    }
    let stated_bytes = u32::from_le_bytes([fixed[64], fixed[65], fixed[66], fixed[67]]) as usize;
    if stated_bytes > MAX_HEADER_BYTES {
        return Err(HeaderError::TooLong);
    }
    let Some(text) = bytes[TEXT_AT..].get(..stated_bytes) else { return Ok(None) };
    let mut lines = Lines { bytes: text, at: 0, line: 0 };
    let mut header = SignalHeader { version, read_groups, ..SignalHeader::default() };
    if !parse_body(&mut lines, &mut header)? || lines.at != stated_bytes {
        return Err(HeaderError::TextLength { stated_bytes, parsed_bytes: lines.at });
    }
    Ok(Some((header, Compression { record, signal }, TEXT_AT + stated_bytes)))
}

/// Appends the binary header. Where the header's version is too old for the compression, 0.2.0 is
/// written instead, as slow5lib does.
///
/// # Errors
/// When [`check`] finds the header bad, or its text is longer than [`MAX_HEADER_BYTES`].
pub fn append_binary(
    header: &SignalHeader,
    compression: Compression,
    out: &mut Vec<u8>,
) -> Result<(), HeaderError> {
    check(header)?;
    let Slow5Version(major, minor, patch) = version_for(header.version, compression);
    let start = out.len();
    out.extend_from_slice(&BINARY_MAGIC);
    out.extend_from_slice(&[major, minor, patch]);
    out.push(match compression.record {
        RecordCompression::None => 0,
        RecordCompression::Zlib | RecordCompression::ZlibFast => 1,
        RecordCompression::Zstd => 2,
    });
    out.extend_from_slice(&header.read_groups.to_le_bytes());
    out.push(match compression.signal {
        SignalCompression::None => 0,
        SignalCompression::SvbZd => 1,
        SignalCompression::ExZd => 2,
    });
    out.resize(start + TEXT_AT, 0);
    append_body(header, out);
    let text_bytes = out.len() - start - TEXT_AT;
    let stated = u32::try_from(text_bytes).ok().filter(|_| text_bytes <= MAX_HEADER_BYTES);
    let Some(stated) = stated else {
        out.truncate(start);
        return Err(HeaderError::TooLong);
    };
    out[start + TEXT_LENGTH_AT..start + TEXT_AT].copy_from_slice(&stated.to_le_bytes());
    Ok(())
}

/// The version to be written of a header of `version`: 0.2.0 where it is older and the compression
/// came with that.
#[must_use]
pub fn version_for(version: Slow5Version, compression: Compression) -> Slow5Version {
    let is_new = compression.record == RecordCompression::Zstd
        || compression.signal != SignalCompression::None;
    if is_new { version.max(Slow5Version::V0_2_0) } else { version }
}

/// Whether a header can be written and read back: a known version that has its types, at least one
/// read group, names and values that text can hold.
///
/// # Errors
/// [`HeaderError::Version`] and [`HeaderError::Unwritable`].
pub fn check(header: &SignalHeader) -> Result<(), HeaderError> {
    let bad = |defect| Err(HeaderError::Unwritable(defect));
    let name_of = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
    let splits = |text: &[u8]| text.iter().any(|byte| matches!(byte, b'\t' | b'\n'));
    check_version(header.version)?;
    if header.read_groups == 0 {
        return bad(LineDefect::BadReadGroups);
    }
    for (name, values) in &header.attributes {
        if values.len() != header.read_groups as usize {
            let (name, values, read_groups) = (name_of(name), values.len(), header.read_groups);
            return bad(LineDefect::ValueCount { name, values, read_groups });
        }
        if name.is_empty() || splits(name) || values.iter().any(|value| splits(value)) {
            return bad(LineDefect::BadAttribute(name_of(name)));
        }
    }
    let names = header.auxiliary.iter().map(|field| &field.name[..]).collect();
    if let Some(name) = empty_or_double(names) {
        return bad(LineDefect::BadName(name_of(name)));
    }
    for field in &header.auxiliary {
        if splits(&field.name) {
            return bad(LineDefect::BadName(name_of(&field.name)));
        }
        if let AuxiliaryType::Enum(labels) = &field.kind {
            if header.version < Slow5Version::V0_2_0 {
                return bad(LineDefect::EnumTooEarly);
            }
            if !are_labels(labels) {
                return bad(LineDefect::BadLabels(name_of(&field.name)));
            }
        }
    }
    Ok(())
}

fn check_version(version: Slow5Version) -> Result<(), HeaderError> {
    let known = [Slow5Version::V0_1_0, Slow5Version::V0_2_0, Slow5Version::V1_0_0];
    if known.contains(&version) { Ok(()) } else { Err(HeaderError::Version(version)) }
}

/// `0.2.0` and the like.
fn parse_version(text: &[u8]) -> Option<Slow5Version> {
    let mut numbers = text.split(|&byte| byte == b'.').map(number::parse_unsigned);
    let version = Slow5Version(numbers.next()??, numbers.next()??, numbers.next()??);
    numbers.next().is_none().then_some(version)
}

/// Lines that end in a line feed.
struct Lines<'a> {
    bytes: &'a [u8],
    /// One past the last line given.
    at: usize,
    /// Number of the last line given.
    line: usize,
}

impl<'a> Lines<'a> {
    /// The next line without its line feed; `None` when it has not come whole.
    fn next(&mut self) -> Result<Option<&'a [u8]>, HeaderError> {
        let rest = &self.bytes[self.at..];
        let length = memchr(b'\n', rest);
        if self.at + length.unwrap_or(rest.len()) > MAX_HEADER_BYTES {
            return Err(HeaderError::TooLong);
        }
        let Some(length) = length else { return Ok(None) };
        self.at += length + 1;
        self.line += 1;
        Ok(Some(&rest[..length]))
    }

    fn defect(&self, defect: LineDefect) -> HeaderError {
        HeaderError::Line { line: self.line, defect }
    }
}

/// Attributes, types and names. `false` when they have not come whole.
fn parse_body(lines: &mut Lines<'_>, header: &mut SignalHeader) -> Result<bool, HeaderError> {
    let types = loop {
        let Some(line) = lines.next()? else { return Ok(false) };
        if let Some(types) = line.strip_prefix(PRIMARY_TYPES) {
            break types;
        }
        let attribute = line.strip_prefix(b"@");
        let attribute = attribute.ok_or_else(|| lines.defect(LineDefect::Unexpected))?;
        parse_attribute(attribute, header).map_err(|defect| lines.defect(defect))?;
    };
    let kinds = parse_types(types).map_err(|defect| lines.defect(defect))?;
    let Some(line) = lines.next()? else { return Ok(false) };
    let names = line.strip_prefix(PRIMARY_NAMES);
    let names = names.ok_or_else(|| lines.defect(LineDefect::NoColumns))?;
    header.auxiliary = name_fields(kinds, names).map_err(|defect| lines.defect(defect))?;
    Ok(true)
}

fn parse_attribute(line: &[u8], header: &mut SignalHeader) -> Result<(), LineDefect> {
    let mut fields = line.split(|&byte| byte == b'\t');
    let name = fields.next().unwrap_or_default();
    let shown = || String::from_utf8_lossy(name).into_owned();
    if name.is_empty() {
        return Err(LineDefect::BadAttribute(shown()));
    }
    let values = fields.clone().count();
    if values != header.read_groups as usize {
        let read_groups = header.read_groups;
        return Err(LineDefect::ValueCount { name: shown(), values, read_groups });
    }
    let values = fields.map(|value| if value == b"." { Vec::new() } else { value.to_vec() });
    let values = values.collect();
    match header.attributes.insert(name.to_vec(), values) {
        None => Ok(()),
        Some(_) => Err(LineDefect::DuplicateAttribute(shown())),
    }
}

/// Fields after the primary columns: each follows a tab.
fn columns(text: &[u8]) -> Option<Vec<&[u8]>> {
    if text.is_empty() {
        return Some(Vec::new());
    }
    Some(text.strip_prefix(b"\t")?.split(|&byte| byte == b'\t').collect())
}

/// Types of the auxiliary columns, each with whether it is an array.
fn parse_types(text: &[u8]) -> Result<Vec<(AuxiliaryType, bool)>, LineDefect> {
    let unknown = |text| LineDefect::UnknownType(String::from_utf8_lossy(text).into_owned());
    let columns = columns(text).ok_or_else(|| unknown(text))?;
    columns.into_iter().map(|text| parse_type(text).ok_or_else(|| unknown(text))?).collect()
}

type ParsedType = Result<(AuxiliaryType, bool), LineDefect>;

/// One type; `None` when there is none of this name.
fn parse_type(text: &[u8]) -> Option<ParsedType> {
    if let Some(rest) = text.strip_prefix(b"enum") {
        let (is_array, rest) = match rest.strip_prefix(b"*") {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        let labels = rest.strip_prefix(b"{").and_then(|rest| rest.strip_suffix(b"}"));
        let labels = labels.map(|labels| {
            labels.split(|&byte| byte == b',').map(<[u8]>::to_vec).collect::<Vec<_>>()
        });
        return Some(match labels.filter(|labels| are_labels(labels)) {
            Some(labels) => Ok((AuxiliaryType::Enum(labels), is_array)),
            None => Err(LineDefect::BadLabels(String::from_utf8_lossy(text).into_owned())),
        });
    }
    let (name, is_array) = match text.strip_suffix(b"*") {
        Some(name) => (name, true),
        None => (text, false),
    };
    let kind = match name {
        b"int8_t" => AuxiliaryType::I8,
        b"int16_t" => AuxiliaryType::I16,
        b"int32_t" => AuxiliaryType::I32,
        b"int64_t" => AuxiliaryType::I64,
        b"uint8_t" => AuxiliaryType::U8,
        b"uint16_t" => AuxiliaryType::U16,
        b"uint32_t" => AuxiliaryType::U32,
        b"uint64_t" => AuxiliaryType::U64,
        b"float" => AuxiliaryType::F32,
        b"double" => AuxiliaryType::F64,
        b"char" => AuxiliaryType::Char,
        _ => return None,
    };
    Some(Ok((kind, is_array)))
}

/// Name of a type without `*` and labels.
fn type_name(kind: &AuxiliaryType) -> &'static str {
    match kind {
        AuxiliaryType::I8 => "int8_t",
        AuxiliaryType::I16 => "int16_t",
        AuxiliaryType::I32 => "int32_t",
        AuxiliaryType::I64 => "int64_t",
        AuxiliaryType::U8 => "uint8_t",
        AuxiliaryType::U16 => "uint16_t",
        AuxiliaryType::U32 => "uint32_t",
        AuxiliaryType::U64 => "uint64_t",
        AuxiliaryType::F32 => "float",
        AuxiliaryType::F64 => "double",
        AuxiliaryType::Char => "char",
        AuxiliaryType::Enum(_) => "enum",
    }
}

/// 1 to 255 different C identifiers.
fn are_labels(labels: &[Vec<u8>]) -> bool {
    let is_identifier = |label: &[u8]| {
        label.first().is_some_and(|first| !first.is_ascii_digit())
            && label.iter().all(|&byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    (1..=MAX_LABELS).contains(&labels.len())
        && labels.iter().all(|label| is_identifier(label))
        && (1..labels.len()).all(|index| !labels[..index].contains(&labels[index]))
}

fn name_fields(
    kinds: Vec<(AuxiliaryType, bool)>,
    names: &[u8],
) -> Result<Vec<AuxiliaryField>, LineDefect> {
    let names = columns(names).ok_or(LineDefect::NoColumns)?;
    if names.len() != kinds.len() {
        return Err(LineDefect::ColumnCount { types: kinds.len(), names: names.len() });
    }
    if let Some(bad) = empty_or_double(names.clone()) {
        return Err(LineDefect::BadName(String::from_utf8_lossy(bad).into_owned()));
    }
    let fields = kinds.into_iter().zip(names);
    Ok(fields
        .map(|((kind, is_array), name)| AuxiliaryField { name: name.to_vec(), kind, is_array })
        .collect())
}

/// A name that is empty or comes twice.
fn empty_or_double(mut names: Vec<&[u8]>) -> Option<&[u8]> {
    names.sort_unstable();
    let double = names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
    double.or_else(|| names.first().copied().filter(|name| name.is_empty()))
}

/// Attributes, types and names.
fn append_body(header: &SignalHeader, out: &mut Vec<u8>) {
    for (name, values) in &header.attributes {
        out.push(b'@');
        out.extend_from_slice(name);
        for value in values {
            out.push(b'\t');
            out.extend_from_slice(if value.is_empty() { b"." } else { value });
        }
        out.push(b'\n');
    }
    out.extend_from_slice(PRIMARY_TYPES);
    for field in &header.auxiliary {
        out.push(b'\t');
        out.extend_from_slice(type_name(&field.kind).as_bytes());
        if field.is_array {
            out.push(b'*');
        }
        if let AuxiliaryType::Enum(labels) = &field.kind {
            out.push(b'{');
            out.extend_from_slice(&labels.join(&b','));
            out.push(b'}');
        }
    }
    out.push(b'\n');
    out.extend_from_slice(PRIMARY_NAMES);
    for field in &header.auxiliary {
        out.push(b'\t');
        out.extend_from_slice(&field.name);
    }
    out.push(b'\n');
}

#[cfg(test)]
#[path = "header_tests.rs"]
mod tests;
