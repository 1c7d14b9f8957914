//! Vectors against the definition.

use super::super::forward::{LEAST_EXPONENT, exp2, scaled_ln};
use super::*;
use proptest::prelude::*;
use seqloom_testkit::random::Random;

/// A question that owns its numbers: means of k-mers and their standard deviations, events.
#[derive(Debug, Clone)]
struct Owned {
    kmers: Vec<ScaledLevel>,
    levels: Vec<f32>,
    backwards: bool,
}

impl Owned {
    fn question(&self) -> Question<'_> {
        let levels = Levels { mean_pa: &self.levels, backwards: self.backwards };
        Question { levels, kmers: &self.kmers }
    }
}

fn level(mean_pa: f32, stdv_pa: f32) -> ScaledLevel {
    ScaledLevel { mean_pa, stdv_pa, log_stdv: stdv_pa.ln() }
}

/// Questions whose events follow the k-mers more or less, or not at all.
fn owned(most_kmers: usize) -> impl Strategy<Value = Owned> {
    let kmer = (60.0..120.0_f32, 1.0..4.0_f32, 0..4_usize, prop::array::uniform4(-2.5..2.5_f32));
    let noise = prop_oneof![4 => Just(1.0_f32), 1 => Just(12.0)];
    (prop::collection::vec(kmer, 1..most_kmers), noise, any::<bool>()).prop_map(
        |(kmers, noise, backwards)| {
            let mut levels = Vec::new();
            for (mean, stdv, count, deviations) in &kmers {
                levels.extend(deviations[..*count].iter().map(|d| mean + stdv * noise * d));
            }
            if backwards {
                levels.reverse();
            }
            let kmers = kmers.iter().map(|kmer| level(kmer.0, kmer.1)).collect();
            Owned { kmers, levels, backwards }
        },
    )
}

fn clipping() -> impl Strategy<Value = Clipping> {
    any::<(bool, bool)>().prop_map(|(start, end)| Clipping { start, end })
}

/// Every width of vectors gives the same bits, and what is in other lanes does not show.
fn assert_same_bits(owned: &[Owned], transitions: &Transitions, clipping: Clipping) {
    let questions: Vec<_> = owned.iter().map(Owned::question).collect();
    let mut scratch = ScoreScratch::default();
    let mut bits = |width, questions: &[Question<'_>]| {
        let extents = load(&mut scratch, questions);
        simd::forward_with(width, &mut scratch, &extents, transitions, clipping).map(f64::to_bits)
    };
    let plain = bits(simd::Width::Plain, &questions);
    for width in simd::Width::available() {
        assert_eq!(bits(width, &questions), plain, "{width:?}: {owned:?}");
    }
    for (question, together) in questions.iter().zip(plain) {
        assert_eq!(bits(simd::Width::Plain, &[*question])[0], together, "{question:?}");
    }
}

proptest! {
    #[test]
    fn eight_at_once_score_as_the_definition(
        owned in prop::collection::vec(owned(40), 0..10),
        clipping in clipping(),
        events_per_base in 0.5..5.0_f64,
    ) {
        let transitions = Transitions::new(events_per_base);
        let questions: Vec<_> = owned.iter().map(Owned::question).collect();
        let scores = score(&mut ScoreScratch::default(), &questions, &transitions, clipping);
        for (question, score) in questions.iter().zip(scores) {
            let expected = in_logarithms(question, &transitions, clipping);
            let close = (score - expected).abs() < 1e-6 || score == expected;
            prop_assert!(close, "{score} instead of {expected} for {question:?}");
        }
    }

    #[test]
    fn every_width_of_vectors_and_every_lane_give_the_same_bits(
        owned in prop::collection::vec(owned(30), 1..9),
        clipping in clipping(),
        events_per_base in 1.1..3.0_f64,
    ) {
        let transitions = Transitions::new(events_per_base);
        assert_same_bits(&owned, &transitions, clipping);
    }
}

#[test]
fn every_width_scores_long_questions_alike() {
    println!("vectors of the profile HMM: {:?}", simd::Width::available().collect::<Vec<_>>());
    let mut random = Random::new(1);
    let mut question = |most_kmers: usize, noise_pa: f32| {
        let kmers: Vec<_> =
            (0..most_kmers).map(|_| level(random.between(60, 120) as f32, 1.5)).collect();
        let mut levels = Vec::new();
        for kmer in &kmers {
            for _ in 0..random.between(0, 3) {
                levels.push(kmer.mean_pa + noise_pa * (random.below(2001) as f32 / 1000.0 - 1.0));
            }
        }
        Owned { kmers, levels, backwards: false }
    };
    // Lanes of other lengths; noise for which probabilities become zero or are next to it.
    let owned: Vec<_> =
        (0..LANES).map(|lane| question(40 * (lane + 1), 9.0 * lane as f32)).collect();
    for clipping in [Clipping::BOTH, Clipping::NEITHER] {
        assert_same_bits(&owned, &Transitions::new(1.7), clipping);
    }
}

#[test]
fn how_value_and_exponent_share_the_power_does_not_show() {
    for (value, exponent) in [(1.3, 0), (0.999, -7), (1e-200, 40), (f64::MIN_POSITIVE, 1000)] {
        let logarithm = scaled_ln(value, exponent);
        assert!((logarithm - (value.ln() + exponent as f64 * 2.0_f64.ln())).abs() < 1e-11);
        for shift in [1, 60, 800] {
            let power = 2.0_f64.powi(shift);
            assert_eq!(logarithm, scaled_ln(value * power, exponent - i64::from(shift)));
        }
    }
    assert_eq!(scaled_ln(0.0, 5), f64::NEG_INFINITY);
}

#[test]
fn one_kmer_and_one_event_can_be_added_up_by_hand() {
    let owned = Owned { kmers: vec![level(80.0, 2.0)], levels: vec![82.0], backwards: false };
    let density = (-0.5_f64).exp() / (2.0 * (2.0 * std::f64::consts::PI).sqrt());
    let expected = (0.5 * density * 0.5).ln();
    let transitions = Transitions::new(1.8);
    for clipping in [Clipping::BOTH, Clipping::NEITHER] {
        let questions = [owned.question()];
        let found = score(&mut ScoreScratch::default(), &questions, &transitions, clipping)[0];
        assert!((found - expected).abs() < 1e-6, "{found} {expected}");
    }
}

#[test]
fn questions_beyond_the_range_of_doubles_are_answered_too() {
    let kmers = (0..150).map(|at| level(60.0 + (at * 37 % 60) as f32, 1.2)).collect();
    let levels = (0..900).map(|at| 500.0 + (at % 7) as f32).collect();
    let owned = Owned { kmers, levels, backwards: false };
    let transitions = Transitions::new(1.8);
    for clipping in [Clipping::BOTH, Clipping::NEITHER] {
        let question = owned.question();
        let found = score(&mut ScoreScratch::default(), &[question], &transitions, clipping)[0];
        assert_eq!(found, in_logarithms(&question, &transitions, clipping));
        assert!(found.is_finite() && found < -2000.0, "{found}");
    }
}

#[test]
fn nothing_scores_minus_infinity() {
    let none = Owned { kmers: vec![], levels: vec![80.0], backwards: false };
    let no_events = Owned { kmers: vec![level(80.0, 2.0)], levels: vec![], backwards: true };
    let questions = [none.question(), no_events.question()];
    let transitions = Transitions::new(1.8);
    let scores = score(&mut ScoreScratch::default(), &questions, &transitions, Clipping::BOTH);
    assert_eq!(scores, [f64::NEG_INFINITY; LANES]);
}

#[test]
fn reads_with_no_more_events_than_bases_have_scores() {
    let kmers = vec![level(80.0, 2.0), level(90.0, 2.0)];
    let owned = Owned { kmers, levels: vec![80.0, 81.0, 90.0], backwards: false };
    for events_per_base in [0.2, 1.0, 1.000_000_1] {
        let transitions = Transitions::new(events_per_base);
        let questions = [owned.question()];
        let found = score(&mut ScoreScratch::default(), &questions, &transitions, Clipping::BOTH);
        assert!(found[0].is_finite(), "{events_per_base}: {}", found[0]);
    }
}

#[test]
fn powers_of_two_are_exact_enough() {
    for step in 0..20_000 {
        let exponent = -905.0 + f64::from(step) * 0.0455;
        let found = exp2(&[exponent; LANES])[0];
        let expected = if exponent > LEAST_EXPONENT { exponent.exp2() } else { 0.0 };
        assert!((found - expected).abs() <= 2.7e-9 * expected, "{exponent}: {found} {expected}");
    }
}
