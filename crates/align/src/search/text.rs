//! Bases packed two bits each: reads, and windows of the genome on either strand.

use super::prefetch::prefetch;
use crate::index::code;

/// Bases in a word.
pub const WORD_BASES: usize = 32;

/// Packed bases, 32 a word, the first in the highest bits; what is after the last is zero.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Bases {
    words: Vec<u64>,
    length: usize,
}

impl Bases {
    /// Number of bases.
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// Takes a read in place of what was here. False, and nothing of use is left, if it has a base
    /// other than A, C, G and T.
    pub(crate) fn take_read(&mut self, ascii: &[u8]) -> bool {
        self.words.clear();
        self.length = ascii.len();
        let mut all_known = 0;
        let mut word = |letters: &[u8; WORD_BASES]| {
            let mut codes = [0; WORD_BASES];
            for (place, &letter) in codes.iter_mut().zip(letters) {
                *place = code(letter);
                all_known |= *place;
            }
            word_of(&codes)
        };
        let (whole, rest) = ascii.as_chunks();
        self.words.extend(whole.iter().map(&mut word));
        if !rest.is_empty() {
            // Zeros, as after every read.
            let mut letters = [b'A'; WORD_BASES];
            letters[..rest.len()].copy_from_slice(rest);
            self.words.push(word(&letters));
        }
        all_known < 4
    }

    /// Takes `length` symbols of `T`, the forward strand and its reverse complement, from `start`.
    /// They must be on one strand.
    pub(crate) fn take_window(&mut self, genome: Genome<'_>, start: u64, length: usize) {
        self.words.clear();
        self.length = length;
        for at in (0..length).step_by(WORD_BASES) {
            let count = (length - at).min(WORD_BASES);
            self.words.push(genome.word(start + at as u64, count));
        }
    }

    /// Up to 32 bases from `at`, in the highest bits; zeros after the last.
    pub(crate) fn word(&self, at: usize) -> u64 {
        let (index, shift) = (at / WORD_BASES, 2 * (at % WORD_BASES));
        let word = |index: usize| self.words.get(index).copied().unwrap_or(0);
        let low = if shift == 0 { 0 } else { word(index + 1) >> (64 - shift) };
        word(index) << shift | low
    }

    /// Base `at`.
    pub(crate) fn base(&self, at: usize) -> usize {
        (self.words[at / WORD_BASES] >> (62 - 2 * (at % WORD_BASES)) & 3) as usize
    }

    /// `count` bases from `at` as a number, the first in the highest place; at most 31.
    pub(crate) fn number(&self, at: usize, count: usize) -> usize {
        (self.word(at) >> (64 - 2 * count)) as usize
    }

    /// The reverse complement of `count` bases from `at` as a number; at most 31.
    pub(crate) fn complement_number(&self, at: usize, count: usize) -> usize {
        (complement(self.word(at), WORD_BASES) & ((1 << (2 * count)) - 1)) as usize
    }

    /// The bases as codes 0 to 3.
    #[cfg(test)]
    pub(crate) fn codes(&self, out: &mut Vec<u8>) {
        out.clear();
        for &word in &self.words {
            out.extend(codes_of(word));
        }
        out.truncate(self.length);
    }

    /// Bits of the bases of `[from, from + 32)` that differ from those of `other`, which is
    /// `shift` further there: the higher bit of a base's two, for places below `end` alone.
    #[inline]
    fn differences(&self, other: &Self, shift: usize, from: usize, end: usize) -> u64 {
        let either = self.word(from) ^ other.word(from + shift);
        let bits = (either | either << 1) & 0xAAAA_AAAA_AAAA_AAAA;
        let count = end - from;
        if count >= WORD_BASES { bits } else { bits & !(u64::MAX >> (2 * count)) }
    }

    /// Where this read differs from `other`, whose base `shift` is at its first base. False if
    /// there are more than `most` places.
    pub(crate) fn mismatches(
        &self,
        other: &Self,
        shift: usize,
        most: usize,
        out: &mut Vec<usize>,
    ) -> bool {
        out.clear();
        for from in (0..self.length).step_by(WORD_BASES) {
            let mut bits = self.differences(other, shift, from, self.length);
            while bits != 0 {
                if out.len() == most {
                    return false;
                }
                let first = bits.leading_zeros();
                out.push(from + first as usize / 2);
                bits &= !(1 << 63 >> first);
            }
        }
        true
    }

    /// Whether bases `[from, end)` differ from those of `other`, `shift` further there, in at least
    /// `count` places.
    pub(crate) fn differ(
        &self,
        other: &Self,
        shift: usize,
        [from, end]: [usize; 2],
        count: usize,
    ) -> bool {
        let words = (from..end).step_by(WORD_BASES);
        let bits = words.map(|at| self.differences(other, shift, at, end).count_ones() as usize);
        bits.sum::<usize>() >= count
    }
}

/// The forward strand as the index has it, four bases a byte.
#[derive(Debug, Clone, Copy)]
pub struct Genome<'a> {
    /// Four bases a byte, the first in the highest bits.
    pub packed: &'a [u8],
    /// Bases of the forward strand.
    pub bases: u64,
}

impl Genome<'_> {
    /// Has the processor fetch the bases of a window of `T` on one strand, of up to two lines.
    #[inline]
    pub fn prefetch(&self, start: u64, length: usize) {
        let forward =
            if start < self.bases { start } else { 2 * self.bases - start - length as u64 };
        let last = forward + (length as u64).saturating_sub(1);
        for at in [forward, last] {
            if let Some(byte) = self.packed.get((at / 4) as usize) {
                prefetch(byte);
            }
        }
    }

    /// `count` symbols of `T`, 1 to 32, in the highest bits. They must be on one strand.
    #[inline(always)]
    pub fn word(&self, start: u64, count: usize) -> u64 {
        if start < self.bases {
            self.forward(start, count)
        } else {
            complement(self.forward(2 * self.bases - start - count as u64, count), count)
        }
    }

    /// `count` bases, 1 to 32, of the forward strand, in the highest bits.
    #[inline(always)]
    fn forward(&self, start: u64, count: usize) -> u64 {
        let (byte, shift) = ((start / 4) as usize, 2 * (start % 4) as u32);
        let rest = &self.packed[byte..];
        let bytes = rest.first_chunk::<16>().copied().unwrap_or_else(|| {
            let mut bytes = [0; 16];
            bytes[..rest.len()].copy_from_slice(rest);
            bytes
        });
        let long = u128::from_be_bytes(bytes) << shift;
        (long >> 64) as u64 & !(u64::MAX.checked_shr(2 * count as u32).unwrap_or(0))
    }
}

/// The word of 32 codes, of which it has the lowest two bits.
#[inline(always)]
fn word_of(codes: &[u8; WORD_BASES]) -> u64 {
    codes.as_chunks::<8>().0.iter().fold(0, |word, &eight| {
        // Eight bytes into as many times two bits, by two, four and eight.
        let bits = u64::from_be_bytes(eight) & 0x0303_0303_0303_0303;
        let bits = (bits | bits >> 6) & 0x000F_000F_000F_000F;
        let bits = (bits | bits >> 12) & 0x0000_00FF_0000_00FF;
        word << 16 | (bits | bits >> 24) & 0xFFFF
    })
}

/// The 32 bases of a word as codes 0 to 3.
#[inline(always)]
pub(crate) fn codes_of(word: u64) -> [u8; WORD_BASES] {
    let mut codes = [0; WORD_BASES];
    for (at, eight) in codes.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        // Eight bases, then by four, two and one into as many bytes.
        let bits = word >> (48 - 16 * at) & 0xFFFF;
        let bits = (bits | bits << 24) & 0x0000_00FF_0000_00FF;
        let bits = (bits | bits << 12) & 0x000F_000F_000F_000F;
        let bits = (bits | bits << 6) & 0x0303_0303_0303_0303;
        *eight = bits.to_be_bytes();
    }
    codes
}

/// The reverse complement of the `count` bases in the highest bits of `word`.
#[inline(always)]
fn complement(word: u64, count: usize) -> u64 {
    let pairs = !word.reverse_bits();
    let swapped = (pairs >> 1 & 0x5555_5555_5555_5555) | (pairs & 0x5555_5555_5555_5555) << 1;
    swapped << (2 * (WORD_BASES - count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LETTERS: &[u8] = b"ACGT";

    fn bases(codes: &[u8]) -> Bases {
        let ascii: Vec<u8> = codes.iter().map(|&code| LETTERS[usize::from(code)]).collect();
        let mut bases = Bases::default();
        assert!(bases.take_read(&ascii));
        bases
    }

    fn packed(codes: &[u8]) -> Vec<u8> {
        let byte = |four: &[u8]| (0..4).fold(0, |b, i| b << 2 | four.get(i).copied().unwrap_or(0));
        codes.chunks(4).map(byte).collect()
    }

    fn codes(length: std::ops::Range<usize>) -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(0_u8..4, length)
    }

    proptest! {
        #[test]
        fn a_window_is_the_text(
            forward in codes(1..300), place in 0_usize..600, length in 1_usize..300
        ) {
            let both: Vec<u8> =
                forward.iter().copied().chain(forward.iter().rev().map(|c| 3 - c)).collect();
            let start = place % both.len();
            let strand_end = if start < forward.len() { forward.len() } else { both.len() };
            let length = length.min(strand_end - start);
            let bytes = packed(&forward);
            let genome = Genome { packed: &bytes, bases: forward.len() as u64 };
            let mut window = Bases::default();
            window.take_window(genome, start as u64, length);
            prop_assert_eq!(&window, &bases(&both[start..start + length]));
            let mut read_back = Vec::new();
            window.codes(&mut read_back);
            prop_assert_eq!(&read_back[..], &both[start..start + length]);
            let count = length.min(11);
            let number = |codes: &[u8]| codes.iter().fold(0, |n, &c| n << 2 | usize::from(c));
            let turned: Vec<u8> = read_back[..count].iter().rev().map(|c| 3 - c).collect();
            prop_assert_eq!(window.number(0, count), number(&read_back[..count]));
            prop_assert_eq!(window.complement_number(0, count), number(&turned));
        }

        #[test]
        fn mismatches_are_found(
            read in codes(1..200), other in codes(200..260), shift in 0_usize..40
        ) {
            let (a, b) = (bases(&read), bases(&other));
            let expected: Vec<usize> = (0..read.len())
                .filter(|&i| other.get(i + shift).copied().unwrap_or(0) != read[i])
                .collect();
            let mut found = Vec::new();
            prop_assert!(a.mismatches(&b, shift, 1000, &mut found));
            prop_assert_eq!(&found, &expected);
            let fewer = expected.len().saturating_sub(1);
            prop_assert!(expected.is_empty() || !a.mismatches(&b, shift, fewer, &mut found));
            let (from, end) = (read.len() / 3, read.len() - read.len() / 4);
            let inside = expected.iter().filter(|&&i| (from..end).contains(&i)).count();
            prop_assert!(a.differ(&b, shift, [from, end], inside));
            prop_assert!(!a.differ(&b, shift, [from, end], inside + 1));
        }
    }

    #[test]
    fn reads_are_packed_letter_by_letter() {
        for length in 0..100 {
            let codes: Vec<u8> = (0..length).map(|at: u32| (at * at / 3 % 4) as u8).collect();
            let words: Vec<u64> = codes
                .chunks(WORD_BASES)
                .map(|some| {
                    let number = some.iter().fold(0, |word, &code| word << 2 | u64::from(code));
                    number << (2 * (WORD_BASES - some.len()))
                })
                .collect();
            assert_eq!(bases(&codes), Bases { words, length: codes.len() });
        }
    }

    #[test]
    fn unknown_bases_are_refused() {
        assert!(Bases::default().take_read(&b"acgt".repeat(20)));
        for at in 0..70 {
            let mut letters = vec![b'C'; 70];
            letters[at] = b'N';
            assert!(!Bases::default().take_read(&letters), "{at}");
        }
    }
}
