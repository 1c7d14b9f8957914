//! Mates by their k-mers: where in a window of the reference a read may be, without an index.

use std::cmp::Reverse;
use std::ops::Range;

use crate::query::{LONGEST_READ, UNKNOWN};

/// Bases of the strings that are compared. A read of 150 bases with 12 % of errors has about 39
/// without any, and 500 random bases have one of it in 15 windows.
const STRING_BASES: usize = 10;
const STRINGS: u32 = 1 << (2 * STRING_BASES);
/// Entries of the table of strings: it stays in the nearest cache.
const TABLE_BITS: u32 = 12;
/// Most places in the read of one string, and most hits in a window: those of long runs of one
/// unit are all alike.
const MOST_PLACES: usize = 8;
const MOST_HITS: usize = 4096;
/// Hits that are so near to the first of them are of one placement.
const SPAN: i32 = 31;
/// Placements that are looked at.
const MOST_PLACEMENTS: usize = 3;
/// Fewer hits are chance.
const LEAST_HITS: usize = 2;

/// The strings of a read, and their hits in a window.
#[derive(Debug)]
pub(super) struct Finder {
    /// By hash: 1 + the last place of a string in the read.
    heads: Vec<u16>,
    /// The place before of a string with that hash, likewise.
    before: [u16; LONGEST_READ],
    strings: Vec<u32>,
    /// Places of the read's first base in the window.
    hits: Vec<i32>,
    /// Hits that are near to each other.
    groups: Vec<Range<usize>>,
}

impl Default for Finder {
    fn default() -> Self {
        let (heads, before) = (vec![0; 1 << TABLE_BITS], [0; LONGEST_READ]);
        Self { heads, before, strings: Vec::new(), hits: Vec::new(), groups: Vec::new() }
    }
}

/// No string.
const NONE: u32 = u32::MAX;

fn slot(string: u32) -> usize {
    (string.wrapping_mul(0x9E37_79B1) >> (32 - TABLE_BITS)) as usize
}

/// The string that ends with each base, [`NONE`] where there is none without an unknown base.
fn strings(codes: &[u8]) -> impl Iterator<Item = u32> {
    let (mut string, mut known) = (0, 0);
    codes.iter().map(move |&code| {
        known = if code < UNKNOWN { known + 1 } else { 0 };
        string = (string << 2 | u32::from(code & 3)) % STRINGS;
        if known >= STRING_BASES { string } else { NONE }
    })
}

impl Finder {
    /// Takes a read in place of what was here.
    pub(super) fn take(&mut self, codes: &[u8]) {
        for &string in self.strings.iter().filter(|&&string| string != NONE) {
            self.heads[slot(string)] = 0;
        }
        self.strings.clear();
        self.strings.extend(strings(codes));
        for (at, &string) in self.strings.iter().enumerate() {
            if string != NONE {
                let head = &mut self.heads[slot(string)];
                self.before[at] = *head;
                *head = at as u16 + 1;
            }
        }
    }

    /// Where the read may be in a window: places of its first base, in order, with the hits
    /// there.
    pub(super) fn find(&mut self, window: &[u8], out: &mut Vec<(i32, u32)>) {
        self.hits.clear();
        for (end, string) in strings(window).enumerate() {
            if string == NONE {
                continue;
            }
            let (mut next, mut places) = (self.heads[slot(string)], 0);
            while next > 0 && places < MOST_PLACES {
                let at = usize::from(next) - 1;
                if self.strings[at] == string {
                    self.hits.push(end as i32 - at as i32);
                    places += 1;
                }
                next = self.before[at];
            }
            if self.hits.len() >= MOST_HITS {
                break;
            }
        }
        self.hits.sort_unstable();
        self.best(out);
    }

    /// The groups of hits that are largest.
    fn best(&mut self, out: &mut Vec<(i32, u32)>) {
        let Self { hits, groups, .. } = self;
        groups.clear();
        let mut from = 0;
        while let Some(&first) = hits.get(from) {
            let to = from + hits[from..].partition_point(|&it| it <= first + SPAN);
            if to - from >= LEAST_HITS {
                groups.push(from..to);
            }
            from = to;
        }
        groups.sort_unstable_by_key(|group| (Reverse(group.len()), group.start));
        groups.truncate(MOST_PLACEMENTS);
        groups.sort_unstable_by_key(|group| group.start);
        out.clear();
        for group in groups {
            let alike = hits[group.clone()].chunk_by(|one, other| one == other);
            out.extend(alike.map(|hits| (hits[0], hits.len() as u32)));
        }
    }

    /// Bases of a read in so many hits, at least.
    pub(super) fn covered(hits: u32) -> u32 {
        hits + STRING_BASES as u32 - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance::hash;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_read_with_changes_is_found_in_a_window(
            (seed, length) in (any::<u32>(), 120_u32..600),
            from in any::<prop::sample::Index>(),
            changes in proptest::collection::vec(any::<prop::sample::Index>(), 0..5),
            before in proptest::collection::vec(0_u8..5, 0..200),
        ) {
            let random = |at: u32| hash(seed.into(), at.into()) as u8 % 4;
            let window: Vec<u8> = (0..length).map(random).collect();
            let from = from.index(window.len() - 100);
            let mut read = window[from..from + 100].to_vec();
            for change in changes {
                let at = change.index(100);
                read[at] = (read[at] + 1) % 5;
            }
            let (mut finder, mut found) = (Finder::default(), Vec::new());
            finder.take(&before);
            finder.take(&read);
            finder.find(&window, &mut found);
            prop_assert!(found.iter().any(|it| it.0 == from as i32), "{:?}", found);
            prop_assert!(found.windows(2).all(|two| two[0].0 < two[1].0));
        }
    }

    #[test]
    fn strings_of_many_places_do_not_take_for_ever() {
        let (mut finder, mut found) = (Finder::default(), Vec::new());
        finder.take(&[0; LONGEST_READ]);
        finder.find(&vec![0; 100_000], &mut found);
        assert!(!found.is_empty());
        finder.take(&[UNKNOWN; 50]);
        finder.find(&[UNKNOWN; 50], &mut found);
        assert!(found.is_empty());
        finder.take(&[]);
        finder.find(&[], &mut found);
        assert!(found.is_empty());
    }
}
