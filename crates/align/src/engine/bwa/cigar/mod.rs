//! The CIGAR of a region, with MD and NM.
//!
//! A region has ends and a score, but no path. It is found by a global alignment of the two
//! intervals within a band that is as narrow as the score allows (`mem_reg2aln`); most need none,
//! since with equal lengths and few points lost there can be no gap that pays. On the reverse
//! strand both are reversed first, so that a gap that fits several places is leftmost on the
//! forward strand.

pub(super) mod global;
pub(super) mod md;

use std::ops::Range;

use seqloom_format::bam::cigar;

use super::float::truncated;
use super::reference::Reference;
use super::regions::Region;
use super::settings::Settings;
use global::Global;
use md::MdNm;

/// Operations of a CIGAR, as wide as an operation in BAM.
pub(super) const MATCH: u32 = cigar::MATCH as u32;
pub(super) const INSERTION: u32 = cigar::INSERTION as u32;
pub(super) const DELETION: u32 = cigar::DELETION as u32;
pub(super) const SOFT_CLIP: u32 = cigar::SOFT_CLIP as u32;
pub(super) const HARD_CLIP: u32 = cigar::HARD_CLIP as u32;

/// An operation as BAM has it.
pub(super) fn operation(length: usize, kind: u32) -> u32 {
    (length as u32) << 4 | kind
}

/// The code of N.
const UNKNOWN: u8 = 4;

/// The band is doubled so often at most.
const MOST_BANDS: usize = 3;

/// Working memory, and the path that was found last.
#[derive(Debug, Default)]
pub(super) struct Tracer {
    query: Vec<u8>,
    target: Vec<u8>,
    global: Global,
    /// Operations, in order of the forward strand.
    pub(super) cigar: Vec<u32>,
    /// What differs, and where.
    pub(super) md_nm: MdNm,
}

impl Tracer {
    /// Finds the path of a region of a read, whose bases are codes. False if it has none, as its
    /// interval is empty or crosses from one strand to the other.
    pub(super) fn trace(
        &mut self,
        read: &[u8],
        region: &Region,
        reference: &Reference<'_>,
        settings: &Settings,
    ) -> bool {
        let Some(span) = self.begin(region, reference) else { return false };
        let on_reverse = reference.is_reverse(region.reference_start);
        let widest = settings.band << 2;
        let mut band = first_band(region, settings);
        if band.min(widest) == 0 && span.len() as i64 == region.reference_span() {
            // No band that follows is wider, whatever the score.
            let query = &read[span];
            reference.window(region.reference_start, region.reference_end, &mut self.target);
            self.cigar.push(operation(query.len(), MATCH));
            self.md_nm.find_straight(query, &self.target, on_reverse);
            return true;
        }
        self.load(&read[span], region, reference);
        // Here bwa takes every other letter for N.
        self.query.iter_mut().for_each(|code| *code = (*code).min(UNKNOWN));
        let mut last = i32::MIN;
        for _ in 0..MOST_BANDS {
            band = band.min(widest);
            let score = self.align(band, settings);
            let enough = score >= region.true_score - settings.matching;
            if score == last || band == widest || enough {
                break;
            }
            last = score;
            band <<= 1;
        }
        self.md_nm.find(&self.cigar, &self.query, &self.target, on_reverse);
        true
    }

    /// The score of a region's path within a band, if it has one.
    pub(super) fn score(
        &mut self,
        read: &[u8],
        region: &Region,
        band: i32,
        reference: &Reference<'_>,
        settings: &Settings,
    ) -> Option<i32> {
        let span = self.begin(region, reference)?;
        self.load(&read[span], region, reference);
        Some(self.align(band, settings))
    }

    /// The bases of the read that a region has, if it has a path. The path is empty.
    fn begin(&mut self, region: &Region, reference: &Reference<'_>) -> Option<Range<usize>> {
        let Region { reference_start: start, reference_end: end, .. } = *region;
        let crosses = !reference.is_reverse(start) && reference.is_reverse(end - 1);
        let span = region.read_start as usize..region.read_end as usize;
        self.cigar.clear();
        (!span.is_empty() && start < end && !crosses).then_some(span)
    }

    /// Takes the bases of both intervals, reversed on the reverse strand.
    fn load(&mut self, query: &[u8], region: &Region, reference: &Reference<'_>) {
        let Region { reference_start: start, reference_end: end, .. } = *region;
        reference.window(start, end, &mut self.target);
        self.query.clear();
        self.query.extend_from_slice(query);
        if reference.is_reverse(start) {
            self.query.reverse();
            self.target.reverse();
        }
    }

    /// Aligns within a band, and returns the score.
    fn align(&mut self, band: i32, settings: &Settings) -> i32 {
        let Self { query, target, global, cigar, .. } = self;
        let sequences = [&query[..], target];
        let straight = (query.len() == target.len()).then(|| settings.score_of(query, target));
        // What a path with gaps has to score.
        let better = straight.map_or(i32::MIN, |score| score + 1);
        let widest = inner_band(sequences, band, settings);
        let mut needed = match straight {
            Some(_) if band == 0 => 0,
            _ if !settings.only_matches_score() => widest,
            Some(_) => farthest(sequences, better, settings).min(widest),
            None => widest.min(query.len().abs_diff(target.len()) + 3),
        };
        loop {
            cigar.clear();
            if let Some(score) = straight.filter(|_| needed == 0) {
                cigar.push(operation(query.len(), MATCH));
                return score;
            }
            let band = needed;
            let score = global.align(sequences, band, settings, cigar);
            needed = farthest(sequences, score.max(better), settings).min(widest);
            if band >= needed {
                return score;
            }
        }
    }
}

/// How far from the first diagonal a path may come, one way or the other, that scores so much or
/// more: gaps cost, and bases in insertions match nothing.
///
/// So that a path within that band, if it scores so much, is the best of any wider band; and so is
/// the one that is taken of equal ones, since all of them are in the band. The path without a gap
/// is taken if none with gaps scores more: at each of its cells a gap that ends there scores no
/// more than the match, and of equal ones the match is taken.
fn farthest([query, target]: [&[u8]; 2], score: i32, settings: &Settings) -> usize {
    let gaps = &settings.gaps;
    // Penalties may be as large as 32 bits hold.
    let [matching, deletion, insertion] =
        [settings.matching, gaps.extend_deletion, gaps.extend_insertion].map(i64::from);
    let opened = i64::from(gaps.open_deletion) + i64::from(gaps.open_insertion);
    let apart = target.len() as i64 - query.len() as i64;
    // But for what makes up for the lengths, insertions are as long as deletions.
    let for_lengths = if apart < 0 { -apart * (matching + insertion) } else { apart * deletion };
    let left = query.len() as i64 * matching - for_lengths - opened - i64::from(score);
    let longest = left / (matching + deletion + insertion);
    longest.max(0) as usize + apart.unsigned_abs() as usize
}

/// The band that a region's score requires (`infer_bw`).
fn first_band(region: &Region, settings: &Settings) -> i32 {
    let (query, target) = (region.read_span(), region.reference_span() as i32);
    let gaps = &settings.gaps;
    let reach = |open: i32, extend: i32| {
        let Settings { matching, .. } = *settings;
        // For equal lengths there must be two gaps.
        let lost = query * matching - region.true_score;
        if query == target && lost < (open + extend - matching) << 1 {
            return 0;
        }
        let most = f64::from(query.min(target) * matching - region.true_score - open);
        truncated(most / f64::from(extend) + 2.0).max((query - target).abs())
    };
    let insertion = reach(gaps.open_insertion, gaps.extend_insertion);
    let band = reach(gaps.open_deletion, gaps.extend_deletion).max(insertion);
    if band > settings.band { band.min(region.band) } else { band }
}

/// The band of the matrix: no wider than gaps can be in half of the read, and wide enough for both
/// ends.
fn inner_band([query, target]: [&[u8]; 2], band: i32, settings: &Settings) -> usize {
    let gaps = &settings.gaps;
    let half = (query.len() as i32 + 1) >> 1;
    let longest = |open: i32, extend: i32| {
        truncated(f64::from(half * settings.matching - open) / f64::from(extend) + 1.0)
    };
    let insertion = longest(gaps.open_insertion, gaps.extend_insertion);
    let deletion = longest(gaps.open_deletion, gaps.extend_deletion);
    let apart = (target.len() as i32 - query.len() as i32).abs();
    let widest = insertion.max(deletion).max(1).saturating_add(apart).saturating_add(1) >> 1;
    widest.min(band).max(apart + 3) as usize
}

#[cfg(test)]
mod tests;
