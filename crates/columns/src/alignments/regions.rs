//! Regions of the reference that records must reach into.

use std::ops::Range;

/// A region of a reference sequence, 0-based.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Region {
    /// Number of the sequence in the header.
    pub reference_id: i32,
    /// First base.
    pub start: i64,
    /// One past the last base.
    pub end: i64,
}

/// Regions in order; those that touch are one.
#[derive(Debug, Default)]
pub(super) struct Regions(Vec<Region>);

impl Regions {
    pub(super) fn new(mut regions: Vec<Region>) -> Self {
        regions.sort_unstable();
        let mut joined: Vec<Region> = Vec::with_capacity(regions.len());
        for region in regions {
            match joined.last_mut() {
                Some(last)
                    if last.reference_id == region.reference_id && region.start <= last.end =>
                {
                    last.end = last.end.max(region.end);
                }
                _ => joined.push(region),
            }
        }
        Self(joined)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn get(&self, range: Range<usize>) -> &[Region] {
        &self.0[range]
    }

    /// The first region that a record reaches into.
    pub(super) fn first_reached(&self, record: &Region) -> Option<usize> {
        let is_after =
            |it: &Region| (it.reference_id, it.end) <= (record.reference_id, record.start);
        let first = self.0.partition_point(is_after);
        let region = self.0.get(first)?;
        let is_reached = region.reference_id == record.reference_id && region.start < record.end;
        is_reached.then_some(first)
    }

    /// The regions one by one; all at once if they are more than `most`.
    pub(super) fn chunks(&self, most: usize) -> Vec<Range<usize>> {
        match self.len() {
            regions if regions <= most => (0..regions).map(|at| at..at + 1).collect(),
            regions => std::iter::once(0..regions).collect(),
        }
    }

    /// Where no record begins any more that reaches into the regions of `range`: sequence and base.
    pub(super) fn end(&self, range: Range<usize>) -> Option<(i32, i64)> {
        self.0[range].last().map(|last| (last.reference_id, last.end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(reference_id: i32, start: i64, end: i64) -> Region {
        Region { reference_id, start, end }
    }

    #[test]
    fn regions_that_touch_are_one() {
        let given = vec![region(1, 5, 9), region(0, 10, 20), region(0, 15, 17), region(0, 20, 30)];
        let regions = Regions::new(given);
        assert_eq!(regions.0, [region(0, 10, 30), region(1, 5, 9)]);
        assert_eq!(regions.end(0..1), Some((0, 30)));
        assert_eq!(regions.chunks(2), [0..1, 1..2]);
        assert_eq!((regions.chunks(1).len(), &regions.chunks(1)[0]), (1, &(0..2)));
    }

    #[test]
    fn a_record_belongs_to_the_first_region_that_it_reaches_into() {
        let regions = Regions::new(vec![region(0, 10, 20), region(0, 30, 40), region(2, 0, 5)]);
        let t = |reference_id, start, end, expected| {
            let found = regions.first_reached(&region(reference_id, start, end));
            assert_eq!(found, expected, "{reference_id} {start} {end}");
        };
        t(0, 0, 10, None);
        t(0, 0, 11, Some(0));
        t(0, 19, 35, Some(0));
        t(0, 20, 30, None);
        t(0, 20, 31, Some(1));
        t(0, 40, 50, None);
        t(1, 0, 50, None);
        t(2, 4, 5, Some(2));
        t(2, 5, 6, None);
        t(-1, -1, 0, None);
    }
}
