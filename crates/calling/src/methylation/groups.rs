//! Groups of sites of a motif that are too close to be distinguished, and which events stand for a
//! run of the reference.

use crate::Motif;
use crate::aligned_read::AlignedBase;
use crate::events::EventRange;

/// Sites of a reference slice that are called together. Offsets are those of the slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Group {
    /// The first base of the first site.
    pub(crate) first: u32,
    /// The first base of the last site.
    pub(crate) last: u32,
    /// Number of sites.
    pub(crate) count: u32,
}

/// Appends the groups of `reference` to `groups`, in its order. Sites at most `gap` apart (from
/// first base to first base) share a group. `reference` is upper case.
pub(crate) fn find(motif: Motif, reference: &[u8], gap: u32, groups: &mut Vec<Group>) {
    let begin = groups.len();
    for at in motif.sites(reference) {
        let at = at as u32;
        match groups[begin..].last_mut() {
            Some(group) if at - group.last <= gap => {
                group.last = at;
                group.count += 1;
            }
            _ => groups.push(Group { first: at, last: at, count: 1 }),
        }
    }
}

/// K-mers of a read that are looked at on each side for one that has events.
const REACH: usize = 1000;

/// The first event of the k-mer at `at`, or of the nearest one before it that has events, or after
/// it. As in nanopolish the search stops short of the very first and the very last k-mer.
#[must_use]
pub(crate) fn closest_event(of_kmer: &[EventRange], at: usize) -> Option<u32> {
    let first = |range: &EventRange| range.get().map(|range| range.first);
    let before = of_kmer.get(at.saturating_sub(REACH) + 1..=at);
    let end = (at + REACH).min(of_kmer.len().saturating_sub(1));
    let after = of_kmer.get(at..end);
    let before = before.and_then(|ranges| ranges.iter().rev().find_map(first));
    before.or_else(|| after.and_then(|ranges| ranges.iter().find_map(first)))
}

/// Events of a read that are walked from one to the other, which may come before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Walked {
    pub(crate) from: u32,
    pub(crate) to: u32,
}

/// Which events of a read are at positions of the reference.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EventsByReference<'a> {
    /// Aligned bases that begin a k-mer, not nearer than a k-mer to the ends of the read.
    pairs: &'a [AlignedBase],
    of_kmer: &'a [EventRange],
    sequence_length: usize,
    kmer_length: usize,
    is_reverse: bool,
}

impl<'a> EventsByReference<'a> {
    /// None if the read's aligned bases all have the same event.
    ///
    /// Offsets and positions of `pairs` both rise.
    #[must_use]
    pub(crate) fn new(
        pairs: &'a [AlignedBase],
        of_kmer: &'a [EventRange],
        sequence_length: usize,
        kmer_length: usize,
        is_reverse: bool,
    ) -> Option<Self> {
        let begin = pairs.partition_point(|pair| (pair.position as usize) < kmer_length);
        let end =
            pairs.partition_point(|pair| pair.position as usize + kmer_length < sequence_length);
        let pairs = pairs.get(begin..end)?;
        let all = Self { pairs, of_kmer, sequence_length, kmer_length, is_reverse };
        let (first, last) = (pairs.first()?, pairs.last()?);
        (all.event(first.position) != all.event(last.position)).then_some(all)
    }

    /// The event of a read's position.
    fn event(&self, position: u32) -> Option<u32> {
        let at = position as usize;
        let kmer = match self.is_reverse {
            true => self.sequence_length.checked_sub(at + self.kmer_length)?,
            false => at,
        };
        closest_event(self.of_kmer, kmer)
    }

    /// Events at the first aligned bases from `start` and from `end`, offsets on the reference.
    /// None if the alignment does not reach from one to the other.
    #[must_use]
    pub(crate) fn window(&self, start: u32, end: u32) -> Option<Walked> {
        let from = self.pairs.partition_point(|pair| pair.offset < start);
        let to = self.pairs.partition_point(|pair| pair.offset < end);
        let (first, last) = (self.pairs.get(from)?, self.pairs.get(to)?);
        let is_bounded = first.offset == start || from > 0;
        if !is_bounded {
            return None;
        }
        Some(Walked { from: self.event(first.position)?, to: self.event(last.position)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_group_up_to_the_gap() {
        fn t(reference: &[u8], expected: &[(u32, u32, u32)]) {
            let mut groups = Vec::new();
            find(Motif::Cpg, reference, 10, &mut groups);
            let groups: Vec<_> = groups.iter().map(|g| (g.first, g.last, g.count)).collect();
            assert_eq!(groups, expected);
        }
        t(b"", &[]);
        t(b"C", &[]);
        t(b"GC", &[]);
        t(b"CG", &[(0, 0, 1)]);
        t(b"CGCGACG", &[(0, 5, 3)]);
        t(b"CGAAAAAAAACG", &[(0, 10, 2)]);
        t(b"CGAAAAAAAAACGC", &[(0, 0, 1), (11, 11, 1)]);
    }

    fn ranges(firsts: &[i64]) -> Vec<EventRange> {
        let range = |first: &i64| match u32::try_from(*first) {
            Ok(first) => EventRange { first, last: first + 1 },
            Err(_) => EventRange::NONE,
        };
        firsts.iter().map(range).collect()
    }

    #[test]
    fn the_closest_event_is_sought_before_and_then_after() {
        fn t(firsts: &[i64], at: usize, expected: Option<u32>) {
            assert_eq!(closest_event(&ranges(firsts), at), expected, "{firsts:?} at {at}");
        }
        t(&[], 0, None);
        t(&[5, 7, 9], 1, Some(7));
        t(&[5, 7, -1, 9, 11], 2, Some(7));
        // The very first k-mer has no base before it, nor the last one after it, that could be
        // looked at.
        t(&[5, -1, 9, 11], 1, Some(9));
        t(&[5, -1, 9], 1, None);
        t(&[5, 6, 7], 0, Some(5));
        t(&[5, -1, -1], 9, None);
    }

    #[test]
    fn a_window_needs_bases_on_both_sides() {
        let base = |position| AlignedBase { offset: position + 3, position };
        let pairs: Vec<_> = (0..20).filter(|i| *i != 8).map(base).collect();
        let of_kmer = ranges(&(0..18).map(|i| 10 * i).collect::<Vec<_>>());
        let t = |is_reverse, start, end, expected| {
            let events = EventsByReference::new(&pairs, &of_kmer, 20, 3, is_reverse).unwrap();
            let found = events.window(start, end).map(|it| (it.from, it.to));
            assert_eq!(found, expected, "{start} {end} {is_reverse}");
        };
        // Bases 3 to 16 of the read count: offsets 6 to 19.
        t(false, 5, 9, None);
        t(false, 6, 10, Some((30, 70 - 10)).map(|(a, _)| (a, 70)));
        t(false, 6, 19, Some((30, 160)));
        t(false, 6, 20, None);
        t(false, 11, 12, Some((90, 90)));
        t(true, 6, 19, Some((140, 10)));
    }

    #[test]
    fn a_read_with_one_event_has_no_windows() {
        let pairs: Vec<_> = (0..20).map(|at| AlignedBase { offset: at, position: at }).collect();
        let of_kmer = ranges(&[4; 18]);
        assert!(EventsByReference::new(&pairs, &of_kmer, 20, 3, false).is_none());
        assert!(EventsByReference::new(&[], &of_kmer, 20, 3, false).is_none());
    }
}
