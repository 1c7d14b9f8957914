//! How a read's levels are scaled to those of a model, and how its current drifts.

use super::ridge::{Ridge, Variable};
use crate::events::{Events, Scaling};
use crate::pore_model::PoreModel;

/// A stay of a k-mer in the pore, its events as one, and the level that it should have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct AlignedStay {
    /// When its last event began, as a share of the read's signal.
    time: f64,
    /// Mean of its samples, in picoampere.
    mean_pa: f64,
    /// Level of the k-mer in the model, in picoampere.
    level_pa: f64,
    /// The level's deviation.
    stdv_pa: f64,
}

/// The events of a read in time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Signal<'a> {
    events: &'a Events,
    first_sample: f64,
    samples: f64,
}

impl<'a> Signal<'a> {
    pub(crate) fn of(events: &'a Events) -> Self {
        let at = |sample: Option<&u64>| sample.map_or(0.0, |&sample| sample as f64);
        let first_sample = at(events.start_samples.first());
        let samples = at(events.start_samples.last()) - first_sample;
        Self { events, first_sample, samples }
    }

    /// When an event began: 0 for the first one, 1 for the last.
    fn time(&self, event: usize) -> f64 {
        (self.events.start_samples[event] as f64 - self.first_sample) / self.samples
    }

    /// When each event began.
    pub(crate) fn times(&self) -> impl Iterator<Item = f64> {
        (0..self.events.len()).map(|event| self.time(event))
    }

    /// Events in a row as one stay. All samples weigh alike: short events, of which many are of two
    /// k-mers, weigh little, and noise less than in single events.
    pub(crate) fn stay(
        &self,
        of_stay: impl Iterator<Item = u32>,
        model: &PoreModel,
        rank: u32,
    ) -> AlignedStay {
        let (mut samples, mut sum_pa, mut time) = (0.0, 0.0, 0.0);
        for event in of_stay {
            let event = event as usize;
            let length = f64::from(self.events.length_samples[event]);
            samples += length;
            sum_pa += length * f64::from(self.events.mean_pa[event]);
            time = self.time(event);
        }
        AlignedStay {
            time,
            mean_pa: sum_pa / samples,
            level_pa: model.level_mean_pa[rank as usize],
            stdv_pa: model.level_stdv_pa[rank as usize],
        }
    }
}

/// Calibration of the levels of a read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Calibration {
    /// In the middle of the signal.
    pub(crate) scaling: Scaling,
    /// How much the current rises from the first event to the last one, in picoampere. nanopolish
    /// knows no drift, so calls have none, but levels are wrong and their deviations too great
    /// where it is taken for the k-mers'.
    pub(crate) drift_pa: f64,
}

impl Calibration {
    /// By least squares, weighted by the model's variances: `var` is the root mean square of what
    /// remains, in standard deviations. None of fewer than `least` stays, and where there is no one
    /// solution.
    pub(crate) fn fitted(stays: &[AlignedStay], least: usize) -> Option<Self> {
        if stays.len() < least {
            return None;
        }
        let mut ridge = Ridge::new(3, 0.0);
        for stay in stays {
            let variables = [(0, 1.0), (1, stay.level_pa), (2, stay.time - 0.5)];
            let variables = variables.map(|(at, value)| Variable { at, value });
            ridge.add(&variables, stay.mean_pa, 1.0 / stay.stdv_pa.powi(2));
        }
        let &[shift_pa, scale, drift_pa] = ridge.solve().as_slice() else { return None };
        let mut found = Self { scaling: Scaling { shift_pa, scale, var: 1.0 }, drift_pa };
        let squares: f64 = stays.iter().map(|stay| found.deviation(stay).powi(2)).sum();
        found.scaling.var = (squares / stays.len() as f64).sqrt();
        (found.scaling.var.is_normal() && scale > 0.0).then_some(found)
    }

    /// The current's drift up to a time.
    pub(crate) fn drifted_pa(&self, time: f64) -> f64 {
        self.drift_pa * (time - 0.5)
    }

    /// How many standard deviations a stay is from its level.
    pub(crate) fn deviation(&self, stay: &AlignedStay) -> f64 {
        let Scaling { shift_pa, scale, var } = self.scaling;
        let level_pa = shift_pa + scale * stay.level_pa + self.drifted_pa(stay.time);
        (stay.mean_pa - level_pa) / (var * stay.stdv_pa)
    }
}

#[cfg(test)]
mod tests {
    use seqloom_testkit::random::Random;

    use super::*;
    use crate::pore_model::Alphabet;

    #[test]
    fn events_in_a_row_are_one_stay() {
        let events = Events {
            start_samples: vec![100, 104, 110, 120],
            length_samples: vec![4.0, 6.0, 2.0, 4.0],
            mean_pa: vec![80.0, 90.0, 70.0, 60.0],
            stdv_pa: vec![1.0; 4],
        };
        let model =
            PoreModel::new(String::new(), Alphabet::Nucleotide, 1, vec![85.0; 4], vec![2.0; 4]);
        let signal = Signal::of(&events);
        let stay = signal.stay([0, 1, 2].into_iter(), &model.unwrap(), 3);
        let expected =
            AlignedStay { time: 0.5, mean_pa: 1_000.0 / 12.0, level_pa: 85.0, stdv_pa: 2.0 };
        assert_eq!(stay, expected);
        assert_eq!(signal.times().collect::<Vec<_>>(), [0.0, 0.2, 0.5, 1.0]);
    }

    /// Stays of a read that makes `2 + 1.1 * level` of a level, `drift_pa` more at its end.
    fn stays(drift_pa: f64, noise: f64) -> Vec<AlignedStay> {
        let mut random = Random::new(2);
        (0..2_000)
            .map(|at| {
                let (time, level_pa) = (f64::from(at) / 1_999.0, random.uniform(60.0, 120.0));
                let stdv_pa = random.uniform(1.0, 3.0);
                let mean_pa = 2.0 + 1.1 * level_pa + drift_pa * (time - 0.5);
                let mean_pa = random.normal(mean_pa, noise * stdv_pa);
                AlignedStay { time, mean_pa, level_pa, stdv_pa }
            })
            .collect()
    }

    #[test]
    fn a_drift_is_told_from_the_scale() {
        for drift_pa in [-6.0, 0.0, 3.0] {
            let found = Calibration::fitted(&stays(drift_pa, 1.2), 2_000).unwrap();
            let Scaling { shift_pa, scale, var } = found.scaling;
            assert!((found.drift_pa - drift_pa).abs() < 0.4, "{found:?}");
            assert!((shift_pa - 2.0).abs() < 0.7 && (scale - 1.1).abs() < 0.01, "{found:?}");
            assert!((var - 1.2).abs() < 0.05, "{found:?}");
            assert_eq!(found.drifted_pa(0.5), 0.0);
            assert!((found.drifted_pa(1.0) - found.drift_pa / 2.0).abs() < 1e-12);
            let of_level =
                stays(drift_pa, 0.0).iter().map(|it| found.deviation(it).abs()).sum::<f64>();
            assert!(of_level / 2_000.0 < 0.15, "{of_level}");
        }
        assert!(Calibration::fitted(&stays(1.0, 1.0), 2_001).is_none());
    }

    #[test]
    fn there_is_no_line_through_one_level_nor_time() {
        let all = stays(1.0, 1.0);
        let of = |change: &dyn Fn(&mut AlignedStay)| {
            let mut stays = all.clone();
            stays.iter_mut().for_each(change);
            Calibration::fitted(&stays, 2)
        };
        assert!(of(&|_| ()).is_some());
        assert_eq!(of(&|stay| stay.level_pa = 80.0), None);
        assert_eq!(of(&|stay| stay.time = f64::NAN), None);
        assert_eq!(Calibration::fitted(&[], 0), None);
    }
}
