//! `--mode spliced`: records are worth what they say, and reads over introns are found.
#![allow(clippy::unwrap_used, clippy::panic)]

mod exercise;

use std::sync::{LazyLock, Mutex, PoisonError};

use exercise::{Bench, benches, fuzzed};
use proptest::prelude::*;

static BENCHES: LazyLock<Mutex<Vec<Bench>>> = LazyLock::new(|| Mutex::new(benches()));

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_make_reads_whose_records_are_worth_what_they_say(
        data in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        fuzzed(&mut BENCHES.lock().unwrap_or_else(PoisonError::into_inner), &data);
    }
}

/// Found by the fuzz target: a placement that two clusters of diagonals have in common.
#[test]
fn a_placement_is_reported_once() {
    let data = b"\x4e\x01\x54\xa9\x08\xa2\x2d\xa2\xa2\xff\xff\x0a\x00\x00\x0a\xff\x00\x00\x29\x3b\
        \xff\xff\xbf\xff\xff\xff\xff\xff\xff\x30\x0b\x0b\x13\x13\x13\x13\x13\x13\xff\x31\
        \x13\xff\xff\xff\xff\xff\xff\x13\xff\x13\x13\x0b\x0b\x32\xcd\x38\xff\xff\xff\xff\
        \xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff";
    fuzzed(&mut BENCHES.lock().unwrap_or_else(PoisonError::into_inner), data);
}
