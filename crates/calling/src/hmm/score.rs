//! How likely events are under a sequence: the forward algorithm, for eight questions at once.
//!
//! What is too small next to the rest becomes zero. `lost_nothing` bounds what that can cost; a
//! question for which the bound does not hold is answered by [`in_logarithms`], which has no such
//! limit.

use super::forward::{Block, Density, Extent, Lanes};
pub(crate) use super::forward::{LANES, ScoreScratch};
use super::{Clipping, LN_INVERSE_SQRT_TWO_PI, ScaledLevel, Transitions, background, simd};

/// Nats by which the sum must exceed the bound on what was lost: 900 times ln 2, less ln(1e12) for
/// the number of lost terms and their share of the sum.
const RANGE_NATS: f64 = 623.8 - 27.6;

/// How likely are these events, if they come from these k-mers in this order?
#[derive(Debug, Clone, Copy)]
pub(crate) struct Question<'a> {
    /// Means of the events, in picoampere.
    pub(crate) levels: Levels<'a>,
    /// Expected levels of the k-mers.
    pub(crate) kmers: &'a [ScaledLevel],
}

/// Means of events in the order in which they are walked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Levels<'a> {
    /// Means in the order of the signal, in picoampere.
    pub(crate) mean_pa: &'a [f32],
    /// Walk them from the last to the first.
    pub(crate) backwards: bool,
}

impl Levels<'_> {
    /// The mean of the `step`-th event of the walk.
    #[inline(always)]
    fn at(&self, step: usize) -> f32 {
        let len = self.mean_pa.len();
        self.mean_pa[if self.backwards { len - 1 - step } else { step }]
    }
}

/// Natural log-likelihood of each question, at most [`LANES`] of them. A question without events or
/// k-mers gives minus infinity.
pub(crate) fn score(
    scratch: &mut ScoreScratch,
    questions: &[Question<'_>],
    transitions: &Transitions,
    clipping: Clipping,
) -> Lanes {
    let questions = &questions[..questions.len().min(LANES)];
    let last = load(scratch, questions);
    let mut scores = simd::forward(scratch, &last, transitions, clipping);
    for (lane, question) in questions.iter().enumerate() {
        if !lost_nothing(question, scores[lane]) {
            scores[lane] = in_logarithms(question, transitions, clipping);
        }
    }
    scores
}

/// Transposes the questions into the scratch. Lanes that end early are filled up with their last
/// event and k-mer, empty ones with zeros: what they give is not looked at.
fn load(scratch: &mut ScoreScratch, questions: &[Question<'_>]) -> [Extent; LANES] {
    let events = questions.iter().map(|q| q.levels.mean_pa.len()).max().unwrap_or(0);
    let kmers = questions.iter().map(|q| q.kmers.len()).max().unwrap_or(0);
    scratch.levels.clear();
    scratch.levels.resize(events, [0.0; LANES]);
    scratch.densities.clear();
    scratch.densities.resize(kmers, Density::default());
    scratch.blocks.clear();
    scratch.blocks.resize(kmers, Block::default());
    let mut extents = [Extent::default(); LANES];
    for (lane, question) in questions.iter().enumerate() {
        let extent = Extent { events: question.levels.mean_pa.len(), kmers: question.kmers.len() };
        extents[lane] = extent;
        if extent.events == 0 || extent.kmers == 0 {
            continue;
        }
        for (step, levels) in scratch.levels.iter_mut().enumerate() {
            levels[lane] = f64::from(question.levels.at(step.min(extent.events - 1)));
        }
        for (at, density) in scratch.densities.iter_mut().enumerate() {
            let kmer = question.kmers[at.min(extent.kmers - 1)];
            density.mean[lane] = f64::from(kmer.mean_pa);
            density.narrow[lane] = NARROW / f64::from(kmer.stdv_pa);
            density.peak[lane] = peak_ln(kmer) * std::f64::consts::LOG2_E;
        }
    }
    extents
}

/// Turns a squared deviation into a halved one in binary digits: `sqrt(log2(e) / 2)`.
const NARROW: f64 = 0.849_321_800_288_019_1;

/// Natural logarithm of a density's greatest value.
fn peak_ln(kmer: ScaledLevel) -> f64 {
    f64::from(LN_INVERSE_SQRT_TWO_PI - kmer.log_stdv)
}

/// Whether zeros that stand for tiny probabilities cannot have changed the score. Transitions out
/// of a state sum to one at most, so no event multiplies the sum by more than its greatest density;
/// what was lost is below the least emission times the product of these.
fn lost_nothing(question: &Question<'_>, score: f64) -> bool {
    let clip = background::LN_EMISSION;
    let greatest = question.kmers.iter().map(|kmer| peak_ln(*kmer)).fold(clip, f64::max);
    score > greatest * question.levels.mean_pa.len() as f64 - RANGE_NATS
}

/// The same by the definition: one question, sums of logarithms. Slow, exact at any range.
#[must_use]
pub(crate) fn in_logarithms(
    question: &Question<'_>,
    transitions: &Transitions,
    clipping: Clipping,
) -> f64 {
    let never = f64::NEG_INFINITY;
    let ln = |probability: f32| f64::from(probability).ln();
    let Transitions { stay, next, bad, skip, .. } = *transitions;
    let [stay, next, to_bad, skip] = [stay, next, bad, skip].map(ln);
    let [bad_again, bad_left] = [transitions.bad_again, transitions.bad_left].map(ln);
    let [skip_again, skip_left] = [transitions.skip_again, transitions.skip_left].map(ln);
    let clip = background::STAY.ln() + background::LN_EMISSION;
    let to_background = background::ENTER.ln() + background::LN_EMISSION;
    let from_background = (1.0 - background::STAY).ln();
    let events = question.levels.mean_pa.len();
    // Match, bad event and skip of each block.
    let mut blocks = vec![[never; 3]; question.kmers.len()];
    let (mut entering, mut end) = ((1.0 - background::ENTER).ln(), never);
    for row in 0..events {
        let level = question.levels.at(row);
        let mut before = [never; 3];
        let mut left = [never; 3];
        for (at, (block, kmer)) in blocks.iter_mut().zip(question.kmers).enumerate() {
            let deviation = (f64::from(level) - f64::from(kmer.mean_pa)) / f64::from(kmer.stdv_pa);
            let old = *block;
            let matched = ln_sum(&[
                stay + old[0],
                next + before[0],
                bad_left + old[1],
                bad_left + before[1],
                skip_left + before[2],
                if at == 0 { entering } else { never },
            ]) + peak_ln(*kmer)
                - 0.5 * deviation * deviation;
            let bad = ln_sum(&[to_bad + old[0], bad_again + old[1]]);
            let skipped = ln_sum(&[skip + left[0], bad_left + left[1], skip_again + left[2]]);
            *block = [matched, bad, skipped];
            (before, left) = (old, *block);
        }
        entering = match (clipping.start, row) {
            (false, _) => never,
            (true, 0) => to_background + from_background,
            (true, _) => entering + clip,
        };
        // Steps from here to the last event are clipped.
        let leave = match events - 1 - row {
            0 => (1.0 - background::ENTER).ln(),
            _ if !clipping.end => never,
            rest => to_background + from_background + clip * (rest - 1) as f64,
        };
        let last = blocks.last().map_or(never, |block| ln_sum(block));
        end = ln_sum(&[end, last + leave]);
    }
    end
}

/// Logarithm of the sum of what these are the logarithms of.
fn ln_sum(logarithms: &[f64]) -> f64 {
    let greatest = logarithms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if greatest == f64::NEG_INFINITY {
        return greatest;
    }
    greatest + logarithms.iter().map(|l| (l - greatest).exp()).sum::<f64>().ln()
}

#[cfg(test)]
#[path = "score_tests.rs"]
mod tests;
