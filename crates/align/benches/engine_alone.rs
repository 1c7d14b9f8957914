//! The engine crate alone on reads in memory: the floor under `seqloom align`'s CPU time.
//!
//! `cargo bench -p seqloom-align --bench engine_alone -- PREFIX R1.fq R2.fq THREADS`
//!
//! Reads are parsed before the clock starts. Every batch of every cohort of 100 Mbp goes through
//! `seed_extend`, `infer_cohort` and `pair_emit` into a sink that only counts; nothing of seqloom's
//! own code runs in between. Prints the CPU seconds (user and system, all threads) of that.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use bwa_mem3_rs::{
    AlignScratch, AlnRegs, BwaIndex, IdBases, MemOpts, MemPeStat, ReadBatch, ReadPair,
    RecordOrigin, RecordSink, pair_emit, seed_extend,
};
use seqloom_align::engine::lockstep;
use seqloom_runtime::machine;

/// As in the program: the engine allocates what it finds, read by read.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const COHORT_BASES: usize = 100_000_000;
const BATCH_PAIRS: usize = 256;

struct Count(u64);

impl RecordSink for Count {
    fn emit(&mut self, _origin: RecordOrigin, body: &[u8]) {
        self.0 += body.len() as u64;
    }
}

/// Name, bases and qualities of a four-line FASTQ.
fn parse(text: &[u8]) -> Vec<[&[u8]; 3]> {
    let lines: Vec<&[u8]> = text.split(|&byte| byte == b'\n').collect();
    lines
        .chunks_exact(4)
        .map(|record| {
            let title = &record[0][1..];
            let name = title.split(|b| b" \t/".contains(b)).next().unwrap_or(title);
            [name, record[1], record[3]]
        })
        .collect()
}

fn pairs<'a>(first: &[[&'a [u8]; 3]], second: &[[&'a [u8]; 3]]) -> Vec<ReadPair<'a>> {
    let pair = |(a, b): (&[&'a [u8]; 3], &[&'a [u8]; 3])| ReadPair {
        name_r1: a[0],
        seq_r1: a[1],
        qual_r1: Some(a[2]),
        name_r2: b[0],
        seq_r2: b[1],
        qual_r2: Some(b[2]),
    };
    first.iter().zip(second).map(pair).collect()
}

/// Runs `work` on every batch number below `batches`, on `threads` threads.
fn for_each_batch(threads: usize, batches: usize, work: impl Fn(usize, &mut AlignScratch) + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut scratch = AlignScratch::new().expect("scratch");
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
    index: &BwaIndex,
    options: &MemOpts,
    cohort: &[ReadPair<'_>],
    first_pair: usize,
    threads: usize,
) -> u64 {
    let batches: Vec<&[ReadPair<'_>]> = cohort.chunks(BATCH_PAIRS).collect();
    let found: Vec<Mutex<Option<AlnRegs>>> = batches.iter().map(|_| Mutex::new(None)).collect();
    for_each_batch(threads, batches.len(), |i, scratch| {
        let batch = ReadBatch { pairs: batches[i], singles: &[] };
        *found[i].lock().unwrap() = Some(seed_extend(index, options, scratch, &batch).unwrap());
    });
    let regs: Vec<AlnRegs> = found.into_iter().map(|r| r.into_inner().unwrap().unwrap()).collect();
    let model = MemPeStat::infer_cohort(index, options, &regs).unwrap();
    let regs: Vec<_> = regs.into_iter().map(|r| Mutex::new(Some(r))).collect();
    let bytes = AtomicU64::new(0);
    for_each_batch(threads, batches.len(), |i, scratch| {
        let ids =
            IdBases { first_single_id: 0, first_pair_id: (first_pair + i * BATCH_PAIRS) as u64 };
        let mut sink = Count(0);
        let regs = regs[i].lock().unwrap().take().unwrap();
        pair_emit(index, options, scratch, regs, Some(&model), ids, &mut sink).unwrap();
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
    let pairs = pairs(&parse(&texts[0]), &parse(&texts[1]));
    lockstep::fit_to_processor();
    let index = BwaIndex::load(prefix).expect("index");
    let mut options = MemOpts::new().expect("options");
    options.set_pe(true);

    let (cpu, wall) = (machine::usage().cpu, Instant::now());
    let (mut start, mut bytes) = (0, 0);
    while start < pairs.len() {
        let (mut end, mut bases) = (start, 0);
        while end < pairs.len() && bases < COHORT_BASES {
            bases += pairs[end].seq_r1.len() + pairs[end].seq_r2.len();
            end += 1;
        }
        bytes += run_cohort(&index, &options, &pairs[start..end], start, threads);
        start = end;
    }
    let cpu = (machine::usage().cpu - cpu).as_secs_f64();
    println!(
        "engine alone: {} pairs, {bytes} record bytes, CPU {cpu:.2} s, wall {:.2} s",
        pairs.len(),
        wall.elapsed().as_secs_f64()
    );
}
