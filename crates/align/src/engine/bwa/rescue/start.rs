//! The start of an alignment whose end and score are known.
//!
//! The sequences are reversed, so that the alignment begins with their first bases; sought is the
//! one of the score that has the fewest rows. An alignment with `D` deleted and `I` inserted bases
//! in all stays within `D` diagonals on one side of the first and `I` on the other. It has no more
//! matches than its columns, nor than its rows less `D`, and pays for one gap at least: that bounds
//! `D`, and likewise `I`, by the score alone. Where it has the score without a gap too, which is
//! seen at once, no more rows are looked at than that takes.

use super::super::local::kernel::{Scores, SequencePair};
use super::super::local::parts::Best;

/// How far back from its end an alignment reaches at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StartBound {
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// Deleted and inserted bases.
    pub(super) deletions: usize,
    pub(super) insertions: usize,
}

impl StartBound {
    pub(super) fn new(best: &Best, scores: &Scores<'_>) -> Self {
        Self::within([best.row + 1, best.column + 1], best, scores)
    }

    /// The same, of alignments with so many rows at most.
    pub(super) fn within_rows(self, rows: usize, best: &Best, scores: &Scores<'_>) -> Self {
        Self::within([rows.min(self.rows), self.columns], best, scores)
    }

    fn within([rows, columns]: [usize; 2], best: &Best, scores: &Scores<'_>) -> Self {
        let gaps = &scores.settings.gaps;
        let matching = scores.settings.matching;
        // Bases of a gap that leave the score, where `one` of the sequences bounds the matches, and
        // where `other` does, of which the gap takes bases.
        let most = |one: usize, other: usize, open: i32, extend: i32| {
            if extend < 1 {
                return rows.max(columns);
            }
            let spare = |bases: usize| (bases as i32 * matching - best.score - open).max(0);
            (spare(one) / extend).min(spare(other) / (extend + matching)) as usize
        };
        let deletions = most(columns, rows, gaps.open_deletion, gaps.extend_deletion);
        let insertions = most(rows, columns, gaps.open_insertion, gaps.extend_insertion);
        let [rows, columns] = [rows.min(columns + deletions), columns.min(rows + insertions)];
        Self { rows, columns, deletions, insertions }
    }

    /// Diagonals on which the alignment may be.
    pub(super) fn width(&self) -> usize {
        self.deletions + 1 + self.insertions
    }

    /// Whether there can be no gap.
    pub(super) fn is_straight(&self) -> bool {
        self.width() == 1
    }
}

/// The length of the shortest alignment without a gap that has the score.
pub(super) fn straight(
    sequences: &SequencePair,
    best: &Best,
    scores: &Scores<'_>,
) -> Option<usize> {
    let mut sum = 0;
    let pairs = sequences.query.iter().zip(&sequences.target);
    let last = pairs.map(|(&code, &base)| scores.settings.score(code, base)).position(|gain| {
        sum += gain;
        sum == best.score
    });
    Some(last? + 1)
}
