//! How far a run is: the share of the work of all its phases, and the time to go.
//!
//! Phases have weights: each one's share of the time where it was measured. A phase that is done
//! counts whole, the one in work by its input or records. What cannot be determined (input from a
//! pipe) is not reported.

use std::time::Duration;

use clap::ValueEnum;
use seqloom_prep::pipeline::Phase;

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

/// A phase, by its name, and its weight.
pub(crate) type PhaseWeight = (&'static str, f64);

/// All phases with their weights: those of ingest, resolve, redistribute, recalibrate and finish.
pub(crate) const fn weighted(weights: [f64; Phase::ALL.len()]) -> [PhaseWeight; Phase::ALL.len()] {
    let mut phases = [("", 0.0); Phase::ALL.len()];
    let mut index = 0;
    while index < phases.len() {
        phases[index] = (Phase::ALL[index].name(), weights[index]);
        index += 1;
    }
    phases
}

/// Least share of the work that predicts the time to go.
const LEAST_SHARE: f64 = 0.02;

/// Share of its weight, which is that of level 6, that the finish phase takes at a fast level.
/// Measured at level 1: 0.55 in `align`, 0.41 in `prep`.
const FAST_FINISH: f64 = 0.5;
/// The last of the fast levels.
const FAST_LEVEL: u8 = 2;

/// Work of a run: phases in order, and how hard the output is compressed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Plan {
    pub(super) phases: &'static [PhaseWeight],
    pub(super) is_fast: bool,
}

impl Plan {
    /// Whether a level is a fast one.
    pub(super) fn is_fast(level: u8) -> bool {
        level <= FAST_LEVEL
    }

    fn weight(&self, (name, weight): &PhaseWeight) -> f64 {
        let is_fast = self.is_fast && *name == Phase::Finish.name();
        if is_fast { weight * FAST_FINISH } else { *weight }
    }

    /// Share of all work that is done; `done` is the share of the phase in work, where that is
    /// known. `None` for a phase that is not planned.
    pub(super) fn share_of_work(&self, current: &str, done: Option<f64>) -> Option<f64> {
        let sum =
            |phases: &[PhaseWeight]| phases.iter().map(|phase| self.weight(phase)).sum::<f64>();
        let index = self.phases.iter().position(|(name, _)| *name == current)?;
        let of_phase = self.weight(&self.phases[index]) * done?.clamp(0.0, 1.0);
        Some(((sum(&self.phases[..index]) + of_phase) / sum(self.phases)).min(1.0))
    }
}

/// Time to go where `share` of the work is done, and `elapsed` went by since it was `at_first`
/// (a run that goes on where another one ended begins in its middle); `None` as long as that is a
/// guess.
pub(super) fn to_go(share: f64, at_first: f64, elapsed: Duration) -> Option<Duration> {
    let own = share - at_first;
    let rest = (own >= LEAST_SHARE).then(|| elapsed.mul_f64((1.0 - share).max(0.0) / own));
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

    const PHASES: [PhaseWeight; 3] = [("ingest", 6.0), ("resolve", 1.0), ("finish", 3.0)];

    #[test]
    fn shares_grow_over_all_phases() {
        let t = |current, done, expected: Option<f64>| {
            let share = Plan { phases: &PHASES, is_fast: false }.share_of_work(current, done);
            assert_eq!(share.map(|it| (it * 1000.0).round()), expected, "{current} {done:?}");
        };
        t("ingest", Some(0.0), Some(0.0));
        t("ingest", Some(0.5), Some(300.0));
        t("ingest", Some(7.0), Some(600.0));
        t("ingest", None, None);
        t("resolve", Some(0.0), Some(600.0));
        t("finish", Some(0.0), Some(700.0));
        t("finish", Some(1.0), Some(1000.0));
        t("redistribute", Some(0.5), None);
    }

    #[test]
    fn a_fast_level_has_less_to_write() {
        assert!(Plan::is_fast(1) && !Plan::is_fast(6));
        let plan = Plan { phases: &PHASES, is_fast: true };
        let share =
            |current, done| (plan.share_of_work(current, Some(done)).unwrap() * 100.0).round();
        assert_eq!(
            [share("ingest", 1.0), share("finish", 0.0), share("finish", 1.0)],
            [71.0, 82.0, 100.0]
        );
    }

    #[test]
    fn the_time_to_go_is_that_of_the_rest() {
        let minute = Duration::from_secs(60);
        assert_eq!(to_go(0.25, 0.0, minute), Some(3 * minute));
        assert_eq!(to_go(1.0, 0.0, minute), Some(Duration::ZERO));
        assert_eq!(to_go(0.01, 0.0, minute), None, "a guess");
        assert_eq!(to_go(0.75, 0.5, minute), Some(minute), "half was done by another run");
        assert_eq!(to_go(0.51, 0.5, minute), None, "a guess");
        let t = |seconds, expected: &str| {
            assert_eq!(readable(Duration::from_secs(seconds)), expected);
        };
        t(0, "0 s");
        t(59, "59 s");
        t(60, "1 min 0 s");
        t(3725, "1 h 2 min");
    }
}
