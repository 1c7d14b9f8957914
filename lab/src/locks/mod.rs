//! Locks side by side on this machine: with more and more threads that want one, with nobody else
//! who wants it, and handed back and forth between two cores.
//!
//! Runs are interleaved: all locks and thread counts once, then all again; tables hold all runs,
//! the report takes medians.

pub(crate) mod contention;
mod report;

use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Duration;

use seqloom_locks::{Kind, fairness};
use seqloom_runtime::pool::Stopped;

use self::contention::{Contend, Contention, contend, ping_pong_ns, uncontended_ns};
use crate::experiment::{Counters, LabError, Run, TIMES, Work, perform};
use crate::output::{Fact, load_average, read_facts, read_table, write_results};
use crate::table::{Row, Table};

/// Counters of runs under contention.
pub(crate) const COUNTERS: [&str; 12] = [
    "acquisitions_per_ms",
    "fairness",
    "least_share",
    "most_share",
    "voluntary_switches",
    "involuntary_switches",
    "yields",
    "parks",
    "local_share",
    "longest_node_run",
    "same_thread_share",
    "load_average",
];
/// Columns of hand-overs.
pub(crate) const DELAYS: [&str; 6] = ["count", "p10_ns", "p50_ns", "p90_ns", "p99_ns", "max_ns"];

/// What is run.
#[derive(Debug, Clone)]
pub(crate) struct Locks {
    /// Which locks.
    pub(crate) kinds: Vec<Kind>,
    /// Numbers of threads.
    pub(crate) threads: Vec<u32>,
    /// Numbers of threads at which hand-overs are timed.
    pub(crate) timed_threads: Vec<u32>,
    /// Nodes that threads say they run on, in turn.
    pub(crate) nodes: usize,
    /// Time of one run.
    pub(crate) duration: Duration,
    /// Repeats of all runs.
    pub(crate) repeats: u32,
}

/// What was measured.
#[derive(Debug, Clone)]
pub(crate) struct LockTables {
    /// By lock and threads: rates and who waits how.
    pub(crate) contention: Table,
    /// By lock and threads: quantiles of hand-overs.
    pub(crate) delays: Table,
    /// By lock, threads and time: share of the hand-overs that took longer.
    pub(crate) longer: Table,
    /// By lock: cost without contention.
    pub(crate) costs: Table,
}

impl LockTables {
    /// Without rows.
    #[must_use]
    pub(crate) fn empty() -> Self {
        let columns: Vec<&str> = TIMES.iter().chain(&COUNTERS).copied().collect();
        Self {
            contention: Table::new(&["lock", "threads"], &columns),
            delays: Table::new(&["lock", "threads"], &DELAYS),
            longer: Table::new(&["lock", "threads", "within_ns"], &["share_longer"]),
            costs: Table::new(&["lock"], &["uncontended_ns", "ping_pong_ns"]),
        }
    }

    fn files(&mut self) -> [(&'static str, &mut Table); 4] {
        [
            ("locks.tsv", &mut self.contention),
            ("hand-overs.tsv", &mut self.delays),
            ("hand-overs-longer.tsv", &mut self.longer),
            ("costs.tsv", &mut self.costs),
        ]
    }
}

impl Locks {
    /// Makes all runs; `progress` is called with what is done next.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub(crate) fn run(&self, tell: &mut dyn FnMut(&str)) -> Result<LockTables, LabError> {
        let mut tables = LockTables::empty();
        for repeat in 1..=self.repeats {
            for &threads in &self.threads {
                tell(&format!("repeat {repeat}, {threads} threads"));
                for &kind in &self.kinds {
                    self.contended(kind, threads, &mut tables.contention)?;
                }
            }
        }
        for &threads in &self.timed_threads {
            tell(&format!("hand-overs of {threads} threads"));
            for &kind in &self.kinds {
                self.timed(kind, threads, &mut tables)?;
            }
        }
        tell("costs without contention");
        for _ in 0..self.repeats {
            let way_ns = ping_pong_ns(None).map_err(failed)?;
            for &kind in &self.kinds {
                let ping_pong_ns = ping_pong_ns(Some(kind)).map_err(failed)? - way_ns;
                let values = vec![uncontended_ns(kind), ping_pong_ns];
                tables.costs.rows.push(Row { factors: vec![kind.name().to_owned()], values });
            }
        }
        Ok(tables)
    }

    fn plan(&self, kind: Kind, threads: u32, timed: bool) -> Contend {
        let threads = NonZeroUsize::new(threads as usize).unwrap_or(NonZeroUsize::MIN);
        Contend { kind, threads, nodes: self.nodes.max(1), duration: self.duration, timed }
    }

    fn contended(&self, kind: Kind, threads: u32, table: &mut Table) -> Result<(), LabError> {
        let plan = self.plan(kind, threads, false);
        let work = || contend(&plan).map(|run| counters(&run)).map_err(|e| e.to_string());
        let mut run = Run {
            factors: vec![kind.name().to_owned(), threads.to_string()],
            work: Work::Code(Box::new(work)),
            after: Box::new(Counters::new),
        };
        perform(&mut run, table)
    }

    fn timed(&self, kind: Kind, threads: u32, tables: &mut LockTables) -> Result<(), LabError> {
        let run = contend(&self.plan(kind, threads, true)).map_err(failed)?;
        let delays = &run.delays;
        let mut values = vec![delays.count() as f64];
        values.extend([0.1, 0.5, 0.9, 0.99].map(|share| delays.quantile_ns(share)));
        values.push(delays.max_ns as f64);
        let factors = vec![kind.name().to_owned(), threads.to_string()];
        for it in delays.longer() {
            let factors = factors.iter().cloned().chain([format!("{:.0}", it.ns)]).collect();
            tables.longer.rows.push(Row { factors, values: vec![it.share] });
        }
        tables.delays.rows.push(Row { factors, values });
        Ok(())
    }
}

fn failed(error: Stopped) -> LabError {
    LabError::Failed { factors: "threads".to_owned(), why: error.to_string() }
}

fn counters(run: &Contention) -> Counters {
    let total = run.hand_offs.acquisitions as f64;
    let share = |part: Option<&u64>| part.copied().unwrap_or(0) as f64 / total.max(1.0);
    let values = [
        total / (run.wall.as_secs_f64() * 1000.0).max(1e-9),
        fairness(&run.shares),
        share(run.shares.iter().min()),
        share(run.shares.iter().max()),
        run.voluntary_switches as f64,
        run.involuntary_switches as f64,
        run.waits.yields as f64,
        run.waits.parks as f64,
        run.hand_offs.local_share(),
        run.hand_offs.longest_node_run as f64,
        run.hand_offs.same_thread as f64 / total.max(1.0),
        load_average(),
    ];
    COUNTERS.iter().zip(values).map(|(name, value)| ((*name).to_owned(), value)).collect()
}

/// Writes tables, plots and the report into a folder.
///
/// # Errors
/// The folder cannot be written.
pub(crate) fn write(mut tables: LockTables, facts: &[Fact], folder: &Path) -> Result<(), LabError> {
    tables.files().into_iter().for_each(|(_, table)| table.round());
    let (plots, markdown) = (report::plots(&tables), report::markdown(&tables, facts));
    let files = tables.files().map(|(name, table)| (name, &*table));
    write_results(folder, &files, &plots, facts, &markdown)
}

/// Writes the report of a folder once more, from the tables that are there.
///
/// # Errors
/// There are none, or the folder cannot be written.
pub(crate) fn write_again(folder: &Path) -> Result<(), LabError> {
    let mut tables = LockTables::empty();
    for (name, table) in tables.files() {
        read_table(folder, name, table)?;
    }
    write(tables, &read_facts(folder)?, folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_locks_are_run_and_reported() {
        let experiment = Locks {
            kinds: Kind::ALL.to_vec(),
            threads: vec![1, 4],
            timed_threads: vec![4],
            nodes: 2,
            duration: Duration::from_millis(20),
            repeats: 1,
        };
        let mut told = 0;
        let tables = experiment.run(&mut |_| told += 1).unwrap();
        assert_eq!(told, 4);
        assert_eq!(tables.contention.rows.len(), 2 * Kind::ALL.len());
        for kind in Kind::ALL {
            let value = |column| tables.contention.value(&[kind.name(), "4"], column).unwrap();
            assert!(value("acquisitions_per_ms") > 0.0, "{kind:?}");
            assert!((0.2499..=1.0001).contains(&value("fairness")), "{kind:?}");
            assert!(value("most_share") >= value("least_share"));
            let cost = tables.costs.value(&[kind.name()], "uncontended_ns").unwrap();
            assert!((1.0..100_000.0).contains(&cost), "{kind:?}: {cost}");
        }
        let folder = tempfile::tempdir().unwrap();
        write(tables.clone(), &[Fact::new("machine", "x")], folder.path()).unwrap();
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        let report = read("README.md");
        assert!(Kind::ALL.iter().all(|kind| report.contains(&format!("| {} |", kind.name()))));
        assert!(!report.contains("NaN") && !report.contains("inf"), "{report}");
        std::fs::remove_file(folder.path().join("README.md")).unwrap();
        write_again(folder.path()).unwrap();
        assert_eq!(read("README.md"), report);
    }
}
