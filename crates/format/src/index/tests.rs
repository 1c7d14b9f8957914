//! The index against samtools, and fragments against one another.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::fragment::PlacedRecord;
use super::*;
use crate::bam::test_data::{TestBam, bam_folder, files, inflate_all};
use crate::bam::{RecordRef, framed_records};
use crate::bgzf::VirtualOffset;

/// One reference of an index, bins by number.
#[derive(Debug, Default, PartialEq, Eq)]
struct Decoded {
    bins: BTreeMap<u32, (u64, Vec<(u64, u64)>)>,
    windows: Vec<u64>,
}

struct Words<'a>(&'a [u8]);

impl Words<'_> {
    fn u32(&mut self) -> u32 {
        let (word, rest) = self.0.split_at(4);
        self.0 = rest;
        u32::from_le_bytes(word.try_into().unwrap())
    }

    fn u64(&mut self) -> u64 {
        u64::from(self.u32()) | u64::from(self.u32()) << 32
    }
}

/// References and number of records without a coordinate of BAI bytes or inflated CSI bytes.
fn decode(bytes: &[u8]) -> (Vec<Decoded>, u64) {
    let is_csi = bytes.starts_with(b"CSI\x01");
    assert!(is_csi || bytes.starts_with(b"BAI\x01"));
    let mut words = Words(&bytes[4..]);
    if is_csi {
        words.u64();
        assert_eq!(words.u32(), 0);
    }
    let references = (0..words.u32())
        .map(|_| {
            let mut decoded = Decoded::default();
            for _ in 0..words.u32() {
                let bin = words.u32();
                let loffset = if is_csi { words.u64() } else { 0 };
                let chunks = (0..words.u32()).map(|_| (words.u64(), words.u64())).collect();
                assert!(decoded.bins.insert(bin, (loffset, chunks)).is_none());
            }
            if !is_csi {
                decoded.windows = (0..words.u32()).map(|_| words.u64()).collect();
            }
            decoded
        })
        .collect();
    let no_coordinate = words.u64();
    assert!(words.0.is_empty());
    (references, no_coordinate)
}

/// Our index of a BAM file, as one fragment.
fn index(bam: &TestBam, scheme: BinningScheme, is_csi: bool) -> Result<Vec<u8>, IndexError> {
    let mut fragment = IndexFragment::new(scheme);
    let mut records = framed_records(&bam.records);
    loop {
        let start = bam.virtual_offset(records.offset());
        let Some(body) = records.next() else {
            let mut builder = IndexBuilder::new(scheme, bam.header.references().len());
            builder.append(&fragment, 0)?;
            return if is_csi { builder.finish_csi(start) } else { builder.finish_bai(start) };
        };
        fragment.push_record(&RecordRef::new(body.unwrap()).unwrap(), start)?;
    }
}

/// The index samtools makes, inflated where it is CSI; `None` where it refuses.
fn samtools_index(file: &Path, is_csi: bool, name: &str) -> Option<Vec<u8>> {
    let out = std::env::temp_dir().join(format!("seqloom-{}-{name}", std::process::id()));
    let format = if is_csi { "-c" } else { "-b" };
    let status = seqloom_testkit::running::words("samtools")
        .arg("index")
        .arg(format)
        .arg(file)
        .arg(&out)
        .output();
    if !status.unwrap().status.success() {
        return None;
    }
    let bytes = std::fs::read(&out).unwrap();
    std::fs::remove_file(&out).unwrap();
    Some(if is_csi { inflate_all(&bytes).unwrap().0 } else { bytes })
}

/// Files whose records we can read.
fn readable_bams(folder: &Path) -> Vec<(PathBuf, TestBam)> {
    files(folder, ".bam")
        .into_iter()
        .filter_map(|path| Some((path.clone(), TestBam::read(&path).ok()?)))
        .filter(|(_, bam)| {
            framed_records(&bam.records).all(|body| body.is_ok_and(|it| RecordRef::new(it).is_ok()))
        })
        .collect()
}

#[test]
fn bai_and_csi_hold_what_samtools_writes() {
    let Some(folder) = bam_folder() else { return };
    let mut compared = 0;
    for (path, bam) in readable_bams(&folder) {
        let longest_bp = bam.header.references().iter().map(|it| it.length).max().unwrap_or(0);
        let schemes = [(BinningScheme::BAI, false), (BinningScheme::csi(longest_bp), true)];
        for (scheme, is_csi) in schemes {
            let ours = index(&bam, scheme, is_csi);
            let theirs = samtools_index(&path, is_csi, "index");
            match (ours, theirs) {
                (Ok(ours), Some(theirs)) => {
                    assert_eq!(ours.len(), theirs.len(), "{}", path.display());
                    assert!(decode(&ours) == decode(&theirs), "{} csi {is_csi}", path.display());
                    compared += 1;
                }
                (Err(_), None) => {}
                (ours, theirs) => {
                    let (ours, theirs) = (ours.map(|it| it.len()), theirs.map(|it| it.len()));
                    panic!("{} csi {is_csi}: {ours:?} {theirs:?}", path.display())
                }
            }
        }
    }
    println!("{compared} indices compared");
    assert!(compared > 100, "{compared}");
}

/// A record to be indexed: reference, position, end, mapped, where it starts.
type Entry = (i32, i64, i64, bool, VirtualOffset);

/// Sorted records over few references with many bins, in blocks of a few records.
fn entries() -> impl Strategy<Value = Vec<Entry>> {
    let record = (
        prop_oneof![9 => 0_i32..3, 1 => Just(-1)],
        prop_oneof![0_i64..60_000, 0_i64..1 << 29],
        prop_oneof![Just(0_i64), 1_i64..300, 1_i64..2_000_000],
        any::<bool>(),
        0_u64..5000,
    );
    prop::collection::vec(record, 0..60).prop_map(|mut records| {
        records.sort_by_key(|&(reference, position, ..)| (reference as u32, position));
        let (mut block, mut offset) = (50_u64, 0_u16);
        let place = |(reference, position, len, is_mapped, step): (i32, i64, i64, bool, u64)| {
            // A step below 2000 stays in the block, so that chunks meet within blocks.
            if step < 2000 {
                offset += 100;
            } else {
                (block, offset) = (block + step * 10, 0);
            }
            let end = (position + len).min(1 << 29);
            let start = VirtualOffset::new(block, offset).unwrap();
            (reference, position, end, is_mapped, start)
        };
        records.into_iter().map(place).collect()
    })
}

/// The index of `entries`, cut into fragments at `cuts` (fractions of 256).
fn index_of(entries: &[Entry], cuts: &[u8], is_csi: bool) -> Vec<u8> {
    let scheme = if is_csi { BinningScheme::csi(1 << 29) } else { BinningScheme::BAI };
    let mut cuts: Vec<usize> =
        cuts.iter().map(|&cut| entries.len() * usize::from(cut) / 256).collect();
    cuts.extend([0, entries.len()]);
    cuts.sort_unstable();
    let mut builder = IndexBuilder::new(scheme, 4);
    let mut fragment = IndexFragment::new(scheme);
    for cut in cuts.windows(2) {
        let part = &entries[cut[0]..cut[1]];
        let base = part.first().map_or(77, |entry| entry.4.block_offset());
        fragment.clear();
        for &(reference, position, end, is_mapped, start) in part {
            let block = start.block_offset() - base;
            let start = VirtualOffset::new(block, start.offset_in_block()).unwrap();
            let span = position..end;
            fragment
                .push(PlacedRecord { reference_id: reference, span, is_mapped }, start)
                .unwrap();
        }
        builder.append(&fragment, base).unwrap();
    }
    let end = entries.last().map_or(50, |entry| entry.4.block_offset() + 99);
    let end = VirtualOffset::new(end, 0).unwrap();
    if is_csi { builder.finish_csi(end).unwrap() } else { builder.finish_bai(end).unwrap() }
}

proptest! {
    #[test]
    fn fragments_give_the_index_of_the_whole(
        entries in entries(), cuts in prop::collection::vec(any::<u8>(), 0..9),
    ) {
        for is_csi in [false, true] {
            let whole = index_of(&entries, &[], is_csi);
            prop_assert_eq!(&index_of(&entries, &cuts, is_csi), &whole);
            let one_by_one: Vec<u8> = (0..=255).collect();
            prop_assert_eq!(&index_of(&entries, &one_by_one, is_csi), &whole);
        }
    }

    #[test]
    fn regions_begin_before_their_records(
        entries in entries(), reference in 0_usize..3,
        start in prop_oneof![0_u64..60_000, 0_u64..1 << 29],
        length in prop_oneof![1_u64..100, 1_u64..1 << 29], cut in any::<prop::sample::Index>(),
    ) {
        let end = (start + length).min(1 << 29);
        let region = IndexedRegion { reference_count: 4, reference, bases: start..end };
        let of_reference = || entries.iter().filter(|entry| entry.0 == reference as i32);
        let reaches = |from: u64, to: u64| move |entry: &&Entry| {
            let bases = entry.1 as u64..entry.2.max(entry.1 + 1) as u64;
            bases.start < to && bases.end > from
        };
        let first = of_reference().filter(reaches(start, end)).map(|entry| entry.4).min();
        // As far as windows and chunks show: what reaches into the first window or is after.
        let nearest = of_reference().filter(reaches(start >> 14 << 14, 1 << 30)).map(|it| it.4);
        let nearest = nearest.min();
        for is_csi in [false, true] {
            let index = index_of(&entries, &[100], is_csi);
            let found = first_offset(&index, &region).unwrap();
            prop_assert!(first.is_none() || found.is_some() && found <= first, "{:?}", found);
            if !is_csi && let Some(found) = found {
                prop_assert!(Some(found) >= nearest, "{:?} {:?}", found, nearest);
            }
            let cut = cut.index(index.len());
            let of_part = first_offset(&index[..cut], &region);
            prop_assert!(of_part.is_err() || of_part == Ok(found));
        }
    }

    #[test]
    fn every_record_is_found(entries in entries()) {
        let (references, no_coordinate) = decode(&index_of(&entries, &[80, 160], false));
        prop_assert_eq!(no_coordinate, entries.iter().filter(|entry| entry.0 < 0).count() as u64);
        for &(reference, position, end, _, start) in entries.iter().filter(|entry| entry.0 >= 0) {
            let decoded = &references[reference as usize];
            let window = decoded.windows[(position >> 14) as usize];
            prop_assert!(window <= start.raw());
            // Its bin, or one above it that the bin was merged into, has a chunk with it.
            let mut bin = BinningScheme::BAI.bin(position, end.max(position + 1));
            loop {
                let chunks = decoded.bins.get(&bin).map_or(&[][..], |bin| &bin.1);
                if chunks.iter().any(|&(from, to)| (from..to).contains(&start.raw())) {
                    break;
                }
                prop_assert!(bin > 0);
                bin = (bin - 1) >> 3;
            }
        }
    }
}

#[test]
fn a_region_s_first_record_is_reported() {
    let at = |block| VirtualOffset::new(block, 7).unwrap();
    // Two to a window of 16 kbp, and one that reaches over three windows.
    let places = [(0, 100), (9_000, 9_100), (20_000, 60_000), (30_000, 30_100), (70_000, 70_100)];
    let record = |(number, (start, end)): (usize, (i64, i64))| {
        (1, start, end, true, at(1_000_000 * number as u64))
    };
    let entries: Vec<Entry> = places.into_iter().enumerate().map(record).collect();
    for is_csi in [false, true] {
        let index = index_of(&entries, &[], is_csi);
        let t = |reference, bases, expected: Option<u64>| {
            let region = IndexedRegion { reference_count: 4, reference, bases };
            let expected = expected.map(|number| at(1_000_000 * number));
            assert_eq!(first_offset(&index, &region), Ok(expected), "{region:?}");
        };
        t(1, 0..10, Some(0));
        t(1, 40_000..40_001, Some(2));
        // The small bin of the last record is merged into one that begins before it, and CSI
        // has no windows.
        t(1, 69_000..80_000, Some(if is_csi { 2 } else { 4 }));
        t(1, 200_000..300_000, None);
        t(0, 0..1 << 29, None);
        t(2, 0..1 << 29, None);
        t(4, 0..10, None);
    }
}

#[test]
fn bad_indices_are_refused() {
    let region = |reference_count| IndexedRegion { reference_count, reference: 1, bases: 0..10 };
    let t = |index: &[u8], expected| assert_eq!(first_offset(index, &region(2)), Err(expected));
    t(b"", BadIndex::NotAnIndex);
    t(b"BAM\x01", BadIndex::NotAnIndex);
    t(b"BAI\x01", BadIndex::Truncated { byte: 4 });
    t(b"BAI\x01\x03\0\0\0", BadIndex::References { found: 3, expected: 2 });
    // Counts with nothing after them.
    t(b"BAI\x01\x02\0\0\0\xff\xff\xff\xff", BadIndex::Truncated { byte: 12 });
    let csi = |words: [u32; 4]| {
        let bytes = words.iter().flat_map(|word| word.to_le_bytes());
        b"CSI\x01".iter().copied().chain(bytes).collect::<Vec<u8>>()
    };
    t(&csi([14, 99, 0, 2]), BadIndex::Scheme { min_shift: 14, depth: 99 });
    t(&csi([99, 5, 0, 2]), BadIndex::Scheme { min_shift: 99, depth: 5 });
    t(&csi([14, 5, u32::MAX, 2]), BadIndex::Truncated { byte: 16 });
}

#[test]
fn empty_files_have_an_index() {
    let builder = || IndexBuilder::new(BinningScheme::BAI, 2);
    let end = VirtualOffset::new(100, 0).unwrap();
    let bai = builder().finish_bai(end).unwrap();
    assert_eq!(bai, [&b"BAI\x01\x02"[..], &[0; 3 + 2 * 8 + 8]].concat());
    let csi = builder().finish_csi(end).unwrap();
    assert_eq!(csi.len(), 4 + 4 + 4 + 4 + 4 + 2 * 4 + 8);
}

#[test]
fn what_cannot_be_indexed_is_refused() {
    let at = |block| VirtualOffset::new(block, 0).unwrap();
    let mapped = |reference_id, span| PlacedRecord { reference_id, span, is_mapped: true };
    let mut fragment = IndexFragment::new(BinningScheme::BAI);
    fragment.push(mapped(1, 500..600), at(0)).unwrap();
    let unsorted = |reference_id, position| Err(IndexError::Unsorted { reference_id, position });
    assert_eq!(fragment.push(mapped(1, 499..600), at(9)), unsorted(1, 499));
    assert_eq!(fragment.push(mapped(0, 700..800), at(9)), unsorted(0, 700));
    for (position, end) in [(700, 699), (700, (1 << 29) + 1), (i64::MAX, i64::MAX)] {
        let error = fragment.push(mapped(1, position..end), at(9)).unwrap_err();
        assert!(matches!(error, IndexError::OutOfRange { .. }), "{error}");
    }
    let mut builder = IndexBuilder::new(BinningScheme::BAI, 2);
    builder.append(&fragment, 0).unwrap();
    let mut earlier = IndexFragment::new(BinningScheme::BAI);
    earlier.push(mapped(1, 499..600), at(0)).unwrap();
    assert_eq!(builder.append(&earlier, 100), unsorted(1, 499));

    fragment.push(PlacedRecord { is_mapped: false, ..mapped(-1, -1..0) }, at(9)).unwrap();
    assert_eq!(fragment.push(mapped(1, 700..800), at(9)), unsorted(1, 700));
    let mut builder = IndexBuilder::new(BinningScheme::BAI, 2);
    builder.append(&fragment, 0).unwrap();
    assert_eq!(builder.append(&fragment, 100), unsorted(1, 500));

    let mut builder = IndexBuilder::new(BinningScheme::BAI, 1);
    assert_eq!(builder.append(&fragment, 0), Err(IndexError::UnknownReference(1)));
    assert_eq!(builder.append(&fragment, 1 << 48), Err(IndexError::UnknownReference(1)));
    let mut builder = IndexBuilder::new(BinningScheme::BAI, 2);
    assert_eq!(builder.append(&fragment, 1 << 48), Err(IndexError::FileTooLarge));
    let mut builder = IndexBuilder::new(BinningScheme::csi(1 << 30), 2);
    assert_eq!(builder.append(&fragment, 0), Err(IndexError::SchemeMismatch));
    assert_eq!(builder.finish_bai(at(1)), Err(IndexError::SchemeMismatch));
}
