//! Local alignment of many queries, each to a window of its own, side by side (`ksw_align2`).
//!
//! What is wanted of each: the best score, the first row of the window and the first column of the
//! query where it is reached, and the best score of rows far from that one. Queries are padded with
//! columns that score 0 against everything, as bwa's are: such a column can carry a score on for
//! some rows, which shows in the score of other rows.

use super::super::lanes::{Lanes, Unit};
use super::super::settings::{Settings, UNKNOWN_SCORE};
use super::parts::Parts;

/// A query and the window that it is aligned to, as codes.
#[derive(Debug, Default, Clone)]
pub(in super::super) struct Strings {
    pub(in super::super) query: Vec<u8>,
    /// Without codes above 3.
    pub(in super::super) target: Vec<u8>,
}

/// A query, and rows of a window in which it is aligned in full.
#[derive(Debug, Default, Clone)]
pub(in super::super) struct Whole {
    pub(in super::super) strings: Strings,
    /// The first of these rows.
    pub(in super::super) first_row: u32,
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
pub(super) const BEHIND: usize = 9;

/// A base of each query, and what one costs that does not match.
#[derive(Debug, Clone, Copy)]
pub(super) struct Base<T, const N: usize> {
    pub(super) query: Lanes<T, N>,
    pub(super) price: Lanes<T, N>,
}

/// The numbers of one column.
#[derive(Debug, Clone, Copy)]
struct Cell<T, const N: usize> {
    best: Lanes<T, N>,
    deletion: Lanes<T, N>,
}

/// Prices for all lanes.
pub(super) struct Gaps<T, const N: usize> {
    /// A match, more than a mismatch.
    pub(super) gain: Lanes<T, N>,
    pub(super) extend_deletion: Lanes<T, N>,
    pub(super) extend_insertion: Lanes<T, N>,
    pub(super) open_deletion: Lanes<T, N>,
    pub(super) open_insertion: Lanes<T, N>,
}

impl<T: Unit, const N: usize> Gaps<T, N> {
    #[inline(always)]
    pub(super) fn new(settings: &Settings) -> Self {
        let all = |value: i32| Lanes::all(T::new(value));
        let gaps = &settings.gaps;
        Self {
            gain: all(settings.matching - settings.mismatch_score),
            extend_deletion: all(gaps.extend_deletion),
            extend_insertion: all(gaps.extend_insertion),
            open_deletion: all(gaps.open_deletion + gaps.extend_deletion),
            open_insertion: all(gaps.open_insertion + gaps.extend_insertion),
        }
    }
}

/// Working memory of a kernel.
#[derive(Debug, Default)]
pub(super) struct Work<T, const N: usize> {
    query: Vec<Base<T, N>>,
    cells: Vec<Cell<T, N>>,
    target: Vec<Lanes<T, N>>,
    /// The best score of each row.
    rows: Vec<Lanes<T, N>>,
}

/// Aligns up to `N` queries to their windows; what each comes to is put behind `out`. Windows have
/// [`MOST_ROWS`] at most, and scores fit `T`.
#[inline(always)]
pub(super) fn align<T: Unit, const N: usize>(
    all: &[Whole],
    scores: &Scores<'_>,
    work: &mut Work<T, N>,
    out: &mut Parts,
) {
    load(all, scores, work);
    let Peak { score: best, column } = matrix(work, scores.settings);
    for (lane, it) in all.iter().enumerate() {
        let rows = &work.rows[..it.strings.target.len()];
        let rows = rows.iter().map(|row| row.0[lane].value());
        let score = best.0[lane].value();
        out.push(rows, it.first_row, score, column.0[lane].as_index(), scores.least);
    }
}

/// Puts the queries side by side, padded.
#[inline(always)]
pub(super) fn load_queries<'a, T: Unit, const N: usize>(
    queries: impl Iterator<Item = &'a [u8]> + Clone,
    scores: &Scores<'_>,
    out: &mut Vec<Base<T, N>>,
) {
    let padded = |query: &[u8]| query.len().next_multiple_of(scores.padding);
    let columns = queries.clone().map(padded).max().unwrap_or(0);
    let empty = Base { query: Lanes::all(T::index(UNKNOWN)), price: Lanes::all(T::ALL) };
    out.clear();
    out.resize(columns, empty);
    let mismatch = T::new(-scores.settings.mismatch_score);
    for (lane, query) in queries.enumerate() {
        for (base, &code) in out.iter_mut().zip(query) {
            let known = code < 4;
            let code = if known { usize::from(code) } else { UNKNOWN };
            base.query.0[lane] = T::index(code);
            base.price.0[lane] = if known { mismatch } else { T::new(-UNKNOWN_SCORE) };
        }
        for base in &mut out[query.len()..padded(query)] {
            base.price.0[lane] = T::ZERO;
        }
    }
}

/// Puts the strings side by side.
#[inline(always)]
fn load<T: Unit, const N: usize>(all: &[Whole], scores: &Scores<'_>, work: &mut Work<T, N>) {
    let queries = all.iter().map(|it| &it.strings.query[..]);
    load_queries(queries, scores, &mut work.query);
    let targets = all.iter().map(|it| &it.strings.target[..]);
    let rows = targets.clone().map(<[u8]>::len).max().unwrap_or(0).next_multiple_of(2);
    let zero = Lanes::all(T::ZERO);
    work.cells.clear();
    work.cells.resize(work.query.len(), Cell { best: zero, deletion: zero });
    work.target.clear();
    work.target.resize(rows, Lanes::all(T::index(BEHIND)));
    work.rows.resize(work.rows.len().max(rows), zero);
    for (lane, target) in targets.enumerate() {
        for (row, &code) in work.target.iter_mut().zip(target) {
            row.0[lane] = T::index(code.into());
        }
    }
}

/// Of each lane, the best score of all rows, and the first column that has it in the first such
/// row.
pub(super) struct Peak<T, const N: usize> {
    pub(super) score: Lanes<T, N>,
    pub(super) column: Lanes<T, N>,
}

/// Goes through the matrix, two rows at a time, and leaves the best score of each row; of the best
/// row of each lane its score and the first column that has it.
#[inline(always)]
fn matrix<T: Unit, const N: usize>(work: &mut Work<T, N>, settings: &Settings) -> Peak<T, N> {
    let zero = Lanes::all(T::ZERO);
    let Gaps { gain, extend_deletion, extend_insertion, open_deletion, open_insertion } =
        Gaps::new(settings);
    let (mut most, mut place) = (zero, zero);
    for (targets, rows) in work.target.chunks_exact(2).zip(work.rows.chunks_exact_mut(2)) {
        let [first, second] = [targets[0], targets[1]];
        let (mut diagonal_1, mut diagonal_2) = (zero, zero);
        let (mut insertion_1, mut insertion_2) = (zero, zero);
        let (mut most_1, mut most_2, mut place_1, mut place_2) = (zero, zero, zero, zero);
        let mut index = zero;
        for (base, cell) in work.query.iter().zip(&mut work.cells) {
            let (Base { query, price }, Cell { best: above, deletion }) = (*base, *cell);
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
            cell.deletion = deletion.less(extend_deletion).larger(two.less(open_deletion));
            insertion_2 = insertion_2.less(extend_insertion).larger(two.less(open_insertion));
            cell.best = two;
            index = index.next();
        }
        for (row, score, columns) in [(0, most_1, place_1), (1, most_2, place_2)] {
            rows[row] = score;
            place = place.where_above(score, most, columns);
            most = most.larger(score);
        }
    }
    Peak { score: most, column: place }
}

/// As [`align`], of one query to a window of any length, without lanes.
pub(super) fn align_one(it: &Whole, scores: &Scores<'_>, most: i32, out: &mut Parts) {
    let strings = &it.strings;
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
    out.push(rows.iter().copied(), it.first_row, best, place, scores.least);
}
