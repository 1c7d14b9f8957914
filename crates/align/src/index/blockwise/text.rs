//! The text `T` in memory: two bits a symbol, 32 symbols a word, the first in the top bits. What
//! is past the end reads as A; who compares decides how ties with that are broken.

use super::super::error::BuildError;
use super::super::memory::{Large, reserved};
use super::super::packed::Packed;

/// Symbols of a word.
pub(super) const WORD_SYMBOLS: u64 = 32;

/// Words of zeros past the end, so that a window that starts at the end can be read.
const PADDING_WORDS: u64 = 3;

/// The packed text, compared 32 symbols at a time.
#[derive(Debug)]
pub(super) struct Text {
    words: Large<u64>,
    symbols: u64,
}

/// Bytes that a text of `symbols` symbols takes.
pub(super) fn text_bytes(symbols: u64) -> u64 {
    8 * (symbols / WORD_SYMBOLS + 1 + PADDING_WORDS)
}

impl Text {
    /// The forward strand and its reverse complement.
    pub(super) fn new(packed: &Packed) -> Result<Self, BuildError> {
        let bases = packed.bases();
        let mut text = Self { words: reserved(text_bytes(2 * bases) / 8)?, symbols: bases };
        text.words.extend(packed.words());
        text.words.resize((text_bytes(2 * bases) / 8) as usize, 0);
        let (first, shift) = ((bases / WORD_SYMBOLS) as usize, 2 * (bases % WORD_SYMBOLS));
        for chunk in 0..bases.div_ceil(WORD_SYMBOLS) {
            // The last symbols of the strand that are not done yet, complemented from the last on.
            let left = bases - WORD_SYMBOLS * chunk;
            let complement = if left >= WORD_SYMBOLS {
                !reversed(text.key(left - WORD_SYMBOLS))
            } else {
                let kept = u64::MAX << (64 - 2 * left);
                !reversed(text.key(0) >> (64 - 2 * left)) & kept
            };
            let at = first + chunk as usize;
            text.words[at] |= complement >> shift;
            text.words[at + 1] |= (complement << 1) << (63 - shift);
        }
        text.symbols = 2 * bases;
        Ok(text)
    }

    /// Number of symbols, `n`.
    #[inline]
    pub(super) fn symbols(&self) -> u64 {
        self.symbols
    }

    /// The words, with some of zeros past the end.
    pub(super) fn words(&self) -> &[u64] {
        &self.words
    }

    /// The 32 symbols from `at` on.
    #[inline]
    pub(super) fn key(&self, at: u64) -> u64 {
        self.window(at)[0]
    }

    /// The 64 symbols from `at` on.
    #[inline]
    pub(super) fn window(&self, at: u64) -> [u64; 2] {
        let word = (at / WORD_SYMBOLS) as usize;
        let Some(&[a, b, c]) = self.words.get(word..).and_then(|rest| rest.first_chunk()) else {
            return [0; 2];
        };
        let shift = 2 * (at % WORD_SYMBOLS);
        [joined(a, b, shift), joined(b, c, shift)]
    }

    /// Symbol `at`, 0 to 3.
    #[inline]
    pub(super) fn symbol(&self, at: u64) -> u8 {
        (self.key(at) >> 62) as u8
    }

    /// Symbols that the suffixes at `i` and `j` have in common from their starts on, past the end
    /// too; `most` if they are more.
    pub(super) fn common(&self, i: u64, j: u64, most: u64) -> u64 {
        let mut length = 0;
        while length < most {
            let differing = self.key(i + length) ^ self.key(j + length);
            if differing != 0 {
                return most.min(length + u64::from(differing.leading_zeros() / 2));
            }
            length += WORD_SYMBOLS;
        }
        most
    }
}

/// What follows the first `shift` bits of two words, 64 bits of it. `shift < 64`.
#[inline]
pub(super) fn joined(a: u64, b: u64, shift: u64) -> u64 {
    (a << shift) | ((b >> 1) >> (63 - shift))
}

/// The symbols of a word from the last to the first.
fn reversed(word: u64) -> u64 {
    let bytes = word.swap_bytes();
    let nibbles = ((bytes >> 4) & 0x0F0F_0F0F_0F0F_0F0F) | ((bytes & 0x0F0F_0F0F_0F0F_0F0F) << 4);
    ((nibbles >> 2) & 0x3333_3333_3333_3333) | ((nibbles & 0x3333_3333_3333_3333) << 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn symbols_windows_and_common_prefixes_agree_with_their_definitions(
            codes in prop::collection::vec(0_u8..4, 1..200),
            alphabet in 1_u8..5,
        ) {
            let mut packed = Packed::default();
            let codes: Vec<u8> = codes.iter().map(|code| code % alphabet).collect();
            codes.iter().for_each(|&code| packed.push(code));
            let mut symbols = Vec::new();
            packed.unpack(&mut symbols);
            let text = Text::new(&packed).unwrap();
            prop_assert_eq!(text.symbols(), symbols.len() as u64);
            prop_assert_eq!(text.words().len() as u64 * 8, text_bytes(text.symbols()));
            let padded = |at: u64| symbols.get(at as usize).copied().unwrap_or(0);
            for at in 0..text.symbols() + 200 {
                prop_assert_eq!(text.symbol(at), padded(at));
                let [first, second] = text.window(at);
                let symbol = |at| u64::from(padded(at));
                let word = |from: u64| (from..from + 32).fold(0, |word, at| word << 2 | symbol(at));
                prop_assert_eq!([first, second], [word(at), word(at + 32)]);
                let other = at * 7 % (text.symbols() + 1);
                let common = (0..100).take_while(|d| padded(at + d) == padded(other + d)).count();
                prop_assert_eq!(text.common(at, other, 100), common as u64);
            }
        }
    }
}
