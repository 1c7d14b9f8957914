//! What all kernels read: events and k-mers laid out so that a band is a run of each, with
//! borders that make every cell outside of the table impossible.

use super::banded::{BandedInput, LOG_TRIM, NoAlignment};

/// Cells that a kernel may compute, so that it ends with a whole vector; those from
/// [`super::BANDWIDTH`] on mean nothing.
pub(super) const LANES: usize = 112;
/// Places before and after the events and the k-mers. A band that is in one of them is made of
/// nothing but border.
pub(super) const BORDER: usize = LANES;
/// Level of an event that is none: so far from any that it is impossible on every k-mer.
const NO_EVENT_PA: f32 = 1e30;
/// ln(1/sqrt(2 pi)), as 32 bits have it.
const LOG_INVERSE_SQRT_2PI: f32 = -0.918_938_5;

/// Log-probabilities of the moves of a path.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Transitions {
    pub(super) step: f64,
    pub(super) stay: f64,
    pub(super) skip: f64,
}

/// Events and k-mers of one read, as kernels load them.
#[derive(Debug, Default)]
pub(super) struct Operands {
    pub(super) events: usize,
    pub(super) kmers: usize,
    pub(super) transitions: Transitions,
    /// Mean levels, last event first.
    pub(super) levels_pa: Vec<f32>,
    /// Of each k-mer: expected level.
    pub(super) means_pa: Vec<f32>,
    /// Of each k-mer: standard deviation of levels.
    pub(super) stdvs_pa: Vec<f32>,
    /// Log-probability density at the expected level; minus infinity in the borders.
    pub(super) peaks: Vec<f32>,
    /// 0; minus infinity in the borders, for none can be skipped to.
    pub(super) walls: Vec<f32>,
}

/// Start of the operands of a band; [`LANES`] follow.
#[derive(Debug, Clone, Copy)]
pub(super) struct BandStart {
    /// In the events.
    pub(super) event: usize,
    /// In the arrays of k-mers.
    pub(super) kmer: usize,
}

impl Operands {
    pub(super) fn fill(&mut self, input: BandedInput<'_>) -> Result<(), NoAlignment> {
        let BandedInput { event_means_pa, ranks, model, scaling } = input;
        (self.events, self.kmers) = (event_means_pa.len(), ranks.len());
        let fits = |count| (1..1 << 30).contains(&count);
        if !fits(self.events) || !fits(self.kmers) {
            return Err(NoAlignment::Nothing);
        }
        // NaN has no place in an order: kernels would disagree on which of two scores is higher.
        let is_finite = scaling.scale.is_finite() && scaling.shift_pa.is_finite();
        if !is_finite || !event_means_pa.iter().all(|level| level.is_finite()) {
            return Err(NoAlignment::NotFinite);
        }
        self.transitions = transitions(self.events as f64 / self.kmers as f64);
        fill_bordered(&mut self.levels_pa, NO_EVENT_PA, event_means_pa.iter().rev().copied());
        let (scale, shift) = (scaling.scale, scaling.shift_pa);
        let level = |rank: u32| model.level_mean_pa[rank as usize];
        let limit = f64::from(f32::MAX);
        let mean = |rank: u32| (scale * level(rank) + shift).clamp(-limit, limit) as f32;
        let stdv = |rank: u32| model.level_stdv_pa[rank as usize] as f32;
        let peak = |rank: u32| LOG_INVERSE_SQRT_2PI - model.level_log_stdv[rank as usize] as f32;
        fill_bordered(&mut self.means_pa, 0.0, ranks.iter().map(|&rank| mean(rank)));
        fill_bordered(&mut self.stdvs_pa, 1.0, ranks.iter().map(|&rank| stdv(rank)));
        fill_bordered(&mut self.peaks, f32::NEG_INFINITY, ranks.iter().map(|&rank| peak(rank)));
        fill_bordered(&mut self.walls, f32::NEG_INFINITY, ranks.iter().map(|_| 0.0));
        Ok(())
    }

    /// Number of bands.
    pub(super) fn bands(&self) -> usize {
        self.events + self.kmers + 2
    }

    /// Log-probability density of an event's level on a k-mer.
    pub(super) fn log_emission(&self, event: usize, kmer: usize) -> f32 {
        let (event, kmer) = (BORDER + self.events - 1 - event, BORDER + kmer);
        log_emission(
            self.levels_pa[event],
            self.means_pa[kmer],
            self.stdvs_pa[kmer],
            self.peaks[kmer],
        )
    }

    /// Where the operands begin of a band whose first cell is (`event`, `kmer`). Beyond the borders
    /// there is nothing but more of the same, so they are never left.
    pub(super) fn start(&self, event: i32, kmer: i32) -> BandStart {
        let place = |first: i64, count: usize| {
            let last = (BORDER + count) as i64;
            (first + BORDER as i64).clamp(0, last) as usize
        };
        BandStart {
            event: place(self.events as i64 - 1 - i64::from(event), self.events),
            kmer: place(i64::from(kmer), self.kmers),
        }
    }

    /// Score of a path that has gone past `events` events before the first k-mer.
    pub(super) fn trimmed(events: i32) -> f32 {
        (LOG_TRIM * f64::from(events)) as f32
    }

    /// The score of ending with `event` on the last k-mer, when the cell's is `score`.
    pub(super) fn ended(&self, score: f32, event: i32) -> f32 {
        let after = self.events as f64 - f64::from(event);
        (f64::from(score) + after * LOG_TRIM) as f32
    }
}

/// Emission in the order of operations that all kernels have, which is nanopolish's.
#[inline(always)]
pub(super) fn log_emission(level_pa: f32, mean_pa: f32, stdv_pa: f32, peak: f32) -> f32 {
    let distance = (level_pa - mean_pa) / stdv_pa;
    peak - 0.5 * distance * distance
}

/// Score after a move, `log_probability` with what the cell adds: summed in 64 bits and rounded
/// once.
#[inline(always)]
pub(super) fn moved(score: f32, log_probability: f64, addend: f32) -> f32 {
    (f64::from(score) + log_probability + f64::from(addend)) as f32
}

fn transitions(events_per_kmer: f64) -> Transitions {
    let stay = (1.0 - 1.0 / (events_per_kmer + 1.0)).ln();
    let skip = 1e-10_f64.ln();
    Transitions { step: (1.0 - skip.exp() - stay.exp()).ln(), stay, skip }
}

fn fill_bordered(out: &mut Vec<f32>, border: f32, values: impl Iterator<Item = f32>) {
    out.clear();
    out.resize(BORDER, border);
    out.extend(values);
    out.resize(out.len() + BORDER, border);
}
