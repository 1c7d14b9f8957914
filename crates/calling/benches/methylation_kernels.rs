//! Methylation kernels alone, on a read that is made from the model.
//!
//! `cargo bench -p seqloom-calling --bench methylation_kernels -- [KERNEL] [ROUNDS]`
//!
//! KERNEL is `score`: all CpG groups of the read; `definition`: the same by the plain recurrence;
//! `table`: its events along the reference, and their text. Prints CPU time for each event and each
//! call. Where timing is noisy, count instructions: run the program that `cargo bench --no-run`
//! names under `valgrind --tool=callgrind` with one kernel and one round.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used)]

use seqloom_calling::bench::{MadeRead, Windows};
use seqloom_runtime::machine;

const READ_BASES: usize = 20_000;

/// Numbers from a seed (PCG's multiplier).
struct Seeded(u64);

impl Seeded {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (self.0 >> 33) % bound
    }
}

/// CPU seconds of the process so far.
fn cpu_s() -> f64 {
    machine::usage().cpu.as_secs_f64()
}

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let kernel = arguments.next();
    let rounds: usize = arguments.next().map_or(20, |rounds| rounds.parse().expect("a number"));
    let requested = |name: &str| kernel.as_deref().is_none_or(|kernel| kernel == name);
    let mut random = Seeded(1);
    let bases: Vec<u8> = (0..READ_BASES).map(|_| b"ACGT"[random.below(4) as usize]).collect();
    let read = MadeRead::new(bases, &mut |bound| random.below(bound)).unwrap();
    if requested("score") {
        score_read(&read, rounds);
    }
    if requested("definition") {
        score_by_definition(&read, 100 * rounds);
    }
    if requested("table") {
        table_of_read(&read, rounds);
    }
}

fn score_read(read: &MadeRead, rounds: usize) {
    let start = cpu_s();
    let calls = read.call(rounds);
    let each = (cpu_s() - start) * 1e6 / (rounds * calls) as f64;
    println!("score: {calls} calls, {each:.2} us each");
}

/// Windows of the size of one CpG, by the recurrence and by vectors.
fn score_by_definition(read: &MadeRead, rounds: usize) {
    let windows = read.windows();
    let start = cpu_s();
    let by_vectors = windows.by_vectors(rounds);
    let middle = cpu_s();
    let by_definition = windows.by_definition(rounds);
    let per = 1e6 / (rounds * Windows::COUNT) as f64;
    let (vectors, definition) = ((middle - start) * per, (cpu_s() - middle) * per);
    println!("definition: {definition:.2} us a window, {by_definition:.4}");
    println!("vectors: {vectors:.2} us a window, {by_vectors:.4}");
}

fn table_of_read(read: &MadeRead, rounds: usize) {
    let start = cpu_s();
    let tables: Vec<_> = (0..rounds).map(|_| read.walk()).collect();
    let middle = cpu_s();
    let rows = tables[0].rows();
    let bytes = tables[0].write(rounds);
    let per = 1e9 / (rounds * rows) as f64;
    let (walk, write) = ((middle - start) * per, (cpu_s() - middle) * per);
    println!(
        "table: {rows} events, {walk:.0} ns each to align, {write:.0} to write, {bytes} bytes"
    );
}
