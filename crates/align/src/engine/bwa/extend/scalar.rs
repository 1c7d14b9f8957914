//! Extension without lanes: for any length and any scores (see [`kernel`]).
//!
//! [`kernel`]: super::kernel

use super::super::settings::Settings;
use super::flank::{Extension, Flank};

/// The cell up and to the left of a column, and a deletion that ends there.
#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    diagonal: i32,
    deletion: i32,
}

/// Working memory of [`extend_scalar`].
#[derive(Debug, Default)]
pub(super) struct ScalarScratch {
    cells: Vec<Cell>,
}

/// The best cells so far.
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

    /// Updates the best score at the end of the read; the later of equal ones stays.
    fn take_end(&mut self, row: i32, score: i32) {
        if score >= self.end_score {
            (self.end_row, self.end_score) = (row, score);
        }
    }

    /// Updates the best cell by that of a row; false where the extension ends (z-drop).
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
        let penalty = if rows > columns {
            (rows - columns).saturating_mul(gaps.extend_deletion)
        } else {
            (columns - rows).saturating_mul(gaps.extend_insertion)
        };
        settings.z_drop <= 0 || (self.best - score).saturating_sub(penalty) <= settings.z_drop
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
pub(super) fn extend_scalar(
    flank: &Flank<'_>,
    settings: &Settings,
    scratch: &mut ScalarScratch,
) -> Extension {
    let (columns, gaps) = (flank.query.len(), &settings.gaps);
    let cells = &mut scratch.cells;
    first_row(flank, settings, cells);
    let band = i64::from(flank.band);
    let mut progress = Progress::new(flank.seed_score);
    let (mut begin, mut end) = (0, columns);
    for (row, &base) in flank.target[..flank.rows()].iter().enumerate() {
        begin = begin.max((row as i64 - band).max(0) as usize);
        end = end.min((row as i64 + band + 1).max(0) as usize).min(columns);
        let opened = gaps.open_deletion + gaps.extend_deletion * (row as i32 + 1);
        let mut left = if begin == 0 { (flank.seed_score - opened).max(0) } else { 0 };
        let (mut insertion, mut most, mut most_column) = (0, 0, -1);
        for (column, cell) in cells.iter_mut().enumerate().take(end).skip(begin) {
            let Cell { diagonal, deletion } = *cell;
            let gain = settings.score(flank.query[column], base);
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

/// The cells above the first row: an insertion after the seed.
fn first_row(flank: &Flank<'_>, settings: &Settings, cells: &mut Vec<Cell>) {
    let gaps = &settings.gaps;
    cells.clear();
    cells.resize(flank.query.len() + 1, Cell::default());
    let mut score = flank.seed_score;
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
