//! Tests of record editing; `tests/hostile` edits damaged records.

use super::*;
use crate::bam::{AuxArray, Flags};

/// Name "name", CIGAR 1S4M, 5 bases, fields RG:Z NM:C XB:B:S XI:I.
fn body() -> Vec<u8> {
    let mut body = Vec::new();
    [0_i32, 100].iter().for_each(|word| body.extend_from_slice(&word.to_le_bytes()));
    body.extend_from_slice(&[5, 60, 0x49, 0x12, 2, 0, 0x63, 0]);
    [5_i32, 1, 200, -150].iter().for_each(|word| body.extend_from_slice(&word.to_le_bytes()));
    body.extend_from_slice(b"name\0\x14\0\0\0\x40\0\0\0\x12\x48\xf0\x1e\x1e\x1e\x1e\x1e");
    body.extend_from_slice(b"RGZgroup\0NMC\x01XBBS\x02\0\0\0\x01\0\x02\0XIi\xff\xff\xff\xff");
    body
}

fn tags(body: &[u8]) -> Vec<String> {
    let fields = RecordRef::new(body).unwrap().aux();
    fields.map(|field| String::from_utf8(field.unwrap().0.to_vec()).unwrap()).collect()
}

fn line(body: &[u8]) -> String {
    let mut line = Vec::new();
    let reference = |name: &str| crate::bam::Reference { name: name.to_owned(), length: 1000 };
    crate::sam::append_record(body, &[reference("c"), reference("d")], &mut line).unwrap();
    String::from_utf8(line).unwrap().trim_end().to_owned()
}

#[test]
fn fixed_fields_are_set() {
    let mut body = body();
    set_reference_id(&mut body, 1).unwrap();
    set_position(&mut body, 17).unwrap();
    set_mapping_quality(&mut body, 3).unwrap();
    set_flags(&mut body, Flags::PAIRED).unwrap();
    set_mate_reference_id(&mut body, 0).unwrap();
    set_mate_position(&mut body, 7).unwrap();
    set_template_length(&mut body, -9).unwrap();
    let expected = "name\t1\td\t18\t3\t1S4M\tc\t8\t-9\tACGTN\t?????";
    assert!(line(&body).starts_with(expected), "{}", line(&body));
    assert_eq!(set_flags(&mut [0; 31], 0), Err(RecordError::TooShort(31)));
}

#[test]
fn the_bin_follows_the_alignment() {
    let mut body = body();
    set_position(&mut body, 16_382).unwrap();
    update_bin(&mut body).unwrap();
    assert_eq!(RecordRef::new(&body).unwrap().bin(), 585);
    replace_cigar(&mut body, &[2 << 4, 3 << 4 | 4]).unwrap();
    assert_eq!(RecordRef::new(&body).unwrap().bin(), 4681);
    assert!(line(&body).contains("\t2M3S\t"), "{}", line(&body));
}

#[test]
fn cigars_grow_and_shrink() {
    let before = tags(&body());
    for ops in [&[][..], &[5 << 4], &[1 << 4, 1 << 4 | 1, 1 << 4, 1 << 4 | 2, 2 << 4]] {
        let mut body = body();
        replace_cigar(&mut body, ops).unwrap();
        let record = RecordRef::new(&body).unwrap();
        let stored: Vec<u32> =
            record.cigar().codes().map(|(op, len)| len << 4 | u32::from(op)).collect();
        assert_eq!(stored, ops);
        assert_eq!((record.name(), record.qualities()), (&b"name"[..], &[30; 5][..]));
        assert_eq!(tags(&body), before);
    }
    let mut body = body();
    assert_eq!(replace_cigar(&mut body, &[1 << 4 | 9]), Err(EditError::BadCigar(9)));
    assert_eq!(body, self::body());
}

#[test]
fn long_cigars_live_in_a_tag() {
    let ops: Vec<u32> = (0..70_000).map(|i| 1 << 4 | if i % 2 == 0 { 0 } else { 2 }).collect();
    let mut body = body();
    replace_cigar(&mut body, &ops).unwrap();
    let record = RecordRef::new(&body).unwrap();
    assert_eq!(record.cigar().collect::<Vec<_>>(), [(b'S', 5), (b'N', 70_000)]);
    assert_eq!(record.full_cigar().len(), 70_000);
    assert_eq!(tags(&body), ["RG", "NM", "XB", "XI", "CG"]);
    replace_cigar(&mut body, &[1 << 4 | 4, 4 << 4]).unwrap();
    assert_eq!(body, self::body());
}

#[test]
fn tags_are_found_and_removed() {
    let mut body = body();
    let range = find_tag(&body, *b"NM").unwrap().unwrap();
    assert_eq!(&body[range], b"NMC\x01");
    assert_eq!(find_tag(&body, *b"ZZ"), Ok(None));
    assert!(remove_tag(&mut body, *b"NM").unwrap());
    assert!(!remove_tag(&mut body, *b"NM").unwrap());
    assert_eq!(tags(&body), ["RG", "XB", "XI"]);
    retain_tags(&mut body, |tag, value| tag[0] == b'X' && value.as_int().is_none()).unwrap();
    assert_eq!(tags(&body), ["XB"]);
    retain_tags(&mut body, |_, _| false).unwrap();
    assert_eq!(tags(&body), [""; 0]);
    assert!(line(&body).ends_with("ACGTN\t?????"));
}

#[test]
fn every_type_is_written_and_read_back() {
    let shorts = AuxArray { subtype: b's', bytes: &[1, 0, 255, 255] };
    let values = [
        AuxValue::Character(b'x'),
        AuxValue::Int8(-1),
        AuxValue::UInt8(255),
        AuxValue::Int16(-300),
        AuxValue::UInt16(65_535),
        AuxValue::Int32(i32::MIN),
        AuxValue::UInt32(u32::MAX),
        AuxValue::Float(1.5),
        AuxValue::Double(-0.25),
        AuxValue::String(b""),
        AuxValue::Hex(b"1AFF"),
        AuxValue::Array(shorts),
        AuxValue::Array(AuxArray { subtype: b'f', bytes: b"" }),
    ];
    for value in values {
        let mut body = body();
        append_tag(&mut body, *b"YY", value).unwrap();
        assert_eq!(tags(&body), ["RG", "NM", "XB", "XI", "YY"]);
        assert_eq!(RecordRef::new(&body).unwrap().find_aux(*b"YY"), Ok(Some(value)));
        // At its end, and in place.
        set_tag(&mut body, *b"RG", value).unwrap();
        assert_eq!(tags(&body), ["NM", "XB", "XI", "YY", "RG"]);
        replace_tag(&mut body, *b"XB", value).unwrap();
        assert_eq!(tags(&body), ["NM", "XB", "XI", "YY", "RG"]);
        replace_tag(&mut body, *b"NN", value).unwrap();
        assert_eq!(tags(&body), ["NM", "XB", "XI", "YY", "RG", "NN"]);
        for tag in [*b"YY", *b"RG", *b"XB", *b"NN"] {
            assert_eq!(RecordRef::new(&body).unwrap().find_aux(tag), Ok(Some(value)));
        }
    }
}

#[test]
fn values_that_would_not_read_back_are_refused() {
    let mut body = body();
    let tag = *b"YY";
    for (value, error) in [
        (AuxValue::String(b"a\0b"), EditError::NulInText(tag)),
        (AuxValue::Hex(b"\0"), EditError::NulInText(tag)),
        (AuxValue::Array(AuxArray { subtype: b'Z', bytes: b"ab" }), EditError::BadArray(tag)),
        (AuxValue::Array(AuxArray { subtype: b'i', bytes: b"abcde" }), EditError::BadArray(tag)),
        (AuxValue::Array(AuxArray { subtype: b'i', bytes: b"a" }), EditError::BadArray(tag)),
    ] {
        assert_eq!(append_tag(&mut body, tag, value), Err(error.clone()));
        assert_eq!(set_tag(&mut body, tag, value), Err(error.clone()));
        assert_eq!(replace_tag(&mut body, tag, value), Err(error));
    }
    assert_eq!(body, self::body());
}

#[test]
fn malformed_fields_are_not_hidden_behind_new_ones() {
    let mut body = body();
    body.extend_from_slice(b"XXZnever ends");
    let before = body.clone();
    let at = before.len() - 13;
    let bad = RecordError::BadAux(at);
    let value = AuxValue::Int32(1);
    assert_eq!(append_tag(&mut body, *b"YY", value), Err(bad.clone().into()));
    assert_eq!(set_tag(&mut body, *b"RG", value), Err(bad.clone().into()));
    assert_eq!(replace_tag(&mut body, *b"RG", value), Err(bad.clone().into()));
    assert_eq!(replace_cigar(&mut body, &[]), Err(bad.clone().into()));
    assert_eq!(retain_tags(&mut body, |_, _| false), Err(bad));
    assert_eq!(body, before);
}
