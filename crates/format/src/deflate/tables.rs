//! The two codes of a dynamic block and the header that says their lengths (RFC 1951, 3.2.7).

use super::codes::{Builder, Code, Kind};
use super::symbols::{Bits, DISTANCE_SYMBOLS, LENGTH_EXTRA, LITERAL_SYMBOLS, distance_extra};

/// Most bits that a code of a block may have (RFC 1951, 3.2.7).
pub(super) const MOST_BITS: usize = 15;
/// Codes of the lengths of codes.
const CODE_LENGTHS: Kind = Kind { symbols: 19, max_bits: 7 };
/// In which order the lengths of the codes of lengths are written.
const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/// Codes of [`CODE_LENGTHS`] that mean a repetition.
const REPEAT: usize = 16;
const ZEROS: usize = 17;
const MANY_ZEROS: usize = 18;

/// The codes of one dynamic block.
pub(crate) struct CodePair {
    pub(crate) literals: Code,
    pub(crate) distances: Code,
    code_lengths: Code,
    /// How many of the lengths of `code_lengths` are written.
    shown: usize,
}

impl CodePair {
    pub(crate) const EMPTY: Self =
        Self { literals: Code::EMPTY, distances: Code::EMPTY, code_lengths: Code::EMPTY, shown: 0 };

    /// Codes of at most `max_bits` for these counts; gives the bits of the header that
    /// [`Self::write`] writes. Bits of symbols are assigned when it is written.
    pub(crate) fn build(
        &mut self,
        builder: &mut Builder,
        max_bits: usize,
        literals: &[u32; LITERAL_SYMBOLS],
        distances: &[u32; DISTANCE_SYMBOLS],
    ) -> u64 {
        let of = |symbols| Kind { symbols, max_bits };
        builder.build(of(LITERAL_SYMBOLS), literals, &mut self.literals);
        builder.build(of(DISTANCE_SYMBOLS), distances, &mut self.distances);
        let mut repeats = [0; 19];
        repeat(&self.literals, |code, _, _| repeats[code] += 1);
        repeat(&self.distances, |code, _, _| repeats[code] += 1);
        builder.build(CODE_LENGTHS, &repeats, &mut self.code_lengths);
        let shown = |&rank: &usize| self.code_lengths.lengths[ORDER[rank]] > 0;
        self.shown = (3..19).rev().find(shown).unwrap_or(3) + 1;
        table_bits(&repeats, &self.code_lengths) + 3 * self.shown as u64 + 14
    }

    /// Bits of all symbols with these codes, so often as they are counted.
    pub(crate) fn coded_bits(
        &self,
        literals: &[u32; LITERAL_SYMBOLS],
        distances: &[u32; DISTANCE_SYMBOLS],
    ) -> u64 {
        coded_bits(literals, distances, &self.literals, &self.distances)
    }

    /// Writes the lengths of both codes, and gives their symbols bits.
    pub(crate) fn write(&mut self, bits: &mut Bits, out: &mut Vec<u8>) {
        self.code_lengths.assign(CODE_LENGTHS.symbols);
        let Self { literals, distances, code_lengths, shown } = self;
        bits.push(literals.last as u64 + 1 - 257, 5, out);
        bits.push(distances.last as u64, 5, out);
        bits.push(*shown as u64 - 4, 4, out);
        for &symbol in &ORDER[..*shown] {
            bits.push(code_lengths.lengths[symbol].into(), 3, out);
        }
        let mut put = |code: usize, extra: u64, extra_bits: u32| {
            bits.push(code_lengths.bits[code].into(), code_lengths.lengths[code].into(), out);
            bits.push(extra, extra_bits, out);
        };
        repeat(literals, &mut put);
        repeat(distances, &mut put);
        self.literals.assign(LITERAL_SYMBOLS);
        self.distances.assign(DISTANCE_SYMBOLS);
    }
}

/// Bits of all symbols, so often as they are counted, with their extra bits.
pub(super) fn coded_bits(
    literals: &[u32; LITERAL_SYMBOLS],
    distances: &[u32; DISTANCE_SYMBOLS],
    literal_code: &Code,
    distance_code: &Code,
) -> u64 {
    let bits = |(&count, &length): (&u32, &u8)| u64::from(count) * u64::from(length);
    let of_literals: u64 = literals.iter().zip(&literal_code.lengths).map(bits).sum();
    let of_distances: u64 = distances.iter().zip(&distance_code.lengths).map(bits).sum();
    let of_lengths: u64 = literals[257..]
        .iter()
        .zip(LENGTH_EXTRA)
        .map(|(&n, extra)| u64::from(n) * u64::from(extra))
        .sum();
    let of_places: u64 =
        distances.iter().enumerate().map(|(code, &n)| u64::from(n) * distance_extra(code)).sum();
    of_literals + of_distances + of_lengths + of_places
}

/// Bits of the lengths of the codes.
fn table_bits(repeats: &[u32; 19], code: &Code) -> u64 {
    let extra = |symbol| match symbol {
        REPEAT => 2,
        ZEROS => 3,
        MANY_ZEROS => 7,
        _ => 0,
    };
    let bits = |(symbol, &count): (usize, &u32)| {
        u64::from(count) * (u64::from(code.lengths[symbol]) + extra(symbol))
    };
    repeats.iter().enumerate().map(bits).sum()
}

/// Calls `put` with the codes of [`CODE_LENGTHS`] that say the lengths of a code: code, extra
/// bits and their number.
fn repeat(of: &Code, mut put: impl FnMut(usize, u64, u32)) {
    let lengths = &of.lengths[..=of.last];
    let (mut at, mut before) = (0, None);
    while at < lengths.len() {
        let length = lengths[at];
        // zlib: a new length other than zero is written once before it is repeated.
        let most = match length {
            0 => 138,
            _ if before == Some(length) => 6,
            _ => 7,
        };
        let run = lengths[at..].iter().take(most).take_while(|&&next| next == length).count();
        let plain = if length > 0 && before != Some(length) { 1 } else { 0 };
        if run < 3 + plain {
            (0..run).for_each(|_| put(length.into(), 0, 0));
        } else if length > 0 {
            (0..plain).for_each(|_| put(length.into(), 0, 0));
            put(REPEAT, (run - plain - 3) as u64, 2);
        } else if run <= 10 {
            put(ZEROS, run as u64 - 3, 3);
        } else {
            put(MANY_ZEROS, run as u64 - 11, 7);
        }
        before = Some(length);
        at += run;
    }
}
