//! rANS 4x8 (CRAM codecs specification, section 2): a range coder by asymmetric numeral systems
//! (Duda 2013), four states in turn, renormalised byte by byte, frequencies of 12 bits; by itself
//! (order 0) or in the context of the symbol before (order 1).
//!
//! Both orders write their bytes from the last to the first, so that a decoder reads forward.

mod decode;
mod order0;
mod order1;
mod symbol;

pub(crate) use decode::{Tables, decompress};
pub(crate) use order0::count_bytes;
pub(crate) use order1::{Alphabet, Scratch};
use symbol::{Backward, STATES};
pub(crate) use symbol::{Symbol, normalise};

/// Bytes before the frequencies: order, compressed and raw size.
const HEAD_BYTES: usize = 9;
/// Raw bytes below which contexts cannot pay: each state would have none.
const MIN_ORDER_1_BYTES: usize = 4;

/// Context of a symbol's frequency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// No context: one table of frequencies.
    Zero,
    /// The symbol before.
    One,
}

/// Replaces `out` by the compressed `data`, which must be shorter than 2 GiB.
pub(crate) fn compress(order: Order, data: &[u8], scratch: &mut Scratch, out: &mut Vec<u8>) {
    out.clear();
    if data.is_empty() {
        return;
    }
    let order = if data.len() < MIN_ORDER_1_BYTES { Order::Zero } else { order };
    out.resize(HEAD_BYTES, 0);
    match order {
        Order::Zero => order0::encode(data, scratch, out),
        Order::One => order1::encode(data, scratch, out),
    }
    out[0] = u8::from(order == Order::One);
    let size = (out.len() - HEAD_BYTES) as u32;
    out[1..5].copy_from_slice(&size.to_le_bytes());
    out[5..9].copy_from_slice(&(data.len() as u32).to_le_bytes());
}

/// Writes which symbols there are, as a run-length code: a symbol, and if the one before it
/// was there too, how many follow without a gap. `value` writes what is after each.
pub(crate) fn push_symbols(
    is_there: impl Fn(usize) -> bool,
    out: &mut Vec<u8>,
    mut value: impl FnMut(usize, &mut Vec<u8>),
) {
    let mut implied = 0;
    for symbol in 0..256 {
        if !is_there(symbol) {
            continue;
        }
        if implied > 0 {
            implied -= 1;
        } else {
            out.push(symbol as u8);
            if symbol > 0 && is_there(symbol - 1) {
                implied = (symbol + 1..256).take_while(|&next| is_there(next)).count();
                out.push(implied as u8);
            }
        }
        value(symbol, out);
    }
    out.push(0);
}

/// A frequency: one byte below 128, else two.
fn push_frequency(frequency: u32, out: &mut Vec<u8>) {
    if frequency >= 128 {
        out.push(0x80 | (frequency >> 8) as u8);
    }
    out.push(frequency as u8);
}

#[cfg(test)]
mod tests;
