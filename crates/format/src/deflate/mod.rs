//! zlib streams (RFC 1950, 1951) that are byte for byte those of stock zlib at its default level,
//! in a fraction of its time.
//!
//! Stock zlib's bytes are what other programs' files are compared with; other deflaters, such as
//! zlib-ng or libdeflate, give other ones. What decides them is followed exactly: which earlier
//! places are looked at ([`chains`], [`matches`]), where blocks end, and how codes are made
//! ([`codes`], [`tables`], [`block`]). What does not is done otherwise: a whole input is deflated
//! at once, and places whose bytes merely have the same hash are never looked at.

mod block;
mod chains;
pub(crate) mod codes;
mod matches;
pub(crate) mod symbols;
pub(crate) mod tables;

use block::{Block, BlockWriter};
use chains::Chains;
use matches::{Parser, Sequence};

/// Compression method 8 with a window of 32 KiB; default level.
const HEADER: [u8; 2] = [0x78, 0x9C];
/// Symbols of a full block: zlib's buffer at its memory level 8 has 2^14, less one.
const BLOCK_SYMBOLS: u32 = (1 << 14) - 1;
/// zlib's window, and how many bytes it moves down when it is full.
const WINDOW: usize = 1 << 16;
const WINDOW_STEP: usize = 1 << 15;
/// Where in its window zlib moves it, when it looks at a place from there on.
const WINDOW_EDGE: usize = WINDOW - 262;

/// Deflates one input after the other; its tables (1.1 MB) are made once.
pub struct Deflater {
    chains: Chains,
    writer: BlockWriter,
    sequences: Vec<Sequence>,
}

impl Default for Deflater {
    fn default() -> Self {
        Self::new()
    }
}

impl Deflater {
    /// A new one.
    #[must_use]
    pub(crate) fn new() -> Self {
        Self { chains: Chains::new(), writer: BlockWriter::new(), sequences: Vec::new() }
    }

    /// Appends the whole stream of `input`, which must be shorter than 2^31 bytes.
    pub fn append(&mut self, input: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(&HEADER);
        self.chains.begin(input);
        let (mut parser, mut start) = (Parser::new(), 0);
        loop {
            let Self { chains, writer, sequences } = self;
            let end = parser.next_block(input, chains, BLOCK_SYMBOLS, sequences);
            let block = Block {
                input: &input[start..end.end],
                sequences,
                may_be_stored: start >= window_start(end.looked_at, input.len()),
                is_last: end.is_last,
            };
            writer.append(&block, out);
            start = end.end;
            if end.is_last {
                break;
            }
        }
        out.extend_from_slice(&adler32(input).to_be_bytes());
    }
}

/// What zlib still has in its window when it looks at `at`: it cannot store a block that begins
/// before that.
fn window_start(at: usize, input_bytes: usize) -> usize {
    // Near the end of the input it looks for more, and moves the window, one byte earlier.
    let moves = |start: usize| {
        at - start > WINDOW_EDGE || at - start == WINDOW_EDGE && input_bytes < start + WINDOW
    };
    let mut start = 0;
    while moves(start) {
        start += WINDOW_STEP;
    }
    start
}

/// The checksum of RFC 1950.
fn adler32(bytes: &[u8]) -> u32 {
    const MODULUS: u32 = 65521;
    /// So many of the largest bytes do not overflow 32 bits (RFC 1950's reference code).
    const MOST: usize = 5552;
    const WIDE: usize = 16;
    let (mut a, mut b) = (1_u32, 0_u32);
    for chunk in bytes.chunks(MOST) {
        let (blocks, rest) = chunk.as_chunks::<WIDE>();
        for block in blocks {
            let sum: u32 = block.iter().map(|&byte| u32::from(byte)).sum();
            let weighted = block.iter().enumerate().map(|(i, &x)| (WIDE - i) as u32 * u32::from(x));
            b += WIDE as u32 * a + weighted.sum::<u32>();
            a += sum;
        }
        for &byte in rest {
            a += u32::from(byte);
            b += a;
        }
        (a, b) = (a % MODULUS, b % MODULUS);
    }
    b << 16 | a
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slow5::zlib::StockDeflater;
    use proptest::prelude::*;

    /// Deflates all inputs with one deflater and compares with stock zlib.
    fn check(inputs: &[&[u8]]) {
        let (mut ours, mut stock) = (Deflater::new(), StockDeflater::new().unwrap());
        for input in inputs {
            let (mut found, mut expected) = (b"x".to_vec(), b"x".to_vec());
            ours.append(input, &mut found);
            stock.append(input, &mut expected).unwrap();
            assert!(
                found == expected,
                "input of {} bytes: {:?}",
                input.len(),
                &input[..input.len().min(40)]
            );
        }
    }

    /// Numbers that look random.
    fn noise(seed: u32) -> impl Iterator<Item = u32> {
        let mut state = seed;
        std::iter::repeat_with(move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state >> 8
        })
    }

    /// Bytes of `kinds` values.
    fn bytes(kinds: u32, size: usize) -> Vec<u8> {
        noise(kinds).take(size).map(|number| (number % kinds) as u8).collect()
    }

    #[test]
    fn streams_of_all_sizes_are_those_of_zlib() {
        let text = bytes(3, 300);
        for size in 0..text.len() {
            check(&[&text[..size], &[7; 300][..size]]);
        }
        check(&[b"", b"a", b"", b"abcabcabc", b"abcabcabc"]);
    }

    #[test]
    fn blocks_and_windows_end_where_those_of_zlib_do() {
        // 16,383 symbols are a block; at 65,274 bytes zlib moves its window. Noise is stored, and
        // many kinds of bytes, few kinds and long runs make blocks of very different lengths.
        let edges =
            [16_382, 16_383, 16_384, 32_506, 32_768, 65_273, 65_274, 65_275, 65_536, 98_043];
        for size in edges {
            for around in [size - 1, size, size + 1, size + 262] {
                let (all, many, few) = (bytes(256, around), bytes(90, around), bytes(2, around));
                check(&[&all, &many, &few, &vec![0; around]]);
            }
        }
        check(&[&bytes(256, 400_000), &bytes(40, 400_000), &vec![1; 400_000]]);
    }

    #[test]
    fn chains_are_followed_as_far_as_zlib_does() {
        // The same three bytes again and again, with other ones of the same hash between them, so
        // that the number of steps decides; and copies from just within reach and just beyond.
        let mut crowded = Vec::new();
        for number in noise(5).take(9_000) {
            let three = [[1, 0, 0], [0, 32, 0], [0, 33, 32], [1, 1, 32]][number as usize % 4];
            crowded.extend_from_slice(&three);
            crowded.push((number >> 12) as u8);
        }
        let mut far = Vec::new();
        for gap in [4_090, 32_500, 32_505, 32_506, 32_507] {
            far.extend(bytes(251, 70));
            far.extend(noise(gap).take(gap as usize - 70).map(|number| number as u8));
            far.extend(bytes(251, 70));
        }
        check(&[&crowded, &far, &crowded]);
    }

    /// Runs, noise of few and many values, and copies of what was there before.
    fn pieces() -> impl Strategy<Value = Vec<u8>> {
        let piece = (0_u32..5, any::<u32>(), 1_usize..5_000, 1_usize..40_000);
        prop::collection::vec(piece, 0..24).prop_map(|pieces| {
            let mut all: Vec<u8> = Vec::new();
            for (kind, seed, size, back) in pieces {
                let kinds = [1, 2, 60, 256, 0][kind as usize];
                if kinds > 0 {
                    all.extend(noise(seed).take(size).map(|number| (number % kinds) as u8));
                    continue;
                }
                for _ in 0..size.min(400) {
                    let byte = all.len().checked_sub(back).map_or(0, |at| all[at]);
                    all.push(byte);
                }
            }
            all
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn any_bytes_give_the_stream_of_zlib(first in pieces(), second in pieces()) {
            check(&[&first, &second]);
        }
    }

    #[test]
    fn places_are_counted_on_past_32_bits() {
        let input = bytes(40, 70_000);
        let (mut deflater, mut expected, mut found) = (Deflater::new(), Vec::new(), Vec::new());
        deflater.append(&input, &mut expected);
        deflater.chains.skip_to(u32::MAX - 100_000);
        for _ in 0..4 {
            found.clear();
            deflater.append(&input, &mut found);
            assert!(found == expected);
        }
    }
}
