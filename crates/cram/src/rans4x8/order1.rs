//! Order 1: a table of frequencies for each symbol that others follow. Each state has a quarter of
//! the bytes, which begins in the context of byte 0; the last has what is left over, too.
//!
//! Tables are kept for the symbols that occur, by rank: those of base qualities then fit the
//! processor's first cache.

use super::symbol::{LOWEST, TOTAL, normalise};
use super::{Backward, STATES, Symbol, push_frequency, push_symbols};

/// Memory that calls share.
#[derive(Default)]
pub(crate) struct Scratch {
    /// Codes, from the end.
    pub(super) codes: Vec<u8>,
    /// By rank of the context and of the symbol.
    counts: Vec<u32>,
    symbols: Vec<Symbol>,
    frequencies: Vec<u32>,
}

/// The bytes that occur, 0 among them, which quarters begin in the context of.
pub(crate) struct Alphabet {
    /// By byte; 256 for those that do not occur.
    pub(crate) rank: [u16; 256],
    pub(crate) size: usize,
}

impl Alphabet {
    pub(crate) fn of(data: &[u8]) -> Self {
        let mut is_there = [false; 256];
        is_there[0] = true;
        data.iter().for_each(|&byte| is_there[usize::from(byte)] = true);
        let (mut rank, mut size) = ([256; 256], 0);
        for (rank, _) in rank.iter_mut().zip(is_there).filter(|(_, is_there)| *is_there) {
            *rank = size as u16;
            size += 1;
        }
        Self { rank, size }
    }

    #[inline(always)]
    pub(crate) fn rank(&self, byte: u8) -> usize {
        usize::from(self.rank[usize::from(byte)])
    }
}

/// Appends frequencies and codes; there are at least as many bytes as states.
pub(super) fn encode(data: &[u8], scratch: &mut Scratch, out: &mut Vec<u8>) {
    let alphabet = Alphabet::of(data);
    let Scratch { codes, counts, symbols, frequencies } = scratch;
    count(data, &alphabet, counts);
    let size = alphabet.size;
    symbols.clear();
    symbols.resize(size * size, Symbol::default());
    frequencies.clear();
    frequencies.resize(size, 0);
    let row = |context: usize| context * size..(context + 1) * size;
    let has_rows: Vec<bool> =
        (0..size).map(|it| counts[row(it)].iter().any(|&count| count > 0)).collect();
    let known = |byte: usize| {
        let rank = usize::from(alphabet.rank[byte]);
        (rank < size).then_some(rank)
    };
    let is_context = |byte: usize| known(byte).is_some_and(|rank| has_rows[rank]);
    push_symbols(is_context, out, |byte, out| {
        let Some(context) = known(byte) else { return };
        let counts = &counts[row(context)];
        normalise(counts, TOTAL, frequencies);
        let mut start = 0;
        for (symbol, &frequency) in symbols[row(context)].iter_mut().zip(&*frequencies) {
            if frequency > 0 {
                *symbol = Symbol::new(start, frequency);
                start += frequency;
            }
        }
        let follows = |byte: usize| known(byte).is_some_and(|rank| counts[rank] > 0);
        push_symbols(follows, out, |byte, out| {
            push_frequency(known(byte).map_or(0, |rank| frequencies[rank]), out);
        });
    });
    out.extend_from_slice(encode_quarters(data, &alphabet, symbols, codes));
}

/// Counts what follows what. What follows the end of a quarter is counted though no state encodes
/// it, as other encoders do: their tables are the same.
fn count(data: &[u8], alphabet: &Alphabet, counts: &mut Vec<u32>) {
    let size = alphabet.size;
    counts.clear();
    counts.resize(size * size, 0);
    let mut context = 0;
    for &byte in data {
        let rank = alphabet.rank(byte);
        counts[context * size + rank] += 1;
        context = rank;
    }
    let quarter = data.len() / STATES;
    for start in [quarter, 2 * quarter, 3 * quarter] {
        counts[alphabet.rank(data[start])] += 1;
    }
}

fn encode_quarters<'a>(
    data: &[u8],
    alphabet: &Alphabet,
    symbols: &[Symbol],
    codes: &'a mut Vec<u8>,
) -> &'a [u8] {
    let size = alphabet.size;
    let mut codes = Backward::new(codes, data.len());
    let mut states = [LOWEST; STATES];
    let quarter = data.len() / STATES;
    // What follows the byte that is looked at, in each quarter.
    let mut next: [usize; STATES] =
        std::array::from_fn(|at| alphabet.rank(data[(at + 1) * quarter - 1]));
    let last = STATES - 1;
    if let Some((&byte, rest)) = data[STATES * quarter..].split_last() {
        next[last] = alphabet.rank(byte);
        for &byte in rest.iter().rev().chain(&data[STATES * quarter - 1..STATES * quarter]) {
            let context = alphabet.rank(byte);
            codes.put(&mut states[last], &symbols[context * size + next[last]]);
            next[last] = context;
        }
    }
    let quarters: [&[u8]; STATES] =
        std::array::from_fn(|at| &data[at * quarter..(at + 1) * quarter - 1]);
    for place in (0..quarter - 1).rev() {
        for at in (0..STATES).rev() {
            let context = alphabet.rank(quarters[at][place]);
            codes.put(&mut states[at], &symbols[context * size + next[at]]);
            next[at] = context;
        }
    }
    for at in (0..STATES).rev() {
        codes.put(&mut states[at], &symbols[next[at]]);
    }
    codes.finish(states)
}
