//! MAPQ of single reads: Bowtie 2's table, found by running it (equal in 142,197 of 142,197 records
//! of both modes, 50 to 150 bases). Of mates of a pair: that table where no other pair is known,
//! and at most what follows from how much another one is worth less.

use crate::by_score::score::Bounds;

/// Parts of the range of scores, of single precision as there.
const TENTHS: [f32; 9] = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1];

/// Without a second placement: by the score over the minimum.
const ALONE: [[(f32, u8); 7]; 2] = [
    [(0.8, 42), (0.7, 40), (0.6, 24), (0.5, 23), (0.4, 8), (0.3, 3), (0.0, 0)],
    [(0.8, 44), (0.7, 42), (0.6, 41), (0.5, 36), (0.4, 28), (0.3, 24), (0.0, 22)],
];

/// With one: by the distance from it, `TENTHS`, then more than none, then none.
type Row = [u8; 11];
/// Whole reads: perfect, good, fair, else.
const WHOLE: [Row; 4] = [
    [39, 38, 37, 36, 35, 34, 32, 31, 30, 6, 1],
    [33, 27, 26, 22, 25, 21, 18, 17, 12, 6, 1],
    [33, 27, 26, 22, 16, 14, 15, 11, 7, 6, 1],
    [33, 27, 26, 22, 5, 4, 3, 0, 0, 2, 0],
];
/// Clipped reads: perfect, fair, else (whose distance is below a half).
const CLIPPED: [Row; 3] = [
    [40, 39, 38, 37, 35, 34, 33, 32, 31, 11, 1],
    [40, 39, 38, 37, 25, 21, 18, 17, 14, 11, 1],
    [40, 39, 38, 37, 25, 19, 16, 12, 9, 2, 0],
];

/// MAPQ of a read whose best placements have these scores.
pub(super) fn mapping_quality(
    is_local: bool,
    bounds: Bounds,
    score: i32,
    second: Option<i32>,
) -> u8 {
    let range = f64::from((bounds.perfect - bounds.minimum).max(1));
    let over = f64::from(score - bounds.minimum);
    let reaches = |value: f64, part: f32| value >= range * f64::from(part);
    let Some(second) = second else {
        let row = ALONE[usize::from(is_local)];
        return row.iter().find(|(part, _)| reaches(over, *part)).map_or(0, |it| it.1);
    };
    let distance = f64::from((score - second).abs());
    let column = match TENTHS.iter().position(|&part| reaches(distance, part)) {
        Some(tenth) => tenth,
        None if distance > 0.0 => 9,
        None => 10,
    };
    let is_perfect = score == bounds.perfect;
    if is_local {
        let row = if is_perfect { 0 } else { 2 - usize::from(reaches(over, 0.5)) };
        return CLIPPED[row][column];
    }
    let [good, fair] = if column <= 5 { [0.84, 0.68] } else { [0.88, 0.67] };
    let row = match () {
        () if is_perfect => 0,
        () if reaches(over, good) => 1,
        () if reaches(over, fair) => 2,
        () => 3,
    };
    WHOLE[row][column]
}

/// MAPQ of one mismatch by which the best other pair is worse. Measured on 2x100 to 2x250 of chr20
/// and yeast, 0.2 to 3 % errors, both modes: of 2,500 mates with such a pair 1.5 % were wrong, and
/// of 12,000 with worse ones 0.1 %.
const OF_MISMATCH: i32 = 17;

/// MAPQ of a mate whose pair has this score by its own bounds, and is better by `distance`, if
/// another one is known; a mismatch costs `mismatch`.
pub(super) fn of_mate(
    is_local: bool,
    bounds: Bounds,
    score: i32,
    (distance, mismatch): (Option<i32>, i32),
) -> u8 {
    let alone = mapping_quality(is_local, bounds, score, None);
    let by_distance =
        |distance: i32| (OF_MISMATCH * distance / mismatch.max(1)).clamp(1, 255) as u8;
    distance.map_or(alone, |distance| alone.min(by_distance(distance)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_that_of_the_specification() {
        let t = |is_local, (minimum, perfect), score, second, expected| {
            let bounds = Bounds { minimum, perfect };
            let found = mapping_quality(is_local, bounds, score, second);
            assert_eq!(found, expected, "{is_local} {score} {second:?}");
        };
        let whole = (-60, 0);
        // 0.8 in single precision is a little more than 0.8.
        for (score, expected) in [(0, 42), (-11, 42), (-12, 40), (-18, 40), (-23, 24), (-30, 23)] {
            t(false, whole, score, None, expected);
        }
        for (score, expected) in [(-35, 8), (-41, 3), (-43, 0), (-60, 0)] {
            t(false, whole, score, None, expected);
        }
        t(false, whole, 0, Some(0), 1);
        t(false, whole, 0, Some(-5), 6);
        t(false, whole, 0, Some(-6), 6);
        t(false, whole, 0, Some(-7), 30);
        t(false, whole, 0, Some(-60), 39);
        t(false, whole, -5, Some(-5), 1);
        t(false, whole, -6, Some(-40), 25);
        t(false, whole, -30, Some(-30), 0);
        t(false, whole, -30, Some(-31), 2);
        let clipped = (56, 200);
        t(true, clipped, 200, None, 44);
        t(true, clipped, 80, None, 22);
        t(true, clipped, 200, Some(200), 1);
        t(true, clipped, 200, Some(199), 11);
        t(true, clipped, 150, Some(60), 37);
        t(true, clipped, 100, Some(100), 0);
        t(true, clipped, 100, Some(60), 12);
    }
    #[test]
    fn a_mate_is_as_sure_as_another_pair_is_worse() {
        let bounds = Bounds { minimum: -60, perfect: 0 };
        let t = |score, distance, expected| {
            assert_eq!(of_mate(false, bounds, score, (distance, 6)), expected);
        };
        t(0, None, 42);
        t(-35, None, 8);
        t(0, Some(0), 1);
        t(0, Some(6), 17);
        t(0, Some(12), 34);
        t(0, Some(60), 42);
        t(-35, Some(60), 8);
        t(-60, Some(0), 0);
    }
}
