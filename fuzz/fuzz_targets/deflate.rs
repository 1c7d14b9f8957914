//! Any bytes deflated, twice in a row: the stream of stock zlib, to the byte.
#![no_main]

use std::cell::RefCell;

use libfuzzer_sys::fuzz_target;
use seqloom_format::deflate::Deflater;

thread_local! {
    // One for all inputs: what it keeps of earlier ones must not show.
    static DEFLATER: RefCell<Deflater> = RefCell::default();
}

/// Enough for several windows (32 KiB) and blocks.
const MAX_BYTES: usize = 128 << 10;

fuzz_target!(|data: &[u8]| {
    // The fuzzer's inputs are short; a window, a block and a chain are not. One in 64 is made long:
    // that takes a hundred times as long. A sum over all bytes says which, so that what the fuzzer
    // makes of a long one is mostly short again.
    let sum = data.iter().fold(0_u32, |sum, &byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    let wanted = if sum % 64 == 0 { 1_usize << (sum >> 6) % 8 } else { 1 };
    let times = wanted.min(MAX_BYTES / data.len().max(1)).max(1) as u8;
    let input: Vec<u8> = (0..times).flat_map(|time| data.iter().map(move |x| x ^ time)).collect();
    DEFLATER.with_borrow_mut(|deflater| {
        let mut found = Vec::new();
        deflater.append(&input, &mut found);
        assert!(found == stock(&input));
    });
});

/// zlib's own stream at its default level.
fn stock(input: &[u8]) -> Vec<u8> {
    let size = input.len() as libz_sys::uLong;
    // SAFETY: as zlib.h has it, the output has room for the bound of the input's size.
    unsafe {
        let mut length = libz_sys::compressBound(size);
        let mut out = vec![0; length as usize];
        let done = libz_sys::compress(out.as_mut_ptr(), &mut length, input.as_ptr(), size);
        assert_eq!(done, libz_sys::Z_OK);
        out.truncate(length as usize);
        out
    }
}
