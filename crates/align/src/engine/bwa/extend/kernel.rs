//! Banded extension of seeds over their flanks, one in each lane (`ksw_extend2`).
//!
//! An extension begins with the score of its seed and ends where the score is best, or at the end
//! of the read. Rows are bases of the reference, columns bases of the read. As in bwa, no alignment
//! begins anew where the diagonal's score has fallen to 0; gaps open from a match alone; a row is
//! cut to a band, and to the cells that were not 0 in the row above and two more. That cut shows:
//! it ends a long insertion at the edge.

use super::super::lanes::{LaneScore, Lanes};
use super::super::settings::{Settings, UNKNOWN_SCORE};
use super::flank::{Extension, Flank};

/// Whether lanes compute with these scores as bwa does.
pub(super) fn fits_lanes(settings: &Settings) -> bool {
    settings.matching == 1 && settings.mismatch_score <= 0
}

/// A code that equals no base.
const UNKNOWN: usize = 7;
/// Another one, past the end of a read or of the reference.
const BEHIND: usize = 9;

/// A column of the matrix.
#[derive(Debug, Clone, Copy)]
struct Column<Score, const LANES: usize> {
    query: Lanes<Score, LANES>,
    /// Penalty of a mismatch.
    penalty: Lanes<Score, LANES>,
    /// The cell up and to the left.
    diagonal: Lanes<Score, LANES>,
    deletion: Lanes<Score, LANES>,
}

/// Working memory of [`extend`].
#[derive(Debug, Default)]
pub(super) struct LaneScratch<Score, const LANES: usize> {
    columns: Vec<Column<Score, LANES>>,
    target: Vec<Lanes<Score, LANES>>,
    /// Whether a column is the last one of some read.
    is_last: Vec<bool>,
}

/// The scoring, in all lanes.
#[derive(Debug, Clone, Copy)]
struct Penalties<Score, const LANES: usize> {
    gain: Lanes<Score, LANES>,
    mismatch: Lanes<Score, LANES>,
    first_deletion: Lanes<Score, LANES>,
    first_insertion: Lanes<Score, LANES>,
    extend_deletion: Lanes<Score, LANES>,
    extend_insertion: Lanes<Score, LANES>,
}

impl<Score: LaneScore, const LANES: usize> Penalties<Score, LANES> {
    #[inline(always)]
    fn new(settings: &Settings) -> Self {
        let all = |value: i32| Lanes::splat(Score::new(value));
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

/// Per lane: numbers of bases, the band, and the score at the start.
struct LaneInputs<Score, const LANES: usize> {
    columns: Lanes<Score, LANES>,
    rows: Lanes<Score, LANES>,
    band: Lanes<Score, LANES>,
    seed_score: Lanes<Score, LANES>,
}

/// Extends up to `LANES` seeds; the results are appended to `out`. Scores fit `Score`.
#[inline(always)]
pub(super) fn extend<Score: LaneScore, const LANES: usize>(
    flanks: &[Flank<'_>],
    settings: &Settings,
    scratch: &mut LaneScratch<Score, LANES>,
    out: &mut Vec<Extension>,
) {
    let are_plain = flanks.iter().all(|flank| flank.is_plain(settings));
    let inputs = load(flanks, are_plain, settings, scratch);
    let progress = if are_plain {
        matrix::<Score, LANES, false>(scratch, &inputs, settings)
    } else {
        matrix::<Score, LANES, true>(scratch, &inputs, settings)
    };
    out.extend((0..flanks.len()).map(|lane| progress.extension(lane)));
}

/// Loads a flank into each lane.
#[inline(always)]
fn load<Score: LaneScore, const LANES: usize>(
    flanks: &[Flank<'_>],
    are_plain: bool,
    settings: &Settings,
    scratch: &mut LaneScratch<Score, LANES>,
) -> LaneInputs<Score, LANES> {
    let zero = Lanes::splat(Score::ZERO);
    let mut inputs = LaneInputs { columns: zero, rows: zero, band: zero, seed_score: zero };
    let columns = flanks.iter().map(|flank| flank.query.len()).max().unwrap_or(0);
    let rows = flanks.iter().map(Flank::rows).max().unwrap_or(0);
    let empty = Column {
        query: Lanes::splat(Score::index(UNKNOWN)),
        penalty: Lanes::splat(Score::new(-settings.mismatch_score)),
        diagonal: zero,
        deletion: zero,
    };
    scratch.columns.clear();
    scratch.columns.resize(columns + 1, empty);
    scratch.target.clear();
    scratch.target.resize(rows, Lanes::splat(Score::index(BEHIND)));
    scratch.is_last.clear();
    scratch.is_last.resize(columns + 1, false);
    let [mismatch, unknown] = [-settings.mismatch_score, -UNKNOWN_SCORE].map(Score::new);
    for (lane, flank) in flanks.iter().enumerate() {
        let is_plain = are_plain || flank.is_plain(settings);
        let columns = scratch.columns.iter_mut().zip(flank.query);
        if is_plain {
            columns.for_each(|(column, &code)| column.query.0[lane] = Score::index(code.into()));
        } else {
            for (column, &code) in columns {
                column.query.0[lane] = Score::index(if code < 4 { code.into() } else { UNKNOWN });
                column.penalty.0[lane] = if code < 4 { mismatch } else { unknown };
            }
        }
        for (row, &code) in scratch.target.iter_mut().zip(&flank.target[..flank.rows()]) {
            row.0[lane] = Score::index(code.into());
        }
        scratch.is_last[flank.query.len() - 1] = true;
        inputs.columns.0[lane] = Score::index(flank.query.len());
        inputs.rows.0[lane] = Score::index(flank.rows());
        inputs.band.0[lane] = Score::new(flank.band);
        inputs.seed_score.0[lane] = Score::new(flank.seed_score);
    }
    load_first_row(scratch, &inputs, &Penalties::new(settings));
    inputs
}

/// The cells above the first row, no further than reads have columns.
#[inline(always)]
fn load_first_row<Score: LaneScore, const LANES: usize>(
    scratch: &mut LaneScratch<Score, LANES>,
    inputs: &LaneInputs<Score, LANES>,
    penalties: &Penalties<Score, LANES>,
) {
    let mut score = inputs.seed_score;
    scratch.columns[0].diagonal = score;
    score = score.minus(penalties.first_insertion);
    for (at, column) in scratch.columns.iter_mut().enumerate().skip(1) {
        let is_behind = Lanes::splat(Score::index(at)).greater_than(inputs.columns);
        column.diagonal = score.and_not(is_behind);
        if !column.diagonal.any() {
            break;
        }
        score = score.minus(penalties.extend_insertion);
    }
}

/// The best cells so far, per lane. Rows and columns are counted from 1, so that 0 is none.
struct Progress<Score, const LANES: usize> {
    best: Lanes<Score, LANES>,
    row: Lanes<Score, LANES>,
    column: Lanes<Score, LANES>,
    end_score: Lanes<Score, LANES>,
    end_row: Lanes<Score, LANES>,
    off_diagonal: Lanes<Score, LANES>,
}

impl<Score: LaneScore, const LANES: usize> Progress<Score, LANES> {
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
struct RowInProgress<Score, const LANES: usize> {
    target: Lanes<Score, LANES>,
    /// The cell to the left.
    left: Lanes<Score, LANES>,
    insertion: Lanes<Score, LANES>,
    most: Lanes<Score, LANES>,
    /// The last column that has it.
    most_column: Lanes<Score, LANES>,
    /// The last column that is not 0.
    live: Lanes<Score, LANES>,
    /// The cell in the last column of the read.
    last: Lanes<Score, LANES>,
}

/// The columns of a row that are in the band, per lane.
struct ColumnRange<Score, const LANES: usize> {
    /// The first.
    low: Lanes<Score, LANES>,
    /// One past the last.
    end: Lanes<Score, LANES>,
}

impl<Score: LaneScore, const LANES: usize> RowInProgress<Score, LANES> {
    #[inline(always)]
    fn new(target: Lanes<Score, LANES>, left: Lanes<Score, LANES>) -> Self {
        let zero = Lanes::splat(Score::ZERO);
        let (insertion, most, most_column, live, last) = (zero, zero, zero, zero, zero);
        Self { target, left, insertion, most, most_column, live, last }
    }

    /// A cell that is in the band of all active lanes.
    #[inline(always)]
    fn cell<const CAREFUL: bool>(
        &mut self,
        column: &mut Column<Score, LANES>,
        at: Lanes<Score, LANES>,
        penalties: &Penalties<Score, LANES>,
    ) {
        let Column { query, penalty, diagonal, deletion } = *column;
        column.diagonal = self.left;
        let penalty = if CAREFUL { penalty } else { penalties.mismatch };
        let matched =
            diagonal.plus_substitution(query.equal_to(self.target), penalties.gain, penalty);
        self.left = matched.max(deletion).max(self.insertion);
        self.most_column = at.blend_where_less(self.most, self.left, self.most_column);
        self.most = self.most.max(self.left);
        self.live = self.live.blend_where_greater(self.left, Lanes::splat(Score::ZERO), at);
        column.deletion =
            deletion.minus(penalties.extend_deletion).max(matched.minus(penalties.first_deletion));
        self.insertion = self
            .insertion
            .minus(penalties.extend_insertion)
            .max(matched.minus(penalties.first_insertion));
    }

    /// A cell that is outside of the band of some lanes.
    #[inline(always)]
    fn cell_within<const CAREFUL: bool>(
        &mut self,
        column: &mut Column<Score, LANES>,
        at: Lanes<Score, LANES>,
        columns: &ColumnRange<Score, LANES>,
        penalties: &Penalties<Score, LANES>,
    ) {
        let Column { query, penalty, diagonal, deletion } = *column;
        // Past the end bwa leaves the cells of the first row as they are.
        let is_behind = at.greater_than(columns.end);
        column.diagonal = if CAREFUL { diagonal.blend(is_behind, self.left) } else { self.left };
        let is_inside = columns.end.greater_than(at).and_not(columns.low.greater_than(at));
        let penalty = if CAREFUL { penalty } else { penalties.mismatch };
        let matched =
            diagonal.plus_substitution(query.equal_to(self.target), penalties.gain, penalty);
        let matched = matched.and(is_inside);
        self.left = matched.max(deletion).max(self.insertion).and(is_inside);
        self.most_column = at.blend_where_less(self.most, self.left, self.most_column);
        self.most = self.most.max(self.left);
        self.live = self.live.blend_where_greater(self.left, Lanes::splat(Score::ZERO), at);
        let longer = deletion.minus(penalties.extend_deletion);
        column.deletion = longer.max(matched.minus(penalties.first_deletion)).and(is_inside);
        let longer = self.insertion.minus(penalties.extend_insertion);
        self.insertion = longer.max(matched.minus(penalties.first_insertion)).and(is_inside);
    }

    /// Keeps the cell of column `at` where that is the last of the read.
    #[inline(always)]
    fn keep_last(
        &mut self,
        is_last: bool,
        at: Lanes<Score, LANES>,
        last_column: Lanes<Score, LANES>,
    ) {
        if is_last {
            self.last = self.left.blend(last_column.equal_to(at), self.last);
        }
    }
}

/// Computes the matrix. `CAREFUL`: with ambiguous bases, or first rows that are wider than the
/// band.
#[inline(always)]
fn matrix<Score: LaneScore, const LANES: usize, const CAREFUL: bool>(
    scratch: &mut LaneScratch<Score, LANES>,
    inputs: &LaneInputs<Score, LANES>,
    settings: &Settings,
) -> Progress<Score, LANES> {
    let zero = Lanes::<Score, LANES>::splat(Score::ZERO);
    let one = Lanes::splat(Score::index(1));
    let penalties = Penalties::new(settings);
    let last_column = inputs.columns.minus(one);
    let mut progress = Progress {
        best: inputs.seed_score,
        row: zero,
        column: zero,
        end_score: zero,
        end_row: zero,
        off_diagonal: zero,
    };
    let mut active = inputs.columns.greater_than(zero);
    let mut end = inputs.columns;
    let mut first = inputs.seed_score.minus(Lanes::splat(Score::new(settings.gaps.open_deletion)));
    let mut begin = 0;
    for number in 0..scratch.target.len() {
        let row_number = Lanes::splat(Score::index(number));
        active = active.and(inputs.rows.greater_than(row_number));
        if !active.any() {
            break;
        }
        first = first.minus(penalties.extend_deletion);
        let low = row_number.minus(inputs.band);
        end = end.min(row_number.plus(inputs.band).plus(one)).min(inputs.columns);
        let left = if begin == 0 { first.and(low.equal_to(zero)) } else { zero };
        let mut row = RowInProgress::new(scratch.target[number], left);
        let columns = ColumnRange { low, end };
        // In columns below the first and from the second number on some lanes do not compute.
        let common =
            [low.and(active).max_lane(), end.blend(active, Lanes::splat(Score::MAX)).min_lane()];
        let behind = end.and(active).max_lane();
        let common = common.map(|at| at.clamp(begin, behind.max(begin)));
        let mut at = begin;
        while at < common[0] {
            let index = Lanes::splat(Score::index(at));
            row.cell_within::<CAREFUL>(&mut scratch.columns[at], index, &columns, &penalties);
            row.keep_last(scratch.is_last[at], index, last_column);
            at += 1;
        }
        while at < common[1] {
            let index = Lanes::splat(Score::index(at));
            row.cell::<CAREFUL>(&mut scratch.columns[at], index, &penalties);
            row.keep_last(scratch.is_last[at], index, last_column);
            at += 1;
        }
        while at < behind {
            let index = Lanes::splat(Score::index(at));
            row.cell_within::<CAREFUL>(&mut scratch.columns[at], index, &columns, &penalties);
            row.keep_last(scratch.is_last[at], index, last_column);
            at += 1;
        }
        let behind_all = &mut scratch.columns[at];
        if CAREFUL {
            let is_behind = Lanes::splat(Score::index(at)).greater_than(end);
            behind_all.diagonal = behind_all.diagonal.blend(is_behind, row.left);
        } else {
            behind_all.diagonal = row.left;
        }
        active = progress.take(&row, row_number, active, end.equal_to(inputs.columns), settings);
        if !CAREFUL && number % ROWS_BETWEEN_BOUNDS == 0 && progress.end_row.and(active).any() {
            let bound = bound(&scratch.columns[..=behind.max(begin)], begin, inputs);
            active = active.and_not(progress.is_settled(bound));
        }
        end = row.live.plus(Lanes::splat(Score::index(3))).min(inputs.columns);
        begin = first_live(&scratch.columns[..behind.max(begin)], begin, active);
    }
    progress
}

/// Rows from one [`bound`] to the next: a bound takes a third of the time of a row.
const ROWS_BETWEEN_BOUNDS: usize = 4;

/// What no cell below a row exceeds: the best of the row's cells, and of the one before them, with
/// a match for each base of the read after it. No gap adds to a score.
#[inline(always)]
fn bound<Score: LaneScore, const LANES: usize>(
    columns: &[Column<Score, LANES>],
    begin: usize,
    inputs: &LaneInputs<Score, LANES>,
) -> Lanes<Score, LANES> {
    let zero = Lanes::<Score, LANES>::splat(Score::ZERO);
    let one = Lanes::splat(Score::index(1));
    let (mut most, mut left) = (zero, inputs.columns.minus(Lanes::splat(Score::index(begin))));
    for column in &columns[begin..] {
        let score = column.diagonal;
        most = most.max(score.plus(left).and(score.greater_than(zero)));
        left = left.minus(one);
    }
    most
}

/// The first column from `begin` on in which an active lane has more than 0.
#[inline(always)]
fn first_live<Score: LaneScore, const LANES: usize>(
    columns: &[Column<Score, LANES>],
    begin: usize,
    active: Lanes<Score, LANES>,
) -> usize {
    let is_dead = |column: &Column<Score, LANES>| {
        !column.diagonal.and(active).any() && !column.deletion.and(active).any()
    };
    // A loop: of an iterator the compiler makes a call, for which it saves all vectors.
    let mut first = begin;
    while columns.get(first).is_some_and(is_dead) {
        first += 1;
    }
    first
}

impl<Score: LaneScore, const LANES: usize> Progress<Score, LANES> {
    /// The lanes in which no later cell changes what was found: at the end of the read the later of
    /// equal scores counts, and the best score is no less than that.
    #[inline(always)]
    fn is_settled(&self, bound: Lanes<Score, LANES>) -> Lanes<Score, LANES> {
        self.end_score.greater_than(bound)
    }

    /// Updates the best cells by a row; returns the lanes that stay active (z-drop). `ends` are
    /// those whose band has the read's last column.
    #[inline(always)]
    fn take(
        &mut self,
        row: &RowInProgress<Score, LANES>,
        number: Lanes<Score, LANES>,
        active: Lanes<Score, LANES>,
        ends: Lanes<Score, LANES>,
        settings: &Settings,
    ) -> Lanes<Score, LANES> {
        let one = Lanes::splat(Score::index(1));
        let zero = Lanes::<Score, LANES>::splat(Score::ZERO);
        let number = number.plus(one);
        let is_end = ends.and(active).and_not(self.end_score.greater_than(row.last));
        self.end_row = number.blend(is_end, self.end_row);
        self.end_score = row.last.blend(is_end, self.end_score);
        let active = active.and(row.most.greater_than(zero));
        let is_better = row.most.greater_than(self.best).and(active);
        let column = row.most_column.plus(one);
        // How much further the row is than the column since the best score, or the other way round.
        let (rows, ahead) = (number.minus(self.row), column.minus(self.column));
        let rows = rows.plus(self.column.minus(column));
        let penalty = rows.minus(ahead).times(settings.gaps.extend_deletion);
        let penalty = penalty.max(ahead.minus(rows).times(settings.gaps.extend_insertion));
        let lost = self.best.minus(row.most).minus(penalty);
        self.best = row.most.blend(is_better, self.best);
        self.row = number.blend(is_better, self.row);
        self.column = column.blend(is_better, self.column);
        let off = number.minus(column).max(column.minus(number));
        self.off_diagonal = self.off_diagonal.max(off.and(is_better));
        if settings.z_drop <= 0 {
            return active;
        }
        let is_dropped =
            lost.greater_than(Lanes::splat(Score::new(settings.z_drop))).and_not(is_better);
        active.and_not(is_dropped)
    }
}
