//! Base modifications: the tags of a record, and the text of MM by itself.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[allow(dead_code)] // shared with the property tests and other targets
#[path = "../../crates/format/tests/hostile/exercise.rs"]
mod exercise;

fuzz_target!(|data: &[u8]| {
    exercise::record_modifications(data);
    // Text, then values, then bases.
    let mut parts = data.splitn(3, |&byte| byte == b'\n');
    let mut next = || parts.next().unwrap_or_default();
    exercise::base_modifications(next(), next(), next());
});
