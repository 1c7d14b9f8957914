//! Auxiliary fields of a SAM line to those of a BAM record (SAM specification 1.5, 4.2.4).

use super::decimal::decimal;
use super::error::{SamError, shown};
use crate::names::{is_character, is_hex, is_tag, is_text};

/// Appends every field of `text`, which are separated by tabs. A tab at the end is dropped: some
/// writers leave it there, and no reader minds.
pub(super) fn append_fields(text: &[u8], out: &mut Vec<u8>) -> Result<(), SamError> {
    let text = text.strip_suffix(b"\t").unwrap_or(text);
    if text.is_empty() {
        return Ok(());
    }
    text.split(|&byte| byte == b'\t').try_for_each(|field| append_tag(field, out))
}

/// Appends the auxiliary field that `field`, `TAG:TYPE:VALUE`, is as text, as it is in BAM.
///
/// # Errors
/// [`SamError::BadAux`]; `out` is then as it was.
pub fn append_tag(field: &[u8], out: &mut Vec<u8>) -> Result<(), SamError> {
    let start = out.len();
    append_field(field, out).map_err(|problem| {
        out.truncate(start);
        SamError::BadAux { text: shown(field), problem }
    })
}

fn append_field(field: &[u8], out: &mut Vec<u8>) -> Result<(), &'static str> {
    let [t0, t1, b':', kind, b':', value @ ..] = field else {
        return Err("is not of the form TAG:TYPE:VALUE");
    };
    if !is_tag([*t0, *t1]) {
        return Err("has a tag that is not printable");
    }
    out.extend_from_slice(&[*t0, *t1]);
    match kind {
        b'A' => match value {
            [letter] if is_character(*letter) => out.extend_from_slice(&[b'A', *letter]),
            _ => return Err("is not one printable character"),
        },
        // `I` is in old files.
        b'i' | b'I' => append_integer(value, out)?,
        b'f' => {
            out.push(b'f');
            out.extend_from_slice(&(float(value)?).to_le_bytes());
        }
        b'd' => {
            out.push(b'd');
            out.extend_from_slice(&(double(value)?).to_le_bytes());
        }
        b'Z' if is_text(value) => append_string(b'Z', value, out),
        b'Z' => return Err("has a control character"),
        b'H' if is_hex(value) => append_string(b'H', value, out),
        b'H' => return Err("is not an even number of hexadecimal digits"),
        b'B' => append_array(value, out)?,
        _ => return Err("has a type other than A, i, f, Z, H and B"),
    }
    Ok(())
}

fn append_string(kind: u8, value: &[u8], out: &mut Vec<u8>) {
    out.push(kind);
    out.extend_from_slice(value);
    out.push(0);
}

/// The smallest type that holds the number, unsigned unless there is a minus, as htslib chooses.
fn append_integer(text: &[u8], out: &mut Vec<u8>) -> Result<(), &'static str> {
    let value = decimal(text, i32::MIN.into(), u32::MAX.into())
        .ok_or("is not an integer from -2147483648 to 4294967295")?;
    let bytes = value.to_le_bytes();
    let (kind, size) = match value {
        0 if text.starts_with(b"-") => (b'c', 1),
        0..=0xff => (b'C', 1),
        0x100..=0xffff => (b'S', 2),
        0x1_0000.. => (b'I', 4),
        -0x80..0 => (b'c', 1),
        -0x8000..-0x80 => (b's', 2),
        _ => (b'i', 4),
    };
    out.push(kind);
    out.extend_from_slice(&bytes[..size]);
    Ok(())
}

fn append_array(text: &[u8], out: &mut Vec<u8>) -> Result<(), &'static str> {
    let (kind, values) = text.split_first().ok_or("has no element type")?;
    let (size, lowest, highest): (usize, i64, i64) = match kind {
        b'c' => (1, i8::MIN.into(), i8::MAX.into()),
        b'C' => (1, 0, u8::MAX.into()),
        b's' => (2, i16::MIN.into(), i16::MAX.into()),
        b'S' => (2, 0, u16::MAX.into()),
        b'i' => (4, i32::MIN.into(), i32::MAX.into()),
        b'I' => (4, 0, u32::MAX.into()),
        b'f' => (4, 0, 0),
        _ => return Err("has an element type other than c, C, s, S, i, I and f"),
    };
    out.extend_from_slice(&[b'B', *kind]);
    let count_at = out.len();
    out.extend_from_slice(&[0; 4]);
    if !values.is_empty() {
        let values = values.strip_prefix(b",").ok_or("has no comma after its element type")?;
        for value in values.split(|&byte| byte == b',') {
            if *kind == b'f' {
                out.extend_from_slice(&float(value)?.to_le_bytes());
            } else {
                let value = decimal(value, lowest, highest)
                    .ok_or("has an element that is not an integer of its type")?;
                out.extend_from_slice(&value.to_le_bytes()[..size]);
            }
        }
    }
    let count = (out.len() - count_at - 4) / size;
    let count = u32::try_from(count).map_err(|_| "has too many elements")?;
    out[count_at..count_at + 4].copy_from_slice(&count.to_le_bytes());
    Ok(())
}

/// A number that fits a `f` (rounded to 64 bits first, as htslib's `strtod` does); `nan` and `inf`
/// too, which samtools prints.
fn float(text: &[u8]) -> Result<f32, &'static str> {
    let value = double(text)?;
    let float = value as f32;
    if float.is_infinite() && value.is_finite() { Err("is too large a number") } else { Ok(float) }
}

fn double(text: &[u8]) -> Result<f64, &'static str> {
    const PROBLEM: &str = "is not a number";
    let value: f64 = std::str::from_utf8(text)
        .ok()
        .filter(|text| !text.ends_with('.'))
        .and_then(|text| text.parse().ok())
        .ok_or(PROBLEM)?;
    let has_digits = text.iter().any(u8::is_ascii_digit);
    if value.is_infinite() && has_digits { Err("is too large a number") } else { Ok(value) }
}
