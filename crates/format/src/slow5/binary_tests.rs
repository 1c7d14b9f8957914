//! Records of BLOW5: what is refused, and that all compressions give back what was put in.

use super::*;
use crate::signal::{AuxiliaryField, AuxiliaryType};
use proptest::prelude::*;

fn all() -> impl Iterator<Item = Compression> {
    use RecordCompression::{None, Zlib, ZlibFast, Zstd};
    let records = [None, Zlib, ZlibFast, Zstd];
    let signals = [SignalCompression::None, SignalCompression::SvbZd, SignalCompression::ExZd];
    records.into_iter().flat_map(move |record| signals.map(|signal| Compression { record, signal }))
}

fn header() -> SignalHeader {
    let field = |name: &str, kind, is_array| AuxiliaryField { name: name.into(), kind, is_array };
    SignalHeader {
        read_groups: 2,
        auxiliary: vec![
            field("a", AuxiliaryType::I16, false),
            field("b", AuxiliaryType::F64, true),
            field("c", AuxiliaryType::Char, true),
        ],
        ..SignalHeader::default()
    }
}

fn read(samples: &[i16]) -> SignalRead {
    let mut read = SignalRead {
        read_id: b"read-1".to_vec(),
        read_group: 1,
        digitisation: 8192.0,
        offset: f64::from_bits(0x7FF8_0000_0000_0001), // a NaN goes through as it is
        range: -0.0,
        sampling_rate: f64::MAX,
        samples: samples.to_vec(),
        ..SignalRead::default()
    };
    for value in [&b"\x01\x02"[..], &[7; 24], b"text\0"] {
        read.auxiliary.push(value);
    }
    read
}

fn stored(compression: Compression, read: &SignalRead) -> Vec<u8> {
    let mut out = b"before".to_vec();
    RecordEncoder::new(compression).unwrap().append(read, &header(), &mut out).unwrap();
    let record = out.split_off(6);
    let frame = parse_frame(&record[..8], Some(record.len() as u64));
    assert_eq!(frame, Ok(Frame::Record { stored_bytes: record.len() - 8 }));
    record[8..].to_vec()
}

fn decoded(compression: Compression, stored: &[u8]) -> Result<SignalRead, RecordError> {
    let mut read = SignalRead { samples: vec![5; 9], ..SignalRead::default() };
    read.auxiliary.push(b"old");
    RecordDecoder::new(compression).unwrap().decode(stored, &header(), &mut read)?;
    Ok(read)
}

/// NaN differs from itself; its text does not.
fn assert_equal(one: &SignalRead, other: &SignalRead) {
    assert_eq!(format!("{one:?}"), format!("{other:?}"));
    assert_eq!(one.offset.to_bits(), other.offset.to_bits());
}

#[test]
fn a_body_is_as_specified() {
    let body = stored(Compression::NONE, &read(&[1, -2]));
    let doubles = [8192.0, f64::from_bits(0x7FF8_0000_0000_0001), -0.0, f64::MAX];
    let doubles = doubles.map(f64::to_le_bytes).concat();
    let expected = [
        b"\x06\0read-1\x01\0\0\0",
        &doubles[..],
        b"\x02\0\0\0\0\0\0\0\x01\0\xfe\xff",
        b"\x01\x02\x03\0\0\0\0\0\0\0",
        &[7; 24],
        b"\x05\0\0\0\0\0\0\0text\0",
    ];
    assert_eq!(body, expected.concat());
    // Of coded signal the bytes are counted.
    let svb = Compression { record: RecordCompression::None, signal: SignalCompression::SvbZd };
    let body = stored(svb, &read(&[1, -2]));
    assert_eq!(body[44..59], *b"\x07\0\0\0\0\0\0\0\x02\0\0\0\0\x02\x05");
}

#[test]
fn all_compressions_give_back_what_was_put_in() {
    let jump = [0, i16::MAX, i16::MIN, -1, 0, 5, 5, 5, 300, 0];
    let long: Vec<i16> = (0..30_000).map(|i| (i % 613 + i / 100) as i16).collect();
    for compression in all() {
        for samples in [&[][..], &[0], &jump, &[-8, 16, 64], &long] {
            let read = read(samples);
            let stored = stored(compression, &read);
            assert_equal(&decoded(compression, &stored).unwrap(), &read);
            let mut decoder = RecordDecoder::new(compression).unwrap();
            let mut skimmed = SignalRead { samples: vec![1], ..SignalRead::default() };
            let count = decoder.decode_without_samples(&stored, &header(), &mut skimmed).unwrap();
            assert_eq!((count, skimmed.samples.len()), (samples.len() as u64, 0));
            skimmed.samples = read.samples.clone();
            assert_equal(&skimmed, &read);
        }
    }
}

#[test]
fn a_decoder_forgets_the_record_before() {
    for compression in all() {
        let (one, two) = (read(&[1; 500]), SignalRead { read_id: b"2".to_vec(), ..read(&[3]) });
        let (one_stored, two_stored) = (stored(compression, &one), stored(compression, &two));
        let mut decoder = RecordDecoder::new(compression).unwrap();
        let mut out = SignalRead::default();
        for _ in 0..2 {
            decoder.decode(&one_stored, &header(), &mut out).unwrap();
            assert_equal(&out, &one);
            decoder.decode(&two_stored[..2], &header(), &mut out).unwrap_err();
            decoder.decode(&two_stored, &header(), &mut out).unwrap();
            assert_equal(&out, &two);
        }
    }
}

#[test]
fn a_record_cut_anywhere_is_refused() {
    for compression in all() {
        let samples: Vec<i16> = (0..50).map(|i| i * i).collect();
        let whole = stored(compression, &read(&samples));
        for cut in 0..whole.len() {
            assert!(decoded(compression, &whole[..cut]).is_err(), "{compression:?} {cut}");
        }
    }
    let whole = stored(Compression::NONE, &read(&[1]));
    let longer = [&whole[..], b"xy"].concat();
    assert_eq!(decoded(Compression::NONE, &longer), Err(RecordError::TrailingBytes(2)));
}

#[test]
fn lengths_that_go_too_far_are_refused() {
    let good = stored(Compression::NONE, &read(&[1, 2]));
    let refused = |at: usize, bytes: &[u8]| {
        let mut bad = good.clone();
        bad[at..at + bytes.len()].copy_from_slice(bytes);
        decoded(Compression::NONE, &bad).unwrap_err()
    };
    let short = |field, offset| RecordError::Truncated { field, offset };
    assert_eq!(refused(0, &[255, 255]), short("read_id", 2));
    let read_group = RecordError::ReadGroup { read_group: 2, read_groups: 2 };
    assert_eq!(refused(8, &[2]), read_group);
    assert_eq!(refused(44, &[200]), short("raw_signal", 52));
    // A length that is no length once doubled, and one that is a small one.
    assert_eq!(refused(44, &[255; 8]), short("raw_signal", 44));
    assert_eq!(refused(44, &[2, 0, 0, 0, 0, 0, 0, 128]), short("raw_signal", 44));
    assert_eq!(refused(58, &[255; 8]), short("an auxiliary array", 58));
    assert_eq!(refused(58, &[1, 0, 0, 0, 0, 0, 0, 32]), short("an auxiliary array", 58));
    assert_eq!(refused(58, &[2, 0]), short("an auxiliary array", 90));
}

#[test]
fn a_size_that_zstd_states_is_not_believed() {
    let zstd = Compression { record: RecordCompression::Zstd, signal: SignalCompression::None };
    // A frame with nothing in it that states eight bytes of size (RFC 8878, section 3.1.1).
    let frame =
        |size: u64| [&b"\x28\xb5\x2f\xfd\xe0"[..], &size.to_le_bytes(), b"\x01\0\0"].concat();
    let refused = |size| decoded(zstd, &frame(size)).unwrap_err();
    assert_eq!(refused(u64::MAX - 9), RecordError::TooLong);
    assert_eq!(refused(MAX_BODY_BYTES as u64 + 1), RecordError::TooLong);
    let lie = RecordError::BadZstd("it states more bytes than it can hold");
    assert_eq!(refused(MAX_BODY_BYTES as u64), lie);
    assert!(matches!(refused(100_000), RecordError::BadZstd(_)));
    assert_eq!(refused(0), RecordError::Truncated { field: "read_id", offset: 0 });
    // Neither is one left out: the frame could be of any size.
    let unsized_frame = b"\x28\xb5\x2f\xfd\x00\x58\x01\0\0";
    let unstated = RecordError::BadZstd("its size is not stated");
    assert_eq!(decoded(zstd, unsized_frame), Err(unstated));
    assert!(matches!(decoded(zstd, b"garbage"), Err(RecordError::BadZstd(_))));
}

#[test]
fn a_record_that_inflates_without_end_is_refused() {
    let zlib = Compression { record: RecordCompression::Zlib, signal: SignalCompression::None };
    let long = read(&vec![0; 3_000_000]);
    let stored = stored(zlib, &long);
    assert!(stored.len() < 7000, "{}", stored.len());
    assert_equal(&decoded(zlib, &stored).unwrap(), &long);
    assert_eq!(decoded(zlib, b"garbage"), Err(RecordError::BadZlib));
    let mut broken = stored;
    let last = broken.len() - 1;
    broken[last] ^= 1; // the checksum
    assert_eq!(decoded(zlib, &broken), Err(RecordError::BadZlib));
}

#[test]
fn the_read_id_needs_the_first_bytes_only() {
    for compression in all() {
        for length in [1, 36, 62, 63, 64, 65, 254] {
            let id = "x1y".repeat(length / 3 + 1).into_bytes()[..length].to_vec();
            let samples: Vec<i16> = (0..9000).map(|i| (i * 7 % 501) as i16).collect();
            let read = SignalRead { read_id: id.clone(), ..read(&samples) };
            let stored = stored(compression, &read);
            let mut decoder = RecordDecoder::new(compression).unwrap();
            let mut out = b"old".to_vec();
            decoder.read_id(&stored, &mut out).unwrap();
            assert!(out == id, "{compression:?} {length}");
            let part = match compression.record {
                RecordCompression::None => 2 + length,
                RecordCompression::Zlib => (length + 400).min(stored.len()),
                // libdeflate begins with longer blocks: where the first one ends is its affair.
                RecordCompression::ZlibFast | RecordCompression::Zstd => stored.len(),
            };
            decoder.read_id(&stored[..part], &mut out).unwrap();
            assert!(out == id, "{compression:?} {length}");
            for cut in [0, 1, 2] {
                assert!(decoder.read_id(&stored[..cut], &mut out).is_err());
            }
        }
    }
}

#[test]
fn a_read_that_does_not_fit_its_header_is_not_written() {
    let mut encoder = RecordEncoder::new(Compression::default()).unwrap();
    let mut refused = |read: SignalRead| {
        let mut out = b"before".to_vec();
        let error = encoder.append(&read, &header(), &mut out).unwrap_err();
        assert_eq!(out, b"before");
        error
    };
    for id in [&b""[..], &[b'x'; 255], b"@x", b"#x", b"*", b"..", b"a/b", b"a\tb"] {
        let bad = SignalRead { read_id: id.to_vec(), ..read(&[]) };
        assert_eq!(refused(bad), RecordError::ReadId(read_id::check(id).unwrap_err()));
    }
    let group = RecordError::ReadGroup { read_group: 9, read_groups: 2 };
    assert_eq!(refused(SignalRead { read_group: 9, ..read(&[]) }), group);
    let mut few = read(&[]);
    few.auxiliary.clear();
    assert_eq!(refused(few), RecordError::AuxiliaryCount { values: 0, fields: 3 });
    for (values, name) in [([&b"x"[..], b"", b""], "a"), ([b"xy", b"1234567", b""], "b")] {
        let mut bad = read(&[]);
        bad.auxiliary.clear();
        values.iter().for_each(|value| bad.auxiliary.push(value));
        assert_eq!(refused(bad), RecordError::AuxiliarySize(name.into()));
    }
}

#[test]
fn what_is_at_a_boundary() {
    fn t(bytes: &[u8], remaining: Option<u64>, expected: Result<Frame, FrameError>) {
        assert_eq!(parse_frame(bytes, remaining), expected);
    }
    let record = |stored_bytes| Ok(Frame::Record { stored_bytes });
    t(b"5WOLB", Some(5), Ok(Frame::EndOfFile));
    t(b"5WOLB", None, Ok(Frame::EndOfFile));
    for bad in [&b""[..], b"5WOL", b"5WOLBx", b"5WOLBBL", b"5WOLb", b"\0"] {
        t(bad, Some(bad.len() as u64), Err(FrameError::NoEndMarker));
    }
    t(&[9, 0, 0, 0, 0, 0, 0, 0], Some(17), record(9));
    t(&[9, 0, 0, 0, 0, 0, 0, 0], None, record(9));
    t(&[0; 8], Some(8), record(0));
    let past =
        |stored_bytes, remaining_bytes| Err(FrameError::PastEnd { stored_bytes, remaining_bytes });
    t(&[9, 0, 0, 0, 0, 0, 0, 0], Some(16), past(9, 8));
    t(&[255; 8], Some(100), past(u64::MAX, 92));
    t(&[255; 8], None, Err(FrameError::TooLong(u64::MAX)));
    t(&(MAX_BODY_BYTES as u64).to_le_bytes(), None, record(MAX_BODY_BYTES));
    // The end marker in the middle is data, unless a header is after it.
    t(b"5WOLB\0\0\0", Some(1 << 40), Err(FrameError::TooLong(0x42_4C4F_5735)));
    t(b"5WOLBBLO", Some(1 << 40), Err(FrameError::SecondHeader));
    t(b"BLOW5\x01\0\x02", None, Err(FrameError::SecondHeader));
}

proptest! {
    #[test]
    fn decode_inverts_encode(
        samples in prop::collection::vec(any::<i16>(), 0..300),
        id in "[0-9A-Za-z][!-.0-?A-~]{0,89}",
    ) {
        for compression in all() {
            let read = SignalRead { read_id: id.clone().into_bytes(), ..read(&samples) };
            let stored = stored(compression, &read);
            assert_equal(&decoded(compression, &stored).unwrap(), &read);
            let mut out = Vec::new();
            RecordDecoder::new(compression).unwrap().read_id(&stored, &mut out).unwrap();
            prop_assert_eq!(&out[..], id.as_bytes());
        }
    }
}
