//! One worker stands still while all others go on: what they make ahead of it is bounded, in
//! candidates and in records. The engine holds one batch back until nobody else gets anywhere.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use seqloom_align::engine::fake::{FakeEngine, FakeOptions};
use seqloom_align::engine::{CohortEngine, EngineError, EngineReads, RecordSink, SeededBatch};
use seqloom_align::ingest::{
    self, BatchPart, BatchSink, HeldLimits, IngestOptions, IngestTrace, LaneEnd, LaneInput,
};
use seqloom_align::{BATCH_READS, Batch, Pairing};
use seqloom_format::PackedTemplates;
use seqloom_io::reads::{ReadSource, SourceOptions};
use seqloom_runtime::placement::Plan;

/// Batches of one cohort.
const COHORT_BATCHES: u64 = 20;
const BATCHES: u64 = 40 * COHORT_BATCHES;
const READ_BASES: usize = 50;
/// Others count as stuck when none of them has done anything for so long.
const STILL: Duration = Duration::from_millis(500);
/// Batches emitted ahead of the oldest one in work, per worker, as `ingest` has it.
const EMIT_AHEAD_PER_WORKER: u64 = 4;

/// Where the worker stands still.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stall {
    Seeding,
    Emitting,
}

/// The batch that is held back: in the middle of the third cohort.
const STALLED_BATCH: u64 = 2 * COHORT_BATCHES + COHORT_BATCHES / 2;

/// Passes everything on to [`FakeEngine`], and counts.
struct StallingEngine {
    fake: FakeEngine,
    stall: Stall,
    /// Batches whose seeding has begun, and whose emission has.
    seeds: AtomicU64,
    emissions: AtomicU64,
    held_bytes: AtomicU64,
    seen: Seen,
}

/// What was so when everybody was stuck.
#[derive(Debug, Default)]
struct Seen {
    seeds: AtomicU64,
    emissions: AtomicU64,
    held_bytes: AtomicU64,
}

impl StallingEngine {
    fn new(stall: Stall) -> Self {
        Self {
            fake: FakeEngine::new(FakeOptions::default(), vec![1_000_000]),
            stall,
            seeds: AtomicU64::new(0),
            emissions: AtomicU64::new(0),
            held_bytes: AtomicU64::new(0),
            seen: Seen::default(),
        }
    }

    /// Returns when nobody else gets anywhere any more.
    fn stand_still(&self) {
        let done = || (self.seeds.load(Ordering::SeqCst), self.emissions.load(Ordering::SeqCst));
        let mut last = (done(), Instant::now());
        while last.1.elapsed() < STILL {
            std::thread::sleep(Duration::from_millis(5));
            if done() != last.0 {
                last = (done(), Instant::now());
            }
        }
        let (seeds, emissions) = last.0;
        self.seen.seeds.store(seeds, Ordering::SeqCst);
        self.seen.emissions.store(emissions, Ordering::SeqCst);
        self.seen.held_bytes.store(self.held_bytes.load(Ordering::SeqCst), Ordering::SeqCst);
    }
}

/// What candidates of a read hold.
const HELD_PER_READ_BYTES: u64 = 400;

impl CohortEngine for StallingEngine {
    type Scratch = Vec<u8>;
    /// How many reads.
    type Candidates = u64;
    type Model = ();

    fn scratch(&self) -> Result<Vec<u8>, EngineError> {
        self.fake.scratch()
    }

    fn seed_extend(
        &self,
        scratch: &mut Vec<u8>,
        reads: &EngineReads<'_>,
    ) -> Result<u64, EngineError> {
        let number = self.seeds.fetch_add(1, Ordering::SeqCst);
        if self.stall == Stall::Seeding && number == STALLED_BATCH {
            self.stand_still();
        }
        self.fake.seed_extend(scratch, reads)?;
        let candidates = (2 * reads.pairs.len() + reads.singles.len()) as u64;
        self.held_bytes.fetch_add(self.held_bytes(&candidates), Ordering::SeqCst);
        Ok(candidates)
    }

    fn infer_cohort(&self, _: &[u64]) -> Result<(), EngineError> {
        Ok(())
    }

    fn emit(
        &self,
        scratch: &mut Vec<u8>,
        seeded: SeededBatch<'_, Self>,
        sink: &mut dyn RecordSink,
    ) -> Result<(), EngineError> {
        self.emissions.fetch_add(1, Ordering::SeqCst);
        let SeededBatch { reads, candidates, model, ordinals } = seeded;
        let pairs_per_batch = BATCH_READS as u64 / 2;
        let is_it = ordinals.first_pair == STALLED_BATCH * pairs_per_batch;
        if self.stall == Stall::Emitting && is_it {
            self.stand_still();
        }
        self.held_bytes.fetch_sub(self.held_bytes(&candidates), Ordering::SeqCst);
        self.fake.emit(scratch, SeededBatch { reads, candidates: (), model, ordinals }, sink)
    }

    fn held_bytes(&self, reads: &u64) -> u64 {
        HELD_PER_READ_BYTES * reads
    }

    fn longest_read_bases(&self) -> usize {
        self.fake.longest_read_bases()
    }
}

/// Counts records.
#[derive(Default)]
struct Counting(AtomicU64);

impl BatchSink for Counting {
    type Error = std::convert::Infallible;
    type Scratch = ();

    fn scratch(&self) -> Result<(), Self::Error> {
        Ok(())
    }

    fn accept(
        &self,
        (): &mut (),
        _: &Batch,
        templates: &PackedTemplates,
        _: BatchPart,
    ) -> Result<(), Self::Error> {
        self.0.fetch_add(templates.records, Ordering::Relaxed);
        Ok(())
    }

    fn end(&self, _: LaneEnd) {}
}

/// Two files with the mates of all batches.
fn write_pairs(folder: &Path) -> Vec<PathBuf> {
    let (bases, qualities) = ("ACGTA".repeat(READ_BASES / 5), "I".repeat(READ_BASES));
    let mut text = String::new();
    for pair in 0..BATCHES * BATCH_READS as u64 / 2 {
        write!(text, "@read{pair:07}\n{bases}\n+\n{qualities}\n").unwrap();
    }
    let paths = ["1.fq", "2.fq"].map(|name| folder.join(name));
    paths.iter().for_each(|path| std::fs::write(path, &text).unwrap());
    paths.to_vec()
}

/// Lets `workers` run on `cores` with one of them stalled, and checks every bound.
fn t(files: &[PathBuf], stall: Stall, workers: u64, cores: usize, ahead_cohorts: f64) {
    let what = format!("{stall:?}, {workers} workers, {cores} cores, {ahead_cohorts} ahead");
    let source = ReadSource::open(files, SourceOptions::default()).unwrap();
    // Of each read what it is in the file, and what the engine finds.
    let read_bytes = "@read0000000\n\n+\n\n".len() as u64 + 2 * READ_BASES as u64;
    let batch_bytes = BATCH_READS as u64 * (read_bytes + HELD_PER_READ_BYTES);
    let cohort_bytes = COHORT_BATCHES * batch_bytes;
    let ahead_bytes = cohort_bytes + (cohort_bytes as f64 * ahead_cohorts) as u64;
    let options = IngestOptions {
        threads: NonZeroUsize::new(workers as usize).unwrap(),
        cores: NonZeroUsize::new(cores).unwrap(),
        cohort_bases: COHORT_BATCHES * (BATCH_READS * READ_BASES) as u64,
        held_limits: HeldLimits::of_one_lane(ahead_bytes, 2 * cohort_bytes),
        placement: Plan::none(workers as usize),
    };
    let (engine, sink) = (StallingEngine::new(stall), Counting::default());
    let trace = IngestTrace::default();
    let lanes = vec![LaneInput::whole(&source, Pairing::TwoFiles, &sink)];
    let totals = ingest::run(lanes, &engine, &options, &trace, &|| Ok(())).unwrap().totals;
    let reads = BATCHES * BATCH_READS as u64;
    assert_eq!((totals.reads, totals.records, sink.0.into_inner()), (reads, reads, reads));

    let seen = |counter: &AtomicU64| counter.load(Ordering::SeqCst);
    let [seeds, emissions, held_bytes] =
        [&engine.seen.seeds, &engine.seen.emissions, &engine.seen.held_bytes].map(seen);
    let ahead = seeds.saturating_sub(STALLED_BATCH + 1);
    assert!(ahead > 0, "{what}: the others went on");
    assert!(seeds < BATCHES / 2, "{what}: {seeds} batches were seeded");
    // Before the first batch is back nobody knows how much one holds.
    let most_bytes = ahead_bytes + workers * batch_bytes;
    assert!(held_bytes <= most_bytes, "{what}: {held_bytes} held of {ahead_bytes}");
    let peak_bytes = totals.peak_held_bytes;
    assert!(peak_bytes <= most_bytes, "{what}: {peak_bytes} at the peak");
    match stall {
        Stall::Seeding => assert!(emissions <= 2 * COHORT_BATCHES, "{what}: {emissions} emitted"),
        Stall::Emitting => {
            let most = STALLED_BATCH + EMIT_AHEAD_PER_WORKER * workers;
            assert!(emissions <= most, "{what}: {emissions} emitted");
        }
    }
}

#[test]
fn what_is_made_ahead_of_a_stalled_worker_is_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let files = write_pairs(folder.path());
    for stall in [Stall::Seeding, Stall::Emitting] {
        t(&files, stall, 4, 2, 0.5);
        t(&files, stall, 8, 2, 1.5);
        t(&files, stall, 3, 8, 0.2);
    }
}
