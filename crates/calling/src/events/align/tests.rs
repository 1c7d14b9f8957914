//! The scalar kernel against the definition, the others against the scalar one.

use std::collections::HashMap;

use seqloom_format::signal::SignalRead;
use seqloom_testkit::random::Random;
use seqloom_testkit::skip;

use super::operands::Transitions;
use super::trace::CellTrace;
use super::*;
use crate::events::detect::{DetectOptions, DetectScratch, detect, samples_to_pa};
use crate::events::scaling::from_moments;
use crate::events::{Events, Scaling};
use crate::pore_model::{PoreModel, builtin};

/// What is aligned.
struct Problem {
    events_pa: Vec<f32>,
    ranks: Vec<u32>,
    scaling: Scaling,
}

impl Problem {
    fn input<'a>(&'a self, model: &'a PoreModel) -> BandedInput<'a> {
        let Self { events_pa, ranks, scaling } = self;
        BandedInput { event_means_pa: events_pa, ranks, model, scaling }
    }
}

/// A kernel's work: bits of all cells, places of bands, best end.
#[derive(PartialEq)]
struct Filled {
    cells: Vec<[CellTrace; BANDWIDTH]>,
    first_events: Vec<i32>,
    best: Option<usize>,
}

fn filled(kernel: Kernel, problem: &Problem, model: &PoreModel) -> Filled {
    let (mut operands, mut trace) = (Operands::default(), Trace::default());
    operands.fill(problem.input(model)).unwrap();
    let best = fill(kernel, &operands, &mut trace);
    let cells = trace.bands.iter().map(|band| std::array::from_fn(|cell| band.get(cell)));
    Filled { cells: cells.collect(), first_events: trace.first_events, best }
}

fn assert_kernels_agree(problem: &Problem, model: &PoreModel, name: &str) {
    let expected = filled(Kernel::Scalar, problem, model);
    for kernel in Kernel::available() {
        // Not `assert_eq`: a difference would print megabytes.
        assert!(filled(kernel, problem, model) == expected, "{kernel:?}: {name}");
    }
}

/// Events of random bases with stays, skips and noise; sometimes nothing but noise.
fn random_problem(random: &mut Random, model: &PoreModel) -> Problem {
    let longest = random.pick(&[3, 40, 120, 400]);
    let bases: Vec<u8> =
        (0..random.between(6, 6 + longest)).map(|_| random.pick(b"ACGT")).collect();
    let ranks: Vec<u32> = model.ranks(&bases).collect();
    let scaling = Scaling {
        shift_pa: random.between(0, 40) as f64 - 20.0,
        scale: 0.8 + 0.01 * random.between(0, 40) as f64,
        var: 1.0,
    };
    let (noise_pa, stay, skip) =
        (random.between(0, 8) as f64, random.between(0, 80), random.between(0, 30));
    let is_noise = random.percent(10);
    let mut events_pa = Vec::new();
    let uniform = |random: &mut Random| random.below(2001) as f64 / 1000.0 - 1.0;
    for &rank in &ranks {
        if random.percent(skip) && !events_pa.is_empty() {
            continue;
        }
        loop {
            let level = model.level_mean_pa[rank as usize];
            let level = if is_noise { 90.0 + 30.0 * uniform(random) } else { level };
            let level = scaling.scale * level + scaling.shift_pa + noise_pa * uniform(random);
            // Levels of few digits make scores that are equal.
            events_pa.push(if random.percent(50) { level.round() } else { level } as f32);
            if !random.percent(stay) {
                break;
            }
        }
    }
    Problem { events_pa, ranks, scaling }
}

#[test]
fn kernels_agree_on_random_reads() {
    println!("kernels of the banded alignment: {:?}", Kernel::available().collect::<Vec<_>>());
    let model = builtin::r9_4_1_nucleotide().unwrap();
    let mut random = Random::new(1);
    let count = if skip::slow_tests() { 10_000 } else { 400 };
    let mut ended = 0;
    for number in 0..count {
        let problem = random_problem(&mut random, &model);
        assert_kernels_agree(&problem, &model, &format!("problem {number}"));
        ended += usize::from(filled(Kernel::Scalar, &problem, &model).best.is_some());
    }
    assert!(ended > count / 2, "{ended} of {count} reach their last k-mer");
}

#[test]
fn kernels_agree_on_extremes() {
    let model = builtin::r9_4_1_nucleotide().unwrap();
    let ranks: Vec<u32> = model.ranks(&[b"ACGTTGCA".as_slice(); 40].concat()).collect();
    let level = |at: usize| model.level_mean_pa[ranks[at % ranks.len()] as usize] as f32;
    let levels = |count: usize| (0..count).map(level).collect::<Vec<_>>();
    let scaling = Scaling::default();
    let t = |events_pa: Vec<f32>, kmers: usize, name: &str| {
        let problem = Problem { events_pa, ranks: ranks[..kmers].to_vec(), scaling };
        assert_kernels_agree(&problem, &model, name);
    };
    t(levels(1), 1, "one of each");
    t(levels(300), 1, "one k-mer");
    t(levels(1), 300, "one event");
    t(levels(3000), 300, "ten events a k-mer");
    t(levels(20), 300, "fifteen k-mers an event");
    t(vec![1e20; 300], 300, "squares beyond 32 bits");
    t(vec![-1e38; 300], 300, "differences beyond 32 bits");
    t(vec![f32::MIN_POSITIVE; 300], 300, "nothing");
}

/// Scores of cells by event and k-mer; cells that are not there are impossible.
type Scores = HashMap<(i32, i32), f32>;

/// The recurrence and the rule of the band, cell by cell, with cells found by their event and k-mer
/// and nothing else in common with the kernels.
fn by_definition(
    problem: &Problem,
    model: &PoreModel,
) -> (Vec<i32>, Option<usize>, Vec<(i32, i32)>) {
    let (events, kmers) = (problem.events_pa.len() as i32, problem.ranks.len() as i32);
    let mut operands = Operands::default();
    operands.fill(problem.input(model)).unwrap();
    let (mut scores, mut came_from) = (Scores::new(), HashMap::new());
    let trim = |count: i32| (0.01_f64.ln() * f64::from(count)) as f32;
    scores.insert((-1, -1), 0.0_f32);
    scores.insert((0, -1), trim(1));
    let (mut first, mut first_events) =
        ((BANDWIDTH as i32 / 2, -1 - BANDWIDTH as i32 / 2), vec![0, 0]);
    for band in 2..events + kmers + 2 {
        let get = |scores: &Scores, event, kmer| {
            *scores.get(&(event, kmer)).unwrap_or(&f32::NEG_INFINITY)
        };
        let far = BANDWIDTH as i32 - 1;
        let low = get(&scores, first.0, first.1);
        let high = get(&scores, first.0 - far, first.1 + far);
        let none = f32::NEG_INFINITY;
        let right = if low == none && high == none { band % 2 == 1 } else { low < high };
        first = if right { (first.0, first.1 + 1) } else { (first.0 + 1, first.1) };
        first_events.push(first.0);
        for cell in 0..BANDWIDTH as i32 {
            let (event, kmer) = (first.0 - cell, first.1 + cell);
            if !(0..events).contains(&event) || !(-1..kmers).contains(&kmer) {
                continue;
            }
            if kmer == -1 {
                scores.insert((event, kmer), trim(event + 1));
                continue;
            }
            let emission = operands.log_emission(event as usize, kmer as usize);
            let Transitions { step, stay, skip } = operands.transitions;
            let moved = |(event, kmer), log_probability: f64, emission: f32| {
                let before = f64::from(get(&scores, event, kmer));
                (before + log_probability + f64::from(emission)) as f32
            };
            let step = moved((event - 1, kmer - 1), step, emission);
            let stay = moved((event - 1, kmer), stay, emission);
            let skip = moved((event, kmer - 1), skip, 0.0);
            let candidates = [(step, (1, 1)), (stay, (1, 0)), (skip, (0, 1))];
            let best =
                candidates.into_iter().reduce(|a, b| if b.0 >= a.0 { b } else { a }).unwrap();
            scores.insert((event, kmer), best.0);
            came_from.insert((event, kmer), best.1);
        }
    }
    let mut best = (f32::NEG_INFINITY, None);
    for event in 0..events {
        let score = *scores.get(&(event, kmers - 1)).unwrap_or(&f32::NEG_INFINITY);
        let score = operands.ended(score, event);
        if score > best.0 {
            best = (score, Some(event as usize));
        }
    }
    let mut path = Vec::new();
    let mut at = (best.1.map_or(-1, |event| event as i32), kmers - 1);
    while at.0 >= 0 && at.1 >= 0 {
        path.push(at);
        let (event, kmer) = came_from[&at];
        at = (at.0 - event, at.1 - kmer);
    }
    path.reverse();
    (first_events, best.1, path)
}

#[test]
fn the_scalar_kernel_is_the_definition() {
    let model = builtin::r9_4_1_nucleotide().unwrap();
    let mut random = Random::new(2);
    for number in 0..60 {
        let problem = random_problem(&mut random, &model);
        let (first_events, best, path) = by_definition(&problem, &model);
        let filled = filled(Kernel::Scalar, &problem, &model);
        assert_eq!(filled.best, best, "problem {number}");
        assert_eq!(filled.first_events[2..], first_events[2..], "problem {number}");
        let mut pairs = Vec::new();
        let scratch = &mut AlignScratch::default();
        let aligned = align(scratch, Kernel::Scalar, problem.input(&model), &mut pairs);
        if aligned.is_ok() {
            let pairs: Vec<_> = pairs.iter().map(|it| (it.event as i32, it.kmer as i32)).collect();
            assert_eq!(pairs, path, "problem {number}");
        }
    }
}

#[test]
fn perfect_events_are_aligned_as_they_were_made() {
    let model = builtin::r9_4_1_nucleotide().unwrap();
    let mut random = Random::new(3);
    let bases: Vec<u8> = (0..2000).map(|_| random.pick(b"ACGT")).collect();
    let ranks: Vec<u32> = model.ranks(&bases).collect();
    let events_pa: Vec<f32> =
        ranks.iter().flat_map(|&rank| [model.level_mean_pa[rank as usize] as f32; 2]).collect();
    for kernel in Kernel::available() {
        let (mut scratch, mut pairs) = (AlignScratch::default(), Vec::new());
        let (event_means_pa, scaling) = (&events_pa[..], &Scaling::default());
        let input = BandedInput { event_means_pa, ranks: &ranks, model: &model, scaling };
        align(&mut scratch, kernel, input, &mut pairs).unwrap();
        // Neighbours of nearly one level may share their four events in another way.
        let off_by = |pair: &&AlignedPair| pair.kmer.abs_diff(pair.event / 2);
        assert!(pairs.iter().all(|pair| off_by(&pair) <= 1), "{kernel:?}");
        let exact = pairs.iter().filter(|pair| off_by(pair) == 0).count();
        assert!(exact * 100 > 95 * events_pa.len(), "{kernel:?}: {exact}");
    }
}

#[test]
fn what_does_not_fit_is_no_alignment() {
    let model = builtin::r9_4_1_nucleotide().unwrap();
    let mut random = Random::new(4);
    let bases: Vec<u8> = (0..500).map(|_| random.pick(b"ACGT")).collect();
    let ranks: Vec<u32> = model.ranks(&bases).collect();
    let perfect: Vec<f32> =
        ranks.iter().map(|&it| model.level_mean_pa[it as usize] as f32).collect();
    let t = |events_pa: &[f32], ranks: &[u32], expected: NoAlignment| {
        for kernel in Kernel::available() {
            let (mut scratch, mut pairs) = (AlignScratch::default(), Vec::new());
            let (event_means_pa, scaling) = (events_pa, &Scaling::default());
            let input = BandedInput { event_means_pa, ranks, model: &model, scaling };
            let aligned = align(&mut scratch, kernel, input, &mut pairs);
            assert_eq!(aligned, Err(expected), "{kernel:?}");
        }
    };
    t(&[], &ranks, NoAlignment::Nothing);
    t(&perfect, &[], NoAlignment::Nothing);
    t(&vec![400.0; 500], &ranks, NoAlignment::Unlikely);
    // One event and sixty equal k-mers: fifty-nine must be skipped.
    t(&perfect[..1], &[ranks[0]; 60], NoAlignment::Gap);
    t(&[f32::NAN; 500], &ranks, NoAlignment::NotFinite);
    t(&[f32::INFINITY; 500], &ranks, NoAlignment::NotFinite);
}

#[test]
fn kernels_agree_on_real_reads() {
    let Some(folder) = skip::data("nanopore/f5c_ecoli_2kb/ecoli_2kb_region") else { return };
    let fasta = std::fs::read_to_string(folder.join("reads.fasta")).unwrap();
    let model = builtin::r9_4_1_nucleotide().unwrap();
    let (mut samples_pa, mut events) = (Vec::new(), Events::default());
    let mut count = 0;
    for entry in std::fs::read_dir(folder.join("fast5_files")).unwrap() {
        let read = first_read(&entry.unwrap().path());
        let name = String::from_utf8(read.read_id.clone()).unwrap();
        let record = fasta.split('>').find(|record| record.starts_with(&name)).unwrap();
        let bases: String = record.split_once('\n').unwrap().1.split_whitespace().collect();
        samples_to_pa(&read, &mut samples_pa);
        detect(&mut DetectScratch::default(), &samples_pa, &DetectOptions::DNA, &mut events);
        let ranks: Vec<u32> = model.ranks(bases.as_bytes()).collect();
        let scaling = from_moments(&events.mean_pa, &ranks, &model);
        let problem = Problem { events_pa: events.mean_pa.clone(), ranks, scaling };
        assert_kernels_agree(&problem, &model, &name);
        count += 1;
    }
    assert_eq!(count, 112);
}

fn first_read(path: &std::path::Path) -> SignalRead {
    use seqloom_signal::store::{Cursor, DecodeScratch, FrameBatch, OpenOptions, open};
    let store = open(path, &OpenOptions::default()).unwrap();
    let (mut batch, mut read) = (FrameBatch::default(), SignalRead::default());
    assert!(store.next(&mut Cursor::default(), &mut batch).unwrap());
    store.decode(&mut DecodeScratch::default(), &batch, &batch.frames[0], &mut read).unwrap();
    read
}
