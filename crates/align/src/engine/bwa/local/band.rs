//! The kernel of [`kernel`](super::kernel) on a band: cells of some neighbouring diagonals alone.
//!
//! Row by row, columns in order; of the row before only the cells of the band are kept, each at its
//! diagonal. Outside of the band all scores are 0.

use super::super::lanes::{LaneScore, Lanes};
use super::kernel::{self, LanePenalties, Peak, QueryColumn, Scores, SequencePair};
use super::parts::MatrixParts;

/// A query, the part of a window that a band crosses, and the band.
#[derive(Debug, Default, Clone)]
pub(in super::super) struct BandedWindow {
    /// `target` begins with the row `first_row` of the window, or further on if that is below 0.
    pub(in super::super) sequences: SequencePair,
    /// The row that the first diagonal of the band has in the first column.
    pub(in super::super) first_row: i32,
    /// Diagonals of the band.
    pub(in super::super) width: usize,
}

/// Working memory of a kernel.
#[derive(Debug, Default)]
pub(super) struct BandScratch<Score, const LANES: usize> {
    query: Vec<QueryColumn<Score, LANES>>,
    target: Vec<Lanes<Score, LANES>>,
    /// By diagonals, the last first: the best score of an alignment that ends there, and of one
    /// that ends there in a deletion, which is that of the next diagonal's cell in the next row.
    best: Vec<Lanes<Score, LANES>>,
    deletion: Vec<Lanes<Score, LANES>>,
    rows: Vec<Lanes<Score, LANES>>,
}

/// Aligns up to `LANES` queries to their windows, each in its band.
#[inline(always)]
pub(super) fn align<Score: LaneScore, const LANES: usize>(
    all: &[BandedWindow],
    scores: &Scores<'_>,
    scratch: &mut BandScratch<Score, LANES>,
    out: &mut MatrixParts,
) {
    let width = all.iter().map(|it| it.width).max().unwrap_or(0);
    load(all, width, scores, scratch);
    let Peak { score: best, column } = matrix(scratch, width, &LanePenalties::new(scores.settings));
    for (lane, it) in all.iter().enumerate() {
        // Rows of the kernel that the window has.
        let skipped = it.first_row.min(0).unsigned_abs() as usize;
        let end = skipped + it.sequences.target.len();
        let rows = scratch.rows[skipped..end].iter().map(|row| row.0[lane].value());
        let first = it.first_row.max(0) as u32;
        let score = best.0[lane].value();
        out.push(rows, first, score, column.0[lane].as_index(), scores.least);
    }
}

/// Loads a query and its window into each lane.
#[inline(always)]
fn load<Score: LaneScore, const LANES: usize>(
    all: &[BandedWindow],
    width: usize,
    scores: &Scores<'_>,
    scratch: &mut BandScratch<Score, LANES>,
) {
    let queries = all.iter().map(|it| &it.sequences.query[..]);
    kernel::load_queries(queries, scores, &mut scratch.query);
    let rows = scratch.query.len() + width - 1;
    let zero = Lanes::splat(Score::ZERO);
    scratch.target.clear();
    scratch.target.resize(rows, Lanes::splat(Score::index(kernel::BEHIND)));
    scratch.rows.clear();
    scratch.rows.resize(rows, zero);
    scratch.best.clear();
    scratch.best.resize(width, zero);
    scratch.deletion.clear();
    scratch.deletion.resize(width + 1, zero);
    for (lane, it) in all.iter().enumerate() {
        let skipped = it.first_row.min(0).unsigned_abs() as usize;
        for (row, &code) in scratch.target[skipped..].iter_mut().zip(&it.sequences.target) {
            row.0[lane] = Score::index(code.into());
        }
    }
}

/// Computes the band, and leaves the best score of each row; of each lane the best score of
/// all, and the first column that has it in the first such row.
#[inline(always)]
fn matrix<Score: LaneScore, const LANES: usize>(
    scratch: &mut BandScratch<Score, LANES>,
    width: usize,
    gaps: &LanePenalties<Score, LANES>,
) -> Peak<Score, LANES> {
    let zero = Lanes::splat(Score::ZERO);
    let (mut most, mut best_column) = (zero, zero);
    let rows = scratch.target.iter().zip(&mut scratch.rows);
    for (number, (&target, row)) in rows.enumerate() {
        let first = (number + 1).saturating_sub(width);
        let query = &scratch.query[first..(number + 1).min(scratch.query.len())];
        // The last diagonal first.
        let at = first + width - 1 - number;
        let best = &mut scratch.best[at..at + query.len()];
        let deletion = &mut scratch.deletion[at..=at + query.len()];
        let (mut insertion, mut most_here, mut column_here) = (zero, zero, zero);
        let mut index = Lanes::splat(Score::index(first));
        for (at, (base, best)) in query.iter().zip(best).enumerate() {
            let above = deletion[at + 1];
            let score = best.scored(base.query, target, gaps.gain, base.penalty);
            let score = score.max(above).max(insertion);
            *best = score;
            column_here = column_here.blend_where_greater(score, most_here, index);
            index = index.next();
            most_here = most_here.max(score);
            deletion[at] = above.minus(gaps.extend_deletion).max(score.minus(gaps.open_deletion));
            insertion =
                insertion.minus(gaps.extend_insertion).max(score.minus(gaps.open_insertion));
        }
        *row = most_here;
        best_column = best_column.blend_where_greater(most_here, most, column_here);
        most = most.max(most_here);
    }
    Peak { score: most, column: best_column }
}
