//! All schedules in this process: the same records, bounded memory, and an end when one fails.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use seqloom_align::engine::fake::{FakeEngine, FakeOptions};
use seqloom_align::engine::{CohortEngine, EngineError, EngineReads, RecordSink, SeededBatch};
use seqloom_align::{BATCH_READS, Pairing};
use seqloom_io::reads::{ReadSource, SourceOptions};
use seqloom_locks::Kind;
use seqloom_runtime::placement::{self, Plan};

use super::aligning::{Job, ScheduleError, Told};
use super::*;
use crate::digest::Records;
use crate::sinks::{Files, Strategy, records_in};

const FLOWS: [Schedule; 3] = [Schedule::Pull, Schedule::Farm, Schedule::Pipeline];
/// Small blocks, so that there are many of them.
const BLOCK_BYTES: usize = 20_000;
const CHUNK_BASES: u64 = 100_000;

fn threads(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).unwrap()
}

fn open(inputs: &[PathBuf]) -> (ReadSource, Pairing) {
    let options = SourceOptions { block_bytes: BLOCK_BYTES, ..SourceOptions::default() };
    let pairing = if inputs.len() == 2 { Pairing::TwoFiles } else { Pairing::Single };
    (ReadSource::open(inputs, options).unwrap(), pairing)
}

fn fake(options: &str) -> FakeEngine {
    FakeEngine::new(options.parse::<FakeOptions>().unwrap(), vec![1_000_000, 2000])
}

/// One run: what it reports, or why it failed; and the records that it wrote.
fn run(
    schedule: Schedule,
    workers: usize,
    engine: &impl CohortEngine,
    inputs: &[PathBuf],
    (folder, strategy): (&Path, Strategy),
) -> (Result<Told, ScheduleError>, Records) {
    let (source, pairing) = open(inputs);
    let sink = Files::create(folder, strategy, Kind::Standard).unwrap();
    let placement = Plan::none(workers);
    let job = Job {
        source: &source,
        engine,
        sink: &sink,
        pairing,
        threads: threads(workers),
        placement: &placement,
        chunk_bases: CHUNK_BASES,
    };
    let told = one::flow(schedule, &job);
    (told, records_in(&sink.finish().unwrap()).unwrap())
}

#[test]
fn all_schedules_give_the_records_of_align() {
    let folder = tempfile::tempdir().unwrap();
    // Fewer than a batch, and many batches with an odd end.
    for (reads, is_paired) in [(2, false), (30_001, false), (2, true), (20_002, true)] {
        let inputs = made(folder.path(), reads, is_paired).unwrap();
        let ordered = (folder.path(), Strategy::Ordered);
        let (_, expected) = run(Schedule::Pull, 1, &fake(""), &inputs, ordered);
        assert_eq!(expected.count, reads);
        for schedule in FLOWS {
            for workers in [1, 2, 7] {
                let (told, found) = run(schedule, workers, &fake(""), &inputs, ordered);
                told.unwrap();
                assert_eq!(found, expected, "{schedule} {workers}");
                let striped = (folder.path(), Strategy::Striped(3));
                let (told, found) = run(schedule, workers, &fake(""), &inputs, striped);
                told.unwrap();
                assert_eq!((found.count, found.sum), (expected.count, expected.sum), "{schedule}");
            }
        }
    }
}

/// The first error stops everybody, and is the one that is reported.
#[test]
fn errors_and_panics_of_a_worker_stop_all() {
    let folder = tempfile::tempdir().unwrap();
    let inputs = made(folder.path(), 30_000, false).unwrap();
    for schedule in FLOWS {
        for (options, expected) in
            [("fail-at=15000", "set to fail"), ("panic-at=15000", "set to panic")]
        {
            let to = (folder.path(), Strategy::Ordered);
            let (told, written) = run(schedule, 4, &fake(options), &inputs, to);
            let error = told.unwrap_err().to_string();
            assert!(error.contains(expected), "{schedule}: {error}");
            assert!(written.count <= 15_000, "{schedule}: {written:?}");
        }
    }
}

#[test]
fn bad_input_stops_all() {
    let folder = tempfile::tempdir().unwrap();
    let inputs = made(folder.path(), 30_000, false).unwrap();
    let text = std::fs::read_to_string(&inputs[0]).unwrap();
    std::fs::write(&inputs[0], &text[..text.len() - 30]).unwrap();
    for schedule in FLOWS {
        let to = (folder.path(), Strategy::Locked);
        let (told, _) = run(schedule, 4, &fake(""), &inputs, to);
        let error = told.unwrap_err().to_string();
        assert!(error.contains("single-30000-1.fq"), "{schedule}: {error}");
    }
}

/// An engine whose first batch waits until nothing goes on any more. Meanwhile it looks how much of
/// the input is in memory: read, but not written.
struct Stalling<'a> {
    inner: FakeEngine,
    source: &'a ReadSource,
    sink: &'a Files,
    bytes_per_read: f64,
    has_stalled: AtomicBool,
    calls: AtomicU64,
    peak_reads: AtomicU64,
}

impl Stalling<'_> {
    fn look(&self) {
        let read = self.source.bytes_read() as f64 / self.bytes_per_read;
        let held = (read - self.sink.records() as f64).max(0.0);
        self.peak_reads.fetch_max(held as u64, Ordering::Relaxed);
    }

    fn stall(&self) {
        let (mut last, mut quiet) = (0, 0);
        while quiet < 10 {
            std::thread::sleep(Duration::from_millis(20));
            self.look();
            let calls = self.calls.load(Ordering::Relaxed);
            quiet = if calls == last { quiet + 1 } else { 0 };
            last = calls;
        }
    }
}

impl CohortEngine for Stalling<'_> {
    type Scratch = Vec<u8>;
    type Candidates = ();
    type Model = ();

    fn scratch(&self) -> Result<Vec<u8>, EngineError> {
        self.inner.scratch()
    }

    fn seed_extend(
        &self,
        scratch: &mut Vec<u8>,
        reads: &EngineReads<'_>,
    ) -> Result<(), EngineError> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        if !self.has_stalled.swap(true, Ordering::Relaxed) {
            self.stall();
        }
        self.look();
        self.inner.seed_extend(scratch, reads)
    }

    fn infer_cohort(&self, _: &[()]) -> Result<(), EngineError> {
        Ok(())
    }

    fn emit(
        &self,
        scratch: &mut Vec<u8>,
        seeded: SeededBatch<'_, Self>,
        sink: &mut dyn RecordSink,
    ) -> Result<(), EngineError> {
        let SeededBatch { reads, candidates, model, ordinals } = seeded;
        let seeded = SeededBatch { reads, candidates, model, ordinals };
        self.inner.emit(scratch, seeded, sink)
    }

    fn held_bytes(&self, candidates: &()) -> u64 {
        self.inner.held_bytes(candidates)
    }

    fn longest_read_bases(&self) -> usize {
        self.inner.longest_read_bases()
    }
}

#[test]
fn memory_stays_bounded_while_a_worker_is_stalled() {
    const READS: u64 = 100_000;
    const WORKERS: usize = 4;
    // Batches in memory, for each worker: out or ahead, ready, and being read.
    const BATCHES_PER_WORKER: usize = 10;
    let folder = tempfile::tempdir().unwrap();
    let inputs = made(folder.path(), READS, false).unwrap();
    let bytes_per_read = inputs[0].metadata().unwrap().len() as f64 / READS as f64;
    for schedule in FLOWS {
        let (source, pairing) = open(&inputs);
        let sink = Files::create(folder.path(), Strategy::Ordered, Kind::Standard).unwrap();
        let engine = Stalling {
            inner: fake(""),
            source: &source,
            sink: &sink,
            bytes_per_read,
            has_stalled: AtomicBool::new(false),
            calls: AtomicU64::new(0),
            peak_reads: AtomicU64::new(0),
        };
        let placement = Plan::none(WORKERS);
        let job = Job {
            source: &source,
            engine: &engine,
            sink: &sink,
            pairing,
            threads: threads(WORKERS),
            placement: &placement,
            chunk_bases: CHUNK_BASES,
        };
        one::flow(schedule, &job).unwrap();
        assert_eq!(sink.records(), READS);
        let peak = engine.peak_reads.load(Ordering::Relaxed);
        let bound = (BATCHES_PER_WORKER * WORKERS * BATCH_READS) as u64;
        assert!(peak <= bound && bound * 4 < READS, "{schedule}: {peak} reads of {bound}");
        assert!(peak > 0, "{schedule}");
    }
}

fn configuration(folder: &Path, schedule: Schedule) -> Configuration {
    Configuration {
        schedule,
        subject: Subject::Fake(FakeOptions::default()),
        reference: None,
        insert_size: None,
        threads: threads(3),
        inputs: made(folder, 5000, false).unwrap(),
        first_template: 0,
        chunk_bases: CHUNK_BASES,
        strategy: Strategy::Locked,
        lock: Kind::McsParking,
        output: folder.join("output"),
        digest: true,
        again: Vec::new(),
    }
}

#[test]
fn a_run_reports_all_counters() {
    let folder = tempfile::tempdir().unwrap();
    let mut digests = Vec::new();
    for schedule in Schedule::ALL {
        if schedule.is_placed() && placement::permitted().is_err() {
            continue;
        }
        let counters = run_one(&configuration(folder.path(), schedule), &|| Ok(())).unwrap();
        let of = |name: &str| counters.iter().find(|(of, _)| of == name).unwrap().1;
        let told = COUNTERS.iter().filter(|name| **name != "load_average");
        told.for_each(|name| assert!(of(name) >= 0.0, "{name}"));
        assert_eq!((of("reads"), of("records")), (5000.0, 5000.0), "{schedule}");
        assert!(of("align_us") > 0.0 && of("flow_cpu_s") > 0.0 && of("output_holds") > 0.0);
        digests.push(of("digest"));
    }
    assert!(digests.windows(2).all(|two| two[0] == two[1]), "{digests:?}");
}

#[test]
fn what_cannot_be_run_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let bwa =
        Configuration { subject: Subject::Bwa, ..configuration(folder.path(), Schedule::Pull) };
    let error = run_one(&bwa, &|| Ok(())).unwrap_err();
    assert!(error.to_string().contains("needs a reference"), "{error}");
    let not_begun = || Err(LabError::Prepare("not begun".into()));
    let error = run_one(&configuration(folder.path(), Schedule::Farm), &not_begun).unwrap_err();
    assert_eq!(error.to_string(), "not begun");
}

/// The experiment over a program that stands for one run.
#[test]
fn schedules_are_compared_run_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    let script = |digest: &str| {
        format!(
            r#"shift; printf 'counter\talign_us\t2000\ncounter\treads\t100\ncounter\trecords\t100\n'
            printf 'counter\tflow_cpu_s\t0.25\n'
            while [ $# -gt 0 ]; do
              [ "$1" = --schedule ] && schedule=$2
              [ "$1" = --output ] && mkdir -p "$2"
              [ "$1" = --digest ] && printf 'counter\tdigest\t%s\n' {digest}
              shift
            done"#
        )
    };
    let experiment = |digest: &str| Schedules {
        run: ["bash", "-c", &script(digest), "x", "y"].map(str::to_owned).to_vec(),
        work: folder.path().join("work"),
        input: Input::Made { reads: 100, is_paired: false },
        reference: None,
        schedules: vec![Schedule::Pull, Schedule::Pipeline],
        engines: vec!["null".into(), "bowtie".into()],
        threads: vec![1, 2, 256],
        repeats: 1,
        deadline: None,
    };
    let Outcome { table, counted, no_counters } = experiment("7").run(&mut |_| {}).unwrap();
    assert_eq!(table.rows.len(), 2 * 2 * 3);
    // Of each schedule and engine with the most workers, where there are counters at all.
    assert_eq!(counted.rows.len(), if no_counters.is_some() { 0 } else { 2 * 2 });
    RESULTS.write(&table, &[crate::output::Fact::new("machine", "x")], folder.path()).unwrap();
    let read = || std::fs::read_to_string(folder.path().join("README.md")).unwrap();
    let report = read();
    assert!(report.contains("| pipeline | 50.0 | 50.0 | 50.0 |"), "{report}");
    assert!(report.contains("92 us a read: Langmead"), "{report}");
    // Nothing is begun when no time is left.
    let late = Schedules { deadline: Some(std::time::Instant::now()), ..experiment("7") };
    assert_eq!(late.run(&mut |_| {}).unwrap().table.rows, []);
    std::fs::remove_file(folder.path().join("README.md")).unwrap();
    RESULTS.write_again(folder.path()).unwrap();
    assert_eq!(read(), report);
    let error = experiment("${#schedule}").run(&mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("other records"), "{error}");
}
