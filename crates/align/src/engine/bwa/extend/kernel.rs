//! Extension of seeds over the bases beside them, many side by side (`ksw_extend2`).
//!
//! An extension begins with the score of its seed and ends where the score is best, or at the end
//! of the read. Rows are bases of the reference, columns bases of the read. As in bwa, no alignment
//! begins anew where the diagonal's score has fallen to 0; gaps open from a match alone; a row is
//! cut to a band, and to the cells that were not 0 in the row above and two more. That cut shows:
//! it ends a long insertion at the edge.

use super::super::lanes::{Lanes, Unit};
use super::super::settings::{Settings, UNKNOWN_SCORE};
use super::side::{Extension, Side};

/// Whether lanes compute with these scores as bwa does.
pub(super) fn fits_lanes(settings: &Settings) -> bool {
    settings.matching == 1 && settings.mismatch_score <= 0
}

/// A code that equals no base.
const UNKNOWN: usize = 7;
/// Another one, behind the end of a read or of the reference.
const BEHIND: usize = 9;

/// The numbers of one column.
#[derive(Debug, Clone, Copy)]
struct Column<T, const N: usize> {
    query: Lanes<T, N>,
    /// What a base costs that does not match.
    price: Lanes<T, N>,
    /// The cell up and to the left.
    diagonal: Lanes<T, N>,
    deletion: Lanes<T, N>,
}

/// Working memory of [`extend`].
#[derive(Debug, Default)]
pub(super) struct Work<T, const N: usize> {
    columns: Vec<Column<T, N>>,
    target: Vec<Lanes<T, N>>,
    /// Whether a column is the last one of some read.
    is_last: Vec<bool>,
}

/// The prices, in all lanes.
#[derive(Debug, Clone, Copy)]
struct Prices<T, const N: usize> {
    gain: Lanes<T, N>,
    mismatch: Lanes<T, N>,
    first_deletion: Lanes<T, N>,
    first_insertion: Lanes<T, N>,
    extend_deletion: Lanes<T, N>,
    extend_insertion: Lanes<T, N>,
}

impl<T: Unit, const N: usize> Prices<T, N> {
    #[inline(always)]
    fn new(settings: &Settings) -> Self {
        let all = |value: i32| Lanes::all(T::new(value));
        let gaps = &settings.gaps;
        Self {
            gain: all(settings.matching),
            mismatch: all(-settings.mismatch_score),
            first_deletion: all(gaps.open_deletion + gaps.extend_deletion),
            first_insertion: all(gaps.open_insertion + gaps.extend_insertion),
            extend_deletion: all(gaps.extend_deletion),
            extend_insertion: all(gaps.extend_insertion),
        }
    }
}

/// What differs from lane to lane: numbers of bases, the band, and the score at the start.
struct Shapes<T, const N: usize> {
    columns: Lanes<T, N>,
    rows: Lanes<T, N>,
    band: Lanes<T, N>,
    seed_score: Lanes<T, N>,
}

/// Extends up to `N` seeds; what each comes to is put behind `out`. Scores fit `T`.
#[inline(always)]
pub(super) fn extend<T: Unit, const N: usize>(
    sides: &[Side<'_>],
    settings: &Settings,
    work: &mut Work<T, N>,
    out: &mut Vec<Extension>,
) {
    let shapes = load(sides, settings, work);
    let found = if sides.iter().all(|side| side.is_plain(settings)) {
        matrix::<T, N, false>(work, &shapes, settings)
    } else {
        matrix::<T, N, true>(work, &shapes, settings)
    };
    out.extend((0..sides.len()).map(|lane| found.extension(lane)));
}

/// Puts the bases side by side.
#[inline(always)]
fn load<T: Unit, const N: usize>(
    sides: &[Side<'_>],
    settings: &Settings,
    work: &mut Work<T, N>,
) -> Shapes<T, N> {
    let zero = Lanes::all(T::ZERO);
    let mut shapes = Shapes { columns: zero, rows: zero, band: zero, seed_score: zero };
    let columns = sides.iter().map(|side| side.query.len()).max().unwrap_or(0);
    let rows = sides.iter().map(Side::rows).max().unwrap_or(0);
    let empty = Column {
        query: Lanes::all(T::index(UNKNOWN)),
        price: Lanes::all(T::new(-settings.mismatch_score)),
        diagonal: zero,
        deletion: zero,
    };
    work.columns.clear();
    work.columns.resize(columns + 1, empty);
    work.target.clear();
    work.target.resize(rows, Lanes::all(T::index(BEHIND)));
    work.is_last.clear();
    work.is_last.resize(columns + 1, false);
    let [mismatch, unknown] = [-settings.mismatch_score, -UNKNOWN_SCORE].map(T::new);
    for (lane, side) in sides.iter().enumerate() {
        let is_plain = side.is_plain(settings);
        for (column, &code) in work.columns.iter_mut().zip(side.query) {
            column.query.0[lane] = T::index(if code < 4 { code.into() } else { UNKNOWN });
            if !is_plain {
                column.price.0[lane] = if code < 4 { mismatch } else { unknown };
            }
        }
        for (row, &code) in work.target.iter_mut().zip(&side.target[..side.rows()]) {
            row.0[lane] = T::index(code.into());
        }
        work.is_last[side.query.len() - 1] = true;
        shapes.columns.0[lane] = T::index(side.query.len());
        shapes.rows.0[lane] = T::index(side.rows());
        shapes.band.0[lane] = T::new(side.band);
        shapes.seed_score.0[lane] = T::new(side.seed_score);
    }
    load_first_row(work, &shapes, &Prices::new(settings));
    shapes
}

/// The cells above the first row, no further than reads have columns.
#[inline(always)]
fn load_first_row<T: Unit, const N: usize>(
    work: &mut Work<T, N>,
    shapes: &Shapes<T, N>,
    prices: &Prices<T, N>,
) {
    let mut score = shapes.seed_score;
    work.columns[0].diagonal = score;
    score = score.less(prices.first_insertion);
    for (at, column) in work.columns.iter_mut().enumerate().skip(1) {
        let is_behind = Lanes::all(T::index(at)).above(shapes.columns);
        column.diagonal = score.without(is_behind);
        if !column.diagonal.is_any() {
            break;
        }
        score = score.less(prices.extend_insertion);
    }
}

/// What is known of the lanes while rows are computed. Rows and columns are counted from 1, so that
/// 0 is none.
struct Found<T, const N: usize> {
    best: Lanes<T, N>,
    row: Lanes<T, N>,
    column: Lanes<T, N>,
    end_score: Lanes<T, N>,
    end_row: Lanes<T, N>,
    off_diagonal: Lanes<T, N>,
}

impl<T: Unit, const N: usize> Found<T, N> {
    fn extension(&self, lane: usize) -> Extension {
        let end_row = self.end_row.0[lane].as_index() as i32;
        Extension {
            score: self.best.0[lane].value(),
            query_bases: self.column.0[lane].as_index() as i32,
            target_bases: self.row.0[lane].as_index() as i32,
            end_score: if end_row == 0 { -1 } else { self.end_score.0[lane].value() },
            end_target_bases: end_row,
            off_diagonal: self.off_diagonal.0[lane].value(),
        }
    }
}

/// A row while its columns are computed.
struct Row<T, const N: usize> {
    target: Lanes<T, N>,
    /// The cell to the left.
    left: Lanes<T, N>,
    insertion: Lanes<T, N>,
    most: Lanes<T, N>,
    /// The last column that has it.
    most_column: Lanes<T, N>,
    /// The last column that is not 0.
    live: Lanes<T, N>,
    /// The cell in the last column of the read.
    last: Lanes<T, N>,
}

/// The columns of a row that lanes compute.
struct Columns<T, const N: usize> {
    /// The first.
    low: Lanes<T, N>,
    /// Behind the last.
    end: Lanes<T, N>,
}

impl<T: Unit, const N: usize> Row<T, N> {
    /// A cell that all lanes that go on compute.
    #[inline(always)]
    fn cell<const CAREFUL: bool>(
        &mut self,
        column: &mut Column<T, N>,
        at: Lanes<T, N>,
        prices: &Prices<T, N>,
    ) {
        let Column { query, price, diagonal, deletion } = *column;
        column.diagonal = self.left;
        let price = if CAREFUL { price } else { prices.mismatch };
        let matched = diagonal.continued(query.equals(self.target), prices.gain, price);
        self.left = matched.larger(deletion).larger(self.insertion);
        self.most_column = at.or_below(self.most, self.left, self.most_column);
        self.most = self.most.larger(self.left);
        self.live = self.live.where_above(self.left, Lanes::all(T::ZERO), at);
        column.deletion =
            deletion.less(prices.extend_deletion).larger(matched.less(prices.first_deletion));
        self.insertion = self
            .insertion
            .less(prices.extend_insertion)
            .larger(matched.less(prices.first_insertion));
    }

    /// A cell that some lanes do not compute.
    #[inline(always)]
    fn cell_within<const CAREFUL: bool>(
        &mut self,
        column: &mut Column<T, N>,
        at: Lanes<T, N>,
        columns: &Columns<T, N>,
        prices: &Prices<T, N>,
    ) {
        let Column { query, price, diagonal, deletion } = *column;
        // Behind the end bwa leaves the cells of the first row as they are.
        let is_behind = at.above(columns.end);
        column.diagonal = if CAREFUL { diagonal.chosen(is_behind, self.left) } else { self.left };
        let is_inside = columns.end.above(at).without(columns.low.above(at));
        let price = if CAREFUL { price } else { prices.mismatch };
        let matched = diagonal.continued(query.equals(self.target), prices.gain, price);
        let matched = matched.only(is_inside);
        self.left = matched.larger(deletion).larger(self.insertion).only(is_inside);
        self.most_column = at.or_below(self.most, self.left, self.most_column);
        self.most = self.most.larger(self.left);
        self.live = self.live.where_above(self.left, Lanes::all(T::ZERO), at);
        let longer = deletion.less(prices.extend_deletion);
        column.deletion = longer.larger(matched.less(prices.first_deletion)).only(is_inside);
        let longer = self.insertion.less(prices.extend_insertion);
        self.insertion = longer.larger(matched.less(prices.first_insertion)).only(is_inside);
    }

    /// Keeps the cell of column `at` where that is the last of the read.
    #[inline(always)]
    fn keep_last(&mut self, is_last: bool, at: Lanes<T, N>, last_column: Lanes<T, N>) {
        if is_last {
            self.last = self.left.chosen(last_column.equals(at), self.last);
        }
    }
}

/// Goes through the matrix. `CAREFUL`: with bases that are not known, or first rows that are wider
/// than the band.
#[inline(always)]
fn matrix<T: Unit, const N: usize, const CAREFUL: bool>(
    work: &mut Work<T, N>,
    shapes: &Shapes<T, N>,
    settings: &Settings,
) -> Found<T, N> {
    let zero = Lanes::<T, N>::all(T::ZERO);
    let one = Lanes::all(T::index(1));
    let prices = Prices::new(settings);
    let last_column = shapes.columns.less(one);
    let mut found = Found {
        best: shapes.seed_score,
        row: zero,
        column: zero,
        end_score: zero,
        end_row: zero,
        off_diagonal: zero,
    };
    let mut going = shapes.columns.above(zero);
    let mut end = shapes.columns;
    let mut first = shapes.seed_score.less(Lanes::all(T::new(settings.gaps.open_deletion)));
    let mut begin = 0;
    for number in 0..work.target.len() {
        let row_number = Lanes::all(T::index(number));
        going = going.only(shapes.rows.above(row_number));
        if !going.is_any() {
            break;
        }
        first = first.less(prices.extend_deletion);
        let low = row_number.less(shapes.band);
        end = end.smaller(row_number.plus(shapes.band).plus(one)).smaller(shapes.columns);
        let mut row = Row {
            target: work.target[number],
            left: if begin == 0 { first.only(low.equals(zero)) } else { zero },
            insertion: zero,
            most: zero,
            most_column: zero,
            live: zero,
            last: zero,
        };
        let columns = Columns { low, end };
        // In columns below the first and from the second number on some lanes do not compute.
        let common = [low.only(going).greatest(), end.chosen(going, Lanes::all(T::ALL)).least()];
        let behind = end.only(going).greatest();
        let common = common.map(|at| at.clamp(begin, behind.max(begin)));
        let mut at = begin;
        while at < common[0] {
            let index = Lanes::all(T::index(at));
            row.cell_within::<CAREFUL>(&mut work.columns[at], index, &columns, &prices);
            row.keep_last(work.is_last[at], index, last_column);
            at += 1;
        }
        while at < common[1] {
            let index = Lanes::all(T::index(at));
            row.cell::<CAREFUL>(&mut work.columns[at], index, &prices);
            row.keep_last(work.is_last[at], index, last_column);
            at += 1;
        }
        while at < behind {
            let index = Lanes::all(T::index(at));
            row.cell_within::<CAREFUL>(&mut work.columns[at], index, &columns, &prices);
            row.keep_last(work.is_last[at], index, last_column);
            at += 1;
        }
        let index = Lanes::all(T::index(at));
        let behind_all = &mut work.columns[at];
        if CAREFUL {
            let is_behind = index.above(end);
            behind_all.diagonal = behind_all.diagonal.chosen(is_behind, row.left);
        } else {
            behind_all.diagonal = row.left;
        }
        going = found.take(&row, row_number, going, end.equals(shapes.columns), settings);
        end = row.live.plus(Lanes::all(T::index(3))).smaller(shapes.columns);
        begin = first_live(&work.columns[..behind.max(begin)], begin, going);
    }
    found
}

/// The first column from `begin` on in which a lane that goes on has more than 0.
#[inline(always)]
fn first_live<T: Unit, const N: usize>(
    columns: &[Column<T, N>],
    begin: usize,
    going: Lanes<T, N>,
) -> usize {
    let is_dead = |column: &&Column<T, N>| {
        !column.diagonal.only(going).is_any() && !column.deletion.only(going).is_any()
    };
    begin + columns[begin..].iter().take_while(is_dead).count()
}

impl<T: Unit, const N: usize> Found<T, N> {
    /// Takes a row; which lanes go on. `ends` says in which the row has the read's last column.
    #[inline(always)]
    fn take(
        &mut self,
        row: &Row<T, N>,
        number: Lanes<T, N>,
        going: Lanes<T, N>,
        ends: Lanes<T, N>,
        settings: &Settings,
    ) -> Lanes<T, N> {
        let one = Lanes::all(T::index(1));
        let zero = Lanes::<T, N>::all(T::ZERO);
        let number = number.plus(one);
        let is_end = ends.only(going).without(self.end_score.above(row.last));
        self.end_row = number.chosen(is_end, self.end_row);
        self.end_score = row.last.chosen(is_end, self.end_score);
        let going = going.only(row.most.above(zero));
        let is_better = row.most.above(self.best).only(going);
        let column = row.most_column.plus(one);
        // How much further the row is than the column since the best score, or the other way round.
        let (rows, ahead) = (number.less(self.row), column.less(self.column));
        let rows = rows.plus(self.column.less(column));
        let price = rows.less(ahead).times(settings.gaps.extend_deletion);
        let price = price.larger(ahead.less(rows).times(settings.gaps.extend_insertion));
        let lost = self.best.less(row.most).less(price);
        self.best = row.most.chosen(is_better, self.best);
        self.row = number.chosen(is_better, self.row);
        self.column = column.chosen(is_better, self.column);
        let off = number.less(column).larger(column.less(number));
        self.off_diagonal = self.off_diagonal.larger(off.only(is_better));
        if settings.drop <= 0 {
            return going;
        }
        let is_dropped = lost.above(Lanes::all(T::new(settings.drop))).without(is_better);
        going.without(is_dropped)
    }
}
