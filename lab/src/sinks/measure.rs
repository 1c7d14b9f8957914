//! Threads that do nothing but write: what each strategy takes per record.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use seqloom_align::engine::fake::{FakeEngine, FakeOptions};
use seqloom_align::engine::{
    CohortEngine, EngineError, EngineReads, Ordinals, Origin, Read, RecordSink, SeededBatch,
};
use seqloom_align::ingest::BatchSink;
use seqloom_format::PackedTemplates;
use seqloom_locks::Kind;
use seqloom_rings::wake_up::WakeUp;
use seqloom_runtime::failure::Failure;
use seqloom_runtime::pool::{self, Stopped};

use super::{Files, RESULTS, SinkError, Strategy, records_in};
use crate::digest::Records;
use crate::experiment::{Counters, LabError, Run, Work, perform};
use crate::output::{NO_LOCK, load_average};
use crate::table::Table;

/// Factors of the table.
pub(super) const FACTORS: [&str; 4] = ["strategy", "lock", "unit", "threads"];
/// Counters of the table.
pub(super) const COUNTERS: [&str; 8] = [
    "records",
    "held_ns_per_record",
    "wait_ns_per_record",
    "holds",
    "contended",
    "preempted_holds",
    "window_waits",
    "load_average",
];

/// Pieces that a thread may be ahead of the one that is written next, in order: what `align`
/// allows.
const AHEAD_PER_THREAD: u64 = 4;
/// Bases of the records.
const READ_BP: usize = 100;
/// Digits of a record's number, which is its name.
const NAME_BYTES: usize = 16;
/// Where a record's name begins: after its size and the fixed part of its body (SAM specification,
/// section 4.2).
const NAME_AT: usize = 4 + 32;

/// What is run.
#[derive(Debug, Clone)]
pub(crate) struct Outputs {
    /// Folder for the files that are written.
    pub(crate) work: PathBuf,
    /// Records of each run.
    pub(crate) records: u64,
    /// Strategies; all locks are tried with those that have one.
    pub(crate) strategies: Vec<Strategy>,
    /// Locks.
    pub(crate) locks: Vec<Kind>,
    /// Records that are written at a time.
    pub(crate) units: Vec<u64>,
    /// Numbers of threads.
    pub(crate) threads: Vec<u32>,
    /// Repeats of all runs.
    pub(crate) repeats: u32,
}

/// One run.
#[derive(Debug, Clone, Copy)]
struct Plan {
    strategy: Strategy,
    lock: Kind,
    unit: u64,
    records: u64,
    threads: NonZeroUsize,
}

/// Why a run ended early.
#[derive(Debug, thiserror::Error)]
enum WriteError {
    #[error(transparent)]
    Sink(#[from] SinkError),
    #[error(transparent)]
    Panic(#[from] Stopped),
}

impl Outputs {
    /// Makes all runs, each of which is checked to have written the same records; `progress` is
    /// called with what is done next.
    ///
    /// # Errors
    /// A file cannot be written, or holds other records than it should.
    pub(crate) fn run(&self, tell: &mut dyn FnMut(&str)) -> Result<Table, LabError> {
        let record = record().map_err(|error| LabError::Prepare(error.to_string()))?;
        let expected = expected(&record, self.records)
            .map_err(|error| LabError::Prepare(error.to_string()))?;
        let mut table = RESULTS.empty_table();
        for repeat in 1..=self.repeats {
            for &threads in &self.threads {
                tell(&format!("repeat {repeat}, {threads} threads"));
                let threads = NonZeroUsize::new(threads as usize).unwrap_or(NonZeroUsize::MIN);
                for (strategy, lock) in self.ways() {
                    for &unit in &self.units {
                        let unit = unit.max(1);
                        let plan = Plan { strategy, lock, unit, records: self.records, threads };
                        self.one(&plan, &record, expected, &mut table)?;
                    }
                }
            }
        }
        Ok(table)
    }

    /// Strategies with their locks; in order a file's lock is never contended.
    fn ways(&self) -> impl Iterator<Item = (Strategy, Kind)> + '_ {
        self.strategies.iter().flat_map(|&strategy| {
            let only = (strategy == Strategy::Ordered).then_some(vec![Kind::Standard]);
            let locks = only.unwrap_or_else(|| self.locks.clone());
            locks.into_iter().map(move |lock| (strategy, lock))
        })
    }

    fn one(
        &self,
        plan: &Plan,
        record: &[u8],
        expected: Records,
        table: &mut Table,
    ) -> Result<(), LabError> {
        let lock = if plan.strategy == Strategy::Ordered { NO_LOCK } else { plan.lock.name() };
        let factors = [
            plan.strategy.to_string(),
            lock.to_owned(),
            plan.unit.to_string(),
            plan.threads.to_string(),
        ];
        let mut paths = Vec::new();
        let work = || {
            let (counters, written) = write_all(plan, record, &self.work)?;
            paths = written;
            Ok(counters)
        };
        perform(
            &mut Run {
                factors: factors.to_vec(),
                work: Work::Code(Box::new(work)),
                after: Box::new(Counters::new),
            },
            table,
        )?;
        check(plan, &paths, expected)
            .map_err(|why| LabError::Failed { factors: factors.join(" "), why })?;
        paths.iter().try_for_each(|path| fs::remove_file(path).map_err(LabError::file(path)))
    }
}

/// Writes all records by all threads.
fn write_all(
    plan: &Plan,
    record: &[u8],
    folder: &Path,
) -> Result<(Counters, Vec<PathBuf>), String> {
    let files = Files::create(folder, plan.strategy, plan.lock).map_err(|e| e.to_string())?;
    let (next, wake_up) = (AtomicU64::new(0), WakeUp::default());
    let failure = Failure::default();
    let window = AHEAD_PER_THREAD * plan.threads.get() as u64;
    let work = |_| -> Result<(), WriteError> {
        let mut hand = files.scratch()?;
        let mut piece = PackedTemplates::default();
        loop {
            // Relaxed: every number is given once.
            let sequence = next.fetch_add(1, Ordering::Relaxed);
            if sequence * plan.unit >= plan.records || failure.stopped() {
                return Ok(());
            }
            let may_begin = || {
                (sequence < files.written_in_order() + window || failure.stopped()).then_some(())
            };
            if plan.strategy == Strategy::Ordered {
                wake_up.wait_for(may_begin);
            }
            fill(&mut piece, record, sequence * plan.unit, plan);
            files.take(&mut hand, sequence, &piece)?;
            if plan.strategy == Strategy::Ordered {
                wake_up.wake_all();
            }
        }
    };
    pool::run(plan.threads, &failure, || wake_up.wake_all(), &|| Ok(()), work)
        .map_err(|error| error.to_string())?;
    let (counts, written) = (files.counts(), files.records() as f64);
    let records = written.max(1.0);
    // Holds in which the thread lost its core count as long as the others are on average.
    let whole = (counts.holds - counts.preempted).max(1) as f64;
    let values = [
        written,
        counts.held_ns as f64 * counts.holds as f64 / whole / records,
        counts.wait_ns as f64 / records,
        counts.holds as f64,
        counts.contended as f64,
        counts.preempted as f64,
        wake_up.sleeps() as f64,
        load_average(),
    ];
    let counters = COUNTERS.iter().zip(values).map(|(name, value)| ((*name).to_owned(), value));
    Ok((counters.collect(), files.finish().map_err(|error| error.to_string())?))
}

/// The records from `first` on: one unit, or what is left of the run.
fn fill(piece: &mut PackedTemplates, record: &[u8], first: u64, plan: &Plan) {
    piece.clear();
    for number in first..plan.records.min(first + plan.unit) {
        let start = piece.bytes.len();
        piece.bytes.extend_from_slice(record);
        name(&mut piece.bytes[start + NAME_AT..][..NAME_BYTES], number);
        piece.records += 1;
    }
}

/// Writes a number's sixteen hexadecimal digits.
fn name(place: &mut [u8], number: u64) {
    for (at, digit) in place.iter_mut().enumerate() {
        *digit = b"0123456789abcdef"[(number >> (60 - 4 * at)) as usize & 15];
    }
}

/// A record as the engine that does not align makes it, preceded by its size.
fn record() -> Result<Vec<u8>, EngineError> {
    struct Keep(Vec<u8>);
    impl RecordSink for Keep {
        fn record(&mut self, _origin: Origin, body: &[u8]) {
            self.0.extend_from_slice(&(body.len() as u32).to_le_bytes());
            self.0.extend_from_slice(body);
        }
    }
    let engine = FakeEngine::new(FakeOptions::default(), vec![1_000_000]);
    let name = [b'0'; NAME_BYTES];
    let read = Read { name: &name, bases: &[b'G'; READ_BP], qualities: Some(&[b'F'; READ_BP]) };
    let reads = EngineReads { pairs: Vec::new(), singles: vec![read] };
    let mut scratch = engine.scratch()?;
    let (candidates, ordinals) = (engine.seed_extend(&mut scratch, &reads)?, Ordinals::default());
    let mut kept = Keep(Vec::new());
    let seeded = SeededBatch { reads: &reads, candidates, model: None, ordinals };
    engine.emit(&mut scratch, seeded, &mut kept)?;
    Ok(kept.0)
}

/// What every run has to write.
fn expected(record: &[u8], records: u64) -> Result<Records, seqloom_format::bam::RecordError> {
    let (mut expected, mut record) = (Records::default(), record.to_vec());
    for number in 0..records {
        name(&mut record[NAME_AT..][..NAME_BYTES], number);
        expected.add(&record)?;
    }
    Ok(expected)
}

/// All records once; in order, where that is promised.
fn check(plan: &Plan, paths: &[PathBuf], expected: Records) -> Result<(), String> {
    let found = records_in(paths).map_err(|error| error.to_string())?;
    let same = (found.count, found.sum) == (expected.count, expected.sum);
    if !same {
        return Err(format!("wrote {} records, not the {}", found.count, expected.count));
    }
    if plan.strategy == Strategy::Ordered && found.chain != expected.chain {
        return Err("wrote records in another order".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn experiment(work: &Path) -> Outputs {
        Outputs {
            work: work.to_owned(),
            records: 2001,
            strategies: vec![Strategy::Locked, Strategy::Striped(3), Strategy::Ordered],
            locks: vec![Kind::Standard, Kind::McsParking],
            units: vec![1, 64],
            threads: vec![1, 7],
            repeats: 1,
        }
    }

    #[test]
    fn all_strategies_write_the_same_records() {
        let folder = tempfile::tempdir().unwrap();
        let table = experiment(&folder.path().join("work")).run(&mut |_| {}).unwrap();
        assert_eq!(table.rows.len(), 2 * 2 * (2 + 2 + 1));
        let at = |name: &str| table.columns.iter().position(|column| column == name).unwrap();
        for row in &table.rows {
            assert_eq!(row.values[at("records")], 2001.0, "{row:?}");
            let unit: f64 = row.factors[2].parse().unwrap();
            assert_eq!(row.values[at("holds")], (2001.0 / unit).ceil(), "{row:?}");
        }
        RESULTS.write(&table, &[crate::output::Fact::new("machine", "x")], folder.path()).unwrap();
        let again = || {
            let path = folder.path().join("README.md");
            fs::remove_file(&path).unwrap();
            RESULTS.write_again(folder.path()).unwrap();
            fs::read_to_string(path).unwrap()
        };
        let report = again();
        assert!(report.contains("| striped:3, mcs-park |") && report.contains("| ordered |"));
        assert!(!report.contains("NaN") && !report.contains("inf"), "{report}");
        assert_eq!(again(), report);
    }

    #[test]
    fn records_that_are_lost_doubled_or_out_of_order_are_found_out() {
        let folder = tempfile::tempdir().unwrap();
        let record = record().unwrap();
        let expected = expected(&record, 4).unwrap();
        let plan = |strategy| Plan {
            strategy,
            lock: Kind::Standard,
            unit: 2,
            records: 4,
            threads: NonZeroUsize::MIN,
        };
        let t = |numbers: &[u64], strategy, good: bool| {
            let mut bytes = Vec::new();
            for &number in numbers {
                let mut record = record.clone();
                name(&mut record[NAME_AT..][..NAME_BYTES], number);
                bytes.extend(record);
            }
            let path = folder.path().join("x");
            fs::write(&path, bytes).unwrap();
            let found = check(&plan(strategy), &[path], expected);
            assert_eq!(found.is_ok(), good, "{numbers:?} {found:?}");
        };
        t(&[0, 1, 2, 3], Strategy::Ordered, true);
        t(&[2, 3, 0, 1], Strategy::Locked, true);
        t(&[2, 3, 0, 1], Strategy::Ordered, false);
        t(&[0, 1, 2], Strategy::Locked, false);
        t(&[0, 1, 2, 2], Strategy::Locked, false);
    }
}
