//! A record of BLOW5 in every compression.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[allow(dead_code)] // shared with the property tests and other targets
#[path = "../../crates/format/tests/hostile/slow5.rs"]
mod slow5;

fuzz_target!(|data: &[u8]| slow5::record(data));
