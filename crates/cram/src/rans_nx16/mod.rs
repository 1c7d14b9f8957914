//! rANS Nx16, written (CRAM codecs specification, section 3): as rANS 4x8, with 4 or 32 states that
//! are made smaller by 16 bits, and what is done to bytes first: several symbols to a byte, runs to
//! lengths, bytes of larger values apart. `read::codecs` has the way back.

mod coder;
mod transforms;

pub(crate) use coder::Scratch;
use coder::{MANY, encode_order_0, encode_order_1};
use transforms::{Packed, Runs};

use crate::integers::push_uint7;
use crate::read::codecs::packing::{NO_SIZE, ORDER, PACKED, RUNS, STORED, STRIPE};
use crate::read::codecs::rans_nx16::MANY_STATES;

/// Raw bytes from which on there are 32 states, which take 128 bytes.
const MANY_FROM_BYTES: usize = 50_000;
/// Raw bytes below which nothing is coded: frequencies and states are longer.
const MIN_CODED_BYTES: usize = 24;

/// Transforms of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Way {
    /// Frequencies are those in the context of the symbol before.
    pub(crate) in_context: bool,
    /// Runs become lengths, of symbols of which that saves something.
    pub(crate) runs: bool,
    /// Several symbols become a byte, where at most 16 occur.
    pub(crate) packed: bool,
}

impl Way {
    pub(crate) const PLAIN: Self = Self { in_context: false, runs: false, packed: false };
    pub(crate) const IN_CONTEXT: Self = Self { in_context: true, ..Self::PLAIN };
    pub(crate) const RUNS_IN_CONTEXT: Self = Self { runs: true, ..Self::IN_CONTEXT };
    pub(crate) const PACKED: Self = Self { packed: true, ..Self::PLAIN };
    pub(crate) const RUNS: Self = Self { runs: true, ..Self::PLAIN };
}

/// What each stripe of larger values becomes: the shortest of these.
const STRIPE_WAYS: [Way; 3] = [Way::PLAIN, Way::IN_CONTEXT, Way::PACKED];

/// Replaces `out` by the compressed `data`, which must be shorter than 2 GiB.
pub(crate) fn compress(way: Way, data: &[u8], scratch: &mut Scratch, out: &mut Vec<u8>) {
    out.clear();
    push_stream(way, data, true, scratch, out);
}

/// The same, where every `stripes`-th byte is in a stream of its own.
pub(crate) fn compress_striped(
    stripes: usize,
    data: &[u8],
    scratch: &mut Scratch,
    out: &mut Vec<u8>,
) {
    out.clear();
    out.push(STRIPE);
    push_uint7(out, data.len());
    out.push(stripes as u8);
    let (mut sizes, mut streams) = (Vec::new(), Vec::new());
    let (mut stripe, mut best, mut other) = (Vec::new(), Vec::new(), Vec::new());
    for first in 0..stripes {
        stripe.clear();
        stripe.extend(data.iter().skip(first).step_by(stripes));
        best.clear();
        for way in STRIPE_WAYS {
            other.clear();
            push_stream(way, &stripe, false, scratch, &mut other);
            if best.is_empty() || other.len() < best.len() {
                std::mem::swap(&mut best, &mut other);
            }
        }
        push_uint7(&mut sizes, best.len());
        streams.extend_from_slice(&best);
    }
    out.extend_from_slice(&sizes);
    out.extend_from_slice(&streams);
}

/// Appends a stream.
fn push_stream(way: Way, data: &[u8], has_size: bool, scratch: &mut Scratch, out: &mut Vec<u8>) {
    let head = out.len();
    let mut flags = if has_size { 0 } else { NO_SIZE };
    out.push(0);
    if has_size {
        push_uint7(out, data.len());
    }
    let packed = way.packed.then(|| Packed::of(data)).flatten();
    if let Some(packed) = &packed {
        flags |= PACKED;
        packed.push_head(out);
    }
    let data = packed.as_ref().map_or(data, |packed| &packed.bytes);
    let is_many = data.len() >= MANY_FROM_BYTES;
    if is_many {
        flags |= MANY_STATES;
    }
    let runs = way.runs.then(|| Runs::of(data)).flatten();
    if let Some(runs) = &runs {
        flags |= RUNS;
        runs.push_head(is_many, scratch, out);
    }
    let data = runs.as_ref().map_or(data, |runs| &runs.literals);
    let body = out.len();
    if data.len() >= MIN_CODED_BYTES {
        push_coded(way.in_context, is_many, data, scratch, out);
    }
    if data.len() < MIN_CODED_BYTES || out.len() - body >= data.len() {
        out.truncate(body);
        out.extend_from_slice(data);
        flags |= STORED;
    } else if way.in_context {
        flags |= ORDER;
    }
    out[head] = flags;
}

/// Appends frequencies and codes.
fn push_coded(
    in_context: bool,
    is_many: bool,
    data: &[u8],
    scratch: &mut Scratch,
    out: &mut Vec<u8>,
) {
    match (in_context, is_many) {
        (false, false) => encode_order_0::<4>(data, scratch, out),
        (false, true) => encode_order_0::<MANY>(data, scratch, out),
        (true, false) => encode_order_1::<4>(data, scratch, out),
        (true, true) => encode_order_1::<MANY>(data, scratch, out),
    }
}

#[cfg(test)]
mod tests;
