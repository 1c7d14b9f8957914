//! Tokens as one deflate block: counts of symbols, codes, bits.
//!
//! Codes have at most 13 bits, so that four literals fit what a flush leaves free. Every symbol has
//! a code, so that later blocks can be written with the codes of an earlier one.
//!
//! An *entry* has the bits to write at its top and their number in its lowest bits. [`Output`]
//! holds its bits at the top, too, the oldest one lowest: to add an entry is a shift by its number
//! and an OR, with nothing to mask.

use super::tokens::{Class, Token};
use super::window::Window;
use crate::deflate::codes::Builder;
use crate::deflate::symbols::{
    Bits, DISTANCE_SYMBOLS, DistanceCode, END_OF_BLOCK, LENGTH_BASES, LENGTH_CODES, LENGTH_EXTRA,
    LITERAL_SYMBOLS, distance_code,
};
use crate::deflate::tables::CodePair;

/// Most bits of a code: four, with the 7 bits that a flush leaves, are 59, and the 5 bits below are
/// what an entry's number may take.
const MAX_BITS: usize = 13;
/// Low bits of an entry that are the number of its other bits, at most 26.
const COUNT_BITS: u32 = 5;
/// Weight of a symbol's count: as every symbol has to have a code, those that were not met count as
/// a quarter of one that was met once.
const COUNT_WEIGHT: u32 = 4;
/// Room for any block: the largest payload, each three bytes of it a copy with the longest codes
/// (13 + 13 bits) and all extra bits (13 of the distance), and the header.
const OUTPUT_BYTES: usize = 1 << 17;
/// Bytes that a flush writes, whatever of them counts.
const FLUSH_BYTES: usize = 8;
/// Sizes of tables, powers of two above their symbols, so that a place in them needs no check.
const LENGTHS: usize = 1 << 9;
const DISTANCES: usize = 1 << 5;
/// First bits of a dynamic block that is the last one of its stream.
const LAST_DYNAMIC: u64 = 0b101;

/// How often symbols are used in a block.
struct Counts {
    literals: [u32; LITERAL_SYMBOLS],
    distances: [u32; DISTANCE_SYMBOLS],
}

/// Codes, with the header that says them, and a buffer for what they write.
pub(super) struct Emitter {
    builder: Builder,
    codes: CodePair,
    /// The header, as far as it fills bytes, and the rest of it.
    header: Vec<u8>,
    header_rest: Bits,
    /// Code of a literal and the number of its bits.
    singles: [u64; 256],
    /// The same of two literals, the first one low in the index.
    pairs: Box<[u64; 1 << 16]>,
    /// Code and extra bits of a length, and their number.
    lengths: [u64; LENGTHS],
    distances: [u64; DISTANCES],
    end: u64,
    out: Box<[u8; OUTPUT_BYTES + FLUSH_BYTES]>,
    written: usize,
}

impl Emitter {
    pub(super) fn new() -> Self {
        let zeroed = |size| vec![0_u64; size].into_boxed_slice();
        Self {
            builder: Builder::new(),
            codes: CodePair::EMPTY,
            header: Vec::new(),
            header_rest: Bits::default(),
            singles: [0; 256],
            pairs: zeroed(1 << 16).try_into().unwrap_or_else(|_| Box::new([0; 1 << 16])),
            lengths: [0; LENGTHS],
            distances: [0; DISTANCES],
            end: 0,
            out: Box::new([0; OUTPUT_BYTES + FLUSH_BYTES]),
            written: 0,
        }
    }

    /// Makes codes for these tokens of `bytes`, and gives the bytes that they and their header will
    /// take. Any block can be written with them.
    #[inline(always)]
    pub(super) fn learn(&mut self, tokens: &[Token], bytes: &[u8]) -> usize {
        let Counts { literals, distances } = count(tokens, bytes);
        let weighted = |count: u32| count * COUNT_WEIGHT + 1;
        let (all_literals, all_distances) = (literals.map(weighted), distances.map(weighted));
        let header_bits =
            self.codes.build(&mut self.builder, MAX_BITS, &all_literals, &all_distances);
        let bits = 3 + header_bits + self.codes.coded_bits(&literals, &distances);
        self.header.clear();
        self.header_rest = Bits::default();
        self.header_rest.push(LAST_DYNAMIC, 3, &mut self.header);
        self.codes.write(&mut self.header_rest, &mut self.header);
        self.tabulate();
        bits.div_ceil(8) as usize
    }

    /// Entries of all symbols.
    #[inline(always)]
    fn tabulate(&mut self) {
        let literals = &self.codes.literals;
        let literal =
            |symbol: usize| entry(literals.bits[symbol].into(), literals.lengths[symbol].into());
        for (byte, single) in self.singles.iter_mut().enumerate() {
            *single = literal(byte);
        }
        self.end = literal(END_OF_BLOCK);
        for (length, joined) in self.lengths.iter_mut().enumerate().take(259).skip(3) {
            let code = usize::from(LENGTH_CODES[length]);
            let extra = length as u32 - u32::from(LENGTH_BASES[code]);
            let extra = entry(extra.into(), LENGTH_EXTRA[code].into());
            *joined = join(literal(END_OF_BLOCK + 1 + code), extra);
        }
        let distances = &self.codes.distances;
        for (symbol, distance) in self.distances.iter_mut().take(DISTANCE_SYMBOLS).enumerate() {
            *distance = entry(distances.bits[symbol].into(), distances.lengths[symbol].into());
        }
        let (rows, _) = self.pairs.as_chunks_mut::<256>();
        for (row, second) in rows.iter_mut().zip(self.singles) {
            for (pair, first) in row.iter_mut().zip(self.singles) {
                *pair = join(first, second);
            }
        }
    }

    /// Writes the tokens of a block with the codes that were last learned, and gives how many bytes
    /// that are.
    #[inline(always)]
    pub(super) fn write(&mut self, tokens: &[Token], window: &Window) -> usize {
        let (rest, rest_bits) = self.header_rest.rest();
        let mut out = Output { bits: 0, held: 0, at: self.header.len(), to: &mut self.out };
        out.to[..self.header.len()].copy_from_slice(&self.header);
        out.add(entry(rest, rest_bits));
        let mut at = 0;
        for token in tokens {
            let mut left = usize::from(token.literals);
            if token.class == Class::Bases {
                while left >= 4 {
                    let [a, b, c, d] = window.u32_at(at).to_le_bytes();
                    out.add(self.pairs[usize::from(u16::from_le_bytes([a, b]))]);
                    out.add(self.pairs[usize::from(u16::from_le_bytes([c, d]))]);
                    out.flush();
                    (at, left) = (at + 4, left - 4);
                }
            }
            while left > 4 {
                for byte in window.u32_at(at).to_le_bytes() {
                    out.add(self.singles[usize::from(byte)]);
                }
                out.flush();
                (at, left) = (at + 4, left - 4);
            }
            // How many are left is anyone's guess: no branch, but entries of no bits.
            for (byte, mask) in window.u32_at(at).to_le_bytes().into_iter().zip(FIRST[left % 8]) {
                out.add(self.singles[usize::from(byte)] & mask);
            }
            out.flush();
            let is_copy = u64::from(token.length > 0).wrapping_neg();
            let DistanceCode { code, extra, extra_bits } = distance_code(token.distance);
            out.add(self.lengths[usize::from(token.length) % LENGTHS] & is_copy);
            out.add(self.distances[code % DISTANCES] & is_copy);
            // The distance of no copy is 1, which has no extra bits.
            out.add(entry(extra.into(), extra_bits));
            out.flush();
            at += left + usize::from(token.length);
        }
        out.add(self.end);
        self.written = out.end();
        self.written
    }

    /// Stream that was last written.
    pub(super) fn written(&self) -> &[u8] {
        &self.out[..self.written]
    }
}

/// The entry of `count` bits (at most 26), which are the low ones of `bits`.
#[inline(always)]
fn entry(bits: u64, count: u32) -> u64 {
    bits.rotate_right(count) | u64::from(count)
}

/// Two entries as one, the first one's bits first.
#[inline(always)]
fn join(first: u64, second: u64) -> u64 {
    let bits = |entry: u64| entry & !((1 << COUNT_BITS) - 1);
    let count = count_of(first) + count_of(second);
    bits(first) >> count_of(second) | bits(second) | u64::from(count)
}

#[inline(always)]
fn count_of(entry: u64) -> u32 {
    entry as u32 & ((1 << COUNT_BITS) - 1)
}

/// Masks of the first 0 to 4 of four entries.
const FIRST: [[u64; 4]; 8] = {
    let mut masks = [[0; 4]; 8];
    let mut count = 0;
    while count < 8 {
        let mut place = 0;
        while place < 4 && place < count {
            masks[count][place] = u64::MAX;
            place += 1;
        }
        count += 1;
    }
    masks
};

/// Bits on their way to the buffer.
struct Output<'a> {
    /// The top `held` of them count.
    bits: u64,
    /// At most 59; of this number the low six bits count.
    held: u64,
    at: usize,
    to: &'a mut [u8; OUTPUT_BYTES + FLUSH_BYTES],
}

impl Output<'_> {
    /// Adds an entry, whose number may stay below the bits: they do not reach down to it.
    #[inline(always)]
    fn add(&mut self, entry: u64) {
        self.bits = self.bits >> (entry & 63) | entry;
        self.held = self.held.wrapping_add(entry);
    }

    #[inline(always)]
    fn flush(&mut self) {
        let held = self.held as u32 % 64;
        // If none are held, eight bytes are written of which none counts.
        let bytes = self.bits.wrapping_shr(64 - held).to_le_bytes();
        if let Some(room) = self.to[self.at % OUTPUT_BYTES..].first_chunk_mut() {
            *room = bytes;
        }
        self.at += (held / 8) as usize;
        self.held = u64::from(held % 8);
    }

    /// Fills the last byte with zeros; gives where the bytes end.
    #[inline(always)]
    fn end(mut self) -> usize {
        self.add(entry(0, 7));
        self.flush();
        self.at
    }
}

/// Counts the symbols of these tokens of `bytes`.
#[inline(always)]
fn count(tokens: &[Token], bytes: &[u8]) -> Counts {
    // Two tables each: neighbouring bytes are often equal, and a count waits for the one before.
    let mut tables = [[[0_u32; 256]; 2]; 2];
    let (mut literals, mut distances) = ([0; LITERAL_SYMBOLS], [0; DISTANCES]);
    let mut lengths = [0_u32; LENGTHS];
    let mut rest = bytes;
    for token in tokens {
        let Some((run, after)) = rest.split_at_checked(token.literals.into()) else { break };
        let [even, odd] = &mut tables[token.class as usize];
        let (twos, last) = run.as_chunks::<2>();
        for &[a, b] in twos {
            even[usize::from(a)] += 1;
            odd[usize::from(b)] += 1;
        }
        for &byte in last {
            even[usize::from(byte)] += 1;
        }
        if token.length > 0 {
            lengths[usize::from(token.length) % LENGTHS] += 1;
            distances[distance_code(token.distance).code % DISTANCES] += 1;
        }
        rest = after.get(usize::from(token.length)..).unwrap_or_default();
    }
    for [even, odd] in &tables {
        for (sum, count) in literals.iter_mut().zip(even.iter().zip(odd).map(|(a, b)| a + b)) {
            *sum += count;
        }
    }
    for (&count, code) in lengths.iter().zip(LENGTH_CODES).skip(3) {
        literals[END_OF_BLOCK + 1 + usize::from(code)] += count;
    }
    literals[END_OF_BLOCK] = 1;
    let distances = distances.first_chunk().copied().unwrap_or_default();
    Counts { literals, distances }
}

#[cfg(test)]
#[path = "emit_tests.rs"]
mod tests;
