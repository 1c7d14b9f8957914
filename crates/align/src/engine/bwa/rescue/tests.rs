//! Local alignments against those of the library, for every width of lanes.

use super::super::certified_tests::Dice;
use super::super::oracle::emit::{self, LocalAlignment};
use super::super::oracle::index::Options;
use super::super::{BwaOptions, Preset};
use super::*;

/// A query, and a window with copies of parts of it: one, several far apart or near each other, in
/// tandem, with mismatches and gaps.
fn strings(dice: &mut Dice, length: usize, rows: usize) -> Strings {
    let letters = 2 + dice.below(3);
    let code = |dice: &mut Dice| dice.below(letters) as u8;
    let mut query: Vec<u8> = (0..length).map(|_| code(dice)).collect();
    if dice.below(6) == 0 {
        let period = 1 + dice.below(5);
        (period..length).for_each(|at| query[at] = query[at - period]);
    }
    let mut target: Vec<u8> = (0..rows).map(|_| dice.below(4) as u8).collect();
    for _ in 0..dice.below(4) {
        let from = dice.below(length);
        let mut copy = query[from..from + 1 + dice.below(length - from)].to_vec();
        for _ in 0..dice.below(6) {
            let at = dice.below(copy.len());
            match dice.below(3) {
                0 => copy[at] = dice.below(4) as u8,
                1 => copy.insert(at, dice.below(4) as u8),
                _ if copy.len() > 1 => drop(copy.remove(at)),
                _ => {}
            }
        }
        let at = dice.below(rows);
        let count = copy.len().min(rows - at);
        target[at..at + count].copy_from_slice(&copy[..count]);
    }
    if dice.below(5) == 0 {
        let at = dice.below(length);
        query[at] = 4;
    }
    Strings { query, target }
}

fn library(strings: &Strings, bits: Bits, least: i32, options: &Options) -> LocalAlignment {
    let small = bits == Bits::Eight;
    emit::local(&strings.query, &strings.target, small, least, options)
}

/// Compares what is found for strings of one kind; how many reach the least score.
fn compare(kernels: &mut Kernels, all: &[Strings], bits: Bits, options: &Options) -> usize {
    let settings = Settings::of(options.get());
    let padding = if bits == Bits::Eight { 16 } else { 8 };
    let scores = Scores { settings: &settings, least: settings.unseen_score(), padding };
    let (mut best, mut firsts) = (Vec::new(), Vec::new());
    kernels.align(all, &scores, bits, &mut best);
    let mut back = all.to_vec();
    for (strings, best) in back.iter_mut().zip(&best) {
        turn_back(strings, best, &scores);
    }
    kernels.align(&back, &scores, bits, &mut firsts);
    assert_eq!((best.len(), firsts.len()), (all.len(), all.len()));
    let mut reached = 0;
    for ((strings, best), first) in all.iter().zip(&best).zip(&firsts) {
        let expected = library(strings, bits, scores.least, options);
        assert_eq!(best.score, expected.score, "{strings:?}");
        if best.score < scores.least {
            continue;
        }
        reached += 1;
        let found = local(best, first).unwrap();
        let found = LocalAlignment {
            score: found.score,
            second: found.second,
            target: found.target.map(|at| at as i32),
            query: found.query.map(|at| at as i32),
        };
        assert_eq!(found, expected, "{strings:?}");
    }
    reached
}

fn options() -> Vec<Options> {
    let options = BwaOptions::default;
    let all = [
        options(),
        BwaOptions { preset: Some(Preset::Intractg), ..options() },
        BwaOptions { gap_open: Some([3, 9]), gap_extend: Some([2, 1]), ..options() },
        BwaOptions { gap_open: Some([0, 1]), mismatch_penalty: Some(1), ..options() },
        BwaOptions { min_seed_length: Some(7), gap_extend: Some([1, 3]), ..options() },
    ];
    all.iter().map(|it| it.library().unwrap()).collect()
}

#[test]
fn alignments_of_all_widths_are_those_of_the_library() {
    let mut dice = Dice(77);
    let mut reached = 0;
    for options in &options() {
        let settings = Settings::of(options.get());
        for mut kernels in Kernels::all() {
            for bits in [Bits::Eight, Bits::Sixteen] {
                for _ in 0..12 {
                    let lanes = kernels.lanes(bits);
                    let count = 1 + dice.below(lanes);
                    let all: Vec<_> = std::iter::from_fn(|| {
                        let length = 1 + dice.below(if bits == Bits::Eight { 249 } else { 400 });
                        let rows = 1 + dice.below(700);
                        Some(strings(&mut dice, length, rows))
                    })
                    .filter(|it| bits == Bits::Sixteen || width(it.query.len(), &settings) == bits)
                    .take(count)
                    .collect();
                    reached += compare(&mut kernels, &all, bits, options);
                }
            }
        }
    }
    assert!(reached > 1000, "{reached}");
}

/// Padding columns carry scores on, so each length modulo 16 is another case; a second hit lies at
/// the border of what is too near to count.
#[test]
fn second_scores_are_those_of_the_library_for_every_padding() {
    let options = BwaOptions::default().library().unwrap();
    let mut dice = Dice(5);
    for mut kernels in Kernels::all() {
        let lanes = kernels.lanes(Bits::Eight);
        let mut all = Vec::new();
        for length in (30..62).chain(100..116).chain(234..250) {
            for apart in [0, 1, 2, 3, 5, 8] {
                let query: Vec<u8> = (0..length).map(|_| dice.below(4) as u8).collect();
                let mut target: Vec<u8> = (0..3 * length).map(|_| dice.below(4) as u8).collect();
                // The end of the query twice: once whole, once as far behind as it scores, or near.
                let tail = 20 + dice.below(length - 25);
                target[10..10 + length].copy_from_slice(&query);
                let at = (10 + length + apart).min(3 * length - tail);
                target[at..at + tail].copy_from_slice(&query[length - tail..]);
                all.push(Strings { query, target });
            }
        }
        for some in all.chunks(lanes) {
            compare(&mut kernels, some, Bits::Eight, &options);
        }
    }
}

#[test]
fn a_window_that_lanes_do_not_take_is_aligned_alike() {
    let options = BwaOptions::default().library().unwrap();
    let settings = Settings::of(options.get());
    let mut dice = Dice(9);
    for (length, padding, most, small) in [(120, 16, 255, true), (333, 8, 32_767, false)] {
        for _ in 0..60 {
            let strings = strings(&mut dice, length, 600);
            let scores = Scores { settings: &settings, least: 19, padding };
            let found = kernel::align_one(&strings, &scores, most);
            let bits = if small { Bits::Eight } else { Bits::Sixteen };
            let expected = library(&strings, bits, 19, &options);
            assert_eq!(found.score, expected.score);
            if found.score >= 19 {
                let place = [expected.target[1], expected.query[1]];
                assert_eq!([found.row, found.column].map(|it| it as i32), place);
                assert_eq!(found.second, expected.second);
            }
        }
    }
    // A window of more rows than a kernel numbers.
    let mut long = strings(&mut dice, 100, kernel::MOST_ROWS + 5000);
    let from = kernel::MOST_ROWS + 1000;
    long.target[from..from + 100].copy_from_slice(&long.query.clone());
    let reached = compare(&mut Kernels::new(), &[long], Bits::Eight, &options);
    assert_eq!(reached, 1);
}

#[test]
fn sixteen_bits_are_taken_where_eight_could_pass_their_end() {
    fn t(length: usize, price: i32, expected: Bits) {
        let options = BwaOptions { mismatch_penalty: Some(price), ..<_>::default() };
        let settings = Settings::of(options.library().unwrap().get());
        assert_eq!(width(length, &settings), expected, "{length} {price}");
    }
    t(249, 4, Bits::Eight);
    t(249, 5, Bits::Eight);
    t(249, 6, Bits::Sixteen);
    t(250, 4, Bits::Sixteen);
    t(245, 9, Bits::Eight);
    t(246, 9, Bits::Sixteen);
}
