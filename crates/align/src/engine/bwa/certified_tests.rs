//! The regions of the certified path against those of the library's own search.

use seqloom_testkit::genome::{Contig, Genome, GenomeOptions};
use seqloom_testkit::reads::{ReadOptions, Simulator, Template};

use super::oracle::Compared;
use super::oracle::library::Scratch;
use super::*;
use crate::engine::Read;
use crate::engine::bwa::certified::CertifiedOutcome;
use crate::index::{BuildOptions, IndexPaths, build, plan};

/// A genome's index, in a folder of its own.
pub(super) struct Indexed {
    folder: tempfile::TempDir,
}

impl Indexed {
    pub(super) fn new(genome: &Genome) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let fasta = folder.path().join("genome.fa");
        genome.write_fasta(&fasta).unwrap();
        let plan = plan(&fasta, &BuildOptions::default(), &|_, _| ()).unwrap();
        build(plan, &fasta, &|_, _| ()).unwrap();
        Self { folder }
    }

    pub(super) fn prefix(&self) -> std::path::PathBuf {
        self.folder.path().join("genome.fa")
    }

    pub(super) fn engine(&self, options: &BwaOptions) -> Compared {
        Compared::load(&self.prefix(), options)
    }
}

/// An engine of a genome, which searches by the index alone.
pub(super) fn plain_engine(genome: &Genome, options: &BwaOptions) -> Compared {
    Indexed::new(genome).engine(options)
}

/// Two engines of one genome, the second with the certified path.
pub(super) fn engines(
    genome: &Genome,
    options: &BwaOptions,
    reads: &Arc<CertifiedReads>,
) -> [Compared; 2] {
    let indexed = Indexed::new(genome);
    let mut certified = indexed.engine(options);
    let table = IndexPaths::new(&indexed.prefix()).fast();
    certified.engine.certify(&table, reads.clone()).unwrap();
    [indexed.engine(options), certified]
}

pub(super) fn pair(template: &Template) -> [Read<'_>; 2] {
    template.reads.each_ref().map(|read| Read {
        name: &template.name,
        bases: &read.bases,
        qualities: Some(&read.qualities),
    })
}

pub(super) fn simulated(genome: &Genome, options: &ReadOptions) -> Vec<Template> {
    let mut simulator = Simulator::new(genome, options).unwrap();
    std::iter::from_fn(|| simulator.next_template().cloned()).collect()
}

/// Compares the regions of all reads, and says what became of them on the certified path.
pub(super) fn compare<'a>(
    genome: &Genome,
    options: &BwaOptions,
    batches: impl Iterator<Item = EngineReads<'a>>,
) -> Counts {
    let counts = Arc::default();
    let [plain, certified] = engines(genome, options, &counts);
    let mut scratches = [plain.scratch().unwrap(), certified.scratch().unwrap()];
    let mut library = Scratch::new().unwrap();
    for reads in batches {
        let expected = plain.candidates(&mut library, &reads);
        let [by_index, found] = [
            plain.seed_extend(&mut scratches[0], &reads).unwrap(),
            certified.seed_extend(&mut scratches[1], &reads).unwrap(),
        ];
        for (at, read) in reads.pairs.iter().flatten().chain(&reads.singles).enumerate() {
            let [name, bases] = [read.name, read.bases].map(String::from_utf8_lossy);
            let [by_index, found, expected] =
                [&by_index, &found, &expected].map(|all| all.of(at).collect::<Vec<_>>());
            assert_eq!(by_index, expected, "read {at}, {name}: {bases}");
            assert_eq!(found, expected, "read {at}, {name}: {bases}");
        }
    }
    Counts(CertifiedOutcome::ALL.map(|verdict| (verdict.name(), counts.get(verdict))))
}

#[derive(Debug)]
pub(super) struct Counts([(&'static str, u64); CertifiedOutcome::ALL.len()]);

impl Counts {
    pub(super) fn of(&self, verdict: CertifiedOutcome) -> u64 {
        self.0[verdict as usize].1
    }
}

#[test]
fn regions_are_those_of_the_library() {
    let options = GenomeOptions { seed: 7, length_bp: 1_000_000, contigs: 3 };
    let genome = Genome::simulate(&options).unwrap();
    let templates: Vec<_> = [40, 76, 100, 150, 250, 400]
        .into_iter()
        .flat_map(|length| {
            let options = ReadOptions {
                templates: 2000,
                length_min_bp: length,
                length_max_bp: length,
                seed: length as u64,
                ..ReadOptions::default()
            };
            simulated(&genome, &options)
        })
        .collect();
    let batches = templates
        .chunks(256)
        .map(|batch| EngineReads { pairs: batch.iter().map(pair).collect(), singles: vec![] });
    let counts = compare(&genome, &BwaOptions::default(), batches);
    assert!(counts.of(CertifiedOutcome::Certified) * 2 > 24_000, "{counts:?}");
    assert!(counts.of(CertifiedOutcome::Chained) > 1000, "{counts:?}");
}

pub(super) fn read(bases: &[u8]) -> Read<'_> {
    Read { name: b"r", bases, qualities: None }
}

/// The library makes its memory by the bases of a batch, and writes to it by its reads.
#[test]
fn reads_without_bases_take_no_memory_of_others() {
    let options = GenomeOptions { seed: 3, length_bp: 80_000, contigs: 2 };
    let genome = Genome::simulate(&options).unwrap();
    let bases = &genome.contigs[0].bases;
    let batches = [(1, 512), (512, 5), (3, 2000), (64, 64)].map(|(step, count)| {
        // One in `step` has bases; those of others are none.
        let bases_of =
            |at: usize| if at.is_multiple_of(step) { &bases[at * 7..][..60] } else { &[] };
        EngineReads { pairs: vec![], singles: (0..count).map(|at| read(bases_of(at))).collect() }
    });
    // One read of many is left to the library.
    let hard = [bases[..50].to_vec(), turned(&bases[900..960])].concat();
    let bases_of = |at: usize| if at == 300 { &hard } else { &bases[at * 50..][..100] };
    let most = (0..517).map(|at| read(bases_of(at))).collect();
    let most = EngineReads { pairs: vec![], singles: most };
    compare(&genome, &BwaOptions::default(), batches.into_iter().chain([most]));
}

/// Numbers that look random (xorshift64*, Vigna 2016, doi:10.1145/2845077).
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % end
    }

    pub(super) fn bases(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| b"ACGT"[self.below(4)]).collect()
    }

    /// Another base in the place of one.
    pub(super) fn substitute(&mut self, bases: &mut [u8]) {
        let at = self.below(bases.len());
        let others: Vec<u8> = b"ACGT".iter().copied().filter(|&b| b != bases[at]).collect();
        bases[at] = others[self.below(3)];
    }

    /// A base more or less.
    pub(super) fn gap(&mut self, bases: &mut Vec<u8>) {
        let at = self.below(bases.len());
        if self.below(2) == 0 {
            bases.remove(at);
        } else {
            bases.insert(at, b"ACGT"[self.below(4)]);
        }
    }
}

pub(super) fn turned(bases: &[u8]) -> Vec<u8> {
    let complement = |&base: &u8| match base {
        b'A' => b'T',
        b'C' => b'G',
        b'G' => b'C',
        _ => b'A',
    };
    bases.iter().rev().map(complement).collect()
}

/// Copies of units at every distance of 0 to 8 mismatches and 0 to 3 gaps, on both strands, some
/// as often as bwa's limits are (2, 10, 11, 19 to 21, more than 500 and 1,000), in tandem, at the
/// ends of sequences and across them; and the places where they are.
pub(super) fn hostile_genome(dice: &mut Dice) -> (Genome, Vec<[usize; 2]>) {
    let (mut text, mut spots) = (dice.bases(500), Vec::new());
    let mut put = |text: &mut Vec<u8>, dice: &mut Dice, copy: &[u8], beside: usize| {
        spots.push([text.len(), text.len() + copy.len()]);
        text.extend(copy);
        text.extend(dice.bases(beside));
    };
    for length in [15, 18, 19, 20, 25, 27, 28, 30, 45, 70, 120, 300] {
        for mismatches in 0..=8 {
            for gaps in 0..=3 {
                let unit = dice.bases(length);
                let mut copy = unit.clone();
                (0..mismatches).for_each(|_| dice.substitute(&mut copy));
                (0..gaps).for_each(|_| dice.gap(&mut copy));
                if dice.below(2) == 0 {
                    copy = turned(&copy);
                }
                let beside = dice.below(60) + 1;
                put(&mut text, dice, &unit, beside);
                put(&mut text, dice, &copy, 160);
            }
        }
    }
    for (times, length) in
        [(2, 40), (3, 60), (10, 35), (11, 35), (19, 30), (20, 30), (21, 50), (60, 150), (1700, 25)]
    {
        let unit = dice.bases(length);
        for _ in 0..times {
            let mut copy = unit.clone();
            if dice.below(3) == 0 {
                dice.substitute(&mut copy);
            }
            let beside = dice.below(90) + 10;
            put(&mut text, dice, &copy, beside);
        }
    }
    for period in [1, 2, 3, 7, 18, 19, 20, 33] {
        let unit = dice.bases(period);
        let tandem: Vec<u8> = unit.iter().copied().cycle().take(40 + 3 * period).collect();
        put(&mut text, dice, &tandem, 150);
    }
    // The last bases, and a copy that goes on with them reverse-complemented, as `T` does.
    let last = dice.bases(80);
    let mut over_the_end = [&last[..], &turned(&last)].concat();
    over_the_end[83] = if over_the_end[83] == b'A' { b'C' } else { b'A' };
    put(&mut text, dice, &over_the_end, 150);
    put(&mut text, dice, &last, 0);
    let bases = text.len();
    // Sequences end within copies.
    let within = |from: usize| {
        let long = spots.iter().find(|[start, end]| *start >= from && end - start >= 100);
        long.map_or(from, |[start, end]| start.midpoint(*end))
    };
    let contig = |(number, span): (usize, std::ops::Range<usize>)| Contig {
        name: format!("c{number}"),
        bases: text[span].to_vec(),
    };
    let [third, half] = [within(bases / 3), within(bases / 2)];
    let ends = [0, third, third + 1, half, bases];
    let spans = ends.windows(2).map(|ends| ends[0]..ends[1]);
    (Genome { contigs: spans.enumerate().map(contig).collect() }, spots)
}

/// Reads whose bases begin, end or are in a copy, with 0 to 6 mismatches and sometimes a gap.
pub(super) fn reads_at(
    dice: &mut Dice,
    genome: &Genome,
    spots: &[[usize; 2]],
    count: usize,
) -> Vec<Vec<u8>> {
    let text: Vec<u8> = genome.contigs.iter().flat_map(|c| c.bases.iter().copied()).collect();
    let read = |_| {
        let length = [60, 76, 100, 150, 150, 250][dice.below(6)];
        let [start, end] = spots[dice.below(spots.len())];
        let from = (start + dice.below(end - start + length)).saturating_sub(length);
        let from = from.min(text.len() - length);
        let mut bases = text[from..from + length].to_vec();
        (0..dice.below(7)).for_each(|_| dice.substitute(&mut bases));
        if dice.below(8) == 0 {
            dice.gap(&mut bases);
        }
        if dice.below(2) == 0 { turned(&bases) } else { bases }
    };
    (0..count).map(read).collect()
}

#[test]
fn regions_at_copies_are_those_of_the_library() {
    let (genomes, reads) =
        if std::env::var_os("SEQLOOM_SLOW").is_some() { (20, 100_000) } else { (2, 25_000) };
    for seed in 1..=genomes {
        let mut dice = Dice(seed);
        let (genome, spots) = hostile_genome(&mut dice);
        let reads = reads_at(&mut dice, &genome, &spots, reads);
        let batches = reads.chunks(512).map(|batch| EngineReads {
            pairs: vec![],
            singles: batch.iter().map(|bases| read(bases)).collect(),
        });
        let counts = compare(&genome, &BwaOptions::default(), batches);
        let least = reads.len() as u64 / 20;
        assert!(counts.of(CertifiedOutcome::Certified) > least, "{counts:?}");
        assert!(counts.of(CertifiedOutcome::Chained) > least, "{counts:?}");
    }
}

#[test]
fn regions_at_copies_are_those_of_the_library_with_other_options() {
    let options = BwaOptions::default;
    let all = [
        BwaOptions { max_occurrences: Some(5), ..options() },
        BwaOptions { max_occurrences: Some(1), band_width: Some(2), ..options() },
        BwaOptions { band_width: Some(15), ..options() },
        BwaOptions { preset: Some(Preset::Intractg), ..options() },
        BwaOptions { clip_penalty: Some([0, 30]), ..options() },
        BwaOptions { gap_open: Some([60, 60]), mismatch_penalty: Some(9), ..options() },
        BwaOptions { gap_extend: Some([3, 2]), band_width: Some(7), ..options() },
        BwaOptions { mismatch_penalty: Some(2), clip_penalty: Some([9, 0]), ..options() },
    ];
    let count = if std::env::var_os("SEQLOOM_SLOW").is_some() { 20_000 } else { 2000 };
    for (seed, options) in (100..).zip(all) {
        let mut dice = Dice(seed);
        let (genome, spots) = hostile_genome(&mut dice);
        let reads = reads_at(&mut dice, &genome, &spots, count);
        let batches = reads.chunks(512).map(|batch| EngineReads {
            pairs: vec![],
            singles: batch.iter().map(|bases| read(bases)).collect(),
        });
        let counts = compare(&genome, &options, batches);
        assert!(counts.of(CertifiedOutcome::Chained) > count as u64 / 20, "{options:?} {counts:?}");
    }
}
