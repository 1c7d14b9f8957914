//! Room for entries whose number is not known before: workers take pieces of it, one after the
//! other, until none is left.

use std::ops::Range;
use std::sync::Mutex;

use seqloom_runtime::failure::lock;

use super::entry::Entry;

/// Longest piece: long enough that taking one costs nothing.
const MAX_PIECE: usize = 4_096;

/// At the end every worker leaves at most one piece unfilled, so much of the room in all.
const UNFILLED_PART: usize = 64;

/// Entries of which workers take a piece at a time.
pub(super) struct Pieces<'e> {
    length: usize,
    left: Mutex<Left<'e>>,
}

struct Left<'e> {
    /// Entries handed out.
    taken: usize,
    rest: &'e mut [Entry],
}

/// What a worker has put into its pieces.
pub(super) struct Filler<'p, 'e> {
    pieces: &'p Pieces<'e>,
    /// Places of the piece at hand that are free, and where it ends in the room.
    free: std::slice::IterMut<'e, Entry>,
    end: usize,
    /// Entries that came, and those among them for which there was no place.
    came: u64,
    lost: u64,
}

/// What came of a worker's pieces.
#[derive(Debug, Clone, Default)]
pub(super) struct Filled {
    /// Entries that came, whether there was a place for them or not.
    pub(super) came: u64,
    /// Entries for which there was none.
    pub(super) lost: u64,
    /// The places that were left free, in the room.
    pub(super) hole: Range<usize>,
}

impl<'e> Pieces<'e> {
    /// Cuts `room` up for so many workers.
    pub(super) fn new(room: &'e mut [Entry], workers: usize) -> Self {
        let length = (room.len() / (UNFILLED_PART * workers.max(1))).clamp(1, MAX_PIECE);
        Self { length, left: Mutex::new(Left { taken: 0, rest: room }) }
    }

    /// A piece and where it ends.
    fn take(&self) -> Option<(&'e mut [Entry], usize)> {
        let mut left = lock(&self.left);
        let length = self.length.min(left.rest.len());
        let piece = left.rest.split_off_mut(..length).filter(|piece| !piece.is_empty())?;
        left.taken += length;
        Some((piece, left.taken))
    }

    /// How many entries were handed out.
    pub(super) fn taken(self) -> usize {
        self.left.into_inner().map_or_else(|left| left.into_inner().taken, |left| left.taken)
    }
}

impl<'p, 'e> Filler<'p, 'e> {
    /// One that has no piece yet.
    pub(super) fn new(pieces: &'p Pieces<'e>) -> Self {
        Self { pieces, free: [].iter_mut(), end: 0, came: 0, lost: 0 }
    }

    /// Takes an entry.
    #[inline]
    pub(super) fn put(&mut self, entry: Entry) {
        self.came += 1;
        if let Some(place) = self.free.next() {
            *place = entry;
        } else if let Some((piece, end)) = self.pieces.take() {
            self.end = end;
            self.free = piece.iter_mut();
            if let Some(place) = self.free.next() {
                *place = entry;
            }
        } else {
            self.lost += 1;
        }
    }

    /// What came of it.
    pub(super) fn finish(self) -> Filled {
        let hole = self.end - self.free.len()..self.end;
        Filled { came: self.came, lost: self.lost, hole }
    }
}

/// Moves the entries of the first `taken` places of `room` together, over the holes; returns how
/// many there are. Their order does not matter.
pub(super) fn close_holes(room: &mut [Entry], taken: usize, mut holes: Vec<Range<usize>>) -> usize {
    holes.sort_unstable_by_key(|hole| hole.start);
    let mut to = holes.first().map_or(taken, |hole| hole.start);
    let ends = holes.iter().skip(1).map(|hole| hole.start).chain([taken]);
    for (hole, end) in holes.iter().zip(ends) {
        room.copy_within(hole.end..end, to);
        to += end - hole.end;
    }
    to
}

#[cfg(test)]
mod tests {
    use super::super::entry::Format;
    use super::*;
    use proptest::prelude::*;

    fn entry(number: u64) -> Entry {
        Format::new(1).with([number, 0], 0, 0)
    }

    proptest! {
        #[test]
        fn all_that_fits_is_kept(
            room in 0_usize..3_000,
            order in prop::collection::vec(0_usize..5, 0..3_500),
        ) {
            let mut entries = vec![Entry::default(); room];
            let pieces = Pieces::new(&mut entries, 5);
            let mut fillers: Vec<_> = (0..5).map(|_| Filler::new(&pieces)).collect();
            for (number, &worker) in order.iter().enumerate() {
                fillers[worker].put(entry(number as u64 + 1));
            }
            let filled: Vec<Filled> = fillers.into_iter().map(Filler::finish).collect();
            let taken = pieces.taken();
            let (came, lost) =
                filled.iter().fold((0, 0), |sum, it| (sum.0 + it.came, sum.1 + it.lost));
            prop_assert_eq!(came, order.len() as u64);
            // Only what the others leave unfilled is lost.
            let unfilled = (room / 12) as u64 + 5;
            prop_assert!(lost == 0 || came - lost + unfilled >= room as u64);
            let holes = filled.into_iter().map(|it| it.hole).collect();
            let length = close_holes(&mut entries, taken, holes);
            prop_assert_eq!(length as u64, came - lost);
            let mut numbers: Vec<u64> = entries[..length].iter().map(|it| it.hi).collect();
            numbers.sort_unstable();
            numbers.dedup();
            prop_assert!(numbers.len() == length && numbers.first() != Some(&0));
            if lost == 0 {
                prop_assert!(numbers.into_iter().eq(1..=came));
            }
        }
    }
}
