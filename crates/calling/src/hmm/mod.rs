//! Profile hidden Markov model of events over the k-mers of a sequence.
//!
//! Each k-mer is a block of three states: a match, which emits events of the k-mer's level; a bad
//! event, which is emitted at no cost and belongs to no level; a skip, which emits nothing. Blocks
//! are left from left to right. The model, its constants and its emissions are nanopolish's
//! (Simpson et al. 2017, Nature Methods 14:407; `nanopolish_profile_hmm_r9`), so that scores can be
//! compared.

mod diagonals;
mod forward;
pub(crate) mod kmers;
pub(crate) mod score;
mod simd;
#[cfg(test)]
pub(crate) mod test_read;
pub(crate) mod viterbi;

use crate::events::Scaling;
use crate::pore_model::PoreModel;

/// `ln(1 / sqrt(2 pi))`, the constant of every normal density.
pub(crate) const LN_INVERSE_SQRT_TWO_PI: f32 = -0.918_938_5;

/// Least probability of staying at a k-mer. A read with no more events than bases would give none
/// or a negative one, whose logarithm is not a number (nanopolish's scores of such reads are NaN).
const LEAST_STAY: f32 = 1e-6;

/// Expected level of one k-mer in one read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ScaledLevel {
    /// Mean, in picoampere.
    pub(crate) mean_pa: f32,
    /// Standard deviation, in picoampere.
    pub(crate) stdv_pa: f32,
    /// Natural logarithm of the latter.
    pub(crate) log_stdv: f32,
}

impl ScaledLevel {
    /// The level of k-mer `rank` of `model` in a read with `scaling`; `log_var` is
    /// `ln(scaling.var)`, which callers compute once. Rounded as nanopolish rounds, to single
    /// precision at the end.
    ///
    /// # Panics
    ///
    /// `rank` is at least the number of k-mers of the model.
    #[must_use]
    pub(crate) fn of(model: &PoreModel, rank: u32, scaling: &Scaling, log_var: f64) -> Self {
        let rank = rank as usize;
        let mean = scaling.scale * model.level_mean_pa[rank] + scaling.shift_pa;
        let stdv = model.level_stdv_pa[rank] * scaling.var;
        let log_stdv = model.level_log_stdv[rank] + log_var;
        Self { mean_pa: mean as f32, stdv_pa: stdv as f32, log_stdv: log_stdv as f32 }
    }
}

/// Probabilities of going from state to state, the same for all blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Transitions {
    /// Match to the same block's match.
    pub(crate) stay: f32,
    /// Match to the next block's match.
    pub(crate) next: f32,
    /// Match to the same block's bad event.
    pub(crate) bad: f32,
    /// Match to the next block's skip.
    pub(crate) skip: f32,
    /// Bad event to itself.
    pub(crate) bad_again: f32,
    /// Bad event to the same block's match; to the next block's match; to the next block's skip.
    pub(crate) bad_left: f32,
    /// Skip to the next block's skip.
    pub(crate) skip_again: f32,
    /// Skip to the next block's match.
    pub(crate) skip_left: f32,
}

impl Transitions {
    /// Transitions of a read with `events_per_base` events for each base.
    #[must_use]
    pub(crate) fn new(events_per_base: f64) -> Self {
        let stay = ((1.0 - 1.0 / events_per_base) as f32).max(LEAST_STAY);
        let (skip, bad, skip_again) = (0.0025, 0.001, 0.3);
        Self {
            stay,
            next: (1.0 - stay - skip - bad).max(LEAST_STAY),
            bad,
            skip,
            bad_again: bad,
            bad_left: (1.0 - bad) / 3.0,
            skip_again,
            skip_left: 1.0 - skip_again,
        }
    }

    /// Their natural logarithms, computed in double precision and then rounded.
    #[must_use]
    pub(crate) fn ln(&self) -> Self {
        let ln = |probability: f32| f64::from(probability).ln() as f32;
        Self {
            stay: ln(self.stay),
            next: ln(self.next),
            bad: ln(self.bad),
            skip: ln(self.skip),
            bad_again: ln(self.bad_again),
            bad_left: ln(self.bad_left),
            skip_again: ln(self.skip_again),
            skip_left: ln(self.skip_left),
        }
    }
}

/// Probabilities of events before the first block and after the last, which belong to the
/// background. The start always goes to the first block and the end always comes from the last.
pub(crate) mod background {
    /// From the start to the background, and from the last block to it; what is left goes past it.
    pub(crate) const ENTER: f64 = 0.5;
    /// From the background to itself.
    pub(crate) const STAY: f64 = 0.9;
    /// Natural logarithm of the density of any event.
    pub(crate) const LN_EMISSION: f64 = -3.0;
}

/// Which ends of the events may be left to the background.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Clipping {
    /// First events.
    pub(crate) start: bool,
    /// Last events.
    pub(crate) end: bool,
}

impl Clipping {
    /// Both ends, as for methylation calls.
    pub(crate) const BOTH: Self = Self { start: true, end: true };
    /// Neither end.
    pub(crate) const NEITHER: Self = Self { start: false, end: false };
}
