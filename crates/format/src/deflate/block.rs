//! One block of a stream: which of the three forms is the shortest, and its bits (RFC 1951,
//! section 3.2), as stock zlib decides and writes them.

use super::codes::{Builder, Code};
use super::matches::Sequence;
use super::symbols::{
    Bits, DistanceCode, END_OF_BLOCK, LENGTH_BASES, LENGTH_CODES, LENGTH_EXTRA, distance_code,
};
use super::tables::{CodePair, MOST_BITS, coded_bits};

/// State of the writer of blocks.
pub(super) struct BlockWriter {
    bits: Bits,
    builder: Builder,
    dynamic: CodePair,
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
            dynamic: CodePair::EMPTY,
            fixed,
            lengths: [(0, 0); 259],
        }
    }

    /// Appends the block; the last one ends its byte.
    pub(super) fn append(&mut self, block: &Block<'_>, out: &mut Vec<u8>) {
        let (literals, distances) = count(block);
        let header = self.dynamic.build(&mut self.builder, MOST_BITS, &literals, &distances);
        let bits = self.dynamic.coded_bits(&literals, &distances);
        let fixed_bits = coded_bits(&literals, &distances, &self.fixed.0, &self.fixed.1);
        let (size, fixed_size) = ((bits + header + 10) / 8, (fixed_bits + 10) / 8);
        let last = u64::from(block.is_last);
        if block.may_be_stored && block.input.len() as u64 + 4 <= size.min(fixed_size) {
            self.store(block, last, out);
        } else if fixed_size <= size {
            self.bits.push(1 << 1 | last, 3, out);
            self.write(block, fixed_bits, true, out);
        } else {
            self.bits.push(2 << 1 | last, 3, out);
            self.dynamic.write(&mut self.bits, out);
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

    /// All symbols of the block and its end; they take `size_bits`.
    fn write(&mut self, block: &Block<'_>, size_bits: u64, is_fixed: bool, out: &mut Vec<u8>) {
        let Self { bits, dynamic, fixed, lengths, .. } = self;
        let (literals, distances) =
            if is_fixed { (&fixed.0, &fixed.1) } else { (&dynamic.literals, &dynamic.distances) };
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

/// How often each symbol is in the block.
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
