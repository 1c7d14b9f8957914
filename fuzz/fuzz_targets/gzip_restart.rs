//! gzip read from restart points, those that are found and one that is made of anything.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;

#[allow(dead_code)] // shared with the property tests and other targets
#[path = "../../crates/io/tests/hostile/exercise.rs"]
mod exercise;

static FOLDER: LazyLock<tempfile::TempDir> = LazyLock::new(|| tempfile::tempdir().unwrap());

fuzz_target!(|data: &[u8]| {
    let at = data.first().map_or(0, |&at| usize::from(at)).min(data.len());
    let (noise, content) = data.split_at(at);
    exercise::restart(FOLDER.path(), content, noise.get(1..).unwrap_or_default());
});
