//! Known variants: intervals of the reference whose mismatches are no errors.
//!
//! Intervals that share a base are merged. That changes no mask: of two sites that overlap, the
//! second starts, in the read too, not behind where the first ends, so that together they mask
//! what their union masks. Sites that only touch are kept apart, because bases inserted between
//! them belong to neither (`recalibrate::mask` has the property test).

use seqloom_format::bam::Reference;

/// log2 of the bases that one entry of the index of a sequence spans.
const BUCKET_BITS: u32 = 10;

/// Spans that do not fit 16 bits are looked up.
const LONG_SPAN: u16 = u16::MAX;

/// Sites as they are added, 0-based with both ends in it.
#[derive(Debug, Clone, Default)]
struct Added {
    sites: Vec<(u32, u32)>,
    is_unsorted: bool,
}

impl Added {
    fn push(&mut self, start: u32, end: u32) {
        match self.sites.last_mut() {
            Some(last) if start < last.0 => self.is_unsorted = true,
            Some(last) if start <= last.1 => {
                last.1 = last.1.max(end);
                return;
            }
            _ => {}
        }
        self.sites.push((start, end));
    }

    fn merged(mut self) -> Vec<(u32, u32)> {
        if self.is_unsorted {
            self.sites.sort_unstable();
            self.sites.dedup_by(|site, last| {
                let overlaps = site.0 <= last.1;
                if overlaps {
                    last.1 = last.1.max(site.1);
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

    /// Adds the site `start..=end` (0-based, both in it) of the header's sequence `reference_id`.
    /// What lies outside of any sequence, or ends before it starts, is ignored.
    pub fn add(&mut self, reference_id: usize, start: u32, end: u32) {
        if let Some(sequence) = self.sequences.get_mut(reference_id).filter(|_| start <= end) {
            sequence.push(start, end);
            self.sites += 1;
        }
    }

    /// Sites added.
    #[must_use]
    pub fn sites(&self) -> u64 {
        self.sites
    }

    /// Memory that the sites take so far.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.sequences.iter().map(|it| 8 * it.sites.capacity() as u64).sum()
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
    /// For each bucket of positions, the first site that ends in it or behind.
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
        for (index, (start, end)) in merged.into_iter().enumerate() {
            let buckets = (end >> BUCKET_BITS) as usize + 1;
            // Positions have 31 bits and sites share none: an index has 32.
            sites.first_in_bucket.resize(sites.first_in_bucket.len().max(buckets), index as u32);
            sites.starts.push(start);
            match u16::try_from(end - start) {
                Ok(span) if span != LONG_SPAN => sites.spans.push(span),
                _ => {
                    sites.spans.push(LONG_SPAN);
                    sites.long_spans.push((index as u32, end - start));
                }
            }
        }
        sites
    }

    fn site(&self, index: usize) -> Option<(u32, u32)> {
        let (start, span) = (*self.starts.get(index)?, *self.spans.get(index)?);
        if span != LONG_SPAN {
            return Some((start, start + u32::from(span)));
        }
        let at = self.long_spans.binary_search_by_key(&(index as u32), |it| it.0).ok()?;
        Some((start, start + self.long_spans[at].1))
    }

    fn overlapping(&self, start: u32, end: u32) -> impl Iterator<Item = (u32, u32)> {
        let bucket = self.first_in_bucket.get((start >> BUCKET_BITS) as usize);
        let first = bucket.map_or(self.starts.len(), |&first| first as usize);
        (first..)
            .map_while(|index| self.site(index))
            .take_while(move |site| site.0 <= end)
            .filter(move |site| site.1 >= start)
    }
}

/// Known sites of a reference: 6 bytes a site, and 4 for each 1,024 bases.
#[derive(Debug, Clone, Default)]
pub struct KnownSites {
    sequences: Vec<Sites>,
}

impl KnownSites {
    /// The sites that share a base with `start..=end` (0-based) of a sequence, in order; each as
    /// first and last base.
    pub fn overlapping(
        &self,
        reference_id: i32,
        start: u32,
        end: u32,
    ) -> impl Iterator<Item = (u32, u32)> {
        let sequence = usize::try_from(reference_id).ok().and_then(|id| self.sequences.get(id));
        sequence.into_iter().flat_map(move |sites| sites.overlapping(start, end))
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

    fn built(sites: &[(usize, u32, u32)]) -> KnownSites {
        let reference = |name: &str| Reference { name: name.to_owned(), length: i32::MAX as u32 };
        let mut builder = KnownSitesBuilder::new(&[reference("a"), reference("b")]);
        sites.iter().for_each(|&(id, start, end)| builder.add(id, start, end));
        builder.finish()
    }

    fn found(sites: &KnownSites, id: i32, start: u32, end: u32) -> Vec<(u32, u32)> {
        sites.overlapping(id, start, end).collect()
    }

    #[test]
    fn sites_are_found() {
        let sites = built(&[
            (0, 5, 5),
            (0, 6, 9),
            (0, 8, 12),
            (1, 7, 7),
            (0, 100_000, 200_000),
            (0, 3, 2),
            (2, 1, 1),
            (0, 4_000_000_000, u32::MAX),
        ]);
        assert_eq!(found(&sites, 0, 0, 20), [(5, 5), (6, 12)]);
        assert_eq!(found(&sites, 0, 5, 5), [(5, 5)]);
        assert_eq!(found(&sites, 0, 12, 13), [(6, 12)]);
        assert_eq!(found(&sites, 0, 13, 99_999), []);
        assert_eq!(found(&sites, 0, 150_000, 150_000), [(100_000, 200_000)]);
        assert_eq!(found(&sites, 0, 200_001, 200_001), []);
        assert_eq!(found(&sites, 0, u32::MAX, u32::MAX), [(4_000_000_000, u32::MAX)]);
        assert_eq!(found(&sites, 1, 0, 100), [(7, 7)]);
        assert_eq!(found(&sites, 2, 0, 100), []);
        assert_eq!(found(&sites, -1, 0, 100), []);
        assert_eq!(found(&KnownSites::default(), 0, 0, 100), []);
    }

    proptest! {
        #[test]
        fn as_a_list_would_have_it(
            sites in prop::collection::vec((0_u32..5000, 0_u32..40), 0..80),
            sorted in any::<bool>(),
            start in 0_u32..5000,
            length in 0_u32..300,
        ) {
            let mut added: Vec<(usize, u32, u32)> =
                sites.iter().map(|&(start, span)| (0, start, start + span)).collect();
            if sorted {
                added.sort_unstable();
            }
            let known = built(&added);
            let end = start + length;
            let mut covered = [false; 6000];
            for &(_, start, end) in &added {
                covered[start as usize..=end as usize].fill(true);
            }
            let within = found(&known, 0, start, end);
            for position in start..=end {
                let inside = within.iter().any(|it| (it.0..=it.1).contains(&position));
                prop_assert_eq!(inside, covered[position as usize], "{}", position);
            }
            prop_assert!(within.windows(2).all(|pair| pair[0].1 < pair[1].0));
            prop_assert!(within.iter().all(|it| it.0 <= end && it.1 >= start));
            // No site starts within another, and each start was added.
            prop_assert!(within.iter().all(|it| added.iter().any(|site| site.1 == it.0)));
        }
    }
}
