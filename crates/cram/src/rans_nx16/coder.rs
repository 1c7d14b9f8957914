//! Frequencies and codes. Frequencies are stored as they add up to a power of two that is no more
//! than needed; a decoder doubles them up to the range.

use crate::integers::push_uint7;
use crate::rans4x8::{Alphabet, Symbol, count_bytes, normalise, push_symbols};

/// States of long streams.
pub(super) const MANY: usize = 32;
/// Smallest state.
const LOWEST: u32 = 1 << 15;
/// Bits of the range.
const BITS: u32 = 12;
/// A table of contexts of more bytes than this is compressed, if that makes it shorter.
const LONG_TABLE_BYTES: usize = 512;

/// Memory that calls share.
#[derive(Default)]
pub(crate) struct Scratch {
    /// Codes, from the end.
    codes: Vec<u8>,
    /// By rank of the context and of the symbol.
    counts: Vec<u32>,
    symbols: Vec<Symbol>,
    frequencies: Vec<u32>,
    table: Vec<u8>,
    compressed: Vec<u8>,
}

/// 16-bit words written from the end of a buffer to its front.
struct Backward<'a> {
    buffer: &'a mut [u8],
    at: usize,
}

impl<'a> Backward<'a> {
    /// Room for the codes of `count` symbols, none of which takes more than 12 bits, and states.
    fn new(buffer: &'a mut Vec<u8>, count: usize) -> Self {
        let room = count + count / 2 + 4 * MANY + 64;
        if buffer.len() < room {
            buffer.resize(room, 0);
        }
        Self { at: buffer.len(), buffer }
    }

    /// Encodes a symbol.
    #[inline(always)]
    fn put(&mut self, state: &mut u32, symbol: &Symbol) {
        let mut x = *state;
        if x >= symbol.limit() {
            self.at -= 2;
            self.buffer[self.at..self.at + 2].copy_from_slice(&(x as u16).to_le_bytes());
            x >>= 16;
        }
        *state = symbol.advance(x);
    }

    /// Writes the states, which a decoder begins with; gives all bytes.
    fn finish<const N: usize>(self, states: [u32; N]) -> &'a [u8] {
        let mut at = self.at;
        for state in states.into_iter().rev() {
            at -= 4;
            self.buffer[at..at + 4].copy_from_slice(&state.to_le_bytes());
        }
        &self.buffer[at..]
    }
}

/// Bits of the least power of two that holds counts, as far as the range does.
fn least_bits(counts: &[u32]) -> u32 {
    let sum: u64 = counts.iter().map(|&count| u64::from(count)).sum();
    (u64::BITS - sum.saturating_sub(1).leading_zeros()).min(BITS)
}

/// Fills `symbols` by frequencies that add up to 2^bits.
fn fill(frequencies: &[u32], bits: u32, symbols: &mut [Symbol]) {
    let mut start = 0;
    for (symbol, &frequency) in symbols.iter_mut().zip(frequencies) {
        let frequency = frequency << (BITS - bits);
        if frequency > 0 {
            // A state is below 2^31, and no less than 2^15 when 16 bits are taken off.
            let limit = frequency << (31 - BITS);
            *symbol = Symbol::of_bits(start, frequency, BITS).with_limit(limit);
            start += frequency;
        }
    }
}

/// Appends frequencies and codes of `N` states that take symbols in turn.
pub(super) fn encode_order_0<const N: usize>(
    data: &[u8],
    scratch: &mut Scratch,
    out: &mut Vec<u8>,
) {
    let counts = count_bytes(data);
    push_symbols(|byte| counts[byte] > 0, out, |_, _| {});
    let (bits, mut frequencies) = (least_bits(&counts), [0; 256]);
    normalise(&counts, 1 << bits, &mut frequencies);
    frequencies.iter().filter(|&&it| it > 0).for_each(|&it| push_uint7(out, it as usize));
    let mut symbols = [Symbol::default(); 256];
    fill(&frequencies, bits, &mut symbols);
    let mut codes = Backward::new(&mut scratch.codes, data.len());
    let mut states = [LOWEST; N];
    let groups = data.chunks_exact(N);
    for (state, &byte) in states.iter_mut().zip(groups.remainder()).rev() {
        codes.put(state, &symbols[usize::from(byte)]);
    }
    for group in groups.rev() {
        for (state, &byte) in states.iter_mut().zip(group).rev() {
            codes.put(state, &symbols[usize::from(byte)]);
        }
    }
    out.extend_from_slice(codes.finish(states));
}

/// Appends frequencies and codes of `N` states, each of which has a part of the data, which begins
/// in the context of byte 0; the last has what is left over, too.
pub(super) fn encode_order_1<const N: usize>(
    data: &[u8],
    scratch: &mut Scratch,
    out: &mut Vec<u8>,
) {
    let alphabet = Alphabet::of(data);
    let mut table = std::mem::take(&mut scratch.table);
    table.clear();
    make_table::<N>(data, &alphabet, scratch, &mut table);
    push_table(&table, scratch, out);
    scratch.table = table;
    let Scratch { codes, symbols, .. } = scratch;
    out.extend_from_slice(encode_parts::<N>(data, &alphabet, symbols, codes));
}

/// Appends a table: its bits and whether it is compressed.
fn push_table(table: &[u8], scratch: &mut Scratch, out: &mut Vec<u8>) {
    let head = (BITS as u8) << 4;
    if table.len() > LONG_TABLE_BYTES {
        let mut compressed = std::mem::take(&mut scratch.compressed);
        compressed.clear();
        encode_order_0::<4>(table, scratch, &mut compressed);
        let is_shorter = compressed.len() + 6 < table.len();
        if is_shorter {
            out.push(head | 1);
            push_uint7(out, table.len());
            push_uint7(out, compressed.len());
            out.extend_from_slice(&compressed);
        }
        scratch.compressed = compressed;
        if is_shorter {
            return;
        }
    }
    out.push(head);
    out.extend_from_slice(table);
}

/// Counts what follows what, and appends the frequencies of all contexts.
fn make_table<const N: usize>(
    data: &[u8],
    alphabet: &Alphabet,
    scratch: &mut Scratch,
    table: &mut Vec<u8>,
) {
    let Scratch { counts, symbols, frequencies, .. } = scratch;
    let size = alphabet.size;
    count::<N>(data, alphabet, counts);
    symbols.clear();
    symbols.resize(size * size, Symbol::default());
    frequencies.clear();
    frequencies.resize(size, 0);
    push_symbols(|byte| usize::from(alphabet.rank[byte]) < size, table, |_, _| {});
    for context in 0..size {
        let row = context * size..(context + 1) * size;
        let counts = &counts[row.clone()];
        let bits = least_bits(counts);
        normalise(counts, 1 << bits, frequencies);
        if counts.iter().all(|&count| count == 0) {
            frequencies.fill(0);
        }
        push_row(frequencies, table);
        fill(frequencies, bits, &mut symbols[row]);
    }
}

/// Appends frequencies, and after one of 0 how many more of these follow.
fn push_row(frequencies: &[u32], out: &mut Vec<u8>) {
    let mut rest = frequencies.iter().copied();
    while let Some(frequency) = rest.next() {
        push_uint7(out, frequency as usize);
        if frequency == 0 {
            let zeros = rest.clone().take_while(|&it| it == 0).take(255).count();
            out.push(zeros as u8);
            if zeros > 0 {
                rest.nth(zeros - 1);
            }
        }
    }
}

fn count<const N: usize>(data: &[u8], alphabet: &Alphabet, counts: &mut Vec<u32>) {
    let size = alphabet.size;
    counts.clear();
    counts.resize(size * size, 0);
    let part = data.len() / N;
    let last = part * (N - 1);
    let whole = data[..last].chunks_exact(part.max(1)).chain(std::iter::once(&data[last..]));
    for part in whole {
        let mut context = 0;
        for &byte in part {
            let rank = alphabet.rank(byte);
            counts[context * size + rank] += 1;
            context = rank;
        }
    }
}

fn encode_parts<'a, const N: usize>(
    data: &[u8],
    alphabet: &Alphabet,
    symbols: &[Symbol],
    codes: &'a mut Vec<u8>,
) -> &'a [u8] {
    let size = alphabet.size;
    let mut codes = Backward::new(codes, data.len());
    let mut states = [LOWEST; N];
    let part = data.len() / N;
    // What is left over, and the last byte of the last state's part before it.
    let rest = N * part;
    for at in (rest..data.len()).rev() {
        let context = if at == 0 { 0 } else { alphabet.rank(data[at - 1]) };
        let symbol = alphabet.rank(data[at]);
        codes.put(&mut states[N - 1], &symbols[context * size + symbol]);
    }
    if part > 0 {
        // What follows the byte that is looked at, in each part.
        let mut next: [usize; N] =
            std::array::from_fn(|at| alphabet.rank(data[(at + 1) * part - 1]));
        for place in (0..part - 1).rev() {
            for at in (0..N).rev() {
                let context = alphabet.rank(data[at * part + place]);
                codes.put(&mut states[at], &symbols[context * size + next[at]]);
                next[at] = context;
            }
        }
        for at in (0..N).rev() {
            codes.put(&mut states[at], &symbols[next[at]]);
        }
    }
    codes.finish(states)
}
