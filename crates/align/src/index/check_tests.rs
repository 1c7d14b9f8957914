//! Checking: whole indexes pass, everything else is refused before an engine sees it.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tempfile::TempDir;

use super::layout::Layout;
use super::*;

/// An index of `fasta` in a folder of its own.
fn index_of(fasta: &[u8], sa_stride_log2: u8) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let prefix = folder.path().join("ref.fa");
    fs::write(&prefix, fasta).unwrap();
    let options = BuildOptions { sa_stride_log2: Some(sa_stride_log2), ..BuildOptions::default() };
    build(plan(&prefix, &options, &|_, _| ()).unwrap(), &prefix, &|_, _| ()).unwrap();
    (folder, prefix)
}

/// Two sequences, 250 + `length_bp` bases that depend on `seed`, with holes.
fn genome(seed: u64, length_bp: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut bases = |n: usize| -> Vec<u8> {
        (0..n)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                b"ACGT"[(state >> 62) as usize]
            })
            .collect()
    };
    let parts = [b">a one\n".to_vec(), bases(250), b"NNNnn\n>b\nNN".to_vec(), bases(length_bp)];
    [parts.concat(), b"\n".to_vec()].concat()
}

const SUFFIXES: [&str; 4] = ["pac", "ann", "amb", "bwt.2bit.64"];

#[test]
fn whole_indexes_pass() {
    for stride_log2 in 0..=6 {
        for length_bp in [1, 2, 3, 4, 63, 64, 700, 9_000] {
            let (_folder, prefix) = index_of(&genome(length_bp as u64, length_bp), stride_log2);
            let info = check(&prefix).unwrap();
            let lengths: Vec<_> = info.contigs.iter().map(|c| (&*c.name, c.length)).collect();
            assert_eq!(lengths, [("a", 255), ("b", length_bp as u32 + 2)]);
            assert_eq!(info.bases, length_bp as u64 + 257);
            assert_eq!(info.sa_stride, 1 << stride_log2);
            let size = |suffix| fs::metadata(IndexPaths::new(&prefix).with(suffix)).unwrap().len();
            assert_eq!(info.bwt_bytes, size("bwt.2bit.64"));
            // The high bytes of samples are not loaded.
            let samples = ((2 * info.bases + 1) >> stride_log2) + 1;
            assert_eq!(info.memory_bytes, size("bwt.2bit.64") - samples + size("pac"));
        }
    }
}

#[test]
fn tiny_references_pass() {
    for fasta in [">a\nA", ">a\nN", ">a\nAC", ">a\nACG", ">a\nACGT", ">a\nAAAAAAAA\n>b\nT"] {
        for stride_log2 in 0..=6 {
            let (_folder, prefix) = index_of(fasta.as_bytes(), stride_log2);
            check(&prefix).unwrap();
        }
    }
}

#[test]
fn bwa_mem2_files_have_no_tag() {
    for stride_log2 in 0..=6 {
        let (_folder, prefix) = index_of(&genome(1, 900), stride_log2);
        let path = IndexPaths::new(&prefix).bwt();
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() - 8]).unwrap();
        let outcome = check(&prefix);
        if stride_log2 == 3 {
            assert_eq!(outcome.unwrap().sa_stride, 8);
        } else {
            let message = outcome.unwrap_err().to_string();
            let expected = format!("stride of {} without the tag", 1 << stride_log2);
            assert!(message.contains(&expected), "{message}");
        }
    }
}

#[test]
fn alt_contigs_are_marked() {
    let (_folder, prefix) = index_of(&genome(1, 90), 3);
    fs::write(IndexPaths::new(&prefix).alt(), "@SQ\nb\t0\tx\nunknown\n").unwrap();
    let info = check(&prefix).unwrap();
    assert_eq!(info.contigs.iter().map(|c| c.is_alt).collect::<Vec<_>>(), [false, true]);
    // One that is there and cannot be opened does not mean that there are none.
    let alt = IndexPaths::new(&prefix).alt();
    fs::remove_file(&alt).unwrap();
    std::os::unix::fs::symlink(&alt, &alt).unwrap();
    let error = check(&prefix).unwrap_err().to_string();
    assert!(error.contains(".alt") && error.contains("symbolic links"), "{error}");
}

#[test]
fn missing_files_name_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let prefix = folder.path().join("ref.fa");
    let message = |prefix: &Path| check(prefix).unwrap_err().to_string();
    assert!(message(&prefix).contains("there is no such reference file either"));
    fs::write(&prefix, ">a\nACGT\n").unwrap();
    let command = format!("run `seqloom index {}`", prefix.display());
    let text = message(&prefix);
    assert!(text.contains(&command) && !text.contains("no such reference"), "{text}");
    for suffix in ["bwt", "sa", "pac", "ann", "amb"] {
        fs::write(IndexPaths::new(&prefix).with(suffix), "x").unwrap();
    }
    assert!(message(&prefix).contains("of `bwa index` are there"));

    for suffix in SUFFIXES {
        let (_folder, prefix) = index_of(&genome(1, 90), 3);
        let path = IndexPaths::new(&prefix).with(suffix);
        fs::remove_file(&path).unwrap();
        let error = check(&prefix).unwrap_err();
        let is_it = matches!(&error, IndexError::Missing { missing, .. } if *missing == [path]);
        assert!(is_it, "{error}");
    }
}

#[test]
fn every_cut_and_every_longer_file_is_refused() {
    let (_folder, prefix) = index_of(&genome(5, 120), 3);
    for suffix in SUFFIXES {
        let path = IndexPaths::new(&prefix).with(suffix);
        let whole = fs::read(&path).unwrap();
        for length in 0..whole.len() {
            // One cut only leaves a valid file: without the tag, as bwa-mem2 writes it.
            if suffix == "bwt.2bit.64" && length == whole.len() - 8 {
                continue;
            }
            fs::write(&path, &whole[..length]).unwrap();
            assert!(check(&prefix).is_err(), ".{suffix} cut to {length} of {}", whole.len());
        }
        fs::write(&path, [&whole[..], b"\n"].concat()).unwrap();
        assert!(check(&prefix).is_err(), ".{suffix} with one byte more");
        fs::write(&path, &whole).unwrap();
        check(&prefix).unwrap();
    }
}

#[test]
fn every_damaged_byte_but_a_sample_is_refused() {
    let (_folder, prefix) = index_of(&genome(6, 1_500), 3);
    let paths = IndexPaths::new(&prefix);
    let layout = Layout::new(1_757, 3).unwrap();
    assert!(layout.blocks() <= 64, "all blocks are examined");
    let whole = fs::read(paths.bwt()).unwrap();
    let samples = layout.high_at(0)..layout.sentinel_at();
    for at in (0..whole.len()).filter(|&at| !samples.contains(&(at as u64))) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x41;
        fs::write(paths.bwt(), &damaged).unwrap();
        let outcome = check(&prefix);
        assert!(outcome.is_err(), "byte {at} of {}: {outcome:?}", whole.len());
    }
    fs::write(paths.bwt(), &whole).unwrap();
    let whole = fs::read(paths.pac()).unwrap();
    let mut refused = 0;
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x40; // A and C, G and T change places: other counts
        fs::write(paths.pac(), &damaged).unwrap();
        refused += usize::from(check(&prefix).is_err());
    }
    assert_eq!(refused, whole.len());
}

#[test]
fn random_garbage_is_refused() {
    for suffix in SUFFIXES {
        let (_folder, prefix) = index_of(&genome(7, 300), 3);
        let path = IndexPaths::new(&prefix).with(suffix);
        let length = fs::metadata(&path).unwrap().len() as usize;
        for fill in [0_u8, 0xFF, 0x20, b'1'] {
            fs::write(&path, vec![fill; length]).unwrap();
            assert!(check(&prefix).is_err(), ".{suffix} of bytes {fill}");
        }
    }
}

#[test]
fn swapped_sequences_are_another_reference() {
    // Same names in .ann, same length, same counts: only the samples can decide.
    let (_folder, prefix) = index_of(b">a\nACGGTCATTGCAACGTTTGACCAGTAGGCATTACG\n>b\nA\n", 3);
    let (_other_folder, other) = index_of(b">a\nGCATTACGGATGACCAGTTTGCAACGTACGGTCAT\n>b\nA\n", 3);
    fs::copy(IndexPaths::new(&other).bwt(), IndexPaths::new(&prefix).bwt()).unwrap();
    let error = check(&prefix).unwrap_err();
    assert!(matches!(error, IndexError::OtherReference { .. }), "{error}");
}

#[test]
fn samples_out_of_order_are_refused() {
    let (_folder, prefix) = index_of(&genome(4, 400), 0);
    let path = IndexPaths::new(&prefix).bwt();
    let layout = Layout::new(657, 0).unwrap();
    let whole = fs::read(&path).unwrap();
    // Rows 1 and up of one block with the same symbol before them: only their order is wrong.
    let mask = u64::from_le_bytes(whole[48 + 32..48 + 40].try_into().unwrap());
    let rows: Vec<u64> = (1..64).filter(|row| (mask >> (63 - row)) & 1 == 1).collect();
    let (first, second) = (layout.low_at(rows[0]) as usize, layout.low_at(rows[5]) as usize);
    let mut swapped = whole;
    for i in 0..4 {
        swapped.swap(first + i, second + i);
    }
    fs::write(&path, swapped).unwrap();
    let message = check(&prefix).unwrap_err().to_string();
    assert!(message.contains("out of order"), "{message}");
}

#[test]
fn samples_out_of_range_are_refused() {
    let (_folder, prefix) = index_of(&genome(8, 1_500), 3);
    let path = IndexPaths::new(&prefix).bwt();
    let layout = Layout::new(1_757, 3).unwrap();
    let whole = fs::read(&path).unwrap();
    for sample in 0..layout.samples() {
        for byte in [1, 0x7F, 0xFF] {
            let mut damaged = whole.clone();
            damaged[layout.high_at(sample) as usize] = byte;
            fs::write(&path, &damaged).unwrap();
            assert!(check(&prefix).is_err(), "sample {sample}, high byte {byte}");
        }
    }
}

#[test]
fn samples_of_other_rows_are_refused() {
    // One sample per block, so that no neighbour shows the order.
    let (_folder, prefix) = index_of(&genome(3, 700), 6);
    let path = IndexPaths::new(&prefix).bwt();
    let layout = Layout::new(957, 6).unwrap();
    let whole = fs::read(&path).unwrap();
    let low = |sample| layout.low_at(sample) as usize..layout.low_at(sample + 1) as usize;
    let mut refused = 0;
    for sample in 2..layout.samples() {
        let mut damaged = whole.clone();
        damaged.copy_within(low(sample), low(1).start);
        fs::write(&path, damaged).unwrap();
        let outcome = check(&prefix).map_err(|error| error.to_string());
        refused += u32::from(outcome.is_err_and(|it| it.contains("another symbol before")));
    }
    // Three of four rows have another symbol before them than row 64 has.
    assert!(refused >= 15, "{refused} of {}", layout.samples() - 2);
}

#[test]
fn a_rebuild_with_other_threads_gives_the_same_file() {
    let (_folder, prefix) = index_of(&genome(9, 50), 3);
    let options =
        BuildOptions { threads: NonZeroUsize::new(3).unwrap(), ..BuildOptions::default() };
    let before = fs::read(IndexPaths::new(&prefix).bwt()).unwrap();
    build(plan(&prefix, &options, &|_, _| ()).unwrap(), &prefix, &|_, _| ()).unwrap();
    assert!(before == fs::read(IndexPaths::new(&prefix).bwt()).unwrap());
    check(&prefix).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Any one file of another reference is refused, of the same length or not.
    #[test]
    fn a_mix_of_two_references_is_refused(
        seeds in (0_u64..1_000, 0_u64..1_000),
        lengths in (200_usize..600, 200_usize..600),
        same_length in any::<bool>(),
        suffix in prop::sample::select(vec!["pac", "bwt.2bit.64"]),
    ) {
        prop_assume!(seeds.0 != seeds.1);
        let second = if same_length { lengths.0 } else { lengths.1 };
        let (_folder, prefix) = index_of(&genome(seeds.0, lengths.0), 3);
        let (_other_folder, other) = index_of(&genome(seeds.1, second), 3);
        let of = |prefix: &Path| IndexPaths::new(prefix).with(suffix);
        fs::copy(of(&other), of(&prefix)).unwrap();
        prop_assert!(check(&prefix).is_err());
    }
}
