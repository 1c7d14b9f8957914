//! The extension of one seed without lanes: for any length and any scores (see [`kernel`]).
//!
//! [`kernel`]: super::kernel

use super::super::settings::Settings;
use super::side::{Extension, Side};

/// The cell up and to the left of a column, and a deletion that ends there.
#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    diagonal: i32,
    deletion: i32,
}

/// Working memory of [`extend_one`].
#[derive(Debug, Default)]
pub(super) struct OneWork {
    cells: Vec<Cell>,
}

/// What is known of an extension while its rows are computed.
struct Progress {
    best: i32,
    /// Row and column of the best score.
    at: [i32; 2],
    end_score: i32,
    end_row: i32,
    off_diagonal: i32,
}

impl Progress {
    fn new(seed_score: i32) -> Self {
        Self { best: seed_score, at: [-1; 2], end_score: -1, end_row: -1, off_diagonal: 0 }
    }

    /// Takes the score of a row at the end of the read; the later of equal ones stays.
    fn take_end(&mut self, row: i32, score: i32) {
        if score >= self.end_score {
            (self.end_row, self.end_score) = (row, score);
        }
    }

    /// Takes the best score of a row, and its column. Whether the extension goes on.
    fn take(&mut self, row: i32, column: i32, score: i32, settings: &Settings) -> bool {
        if score == 0 {
            return false;
        }
        if score > self.best {
            (self.best, self.at) = (score, [row, column]);
            self.off_diagonal = self.off_diagonal.max((column - row).abs());
            return true;
        }
        let [rows, columns] = [row - self.at[0], column - self.at[1]];
        let gaps = &settings.gaps;
        let price = if rows > columns {
            (rows - columns).saturating_mul(gaps.extend_deletion)
        } else {
            (columns - rows).saturating_mul(gaps.extend_insertion)
        };
        settings.drop <= 0 || (self.best - score).saturating_sub(price) <= settings.drop
    }

    fn extension(&self) -> Extension {
        Extension {
            score: self.best,
            query_bases: self.at[1] + 1,
            target_bases: self.at[0] + 1,
            end_score: self.end_score,
            end_target_bases: self.end_row + 1,
            off_diagonal: self.off_diagonal,
        }
    }
}

/// Extends one seed, of any length and with any scores.
pub(super) fn extend_one(side: &Side<'_>, settings: &Settings, work: &mut OneWork) -> Extension {
    let (columns, gaps) = (side.query.len(), &settings.gaps);
    let cells = &mut work.cells;
    first_row(side, settings, cells);
    let band = i64::from(side.band);
    let mut progress = Progress::new(side.seed_score);
    let (mut begin, mut end) = (0, columns);
    for (row, &base) in side.target[..side.rows()].iter().enumerate() {
        begin = begin.max((row as i64 - band).max(0) as usize);
        end = end.min((row as i64 + band + 1).max(0) as usize).min(columns);
        let opened = gaps.open_deletion + gaps.extend_deletion * (row as i32 + 1);
        let mut left = if begin == 0 { (side.seed_score - opened).max(0) } else { 0 };
        let (mut insertion, mut most, mut most_column) = (0, 0, -1);
        for (column, cell) in cells.iter_mut().enumerate().take(end).skip(begin) {
            let Cell { diagonal, deletion } = *cell;
            let gain = settings.score(side.query[column], base);
            let matched = if diagonal == 0 { 0 } else { diagonal + gain };
            let best = matched.max(deletion).max(insertion);
            if best >= most {
                (most, most_column) = (best, column as i32);
            }
            let opened = matched - gaps.open_deletion - gaps.extend_deletion;
            let longer = (deletion - gaps.extend_deletion).max(opened).max(0);
            *cell = Cell { diagonal: left, deletion: longer };
            let opened = (matched - gaps.open_insertion - gaps.extend_insertion).max(0);
            insertion = (insertion - gaps.extend_insertion).max(opened);
            left = best;
        }
        cells[end] = Cell { diagonal: left, deletion: 0 };
        if begin.max(end) == columns {
            progress.take_end(row as i32, left);
        }
        if !progress.take(row as i32, most_column, most, settings) {
            break;
        }
        let is_live = |cell: &Cell| cell.diagonal != 0 || cell.deletion != 0;
        begin += cells[begin..end].iter().take_while(|cell| !is_live(cell)).count();
        let dead = cells[begin..=end].iter().rev().take_while(|cell| !is_live(cell)).count();
        end = (end + 2 - dead).min(columns);
    }
    progress.extension()
}

/// The cells above the first row: an insertion behind the seed.
fn first_row(side: &Side<'_>, settings: &Settings, cells: &mut Vec<Cell>) {
    let gaps = &settings.gaps;
    cells.clear();
    cells.resize(side.query.len() + 1, Cell::default());
    let mut score = side.seed_score;
    cells[0].diagonal = score;
    score -= gaps.open_insertion;
    for cell in &mut cells[1..] {
        score -= gaps.extend_insertion;
        if score <= 0 {
            break;
        }
        cell.diagonal = score;
    }
}
