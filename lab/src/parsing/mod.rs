//! Ways to take reads from files by many threads, side by side: how long each lets nobody else in,
//! and how many reads it gives to an engine that does nothing, or to one that aligns.
//!
//! All ways use one parser (`format::fastq`), and all are checked to give the same reads before
//! anything is timed.

mod data;
mod engine;
mod feed;
mod report;
mod timeline;
mod trace;
mod ways;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Instant;

use seqloom_format::ReadBlock;
use seqloom_locks::Kind;
use seqloom_runtime::failure::{Failure, lock};
use seqloom_runtime::pool::{self, Stopped};

use self::data::Data;
use self::engine::Engine;
use self::trace::{Hold, Trace};
use self::ways::{Plan, Strategy, Worker};
use crate::digest::fnv1a;
use crate::experiment::{Counters, LabError, Run, TIMES, Work, perform};
use crate::output::{NO_LOCK, Results, load_average};
use crate::table::Table;

pub(crate) use self::data::simulate;
pub(crate) use self::data::{Files, Input};
pub(crate) use self::engine::END_TO_END;
pub(crate) use self::report::ENGINE;
pub(crate) use self::timeline::{RESULTS as TIMELINE, STATES, THREADS, Timeline, empty_threads};
pub(crate) use self::ways::Way;

/// Factors of the table.
pub(crate) const FACTORS: [&str; 5] = ["files", "unit", "way", "lock", "threads"];
/// Counters of the table.
pub(crate) const COUNTERS: [&str; 6] = [
    "reads",
    "held_ns_per_read",
    "shared_writes_per_read",
    "holds",
    "preempted_holds",
    "load_average",
];

/// What a write to a shared line is taken to cost where another socket wrote it last. Assumed,
/// not measured: 100 to 400 ns are usual.
pub(crate) const SHARED_LINE_NS: f64 = 200.0;
/// Writes to shared lines to take a lock and give it back.
const WRITES_PER_HOLD: f64 = 2.0;
/// Writes to shared lines of the source for one block, by reading it: one claim, five counters of
/// progress, and the list of free buffers locked twice.
const WRITES_PER_CLAIM: f64 = 10.0;

/// What is run.
#[derive(Debug, Clone)]
pub(crate) struct Parsing {
    /// Folder for the files that are read.
    pub(crate) work: PathBuf,
    /// What is read.
    pub(crate) input: Input,
    /// An index of the genome of the reads: they are aligned end to end; else an engine does
    /// nothing.
    pub(crate) reference: Option<PathBuf>,
    /// Bytes read at a time.
    pub(crate) units: Vec<usize>,
    /// Locks for O, D, B and L.
    pub(crate) locks: Vec<Kind>,
    /// Numbers of threads.
    pub(crate) threads: Vec<u32>,
    /// Repeats of all runs.
    pub(crate) repeats: u32,
    /// No round of runs is begun later.
    pub(crate) deadline: Option<Instant>,
}

/// What one run gave.
#[derive(Debug, Default)]
struct Driven {
    reads: u64,
    sum: u64,
    held_ns: u64,
    holds: u64,
    preempted: u64,
    claims: u64,
    /// By thread, where it is traced.
    holds_of: Vec<Vec<Hold>>,
}

/// An error of a worker, in words.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Failed(String);

impl From<Stopped> for Failed {
    fn from(panic: Stopped) -> Self {
        Self(panic.to_string())
    }
}

/// Takes all reads by `threads` threads, gives them to `engine`, and adds up what it returns.
fn drive(
    plan: &Plan,
    threads: u32,
    engine: &(dyn Fn(&ReadBlock) -> Result<u64, String> + Sync),
) -> Result<Driven, String> {
    let strategy = Strategy::open(plan)?;
    let all = Mutex::new(Driven::default());
    let began = plan.is_traced.then(Instant::now);
    let work = |_| {
        let mut worker = Worker::new(plan.files.len(), began);
        let mut own = Driven::default();
        while strategy.next(&mut worker).map_err(Failed)? {
            own.claims += 1;
            for block in worker.taken() {
                own.reads += block.reads.len() as u64;
                own.sum = own.sum.wrapping_add(engine(block).map_err(Failed)?);
            }
        }
        let mut all = lock(&all);
        all.reads += own.reads;
        all.sum = all.sum.wrapping_add(own.sum);
        all.claims += own.claims;
        all.held_ns += worker.held_ns;
        all.holds += worker.holds;
        all.preempted += worker.preempted;
        all.holds_of.extend(worker.trace.map(Trace::into_holds));
        Ok(())
    };
    let threads = NonZeroUsize::new(threads as usize).unwrap_or(NonZeroUsize::MIN);
    pool::run(threads, &Failure::<Failed>::default(), || {}, &|| Ok(()), work)
        .map_err(|error| error.to_string())?;
    let confirmed = strategy.finish()?;
    let all = all.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    if !confirmed.is_empty() && confirmed.iter().sum::<u64>() != all.reads {
        return Err(format!("{confirmed:?} reads confirmed, {} given", all.reads));
    }
    Ok(all)
}

/// An engine that looks at every byte: a sum over the reads that does not depend on their order.
fn digest(block: &ReadBlock) -> Result<u64, String> {
    let one = |read: usize| {
        // Parts set apart by a byte that none of them has.
        let parts = [block.name(read), block.bases(read), block.qualities(read)];
        fnv1a(parts.into_iter().flat_map(|part| part.iter().chain(&[0])))
    };
    Ok((0..block.reads.len()).fold(0, |sum, read| sum.wrapping_add(one(read))))
}

impl Parsing {
    /// Makes the files and all runs; `progress` is called with what is done next.
    ///
    /// # Errors
    /// The files cannot be made, a run fails, or ways do not give the same reads.
    pub(crate) fn run(&self, tell: &mut dyn FnMut(&str)) -> Result<(Table, Vec<String>), LabError> {
        tell("data");
        let data = Data::make(&self.work, &self.input, &self.units)?;
        let engine = Engine::load(self.reference.as_deref())?;
        tell("that all ways give the same reads");
        self.compare(&data)?;
        let mut table = RESULTS.empty_table();
        for repeat in 1..=self.repeats {
            for &threads in &self.threads {
                if self.deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                    tell("no time is left");
                    break;
                }
                for (files, unit) in self.inputs(&data) {
                    let name = files.name();
                    tell(&format!("repeat {repeat}, {threads} threads, {name}, {unit} bytes"));
                    let mut ways: Vec<_> = self.ways().collect();
                    if repeat % 2 == 0 {
                        // What follows upon what must not decide.
                        ways.reverse();
                    }
                    for (way, kind) in ways {
                        let plan = plan(&data, files, way, unit, kind);
                        one_run(&plan, &engine, (files, unit, threads), &mut table)?;
                    }
                }
            }
        }
        let mut notes =
            vec![format!("{} reads a file, {:.0} MB", data.reads, data.text_bytes as f64 / 1e6)];
        for &unit in &self.units {
            let count = data.reads_per_block(unit);
            notes.push(format!("L: {count} reads to a block of at most {unit} bytes"));
        }
        Ok((table, notes))
    }

    fn inputs(&self, data: &Data) -> impl Iterator<Item = (Files, usize)> + '_ {
        let of = |files| self.units.iter().map(move |&unit| (files, unit));
        data.kinds().flat_map(of)
    }

    /// Ways with their locks; the source has none.
    fn ways(&self) -> impl Iterator<Item = (Way, Option<Kind>)> + '_ {
        let locked = Way::ALL.into_iter().filter(|way| *way != Way::Source);
        let with_locks =
            locked.flat_map(|way| self.locks.iter().map(move |&kind| (way, Some(kind))));
        with_locks.chain([(Way::Source, None)])
    }

    fn compare(&self, data: &Data) -> Result<(), LabError> {
        for files in data.kinds() {
            let mut first = None;
            for &unit in &self.units {
                for (way, kind) in self.ways() {
                    let failed = |why: String| LabError::Failed {
                        factors: format!("{} {} {unit}", way.name(), files.name()),
                        why,
                    };
                    let plan = plan(data, files, way, unit, kind);
                    let driven = drive(&plan, 2, &digest).map_err(failed)?;
                    let found = (driven.reads, driven.sum);
                    if *first.get_or_insert(found) != found {
                        return Err(failed("gives other reads than the first way".to_owned()));
                    }
                }
            }
        }
        Ok(())
    }
}

fn plan(data: &Data, files: Files, way: Way, unit: usize, kind: Option<Kind>) -> Plan {
    let (paths, unit_bytes) = data.paths(files, way, unit);
    let lock = kind.unwrap_or(Kind::Standard);
    let is_bgzf = files == Files::Bgzf;
    Plan { way, files: paths, is_bgzf, unit_bytes, lock, is_traced: false }
}

fn one_run(
    plan: &Plan,
    engine: &Engine,
    (files, unit, threads): (Files, usize, u32),
    table: &mut Table,
) -> Result<(), LabError> {
    let lock = if plan.way == Way::Source { NO_LOCK } else { plan.lock.name() };
    let work = || {
        let driven = drive(plan, threads, &|block| engine.take(block))?;
        let reads = driven.reads.max(1) as f64;
        // Holds in which the thread lost its core count as long as the others are on average.
        let counted = (driven.holds - driven.preempted).max(1) as f64;
        let held = driven.held_ns as f64 * driven.holds as f64 / counted / reads;
        let claims = if plan.way == Way::Source { driven.claims as f64 } else { 0.0 };
        let writes = (WRITES_PER_HOLD * driven.holds as f64 + WRITES_PER_CLAIM * claims) / reads;
        let values = [
            driven.reads as f64,
            held,
            writes,
            driven.holds as f64,
            driven.preempted as f64,
            load_average(),
        ];
        Ok(COUNTERS.iter().zip(values).map(|(name, value)| ((*name).to_owned(), value)).collect())
    };
    let factors = [files.name(), &unit.to_string(), plan.way.name(), lock, &threads.to_string()];
    let mut run = Run {
        factors: factors.map(str::to_owned).to_vec(),
        work: Work::Code(Box::new(work)),
        after: Box::new(Counters::new),
    };
    perform(&mut run, table)
}

/// What the experiment leaves behind.
pub(crate) const RESULTS: Results = Results {
    table: "parsing.tsv",
    factors: &FACTORS,
    columns: &[&TIMES, &COUNTERS],
    later: 0,
    plots: report::plots,
    markdown: report::markdown,
};

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn experiment(work: &Path) -> Parsing {
        Parsing {
            work: work.to_path_buf(),
            input: Input::Made(3001),
            reference: None,
            units: vec![4096, 65_536],
            locks: vec![Kind::Standard, Kind::McsParking],
            threads: vec![1, 5],
            repeats: 1,
            deadline: None,
        }
    }

    #[test]
    fn all_ways_give_the_same_reads_and_a_report() {
        let folder = tempfile::tempdir().unwrap();
        let (table, notes) = experiment(&folder.path().join("data")).run(&mut |_| {}).unwrap();
        // 3 kinds of files, 2 units, 2 numbers of threads; 4 ways with 2 locks, 1 without.
        assert_eq!(table.rows.len(), 3 * 2 * 2 * 9);
        assert_eq!(notes.len(), 3);
        let at = |row: &crate::table::Row, name: &str| {
            row.values[table.columns.iter().position(|column| column == name).unwrap()]
        };
        for row in &table.rows {
            let files = if row.factors[0] == "paired" { 2.0 } else { 1.0 };
            assert_eq!(at(row, "reads"), files * 3001.0, "{row:?}");
            assert!(at(row, "holds") > 0.0 && at(row, "held_ns_per_read") >= 0.0, "{row:?}");
        }
        let holds = |way: &str| table.value(&["single", "4096", way, "standard", "1"], "holds");
        assert_eq!((holds("O"), holds("D")), (Some(3002.0), Some(3002.0)));
        assert_eq!(holds("B"), Some(95.0));
        RESULTS
            .write(&table, &[crate::output::Fact::new("machine", "x")], &folder.path().join("out"))
            .unwrap();
        let report = std::fs::read_to_string(folder.path().join("out/README.md")).unwrap();
        let mut words = report.split(|c: char| !c.is_ascii_alphanumeric());
        assert!(words.all(|word| word != "NaN" && word != "inf"), "{report}");
    }

    #[test]
    fn ways_that_give_other_reads_are_found_out() {
        let folder = tempfile::tempdir().unwrap();
        let experiment = experiment(folder.path());
        let data = Data::make(folder.path(), &Input::Made(500), &experiment.units).unwrap();
        experiment.compare(&data).unwrap();
        // One base of one read of the padded file.
        let (paths, _) = data.paths(Files::Single, Way::Blocked, 65_536);
        let mut text = std::fs::read(&paths[0]).unwrap();
        let at = text.iter().position(|&byte| byte == b'\n').unwrap() + 1;
        text[at] = if text[at] == b'A' { b'C' } else { b'A' };
        std::fs::write(&paths[0], text).unwrap();
        let error = experiment.compare(&data).unwrap_err();
        assert!(error.to_string().contains("other reads"), "{error}");
    }
}
