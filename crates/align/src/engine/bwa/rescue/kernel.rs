//! Local alignment of many queries, each to a window of its own, side by side (`ksw_align2`).
//!
//! What is wanted of each: the best score, the first row of the window and the first column of the
//! query where it is reached, and the best score of rows far from that one. Queries are padded with
//! columns that score 0 against everything, as bwa's are: such a column can carry a score on for
//! some rows, which shows in the score of other rows.

use super::super::lanes::{Lanes, Unit};
use super::super::settings::{Settings, UNKNOWN_SCORE};

/// A query and the window that it is aligned to, as codes.
#[derive(Debug, Default, Clone)]
pub(in super::super) struct Strings {
    pub(in super::super) query: Vec<u8>,
    /// Without codes above 3.
    pub(in super::super) target: Vec<u8>,
}

/// What an alignment comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Best {
    pub(in super::super) score: i32,
    /// The first row that has it; nothing if the score is below the one asked for.
    pub(in super::super) row: usize,
    /// The first column of that row that has it; likewise.
    pub(in super::super) column: usize,
    /// The best score of other rows; -1 if none has the score asked for.
    pub(in super::super) second: i32,
}

/// What alignments are scored by.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Scores<'a> {
    pub(in super::super) settings: &'a Settings,
    /// Rows below it are not looked at.
    pub(in super::super) least: i32,
    /// Queries are padded to a multiple of so many columns.
    pub(in super::super) padding: usize,
}

/// Rows of a window that lanes take; longer ones are aligned one by one.
pub(super) const MOST_ROWS: usize = 1 << 16;

/// A code that equals no base.
const UNKNOWN: usize = 7;
/// Another one, behind the end of a window.
const BEHIND: usize = 9;

/// The numbers of one column.
#[derive(Debug, Clone, Copy)]
struct Column<T, const N: usize> {
    query: Lanes<T, N>,
    /// What a base costs that does not match.
    price: Lanes<T, N>,
    best: Lanes<T, N>,
    deletion: Lanes<T, N>,
}

/// Working memory of a kernel.
#[derive(Debug, Default)]
pub(super) struct Work<T, const N: usize> {
    columns: Vec<Column<T, N>>,
    target: Vec<Lanes<T, N>>,
    /// The best score of each row.
    rows: Vec<Lanes<T, N>>,
}

/// Aligns up to `N` queries to their windows; what each comes to is put behind `out`. Windows have
/// [`MOST_ROWS`] at most, and scores fit `T`.
#[inline(always)]
pub(super) fn align<T: Unit, const N: usize>(
    all: &[Strings],
    scores: &Scores<'_>,
    work: &mut Work<T, N>,
    out: &mut Vec<Best>,
) {
    load(all, scores, work);
    let Peak { score: best, column } = matrix(work, scores.settings);
    for (lane, strings) in all.iter().enumerate() {
        let rows = work.rows[..strings.target.len()].iter().map(|row| row.0[lane].value());
        let score = best.0[lane].value();
        out.push(summary(rows, score, column.0[lane].as_index(), scores));
    }
}

/// Puts the strings side by side.
fn load<T: Unit, const N: usize>(all: &[Strings], scores: &Scores<'_>, work: &mut Work<T, N>) {
    let settings = scores.settings;
    let padded = |it: &Strings| it.query.len().next_multiple_of(scores.padding);
    let columns = all.iter().map(padded).max().unwrap_or(0);
    let rows = all.iter().map(|it| it.target.len()).max().unwrap_or(0).next_multiple_of(2);
    let zero = Lanes::all(T::ZERO);
    let empty = Column {
        query: Lanes::all(T::index(UNKNOWN)),
        price: Lanes::all(T::ALL),
        best: zero,
        deletion: zero,
    };
    work.columns.clear();
    work.columns.resize(columns, empty);
    work.target.clear();
    work.target.resize(rows, Lanes::all(T::index(BEHIND)));
    work.rows.resize(work.rows.len().max(rows), zero);
    let mismatch = T::new(-settings.mismatch_score);
    for (lane, strings) in all.iter().enumerate() {
        for (column, &code) in work.columns.iter_mut().zip(&strings.query) {
            let known = code < 4;
            let code = if known { usize::from(code) } else { UNKNOWN };
            column.query.0[lane] = T::index(code);
            column.price.0[lane] = if known { mismatch } else { T::new(-UNKNOWN_SCORE) };
        }
        for column in &mut work.columns[strings.query.len()..padded(strings)] {
            column.price.0[lane] = T::ZERO;
        }
        for (row, &code) in work.target.iter_mut().zip(&strings.target) {
            row.0[lane] = T::index(code.into());
        }
    }
}

/// Of each lane, the best score of all rows, and the first column that has it in the first such
/// row.
struct Peak<T, const N: usize> {
    score: Lanes<T, N>,
    column: Lanes<T, N>,
}

/// Goes through the matrix, two rows at a time, and leaves the best score of each row; of the best
/// row of each lane its score and the first column that has it.
#[inline(always)]
fn matrix<T: Unit, const N: usize>(work: &mut Work<T, N>, settings: &Settings) -> Peak<T, N> {
    let zero = Lanes::all(T::ZERO);
    let all = |value: i32| Lanes::all(T::new(value));
    let gaps = &settings.gaps;
    let gain = all(settings.matching - settings.mismatch_score);
    let [extend_deletion, extend_insertion] =
        [gaps.extend_deletion, gaps.extend_insertion].map(all);
    let open_deletion = all(gaps.open_deletion + gaps.extend_deletion);
    let open_insertion = all(gaps.open_insertion + gaps.extend_insertion);
    let (mut most, mut place) = (zero, zero);
    for (targets, rows) in work.target.chunks_exact(2).zip(work.rows.chunks_exact_mut(2)) {
        let [first, second] = [targets[0], targets[1]];
        let (mut diagonal_1, mut diagonal_2) = (zero, zero);
        let (mut insertion_1, mut insertion_2) = (zero, zero);
        let (mut most_1, mut most_2, mut place_1, mut place_2) = (zero, zero, zero, zero);
        for (at, column) in work.columns.iter_mut().enumerate() {
            let index = Lanes::all(T::index(at));
            let Column { query, price, best: above, deletion } = *column;
            let one = diagonal_1.scored(query, first, gain, price).larger(deletion);
            let one = one.larger(insertion_1);
            diagonal_1 = above;
            place_1 = place_1.where_above(one, most_1, index);
            most_1 = most_1.larger(one);
            let deletion = deletion.less(extend_deletion).larger(one.less(open_deletion));
            insertion_1 = insertion_1.less(extend_insertion).larger(one.less(open_insertion));
            let two = diagonal_2.scored(query, second, gain, price).larger(deletion);
            let two = two.larger(insertion_2);
            diagonal_2 = one;
            place_2 = place_2.where_above(two, most_2, index);
            most_2 = most_2.larger(two);
            column.deletion = deletion.less(extend_deletion).larger(two.less(open_deletion));
            insertion_2 = insertion_2.less(extend_insertion).larger(two.less(open_insertion));
            column.best = two;
        }
        for (row, score, columns) in [(0, most_1, place_1), (1, most_2, place_2)] {
            rows[row] = score;
            place = place.where_above(score, most, columns);
            most = most.larger(score);
        }
    }
    Peak { score: most, column: place }
}

/// What follows from the best scores of all rows.
fn summary(
    rows: impl Iterator<Item = i32> + Clone,
    score: i32,
    column: usize,
    scores: &Scores<'_>,
) -> Best {
    if score < scores.least {
        return Best { score, row: 0, column: 0, second: -1 };
    }
    let row = rows.clone().position(|it| it == score).unwrap_or(0);
    let second = second_score(rows, row, score, scores);
    Best { score, row, column, second }
}

/// The best score of rows that are further from the best one than an alignment of its score is
/// long. Rows with the least score and more are listed; one right behind the last of the list takes
/// its place if it is better, and else is passed over.
fn second_score(
    rows: impl Iterator<Item = i32>,
    best: usize,
    score: i32,
    scores: &Scores<'_>,
) -> i32 {
    let matching = scores.settings.matching;
    let reach = ((score + matching - 1) / matching) as usize;
    let near = best.saturating_sub(reach)..=best + reach;
    let mut last: Option<(usize, i32)> = None;
    let mut second = -1;
    let mut take = |entry: Option<(usize, i32)>| {
        if let Some((_, other)) = entry.filter(|(row, _)| !near.contains(row)) {
            second = other.max(second);
        }
    };
    for (row, other) in rows.enumerate().filter(|&(_, other)| other >= scores.least) {
        match last {
            Some((before, kept)) if before + 1 == row => {
                if other > kept {
                    last = Some((row, other));
                }
            }
            _ => {
                take(last);
                last = Some((row, other));
            }
        }
    }
    take(last);
    second
}

/// As [`align`], of one query to a window of any length, without lanes.
pub(super) fn align_one(strings: &Strings, scores: &Scores<'_>, most: i32) -> Best {
    let Scores { settings, padding, .. } = *scores;
    let Settings { ref gaps, .. } = *settings;
    let columns = strings.query.len().next_multiple_of(padding);
    let mut cells = vec![(0, 0); columns];
    let mut rows = Vec::with_capacity(strings.target.len());
    let (mut best, mut place) = (0, 0);
    for &base in &strings.target {
        let (mut diagonal, mut insertion, mut row_most, mut row_place) = (0, 0, 0, 0);
        for (at, (above, deletion)) in cells.iter_mut().enumerate() {
            let gain = strings.query.get(at).map_or(0, |&code| settings.score(code, base));
            let score = (diagonal + gain).min(most).max(*deletion).max(insertion);
            (diagonal, *above) = (*above, score);
            if score > row_most {
                (row_most, row_place) = (score, at);
            }
            let opened = score - gaps.open_deletion - gaps.extend_deletion;
            *deletion = opened.max(*deletion - gaps.extend_deletion).max(0);
            let opened = score - gaps.open_insertion - gaps.extend_insertion;
            insertion = opened.max(insertion - gaps.extend_insertion).max(0);
        }
        if row_most > best {
            (best, place) = (row_most, row_place);
        }
        rows.push(row_most);
    }
    summary(rows.iter().copied(), best, place, scores)
}
