//! Whole blocks: what they inflate to, what they depend on, and when the method is left.

use super::compare::{Compare, Comparing, Differences, LAST_COLUMN, Plain};
use super::test_blocks::{Reads, blocks, inflate_both, records};
use super::*;
use crate::bam::test_data::{TestBam, bam_folder, files};
use proptest::prelude::*;
use seqloom_testkit::damage::{Change, damaged};
use seqloom_testkit::random::Random;

/// The levels that have an effort of their own, one of each.
const EFFORTS: [u8; 3] = [1, 2, 6];

/// The blocks of one unit.
fn unit(compressor: &mut BamCompressor, payloads: &[&[u8]]) -> Vec<Vec<u8>> {
    compressor.end_unit();
    let block = |payload: &&[u8]| {
        let mut out = Vec::new();
        let size = compressor.compress(payload, &mut out).unwrap();
        assert_eq!(size, out.len());
        out
    };
    payloads.iter().map(block).collect()
}

fn made(level: u8) -> BamCompressor {
    BamCompressor::new(Settings::at_level(level)).unwrap()
}

fn by_libdeflate(level: u8, payloads: &[&[u8]]) -> Vec<Vec<u8>> {
    let settings = Settings { method: Method::Libdeflate, ..Settings::at_level(level) };
    unit(&mut BamCompressor::new(settings).unwrap(), payloads)
}

fn total(blocks: &[Vec<u8>]) -> usize {
    blocks.iter().map(Vec::len).sum()
}

/// Compares the kernels, and inflates what they make. Gives whether the payload was searched.
fn check_kernels<const K: usize, const READS: usize, const LAZY: bool>(payload: &[u8]) -> bool {
    let mut plain = RecordDeflater::<K, READS, LAZY>::new();
    let found = plain.run(payload, Plain);
    if found.is_some() {
        assert!(inflate_both(plain.written(), payload.len()) == payload);
    }
    #[cfg(target_arch = "x86_64")]
    if let Some(avx2) = simd::avx2::Avx2::found() {
        let mut vectors = RecordDeflater::<K, READS, LAZY>::new();
        assert_eq!(vectors.run(payload, avx2), found);
        assert!(vectors.written() == plain.written());
    }
    #[cfg(target_arch = "x86_64")]
    if let Some(avx512) = simd::avx512::Avx512::found() {
        let mut vectors = RecordDeflater::<K, READS, LAZY>::new();
        assert_eq!(vectors.run(payload, avx512), found);
        assert!(vectors.written() == plain.written());
    }
    found.is_some()
}

/// Runs of these differences are found as the plain way finds them.
#[cfg(target_arch = "x86_64")]
fn compare_as_plain<const K: usize>(way: impl Compare, differences: &Differences<K>, from: u32) {
    assert_eq!(way.longest(differences, from), Plain.longest(differences, from));
    assert_eq!(way.starts::<K, 3>(differences), Plain.starts::<K, 3>(differences));
    assert_eq!(way.starts::<K, 4>(differences), Plain.starts::<K, 4>(differences));
}

fn check_all_kernels(payload: &[u8]) -> bool {
    let found = [
        check_kernels::<16, 4, false>(payload),
        check_kernels::<32, 8, true>(payload),
        check_kernels::<48, 8, true>(payload),
    ];
    found.iter().any(|&found| found)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn damaged_records_come_back_from_all_kernels_alike(
        seed in any::<u64>(),
        bases in 1..400_usize,
        is_sorted in any::<bool>(),
        qualities in 1..60_u64,
        changes in prop::collection::vec(any::<Change>(), 0..5),
        (start, end) in (0..1_000_usize, 0..65_280_usize),
    ) {
        let reads = Reads { count: 150, bases, is_sorted, qualities };
        let mut payload = damaged(&records(seed, reads), &changes);
        payload.truncate(MAX_PAYLOAD_BYTES);
        check_all_kernels(&payload);
        // From within a record, and up to within one.
        check_all_kernels(&payload[start.min(payload.len())..]);
        check_all_kernels(&payload[..end.min(payload.len())]);
    }

    #[test]
    fn all_kernels_compare_alike(
        seed in any::<u64>(),
        values in 1..6_u64,
        from in 0..64_u32,
    ) {
        let mut random = Random::new(seed);
        let mut bytes = || std::array::from_fn::<u8, 64, _>(|_| random.below(values) as u8);
        let (a, b) = (bytes(), bytes());
        let equal: u64 = (0..64).map(|at| u64::from(a[at] == b[at]) << at).sum();
        prop_assert_eq!(Plain.equal(&a, &b), equal);
        let sparse = |random: &mut Random| random.next_u64() & random.next_u64() | LAST_COLUMN;
        let differences = Differences(std::array::from_fn::<u64, 16, _>(|_| sparse(&mut random)));
        let run = |differ: u64| (from..64).take_while(|&at| differ >> at & 1 == 0).count() as u32;
        let runs = differences.0.map(run);
        let longest = Plain.longest(&differences, from);
        prop_assert_eq!(Some(longest.length), runs.iter().copied().max());
        for (slot, run) in runs.into_iter().enumerate() {
            prop_assert_eq!(longest.slots >> slot & 1 == 1, run == longest.length);
        }
        #[cfg(target_arch = "x86_64")]
        {
            if let Some(avx2) = simd::avx2::Avx2::found() {
                prop_assert_eq!(avx2.equal(&a, &b), equal);
                compare_as_plain(avx2, &differences, from);
            }
            if let Some(avx512) = simd::avx512::Avx512::found() {
                prop_assert_eq!(avx512.equal(&a, &b), equal);
                compare_as_plain(avx512, &differences, from);
                // Of fewer slots than a register has words.
                let few = Differences(std::array::from_fn::<u64, 4, _>(|slot| differences.0[slot]));
                compare_as_plain(avx512, &few, from);
            }
        }
    }

    #[test]
    fn any_bytes_come_back_at_every_level(
        noise in prop::collection::vec(any::<u8>(), 0..2_000),
        level in 0..=12_u8,
        size in 0..=MAX_PAYLOAD_BYTES,
    ) {
        let long: Vec<u8> = noise.iter().copied().cycle().take(size).collect();
        let payloads = [&noise[..], if noise.is_empty() { b"" } else { &long }];
        for (block, payload) in unit(&mut made(level), &payloads).iter().zip(payloads) {
            let mut inflated = Vec::new();
            BlockDecompressor::new().decompress(block, &mut inflated).unwrap();
            prop_assert!(inflated == payload);
        }
    }
}

#[test]
fn whole_records_are_searched_and_others_are_not() {
    let short = records(1, Reads { count: 150, ..Reads::SHORT });
    assert!(check_all_kernels(&short));
    assert!(!check_all_kernels(&short[1..]));
    assert!(!check_all_kernels(&short[..short.len() - 1]));
    for size in [1, 3, 35] {
        assert!(!check_all_kernels(&short[..size]));
    }
    // A record of 32 bytes has no name, CIGAR, bases or tags.
    let empty = [&32_u32.to_le_bytes()[..], &[0; 32]].concat().repeat(MAX_PAYLOAD_BYTES / 36);
    assert!(check_all_kernels(&empty));
}

#[test]
fn a_unit_is_deflated_as_if_there_were_no_other() {
    let (first, second) = (records(1, Reads::SHORT), records(2, Reads::SHORT));
    let (first, second) = (blocks(&first), blocks(&second));
    for level in EFFORTS {
        let expected = unit(&mut made(level), &second);
        let mut used = made(level);
        unit(&mut used, &first);
        assert!(unit(&mut used, &second) == expected, "level {level}");
        unit(&mut used, &[&[1; 600]]);
        assert!(unit(&mut used, &second) == expected, "level {level}");
    }
}

#[test]
fn short_reads_are_at_most_3_percent_larger_and_few_qualities_smaller_than_at_level_1() {
    for qualities in [4, 40] {
        let records = records(3, Reads { qualities, ..Reads::SHORT });
        let payloads = blocks(&records);
        for level in EFFORTS {
            let ours = unit(&mut made(level), &payloads);
            let what = format!("level {level}, {qualities} values");
            // Other units of these reads may be libdeflate's.
            let is_ours = ours != by_libdeflate(level, &payloads);
            assert!(is_ours || qualities > 4 || level == 6, "{what}");
            let first = total(&by_libdeflate(1, &payloads));
            assert!(total(&ours) <= first || qualities > 4, "{what}: {} of {first}", total(&ours));
            let most = total(&by_libdeflate(level, &payloads)) * 103 / 100;
            assert!(total(&ours) <= most, "{what}: {} of {most}", total(&ours));
        }
    }
}

#[test]
fn levels_without_an_effort_are_libdeflates() {
    let records = records(4, Reads { count: 400, ..Reads::SHORT });
    let payloads = blocks(&records);
    for level in [0, 7, 9, 12] {
        assert!(unit(&mut made(level), &payloads) == by_libdeflate(level, &payloads));
    }
    assert_eq!(BamCompressor::new(Settings::at_level(13)).err(), Some(BgzfError::BadLevel(13)));
}

#[test]
fn long_reads_and_what_is_not_records_are_left_to_libdeflate() {
    let long = records(5, Reads { count: 12, bases: 9_000, is_sorted: true, qualities: 40 });
    let text = b"@SQ\tSN:chr1\tLN:248956422\n".repeat(800);
    for level in EFFORTS {
        for payloads in [blocks(&long), vec![&text[..]], vec![&long[1..60_000]], vec![&long[..0]]] {
            assert!(unit(&mut made(level), &payloads) == by_libdeflate(level, &payloads));
        }
    }
}

/// Records whose qualities are copies of 100 strings of many values: what no earlier field of the
/// same kind, but any earlier byte, may have.
fn repeated_qualities() -> Vec<u8> {
    let mut random = Random::new(6);
    let strings: Vec<Vec<u8>> =
        (0..100).map(|_| (0..150).map(|_| random.below(40) as u8).collect()).collect();
    let mut out = records(6, Reads { is_sorted: false, ..Reads::SHORT });
    let mut at = 0;
    while let Some(size) = out[at..].first_chunk() {
        let end = at + 4 + u32::from_le_bytes(*size) as usize;
        let bases = u32::from_le_bytes(*out[at + 20..].first_chunk().unwrap()) as usize;
        let name = usize::from(out[at + 12]);
        let operations = usize::from(out[at + 16]);
        let start = at + 36 + name + 4 * operations + bases.div_ceil(2);
        out[start..start + bases]
            .copy_from_slice(&random.pick(&strings.iter().collect::<Vec<_>>())[..bases]);
        at = end;
    }
    out
}

#[test]
fn a_unit_that_libdeflate_makes_much_smaller_is_left_to_it() {
    let records = repeated_qualities();
    let payloads = blocks(&records);
    for level in EFFORTS {
        assert!(unit(&mut made(level), &payloads) == by_libdeflate(level, &payloads));
    }
}

#[test]
fn blocks_that_grow_are_libdeflates_and_the_third_ends_the_method_for_its_unit_alone() {
    let regular = records(7, Reads { count: 6_000, ..Reads::SHORT });
    let noisy = records(8, Reads { is_sorted: false, qualities: 40, ..Reads::SHORT });
    let (regular, noisy) = (blocks(&regular), blocks(&noisy));
    let start = [&regular[..2], &noisy[..1], &regular[2..4], &noisy[1..2], &regular[4..6]].concat();
    let payloads = [&start[..], &noisy[2..3], &regular[6..9]].concat();
    for level in [1, 2] {
        let mut compressor = made(level);
        let ours = unit(&mut compressor, &payloads);
        let libdeflates = by_libdeflate(level, &payloads);
        let same: Vec<bool> =
            ours.iter().zip(&libdeflates).map(|(ours, other)| ours == other).collect();
        let grown = [false, false, true, false, false, true, false, false];
        assert_eq!(same, [&grown[..], &[true; 4]].concat(), "level {level}");
        assert!(unit(&mut compressor, &payloads[9..]) != libdeflates[9..], "level {level}");
    }
}

#[test]
fn a_unit_that_begins_unlike_the_rest_is_tried_again_once_at_level_6() {
    let reads = Reads { count: 6_000, bases: 500, qualities: 8, ..Reads::SHORT };
    let regular = records(10, reads);
    let repeated = repeated_qualities();
    let (regular, repeated) = (blocks(&regular), blocks(&repeated));
    let first = [&repeated[..1], &regular[..3]].concat();
    let (ours, libdeflates) = (unit(&mut made(6), &first), by_libdeflate(6, &first));
    assert!(ours[0] == libdeflates[0] && (1..4).all(|at| ours[at] != libdeflates[at]));
    let first_two = [&repeated[..2], &regular[..3]].concat();
    assert!(unit(&mut made(6), &first_two) == by_libdeflate(6, &first_two));
    for level in [1, 2] {
        assert!(unit(&mut made(level), &first) == by_libdeflate(level, &first), "level {level}");
    }
}

#[test]
fn a_block_that_is_not_what_it_was_made_of_is_refused() {
    let payload = records(9, Reads { count: 100, ..Reads::SHORT });
    let mut block = Vec::new();
    made(1).compress(&payload, &mut block).unwrap();
    let mut check = Check::default();
    assert_eq!(check.block(&block, &payload), Ok(()));
    assert_eq!(check.block(&block, &payload[1..]), Err(BgzfError::BadCheck));
    let too_large = vec![0; MAX_PAYLOAD_BYTES + 1];
    let mut out = Vec::new();
    let refused = made(1).compress(&too_large, &mut out);
    assert_eq!(refused, Err(BgzfError::PayloadTooLarge(MAX_PAYLOAD_BYTES + 1)));
    assert!(out.is_empty());
}

/// Bytes of records that the program puts into a unit.
const UNIT_BYTES: usize = 2 << 20;

#[test]
fn no_real_file_is_more_than_3_percent_larger_than_libdeflates() {
    let Some(folder) = bam_folder() else { return };
    let names = [
        ("nf-cmgg", "Sample1.bam"),
        ("nf-cmgg", "Sample4.bam"),
        ("picard_testdata", "sam/test.bam"),
        ("htsjdk_testdata", "NA12878.20.21.unmapped.orig.bam"),
        ("hts-specs_test", "passed/level-1.bam"),
        ("gatk_testdata", "HiSeq.1mb.1RG.2k_lines.bam"),
    ];
    for (set, name) in names {
        for path in files(&folder.join(set), name) {
            let records = TestBam::read(&path).unwrap().records;
            let all = blocks(&records);
            for level in 1..=6 {
                let mut sizes = [0, 0];
                let (mut ours, mut start) = (made(level), 0);
                while start < all.len() {
                    // Whole blocks: what a unit ends with has no part in its size.
                    let payloads =
                        &all[start..(start + UNIT_BYTES / MAX_PAYLOAD_BYTES).min(all.len())];
                    sizes[0] += total(&unit(&mut ours, payloads));
                    sizes[1] += total(&by_libdeflate(level, payloads));
                    start += payloads.len();
                }
                let percent = 100.0 * sizes[0] as f64 / sizes[1] as f64 - 100.0;
                println!("{}, level {level}: {percent:+.2} %", path.display());
                assert!(percent <= 3.0, "{}, level {level}: {percent:+.2} %", path.display());
            }
        }
    }
}
