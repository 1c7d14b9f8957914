//! The best way over diagonals against a look at all of them.

use super::*;
use proptest::prelude::*;

const INTRON_COST: i32 = 3 * SCALE - 5;

/// Every intron may be one, and costs the same.
struct All;

impl Introns for All {
    fn splice(&self, _left: i64, _right: i64) -> Option<Splice> {
        Some(Splice { cost: INTRON_COST, doubt: 0, anchor: 1, is_turned: None })
    }

    fn known_lengths(&self, _lefts: Range<i64>, _out: &mut Vec<i64>) {}

    fn least_cost(&self, _bases: i64, _is_known: bool) -> i32 {
        INTRON_COST
    }

    fn lengths(&self) -> [i64; 2] {
        [20, 1000]
    }
}

fn scoring() -> Scoring {
    Scoring::of(false, [0, 6, 2, 1, 5, 3, 5, 3], 1)
}

fn scaled(values: &[i32]) -> Vec<i32> {
    values.iter().map(|value| value * SCALE).collect()
}

fn sums(values: &[i32]) -> Vec<i32> {
    let mut sum = 0;
    let add = |value: &i32| {
        sum += value * SCALE;
        sum
    };
    std::iter::once(0).chain(values.iter().map(add).collect::<Vec<_>>()).collect()
}

/// What is left to gain after base `at` of a diagonal, on which a base is or not.
fn rest(lanes: &[DiagonalCosts], clips: &[i32], (at, lane, has_base): (usize, usize, bool)) -> i32 {
    let length = clips.len() - 1;
    let mut best = if has_base { clips[at] - clips[length] } else { LOW };
    if at == length {
        return best;
    }
    let costs = &lanes[lane].costs;
    let on = rest(lanes, clips, (at + 1, lane, true));
    best = best.max(on - costs[at]);
    for to in 0..lanes.len() {
        if has_base && (20..=1000).contains(&(lanes[to].start - lanes[lane].start)) {
            best = best.max(rest(lanes, clips, (at, to, false)) - INTRON_COST);
        }
    }
    best
}

proptest! {
    #[test]
    fn the_best_way_is_the_best_of_all(
        costs in proptest::collection::vec(
            proptest::collection::vec(prop::sample::select(vec![0, 0, 2, 6]), 8), 1..4,
        ),
        clips in proptest::collection::vec(1_i32..3, 8),
    ) {
        // A read that differs everywhere is nowhere.
        prop_assume!(costs.iter().flatten().any(|cost| *cost == 0));
        let lanes: Vec<DiagonalCosts> = costs
            .iter()
            .enumerate()
            .map(|(at, costs)| DiagonalCosts { start: 100 + 50 * at as i64, costs: scaled(costs) })
            .collect();
        let clips = sums(&clips);
        let all = (0..8).flat_map(|at| (0..lanes.len()).map(move |lane| (at, lane)));
        let ways = all.map(|(at, lane)| rest(&lanes, &clips, (at, lane, false)) - clips[at]);
        let (expected, scoring) = (ways.max().unwrap(), scoring());
        let mut joiner = Joiner::default();
        let question = Question { scoring: &scoring, clips: &clips, introns_late: false };
        let passed = vec![false; lanes.len()];
        let found = joiner.best(question, &lanes, &passed, &All);
        let found = found.unwrap();
        prop_assert_eq!(found, expected);
        // The steps are worth what was said.
        let steps = &joiner.steps;
        let of_step = |step: &Step| {
            let costs = &lanes[step.lane].costs;
            costs[step.from..step.end].iter().sum::<i32>()
        };
        let introns = steps.len() as i32 - 1;
        let clipped = clips[steps[0].from] + clips[8] - clips[steps[steps.len() - 1].end];
        let worth =
            -steps.iter().map(of_step).sum::<i32>() - clipped - introns * INTRON_COST;
        prop_assert_eq!(worth, found);
        prop_assert!(steps.windows(2).all(|two| two[0].end == two[1].from && two[1].is_spliced));
    }
}

#[test]
fn gaps_are_crossed_where_both_sides_are_known() {
    let t = |shift: i64, lost: [usize; 2], expected: i32| {
        // The read matches the first diagonal before, the other after.
        let costs = |from: usize, end: usize| -> Vec<i32> {
            scaled(&(0..30).map(|at| i32::from(!(from..end).contains(&at)) * 6).collect::<Vec<_>>())
        };
        let lanes = [
            DiagonalCosts { start: 100, costs: costs(0, lost[0]) },
            DiagonalCosts { start: 100 + shift, costs: costs(lost[1], 30) },
        ];
        let (scoring, clips) = (scoring(), sums(&[2; 30]));
        let question = Question { scoring: &scoring, clips: &clips, introns_late: false };
        let mut joiner = Joiner::default();
        assert_eq!(joiner.best(question, &lanes, &[false; 2], &All), Some(expected * SCALE));
    };
    // Two bases of the reference left out; three bases of the read put in.
    t(2, [15, 15], -11);
    t(-3, [15, 18], -14);
}

#[test]
fn anchors_are_as_long_as_introns_want() {
    struct Long;
    impl Introns for Long {
        fn splice(&self, _left: i64, _right: i64) -> Option<Splice> {
            Some(Splice { cost: 0, doubt: 2 * SCALE, anchor: 8, is_turned: Some(true) })
        }

        fn known_lengths(&self, _lefts: Range<i64>, _out: &mut Vec<i64>) {}

        fn least_cost(&self, _bases: i64, _is_known: bool) -> i32 {
            2 * SCALE
        }

        fn lengths(&self) -> [i64; 2] {
            [20, 1000]
        }
    }
    let t = |cut: usize, expected: i32, doubt| {
        let costs = |from: usize, end: usize| -> Vec<i32> {
            scaled(&(0..30).map(|at| i32::from(!(from..end).contains(&at)) * 6).collect::<Vec<_>>())
        };
        let lanes = [
            DiagonalCosts { start: 100, costs: costs(0, cut) },
            DiagonalCosts { start: 500, costs: costs(cut, 30) },
        ];
        let (scoring, clips) = (scoring(), sums(&[1; 30]));
        let question = Question { scoring: &scoring, clips: &clips, introns_late: false };
        let mut joiner = Joiner::default();
        assert_eq!(joiner.best(question, &lanes, &[false; 2], &Long), Some(expected * SCALE));
        assert_eq!(joiner.doubt, doubt * SCALE);
        assert_eq!(joiner.is_turned, (doubt > 0).then_some(true));
    };
    t(8, -2, 2);
    t(22, -2, 2);
    // Seven bases are clipped.
    t(7, -7, 0);
    t(23, -7, 0);
}
