//! Mates: which of their placements make a pair, and which pair is the best.
//!
//! 1. Groups of diagonals of both mates that are oriented to each other as they should be are
//!    joined, and only those are extended with gaps, as far as the best pairs may change by it.
//! 2. Where that gives no pair, all groups of both mates are extended as those of single reads.
//! 3. Placements without a mate, if a pair with them could still be the best, have their mate
//!    searched for by its strings in the window where it would be (`rescue`).
//! 4. Of the pairs that are left, the best by the sum of both scores is taken, and others after
//!    it: those of which at least one mate is placed elsewhere.

use std::cmp::Reverse;

use super::candidates::Diagonal;
use super::choice::{ChoiceScratch, Chosen, Two, of_mismatch};
use super::fragment::Question;
use super::kernel::{Lanes, MARGIN};
use super::rescue::Finder;
use crate::by_score::alignment::{Alignment, Output};
use crate::chance::hash;

/// How far the place of an alignment with gaps may be from where its group is.
const SLACK: i64 = 2 * MARGIN as i64;
/// Extensions for each placement whose mate is searched for.
const TRIES_A_RESCUE: u32 = 3;
/// Placements of a group that are looked at in pairs, where one pair is requested.
const FOUND_IN_GROUP: usize = 4;
/// Pairs after the best that are looked at, where one is requested.
const LOOKED_AT: usize = 16;

/// What is known of a pair besides the placements of its mates.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Paired {
    /// The score of another pair.
    pub(super) second: Option<i32>,
    /// By how much the best other pair where a mate is elsewhere is worth less.
    pub(super) distances: [Option<i32>; 2],
    /// A mate alone would be better by far elsewhere.
    pub(super) are_doubtful: [bool; 2],
}

/// Groups of both mates that may be a pair.
#[derive(Debug, Clone, Copy)]
struct Joined {
    groups: [usize; 2],
    /// The sum of what they are worth without a gap.
    estimate: i32,
}

/// A placement of each mate, by number.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    found: [usize; 2],
    score: i32,
    chance: u64,
}

/// Working memory.
#[derive(Debug, Default)]
pub(super) struct Pairing {
    pub(super) mates: [ChoiceScratch; 2],
    joined: Vec<Joined>,
    places: [Vec<(i64, usize)>; 2],
    candidates: Vec<Candidate>,
    /// Pairs that were taken: their placements by number, and as alignments.
    numbers: Vec<[usize; 2]>,
    taken: [Vec<Alignment>; 2],
    finders: [Finder; 2],
    are_ready: [bool; 2],
    found: Vec<(i32, u32)>,
    codes: Vec<u8>,
    /// Placements whose mate is searched for: score, chance, group.
    anchors: Vec<(Reverse<i32>, u64, usize)>,
    /// By group: it is joined with one that has a placement.
    has_mate: Vec<bool>,
}

impl Pairing {
    /// Finds the placements of both mates, and what is known of them as a pair if they are one.
    #[inline(always)]
    pub(super) fn choose<L: Lanes>(
        &mut self,
        question: &Question<'_>,
        out: &mut Output<Alignment>,
    ) -> ([Chosen; 2], Option<Paired>) {
        let Question { reads, references, hits, criteria, .. } = question;
        self.are_ready = [false; 2];
        for mate in 0..2 {
            self.mates[mate].look(reads[mate], &references[mate], hits[mate], &criteria[mate]);
        }
        self.join(question);
        let mut two = Two::default();
        self.extend::<L>(question, 0, &mut two);
        if two.best.is_none() {
            for mate in 0..2 {
                self.mates[mate].extend::<L>(reads[mate], &references[mate], &criteria[mate]);
            }
        }
        self.rescue::<L>(question, &mut two);
        self.list(question);
        let chosen = self.take(question, out);
        if let Some((chosen, paired)) = chosen {
            return (chosen, Some(paired));
        }
        let chosen = [0, 1].map(|mate| {
            self.mates[mate].take(reads[mate], &references[mate], &criteria[mate], out)
        });
        (chosen, None)
    }

    /// Joins groups of both mates that are about where they should be.
    fn join(&mut self, question: &Question<'_>) {
        self.joined.clear();
        for mate in 0..2 {
            let (places, work) = (&mut self.places[mate], &self.mates[mate]);
            places.clear();
            let place = |group| question.group_extent(mate, work, group).start;
            places.extend((0..work.groups.len()).map(|group| (place(group), group)));
            places.sort_unstable();
        }
        let reach = i64::from(question.options.pairs.max_insert_bp) + SLACK;
        let mut from = 0;
        for at in 0..self.places[0].len() {
            let (place, group) = self.places[0][at];
            while self.places[1].get(from).is_some_and(|it| it.0 < place - reach) {
                from += 1;
            }
            for other in from..self.places[1].len() {
                let (other_place, other) = self.places[1][other];
                if other_place > place + reach {
                    break;
                }
                self.add_joined(question, [group, other]);
            }
        }
        let key = |it: &Joined| (Reverse(it.estimate), it.groups);
        self.joined.sort_unstable_by_key(key);
    }

    /// Joins two groups if they may be a pair.
    fn add_joined(&mut self, question: &Question<'_>, groups: [usize; 2]) {
        let extents =
            [0, 1].map(|mate| question.group_extent(mate, &self.mates[mate], groups[mate]));
        if question.options.is_pair(extents, SLACK) {
            let estimate = |mate: usize| {
                let minimum = question.criteria[mate].bounds.minimum;
                self.mates[mate].groups[groups[mate]].ungapped.unwrap_or(minimum)
            };
            let estimate = estimate(0) + estimate(1);
            self.joined.push(Joined { groups, estimate });
        }
    }

    /// Extends joined groups from number `first` with gaps, until so many in turn change neither
    /// the best nor the second sum.
    #[inline(always)]
    fn extend<L: Lanes>(&mut self, question: &Question<'_>, first: usize, two: &mut Two) {
        let mut failed = 0;
        for at in first..self.joined.len() {
            let sum = self.extend_joined::<L>(question, at);
            failed = if sum.is_some_and(|sum| two.add(sum)) { 0 } else { failed + 1 };
            if failed >= question.criteria[0].tries && question.wants_one() {
                return;
            }
        }
    }

    /// Extends both groups of a pair, as far as that may be of use; what they come to.
    #[inline(always)]
    fn extend_joined<L: Lanes>(&mut self, question: &Question<'_>, at: usize) -> Option<i32> {
        let groups = self.joined[at].groups;
        let mut sum = 0;
        for (mate, group) in groups.into_iter().enumerate() {
            let work = &mut self.mates[mate];
            let (read, reference) = (question.reads[mate], &question.references[mate]);
            if !work.is_settled(group, question.ceiling(mate)) {
                work.extend_group::<L>(read, reference, &question.criteria[mate], group);
            }
            sum += work.groups[group].best?;
        }
        Some(sum)
    }

    /// Searches for mates of placements that have none.
    #[inline(always)]
    fn rescue<L: Lanes>(&mut self, question: &Question<'_>, two: &mut Two) {
        for mate in (0..2).filter(|&mate| question.are_searched[1 - mate]) {
            let other_perfect = question.criteria[1 - mate].bounds.perfect;
            let is_enough =
                |score: i32, two: &Two| two.best.is_none_or(|best| score + other_perfect >= best);
            self.list_anchors(question, mate, |score| is_enough(score, two));
            for at in 0..self.anchors.len() {
                let (Reverse(score), _, group) = self.anchors[at];
                if is_enough(score, two) {
                    let first = self.joined.len();
                    self.search(question, mate, group);
                    self.extend::<L>(question, first, two);
                }
            }
        }
    }

    /// Lists the best placements of a mate that have none of the other one where it should be.
    fn list_anchors(
        &mut self,
        question: &Question<'_>,
        mate: usize,
        is_enough: impl Fn(i32) -> bool,
    ) {
        self.note_mates(mate);
        let Self { mates, anchors, has_mate, .. } = self;
        anchors.clear();
        for found in &mates[mate].found {
            if is_enough(found.score) && !has_mate[found.group] {
                anchors.push((Reverse(found.score), found.chance, found.group));
            }
        }
        anchors.sort_unstable();
        let most = question.criteria[mate].tries.div_ceil(TRIES_A_RESCUE) as usize;
        anchors.dedup_by_key(|it| it.2);
        anchors.truncate(most);
    }

    /// Notes which groups of a mate have been joined with one that has a placement.
    fn note_mates(&mut self, mate: usize) {
        let Self { mates, joined, has_mate, .. } = self;
        has_mate.clear();
        has_mate.resize(mates[mate].groups.len(), false);
        for Joined { groups, .. } in joined {
            has_mate[groups[mate]] |= mates[1 - mate].groups[groups[1 - mate]].best.is_some();
        }
    }

    /// Searches for the mate of `mate`'s placement in a group, and joins what is found.
    fn search(&mut self, question: &Question<'_>, mate: usize, group: usize) {
        let anchor = question.group_extent(mate, &self.mates[mate], group);
        let Some((segment, [from, to])) = question.window(mate, anchor) else { return };
        let other = 1 - mate;
        let (read, reference) = (question.reads[other], &question.references[other]);
        reference.codes(segment, from, (to - from) as usize, &mut self.codes);
        if !self.are_ready[other] {
            self.finders[other].take(read.query.codes());
            self.are_ready[other] = true;
        }
        self.finders[other].find(&self.codes, &mut self.found);
        let work = &mut self.mates[other];
        let (first, first_group) = (work.diagonals.len(), work.groups.len());
        for &(place, hits) in &self.found {
            let start = from + i64::from(place);
            let is_known = |it: &Diagonal| it.start == start && it.segment == segment;
            if work.diagonals.iter().any(is_known) {
                continue;
            }
            let covered = Finder::covered(hits).min(read.query.len() as u32);
            let ungapped = read.ungapped(reference, segment, start, &mut self.codes);
            let is_rare = false;
            work.diagonals.push(Diagonal { start, segment, covered, is_rare, ungapped });
        }
        work.group_from(first, &question.criteria[other]);
        for found in first_group..self.mates[other].groups.len() {
            let groups = if mate == 0 { [group, found] } else { [found, group] };
            self.add_joined(question, groups);
        }
    }

    /// Lists the pairs of placements of joined groups, the best first.
    fn list(&mut self, question: &Question<'_>) {
        self.candidates.clear();
        let Self { mates, joined, candidates, .. } = self;
        for work in mates.iter_mut() {
            work.found
                .sort_unstable_by_key(|it| (it.group, Reverse(it.score), it.chance, it.diagonal));
        }
        let most = if question.wants_one() { FOUND_IN_GROUP } else { usize::MAX };
        for Joined { groups, .. } in joined {
            let [ours, theirs] = [0, 1].map(|mate| mates[mate].of_group(groups[mate]));
            for one in ours.take(most) {
                for other in theirs.clone().take(most) {
                    let found = [&mates[0].found[one], &mates[1].found[other]];
                    let [first, second] =
                        [0, 1].map(|mate| question.found_extent(mate, &mates[mate], found[mate]));
                    let slack = if first.1 && second.1 { 0 } else { SLACK };
                    if question.options.is_pair([first.0, second.0], slack) {
                        let score = found[0].score + found[1].score;
                        let chance = hash(found[0].chance, found[1].chance);
                        candidates.push(Candidate { found: [one, other], score, chance });
                    }
                }
            }
        }
        let key = |it: &Candidate| (Reverse(it.score), it.chance, it.found);
        candidates.sort_unstable_by_key(key);
    }

    /// Takes the best pairs that differ from each other, until there are enough and the scores of
    /// others are known.
    fn take(
        &mut self,
        question: &Question<'_>,
        out: &mut Output<Alignment>,
    ) -> Option<([Chosen; 2], Paired)> {
        self.taken.iter_mut().for_each(Vec::clear);
        self.numbers.clear();
        self.mates.iter_mut().for_each(|work| work.passed.clear());
        let mut paired = Paired::default();
        let mut looked_at = 0;
        let mut best = None;
        for at in 0..self.candidates.len() {
            let candidate = self.candidates[at];
            if let Some(best) = best {
                looked_at += 1;
                let has_all = self.numbers.len() >= question.criteria[0].placements;
                let is_far = question.is_far(best - candidate.score);
                let are_known = paired.distances.iter().all(Option::is_some);
                if has_all && (are_known || is_far || looked_at > LOOKED_AT) {
                    break;
                }
            }
            let start = out.ops.len();
            let are_new = self.take_one(question, candidate, out);
            let Some(are_new) = are_new else {
                out.ops.truncate(start);
                continue;
            };
            if let Some(best) = best.filter(|_| are_new.contains(&true)) {
                paired.second = paired.second.or(Some(candidate.score));
                for mate in (0..2).filter(|&mate| are_new[mate]) {
                    let distance = best - candidate.score;
                    paired.distances[mate] = paired.distances[mate].or(Some(distance));
                }
            }
            best = best.or(Some(candidate.score));
        }
        best?;
        let chosen = self.hand_out(question, out);
        for (mate, chosen) in chosen.iter().enumerate() {
            let score = out.alignments[chosen.alignments.start].score;
            let mismatch = of_mismatch(question.reads[mate].scoring);
            paired.are_doubtful[mate] = chosen.second.is_some_and(|it| it - score > mismatch);
        }
        Some((chosen, paired))
    }

    /// Takes a pair, if it is one, is new, and more are requested. Whether each mate's placement,
    /// of one that is a pair, differs from those of its read that were taken.
    fn take_one(
        &mut self,
        question: &Question<'_>,
        candidate: Candidate,
        out: &mut Output<Alignment>,
    ) -> Option<[bool; 2]> {
        let start = out.ops.len();
        let (alignments, are_new) = self.look_at(question, candidate, out)?;
        let is_requested = self.numbers.len() < question.criteria[0].placements;
        if !is_requested || !are_new.contains(&true) {
            out.ops.truncate(start);
            return Some(are_new);
        }
        self.numbers.push(candidate.found);
        for (mate, alignment) in alignments.into_iter().enumerate() {
            let work = &mut self.mates[mate];
            let found = work.found[candidate.found[mate]];
            if are_new[mate] {
                work.pass(&found);
            }
            self.taken[mate].push(alignment);
        }
        Some(are_new)
    }

    /// The alignments of a pair, if they are one, and whether each differs from those of its read
    /// that were taken.
    fn look_at(
        &mut self,
        question: &Question<'_>,
        candidate: Candidate,
        out: &mut Output<Alignment>,
    ) -> Option<([Alignment; 2], [bool; 2])> {
        let mut are_new = [false; 2];
        let mut alignments = [None, None];
        for mate in 0..2 {
            let (read, reference) = (question.reads[mate], &question.references[mate]);
            let work = &mut self.mates[mate];
            let is_known = |it: &[usize; 2]| it[mate] == candidate.found[mate];
            if let Some(known) = self.numbers.iter().position(is_known) {
                alignments[mate] = Some(self.taken[mate][known].clone());
                continue;
            }
            let found = work.found[candidate.found[mate]];
            let alignment = work.alignment(read, reference, &found, out);
            if !work.is_known(read, reference, &alignment, &question.criteria[mate]) {
                return None;
            }
            are_new[mate] = work.is_new(&found, &self.taken[mate], &out.ops);
            alignments[mate] = Some(alignment);
        }
        let [Some(one), Some(other)] = alignments else { return None };
        let bases = question.references[0].genome.bases;
        let extents = [&one, &other].map(|it| it.with(&out.ops).extent(bases));
        if !question.options.is_pair(extents, 0) {
            return None;
        }
        Some(([one, other], are_new))
    }

    /// Puts the pairs that were taken in `out`, mates of one read side by side.
    fn hand_out(&mut self, question: &Question<'_>, out: &mut Output<Alignment>) -> [Chosen; 2] {
        [0, 1].map(|mate| {
            let second = self.second(question, mate, out);
            let first = out.alignments.len();
            out.alignments.append(&mut self.taken[mate]);
            let is_frequent = self.mates[mate].is_frequent();
            Chosen { alignments: first..out.alignments.len(), second, is_frequent }
        })
    }

    /// The best score of a mate elsewhere, in a pair or not.
    fn second(
        &mut self,
        question: &Question<'_>,
        mate: usize,
        out: &mut Output<Alignment>,
    ) -> Option<i32> {
        let (read, reference) = (question.reads[mate], &question.references[mate]);
        let (work, taken) = (&mut self.mates[mate], &self.taken[mate]);
        work.sort_found();
        let (score, start) = (taken.first()?.score, out.ops.len());
        for at in 0..work.found.len() {
            let found = work.found[at];
            if score - found.score > question.criteria[mate].likely && question.wants_one() {
                break;
            }
            let alignment = work.alignment(read, reference, &found, out);
            let is_other =
                taken.iter().all(|it| it.place != alignment.place || it.score != found.score)
                    && work.is_new(&found, taken, &out.ops);
            out.ops.truncate(start);
            if is_other {
                return Some(found.score);
            }
        }
        None
    }
}
