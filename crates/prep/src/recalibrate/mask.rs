//! Which bases of a read known sites mask.

use super::cigar::{self, DELETION, Op};

/// The bases that a site masks, as a range of the read of `bases` bases whose clipped `ops` start
/// at `start`; `None` where it lies outside. A site that starts in a deletion also masks the base
/// before it, one that ends in a deletion the base behind it.
pub(super) fn masked(
    ops: &[Op],
    start: i64,
    bases: usize,
    (site_start, site_end): (u32, u32),
) -> Option<std::ops::Range<usize>> {
    let (site_start, site_end) = (i64::from(site_start), i64::from(site_end));
    let end = start + cigar::reference_span(ops) - 1;
    if site_end < start || site_start > end {
        return None;
    }
    let first = match cigar::read_index(ops, start, site_start) {
        None => 0,
        Some((index, code)) => index.saturating_sub(usize::from(code == DELETION)),
    };
    let last = cigar::read_index(ops, start, site_end).map_or(bases, |(index, _)| index);
    let last = last.saturating_add(1).min(bases);
    (first < last).then_some(first..last)
}

#[cfg(test)]
mod tests {
    use super::super::cigar::tests::ops;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sites_mask_bases() {
        let t = |cigar: &str, site, expected: Option<std::ops::Range<usize>>| {
            let ops = ops(cigar);
            let bases = cigar::read_span(&ops) as usize;
            assert_eq!(masked(&ops, 10, bases, site), expected, "{cigar} {site:?}");
        };
        t("10M", (12, 12), Some(2..3));
        t("10M", (5, 12), Some(0..3));
        t("10M", (18, 30), Some(8..10));
        t("10M", (5, 9), None);
        t("10M", (20, 20), None);
        t("3M4D3M", (13, 13), Some(2..4));
        t("3M4D3M", (12, 16), Some(2..4));
        t("3M4D3M", (16, 18), Some(2..5));
        t("3M4I3M", (12, 12), Some(2..3));
        t("3M4I3M", (13, 13), Some(7..8));
        t("3M4I3M", (12, 13), Some(2..8));
        t("2H3M", (10, 10), Some(0..1));
    }

    fn mask(ops: &[Op], bases: usize, sites: &[(u32, u32)]) -> Vec<bool> {
        let mut mask = vec![false; bases];
        for &site in sites {
            if let Some(range) = masked(ops, 100, bases, site) {
                mask[range].fill(true);
            }
        }
        mask
    }

    proptest! {
        /// What `known_sites` does to sites that overlap.
        #[test]
        fn merging_overlapping_sites_changes_no_mask(
            lengths in prop::collection::vec((0_u8..3, 1_u32..6), 1..8),
            first in (90_u32..150, 0_u32..10),
            second in (0_u32..10, 0_u32..10),
        ) {
            let mut canonical = Vec::new();
            if !cigar::canonical(lengths.into_iter(), &mut canonical) {
                return Ok(());
            }
            let bases = cigar::read_span(&canonical) as usize;
            let first = (first.0, first.0 + first.1);
            let start = first.0 + second.0.min(first.1 - first.0);
            let second = (start, start + second.1);
            let merged = (first.0, first.1.max(second.1));
            prop_assert_eq!(
                mask(&canonical, bases, &[first, second]),
                mask(&canonical, bases, &[merged])
            );
        }
    }
}
