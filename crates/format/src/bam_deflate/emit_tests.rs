//! Streams of tokens, inflated by libdeflate and zlib.

use super::*;
use crate::bam_deflate::test_blocks::inflate_both;
use crate::bam_deflate::tokens::Tokens;
use proptest::prelude::*;
use seqloom_testkit::random::Random;

/// Tokens of noise of `values` values with copies from anywhere before, and the bytes they make.
fn noise(seed: u64, size: usize, values: u64) -> (Tokens, Vec<u8>) {
    let mut random = Random::new(seed);
    let (mut tokens, mut bytes) = (Tokens::default(), Vec::new());
    while bytes.len() < size {
        let class = random.pick(&[Class::Bases, Class::Other]);
        for _ in 0..random.index(40) {
            bytes.push(random.below(values) as u8);
        }
        if bytes.is_empty() || random.percent(20) {
            tokens.literals_to(bytes.len(), class);
            continue;
        }
        let distance = 1 + random.index(bytes.len().min(32_768));
        let length = random.pick(&[3, 4, 10, 11, 257, 258, 259, 261, 600]);
        tokens.copy(bytes.len(), length, distance, class);
        for _ in 0..length {
            bytes.push(bytes[bytes.len() - distance]);
        }
    }
    tokens.literals_to(bytes.len(), Class::Other);
    (tokens, bytes)
}

fn window(bytes: &[u8]) -> Window {
    let mut window = Window::new();
    window.fill(bytes);
    window
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn tokens_inflate_to_their_bytes_with_codes_of_their_own_and_of_another_block(
        seed in any::<u64>(),
        size in 0..60_000_usize,
        values in 1..=256_u64,
    ) {
        let (tokens, bytes) = noise(seed, size, values);
        let (others, other_bytes) = noise(!seed, 3_000, 256);
        let mut emitter = Emitter::new();
        let expected = emitter.learn(tokens.list(), &bytes);
        let written = emitter.write(tokens.list(), &window(&bytes));
        prop_assert_eq!(written, expected);
        prop_assert!(inflate_both(emitter.written(), bytes.len()) == bytes);
        emitter.write(others.list(), &window(&other_bytes));
        prop_assert!(inflate_both(emitter.written(), other_bytes.len()) == other_bytes);
    }
}

#[test]
fn codes_are_whole_and_at_most_13_bits_whatever_the_counts() {
    // Fibonacci's numbers make the deepest tree: 24 of them would want codes of 23 bits.
    let (mut literals, mut distances) = ([0; LITERAL_SYMBOLS], [0; DISTANCE_SYMBOLS]);
    let (mut a, mut b) = (1, 1);
    for count in literals.iter_mut().take(24).chain(distances.iter_mut().take(24)) {
        *count = a;
        (a, b) = if a > 50_000 { (1, 1) } else { (b, a + b) };
    }
    literals[END_OF_BLOCK] = 1;
    let mut codes = CodePair::EMPTY;
    codes.build(&mut Builder::new(), MAX_BITS, &literals, &distances);
    for (code, counts) in [(&codes.literals, &literals[..]), (&codes.distances, &distances[..])] {
        let lengths = code.lengths.iter().zip(counts).filter(|(_, count)| **count > 0);
        let lengths: Vec<u32> = lengths.map(|(&length, _)| length.into()).collect();
        assert!(lengths.iter().all(|length| (1..=13).contains(length)), "{lengths:?}");
        let kraft: u32 = lengths.iter().map(|length| 1 << (13 - length)).sum();
        assert_eq!(kraft, 1 << 13);
    }
}

#[test]
fn the_largest_output_fits_the_buffer() {
    // Every symbol has a code of at most 13 bits, so 65,280 literals take at most this.
    const LITERAL_BYTES: usize = 65_280 * MAX_BITS / 8;
    // The costliest copy: both codes, 5 extra bits of a length that has them, 13 of a distance; the
    // shortest copy has no extra bits for its length.
    const COPY_BYTES: usize = 65_280 / 3 * (2 * MAX_BITS + 13) / 8 + 1;
    /// The lengths of both codes, each with the longest code of seven bits and seven extra bits.
    const HEADER_BYTES: usize = (3 + 14 + 19 * 3 + (286 + 30) * 14) / 8 + 1;
    const { assert!(LITERAL_BYTES + HEADER_BYTES + 2 <= OUTPUT_BYTES) };
    const { assert!(COPY_BYTES + HEADER_BYTES + 2 <= OUTPUT_BYTES) };
}
