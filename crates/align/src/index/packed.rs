//! The forward strand, two bits a base, and what can be read off it: symbols of `T`, counts.

use std::io::{self, Write};

use super::memory::Large;

/// The code of a letter: 0..3 of A C G T in either case; 4 for every other byte. By arithmetic, so
/// that the compiler makes loops of many letters at once.
#[inline(always)]
pub(crate) const fn code(letter: u8) -> u8 {
    let upper = letter & !0x20;
    // Bits 1 and 2 of A, C, G and T are 0, 1, 3 and 2.
    let number = (letter >> 1 ^ letter >> 2) & 3;
    let is_base = (upper == b'A') | (upper == b'C') | (upper == b'G') | (upper == b'T');
    if is_base { number } else { 4 }
}

/// Codes of all letters.
pub const CODE: [u8; 256] = {
    let mut table = [0; 256];
    let mut letter = 0;
    while letter < table.len() {
        table[letter] = code(letter as u8);
        letter += 1;
    }
    table
};

/// Bases packed as in `.pac`: base `i` in byte `i / 4`, the first in the top bits.
#[derive(Debug, Default)]
pub(crate) struct Packed {
    bytes: Large<u8>,
    bases: u64,
    /// The bases are counted and not kept.
    is_count: bool,
}

impl Packed {
    /// Number of bases.
    pub(crate) fn bases(&self) -> u64 {
        self.bases
    }

    /// Bytes held, spare capacity included.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.bytes.capacity() as u64
    }

    /// Gives spare capacity back.
    pub(crate) fn shrink(&mut self) {
        self.bytes.shrink_to_fit();
    }

    /// Gives the bases back and only counts from now on.
    pub(crate) fn only_count(&mut self) {
        *self = Self { bytes: Large::default(), bases: self.bases, is_count: true };
    }

    /// Whether there is nothing but the number of bases.
    pub(crate) fn is_count(&self) -> bool {
        self.is_count
    }

    /// Appends a base, 0..3.
    #[inline]
    pub(crate) fn push(&mut self, code: u8) {
        if self.is_count {
            self.bases += 1;
            return;
        }
        let shift = shift_of(self.bases);
        match self.bytes.last_mut() {
            Some(last) if shift != 6 => *last |= code << shift,
            _ => self.bytes.push(code << 6),
        }
        self.bases += 1;
    }

    /// Base `at` of the forward strand. `at < bases`.
    #[inline]
    fn forward(&self, at: u64) -> u8 {
        (self.bytes[(at / 4) as usize] >> shift_of(at)) & 3
    }

    /// Symbol `at` of `T`, the strand and its reverse complement. `at < 2 * bases`.
    #[inline]
    pub(crate) fn symbol(&self, at: u64) -> u8 {
        // Branch-free: the two strands are met at random in suffix order. Complement is `^ 3`.
        let reverse = at >= self.bases;
        let place = if reverse { 2 * self.bases - 1 - at } else { at };
        self.forward(place) ^ (u8::from(reverse) * 3)
    }

    /// All `2L` symbols of `T`, into memory already reserved by the caller.
    pub(crate) fn unpack(&self, text: &mut Vec<u8>) {
        text.clear();
        text.extend((0..self.bases).map(|at| self.forward(at)));
        for at in (0..text.len()).rev() {
            text.push(3 - text[at]);
        }
    }

    /// The bases, 32 a word, the first in the top bits; the last word is filled up with zeros.
    pub(crate) fn words(&self) -> impl Iterator<Item = u64> {
        self.bytes.chunks(8).map(|bytes| {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            u64::from_be_bytes(word)
        })
    }

    /// CRC-32 of the packed bytes.
    pub(crate) fn crc(&self) -> u32 {
        crc32fast::hash(&self.bytes)
    }

    /// Symbols of `T` smaller than A, C, G, T and in all: what `.bwt.2bit.64` starts with.
    pub(crate) fn cumulative_counts(&self) -> [u64; 5] {
        cumulative_counts(self.bases, cg_bases(&self.bytes))
    }

    /// Number of leftmost S-type (LMS) suffixes of `T`, by the definition of Nong, Zhang and Chan
    /// 2011 (doi:10.1109/TC.2010.188): smaller than the suffix after it, its predecessor larger.
    pub(crate) fn lms_suffixes(&self) -> u64 {
        let symbols = 2 * self.bases;
        let (mut lms, mut next, mut next_is_s) = (0, 0, false);
        for at in (0..symbols).rev() {
            let symbol = self.symbol(at);
            // The last suffix is L-type: the sentinel after it is smaller.
            let is_s = at + 1 < symbols && (symbol < next || (symbol == next && next_is_s));
            lms += u64::from(next_is_s && !is_s);
            (next, next_is_s) = (symbol, is_s);
        }
        lms
    }

    /// Writes all symbols of `T`, a byte each.
    pub(crate) fn write_unpacked(&self, out: &mut impl Write) -> io::Result<()> {
        let end = 2 * self.bases;
        let mut some = Vec::new();
        for start in (0..end).step_by(UNPACKED_AT_A_TIME as usize) {
            some.clear();
            some.extend((start..end.min(start + UNPACKED_AT_A_TIME)).map(|at| self.symbol(at)));
            out.write_all(&some)?;
        }
        Ok(())
    }

    /// Writes `.pac`: the bytes, a zero byte if `L % 4 == 0`, then `L % 4`.
    pub(crate) fn write_pac(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&self.bytes)?;
        out.write_all(&pac_tail(self.bases))
    }
}

/// Symbols unpacked at a time.
const UNPACKED_AT_A_TIME: u64 = 1 << 16;

/// What follows the packed bytes in `.pac`.
fn pac_tail(bases: u64) -> Vec<u8> {
    let remainder = (bases % 4) as u8;
    if remainder == 0 { vec![0, 0] } else { vec![remainder] }
}

/// Bytes of `.pac`.
pub(crate) fn pac_bytes(bases: u64) -> u64 {
    bases / 4 + 2
}

#[inline]
fn shift_of(at: u64) -> u32 {
    6 - 2 * (at % 4) as u32
}

/// How many bases are C or G; what fills up the last byte is zero, as A is.
pub(crate) fn cg_bases(packed: &[u8]) -> u64 {
    // C is 01, G is 10.
    let count = |word: u64| u64::from(((word ^ word >> 1) & 0x5555_5555_5555_5555).count_ones());
    let (words, rest) = packed.as_chunks();
    let rest: u64 = rest.iter().map(|&byte| count(byte.into())).sum();
    rest + words.iter().map(|&bytes| count(u64::from_le_bytes(bytes))).sum::<u64>()
}

/// Symbols of `T` smaller than A, C, G, T and in all, when `cg` of the forward strand's bases are C
/// or G: both strands together have as many C as G, and as many A as T.
pub(crate) fn cumulative_counts(bases: u64, cg: u64) -> [u64; 5] {
    [0, bases - cg, bases, bases + cg, 2 * bases]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn packed(codes: &[u8]) -> Packed {
        let mut packed = Packed::default();
        codes.iter().for_each(|&code| packed.push(code));
        packed
    }

    #[test]
    fn letters_have_the_codes_of_bases() {
        for letter in 0..=u8::MAX {
            let place = b"ACGT".iter().position(|&base| base == letter.to_ascii_uppercase());
            assert_eq!(code(letter), place.unwrap_or(4) as u8, "{letter}");
            assert_eq!(CODE[usize::from(letter)], code(letter), "{letter}");
        }
    }

    #[test]
    fn pac_of_each_remainder() {
        let pac = |codes: &[u8]| {
            let mut out = Vec::new();
            packed(codes).write_pac(&mut out).unwrap();
            assert_eq!(out.len() as u64, pac_bytes(codes.len() as u64));
            out
        };
        assert_eq!(pac(&[3]), [0b1100_0000, 1]);
        assert_eq!(pac(&[0, 1, 2, 3]), [0b0001_1011, 0, 0]);
        assert_eq!(pac(&[0, 1, 2, 3, 1]), [0b0001_1011, 0b0100_0000, 1]);
        assert_eq!(pac(&[3, 3]), [0b1111_0000, 2]);
    }

    proptest! {
        #[test]
        fn symbols_counts_and_lms_agree_with_their_definitions(
            codes in prop::collection::vec(0_u8..4, 1..200)
        ) {
            let packed = packed(&codes);
            let mut text = codes.clone();
            text.extend(codes.iter().rev().map(|code| 3 - code));
            let mut unpacked = Vec::new();
            packed.unpack(&mut unpacked);
            prop_assert_eq!(&unpacked, &text);
            let symbols: Vec<u8> = (0..text.len() as u64).map(|at| packed.symbol(at)).collect();
            prop_assert_eq!(&symbols, &text);

            let below = |c: u8| text.iter().filter(|&&symbol| symbol < c).count() as u64;
            let counts = [0, below(1), below(2), below(3), below(4)];
            prop_assert_eq!(packed.cumulative_counts(), counts);

            let is_s = |at: usize| text[at..] < text[at + 1..] && at + 1 < text.len();
            let lms = (1..text.len()).filter(|&at| is_s(at) && !is_s(at - 1)).count() as u64;
            prop_assert_eq!(packed.lms_suffixes(), lms);
        }
    }
}
