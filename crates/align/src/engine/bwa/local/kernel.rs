//! Local alignment of many queries, each to a window of its own, one in each lane
//! (`ksw_align2`).
//!
//! The result of each: the best score, the first row of the window and the first column of the
//! query where it is reached, and the best score of rows far from that one. Queries are padded with
//! columns that score 0 against everything, as bwa's are: such a column can carry a score on for
//! some rows, which shows in the score of other rows.

use super::super::lanes::{LaneScore, Lanes};
use super::super::settings::{Settings, UNKNOWN_SCORE};
use super::parts::MatrixParts;

/// A query and the window that it is aligned to, as codes.
#[derive(Debug, Default, Clone)]
pub(in super::super) struct SequencePair {
    pub(in super::super) query: Vec<u8>,
    /// Without codes above 3.
    pub(in super::super) target: Vec<u8>,
}

/// A query, and rows of a window in which it is aligned in full.
#[derive(Debug, Default, Clone)]
pub(in super::super) struct FullWindow {
    pub(in super::super) sequences: SequencePair,
    /// The first of these rows.
    pub(in super::super) first_row: u32,
}

/// The scoring of alignments.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Scores<'a> {
    pub(in super::super) settings: &'a Settings,
    /// Rows below it are not looked at.
    pub(in super::super) least: i32,
    /// Queries are padded to a multiple of so many columns.
    pub(in super::super) padding: usize,
}

/// Rows of a window that lanes take; longer ones are aligned one by one.
pub(in super::super) const MOST_ROWS: usize = 1 << 16;

/// A code that equals no base.
const UNKNOWN: usize = 7;
/// Another one, past the end of a window.
pub(super) const BEHIND: usize = 9;

/// A base of each query, and the penalty of a mismatch.
#[derive(Debug, Clone, Copy)]
pub(super) struct QueryColumn<Score, const LANES: usize> {
    pub(super) query: Lanes<Score, LANES>,
    pub(super) penalty: Lanes<Score, LANES>,
}

/// A column of the matrix.
#[derive(Debug, Clone, Copy)]
struct Cell<Score, const LANES: usize> {
    best: Lanes<Score, LANES>,
    deletion: Lanes<Score, LANES>,
}

/// The scoring, in all lanes.
pub(super) struct LanePenalties<Score, const LANES: usize> {
    /// A match, more than a mismatch.
    pub(super) gain: Lanes<Score, LANES>,
    pub(super) extend_deletion: Lanes<Score, LANES>,
    pub(super) extend_insertion: Lanes<Score, LANES>,
    pub(super) open_deletion: Lanes<Score, LANES>,
    pub(super) open_insertion: Lanes<Score, LANES>,
}

impl<Score: LaneScore, const LANES: usize> LanePenalties<Score, LANES> {
    #[inline(always)]
    pub(super) fn new(settings: &Settings) -> Self {
        let all = |value: i32| Lanes::splat(Score::new(value));
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
pub(super) struct LaneScratch<Score, const LANES: usize> {
    query: Vec<QueryColumn<Score, LANES>>,
    cells: Vec<Cell<Score, LANES>>,
    target: Vec<Lanes<Score, LANES>>,
    /// The best score of each row.
    rows: Vec<Lanes<Score, LANES>>,
}

/// Aligns up to `LANES` queries to their windows; the results are appended to `out`. Windows have
/// [`MOST_ROWS`] at most, and scores fit `Score`.
#[inline(always)]
pub(super) fn align<Score: LaneScore, const LANES: usize>(
    all: &[FullWindow],
    scores: &Scores<'_>,
    scratch: &mut LaneScratch<Score, LANES>,
    out: &mut MatrixParts,
) {
    load(all, scores, scratch);
    let Peak { score: best, column } = matrix(scratch, scores.settings);
    for (lane, it) in all.iter().enumerate() {
        let rows = &scratch.rows[..it.sequences.target.len()];
        let rows = rows.iter().map(|row| row.0[lane].value());
        let score = best.0[lane].value();
        out.push(rows, it.first_row, score, column.0[lane].as_index(), scores.least);
    }
}

/// Loads a query into each lane, padded.
#[inline(always)]
pub(super) fn load_queries<'a, Score: LaneScore, const LANES: usize>(
    queries: impl Iterator<Item = &'a [u8]> + Clone,
    scores: &Scores<'_>,
    out: &mut Vec<QueryColumn<Score, LANES>>,
) {
    let padded = |query: &[u8]| query.len().next_multiple_of(scores.padding);
    let columns = queries.clone().map(padded).max().unwrap_or(0);
    let empty = QueryColumn {
        query: Lanes::splat(Score::index(UNKNOWN)),
        penalty: Lanes::splat(Score::MAX),
    };
    out.clear();
    out.resize(columns, empty);
    let mismatch = Score::new(-scores.settings.mismatch_score);
    for (lane, query) in queries.enumerate() {
        for (base, &code) in out.iter_mut().zip(query) {
            let known = code < 4;
            let code = if known { usize::from(code) } else { UNKNOWN };
            base.query.0[lane] = Score::index(code);
            base.penalty.0[lane] = if known { mismatch } else { Score::new(-UNKNOWN_SCORE) };
        }
        for base in &mut out[query.len()..padded(query)] {
            base.penalty.0[lane] = Score::ZERO;
        }
    }
}

/// Loads a query and its window into each lane.
#[inline(always)]
fn load<Score: LaneScore, const LANES: usize>(
    all: &[FullWindow],
    scores: &Scores<'_>,
    scratch: &mut LaneScratch<Score, LANES>,
) {
    let queries = all.iter().map(|it| &it.sequences.query[..]);
    load_queries(queries, scores, &mut scratch.query);
    let targets = all.iter().map(|it| &it.sequences.target[..]);
    let rows = targets.clone().map(<[u8]>::len).max().unwrap_or(0).next_multiple_of(2);
    let zero = Lanes::splat(Score::ZERO);
    scratch.cells.clear();
    scratch.cells.resize(scratch.query.len(), Cell { best: zero, deletion: zero });
    scratch.target.clear();
    scratch.target.resize(rows, Lanes::splat(Score::index(BEHIND)));
    scratch.rows.resize(scratch.rows.len().max(rows), zero);
    for (lane, target) in targets.enumerate() {
        for (row, &code) in scratch.target.iter_mut().zip(target) {
            row.0[lane] = Score::index(code.into());
        }
    }
}

/// Of each lane, the best score of all rows, and the first column that has it in the first such
/// row.
pub(super) struct Peak<Score, const LANES: usize> {
    pub(super) score: Lanes<Score, LANES>,
    pub(super) column: Lanes<Score, LANES>,
}

/// Computes the matrix, two rows at a time, and leaves the best score of each row; of the best
/// row of each lane its score and the first column that has it.
#[inline(always)]
fn matrix<Score: LaneScore, const LANES: usize>(
    scratch: &mut LaneScratch<Score, LANES>,
    settings: &Settings,
) -> Peak<Score, LANES> {
    let zero = Lanes::splat(Score::ZERO);
    let LanePenalties { gain, extend_deletion, extend_insertion, open_deletion, open_insertion } =
        LanePenalties::new(settings);
    let (mut most, mut best_column) = (zero, zero);
    for (targets, rows) in scratch.target.chunks_exact(2).zip(scratch.rows.chunks_exact_mut(2)) {
        let [first, second] = [targets[0], targets[1]];
        let (mut diagonal_1, mut diagonal_2) = (zero, zero);
        let (mut insertion_1, mut insertion_2) = (zero, zero);
        let (mut most_1, mut most_2, mut column_1, mut column_2) = (zero, zero, zero, zero);
        let mut index = zero;
        for (base, cell) in scratch.query.iter().zip(&mut scratch.cells) {
            let (QueryColumn { query, penalty }, Cell { best: above, deletion }) = (*base, *cell);
            let one = diagonal_1.scored(query, first, gain, penalty).max(deletion);
            let one = one.max(insertion_1);
            diagonal_1 = above;
            column_1 = column_1.blend_where_greater(one, most_1, index);
            most_1 = most_1.max(one);
            let deletion = deletion.minus(extend_deletion).max(one.minus(open_deletion));
            insertion_1 = insertion_1.minus(extend_insertion).max(one.minus(open_insertion));
            let two = diagonal_2.scored(query, second, gain, penalty).max(deletion);
            let two = two.max(insertion_2);
            diagonal_2 = one;
            column_2 = column_2.blend_where_greater(two, most_2, index);
            most_2 = most_2.max(two);
            cell.deletion = deletion.minus(extend_deletion).max(two.minus(open_deletion));
            insertion_2 = insertion_2.minus(extend_insertion).max(two.minus(open_insertion));
            cell.best = two;
            index = index.next();
        }
        for (row, score, columns) in [(0, most_1, column_1), (1, most_2, column_2)] {
            rows[row] = score;
            best_column = best_column.blend_where_greater(score, most, columns);
            most = most.max(score);
        }
    }
    Peak { score: most, column: best_column }
}

/// As [`align`], of one query to a window of any length, without lanes.
pub(in super::super) fn align_scalar(
    it: &FullWindow,
    scores: &Scores<'_>,
    most: i32,
    out: &mut MatrixParts,
) {
    let sequences = &it.sequences;
    let Scores { settings, padding, .. } = *scores;
    let Settings { ref gaps, .. } = *settings;
    let columns = sequences.query.len().next_multiple_of(padding);
    let mut cells = vec![(0, 0); columns];
    let mut rows = Vec::with_capacity(sequences.target.len());
    let (mut best, mut best_column) = (0, 0);
    for &base in &sequences.target {
        let (mut diagonal, mut insertion, mut row_most, mut row_column) = (0, 0, 0, 0);
        for (at, (above, deletion)) in cells.iter_mut().enumerate() {
            let gain = sequences.query.get(at).map_or(0, |&code| settings.score(code, base));
            let score = (diagonal + gain).min(most).max(*deletion).max(insertion);
            (diagonal, *above) = (*above, score);
            if score > row_most {
                (row_most, row_column) = (score, at);
            }
            let opened = score - gaps.open_deletion - gaps.extend_deletion;
            *deletion = opened.max(*deletion - gaps.extend_deletion).max(0);
            let opened = score - gaps.open_insertion - gaps.extend_insertion;
            insertion = opened.max(insertion - gaps.extend_insertion).max(0);
        }
        if row_most > best {
            (best, best_column) = (row_most, row_column);
        }
        rows.push(row_most);
    }
    out.push(rows.iter().copied(), it.first_row, best, best_column, scores.least);
}
