//! Tables of methylation calls.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[allow(dead_code)] // shared with the property tests and the other targets
#[path = "../../crates/calling/tests/hostile/exercise.rs"]
mod exercise;

fuzz_target!(|data: &[u8]| exercise::methylation_table(data));
