//! Records, framed and taken apart, whole and malformed.

use super::*;
use crate::bam::test_data::{TestBam, bam_folder, files};
use proptest::prelude::*;

/// A record with everything: name "name", CIGAR 1S2M3D1I4N5=, 9 bases, one field.
fn body() -> Vec<u8> {
    let mut body = Vec::new();
    for word in [3_i32, 100] {
        body.extend_from_slice(&word.to_le_bytes());
    }
    body.extend_from_slice(&[5, 60, 0x49, 0x12]);
    body.extend_from_slice(&6_u16.to_le_bytes());
    body.extend_from_slice(&0x463_u16.to_le_bytes());
    for word in [9_i32, 4, 200, -150] {
        body.extend_from_slice(&word.to_le_bytes());
    }
    body.extend_from_slice(b"name\0");
    for (len, code) in [(1_u32, 4), (2, 0), (3, 2), (1, 1), (4, 3), (5, 7)] {
        body.extend_from_slice(&(len << 4 | code).to_le_bytes());
    }
    body.extend_from_slice(&[0x12, 0x48, 0xf1, 0x24, 0x80]);
    body.extend_from_slice(&[30; 9]);
    body.extend_from_slice(b"RGZgroup\0");
    body
}

#[test]
fn every_field_is_read() {
    let body = body();
    let record = RecordRef::new(&body).unwrap();
    assert_eq!((record.reference_id(), record.position()), (3, 100));
    assert_eq!((record.mate_reference_id(), record.mate_position()), (4, 200));
    assert_eq!((record.mapping_quality(), record.bin(), record.flags()), (60, 0x1249, 0x463));
    assert_eq!((record.template_length(), record.name()), (-150, &b"name"[..]));
    let cigar: Vec<(u8, u32)> = record.cigar().collect();
    assert_eq!(cigar, [(b'S', 1), (b'M', 2), (b'D', 3), (b'I', 1), (b'N', 4), (b'=', 5)]);
    assert_eq!(record.reference_end(), 100 + 2 + 3 + 4 + 5);
    let bases: Vec<u8> =
        (0..9).map(|i| BASE_LETTERS[usize::from(record.base_code(i).unwrap())]).collect();
    assert_eq!(bases, b"ACGTNACGT");
    assert_eq!(record.base_code(9), None);
    assert_eq!(record.qualities(), [30; 9]);
    assert_eq!(record.find_aux(*b"RG"), Ok(Some(AuxValue::String(b"group"))));
    assert_eq!(record.find_aux(*b"NM"), Ok(None));
    assert!(record.has_flags(Flags::PAIRED | Flags::PROPER_PAIR));
    assert!(!record.has_flags(Flags::PAIRED | Flags::UNMAPPED));
}

#[test]
fn records_without_an_extent_count_one_base() {
    let mut bytes = body();
    bytes[14] |= 4;
    assert_eq!(RecordRef::new(&bytes).unwrap().reference_end(), 101);
    let mut bytes = body();
    for at in (0..6).map(|op| 37 + 4 * op) {
        bytes[at] = bytes[at] & 0xf0 | 4;
    }
    assert_eq!(RecordRef::new(&bytes).unwrap().reference_end(), 101);
}

#[test]
fn malformed_records_are_refused() {
    let good = body();
    let changed = |offset: usize, bytes: &[u8]| {
        let mut body = good.clone();
        body[offset..offset + bytes.len()].copy_from_slice(bytes);
        RecordRef::new(&body).map(|_| ()).unwrap_err()
    };
    let bad = |field, value| RecordError::BadValue { field, value };
    assert_eq!(changed(0, &(-2_i32).to_le_bytes()), bad("refID", -2));
    assert_eq!(changed(4, &i32::MIN.to_le_bytes()), bad("pos", i32::MIN));
    assert_eq!(changed(16, &(-1_i32).to_le_bytes()), bad("l_seq", -1));
    assert_eq!(changed(20, &(-9_i32).to_le_bytes()), bad("next_refID", -9));
    assert!(matches!(changed(16, &i32::MAX.to_le_bytes()), RecordError::Overflow { .. }));
    assert!(matches!(changed(12, &[255, 255]), RecordError::Overflow { .. }));
    assert_eq!(changed(8, &[0]), RecordError::BadName);
    assert_eq!(changed(36, b"x"), RecordError::BadName);
    assert_eq!(changed(37, &[0x19]), RecordError::BadCigar(9));
    let fixed_end = good.len() - b"RGZgroup\0".len();
    for len in 0..fixed_end {
        assert!(RecordRef::new(&good[..len]).is_err(), "{len}");
    }
    for len in fixed_end + 1..good.len() {
        let record = RecordRef::new(&good[..len]).unwrap();
        assert_eq!(record.find_aux(*b"NM"), Err(RecordError::BadAux(fixed_end)), "{len}");
        assert_eq!(record.aux().count(), 1, "iteration ends after an error");
    }
}

#[test]
fn frames() {
    let run = [&3_u32.to_le_bytes()[..], b"abc", &0_u32.to_le_bytes(), &9_u32.to_le_bytes(), b"x"]
        .concat();
    let mut frames = framed_records(&run);
    assert_eq!(frames.next(), Some(Ok(&b"abc"[..])));
    assert_eq!(frames.offset(), 7);
    assert_eq!(frames.next(), Some(Ok(&b""[..])));
    let error = RecordError::TruncatedFrame { offset: 11, needed_bytes: 13, available_bytes: 5 };
    assert_eq!(frames.next(), Some(Err(error)));
    assert_eq!(frames.next(), None);
    let error = RecordError::TruncatedFrame { offset: 0, needed_bytes: 4, available_bytes: 2 };
    assert_eq!(framed_records(b"ab").next(), Some(Err(error)));
    assert!(framed_records(&[0xff; 9]).next().unwrap().is_err());
}

#[test]
fn the_duplicate_bit() {
    let mut bytes = body();
    set_duplicate(&mut bytes, false);
    assert_eq!(RecordRef::new(&bytes).unwrap().flags(), 0x063);
    set_duplicate(&mut bytes, true);
    assert_eq!(bytes, body());
    set_duplicate(&mut [0; 15], true);
}

#[test]
fn stored_bins_of_real_files_are_ours() {
    let Some(folder) = bam_folder() else { return };
    let mut checked = 0;
    for path in files(&folder.join("nf-cmgg"), ".bam") {
        let bam = TestBam::read(&path).unwrap();
        for body in framed_records(&bam.records) {
            let record = RecordRef::new(body.unwrap()).unwrap();
            let bin = reg2bin(record.position().into(), record.reference_end());
            assert_eq!(bin, record.bin(), "{}", String::from_utf8_lossy(record.name()));
            checked += 1;
        }
    }
    assert!(checked > 10_000, "{checked}");
}

proptest! {
    #[test]
    fn hostile_bytes_never_panic(
        changes in prop::collection::vec((any::<usize>(), any::<u8>()), 0..6),
        cut in any::<usize>(),
    ) {
        let mut bytes = body();
        for (offset, value) in changes {
            let offset = offset % bytes.len();
            bytes[offset] = value;
        }
        bytes.truncate(cut % (bytes.len() + 1));
        let mut out = Vec::new();
        let _ = crate::sam::append_record(&bytes, &[], &mut out);
        if let Ok(record) = RecordRef::new(&bytes) {
            let _ = (record.reference_end(), record.aux().count(), record.full_cigar().count());
            let _ = (record.name(), record.base_code(0), record.qualities());
        }
        for body in framed_records(&bytes) {
            let _ = body;
        }
    }
}
