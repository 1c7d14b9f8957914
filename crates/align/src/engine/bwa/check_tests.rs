//! Our records against the library's over many simulated reads: genome, options and reads of a
//! check follow from its seed. `checks.tsv` logs checks that the library agreed to, with a digest
//! of the records, so that a later version of the engine is compared without the library.
//!
//! `SEQLOOM_CHECKS=FIRST-LAST cargo test --release -p seqloom-align --lib slow_checks --
//! --nocapture` prints lines for the log. A change of the simulator requires a new log.

use std::fmt::Write as _;

use md5::{Digest as _, Md5};
use seqloom_testkit::genome::{Genome, GenomeOptions};
use seqloom_testkit::reads::{ReadOptions, Simulator, Template};

use super::certified_tests::{Dice, hostile_genome, pair, reads_at};
use super::emission_tests::{Owned, compare, hostile_pairs, indexed, read, records};
use super::oracle::Compared;
use super::*;
use crate::engine::Ordinals;
use crate::index::IndexPaths;

/// What was checked: seed, reads, MD5 of the records.
const LOG: &str = include_str!("checks.tsv");

/// A check that `make test` can afford.
const SHORT_READS: usize = 20_000;
/// One of those that add up to many.
const LONG_READS: usize = 1_000_000;

/// A tenth of the checks are short.
fn reads_of(seed: u64) -> usize {
    if seed.is_multiple_of(10) { SHORT_READS } else { LONG_READS }
}

/// What the reads of a check are made of.
enum Source {
    /// Copies at every distance, and where they are.
    Hostile(Vec<[usize; 2]>),
    /// Repeats as in the human genome.
    Simulated(ReadOptions),
}

/// A check: what follows from a seed.
struct Check {
    dice: Dice,
    genome: Genome,
    source: Source,
    options: BwaOptions,
    alternates: Vec<usize>,
    /// Whether the engine has the table of strings.
    with_table: bool,
    ordinals: Ordinals,
}

impl Check {
    fn new(seed: u64) -> Self {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        // The first numbers of a seed with few bits are alike.
        for _ in 0..20 {
            dice.below(2);
        }
        let (genome, source) = if dice.below(4) == 0 {
            let (genome, spots) = hostile_genome(&mut dice);
            (genome, Source::Hostile(spots))
        } else {
            let length_bp = 100_000 + dice.below(1_500_000);
            let options = GenomeOptions { seed, length_bp, contigs: 1 + dice.below(4) };
            (Genome::simulate(&options).unwrap(), Source::Simulated(read_options(&mut dice, seed)))
        };
        let options = if dice.below(2) == 0 { BwaOptions::default() } else { drawn(&mut dice) };
        let has_alternate = genome.contigs.len() > 1 && dice.below(5) == 0;
        let alternates = has_alternate.then(|| dice.below(genome.contigs.len()));
        let first = [0, 1 << 23, 1 << 24, 1 << 31, 1 << 40][dice.below(5)];
        Self {
            with_table: dice.below(4) > 0,
            ordinals: Ordinals { first_pair: first, first_single: first },
            alternates: alternates.into_iter().collect(),
            dice,
            genome,
            source,
            options,
        }
    }

    fn engine(&self) -> Compared {
        let here = indexed(&self.genome, &self.alternates);
        let prefix = here.path().join("genome.fa");
        let mut engine = Compared::load(&prefix, &self.options);
        if self.with_table {
            // Where options forbid the certified path, the engine says so, and goes without.
            let _ = engine.engine.certify(&IndexPaths::new(&prefix).fast(), Arc::default());
        }
        engine
    }

    /// Calls `each` with every cohort of the check's reads, by batches.
    fn for_each_cohort(self, reads: usize, mut each: impl FnMut(&[EngineReads<'_>])) {
        let Self { mut dice, genome, source, .. } = self;
        let mut left = reads;
        match source {
            Source::Hostile(spots) => {
                while left > 0 {
                    let singles = left.min(1 + dice.below(500));
                    let pairs = (left - singles).div_euclid(2).min(1000 + dice.below(4000));
                    left -= singles + 2 * pairs;
                    let pairs = hostile_pairs(&mut dice, &genome, &spots, pairs);
                    let singles = reads_at(&mut dice, &genome, &spots, singles);
                    let owned = |bases| Owned { bases, qualities: None };
                    let singles: Vec<_> = singles.into_iter().map(owned).collect();
                    let mut cohort: Vec<_> = pairs.chunks(256).map(batch_of_pairs).collect();
                    cohort.extend(singles.chunks(512).map(|some| EngineReads {
                        pairs: vec![],
                        singles: some.iter().map(|it| read(b"single", it)).collect(),
                    }));
                    each(&cohort);
                }
            }
            Source::Simulated(options) => {
                let mut simulator = Simulator::new(&genome, &options).unwrap();
                let mates = 1 + usize::from(options.paired);
                while left > 0 {
                    let count = (left / mates).max(1).min(2000 + dice.below(20_000));
                    let next = std::iter::from_fn(|| simulator.next_template().cloned());
                    let templates: Vec<_> = next.take(count).collect();
                    left = left.saturating_sub(mates * count);
                    let cohort: Vec<_> = templates
                        .chunks(256)
                        .map(|some| batch_of_templates(some, options.paired))
                        .collect();
                    each(&cohort);
                }
            }
        }
    }
}

fn batch_of_pairs(pairs: &[[Owned; 2]]) -> EngineReads<'_> {
    EngineReads {
        pairs: pairs.iter().map(|it| it.each_ref().map(|mate| read(b"pair", mate))).collect(),
        singles: vec![],
    }
}

fn batch_of_templates(templates: &[Template], paired: bool) -> EngineReads<'_> {
    let mates = templates.iter().map(pair);
    if paired {
        EngineReads { pairs: mates.collect(), singles: vec![] }
    } else {
        EngineReads { pairs: vec![], singles: mates.map(|[read, _]| read).collect() }
    }
}

/// Kinds of reads: of any length that short reads have, with few errors or many.
fn read_options(dice: &mut Dice, seed: u64) -> ReadOptions {
    let length_min_bp = [30, 36, 50, 75, 100, 101, 125, 150, 150, 151, 250, 400][dice.below(12)];
    let errors = [0.0, 0.5, 1.0, 1.0, 4.0, 12.0][dice.below(6)];
    let share = |dice: &mut Dice| [0.0, 0.01, 0.01, 0.1][dice.below(4)];
    ReadOptions {
        seed,
        templates: u64::MAX,
        paired: dice.below(5) > 0,
        length_min_bp,
        length_max_bp: length_min_bp + [0, 0, 1, 80][dice.below(4)],
        insert_mean_bp: [180.0, 400.0, 400.0, 900.0][dice.below(4)],
        insert_sd_bp: [5.0, 60.0, 60.0, 200.0][dice.below(4)],
        error_first: 0.001 * errors,
        error_last: 0.008 * errors,
        indel_rate: [0.0, 0.0003, 0.003][dice.below(3)],
        chimera_share: share(dice),
        adapter_share: share(dice),
        unmappable_share: share(dice),
        ..ReadOptions::default()
    }
}

/// A value in one of four cases.
fn some<T>(dice: &mut Dice, value: impl FnOnce(&mut Dice) -> T) -> Option<T> {
    (dice.below(4) == 0).then(|| value(dice))
}

/// Options, a quarter of which are not the defaults.
fn drawn(dice: &mut Dice) -> BwaOptions {
    let from = |least: i32, most: i32| {
        move |dice: &mut Dice| least + dice.below((most - least + 1) as usize) as i32
    };
    let two = |least, most| move |dice: &mut Dice| [(); 2].map(|()| from(least, most)(dice));
    BwaOptions {
        min_seed_length: some(dice, from(10, 32)),
        band_width: some(dice, from(1, 200)),
        max_occurrences: some(dice, from(1, 1000)),
        reseeding_factor: some(dice, |dice| 1.0 + dice.below(20) as f32 / 10.0),
        third_round_occurrences: some(dice, from(0, 60)),
        min_chain_weight: some(dice, from(0, 60)),
        drop_ratio: some(dice, |dice| dice.below(10) as f32 / 10.0),
        z_drop: some(dice, from(0, 200)),
        mismatch_penalty: some(dice, from(1, 9)),
        gap_open: some(dice, two(0, 20)),
        gap_extend: some(dice, two(1, 4)),
        clip_penalty: some(dice, two(0, 30)),
        unpaired_penalty: some(dice, from(0, 60)),
        min_output_score: some(dice, from(0, 80)),
        xa_hits: some(dice, two(0, 200)),
        soft_clip_supplementary: dice.below(4) == 0,
        mark_split_secondary: dice.below(4) == 0,
        preset: some(dice, |dice| [Preset::Intractg, Preset::Pacbio, Preset::Ont2d][dice.below(3)]),
        insert_size: some(dice, |dice| {
            let [mean, deviation] = [100 + dice.below(900), dice.below(200)];
            format!("{mean},{deviation}").parse().unwrap()
        }),
    }
}

/// MD5 of the records of a check, in order, each with its length before it.
#[derive(Default)]
struct Sum(Md5);

impl Sum {
    fn add(&mut self, body: &[u8]) {
        self.0.update((body.len() as u32).to_le_bytes());
        self.0.update(body);
    }

    fn text(self) -> String {
        self.0.finalize().iter().fold(String::new(), |mut text, byte| {
            write!(text, "{byte:02x}").unwrap();
            text
        })
    }
}

/// The records' digest, once the library agreed to each of them.
fn agreed(seed: u64, reads: usize) -> String {
    let check = Check::new(seed);
    let (engine, ordinals, mut sum) = (check.engine(), check.ordinals, Sum::default());
    check.for_each_cohort(reads, |cohort| {
        compare(&engine, cohort, ordinals, |body| sum.add(body));
    });
    sum.text()
}

/// The records' digest by our engine alone.
fn of_ours(seed: u64, reads: usize) -> String {
    let check = Check::new(seed);
    let (engine, ordinals, mut sum) = (check.engine(), check.ordinals, Sum::default());
    check.for_each_cohort(reads, |cohort| {
        let found = records(&engine, cohort, ordinals).0;
        found.iter().flat_map(|bodies| &bodies.0).for_each(|(_, body)| sum.add(body));
    });
    sum.text()
}

/// SeedInterval, reads and digest of every line of the log.
fn log() -> impl Iterator<Item = (u64, usize, &'static str)> {
    LOG.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let [seed, reads, digest] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("not a line of the log: {line}");
        };
        (seed.parse().unwrap(), reads.parse().unwrap(), digest)
    })
}

#[test]
fn logged_checks_give_the_same_records() {
    let few = if std::env::var_os("SEQLOOM_SLOW").is_some() { 12 } else { 3 };
    let short: Vec<_> = log().filter(|&(_, reads, _)| reads == SHORT_READS).collect();
    assert!(short.len() >= 3);
    for &(seed, reads, digest) in short.iter().take(few) {
        assert_eq!(of_ours(seed, reads), digest, "seed {seed}");
    }
}

/// Seeds that the log does not have, or those that are named, with the library.
#[test]
fn slow_checks_against_the_library() {
    let after = log().map(|(seed, ..)| seed).max().unwrap_or(0) + 1;
    let seeds = match std::env::var("SEQLOOM_CHECKS") {
        Ok(named) => {
            let (first, last) = named.split_once('-').unwrap();
            first.parse().unwrap()..last.parse::<u64>().unwrap() + 1
        }
        Err(_) if std::env::var_os("SEQLOOM_SLOW").is_some() => after..after + 3,
        // One of the log, for the library's share.
        Err(_) => 10..11,
    };
    for seed in seeds {
        let reads = reads_of(seed);
        let digest = agreed(seed, reads);
        println!("{seed}\t{reads}\t{digest}");
        if let Some((.., logged)) = log().find(|&(it, ..)| it == seed) {
            assert_eq!(digest, logged, "seed {seed}");
        }
    }
}
