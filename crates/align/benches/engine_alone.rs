//! The engine alone on reads in memory: the floor under `seqloom align`'s CPU time.
//!
//! `cargo bench -p seqloom-align --bench engine_alone -- PREFIX R1.fq R2.fq THREADS`
//!
//! Reads are parsed before the clock starts. Every batch of every cohort of 100 Mbp goes through
//! the engine's three phases into a sink that only counts; nothing else runs in between. Prints
//! the CPU seconds (user and system, all threads) of that.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use seqloom_align::engine::bwa::{BwaEngine, BwaOptions};
use seqloom_align::engine::{
    CohortEngine, EngineReads, Ordinals, Origin, Read, RecordSink, SeededBatch,
};
use seqloom_align::index;
use seqloom_runtime::machine;

/// As in the program: the engine allocates what it finds, read by read.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const COHORT_BASES: usize = 100_000_000;
const BATCH_PAIRS: usize = 256;

type Scratch = <BwaEngine as CohortEngine>::Scratch;

struct Count(u64);

impl RecordSink for Count {
    fn record(&mut self, _origin: Origin, body: &[u8]) {
        self.0 += body.len() as u64;
    }
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

/// Runs `work` on every batch number below `batches`, on `threads` threads.
fn for_each_batch(
    engine: &BwaEngine,
    threads: usize,
    batches: usize,
    work: impl Fn(usize, &mut Scratch) + Sync,
) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut scratch = engine.scratch().expect("scratch");
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
    threads: usize,
) -> u64 {
    let batches: Vec<_> = cohort.chunks(BATCH_PAIRS).collect();
    let found: Vec<_> = batches.iter().map(|_| Mutex::new(None)).collect();
    for_each_batch(engine, threads, batches.len(), |i, scratch| {
        let batch = EngineReads { pairs: batches[i].to_vec(), singles: Vec::new() };
        *found[i].lock().unwrap() = Some(engine.seed_extend(scratch, &batch).unwrap());
    });
    let found: Vec<_> = found.into_iter().map(|r| r.into_inner().unwrap().unwrap()).collect();
    let model = engine.infer_cohort(&found).unwrap();
    let found: Vec<_> = found.into_iter().map(|r| Mutex::new(Some(r))).collect();
    let bytes = AtomicU64::new(0);
    for_each_batch(engine, threads, batches.len(), |i, scratch| {
        let first_pair = (first_pair + i * BATCH_PAIRS) as u64;
        let ordinals = Ordinals { first_single: 0, first_pair };
        let mut sink = Count(0);
        let candidates = found[i].lock().unwrap().take().unwrap();
        let reads = &EngineReads { pairs: batches[i].to_vec(), singles: Vec::new() };
        let seeded = SeededBatch { reads, candidates, model: Some(&model), ordinals };
        engine.emit(scratch, seeded, &mut sink).unwrap();
        bytes.fetch_add(sink.0, Ordering::Relaxed);
    });
    bytes.into_inner()
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let [prefix, first, second, threads] = &arguments[..] else {
        println!("usage: engine_alone PREFIX R1.fq R2.fq THREADS (plain FASTQ)");
        return;
    };
    let threads: usize = threads.parse().expect("a number of threads");
    let texts = [fs::read(first).expect("R1"), fs::read(second).expect("R2")];
    let pairs: Vec<_> =
        parse(&texts[0]).into_iter().zip(parse(&texts[1])).map(<[Read<'_>; 2]>::from).collect();
    let prefix = Path::new(prefix);
    let contigs = index::check(prefix).expect("index").contigs;
    let contigs: Vec<_> = contigs.into_iter().map(|c| (c.name, u64::from(c.length))).collect();
    let engine = BwaEngine::load(prefix, &contigs, &BwaOptions::default(), threads).unwrap();

    let (cpu, wall) = (machine::usage().cpu, Instant::now());
    let (mut start, mut bytes) = (0, 0);
    while start < pairs.len() {
        let (mut end, mut bases) = (start, 0);
        while end < pairs.len() && bases < COHORT_BASES {
            bases += pairs[end].iter().map(|read| read.bases.len()).sum::<usize>();
            end += 1;
        }
        bytes += run_cohort(&engine, &pairs[start..end], start, threads);
        start = end;
    }
    let cpu = (machine::usage().cpu - cpu).as_secs_f64();
    println!(
        "engine alone: {} pairs, {bytes} record bytes, CPU {cpu:.2} s, wall {:.2} s",
        pairs.len(),
        wall.elapsed().as_secs_f64()
    );
}
