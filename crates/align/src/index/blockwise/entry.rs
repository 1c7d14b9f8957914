//! An entry: a suffix with the symbols that it is sorted by next, 16 bytes.

use super::super::bwt::NO_SYMBOL;
use super::text::Text;

/// Bits of the symbol before a suffix.
const BEFORE_BITS: u32 = 3;

/// In place of the symbol before: the suffix could not be distinguished from its predecessor.
const TIED: u64 = 7;

/// A suffix. Entries of one depth are in the order of their keys ([`Format::key`]), ties aside.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Entry {
    /// 32 symbols.
    pub(super) hi: u64,
    /// As many symbols as fit in the top bits; then the symbol before; the position below.
    lo: u64,
}

/// How entries of a text are laid out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Format {
    position_bits: u32,
    /// The bits of `lo` that hold symbols.
    key_mask: u64,
}

impl Format {
    /// The format of a text of `symbols` symbols, fewer than 2^40.
    pub(super) fn new(symbols: u64) -> Self {
        let position_bits = 64 - symbols.leading_zeros();
        let key_bits = (64 - BEFORE_BITS - position_bits) & !1;
        Self { position_bits, key_mask: u64::MAX << (64 - key_bits) }
    }

    /// Symbols that an entry holds.
    pub(super) fn key_symbols(self) -> u64 {
        32 + u64::from(self.key_mask.count_ones() / 2)
    }

    /// The suffix at `at` with its first symbols.
    #[inline]
    pub(super) fn entry(self, text: &Text, at: u64) -> Entry {
        let before = at.checked_sub(1).map_or(NO_SYMBOL, |before| text.symbol(before));
        self.with(text.window(at), before, at)
    }

    /// The entry of a suffix whose symbols are known.
    #[inline]
    pub(super) fn with(self, window: [u64; 2], before: u8, at: u64) -> Entry {
        let lo = window[1] & self.key_mask | u64::from(before) << self.position_bits | at;
        Entry { hi: window[0], lo }
    }

    /// The same suffix with its symbols from `depth` on.
    #[inline]
    pub(super) fn deeper(self, text: &Text, entry: Entry, depth: u64) -> Entry {
        let [hi, next] = text.window(self.position(entry) + depth);
        Entry { hi, lo: entry.lo & !self.key_mask | next & self.key_mask }
    }

    /// The symbols that an entry holds.
    #[inline]
    pub(super) fn key(self, entry: Entry) -> u128 {
        u128::from(entry.hi) << 64 | u128::from(entry.lo & self.key_mask)
    }

    /// The position of the suffix in `T`.
    #[inline]
    pub(super) fn position(self, entry: Entry) -> u64 {
        entry.lo & ((1 << self.position_bits) - 1)
    }

    /// The symbol before the suffix, or [`NO_SYMBOL`].
    #[inline]
    pub(super) fn before(self, entry: Entry) -> u8 {
        ((entry.lo & !self.key_mask) >> self.position_bits) as u8
    }

    /// Says that an entry could not be distinguished from the one before it. The symbol before is
    /// lost.
    pub(super) fn tie(self, entry: &mut Entry) {
        entry.lo |= TIED << self.position_bits;
    }

    /// Whether [`Format::tie`] was said.
    #[inline]
    pub(super) fn is_tied(self, entry: Entry) -> bool {
        u64::from(self.before(entry)) == TIED
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::packed::Packed;
    use super::*;

    #[test]
    fn an_entry_keeps_its_suffix() {
        let mut packed = Packed::default();
        (0..100_u32).for_each(|i| packed.push((i * i % 7 % 4) as u8));
        let text = Text::new(&packed).unwrap();
        // The smallest, this one's, human, the largest there can be.
        for symbols in [200, 1 << 20, 6_200_000_000, (1 << 39) - 2] {
            let format = Format::new(symbols);
            for at in 0..=200 {
                let entry = format.entry(&text, at);
                assert_eq!(format.position(entry), at);
                let before = if at == 0 { NO_SYMBOL } else { text.symbol(at - 1) };
                assert_eq!(format.before(entry), before);
                let mut moved = format.deeper(&text, entry, 5);
                assert_eq!(format.key(moved), format.key(format.entry(&text, at + 5)));
                assert_eq!(format.position(moved), at);
                assert!(!format.is_tied(moved));
                format.tie(&mut moved);
                assert!(format.is_tied(moved) && format.position(moved) == at);
                assert_eq!(format.key(moved), format.key(format.entry(&text, at + 5)));
            }
        }
        let symbols = [6_200_000_000, (1 << 39) - 2].map(|n| Format::new(n).key_symbols());
        assert_eq!(symbols, [46, 43]);
    }
}
