//! The engine alone on reads in memory: the floor under `seqloom align`'s CPU time.
//!
//! `cargo bench -p seqloom-align --bench engine_alone --
//! PREFIX R1.fq R2.fq THREADS [PASSES [LANES]]`
//!
//! Reads are parsed before the clock starts. Every batch of every cohort of 100 Mbp goes through
//! the engine's three phases into a sink that only counts; nothing else runs in between. Prints
//! the CPU microseconds a read (user and system, all threads) of each phase, with `PREFIX.fast` and
//! without it, and a digest of the records, which is to be the same; so often. `LANES` is the most
//! that rescue works with: 64 for AVX-512, 32 for AVX2, 16 for neither.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use seqloom_align::engine::bwa::{BwaEngine, BwaOptions};
use seqloom_align::engine::{
    CohortEngine, EngineReads, Ordinals, Origin, Read, RecordSink, SeededBatch,
};
use seqloom_align::index::{self, IndexPaths, IndexSource};
use seqloom_runtime::machine;

/// As in the program: the engine allocates what it finds, read by read.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const COHORT_BASES: usize = 100_000_000;
const BATCH_PAIRS: usize = 256;

type Scratch = <BwaEngine as CohortEngine>::Scratch;

/// A digest of records that does not ask for their order of batches.
#[derive(Default)]
struct Digest {
    bytes: u64,
    sum: u64,
}

impl RecordSink for Digest {
    fn record(&mut self, _origin: Origin, body: &[u8]) {
        let mut hasher = DefaultHasher::new();
        body.hash(&mut hasher);
        self.bytes += body.len() as u64;
        self.sum = self.sum.wrapping_add(hasher.finish());
    }
}

/// CPU time of the phases, and what came out.
#[derive(Default)]
struct Outcome {
    seconds: [f64; 3],
    digest: Digest,
}

/// Runs `work`, and adds the CPU time that it takes.
fn timed<T>(seconds: &mut f64, work: impl FnOnce() -> T) -> T {
    let before = machine::usage().cpu;
    let done = work();
    *seconds += (machine::usage().cpu - before).as_secs_f64();
    done
}

/// Reads of a four-line FASTQ.
fn parse(text: &[u8]) -> Vec<Read<'_>> {
    let lines: Vec<&[u8]> = text.split(|&byte| byte == b'\n').collect();
    lines
        .chunks_exact(4)
        .map(|record| {
            let title = &record[0][1..];
            let name = title.split(|b| b" \t/".contains(b)).next().unwrap_or(title);
            Read { name, bases: record[1], qualities: Some(record[3]) }
        })
        .collect()
}

/// What works on batches.
#[derive(Clone, Copy)]
struct Threads {
    count: usize,
    lanes: usize,
}

/// Runs `work` on every batch number below `batches`, on `threads` threads.
fn for_each_batch(
    engine: &BwaEngine,
    threads: Threads,
    batches: usize,
    work: impl Fn(usize, &mut Scratch) + Sync,
) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..threads.count {
            scope.spawn(|| {
                let mut scratch = engine.scratch().expect("scratch");
                scratch.limit_lanes(threads.lanes);
                loop {
                    let batch = next.fetch_add(1, Ordering::Relaxed);
                    if batch >= batches {
                        return;
                    }
                    work(batch, &mut scratch);
                }
            });
        }
    });
}

fn run_cohort(
    engine: &BwaEngine,
    cohort: &[[Read<'_>; 2]],
    first_pair: usize,
    threads: Threads,
    outcome: &mut Outcome,
) {
    let [seeding, inferring, emitting] = &mut outcome.seconds;
    let batches: Vec<_> = cohort.chunks(BATCH_PAIRS).collect();
    let found: Vec<_> = batches.iter().map(|_| Mutex::new(None)).collect();
    timed(seeding, || {
        for_each_batch(engine, threads, batches.len(), |i, scratch| {
            let batch = EngineReads { pairs: batches[i].to_vec(), singles: Vec::new() };
            *found[i].lock().unwrap() = Some(engine.seed_extend(scratch, &batch).unwrap());
        });
    });
    let found: Vec<_> = found.into_iter().map(|r| r.into_inner().unwrap().unwrap()).collect();
    let model = timed(inferring, || engine.infer_cohort(&found).unwrap());
    let found: Vec<_> = found.into_iter().map(|r| Mutex::new(Some(r))).collect();
    let all = Mutex::new(&mut outcome.digest);
    timed(emitting, || {
        for_each_batch(engine, threads, batches.len(), |i, scratch| {
            let first_pair = (first_pair + i * BATCH_PAIRS) as u64;
            let ordinals = Ordinals { first_single: 0, first_pair };
            let mut sink = Digest::default();
            let candidates = found[i].lock().unwrap().take().unwrap();
            let reads = &EngineReads { pairs: batches[i].to_vec(), singles: Vec::new() };
            let seeded = SeededBatch { reads, candidates, model: Some(&model), ordinals };
            engine.emit(scratch, seeded, &mut sink).unwrap();
            let mut all = all.lock().unwrap();
            all.bytes += sink.bytes;
            all.sum = all.sum.wrapping_add(sink.sum);
        });
    });
}

fn run(engine: &BwaEngine, pairs: &[[Read<'_>; 2]], threads: Threads) -> Outcome {
    let (mut start, mut outcome) = (0, Outcome::default());
    while start < pairs.len() {
        let (mut end, mut bases) = (start, 0);
        while end < pairs.len() && bases < COHORT_BASES {
            bases += pairs[end].iter().map(|read| read.bases.len()).sum::<usize>();
            end += 1;
        }
        run_cohort(engine, &pairs[start..end], start, threads, &mut outcome);
        start = end;
    }
    outcome
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let [prefix, first, second, threads, more @ ..] = &arguments[..] else {
        println!("usage: engine_alone PREFIX R1.fq R2.fq THREADS [PASSES [LANES]] (plain FASTQ)");
        return;
    };
    let count: usize = threads.parse().expect("a number of threads");
    let [passes, lanes] = [(0, 1), (1, usize::MAX)].map(|(at, unless)| {
        more.get(at).map_or(unless, |number| number.parse().expect("a number"))
    });
    let threads = Threads { count, lanes };
    let texts = [fs::read(first).expect("R1"), fs::read(second).expect("R2")];
    let pairs: Vec<_> =
        parse(&texts[0]).into_iter().zip(parse(&texts[1])).map(<[Read<'_>; 2]>::from).collect();
    let prefix = Path::new(prefix);
    let info = index::check(prefix).expect("index");
    let load = || BwaEngine::load(IndexSource::new(prefix, &info), &BwaOptions::default()).unwrap();
    let (plain, mut by_table) = (load(), load());
    by_table.certify(&IndexPaths::new(prefix).fast(), Arc::default()).expect("a table");
    for _ in 0..passes {
        for (name, engine) in [("with table", &by_table), ("without", &plain)] {
            let Outcome { seconds, digest } = run(engine, &pairs, threads);
            let [seed, infer, emit] = seconds.map(|s| s * 1e6 / (2 * pairs.len()) as f64);
            println!(
                "{name}: us a read: seed_extend {seed:.2}, infer {infer:.2}, emit {emit:.2}; \
                 {} record bytes, digest {:016x}",
                digest.bytes, digest.sum
            );
        }
    }
}
