//! The best cells of a matrix that was computed in parts.

use super::kernel::Scores;

/// A row of a window, and the best score of its cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RowScore {
    pub(super) row: u32,
    pub(super) score: i32,
}

/// The best cell of an alignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Best {
    pub(in super::super) score: i32,
    /// The first row that has it; nothing if the score is below the one required.
    pub(in super::super) row: usize,
    /// The first column of that row that has it; likewise.
    pub(in super::super) column: usize,
    /// The best score of other rows; -1 if none has the score required.
    pub(in super::super) second: i32,
}

/// The result of a part of a matrix: its best score, and where it is first. With a score below the
/// least one there is no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MatrixPart {
    score: i32,
    row: u32,
    column: usize,
    /// Where its rows end.
    rows_end: usize,
}

/// Parts of matrices, in the order in which they were done.
#[derive(Debug, Default)]
pub(in super::super) struct MatrixParts {
    all: Vec<MatrixPart>,
    /// The rows of all parts that have the least score.
    rows: Vec<RowScore>,
    merged: Vec<RowScore>,
}

impl MatrixParts {
    pub(in super::super) fn clear(&mut self) {
        self.all.clear();
        self.rows.clear();
    }

    /// Adds a part of which the scores of all rows are given, the first of which is row `first` of
    /// the window. The best score is first in `column`.
    #[inline(always)]
    pub(super) fn push(
        &mut self,
        scores: impl Iterator<Item = i32>,
        first: u32,
        best: i32,
        column: usize,
        least: i32,
    ) {
        let start = self.rows.len();
        if best >= least {
            let numbered = (first..).zip(scores).map(|(row, score)| RowScore { row, score });
            self.rows.extend(numbered.filter(|it| it.score >= least));
        }
        let row = self.rows[start..].iter().find(|it| it.score == best).map_or(0, |it| it.row);
        self.all.push(MatrixPart { score: best, row, column, rows_end: self.rows.len() });
    }

    /// Where part `number` has its best score first.
    pub(in super::super) fn first(&self, number: usize) -> Best {
        let MatrixPart { score, row, column, .. } = self.all[number];
        Best { score, row: row as usize, column, second: -1 }
    }

    /// The best cell of the parts with these numbers, which are all of one matrix that matter.
    pub(in super::super) fn best(&mut self, numbers: &[usize], scores: &Scores<'_>) -> Best {
        let Self { all, rows, merged } = self;
        let best = numbers.iter().map(|&at| all[at]);
        let best = best.min_by_key(|it| (-it.score, it.row, it.column));
        let Some(MatrixPart { score, row, column, .. }) =
            best.filter(|it| it.score >= scores.least)
        else {
            let score = best.map_or(0, |it| it.score);
            return Best { score, row: 0, column: 0, second: -1 };
        };
        let of = |at: usize| {
            let start = at.checked_sub(1).map_or(0, |before| all[before].rows_end);
            &rows[start..all[at].rows_end]
        };
        let row = row as usize;
        let second = if let [only] = *numbers {
            second_score(of(only), row, score, scores)
        } else {
            merged.clear();
            numbers.iter().for_each(|&at| merged.extend_from_slice(of(at)));
            merged.sort_unstable_by_key(|it| (it.row, -it.score));
            merged.dedup_by_key(|it| it.row);
            second_score(merged, row, score, scores)
        };
        Best { score, row, column, second }
    }
}

/// The best score of rows that are further from the best one than an alignment of its score is
/// long, of all rows with the least score and more. One right after the last that counted takes
/// its place if it is better, and else is passed over.
fn second_score(rows: &[RowScore], best: usize, score: i32, scores: &Scores<'_>) -> i32 {
    let matching = scores.settings.matching;
    let reach = ((score + matching - 1) / matching) as usize;
    let near = best.saturating_sub(reach)..=best + reach;
    let mut last: Option<RowScore> = None;
    let mut second = -1;
    let mut take = |entry: Option<RowScore>| {
        if let Some(RowScore { score, .. }) = entry.filter(|it| !near.contains(&(it.row as usize)))
        {
            second = score.max(second);
        }
    };
    for &row in rows {
        match last {
            Some(before) if before.row + 1 == row.row => {
                if row.score > before.score {
                    last = Some(row);
                }
            }
            _ => {
                take(last);
                last = Some(row);
            }
        }
    }
    take(last);
    second
}
