//! What all deflate streams share (RFC 1951, section 3.2.5): the codes of lengths and distances,
//! and bits that become bytes.

/// Symbols of the first code: literals, the end of a block, lengths.
pub(crate) const LITERAL_SYMBOLS: usize = 286;
/// Symbols of the code of distances.
pub(crate) const DISTANCE_SYMBOLS: usize = 30;
/// The symbol that ends a block.
pub(crate) const END_OF_BLOCK: usize = 256;

/// First length and number of extra bits of each code of lengths, from 257 on. The last one is the
/// longest copy alone.
pub(crate) const LENGTH_BASES: [u16; 29] = [
    3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131,
    163, 195, 227, 258,
];
pub(crate) const LENGTH_EXTRA: [u8; 29] =
    [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];

/// The code of each length, less 257.
pub(crate) const LENGTH_CODES: [u8; 259] = {
    let mut codes = [0; 259];
    let mut length = 3;
    while length < 259 {
        let mut code = 28;
        while LENGTH_BASES[code] as usize > length {
            code -= 1;
        }
        codes[length] = code as u8;
        length += 1;
    }
    codes
};

/// How a distance is coded.
#[derive(Clone, Copy)]
pub(crate) struct DistanceCode {
    pub(crate) code: usize,
    /// Bits after the code, and their number.
    pub(crate) extra: u32,
    pub(crate) extra_bits: u32,
}

/// The code of a distance, 1 to 32,768.
#[inline(always)]
pub(crate) fn distance_code(distance: u16) -> DistanceCode {
    let less_one = u32::from(distance) - 1;
    // The first four codes have no extra bits. No branch: it would be taken at random.
    let extra_bits = 30_u32.saturating_sub(less_one.leading_zeros());
    let code = (2 * extra_bits + (less_one >> extra_bits)) as usize;
    DistanceCode { code, extra: less_one & ((1 << extra_bits) - 1), extra_bits }
}

/// Number of extra bits after a code of distances.
pub(crate) fn distance_extra(code: usize) -> u64 {
    (code / 2).saturating_sub(1) as u64
}

/// Bits that are put together to bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Bits {
    waiting: u64,
    count: u32,
}

impl Bits {
    /// Adds bits; with those that wait they must be fewer than 64.
    #[inline(always)]
    pub(crate) fn add(&mut self, bits: u64, count: u32) {
        self.waiting |= bits << self.count;
        self.count += count;
    }

    /// Writes whole bytes at `at`, which must have eight bytes of room; gives where they end.
    #[inline(always)]
    pub(crate) fn flush(&mut self, out: &mut [u8], at: usize) -> usize {
        let (bytes, whole) = self.take_bytes();
        if let Some(room) = out.get_mut(at..).and_then(|room| room.first_chunk_mut::<8>()) {
            *room = bytes;
        }
        at + whole
    }

    /// The bits that are no whole byte yet, and their number.
    pub(crate) fn rest(&self) -> (u64, u32) {
        (self.waiting, self.count)
    }

    /// Takes the whole bytes: eight, of which so many count.
    #[inline(always)]
    pub(crate) fn take_bytes(&mut self) -> ([u8; 8], usize) {
        let bytes = self.waiting.to_le_bytes();
        self.waiting >>= self.count & 0x38;
        let whole = (self.count / 8) as usize;
        self.count %= 8;
        (bytes, whole)
    }

    /// Adds bits and writes all whole bytes.
    pub(crate) fn push(&mut self, bits: u64, count: u32, out: &mut Vec<u8>) {
        self.add(bits, count);
        while self.count >= 8 {
            out.push(self.waiting as u8);
            self.waiting >>= 8;
            self.count -= 8;
        }
    }

    /// Fills the last byte with zeros.
    pub(crate) fn end_byte(&mut self, out: &mut Vec<u8>) {
        if self.count > 0 {
            out.push(self.waiting as u8);
        }
        *self = Self::default();
    }
}
