//! The introns that are known, or that the first pass has found, in the order of both their ends.

use std::ops::Range;

/// An intron on the forward strand of all sequences, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Intron {
    /// Its first base.
    pub start: u64,
    /// One past its last.
    pub end: u64,
    /// Whether its transcript is on the reverse strand, if that is known.
    pub is_reverse: Option<bool>,
}

/// An intron in places of `T`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Site {
    /// Its first base.
    pub(super) left: i64,
    /// The first base after it.
    pub(super) right: i64,
    /// Whether its transcript is on the other strand of `T`, if that is known.
    pub(super) is_turned: Option<bool>,
}

/// All of them, on both strands.
#[derive(Debug, Default)]
pub(super) struct Sites {
    by_left: Vec<Site>,
    by_right: Vec<Site>,
}

impl Sites {
    /// Those of a genome of so many bases.
    pub(super) fn new(introns: &[Intron], bases: u64) -> Self {
        let bases = 2 * bases as i64;
        let both = |it: &Intron| {
            let (left, right) = (it.start as i64, it.end as i64);
            let turned = it.is_reverse.map(|it| !it);
            [
                Site { left, right, is_turned: it.is_reverse },
                Site { left: bases - right, right: bases - left, is_turned: turned },
            ]
        };
        let mut by_left: Vec<Site> = introns.iter().flat_map(both).collect();
        by_left.sort_unstable();
        // Of one intron on both strands the first is kept, whatever their order was.
        by_left.dedup_by_key(|it| (it.left, it.right));
        let mut by_right = by_left.clone();
        by_right.sort_unstable_by_key(|it| (it.right, it.left));
        Self { by_left, by_right }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_left.is_empty()
    }

    /// Memory that a table of so many introns takes.
    pub(super) fn size_bytes(introns: usize) -> u64 {
        (4 * introns * size_of::<Site>()) as u64
    }

    /// Those whose first base is in `places`.
    pub(super) fn with_left(&self, places: Range<i64>) -> &[Site] {
        let from = self.by_left.partition_point(|it| it.left < places.start);
        let count = self.by_left[from..].iter().take_while(|it| it.left < places.end).count();
        &self.by_left[from..from + count]
    }

    /// Those after which the first base is in `places`.
    pub(super) fn with_right(&self, places: Range<i64>) -> &[Site] {
        let from = self.by_right.partition_point(|it| it.right < places.start);
        let count = self.by_right[from..].iter().take_while(|it| it.right < places.end).count();
        &self.by_right[from..from + count]
    }

    /// The intron from `left` to `right`.
    pub(super) fn get(&self, left: i64, right: i64) -> Option<&Site> {
        let found = self.by_left.binary_search_by_key(&(left, right), |it| (it.left, it.right));
        found.ok().map(|at| &self.by_left[at])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_intron_is_found_from_both_ends_on_both_strands() {
        let intron = Intron { start: 10, end: 60, is_reverse: Some(false) };
        let other = Intron { start: 10, end: 90, is_reverse: None };
        let sites = Sites::new(&[other, intron, intron], 100);
        let site = Site { left: 10, right: 60, is_turned: Some(false) };
        let turned = Site { left: 140, right: 190, is_turned: Some(true) };
        assert_eq!(sites.with_left(9..11).len(), 2);
        assert_eq!(sites.with_left(10..11)[0], site);
        assert_eq!(sites.with_left(140..141), [turned]);
        assert_eq!(sites.with_right(60..61), [site]);
        assert_eq!(sites.with_right(61..90), []);
        assert_eq!(sites.get(140, 190), Some(&turned));
        assert_eq!(sites.get(10, 61), None);
        assert!(Sites::new(&[], 100).is_empty());
    }
}
