//! How far a run is: the share of the work of all its phases, and the time to go.
//!
//! Phases have weights, rough estimates of each one's share of the time. A phase that is done
//! counts whole, the one in work by its input or records. What cannot be told (input from a pipe)
//! is not told.

use std::time::Duration;

use clap::ValueEnum;

/// `--progress`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProgressKind {
    /// A line that is redrawn, on a terminal.
    Auto,
    /// A line of its own when a phase begins, and once a minute, whatever stderr is.
    Plain,
    /// Nothing.
    Off,
}

/// A phase, by the name that the progress line has for it, and its weight.
pub(crate) type Phase = (&'static str, f64);

/// Least share of the work that tells the time to go.
const LEAST_SHARE: f64 = 0.02;

/// Share of all work that is done; `done` is the share of the phase in work, where that is known.
/// `None` for a phase that is not planned.
pub(super) fn share_of_work(phases: &[Phase], current: &str, done: Option<f64>) -> Option<f64> {
    let total: f64 = phases.iter().map(|(_, weight)| weight).sum();
    let index = phases.iter().position(|(name, _)| *name == current)?;
    let before: f64 = phases[..index].iter().map(|(_, weight)| weight).sum();
    Some(((before + phases[index].1 * done?.clamp(0.0, 1.0)) / total).min(1.0))
}

/// Time to go where `share` of the work took `elapsed`; `None` as long as that is a guess.
pub(super) fn to_go(share: f64, elapsed: Duration) -> Option<Duration> {
    let rest = (share >= LEAST_SHARE).then(|| elapsed.mul_f64((1.0 - share) / share));
    rest.filter(|rest| *rest < Duration::from_secs(365 * 24 * 3600))
}

/// A time in the two largest units that it has.
pub(super) fn readable(time: Duration) -> String {
    let seconds = time.as_secs_f64().round() as u64;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PHASES: [Phase; 3] = [("align", 6.0), ("duplicates", 1.0), ("write", 3.0)];

    #[test]
    fn shares_grow_over_all_phases() {
        let t = |current, done, expected: Option<f64>| {
            let share = share_of_work(&PHASES, current, done);
            assert_eq!(share.map(|it| (it * 1000.0).round()), expected, "{current} {done:?}");
        };
        t("align", Some(0.0), Some(0.0));
        t("align", Some(0.5), Some(300.0));
        t("align", Some(7.0), Some(600.0));
        t("align", None, None);
        t("duplicates", Some(0.0), Some(600.0));
        t("write", Some(0.0), Some(700.0));
        t("write", Some(1.0), Some(1000.0));
        t("sort", Some(0.5), None);
    }

    #[test]
    fn the_time_to_go_is_that_of_the_rest() {
        let minute = Duration::from_secs(60);
        assert_eq!(to_go(0.25, minute), Some(3 * minute));
        assert_eq!(to_go(1.0, minute), Some(Duration::ZERO));
        assert_eq!(to_go(0.01, minute), None, "a guess");
        let t = |seconds, expected: &str| {
            assert_eq!(readable(Duration::from_secs(seconds)), expected);
        };
        t(0, "0 s");
        t(59, "59 s");
        t(60, "1 min 0 s");
        t(3725, "1 h 2 min");
    }
}
