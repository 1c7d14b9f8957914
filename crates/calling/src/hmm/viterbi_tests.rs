//! Diagonals against rows.

use super::*;
use proptest::prelude::*;
use seqloom_testkit::random::Random;

fn level(mean_pa: f32, stdv_pa: f32) -> ScaledLevel {
    ScaledLevel { mean_pa, stdv_pa, log_stdv: stdv_pa.ln() }
}

/// Log-probability of a path as nanopolish adds it up, or None if it is no path.
fn probability(path: &[PathStep], levels: &[f32], kmers: &[ScaledLevel], t: &Transitions) -> f64 {
    let t = t.ln();
    let mut sum = 0.0;
    for (at, step) in path.iter().enumerate() {
        assert_eq!(step.event as usize, at);
        let kmer = kmers[step.kmer as usize];
        let deviation = (levels[at] - kmer.mean_pa) / kmer.stdv_pa;
        if !step.is_bad {
            sum += f64::from(-0.918_938_5 - kmer.log_stdv - 0.5 * deviation * deviation);
        }
        let Some(before) = at.checked_sub(1).map(|before| path[before]) else { continue };
        let moved = step.kmer - before.kmer;
        let skips = |enter: f32| enter + t.skip_again * (moved as f32 - 2.0) + t.skip_left;
        sum += f64::from(match (before.is_bad, step.is_bad, moved) {
            (false, false, 0) => t.stay,
            (false, false, 1) => t.next,
            (false, false, _) => skips(t.skip),
            (false, true, 0) => t.bad,
            (true, true, 0) => t.bad_again,
            (true, false, 0 | 1) => t.bad_left,
            (true, false, _) => skips(t.bad_left),
            (_, true, _) => panic!("a bad event in a new block"),
        });
    }
    sum
}

/// The best path by trying all of them.
fn best(levels: &[f32], kmers: &[ScaledLevel], t: &Transitions) -> f64 {
    fn extend(
        path: &mut Vec<PathStep>,
        best: &mut f64,
        levels: &[f32],
        kmers: &[ScaledLevel],
        t: &Transitions,
    ) {
        let last = path[path.len() - 1];
        if path.len() == levels.len() {
            if last.kmer as usize + 1 == kmers.len() && !last.is_bad {
                *best = best.max(probability(path, levels, kmers, t));
            }
            return;
        }
        for kmer in last.kmer..kmers.len() as u32 {
            for is_bad in [false, true] {
                if is_bad && kmer != last.kmer {
                    continue;
                }
                path.push(PathStep { event: path.len() as u32, kmer, is_bad });
                extend(path, best, levels, kmers, t);
                path.pop();
            }
        }
    }
    let mut found = f64::NEG_INFINITY;
    let mut path = vec![PathStep { event: 0, kmer: 0, is_bad: false }];
    extend(&mut path, &mut found, levels, kmers, t);
    found
}

fn path(levels: &[f32], backwards: bool, kmers: &[ScaledLevel], t: &Transitions) -> Vec<PathStep> {
    let mut path = Vec::new();
    let levels = Levels { mean_pa: levels, backwards };
    align(&mut ViterbiScratch::default(), levels, kmers, t, &mut path);
    path
}

/// The bits of all cells.
fn cells(scratch: &ViterbiScratch) -> Vec<[u32; 3]> {
    let at = |event| (0..scratch.kmers()).map(move |kmer| scratch.cell(event, kmer));
    let planes = [&scratch.matched, &scratch.bad, &scratch.skipped];
    (0..scratch.events()).flat_map(at).map(|at| planes.map(|plane| plane[at].to_bits())).collect()
}

/// Every width of vectors fills the same cells, whatever the scratch held before.
fn assert_widths_agree(kmers: &[ScaledLevel], levels: &[f32], transitions: &Transitions) {
    let logs = transitions.ln();
    let filled = |width| {
        let mut scratch = ViterbiScratch::default();
        let larger = vec![80.0; levels.len() + 10];
        for levels in [&larger, levels] {
            load(&mut scratch, Levels { mean_pa: levels, backwards: false }, kmers);
            simd::fill_with(width, &mut scratch, &logs);
        }
        cells(&scratch)
    };
    let plain = filled(simd::Width::Plain);
    for width in simd::Width::available() {
        assert!(filled(width) == plain, "{width:?}: {levels:?} {kmers:?}");
    }
}

proptest! {
    #[test]
    fn no_path_is_better(
        means in prop::collection::vec(60.0..120.0_f32, 1..5),
        levels in prop::collection::vec(60.0..120.0_f32, 1..6),
    ) {
        let kmers: Vec<_> = means.iter().map(|mean| level(*mean, 6.0)).collect();
        let transitions = Transitions::new(1.8);
        let expected = best(&levels, &kmers, &transitions);
        let path = path(&levels, false, &kmers, &transitions);
        if expected == f64::NEG_INFINITY {
            prop_assert_eq!(path.len(), 1);
            return Ok(());
        }
        let found = probability(&path, &levels, &kmers, &transitions);
        prop_assert!((found - expected).abs() < 1e-3, "{} instead of {}", found, expected);
    }

    #[test]
    fn all_widths_agree_and_backwards_is_forwards_of_the_reverse(
        means in prop::collection::vec(60.0..120.0_f32, 1..60),
        levels in prop::collection::vec(60.0..120.0_f32, 1..90),
    ) {
        let kmers: Vec<_> = means.iter().map(|mean| level(*mean, 3.0)).collect();
        let transitions = Transitions::new(1.8);
        let forwards = path(&levels, false, &kmers, &transitions);
        let reversed: Vec<f32> = levels.iter().rev().copied().collect();
        prop_assert_eq!(&forwards, &path(&reversed, true, &kmers, &transitions));

        assert_widths_agree(&kmers, &levels, &transitions);
    }
}

#[test]
fn every_width_fills_a_long_table_alike() {
    println!("vectors of the Viterbi: {:?}", simd::Width::available().collect::<Vec<_>>());
    let mut random = Random::new(1);
    let kmers: Vec<_> = (0..300)
        .map(|_| level(random.between(60, 120) as f32, random.between(1, 4) as f32))
        .collect();
    let levels: Vec<_> = (0..500).map(|_| random.between(600, 1200) as f32 / 10.0).collect();
    assert_widths_agree(&kmers, &levels, &Transitions::new(1.7));
}

#[test]
fn nothing_to_align_gives_nothing() {
    let transitions = Transitions::new(1.8);
    assert_eq!(path(&[], false, &[level(80.0, 2.0)], &transitions), []);
    assert_eq!(path(&[80.0], false, &[], &transitions), []);
}
