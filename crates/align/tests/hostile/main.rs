//! Damaged comments, fields and index files: errors, never a panic.
#![allow(clippy::unwrap_used)]

mod exercise;

use proptest::prelude::*;
use seqloom_testkit::damage::{Change, damaged};

const COMMENT: &[u8] = b"BC:Z:ACGT\tXI:i:-7\tXF:f:1.5\tXB:B:S,1,2\tXA:A:c\tXH:H:0A";
const FIELDS: &[u8] = b"RGZa\0NMC\x01RXZAC\0XBBS\x02\0\0\0\x01\0\x02\0MCZ4M\0XIi\xff\xff\xff\xff";

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn comments_and_fields(
        noise in "[A-Zi:0-9,.\t-]{0,40}",
        changes in prop::collection::vec(any::<Change>(), 0..4),
    ) {
        exercise::input_tags(noise.as_bytes());
        exercise::input_tags(&damaged(COMMENT, &changes));
        exercise::input_tags(&damaged(FIELDS, &changes));
    }
}

#[test]
fn index_files() {
    let folder = tempfile::tempdir().unwrap();
    let index = exercise::Index::build_in(folder.path());
    let config = ProptestConfig { cases: 300, failure_persistence: None, ..Default::default() };
    proptest!(config, |(changes in prop::collection::vec(any::<Change>(), 0..4))| {
        for which in 0..exercise::SUFFIXES.len() {
            index.check_with(which, |good| damaged(good, &changes));
        }
    });
}
