//! A file of reads: FASTQ, FASTA or unaligned BAM, plain, gzip, BGZF or zstd.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;

#[allow(dead_code)] // shared with the property tests and other targets
#[path = "../../crates/io/tests/hostile/exercise.rs"]
mod exercise;

static FOLDER: LazyLock<tempfile::TempDir> = LazyLock::new(|| tempfile::tempdir().unwrap());

fuzz_target!(|data: &[u8]| exercise::source(FOLDER.path(), data));
