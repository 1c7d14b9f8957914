//! The samples against their definition, and their file against damage.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use crate::index::fast_table::tests::texts;
use crate::index::{BuildOptions, IndexPaths, IndexSource, Loaded, build, check, plan};
use crate::search::{Rows, Walk};

/// A FASTA of `codes`, and its index at the prefix that is returned.
fn indexed(folder: &Path, codes: &[u8], sa_stride_log2: u8) -> PathBuf {
    let prefix = folder.join("x.fa");
    let letters: Vec<u8> = codes.iter().map(|&code| b"ACGT"[usize::from(code)]).collect();
    fs::write(&prefix, [b">x\n", &letters[..], b"\n"].concat()).unwrap();
    let threads = NonZeroUsize::new(2).unwrap();
    let sa_stride_log2 = Some(sa_stride_log2);
    let options = BuildOptions { sa_stride_log2, threads, ..BuildOptions::default() };
    build(plan(&prefix, &options, &|_, _| ()).unwrap(), &prefix, &|_, _| ()).unwrap();
    prefix
}

fn loaded(prefix: &Path) -> Loaded {
    Loaded::read(IndexSource::new(prefix, &check(prefix).unwrap())).unwrap()
}

/// Each row's place, and whether it is sampled.
fn places(loaded: &Loaded) -> Vec<(u64, bool)> {
    let (parts, rows) = (loaded.parts(), Rows::new(loaded.parts()));
    let place = |row: u64| {
        let mut walk = Walk::from_row(row);
        let place = std::iter::repeat_with(|| rows.step(&mut walk)).flatten().next();
        let word = parts.blocks[(row / 64) as usize].sampled;
        (place.unwrap(), word >> (63 - row % 64) & 1 != 0)
    };
    (0..parts.first_rows[4]).map(place).collect()
}

/// The places that are sampled, by the definition of the module's documentation.
fn expected(codes: &[u8], distance: usize) -> Vec<bool> {
    let text: Vec<u8> =
        codes.iter().copied().chain(codes.iter().rev().map(|code| 3 - code)).collect();
    let is_repeated = |at: usize| {
        let strand = if at < codes.len() { 0..codes.len() } else { codes.len()..text.len() };
        let kmer = text.get(at..at + 19).filter(|_| at + 19 <= strand.end);
        kmer.is_some_and(|kmer| text.windows(19).filter(|other| *other == kmer).count() > 1)
    };
    let of_strand = |at: usize, next: usize| (at < codes.len()) == (next < codes.len());
    let near = |at: usize| (at..at + distance).any(|next| of_strand(at, next) && is_repeated(next));
    let is_sampled = |at| at % (4 * distance) == 0 || at % distance == 0 && near(at);
    (0..=text.len()).map(is_sampled).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_occurs_twice_is_sampled_densely(
        codes in texts().prop_filter("bases", |codes| !codes.is_empty()),
        stride_log2 in 1_u8..7,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let prefix = indexed(folder.path(), &codes, stride_log2);
        let path = IndexPaths::new(&prefix).text_samples();
        let rows = ((2 * codes.len() + 1) >> stride_log2) + 1;
        let expected = expected(&codes, 1 << (stride_log2 - 1));
        let count = expected.iter().filter(|&&it| it).count();
        prop_assert_eq!(path.exists(), count <= rows);
        prop_assume!(path.exists());
        let with = loaded(&prefix);
        prop_assert!(with.text_samples_unused().is_none());
        prop_assert_eq!(with.parts().sample_shift, u32::from(stride_log2) - 1);
        prop_assert_eq!(with.parts().samples_low.len(), count);
        let places = places(&with);
        for &(place, is_sampled) in &places {
            prop_assert_eq!(is_sampled, expected[place as usize], "{}", place);
        }
        // Every place is found once, and as without the file.
        fs::remove_file(path).unwrap();
        let without = loaded(&prefix);
        let found =
            |places: Vec<(u64, bool)>| -> Vec<u64> { places.into_iter().map(|it| it.0).collect() };
        prop_assert_eq!(without.parts().sample_shift, 0);
        let places = found(places);
        prop_assert_eq!(&places, &found(self::places(&without)));
        let mut sorted = places;
        sorted.sort_unstable();
        prop_assert!(sorted.into_iter().eq(0..=2 * codes.len() as u64));
    }
}

#[test]
fn where_every_row_has_its_place_there_is_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let prefix = indexed(folder.path(), &[0, 1, 2, 3, 3], 0);
    assert!(!IndexPaths::new(&prefix).text_samples().exists());
    // An old one goes, too.
    let prefix = indexed(folder.path(), &[0, 1, 2, 3, 3], 1);
    assert!(IndexPaths::new(&prefix).text_samples().exists());
    let prefix = indexed(folder.path(), &[0, 1, 2, 3, 3], 0);
    assert!(!IndexPaths::new(&prefix).text_samples().exists());
}

/// What a file is refused for, if it is.
fn refusal(prefix: &Path) -> String {
    loaded(prefix).text_samples_unused().map_or_else(String::new, ToString::to_string)
}

#[test]
fn a_file_that_does_not_fit_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let mut state = 1_u64;
    let codes = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 62) as u8
    });
    let codes: Vec<u8> = codes.take(700).collect();
    let prefix = indexed(folder.path(), &codes, 3);
    let path = IndexPaths::new(&prefix).text_samples();
    let whole = fs::read(&path).unwrap();
    let places = places(&loaded(&prefix));
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        fs::write(&path, &bytes).unwrap();
        let refusal = refusal(&prefix);
        let expected = if at < 8 { "not a table of this version" } else { "is damaged" };
        assert!(refusal.contains(expected), "byte {at}: {refusal}");
        fs::write(&path, &whole[..at]).unwrap();
        assert!(!self::refusal(&prefix).is_empty(), "{at} bytes");
    }
    assert_eq!(self::places(&loaded(&prefix)).len(), places.len());
    // Of another reference, and of another distance of rows.
    fs::write(&path, &whole).unwrap();
    assert_eq!(refusal(&prefix), "");
    let mut other = codes.clone();
    other[350] ^= 1;
    for (codes, stride_log2) in [(&other, 3), (&codes, 4)] {
        indexed(folder.path(), codes, stride_log2);
        fs::write(&path, &whole).unwrap();
        assert!(refusal(&prefix).contains("belongs to another index"), "{}", refusal(&prefix));
    }
}
