//! Tokens as one deflate block: counts of symbols, codes, bits.
//!
//! Codes have at most 13 bits, so that two literals with the number of their bits fit 32 bits, and
//! four literals fit what a flush leaves free. Every symbol has a code, so that later blocks can be
//! written with the codes of an earlier one.

use super::tokens::{Class, Token};
use super::window::Window;
use crate::deflate::codes::Builder;
use crate::deflate::symbols::{
    Bits, DISTANCE_SYMBOLS, DistanceCode, END_OF_BLOCK, LENGTH_BASES, LENGTH_CODES, LENGTH_EXTRA,
    LITERAL_SYMBOLS, distance_code,
};
use crate::deflate::tables::CodePair;

/// Most bits of a code: a pair of literals and the number of its bits (5 more) fit 32 bits.
const MAX_BITS: usize = 13;
/// Low bits of an entry that are the number of its other bits.
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
    singles: [u32; 256],
    /// The same of two literals, the first one low in the index.
    pairs: Box<[u32; 1 << 16]>,
    /// Code and extra bits of a length, and their number.
    lengths: [u32; LENGTHS],
    distances: [u32; DISTANCES],
    end: u32,
    out: Box<[u8; OUTPUT_BYTES + FLUSH_BYTES]>,
    written: usize,
}

impl Emitter {
    pub(super) fn new() -> Self {
        let zeroed = |size| vec![0_u32; size].into_boxed_slice();
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
        let entry = |symbol: usize| {
            u32::from(literals.bits[symbol]) << COUNT_BITS | u32::from(literals.lengths[symbol])
        };
        for (byte, single) in self.singles.iter_mut().enumerate() {
            *single = entry(byte);
        }
        self.end = entry(END_OF_BLOCK);
        for (length, joined) in self.lengths.iter_mut().enumerate().take(259).skip(3) {
            let code = usize::from(LENGTH_CODES[length]);
            let extra = length as u32 - u32::from(LENGTH_BASES[code]);
            let extra = extra << COUNT_BITS | u32::from(LENGTH_EXTRA[code]);
            *joined = join(entry(END_OF_BLOCK + 1 + code), extra);
        }
        let distances = &self.codes.distances;
        for (symbol, entry) in self.distances.iter_mut().take(DISTANCE_SYMBOLS).enumerate() {
            let (bits, count) = (distances.bits[symbol], distances.lengths[symbol]);
            *entry = u32::from(bits) << COUNT_BITS | u32::from(count);
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
        let mut out = Output { bits: self.header_rest, at: self.header.len(), to: &mut self.out };
        out.to[..self.header.len()].copy_from_slice(&self.header);
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
            for (place, byte) in window.u32_at(at).to_le_bytes().into_iter().enumerate() {
                out.add(self.singles[usize::from(byte)] & mask(place < left));
            }
            out.flush();
            let is_copy = mask(token.length > 0);
            let DistanceCode { code, extra, extra_bits } = distance_code(token.distance);
            out.add(self.lengths[usize::from(token.length) % LENGTHS] & is_copy);
            out.add(self.distances[code % DISTANCES] & is_copy);
            // The distance of no copy is 1, which has no extra bits.
            out.bits.add(extra.into(), extra_bits);
            out.flush();
            at += left + usize::from(token.length);
        }
        out.add(self.end);
        self.written = out.end();
        self.written
    }

    /// What was last written.
    pub(super) fn written(&self) -> &[u8] {
        &self.out[..self.written]
    }
}

/// Two entries as one, the first one's bits first.
#[inline(always)]
fn join(first: u32, second: u32) -> u32 {
    let (first_count, second_count) = (count_of(first), count_of(second));
    let bits = first >> COUNT_BITS | (second >> COUNT_BITS) << first_count;
    bits << COUNT_BITS | (first_count + second_count)
}

/// All bits, or none.
#[inline(always)]
fn mask(is_set: bool) -> u32 {
    u32::from(is_set).wrapping_neg()
}

#[inline(always)]
fn count_of(entry: u32) -> u32 {
    entry & ((1 << COUNT_BITS) - 1)
}

/// Bits on their way to the buffer.
struct Output<'a> {
    bits: Bits,
    at: usize,
    to: &'a mut [u8; OUTPUT_BYTES + FLUSH_BYTES],
}

impl Output<'_> {
    #[inline(always)]
    fn add(&mut self, entry: u32) {
        self.bits.add((entry >> COUNT_BITS).into(), count_of(entry));
    }

    #[inline(always)]
    fn flush(&mut self) {
        let (bytes, whole) = self.bits.take_bytes();
        if let Some(room) = self.to[self.at % OUTPUT_BYTES..].first_chunk_mut() {
            *room = bytes;
        }
        self.at += whole;
    }

    /// Fills the last byte with zeros; gives where the bytes end.
    #[inline(always)]
    fn end(mut self) -> usize {
        self.bits.add(0, 7);
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
