//! Which bytes stock zlib codes by themselves and which as a copy of earlier ones, at its level 6.
//!
//! zlib looks for a copy at each place and takes it unless the next place has a longer one ("lazy
//! matching", RFC 1951 section 4). What it looks at, and when it stops, decides its output; the
//! numbers below are zlib's for level 6.

use super::chains::{Chains, LINKED_BYTES, MAX_DISTANCE};

/// Bytes of the longest copy (RFC 1951).
pub(super) const MAX_LENGTH: usize = 258;
/// Places of a chain that are looked at.
const MAX_STEPS: u16 = 128;
/// The same where the place before has a copy of at least [`GOOD_LENGTH`].
const FEWER_STEPS: u16 = 32;
const GOOD_LENGTH: usize = 8;
/// A copy that is long enough not to look on.
const NICE_LENGTH: usize = 128;
/// A copy that is long enough not to look at the next place.
const LAZY_LENGTH: usize = 16;
/// Copies of three bytes from farther away cost more than the bytes.
const TOO_FAR: usize = 4096;

/// A run of bytes by themselves, then a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sequence {
    /// Bytes by themselves.
    pub(super) literals: u32,
    /// Bytes of the copy; 0 at the end of a block.
    pub(super) length: u16,
    /// How far back they are.
    pub(super) distance: u16,
}

/// A copy that was found.
#[derive(Debug, Clone, Copy)]
struct Copy {
    length: usize,
    distance: usize,
}

const NONE: Copy = Copy { length: LINKED_BYTES - 1, distance: 0 };

/// State of the search between two blocks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parser {
    /// The next place to look at.
    at: usize,
    /// Match of the place before.
    pending: Copy,
    /// Whether the byte before is still to be coded.
    has_byte: bool,
}

/// A block that is to be coded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BlockEnd {
    /// End of its bytes.
    pub(super) end: usize,
    /// The place that was looked at last.
    pub(super) looked_at: usize,
    /// Whether it is the last one.
    pub(super) is_last: bool,
}

impl Parser {
    pub(super) fn new() -> Self {
        Self { at: 0, pending: NONE, has_byte: false }
    }

    /// Replaces `block` by the sequences of the next `symbols` symbols, or of all that are left.
    pub(super) fn next_block(
        &mut self,
        input: &[u8],
        chains: &mut Chains,
        symbols: u32,
        block: &mut Vec<Sequence>,
    ) -> BlockEnd {
        block.clear();
        let (mut count, mut literals) = (0, 0_u32);
        // Places before this are linked, and so is all that their copies reach.
        let mut ready = Self::ready(input, chains);
        while self.at < input.len() {
            if self.at >= ready {
                chains.extend(input);
                ready = Self::ready(input, chains);
                continue;
            }
            if self.has_byte && self.pending.length < LINKED_BYTES {
                let most = (ready - self.at).min((symbols - count) as usize);
                let run = chains.unlinked(self.at, most);
                count += run as u32;
                literals += run as u32;
                self.at += run;
                if count == symbols {
                    block.push(Sequence { literals, length: 0, distance: 0 });
                    let end = self.at - 1;
                    return BlockEnd { end, looked_at: end, is_last: false };
                }
                if self.at == ready {
                    continue;
                }
            }
            let (at, before) = (self.at, self.pending);
            self.pending = NONE;
            if before.length < LAZY_LENGTH
                && chains.same(at) > 0
                && chains.same(at + before.length + 1 - LINKED_BYTES) > 0
            {
                self.pending = find(input, chains, at, before.length);
            }
            if before.length >= LINKED_BYTES && self.pending.length <= before.length {
                let (length, distance) = (before.length as u16, before.distance as u16);
                block.push(Sequence { literals, length, distance });
                literals = 0;
                count += 1;
                self.at = at - 1 + before.length;
                self.has_byte = false;
                self.pending = NONE;
            } else {
                self.at = at + 1;
                if !self.has_byte {
                    self.has_byte = true;
                    continue;
                }
                literals += 1;
                count += 1;
            }
            if count == symbols {
                block.push(Sequence { literals, length: 0, distance: 0 });
                let end = if self.has_byte { at } else { self.at };
                return BlockEnd { end, looked_at: at, is_last: false };
            }
        }
        literals += u32::from(std::mem::take(&mut self.has_byte));
        block.push(Sequence { literals, length: 0, distance: 0 });
        BlockEnd { end: input.len(), looked_at: input.len(), is_last: true }
    }

    fn ready(input: &[u8], chains: &Chains) -> usize {
        let end = chains.end();
        if end == input.len() { end } else { end.saturating_sub(MAX_LENGTH) }
    }
}

/// The copy that zlib takes at `at`, where it has one that is longer than `longest` bytes: it looks
/// at the places of its chain, the nearest first, and takes the first of the longest.
#[inline(never)] // its registers are needed
fn find(input: &[u8], chains: &Chains, at: usize, longest: usize) -> Copy {
    let left = &input[at..];
    let left = &left[..left.len().min(MAX_LENGTH)];
    let max_steps = if longest >= GOOD_LENGTH { FEWER_STEPS } else { MAX_STEPS };
    let mut found = Copy { length: longest, distance: 0 };
    let mut distance = 0;
    for _ in 0..max_steps {
        let more = chains.same(at - distance);
        distance += more;
        let Some(&needed) = left.get(found.length) else { break };
        if more == 0 || distance > MAX_DISTANCE {
            break;
        }
        let from = at - distance;
        if input[from + found.length] != needed {
            continue;
        }
        let length = common(&input[from..], left);
        if length <= found.length {
            continue;
        }
        let steps = chains.steps(at, from);
        // The nearest place may be one byte farther away than the others.
        if steps > max_steps || distance + usize::from(steps > 1) > MAX_DISTANCE {
            break;
        }
        found = Copy { length, distance };
        // What is longer has the three bytes that end one after it, too.
        if length >= NICE_LENGTH || chains.same(at + length + 1 - LINKED_BYTES) == 0 {
            break;
        }
    }
    let is_far = found.length == LINKED_BYTES && found.distance > TOO_FAR;
    if found.distance == 0 || is_far { NONE } else { found }
}

/// How many bytes of `required` are those of `earlier`, from the front.
#[inline]
fn common(earlier: &[u8], required: &[u8]) -> usize {
    let mut at = 0;
    while let (Some(a), Some(b)) = (earlier[at..].first_chunk(), required[at..].first_chunk()) {
        let different = u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
        if different != 0 {
            return at + different.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    at + earlier[at..].iter().zip(&required[at..]).take_while(|(a, b)| a == b).count()
}
