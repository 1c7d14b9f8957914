//! Known variants: intervals of the reference whose mismatches are no errors.
//!
//! Intervals that share a base are merged. That changes no mask: of two sites that overlap, the
//! second starts, in the read too, not after where the first ends, so that together they mask
//! what their union masks. Sites that only touch are kept apart, because bases inserted between
//! them belong to neither (`recalibrate::mask` has the property test).

use std::ops::Range;

use seqloom_format::bam::Reference;

/// log2 of the bases that one entry of the index of a sequence spans.
const BUCKET_BITS: u32 = 10;

/// Spans that do not fit 16 bits are looked up.
const LONG_SPAN: u16 = u16::MAX;

/// A site by its first and last base.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Site {
    first: u32,
    last: u32,
}

/// Sites as they are added.
#[derive(Debug, Clone, Default)]
struct Added {
    sites: Vec<Site>,
    is_unsorted: bool,
}

impl Added {
    fn push(&mut self, site: Site) {
        match self.sites.last_mut() {
            Some(before) if site.first < before.first => self.is_unsorted = true,
            Some(before) if site.first <= before.last => {
                before.last = before.last.max(site.last);
                return;
            }
            _ => {}
        }
        self.sites.push(site);
    }

    fn merged(mut self) -> Vec<Site> {
        if self.is_unsorted {
            self.sites.sort_unstable();
            self.sites.dedup_by(|site, before| {
                let overlaps = site.first <= before.last;
                if overlaps {
                    before.last = before.last.max(site.last);
                }
                overlaps
            });
        }
        self.sites
    }
}

/// Collects known sites, from any number of files, in any order.
#[derive(Debug, Clone, Default)]
pub struct KnownSitesBuilder {
    sequences: Vec<Added>,
    sites: u64,
}

impl KnownSitesBuilder {
    /// For the sequences of a header.
    #[must_use]
    pub fn new(references: &[Reference]) -> Self {
        Self { sequences: vec![Added::default(); references.len()], sites: 0 }
    }

    /// Adds a site: index of its sequence in the header, and its bases, 0-based. What is empty,
    /// or on no sequence of the header, is ignored.
    pub fn add(&mut self, reference_id: usize, bases: Range<u32>) {
        if let Some(sequence) = self.sequences.get_mut(reference_id).filter(|_| !bases.is_empty()) {
            sequence.push(Site { first: bases.start, last: bases.end - 1 });
            self.sites += 1;
        }
    }

    /// Sorts and merges what was added.
    #[must_use]
    pub fn finish(self) -> KnownSites {
        KnownSites { sequences: self.sequences.into_iter().map(Sites::new).collect() }
    }
}

/// The sites of one sequence: disjoint, sorted, 6 bytes each.
#[derive(Debug, Clone, Default)]
struct Sites {
    starts: Vec<u32>,
    /// Bases less one.
    spans: Vec<u16>,
    /// Spans of 65,536 bases and more, by index.
    long_spans: Vec<(u32, u32)>,
    /// For each bucket of positions, the first site that ends in it or after.
    first_in_bucket: Vec<u32>,
}

impl Sites {
    fn new(added: Added) -> Self {
        let merged = added.merged();
        let mut sites = Self {
            starts: Vec::with_capacity(merged.len()),
            spans: Vec::with_capacity(merged.len()),
            ..Self::default()
        };
        for (index, Site { first, last }) in merged.into_iter().enumerate() {
            let buckets = (last >> BUCKET_BITS) as usize + 1;
            // Positions have 31 bits and sites share none: an index has 32.
            sites.first_in_bucket.resize(sites.first_in_bucket.len().max(buckets), index as u32);
            sites.starts.push(first);
            match u16::try_from(last - first) {
                Ok(span) if span != LONG_SPAN => sites.spans.push(span),
                _ => {
                    sites.spans.push(LONG_SPAN);
                    sites.long_spans.push((index as u32, last - first));
                }
            }
        }
        sites
    }

    fn site(&self, index: usize) -> Option<Range<u32>> {
        let (start, span) = (*self.starts.get(index)?, *self.spans.get(index)?);
        if span != LONG_SPAN {
            return Some(start..start + u32::from(span) + 1);
        }
        let at = self.long_spans.binary_search_by_key(&(index as u32), |it| it.0).ok()?;
        Some(start..start + self.long_spans[at].1 + 1)
    }

    fn overlapping(&self, bases: Range<u32>) -> impl Iterator<Item = Range<u32>> {
        let bucket = self.first_in_bucket.get((bases.start >> BUCKET_BITS) as usize);
        let first = bucket.map_or(self.starts.len(), |&first| first as usize);
        (first..)
            .map_while(|index| self.site(index))
            .take_while(move |site| site.start < bases.end)
            .filter(move |site| site.end > bases.start)
    }
}

/// Known sites of a reference: 6 bytes a site, and 4 for each 1,024 bases.
#[derive(Debug, Clone, Default)]
pub struct KnownSites {
    sequences: Vec<Sites>,
}

impl KnownSites {
    /// The sites that share a base with `bases` (0-based) of a sequence, in order.
    pub(crate) fn overlapping(
        &self,
        reference_id: i32,
        bases: Range<u32>,
    ) -> impl Iterator<Item = Range<u32>> {
        let sequence = usize::try_from(reference_id).ok().and_then(|id| self.sequences.get(id));
        sequence.into_iter().flat_map(move |sites| sites.overlapping(bases.clone()))
    }

    /// Memory that the sites take.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        let sizes = self.sequences.iter().map(|it| {
            4 * (it.starts.capacity() + it.first_in_bucket.capacity())
                + 2 * it.spans.capacity()
                + 8 * it.long_spans.capacity()
        });
        sizes.sum::<usize>() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn built(sites: &[(usize, Range<u32>)]) -> KnownSites {
        let reference = |name: &str| Reference { name: name.to_owned(), length: i32::MAX as u32 };
        let mut builder = KnownSitesBuilder::new(&[reference("a"), reference("b")]);
        sites.iter().cloned().for_each(|(id, bases)| builder.add(id, bases));
        builder.finish()
    }

    fn found(sites: &KnownSites, id: i32, bases: Range<u32>) -> Vec<Range<u32>> {
        sites.overlapping(id, bases).collect()
    }

    #[test]
    #[allow(clippy::single_range_in_vec_init)] // one site is what is meant
    fn sites_are_found() {
        let sites = built(&[
            (0, 5..6),
            (0, 6..10),
            (0, 8..13),
            (1, 7..8),
            (0, 100_000..200_001),
            (0, 3..3),
            (2, 1..2),
            (0, 4_000_000_000..u32::MAX),
        ]);
        assert_eq!(found(&sites, 0, 0..21), vec![5..6, 6..13]);
        assert_eq!(found(&sites, 0, 5..6), vec![5..6]);
        assert_eq!(found(&sites, 0, 12..14), vec![6..13]);
        assert_eq!(found(&sites, 0, 13..100_000), vec![]);
        assert_eq!(found(&sites, 0, 150_000..150_001), vec![100_000..200_001]);
        assert_eq!(found(&sites, 0, 200_001..200_002), vec![]);
        assert_eq!(found(&sites, 0, u32::MAX - 1..u32::MAX), vec![4_000_000_000..u32::MAX]);
        assert_eq!(found(&sites, 1, 0..100), vec![7..8]);
        assert_eq!(found(&sites, 2, 0..100), vec![]);
        assert_eq!(found(&sites, -1, 0..100), vec![]);
        assert_eq!(found(&KnownSites::default(), 0, 0..100), []);
    }

    proptest! {
        #[test]
        fn as_a_list_would_have_it(
            sites in prop::collection::vec((0_u32..5000, 1_u32..40), 0..80),
            sorted in any::<bool>(),
            start in 0_u32..5000,
            length in 1_u32..300,
        ) {
            let mut added: Vec<(u32, u32)> =
                sites.iter().map(|&(start, length)| (start, start + length)).collect();
            if sorted {
                added.sort_unstable();
            }
            let sites: Vec<_> = added.iter().map(|&(start, end)| (0, start..end)).collect();
            let within = found(&built(&sites), 0, start..start + length);
            let mut covered = [false; 6000];
            for &(start, end) in &added {
                covered[start as usize..end as usize].fill(true);
            }
            for position in start..start + length {
                let inside = within.iter().any(|it| it.contains(&position));
                prop_assert_eq!(inside, covered[position as usize], "{}", position);
            }
            prop_assert!(within.windows(2).all(|pair| pair[0].end <= pair[1].start));
            prop_assert!(within.iter().all(|it| it.start < start + length && it.end > start));
            // What only touches is kept apart: a site starts where one that was added does, and
            // none that was added crosses its ends.
            let is_added = |start| added.iter().any(|site| site.0 == start);
            let crosses = |at| added.iter().any(|site| site.0 < at && at < site.1);
            prop_assert!(within.iter().all(|it| is_added(it.start) && !crosses(it.start)));
        }
    }
}
