//! SAM text: of a record, as `samtools view` prints it, and back.

mod aux_text;
mod decimal;
mod error;
mod parse;

use std::io::Write as _;

use crate::bam::{AuxValue, BASE_LETTERS, CIGAR_LETTERS, RecordError, RecordRef, Reference};

pub use self::aux_text::append_tag;
pub use self::error::SamError;
pub use self::parse::{ReferenceNames, parse_record};

/// Appends the SAM line of one record, newline included, to `out`.
///
/// `body` is a BAM record without its `block_size`. A CIGAR that is kept in the `CG` tag is printed
/// in its place and the tag left out. On an error `out` is as it was.
///
/// # Errors
/// A [`RecordError`] when the record is malformed or names a reference that is not there.
pub fn append_record(
    body: &[u8],
    references: &[Reference],
    out: &mut Vec<u8>,
) -> Result<(), RecordError> {
    append_line(&RecordRef::new(body)?, references, out)
}

/// As [`append_record`], for a record that has been looked at already.
///
/// # Errors
/// As [`append_record`].
pub fn append_line(
    record: &RecordRef<'_>,
    references: &[Reference],
    out: &mut Vec<u8>,
) -> Result<(), RecordError> {
    let start = out.len();
    let result = append(record, references, out);
    if result.is_err() {
        out.truncate(start);
    }
    result
}

fn append(
    record: &RecordRef<'_>,
    references: &[Reference],
    out: &mut Vec<u8>,
) -> Result<(), RecordError> {
    out.extend_from_slice(record.name());
    append_column(record.flags().into(), out);
    out.push(b'\t');
    append_reference(record.reference_id(), references, out)?;
    append_column(i64::from(record.position()) + 1, out);
    append_column(record.mapping_quality().into(), out);
    out.push(b'\t');
    append_cigar(record, out);
    out.push(b'\t');
    let mate = record.mate_reference_id();
    if mate >= 0 && mate == record.reference_id() {
        out.push(b'=');
    } else {
        append_reference(mate, references, out)?;
    }
    append_column(i64::from(record.mate_position()) + 1, out);
    append_column(record.template_length().into(), out);
    out.push(b'\t');
    append_bases(record, out);
    out.push(b'\t');
    append_qualities(record.qualities(), out);
    append_aux(record, out)?;
    out.push(b'\n');
    Ok(())
}

fn append_reference(
    reference_id: i32,
    references: &[Reference],
    out: &mut Vec<u8>,
) -> Result<(), RecordError> {
    let Ok(index) = usize::try_from(reference_id) else {
        out.push(b'*');
        return Ok(());
    };
    let reference = references.get(index).ok_or(RecordError::UnknownReference(reference_id))?;
    out.extend_from_slice(reference.name.as_bytes());
    Ok(())
}

/// Appends the CIGAR of a record as SAM has it, that of the `CG` tag where it is kept there.
pub fn append_cigar(record: &RecordRef<'_>, out: &mut Vec<u8>) {
    let cigar = record.full_cigar();
    if cigar.len() == 0 {
        out.push(b'*');
    }
    for (code, len) in cigar.codes() {
        append_integer(len.into(), out);
        out.push(CIGAR_LETTERS[usize::from(code)]);
    }
}

/// Letters of the two bases in a byte.
const TWO_LETTERS: [[u8; 2]; 256] = {
    let mut table = [[0; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = [BASE_LETTERS[byte >> 4], BASE_LETTERS[byte & 0xf]];
        byte += 1;
    }
    table
};

fn append_bases(record: &RecordRef<'_>, out: &mut Vec<u8>) {
    let count = record.base_count();
    if count == 0 {
        out.push(b'*');
        return;
    }
    let start = out.len();
    let packed = record.packed_bases();
    // Written into room that is there: a loop without a branch a base.
    out.resize(start + 2 * packed.len(), 0);
    let (twos, _) = out[start..].as_chunks_mut();
    for (two, &byte) in twos.iter_mut().zip(packed) {
        *two = TWO_LETTERS[usize::from(byte)];
    }
    out.truncate(start + count);
}

fn append_qualities(qualities: &[u8], out: &mut Vec<u8>) {
    if matches!(qualities.first(), None | Some(0xff)) {
        out.push(b'*');
        return;
    }
    out.extend(qualities.iter().map(|quality| quality.wrapping_add(33)));
}

fn append_aux(record: &RecordRef<'_>, out: &mut Vec<u8>) -> Result<(), RecordError> {
    let is_cigar_elsewhere = record.long_cigar().is_some();
    for field in record.aux() {
        let (tag, value) = field?;
        if is_cigar_elsewhere && tag == *b"CG" {
            continue;
        }
        let kind = match value {
            AuxValue::Character(_) => b'A',
            AuxValue::Float(_) => b'f',
            AuxValue::Double(_) => b'd',
            AuxValue::String(_) => b'Z',
            AuxValue::Hex(_) => b'H',
            AuxValue::Array(_) => b'B',
            _ => b'i',
        };
        out.extend_from_slice(&[b'\t', tag[0], tag[1], b':', kind, b':']);
        append_value(value, out);
    }
    Ok(())
}

/// Appends the value of an auxiliary field as SAM has it, without its type.
pub fn append_value(value: AuxValue<'_>, out: &mut Vec<u8>) {
    match value {
        AuxValue::Character(letter) => out.push(letter),
        AuxValue::Float(number) => append_float(number.into(), out),
        AuxValue::Double(number) => append_float(number, out),
        AuxValue::String(text) | AuxValue::Hex(text) => out.extend_from_slice(text),
        AuxValue::Array(array) => {
            out.push(array.subtype);
            for element in array.values() {
                out.push(b',');
                append_value(element, out);
            }
        }
        integer => append_integer(integer.as_int().unwrap_or_default(), out),
    }
}

/// A tab and a number.
fn append_column(value: i64, out: &mut Vec<u8>) {
    out.push(b'\t');
    append_integer(value, out);
}

/// Numbers from 0 to 99.
const TWO_DIGITS: [[u8; 2]; 100] = {
    let mut table = [[0; 2]; 100];
    let mut number = 0;
    while number < 100 {
        table[number] = [b'0' + number as u8 / 10, b'0' + number as u8 % 10];
        number += 1;
    }
    table
};

/// Most digits of a number of 64 bits.
const MOST_DIGITS: usize = 20;

/// Decimal digits of an integer, without the detour through the formatting machinery.
fn append_integer(value: i64, out: &mut Vec<u8>) {
    if value < 0 {
        out.push(b'-');
    }
    let mut rest = value.unsigned_abs();
    if rest < 10 {
        out.push(b'0' + rest as u8);
        return;
    }
    let start = out.len();
    // Room for the longest, and then as much as there is: that many bytes need no loop.
    out.extend_from_slice(&[b'0'; MOST_DIGITS]);
    out.truncate(start + 1 + rest.ilog10() as usize);
    let mut twos = out[start..].rchunks_exact_mut(2);
    for two in &mut twos {
        two.copy_from_slice(&TWO_DIGITS[(rest % 100) as usize]);
        rest /= 100;
    }
    if let [first] = twos.into_remainder() {
        *first = b'0' + rest as u8;
    }
}

/// A number as C's `printf("%g")` has it: 6 significant digits, no zeros at the end, an exponent
/// below 1e-4 and from 1e6 on.
fn append_float(value: f64, out: &mut Vec<u8>) {
    if !value.is_finite() {
        let sign = if value.is_sign_negative() { "-" } else { "" };
        let name = if value.is_nan() { "nan" } else { "inf" };
        out.extend_from_slice(sign.as_bytes());
        out.extend_from_slice(name.as_bytes());
        return;
    }
    let mut scientific = [0_u8; 32];
    let mut rest = &mut scientific[..];
    // At most "-d.ddddde-ddd": it always fits, so the result says nothing.
    let _ = write!(rest, "{value:.5e}");
    let unused = rest.len();
    let text = &scientific[..scientific.len() - unused];
    let Some(mark) = text.iter().position(|&byte| byte == b'e') else { return };
    let exponent: i32 =
        std::str::from_utf8(&text[mark + 1..]).ok().and_then(|it| it.parse().ok()).unwrap_or(0);
    let mut digits = [b'0'; 6];
    let shown = text[..mark].iter().filter(|byte| byte.is_ascii_digit());
    for (digit, &byte) in digits.iter_mut().zip(shown) {
        *digit = byte;
    }
    if value.is_sign_negative() {
        out.push(b'-');
    }
    append_digits(&digits, exponent, out);
}

/// Writes six digits of which the first counts 10^`exponent`, without the zeros at their end.
fn append_digits(digits: &[u8; 6], exponent: i32, out: &mut Vec<u8>) {
    let kept = digits.iter().rposition(|&digit| digit != b'0').map_or(1, |last| last + 1);
    let push_split = |out: &mut Vec<u8>, whole: usize| {
        out.extend_from_slice(&digits[..whole]);
        if kept > whole {
            out.push(b'.');
            out.extend_from_slice(&digits[whole..kept]);
        }
    };
    match exponent {
        0..=5 => push_split(out, exponent as usize + 1),
        -4..=-1 => {
            out.extend_from_slice(b"0.");
            out.extend(std::iter::repeat_n(b'0', (-exponent - 1) as usize));
            out.extend_from_slice(&digits[..kept]);
        }
        _ => {
            push_split(out, 1);
            out.extend_from_slice(if exponent < 0 { b"e-" } else { b"e+" });
            if exponent.abs() < 10 {
                out.push(b'0');
            }
            append_integer(exponent.unsigned_abs().into(), out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bam::framed_records;
    use crate::bam::test_data::{TestBam, bam_folder, files, samtools};
    use proptest::prelude::*;

    /// SAM text of every record of a file.
    fn text(bam: &TestBam) -> Result<Vec<u8>, RecordError> {
        let mut out = Vec::new();
        for body in framed_records(&bam.records) {
            append_record(body?, bam.header.references(), &mut out)?;
        }
        Ok(out)
    }

    /// The first line where two texts differ.
    fn first_difference(left: &[u8], right: &[u8]) -> Option<(String, String)> {
        let lines = |text: &[u8]| -> Vec<String> {
            String::from_utf8_lossy(text).lines().map(str::to_owned).collect()
        };
        let (left, right) = (lines(left), lines(right));
        let at = (0..left.len().max(right.len())).find(|&i| left.get(i) != right.get(i))?;
        Some((
            left.get(at).cloned().unwrap_or_default(),
            right.get(at).cloned().unwrap_or_default(),
        ))
    }

    #[test]
    fn every_record_is_printed_as_samtools_prints_it() {
        let Some(folder) = bam_folder() else { return };
        let (mut files_compared, mut bytes) = (0, 0);
        for path in files(&folder, ".bam") {
            let theirs = samtools(&["view"], &path);
            let ours = TestBam::read(&path).map_err(|it| it.to_string());
            let ours = ours.and_then(|bam| text(&bam).map_err(|it| it.to_string()));
            match (ours, theirs) {
                (Ok(ours), Some(theirs)) => {
                    let difference = first_difference(&ours, &theirs);
                    assert!(ours == theirs, "{}: {difference:#?}", path.display());
                    files_compared += 1;
                    bytes += ours.len();
                }
                // A sequence of which is named `chr1,chr3`.
                (Err(_), Some(_)) if path.ends_with("htslib_test/colons.bam") => {}
                (Err(error), Some(_)) => panic!("we refuse {}: {error}", path.display()),
                (Ok(_), None) => println!("samtools refuses {}", path.display()),
                (Err(_), None) => {}
            }
        }
        println!("{files_compared} files, {bytes} bytes compared");
        assert!(files_compared > 100, "{files_compared}");
    }

    /// What samtools prints for SAM text after a detour through BAM, and what we print.
    fn through_bam(name: &str, sam: &[u8]) -> (Vec<u8>, Vec<u8>) {
        let stem = std::env::temp_dir().join(format!("seqloom-{}-{name}", std::process::id()));
        let (sam_path, bam_path) = (stem.with_extension("sam"), stem.with_extension("bam"));
        std::fs::write(&sam_path, sam).unwrap();
        let arguments = ["view", "-b", "-o", bam_path.to_str().unwrap()];
        samtools(&arguments, &sam_path).expect("samtools reads it");
        let theirs = samtools(&["view"], &bam_path).unwrap();
        let ours = text(&TestBam::read(&bam_path).unwrap()).unwrap();
        std::fs::remove_file(sam_path).unwrap();
        std::fs::remove_file(bam_path).unwrap();
        (ours, theirs)
    }

    #[test]
    fn odd_records_are_printed_as_samtools_prints_them() {
        if bam_folder().is_none() {
            return;
        }
        let long_cigar = "1M1I".repeat(40_000);
        let sam = format!(
            "@SQ\tSN:a\tLN:1000000\n@SQ\tSN:b\tLN:2000\n\
             none\t4\t*\t0\t0\t*\t*\t0\t0\t*\t*\n\
             odd\t1\ta\t1\t255\t3M\tb\t7\t-5\tACN\tI~!\tXA:A:!\tXZ:Z:\tXH:H:1AE3\n\
             same\t65535\tb\t2\t0\t1S2=1X1D1N1P1H\t=\t3\t99\t=MRW\t*\tXI:i:-129\tXU:i:4294967295\n\
             arrays\t0\ta\t3\t0\t1M\ta\t1\t0\tA\tI\tBc:B:c,-1,2\tBC:B:C,255\tBs:B:s,-300\t\
             BS:B:S,65535\tBi:B:i,-70000\tBI:B:I,4294967295\tBf:B:f,1.5,-0,nan,1e-7\tBe:B:i\n\
             long\t0\ta\t4\t0\t{long_cigar}\t*\t0\t0\t{}\t*\tXX:i:1\n",
            "AC".repeat(40_000)
        );
        let (ours, theirs) = through_bam("odd", sam.as_bytes());
        assert_eq!(first_difference(&ours, &theirs), None);
        assert_eq!(ours, theirs);
        let last = ours.split(|&byte| byte == b'\n').nth(4).unwrap();
        assert!(last.ends_with(b"\tXX:i:1"), "the CG tag is printed as CIGAR only");
    }

    #[test]
    fn numbers_are_printed_as_samtools_prints_them() {
        if bam_folder().is_none() {
            return;
        }
        let mut values: Vec<f32> = vec![
            100_000.5,
            123_456.5,
            100_001.5,
            999_999.0,
            999_999.4,
            999_999.5,
            1e-4,
            9.999_999e-5,
            0.000_999_999_5,
            9.999_995,
            99_999.95,
            0.5,
            1.0,
            10.0,
            100.25,
            1e6,
            1e10,
            1e-10,
            f32::MAX,
            f32::MIN_POSITIVE,
            1e-45,
            -0.0,
            0.0,
            f32::INFINITY,
            f32::NEG_INFINITY,
        ];
        let mut state = 1_u32;
        for _ in 0..20_000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // Exponents round those of the decimals that are printed without one.
            values.push(f32::from_bits((state & 0x87ff_ffff) | 0x3800_0000));
        }
        // Ties: odd multiples of a half of the last digit printed.
        values.extend((0..2000).map(|i| 100_000.5 + i as f32));
        let mut sam = b"@SQ\tSN:a\tLN:1000000\n".to_vec();
        for value in values {
            let line =
                format!("r\t4\t*\t0\t0\t*\t*\t0\t0\t*\t*\tXF:f:{value:e}\tXB:B:f,{value:e}\n");
            sam.extend_from_slice(line.as_bytes());
        }
        let (ours, theirs) = through_bam("numbers", &sam);
        assert_eq!(first_difference(&ours, &theirs), None);
    }

    #[test]
    fn an_error_leaves_the_output_alone() {
        let mut body = vec![0_u8; 32];
        body[8] = 2;
        body.extend_from_slice(b"r\0");
        let mut out = b"before".to_vec();
        let error = append_record(&body, &[], &mut out);
        assert_eq!(error, Err(RecordError::UnknownReference(0)));
        body[..4].copy_from_slice(&(-1_i32).to_le_bytes());
        body[20..24].copy_from_slice(&(-1_i32).to_le_bytes());
        append_record(&body, &[], &mut out).unwrap();
        assert_eq!(out, b"beforer\t0\t*\t1\t0\t*\t*\t1\t0\t*\t*\n");
        body.extend_from_slice(b"XXi\0");
        assert_eq!(append_record(&body, &[], &mut out), Err(RecordError::BadAux(34)));
        assert!(out.ends_with(b"*\t*\n"));
    }

    proptest! {
        #[test]
        fn integers_are_decimal(value: i64) {
            let mut out = Vec::new();
            append_integer(value, &mut out);
            prop_assert_eq!(String::from_utf8(out).unwrap(), value.to_string());
        }

        #[test]
        fn floats_have_six_digits(value: f64) {
            let mut out = Vec::new();
            append_float(value, &mut out);
            let back: f64 = String::from_utf8(out).unwrap().parse().unwrap();
            let is_close = (back - value).abs() <= value.abs() * 5.1e-6;
            prop_assert!(is_close || back.to_bits() == value.to_bits() || value.is_nan());
        }
    }
}
