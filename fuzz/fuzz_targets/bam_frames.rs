//! A run of BAM records, each preceded by its size.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[allow(dead_code)] // shared with the property tests and other targets
#[path = "../../crates/format/tests/hostile/exercise.rs"]
mod exercise;

fuzz_target!(|data: &[u8]| exercise::framed(data));
