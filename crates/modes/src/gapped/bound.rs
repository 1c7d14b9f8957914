//! What a read may be worth at most near some diagonals: a look that spares most extensions.
//!
//! The read is cut into pieces of eight bases. Where an alignment has no gap in a piece, all of it
//! is on one diagonal and loses what its mismatches there cost; where it has one, that costs. On
//! the diagonals with seeds mismatches are known one by one; on those next to them, as far off as
//! gaps could lead, their least number counts. The property test compares this with the kernel.

use std::ops::RangeInclusive;

use super::candidates::{Diagonal, ScoredRead};
use crate::by_score::score::{GapPenalty, Scoring};
use crate::query::pop;
use crate::reference::{Reference, Segment};
use seqloom_align::search::WORD_BASES;

/// Bases of a piece: two bytes of packed ones.
const PIECE_BASES: usize = 8;
/// Pieces in a word.
const IN_WORD: usize = WORD_BASES / PIECE_BASES;
/// The highest and the lowest bit of each piece in a word.
const HIGHEST: u64 = 0x8000_8000_8000_8000;
const LOWEST: u64 = 0x0001_0001_0001_0001;
/// Diagonals next to the others that are looked at, at most; more would cost what the kernel does.
const MOST_DIAGONALS: i64 = 64;

/// Working memory.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    /// The read at hand: its bases, packed, and which are known.
    bases: Vec<u64>,
    known: Vec<u64>,
    /// What a mismatch in each piece costs at least.
    cheapest: Vec<i32>,
    /// The reference under all diagonals, packed.
    window: Vec<u64>,
    /// Where the read differs from it on a diagonal: the higher bit of each known base's two.
    differences: Vec<u64>,
    /// The least number of mismatches of each piece next to the known diagonals, four a word.
    fewest: Vec<u64>,
    /// What each piece costs on a known diagonal, at most, and at least at all.
    exact: Vec<i32>,
    losses: Vec<i32>,
    /// The same up to each piece, with gaps.
    sums: Vec<i32>,
}

impl Pieces {
    /// Takes a read in place of what was here.
    pub(super) fn take(&mut self, read: ScoredRead<'_>) {
        let bonus = i32::from(read.scoring.match_bonus);
        let cheapest = |piece: &[i16]| piece.iter().min().map_or(0, |&it| i32::from(it) + bonus);
        (self.bases, self.known) = read.query.words().map(|it| (it.bases, it.known)).unzip();
        self.cheapest.clear();
        self.cheapest.extend(read.penalties.chunks(PIECE_BASES).map(cheapest));
    }

    /// No alignment that passes one of `diagonals`, which are in order, and is worth `needed` or
    /// more, is worth more than this; `None` where that cannot be said. `band`: the diagonals on
    /// which alignments are searched for.
    #[inline(always)]
    pub(super) fn bound(
        &mut self,
        read: ScoredRead<'_>,
        reference: &Reference<'_>,
        diagonals: &[Diagonal],
        (band, needed): (RangeInclusive<i64>, i32),
    ) -> Option<i32> {
        let (scoring, length) = (read.scoring, read.query.len() as i64);
        let perfect = i32::from(scoring.match_bonus) * length as i32;
        let (first, last) = (diagonals.first()?, diagonals.last()?);
        let reach = longest_gap(scoring, perfect - needed);
        let from = (first.start - reach).max(*band.start()).min(first.start);
        let to = (last.start + reach).min(*band.end()).max(last.start);
        let Segment { start, end, .. } = first.segment;
        let is_inside = from >= start && to + length <= end && to - from <= MOST_DIAGONALS;
        if !is_inside || reference.has_hole(from, to + length) {
            return None;
        }
        self.fetch(reference, from as u64, (to - from + length) as usize);
        self.compare(read, diagonals, from..=to);
        Some(perfect - self.least_loss(scoring, length as usize))
    }

    /// Fetches so many bases from `from`, and two words after them.
    #[inline(always)]
    fn fetch(&mut self, reference: &Reference<'_>, from: u64, bases: usize) {
        let word =
            |at: usize| reference.genome.word(from + at as u64, (bases - at).min(WORD_BASES));
        self.window.clear();
        self.window.extend((0..bases).step_by(WORD_BASES).map(word));
        self.window.extend([0; 2]);
    }

    /// Finds what each piece costs on known diagonals, and the fewest mismatches on the others.
    #[inline(always)]
    fn compare(&mut self, read: ScoredRead<'_>, diagonals: &[Diagonal], all: RangeInclusive<i64>) {
        let words = self.bases.len();
        self.fewest.clear();
        self.fewest.resize(words, PIECE_BASES as u64 * LOWEST);
        self.differences.resize(words, 0);
        self.exact.clear();
        self.exact.resize(self.cheapest.len(), i32::MAX);
        let first = *all.start();
        let mut known = diagonals.iter().map(|it| it.start).peekable();
        for diagonal in all {
            self.differ((diagonal - first) as usize);
            if known.next_if_eq(&diagonal).is_some() {
                while known.next_if_eq(&diagonal).is_some() {}
                self.take_exact(read);
            } else {
                let (fewest, differences) = (&mut self.fewest[..words], &self.differences[..words]);
                for word in 0..words {
                    fewest[word] = lesser(fewest[word], counts(differences[word]));
                }
            }
        }
    }

    /// Finds where the read differs from the window from `shift` on.
    #[inline(always)]
    fn differ(&mut self, shift: usize) {
        let words = self.bases.len();
        let (from, bits) = (shift / WORD_BASES, 2 * (shift % WORD_BASES) as u32);
        let under = &self.window[from..=from + words];
        let (bases, known) = (&self.bases[..words], &self.known[..words]);
        let differences = &mut self.differences[..words];
        for word in 0..words {
            let moved = under[word] << bits | under[word + 1] >> 1 >> (63 - bits);
            let either = moved ^ bases[word];
            differences[word] = (either | either << 1) & known[word];
        }
    }

    /// Takes what the differences at hand cost in each piece, where that is less.
    #[inline(always)]
    fn take_exact(&mut self, read: ScoredRead<'_>) {
        let bonus = i32::from(read.scoring.match_bonus);
        self.losses.clear();
        self.losses.resize(self.cheapest.len(), 0);
        for (word, &bits) in self.differences.iter().enumerate() {
            let mut bits = bits;
            while let Some(at) = pop(&mut bits) {
                let at = word * WORD_BASES + at;
                self.losses[at / PIECE_BASES] += i32::from(read.penalties[at]) + bonus;
            }
        }
        for (exact, &loss) in self.exact.iter_mut().zip(&self.losses) {
            *exact = loss.min(*exact);
        }
    }

    /// What an alignment loses at least.
    #[inline(always)]
    fn least_loss(&mut self, scoring: &Scoring, length: usize) -> i32 {
        let bonus = i32::from(scoring.match_bonus);
        self.losses.clear();
        for (piece, &cheapest) in self.cheapest.iter().enumerate() {
            let fewest = self.fewest[piece / IN_WORD] >> (48 - 16 * (piece % IN_WORD)) & 0xFFFF;
            let loss = self.exact[piece].min(fewest as i32 * cheapest);
            let bases = (length - piece * PIECE_BASES).min(PIECE_BASES);
            let clipped = if scoring.is_local { bonus * bases as i32 } else { i32::MAX };
            self.losses.push(loss.min(clipped));
        }
        let sum = self.sum_with_gaps(scoring);
        if !scoring.is_local {
            return sum;
        }
        // Two pieces may be clipped in part.
        self.losses.sort_unstable();
        let clipped: i32 = self.losses.iter().rev().take(2).sum();
        (sum - clipped).max(0)
    }

    /// The sum of the losses, where a gap takes the place of those of the pieces that it is in. One
    /// in the reference may be in many, and has all bases of those between the first and the last.
    #[inline(always)]
    fn sum_with_gaps(&mut self, scoring: &Scoring) -> i32 {
        let cheapest = scoring.read_gap.first().min(scoring.reference_gap.first());
        let cheapest = i32::from(cheapest);
        self.sums.clear();
        self.sums.push(0);
        for (piece, &loss) in self.losses.iter().enumerate() {
            let mut sum = self.sums[piece] + loss.min(cheapest);
            for before in (0..piece).rev() {
                let bases = PIECE_BASES * (piece - 1 - before) + 2;
                let gap = scoring.reference_gap.of(bases as i64);
                if bases as i64 > MOST_DIAGONALS || gap >= sum {
                    break;
                }
                sum = sum.min(self.sums[before] + gap);
            }
            self.sums.push(sum);
        }
        self.sums[self.losses.len()]
    }
}

/// The most bases of a gap that costs no more than `most`, as far as bands reach.
fn longest_gap(scoring: &Scoring, most: i32) -> i64 {
    let of = |gap: GapPenalty| match i32::from(gap.extend) {
        0 => MOST_DIAGONALS,
        extend => i64::from((most - i32::from(gap.open)) / extend).clamp(0, MOST_DIAGONALS),
    };
    of(scoring.read_gap).max(of(scoring.reference_gap))
}

/// How many of the higher bits are set in each piece of a word.
#[inline(always)]
fn counts(bits: u64) -> u64 {
    let ones = bits >> 1;
    let twos = (ones & 0x3333_3333_3333_3333) + (ones >> 2 & 0x3333_3333_3333_3333);
    let fours = (twos + (twos >> 4)) & 0x0F0F_0F0F_0F0F_0F0F;
    (fours + (fours >> 8)) & 0x00FF_00FF_00FF_00FF
}

/// The lesser number of each piece; all are below 2^15.
#[inline(always)]
fn lesser(one: u64, other: u64) -> u64 {
    let is_more = ((one | HIGHEST) - other) >> 15 & LOWEST;
    let more = (is_more << 16).wrapping_sub(is_more);
    (other & more) | (one & !more)
}

#[cfg(test)]
#[path = "bound_tests.rs"]
mod tests;
