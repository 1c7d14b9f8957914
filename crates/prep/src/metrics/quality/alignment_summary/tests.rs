//! Counts of an alignment summary on records made for them.

use super::*;
use proptest::prelude::*;

/// Mismatches and bad bases by cycle, one base after the other.
fn plain(bases: &[u8], facing: &[u8], is_reverse: bool, read_length: usize) -> (u64, Vec<u64>) {
    let (mut mismatches, mut bad_bases) = (0, vec![0; read_length]);
    for (index, (&code, &letter)) in bases.iter().zip(facing).enumerate() {
        let is_mismatch = code != REFERENCE_CODES[usize::from(letter)];
        mismatches += u64::from(is_mismatch);
        let cycle = if is_reverse { read_length - 1 - index } else { index };
        bad_bases[cycle] += u64::from(is_mismatch || code == NO_CALL);
    }
    (mismatches, bad_bases)
}

proptest! {
    #[test]
    fn bases_are_compared_as_one_by_one(
        pairs in prop::collection::vec(prop_oneof![
            20 => prop::sample::select(vec![(1, b'A'), (2, b'c'), (4, b'G'), (8, b't')]),
            1 => (0_u8..16, prop::sample::select(b"ACGTNacgtnRYSWKMBDHVX.".to_vec())),
        ], 0..140),
        clipped in 0..9_usize,
        is_reverse: bool,
    ) {
        let (bases, facing): (Vec<u8>, Vec<u8>) = pairs.into_iter().unzip();
        let read_length = bases.len() + clipped;
        let mut counts = ReadCounts::default();
        let found = counts.add_bad_bases(&bases, Some(&facing), is_reverse, read_length);
        counts.bad_bases.resize(counts.bad_bases.len().max(read_length), 0);
        let (mismatches, bad_bases) = plain(&bases, &facing, is_reverse, read_length);
        prop_assert_eq!(found, mismatches);
        prop_assert_eq!(&counts.bad_bases[..read_length], bad_bases);
        prop_assert!(counts.bad_bases[read_length..].iter().all(|it| *it == 0));
    }
}

#[test]
fn a_base_is_like_its_letter_if_it_is_one_of_four() {
    for letter in b"ACGTURYSWKMBDHVNX-*acgturyswkmbdhvnx".iter().copied() {
        for code in 0..16 {
            let is_base = [1, 2, 4, 8].contains(&code);
            let expected = is_base && REFERENCE_CODES[usize::from(letter)] == code;
            // Among others that match, at every place.
            for place in [0, 13, 31] {
                let (mut codes, mut letters) = ([8; CHUNK], [b't'; CHUNK]);
                (codes[place], letters[place]) = (code, letter);
                let bytes = unlike(&codes, &letters).map(u64::to_le_bytes);
                for (at, byte) in bytes.as_flattened().iter().enumerate() {
                    let is_like = at != place || expected;
                    assert_eq!(*byte == 0, is_like, "{code} {}", char::from(letter));
                }
            }
        }
    }
}
