//! Training on events that are drawn from a known model, without signal.

use proptest::prelude::*;
use seqloom_testkit::random::Random;

use super::*;
use crate::pore_model::{ModelRequest, builtin, text};

/// What a methylated 6-mer is apart from the bare one: a sum over places, so that what was not seen
/// can be known.
fn effect(kmer: &[u8]) -> f64 {
    let of_place = |(at, letter): (usize, &u8)| match letter {
        b'M' => {
            [0.5, -1.0, 3.0, 2.0, -0.5, 0.0][at] + if kmer.contains(&b'T') { 0.25 } else { 0.0 }
        }
        _ => 0.0,
    };
    kmer.iter().enumerate().map(of_place).sum()
}

/// The model of nanopolish with these effects, and deviations that are a fifth greater.
fn true_model(nucleotides: &PoreModel) -> PoreModel {
    let mut model = start(nucleotides, Motif::Cpg).unwrap();
    let mut kmer = Vec::new();
    for rank in 0..model.rows() {
        kmer.clear();
        model.alphabet.append_kmer(rank, 6, &mut kmer);
        if Motif::Cpg.fits(&kmer) {
            model.level_mean_pa[rank] += effect(&kmer);
        }
        model.level_stdv_pa[rank] *= if rank % 2 == 0 { 1.25 } else { 0.8 };
    }
    model
}

/// Sums of `events` of each k-mer that `is_seen`, a stay each, about the levels of `current`.
fn sums(
    truth: &PoreModel,
    current: &PoreModel,
    events: u32,
    is_seen: impl Fn(usize) -> bool,
) -> EventSums {
    let (mut random, mut sums) = (Random::new(5), EventSums::new(current, false));
    for rank in (0..truth.rows()).filter(|&rank| is_seen(rank)) {
        for _ in 0..events {
            let event = random.normal(truth.level_mean_pa[rank], truth.level_stdv_pa[rank]);
            let apart_pa = event - current.level_mean_pa[rank];
            let deviation = (apart_pa / current.level_stdv_pa[rank]) as f32;
            sums.add(&[Stay { rank: rank as u32, events: 1, deviation }], 1.0);
        }
    }
    sums
}

fn in_molecules(rank: usize) -> bool {
    let mut kmer = Vec::new();
    Alphabet::Methylated.append_kmer(rank, 6, &mut kmer);
    Motif::Cpg.fits(&kmer)
}

fn root_mean_square(of: impl Iterator<Item = f64>) -> f64 {
    let squares: Vec<f64> = of.map(|it| it * it).collect();
    (squares.iter().sum::<f64>() / squares.len() as f64).sqrt()
}

#[test]
fn kmers_are_trained_or_imputed_or_kept() {
    let nucleotides = builtin::r9_4_1_nucleotide().unwrap();
    let truth = true_model(&nucleotides);
    let current = start(&nucleotides, Motif::Cpg).unwrap();
    let is_seen = |rank: usize| in_molecules(rank) && !rank.is_multiple_of(3);
    let sums = sums(&truth, &current, 20, is_seen);
    let trained = train(&nucleotides, Motif::Cpg, &current, &sums, 10).unwrap();
    let is_marked = |&rank: &usize| {
        let letters = letters::Letters { motif: Motif::Cpg, kmer_length: 6 };
        letters.without(rank) != rank
    };
    let all: Vec<usize> = (0..truth.rows()).filter(is_marked).collect();
    let count = |is: &dyn Fn(usize) -> bool| all.iter().filter(|&&rank| is(rank)).count() as u64;
    let found = trained.methylated;
    assert_eq!(found.trained, count(&is_seen));
    assert_eq!(found.imputed, count(&|rank| in_molecules(rank) && rank % 3 == 0));
    assert_eq!(found.kept, count(&|rank| !in_molecules(rank)));
    assert!(found.trained > 500 && found.imputed > 250 && found.kept > 5_000, "{found:?}");
    let apart = |rank: usize| trained.model.level_mean_pa[rank] - truth.level_mean_pa[rank];
    let of = |is: &dyn Fn(usize) -> bool| {
        root_mean_square(all.iter().filter(|&&rank| is(rank)).map(|&rank| apart(rank)))
    };
    // Means of 20 events of deviations about 2 are 0.45 off; the regression knows more.
    let (of_trained, of_imputed) = (of(&is_seen), of(&|it| in_molecules(it) && it % 3 == 0));
    assert!(of_trained < 0.3, "{of_trained}");
    assert!(of_imputed < 0.3, "{of_imputed}");
    for &rank in all.iter().filter(|&&rank| !in_molecules(rank)) {
        assert_eq!(trained.model.level_mean_pa[rank], current.level_mean_pa[rank]);
    }
    let ratio = |rank: usize| trained.model.level_stdv_pa[rank] / truth.level_stdv_pa[rank];
    // Of 20 events, and of none.
    let of = |is: &dyn Fn(usize) -> bool| {
        root_mean_square(all.iter().filter(|&&rank| is(rank)).map(|&rank| ratio(rank) - 1.0))
    };
    let (of_trained, of_imputed) = (of(&is_seen), of(&|it| in_molecules(it) && it % 3 == 0));
    assert!(of_trained < 0.17 && of_imputed < 0.27, "{of_trained} {of_imputed}");
}

#[test]
fn events_weigh_more_the_more_there_are() {
    let nucleotides = builtin::r9_4_1_nucleotide().unwrap();
    let mut truth = true_model(&nucleotides);
    let current = start(&nucleotides, Motif::Cpg).unwrap();
    // What no regression can know.
    let mut random = Random::new(6);
    truth.level_mean_pa.iter_mut().for_each(|mean| *mean += random.normal(0.0, 2.0));
    let apart = |events| {
        let sums = sums(&truth, &current, events, in_molecules);
        let model = train(&nucleotides, Motif::Cpg, &current, &sums, 2).unwrap().model;
        let ranks = (0..truth.rows()).filter(|&rank| in_molecules(rank));
        root_mean_square(ranks.map(|it| model.level_mean_pa[it] - truth.level_mean_pa[it]))
    };
    let (few, many) = (apart(3), apart(300));
    // Deviations are about 2.2: the mean of three is 1.3 off, with what is known of it 1.1.
    assert!(few < 1.2 && many < 0.15, "{few} {many}");
}

#[test]
fn too_few_kmers_are_refused() {
    let nucleotides = builtin::r9_4_1_nucleotide().unwrap();
    let truth = true_model(&nucleotides);
    let current = start(&nucleotides, Motif::Cpg).unwrap();
    let t = |is_seen: &dyn Fn(usize) -> bool, min_events, part: &str| {
        let sums = sums(&truth, &current, 5, is_seen);
        let refused = train(&nucleotides, Motif::Cpg, &current, &sums, min_events);
        let said = refused.unwrap_err().to_string();
        assert!(said.contains(part), "{said}");
    };
    let letters = letters::Letters { motif: Motif::Cpg, kmer_length: 6 };
    t(&|_| false, 5, "0 k-mers without a methylated base have 5 events or more, and 300 are");
    t(&|rank| letters.without(rank) == rank, 5, "0 k-mers with the methylated base");
    t(&|rank| in_molecules(rank), 6, "have 6 events or more");
    t(&|rank| rank % 97 == 0, 5, "without a methylated base");
}

#[test]
fn a_trained_model_is_read_as_it_was_written() {
    let nucleotides = builtin::r9_4_1_nucleotide().unwrap();
    let truth = true_model(&nucleotides);
    let current = start(&nucleotides, Motif::Cpg).unwrap();
    let sums = sums(&truth, &current, 4, |rank| in_molecules(rank) && rank % 2 == 0);
    let trained = train(&nucleotides, Motif::Cpg, &current, &sums, 3).unwrap();
    let written = trained.text(&TrainingRecord { rounds: 7, min_events: 3 });
    let request = ModelRequest { motif: Some(Motif::Cpg), ..ModelRequest::default() };
    let read = text::parse(&written, &request).unwrap();
    assert_eq!((read.name.as_str(), read.chemistry), (&*trained.model.name, nucleotides.chemistry));
    assert_eq!((read.alphabet, read.kmer_length), (Alphabet::Methylated, 6));
    let is_near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 0.6e-5);
    assert!(is_near(&read.level_mean_pa, &trained.model.level_mean_pa));
    assert!(is_near(&read.level_stdv_pa, &trained.model.level_stdv_pa));
    let other = ModelRequest { motif: Some(Motif::Dam), ..ModelRequest::default() };
    assert!(text::parse(&written, &other).is_err());
    let written = String::from_utf8(written).unwrap();
    let MethylatedKmers { trained: with, imputed, kept } = trained.methylated;
    let line =
        format!("{with} trained (3 events or more), {imputed} imputed by regression, {kept}");
    assert!(written.contains(&line) && written.contains("7 rounds"), "{}", &written[..400]);
    let row = written.lines().find(|line| line.starts_with("AAAAAA\t")).unwrap();
    assert!(row.ends_with("\t4"), "{row}");
}

proptest! {
    /// Whatever events say, levels are numbers and deviations can be divided by.
    #[test]
    fn levels_are_usable_whatever_the_events(
        seed: u64,
        spread in prop::sample::select(vec![0.0, 1e-9, 1.0, 1e4]),
        kmer_length in 2_usize..4,
    ) {
        let rows = Alphabet::Nucleotide.rows(kmer_length).unwrap();
        let (means, stdvs) = (vec![80.0; rows], vec![2.0; rows]);
        let nucleotides =
            PoreModel::new(String::new(), Alphabet::Nucleotide, kmer_length, means, stdvs).unwrap();
        let current = start(&nucleotides, Motif::Cpg).unwrap();
        let mut random = Random::new(seed);
        let mut sums = EventSums::new(&current, seed.is_multiple_of(2));
        for _ in 0..2_000 {
            let rank = random.index(current.rows()) as u32;
            let deviation = random.normal(0.0, spread / 2.0) as f32;
            sums.add(&[Stay { rank, events: 1, deviation }], random.uniform(0.1, 2.0));
        }
        let trained = train(&nucleotides, Motif::Cpg, &current, &sums, 2);
        if let Ok(TrainedModel { model, .. }) = trained {
            prop_assert!(model.level_mean_pa.iter().all(|it| it.is_finite()));
            prop_assert!(model.level_stdv_pa.iter().all(|it| it.is_normal() && *it > 0.0));
        }
    }
}
