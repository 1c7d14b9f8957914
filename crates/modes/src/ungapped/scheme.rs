//! The search scheme: every string within a number of mismatches of a read, once.
//!
//! A read is cut into one piece more than it may have mismatches, so that in any placement one
//! piece at least has none. Search `i` finds the placements whose *first* piece without mismatch is
//! `i`: that piece exactly, then on to the right with what is left of the mismatches once each
//! piece before has one, then to the left with one at least in each piece passed. So every
//! placement belongs to one search, and a search comes to a string by one path: nothing is found
//! twice, and nothing has to be remembered. (Pigeonhole with a bidirectional index: Lam et al.
//! 2009, doi:10.1109/BIBM.2009.42.)

use crate::indexed::Tables;
use crate::query::UNKNOWN;
use seqloom_align::search::Interval;

/// Most mismatches that are searched for.
pub(super) const MOST_MISMATCHES: usize = 4;

/// Strings with so many rows or fewer are not made longer: the read is compared with the genome at
/// each.
pub(super) const FEW_ROWS: u64 = 8;

/// Walks from rows to places pass about so many bases.
const MANY_BASES: u16 = 8;

/// The bounds of the pieces of a read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pieces {
    bounds: [usize; MOST_MISMATCHES + 2],
    count: usize,
}

impl Pieces {
    /// Those of `length` bases with `mismatches` or fewer.
    pub(super) fn new(length: usize, mismatches: usize) -> Self {
        let count = mismatches + 1;
        Self { bounds: std::array::from_fn(|i| i.min(count) * length / count), count }
    }

    /// How many they are.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// First base, and one past the last.
    #[inline(always)]
    pub(super) fn piece(&self, number: usize) -> [usize; 2] {
        [self.bounds[number], self.bounds[number + 1]]
    }

    fn length(&self) -> usize {
        self.bounds[self.count]
    }
}

/// Rows of strings that agree with the read as far as they were searched. What is before
/// them shows on the way to their places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Leaf {
    pub(super) rows: Interval,
    pub(super) rest: Rest,
}

/// The side of a read that the walks from a leaf's rows to their places pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rest {
    /// The rows are those of the strings' reverse complements.
    pub(super) is_turned: bool,
    /// The base of the read where they begin; the one past their end, where they are turned.
    pub(super) border: u16,
    /// Bases of the read on the other side of it, as far as is searched and no walk has passed.
    pub(super) beyond: u16,
    /// Most mismatches there.
    pub(super) allowed: u8,
}

/// Takes leaves.
pub(super) trait LeafSink {
    /// One leaf; false if no more are requested.
    fn leaf(&mut self, leaf: Leaf) -> bool;
}

/// A string on its way: its rows, and those of its reverse complement.
#[derive(Debug, Clone, Copy)]
struct Node {
    first: u64,
    reverse: u64,
    count: u64,
    /// To the right: the next base. To the left: after the next base.
    at: u16,
    /// It is as long as can be to the right.
    leftward: bool,
    /// Piece that is passed to the left.
    piece: u8,
    /// That piece has a mismatch.
    hit: bool,
    mismatches: u8,
}

impl Node {
    /// The leaf of search `number`, on the side where mismatches show sooner.
    #[inline(always)]
    fn leaf(&self, pieces: &Pieces, number: usize) -> Leaf {
        let at = self.at;
        let border = if self.leftward { at } else { pieces.piece(number)[0] as u16 };
        let most = (pieces.count - 1) as u8 - self.mismatches;
        let beyond = pieces.length() as u16 - at;
        if self.leftward || beyond < border.min(MANY_BASES) {
            let rows = Interval { first: self.first, count: self.count };
            let rest = Rest { is_turned: false, border, beyond: border, allowed: most };
            return Leaf { rows, rest };
        }
        let rows = Interval { first: self.reverse, count: self.count };
        // Each piece further left will take one.
        let allowed = most - number as u8;
        Leaf { rows, rest: Rest { is_turned: true, border: at, beyond, allowed } }
    }
}

/// A read that is searched for.
#[derive(Clone, Copy)]
pub(super) struct CutRead<'a> {
    pub(super) codes: &'a [u8],
    /// What it is cut into.
    pub(super) pieces: &'a Pieces,
}

/// Working memory of a search.
#[derive(Debug, Default)]
pub(super) struct Stack(Vec<Node>);

/// Search `number` of the scheme for a read: hands out leaves until `out` has
/// enough, and then gives false. Of what a leaf has not been searched for, nothing is known:
/// whether the read is there with so few mismatches, and in the pieces where the search wants
/// them, is to be looked at.
#[inline(always)]
pub(super) fn search(
    tables: Tables<'_>,
    read: CutRead<'_>,
    number: usize,
    stack: &mut Stack,
    out: &mut impl LeafSink,
) -> bool {
    let CutRead { codes, pieces } = read;
    let [from, end] = pieces.piece(number);
    if codes[from..end].contains(&UNKNOWN) {
        return true;
    }
    let stack = &mut stack.0;
    stack.clear();
    stack.extend(begin(tables, &codes[from..end], from));
    while let Some(mut node) = stack.pop() {
        loop {
            let at = usize::from(node.at);
            if !node.leftward && at == pieces.length() && number > 0 {
                node.leftward = true;
                node.at = from as u16;
                node.piece = number as u8 - 1;
                node.hit = false;
            }
            let is_whole = if number > 0 { node.at == 0 } else { at == pieces.length() };
            if is_whole || node.count <= FEW_ROWS {
                if !out.leaf(node.leaf(pieces, number)) {
                    return false;
                }
                break;
            }
            let next = if node.leftward {
                grow_left(tables, read, node, stack)
            } else {
                let allowed = if at < end { 0 } else { pieces.count - 1 - number };
                grow_right(tables, codes[at], allowed, node, stack)
            };
            match next {
                Some(next) => node = next,
                None => break,
            }
        }
    }
    true
}

/// What a search for an exact piece, whose first base is base `from` of the read, starts with.
#[inline(always)]
fn begin(tables: Tables<'_>, piece: &[u8], from: usize) -> Option<Node> {
    let number = |codes: &[u8]| codes.iter().fold(0, |n, &code| n << 2 | usize::from(code));
    let complement =
        |codes: &[u8]| codes.iter().rev().fold(0, |n, &code| n << 2 | usize::from(3 - code));
    let all = tables.rows.all();
    let root = Node {
        first: all.first,
        reverse: all.first,
        count: all.count,
        at: from as u16,
        leftward: false,
        piece: 0,
        hit: false,
        mismatches: 0,
    };
    let Some(string) = piece.get(..tables.kmer_table.kmer_bases()) else { return Some(root) };
    let rows = |number| Interval::of_kmer(tables.kmer_table, number);
    let [forward, reverse] = [number(string), complement(string)].map(rows);
    (forward.count > 0).then_some(Node {
        first: forward.first,
        reverse: reverse.first,
        count: forward.count,
        at: (from + string.len()) as u16,
        ..root
    })
}

/// The node with the read's next base after it; what has another base there goes to the stack if
/// it may have a mismatch more.
#[inline(always)]
fn grow_right(
    tables: Tables<'_>,
    code: u8,
    allowed: usize,
    node: Node,
    stack: &mut Vec<Node>,
) -> Option<Node> {
    let interval = Interval { first: node.reverse, count: node.count };
    let (longer, ended) = tables.rows.extend_all(interval);
    // After a string come its end, then A, C, G and T: its complement before the reverse.
    let mut first = node.first + ended;
    let mut matching = None;
    for base in 0..4 {
        let Interval { first: reverse, count } = longer[usize::from(3 - base)];
        let longer = Node { first, reverse, count, at: node.at + 1, ..node };
        first += count;
        if count == 0 {
            continue;
        }
        if base == code {
            matching = Some(longer);
        } else if usize::from(node.mismatches) < allowed {
            stack.push(Node { mismatches: node.mismatches + 1, ..longer });
        }
    }
    matching
}

/// The node with the read's base before it, as [`grow_right`].
#[inline(always)]
fn grow_left(
    tables: Tables<'_>,
    CutRead { codes, pieces }: CutRead<'_>,
    node: Node,
    stack: &mut Vec<Node>,
) -> Option<Node> {
    let at = node.at - 1;
    let code = codes[usize::from(at)];
    let is_last_of_piece = usize::from(at) == pieces.bounds[usize::from(node.piece)];
    // Each piece further left will take one.
    let allowed = pieces.count - 1 - usize::from(node.piece);
    let may_match = code != UNKNOWN && (node.hit || !is_last_of_piece);
    let after = if is_last_of_piece {
        Node { at, piece: node.piece.wrapping_sub(1), hit: false, ..node }
    } else {
        Node { at, ..node }
    };
    let interval = Interval { first: node.first, count: node.count };
    if usize::from(node.mismatches) == allowed {
        let rows = tables.rows.extend(interval, usize::from(code & 3));
        let found = may_match && rows.count > 0;
        return found.then_some(Node { first: rows.first, count: rows.count, ..after });
    }
    let (longer, _) = tables.rows.extend_all(interval);
    let mut matching = None;
    for base in 0..4 {
        let Interval { first, count } = longer[usize::from(base)];
        let longer = Node { first, count, ..after };
        if count == 0 {
            continue;
        }
        if base == code {
            matching = may_match.then_some(longer);
        } else {
            let mismatches = node.mismatches + 1;
            stack.push(Node { mismatches, hit: !is_last_of_piece, ..longer });
        }
    }
    matching
}
