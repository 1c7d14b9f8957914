//! The kernels of methylation calling on the 112 real reads of `nanopore/f5c_ecoli_2kb`: samples to
//! events, and banded alignment, per kernel.
//!
//! `SEQLOOM_DATA=FOLDER cargo bench -p seqloom-calling --bench kernels [-- ROUNDS [KERNEL]]`
//!
//! Prints CPU nanoseconds per sample and millions of cells per CPU second, so that other programs
//! on the machine disturb it less. Reads are decoded, and for the alignment events detected, before
//! the clock starts. Instructions per kernel:
//!
//! `valgrind --tool=callgrind --toggle-collect='*events::align::align*' BENCH 1 avx2`, where BENCH
//! is `target/release/deps/kernels-*`; `'*events::detect::detect*'` for events, which all reads go
//! through twice. Valgrind has no AVX-512. What was counted: `docs/methylation.md`.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(dead_code)] // names of reads are for the tests
#[path = "../src/tests/real_signal.rs"]
mod real_signal;

use seqloom_calling::bench::{BandedReads, Detection};
use seqloom_runtime::machine;

/// CPU seconds of `work`.
fn cpu_seconds(work: impl FnOnce()) -> f64 {
    let before = machine::usage().cpu;
    work();
    (machine::usage().cpu - before).as_secs_f64()
}

fn main() {
    // Cargo gives benchmarks the option `--bench`.
    let mut arguments = std::env::args().skip(1).filter(|it| it != "--bench");
    let rounds: u32 = arguments.next().map_or(5, |it| it.parse().expect("ROUNDS is a number"));
    let only = arguments.next();
    let Some(folder) = real_signal::folder() else { return };
    let reads = real_signal::reads(&folder);
    let samples: usize = reads.iter().map(|read| read.signal.samples.len()).sum();
    let mut detection = Detection::default();
    let seconds = cpu_seconds(|| {
        for read in (0..rounds).flat_map(|_| &reads) {
            detection.detect(&read.signal);
        }
    });
    let each_ns = seconds * 1e9 / (samples as f64 * f64::from(rounds));
    println!("events: {each_ns:.1} ns a sample, {samples} samples");
    let banded = BandedReads::new(reads.iter().map(|it| (&it.signal, &it.bases[..]))).unwrap();
    let cells = banded.cells();
    for kernel in BandedReads::kernels() {
        if only.as_ref().is_some_and(|only| only != kernel) {
            continue;
        }
        let seconds = cpu_seconds(|| (0..rounds).for_each(|_| banded.align(kernel)));
        let rate = cells as f64 * f64::from(rounds) / seconds / 1e6;
        println!("alignment, {kernel}: {rate:.0} Mcell/s, {cells} cells");
    }
}
