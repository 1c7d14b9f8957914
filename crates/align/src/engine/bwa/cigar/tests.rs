//! Paths against those of the library.

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use seqloom_testkit::genome::{Contig, Genome};

use super::super::certified_tests::{Dice, turned};
use super::super::differences::differences;
use super::super::oracle::Compared;
use super::super::oracle::emit::{self, region_at};
use super::super::oracle::index::Options;
use super::super::{BwaOptions, Preset, emission_tests};
use super::*;

/// Two sequences of codes, the second made of the first with changes and gaps, some of them in
/// repeats, where several paths score the same.
fn strings() -> impl Strategy<Value = [Vec<u8>; 2]> {
    let edits = proptest::collection::vec((0..4_u8, 0..200_usize, 1..20_usize, 0..4_u8), 0..7);
    (any::<u64>(), 1..200_usize, 1..5_usize, edits).prop_map(|(seed, length, period, edits)| {
        let mut dice = Dice(seed | 1);
        let letters = 4.min(1 + period);
        let mut query: Vec<u8> = (0..length).map(|_| dice.below(letters) as u8).collect();
        if seed % 3 == 0 {
            // A tandem repeat.
            for at in period..length {
                query[at] = query[at - period];
            }
        }
        let mut target = query.clone();
        for (kind, at, count, code) in edits {
            let at = at % target.len();
            match kind {
                0 => target[at] = code,
                1 => drop(target.drain(at..(at + count).min(target.len() - 1).max(at))),
                2 => drop(target.splice(at..at, (0..count).map(|it| (it % 4) as u8))),
                _ => query[at % length] = 4,
            }
        }
        [query, target]
    })
}

fn all_options() -> Vec<Options> {
    let options = BwaOptions::default;
    let all = [
        options(),
        BwaOptions { preset: Some(Preset::Intractg), ..options() },
        BwaOptions { gap_open: Some([3, 9]), gap_extend: Some([2, 1]), ..options() },
        BwaOptions { gap_open: Some([0, 0]), gap_extend: Some([1, 3]), ..options() },
        BwaOptions { mismatch_penalty: Some(1), band_width: Some(3), ..options() },
        BwaOptions { mismatch_penalty: Some(200), gap_open: Some([60, 60]), ..options() },
    ];
    all.iter().map(|it| it.library().unwrap()).collect()
}

fn run<S: Strategy>(cases: u32, inputs: &S, check: impl Fn(S::Value)) {
    let config = ProptestConfig { failure_persistence: None, cases, ..<_>::default() };
    let check = |input| {
        check(input);
        Ok(())
    };
    TestRunner::new(config).run(inputs, check).unwrap();
}

#[test]
fn global_paths_are_those_of_the_library() {
    let options = all_options();
    let inputs = (strings(), 0..120_i32, 0..options.len());
    run(4000, &inputs, |([query, target], wider, at)| {
        let settings = Settings::of(options[at].get());
        let band = (query.len() as i32 - target.len() as i32).abs() + wider;
        let mut cigar = Vec::new();
        let score =
            Global::default().align([&query, &target], band as usize, &settings, &mut cigar);
        let expected = emit::global(&query, &target, band, &options[at]);
        assert_eq!((score, cigar), expected, "{query:?} {target:?} {band}");
    });
}

#[test]
fn narrow_bands_have_the_paths_of_wide_ones() {
    let options = all_options();
    let inputs = (strings(), 0..120_i32, 0..options.len());
    run(20_000, &inputs, |([query, target], band, at)| {
        let settings = Settings::of(options[at].get());
        let wide = inner_band([&query, &target], band, &settings);
        let mut expected = Vec::new();
        let score = Global::default().align([&query, &target], wide, &settings, &mut expected);
        let is_straight = band == 0 && query.len() == target.len();
        let mut tracer = Tracer { query, target, ..Tracer::default() };
        let found = tracer.align(band, &settings);
        if is_straight {
            assert_eq!(tracer.cigar, [operation(tracer.query.len(), MATCH)]);
        } else {
            let Tracer { query, target, cigar, .. } = tracer;
            assert_eq!((found, cigar), (score, expected), "{query:?} {target:?} {band} {at}");
        }
    });
}

/// A gap pays if its path scores one more than that without: of equal ones bwa takes the latter.
#[test]
fn a_gap_is_taken_if_it_scores_more() {
    let t = |mismatch_penalty: i32, changes: usize, has_gap: bool| {
        let options = BwaOptions { mismatch_penalty: Some(mismatch_penalty), ..<_>::default() };
        let options = options.library().unwrap();
        let settings = Settings::of(options.get());
        // Runs of one letter: a base further on, they differ where one changes.
        let runs: Vec<u8> = (0..=changes).flat_map(|at| [(at % 4) as u8; 5]).collect();
        let mut dice = Dice(11);
        let [front, back] = [(); 2].map(|()| (0..40).map(|_| dice.below(4) as u8).collect());
        let [front, back]: [Vec<u8>; 2] = [front, back];
        let last = &runs[runs.len() - 1..];
        let query = [&front[..], &runs, &back].concat();
        let target = [&front[..], &runs[1..], last, &back].concat();
        assert_eq!(differences(&query, &target).count(), changes);
        let (score, expected) = emit::global(&query, &target, 100, &options);
        assert_eq!(expected.len() > 1, has_gap, "{mismatch_penalty} {changes}");
        let mut tracer = Tracer { query, target, ..Tracer::default() };
        let found = tracer.align(100, &settings);
        assert_eq!((found, tracer.cigar), (score, expected), "{mismatch_penalty} {changes}");
    };
    t(4, 3, false);
    t(4, 4, true);
    t(3, 3, false);
    t(3, 4, true);
}

/// A genome of three sequences, of which the second is nearly the first, reverse-complemented.
fn engine(options: &BwaOptions) -> (Compared, usize) {
    let mut dice = Dice(5);
    let first = dice.bases(900);
    let mut second = turned(&first);
    (0..40).for_each(|_| dice.substitute(&mut second));
    let third = [dice.bases(300), b"CAG".repeat(60), dice.bases(200)].concat();
    let bases = first.len() + second.len() + third.len();
    let contig = |(number, bases)| Contig { name: format!("c{number}"), bases };
    let contigs = [first, second, third].into_iter().enumerate().map(contig).collect();
    (emission_tests::engine(&Genome { contigs }, options, &[]), bases)
}

/// Regions of reads that are made of the reference with changes and gaps, on both strands, with
/// clips, and with scores below what they are, so that bands grow.
#[test]
fn alignments_of_regions_are_those_of_the_library() {
    let options = BwaOptions::default;
    let all = [
        options(),
        BwaOptions { band_width: Some(4), ..options() },
        BwaOptions { gap_open: Some([1, 2]), ..options() },
        BwaOptions { preset: Some(Preset::Intractg), ..options() },
    ];
    for options in &all {
        let (engine, bases) = engine(options);
        let reference = engine.reference();
        let edits = proptest::collection::vec((0..4_u8, 0..400_usize, 1..25_usize, 0..4_u8), 0..6);
        let inputs = (
            (0..2 * bases, 20..260_usize),
            ([0..30_usize, 0..30_usize], edits),
            (0..60_i32, prop_oneof![Just(0), Just(100), 0..12_i32], any::<bool>()),
        );
        run(1500, &inputs, |((place, length), (clips, edits), (lost, band, secondary))| {
            let sequence = reference.sequence_at(place as i64);
            let span = reference.span(sequence, place as i64);
            let start = place as i64;
            let end = (start + length as i64).min(span.end);
            let mut target = Vec::new();
            reference.window(start, end, &mut target);
            let mut query = target.clone();
            for (kind, at, count, code) in edits {
                let at = at % query.len();
                match kind {
                    0 => query[at] = code,
                    1 => drop(query.drain(at..(at + count).min(query.len() - 1).max(at))),
                    2 => drop(query.splice(at..at, (0..count).map(|it| (it % 4) as u8))),
                    _ => query[at] = 4,
                }
            }
            let mut codes = vec![1; clips[0]];
            codes.extend(&query);
            codes.extend(vec![2; clips[1]]);
            let region = Region {
                reference_end: end,
                read_start: clips[0] as i32,
                read_end: (clips[0] + query.len()) as i32,
                sequence: sequence as i32,
                true_score: query.len() as i32 - lost,
                score: query.len() as i32 - lost,
                band,
                secondary: if secondary { 0 } else { -1 },
                ..region_at(start)
            };
            let ours = emit::our_alignment(&engine, &codes, &region);
            let expected = emit::alignment(&engine, &codes, &region);
            assert_eq!(ours, expected, "{region:?} {codes:?}");
        });
    }
}
