//! What a mapped primary record is to duplicate marking: where its first sequenced base is, and
//! what it scores. Rules of Picard's `ReadEndsForMarkDuplicates` and `DuplicateScoringStrategy`.

use seqloom_format::bam::{Flags, RecordRef};

use super::{
    Companion, DuplicateMode, FragmentEnd, GroupIndex, Location, Orientation, PairEnds,
    PairedEndMarker,
};
use crate::duplicates::barcode::ReadBarcodes;
use crate::duplicates::five_prime::unclipped_five_prime;

/// Base qualities below this one do not count in a score (Picard's SUM_OF_BASE_QUALITIES).
const LEAST_SCORED_QUALITY: u8 = 15;

/// Upper bound of one read's score: half of Java's largest `short`.
const MOST_SCORE: u32 = i16::MAX as u32 / 2;

/// Added to the score of a read that fails quality control: half of Java's smallest `short`.
const QC_FAIL_SCORE: i16 = i16::MIN / 2;

/// Place in a file sorted by `samtools sort`; equal keys keep the input's order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SortKey {
    reference: i32,
    start: i32,
    is_reverse: bool,
}

/// Fields of a mapped primary record that duplicate marking needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MappedRead {
    pub(crate) library: u16,
    pub(crate) read_group: u16,
    pub(crate) flags: u16,
    pub(crate) reference: i32,
    /// POS, 0-based; what orders the ends of a template that is not sorted yet.
    pub(crate) start: i32,
    /// Unclipped 5' position, 0-based.
    pub(crate) position: i32,
    /// -1 where the mate is unmapped or there is none.
    pub(crate) mate_reference: i32,
    pub(crate) score: i16,
    pub(crate) barcodes: ReadBarcodes,
}

impl MappedRead {
    /// Of a record, its library and read group, and its barcodes.
    pub(crate) fn of(record: &RecordRef<'_>, group: GroupIndex, barcodes: ReadBarcodes) -> Self {
        let flags = record.flags();
        let has_mate = has_mapped_mate(flags);
        Self {
            library: group.library,
            read_group: group.read_group,
            flags,
            reference: record.reference_id(),
            start: record.position(),
            position: unclipped_five_prime(record),
            mate_reference: if has_mate { record.mate_reference_id() } else { -1 },
            score: score(record.qualities(), flags),
            barcodes,
        }
    }

    fn is_reverse(&self) -> bool {
        self.flags & Flags::REVERSE != 0
    }

    fn is_mated(&self) -> bool {
        has_mapped_mate(self.flags)
    }

    /// Key of `samtools sort`.
    pub(crate) fn sort_key(&self) -> SortKey {
        let is_reverse = self.is_reverse();
        SortKey { reference: self.reference, start: self.start, is_reverse }
    }

    /// Key that breaks ties before the ordinal does.
    fn tie(&self, mode: DuplicateMode) -> (i32, bool) {
        match mode {
            DuplicateMode::Query => (0, false),
            DuplicateMode::Coordinate => (self.start, self.is_reverse()),
        }
    }

    /// The end of a read without a mapped mate.
    pub(crate) fn fragment(
        &self,
        template: u64,
        location: Location,
        mode: DuplicateMode,
    ) -> FragmentEnd {
        FragmentEnd {
            reference: self.reference,
            position: self.position,
            template,
            location,
            tie_position: self.tie(mode).0,
            library: self.library,
            barcode: self.barcodes.of_read(),
            umi: self.barcodes.umi,
            score: self.score,
            reverse: self.is_reverse(),
            second: self.flags & Flags::SECOND_OF_PAIR != 0,
            mate_mapped: self.is_mated(),
            companion: None,
        }
    }

    /// The part that the other record of its template keeps.
    pub(crate) fn as_companion(&self) -> Companion {
        Companion { library: self.library, mate_mapped: self.is_mated() }
    }

    /// The end of a read with a mapped mate, which fragments are compared with.
    pub(crate) fn marker(&self) -> PairedEndMarker {
        PairedEndMarker {
            reference: self.reference,
            position: self.position,
            library: self.library,
            barcode: self.barcodes.of_read(),
            umi: self.barcodes.umi,
            reverse: self.is_reverse(),
        }
    }
}

/// Whether the flags of a record say that its mate is mapped.
pub(crate) fn has_mapped_mate(flags: u16) -> bool {
    flags & Flags::PAIRED != 0 && flags & Flags::MATE_UNMAPPED == 0
}

/// The pair of two ends with their ordinals, the first one being earlier in the file; `None` where
/// they are no mates (RNEXT of the first names another reference than that of the second).
///
/// The location, library and read group of the first count.
pub(crate) fn pair_up(
    [(first_ordinal, first), (this_ordinal, this)]: [(u64, &MappedRead); 2],
    location: impl FnOnce() -> Location,
    mode: DuplicateMode,
) -> Option<PairEnds> {
    if !(first.is_mated() && this.is_mated() && first.mate_reference == this.reference) {
        return None;
    }
    let place = |read: &MappedRead| (read.reference, read.position);
    let keeps_order = place(this) >= place(first);
    let (end1, end2) = if keeps_order { (first, this) } else { (this, first) };
    let ordinals = (first_ordinal, this_ordinal);
    let (template, template2) = if keeps_order { ordinals } else { (ordinals.1, ordinals.0) };
    let mut orientation = Orientation::of(end1.is_reverse(), end2.is_reverse());
    if place(end1) == place(end2) && orientation == Orientation::ReverseForward {
        orientation = Orientation::ForwardReverse;
    }
    let this_is_read1 = this.flags & Flags::FIRST_OF_PAIR != 0;
    let (read1, read2) = if this_is_read1 { (this, first) } else { (first, this) };
    let (tie_position, tie_reverse) = end1.tie(mode);
    Some(PairEnds {
        reference1: end1.reference,
        position1: end1.position,
        reference2: end2.reference,
        position2: end2.position,
        template,
        template2,
        location: location(),
        tie_position,
        library: first.library,
        barcode: first.barcodes.of_pair(&this.barcodes),
        umi: first.barcodes.umi,
        read_group: first.read_group,
        score: first.score.wrapping_add(this.score),
        orientation,
        optical_orientation: Orientation::of(read1.is_reverse(), read2.is_reverse()),
        tie_reverse,
    })
}

/// Picard's SUM_OF_BASE_QUALITIES score. Absent qualities give 0; bytes above 127, which are
/// negative in Java, do not count.
fn score(qualities: &[u8], flags: u16) -> i16 {
    let counted = |&quality: &u8| {
        let counts = (LEAST_SCORED_QUALITY..=i8::MAX as u8).contains(&quality);
        if counts { u32::from(quality) } else { 0 }
    };
    let sum: u32 = match qualities.first() {
        None | Some(0xff) => 0,
        // 2^31 qualities of 127 exceed 32 bits, so chunks are capped one by one.
        Some(_) => qualities
            .chunks(1 << 16)
            .fold(0, |sum, chunk| (sum + chunk.iter().map(counted).sum::<u32>()).min(MOST_SCORE)),
    };
    let failed = if flags & Flags::QC_FAIL != 0 { QC_FAIL_SCORE } else { 0 };
    // At most 16383.
    sum as i16 + failed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_capped_and_shifted_as_in_picard() {
        assert_eq!(score(&[], 0), 0);
        assert_eq!(score(&[14, 15, 16, 127, 128, 254], 0), 15 + 16 + 127);
        assert_eq!(score(&[255, 255, 40], 0), 0);
        assert_eq!(score(&[40, 255], 0), 40);
        assert_eq!(score(&[40; 410], 0), 16383);
        assert_eq!(score(&vec![93; 1 << 20], 0), 16383);
        assert_eq!(score(&[40], 0x200), 40 - 16384);
        assert_eq!(score(&[40; 1000], 0x200), -1);
    }
}
