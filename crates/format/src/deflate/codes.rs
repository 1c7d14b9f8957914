//! Huffman codes as stock zlib makes them.
//!
//! Many sets of code lengths are equally short. Which one zlib takes follows from the order in
//! which it joins nodes of equal weight, so its binary heap is followed step by step: the lighter
//! node first, then the shallower one, then whichever the heap has at the top.

use super::symbols::LITERAL_SYMBOLS;

/// Most symbols of a code: literals and lengths.
const MAX_SYMBOLS: usize = LITERAL_SYMBOLS;
/// Nodes of a tree of them, and one that is not used.
const NODES: usize = 2 * MAX_SYMBOLS + 1;
/// Most bits of a code (RFC 1951).
const MAX_BITS: usize = 15;

/// Which of the three codes of a block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind {
    /// Symbols that the code may have.
    pub(crate) symbols: usize,
    /// Most bits of one.
    pub(crate) max_bits: usize,
}

/// A code: how long each symbol's is, and its bits, the first one lowest.
#[derive(Debug, Clone)]
pub(crate) struct Code {
    pub(crate) lengths: [u8; MAX_SYMBOLS + 2],
    pub(crate) bits: [u16; MAX_SYMBOLS + 2],
    /// The last symbol that has one.
    pub(crate) last: usize,
}

impl Code {
    pub(crate) const EMPTY: Self =
        Self { lengths: [0; MAX_SYMBOLS + 2], bits: [0; MAX_SYMBOLS + 2], last: 0 };

    /// Gives each symbol the bits that its length implies (RFC 1951, section 3.2.2).
    pub(crate) fn assign(&mut self, symbols: usize) {
        let mut counts = [0_u16; MAX_BITS + 1];
        for &length in &self.lengths[..symbols] {
            counts[usize::from(length) % (MAX_BITS + 1)] += 1;
        }
        counts[0] = 0;
        let mut next = [0_u16; MAX_BITS + 1];
        for bits in 1..=MAX_BITS {
            next[bits] = (next[bits - 1] + counts[bits - 1]) << 1;
        }
        for (bits, &length) in self.bits[..symbols].iter_mut().zip(&self.lengths) {
            if length > 0 {
                let code = &mut next[usize::from(length) % (MAX_BITS + 1)];
                *bits = code.reverse_bits() >> (16 - length);
                *code += 1;
            }
        }
    }
}

/// Buffers to make a code, kept between blocks.
pub(crate) struct Builder {
    /// Nodes that are still to be joined, the first at 1: weight, depth and number in one.
    heap: [u64; NODES],
    /// Nodes as they were joined, the heaviest last.
    order: [u16; NODES],
    parents: [u16; NODES],
    depths: [u8; NODES],
}

/// Compares weights, then depths.
fn is_before(a: u64, b: u64) -> bool {
    a >> 16 <= b >> 16
}

fn node(weight: u64, depth: u64, number: usize) -> u64 {
    weight << 24 | depth << 16 | number as u64
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self { heap: [0; NODES], order: [0; NODES], parents: [0; NODES], depths: [0; NODES] }
    }

    /// Lengths for these counts; where fewer than two symbols are in use, the first ones get codes
    /// as if they were. Bits are not assigned.
    pub(crate) fn build(&mut self, kind: Kind, counts: &[u32], code: &mut Code) {
        code.lengths.fill(0);
        code.last = 0;
        let mut size = 0;
        for (symbol, &count) in counts.iter().enumerate().take(kind.symbols) {
            if count > 0 {
                size += 1;
                self.heap[size] = node(u64::from(count), 0, symbol);
                code.last = symbol;
            }
        }
        let mut none_below = if size == 0 { 0 } else { code.last + 1 };
        while size < 2 {
            let symbol = if none_below < 3 { none_below } else { 0 };
            none_below = none_below.max(symbol + 1);
            code.last = code.last.max(symbol);
            size += 1;
            self.heap[size] = node(1, 0, symbol);
        }
        let first = self.join(kind.symbols, size);
        self.lengths(kind, first, code);
    }

    /// Joins all nodes to a tree; gives where in `order` its root is.
    fn join(&mut self, symbols: usize, mut size: usize) -> usize {
        for top in (1..=size / 2).rev() {
            self.sink(top, size);
        }
        let (mut next, mut first) = (symbols, NODES);
        while size >= 2 {
            let light = self.heap[1];
            self.heap[1] = self.heap[size];
            size -= 1;
            self.sink(1, size);
            let heavy = self.heap[1];
            let (a, b) = ((light & 0xFFFF) as usize, (heavy & 0xFFFF) as usize);
            first -= 2;
            self.order[first + 1] = a as u16;
            self.order[first] = b as u16;
            (self.parents[a], self.parents[b]) = (next as u16, next as u16);
            let depth = (light >> 16 & 0xFF).max(heavy >> 16 & 0xFF) + 1;
            self.heap[1] = node((light >> 24) + (heavy >> 24), depth, next);
            next += 1;
            self.sink(1, size);
        }
        first -= 1;
        self.order[first] = (self.heap[1] & 0xFFFF) as u16;
        first
    }

    /// Puts the node at `place` where it belongs below.
    #[inline]
    fn sink(&mut self, mut place: usize, size: usize) {
        let heap = &mut self.heap;
        let moved = heap[place];
        let mut below = 2 * place;
        while below <= size {
            if below < size {
                below += usize::from(is_before(heap[below + 1], heap[below]));
            }
            if is_before(moved, heap[below]) {
                break;
            }
            heap[place] = heap[below];
            place = below;
            below *= 2;
        }
        heap[place] = moved;
    }

    /// Lengths by depth; what is deeper than allowed is moved up as zlib does.
    fn lengths(&mut self, kind: Kind, first: usize, code: &mut Code) {
        let mut counts = [0_usize; MAX_BITS + 1];
        let mut overflow = 0;
        self.depths[usize::from(self.order[first])] = 0;
        for &number in &self.order[first + 1..] {
            let number = usize::from(number);
            let mut bits = usize::from(self.depths[usize::from(self.parents[number])]) + 1;
            if bits > kind.max_bits {
                bits = kind.max_bits;
                overflow += 1;
            }
            self.depths[number] = bits as u8;
            if number < kind.symbols {
                counts[bits] += 1;
                code.lengths[number] = bits as u8;
            }
        }
        if overflow == 0 {
            return;
        }
        while overflow > 0 {
            // A leaf moves down and takes one that is too deep as its brother.
            let Some(bits) = (1..kind.max_bits).rev().find(|&bits| counts[bits] > 0) else { break };
            counts[bits] -= 1;
            counts[bits + 1] += 2;
            counts[kind.max_bits] -= 1;
            overflow = if overflow > 2 { overflow - 2 } else { 0 };
        }
        // The lightest symbols get the longest codes.
        let leaves = self.order[first + 1..].iter().rev().map(|&number| usize::from(number));
        let mut leaves = leaves.filter(|&number| number < kind.symbols);
        for bits in (1..=kind.max_bits).rev() {
            for number in leaves.by_ref().take(counts[bits]) {
                code.lengths[number] = bits as u8;
            }
        }
    }
}
