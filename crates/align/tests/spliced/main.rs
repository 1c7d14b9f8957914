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
