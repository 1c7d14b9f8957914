//! Chance that is the same in every run: hashes of a read's number in the input, or of the read.

use seqloom_align::search::Interval;

/// Mixes the bits of two numbers (the finalizer of SplitMix64, Steele et al. 2014,
/// doi:10.1145/2660193.2660195).
pub(super) fn hash(ordinal: u64, place: u64) -> u64 {
    let mut mixed = ordinal.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ place;
    for factor in [0xBF58_476D_1CE4_E5B9_u64, 0x94D0_49BB_1331_11EB] {
        mixed = (mixed ^ mixed >> 30).wrapping_mul(factor);
    }
    mixed ^ mixed >> 31
}

/// A number for [`hash`] that these texts alone decide.
pub(super) fn of_texts(texts: [&[u8]; 2]) -> u64 {
    let of_text = |number: u64, text: &[u8]| {
        let (eights, rest) = text.as_chunks();
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        let words = eights.iter().chain([&last]).map(|&eight| u64::from_le_bytes(eight));
        words.fold(hash(number, text.len() as u64), hash)
    };
    texts.into_iter().fold(0, of_text)
}

/// `requested` rows among `all`, which are more: chance decides on the first and on the step to the
/// next, which has no divisor in common with their number, so that none comes twice. Every row is
/// as likely as the others.
pub(super) fn drawn_rows(
    chance: impl Fn(u64) -> u64,
    all: Interval,
    requested: u32,
) -> impl Iterator<Item = u64> {
    let Interval { first, count } = all;
    let start = chance(0) % count;
    let from = 1 + chance(1) % count;
    let step = (from..).find(|&step| common_divisor(step, count) == 1).unwrap_or(1) % count;
    let rows = std::iter::successors(Some(start), move |at| Some((at + step) % count));
    rows.take(requested as usize).map(move |at| first + at)
}

/// The greatest common divisor (Euclid).
fn common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_distinguished_by_every_byte_and_by_where_they_end() {
        let t = |one: [&[u8]; 2], other: [&[u8]; 2]| assert_ne!(of_texts(one), of_texts(other));
        t([b"", b""], [b"", b"\0"]);
        t([b"ab", b"c"], [b"a", b"bc"]);
        t([b"12345678", b""], [b"", b"12345678"]);
        t([b"12345678", b"x"], [b"12345679", b"x"]);
        assert_eq!(of_texts([b"read", b"ACGT"]), of_texts([b"read", b"ACGT"]));
    }
}
