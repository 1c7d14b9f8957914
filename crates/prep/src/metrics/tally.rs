//! Counters of `samtools flagstat` and `samtools idxstats`, one set for each worker.

use seqloom_format::bam::{Flags, RecordRef};
use seqloom_format::persist_fields;

/// Mates on different references count as such with high confidence from this MAPQ on.
const CONFIDENT_MAPQ: u8 = 5;

/// Fields of a record that tallies need, with its final flags.
#[derive(Debug, Clone, Copy)]
pub struct TalliedRecord {
    /// Flags as written.
    pub(crate) flags: u16,
    /// Reference index, -1 for none.
    pub(crate) reference: i32,
    /// The mate's reference index, -1 for none.
    pub(crate) mate_reference: i32,
    /// Mapping quality.
    pub(crate) mapq: u8,
}

impl From<&RecordRef<'_>> for TalliedRecord {
    fn from(record: &RecordRef<'_>) -> Self {
        Self {
            flags: record.flags(),
            reference: record.reference_id(),
            mate_reference: record.mate_reference_id(),
            mapq: record.mapping_quality(),
        }
    }
}

/// The counts of `samtools flagstat` for records that pass, or for those that fail, quality
/// control.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FlagCounts {
    /// All records.
    pub total: u64,
    /// Neither secondary nor supplementary.
    pub primary: u64,
    /// Flag 0x100.
    pub secondary: u64,
    /// Flag 0x800 without 0x100.
    pub supplementary: u64,
    /// Flag 0x400.
    pub duplicates: u64,
    /// Primary with flag 0x400.
    pub primary_duplicates: u64,
    /// Without flag 0x4.
    pub mapped: u64,
    /// Primary without flag 0x4.
    pub primary_mapped: u64,
    /// Primary with flag 0x1.
    pub paired: u64,
    /// Of `paired`: flag 0x40.
    pub first: u64,
    /// Of `paired`: flag 0x80.
    pub second: u64,
    /// Of `paired`: mapped, flag 0x2.
    pub properly_paired: u64,
    /// Of `paired`: both mapped.
    pub both_mapped: u64,
    /// Of `paired`: mapped, mate not.
    pub singletons: u64,
    /// Of `both_mapped`: on different references.
    pub mate_elsewhere: u64,
    /// Of `mate_elsewhere`: MAPQ at least 5.
    pub mate_elsewhere_confident: u64,
}

impl FlagCounts {
    fn add(&mut self, record: &TalliedRecord) {
        let count = |condition: bool| u64::from(condition);
        let is = |flag: u16| record.flags & flag != 0;
        let mapped = !is(Flags::UNMAPPED);
        self.total += 1;
        self.duplicates += count(is(Flags::DUPLICATE));
        self.mapped += count(mapped);
        if is(Flags::SECONDARY) {
            self.secondary += 1;
            return;
        }
        if is(Flags::SUPPLEMENTARY) {
            self.supplementary += 1;
            return;
        }
        self.primary += 1;
        self.primary_duplicates += count(is(Flags::DUPLICATE));
        self.primary_mapped += count(mapped);
        if !is(Flags::PAIRED) {
            return;
        }
        self.paired += 1;
        self.first += count(is(Flags::FIRST_OF_PAIR));
        self.second += count(is(Flags::SECOND_OF_PAIR));
        self.properly_paired += count(mapped && is(Flags::PROPER_PAIR));
        self.singletons += count(mapped && is(Flags::MATE_UNMAPPED));
        let both = mapped && !is(Flags::MATE_UNMAPPED);
        let elsewhere = both && record.mate_reference != record.reference;
        self.both_mapped += count(both);
        self.mate_elsewhere += count(elsewhere);
        self.mate_elsewhere_confident += count(elsewhere && record.mapq >= CONFIDENT_MAPQ);
    }

    fn merge(&mut self, other: &Self) {
        self.total += other.total;
        self.primary += other.primary;
        self.secondary += other.secondary;
        self.supplementary += other.supplementary;
        self.duplicates += other.duplicates;
        self.primary_duplicates += other.primary_duplicates;
        self.mapped += other.mapped;
        self.primary_mapped += other.primary_mapped;
        self.paired += other.paired;
        self.first += other.first;
        self.second += other.second;
        self.properly_paired += other.properly_paired;
        self.both_mapped += other.both_mapped;
        self.singletons += other.singletons;
        self.mate_elsewhere += other.mate_elsewhere;
        self.mate_elsewhere_confident += other.mate_elsewhere_confident;
    }
}

/// Records of one reference.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReferenceCounts {
    /// Mapped records.
    pub mapped: u64,
    /// Unmapped records placed at their mate.
    pub unmapped: u64,
}

/// Both tallies of the records of one worker; [`Self::merge`] adds workers up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Records without flag 0x200.
    pub passed: FlagCounts,
    /// Records with flag 0x200.
    pub failed: FlagCounts,
    /// By reference index.
    pub references: Vec<ReferenceCounts>,
    /// Records without a reference.
    pub no_coordinate: u64,
}

persist_fields!(FlagCounts {
    total,
    primary,
    secondary,
    supplementary,
    duplicates,
    primary_duplicates,
    mapped,
    primary_mapped,
    paired,
    first,
    second,
    properly_paired,
    both_mapped,
    singletons,
    mate_elsewhere,
    mate_elsewhere_confident,
});
persist_fields!(ReferenceCounts { mapped, unmapped });
persist_fields!(Tally { passed, failed, references, no_coordinate });

impl Tally {
    /// A tally at zero for this many references (16 bytes each).
    pub fn new(references: usize) -> Self {
        Self { references: vec![ReferenceCounts::default(); references], ..Self::default() }
    }

    /// Counts one record.
    pub fn add(&mut self, record: &TalliedRecord) {
        let failed = record.flags & Flags::QC_FAIL != 0;
        if failed { &mut self.failed } else { &mut self.passed }.add(record);
        let reference = usize::try_from(record.reference).ok();
        match reference.and_then(|index| self.references.get_mut(index)) {
            Some(counts) if record.flags & Flags::UNMAPPED != 0 => counts.unmapped += 1,
            Some(counts) => counts.mapped += 1,
            None => self.no_coordinate += 1,
        }
    }

    /// Adds another worker's tally.
    pub fn merge(&mut self, other: &Self) {
        self.passed.merge(&other.passed);
        self.failed.merge(&other.failed);
        if self.references.len() < other.references.len() {
            self.references.resize(other.references.len(), ReferenceCounts::default());
        }
        for (sum, more) in self.references.iter_mut().zip(&other.references) {
            sum.mapped += more.mapped;
            sum.unmapped += more.unmapped;
        }
        self.no_coordinate += other.no_coordinate;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn places_without_a_reference_have_no_coordinate() {
        let mut tally = Tally::new(2);
        for (reference, flags) in [(0, 0), (0, 4), (1, 0), (-1, 4), (2, 0)] {
            tally.add(&TalliedRecord { flags, reference, mate_reference: -1, mapq: 0 });
        }
        assert_eq!(tally.references[0], ReferenceCounts { mapped: 1, unmapped: 1 });
        assert_eq!(tally.references[1], ReferenceCounts { mapped: 1, unmapped: 0 });
        assert_eq!(tally.no_coordinate, 2);
    }

    proptest! {
        #[test]
        fn merged_parts_are_the_whole(
            records in prop::collection::vec((0..4096_u16, -1..3_i32, -1..3_i32, 0..9_u8), 0..60),
        ) {
            let mut whole = Tally::new(3);
            let mut parts = [Tally::new(3), Tally::default()];
            for (index, &(flags, reference, mate_reference, mapq)) in records.iter().enumerate() {
                let record = TalliedRecord { flags, reference, mate_reference, mapq };
                whole.add(&record);
                // The second part knows no references, so it takes records without one only.
                parts[usize::from(index % 2 == 1 && reference < 0)].add(&record);
            }
            let [first, mut sum] = parts;
            sum.merge(&first);
            prop_assert_eq!(sum, whole);
        }
    }
}
