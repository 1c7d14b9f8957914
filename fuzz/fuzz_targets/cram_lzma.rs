//! A block of lzma.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[allow(dead_code)] // shared with the property tests and other targets
#[path = "../../crates/cram/tests/hostile/exercise.rs"]
mod exercise;

fuzz_target!(|data: &[u8]| exercise::block(3, data));
