//! Methylation kernels alone, on a read that is made from the model.
//!
//! `cargo bench -p seqloom-signal --bench methylation_kernels -- [score|definition|table] [ROUNDS]`
//!
//! `score`: all CpG groups of the read; `definition`: the same by the plain recurrence; `table`:
//! its events along the reference, and their text. Prints CPU time for each event and each call.
//! Where timing is noisy, count instructions: run the program that `cargo bench --no-run` names
//! under `valgrind --tool=callgrind` with one kernel and one round.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used)]

use seqloom_calling::aligned_read::{AlignedRead, AlignedSignal};
use seqloom_calling::eventalign::table::{TableOptions, TableRead, push_rows};
use seqloom_calling::eventalign::{WalkScratch, align};
use seqloom_calling::events::{EventRange, Events, ReadEvents, Scaling};
use seqloom_calling::hmm::kmers::{Molecule, push_ranks};
use seqloom_calling::hmm::score::{LANES, Levels, Question, ScoreScratch, in_logarithms, score};
use seqloom_calling::hmm::{Clipping, ScaledLevel, Transitions};
use seqloom_calling::methylation::call::{CallOptions, CallScratch, call_read};
use seqloom_calling::pore_model::{PoreModel, builtin};
use seqloom_runtime::machine;

const READ_BASES: usize = 20_000;

/// Numbers from a seed (PCG's multiplier).
struct Seeded(u64);

impl Seeded {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (self.0 >> 33) % bound
    }

    /// Near enough to a normal deviate: the sum of twelve uniform ones.
    fn normal(&mut self) -> f32 {
        (0..12).map(|_| self.below(1 << 20) as f32 / (1 << 20) as f32).sum::<f32>() - 6.0
    }
}

/// Bases and events of an unmethylated read without errors.
fn made_read(model: &PoreModel) -> (Vec<u8>, ReadEvents) {
    let mut random = Seeded(1);
    let bases: Vec<u8> = (0..READ_BASES).map(|_| b"ACGT"[random.below(4) as usize]).collect();
    let mut ranks = Vec::new();
    let molecule = Molecule { is_reverse: false, is_methylated: false };
    push_ranks(&bases, molecule, model.alphabet, model.kmer_length, &mut ranks);
    let mut events = Events::default();
    let mut of_kmer = Vec::new();
    let mut sample = 0;
    for rank in ranks {
        let first = events.mean_pa.len() as u32;
        for _ in 0..=random.below(3) + random.below(10) / 9 {
            events.start_samples.push(sample);
            events.length_samples.push(5.0);
            let stdv_pa = model.level_stdv_pa[rank as usize] * f64::from(random.normal());
            events.mean_pa.push((model.level_mean_pa[rank as usize] + stdv_pa) as f32);
            events.stdv_pa.push(1.0);
            sample += 5;
        }
        let last = events.mean_pa.len() as u32 - 1;
        of_kmer.push(EventRange { first, last });
    }
    let events_per_base = events.mean_pa.len() as f64 / bases.len() as f64;
    let scaling = Scaling { shift_pa: 0.0, scale: 1.0, var: 1.2 };
    (bases, ReadEvents { events, of_kmer, scaling, events_per_base })
}

/// CPU seconds of the process so far.
fn cpu_s() -> f64 {
    machine::usage().cpu.as_secs_f64()
}

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let kernel = arguments.next();
    let rounds: usize = arguments.next().map_or(20, |rounds| rounds.parse().expect("a number"));
    let wanted = |name: &str| kernel.as_deref().is_none_or(|kernel| kernel == name);
    let (nucleotide, cpg) = (builtin::r9_4_1_nucleotide().unwrap(), builtin::r9_4_1_cpg().unwrap());
    let (bases, events) = made_read(&nucleotide);
    let pairs: Vec<(u32, u32)> = (0..bases.len() as u32).map(|at| (at, at)).collect();
    let read = AlignedRead {
        name: b"read",
        contig: b"chr1",
        start: 0,
        is_reverse: false,
        sequence: &bases,
        reference: &bases,
        pairs: &pairs,
    };
    if wanted("score") {
        score_read(&read, &events, &cpg, rounds);
    }
    if wanted("definition") {
        score_by_definition(&bases, &events, &cpg, rounds);
    }
    if wanted("table") {
        table_of_read(&read, &events, &nucleotide, rounds);
    }
}

fn score_read(read: &AlignedRead<'_>, events: &ReadEvents, model: &PoreModel, rounds: usize) {
    let (mut scratch, mut calls) = (CallScratch::default(), Vec::new());
    let signal = AlignedSignal { read, events };
    let start = cpu_s();
    for _ in 0..rounds {
        calls.clear();
        call_read(&mut scratch, signal, model, &CallOptions::default(), &mut calls);
    }
    let each = (cpu_s() - start) * 1e6 / (rounds * calls.len()) as f64;
    println!("score: {} calls, {each:.2} us each", calls.len());
}

/// Eight windows of the size of one CpG, by the recurrence and by vectors.
fn score_by_definition(bases: &[u8], events: &ReadEvents, model: &PoreModel, rounds: usize) {
    let transitions = Transitions::new(events.events_per_base);
    let mut ranks = Vec::new();
    let molecule = Molecule { is_reverse: false, is_methylated: false };
    push_ranks(bases, molecule, model.alphabet, model.kmer_length, &mut ranks);
    let scaled = |rank: &u32| ScaledLevel::of(model, *rank, &events.scaling, 0.0);
    let levels: Vec<_> = ranks.iter().map(scaled).collect();
    let question = |at: usize| {
        let first = events.of_kmer[at].first as usize;
        let last = events.of_kmer[at + 15].last as usize;
        let mean_pa = &events.events.mean_pa[first..=last];
        Question { levels: Levels { mean_pa, backwards: false }, kmers: &levels[at..at + 16] }
    };
    let questions: [Question<'_>; LANES] = std::array::from_fn(|lane| question(1000 * (lane + 1)));
    let mut scratch = ScoreScratch::default();
    let (mut by_vectors, mut by_definition) = (0.0, 0.0);
    let start = cpu_s();
    for _ in 0..rounds * 100 {
        by_vectors =
            score(&mut scratch, &questions, &transitions, Clipping::BOTH).iter().sum::<f64>();
    }
    let middle = cpu_s();
    for _ in 0..rounds * 100 {
        let each = |question| in_logarithms(question, &transitions, Clipping::BOTH);
        by_definition = questions.iter().map(each).sum::<f64>();
    }
    let per = 1e6 / (rounds * 100 * LANES) as f64;
    let (vectors, definition) = ((middle - start) * per, (cpu_s() - middle) * per);
    println!("definition: {definition:.2} us a window, {by_definition:.4}");
    println!("vectors: {vectors:.2} us a window, {by_vectors:.4}");
}

fn table_of_read(read: &AlignedRead<'_>, events: &ReadEvents, model: &PoreModel, rounds: usize) {
    let (mut scratch, mut rows, mut text) = (WalkScratch::default(), Vec::new(), Vec::new());
    let start = cpu_s();
    for _ in 0..rounds {
        rows.clear();
        align(&mut scratch, AlignedSignal { read, events }, model, None, &mut rows);
    }
    let middle = cpu_s();
    let samples_pa = &[];
    let table = TableRead { read, index: 0, events, model, sample_rate_hz: 4000.0, samples_pa };
    for _ in 0..rounds {
        text.clear();
        push_rows(&table, &rows, &TableOptions::default(), &mut text);
    }
    let per = 1e9 / (rounds * rows.len()) as f64;
    let (walk, write) = ((middle - start) * per, (cpu_s() - middle) * per);
    println!("table: {} events, {walk:.0} ns each to align, {write:.0} to write", rows.len());
}
