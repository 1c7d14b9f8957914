//! Table tests of read ends; the comparison with Picard is in `tests/picard.rs`.

use super::*;
use crate::duplicates::{Companion, Location, Orientation};
use seqloom_format::bam::{self, Header};

/// One mapped record as it is written in a table of cases.
#[derive(Clone)]
struct Sam {
    name: &'static str,
    flags: u16,
    reference: i32,
    /// 1-based, as in SAM.
    pos: i32,
    cigar: &'static str,
    mate_reference: i32,
    quality: u8,
    read_group: Option<&'static str>,
}

const READ: Sam = Sam {
    name: "q",
    flags: 0,
    reference: 0,
    pos: 101,
    cigar: "10M",
    mate_reference: -1,
    quality: 30,
    read_group: Some("a"),
};

fn framed(records: &[Sam]) -> Vec<u8> {
    let mut out = Vec::new();
    for sam in records {
        let mut cigar = Vec::new();
        let mut bases = 0;
        let mut length = 0_u32;
        for letter in sam.cigar.bytes() {
            match bam::CIGAR_LETTERS.iter().position(|&known| known == letter) {
                None => length = length * 10 + u32::from(letter - b'0'),
                Some(code) => {
                    cigar.extend_from_slice(&(length << 4 | code as u32).to_le_bytes());
                    bases += if b"MIS=X".contains(&letter) { length as usize } else { 0 };
                    length = 0;
                }
            }
        }
        let mut body = Vec::new();
        body.extend_from_slice(&sam.reference.to_le_bytes());
        body.extend_from_slice(&(sam.pos - 1).to_le_bytes());
        body.extend_from_slice(&[sam.name.len() as u8 + 1, 60, 0, 0]);
        body.extend_from_slice(&((cigar.len() / 4) as u16).to_le_bytes());
        body.extend_from_slice(&sam.flags.to_le_bytes());
        body.extend_from_slice(&(bases as u32).to_le_bytes());
        body.extend_from_slice(&sam.mate_reference.to_le_bytes());
        body.extend_from_slice(&[0; 8]);
        body.extend_from_slice(sam.name.as_bytes());
        body.push(0);
        body.extend_from_slice(&cigar);
        body.extend(std::iter::repeat_n(0x11, bases.div_ceil(2)));
        body.extend(std::iter::repeat_n(sam.quality, bases));
        body.extend_from_slice(b"NMC\x01");
        if let Some(group) = sam.read_group {
            body.extend_from_slice(format!("RGZ{group}\0").as_bytes());
        }
        out.extend_from_slice(&(body.len() as u32).to_le_bytes());
        out.extend_from_slice(&body);
    }
    out
}

const HEADER: &str = "@RG\tID:b\tLB:one\n@RG\tID:a\tLB:two\n";
const NO_BARCODES: BarcodeTags =
    BarcodeTags { template: None, read1: None, read2: None, is_umi: false, is_duplex: false };
const QUERY: ReadEndOptions = ReadEndOptions {
    mode: DuplicateMode::Query,
    locations: LocationSource::Illumina,
    barcodes: NO_BARCODES,
    picard: PicardVersion::V3_5,
};
const COORDINATE: ReadEndOptions = ReadEndOptions {
    mode: DuplicateMode::Coordinate,
    locations: LocationSource::Illumina,
    barcodes: NO_BARCODES,
    picard: PicardVersion::V3_5,
};

fn table() -> LibraryTable {
    LibraryTable::new(&Header::parse(HEADER.as_bytes()).unwrap()).unwrap()
}

fn examine(records: &[Sam], options: ReadEndOptions) -> Result<ReadEnds, ReadEndError> {
    let mut counters = DuplicationCounters::new(3);
    examine_template(&framed(records), 7, &table(), &options, &mut counters)
}

fn fragment(sam: Sam) -> FragmentEnd {
    examine(&[sam], QUERY).unwrap().fragments[0].unwrap()
}

#[test]
fn unclipped_positions_are_those_of_the_five_prime_end() {
    // CIGAR, forward and reverse position (0-based) for POS 101.
    let cases = [
        ("10M", 100, 109),
        ("3S7M", 97, 106),
        ("2H3S7M", 95, 106),
        ("7M3S2H", 100, 111),
        ("1S3M2D4M5N1I2M6S", 99, 121),
        ("4=3X", 100, 106),
        ("10S", 90, 109),
        ("3M5P4M", 100, 106),
        ("", 100, 99),
    ];
    for (cigar, forward, reverse) in cases {
        let end = fragment(Sam { cigar, ..READ });
        assert_eq!((end.position, end.reverse), (forward, false), "{cigar}");
        let end = fragment(Sam { cigar, flags: 0x10, ..READ });
        assert_eq!((end.position, end.reverse), (reverse, true), "{cigar}");
    }
    assert_eq!(fragment(Sam { cigar: "268435455S1M", pos: 1, ..READ }).position, -268_435_455);
}

#[test]
fn long_clips_cannot_overflow() {
    // 16 clips of 2^28 - 1 exceed 32 bits; no bases are stored for H.
    let cigar = "268435455H".repeat(16) + "1M";
    let cigar: &'static str = Box::leak(cigar.into_boxed_str());
    assert_eq!(fragment(Sam { cigar, ..READ }).position, i32::MIN);
    let cigar = "1M".to_owned() + &"268435455H".repeat(16);
    let cigar: &'static str = Box::leak(cigar.into_boxed_str());
    assert_eq!(fragment(Sam { cigar, flags: 0x10, ..READ }).position, i32::MAX);
}

#[test]
fn names_give_no_place_where_none_is_requested() {
    let off = ReadEndOptions { locations: LocationSource::None, ..QUERY };
    let ends = examine(&[Sam { name: "a:b:1:2:3", ..READ }], off).unwrap();
    assert_eq!(ends.fragments[0].unwrap().location, Location::NONE);
}

/// A pair from flags, references and positions of its two records, RNEXT filled in.
fn pair(a: (u16, i32, i32), b: (u16, i32, i32), options: ReadEndOptions) -> PairEnds {
    let record = |(flags, reference, pos), (_, mate_reference, _)| Sam {
        flags,
        reference,
        pos,
        mate_reference,
        ..READ
    };
    let ends = examine(&[record(a, b), record(b, a)], options).unwrap();
    assert!(ends.markers.iter().all(Option::is_some) && ends.fragments == [None; 2]);
    ends.pair.unwrap()
}

#[test]
fn ends_of_a_pair_are_ordered_by_place() {
    use Orientation::*;
    // Records, then position1, position2, orientation, optical orientation.
    let cases = [
        ((0x41, 0, 101), (0x91, 0, 201), 100, 209, ForwardReverse, ForwardReverse),
        ((0x81, 0, 101), (0x51, 0, 201), 100, 209, ForwardReverse, ReverseForward),
        ((0x51, 0, 101), (0x81, 0, 201), 109, 200, ReverseForward, ReverseForward),
        ((0x41, 0, 201), (0x91, 0, 101), 109, 200, ReverseForward, ForwardReverse),
        ((0x41, 0, 101), (0x81, 0, 101), 100, 100, ForwardForward, ForwardForward),
        ((0x51, 0, 101), (0x91, 0, 102), 109, 110, ReverseReverse, ReverseReverse),
        // Equal places: reverse-forward becomes forward-reverse.
        ((0x51, 0, 101), (0x81, 0, 110), 109, 109, ForwardReverse, ReverseForward),
        ((0x41, 0, 110), (0x91, 0, 101), 109, 109, ForwardReverse, ForwardReverse),
    ];
    for (a, b, position1, position2, orientation, optical) in cases {
        for options in [QUERY, COORDINATE] {
            let pair = pair(a, b, options);
            assert_eq!((pair.position1, pair.position2), (position1, position2), "{a:?} {b:?}");
            assert_eq!(pair.orientation, orientation, "{a:?} {b:?}");
            assert_eq!(pair.optical_orientation, optical, "{a:?} {b:?}");
        }
    }
    let chimeric = pair((0x41, 3, 101), (0x91, 1, 201), QUERY);
    assert_eq!((chimeric.reference1, chimeric.reference2), (1, 3));
}

#[test]
fn only_coordinate_mode_keeps_the_place_in_the_file() {
    let query = pair((0x51, 0, 101), (0x81, 0, 110), QUERY);
    assert_eq!((query.tie_position, query.tie_reverse, query.template), (0, false, 7));
    // Both 5' positions are 109; in the sorted file the reverse record (POS 101) is first.
    for (a, b) in [((0x51, 0, 101), (0x81, 0, 110)), ((0x81, 0, 110), (0x51, 0, 101))] {
        let coordinate = pair(a, b, COORDINATE);
        assert_eq!((coordinate.tie_position, coordinate.tie_reverse), (100, true));
    }
}

#[test]
fn who_is_no_pair() {
    let read1 = Sam { flags: 0x41, mate_reference: 0, ..READ };
    let read2 = Sam { flags: 0x81, mate_reference: 0, ..READ };
    let kinds = |records: &[Sam]| {
        let ends = examine(records, QUERY).unwrap();
        let count = |n: [bool; 2]| n.into_iter().filter(|&is| is).count();
        let fragments = count(ends.fragments.map(|end| end.is_some()));
        (ends.pair.is_some(), fragments, count(ends.markers.map(|end| end.is_some())))
    };
    assert_eq!(kinds(&[]), (false, 0, 0));
    assert_eq!(kinds(&[read1.clone(), read2.clone()]), (true, 0, 2));
    // The mate never appears.
    assert_eq!(kinds(std::slice::from_ref(&read1)), (false, 0, 1));
    let unmapped = Sam { flags: 0x85, ..read2.clone() };
    let orphan = Sam { flags: 0x49, ..read1.clone() };
    assert_eq!(kinds(&[orphan, unmapped]), (false, 1, 0));
    let wrong_mate = Sam { mate_reference: 5, ..read1.clone() };
    assert_eq!(kinds(&[wrong_mate, read2.clone()]), (false, 0, 2));
    let secondary = Sam { flags: 0x141, ..read1.clone() };
    let supplementary = Sam { flags: 0x881, ..read2.clone() };
    assert_eq!(kinds(&[secondary, read1, supplementary, read2]), (true, 0, 2));
    let no_reference = Sam { reference: -1, ..READ };
    assert_eq!(kinds(&[no_reference, READ]), (false, 1, 0));
}

#[test]
fn records_that_share_a_mark_without_a_pair_are_companions() {
    let companions = |records: &[Sam], options| {
        let fragments = examine(records, options).unwrap().fragments;
        fragments.map(|end| end.map(|end| end.companion))
    };
    let of = |library, mate_mapped| Some(Companion { library, mate_mapped });
    let other = Sam { pos: 501, read_group: Some("b"), ..READ };
    let mated = Sam { flags: 0x41, mate_reference: 0, ..READ };
    assert_eq!(companions(&[READ], QUERY), [Some(None), None]);
    let unpaired = [READ, other.clone()];
    assert_eq!(companions(&unpaired, QUERY), [Some(of(1, false)), Some(of(2, false))]);
    assert_eq!(companions(&unpaired, COORDINATE), [Some(None); 2]);
    assert_eq!(companions(&[mated, other], QUERY), [None, Some(of(2, true))]);
    let supplementary = Sam { flags: 0x800, ..READ };
    assert_eq!(companions(&[supplementary, READ], QUERY), [Some(None), None]);
}

#[test]
fn libraries_and_read_groups() {
    let library = |read_group| fragment(Sam { read_group, ..READ }).library;
    assert_eq!((library(Some("b")), library(Some("a"))), (1, 2));
    assert_eq!((library(None), library(Some("x"))), (0, 0));
    let read1 = Sam { flags: 0x41, mate_reference: 0, ..READ };
    let read2 = Sam { flags: 0x81, ..read1.clone() };
    let both = examine(&[read1.clone(), read2.clone()], QUERY).unwrap().pair.unwrap();
    assert_eq!((both.library, both.read_group), (2, 1));
    // Of two read groups: no mates, but in Picard 2.27.5 in the library of the first.
    let other_group = [Sam { read_group: Some("b"), ..read2.clone() }, read1.clone()];
    let apart = examine(&other_group, QUERY).unwrap();
    assert_eq!((apart.pair, apart.fragments), (None, [None; 2]));
    assert_eq!(apart.markers.map(|marker| marker.unwrap().library), [1, 2]);
    let by_name = ReadEndOptions { picard: PicardVersion::V2_27, ..QUERY };
    let both = examine(&other_group, by_name).unwrap().pair.unwrap();
    assert_eq!((both.library, both.read_group), (1, 0));
    let bare = |sam: &Sam| Sam { read_group: None, ..sam.clone() };
    let both = examine(&[bare(&read1), bare(&read2)], QUERY).unwrap().pair.unwrap();
    assert_eq!((both.library, both.read_group), (0, 0));
}

#[test]
fn records_are_counted_in_their_library() {
    let mut counters = DuplicationCounters::new(3);
    let records = framed(&[
        READ,
        Sam { read_group: None, flags: 0x4, ..READ },
        Sam { read_group: Some("b"), flags: 0x100, ..READ },
    ]);
    examine_template(&records, 0, &table(), &QUERY, &mut counters).unwrap();
    assert_eq!(counters.libraries[2].unpaired_reads, 1);
    assert_eq!(counters.libraries[0].unmapped, 1);
    assert_eq!(counters.libraries[1].secondary_or_supplementary, 1);
}

#[test]
fn errors_name_the_template() {
    let error = examine(&[READ, READ, READ], QUERY).unwrap_err();
    let expected = "template 7 (q) has more than two mapped primary records: each template needs";
    assert!(error.to_string().starts_with(expected), "{error}");
    let whole = framed(&[READ, READ]);
    let mut counters = DuplicationCounters::new(3);
    for cut in 1..whole.len() {
        if cut == whole.len() / 2 {
            continue;
        }
        let record = usize::from(cut > whole.len() / 2);
        let result = examine_template(&whole[..cut], 7, &table(), &QUERY, &mut counters);
        match result {
            Err(ReadEndError::Record { template: 7, record: at, .. }) if at == record => {}
            other => panic!("cut at {cut}: {other:?}"),
        }
    }
}
