//! BAM records, made of a script, as blocks: libdeflate and stock zlib inflate them to their bytes.
#![no_main]

use std::mem::MaybeUninit;

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/format/tests/hostile/bam_deflate_exercise.rs"]
mod exercise;

/// Bytes of a block before its deflate stream, and after it.
const HEADER_BYTES: usize = 18;
const FOOTER_BYTES: usize = 8;

fuzz_target!(|data: &[u8]| {
    for made in exercise::bam_deflate(data) {
        let stream = &made.block[HEADER_BYTES..made.block.len() - FOOTER_BYTES];
        assert!(inflate(stream, made.payload.len()) == made.payload);
    }
});

/// A raw deflate stream by stock zlib.
fn inflate(stream: &[u8], size: usize) -> Vec<u8> {
    // One byte more, so that too long a stream shows.
    let mut out = vec![0; size + 1];
    let mut state = MaybeUninit::<libz_sys::z_stream>::zeroed();
    let state = state.as_mut_ptr();
    let state_bytes = size_of::<libz_sys::z_stream>() as i32;
    // SAFETY: a zeroed state is what zlib.h wants before inflateInit2_, which is given its own
    // version and size; input and output are as long as they are said to be.
    unsafe {
        let version = libz_sys::zlibVersion();
        assert_eq!(libz_sys::inflateInit2_(state, -15, version, state_bytes), libz_sys::Z_OK);
        (*state).next_in = stream.as_ptr().cast_mut();
        (*state).avail_in = stream.len() as u32;
        (*state).next_out = out.as_mut_ptr();
        (*state).avail_out = out.len() as u32;
        assert_eq!(libz_sys::inflate(state, libz_sys::Z_FINISH), libz_sys::Z_STREAM_END);
        assert_eq!((*state).avail_in, 0);
        out.truncate((*state).total_out as usize);
        libz_sys::inflateEnd(state);
    }
    out
}
