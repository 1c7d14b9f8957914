//! FASTQ comments and the fields of unaligned BAM, as tags.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[allow(dead_code)] // shared with the property tests and other targets
#[path = "../../crates/align/tests/hostile/exercise.rs"]
mod exercise;

fuzz_target!(|data: &[u8]| exercise::input_tags(data));
