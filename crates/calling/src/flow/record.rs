//! One BAM record: whether it is to be called, and its alignment and bases as kernels want them.

use seqloom_format::bam::{Flags, RecordRef, framed_records};

use super::account::Skip;
use crate::aligned_read::AlignedBase;

/// A region of a reference sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// Index of the sequence in the header of the BAM.
    pub reference_id: i32,
    /// First base, 0-based.
    pub start: u64,
    /// One past the last base.
    pub end: u64,
}

/// Which records are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Filter {
    /// Lowest mapping quality.
    pub min_mapping_quality: u8,
    /// Region that records must reach into; others do not count at all.
    pub region: Option<Region>,
    /// Whether secondary alignments are called, too.
    pub has_secondary: bool,
}

/// Bases of a read that were clipped off its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HardClips {
    /// They count: positions in the read are those in the read as it was sequenced.
    #[default]
    Counted,
    /// They do not: signal is taken of another part of the read, as nanopolish and f5c take it.
    Forgotten,
}

impl Filter {
    /// Whether a record reaches into the region, if there is one. Others are as if they were not
    /// there.
    #[must_use]
    pub fn covers(&self, record: &RecordRef<'_>) -> bool {
        self.region.is_none_or(|region| reaches_into(record, &region))
    }

    /// Why a record is not to be called, if so.
    #[must_use]
    pub fn refuses(&self, record: &RecordRef<'_>) -> Option<Skip> {
        let has_place = record.reference_id() >= 0 && record.position() >= 0;
        if record.has_flags(Flags::UNMAPPED) || !has_place {
            return Some(Skip::Unmapped);
        }
        if record.has_flags(Flags::SECONDARY) && !self.has_secondary {
            return Some(Skip::Secondary);
        }
        let is_low = record.mapping_quality() < self.min_mapping_quality;
        is_low.then_some(Skip::LowMappingQuality)
    }
}

fn reaches_into(record: &RecordRef<'_>, region: &Region) -> bool {
    let Ok(start) = u64::try_from(record.position()) else { return false };
    let end = start + record.full_cigar().reference_span().unsigned_abs().max(1);
    record.reference_id() == region.reference_id && start < region.end && end > region.start
}

/// Where a record is in an order by coordinate: those without a reference sequence come last,
/// those without a position first of their sequence.
#[must_use]
pub(super) fn place(record: &RecordRef<'_>) -> u64 {
    place_of(record.reference_id(), i64::from(record.position()))
}

/// The place of a record at `position`, from 0 or -1.
pub(super) fn place_of(reference_id: i32, position: i64) -> u64 {
    u64::from(reference_id.cast_unsigned()) << 32
        | (position + 1).clamp(0, i64::from(u32::MAX)).cast_unsigned()
}

/// A record to be called, and those before it that are not: ranges of a block.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Unit {
    /// Start of the skipped records.
    pub(super) start: usize,
    /// Start of the record (including its length).
    pub(super) record: usize,
    /// Its end; `record` if there is none.
    pub(super) end: usize,
    /// Number of the record among those of the block that count.
    pub(super) ordinal: u64,
    /// Bases of its read.
    pub(super) bases: u64,
}

/// Findings of a scan of the records of a block.
#[derive(Debug, Default)]
pub(super) struct Scan {
    pub(super) units: Vec<Unit>,
    /// Records that count.
    pub(super) records: u64,
    /// Places of the first and last record.
    pub(super) first_place: Option<u64>,
    pub(super) last_place: u64,
    /// Start of the first record that sorts before its predecessor.
    pub(super) unsorted_at: Option<usize>,
}

/// Looks at the records of a block.
pub(super) fn scan(bytes: &[u8], filter: &Filter) -> Scan {
    let mut scan = Scan::default();
    let mut unit_start = 0;
    let mut records = framed_records(bytes);
    let mut start = 0;
    while let Some(Ok(body)) = records.next() {
        let end = records.offset();
        // The source has checked all records.
        let Ok(record) = RecordRef::new(body) else { continue };
        let place = place(&record);
        if scan.first_place.is_some() && place < scan.last_place {
            scan.unsorted_at.get_or_insert(start);
        }
        scan.first_place.get_or_insert(place);
        scan.last_place = place;
        let (counts, ordinal) = (filter.covers(&record), scan.records);
        if counts && filter.refuses(&record).is_none() {
            let bases = read_bases(&record);
            scan.units.push(Unit { start: unit_start, record: start, end, ordinal, bases });
            unit_start = end;
        }
        scan.records += u64::from(counts);
        start = end;
    }
    if unit_start < bytes.len() {
        let (record, end, ordinal) = (bytes.len(), bytes.len(), scan.records);
        scan.units.push(Unit { start: unit_start, record, end, ordinal, bases: 0 });
    }
    scan
}

/// Bases of a record's read, those that are clipped included.
fn read_bases(record: &RecordRef<'_>) -> u64 {
    let of_read = |(op, _): &(u8, u32)| matches!(op, b'M' | b'I' | b'S' | b'H' | b'=' | b'X');
    record.full_cigar().filter(of_read).map(|(_, bases)| u64::from(bases)).sum()
}

/// Shape of an alignment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Shape {
    /// Bases of the read, those that are clipped included.
    pub read_bases: u64,
    /// Bases of the reference from the first to the last aligned one.
    pub reference_bases: u64,
    /// Whether the record lacks bases of its read.
    pub is_hard_clipped: bool,
}

/// The shape of a record's alignment.
///
/// # Errors
/// Why it has none that can be called.
pub fn shape(record: &RecordRef<'_>) -> Result<Shape, Skip> {
    let mut shape = Shape { read_bases: read_bases(record), ..Shape::default() };
    let mut aligned = 0_u64;
    for (op, bases) in record.full_cigar() {
        match op {
            b'N' => return Err(Skip::Spliced),
            b'M' | b'=' | b'X' => aligned += u64::from(bases),
            b'H' => shape.is_hard_clipped = true,
            b'D' => shape.reference_bases += u64::from(bases),
            _ => {}
        }
    }
    shape.reference_bases += aligned;
    let fits = shape.read_bases.max(shape.reference_bases) <= u64::from(u32::MAX / 2);
    if aligned == 0 || !fits { Err(Skip::BadCigar) } else { Ok(shape) }
}

/// Replaces `pairs` by the aligned bases of a record; positions in the read count those that are
/// clipped (hard clips as `hard_clips` says).
pub fn aligned_pairs(record: &RecordRef<'_>, hard_clips: HardClips, pairs: &mut Vec<AlignedBase>) {
    pairs.clear();
    let (mut offset, mut position) = (0_u32, 0_u32);
    for (op, bases) in record.full_cigar() {
        match op {
            b'M' | b'=' | b'X' => {
                let base = |at| AlignedBase { offset: offset + at, position: position + at };
                pairs.extend((0..bases).map(base));
                offset += bases;
                position += bases;
            }
            b'H' if hard_clips == HardClips::Forgotten => {}
            b'I' | b'S' | b'H' => position += bases,
            b'D' | b'N' => offset += bases,
            _ => {}
        }
    }
}

/// Replaces `out` by the bases of a record as they were sequenced.
pub fn sequenced_bases(record: &RecordRef<'_>, out: &mut Vec<u8>) {
    out.clear();
    let packed = record.packed_bases();
    let codes = packed.iter().flat_map(|byte| [byte >> 4, byte & 0xf]).take(record.base_count());
    if !record.has_flags(Flags::REVERSE) {
        out.extend(codes.map(letter));
        return;
    }
    // Bits of a code are A, C, G and T: the complement has them the other way round.
    out.extend(codes.map(|code| letter(code.reverse_bits() >> 4)));
    out.reverse();
}

fn letter(code: u8) -> u8 {
    seqloom_format::bam::BASE_LETTERS[usize::from(code & 0xf)]
}

/// Name of the record that `framed` begins with.
pub(super) fn name_of(framed: &[u8]) -> &[u8] {
    let body = framed_records(framed).next().and_then(Result::ok);
    body.and_then(|body| RecordRef::new(body).ok()).map(|it| it.name()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use seqloom_format::bam::Reference;
    use seqloom_format::sam::{ReferenceNames, parse_record};

    fn body(line: &str) -> Vec<u8> {
        let reference = |name: &str| Reference { name: name.into(), length: 1000 };
        let names = ReferenceNames::new(&[reference("c"), reference("d")]);
        let mut out = Vec::new();
        parse_record(line.replace(' ', "\t").as_bytes(), &names, &mut out).unwrap();
        out
    }

    fn framed(lines: &[&str]) -> Vec<u8> {
        let framed = |line: &&str| {
            let body = body(line);
            [&(body.len() as u32).to_le_bytes()[..], &body].concat()
        };
        lines.iter().flat_map(framed).collect()
    }

    const ALL: Filter = Filter { min_mapping_quality: 0, region: None, has_secondary: false };

    #[test]
    fn pairs_count_clipped_bases_and_follow_the_reference() {
        fn t(cigar: &str, bases: &str, expected: &[(u32, u32)], shape_of: Shape) {
            let body = body(&format!("r 0 c 5 60 {cigar} * 0 0 {bases} *"));
            let record = RecordRef::new(&body).unwrap();
            let mut pairs = vec![AlignedBase { offset: 9, position: 9 }];
            let less = |before: u32| {
                let base = |&(offset, at)| AlignedBase { offset, position: at - before };
                expected.iter().map(base).collect::<Vec<_>>()
            };
            aligned_pairs(&record, HardClips::Counted, &mut pairs);
            assert_eq!(pairs, less(0));
            aligned_pairs(&record, HardClips::Forgotten, &mut pairs);
            assert_eq!(pairs, less(u32::from(cigar.starts_with("1H"))));
            assert_eq!(shape(&record), Ok(shape_of));
        }
        let shape = |read_bases, reference_bases, is_hard_clipped| Shape {
            read_bases,
            reference_bases,
            is_hard_clipped,
        };
        t("2M", "AC", &[(0, 0), (1, 1)], shape(2, 2, false));
        t("1H1S1M1I1=2D1X3H", "ACGTA", &[(0, 2), (1, 4), (4, 5)], shape(9, 5, true));
    }

    #[test]
    fn alignments_that_cannot_be_called_are_refused() {
        let t = |line: &str| shape(&RecordRef::new(&body(line)).unwrap()).unwrap_err();
        assert_eq!(t("r 0 c 5 60 1M5N1M * 0 0 AC *"), Skip::Spliced);
        assert_eq!(t("r 0 c 5 60 2S * 0 0 AC *"), Skip::BadCigar);
        assert_eq!(t("r 0 c 5 60 * * 0 0 AC *"), Skip::BadCigar);
    }

    #[test]
    fn bases_come_as_they_were_sequenced() {
        let t = |flags: u16, expected: &[u8]| {
            let body = body(&format!("r {flags} c 5 60 7M * 0 0 ACGTNRY *"));
            let mut out = b"x".to_vec();
            sequenced_bases(&RecordRef::new(&body).unwrap(), &mut out);
            assert_eq!(out, expected);
        };
        t(0, b"ACGTNRY");
        t(16, b"RYNACGT");
    }

    #[test]
    fn records_are_refused_for_what_they_are() {
        let region = Region { reference_id: 0, start: 10, end: 20 };
        let filter = Filter { min_mapping_quality: 20, region: Some(region), ..ALL };
        let t = |filter: &Filter, line: &str, expected: Option<Skip>| {
            let body = body(line);
            assert_eq!(filter.refuses(&RecordRef::new(&body).unwrap()), expected, "{line}");
        };
        t(&filter, "r 4 * 0 0 * * 0 0 A *", Some(Skip::Unmapped));
        t(&filter, "r 256 c 11 60 1M * 0 0 A *", Some(Skip::Secondary));
        let with_secondary = Filter { has_secondary: true, ..filter };
        t(&with_secondary, "r 256 c 11 60 1M * 0 0 A *", None);
        t(&filter, "r 2048 c 11 60 1M * 0 0 A *", None);
        t(&filter, "r 0 c 11 19 1M * 0 0 A *", Some(Skip::LowMappingQuality));
        t(&ALL, "r 0 d 11 0 1M * 0 0 A *", None);
    }

    #[test]
    fn records_count_that_reach_into_the_region() {
        let region = Region { reference_id: 0, start: 10, end: 20 };
        let filter = Filter { region: Some(region), ..ALL };
        let t = |line: &str, expected: bool| {
            let body = body(line);
            assert_eq!(filter.covers(&RecordRef::new(&body).unwrap()), expected, "{line}");
        };
        t("r 0 c 10 60 1M * 0 0 A *", false);
        t("r 0 c 10 60 2M * 0 0 AC *", true);
        t("r 0 c 20 60 1M * 0 0 A *", true);
        t("r 4 c 20 0 * * 0 0 A *", true);
        t("r 0 c 21 60 1M * 0 0 A *", false);
        t("r 0 d 11 60 1M * 0 0 A *", false);
        t("r 4 * 0 0 * * 0 0 A *", false);
    }

    #[test]
    fn records_outside_of_the_region_are_passed_over() {
        let region = Region { reference_id: 0, start: 4, end: 5 };
        let filter = Filter { region: Some(region), ..ALL };
        let bytes = framed(&[
            "a 0 c 1 60 2M * 0 0 AC *",
            "b 256 c 3 60 3M * 0 0 ACG *",
            "c 0 c 4 60 2M * 0 0 AC *",
            "d 0 c 6 60 1M * 0 0 A *",
        ]);
        let found = scan(&bytes, &filter);
        assert_eq!(found.records, 2);
        let ordinals: Vec<u64> = found.units.iter().map(|unit| unit.ordinal).collect();
        assert_eq!(ordinals, [1, 2]);
        assert_eq!(found.units[0].start, 0);
    }

    #[test]
    fn places_are_those_of_samtools_sort() {
        // SAM text has no record with a reference sequence and without a position, BAM may have.
        let mut first = body("a 4 c 1 0 * * 0 0 A *");
        first[4..8].copy_from_slice(&(-1_i32).to_le_bytes());
        let lines = [
            "b 0 c 1 60 1M * 0 0 A *",
            "c 0 c 2 60 1M * 0 0 A *",
            "d 0 d 1 60 1M * 0 0 A *",
            "e 4 * 0 0 * * 0 0 A *",
        ];
        let bodies = std::iter::once(first).chain(lines.map(body));
        let places: Vec<u64> = bodies.map(|body| place(&RecordRef::new(&body).unwrap())).collect();
        assert!(places.is_sorted_by(|a, b| a < b), "{places:?}");
    }

    #[test]
    fn a_scan_cuts_after_every_record_that_is_called() {
        let bytes = framed(&[
            "a 4 * 0 0 * * 0 0 A *",
            "b 0 c 5 60 2M * 0 0 AC *",
            "c 0 c 4 60 2M1H * 0 0 AC *",
            "d 256 d 4 60 1M * 0 0 A *",
        ]);
        let found = scan(&bytes, &ALL);
        let ordinals: Vec<(u64, u64)> =
            found.units.iter().map(|unit| (unit.ordinal, unit.bases)).collect();
        assert_eq!(ordinals, [(1, 2), (2, 3), (4, 0)]);
        assert_eq!(found.units[0].start, 0);
        assert!(found.units.windows(2).all(|it| it[0].end == it[1].start));
        assert_eq!(found.units[2].record, found.units[2].end);
        assert_eq!(found.unsorted_at, Some(found.units[0].record));
        assert_eq!(found.first_place, Some(place_of(-1, -1)));
        assert_eq!(scan(b"", &ALL).units, []);
    }
}
