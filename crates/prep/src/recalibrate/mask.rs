//! Which bases of a read known sites mask.

use std::ops::Range;

use seqloom_format::bam::cigar::DELETION;

use super::cigar::{self, Op};

/// The bases that a site masks, as a range of the read of `bases` bases whose clipped `ops` start
/// at `start`; `None` where it is outside. A site that starts in a deletion also masks the base
/// before it, one that ends in a deletion the base after it.
pub(super) fn masked(
    ops: &[Op],
    start: i64,
    bases: usize,
    site: Range<u32>,
) -> Option<Range<usize>> {
    let (site_start, site_end) = (i64::from(site.start), i64::from(site.end) - 1);
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
    use super::super::cigar::tests::{ops, read_span};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sites_mask_bases() {
        let t = |cigar: &str, site: Range<u32>, expected: Option<Range<usize>>| {
            let ops = ops(cigar);
            let bases = read_span(&ops);
            assert_eq!(masked(&ops, 10, bases, site.clone()), expected, "{cigar} {site:?}");
        };
        t("10M", 12..13, Some(2..3));
        t("10M", 5..13, Some(0..3));
        t("10M", 18..31, Some(8..10));
        t("10M", 5..10, None);
        t("10M", 20..21, None);
        t("3M4D3M", 13..14, Some(2..4));
        t("3M4D3M", 12..17, Some(2..4));
        t("3M4D3M", 16..19, Some(2..5));
        t("3M4I3M", 12..13, Some(2..3));
        t("3M4I3M", 13..14, Some(7..8));
        t("3M4I3M", 12..14, Some(2..8));
        t("2H3M", 10..11, Some(0..1));
    }

    fn mask(ops: &[Op], bases: usize, sites: &[Range<u32>]) -> Vec<bool> {
        let mut mask = vec![false; bases];
        for site in sites {
            if let Some(range) = masked(ops, 100, bases, site.clone()) {
                mask[range].fill(true);
            }
        }
        mask
    }

    proptest! {
        /// `known_sites` merges sites that overlap.
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
            let bases = read_span(&canonical);
            let first = first.0..first.0 + first.1 + 1;
            let start = first.start + second.0.min(first.end - 1 - first.start);
            let second = start..start + second.1 + 1;
            let merged = first.start..first.end.max(second.end);
            prop_assert_eq!(
                mask(&canonical, bases, &[first, second]),
                mask(&canonical, bases, &[merged])
            );
        }
    }
}
