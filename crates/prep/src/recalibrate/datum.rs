//! One row of a recalibration table, and the quality that it shows.

use std::sync::LazyLock;

use super::log10::log10;

/// GATK keeps errors times 100,000, which decides the last bits of their sums.
const ERROR_SCALE: f64 = 100_000.0;

/// Highest quality that is considered.
const MAX_CONSIDERED_QUALITY: usize = 60;

/// Beyond this distance from the prior's mean all qualities are as unlikely.
const MAX_PRIOR_DISTANCE: i32 = 40;

/// Observations that the binomial distribution takes (a 32-bit number in GATK).
const MAX_OBSERVATIONS: u64 = i32::MAX as u64 - 1;

/// Observations, errors and reported quality of bases with the same covariates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Datum {
    pub(crate) observations: u64,
    scaled_errors: f64,
    /// Reported quality; that of several together is fractional.
    pub(crate) reported: f64,
}

impl Datum {
    pub(crate) fn new(observations: u64, errors: f64, reported: f64) -> Self {
        Self { observations, scaled_errors: errors * ERROR_SCALE, reported }
    }

    /// Errors, fractional where they were shared between bases.
    pub(crate) fn errors(&self) -> f64 {
        self.scaled_errors / ERROR_SCALE
    }

    /// Adds other observations; the reported quality becomes that of the errors expected in both.
    pub(crate) fn combine(&mut self, other: &Self) {
        let expected = self.expected_errors() + other.expected_errors();
        self.observations = self.observations.saturating_add(other.observations);
        self.scaled_errors += other.errors() * ERROR_SCALE;
        self.reported = -10.0 * log10(expected / self.observations as f64);
    }

    fn expected_errors(&self) -> f64 {
        self.observations as f64 * 10_f64.powf(self.reported / -10.0)
    }

    /// As it is in a report: errors with two decimals, reported quality with four.
    pub(crate) fn rounded(&self) -> Self {
        let reported = round_decimals(self.reported, 4);
        Self::new(self.observations, round_decimals(self.errors(), 2), reported)
    }

    /// The most likely quality, given one expected before: a normal distribution round `prior`
    /// (standard deviation 0.5) times the binomial one of the errors, each with one error and one
    /// good base added.
    pub(crate) fn empirical_quality(&self, prior: f64) -> u8 {
        let mut errors = ((self.errors() + 0.5) as u64).saturating_add(1);
        let mut observations = self.observations.saturating_add(2);
        if observations > MAX_OBSERVATIONS {
            let fraction = MAX_OBSERVATIONS as f64 / observations as f64;
            errors = (errors as f64 * fraction).round() as u64;
            observations = MAX_OBSERVATIONS;
        }
        let good = observations.saturating_sub(errors) as f64;
        let mut best = (0, f64::NEG_INFINITY);
        for (quality, [log_error, log_good]) in LOG_PROBABILITIES.iter().enumerate() {
            // The binomial coefficient is the same for all qualities.
            let likelihood = errors as f64 * log_error + good * log_good;
            let likelihood = if likelihood.is_finite() { likelihood } else { f64::MIN };
            let log = log_prior(quality as f64, prior) + likelihood;
            if log > best.1 {
                best = (quality, log);
            }
        }
        best.0 as u8
    }
}

/// Logarithms of 10^(-q/10) and of the rest to 1, for each quality.
static LOG_PROBABILITIES: LazyLock<[[f64; 2]; MAX_CONSIDERED_QUALITY + 1]> = LazyLock::new(|| {
    std::array::from_fn(|quality| {
        let error = 10_f64.powf(quality as f64 / -10.0);
        [error.ln(), (-error).ln_1p()]
    })
});

/// Log-density of the normal distribution, less what does not depend on the quality.
fn log_prior(quality: f64, prior: f64) -> f64 {
    const STANDARD_DEVIATION: f64 = 0.5;
    let distance = ((quality - prior) as i32).saturating_abs().min(MAX_PRIOR_DISTANCE);
    let deviations = f64::from(distance) / STANDARD_DEVIATION;
    -0.5 * deviations * deviations
}

/// Rounds as GATK does before it writes: the next larger number, half up.
pub(crate) fn round_decimals(value: f64, decimals: i32) -> f64 {
    let scale = 10_f64.powi(decimals);
    ((value.next_up()) * scale + 0.5).floor() / scale
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empirical_qualities() {
        let t = |observations, errors, prior, expected| {
            let datum = Datum::new(observations, errors, 30.0);
            assert_eq!(datum.empirical_quality(prior), expected, "{observations} {errors} {prior}");
        };
        // Rows of GATK's table of NA12878.chr17_69k_70k.
        t(15, 3.0, 6.0, 6);
        t(1, 0.0, 6.0, 6);
        t(23471, 49.13, 27.0494, 27);
        t(0, 0.0, 40.0, 40);
        // bqsr.manyObservations: more than 2^31.
        t(5_051_984_590, 11_646_516.65, 26.3945, 26);
        t(u64::MAX, 0.0, 60.0, 60);
        t(1000, 1000.0, 30.0, 1);
    }

    #[test]
    fn combined_data() {
        let mut datum = Datum::new(10, 1.0, 10.0);
        datum.combine(&Datum::new(10, 2.0, 20.0));
        assert_eq!((datum.observations, datum.errors()), (20, 3.0));
        assert_eq!(format!("{:.4}", datum.reported), "12.5964");
    }

    #[test]
    fn rounding() {
        assert_eq!(round_decimals(2.005, 2), 2.01);
        assert_eq!(round_decimals(26.394_45, 4), 26.3945);
        assert_eq!(round_decimals(3.0, 2), 3.0);
        assert_eq!(round_decimals(0.0, 2), 0.0);
    }
}
