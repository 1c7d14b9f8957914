//! The files of an index: one of them replaced (first byte even) or damaged (odd).
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use seqloom_testkit::damage::{changes_of, damaged};

#[allow(dead_code)] // shared with the property tests
#[path = "../../crates/align/tests/hostile/exercise.rs"]
mod exercise;

static INDEX: LazyLock<(tempfile::TempDir, exercise::Index)> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let index = exercise::Index::build_in(folder.path());
    (folder, index)
});

fuzz_target!(|data: &[u8]| {
    let Some((&first, rest)) = data.split_first() else { return };
    let which = usize::from(first / 2) % exercise::SUFFIXES.len();
    INDEX.1.check_with(which, |good| match first % 2 {
        0 => rest.to_vec(),
        _ => damaged(good, &changes_of(rest)),
    });
});
