//! Means of runs, and how far they may be off.

use crate::table::Table;

/// Quantile 0.975 of Student's t by degrees of freedom, from 1 on (Abramowitz and Stegun 1964,
/// table 26.10); the last one for more, which makes intervals a little too wide.
const T_975: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

/// Mean and standard deviation (of a sample: n - 1) of a column of the runs of a way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    pub(crate) runs: usize,
    pub(crate) mean: f64,
    pub(crate) deviation: f64,
}

impl Spread {
    /// Of a way's runs; `None` where there are none.
    pub(crate) fn of(table: &Table, way: &str, column: &str) -> Option<Self> {
        let at = table.columns.iter().position(|name| name == column)?;
        let rows = table.rows.iter().filter(|row| row.factors.first().is_some_and(|it| it == way));
        let values: Vec<f64> = rows.map(|row| row.values[at]).collect();
        let runs = values.len();
        let mean = values.iter().sum::<f64>() / runs as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = if runs > 1 { (squares / (runs - 1) as f64).sqrt() } else { 0.0 };
        (runs > 0).then_some(Self { runs, mean, deviation })
    }

    /// Half of the 95 % confidence interval of the mean; `None` of a single run.
    pub(crate) fn half_interval(self) -> Option<f64> {
        let freedom = self.runs.checked_sub(2)?;
        let quantile = T_975[freedom.min(T_975.len() - 1)];
        Some(quantile * self.deviation / (self.runs as f64).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_narrow_with_runs() {
        let half = |runs| Spread { runs, mean: 5.0, deviation: 3.0 }.half_interval();
        assert_eq!((half(0), half(1)), (None, None));
        let [two, thirty, many] = [2, 30, 900].map(|runs| half(runs).unwrap());
        assert!((two - 12.706 * 3.0 / 2_f64.sqrt()).abs() < 1e-9, "{two}");
        assert!((thirty - 2.045 * 3.0 / 30_f64.sqrt()).abs() < 1e-9, "{thirty}");
        assert!((many - 2.042 * 3.0 / 30.0).abs() < 1e-9, "{many}");
    }
}
