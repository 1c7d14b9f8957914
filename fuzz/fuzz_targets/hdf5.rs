//! HDF5: a file that was damaged (first byte even), or the bytes themselves.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use seqloom_testkit::damage::{changes_of, damaged};

#[allow(dead_code)] // shared with the property tests and other targets
#[path = "../../crates/format/tests/hostile/hdf5_exercise.rs"]
mod exercise;

static GOOD: LazyLock<Vec<u8>> = LazyLock::new(exercise::good);

fuzz_target!(|data: &[u8]| {
    let Some((&first, rest)) = data.split_first() else { return };
    match first % 2 {
        0 => exercise::file(&damaged(&GOOD, &changes_of(rest))),
        _ => exercise::file(rest),
    }
});
