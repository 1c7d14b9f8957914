//! Frequencies of 12 bits, and a coder's step for one symbol.

/// States that take turns.
pub(super) const STATES: usize = 4;
/// Bits of the sum of all frequencies.
const TOTAL_BITS: u32 = 12;
/// What frequencies add up to: one less than the range, as old decoders want it.
pub(super) const TOTAL: u32 = (1 << TOTAL_BITS) - 1;
/// Smallest state.
pub(super) const LOWEST: u32 = 1 << 23;

/// A symbol's share of the range, with the reciprocal of its frequency.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Symbol {
    /// States from here on would leave 31 bits: some of it is written first.
    limit: u32,
    reciprocal: u32,
    shift: u32,
    bias: u32,
    complement: u32,
}

impl Symbol {
    /// A symbol with frequencies of `start` before it.
    ///
    /// A state x becomes (x / f) * 2^12 + x % f + start = x + start + (x / f) * (2^12 - f). The
    /// quotient is a product with the reciprocal, rounded up, which is exact for states below 2^31
    /// (Alverson 1991, Integer division using reciprocals). For f = 1 the factor 2^32 does not fit
    /// 32 bits: that of 2^32 - 1 gives x - 1, which the bias makes good.
    pub(super) fn new(start: u32, frequency: u32) -> Self {
        Self::of_bits(start, frequency, TOTAL_BITS)
            .with_limit((LOWEST >> TOTAL_BITS << 8) * frequency)
    }

    /// The same of a range of so many bits, with no limit.
    pub(crate) fn of_bits(start: u32, frequency: u32, bits: u32) -> Self {
        let limit = u32::MAX;
        let complement = (1 << bits) - frequency;
        if frequency < 2 {
            let bias = start + (1 << bits) - 1;
            return Self { limit, reciprocal: u32::MAX, shift: 0, bias, complement };
        }
        let bits = u32::BITS - (frequency - 1).leading_zeros();
        let reciprocal = (1_u64 << (bits + 31)).div_ceil(u64::from(frequency)) as u32;
        Self { limit, reciprocal, shift: bits - 1, bias: start, complement }
    }

    /// States from `limit` on are to be made smaller first.
    pub(crate) fn with_limit(self, limit: u32) -> Self {
        Self { limit, ..self }
    }

    #[inline(always)]
    pub(crate) fn limit(&self) -> u32 {
        self.limit
    }

    /// Next state of one below the limit.
    #[inline(always)]
    pub(crate) fn advance(&self, state: u32) -> u32 {
        let product = u64::from(state) * u64::from(self.reciprocal);
        let quotient = (product >> 32) as u32 >> self.shift;
        state + self.bias + quotient * self.complement
    }
}

/// Bytes written from the end of a buffer to its front.
pub(super) struct Backward<'a> {
    buffer: &'a mut [u8],
    at: usize,
}

impl<'a> Backward<'a> {
    /// Room for the codes of `count` symbols: no symbol takes more than 12 bits, and the states
    /// hold what is left.
    pub(super) fn new(buffer: &'a mut Vec<u8>, count: usize) -> Self {
        let room = count + count / 2 + 64;
        if buffer.len() < room {
            buffer.resize(room, 0);
        }
        Self { at: buffer.len(), buffer }
    }

    #[inline(always)]
    fn push(&mut self, byte: u8) {
        self.at -= 1;
        self.buffer[self.at] = byte;
    }

    /// Encodes a symbol.
    #[inline(always)]
    pub(super) fn put(&mut self, state: &mut u32, symbol: &Symbol) {
        let mut x = *state;
        while x >= symbol.limit {
            self.push(x as u8);
            x >>= 8;
        }
        *state = symbol.advance(x);
    }

    /// Writes the states, which a decoder begins with; gives all bytes.
    pub(super) fn finish(mut self, states: [u32; STATES]) -> &'a [u8] {
        for state in states.into_iter().rev() {
            state.to_be_bytes().into_iter().for_each(|byte| self.push(byte));
        }
        &self.buffer[self.at..]
    }
}

/// Makes counts add up to `total`, those of symbols that occur at least 1; no more of them may
/// occur.
pub(crate) fn normalise(counts: &[u32], total: u32, frequencies: &mut [u32]) {
    let sum: u64 = counts.iter().map(|&count| u64::from(count)).sum();
    let mut left = i64::from(total);
    for (frequency, &count) in frequencies.iter_mut().zip(counts) {
        let share = u64::from(count) * u64::from(total) / sum.max(1);
        *frequency = if count > 0 { (share as u32).max(1) } else { 0 };
        left -= i64::from(*frequency);
    }
    // What rounding has left, or taken too much, is the most frequent symbol's; several times over
    // where that has too little.
    while left != 0 {
        let Some(most) = frequencies.iter_mut().reduce(|a, b| if *b > *a { b } else { a }) else {
            return;
        };
        let change = left.max(1 - i64::from(*most));
        if change == 0 {
            return;
        }
        *most = (i64::from(*most) + change) as u32;
        left -= change;
    }
}
