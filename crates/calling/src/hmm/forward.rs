//! The forward algorithm's kernel: eight lanes, each a question of its own; no lane sees another.
//!
//! Probabilities are plain numbers, scaled by powers of two every few events. All widths of vectors
//! execute the same operations in the same order, and products are fused with sums only where
//! `mul_add` says so, on all machines alike: a score has the same bits everywhere.

use super::{Clipping, Transitions, background};

/// Questions that are answered at once.
pub(crate) const LANES: usize = 8;

/// One number for each lane.
pub(crate) type Lanes = [f64; LANES];

/// Events after which probabilities are scaled. A bad event costs a factor of 1000 at most, so
/// eight of them cannot use up the range of a double.
const SCALE_EVERY: usize = 8;

/// Emissions below two to this power count as zero.
pub(super) const LEAST_EXPONENT: f64 = -900.0;

/// The three states of a block.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Block {
    matched: Lanes,
    bad: Lanes,
    skipped: Lanes,
}

/// The density of a k-mer's events: `2^(peak - ((x - mean) * narrow)^2)`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Density {
    pub(super) mean: Lanes,
    pub(super) narrow: Lanes,
    pub(super) peak: Lanes,
}

/// Buffers of [`score`](super::score::score), to be kept by the caller.
#[derive(Debug, Default)]
pub(crate) struct ScoreScratch {
    pub(super) levels: Vec<Lanes>,
    pub(super) densities: Vec<Density>,
    pub(super) blocks: Vec<Block>,
}

/// End of a lane.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Extent {
    /// Number of its events.
    pub(super) events: usize,
    /// Number of its k-mers.
    pub(super) kmers: usize,
}

/// The forward algorithm over the questions in the scratch. Inlined into one function for each set
/// of vector instructions.
#[inline(always)]
pub(crate) fn forward_lanes(
    scratch: &mut ScoreScratch,
    extents: &[Extent; LANES],
    transitions: &Transitions,
    clipping: Clipping,
) -> Lanes {
    let ScoreScratch { levels, densities, blocks } = scratch;
    let clip = background::STAY * background::LN_EMISSION.exp();
    let to_background = background::ENTER * background::LN_EMISSION.exp();
    let from_background = 1.0 - background::STAY;
    let mut scores = [f64::NEG_INFINITY; LANES];
    let mut exponents = [0_i64; LANES];
    // What enters the first block at this event, and what has left the last one for good.
    let mut entering = [1.0 - background::ENTER; LANES];
    let mut clipped = [0.0; LANES];
    let mut leaving = [0.0; LANES];
    for (row, level) in levels.iter().enumerate() {
        advance(blocks, densities, level, entering, &Weights::new(transitions));
        for lane in 0..LANES {
            let stays = clipped[lane] * clip + leaving[lane] * to_background;
            clipped[lane] = if clipping.end { stays } else { 0.0 };
            entering[lane] = match (clipping.start, row) {
                (false, _) => 0.0,
                (true, 0) => to_background * from_background,
                (true, _) => entering[lane] * clip,
            };
            let Extent { events, kmers } = extents[lane];
            if row >= events || kmers == 0 {
                continue;
            }
            let last = &blocks[kmers - 1];
            leaving[lane] = last.matched[lane] + last.bad[lane] + last.skipped[lane];
            if row + 1 == events {
                let sum =
                    leaving[lane] * (1.0 - background::ENTER) + clipped[lane] * from_background;
                scores[lane] = scaled_ln(sum, exponents[lane]);
            }
        }
        if row % SCALE_EVERY == SCALE_EVERY - 1 {
            rescale(blocks, [&mut entering, &mut clipped, &mut leaving], &mut exponents);
        }
    }
    scores
}

/// Natural logarithm of `value * 2^exponent`. The value's own exponent is added to the other first,
/// so that how the two share it does not show: it depends on what is in the other lanes.
#[inline(always)]
pub(super) fn scaled_ln(value: f64, exponent: i64) -> f64 {
    let own = (value.to_bits() >> 52) as i64;
    if !(1..0x7ff).contains(&own) {
        return value.ln() + exponent as f64 * std::f64::consts::LN_2;
    }
    let mantissa = f64::from_bits((value.to_bits() & ((1 << 52) - 1)) | 1.0_f64.to_bits());
    mantissa.ln() + (exponent + own - 1023) as f64 * std::f64::consts::LN_2
}

/// Transitions as they are multiplied with.
#[derive(Debug, Clone, Copy)]
struct Weights {
    stay: f64,
    next: f64,
    bad: f64,
    skip: f64,
    bad_again: f64,
    bad_left: f64,
    skip_again: f64,
    skip_left: f64,
}

impl Weights {
    #[inline(always)]
    fn new(transitions: &Transitions) -> Self {
        Self {
            stay: f64::from(transitions.stay),
            next: f64::from(transitions.next),
            bad: f64::from(transitions.bad),
            skip: f64::from(transitions.skip),
            bad_again: f64::from(transitions.bad_again),
            bad_left: f64::from(transitions.bad_left),
            skip_again: f64::from(transitions.skip_again),
            skip_left: f64::from(transitions.skip_left),
        }
    }
}

/// Takes all blocks from one event to the next, in place: a block needs its own last values and
/// what its left neighbour sends, which is at hand.
#[inline(always)]
fn advance(
    blocks: &mut [Block],
    densities: &[Density],
    level: &Lanes,
    entering: Lanes,
    weights: &Weights,
) {
    let mut inflow = entering;
    let mut skipped = [0.0; LANES];
    for (block, density) in blocks.iter_mut().zip(densities) {
        let emission = emission(level, density);
        let old = *block;
        for lane in 0..LANES {
            let left_bad = weights.bad_left * old.bad[lane];
            let stay = weights.stay.mul_add(old.matched[lane], left_bad);
            let matched = (stay + inflow[lane]) * emission[lane];
            let bad_again = weights.bad_again * old.bad[lane];
            let bad = weights.bad.mul_add(old.matched[lane], bad_again);
            let passed = skipped[lane];
            block.matched[lane] = matched;
            block.bad[lane] = bad;
            block.skipped[lane] = passed;
            let skip_left = weights.skip_left.mul_add(old.skipped[lane], left_bad);
            inflow[lane] = weights.next.mul_add(old.matched[lane], skip_left);
            let skip_again = weights.bad_left.mul_add(bad, weights.skip_again * passed);
            skipped[lane] = weights.skip.mul_add(matched, skip_again);
        }
    }
}

/// Density of an event at a k-mer.
#[inline(always)]
fn emission(level: &Lanes, density: &Density) -> Lanes {
    let mut exponent = [0.0; LANES];
    for lane in 0..LANES {
        let deviation = (level[lane] - density.mean[lane]) * density.narrow[lane];
        exponent[lane] = (-deviation).mul_add(deviation, density.peak[lane]);
    }
    exp2(&exponent)
}

/// A polynomial that is `2^f` for `f` from -1/2 to 1/2, up to a relative error of 2.6e-9: it is
/// exact at the seven Chebyshev nodes of the interval.
const EXP2: [f64; 7] = [
    1.0,
    0.693_147_206_702_832_1,
    0.240_226_509_222_888_27,
    0.055_503_272_266_709_44,
    0.009_618_056_678_526_09,
    0.001_340_042_817_741_915_3,
    0.000_154_614_446_964_617_2,
];

/// Added to a double, leaves its nearest integer in the lowest bits.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// Two to the power of each, zero below [`LEAST_EXPONENT`]. Powers above 1000 are not requested.
#[inline(always)]
pub(super) fn exp2(exponents: &Lanes) -> Lanes {
    let mut powers = [0.0; LANES];
    for lane in 0..LANES {
        let exponent = exponents[lane];
        let bounded = if exponent > LEAST_EXPONENT { exponent } else { LEAST_EXPONENT };
        let shifted = bounded + ROUND;
        let fraction = bounded - (shifted - ROUND);
        let mut sum = EXP2[6];
        for coefficient in EXP2[..6].iter().rev() {
            sum = sum.mul_add(fraction, *coefficient);
        }
        let power = f64::from_bits(sum.to_bits().wrapping_add(shifted.to_bits() << 52));
        powers[lane] = if exponent > LEAST_EXPONENT { power } else { 0.0 };
    }
    powers
}

/// Multiplies everything in a lane by the power of two that brings its greatest probability near 1.
#[inline(always)]
fn rescale(blocks: &mut [Block], others: [&mut Lanes; 3], exponents: &mut [i64; LANES]) {
    let mut greatest = [0.0_f64; LANES];
    let raise = |greatest: &mut Lanes, values: &Lanes| {
        for lane in 0..LANES {
            greatest[lane] =
                if values[lane] > greatest[lane] { values[lane] } else { greatest[lane] };
        }
    };
    for block in blocks.iter() {
        raise(&mut greatest, &block.matched);
        raise(&mut greatest, &block.bad);
        raise(&mut greatest, &block.skipped);
    }
    others.iter().for_each(|values| raise(&mut greatest, values));
    let mut factor = [1.0; LANES];
    for lane in 0..LANES {
        let exponent = ((greatest[lane].to_bits() >> 52) & 0x7ff) as i64;
        // Zero, and what is close to it or to infinity, is left as it is.
        if (64..1984).contains(&exponent) {
            factor[lane] = f64::from_bits(((2046 - exponent) as u64) << 52);
            exponents[lane] += exponent - 1023;
        }
    }
    let scale = |values: &mut Lanes| {
        for lane in 0..LANES {
            values[lane] *= factor[lane];
        }
    };
    for block in blocks.iter_mut() {
        scale(&mut block.matched);
        scale(&mut block.bad);
        scale(&mut block.skipped);
    }
    others.into_iter().for_each(scale);
}
