//! Bit packing and run-length encoding, before symbols are coded (CRAM codecs specification,
//! section 3).

use super::coder::{MANY, Scratch, encode_order_0};
use crate::integers::push_uint7;
use crate::rans4x8::count_bytes;

/// Most symbols of which several become a byte.
const MOST_PACKED: usize = 16;

/// Several symbols to a byte.
pub(super) struct Packed {
    symbols: Vec<u8>,
    pub(super) bytes: Vec<u8>,
}

impl Packed {
    /// `None` where too many symbols occur, or nothing would become shorter.
    pub(super) fn of(data: &[u8]) -> Option<Self> {
        let counts = count_bytes(data);
        let symbols: Vec<u8> = (0..=255).filter(|&it| counts[usize::from(it)] > 0).collect();
        let bits = match symbols.len() {
            0 => return None,
            1 => 0,
            2 => 1,
            3..=4 => 2,
            5..=MOST_PACKED => 4,
            _ => return None,
        };
        let mut bytes = Vec::new();
        if let Some(each) = 8_usize.checked_div(bits) {
            let mut ranks = [0_u8; 256];
            for (rank, &symbol) in (0..).zip(&symbols) {
                ranks[usize::from(symbol)] = rank;
            }
            let pack = |group: &[u8]| {
                let ranks = group.iter().rev().map(|&it| ranks[usize::from(it)]);
                ranks.fold(0, |byte, rank| byte << bits | rank)
            };
            bytes.extend(data.chunks(each).map(pack));
        }
        Some(Self { symbols, bytes })
    }

    pub(super) fn push_head(&self, out: &mut Vec<u8>) {
        out.push(self.symbols.len() as u8);
        out.extend_from_slice(&self.symbols);
        push_uint7(out, self.bytes.len());
    }
}

/// Runs of some symbols as their lengths.
pub(super) struct Runs {
    /// The symbols whose runs these are, and the length less 1 of each.
    lengths: Vec<u8>,
    pub(super) literals: Vec<u8>,
}

impl Runs {
    /// `None` where no symbol has enough of them.
    pub(super) fn of(data: &[u8]) -> Option<Self> {
        // Bytes that would be saved, less those that lengths take.
        let mut saved = [0_i64; 256];
        let mut last = None;
        for &byte in data {
            saved[usize::from(byte)] += if last == Some(byte) { 1 } else { -1 };
            last = Some(byte);
        }
        let has_runs = saved.map(|saved| saved > 0);
        let symbols: Vec<u8> = (0..=255).filter(|&it| has_runs[usize::from(it)]).collect();
        if symbols.is_empty() {
            return None;
        }
        let mut lengths = vec![symbols.len() as u8];
        lengths.extend_from_slice(&symbols);
        let mut literals = Vec::with_capacity(data.len() / 2);
        let mut rest = data;
        while let Some((&byte, after)) = rest.split_first() {
            literals.push(byte);
            rest = after;
            if has_runs[usize::from(byte)] {
                let more = rest.iter().take_while(|&&it| it == byte).count();
                push_uint7(&mut lengths, more);
                rest = &rest[more..];
            }
        }
        Some(Self { lengths, literals })
    }

    /// Appends lengths, coded if that makes them shorter, and the number of literals.
    pub(super) fn push_head(&self, is_many: bool, scratch: &mut Scratch, out: &mut Vec<u8>) {
        let mut coded = Vec::new();
        if is_many {
            encode_order_0::<MANY>(&self.lengths, scratch, &mut coded);
        } else {
            encode_order_0::<4>(&self.lengths, scratch, &mut coded);
        }
        let is_coded = coded.len() < self.lengths.len();
        push_uint7(out, self.lengths.len() * 2 + usize::from(!is_coded));
        push_uint7(out, self.literals.len());
        if is_coded {
            push_uint7(out, coded.len());
            out.extend_from_slice(&coded);
        } else {
            out.extend_from_slice(&self.lengths);
        }
    }
}
