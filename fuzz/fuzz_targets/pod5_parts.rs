//! POD5: coded rows and FlatBuffers.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[allow(dead_code)] // shared with the property tests
#[path = "../../crates/format/tests/hostile/pod5_exercise.rs"]
mod exercise;

fuzz_target!(|data: &[u8]| {
    exercise::svb16(data);
    exercise::flatbuffer(data);
});
