//! Tables for NM, MD and UQ. samtools and Picard themselves judge in `tests/steps`.

use super::super::Steps;
use super::super::test_bodies::{apply, body};
use super::*;

const ALL: MismatchTags = MismatchTags { nm: true, md: true, uq: true };

/// c is ACGTACGTNNacgtRY, d is empty.
fn steps(tags: MismatchTags) -> Steps {
    let reference = ReferenceSequences::new(vec![b"ACGTACGTNNacgtRY".to_vec(), Vec::new()]);
    let mut steps = Steps::new();
    steps.add_record_step(SetMismatchTags::new(Arc::new(reference), tags));
    steps
}

#[test]
fn reads_are_compared_with_the_reference() {
    /// POS, CIGAR, bases; every quality is 10.
    fn t(position: u32, cigar: &str, bases: &str, expected: &str) {
        let qualities = "+".repeat(bases.len());
        let line = format!("r 0 c {position} 60 {cigar} * 0 0 {bases} {qualities}");
        let (lines, _) = apply(&steps(ALL), &[&line]);
        assert_eq!(lines, [format!("{line} {expected}")]);
    }
    t(1, "8M", "ACGTACGT", "NM:i:0 MD:Z:8 UQ:i:0");
    t(1, "8M", "TCGTACGA", "NM:i:2 MD:Z:0A6T0 UQ:i:20");
    t(1, "4=4X", "ACGTACGT", "NM:i:0 MD:Z:8 UQ:i:0");
    t(1, "2S2M1I2M2S", "TTACTGTTT", "NM:i:1 MD:Z:4 UQ:i:0");
    t(2, "2M3D2M", "CGGT", "NM:i:3 MD:Z:2^TAC2 UQ:i:0");
    t(2, "2M3N2M", "CGGT", "NM:i:0 MD:Z:4 UQ:i:0");
    t(1, "3H4M1P1M", "ACGTA", "NM:i:0 MD:Z:5 UQ:i:0");
    // N matches nothing for NM and MD, and N for UQ; case does not matter; = matches all.
    t(8, "4M", "TNNA", "NM:i:2 MD:Z:1N0N1 UQ:i:0");
    t(8, "4M", "TACA", "NM:i:2 MD:Z:1N0N1 UQ:i:20");
    t(11, "4M", "A=GG", "NM:i:1 MD:Z:3T0 UQ:i:20");
    t(15, "2M", "RC", "NM:i:1 MD:Z:1Y0 UQ:i:10");
    // The comparison ends where the reference ends.
    t(15, "4M", "RYAA", "NM:i:0 MD:Z:2 UQ:i:0");
    t(15, "1M4D1M", "RA", "NM:i:1 MD:Z:1^Y0 UQ:i:0");
    t(40, "2M", "AA", "NM:i:0 MD:Z:0 UQ:i:0");
}

#[test]
fn right_tags_stay_where_they_are() {
    fn t(tags: MismatchTags, before: &str, after: &str) {
        let read = "r 0 c 1 60 4M * 0 0 ACTT ++++";
        let (lines, _) = apply(&steps(tags), &[&format!("{read}{before}")]);
        assert_eq!(lines, [format!("{read}{after}")], "{before}");
    }
    t(ALL, " NM:i:1 MD:Z:2g1 X0:i:1", " NM:i:1 MD:Z:2g1 X0:i:1 UQ:i:10");
    t(ALL, " NM:i:2 MD:Z:4 X0:i:1", " X0:i:1 NM:i:1 MD:Z:2G1 UQ:i:10");
    t(ALL, " NM:Z:1 MD:i:2", " NM:i:1 MD:Z:2G1 UQ:i:10");
    t(ALL, " UQ:i:10 X0:i:1", " X0:i:1 NM:i:1 MD:Z:2G1 UQ:i:10");
    t(MismatchTags::default(), " NM:i:2 MD:Z:4", " NM:i:2 MD:Z:4");
    t(MismatchTags { nm: true, ..Default::default() }, " MD:Z:4", " MD:Z:4 NM:i:1");
    t(MismatchTags { md: true, ..Default::default() }, " NM:i:7", " NM:i:7 MD:Z:2G1");
    t(MismatchTags { uq: true, ..Default::default() }, "", " UQ:i:10");
}

#[test]
fn what_cannot_be_compared_is_left_alone() {
    for line in [
        "r 4 c 1 60 4M * 0 0 ACTT ++++ NM:i:9",
        "r 0 c 1 60 4M * 0 0 * * NM:i:9",
        "r 0 d 1 60 4M * 0 0 ACTT ++++ NM:i:9",
        "r 0 * 1 60 4M * 0 0 ACTT ++++ NM:i:9",
        "r 0 c 0 60 4M * 0 0 ACTT ++++ NM:i:9",
    ] {
        assert_eq!(apply(&steps(ALL), &[line]).0, [line]);
    }
    let no_qualities = "r 0 c 1 60 4M * 0 0 ACTT *";
    assert_eq!(apply(&steps(ALL), &[no_qualities]).0, [format!("{no_qualities} NM:i:1 MD:Z:2G1")]);
}

#[test]
fn a_cigar_longer_than_the_read_ends_with_the_read() {
    let mut body = body("r 0 c 1 60 4M * 0 0 ACGT ++++");
    // 2^28 - 1 matches: the loops must not walk them.
    let at = 32 + 2;
    body[at..at + 4].copy_from_slice(&(u32::MAX << 4).to_le_bytes());
    let reference = Arc::new(ReferenceSequences::new(vec![b"ACGTACGT".to_vec()]));
    let step = SetMismatchTags::new(reference, ALL);
    step.apply(&mut body, &mut StepScratch::default()).unwrap();
    let record = RecordRef::new(&body).unwrap();
    assert_eq!(record.find_aux(*b"MD"), Ok(Some(AuxValue::String(b"4"))));
}
