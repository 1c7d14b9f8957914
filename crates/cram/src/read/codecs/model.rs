//! The range coder and the adaptive models of CRAM 3.1 (CRAM codecs specification, section 4).

use crate::read::error::Problem;

/// Increment of a symbol's frequency.
const STEP: u16 = 16;
/// Above this sum frequencies are halved.
const MOST_SUM: u32 = (1 << 16) - 17;
/// Below this range a byte is read.
const LOWEST: u32 = 1 << 24;

/// A range coder that reads.
pub(crate) struct RangeDecoder<'a> {
    bytes: &'a [u8],
    at: usize,
    range: u32,
    code: u32,
}

impl<'a> RangeDecoder<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        let mut decoder = Self { bytes, at: 0, range: u32::MAX, code: 0 };
        (0..5).for_each(|_| decoder.shift());
        decoder
    }

    /// Zeros follow the last byte, and are counted.
    #[inline(always)]
    fn shift(&mut self) {
        let byte = self.bytes.get(self.at).copied().unwrap_or(0);
        self.code = self.code << 8 | u32::from(byte);
        self.at += 1;
    }

    #[inline(always)]
    fn frequency(&mut self, sum: u32) -> u32 {
        self.range /= sum;
        self.code / self.range
    }

    #[inline(always)]
    fn consume(&mut self, start: u32, frequency: u32) {
        self.code = self.code.wrapping_sub(start.wrapping_mul(self.range));
        self.range = self.range.wrapping_mul(frequency).max(1);
        while self.range < LOWEST {
            self.range <<= 8;
            self.shift();
        }
    }

    /// Refuses data that ended before what was read of them.
    pub(crate) fn finish(&self) -> Result<(), Problem> {
        if self.at > self.bytes.len() {
            return Err(Problem::Ends("an arithmetic-coded block"));
        }
        Ok(())
    }
}

/// Frequencies of symbols, which follow what is read. The most frequent come first.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    sum: u32,
    symbols: Vec<Symbol>,
}

#[derive(Debug, Clone, Copy)]
struct Symbol {
    symbol: u8,
    frequency: u16,
}

impl Model {
    /// A model of the symbols 0 to `count` - 1, 256 at most.
    pub(crate) fn new(count: usize) -> Self {
        let symbols = (0..=255).take(count).map(|symbol| Symbol { symbol, frequency: 1 });
        Self { sum: count as u32, symbols: symbols.collect() }
    }

    /// Reads a symbol.
    #[inline]
    pub(crate) fn decode(&mut self, decoder: &mut RangeDecoder<'_>) -> Result<u8, Problem> {
        const CORRUPT: Problem = Problem::Corrupt("arithmetic-coded");
        let wanted = decoder.frequency(self.sum);
        let (mut at, mut start) = (0, 0);
        loop {
            let frequency = u32::from(self.symbols.get(at).ok_or(CORRUPT)?.frequency);
            if start + frequency > wanted {
                break;
            }
            start += frequency;
            at += 1;
        }
        let found = &mut self.symbols[at];
        decoder.consume(start, found.frequency.into());
        found.frequency += STEP;
        let symbol = found.symbol;
        self.sum += u32::from(STEP);
        if self.sum > MOST_SUM {
            self.halve();
        }
        if at > 0 && self.symbols[at].frequency > self.symbols[at - 1].frequency {
            self.symbols.swap(at, at - 1);
        }
        Ok(symbol)
    }

    fn halve(&mut self) {
        self.sum = 0;
        for symbol in &mut self.symbols {
            symbol.frequency -= symbol.frequency / 2;
            self.sum += u32::from(symbol.frequency);
        }
    }
}
