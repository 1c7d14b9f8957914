//! Tags that are lists, such as XA and SA: entries that end with a semicolon, and begin with a
//! sequence's name and a position. Reads of one repeat have the same places of other copies, each
//! read a few bases further on, in any order: an entry is compared with earlier ones that begin
//! alike.

use std::ops::Range;

use super::compare::Compare;
use super::cover::Bytes;
use super::tokens::LONGEST_DISTANCE;
use super::window::{COLUMNS, HASH_64, Window};

/// Beginnings of entries that are known, of each length.
const ENTRIES: usize = 1 << 10;
/// First bytes of entries that are equal: with a name of two letters that is the position but for
/// its last digits, or with a longer one.
const BEGINNINGS: [usize; 2] = [8, 12];
/// Earlier entries that are looked at at once.
pub(super) const LIST_HITS: usize = 8;

/// Last place of entries with some beginning; 0 for none.
pub(super) struct Entries {
    places: Box<[[u16; ENTRIES]; BEGINNINGS.len()]>,
}

impl Entries {
    pub(super) fn new() -> Self {
        Self { places: Box::new([[0; ENTRIES]; BEGINNINGS.len()]) }
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        self.places.iter_mut().for_each(|places| places.fill(0));
    }

    /// Distances to earlier entries for those that start among the first columns from `at` on and
    /// before `end`, `at` itself if it `is_first` of a list; 0 for none. Those places are now here.
    #[inline(always)]
    pub(super) fn exchange<C: Compare>(
        &mut self,
        bytes: Bytes<'_, C>,
        Range { start: at, end }: Range<usize>,
        is_first: bool,
    ) -> [u32; LIST_HITS] {
        let (mut distances, mut hits) = ([0; LIST_HITS], 0);
        let mut starts = after_semicolons(bytes, at, end) | u64::from(is_first);
        while starts != 0 {
            let entry = at + starts.trailing_zeros() as usize;
            starts &= starts - 1;
            for (places, length) in self.places.iter_mut().zip(BEGINNINGS) {
                let place = &mut places[hash(bytes.window, entry, length)];
                let earlier = usize::from(std::mem::replace(place, entry as u16));
                let is_near = earlier > 0 && entry - earlier <= LONGEST_DISTANCE;
                if is_near && bytes.common(entry, earlier, length) == length {
                    distances[hits % LIST_HITS] = (entry - earlier) as u32;
                    hits += 1;
                }
            }
        }
        distances
    }
}

/// Columns from `at` on and before `end` that follow a semicolon.
#[inline(always)]
fn after_semicolons<C: Compare>(bytes: Bytes<'_, C>, at: usize, end: usize) -> u64 {
    let after = bytes.compare.equal(bytes.window.columns(at - 1), &[b';'; COLUMNS]);
    let count = end.saturating_sub(at);
    if count < COLUMNS { after & ((1 << count) - 1) } else { after }
}

#[inline(always)]
fn hash(window: &Window, at: usize, length: usize) -> usize {
    let (first, last) = (window.u64_at(at), window.u64_at(at + length - 8));
    let both = first.wrapping_mul(HASH_64) ^ last;
    (both.wrapping_mul(HASH_64) >> 54) as usize % ENTRIES
}
