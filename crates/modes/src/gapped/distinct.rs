//! Which of the placements found differ from one another: those that are reported, and the score
//! of one more.

use std::cmp::Reverse;
use std::ops::Range;

use super::candidates::ScoredRead;
use super::choice::{ChoiceScratch, Chosen, Criteria, Found};
use super::kernel::{DIAGONALS, MARGIN};
use super::traceback::Problem;
use crate::by_score::alignment::{Alignment, CLIP, DELETION, INSERTION, MATCH, Output, push};
use crate::query::{LONGEST_READ, UNKNOWN};
use crate::reference::Reference;

/// Alignments whose first places are further from each other are on no diagonal in common: those of
/// one group are on [`DIAGONALS`] of them, and what is clipped of a read moves the place.
const APART: i64 = (LONGEST_READ + 2 * DIAGONALS) as i64;

impl ChoiceScratch {
    /// Takes placements that differ from those taken before, the best first, until there are enough
    /// and the score of one more is known.
    pub(super) fn take(
        &mut self,
        read: ScoredRead<'_>,
        reference: &Reference<'_>,
        criteria: &Criteria,
        out: &mut Output<Alignment>,
    ) -> Chosen {
        let first = out.alignments.len();
        let is_frequent = self.is_frequent();
        let mut chosen = Chosen { alignments: first..first, second: None, is_frequent };
        let mut in_order =
            if criteria.placements == 1 { self.put_likely_first(criteria.likely) } else { 0 };
        self.passed.clear();
        for at in 0..self.found.len() {
            if at >= in_order {
                sort(&mut self.found[at..]);
                in_order = self.found.len();
            }
            let found = self.found[at];
            let taken = out.alignments.len() - first;
            let best = out.alignments.get(first).map_or(found.score, |it| it.score);
            let counts = criteria.placements > 1 || best - found.score <= criteria.likely;
            if taken >= criteria.placements && !counts {
                break;
            }
            let alignment = self.alignment(read, reference, &found, out);
            let is_new = self.is_new(&found, &out.alignments[first..], &out.ops);
            let is_known = is_new && self.is_known(read, reference, &alignment, criteria);
            if is_known {
                if taken > 0 && counts {
                    chosen.second = chosen.second.or(Some(found.score));
                }
                if taken < criteria.placements {
                    self.pass(&found);
                    out.alignments.push(alignment);
                    continue;
                }
            }
            out.ops.truncate(alignment.ops.start);
            if taken >= criteria.placements && chosen.second.is_some() {
                break;
            }
        }
        chosen.alignments.end = out.alignments.len();
        chosen
    }

    /// Numbers of the placements in a group, where those are in order.
    pub(super) fn of_group(&self, group: usize) -> Range<usize> {
        let from = self.found.partition_point(|it| it.group < group);
        from..self.found.partition_point(|it| it.group <= group)
    }

    /// Whether some of its seeds are frequent.
    pub(super) fn is_frequent(&self) -> bool {
        self.diagonals.iter().any(|it| !it.is_rare)
    }

    /// The best placements first.
    pub(super) fn sort_found(&mut self) {
        sort(&mut self.found);
    }

    /// Puts the placements that may be reported or count as second ones first, the best first,
    /// and the others after them; how many come first. As a rule no other is looked at.
    fn put_likely_first(&mut self, likely: i32) -> usize {
        let best = self.found.iter().map(|it| it.score).max().unwrap_or(0);
        let mut before = 0;
        for at in 0..self.found.len() {
            if best - self.found[at].score <= likely {
                self.found.swap(at, before);
                before += 1;
            }
        }
        sort(&mut self.found[..before]);
        before
    }

    /// The alignment of a placement; `path` is then the diagonals that it is on.
    pub(super) fn alignment(
        &mut self,
        read: ScoredRead<'_>,
        reference: &Reference<'_>,
        found: &Found,
        out: &mut Output<Alignment>,
    ) -> Alignment {
        let group = self.groups[found.group].clone();
        let length = read.query.len();
        self.path.clear();
        let place = if let Some(at) = found.diagonal {
            let diagonal = &self.diagonals[at];
            let (from, end) = diagonal
                .ungapped
                .map_or((0, length), |it| (usize::from(it.from), usize::from(it.end)));
            self.ops.clear();
            push(&mut self.ops, CLIP, from);
            push(&mut self.ops, MATCH, end - from);
            push(&mut self.ops, CLIP, length - end);
            self.path.push(diagonal.start);
            diagonal.start + from as i64
        } else {
            self.fetch(read, reference, &group);
            let problem = Problem {
                codes: read.query.codes(),
                penalties: read.penalties,
                window: &self.codes,
                scoring: read.scoring,
                gaps_late: group.segment.is_reverse,
            };
            let traced = problem.trace(&mut self.table, &mut self.ops);
            let place = group.middle - MARGIN as i64 + traced.start as i64;
            walk(place, &self.ops, &mut self.path);
            place
        };
        let ops = out.ops.len()..out.ops.len() + self.ops.len();
        out.ops.extend(&self.ops);
        Alignment { score: found.score, segment: group.segment, place, ops }
    }

    /// Whether an alignment has no more bases that are not A, C, G or T, of the read and of the
    /// reference under it, than are allowed.
    pub(super) fn is_known(
        &mut self,
        read: ScoredRead<'_>,
        reference: &Reference<'_>,
        alignment: &Alignment,
        criteria: &Criteria,
    ) -> bool {
        let length = read.query.len();
        let end = (alignment.place + length as i64).min(alignment.segment.end);
        if !reference.has_hole(alignment.place, end) {
            // Reads with too many are not searched for.
            return true;
        }
        let span = (end - alignment.place) as usize;
        reference.codes(alignment.segment, alignment.place, span, &mut self.codes);
        let unknown = self.codes.iter().filter(|&&code| code == UNKNOWN).count();
        unknown as u32 <= criteria.most_unknown
    }

    /// The alignment at hand is one of those taken.
    pub(super) fn pass(&mut self, found: &Found) {
        if found.diagonal.is_none() {
            self.passed.extend(&self.path);
        }
    }

    /// Whether the alignment at hand is on no diagonal of those taken.
    pub(super) fn is_new(&self, found: &Found, taken: &[Alignment], ops: &[u32]) -> bool {
        let is_passed = |diagonal: &i64| self.passed.contains(diagonal);
        if self.path.iter().any(is_passed) {
            return false;
        }
        // Diagonals without a gap differ from each other.
        found.diagonal.is_some()
            || !taken.iter().any(|other| {
                let near = (other.place - self.path[0]).abs() < APART;
                let clip = ops[other.ops.start];
                let clip = if clip & 15 == CLIP { i64::from(clip >> 4) } else { 0 };
                near && self.path.contains(&(other.place - clip))
            })
    }
}

/// The best placements first; of equal ones chance decides.
fn sort(found: &mut [Found]) {
    found.sort_unstable_by_key(|it| (Reverse(it.score), it.chance, it.group, it.diagonal));
}

/// The diagonals that an alignment is on: places of the read's first base.
pub(super) fn walk(place: i64, ops: &[u32], out: &mut Vec<i64>) {
    let mut diagonal = place;
    if let Some(clip) = ops.first().filter(|&op| op & 15 == CLIP) {
        diagonal -= i64::from(clip >> 4);
    }
    out.clear();
    for op in ops {
        let count = i64::from(op >> 4);
        match op & 15 {
            DELETION => diagonal += count,
            INSERTION => diagonal -= count,
            MATCH => out.push(diagonal),
            _ => (),
        }
    }
}
