//! Local alignments against those of the library, for every width of lanes.

use super::super::certified_tests::Dice;
use super::super::local::kernel::{self, FullWindow, Scores, SequencePair};
use super::super::local::parts::MatrixParts;
use super::super::oracle::emit::{self, OracleAlignment};
use super::super::oracle::index::Options;
use super::super::pair::insert_size::InsertSizes;
use super::super::{BwaOptions, Preset};
use super::find::Shortcuts;
use super::*;

/// A query, and a window with copies of parts of it: one, several far apart or near each other, in
/// tandem, with mismatches and gaps.
fn sequences(dice: &mut Dice, length: usize, rows: usize) -> SequencePair {
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
    SequencePair { query, target }
}

fn library(
    sequences: &SequencePair,
    score_width: ScoreWidth,
    least: i32,
    options: &Options,
) -> OracleAlignment {
    let small = score_width == ScoreWidth::Bits8;
    emit::local(&sequences.query, &sequences.target, small, least, options)
}

/// Packs codes, four a byte.
fn packed(codes: &[u8]) -> Vec<u8> {
    codes.chunks(4).map(|four| four.iter().zip([6, 4, 2, 0]).map(|(c, at)| c << at).sum()).collect()
}

fn reversed(codes: &[u8]) -> Vec<u8> {
    codes.iter().rev().map(|&code| if code < 4 { 3 - code } else { code }).collect()
}

/// What is found for strings, by windows of a genome: every second on its reverse strand, and the
/// query of every third is reverse-complemented.
fn find(
    finder: &mut Finder,
    all: &[SequencePair],
    score_width: ScoreWidth,
    settings: &Settings,
) -> Vec<Option<LocalAlignment>> {
    let mut genome = Vec::new();
    let mut spans = Vec::new();
    for (at, SequencePair { target, .. }) in all.iter().enumerate() {
        let start = genome.len() as i64;
        genome.extend(if at % 2 == 0 { target.clone() } else { reversed(target) });
        spans.push([start, genome.len() as i64]);
    }
    let (packed, bases) = (packed(&genome), genome.len() as u64);
    let reference = Reference { packed: &packed, bases, sequences: &[], names: &[] };
    let model = [InsertSizes::default(); 4];
    let rescue = Rescue { settings, model: &model, reference: &reference };
    let mut searches = Vec::new();
    let mut reads: Vec<Vec<u8>> = Vec::new();
    for (at, (SequencePair { query, .. }, &[start, end])) in all.iter().zip(&spans).enumerate() {
        let doubled = 2 * bases as i64;
        let [start, end] =
            if at % 2 == 0 { [start, end] } else { [doubled - end, doubled - start] };
        let window = Window { start, end, reversed: at % 3 == 0 };
        let read = if window.reversed { reversed(query) } else { query.clone() };
        reads.extend([vec![], read]);
        let attempt = Attempt { pair: at as u32, mate: 0, anchor: 0, orientation: 0 };
        searches.push(MateSearch { attempt, window, score_width, found: None });
    }
    let reads: Vec<Codes<'_>> = reads.iter().map(|it| &it[..]).collect();
    rescue.search(&reads, &mut searches, finder);
    searches.iter().map(|it| it.found).collect()
}

/// All shortcuts, none, and all but one.
fn all_shortcuts() -> [Shortcuts; 5] {
    let all = Shortcuts::default();
    [
        all,
        Shortcuts { bound: false, ..all },
        Shortcuts { bands: false, ..all },
        Shortcuts { starts: false, ..all },
        Shortcuts { bound: false, bands: false, starts: false, ..all },
    ]
}

/// Compares what is found for strings of one kind, with and without shortcuts; how many reach the
/// least score.
fn compare(
    finder: &mut Finder,
    all: &[SequencePair],
    score_width: ScoreWidth,
    options: &Options,
) -> usize {
    let settings = Settings::of(options.get());
    let least = settings.unseen_score();
    let expected: Vec<_> = all.iter().map(|it| library(it, score_width, least, options)).collect();
    for shortcuts in all_shortcuts() {
        finder.shortcuts = shortcuts;
        let found = find(finder, all, score_width, &settings);
        for ((sequences, found), expected) in all.iter().zip(found).zip(&expected) {
            let found = found.map(|found| OracleAlignment {
                score: found.score,
                second: found.second,
                target: found.target.map(|at| at as i32),
                query: found.query.map(|at| at as i32),
            });
            let expected = (expected.score >= least).then_some(*expected);
            assert_eq!(found, expected, "{sequences:?} {shortcuts:?} {settings:?}");
        }
    }
    expected.iter().filter(|it| it.score >= least).count()
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
        for kernels in Kernels::all() {
            let mut finder = Finder::new(kernels);
            for score_width in [ScoreWidth::Bits8, ScoreWidth::Bits16] {
                for _ in 0..12 {
                    let count = 1 + dice.below(2 * finder.kernels.lanes(score_width));
                    let all: Vec<_> = std::iter::from_fn(|| {
                        let length = 1 + dice.below(if score_width == ScoreWidth::Bits8 {
                            249
                        } else {
                            400
                        });
                        let rows = 1 + dice.below(700);
                        Some(sequences(&mut dice, length, rows))
                    })
                    .filter(|it| {
                        score_width == ScoreWidth::Bits16
                            || width(it.query.len(), &settings) == score_width
                    })
                    .take(count)
                    .collect();
                    reached += compare(&mut finder, &all, score_width, options);
                }
            }
        }
    }
    assert!(reached > 1000, "{reached}");
}

/// Padding columns carry scores on, so each length modulo 16 is another case; a second hit is at
/// the border of what is too near to count.
#[test]
fn second_scores_are_those_of_the_library_for_every_padding() {
    let options = BwaOptions::default().library().unwrap();
    let mut dice = Dice(5);
    for kernels in Kernels::all() {
        let mut finder = Finder::new(kernels);
        let mut all = Vec::new();
        for length in (30..62).chain(100..116).chain(234..250) {
            for apart in [0, 1, 2, 3, 5, 8] {
                let query: Vec<u8> = (0..length).map(|_| dice.below(4) as u8).collect();
                let mut target: Vec<u8> = (0..3 * length).map(|_| dice.below(4) as u8).collect();
                // The end of the query twice: once whole, once as far after it as it scores, or
                // near.
                let tail = 20 + dice.below(length - 25);
                target[10..10 + length].copy_from_slice(&query);
                let at = (10 + length + apart).min(3 * length - tail);
                target[at..at + tail].copy_from_slice(&query[length - tail..]);
                all.push(SequencePair { query, target });
            }
        }
        compare(&mut finder, &all, ScoreWidth::Bits8, &options);
    }
}

/// Alignments that score just enough, by every means by which a score is made, so that a bound
/// that is lower by one has none of them.
#[test]
fn alignments_that_reach_the_bound_are_found() {
    let with = |gap_open, gap_extend, mismatch: i32, least: i32| BwaOptions {
        gap_open: Some(gap_open),
        gap_extend: Some(gap_extend),
        mismatch_penalty: Some(mismatch),
        min_seed_length: Some(least),
        ..BwaOptions::default()
    };
    let usual = with([6, 6], [1, 1], 4, 19);
    /// Runs of matches, and what is between two: bases of the query that match nothing, bases of
    /// the window, and letters N of the query.
    type Shape<'a> = (&'a BwaOptions, &'a [usize], [usize; 3]);
    let cheap_mismatch = with([6, 6], [1, 1], 3, 19);
    let cheap_deletion = with([5, 6], [1, 1], 4, 19);
    let cheap_insertion = with([6, 5], [1, 1], 4, 19);
    let free_bases = with([6, 6], [0, 0], 4, 19);
    let shorter = with([6, 6], [1, 1], 4, 18);
    let shapes: [Shape<'_>; 15] = [
        (&usual, &[19], [0, 0, 0]),
        (&usual, &[12, 11], [1, 1, 0]),
        (&usual, &[9, 9, 9], [1, 1, 0]),
        (&usual, &[13, 13], [0, 1, 0]),
        (&usual, &[13, 13], [1, 0, 0]),
        (&usual, &[14, 13], [0, 2, 0]),
        (&usual, &[16, 16], [7, 0, 0]),
        (&usual, &[16, 16], [0, 7, 0]),
        (&usual, &[10, 10], [0, 0, 1]),
        (&usual, &[4, 4, 4, 4, 4, 4], [0, 0, 1]),
        (&shorter, &[5, 5, 4, 4, 4], [0, 0, 1]),
        (&cheap_mismatch, &[11, 11], [1, 1, 0]),
        (&cheap_deletion, &[12, 13], [0, 1, 0]),
        (&cheap_insertion, &[12, 13], [1, 0, 0]),
        (&free_bases, &[12, 13], [0, 9, 0]),
    ];
    let mut dice = Dice(21);
    for (options, runs, [inserted, deleted, unknown]) in shapes {
        let options = options.library().unwrap();
        let settings = Settings::of(options.get());
        let mut all = Vec::new();
        while all.len() < 40 {
            let [mut query, mut target] = [60, 100].map(|count: usize| {
                (0..dice.below(count)).map(|_| dice.below(4) as u8).collect::<Vec<_>>()
            });
            for (number, &length) in runs.iter().enumerate() {
                if number > 0 {
                    query.extend((0..inserted).map(|_| dice.below(4) as u8));
                    target.extend((0..deleted).map(|_| dice.below(4) as u8));
                    query.extend((0..unknown).map(|_| 4));
                    target.extend((0..unknown).map(|_| dice.below(4) as u8));
                }
                let run: Vec<_> = (0..length).map(|_| dice.below(4) as u8).collect();
                query.extend_from_slice(&run);
                target.extend_from_slice(&run);
            }
            query.extend((0..dice.below(60)).map(|_| dice.below(4) as u8));
            target.extend((0..dice.below(100)).map(|_| dice.below(4) as u8));
            let sequences = SequencePair { query, target };
            // Chance may add to the score.
            let least = settings.unseen_score();
            if library(&sequences, ScoreWidth::Bits8, least, &options).score == least {
                all.push(sequences);
            }
        }
        for kernels in Kernels::all() {
            let mut finder = Finder::new(kernels);
            assert_eq!(compare(&mut finder, &all, ScoreWidth::Bits8, &options), all.len());
        }
    }
}

/// A query of known bases enough for the least score, and of one less.
#[test]
fn a_query_of_few_known_bases_is_found_where_it_can_be() {
    let options = BwaOptions::default().library().unwrap();
    let mut finder = Finder::new(Kernels::new());
    let mut dice = Dice(4);
    for (known, expected) in [(19, 1), (18, 0)] {
        let mut query: Vec<u8> = (0..known).map(|_| dice.below(4) as u8).collect();
        let target = query.clone();
        query.extend([4; 60]);
        let all = [SequencePair { query, target }];
        assert_eq!(compare(&mut finder, &all, ScoreWidth::Bits8, &options), expected);
    }
}

/// One gap of every length that leaves the score, in the middle of an alignment that is otherwise
/// all matches: it reaches as far from the last diagonal as the score allows.
#[test]
fn a_start_behind_the_widest_gap_is_found() {
    let options = BwaOptions::default().library().unwrap();
    let mut dice = Dice(8);
    let mut all = Vec::new();
    for gap in 1..40 {
        for is_deletion in [false, true] {
            let run = |dice: &mut Dice| (0..50).map(|_| dice.below(4) as u8).collect::<Vec<_>>();
            let [first, second] = [run(&mut dice), run(&mut dice)];
            let between: Vec<u8> = (0..gap).map(|_| dice.below(4) as u8).collect();
            let [mut query, mut target] = [first.clone(), first];
            if is_deletion { &mut target } else { &mut query }.extend(between);
            query.extend_from_slice(&second);
            target.extend_from_slice(&second);
            all.push(SequencePair { query, target });
        }
    }
    for kernels in Kernels::all() {
        let mut finder = Finder::new(kernels);
        assert_eq!(compare(&mut finder, &all, ScoreWidth::Bits8, &options), all.len());
    }
}

#[test]
fn a_window_that_lanes_do_not_take_is_aligned_alike() {
    let options = BwaOptions::default().library().unwrap();
    let settings = Settings::of(options.get());
    let mut dice = Dice(9);
    for (length, padding, most, small) in [(120, 16, 255, true), (333, 8, 32_767, false)] {
        for _ in 0..60 {
            let sequences = sequences(&mut dice, length, 600);
            let scores = Scores { settings: &settings, least: 19, padding };
            let whole = FullWindow { sequences: sequences.clone(), first_row: 0 };
            let mut parts = MatrixParts::default();
            kernel::align_scalar(&whole, &scores, most, &mut parts);
            let found = parts.best(&[0], &scores);
            let score_width = if small { ScoreWidth::Bits8 } else { ScoreWidth::Bits16 };
            let expected = library(&sequences, score_width, 19, &options);
            assert_eq!(found.score, expected.score);
            if found.score >= 19 {
                let place = [expected.target[1], expected.query[1]];
                assert_eq!([found.row, found.column].map(|it| it as i32), place);
                assert_eq!(found.second, expected.second);
            }
        }
    }
    // A window of more rows than a kernel numbers.
    let mut long = sequences(&mut dice, 100, kernel::MOST_ROWS + 5000);
    let from = kernel::MOST_ROWS + 1000;
    long.target[from..from + 100].copy_from_slice(&long.query.clone());
    let mut finder = Finder::new(Kernels::new());
    let reached = compare(&mut finder, &[long], ScoreWidth::Bits8, &options);
    assert_eq!(reached, 1);
}

#[test]
fn sixteen_bits_are_taken_where_eight_could_pass_their_end() {
    fn t(length: usize, penalty: i32, expected: ScoreWidth) {
        let options = BwaOptions { mismatch_penalty: Some(penalty), ..<_>::default() };
        let settings = Settings::of(options.library().unwrap().get());
        assert_eq!(width(length, &settings), expected, "{length} {penalty}");
    }
    t(249, 4, ScoreWidth::Bits8);
    t(249, 5, ScoreWidth::Bits8);
    t(249, 6, ScoreWidth::Bits16);
    t(250, 4, ScoreWidth::Bits16);
    t(245, 9, ScoreWidth::Bits8);
    t(246, 9, ScoreWidth::Bits16);
}
