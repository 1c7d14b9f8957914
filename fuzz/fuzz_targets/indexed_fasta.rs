//! A FASTA that is read by region, and its indices.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;

#[allow(dead_code)] // shared with the property tests and other targets
#[path = "../../crates/io/tests/hostile/exercise.rs"]
mod exercise;

static FOLDER: LazyLock<tempfile::TempDir> = LazyLock::new(|| tempfile::tempdir().unwrap());

fuzz_target!(|data: &[u8]| exercise::indexed_fasta(FOLDER.path(), data));
