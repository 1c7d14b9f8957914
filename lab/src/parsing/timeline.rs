//! Threads at a lock over time (Langmead et al. 2018, figure 1): how many wait for it and have it,
//! and, of a short part of the run, when each thread does.

use std::fmt::Write;
use std::ops::Range;
use std::time::Instant;

use super::data::Data;
use super::engine::Engine;
use super::trace::{Hold, MOST_HOLDS};
use super::{Files, Parsing, Plan, Way, drive, plan};
use crate::experiment::LabError;
use crate::output::{Fact, NO_LOCK, Results, markdown_facts};
use crate::table::{Row, Table};

/// Parts of a run, of each of which the mean number of threads is kept.
const PARTS: usize = 100;
/// Holds of all threads in the part of the run of which each thread is shown.
const SHOWN_HOLDS: usize = 48;
/// The most holds in it.
const MOST_SHOWN_HOLDS: usize = 64 * SHOWN_HOLDS;

/// What the traces leave behind: mean numbers of threads by way, lock and time.
pub(crate) const RESULTS: Results = Results {
    table: "timeline.tsv",
    factors: &["way", "lock", "ms"],
    columns: &[&["waiting", "holding"]],
    later: 0,
    plots: |_| Vec::new(),
    markdown,
};
/// The file of what each thread does.
pub(crate) const THREADS: &str = "threads.tsv";
/// Its state while it waits for the lock, and while it has it.
pub(crate) const STATES: [&str; 2] = ["waiting", "holding"];

/// The table of [`THREADS`] before any run: times since the begin of the shown part.
pub(crate) fn empty_threads() -> Table {
    Table::new(&["way", "lock", "thread", "state"], &["from_us", "until_us"])
}

/// Both tables.
pub(crate) struct Timeline {
    /// See [`RESULTS`].
    pub(crate) counts: Table,
    /// See [`THREADS`].
    pub(crate) threads_at: Table,
}

impl Parsing {
    /// Traces one run of each way and lock with `threads` threads, of the first kind of files and
    /// the first unit.
    ///
    /// # Errors
    /// The files cannot be made, or a run fails.
    pub(crate) fn timeline(
        &self,
        threads: u32,
        tell: &mut dyn FnMut(&str),
    ) -> Result<Timeline, LabError> {
        tell("data");
        let data = Data::make(&self.work, &self.input, &self.units)?;
        let engine = Engine::load(self.reference.as_deref())?;
        let mut timeline = Timeline { counts: RESULTS.empty_table(), threads_at: empty_threads() };
        for (way, kind) in self.ways() {
            if self.deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                tell("no time is left");
                break;
            }
            let lock = kind.map_or(NO_LOCK, |kind| kind.name());
            tell(&format!("trace of {}, {lock}, {threads} threads", way.name()));
            let unit = self.units.first().copied().unwrap_or(1);
            let plan = Plan { is_traced: true, ..plan(&data, Files::Single, way, unit, kind) };
            let failed = |why: String| LabError::Failed {
                factors: format!("{} {lock} {threads}", way.name()),
                why,
            };
            let driven = drive(&plan, threads, &|block| engine.take(block)).map_err(failed)?;
            if driven.holds_of.iter().any(|holds| holds.len() >= MOST_HOLDS) {
                let why = format!("a thread had the lock {MOST_HOLDS} times: give fewer reads");
                return Err(failed(why));
            }
            timeline.add(way, lock, &driven.holds_of);
        }
        Ok(timeline)
    }
}

impl Timeline {
    fn add(&mut self, way: Way, lock: &str, holds_of: &[Vec<Hold>]) {
        let names = [way.name(), lock];
        for part in parts(holds_of) {
            let factors = [names[0], names[1], &format!("{:.3}", part.middle_ns / 1e6)];
            let factors = factors.map(str::to_owned).to_vec();
            self.counts.rows.push(Row { factors, values: vec![part.waiting, part.holding] });
        }
        let shown = shown(holds_of);
        let us = |ns: u64| (ns.clamp(shown.start, shown.end) - shown.start) as f64 / 1e3;
        for (thread, holds) in holds_of.iter().enumerate() {
            let is_shown = |it: &&Hold| it.requested_ns < shown.end && it.released_ns > shown.start;
            let mut shown_holds = holds.iter().filter(is_shown).peekable();
            if shown_holds.peek().is_none() {
                // It only aligns: a thread all the same.
                let factors = [names[0], names[1], &(thread + 1).to_string(), STATES[0]];
                let factors = factors.map(str::to_owned).to_vec();
                self.threads_at.rows.push(Row { factors, values: vec![0.0, 0.0] });
            }
            for hold in shown_holds {
                let ends = [hold.requested_ns, hold.taken_ns, hold.released_ns].map(us);
                for (state, ends) in STATES.iter().zip(ends.windows(2)) {
                    let factors = [names[0], names[1], &(thread + 1).to_string(), state];
                    let factors = factors.map(str::to_owned).to_vec();
                    self.threads_at.rows.push(Row { factors, values: ends.to_vec() });
                }
            }
        }
    }
}

/// Mean numbers of threads in a part of the run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Part {
    middle_ns: f64,
    waiting: f64,
    holding: f64,
}

/// The parts of a run, up to the last time that a thread gave the lock back.
fn parts(holds_of: &[Vec<Hold>]) -> Vec<Part> {
    let end = holds_of.iter().flatten().map(|hold| hold.released_ns).max().unwrap_or(0);
    if end == 0 {
        return Vec::new();
    }
    let width = end as f64 / PARTS as f64;
    let middle = |at: usize| (at as f64 + 0.5) * width;
    let mut parts: Vec<Part> =
        (0..PARTS).map(|at| Part { middle_ns: middle(at), ..Part::default() }).collect();
    let mut add = |times: Range<u64>, of: fn(&mut Part) -> &mut f64| {
        let (from, until) = (times.start as f64, times.end as f64);
        let first = ((from / width) as usize).min(PARTS - 1);
        for (at, part) in parts.iter_mut().enumerate().skip(first) {
            let (start, end) = (at as f64 * width, (at + 1) as f64 * width);
            if start >= until {
                break;
            }
            *of(part) += (until.min(end) - from.max(start)).max(0.0) / width;
        }
    };
    for hold in holds_of.iter().flatten() {
        add(hold.requested_ns..hold.taken_ns, |part| &mut part.waiting);
        add(hold.taken_ns..hold.released_ns, |part| &mut part.holding);
    }
    parts
}

/// The part round the middle of the run's time in which the lock is had [`SHOWN_HOLDS`] times, or
/// more often, up to [`MOST_SHOWN_HOLDS`], until each thread has had it: one may be without a core.
fn shown(holds_of: &[Vec<Hold>]) -> Range<u64> {
    let mut all: Vec<&Hold> = holds_of.iter().flatten().collect();
    all.sort_unstable_by_key(|hold| hold.taken_ns);
    let middle_ns = all.iter().map(|hold| hold.released_ns).max().unwrap_or(0) / 2;
    let middle = all.partition_point(|hold| hold.taken_ns < middle_ns);
    let part = |count: usize| {
        let first = middle.saturating_sub(count / 2);
        let last = (first + count).min(all.len());
        match (all.get(first), all.get(last.saturating_sub(1))) {
            (Some(first), Some(last)) => first.taken_ns..last.released_ns,
            _ => 0..0,
        }
    };
    let has_all = |part: &Range<u64>| {
        let is_in = |hold: &Hold| part.contains(&hold.taken_ns);
        holds_of.iter().all(|holds| holds.is_empty() || holds.iter().any(is_in))
    };
    let mut count = SHOWN_HOLDS;
    while count < MOST_SHOWN_HOLDS && !has_all(&part(count)) {
        count *= 2;
    }
    part(count)
}

fn markdown(table: &Table, facts: &[Fact]) -> String {
    let mut out = String::from(
        "# Threads at a lock over time\n\n\
         Made by `seqloom-lab paper langmead2018`, which draws it; mean numbers of threads that \
         wait for the lock and have it in [timeline.tsv](timeline.tsv), and what each thread does \
         in a short part of the run in [threads.tsv](threads.tsv).\n\n",
    );
    markdown_facts(&mut out, facts);
    let _ = writeln!(out, "* traced runs: {}", table.combinations(["way", "lock"]).len());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn hold(requested_ns: u64, taken_ns: u64, released_ns: u64) -> Hold {
        Hold { requested_ns, taken_ns, released_ns }
    }

    #[test]
    fn parts_have_the_mean_numbers_of_threads() {
        // A run of 1,000 ns, in parts of 10 ns: one thread has the lock from 100 to 205, another
        // waits for it meanwhile.
        let holds = [vec![hold(100, 100, 205)], vec![hold(101, 205, 305), hold(305, 305, 1000)]];
        let parts = parts(&holds);
        assert_eq!(parts.len(), PARTS);
        let at = |at: usize| [parts[at].waiting, parts[at].holding];
        assert_eq!(at(9), [0.0, 0.0]);
        assert!((at(10)[0] - 0.9).abs() < 1e-9 && (at(10)[1] - 1.0).abs() < 1e-9, "{parts:?}");
        assert!((at(15)[0] - 1.0).abs() < 1e-9);
        assert!((at(20)[0] - 0.5).abs() < 1e-9 && (at(20)[1] - 1.0).abs() < 1e-9, "{parts:?}");
        assert_eq!(at(99), [0.0, 1.0]);
        // Nothing is lost or counted twice: means by widths are the times.
        let total: f64 = parts.iter().map(|part| part.holding * 10.0).sum();
        assert!((total - 900.0).abs() < 1e-6, "{total}");
        assert_eq!(super::parts(&[Vec::new()]), []);
    }

    #[test]
    fn the_middle_of_a_run_is_shown_thread_by_thread() {
        let holds: Vec<Hold> = (0..100).map(|n| hold(10 * n, 10 * n + 2, 10 * n + 5)).collect();
        let halves = [holds[..50].to_vec(), holds[50..].to_vec()];
        let range = shown(&halves);
        assert_eq!(range, 262..735);
        assert_eq!(shown(&[Vec::new()]), 0..0);
        let mut timeline = Timeline { counts: RESULTS.empty_table(), threads_at: empty_threads() };
        timeline.add(Way::Original, "mcs", &halves);
        let rows = &timeline.threads_at.rows;
        assert_eq!(rows.len(), 2 * SHOWN_HOLDS);
        assert_eq!(rows[0].factors, ["O", "mcs", "1", "waiting"]);
        // It began to wait before the shown part.
        assert_eq!(rows[0].values, [0.0, 0.0]);
        assert_eq!((&rows[1].factors[3][..], &rows[1].values[..]), ("holding", &[0.0, 0.003][..]));
        assert_eq!(rows.last().unwrap().factors[2], "2");
        assert_eq!(timeline.counts.rows.len(), PARTS);
        // A thread without a core in the middle widens the part to where it has the lock.
        let late = [halves[0].clone(), halves[1].clone(), vec![hold(0, 1, 2)]];
        assert_eq!(shown(&late), 1..995);
        // One that is never at the lock is there all the same.
        let idle = [halves[0].clone(), halves[1].clone(), Vec::new()];
        timeline.add(Way::Deferred, "mcs", &idle);
        let last = timeline.threads_at.rows.last().unwrap();
        assert_eq!(last.factors, ["D", "mcs", "3", "waiting"]);
        assert_eq!(last.values, [0.0, 0.0]);
    }
}
