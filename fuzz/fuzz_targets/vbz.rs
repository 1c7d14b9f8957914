//! VBZ: four parameters of a byte each, then a chunk of signal.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[allow(dead_code)] // shared with the property tests and other targets
#[path = "../../crates/format/tests/hostile/hdf5_exercise.rs"]
mod exercise;

fuzz_target!(|data: &[u8]| exercise::vbz(data));
