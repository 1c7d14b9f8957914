//! Sorting in blocks against the definition, and against the sorter that takes the text whole.

use std::num::NonZeroUsize;

use proptest::prelude::*;

use super::*;

/// Both strands of `codes`.
fn packed(codes: &[u8]) -> Packed {
    let mut packed = Packed::default();
    codes.iter().for_each(|&code| packed.push(code));
    packed
}

/// The suffix array and the symbols before, by sorting in blocks.
fn sorted(packed: &Packed, sizes: Sizes, threads: usize) -> (Vec<u64>, Vec<u8>) {
    let text = Text::new(packed).unwrap();
    let format = Format::new(text.symbols());
    let (mut suffixes, mut before) = (Vec::new(), Vec::new());
    let threads = NonZeroUsize::new(threads).unwrap();
    sort_suffixes(&text, sizes, threads, &|_| (), &mut |entries| {
        assert!(entries.len() as u64 <= sizes.cap.max(4 << sizes.modulus_log2));
        suffixes.extend(entries.iter().map(|&entry| format.position(entry)));
        before.extend(entries.iter().map(|&entry| format.before(entry)));
        Ok(())
    })
    .unwrap();
    (suffixes, before)
}

fn unpacked(packed: &Packed) -> Vec<u8> {
    let mut text = Vec::new();
    packed.unpack(&mut text);
    text
}

#[track_caller]
fn assert_sorted(what: &str, codes: &[u8], sizes: Sizes, threads: usize) {
    let packed = packed(codes);
    let text = unpacked(&packed);
    let expected = super::super::build::suffix_array::<i32>(&text).unwrap();
    let (suffixes, before) = sorted(&packed, sizes, threads);
    assert!(suffixes.iter().copied().eq(expected.iter().map(|&at| at as u64)), "{what}: {sizes:?}");
    let symbol = |&at: &i32| (at as usize).checked_sub(1).map_or(4, |at| text[at]);
    assert!(before.iter().copied().eq(expected.iter().map(symbol)), "{what}: {sizes:?}");
}

fn sizes(modulus_log2: u32, cap: u64) -> Sizes {
    Sizes { modulus_log2, sample_cap: cap / 4 + 1, cap }
}

proptest! {
    #[test]
    fn equal_to_the_definition(
        codes in prop::collection::vec(0_u8..4, 1..1500),
        alphabet in 1_u8..5,
        modulus_log2 in prop::sample::select(&[6_u32, 8][..]),
        cap in 1_u64..4000,
        threads in prop::sample::select(&[1_usize, 2, 7][..]),
    ) {
        let codes: Vec<u8> = codes.iter().map(|code| code % alphabet).collect();
        let packed = packed(&codes);
        let text = unpacked(&packed);
        let mut expected: Vec<u64> = (0..text.len() as u64).collect();
        expected.sort_by_key(|&at| &text[at as usize..]);
        let (suffixes, _) = sorted(&packed, sizes(modulus_log2, cap), threads);
        prop_assert_eq!(suffixes, expected);
        assert_sorted("random", &codes, sizes(modulus_log2, cap), threads);
    }
}

fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed;
    let mut code = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 62) as u8
    };
    (0..length).map(|_| code()).collect()
}

fn fibonacci(length: usize) -> Vec<u8> {
    let (mut a, mut b) = (vec![0_u8], vec![0_u8, 1]);
    while b.len() < length {
        let next = [&b[..], &a].concat();
        (a, b) = (b, next);
    }
    b.truncate(length);
    b
}

/// Texts that repeat themselves, in whole or in part.
fn hard_texts(length: usize) -> Vec<(&'static str, Vec<u8>)> {
    let repeat = |unit: &[u8]| unit.iter().copied().cycle().take(length).collect::<Vec<u8>>();
    let slice = noise(3, length / 2);
    let half = noise(4, length / 2);
    let reverse: Vec<u8> = half.iter().rev().map(|code| 3 - code).collect();
    let mut satellite = repeat(&noise(5, 2_000.min(length)));
    for at in noise(6, length / 2_000).iter().scan(0, |at, &step| {
        *at += 5_000 + 1_000 * usize::from(step);
        Some(*at)
    }) {
        if let Some(code) = satellite.get_mut(at) {
            *code = (*code + 1) % 4;
        }
    }
    // As bwa replaces N: pseudo-random bases, the same again and again.
    let holes =
        [noise(7, length / 8), repeat(&noise(8, length / 16)), noise(9, length / 8)].concat();
    vec![
        ("all A", vec![0; length]),
        ("all C", vec![1; length]),
        ("AT", repeat(&[0, 3])),
        ("period 3", repeat(&[0, 1, 2])),
        ("period 171", repeat(&noise(2, 171))),
        ("Fibonacci", fibonacci(length)),
        ("two identical slices", [&slice[..], &slice].concat()),
        ("a reverse palindrome", [&half[..], &reverse].concat()),
        ("a satellite", satellite),
        ("exact copies", holes),
        ("noise", noise(1, length)),
    ]
}

#[test]
fn hard_texts_equal_the_whole_sort() {
    for (what, codes) in hard_texts(20_000) {
        for (modulus_log2, cap, threads) in [(6, 1_000_000, 1), (8, 8_000, 2), (6, 1, 3)] {
            assert_sorted(what, &codes, sizes(modulus_log2, cap), threads);
        }
    }
}

#[test]
fn slow_long_hard_texts_equal_the_whole_sort() {
    if !seqloom_testkit::skip::slow_tests() {
        return;
    }
    for (what, codes) in hard_texts(400_000) {
        for (modulus_log2, cap, threads) in [(10, 1_000_000, 2), (8, 100_000, 2), (10, 50_000, 7)] {
            assert_sorted(what, &codes, sizes(modulus_log2, cap), threads);
        }
    }
}

#[test]
fn edges() {
    let codes = noise(11, 5_000);
    // n is a multiple of 32, of v, in the cover or not.
    for bases in (1..140).chain(4_000..4_100) {
        assert_sorted("noise", &codes[..bases], sizes(6, 300), 2);
    }
    for bases in [1, 2, 40, 200] {
        assert_sorted("all A", &vec![0; bases], sizes(10, 1), 2);
    }
}

#[test]
fn wrong_ranks_make_an_index_that_is_refused() {
    // Two copies of more than `v` symbols, so that ranks decide.
    let codes =
        [noise(1, 300), noise(2, 200), noise(3, 300), noise(2, 200), noise(4, 500)].concat();
    let packed = packed(&codes);
    let text = Text::new(&packed).unwrap();
    let (sizes, threads) = (sizes(6, 1_000), NonZeroUsize::MIN);
    let folder = tempfile::tempdir().unwrap();
    let fasta = folder.path().join("ref.fa");
    let bases: Vec<u8> = codes.iter().map(|&code| b"ACGT"[usize::from(code)]).collect();
    std::fs::write(&fasta, [b">a\n", &bases[..]].concat()).unwrap();
    let options = super::super::BuildOptions::default();
    let plan = super::super::plan(&fasta, &options, &|_, _| ()).unwrap();
    super::super::build(plan, &fasta, &|_, _| ()).unwrap();
    let path = super::super::IndexPaths::new(&fasta).bwt();
    let right = std::fs::read(&path).unwrap();
    for wrong in [false, true] {
        let cover = Cover::new(sizes.modulus_log2).unwrap();
        let mut ranks = sample::rank(&text, cover, sizes.sample_cap, threads, &|_| ()).unwrap();
        if wrong {
            ranks.ranks_mut().iter_mut().for_each(|rank| *rank = i32::MAX - *rank);
        }
        let file = std::fs::File::create(&path).unwrap();
        let layout = super::super::layout::Layout::new(codes.len() as u64, 3).unwrap();
        let failed = |error| panic!("{error}");
        let writer = RowWriter::new(layout, &file, threads, &failed, None);
        let mut rows = Rows::new(writer, &text, Format::new(text.symbols()));
        let passes = PassOptions { cap: sizes.cap, threads, progress: &|_| () };
        sort_ranked(&text, &ranks, passes, &mut |part| rows.take(part)).unwrap();
        rows.finish(packed.cumulative_counts()).unwrap();
        let same = std::fs::read(&path).unwrap() == right;
        let checked = super::super::check(&fasta);
        assert_eq!((same, checked.is_ok()), (!wrong, !wrong), "{checked:?}");
    }
}
