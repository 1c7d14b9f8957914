//! Genome bins: the fixed regions of the reference that records are partitioned by.
//!
//! A bin's length depends on the reference alone, so nothing that is decided per bin (which records
//! are together, where BGZF blocks are cut) can depend on threads or memory. Records without a
//! reference have bins of their own, by ordinal.

use seqloom_format::bam::{Flags, RecordRef, Reference};

use crate::partition::order::SortOrder;

/// Bins that a reference is cut into, about: enough to keep hundreds of workers busy at the end.
const TARGET_BINS: u64 = 2048;
/// Largest bin, in bp.
const MAX_BIN_BP: u64 = 1 << 20;
/// Smallest bin, in bp.
const MIN_BIN_BP: u64 = 1 << 14;
/// Records without a reference whose positions agree in the bits above these share a bin.
const POSITION_BIN_SHIFT: u32 = 20;

/// Where a record waits to be sorted: which store, and which partition of it. The stores follow
/// each other in the output as these variants do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordBin {
    /// By its place on the reference.
    Placed(usize),
    /// By its ordinal.
    ByOrdinal(usize),
    /// Without a reference, yet with a position or on the reverse strand: `samtools sort` puts
    /// these after other records without a reference. No aligner is known to write them.
    UnplacedWithPosition(usize),
}

/// Cuts a reference into bins: its sequences one after the other, in regions of equal length. A
/// bin may hold many short sequences, so that there are not more bins for a draft genome than for a
/// finished one.
#[derive(Debug, Clone)]
pub struct GenomeBins {
    shift: u32,
    /// Start of every sequence; after the last the sum of all.
    starts_bp: Vec<u64>,
}

impl GenomeBins {
    /// Bins for these references.
    #[must_use]
    pub fn new(references: &[Reference]) -> Self {
        Self::of_lengths(references.iter().map(|reference| u64::from(reference.length)))
    }

    /// Bins for references of these lengths.
    #[must_use]
    pub fn of_lengths(lengths_bp: impl Iterator<Item = u64>) -> Self {
        let mut starts_bp = vec![0];
        let mut total_bp = 0;
        for length_bp in lengths_bp {
            total_bp += length_bp.max(1);
            starts_bp.push(total_bp);
        }
        let bin_bp = (total_bp / TARGET_BINS).clamp(MIN_BIN_BP, MAX_BIN_BP).next_power_of_two();
        Self { shift: bin_bp.trailing_zeros(), starts_bp }
    }

    /// Number of bins.
    #[must_use]
    pub fn count(&self) -> usize {
        let total_bp = self.starts_bp.last().copied().unwrap_or(0);
        total_bp.div_ceil(1 << self.shift) as usize
    }

    /// Bin of a 0-based position; positions outside the reference belong to its first or last bin.
    ///
    /// `None` for a record without reference.
    #[must_use]
    pub(crate) fn bin_of(&self, reference_id: i32, position: i32) -> Option<usize> {
        let reference = usize::try_from(reference_id).ok()?;
        let start_bp = *self.starts_bp.get(reference)?;
        let end_bp = *self.starts_bp.get(reference + 1)?;
        let at_bp = start_bp + u64::from(position.max(0).cast_unsigned());
        Some((at_bp.min(end_bp - 1) >> self.shift) as usize)
    }

    /// Where a record waits until it is sorted in `order`; `ordinal_bin` is that of its
    /// template's records that wait by ordinal.
    #[must_use]
    pub fn bin_of_record(
        &self,
        order: SortOrder,
        ordinal_bin: usize,
        record: &RecordRef<'_>,
    ) -> RecordBin {
        let by_ordinal = RecordBin::ByOrdinal(ordinal_bin);
        if !order.is_by_coordinate() {
            return by_ordinal;
        }
        let position = record.position();
        match self.bin_of(record.reference_id(), position) {
            Some(bin) => RecordBin::Placed(bin),
            None if order != SortOrder::Coordinate => by_ordinal,
            None if position < 0 && !record.has_flags(Flags::REVERSE) => by_ordinal,
            None => RecordBin::UnplacedWithPosition(
                (i64::from(position) + 1) as usize >> POSITION_BIN_SHIFT,
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn references(lengths: &[u32]) -> Vec<Reference> {
        let name = |i: usize| format!("c{i}");
        lengths.iter().enumerate().map(|(i, &length)| Reference { name: name(i), length }).collect()
    }

    #[test]
    fn every_position_has_a_bin_and_bins_are_in_genome_order() {
        let bins = GenomeBins::new(&references(&[100_000, 0, 14_687, 16_384]));
        assert_eq!(bins.count(), 8);
        assert_eq!(bins.bin_of(0, -1), Some(0));
        assert_eq!(bins.bin_of(0, 16_383), Some(0));
        assert_eq!(bins.bin_of(0, 16_384), Some(1));
        assert_eq!(bins.bin_of(0, i32::MAX), Some(6));
        assert_eq!(bins.bin_of(1, 0), Some(6));
        assert_eq!(bins.bin_of(2, 14_686), Some(6));
        assert_eq!(bins.bin_of(3, -1), Some(7));
        assert_eq!(bins.bin_of(3, i32::MAX), Some(7));
        assert_eq!(bins.bin_of(-1, 5), None);
        assert_eq!(bins.bin_of(4, 5), None);
    }

    #[test]
    fn a_genome_of_many_scaffolds_has_no_more_bins_than_another() {
        let bins = GenomeBins::new(&references(&vec![500; 1_000_000]));
        assert_eq!(bins.count(), 500_000_000_usize.div_ceil(1 << 18));
        assert_eq!(bins.bin_of(999_999, 499), Some(bins.count() - 1));
        assert_eq!(GenomeBins::new(&[]).count(), 0);
    }

    #[test]
    fn a_human_genome_has_bins_of_a_megabase() {
        let bins = GenomeBins::new(&references(&[248_956_422, 242_193_529, 2_600_000_000]));
        assert_eq!(bins.bin_of(0, (1 << 20) - 1), Some(0));
        assert_eq!(bins.bin_of(0, 1 << 20), Some(1));
    }

    #[test]
    fn homes_follow_each_other_as_the_order_wants() {
        use crate::test_records::body;
        let bins = GenomeBins::new(&references(&[100_000]));
        let t = |order: SortOrder, flags: u16, reference: i32, position: i32, bin: RecordBin| {
            let body = body("n", flags, reference, position, 5);
            let record = RecordRef::new(&body).unwrap();
            assert_eq!(bins.bin_of_record(order, 5, &record), bin);
        };
        use SortOrder::{Coordinate, CoordinatePicard, Keep, QueryName, QueryNamePicard};
        for order in [Coordinate, CoordinatePicard] {
            t(order, 0x14, 0, 20_000, RecordBin::Placed(1));
            t(order, 0x4, -1, -1, RecordBin::ByOrdinal(5));
        }
        t(Coordinate, 0x14, -1, -1, RecordBin::UnplacedWithPosition(0));
        t(Coordinate, 0x4, -1, 0, RecordBin::UnplacedWithPosition(0));
        t(Coordinate, 0x4, -1, (1 << 20) - 1, RecordBin::UnplacedWithPosition(1));
        t(Coordinate, 0x4, -1, i32::MAX, RecordBin::UnplacedWithPosition(2048));
        t(CoordinatePicard, 0x14, -1, 7, RecordBin::ByOrdinal(5));
        for order in [QueryName, QueryNamePicard, Keep] {
            t(order, 0, 0, 20_000, RecordBin::ByOrdinal(5));
        }
    }
}
