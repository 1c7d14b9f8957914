//! The Viterbi algorithm's kernel: cells of one anti-diagonal depend on the two before it only, so
//! a vector holds neighbours of a diagonal.
//!
//! Logarithms in single precision, added and compared in nanopolish's order, so that ties fall
//! alike. Events are stored from the last to the first, which makes all that a diagonal reads
//! contiguous. All cells are kept and no pointers.

use std::ops::Range;

use super::{Transitions, background};

/// Cells of all anti-diagonals for one state. Diagonal `d` holds the cells of event `e` and k-mer
/// `k` with `e + k = d`; two empty diagonals come before the first.
pub(super) type Plane = Vec<f32>;

/// Cells that are computed at once. What a diagonal's last vector computes beyond the diagonal's
/// end is never looked at.
pub(super) const LANES: usize = 16;

/// Neighbours on a diagonal.
type Lanes = [f32; LANES];

/// Buffers of [`align`](super::viterbi::align), to be kept by the caller.
#[derive(Debug, Default)]
pub(crate) struct ViterbiScratch {
    /// Levels from the last event to the first.
    pub(super) levels: Vec<f32>,
    pub(super) means: Vec<f32>,
    pub(super) stdvs: Vec<f32>,
    /// Logarithm of the greatest density of each k-mer.
    pub(super) peaks: Vec<f32>,
    pub(super) matched: Plane,
    pub(super) bad: Plane,
    pub(super) skipped: Plane,
}

pub(super) const NEVER: f32 = f32::NEG_INFINITY;

/// Empty diagonals before the first.
pub(super) const LEAD: usize = 2;

impl ViterbiScratch {
    /// Number of k-mers.
    #[inline(always)]
    pub(super) fn kmers(&self) -> usize {
        self.means.len() - LANES
    }

    /// Number of events.
    #[inline(always)]
    pub(super) fn events(&self) -> usize {
        self.levels.len() - LANES
    }

    /// Cells of one diagonal, with one empty cell on each side and room for a vector.
    #[inline(always)]
    pub(super) fn stride(&self) -> usize {
        self.kmers() + 2 + LANES
    }

    /// Place of a cell in the planes. `event` and `kmer` may be one below the first.
    pub(super) fn cell(&self, event: usize, kmer: usize) -> usize {
        (event + kmer + LEAD) * self.stride() + kmer + 1
    }
}

/// Fills all diagonals. Inlined into one function for each set of vector instructions.
#[inline(always)]
pub(crate) fn fill_diagonals(scratch: &mut ViterbiScratch, logs: &Transitions) {
    let (events, kmers, stride) = (scratch.events(), scratch.kmers(), scratch.stride());
    let ViterbiScratch { levels, means, stdvs, peaks, matched, bad, skipped } = scratch;
    for diagonal in 0..events + kmers - 1 {
        let first = (diagonal + 1).saturating_sub(events);
        let end = kmers.min(diagonal + 1);
        let base = (diagonal + LEAD) * stride;
        let (matched_before, matched) = matched.split_at_mut(base);
        let (bad_before, bad) = bad.split_at_mut(base);
        let (skipped_before, skipped) = skipped.split_at_mut(base);
        let before = [&*matched_before, &*bad_before, &*skipped_before]
            .map(|plane| &plane[base - LEAD * stride..]);
        let after = [&mut matched[..stride], &mut bad[..stride], &mut skipped[..stride]];
        let levels = &levels[events + first - diagonal - 1..];
        let (means, stdvs, peaks) = (&means[first..], &stdvs[first..], &peaks[first..]);
        let emissions = Emissions { levels, means, stdvs, peaks };
        fill_diagonal(before, after, first..end, emissions, logs);
        if diagonal == 0 {
            // The start leads here only.
            let start = (1.0 - background::ENTER).ln() as f32;
            matched[1] = start + ln_density(levels[0], means[0], stdvs[0], peaks[0]);
        }
    }
}

/// Logarithm of the density of an event at a k-mer.
#[inline(always)]
fn ln_density(level: f32, mean: f32, stdv: f32, peak: f32) -> f32 {
    let deviation = (level - mean) / stdv;
    peak + -0.5 * deviation * deviation
}

#[inline(always)]
pub(super) fn greater(one: f32, other: f32) -> f32 {
    if one > other { one } else { other }
}

/// The vectors from `offset` on.
#[inline(always)]
fn vectors(numbers: &[f32], offset: usize, count: usize) -> &[Lanes] {
    &numbers[offset..].as_chunks().0[..count]
}

/// Vectors to write to.
#[inline(always)]
fn vectors_mut(numbers: &mut [f32], offset: usize, count: usize) -> &mut [Lanes] {
    &mut numbers[offset..].as_chunks_mut().0[..count]
}

/// Emissions of the cells of a diagonal, from its first k-mer on.
#[derive(Clone, Copy)]
struct Emissions<'a> {
    /// Levels of the events.
    levels: &'a [f32],
    /// Of the k-mers: mean and standard deviation of the level, and the logarithm of the density at
    /// the mean.
    means: &'a [f32],
    stdvs: &'a [f32],
    peaks: &'a [f32],
}

/// Fills the cells of some k-mers of a diagonal, `after`, from the two `before`.
#[inline(always)]
fn fill_diagonal(
    before: [&[f32]; 3],
    after: [&mut [f32]; 3],
    Range { start: first, end }: Range<usize>,
    emissions: Emissions<'_>,
    logs: &Transitions,
) {
    let count = (end - first).div_ceil(LANES);
    let [matched, bad, skipped] = after;
    let (two_back, one_back) = (first, matched.len() + first);
    // The event before at this k-mer; this event at the k-mer before; the event before there.
    let same_m = vectors(before[0], one_back + 1, count);
    let same_b = vectors(before[1], one_back + 1, count);
    let left_m = vectors(before[0], one_back, count);
    let left_b = vectors(before[1], one_back, count);
    let left_k = vectors(before[2], one_back, count);
    let prev_m = vectors(before[0], two_back, count);
    let prev_b = vectors(before[1], two_back, count);
    let prev_k = vectors(before[2], two_back, count);
    let levels = vectors(emissions.levels, 0, count);
    let means = vectors(emissions.means, 0, count);
    let stdvs = vectors(emissions.stdvs, 0, count);
    let peaks = vectors(emissions.peaks, 0, count);
    let out_m = vectors_mut(matched, first + 1, count);
    let out_b = vectors_mut(bad, first + 1, count);
    let out_k = vectors_mut(skipped, first + 1, count);
    for at in 0..count {
        let [mut m, mut b, mut k] = [[0.0; LANES]; 3];
        for lane in 0..LANES {
            let (stay, next) = (logs.stay + same_m[at][lane], logs.next + prev_m[at][lane]);
            let (b_same, b_prev) = (same_b[at][lane], prev_b[at][lane]);
            let from_bad = greater(logs.bad_left + b_same, logs.bad_left + b_prev);
            let from_event = greater(greater(stay, next), from_bad);
            let best = greater(from_event, logs.skip_left + prev_k[at][lane]);
            let (level, mean) = (levels[at][lane], means[at][lane]);
            m[lane] = best + ln_density(level, mean, stdvs[at][lane], peaks[at][lane]);
            b[lane] = greater(logs.bad + same_m[at][lane], logs.bad_again + b_same);
            let (skip, bad_left) = (logs.skip + left_m[at][lane], logs.bad_left + left_b[at][lane]);
            k[lane] = greater(greater(skip, bad_left), logs.skip_again + left_k[at][lane]);
        }
        (out_m[at], out_b[at], out_k[at]) = (m, b, k);
    }
    for plane in [matched, bad, skipped] {
        plane[first] = NEVER;
        plane[end + 1] = NEVER;
    }
}
