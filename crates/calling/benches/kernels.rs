//! The kernels of methylation calling on the 112 real reads of `nanopore/f5c_ecoli_2kb`: samples to
//! events, and banded alignment, per kernel.
//!
//! `SEQLOOM_DATA=FOLDER cargo bench -p seqloom-signal --bench kernels [-- ROUNDS [KERNEL]]`
//!
//! Prints CPU nanoseconds per sample and millions of cells per CPU second, so that other programs
//! on the machine disturb it less. Reads are decoded, and for the alignment events detected, before
//! the clock starts. Instructions per kernel:
//!
//! `valgrind --tool=callgrind --toggle-collect='*event::align::align*' BENCH 1 avx2`, where BENCH
//! is `target/release/deps/kernels-*`; `'*event::detect::detect*'` for events, which all reads go
//! through twice. Valgrind has no AVX-512. What was counted: `docs/methylation.md`.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(dead_code)] // shared with the tests
#[path = "../tests/kernels/support.rs"]
mod support;

use seqloom_calling::events::align::{AlignScratch, BANDWIDTH, BandedInput, Kernel, align};
use seqloom_calling::events::detect::{DetectOptions, DetectScratch, detect, samples_to_pa};
use seqloom_calling::events::scaling::from_moments;
use seqloom_calling::events::{Events, Scaling};
use seqloom_runtime::machine;

/// What the alignment of one read starts from.
struct Prepared {
    events: Events,
    ranks: Vec<u32>,
    scaling: Scaling,
}

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
    let Some(folder) = support::folder() else { return };
    let reads = support::reads(&folder);
    let model = support::model();
    let (mut samples_pa, mut scratch) = (Vec::new(), DetectScratch::default());
    let mut prepared = Vec::new();
    for read in &reads {
        let mut events = Events::default();
        samples_to_pa(&read.signal, &mut samples_pa);
        detect(&mut scratch, &samples_pa, &DetectOptions::DNA, &mut events);
        let ranks: Vec<u32> = model.ranks(&read.bases).collect();
        let scaling = from_moments(&events.mean_pa, &ranks, &model);
        prepared.push(Prepared { events, ranks, scaling });
    }
    let samples: usize = reads.iter().map(|read| read.signal.samples.len()).sum();
    let mut events = Events::default();
    let seconds = cpu_seconds(|| {
        for read in (0..rounds).flat_map(|_| &reads) {
            samples_to_pa(&read.signal, &mut samples_pa);
            detect(&mut scratch, &samples_pa, &DetectOptions::DNA, &mut events);
        }
    });
    let each_ns = seconds * 1e9 / (samples as f64 * f64::from(rounds));
    println!("events: {each_ns:.1} ns a sample, {samples} samples");
    let cells: usize =
        prepared.iter().map(|it| (it.events.len() + it.ranks.len()) * BANDWIDTH).sum();
    for kernel in Kernel::available() {
        if only.as_ref().is_some_and(|only| only != kernel.name()) {
            continue;
        }
        let (mut scratch, mut pairs) = (AlignScratch::default(), Vec::new());
        let seconds = cpu_seconds(|| {
            for Prepared { events, ranks, scaling } in (0..rounds).flat_map(|_| &prepared) {
                let event_means_pa = &events.mean_pa;
                let input = BandedInput { event_means_pa, ranks, model: &model, scaling };
                // Whether there is an alignment does not matter here.
                let _ = align(&mut scratch, kernel, input, &mut pairs);
            }
        });
        let rate = cells as f64 * f64::from(rounds) / seconds / 1e6;
        println!("alignment, {}: {rate:.0} Mcell/s, {cells} cells", kernel.name());
    }
}
