//! The end of a read that is too short for a seed: where after an intron it may be, base by base
//! through the places that are near enough for that not to be chance.

use std::ops::Range;

use crate::query::UNKNOWN;
use seqloom_align::search::{Genome, WORD_BASES};

/// Fewest bases of an end that is searched for.
const LEAST_BASES: usize = 8;
/// Fewest that are clipped of it.
pub(super) const LEAST_CLIPPED: usize = 4;
/// Most bases that are compared.
pub(super) const MOST_BASES: usize = 29;
/// An end with so many bases may have one mismatch.
const ENOUGH_FOR_MISMATCH: usize = 13;
/// Most bases of an intron, as those of HISAT2's local indices.
const MOST_BASES_OF_INTRON: i64 = 1 << 16;
/// One intron in so many is chance at most, if all are as long as they may be.
const SURE: i64 = 256;
/// Bases before where a read stops to match at which an intron may begin: after it the
/// genome may be as the read is by chance.
const BACK: usize = 5;

/// An end of a read.
#[derive(Clone, Copy)]
pub(super) struct Overhang<'a> {
    pub(super) genome: Genome<'a>,
    pub(super) codes: &'a [u8],
    /// The place of the read's first base.
    pub(super) start: i64,
    /// One past the last base that is where it should be.
    pub(super) end: usize,
    /// Places of the strand of its sequence.
    pub(super) segment: [i64; 2],
    /// Fewest and most bases of an intron.
    pub(super) introns: [i64; 2],
}

/// What is looked for: the last two bases of the intron and the bases of the end.
#[derive(Debug, Clone, Copy)]
struct Pattern {
    /// All of these codes, two bits each, the first in the lowest.
    bases: u64,
    count: usize,
    /// One of them may differ, but for the intron's.
    may_differ: bool,
    /// Base of the read after the intron.
    cut: usize,
    /// Where the intron ends at most.
    most: i64,
}

/// The first two bases of an intron, on either strand, and its last two: GT-AG and CT-AC.
const FIRST: [u64; 2] = [0b1011, 0b0111];
const LAST: [[u8; 2]; 2] = [[0, 2], [0, 1]];

impl Overhang<'_> {
    /// The place of the read's first base, if the end is after an intron that begins near where
    /// the read stops to match: the nearest one.
    pub(super) fn find(&self) -> Option<i64> {
        let mut patterns = [None; 4];
        let mut count = 0;
        for cut in self.cuts() {
            if let Some(pattern) = self.pattern(cut).filter(|_| count < patterns.len()) {
                patterns[count] = Some(pattern);
                count += 1;
            }
        }
        let patterns = &patterns[..count];
        let most = patterns.iter().flatten().map(|it| it.most).max()?;
        let first_cut = patterns.iter().flatten().map(|it| it.cut).min()? as i64;
        let from = self.start + first_cut + self.introns[0] - 2;
        self.scan(from..most.min(self.segment[1]), patterns)
    }

    /// Where an intron may begin.
    fn cuts(&self) -> Range<usize> {
        let last = self.codes.len().saturating_sub(LEAST_BASES).min(self.end);
        self.end.saturating_sub(BACK).max(LEAST_BASES)..last + 1
    }

    /// What is after an intron that begins at base `cut`, if one may.
    fn pattern(&self, cut: usize) -> Option<Pattern> {
        let left = self.start + cut as i64;
        if left <= self.segment[0] || left + 2 > self.segment[1] {
            return None;
        }
        let ends = self.genome.word(left as u64, 2) >> 60;
        let kind = FIRST.iter().position(|&it| it == ends)?;
        let end = &self.codes[cut..];
        let compared = end.len().min(MOST_BASES);
        if end[..compared].contains(&UNKNOWN) {
            return None;
        }
        let all = LAST[kind].into_iter().chain(end[..compared].iter().copied());
        let bases = all.enumerate().fold(0, |n, (at, code)| n | u64::from(code) << (2 * at));
        // So many bases and the intron's two, each of which is one of four.
        let sure = (1_i64 << (2 * (compared + 2)).min(60)) / SURE;
        let length = sure.min(MOST_BASES_OF_INTRON).min(self.introns[1]);
        let may_differ = compared >= ENOUGH_FOR_MISMATCH;
        Some(Pattern { bases, count: compared + 2, may_differ, cut, most: left + length })
    }

    /// Goes through places, 64 at a time, to the first one where one of `patterns` begins.
    fn scan(&self, places: Range<i64>, patterns: &[Option<Pattern>]) -> Option<i64> {
        let planes = |from: i64| self.planes(from);
        let mut next = planes(places.start);
        for from in places.step_by(64) {
            let here = next;
            next = planes(from + 64);
            let both: [u128; 2] =
                [0, 1].map(|plane| u128::from(here[plane]) | u128::from(next[plane]) << 64);
            let found = patterns.iter().flatten().filter_map(|pattern| {
                let mut found = pattern.places(both);
                while found != 0 {
                    let at = from + i64::from(found.trailing_zeros());
                    if let Some(start) = self.found(pattern, at) {
                        return Some((at, start));
                    }
                    found &= found - 1;
                }
                None
            });
            if let Some((_, start)) = found.min() {
                return Some(start);
            }
        }
        None
    }

    /// The higher bits of 64 bases from `from`, and the lower ones, the first in the lowest bit.
    fn planes(&self, from: i64) -> [u64; 2] {
        let halves = [0, 1].map(|half| {
            let from = from + half * WORD_BASES as i64;
            let count = (self.segment[1] - from).clamp(0, WORD_BASES as i64) as usize;
            let word = if count > 0 { self.genome.word(from as u64, count) } else { 0 };
            let turned = word.reverse_bits();
            [every_other(turned), every_other(turned >> 1)]
        });
        [0, 1].map(|plane| halves[0][plane] | halves[1][plane] << 32)
    }

    /// The place of the read's first base where a pattern begins at `at`, if that is after an
    /// intron of a length that may be.
    fn found(&self, pattern: &Pattern, at: i64) -> Option<i64> {
        let right = at + 2;
        let length = right - (self.start + pattern.cut as i64);
        let is_inside = right + (self.codes.len() - pattern.cut) as i64 <= self.segment[1];
        let is_one = length >= self.introns[0] && right <= pattern.most && is_inside;
        is_one.then_some(right - pattern.cut as i64)
    }
}

impl Pattern {
    /// Of 64 places in a row those where it begins; their bases, and those after, by bit.
    #[inline(always)]
    fn places(&self, planes: [u128; 2]) -> u64 {
        let alike = |at: usize| {
            let code = self.bases >> (2 * at);
            let of = |plane: usize, bit: u64| {
                let bits = (planes[plane] >> at) as u64;
                if bit & 1 == 1 { bits } else { !bits }
            };
            of(0, code >> 1) & of(1, code)
        };
        let (mut all, mut but_one) = (alike(0) & alike(1), 0);
        for at in 2..self.count {
            if all | but_one == 0 {
                break;
            }
            let alike = alike(at);
            if self.may_differ {
                but_one = but_one & alike | all & !alike;
            }
            all &= alike;
        }
        all | but_one
    }
}

/// Bits 0, 2, 4 ... side by side.
fn every_other(bits: u64) -> u64 {
    let mut bits = bits & 0x5555_5555_5555_5555;
    bits = (bits | bits >> 1) & 0x3333_3333_3333_3333;
    bits = (bits | bits >> 2) & 0x0F0F_0F0F_0F0F_0F0F;
    bits = (bits | bits >> 4) & 0x00FF_00FF_00FF_00FF;
    bits = (bits | bits >> 8) & 0x0000_FFFF_0000_FFFF;
    (bits | bits >> 16) & 0xFFFF_FFFF
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance::hash;

    /// An exon, an intron of 300 bases and another exon.
    fn text() -> Vec<u8> {
        let random = |at: usize| hash(7, at as u64) as u8 % 4;
        let mut text: Vec<u8> = (0..800).map(random).collect();
        text[200..202].copy_from_slice(&[2, 3]);
        text[498..500].copy_from_slice(&[0, 2]);
        text
    }

    fn packed(codes: &[u8]) -> Vec<u8> {
        codes.chunks(4).map(|four| four.iter().fold(0, |b, &code| b << 2 | code)).collect()
    }

    fn turned(codes: &[u8]) -> Vec<u8> {
        codes.iter().rev().map(|code| 3 - code).collect()
    }

    #[test]
    fn an_end_is_found_after_its_intron_on_both_strands() {
        let t = |anchor: usize, changed: Option<usize>, introns, expected| {
            let text = text();
            let read = [&text[150..200], &text[500..500 + anchor]].concat();
            for text in [text.clone(), turned(&turned(&text))] {
                let mut codes = read.clone();
                if let Some(at) = changed {
                    codes[at] = (codes[at] + 1) % 4;
                }
                let bytes = packed(&text);
                let genome = Genome { packed: &bytes, bases: 800 };
                let (start, segment) = (150, [0, 800]);
                for end in 50..53 {
                    let overhang = Overhang { genome, codes: &codes, start, end, segment, introns };
                    assert_eq!(overhang.find(), expected, "{anchor} {changed:?} {end}");
                }
            }
        };
        t(20, None, [20, 1000], Some(450));
        t(8, None, [20, 1000], Some(450));
        t(7, None, [20, 1000], None);
        t(20, None, [20, 299], None);
        t(20, None, [301, 1000], None);
        t(20, Some(60), [20, 1000], Some(450));
        t(12, Some(60), [20, 1000], None);
    }

    #[test]
    fn an_end_is_found_on_the_reverse_strand() {
        let text = text();
        let bytes = packed(&text);
        let genome = Genome { packed: &bytes, bases: 800 };
        // The transcript's reverse complement: the intron begins with CT there.
        let codes = turned(&[&text[180..200], &text[500..550]].concat());
        let overhang = Overhang {
            genome,
            codes: &codes,
            start: 1600 - 550,
            end: 50,
            segment: [800, 1600],
            introns: [20, 1000],
        };
        assert_eq!(overhang.find(), Some(1600 - 550 + 300));
    }
}
