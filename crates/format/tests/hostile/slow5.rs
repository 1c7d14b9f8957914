//! What the parsers of SLOW5 and BLOW5 must survive, whatever the bytes; see `exercise.rs`.

use seqloom_format::signal::{AuxiliaryField, AuxiliaryType, SignalHeader, SignalRead, read_id};
use seqloom_format::slow5::binary::{self, Frame, RecordDecoder, RecordEncoder};
use seqloom_format::slow5::{
    Compression, MAX_BODY_BYTES, RecordCompression, SignalCompression, ex_zd, header, index,
    stream_vbyte, svb_zd, text,
};

/// All nine.
pub(crate) fn compressions() -> impl Iterator<Item = Compression> {
    let records = [RecordCompression::None, RecordCompression::Zlib, RecordCompression::Zstd];
    let signals = [SignalCompression::None, SignalCompression::SvbZd, SignalCompression::ExZd];
    records.into_iter().flat_map(move |record| signals.map(|signal| Compression { record, signal }))
}

/// A header with a field and an array of several types.
pub(crate) fn sample_header() -> SignalHeader {
    let kinds = [
        AuxiliaryType::I8,
        AuxiliaryType::U16,
        AuxiliaryType::I64,
        AuxiliaryType::F32,
        AuxiliaryType::F64,
        AuxiliaryType::Char,
        AuxiliaryType::Enum(vec![b"A".to_vec(), b"B".to_vec()]),
    ];
    let fields = kinds.into_iter().enumerate().flat_map(|(number, kind)| {
        [false, true].map(|is_array| AuxiliaryField {
            name: format!("f{number}{is_array}").into_bytes(),
            kind: kind.clone(),
            is_array,
        })
    });
    let auxiliary = fields.collect();
    SignalHeader { read_groups: 2, auxiliary, ..SignalHeader::default() }
}

/// NaN differs from itself; its text does not.
fn assert_equal(one: &SignalRead, other: &SignalRead) {
    assert_eq!(format!("{one:?}"), format!("{other:?}"));
}

/// Headers of both forms: what is read can be written and read again, and no part of a whole header
/// is another one.
pub(crate) fn headers(bytes: &[u8]) {
    if let Ok(Some((parsed, used_bytes))) = header::parse_text(bytes) {
        assert!(used_bytes <= bytes.len());
        assert_eq!(header::parse_text(&bytes[..used_bytes - 1]), Ok(None));
        if header::check(&parsed).is_ok() {
            let mut out = Vec::new();
            header::append_text(&parsed, &mut out);
            assert_eq!(header::parse_text(&out), Ok(Some((parsed, out.len()))));
        }
    }
    if let Ok(Some((parsed, compression, used_bytes))) = header::parse_binary(bytes) {
        assert!(used_bytes <= bytes.len());
        assert_eq!(header::parse_binary(&bytes[..used_bytes - 1]), Ok(None));
        let mut out = Vec::new();
        if header::append_binary(&parsed, compression, &mut out).is_ok() {
            let version = header::version_for(parsed.version, compression);
            let parsed = SignalHeader { version, ..parsed };
            assert_eq!(header::parse_binary(&out), Ok(Some((parsed, compression, out.len()))));
        }
    }
}

/// A line of text: what is read can be written and read again.
pub(crate) fn line(line: &[u8]) {
    let header = sample_header();
    let mut read = SignalRead::default();
    if text::parse_record(line, &header, &mut read).is_err() {
        return;
    }
    let mut out = b"before".to_vec();
    if text::append_record(&read, &header, &mut out).is_err() {
        assert_eq!(out, b"before");
        return;
    }
    let (mut again, mut twice) = (SignalRead::default(), Vec::new());
    text::parse_record(&out[6..], &header, &mut again).unwrap();
    text::append_record(&again, &header, &mut twice).unwrap();
    assert_eq!(out[6..], twice);
    assert_eq!(again.samples, read.samples);
}

/// Coded samples: vectors and oracle agree, and what is decoded can be coded and decoded again.
pub(crate) fn signal(frame: &[u8]) {
    let (mut fast, mut slow, mut out) = (vec![1; 3], Vec::new(), Vec::new());
    let outcome = svb_zd::decode(frame, &mut fast);
    assert_eq!(outcome, svb_zd::decode_scalar(frame, &mut slow));
    if outcome.is_ok() {
        assert_eq!(fast, slow);
        assert!(fast.len() < frame.len());
        assert_eq!(svb_zd::count(frame).unwrap().0, fast.len());
        svb_zd::encode(&fast, &mut out).unwrap();
        svb_zd::decode(&out, &mut slow).unwrap();
        assert_eq!(fast, slow);
    }
    let mut scratch = ex_zd::Scratch::default();
    let outcome = ex_zd::decode(frame, &mut scratch, &mut fast);
    assert_eq!(outcome, ex_zd::decode_scalar(frame, &mut scratch, &mut slow));
    if outcome.is_ok() {
        assert_eq!(fast, slow);
        assert!(fast.len() < frame.len());
        assert_eq!(ex_zd::count(frame), Ok(fast.len()));
        out.clear();
        ex_zd::encode(&fast, &mut scratch, &mut out).unwrap();
        ex_zd::decode(&out, &mut scratch, &mut slow).unwrap();
        assert_eq!(fast, slow);
    }
    if let [count, coded @ ..] = frame {
        let mut values = Vec::new();
        if stream_vbyte::decode((*count).into(), coded, &mut values).is_ok() {
            out.clear();
            stream_vbyte::encode(values.len(), values.iter().copied(), &mut out);
            assert!(out.len() <= coded.len());
        }
    }
}

/// The bytes of a record in every compression: whole, without samples and the id alone agree, and
/// what is decoded can be coded and decoded again.
pub(crate) fn record(stored: &[u8]) {
    let header = sample_header();
    for compression in compressions() {
        let mut decoder = RecordDecoder::new(compression).unwrap();
        let (mut read, mut id) = (SignalRead::default(), Vec::new());
        let id_outcome = decoder.read_id(stored, &mut id);
        if decoder.decode(stored, &header, &mut read).is_err() {
            continue;
        }
        id_outcome.unwrap();
        assert_eq!(id, read.read_id);
        let mut other = SignalRead::default();
        let samples = decoder.decode_without_samples(stored, &header, &mut other).unwrap();
        assert_eq!(samples, read.samples.len() as u64);
        other.samples.clone_from(&read.samples);
        assert_equal(&other, &read);
        let mut out = Vec::new();
        read_id::rename(&mut read.read_id);
        let mut encoder = RecordEncoder::new(compression).unwrap();
        encoder.append(&read, &header, &mut out).unwrap();
        decoder.decode(&out[8..], &header, &mut other).unwrap();
        assert_equal(&other, &read);
    }
}

/// A BLOW5 file from its first byte to its end or first defect.
pub(crate) fn file(bytes: &[u8]) {
    let Ok(Some((header, compression, mut at))) = header::parse_binary(bytes) else { return };
    let mut decoder = RecordDecoder::new(compression).unwrap();
    let mut read = SignalRead::default();
    loop {
        let rest = &bytes[at..];
        let next = &rest[..rest.len().min(binary::LENGTH_BYTES)];
        let Ok(frame) = binary::parse_frame(next, Some(rest.len() as u64)) else { return };
        let Frame::Record { stored_bytes } = frame else {
            assert_eq!(rest, binary::END_OF_FILE);
            return;
        };
        assert!(stored_bytes <= MAX_BODY_BYTES);
        let stored = &rest[binary::LENGTH_BYTES..][..stored_bytes];
        let _ = decoder.decode(stored, &header, &mut read);
        at += binary::LENGTH_BYTES + stored_bytes;
    }
}

/// An index: entries are in it, and those that are read can be written again.
pub(crate) fn index_file(bytes: &[u8]) {
    let Ok((version, entries)) = index::parse(bytes) else { return };
    let mut out = Vec::new();
    index::append_header(version, &mut out);
    for entry in entries {
        let Ok(entry) = entry else { return };
        index::append_entry(&entry, &mut out);
    }
    index::append_footer(&mut out);
    assert_eq!(out.len(), bytes.len());
    assert_eq!(out[64..], bytes[64..]);
}
