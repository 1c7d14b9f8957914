//! Records as lines of SLOW5 text.
//!
//! Columns are separated by tabs: the eight primary ones in the specification's order, then the
//! auxiliary ones of the header. Elements of arrays are separated by commas; `.` is a missing
//! value. Floating-point numbers have six decimals as in slow5lib, so that text is lossy for them.

use super::{RecordError, header, number};
use crate::signal::{AuxiliaryField, AuxiliaryType, SignalHeader, SignalRead};

/// Characters of a bad value that an error shows.
const SHOWN_BYTES: usize = 20;

/// Replaces `read` by the record of `line`, with or without its line feed. Its id is what is
/// there: [`crate::signal::read_id::check`] says whether it may be one.
///
/// # Errors
/// When the line is not a record of this header; `read` is undefined then.
pub fn parse_record(
    line: &[u8],
    header: &SignalHeader,
    read: &mut SignalRead,
) -> Result<(), RecordError> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    if line.starts_with(header::TEXT_MAGIC) {
        return Err(RecordError::SecondHeader);
    }
    let mut columns = Columns { line, at: Some(0) };
    read.clear();
    read.read_id.extend_from_slice(columns.next("read_id")?);
    read.read_group = columns.value("read_group", number::parse_unsigned)?;
    if read.read_group >= header.read_groups {
        let (read_group, read_groups) = (read.read_group, header.read_groups);
        return Err(RecordError::ReadGroup { read_group, read_groups });
    }
    read.digitisation = columns.value("digitisation", number::parse_float)?;
    read.offset = columns.value("offset", number::parse_float)?;
    read.range = columns.value("range", number::parse_float)?;
    read.sampling_rate = columns.value("sampling_rate", number::parse_float)?;
    let stated = columns.value("len_raw_signal", number::parse_unsigned)?;
    parse_samples(columns.next("raw_signal")?, stated, &mut read.samples)?;
    let SignalRead { auxiliary, .. } = read;
    for field in &header.auxiliary {
        let Some(text) = columns.next_column() else {
            let (values, fields) = (auxiliary.len(), header.auxiliary.len());
            return Err(RecordError::AuxiliaryCount { values, fields });
        };
        auxiliary
            .push_with(|bytes| parse_auxiliary(text, field, bytes))
            .ok_or_else(|| bad_text(&String::from_utf8_lossy(&field.name), text))?;
    }
    if columns.at.is_some() { Err(RecordError::TooManyColumns) } else { Ok(()) }
}

/// The columns of a line, from the front.
struct Columns<'a> {
    line: &'a [u8],
    /// Offset of the next one.
    at: Option<usize>,
}

impl<'a> Columns<'a> {
    fn next_column(&mut self) -> Option<&'a [u8]> {
        let start = self.at?;
        let rest = &self.line[start..];
        let length = memchr::memchr(b'\t', rest);
        self.at = length.map(|length| start + length + 1);
        Some(&rest[..length.unwrap_or(rest.len())])
    }

    fn next(&mut self, field: &'static str) -> Result<&'a [u8], RecordError> {
        self.next_column().ok_or(RecordError::Truncated { field, offset: self.line.len() })
    }

    fn value<T>(
        &mut self,
        field: &'static str,
        parse: impl Fn(&[u8]) -> Option<T>,
    ) -> Result<T, RecordError> {
        let text = self.next(field)?;
        parse(text).ok_or_else(|| bad_text(field, text))
    }
}

fn bad_text(field: &str, text: &[u8]) -> RecordError {
    let shown = &text[..text.len().min(SHOWN_BYTES)];
    RecordError::BadText { field: field.into(), text: String::from_utf8_lossy(shown).into_owned() }
}

fn parse_samples(text: &[u8], stated: u64, samples: &mut Vec<i16>) -> Result<(), RecordError> {
    if !(text.is_empty() || stated == 0 && text == b".") {
        for text in text.split(|&byte| byte == b',') {
            let sample = number::parse_sample(text);
            samples.push(sample.ok_or_else(|| bad_text("raw_signal", text))?);
        }
    }
    let found = samples.len() as u64;
    if found == stated { Ok(()) } else { Err(RecordError::SampleCount { found, stated }) }
}

/// Appends a value's bytes; `None` when the text is not of the field's type.
fn parse_auxiliary(text: &[u8], field: &AuxiliaryField, out: &mut Vec<u8>) -> Option<()> {
    match (field.is_array, &field.kind) {
        (true, _) if text == b"." => {}
        (true, AuxiliaryType::Char) => out.extend_from_slice(text),
        (true, kind) => {
            for text in text.split(|&byte| byte == b',') {
                parse_scalar(text, kind, out)?;
            }
        }
        (false, kind) => parse_scalar(text, kind, out)?,
    }
    Some(())
}

fn parse_scalar(text: &[u8], kind: &AuxiliaryType, out: &mut Vec<u8>) -> Option<()> {
    if text == b"." {
        out.extend_from_slice(&kind.missing());
        return Some(());
    }
    macro_rules! put {
        ($parse:ident, $type:ty) => {
            out.extend_from_slice(&number::$parse::<$type>(text)?.to_le_bytes())
        };
    }
    match kind {
        AuxiliaryType::I8 => put!(parse_signed, i8),
        AuxiliaryType::I16 => put!(parse_signed, i16),
        AuxiliaryType::I32 => put!(parse_signed, i32),
        AuxiliaryType::I64 => put!(parse_signed, i64),
        AuxiliaryType::U8 | AuxiliaryType::Enum(_) => put!(parse_unsigned, u8),
        AuxiliaryType::U16 => put!(parse_unsigned, u16),
        AuxiliaryType::U32 => put!(parse_unsigned, u32),
        AuxiliaryType::U64 => put!(parse_unsigned, u64),
        AuxiliaryType::F32 => put!(parse_float, f32),
        AuxiliaryType::F64 => put!(parse_float, f64),
        AuxiliaryType::Char => match text {
            [byte] if *byte != 0 => out.push(*byte),
            _ => return None,
        },
    }
    Some(())
}

/// Appends the read as a line, line feed and all; nothing when it fails.
///
/// # Errors
/// When the read does not fit the header, or has a value that text cannot hold: an infinite number,
/// a tab or line break in a string.
pub fn append_record(
    read: &SignalRead,
    header: &SignalHeader,
    out: &mut Vec<u8>,
) -> Result<(), RecordError> {
    let start = out.len();
    let outcome = append_columns(read, header, out);
    if outcome.is_err() {
        out.truncate(start);
    }
    outcome
}

fn append_columns(
    read: &SignalRead,
    header: &SignalHeader,
    out: &mut Vec<u8>,
) -> Result<(), RecordError> {
    super::binary::check_read(read, header)?;
    out.extend_from_slice(&read.read_id);
    out.push(b'\t');
    number::append_integer(read.read_group, out);
    for (field, value) in [
        ("digitisation", read.digitisation),
        ("offset", read.offset),
        ("range", read.range),
        ("sampling_rate", read.sampling_rate),
    ] {
        out.push(b'\t');
        if !value.is_finite() {
            return Err(RecordError::NoText(field.into()));
        }
        number::append_float(value, out);
    }
    out.push(b'\t');
    number::append_integer(read.samples.len(), out);
    out.push(b'\t');
    for (index, &sample) in read.samples.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        number::append_sample(sample, out);
    }
    for (field, value) in header.auxiliary.iter().zip(read.auxiliary.iter()) {
        out.push(b'\t');
        append_auxiliary(field, value, out)?;
    }
    out.push(b'\n');
    Ok(())
}

/// Bytes that must not end a column or line.
fn append_bytes(bytes: &[u8], field: &str, out: &mut Vec<u8>) -> Result<(), RecordError> {
    if bytes.iter().any(|byte| matches!(byte, b'\t' | b'\n')) {
        return Err(RecordError::NoText(field.into()));
    }
    out.extend_from_slice(bytes);
    Ok(())
}

fn append_auxiliary(
    field: &AuxiliaryField,
    value: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), RecordError> {
    let no_text = || RecordError::NoText(String::from_utf8_lossy(&field.name).into_owned());
    match (field.is_array, &field.kind) {
        (true, _) if value.is_empty() => out.push(b'.'),
        (true, AuxiliaryType::Char) => {
            // slow5lib takes it for a C string.
            let text = value.split(|&byte| byte == 0).next().unwrap_or_default();
            let text = if text.is_empty() { b"." } else { text };
            append_bytes(text, &String::from_utf8_lossy(&field.name), out)?;
        }
        (_, kind) => {
            for (index, value) in value.chunks_exact(kind.size_bytes()).enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                append_scalar(kind, value, out).ok_or_else(no_text)?;
            }
        }
    }
    Ok(())
}

/// Appends one value; `None` when text has no form for it.
fn append_scalar(kind: &AuxiliaryType, value: &[u8], out: &mut Vec<u8>) -> Option<()> {
    macro_rules! integer {
        ($type:ty, $missing:expr) => {{
            let value = <$type>::from_le_bytes(value.try_into().ok()?);
            if value == $missing { out.push(b'.') } else { number::append_integer(value, out) }
        }};
    }
    match kind {
        AuxiliaryType::I8 => integer!(i8, i8::MAX),
        AuxiliaryType::I16 => integer!(i16, i16::MAX),
        AuxiliaryType::I32 => integer!(i32, i32::MAX),
        AuxiliaryType::I64 => integer!(i64, i64::MAX),
        AuxiliaryType::U8 | AuxiliaryType::Enum(_) => integer!(u8, u8::MAX),
        AuxiliaryType::U16 => integer!(u16, u16::MAX),
        AuxiliaryType::U32 => integer!(u32, u32::MAX),
        AuxiliaryType::U64 => integer!(u64, u64::MAX),
        AuxiliaryType::F32 => {
            append_float(f32::from_le_bytes(value.try_into().ok()?).into(), out)?;
        }
        AuxiliaryType::F64 => append_float(f64::from_le_bytes(value.try_into().ok()?), out)?,
        AuxiliaryType::Char => match value {
            [0] => out.push(b'.'),
            [b'\t' | b'\n'] => return None,
            _ => out.extend_from_slice(value),
        },
    }
    Some(())
}

/// Not a number is missing; infinity has no form.
fn append_float(value: f64, out: &mut Vec<u8>) -> Option<()> {
    if value.is_nan() {
        out.push(b'.');
    } else if value.is_finite() {
        number::append_float(value, out);
    } else {
        return None;
    }
    Some(())
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
