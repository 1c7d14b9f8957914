//! What the events of each k-mer say.

use crate::pore_model::PoreModel;

/// Events further from their level, in standard deviations, are outliers: 0.27 % of a normal
/// distribution is.
const TRIMMED_FROM: f64 = 3.0;

/// Variance of a normal distribution within [`TRIMMED_FROM`], where the whole has 1.
const TRIMMED_VARIANCE: f64 = 0.973_337;

/// A stay of a k-mer: its events in a row, as one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Stay {
    /// Rank of the k-mer.
    pub(crate) rank: u32,
    /// How many events it has.
    pub(crate) events: u32,
    /// How far it is from the level that the read's scaling gives the k-mer, in standard
    /// deviations.
    pub(crate) deviation: f32,
}

/// Sums over the stays of each k-mer. Added to in the order of the reads: the sums of the same
/// reads are the same.
#[derive(Debug, Clone, Default)]
pub struct EventSums {
    is_trimmed: bool,
    events: Vec<u32>,
    stays: Vec<u32>,
    /// Of `w`, the squares of scale by `var` of the read.
    weights: Vec<f64>,
    /// Of scale by `var` times the deviation.
    distances: Vec<f64>,
    /// Of squared deviations.
    squares: Vec<f64>,
}

impl EventSums {
    /// No events, of the k-mers of `model`. Stays that are far from their levels will be left out
    /// if it `is_trained`: a model that is not has no levels of methylated k-mers yet.
    #[must_use]
    pub fn new(model: &PoreModel, is_trained: bool) -> Self {
        let (zeros, none) = (vec![0.0; model.rows()], vec![0; model.rows()]);
        Self {
            is_trimmed: is_trained,
            events: none.clone(),
            stays: none,
            weights: zeros.clone(),
            distances: zeros.clone(),
            squares: zeros,
        }
    }

    /// Bytes that the sums of a model with so many rows take.
    #[must_use]
    pub const fn bytes(rows: usize) -> u64 {
        (rows * (2 * size_of::<u32>() + 3 * size_of::<f64>())) as u64
    }

    /// Adds the stays of a read; `scale_by_var` is its scale divided by its `var`.
    pub(crate) fn add(&mut self, stays: &[Stay], scale_by_var: f64) {
        for stay in stays {
            let (rank, deviation) = (stay.rank as usize, f64::from(stay.deviation));
            if self.is_trimmed && deviation.abs() > TRIMMED_FROM {
                continue;
            }
            self.events[rank] = self.events[rank].saturating_add(stay.events);
            self.stays[rank] = self.stays[rank].saturating_add(1);
            self.weights[rank] += scale_by_var * scale_by_var;
            self.distances[rank] += scale_by_var * deviation;
            self.squares[rank] += deviation * deviation;
        }
    }

    /// Stays of a k-mer.
    pub(super) fn stays(&self, rank: usize) -> u32 {
        self.stays[rank]
    }

    /// Events of all k-mers.
    pub(super) fn events(&self) -> &[u32] {
        &self.events
    }

    /// Mean distance of a k-mer's stays to its level, in its standard deviations. Not a number if
    /// it has none.
    pub(super) fn distance(&self, rank: usize) -> f64 {
        self.distances[rank] / self.weights[rank]
    }

    /// Variance of a k-mer's stays about their own mean, in units of its own; not a number for
    /// fewer than two.
    pub(super) fn variance(&self, rank: usize) -> f64 {
        let about_mean = self.squares[rank] - self.distances[rank] * self.distance(rank);
        let variance = about_mean / (f64::from(self.stays[rank]) - 1.0);
        if self.is_trimmed { variance / TRIMMED_VARIANCE } else { variance }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use seqloom_testkit::random::Random;

    use super::*;
    use crate::pore_model::Alphabet;

    fn sums(is_trained: bool) -> EventSums {
        let levels = vec![1.0; 4];
        let model = PoreModel::new(String::new(), Alphabet::Nucleotide, 1, levels.clone(), levels);
        EventSums::new(&model.unwrap(), is_trained)
    }

    fn stay(rank: u32, deviation: f32) -> Stay {
        Stay { rank, events: 2, deviation }
    }

    proptest! {
        /// Of one read, sums give the mean and the variance by their definitions, whatever the
        /// read's scaling.
        #[test]
        fn a_kmer_s_stays_have_a_mean_and_a_variance(
            deviations in prop::collection::vec(-9.0_f32..9.0, 2..60),
            scale_by_var in 0.5..2.0,
        ) {
            let mut sums = sums(false);
            let stays: Vec<_> = deviations.iter().map(|&it| stay(2, it)).collect();
            sums.add(&stays, scale_by_var);
            let count = deviations.len() as f64;
            let mean = deviations.iter().map(|&it| f64::from(it)).sum::<f64>() / count;
            let about = |&it: &f32| (f64::from(it) - mean).powi(2);
            let variance = deviations.iter().map(about).sum::<f64>() / (count - 1.0);
            prop_assert_eq!(sums.events(), &[0, 0, 2 * deviations.len() as u32, 0]);
            prop_assert_eq!(sums.stays(2), deviations.len() as u32);
            prop_assert!((sums.distance(2) - mean / scale_by_var).abs() < 1e-9);
            prop_assert!((sums.variance(2) - variance).abs() < 1e-9);
            prop_assert!(sums.distance(1).is_nan());
        }
    }

    #[test]
    fn reads_with_less_noise_weigh_more() {
        let mut sums = sums(false);
        // Four standard deviations of the model off with var 2, and one with var 1.
        sums.add(&[stay(0, 2.0)], 0.5);
        sums.add(&[stay(0, 1.0)], 1.0);
        assert_eq!(sums.stays(0), 2);
        assert!((sums.distance(0) - (0.25 * 4.0 + 1.0) / 1.25).abs() < 1e-12);
    }

    /// One stay in twenty is of another k-mer: a trained model knows, and has the right deviation.
    #[test]
    fn stays_of_other_kmers_are_left_out() {
        let mut random = Random::new(9);
        let stays: Vec<_> = (0..40_000)
            .map(|at| {
                let far = if at % 20 == 0 { 8.0 } else { 0.0 };
                // The sum of twelve uniforms, as good as normal up to three deviations.
                stay(1, random.normal(far, 1.0) as f32)
            })
            .collect();
        let of = |is_trained| {
            let mut sums = sums(is_trained);
            sums.add(&stays, 1.0);
            (sums.distance(1), sums.variance(1).sqrt())
        };
        let (mean, stdv) = of(true);
        assert!(mean.abs() < 0.02 && (stdv - 1.0).abs() < 0.02, "{mean} {stdv}");
        let (mean, stdv) = of(false);
        assert!((mean - 0.4).abs() < 0.02 && stdv > 1.9, "{mean} {stdv}");
    }
}
