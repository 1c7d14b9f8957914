//! Global alignment with affine gaps within a band (`ksw_global2`).
//!
//! Which of several best paths is taken shows in the CIGAR, so the order of preference is bwa's: a
//! match before a deletion before an insertion, and a gap goes on only if that is better than to
//! open a new one.

use super::super::settings::Settings;
use super::{DELETION, INSERTION, MATCH, operation};

/// Below every score, and far enough from the smallest integer.
const LOWEST: i32 = -0x4000_0000;

// Where the best of a cell comes from: two bits for the cell, and two for each gap that goes on.
const FROM_MATCH: u8 = 0;
const FROM_DELETION: u8 = 1;
const FROM_INSERTION: u8 = 2;
const DELETION_GOES_ON: u8 = FROM_DELETION << 2;
const INSERTION_GOES_ON: u8 = FROM_INSERTION << 4;

/// Codes of bases, of N and of a gap; a power of two.
const CODES: usize = 8;

/// A column: the cell up and to the left, and a deletion that ends there.
#[derive(Debug, Clone, Copy)]
struct Column {
    diagonal: i32,
    deletion: i32,
}

/// Working memory of an alignment.
#[derive(Debug, Default)]
pub(in super::super) struct Global {
    columns: Vec<Column>,
    /// Bits of each cell of the band, row by row.
    moves: Vec<u8>,
    /// Scores of all codes against each base.
    scores: [[i32; CODES]; 4],
}

/// A cell as it was left.
struct Cell {
    best: i32,
    deletion: i32,
    insertion: i32,
    moves: u8,
}

impl Global {
    /// Puts the path of two sequences of codes in `cigar`, which is empty, and returns its score.
    pub(super) fn align(
        &mut self,
        [query, target]: [&[u8]; 2],
        band: usize,
        settings: &Settings,
        cigar: &mut Vec<u32>,
    ) -> i32 {
        self.start(query, band, settings);
        let row_cells = query.len().min(2 * band + 1);
        self.moves.clear();
        self.moves.resize(row_cells * target.len(), 0);
        for (row, &base) in target.iter().enumerate() {
            self.row(row, base, query, [band, row_cells], settings);
        }
        self.path([query.len(), target.len()], band, row_cells, cigar);
        self.columns[query.len()].diagonal
    }

    /// The row above the first: an insertion at the start.
    fn start(&mut self, query: &[u8], band: usize, settings: &Settings) {
        let gaps = &settings.gaps;
        let column = |at: usize| Column {
            diagonal: match at {
                0 => 0,
                _ if at <= band => -(gaps.open_insertion + gaps.extend_insertion * at as i32),
                _ => LOWEST,
            },
            deletion: LOWEST,
        };
        self.columns.clear();
        self.columns.extend((0..=query.len()).map(column));
        let scores = |base| std::array::from_fn(|code| settings.score(code as u8, base));
        self.scores = [0, 1, 2, 3].map(scores);
    }

    fn row(
        &mut self,
        row: usize,
        base: u8,
        query: &[u8],
        [band, row_cells]: [usize; 2],
        settings: &Settings,
    ) {
        let gaps = &settings.gaps;
        let (begin, end) = (row.saturating_sub(band), (row + band + 1).min(query.len()));
        let mut left = if begin == 0 {
            -(gaps.open_deletion + gaps.extend_deletion * (row as i32 + 1))
        } else {
            LOWEST
        };
        let mut insertion = LOWEST;
        let scores = self.scores[usize::from(base & 3)];
        let moves = &mut self.moves[row * row_cells..][..end - begin];
        let columns = &mut self.columns[begin..end];
        for ((column, &code), moves) in columns.iter_mut().zip(&query[begin..end]).zip(moves) {
            let matched = column.diagonal + scores[usize::from(code) % CODES];
            let cell = cell(matched, column.deletion, insertion, settings);
            *column = Column { diagonal: left, deletion: cell.deletion };
            (left, insertion, *moves) = (cell.best, cell.insertion, cell.moves);
        }
        self.columns[end] = Column { diagonal: left, deletion: LOWEST };
    }

    /// Follows the moves from the last cell back.
    fn path(
        &self,
        [length, rows]: [usize; 2],
        band: usize,
        row_cells: usize,
        cigar: &mut Vec<u32>,
    ) {
        let (mut row, mut column, mut state) = (rows, length, FROM_MATCH);
        while row > 0 && column > 0 {
            let begin = (row - 1).saturating_sub(band);
            let moves = self.moves[(row - 1) * row_cells + (column - 1 - begin)];
            state = moves >> (state << 1) & 3;
            match state {
                FROM_MATCH => (row, column) = (row - 1, column - 1),
                FROM_DELETION => row -= 1,
                _ => column -= 1,
            }
            push(cigar, 1, [MATCH, DELETION, INSERTION][usize::from(state.min(2))]);
        }
        push(cigar, row, DELETION);
        push(cigar, column, INSERTION);
        cigar.reverse();
    }
}

/// The cell that a match, or a gap that ends here, leads to.
#[inline(always)]
fn cell(matched: i32, deletion: i32, insertion: i32, settings: &Settings) -> Cell {
    let gaps = &settings.gaps;
    let (mut best, mut moves) = (matched, FROM_MATCH);
    if deletion > best {
        (best, moves) = (deletion, FROM_DELETION);
    }
    if insertion > best {
        (best, moves) = (insertion, FROM_INSERTION);
    }
    let opened = matched - gaps.open_deletion - gaps.extend_deletion;
    let going_on = deletion - gaps.extend_deletion;
    if going_on > opened {
        moves |= DELETION_GOES_ON;
    }
    let deletion = going_on.max(opened);
    let opened = matched - gaps.open_insertion - gaps.extend_insertion;
    let going_on = insertion - gaps.extend_insertion;
    if going_on > opened {
        moves |= INSERTION_GOES_ON;
    }
    Cell { best, deletion, insertion: going_on.max(opened), moves }
}

/// Adds operations to a CIGAR, to the last one if that is of the same kind.
fn push(cigar: &mut Vec<u32>, count: usize, kind: u32) {
    if count == 0 {
        return;
    }
    match cigar.last_mut() {
        Some(last) if *last & 0xF == kind => *last += operation(count, 0),
        _ => cigar.push(operation(count, kind)),
    }
}
