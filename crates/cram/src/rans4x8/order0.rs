//! Order 0: one table of frequencies; the states take the bytes in turn.

use super::order1::Scratch;
use super::symbol::{LOWEST, TOTAL, normalise};
use super::{Backward, STATES, Symbol, push_frequency, push_symbols};

/// How often each byte occurs.
pub(crate) fn count_bytes(data: &[u8]) -> [u32; 256] {
    let mut counts = [[0_u32; 256]; STATES];
    let mut groups = data.chunks_exact(STATES);
    // Several tables: equal bytes in a row would wait for each other.
    for group in &mut groups {
        for (counts, &byte) in counts.iter_mut().zip(group) {
            counts[usize::from(byte)] += 1;
        }
    }
    groups.remainder().iter().for_each(|&byte| counts[0][usize::from(byte)] += 1);
    std::array::from_fn(|byte| counts.iter().map(|counts| counts[byte]).sum())
}

/// Appends frequencies and codes.
pub(super) fn encode(data: &[u8], scratch: &mut Scratch, out: &mut Vec<u8>) {
    let counts = count_bytes(data);
    let mut frequencies = [0; 256];
    normalise(&counts, TOTAL, &mut frequencies);
    push_symbols(|byte| counts[byte] > 0, out, |byte, out| push_frequency(frequencies[byte], out));

    let mut symbols = [Symbol::default(); 256];
    let mut start = 0;
    for (symbol, &frequency) in symbols.iter_mut().zip(&frequencies) {
        if frequency > 0 {
            *symbol = Symbol::new(start, frequency);
            start += frequency;
        }
    }
    let mut codes = Backward::new(&mut scratch.codes, data.len());
    let mut states = [LOWEST; STATES];
    let groups = data.chunks_exact(STATES);
    let rest = groups.remainder();
    for (state, &byte) in states.iter_mut().zip(rest).rev() {
        codes.put(state, &symbols[usize::from(byte)]);
    }
    for group in groups.rev() {
        for (state, &byte) in states.iter_mut().zip(group).rev() {
            codes.put(state, &symbols[usize::from(byte)]);
        }
    }
    out.extend_from_slice(codes.finish(states));
}
