//! Reads of any bytes placed over introns: every record is worth what it says.
#![no_main]

use std::cell::RefCell;

use libfuzzer_sys::fuzz_target;

#[allow(dead_code)] // shared with the property tests
#[path = "../../crates/modes/tests/spliced/exercise.rs"]
mod exercise;

thread_local! {
    static BENCHES: RefCell<Vec<exercise::Bench>> = RefCell::new(exercise::benches());
}

fuzz_target!(|data: &[u8]| BENCHES.with_borrow_mut(|benches| exercise::fuzzed(benches, data)));
