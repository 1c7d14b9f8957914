//! Levels from events, and from what is known without them.

use super::sums::EventSums;
use crate::pore_model::PoreModel;

/// Least variance of what is between true levels and known ones, in square picoampere, and of that
/// between the logarithms of deviations: what is known is never believed whole.
const LEAST_VARIANCE: f64 = 1e-4;

/// Rounds in which a variance is measured: each weighs k-mers by the one before.
const MEASURING_ROUNDS: usize = 8;

/// Least deviation that is believed, as a share of the model's.
const LEAST_SHARE: f64 = 1e-3;

/// A level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Gaussian {
    pub(super) mean_pa: f64,
    pub(super) stdv_pa: f64,
}

impl Gaussian {
    /// Level of a k-mer of a model.
    pub(super) fn of(model: &PoreModel, rank: usize) -> Self {
        Self { mean_pa: model.level_mean_pa[rank], stdv_pa: model.level_stdv_pa[rank] }
    }
}

/// Level by the events of a k-mer, which are two or more.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Observation {
    pub(super) mean_pa: f64,
    /// Logarithm of the deviation. Right on average: that of a sample's deviation is too small.
    pub(super) log_stdv: f64,
    pub(super) events: f64,
}

impl Observation {
    pub(super) fn of(sums: &EventSums, current: &PoreModel, rank: usize) -> Self {
        let events = f64::from(sums.stays(rank));
        let variance = sums.variance(rank).max(LEAST_SHARE * LEAST_SHARE);
        let stdv_pa = current.level_stdv_pa[rank];
        let log_variance = variance.ln() - LogOfSample::of(events - 1.0).mean;
        let log_stdv = stdv_pa.ln() + log_variance / 2.0;
        let mean_pa = current.level_mean_pa[rank] + stdv_pa * sums.distance(rank);
        Self { mean_pa, log_stdv, events }
    }
}

/// What the scaling of reads makes of all levels: it is not exact, as some events are at the wrong
/// k-mer, and noise of a read widens its events. Taken from observations, it leaves them on the
/// scale of the model of the four bases, by which reads are scaled whenever they are called.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Gauge {
    shift_pa: f64,
    scale: f64,
    log_stdv: f64,
}

/// Scales that the regression of a gauge can have; anything else is chance.
const GAUGE_SCALES: std::ops::Range<f64> = 0.8..1.25;

impl Gauge {
    /// Measured on bare k-mers: a line through their means, and the mean of the logarithms of
    /// deviations, both about those that are known.
    pub(super) fn measured(pairs: impl Iterator<Item = (Observation, Gaussian)>) -> Self {
        let (mut w, mut wk, mut wkk, mut ws, mut wks) = (0.0, 0.0, 0.0, 0.0, 0.0);
        let (mut log_stdv, mut weights) = (0.0, 0.0);
        for (seen, known) in pairs {
            // A picoampere more or less is usual, however many the events.
            let weight = 1.0 / (1.0 + known.stdv_pa * known.stdv_pa / seen.events);
            w += weight;
            wk += weight * known.mean_pa;
            wkk += weight * known.mean_pa * known.mean_pa;
            ws += weight * seen.mean_pa;
            wks += weight * known.mean_pa * seen.mean_pa;
            log_stdv += (seen.events - 1.0) * (seen.log_stdv - known.stdv_pa.ln());
            weights += seen.events - 1.0;
        }
        let determinant = w * wkk - wk * wk;
        let slope = (w * wks - wk * ws) / determinant;
        // No line goes through one level.
        let is_line = determinant > w * wkk * 1e-9 && GAUGE_SCALES.contains(&slope);
        let scale = if is_line { slope } else { 1.0 };
        Self { shift_pa: (ws - scale * wk) / w, scale, log_stdv: log_stdv / weights }
    }

    /// The observation on the scale of the known levels.
    pub(super) fn taken_from(self, seen: Observation) -> Observation {
        Observation {
            mean_pa: (seen.mean_pa - self.shift_pa) / self.scale,
            log_stdv: seen.log_stdv - self.log_stdv,
            events: seen.events,
        }
    }
}

/// A measured value's distance from the expected one, and the variance of its measurement error.
#[derive(Debug, Clone, Copy)]
pub(super) struct Distance {
    pub(super) distance: f64,
    pub(super) variance: f64,
}

/// Variance of true values about expected ones: that of the distances less the measurement error's.
pub(super) fn true_variance(distances: &[Distance]) -> f64 {
    let mut found = f64::INFINITY;
    for _ in 0..MEASURING_ROUNDS {
        let (mut sum, mut weights) = (0.0, 0.0);
        for it in distances {
            // The square of a distance varies by the square of the variance that it has in all.
            let whole = if found.is_finite() { found + it.variance } else { 1.0 + it.variance };
            let weight = 1.0 / (whole * whole);
            sum += weight * (it.distance * it.distance - it.variance);
            weights += weight;
        }
        found = (sum / weights).max(LEAST_VARIANCE);
    }
    found
}

/// How far true levels are from known ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Prior {
    /// Of true means about known ones.
    mean_variance: f64,
    /// Logarithm of how many times greater deviations are.
    log_stdv_shift: f64,
    /// Of their logarithms.
    log_stdv_variance: f64,
}

/// The logarithm of a sample's variance, where the true one is 1.
#[derive(Debug, Clone, Copy, PartialEq)]
struct LogOfSample {
    mean: f64,
    variance: f64,
}

impl LogOfSample {
    /// From here on the series below are right to seven digits.
    const SERIES_FROM: f64 = 6.0;

    /// With so many degrees of freedom: digamma less logarithm, and trigamma, of their half.
    fn of(degrees: f64) -> Self {
        let half = degrees / 2.0;
        let (mut at, mut digamma, mut trigamma) = (half, 0.0, 0.0);
        while at < Self::SERIES_FROM {
            digamma -= 1.0 / at;
            trigamma += 1.0 / (at * at);
            at += 1.0;
        }
        let square = 1.0 / (at * at);
        digamma += at.ln() - 0.5 / at - square * (1.0 / 12.0 - square / 120.0);
        trigamma += 1.0 / at + square / 2.0 + square / at * (1.0 / 6.0 - square / 30.0);
        Self { mean: digamma - half.ln(), variance: trigamma }
    }
}

/// Variance of the logarithm of a deviation of so many events.
fn log_stdv_variance(events: f64) -> f64 {
    LogOfSample::of(events - 1.0).variance / 4.0
}

impl Prior {
    /// Measures it on k-mers of which both are there.
    pub(super) fn measured(pairs: impl Iterator<Item = (Observation, Gaussian)>) -> Self {
        let pairs: Vec<_> = pairs.collect();
        let (mut shift, mut weights) = (0.0, 0.0);
        for (seen, known) in &pairs {
            let weight = seen.events - 1.0;
            shift += weight * (seen.log_stdv - known.stdv_pa.ln());
            weights += weight;
        }
        let log_stdv_shift = shift / weights;
        let factor = log_stdv_shift.exp();
        let of_means = |(seen, known): &(Observation, Gaussian)| Distance {
            distance: seen.mean_pa - known.mean_pa,
            variance: (factor * known.stdv_pa).powi(2) / seen.events,
        };
        let of_stdvs = |(seen, known): &(Observation, Gaussian)| Distance {
            distance: seen.log_stdv - known.stdv_pa.ln() - log_stdv_shift,
            variance: log_stdv_variance(seen.events),
        };
        Self {
            mean_variance: true_variance(&pairs.iter().map(of_means).collect::<Vec<_>>()),
            log_stdv_shift,
            log_stdv_variance: true_variance(&pairs.iter().map(of_stdvs).collect::<Vec<_>>()),
        }
    }

    /// Prior and measurement, weighted by their precisions.
    pub(super) fn combined(&self, known: Gaussian, seen: Option<Observation>) -> Gaussian {
        let log_stdv = known.stdv_pa.ln() + self.log_stdv_shift;
        let Some(seen) = seen else {
            return Gaussian { mean_pa: known.mean_pa, stdv_pa: log_stdv.exp() };
        };
        let of_seeing = log_stdv_variance(seen.events);
        let log_stdv = mixed([seen.log_stdv, log_stdv], [of_seeing, self.log_stdv_variance]);
        let stdv_pa = log_stdv.exp();
        let of_seeing = stdv_pa * stdv_pa / seen.events;
        let mean_pa = mixed([seen.mean_pa, known.mean_pa], [of_seeing, self.mean_variance]);
        Gaussian { mean_pa, stdv_pa }
    }
}

/// The mean of two numbers, each weighted by the other's variance.
fn mixed([one, other]: [f64; 2], [of_one, of_other]: [f64; 2]) -> f64 {
    (one * of_other + other * of_one) / (of_one + of_other)
}

#[cfg(test)]
mod tests {
    use seqloom_testkit::random::Random;

    use super::*;

    const KNOWN: Gaussian = Gaussian { mean_pa: 80.0, stdv_pa: 2.0 };

    #[test]
    fn the_variance_of_true_numbers_is_that_of_distances_less_the_seeing_s() {
        let mut random = Random::new(3);
        for expected in [0.0, 0.25, 4.0_f64] {
            let distances: Vec<_> = (0..20_000)
                .map(|at| {
                    let variance = if at % 3 == 0 { 9.0 } else { 0.3 };
                    let truth = random.normal(0.0, expected.sqrt());
                    Distance { distance: random.normal(truth, f64::sqrt(variance)), variance }
                })
                .collect();
            let found = true_variance(&distances);
            assert!((found - expected).abs() < 0.02 + 0.05 * expected, "{found} for {expected}");
        }
    }

    /// Of few numbers, too, where the logarithm of their variance is far off.
    #[test]
    fn the_logarithm_of_a_sample_s_variance_has_a_mean_and_a_variance() {
        let mut random = Random::new(12);
        for count in [2, 3, 5, 20, 60] {
            let logs: Vec<f64> = (0..40_000)
                .map(|_| {
                    let of: Vec<f64> = (0..count).map(|_| random.normal(7.0, 1.0)).collect();
                    let mean = of.iter().sum::<f64>() / f64::from(count);
                    let squares: f64 = of.iter().map(|it| (it - mean).powi(2)).sum();
                    (squares / f64::from(count - 1)).ln()
                })
                .collect();
            let mean = logs.iter().sum::<f64>() / logs.len() as f64;
            let squares: f64 = logs.iter().map(|it| (it - mean).powi(2)).sum();
            let variance = squares / logs.len() as f64;
            let found = LogOfSample::of(f64::from(count - 1));
            assert!((found.mean - mean).abs() < 0.03, "{count}: {found:?} {mean}");
            assert!(
                (found.variance / variance - 1.0).abs() < 0.05,
                "{count}: {found:?} {variance}"
            );
        }
        // -gamma - 2 ln 2 - ln 1/2, and pi^2 / 2.
        let one = LogOfSample::of(1.0);
        assert!((one.mean + 1.270_362_845_461_478).abs() < 1e-6, "{one:?}");
        assert!((one.variance - 4.934_802_200_544_679).abs() < 1e-6, "{one:?}");
    }

    #[test]
    fn levels_are_between_what_is_known_and_what_was_seen() {
        let prior = Prior { mean_variance: 1.0, log_stdv_shift: 0.5, log_stdv_variance: 0.01 };
        let without = prior.combined(KNOWN, None);
        assert_eq!(without.mean_pa, 80.0);
        assert!((without.stdv_pa - 2.0 * 0.5_f64.exp()).abs() < 1e-12);
        let mut before = without;
        for events in [2.0, 10.0, 100.0, 1e4, 1e9] {
            let seen = Observation { mean_pa: 84.0, log_stdv: 3.0_f64.ln(), events };
            let level = prior.combined(KNOWN, Some(seen));
            assert!(level.mean_pa > before.mean_pa && level.mean_pa < 84.0, "{level:?}");
            assert!(level.stdv_pa < before.stdv_pa && level.stdv_pa > 3.0 - 1e-9, "{level:?}");
            before = level;
        }
        assert!((before.mean_pa - 84.0).abs() < 1e-6 && (before.stdv_pa - 3.0).abs() < 1e-6);
    }

    #[test]
    fn a_gauge_is_taken_from_what_was_seen() {
        let mut random = Random::new(8);
        let pairs: Vec<_> = (0..4_000)
            .map(|_| {
                let known = Gaussian { mean_pa: random.normal(90.0, 12.0), stdv_pa: 2.0 };
                let mean_pa = 1.02 * random.normal(known.mean_pa, 0.5) - 3.0;
                let log_stdv = 3.0_f64.ln() + random.normal(0.0, 0.1);
                (Observation { mean_pa, log_stdv, events: 30.0 }, known)
            })
            .collect();
        let gauge = Gauge::measured(pairs.iter().copied());
        let seen = Observation { mean_pa: 1.02 * 75.0 - 3.0, log_stdv: 6.0_f64.ln(), events: 30.0 };
        let taken = gauge.taken_from(seen);
        assert!((taken.mean_pa - 75.0).abs() < 0.05, "{taken:?}");
        assert!((taken.log_stdv - 4.0_f64.ln()).abs() < 0.01, "{taken:?}");
        // No line can be put through one level.
        let one = pairs.iter().map(|(seen, _)| (*seen, KNOWN));
        assert_eq!(Gauge::measured(one).scale, 1.0);
    }

    #[test]
    fn how_far_levels_are_from_known_ones_is_measured() {
        let mut random = Random::new(4);
        let pairs = (0..5_000).map(|_| {
            let events = 20;
            let (level, stdv) = (random.normal(80.0, 1.5), 3.0 * random.normal(0.0, 0.2).exp());
            let drawn: Vec<f64> = (0..events).map(|_| random.normal(level, stdv)).collect();
            let events = f64::from(events);
            let mean_pa = drawn.iter().sum::<f64>() / events;
            let squares: f64 = drawn.iter().map(|it| (it - mean_pa).powi(2)).sum();
            let variance = squares / (events - 1.0);
            let log_stdv = (variance.ln() - LogOfSample::of(events - 1.0).mean) / 2.0;
            (Observation { mean_pa, log_stdv, events }, KNOWN)
        });
        let found = Prior::measured(pairs);
        assert!((found.mean_variance - 2.25).abs() < 0.2, "{found:?}");
        assert!((found.log_stdv_shift - 1.5_f64.ln()).abs() < 0.02, "{found:?}");
        assert!((found.log_stdv_variance - 0.04).abs() < 0.006, "{found:?}");
    }
}
