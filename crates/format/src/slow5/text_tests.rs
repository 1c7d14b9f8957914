//! Lines of text: every type and its missing value, and what is refused.

use super::*;
use crate::signal::{Slow5Version, read_id};
use proptest::prelude::*;

const PRIMARY: &str = "r1\t0\t8192\t23\t1467.61\t4000\t3\t1,-2,3";

/// A header of two read groups with these auxiliary fields.
fn header(fields: &[(AuxiliaryType, bool)]) -> SignalHeader {
    let named = |(number, (kind, is_array)): (usize, &(AuxiliaryType, bool))| AuxiliaryField {
        name: format!("f{number}").into_bytes(),
        kind: kind.clone(),
        is_array: *is_array,
    };
    let auxiliary = fields.iter().enumerate().map(named).collect();
    SignalHeader {
        version: Slow5Version::V0_2_0,
        read_groups: 2,
        auxiliary,
        ..SignalHeader::default()
    }
}

fn parsed(line: &str, header: &SignalHeader) -> Result<SignalRead, RecordError> {
    let mut read = SignalRead { samples: vec![7], ..SignalRead::default() };
    read.auxiliary.push(b"old");
    parse_record(line.as_bytes(), header, &mut read).map(|()| read)
}

fn written(read: &SignalRead, header: &SignalHeader) -> String {
    let mut out = b"before\n".to_vec();
    append_record(read, header, &mut out).unwrap();
    String::from_utf8(out).unwrap().strip_prefix("before\n").unwrap().to_owned()
}

#[test]
fn a_line_is_read_and_written_again() {
    let header = header(&[]);
    let read = parsed(PRIMARY, &header).unwrap();
    assert_eq!((&read.read_id[..], read.read_group), (&b"r1"[..], 0));
    assert_eq!((read.digitisation, read.offset), (8192.0, 23.0));
    assert_eq!((read.range, read.sampling_rate), (1467.61, 4000.0));
    assert_eq!(read.samples, [1, -2, 3]);
    assert!(read.auxiliary.is_empty());
    assert_eq!(written(&read, &header), format!("{PRIMARY}\n"));
    assert_eq!(parsed(&format!("{PRIMARY}\n"), &header).unwrap(), read);
}

#[test]
fn samples_are_counted() {
    fn t(signal: &str, expected: Result<&[i16], &str>) {
        let line = format!("r\t1\t1\t0\t1\t1\t{signal}");
        match (parsed(&line, &header(&[])), expected) {
            (Ok(read), Ok(samples)) => assert_eq!(read.samples, samples),
            (Err(error), Err(expected)) => {
                assert!(error.to_string().contains(expected), "{signal}: {error}");
            }
            (outcome, _) => panic!("{signal}: {outcome:?}"),
        }
    }
    t("0\t", Ok(&[]));
    t("0\t.", Ok(&[]));
    t("1\t-32768", Ok(&[-32768]));
    t("2\t0,32767", Ok(&[0, 32767]));
    t("1\t", Err("line has 0 samples, 1 are stated"));
    t("0\t1", Err("line has 1 samples, 0 are stated"));
    t("2\t1", Err("line has 1 samples, 2 are stated"));
    t("1\t1,2", Err("line has 2 samples, 1 are stated"));
    t("18446744073709551615\t1", Err("line has 1 samples"));
    t("1\t.", Err("raw_signal is not a value"));
    t("1\t32768", Err("raw_signal is not a value"));
    t("2\t1,", Err("raw_signal is not a value"));
    t("2\t1,,2", Err("raw_signal is not a value"));
    t("2\t1, 2", Err("raw_signal is not a value"));
    t("1\t01", Err("raw_signal is not a value"));
    t("-1\t", Err("len_raw_signal is not a value"));
}

#[test]
fn a_line_of_other_columns_is_refused() {
    fn t(line: &str, fields: &[(AuxiliaryType, bool)], expected: &str) {
        let error = parsed(line, &header(fields)).unwrap_err().to_string();
        assert!(error.contains(expected), "{line}: {error}");
    }
    let id = |length: usize| "x".repeat(length) + &PRIMARY[2..];
    t("", &[], "record is cut short in read_group");
    // Whether it may be one is checked by whoever reads the file.
    for length in [0, 255, 65_536] {
        assert_eq!(parsed(&id(length), &header(&[])).unwrap().read_id.len(), length);
    }
    for columns in 1..8 {
        let line: Vec<&str> = PRIMARY.split('\t').take(columns).collect();
        t(&line.join("\t"), &[], "record is cut short in");
    }
    t(&format!("{PRIMARY}\t1"), &[], "more columns than the header names");
    t(&format!("{PRIMARY}\t"), &[], "more columns than the header names");
    t(PRIMARY, &[(AuxiliaryType::I8, false)], "read has 0 auxiliary values, the header 1");
    t("r\t2\t1\t1\t1\t1\t0\t", &[], "read group 2 of 2");
    t("r\t-1\t1\t1\t1\t1\t0\t", &[], "read_group is not a value of its type: \"-1\"");
    t("r\t0\tnan\t1\t1\t1\t0\t", &[], "digitisation is not a value");
    t("r\t0\t1\t1e5\t1\t1\t0\t", &[], "offset is not a value");
    t("r\t0\t1\t1\t.\t1\t0\t", &[], "range is not a value");
    t("r\t0\t1\t1\t1\t\t0\t", &[], "sampling_rate is not a value");
    t("#slow5_version\t0.2.0", &[], "a second header starts here");
    t("r\t0\t1\t1\t1\t1\t0\t\r", &[], "raw_signal is not a value");
}

#[test]
fn every_type_has_its_text() {
    fn t(kind: AuxiliaryType, is_array: bool, text: &str, bytes: &[u8]) {
        let header = header(&[(kind, is_array)]);
        let line = format!("{PRIMARY}\t{text}\n");
        let read = parsed(&line, &header).unwrap();
        assert_eq!(read.auxiliary.iter().collect::<Vec<_>>(), [bytes], "{text}");
        assert_eq!(written(&read, &header), line);
    }
    let labels = AuxiliaryType::Enum(vec![b"A".to_vec()]);
    t(AuxiliaryType::I8, false, "-128", &[128]);
    t(AuxiliaryType::I8, false, ".", &[127]);
    t(AuxiliaryType::U8, false, ".", &[255]);
    t(AuxiliaryType::I16, false, ".", &[255, 127]);
    t(AuxiliaryType::U16, false, "258", &[2, 1]);
    t(AuxiliaryType::I32, false, "-2", &[254, 255, 255, 255]);
    t(AuxiliaryType::U32, false, ".", &[255; 4]);
    t(AuxiliaryType::I64, false, "-9223372036854775808", &[0, 0, 0, 0, 0, 0, 0, 128]);
    t(AuxiliaryType::U64, false, ".", &[255; 8]);
    t(AuxiliaryType::F32, false, "0.5", &0.5_f32.to_le_bytes());
    t(AuxiliaryType::F64, false, "-0.000001", &(-0.000_001_f64).to_le_bytes());
    t(AuxiliaryType::F32, false, ".", &[0, 0, 192, 127]);
    t(AuxiliaryType::F64, false, ".", &[0, 0, 0, 0, 0, 0, 248, 127]);
    t(AuxiliaryType::Char, false, "c", b"c");
    t(AuxiliaryType::Char, false, ".", &[0]);
    t(labels.clone(), false, "0", &[0]);
    // slow5lib does not compare with the labels either.
    t(labels.clone(), false, "7", &[7]);
    t(labels.clone(), false, ".", &[255]);
    t(labels, true, "0,.,0", &[0, 255, 0]);
    t(AuxiliaryType::Char, true, "a b,c", b"a b,c");
    t(AuxiliaryType::Char, true, ".", b"");
    t(AuxiliaryType::I16, true, ".", b"");
    t(AuxiliaryType::I16, true, "1,.,-1", &[1, 0, 255, 127, 255, 255]);
    t(AuxiliaryType::F32, true, "1.5,.", &[0, 0, 192, 63, 0, 0, 192, 127]);
    let empty = parsed(&format!("{PRIMARY}\t"), &header(&[(AuxiliaryType::Char, true)])).unwrap();
    assert_eq!(empty.auxiliary.iter().collect::<Vec<_>>(), [b""]);
}

#[test]
fn text_that_is_not_of_its_type_is_refused() {
    fn t(kind: AuxiliaryType, is_array: bool, text: &str) {
        let header = header(&[(kind, is_array)]);
        let error = parsed(&format!("{PRIMARY}\t{text}"), &header).unwrap_err();
        assert!(error.to_string().starts_with("f0 is not a value of its type"), "{error}");
    }
    t(AuxiliaryType::I8, false, "128");
    t(AuxiliaryType::I8, false, "");
    t(AuxiliaryType::U8, false, "-1");
    t(AuxiliaryType::U8, true, "");
    t(AuxiliaryType::U8, true, "1,,2");
    t(AuxiliaryType::U8, true, "1,256");
    t(AuxiliaryType::F32, false, "inf");
    t(AuxiliaryType::F64, true, "1,1e3");
    t(AuxiliaryType::Char, false, "ab");
    t(AuxiliaryType::Char, false, "\0");
    t(AuxiliaryType::Enum(vec![b"A".to_vec()]), false, "A");
}

#[test]
fn what_text_cannot_hold_is_not_written() {
    fn t(kind: AuxiliaryType, is_array: bool, value: &[u8], expected: &str) {
        let header = header(&[(kind, is_array)]);
        let mut read = SignalRead { read_id: b"r".to_vec(), ..SignalRead::default() };
        read.auxiliary.push(value);
        let mut out = b"before".to_vec();
        let error = append_record(&read, &header, &mut out).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert_eq!(out, b"before");
    }
    t(AuxiliaryType::F32, false, &f32::INFINITY.to_le_bytes(), "f0 has a value that SLOW5 text");
    t(AuxiliaryType::F64, true, &f64::NEG_INFINITY.to_le_bytes(), "f0 has a value");
    t(AuxiliaryType::Char, false, b"\t", "f0 has a value");
    t(AuxiliaryType::Char, true, b"a\nb", "f0 has a value");
    t(AuxiliaryType::I16, false, b"a", "value of f0 has not the size");
    t(AuxiliaryType::I16, true, b"abc", "value of f0 has not the size");
    let plain = header(&[]);
    let refused = |read: SignalRead| append_record(&read, &plain, &mut Vec::new()).unwrap_err();
    let good = || SignalRead { read_id: b"r".to_vec(), ..SignalRead::default() };
    for id in [&b""[..], b"a\tb", b"#slow5_version"] {
        let bad = SignalRead { read_id: id.to_vec(), ..good() };
        assert_eq!(refused(bad), RecordError::ReadId(read_id::check(id).unwrap_err()));
    }
    let bad = SignalRead { offset: f64::NAN, ..good() };
    assert_eq!(refused(bad), RecordError::NoText("offset".into()));
    let bad = SignalRead { read_group: 2, ..good() };
    assert_eq!(refused(bad), RecordError::ReadGroup { read_group: 2, read_groups: 2 });
    let mut bad = good();
    bad.auxiliary.push(b"");
    assert_eq!(refused(bad), RecordError::AuxiliaryCount { values: 1, fields: 0 });
    // slow5lib prints a string up to its first NUL.
    let header = header(&[(AuxiliaryType::Char, true)]);
    let mut cut = good();
    cut.auxiliary.push(b"ab\0c");
    assert!(written(&cut, &header).ends_with("\tab\n"));
    cut.auxiliary.clear();
    cut.auxiliary.push(b"\0c");
    assert!(written(&cut, &header).ends_with("\t.\n"));
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        samples in prop::collection::vec(any::<i16>(), 0..50),
        numbers in prop::collection::vec(any::<i32>(), 0..9),
        scaled in -1_000_000_000_i64..1_000_000_000,
        string in "[ -~]{0,9}",
    ) {
        let header = header(&[
            (AuxiliaryType::I32, true), (AuxiliaryType::F64, false), (AuxiliaryType::Char, true),
        ]);
        let mut read = SignalRead {
            read_id: b"id".to_vec(),
            read_group: 1,
            offset: scaled as f64 / 1e6, // six decimals are kept
            samples,
            ..SignalRead::default()
        };
        read.auxiliary.push(&numbers.iter().flat_map(|it| it.to_le_bytes()).collect::<Vec<_>>());
        read.auxiliary.push(&read.offset.to_le_bytes());
        read.auxiliary.push(if string == "." { b"" } else { string.as_bytes() });
        prop_assert_eq!(parsed(&written(&read, &header), &header), Ok(read));
    }
}
