//! What each read group has: reads, bases, mapped, duplicates, Q30, insert size.
//!
//! Counted: primary records. Insert sizes are those of [`super::insert_size`], all orientations
//! together.

use seqloom_format::bam::{Flags, Header};
use seqloom_format::persist_fields;

use super::insert_size::counted_size;
use super::observed::Observed;

/// Larger insert sizes are counted together: a bound of memory for a thousand read groups.
const LARGEST_BP: usize = 2048;

/// The read groups of a header, to be found by ID.
#[derive(Debug, Clone, Default)]
pub struct ReadGroupNames {
    /// In the order of the header.
    ids: Vec<Vec<u8>>,
    /// Indices of `ids`, in the order of IDs.
    by_id: Vec<usize>,
}

impl ReadGroupNames {
    /// The read groups of `header`.
    #[must_use]
    pub fn of(header: &Header) -> Self {
        let ids: Vec<Vec<u8>> = header.read_groups().iter().map(|it| it.id.to_vec()).collect();
        let mut by_id: Vec<usize> = (0..ids.len()).collect();
        by_id.sort_unstable_by_key(|&index| &ids[index]);
        Self { ids, by_id }
    }

    /// IDs in the order of the header, as text.
    pub fn ids(&self) -> impl Iterator<Item = String> {
        self.ids.iter().map(|id| String::from_utf8_lossy(id).into_owned())
    }

    /// The index of a record's read group; after all others where it has none that the header has.
    fn index_of(&self, id: Option<&[u8]>) -> usize {
        if let ([only], Some(id)) = (&self.ids[..], id) {
            return usize::from(only != id);
        }
        let found = id.and_then(|id| {
            self.by_id.binary_search_by(|&index| self.ids[index].as_slice().cmp(id)).ok()
        });
        found.map_or(self.ids.len(), |at| self.by_id[at])
    }
}

/// Counts of one read group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadGroupCounts {
    /// Primary records of the group.
    pub reads: u64,
    /// Their bases.
    pub bases: u64,
    /// Bases of Q30 or more, as stated.
    pub q30_bases: u64,
    /// Mapped reads.
    pub mapped: u64,
    /// Reads with the duplicate flag.
    pub duplicates: u64,
    /// Pairs by insert size; those of [`LARGEST_BP`] and more are in the last bin.
    inserts: Vec<u32>,
}

persist_fields!(ReadGroupCounts { reads, bases, q30_bases, mapped, duplicates, inserts });

impl ReadGroupCounts {
    /// Most memory of the counts of one read group.
    pub(super) const MOST_BYTES: usize = size_of::<Self>() + (LARGEST_BP + 1) * size_of::<u32>();

    /// The median insert size, rounded down; `None` without pairs or above 2,047 bp.
    #[must_use]
    pub fn median_insert_bp(&self) -> Option<usize> {
        let total: u64 = self.inserts.iter().copied().map(u64::from).sum();
        let mut seen = 0;
        for (size, &count) in self.inserts.iter().enumerate() {
            seen += u64::from(count);
            if seen * 2 >= total && total > 0 {
                return (size < LARGEST_BP).then_some(size);
            }
        }
        None
    }

    fn merge(&mut self, other: &Self) {
        self.reads += other.reads;
        self.bases += other.bases;
        self.q30_bases += other.q30_bases;
        self.mapped += other.mapped;
        self.duplicates += other.duplicates;
        if self.inserts.len() < other.inserts.len() {
            self.inserts.resize(other.inserts.len(), 0);
        }
        for (sum, more) in self.inserts.iter_mut().zip(&other.inserts) {
            *sum = sum.saturating_add(*more);
        }
    }
}

/// By read group of the header; those of records without one are after them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadGroupsCounts(pub Vec<ReadGroupCounts>);

impl seqloom_format::Persist for ReadGroupsCounts {
    fn save(&self, out: &mut Vec<u8>) {
        self.0.save(out);
    }

    fn load(bytes: &mut &[u8]) -> Result<Self, seqloom_format::MalformedState> {
        Ok(Self(Vec::load(bytes)?))
    }
}

impl ReadGroupsCounts {
    pub(super) fn add(&mut self, observed: &Observed<'_>, names: &ReadGroupNames) {
        if !observed.is_primary() {
            return;
        }
        let index = names.index_of(observed.tags.read_group);
        if self.0.len() <= index {
            self.0.resize(index + 1, ReadGroupCounts::default());
        }
        let counts = &mut self.0[index];
        counts.reads += 1;
        counts.bases += observed.record.base_count() as u64;
        counts.q30_bases += observed.sums.q30;
        counts.mapped += u64::from(!observed.has_flags(Flags::UNMAPPED));
        counts.duplicates += u64::from(observed.has_flags(Flags::DUPLICATE));
        if let Some(size) = counted_size(observed.record) {
            let bin = (size as usize).min(LARGEST_BP);
            if counts.inserts.len() <= bin {
                // Exactly: there may be a thousand of these.
                counts.inserts.reserve_exact(bin + 1 - counts.inserts.len());
                counts.inserts.resize(bin + 1, 0);
            }
            counts.inserts[bin] = counts.inserts[bin].saturating_add(1);
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), ReadGroupCounts::default());
        }
        self.0.iter_mut().zip(&other.0).for_each(|(sum, more)| sum.merge(more));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_groups_are_found_by_id_and_others_are_after() {
        let text = b"@HD\tVN:1.6\n@RG\tID:z\tSM:s\n@RG\tID:a\tSM:s\n@RG\tID:k\tSM:s\n";
        let names = ReadGroupNames::of(&Header::parse(text).unwrap());
        let t = |id: &[u8], expected| assert_eq!(names.index_of(Some(id)), expected);
        t(b"z", 0);
        t(b"a", 1);
        t(b"k", 2);
        t(b"b", 3);
        assert_eq!(names.index_of(None), 3);
    }

    #[test]
    fn medians_of_insert_sizes() {
        let median = |sizes: &[(usize, u32)]| {
            let mut counts = ReadGroupCounts::default();
            for &(size, count) in sizes {
                counts.inserts.resize(counts.inserts.len().max(size + 1), 0);
                counts.inserts[size] = count;
            }
            counts.median_insert_bp()
        };
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[(300, 1)]), Some(300));
        assert_eq!(median(&[(300, 2), (400, 3)]), Some(400));
        assert_eq!(median(&[(300, 1), (LARGEST_BP, 9)]), None);
    }
}
