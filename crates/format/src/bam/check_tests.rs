//! Records good and bad in every part, and the search for records in bytes.

use super::*;
use crate::names::ReadNameProblem;
use proptest::prelude::*;

/// A good record: two references, 5 bases, the given CIGAR and auxiliary fields.
fn body(cigar: &[(u32, u32)], aux: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    [0_i32, 100].iter().for_each(|word| body.extend_from_slice(&word.to_le_bytes()));
    body.extend_from_slice(&[5, 60, 0, 0, cigar.len() as u8, 0, 0x63, 0]);
    [5_i32, 1, 200, -150].iter().for_each(|word| body.extend_from_slice(&word.to_le_bytes()));
    body.extend_from_slice(b"name\0");
    for (len, code) in cigar {
        body.extend_from_slice(&(len << 4 | code).to_le_bytes());
    }
    body.extend_from_slice(b"\x12\x48\xf0\x1e\x1e\x1e\x1e\x1e");
    body.extend_from_slice(aux);
    body
}

/// The places of qualities and auxiliary fields in a body with `ops` operations.
fn qualities_start(ops: usize) -> usize {
    FIXED_BYTES + 5 + 4 * ops + 3
}

const CIGAR: [(u32, u32); 2] = [(1, 4), (4, 0)];

#[test]
fn the_bin_is_that_of_the_place() {
    assert_eq!(check_record(&body(&CIGAR, b""), 2), Ok(4681));
    let mut far = body(&[(5, 0), (20_000, 2)], b"");
    assert_eq!(check_record(&far, 2), Ok(585));
    // Unmapped: one base; without a CIGAR: as it was.
    far[14] |= 4;
    assert_eq!(check_record(&far, 2), Ok(4681));
    let mut bare = body(&[], b"");
    bare[10] = 7;
    assert_eq!(check_record(&bare, 2), Ok(7));
}

#[test]
fn every_part_is_checked() {
    let good = body(&CIGAR, b"RGZgroup\0");
    let changed = |offset: usize, bytes: &[u8]| {
        let mut body = good.clone();
        body[offset..offset + bytes.len()].copy_from_slice(bytes);
        check_record(&body, 2)
    };
    assert!(changed(0, b"").is_ok());
    for (field, offset) in [("refID", 0), ("next_refID", 20)] {
        let error = RecordError::BadReference { field, id: 2, reference_count: 2 };
        assert_eq!(changed(offset, &2_i32.to_le_bytes()), Err(error));
        assert!(changed(offset, &(-1_i32).to_le_bytes()).is_ok());
    }
    for byte in *b"@ \x7f\x80\0" {
        for at in [0, 1] {
            let problem = RecordError::Name(ReadNameProblem::Byte { byte, at });
            assert_eq!(changed(32 + at, &[byte]), Err(problem), "{byte}");
        }
    }
    let qualities = qualities_start(2);
    assert_eq!(changed(qualities + 1, &[94]), Err(RecordError::BadQuality(94)));
    assert!(changed(qualities, &[93]).is_ok());
    assert!(changed(qualities, &[0xff; 5]).is_ok());
    assert_eq!(
        check_record(&body(&CIGAR, b"XX"), 2),
        Err(RecordError::BadTag { tag: *b"XX", at: qualities + 5 })
    );
}

#[test]
fn a_record_is_renamed_in_place() {
    let mut bad = body(&CIGAR, b"");
    bad[32..36].copy_from_slice(b"@a\xc3\xa9");
    rename_record(&mut bad);
    assert_eq!(RecordRef::new(&bad).unwrap().name(), b"_a__");
    assert!(check_record(&bad, 2).is_ok());
    let good = body(&CIGAR, b"");
    let mut same = good.clone();
    rename_record(&mut same);
    assert_eq!(same, good);
    // What is no record is left to the check.
    for length in 0..36 {
        let mut cut = good[..length].to_vec();
        rename_record(&mut cut);
        assert_eq!(cut, good[..length]);
    }
}

#[test]
fn a_cigar_covers_the_bases_of_a_mapped_record() {
    let error = |cigar_bases| RecordError::CigarLength { cigar_bases, bases: 5 };
    let mut short = body(&[(4, 0)], b"");
    assert_eq!(check_record(&short, 2), Err(error(4)));
    short[14] |= 4;
    assert!(check_record(&short, 2).is_ok());
    let everything = [(1, 5), (1, 4), (1, 0), (9, 2), (1, 1), (9, 3), (9, 6), (1, 7), (1, 8)];
    assert!(check_record(&body(&everything, b""), 2).is_ok());
    let huge = [((1 << 28) - 1, 0); 200];
    let bases = 200 * ((1 << 28) - 1);
    assert_eq!(check_record(&body(&huge, b""), 2), Err(error(bases)));
    // The true CIGAR in the CG field counts.
    let long = |ops: &[(u32, u32)]| {
        let words: Vec<u8> =
            ops.iter().flat_map(|(len, code)| (len << 4 | code).to_le_bytes()).collect();
        body(&[(5, 4), (3, 3)], &[b"CGBI", &(ops.len() as u32).to_le_bytes()[..], &words].concat())
    };
    assert!(check_record(&long(&[(2, 0), (2, 1), (1, 0)]), 2).is_ok());
    assert_eq!(check_record(&long(&[(2, 0), (2, 1), (2, 0)]), 2), Err(error(6)));
}

#[test]
fn hard_clips_are_found_within_a_read() {
    fn t(cigar: &str, expected: bool) {
        let mut words = Vec::new();
        for letter in cigar.bytes() {
            let code = crate::bam::CIGAR_LETTERS.iter().position(|&it| it == letter).unwrap();
            words.extend_from_slice(&(1_u32 << 4 | code as u32).to_le_bytes());
        }
        assert_eq!(hard_clips_are_at_the_ends(CigarOps::of(&words)), expected, "{cigar}");
    }
    for good in
        ["", "M", "S", "H", "SM", "HM", "MS", "MH", "HSMSH", "SMH", "HMS", "HSH", "HH", "SS"]
    {
        t(good, true);
    }
    for bad in ["MHM", "SHM", "MHS", "HHM", "HMHM", "HHH"] {
        t(bad, false);
    }
}

#[test]
fn auxiliary_fields_are_checked() {
    let result = |aux: &[u8]| check_record(&body(&CIGAR, &[b"NMC\x01", aux].concat()), 2);
    for good in [
        &b""[..],
        b"XAA!",
        b"XZZ\0",
        b"XZZ gr\xc3\xbcn \0",
        b"XHH\0",
        b"XHH1aE3\0",
        b"A!A!",
        b"XBBc\0\0\0\0",
        b"XFf\0\0\xc0\x7f",
        b"NMC\x02",
    ] {
        assert!(result(good).is_ok(), "{good:?}");
    }
    let offset = qualities_start(2) + 5 + 4;
    for bad in [
        &b"XAA\x07"[..],
        b"XAA ",
        b"XZZa\tb\0",
        b"XZZa\n\0",
        b"XZZ\x7f\0",
        b"XHH1\0",
        b"XHH1G\0",
        b"X\0A!",
        b" XA!",
        b"XQQ\0",
        b"XBBi\xff\xff\xff\xff",
        b"XZZno end",
    ] {
        let tag = [bad[0], bad[1]];
        assert_eq!(result(bad), Err(RecordError::BadTag { tag, at: offset }), "{bad:?}");
    }
}

fn framed(bodies: &[Vec<u8>]) -> Vec<u8> {
    bodies.iter().flat_map(|it| [&(it.len() as u32).to_le_bytes()[..], it].concat()).collect()
}

#[test]
fn a_record_is_found_after_what_is_none() {
    let records = framed(&[body(&CIGAR, b""), body(&[], b"XXZ\0"), body(&CIGAR, b"RGZa\0")]);
    for noise in [&b""[..], b"\0", b"\0\0\0\0\0", &[0xff; 70], b"some text of a name", &[0; 300]] {
        let text = [noise, &records].concat();
        assert_eq!(find_record(&text, 0, 2), RecordSearch::At(noise.len()), "{noise:?}");
        let after = noise.len() + 1;
        let second = noise.len() + 4 + body(&CIGAR, b"").len();
        assert_eq!(find_record(&text, after, 2), RecordSearch::At(second));
    }
    // From the tail of a record; and up to a record that is cut off.
    for cut in 1..records.len() {
        let text = &records[..cut];
        match find_record(text, 0, 2) {
            RecordSearch::At(at) => assert_eq!(at, 0),
            RecordSearch::NeedMore(at) => assert!(at == 0 && cut < 4 + FIXED_BYTES + 5, "{cut}"),
        }
    }
    assert_eq!(find_record(&[0; 100], 0, 2), RecordSearch::NeedMore(100 - 35));
    assert_eq!(find_record(b"", 0, 2), RecordSearch::NeedMore(0));
}

/// Records in the data of a record are found if there is nothing else: the caller confirms.
#[test]
fn a_chain_of_bad_records_is_no_start() {
    let mut second = body(&CIGAR, b"");
    second[32] = b'@';
    let records = framed(&[body(&CIGAR, b""), second, body(&[], b"XXZ\0")]);
    let third = records.len() - 4 - body(&[], b"XXZ\0").len();
    assert_eq!(find_record(&records, 0, 2), RecordSearch::At(third));
}

/// Every place looks like a long record, and none is one: the search ends in linear time.
#[test]
fn hostile_bytes_do_not_take_quadratic_time() {
    let mut part = framed(&[body(&[], b"")]);
    part.truncate(4 + FIXED_BYTES + 5);
    part[..4].copy_from_slice(&(1_u32 << 20).to_le_bytes());
    part[4 + 16..4 + 20].copy_from_slice(&1000_i32.to_le_bytes());
    let text = part.repeat((4 << 20) / part.len());
    let start = std::time::Instant::now();
    assert_eq!(find_record(&text, 0, 2), RecordSearch::NeedMore(text.len()));
    assert!(start.elapsed().as_secs() < 5);
}

proptest! {
    #[test]
    fn what_is_found_looks_like_a_record(
        text in prop::collection::vec(prop_oneof![3 => Just(0_u8), 1 => any::<u8>()], 0..400),
        place in 0..400_usize,
    ) {
        let at = place.min(text.len());
        let records = framed(&[body(&CIGAR, b""), body(&[], b"")]);
        let with = [&text[..at], &records, &text[at..]].concat();
        match find_record(&with, 0, 2) {
            RecordSearch::At(found) => {
                let size = u32_at(&with, found) as usize;
                if let Some(body) = with.get(found + 4..found + 4 + size) {
                    prop_assert!(check_record(body, 2).is_ok());
                }
            }
            RecordSearch::NeedMore(found) => prop_assert!(found <= with.len()),
        }
    }
}
