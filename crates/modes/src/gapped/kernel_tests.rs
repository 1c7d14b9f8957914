//! The kernel against the traceback, and both against a table of the whole matrix.

use proptest::prelude::*;

#[cfg(target_arch = "x86_64")]
use super::super::simd;
use super::super::traceback::{Problem, TracebackMatrix};
use super::*;
use crate::by_score::alignment::{CLIP, DELETION, INSERTION, MATCH};
use crate::by_score::score::{LOWEST, MOST_BONUS, MOST_PENALTY};
use crate::query::LONGEST_READ;

/// The whole matrix in wide numbers, three tables, cells outside the band left out.
fn oracle(codes: &[u8], penalties: &[i16], window: &[u8], scoring: &Scoring) -> i32 {
    const NONE: i32 = -1_000_000;
    let (rows, columns) = (codes.len(), window.len());
    let mut tables = vec![vec![[NONE; 3]; columns + 1]; rows + 1];
    // Row 0 is before the first base: an alignment may begin after any place.
    tables[0].iter_mut().for_each(|cell| cell[0] = 0);
    let barrier = i64::from(scoring.gap_barrier);
    let mut best = NONE;
    for row in 1..=rows {
        for column in 1..=columns {
            let diagonal = column as i64 - 1 - (row as i64 - 1) - MARGIN as i64;
            if !(-31..=32).contains(&diagonal) {
                continue;
            }
            let worth = match window[column - 1] {
                WALL => NONE,
                UNKNOWN => -i32::from(scoring.unknown),
                code if code == codes[row - 1] => scoring.match_bonus.into(),
                _ => -i32::from(penalties[row - 1]),
            };
            let best_of = |cell: [i32; 3]| cell.into_iter().max().unwrap();
            let (before, after) = (row as i64, (rows - row) as i64);
            let opened = |cell: [i32; 3], own: usize, gap: GapPenalty| {
                let longer = cell[own] - i32::from(gap.extend);
                longer.max(best_of(cell) - i32::from(gap.first()))
            };
            let in_read = if before >= barrier && after >= barrier {
                opened(tables[row][column - 1], 1, scoring.read_gap)
            } else {
                NONE
            };
            let in_reference = if before > barrier && after >= barrier {
                opened(tables[row - 1][column], 2, scoring.reference_gap)
            } else {
                NONE
            };
            let mut from = best_of(tables[row - 1][column - 1]);
            if scoring.is_local {
                from = from.max(0);
            }
            let cell = [from.saturating_add(worth).max(NONE), in_read, in_reference];
            tables[row][column] = cell;
            if scoring.is_local || row == rows {
                best = best.max(best_of(cell));
            }
        }
    }
    if scoring.is_local { best.max(0) } else { best }
}

/// What a CIGAR is worth.
fn worth(problem: &Problem<'_>, start: usize, ops: &[u32]) -> i32 {
    let (mut at, mut place, mut score) = (0, start, 0);
    for op in ops {
        let count = (op >> 4) as usize;
        let gap = |gap: GapPenalty| i32::from(gap.open) + i32::from(gap.extend) * count as i32;
        match op & 15 {
            MATCH => {
                for _ in 0..count {
                    score += match problem.window[place] {
                        UNKNOWN => -i32::from(problem.scoring.unknown),
                        code if code == problem.codes[at] => problem.scoring.match_bonus.into(),
                        _ => -i32::from(problem.penalties[at]),
                    };
                    at += 1;
                    place += 1;
                }
            }
            DELETION => {
                score -= gap(problem.scoring.read_gap);
                place += count;
            }
            INSERTION => {
                score -= gap(problem.scoring.reference_gap);
                at += count;
            }
            kind => {
                assert_eq!(kind, CLIP);
                at += count;
            }
        }
    }
    assert_eq!(at, problem.codes.len());
    score
}

/// A read off a window of so many bases, with up to so many changes: a base, some left out, some
/// put in.
fn problems(
    bases: std::ops::Range<usize>,
    changes: usize,
) -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
    let change = (any::<prop::sample::Index>(), 0_u8..3, 1_usize..20, 0_u8..5);
    let changes = proptest::collection::vec(change, 0..changes);
    let window = proptest::collection::vec(0_u8..4, bases);
    (window, changes, 0_usize..12, 0_usize..12).prop_map(|(mut window, changes, front, after)| {
        let length = window.len();
        let mut read = window[MARGIN..length - MARGIN - 1].to_vec();
        for (at, kind, count, code) in changes {
            let at = at.index(read.len());
            let count = count.min(read.len() - at);
            match kind {
                0 => read[at] = code,
                1 if read.len() > count + 1 => drop(read.drain(at..at + count)),
                _ => drop(read.splice(at..at, std::iter::repeat_n(code % 4, count))),
            }
            // A read of many insertions is longer than its window.
            if let Some(base) = window.get_mut(at).filter(|_| code == 4) {
                *base = UNKNOWN;
            }
        }
        read.truncate(LONGEST_READ);
        let length = window.len();
        window[..front].fill(WALL);
        window[length - after..].fill(WALL);
        (read, window)
    })
}

/// Compares kernel and traceback with the whole matrix. `seed` gives the qualities of the bases.
fn compare(
    (read, window): (&[u8], &[u8]),
    scoring: &Scoring,
    gaps_late: bool,
    seed: u64,
) -> Result<(), TestCaseError> {
    let qualities = (0..read.len()).map(|at| (seed >> (at % 58)) as u8 % 42);
    let penalties: Vec<i16> = qualities.map(|it| scoring.mismatch_at(it)).collect();
    let mut window = window.to_vec();
    window.resize(read.len() + 2 * MARGIN + 1, WALL);
    let expected = oracle(read, &penalties, &window, scoring);

    let mut profile = Profile::default();
    // What was there before leaves nothing.
    profile.take(&[1; 300], &[3; 300], scoring);
    profile.take(read, &penalties, scoring);
    let wide: Vec<i16> = window.iter().map(|&code| code.into()).collect();
    let is_plain = window.iter().all(|&code| code < UNKNOWN);
    let found = best_score::<[i16; LANES]>(&profile, &wide, is_plain, scoring);
    #[cfg(target_arch = "x86_64")]
    if simd::has_avx2() {
        let in_registers = best_score::<simd::avx2::Registers>(&profile, &wide, is_plain, scoring);
        prop_assert_eq!(in_registers, found);
    }
    let problem =
        Problem { codes: read, penalties: &penalties, window: &window, scoring, gaps_late };
    let (mut table, mut ops) = (TracebackMatrix::default(), Vec::new());
    let traced = problem.trace(&mut table, &mut ops);
    let none = i32::from(LOWEST);
    if expected < none {
        prop_assert!(found < none && traced.score < none);
    } else {
        prop_assert_eq!(found, expected);
        prop_assert_eq!(traced.score, expected);
        if expected > 0 || !scoring.is_local {
            prop_assert_eq!(worth(&problem, traced.start, &ops), expected, "{:?}", ops);
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn the_best_score_is_that_of_the_whole_matrix(
        (read, window) in problems(100..260, 5),
        is_local in any::<bool>(),
        numbers in (1_i16..6, 0_i16..9, 0_i16..9, 0_i16..3),
        gaps in [0_i16..7, 1_i16..5, 0_i16..7, 1_i16..5],
        barrier in 1_u16..6,
        gaps_late in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let (bonus, most, least, unknown) = numbers;
        let [a, b, c, d] = gaps;
        let scoring = Scoring::of(is_local, [bonus, most, least, unknown, a, b, c, d], barrier);
        compare((&read, &window), &scoring, gaps_late, seed)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// With the scores that are allowed, the greatest of them too.
    #[test]
    fn the_best_score_of_a_long_read_is_that_of_the_whole_matrix(
        (read, window) in problems(400..LONGEST_READ + 2 * MARGIN + 1, 40),
        is_local in any::<bool>(),
        numbers in (1..=MOST_BONUS, 0..=MOST_PENALTY, 0..=MOST_PENALTY, 0..=MOST_PENALTY),
        gaps in [0..=MOST_PENALTY, 0..=MOST_PENALTY, 0..=MOST_PENALTY, 0..=MOST_PENALTY],
        are_greatest in any::<bool>(),
        barrier in 1_u16..1000,
        gaps_late in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let (bonus, most, least, unknown) = numbers;
        let [a, b, c, d] = gaps;
        let numbers = match are_greatest {
            true => [MOST_BONUS, MOST_PENALTY, MOST_PENALTY, MOST_PENALTY, 5, 3, 5, 3],
            false => [bonus, most, least, unknown, a, b, c, d],
        };
        let scoring = Scoring::of(is_local, numbers, barrier % 40 + 1);
        compare((&read, &window), &scoring, gaps_late, seed)?;
    }
}

#[test]
fn the_longest_read_has_its_score_at_both_bounds_and_none_over_the_end_of_a_sequence() {
    let greatest = [MOST_BONUS, MOST_PENALTY, MOST_PENALTY, MOST_PENALTY, 30, 30, 30, 30];
    let read = vec![2; LONGEST_READ];
    let places = LONGEST_READ + 2 * MARGIN + 1;
    for is_local in [false, true] {
        let scoring = Scoring::of(is_local, greatest, 4);
        // All bases match, or none does, or all are unknown.
        for code in [2, 1, UNKNOWN] {
            compare((&read, &vec![code; places]), &scoring, false, 0).unwrap();
        }
        // The sequence ends somewhere under the read: a clipped one is worth what is on it.
        for end in [places - 40, places / 2, 40] {
            let mut window = vec![2; places];
            window[end..].fill(WALL);
            compare((&read, &window), &scoring, false, 0).unwrap();
            window.reverse();
            compare((&read, &window), &scoring, true, 0).unwrap();
        }
    }
}

#[test]
fn a_read_that_nothing_can_hold_has_no_alignment() {
    let (read, penalties) = ([0; 40], [6; 40]);
    let window = vec![WALL; read.len() + 2 * MARGIN + 1];
    for (is_local, gaps_late) in [(false, false), (false, true), (true, false), (true, true)] {
        let scoring = &Scoring::of(is_local, [2, 6, 2, 1, 5, 3, 5, 3], 4);
        let problem =
            Problem { codes: &read, penalties: &penalties, window: &window, scoring, gaps_late };
        let mut ops = Vec::new();
        let traced = problem.trace(&mut TracebackMatrix::default(), &mut ops);
        assert!(traced.score < LOWEST.into() || is_local && traced.score == 0);
        assert_eq!(ops, [40 << 4 | CLIP]);
    }
}
