//! POD5: a file that was damaged (first byte even: which file; odd: the bytes themselves).
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use seqloom_testkit::damage::{changes_of, damaged};

#[allow(dead_code)] // shared with the property tests
#[path = "../../crates/format/tests/hostile/pod5_exercise.rs"]
mod exercise;
#[path = "../../crates/format/tests/hostile/pod5_file.rs"]
mod pod5_file;

static GOOD: LazyLock<[Vec<u8>; 3]> =
    LazyLock::new(|| [pod5_file::newest(true), pod5_file::newest(false), pod5_file::oldest()]);

fuzz_target!(|data: &[u8]| {
    let Some((&first, rest)) = data.split_first() else { return };
    match first % 2 {
        0 => exercise::file(&damaged(&GOOD[usize::from(first / 2) % 3], &changes_of(rest))),
        _ => exercise::file(rest),
    }
});
