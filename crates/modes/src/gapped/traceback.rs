//! The alignment of the best score: the band of `kernel` once more, cell by cell, with the way
//! to each cell kept. Only placements that are reported, or that may be one of those, come here.

use super::kernel::{DIAGONALS, LOW, MARGIN};
use crate::by_score::alignment::{CLIP, DELETION, INSERTION, MATCH, push};
use crate::by_score::score::{LOWEST, Scoring};
use crate::query::UNKNOWN;
use crate::reference::WALL;

/// How a cell came to its score.
mod way {
    /// No base before.
    pub(super) const START: u8 = 0;
    pub(super) const DIAGONAL: u8 = 1;
    pub(super) const READ_GAP: u8 = 2;
    pub(super) const REFERENCE_GAP: u8 = 3;
    pub(super) const KIND: u8 = 3;
    /// The gap that ends here has more than one base.
    pub(super) const LONGER_READ_GAP: u8 = 4;
    pub(super) const LONGER_REFERENCE_GAP: u8 = 8;
}

/// A read against a window as in [`super::kernel::best_score`].
#[derive(Clone, Copy)]
pub(super) struct Problem<'a> {
    pub(super) codes: &'a [u8],
    pub(super) penalties: &'a [i16],
    /// [`MARGIN`] places, as many as the read has bases, and as many again.
    pub(super) window: &'a [u8],
    pub(super) scoring: &'a Scoring,
    /// Of equal alignments, that with gaps further right is taken.
    pub(super) gaps_late: bool,
}

/// A base of the read on a diagonal of the band.
#[derive(Debug, Clone, Copy)]
struct Cell {
    at: usize,
    diagonal: usize,
}

/// Where an alignment is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Traced {
    pub(super) score: i32,
    /// Its first place in the window.
    pub(super) start: usize,
}

/// Working memory.
#[derive(Debug, Default)]
pub(super) struct TracebackMatrix {
    ways: Vec<[u8; DIAGONALS]>,
}

type Row = [i16; DIAGONALS];

impl Problem<'_> {
    /// What base `at` of the read is worth at `place` of the window.
    fn of_cell(&self, at: usize, place: usize) -> i16 {
        match self.window.get(place) {
            None | Some(&WALL) => LOW,
            Some(&UNKNOWN) => -self.scoring.unknown,
            Some(&code) if code == self.codes[at] => self.scoring.match_bonus,
            Some(_) => -self.penalties[at],
        }
    }

    /// Row `at` from the one before it: scores, and what gaps in the reference come to.
    fn row(&self, at: usize, scores: &mut Row, gaps: &mut Row, ways: &mut [u8; DIAGONALS]) {
        let Scoring { read_gap, reference_gap, is_local, .. } = *self.scoring;
        let may_gap = self.scoring.gaps_within(self.codes.len()).map(|it| it.contains(&at));
        let mut in_read = LOW;
        for d in 0..DIAGONALS {
            let mut way = 0;
            let left = if d > 0 { scores[d - 1] } else { LOW };
            let opened = left.saturating_sub(read_gap.first());
            in_read = in_read.saturating_sub(read_gap.extend);
            if in_read > opened {
                way |= way::LONGER_READ_GAP;
            }
            in_read = if may_gap[0] { in_read.max(opened) } else { LOW };
            let above = |of: &Row| of.get(d + 1).copied().unwrap_or(LOW);
            let opened = above(scores).saturating_sub(reference_gap.first());
            let longer = above(gaps).saturating_sub(reference_gap.extend);
            if longer > opened {
                way |= way::LONGER_REFERENCE_GAP;
            }
            let in_reference = if may_gap[1] { longer.max(opened) } else { LOW };
            let diagonal = scores[d].saturating_add(self.of_cell(at, at + d + 1));
            let best = diagonal.max(in_read).max(in_reference);
            let kinds = [
                (diagonal, way::DIAGONAL),
                (in_read, way::READ_GAP),
                (in_reference, way::REFERENCE_GAP),
            ];
            let is_best = |(score, _): &&(i16, u8)| *score == best;
            let kind = if self.gaps_late {
                kinds.iter().rev().find(is_best)
            } else {
                kinds.iter().find(is_best)
            };
            way |= kind.map_or(way::START, |it| it.1);
            scores[d] = best;
            if is_local && best <= 0 {
                scores[d] = 0;
                way &= !way::KIND;
            } else if best < LOWEST {
                way &= !way::KIND;
            }
            gaps[d] = in_reference;
            ways[d] = way;
        }
    }

    /// The best alignment; its operations are put in `ops`, clips with them. Where there is none
    /// its score is below [`LOWEST`], and all bases are clipped.
    pub(super) fn trace(&self, table: &mut TracebackMatrix, ops: &mut Vec<u32>) -> Traced {
        let length = self.codes.len();
        let (mut scores, mut gaps): (Row, Row) = ([0; DIAGONALS], [LOW; DIAGONALS]);
        let mut best = (LOW, Cell { at: length.saturating_sub(1), diagonal: 0 });
        table.ways.resize(length.max(table.ways.len()), [0; DIAGONALS]);
        for at in 0..length {
            self.row(at, &mut scores, &mut gaps, &mut table.ways[at]);
            if self.scoring.is_local || at + 1 == length {
                for (diagonal, &score) in scores.iter().enumerate() {
                    if score > best.0 {
                        best = (score, Cell { at, diagonal });
                    }
                }
            }
        }
        let (score, last) = best;
        let start = self.follow(table, last, ops);
        Traced { score: score.into(), start }
    }

    /// From the last cell of an alignment to its first, whose place it gives.
    fn follow(&self, table: &TracebackMatrix, last: Cell, ops: &mut Vec<u32>) -> usize {
        let (length, Cell { at, diagonal }) = (self.codes.len(), last);
        ops.clear();
        push(ops, CLIP, length - (at + 1));
        // Bases that are left, and the diagonal.
        let (mut left, mut d) = (at + 1, diagonal);
        let mut place = at + d + 1;
        while left > 0 {
            let way = table.ways[left - 1][d];
            match way & way::KIND {
                way::DIAGONAL => {
                    place = left + d;
                    push(ops, MATCH, 1);
                    left -= 1;
                }
                way::READ_GAP => loop {
                    let longer = table.ways[left - 1][d] & way::LONGER_READ_GAP != 0;
                    push(ops, DELETION, 1);
                    d -= 1;
                    if !longer || d == 0 {
                        break;
                    }
                },
                way::REFERENCE_GAP => loop {
                    let longer = table.ways[left - 1][d] & way::LONGER_REFERENCE_GAP != 0;
                    push(ops, INSERTION, 1);
                    left -= 1;
                    d += 1;
                    if !longer || left == 0 {
                        break;
                    }
                },
                _ => break,
            }
        }
        push(ops, CLIP, left);
        ops.reverse();
        debug_assert!(place >= 1 && place < self.window.len().max(MARGIN));
        place
    }
}
