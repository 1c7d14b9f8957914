//! A recalibration report.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[allow(dead_code)] // shared with the property tests and other targets
#[path = "../../crates/prep/tests/hostile/exercise.rs"]
mod exercise;

fuzz_target!(|data: &[u8]| exercise::recalibration_report(data));
