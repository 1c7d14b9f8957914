//! One block of a stream: which of the three forms is the shortest, and its bits (RFC 1951,
//! section 3.2), as stock zlib decides and writes them.

use super::codes::{Builder, Code, Kind};
use super::matches::Sequence;

/// Literals, the end of a block, and codes of lengths.
const LITERALS: Kind = Kind { symbols: 286, max_bits: 15 };
const DISTANCES: Kind = Kind { symbols: 30, max_bits: 15 };
/// Codes of the lengths of codes.
const CODE_LENGTHS: Kind = Kind { symbols: 19, max_bits: 7 };
const END_OF_BLOCK: usize = 256;
/// In which order the lengths of the codes of lengths stand.
const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/// Codes of [`CODE_LENGTHS`] that stand for a repetition.
const REPEAT: usize = 16;
const ZEROS: usize = 17;
const MANY_ZEROS: usize = 18;

/// First length and number of extra bits of each code of lengths, from 257 on. The last one is the
/// longest copy alone.
const LENGTH_BASES: [u16; 29] = [
    3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131,
    163, 195, 227, 258,
];
const LENGTH_EXTRA: [u8; 29] =
    [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];

/// The code of each length, less 257.
const LENGTH_CODES: [u8; 259] = {
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
struct DistanceCode {
    code: usize,
    /// Bits behind the code, and their number.
    extra: u32,
    extra_bits: u32,
}

#[inline]
fn distance_code(distance: u16) -> DistanceCode {
    let less_one = u32::from(distance) - 1;
    if less_one < 4 {
        return DistanceCode { code: less_one as usize, extra: 0, extra_bits: 0 };
    }
    let extra_bits = 30 - less_one.leading_zeros();
    let code = (2 * extra_bits + (less_one >> extra_bits)) as usize;
    DistanceCode { code, extra: less_one & ((1 << extra_bits) - 1), extra_bits }
}

fn distance_extra(code: usize) -> u64 {
    (code / 2).saturating_sub(1) as u64
}

/// Bits that are put together to bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Bits {
    waiting: u64,
    count: u32,
}

impl Bits {
    /// Adds bits; with those that wait they must be fewer than 64.
    #[inline]
    fn add(&mut self, bits: u64, count: u32) {
        self.waiting |= bits << self.count;
        self.count += count;
    }

    /// Writes whole bytes at `at`, which must have eight bytes of room; gives where they end.
    #[inline]
    fn flush(&mut self, out: &mut [u8], at: usize) -> usize {
        if let Some(room) = out.get_mut(at..).and_then(|room| room.first_chunk_mut::<8>()) {
            *room = self.waiting.to_le_bytes();
        }
        self.waiting >>= self.count & 0x38;
        let end = at + (self.count / 8) as usize;
        self.count %= 8;
        end
    }

    fn push(&mut self, bits: u64, count: u32, out: &mut Vec<u8>) {
        self.add(bits, count);
        while self.count >= 8 {
            out.push(self.waiting as u8);
            self.waiting >>= 8;
            self.count -= 8;
        }
    }

    /// Fills the last byte with zeros.
    fn end_byte(&mut self, out: &mut Vec<u8>) {
        if self.count > 0 {
            out.push(self.waiting as u8);
        }
        *self = Self::default();
    }
}

/// What the writer of blocks keeps.
pub(super) struct BlockWriter {
    bits: Bits,
    builder: Builder,
    literals: Code,
    distances: Code,
    code_lengths: Code,
    fixed: Box<(Code, Code)>,
    /// Code and extra bits of each length, and their number.
    lengths: [(u32, u32); 259],
}

/// A block as it is parsed.
pub(super) struct Block<'a> {
    /// Its bytes.
    pub(super) input: &'a [u8],
    /// How they are coded.
    pub(super) sequences: &'a [Sequence],
    /// Whether it may be stored as it is.
    pub(super) may_be_stored: bool,
    /// Whether it is the last one.
    pub(super) is_last: bool,
}

impl BlockWriter {
    pub(super) fn new() -> Self {
        let mut fixed = Box::new((Code::EMPTY, Code::EMPTY));
        // RFC 1951, section 3.2.6.
        let lengths = &mut fixed.0.lengths;
        lengths[..144].fill(8);
        lengths[144..256].fill(9);
        lengths[256..280].fill(7);
        lengths[280..288].fill(8);
        fixed.0.assign(288);
        fixed.1.lengths[..30].fill(5);
        fixed.1.assign(30);
        Self {
            bits: Bits::default(),
            builder: Builder::new(),
            literals: Code::EMPTY,
            distances: Code::EMPTY,
            code_lengths: Code::EMPTY,
            fixed,
            lengths: [(0, 0); 259],
        }
    }

    /// Appends the block; the last one ends its byte.
    pub(super) fn append(&mut self, block: &Block<'_>, out: &mut Vec<u8>) {
        let (literals, distances) = count(block);
        self.builder.build(LITERALS, &literals, &mut self.literals);
        self.builder.build(DISTANCES, &distances, &mut self.distances);
        let mut repeats = [0; 19];
        repeat(&self.literals, |code, _, _| repeats[code] += 1);
        repeat(&self.distances, |code, _, _| repeats[code] += 1);
        self.builder.build(CODE_LENGTHS, &repeats, &mut self.code_lengths);
        let shown = |&rank: &usize| self.code_lengths.lengths[ORDER[rank]] > 0;
        let shown = (3..19).rev().find(shown).unwrap_or(3) + 1;

        let bits = coded_bits(&literals, &distances, &self.literals, &self.distances);
        let fixed_bits = coded_bits(&literals, &distances, &self.fixed.0, &self.fixed.1);
        let header = table_bits(&repeats, &self.code_lengths) + 3 * shown as u64 + 14;
        let (size, fixed_size) = ((bits + header + 10) / 8, (fixed_bits + 10) / 8);
        let last = u64::from(block.is_last);
        if block.may_be_stored && block.input.len() as u64 + 4 <= size.min(fixed_size) {
            self.store(block, last, out);
        } else if fixed_size <= size {
            self.bits.push(1 << 1 | last, 3, out);
            self.write(block, fixed_bits, true, out);
        } else {
            self.bits.push(2 << 1 | last, 3, out);
            self.write_tables(shown, out);
            self.literals.assign(LITERALS.symbols);
            self.distances.assign(DISTANCES.symbols);
            self.write(block, bits, false, out);
        }
        if block.is_last {
            self.bits.end_byte(out);
        }
    }

    fn store(&mut self, block: &Block<'_>, last: u64, out: &mut Vec<u8>) {
        self.bits.push(last, 3, out);
        self.bits.end_byte(out);
        let size = block.input.len() as u16;
        out.extend_from_slice(&size.to_le_bytes());
        out.extend_from_slice(&(!size).to_le_bytes());
        out.extend_from_slice(block.input);
    }

    /// The lengths of both codes.
    fn write_tables(&mut self, shown: usize, out: &mut Vec<u8>) {
        self.code_lengths.assign(CODE_LENGTHS.symbols);
        let Self { bits, literals, distances, code_lengths, .. } = self;
        bits.push(literals.last as u64 + 1 - 257, 5, out);
        bits.push(distances.last as u64, 5, out);
        bits.push(shown as u64 - 4, 4, out);
        for &symbol in &ORDER[..shown] {
            bits.push(code_lengths.lengths[symbol].into(), 3, out);
        }
        let mut put = |code: usize, extra: u64, extra_bits: u32| {
            bits.push(code_lengths.bits[code].into(), code_lengths.lengths[code].into(), out);
            bits.push(extra, extra_bits, out);
        };
        repeat(literals, &mut put);
        repeat(distances, &mut put);
    }

    /// All symbols of the block and its end; they take `size_bits`.
    fn write(&mut self, block: &Block<'_>, size_bits: u64, is_fixed: bool, out: &mut Vec<u8>) {
        let Self { bits, literals, distances, fixed, lengths, .. } = self;
        let (literals, distances) =
            if is_fixed { (&fixed.0, &fixed.1) } else { (&*literals, &*distances) };
        for (length, entry) in lengths.iter_mut().enumerate().skip(3) {
            let code = usize::from(LENGTH_CODES[length]);
            let (base, extra) = (LENGTH_BASES[code], u32::from(LENGTH_EXTRA[code]));
            let symbol_bits = u32::from(literals.lengths[257 + code]);
            let value = u32::from(literals.bits[257 + code])
                | (length as u32 - u32::from(base)) << symbol_bits;
            *entry = (value, symbol_bits + extra);
        }
        let mut bytes = [(0, 0); 256];
        for (byte, entry) in bytes.iter_mut().enumerate() {
            *entry = (literals.bits[byte].into(), literals.lengths[byte].into());
        }
        let start = out.len();
        // Eight bytes are written at a time, whatever of them counts.
        out.resize(start + (size_bits / 8) as usize + 24, 0);
        let (mut at, mut input) = (start, block.input);
        for sequence in block.sequences {
            let (run, rest) = input.split_at(sequence.literals as usize);
            let (threes, few) = run.as_chunks::<3>();
            for three in threes {
                for &byte in three {
                    let (value, count) = bytes[usize::from(byte)];
                    bits.add(value, count);
                }
                at = bits.flush(out, at);
            }
            for &byte in few {
                let (value, count) = bytes[usize::from(byte)];
                bits.add(value, count);
            }
            at = bits.flush(out, at);
            if sequence.length > 0 {
                let (value, count) = lengths[usize::from(sequence.length)];
                bits.add(value.into(), count);
                let DistanceCode { code, extra, extra_bits } = distance_code(sequence.distance);
                bits.add(distances.bits[code].into(), distances.lengths[code].into());
                bits.add(extra.into(), extra_bits);
                at = bits.flush(out, at);
            }
            input = &rest[usize::from(sequence.length)..];
        }
        let end = END_OF_BLOCK;
        bits.add(literals.bits[end].into(), literals.lengths[end].into());
        at = bits.flush(out, at);
        out.truncate(at);
    }
}

/// How often each symbol stands in the block.
fn count(block: &Block<'_>) -> ([u32; 286], [u32; 30]) {
    // Four tables: neighbouring bytes are often equal, and a count waits for the one before.
    let mut tables = [[0_u32; 256]; 4];
    let (mut literals, mut distances) = ([0; 286], [0; 30]);
    let mut input = block.input;
    for sequence in block.sequences {
        let (run, rest) = input.split_at(sequence.literals as usize);
        let (fours, few) = run.as_chunks::<4>();
        for four in fours {
            for (table, &byte) in tables.iter_mut().zip(four) {
                table[usize::from(byte)] += 1;
            }
        }
        for &byte in few {
            tables[0][usize::from(byte)] += 1;
        }
        if sequence.length > 0 {
            literals[257 + usize::from(LENGTH_CODES[usize::from(sequence.length)])] += 1;
            distances[distance_code(sequence.distance).code] += 1;
        }
        input = &rest[usize::from(sequence.length)..];
    }
    for (byte, count) in literals.iter_mut().enumerate().take(256) {
        *count = tables.iter().map(|table| table[byte]).sum();
    }
    literals[END_OF_BLOCK] = 1;
    (literals, distances)
}

/// Bits of all symbols.
fn coded_bits(
    literals: &[u32; 286],
    distances: &[u32; 30],
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

/// Calls `put` with the codes of [`CODE_LENGTHS`] that tell the lengths of a code: code, extra
/// bits and their number.
fn repeat(of: &Code, mut put: impl FnMut(usize, u64, u32)) {
    let lengths = &of.lengths[..=of.last];
    let (mut at, mut before) = (0, None);
    while at < lengths.len() {
        let length = lengths[at];
        // zlib: a new length other than zero is told once before it is repeated.
        let most = match length {
            0 => 138,
            _ if before == Some(length) => 6,
            _ => 7,
        };
        let run = lengths[at..].iter().take(most).take_while(|&&next| next == length).count();
        let told = if length > 0 && before != Some(length) { 1 } else { 0 };
        if run < 3 + told {
            (0..run).for_each(|_| put(length.into(), 0, 0));
        } else if length > 0 {
            (0..told).for_each(|_| put(length.into(), 0, 0));
            put(REPEAT, (run - told - 3) as u64, 2);
        } else if run <= 10 {
            put(ZEROS, run as u64 - 3, 3);
        } else {
            put(MANY_ZEROS, run as u64 - 11, 7);
        }
        before = Some(length);
        at += run;
    }
}
