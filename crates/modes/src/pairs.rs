//! Mates: how they are oriented to each other, and what their records say of one another.

use std::cmp::Ordering;

use super::fields::{FIRST, MATE_REVERSE, PAIRED, SECOND};
use super::reference::Extent;

/// How mates are oriented to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Orientation {
    /// Towards each other: forward, then reverse.
    ForwardReverse,
    /// Away from each other: reverse, then forward.
    ReverseForward,
    /// Both the same way, the first mate first.
    Same,
}

/// Which pairs of placements count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PairOptions {
    /// How mates are oriented to each other.
    pub orientation: Orientation,
    /// Least distance between the outer ends, in bp.
    pub min_insert_bp: u32,
    /// Greatest distance between the outer ends, in bp.
    pub max_insert_bp: u32,
}

impl PairOptions {
    /// Whether `left` is reverse, and `right`, where the left one is mate `left_mate` (0 or 1).
    pub(super) fn strands(self, left_mate: usize) -> [bool; 2] {
        match (self.orientation, left_mate) {
            (Orientation::ForwardReverse, _) => [false, true],
            (Orientation::ReverseForward, _) => [true, false],
            (Orientation::Same, 0) => [false, false],
            (Orientation::Same, _) => [true, true],
        }
    }

    /// Whether both mates are on one strand.
    pub(super) fn are_alike(self) -> bool {
        self.orientation == Orientation::Same
    }

    /// Which mate is the left one, of mates that are reverse as `are_reverse` says.
    pub(super) fn left_mate(self, are_reverse: [bool; 2]) -> Option<usize> {
        [0, 1]
            .into_iter()
            .find(|&left| self.strands(left) == [are_reverse[left], are_reverse[1 - left]])
    }
}

/// FLAG of mate `mate`, 0 or 1, but for what is said of the record's own placement.
pub(super) fn mate_flags(mate: usize, is_other_reverse: bool) -> u16 {
    let number = if mate == 0 { FIRST } else { SECOND };
    PAIRED | number | if is_other_reverse { MATE_REVERSE } else { 0 }
}

/// TLEN of mate `mate`, of the first and the second one that are so; 0 on two sequences. It is
/// positive for that which begins first; of two that begin together for the one that is not
/// reverse, or the first.
pub(super) fn template_length(mate: usize, [first, second]: [Extent; 2]) -> i32 {
    if first.sequence != second.sequence {
        return 0;
    }
    let span = (first.end.max(second.end) - first.start.min(second.start)) as i32;
    let is_first_left = match first.start.cmp(&second.start) {
        Ordering::Less => true,
        Ordering::Equal => !first.is_reverse || second.is_reverse,
        Ordering::Greater => false,
    };
    if is_first_left == (mate == 0) { span } else { -span }
}
