//! The diagonals on which seeds of a read are, and what the read is worth there without a gap.

use crate::by_score::diagonals;
use crate::by_score::score::Scoring;
use crate::by_score::seeds::Hit;
use crate::query::{Query, UNKNOWN, pop};
use crate::reference::{Reference, Segment, WALL};
use seqloom_align::search::WORD_BASES;

/// A read with what it is scored by.
#[derive(Clone, Copy)]
pub(super) struct ScoredRead<'a> {
    pub(super) query: &'a Query,
    /// Of a mismatch, by base.
    pub(super) penalties: &'a [i16],
    pub(super) scoring: &'a Scoring,
    /// Less does not count.
    pub(super) minimum: i32,
}

/// An alignment without a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ungapped {
    pub(super) score: i32,
    /// First base of the read that is aligned, and one past the last.
    pub(super) from: u16,
    pub(super) end: u16,
}

/// A place of the read's first base, with what the read is worth there.
pub(super) type Diagonal = diagonals::Diagonal<Ungapped>;

/// Adds to a sum as bases come, and keeps the best segment of them.
struct Best {
    is_local: bool,
    score: i32,
    from: usize,
    best: Ungapped,
}

impl Best {
    fn new(is_local: bool) -> Self {
        Self { is_local, score: 0, from: 0, best: Ungapped { score: 0, from: 0, end: 0 } }
    }

    /// The bases up to `end` all match, and are worth `score`.
    #[inline(always)]
    fn run(&mut self, score: i32, end: usize) {
        self.score += score;
        if self.score > self.best.score {
            self.best = Ungapped { score: self.score, from: self.from as u16, end: end as u16 };
        }
    }

    /// Base `at` costs so much.
    #[inline(always)]
    fn lose(&mut self, penalty: i32, at: usize) {
        self.score -= penalty;
        if self.is_local && self.score <= 0 {
            self.score = 0;
            self.from = at + 1;
        }
    }

    /// What it comes to, of a read of `length` bases.
    fn end(self, length: usize) -> Option<Ungapped> {
        if !self.is_local {
            return Some(Ungapped { score: self.score, from: 0, end: length as u16 });
        }
        (self.best.score > 0).then_some(self.best)
    }
}

impl ScoredRead<'_> {
    /// What the read is worth without a gap where its first base is at `start`; a whole one that is
    /// not worth its minimum has nothing.
    #[inline(always)]
    pub(super) fn ungapped(
        &self,
        reference: &Reference<'_>,
        segment: Segment,
        start: i64,
        codes: &mut Vec<u8>,
    ) -> Option<Ungapped> {
        let length = self.query.len();
        let end = start + length as i64;
        let is_inside = start >= segment.start && end <= segment.end;
        if !is_inside || reference.has_hole(start, end) {
            return self.ungapped_slowly(reference, segment, start, codes);
        }
        let bonus = i32::from(self.scoring.match_bonus);
        if !self.scoring.is_local {
            let most = bonus * length as i32 - self.minimum;
            let loss = self.loss(reference, start as u64, most)?;
            let score = bonus * length as i32 - loss;
            return Some(Ungapped { score, from: 0, end: length as u16 });
        }
        let mut best = Best::new(self.scoring.is_local);
        let mut from = 0;
        for word in 0..self.query.word_count() {
            let mut bits = self.query.differences_of(reference.genome, start as u64, word);
            while let Some(at) = pop(&mut bits) {
                let at = word * WORD_BASES + at;
                best.run(bonus * (at - from) as i32, at);
                best.lose(self.penalties[at].into(), at);
                from = at + 1;
            }
        }
        best.run(bonus * (length - from) as i32, length);
        best.end(length)
    }

    /// What the mismatches cost where the read's first base is at `start`, if that is `most` at
    /// most.
    #[inline(always)]
    fn loss(&self, reference: &Reference<'_>, start: u64, most: i32) -> Option<i32> {
        let bonus = i32::from(self.scoring.match_bonus);
        let mut loss = 0;
        for word in 0..self.query.word_count() {
            let mut bits = self.query.differences_of(reference.genome, start, word);
            while let Some(at) = pop(&mut bits) {
                loss += i32::from(self.penalties[word * WORD_BASES + at]) + bonus;
            }
            if loss > most {
                return None;
            }
        }
        Some(loss)
    }

    /// As [`ScoredRead::ungapped`], over holes and the ends of sequences.
    fn ungapped_slowly(
        &self,
        reference: &Reference<'_>,
        segment: Segment,
        start: i64,
        codes: &mut Vec<u8>,
    ) -> Option<Ungapped> {
        let length = self.query.len();
        reference.codes(segment, start, length, codes);
        let scoring = self.scoring;
        if !scoring.is_local && codes.contains(&WALL) {
            return None;
        }
        let mut best = Best::new(scoring.is_local);
        for (at, (&code, &base)) in codes.iter().zip(self.query.codes()).enumerate() {
            match code {
                WALL => best.lose(i32::MAX / 2, at),
                UNKNOWN => best.lose(scoring.unknown.into(), at),
                _ if code == base => best.run(scoring.match_bonus.into(), at + 1),
                _ => best.lose(self.penalties[at].into(), at),
            }
        }
        best.end(length)
    }

    /// Puts in `out` the diagonals of the read's hits, which come by place.
    #[inline(always)]
    pub(super) fn diagonals(
        &self,
        reference: &Reference<'_>,
        hits: &[Hit],
        codes: &mut Vec<u8>,
        out: &mut Vec<Diagonal>,
    ) {
        let ungapped = |segment, start| self.ungapped(reference, segment, start, codes);
        diagonals::list(reference, hits, self.query.len(), ungapped, out);
    }
}
