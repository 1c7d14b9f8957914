//! From the hits of a read's seeds to its placements: which diagonals are worth a gapped
//! extension.
//!
//! No alignment with a gap is worth more than a perfect one less the cheapest gap. So where two
//! placements are at least as good without a gap, nothing is extended; elsewhere the diagonals
//! are taken in groups that one band covers, those with the best score and the longest seeds
//! first, until so many in turn have changed neither the best nor the second score. Groups that a
//! gap could not make good enough (`bound`) are passed over.
//!
//! Of the other placements, the second score is that of the best one, if the read may well be
//! from there: if it is worth at most [`Criteria::likely`] less. For a read to come from a place
//! that is worth less than that, two or more of its bases would have to be wrong, and all of them
//! so that they agree with another place. Where more than one placement is requested, all count.

use std::cmp::Reverse;
use std::ops::Range;

use super::bound::Pieces;
use super::candidates::{Diagonal, ScoredRead};
use super::kernel::{LANES, Lanes, MARGIN, Profile, best_score};
use super::traceback::TracebackMatrix;
use crate::by_score::alignment::{Alignment, Output};
use crate::by_score::score::{Bounds, LOWEST, Scoring};
use crate::by_score::seeds::Hit;
use crate::chance::hash;
use crate::reference::{Reference, Segment};

/// Diagonals that are so near to the first of a group belong to it: the band covers all of them,
/// and half as much on either side.
const GROUP_SPAN: i64 = 31;

/// What is required of a read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Criteria {
    pub(super) bounds: Bounds,
    /// Most unknown bases.
    pub(super) most_unknown: u32,
    /// A placement that is worth so much less than the best one counts as a second one.
    pub(super) likely: i32,
    /// Most extensions in turn that change nothing.
    pub(super) tries: u32,
    /// Placements that are reported.
    pub(super) placements: usize,
    /// The read's number in the input.
    pub(super) ordinal: u64,
}

/// What was found of a read.
#[derive(Debug, Clone, Default)]
pub(super) struct Chosen {
    /// In [`Output::alignments`], the best one first.
    pub(super) alignments: Range<usize>,
    /// The second best score.
    pub(super) second: Option<i32>,
    /// Some of its seeds are frequent.
    pub(super) is_frequent: bool,
}

/// Diagonals near each other.
#[derive(Debug, Clone)]
pub(super) struct DiagonalCluster {
    pub(super) diagonals: Range<usize>,
    pub(super) segment: Segment,
    /// Where the middle of the band is.
    pub(super) middle: i64,
    /// The best score without a gap, where that counts, and with gaps or without.
    pub(super) ungapped: Option<i32>,
    pub(super) best: Option<i32>,
    covered: u32,
    /// It has been extended with gaps.
    is_extended: bool,
}

/// A placement before it is known to differ from the better ones.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    pub(super) score: i32,
    pub(super) chance: u64,
    /// A diagonal, or else a group with gaps.
    pub(super) diagonal: Option<usize>,
    pub(super) group: usize,
}

/// Working memory.
#[derive(Debug, Default)]
pub(super) struct ChoiceScratch {
    pub(super) diagonals: Vec<Diagonal>,
    pub(super) groups: Vec<DiagonalCluster>,
    /// Groups to be extended: what they are worth without a gap, bases in seeds, number.
    order: Vec<(Reverse<i32>, Reverse<u32>, usize)>,
    pub(super) found: Vec<Found>,
    /// The profile is that of the read at hand.
    is_ready: bool,
    profile: Profile,
    /// The pieces are those of the read at hand.
    has_pieces: bool,
    pieces: Pieces,
    pub(super) codes: Vec<u8>,
    window: Vec<i16>,
    pub(super) table: TracebackMatrix,
    pub(super) ops: Vec<u32>,
    /// Diagonals of the alignments with gaps that have been taken.
    pub(super) passed: Vec<i64>,
    /// Those of the one at hand.
    pub(super) path: Vec<i64>,
}

/// The two best scores.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Two {
    pub(super) best: Option<i32>,
    second: Option<i32>,
}

impl Two {
    /// Whether `score` is one of them.
    pub(super) fn add(&mut self, score: i32) -> bool {
        if self.best.is_none_or(|best| score > best) {
            self.second = self.best.replace(score);
            true
        } else if self.second.is_none_or(|second| score > second) {
            self.second = Some(score);
            true
        } else {
            false
        }
    }
}

impl ChoiceScratch {
    /// Finds the placements of a read whose seeds are at `hits`, in order of place.
    #[inline(always)]
    pub(super) fn choose<L: Lanes>(
        &mut self,
        read: ScoredRead<'_>,
        reference: &Reference<'_>,
        hits: &[Hit],
        criteria: &Criteria,
        out: &mut Output<Alignment>,
    ) -> Chosen {
        self.look(read, reference, hits, criteria);
        self.extend::<L>(read, reference, criteria);
        self.take(read, reference, criteria, out)
    }

    /// Lists the diagonals of a read's hits, in groups, and its placements there without a gap.
    #[inline(always)]
    pub(super) fn look(
        &mut self,
        read: ScoredRead<'_>,
        reference: &Reference<'_>,
        hits: &[Hit],
        criteria: &Criteria,
    ) {
        self.is_ready = false;
        self.has_pieces = false;
        self.groups.clear();
        self.found.clear();
        read.diagonals(reference, hits, &mut self.codes, &mut self.diagonals);
        self.group_from(0, criteria);
    }

    /// Puts the diagonals from number `first` in groups of their own, and lists the placements on
    /// them.
    pub(super) fn group_from(&mut self, first: usize, criteria: &Criteria) {
        let (mut first, from) = (first, self.groups.len());
        for (at, diagonal) in self.diagonals.iter().enumerate().skip(first) {
            let score = diagonal.ungapped.map(|it| it.score);
            let score = score.filter(|&it| it >= criteria.bounds.minimum);
            let is_near = |first: &Diagonal| {
                first.segment == diagonal.segment && diagonal.start - first.start <= GROUP_SPAN
            };
            match self.groups[from..].last_mut() {
                Some(group) if is_near(&self.diagonals[first]) => {
                    group.diagonals.end = at + 1;
                    group.middle = (self.diagonals[first].start + diagonal.start) / 2;
                    group.ungapped = group.ungapped.max(score);
                    group.best = group.ungapped;
                    group.covered += diagonal.covered;
                }
                _ => {
                    first = at;
                    self.groups.push(DiagonalCluster {
                        diagonals: at..at + 1,
                        segment: diagonal.segment,
                        middle: diagonal.start,
                        ungapped: score,
                        best: score,
                        covered: diagonal.covered,
                        is_extended: false,
                    });
                }
            }
            if let Some(score) = score {
                self.found.push(Found {
                    score,
                    chance: hash(criteria.ordinal, diagonal.start as u64),
                    diagonal: Some(at),
                    group: self.groups.len() - 1,
                });
            }
        }
    }

    /// Extends groups with gaps, and lists what is better than without.
    #[inline(always)]
    pub(super) fn extend<L: Lanes>(
        &mut self,
        read: ScoredRead<'_>,
        reference: &Reference<'_>,
        criteria: &Criteria,
    ) {
        let bounds = criteria.bounds;
        let ceiling = read.scoring.most_with_gap(bounds.perfect);
        let mut two = Two::default();
        self.found.iter().for_each(|it| _ = two.add(it.score));
        let is_settled = |two: &Two| {
            criteria.placements == 1 && two.second.is_some_and(|second| second >= ceiling)
        };
        if ceiling < bounds.minimum || is_settled(&two) {
            return;
        }
        self.put_in_order(ceiling);
        let mut failed = 0;
        for at in 0..self.order.len() {
            let number = self.order[at].2;
            let needed = match two.best.filter(|_| criteria.placements == 1) {
                Some(best) => bounds.minimum.max(best - criteria.likely),
                None => bounds.minimum,
            };
            let better = if self.may_reach(read, reference, number, needed) {
                self.extend_group::<L>(read, reference, criteria, number)
            } else {
                None
            };
            let has_changed = better.is_some_and(|it| two.add(it) || criteria.placements > 1);
            failed = if has_changed { 0 } else { failed + 1 };
            if failed >= criteria.tries || is_settled(&two) {
                return;
            }
        }
    }

    /// Lists the groups that are not settled, the best first.
    fn put_in_order(&mut self, ceiling: i32) {
        let mut order = std::mem::take(&mut self.order);
        order.clear();
        for (number, group) in self.groups.iter().enumerate() {
            if !self.is_settled(number, ceiling) {
                let score = group.ungapped.unwrap_or(i32::MIN);
                order.push((Reverse(score), Reverse(group.covered), number));
            }
        }
        order.sort_unstable();
        self.order = order;
    }

    /// Whether a group needs no extension: nothing with a gap is better, or it has been extended.
    pub(super) fn is_settled(&self, group: usize, ceiling: i32) -> bool {
        let group = &self.groups[group];
        group.is_extended || group.ungapped.is_some_and(|score| score >= ceiling)
    }

    /// Whether an alignment with gaps may be worth `needed`, and more than without gaps, in a
    /// group.
    #[inline(always)]
    fn may_reach(
        &mut self,
        read: ScoredRead<'_>,
        reference: &Reference<'_>,
        number: usize,
        needed: i32,
    ) -> bool {
        if !self.has_pieces {
            self.pieces.take(read);
            self.has_pieces = true;
        }
        let group = &self.groups[number];
        let needed = group.ungapped.map_or(needed, |ungapped| needed.max(ungapped + 1));
        let band = group.middle - LANES as i64 + 1..=group.middle + LANES as i64;
        let diagonals = &self.diagonals[group.diagonals.clone()];
        let bound = self.pieces.bound(read, reference, diagonals, (band, needed));
        bound.is_none_or(|bound| bound >= needed)
    }

    /// Extends a group with gaps; the score, if it counts and is better than without.
    #[inline(always)]
    pub(super) fn extend_group<L: Lanes>(
        &mut self,
        read: ScoredRead<'_>,
        reference: &Reference<'_>,
        criteria: &Criteria,
        number: usize,
    ) -> Option<i32> {
        if !self.is_ready {
            self.profile.take(read.query.codes(), read.penalties, read.scoring);
            self.is_ready = true;
        }
        self.groups[number].is_extended = true;
        let group = self.groups[number].clone();
        let score = self.gapped::<L>(read, reference, &group);
        let is_better = group.ungapped.is_none_or(|ungapped| score > ungapped);
        if score < criteria.bounds.minimum.max(LOWEST.into()) || !is_better {
            return None;
        }
        self.groups[number].best = Some(score);
        let chance = hash(criteria.ordinal, group.middle as u64);
        self.found.push(Found { score, chance, diagonal: None, group: number });
        Some(score)
    }

    /// The best score near a group's diagonals.
    #[inline(always)]
    fn gapped<L: Lanes>(
        &mut self,
        read: ScoredRead<'_>,
        reference: &Reference<'_>,
        group: &DiagonalCluster,
    ) -> i32 {
        let is_plain = self.fetch(read, reference, group);
        self.window.clear();
        self.window.extend(self.codes.iter().map(|&code| i16::from(code)));
        best_score::<L>(&self.profile, &self.window, is_plain, read.scoring)
    }

    /// Fetches what is under a group's band; whether that is bases alone.
    #[inline(always)]
    pub(super) fn fetch(
        &mut self,
        read: ScoredRead<'_>,
        reference: &Reference<'_>,
        group: &DiagonalCluster,
    ) -> bool {
        let (from, length) = (group.middle - MARGIN as i64, read.query.len() + 2 * MARGIN + 1);
        reference.codes(group.segment, from, length, &mut self.codes)
    }
}

/// What a mismatch costs.
pub(super) fn of_mismatch(scoring: &Scoring) -> i32 {
    i32::from(scoring.mismatch[0] + scoring.match_bonus)
}
