//! What the events of each k-mer say.

use crate::pore_model::PoreModel;

/// An event that is at a k-mer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct EventLevel {
    /// Rank of the k-mer.
    pub(crate) rank: u32,
    /// What is between the event and the level that the read's scaling gives the k-mer, in
    /// picoampere by the read's `var`.
    pub(crate) residual_pa: f32,
}

/// Sums over the events of each k-mer. Added to in the order of the reads: the sums of the same
/// reads are the same.
#[derive(Debug, Clone, Default)]
pub struct EventSums {
    events: Vec<u32>,
    /// Of `w`, the squares of scale by `var` of the event's read.
    weights: Vec<f64>,
    /// Of `w` times the distance to the level, in picoampere of the model.
    distances: Vec<f64>,
    /// Of squared residuals.
    squares: Vec<f64>,
}

impl EventSums {
    /// No events, of the k-mers of `model`.
    #[must_use]
    pub fn new(model: &PoreModel) -> Self {
        let zeros = vec![0.0; model.rows()];
        Self {
            events: vec![0; model.rows()],
            weights: zeros.clone(),
            distances: zeros.clone(),
            squares: zeros,
        }
    }

    /// Bytes that the sums of a model with so many rows take.
    #[must_use]
    pub const fn bytes(rows: usize) -> u64 {
        (rows * (size_of::<u32>() + 3 * size_of::<f64>())) as u64
    }

    /// Adds the events of a read; `scale_by_var` is its scale divided by its `var`.
    pub(crate) fn add(&mut self, events: &[EventLevel], scale_by_var: f64) {
        for event in events {
            let (rank, residual) = (event.rank as usize, f64::from(event.residual_pa));
            self.events[rank] = self.events[rank].saturating_add(1);
            self.weights[rank] += scale_by_var * scale_by_var;
            self.distances[rank] += scale_by_var * residual;
            self.squares[rank] += residual * residual;
        }
    }

    /// Events of a k-mer.
    pub(super) fn events(&self, rank: usize) -> u32 {
        self.events[rank]
    }

    /// Events of all k-mers.
    pub(super) fn counts(&self) -> &[u32] {
        &self.events
    }

    /// Mean distance of a k-mer's events to its level, in picoampere of the model. Not a number if
    /// it has none.
    pub(super) fn distance_pa(&self, rank: usize) -> f64 {
        self.distances[rank] / self.weights[rank]
    }

    /// Variance of a k-mer's events about their own mean; not a number for fewer than two.
    pub(super) fn variance(&self, rank: usize) -> f64 {
        let about_mean = self.squares[rank] - self.distances[rank] * self.distance_pa(rank);
        about_mean / (f64::from(self.events[rank]) - 1.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::pore_model::Alphabet;

    proptest! {
        /// Of one read, sums give the mean and the variance by their definitions, whatever the
        /// read's scaling.
        #[test]
        fn a_kmer_s_events_have_a_mean_and_a_variance(
            residuals in prop::collection::vec(-9.0_f32..9.0, 2..60),
            scale_by_var in 0.5..2.0,
        ) {
            let (one, two) = (vec![80.0; 4], vec![2.0; 4]);
            let model = PoreModel::new(String::new(), Alphabet::Nucleotide, 1, one, two).unwrap();
            let mut sums = EventSums::new(&model);
            let level = |&residual_pa: &f32| EventLevel { rank: 2, residual_pa };
            sums.add(&residuals.iter().map(level).collect::<Vec<_>>(), scale_by_var);
            let count = residuals.len() as f64;
            let mean = residuals.iter().map(|&it| f64::from(it)).sum::<f64>() / count;
            let about = |&it: &f32| (f64::from(it) - mean).powi(2);
            let variance = residuals.iter().map(about).sum::<f64>() / (count - 1.0);
            prop_assert_eq!(sums.counts(), &[0, 0, residuals.len() as u32, 0]);
            prop_assert!((sums.distance_pa(2) - mean / scale_by_var).abs() < 1e-9);
            prop_assert!((sums.variance(2) - variance).abs() < 1e-9);
            prop_assert!(sums.distance_pa(1).is_nan());
        }
    }

    #[test]
    fn reads_with_less_noise_weigh_more() {
        let levels = vec![1.0; 4];
        let model = PoreModel::new(String::new(), Alphabet::Nucleotide, 1, levels.clone(), levels);
        let mut sums = EventSums::new(&model.unwrap());
        // Four picoampere off with var 2, and one with var 1.
        sums.add(&[EventLevel { rank: 0, residual_pa: 2.0 }], 0.5);
        sums.add(&[EventLevel { rank: 0, residual_pa: 1.0 }], 1.0);
        assert_eq!(sums.events(0), 2);
        assert!((sums.distance_pa(0) - (0.25 * 4.0 + 1.0) / 1.25).abs() < 1e-12);
    }
}
