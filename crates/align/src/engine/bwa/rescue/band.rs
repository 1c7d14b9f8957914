//! The kernel of [`kernel`](super::kernel) on a band: cells of some neighbouring diagonals alone.
//!
//! Row by row, columns in order; of the row before only the cells of the band are kept, each at its
//! diagonal. Beside the band all scores are 0.

use super::super::lanes::{Lanes, Unit};
use super::kernel::{self, Base, Gaps, Peak, Scores, Strings};
use super::parts::Parts;

/// A query, the part of a window that a band crosses, and the band.
#[derive(Debug, Default, Clone)]
pub(super) struct Banded {
    /// `target` begins with the row `first_row` of the window, or further on if that is below 0.
    pub(super) strings: Strings,
    /// The row that the first diagonal of the band has in the first column.
    pub(super) first_row: i32,
    /// Diagonals.
    pub(super) width: usize,
}

/// Working memory of a kernel.
#[derive(Debug, Default)]
pub(super) struct BandWork<T, const N: usize> {
    query: Vec<Base<T, N>>,
    target: Vec<Lanes<T, N>>,
    /// By diagonals, the last first: the best score of an alignment that ends there, and of one
    /// that ends there in a deletion, which is that of the next diagonal's cell in the next row.
    best: Vec<Lanes<T, N>>,
    deletion: Vec<Lanes<T, N>>,
    rows: Vec<Lanes<T, N>>,
}

/// Aligns up to `N` queries to their windows, each in its band.
#[inline(always)]
pub(super) fn align<T: Unit, const N: usize>(
    all: &[Banded],
    scores: &Scores<'_>,
    work: &mut BandWork<T, N>,
    out: &mut Parts,
) {
    let width = all.iter().map(|it| it.width).max().unwrap_or(0);
    load(all, width, scores, work);
    let Peak { score: best, column } = matrix(work, width, &Gaps::new(scores.settings));
    for (lane, it) in all.iter().enumerate() {
        // Rows of the kernel that the window has.
        let skipped = it.first_row.min(0).unsigned_abs() as usize;
        let end = skipped + it.strings.target.len();
        let rows = work.rows[skipped..end].iter().map(|row| row.0[lane].value());
        let first = it.first_row.max(0) as u32;
        let score = best.0[lane].value();
        out.push(rows, first, score, column.0[lane].as_index(), scores.least);
    }
}

/// Puts the strings side by side.
#[inline(always)]
fn load<T: Unit, const N: usize>(
    all: &[Banded],
    width: usize,
    scores: &Scores<'_>,
    work: &mut BandWork<T, N>,
) {
    let queries = all.iter().map(|it| &it.strings.query[..]);
    kernel::load_queries(queries, scores, &mut work.query);
    let rows = work.query.len() + width - 1;
    let zero = Lanes::all(T::ZERO);
    work.target.clear();
    work.target.resize(rows, Lanes::all(T::index(kernel::BEHIND)));
    work.rows.clear();
    work.rows.resize(rows, zero);
    work.best.clear();
    work.best.resize(width, zero);
    work.deletion.clear();
    work.deletion.resize(width + 1, zero);
    for (lane, it) in all.iter().enumerate() {
        let skipped = it.first_row.min(0).unsigned_abs() as usize;
        for (row, &code) in work.target[skipped..].iter_mut().zip(&it.strings.target) {
            row.0[lane] = T::index(code.into());
        }
    }
}

/// Goes through the band, and leaves the best score of each row; of each lane the best score of
/// all, and the first column that has it in the first such row.
#[inline(always)]
fn matrix<T: Unit, const N: usize>(
    work: &mut BandWork<T, N>,
    width: usize,
    gaps: &Gaps<T, N>,
) -> Peak<T, N> {
    let zero = Lanes::all(T::ZERO);
    let (mut most, mut place) = (zero, zero);
    let rows = work.target.iter().zip(&mut work.rows);
    for (number, (&target, row)) in rows.enumerate() {
        let first = (number + 1).saturating_sub(width);
        let query = &work.query[first..(number + 1).min(work.query.len())];
        // The last diagonal first.
        let at = first + width - 1 - number;
        let best = &mut work.best[at..at + query.len()];
        let deletion = &mut work.deletion[at..=at + query.len()];
        let (mut insertion, mut most_here, mut place_here) = (zero, zero, zero);
        let mut index = Lanes::all(T::index(first));
        for (at, (base, best)) in query.iter().zip(best).enumerate() {
            let above = deletion[at + 1];
            let score = best.scored(base.query, target, gaps.gain, base.price);
            let score = score.larger(above).larger(insertion);
            *best = score;
            place_here = place_here.where_above(score, most_here, index);
            index = index.next();
            most_here = most_here.larger(score);
            deletion[at] = above.less(gaps.extend_deletion).larger(score.less(gaps.open_deletion));
            insertion =
                insertion.less(gaps.extend_insertion).larger(score.less(gaps.open_insertion));
        }
        *row = most_here;
        place = place.where_above(most_here, most, place_here);
        most = most.larger(most_here);
    }
    Peak { score: most, column: place }
}
