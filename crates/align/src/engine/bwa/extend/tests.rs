//! Extensions against those of the library, for every width of lanes.

use super::super::certified_tests::Dice;
use super::super::oracle::index::Options;
use super::super::{BwaOptions, Preset, oracle};
use super::dispatch::{KernelKind, Kernels};
use super::flank::{Extension, Flank, inner_band};
use super::*;

/// The bases of a flank, and what it starts from.
#[derive(Debug, Clone)]
struct Case {
    query: Vec<u8>,
    target: Vec<u8>,
    seed_score: i32,
    band: i32,
}

/// A read next to a copy of it with mismatches and gaps, some of them long, and what may
/// follow it.
fn case(dice: &mut Dice, longest: usize) -> Case {
    let letters = 1 + dice.below(4);
    let length = 1 + dice.below(longest);
    let mut query: Vec<u8> = (0..length).map(|_| dice.below(letters) as u8).collect();
    if dice.below(4) == 0 {
        let period = 1 + dice.below(6);
        (period..length).for_each(|at| query[at] = query[at - period]);
    }
    let mut target = query.clone();
    for _ in 0..dice.below(8) {
        let at = dice.below(target.len() + 1);
        let count = if dice.below(5) == 0 { 1 + dice.below(longest) } else { 1 + dice.below(4) };
        match dice.below(3) {
            0 if at < target.len() => target[at] = dice.below(4) as u8,
            1 => (0..count).for_each(|_| target.insert(at, dice.below(4) as u8)),
            _ => drop(target.splice(at..target.len().min(at + count), [])),
        }
    }
    let behind = dice.below(2 * longest);
    match dice.below(3) {
        0 => target.extend((0..behind).map(|_| dice.below(letters) as u8)),
        1 => target.truncate(behind),
        _ => (0..behind).for_each(|at| target.push(query[at % length])),
    }
    for _ in 0..if dice.below(4) == 0 { 1 + dice.below(3) } else { 0 } {
        let at = dice.below(length);
        query[at] = if dice.below(4) == 0 { 5 } else { 4 };
    }
    let highest = if dice.below(3) == 0 { 2 * longest } else { 60 };
    let seed_score = 1 + dice.below(highest) as i32;
    let bands = [100, 100, 100, 200, 2, 1, 7, 30];
    Case { query, target, seed_score, band: bands[dice.below(bands.len())] }
}

impl Case {
    fn flank(&self, clip: i32, settings: &Settings) -> Flank<'_> {
        let Case { query, target, seed_score, band } = self;
        let band = inner_band([query.len() as i32, clip, *band], settings);
        Flank { query, target, seed_score: *seed_score, band }
    }

    fn library(&self, clip: i32, options: &Options) -> Extension {
        let numbers = [self.band, clip, self.seed_score];
        let found = oracle::extended(options, [&self.query, &self.target], numbers);
        Extension {
            score: found.score,
            query_bases: found.read_end,
            target_bases: found.reference_end,
            end_score: found.whole_score,
            end_target_bases: found.whole_reference_end,
            off_diagonal: found.most_off,
        }
    }
}

/// Where no score is left at the end of the read, it does not matter how it was reached.
fn told(found: Extension) -> Extension {
    match found.end_score {
        ..=0 => Extension { end_score: 0, end_target_bases: 0, ..found },
        _ => found,
    }
}

fn all_options() -> Vec<BwaOptions> {
    let options = BwaOptions::default;
    vec![
        options(),
        BwaOptions { mismatch_penalty: Some(1), ..options() },
        BwaOptions { mismatch_penalty: Some(9), gap_open: Some([16, 16]), ..options() },
        BwaOptions { gap_open: Some([1, 2]), gap_extend: Some([3, 2]), ..options() },
        BwaOptions { gap_open: Some([0, 0]), gap_extend: Some([1, 1]), ..options() },
        BwaOptions { preset: Some(Preset::Intractg), ..options() },
        BwaOptions { mismatch_penalty: Some(200), ..options() },
    ]
}

fn scale(count: usize) -> usize {
    if std::env::var_os("SEQLOOM_SLOW").is_some() { 50 * count } else { count }
}

#[test]
fn extensions_are_those_of_the_library_for_every_width() {
    let mut dice = Dice(41);
    let mut seen = [0; 3];
    for (of_options, options) in all_options().iter().enumerate() {
        let options = options.library().unwrap();
        let settings = Settings::of(options.get());
        let rounds = scale(if of_options == 0 { 120 } else { 30 });
        for round in 0..rounds {
            let longest = [20, 90, 140, 140, 300][round % 5];
            let clip = [5, 0, 20, 100][dice.below(4)];
            let cases: Vec<_> = (0..64).map(|_| case(&mut dice, longest)).collect();
            let expected: Vec<_> = cases.iter().map(|case| case.library(clip, &options)).collect();
            for mut kernels in Kernels::all() {
                for kind in [KernelKind::Bits8, KernelKind::Bits16, KernelKind::Scalar] {
                    let of_size = |at: &usize| {
                        let own = KernelKind::of(&cases[*at].flank(clip, &settings), &settings);
                        own <= kind
                    };
                    let mut chosen: Vec<usize> = (0..cases.len()).filter(of_size).collect();
                    // By themselves, so that both bodies are compared.
                    let is_plain =
                        |at: &usize| cases[*at].flank(clip, &settings).is_plain(&settings);
                    chosen.sort_by_key(is_plain);
                    let lanes = kernels.lanes(kind);
                    let alike = chosen.chunk_by(|one, next| is_plain(one) == is_plain(next));
                    for chosen in alike.flat_map(|some| some.chunks(lanes)) {
                        let flanks: Vec<_> =
                            chosen.iter().map(|&at| cases[at].flank(clip, &settings)).collect();
                        let mut found = Vec::new();
                        kernels.extend(&flanks, kind, &settings, &mut found);
                        for (&at, &found) in chosen.iter().zip(&found) {
                            let case = &cases[at];
                            assert_eq!(told(found), told(expected[at]), "{kind:?} {case:?}");
                            seen[kind as usize] += 1;
                        }
                    }
                }
            }
        }
    }
    assert!(seen.iter().all(|&count| count > 1000), "{seen:?}");
}

#[test]
fn what_the_diagonal_decides_is_what_the_matrix_gives() {
    let mut dice = Dice(43);
    let (mut decided, mut all) = (0, 0);
    for options in all_options() {
        let options = options.library().unwrap();
        let settings = Settings::of(options.get());
        for _ in 0..scale(4000) {
            let mut case = case(&mut dice, 60);
            // Mostly along the diagonal, with a mismatch or two.
            if dice.below(4) > 0 {
                let behind = dice.below(10);
                case.target = case.query.iter().map(|&code| code & 3).collect();
                case.target.extend((0..behind).map(|_| dice.below(4) as u8));
                for _ in 0..dice.below(3) {
                    let at = dice.below(case.query.len());
                    case.target[at] = dice.below(4) as u8;
                }
            }
            all += 1;
            if let Some(found) = flanks::decided(&case.flank(5, &settings), 100, &settings) {
                decided += 1;
                assert_eq!(told(found), told(case.library(5, &options)), "{case:?}");
            }
        }
    }
    assert!(decided * 4 > all, "{decided} of {all}");
}
