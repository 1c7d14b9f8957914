//! Damaged records through the collection of read ends and recalibration, and damaged reports:
//! errors, never a panic.
#![allow(clippy::unwrap_used)]

mod exercise;

use std::sync::LazyLock;

use proptest::prelude::*;
use seqloom_testkit::damage::{Change, damaged};

/// A mapped pair with read locations in its names, framed.
fn pair() -> Vec<u8> {
    let mut records = Vec::new();
    for (flags, position) in [(0x63_u16, 100_i32), (0x93, 300)] {
        let mut body = Vec::new();
        [0, position].iter().for_each(|word| body.extend_from_slice(&word.to_le_bytes()));
        body.extend_from_slice(&[18, 60, 0x49, 0x12, 2, 0]);
        body.extend_from_slice(&flags.to_le_bytes());
        [4, 0, 400 - position, 9].iter().for_each(|word: &i32| {
            body.extend_from_slice(&word.to_le_bytes());
        });
        body.extend_from_slice(b"m:1:f:2:1101:10:9\0\x14\0\0\0\x30\0\0\0\x12\x48\x1e\x1e\x1e\x1e");
        body.extend_from_slice(b"MCZ4M\0RGZa\0");
        records.extend_from_slice(&(body.len() as u32).to_le_bytes());
        records.extend_from_slice(&body);
    }
    records
}

/// A record with everything that recalibration looks at.
fn record() -> Vec<u8> {
    let mut body = Vec::new();
    [0, 3].iter().for_each(|word: &i32| body.extend_from_slice(&word.to_le_bytes()));
    body.extend_from_slice(&[2, 60, 0x49, 0x12, 6, 0, 0x63, 0]);
    [12, 0, 9, 15].iter().for_each(|word: &i32| body.extend_from_slice(&word.to_le_bytes()));
    body.extend_from_slice(b"r\0");
    for (code, len) in [(4_u32, 1_u32), (0, 4), (2, 2), (1, 2), (0, 4), (4, 1)] {
        body.extend_from_slice(&(len << 4 | code).to_le_bytes());
    }
    body.extend_from_slice(b"\x12\x48\x12\xf4\x82\x14");
    body.extend((0..12).map(|at| [2, 30, 12, 37][at % 4]));
    body.extend_from_slice(b"RGZa\0OQZ??????5?????\0BIZNNNNNNNNNNNN\0BDZNNNNNNNNNNNN\0NMC\x01");
    body
}

/// The report of that record.
fn report() -> &'static [u8] {
    static REPORT: LazyLock<String> = LazyLock::new(|| exercise::recalibration(&record()).unwrap());
    REPORT.as_bytes()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn damaged_records(
        noise in prop::collection::vec(any::<u8>(), 0..80),
        changes in prop::collection::vec(any::<Change>(), 0..4),
    ) {
        exercise::template(&noise);
        exercise::template(&damaged(&pair(), &changes));
        exercise::steps(&noise);
        exercise::steps(&damaged(&pair(), &changes));
        exercise::metrics(&noise);
        exercise::metrics(&damaged(&pair(), &changes));
    }

    #[test]
    fn odd_read_names(name in "[0-9:+a-]{0,17}") {
        let mut records = pair();
        let at = 36;
        records[at..at + 17].fill(b':');
        records[at..at + name.len()].copy_from_slice(name.as_bytes());
        exercise::template(&records);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn recalibrated_records(
        noise in prop::collection::vec(any::<u8>(), 0..80),
        changes in prop::collection::vec(any::<Change>(), 0..4),
    ) {
        let _ = exercise::recalibration(&noise);
        let _ = exercise::recalibration(&damaged(&record(), &changes));
    }

    #[test]
    fn damaged_reports(changes in prop::collection::vec(any::<Change>(), 0..4)) {
        exercise::recalibration_report(&damaged(report(), &changes));
    }
}
