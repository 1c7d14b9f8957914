//! The order of the sample's suffixes, and with it that of any two suffixes that are equal for a
//! while.

use std::cmp::Ordering;

use super::super::memory::Large;
use super::cover::{Cover, Places};

/// Ranks of all suffixes of the sample among themselves.
#[derive(Debug)]
pub(super) struct Ranks {
    cover: Cover,
    places: Places,
    /// By place: unique, and not negative.
    ranks: Large<i32>,
}

impl Ranks {
    /// The ranks of the suffixes at `cover`'s positions, in `places`' order.
    pub(super) fn new(cover: Cover, places: Places, ranks: Large<i32>) -> Self {
        Self { cover, places, ranks }
    }

    /// Symbols that two suffixes must have in common, at least, for [`Ranks::compare`].
    pub(super) fn depth(&self) -> u64 {
        self.cover.modulus()
    }

    /// The order of the suffixes at `i` and `j`, whose first [`Ranks::depth`] symbols are equal and
    /// are within the text.
    #[inline]
    pub(super) fn compare(&self, i: u64, j: u64) -> Ordering {
        let shift = self.cover.shift(i, j);
        let rank = |at| self.ranks[self.places.of(at + shift)];
        rank(i).cmp(&rank(j))
    }

    #[cfg(test)]
    pub(super) fn ranks_mut(&mut self) -> &mut [i32] {
        &mut self.ranks
    }
}
