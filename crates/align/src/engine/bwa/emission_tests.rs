//! Whole batches: our records against those of the library.

use seqloom_format::bam::{AuxFields, RecordRef};
use seqloom_testkit::genome::{Genome, GenomeOptions};
use seqloom_testkit::reads::ReadOptions;

use super::certified_tests::{Dice, hostile_genome, pair, reads_at, simulated, turned};
use super::oracle::library::{self, LibraryBatch};
use super::oracle::{Compared, Library, emit};
use super::*;
use crate::engine::{Ordinals, Origin, Read};
use crate::index::{BuildOptions, IndexPaths, build, plan};

/// Records as they are handed out, without the library's own tag.
#[derive(Default)]
pub(super) struct Bodies(pub(super) Vec<(Origin, Vec<u8>)>);

impl RecordSink for Bodies {
    fn record(&mut self, origin: Origin, body: &[u8]) {
        let start = RecordRef::new(body).unwrap().aux_start();
        let mut fields = AuxFields::of(&body[start..]);
        let mut kept = body[..start].to_vec();
        while let Some(tag) = fields.peek() {
            let from = fields.offset();
            fields.skip_one().unwrap();
            if tag != *b"HN" {
                kept.extend_from_slice(&body[start + from..start + fields.offset()]);
            }
        }
        self.0.push((origin, kept));
    }
}

/// The index of a genome, with these of its sequences as ALT, as `genome.fa` in a folder.
pub(super) fn indexed(genome: &Genome, alternates: &[usize]) -> tempfile::TempDir {
    let here = tempfile::tempdir().unwrap();
    let fasta = here.path().join("genome.fa");
    genome.write_fasta(&fasta).unwrap();
    let plan = plan(&fasta, &BuildOptions::default(), &|_, _| ()).unwrap();
    build(plan, &fasta, &|_, _| ()).unwrap();
    let names = alternates.iter().map(|&at| format!("{}\t0\n", genome.contigs[at].name));
    std::fs::write(IndexPaths::new(&fasta).alt(), names.collect::<String>()).unwrap();
    here
}

/// An engine of a genome, with these of its sequences as ALT.
pub(super) fn engine(genome: &Genome, options: &BwaOptions, alternates: &[usize]) -> Compared {
    let here = indexed(genome, alternates);
    let engine = Compared::load(&here.path().join("genome.fa"), options);
    let found = engine.index.sequences().iter().enumerate().filter(|(_, it)| it.is_alt);
    assert!(found.map(|(at, _)| at).eq(alternates.iter().copied()));
    engine
}

/// How often something was seen in records.
#[derive(Debug, Default)]
struct Seen {
    records: usize,
    unmapped: usize,
    supplementary: usize,
    secondary: usize,
    with_alternatives: usize,
    with_share: usize,
    proper: usize,
}

impl Seen {
    fn add(&mut self, body: &[u8]) {
        let record = RecordRef::new(body).unwrap();
        let has = |tag: &[u8; 2]| {
            AuxFields::of(&body[record.aux_start()..]).any(|field| field.unwrap().0 == *tag)
        };
        let flags = record.flags();
        self.records += 1;
        self.unmapped += usize::from(flags & 0x4 != 0);
        self.supplementary += usize::from(flags & 0x800 != 0);
        self.secondary += usize::from(flags & 0x100 != 0);
        self.proper += usize::from(flags & 0x2 != 0);
        self.with_alternatives += usize::from(has(b"XA"));
        self.with_share += usize::from(has(b"pa"));
    }
}

/// The records of batches that are one cohort, and what was learned of it.
pub(super) fn records(
    engine: &BwaEngine,
    cohort: &[EngineReads<'_>],
    ordinals: Ordinals,
) -> (Vec<Bodies>, CohortModel) {
    let mut scratch = engine.scratch().unwrap();
    let found = cohort.iter().map(|reads| engine.seed_extend(&mut scratch, reads).unwrap());
    let found: Vec<_> = found.collect();
    let model = engine.infer_cohort(&found).unwrap();
    let emitted = cohort.iter().zip(found).map(|(reads, candidates)| {
        let mut bodies = Bodies::default();
        let seeded = SeededBatch { reads, candidates, model: Some(&model), ordinals };
        engine.emit(&mut scratch, seeded, &mut bodies).unwrap();
        bodies
    });
    (emitted.collect(), model)
}

/// Compares the records of batches that are one cohort with the library's, and hands them out.
pub(super) fn compare(
    engine: &Compared,
    cohort: &[EngineReads<'_>],
    ordinals: Ordinals,
    mut each: impl FnMut(&[u8]),
) {
    let (ours, model) = records(engine, cohort, ordinals);
    let mut scratch = library::Scratch::new().unwrap();
    for (reads, found) in cohort.iter().zip(ours) {
        let Library { index, options } = &engine.library;
        let library = LibraryBatch::find(index, options, &mut scratch, reads).unwrap();
        let (sizes, mut expected) = (&model.sizes, Bodies::default());
        emit::emit(engine, &mut scratch, (reads, library), sizes, ordinals, &mut expected);
        assert!(expected.0.len() >= 2 * reads.pairs.len() + reads.singles.len());
        for (ours, theirs) in found.0.iter().zip(&expected.0) {
            if ours != theirs {
                let show = |body: &[u8]| String::from_utf8_lossy(body).into_owned();
                let of = match theirs.0 {
                    Origin::Pair(at) => reads.pairs[at].map(|it| show(it.bases)).to_vec(),
                    Origin::Single(at) => vec![show(reads.singles[at].bases)],
                };
                panic!("{ours:?}\n{theirs:?}\n{of:?}\n{sizes:?}\n{:?}", engine.settings);
            }
            each(&ours.1);
        }
        assert_eq!(found.0.len(), expected.0.len());
    }
}

/// Compares the records of batches that are one cohort.
fn compare_counted(engine: &Compared, cohort: &[EngineReads<'_>], ordinals: Ordinals) -> Seen {
    let mut seen = Seen::default();
    compare(engine, cohort, ordinals, |body| seen.add(body));
    seen
}

#[test]
fn records_of_simulated_pairs_are_those_of_the_library() {
    let options = GenomeOptions { seed: 17, length_bp: 800_000, contigs: 3 };
    let genome = Genome::simulate(&options).unwrap();
    let engine = engine(&genome, &BwaOptions::default(), &[]);
    let mut rescuable = 0;
    for length in [40, 76, 100, 150, 250, 400] {
        let options = ReadOptions {
            templates: 1500,
            length_min_bp: length,
            length_max_bp: length,
            seed: length as u64,
            ..ReadOptions::default()
        };
        let templates = simulated(&genome, &options);
        let cohort: Vec<_> = templates
            .chunks(256)
            .map(|some| EngineReads { pairs: some.iter().map(pair).collect(), singles: vec![] })
            .collect();
        let seen = compare_counted(&engine, &cohort, Ordinals::default());
        assert!(seen.proper > seen.records / 2, "{seen:?}");
        rescuable += seen.records - seen.proper;
    }
    assert!(rescuable > 0);
}

/// A read with its letters.
pub(super) struct Owned {
    pub(super) bases: Vec<u8>,
    pub(super) qualities: Option<Vec<u8>>,
}

/// Pairs at copies: near each other in any orientation or not, of like or unlike lengths; mates
/// with so many changes that only rescue finds them, with gaps, chimeric, with unknown bases, or of
/// nothing at all.
pub(super) fn hostile_pairs(
    dice: &mut Dice,
    genome: &Genome,
    spots: &[[usize; 2]],
    count: usize,
) -> Vec<[Owned; 2]> {
    let text: Vec<u8> = genome.contigs.iter().flat_map(|c| c.bases.iter().copied()).collect();
    let one = |dice: &mut Dice, from: usize, turn: bool| {
        let length = [30, 60, 76, 101, 150, 150, 250][dice.below(7)].min(text.len() / 2);
        let from = from.min(text.len() - length);
        let mut bases = text[from..from + length].to_vec();
        let changes = [0, 0, 1, 3, 8, 20, 40][dice.below(7)] * length / 150;
        (0..changes).for_each(|_| dice.substitute(&mut bases));
        (0..dice.below(8).saturating_sub(5)).for_each(|_| dice.gap(&mut bases));
        match dice.below(14) {
            0 => {
                let (at, elsewhere) = (dice.below(length), dice.below(text.len() - length));
                bases.truncate(at);
                bases.extend(&text[elsewhere..elsewhere + length - at.min(length)]);
            }
            1 => bases = dice.bases(length),
            2 => {
                let (at, many) = (dice.below(bases.len()), 1 + dice.below(12));
                let end = (at + many).min(bases.len());
                bases[at..end].fill(b'N');
            }
            _ => {}
        }
        let bases = if turn { turned(&bases) } else { bases };
        let qualities = (0..bases.len()).map(|_| 33 + dice.below(60) as u8).collect();
        Owned { bases, qualities: (dice.below(9) > 0).then_some(qualities) }
    };
    let pair = |_| {
        let [start, end] = spots[dice.below(spots.len())];
        let from = (start + dice.below(end - start + 200)).saturating_sub(200);
        let apart = 40 + dice.below(500);
        let kind = dice.below(12);
        let second = if kind == 11 { dice.below(text.len()) } else { from + apart };
        let turns = match kind {
            0 => [false, false],
            1 => [true, false],
            _ => [false, true],
        };
        let mut mates = [one(dice, from, turns[0]), one(dice, second, turns[1])];
        if dice.below(2) == 0 {
            mates.swap(0, 1);
        }
        mates
    };
    (0..count).map(pair).collect()
}

pub(super) fn read<'a>(name: &'a [u8], it: &'a Owned) -> Read<'a> {
    Read { name, bases: &it.bases, qualities: it.qualities.as_deref() }
}

/// A cohort of hostile pairs and reads without a mate.
fn compare_hostile(
    engine: &Compared,
    dice: &mut Dice,
    genome: &Genome,
    spots: &[[usize; 2]],
    ordinals: Ordinals,
) -> Seen {
    let pairs = hostile_pairs(dice, genome, spots, 480);
    let singles: Vec<_> = reads_at(dice, genome, spots, 80)
        .into_iter()
        .map(|bases| Owned { bases, qualities: None })
        .collect();
    let cohort: Vec<_> = pairs
        .chunks(260)
        .zip(singles.chunks(40))
        .map(|(pairs, singles)| EngineReads {
            pairs: pairs.iter().map(|it| [read(b"p", &it[0]), read(b"p", &it[1])]).collect(),
            singles: singles.iter().map(|it| read(b"single", it)).collect(),
        })
        .collect();
    compare_counted(engine, &cohort, ordinals)
}

fn seeds() -> std::ops::Range<u64> {
    if std::env::var_os("SEQLOOM_SLOW").is_some() { 1..60 } else { 1..3 }
}

#[test]
fn records_of_hostile_pairs_are_those_of_the_library() {
    let mut all = Seen::default();
    for seed in seeds() {
        let mut dice = Dice(seed);
        let (genome, spots) = hostile_genome(&mut dice);
        let engine = engine(&genome, &BwaOptions::default(), &[]);
        // Where bwa's 32 bits of a pair's number begin to matter.
        for first in [0, (1 << 23) - 240, (1 << 24) - 1, (1 << 31) - 240, 1 << 40] {
            let ordinals = Ordinals { first_pair: first, first_single: first };
            let seen = compare_hostile(&engine, &mut dice, &genome, &spots, ordinals);
            all.records += seen.records;
            all.unmapped += seen.unmapped;
            all.supplementary += seen.supplementary;
            all.with_alternatives += seen.with_alternatives;
            all.proper += seen.proper;
        }
    }
    let few = [all.unmapped, all.supplementary, all.with_alternatives, all.proper];
    assert!(few.iter().all(|&it| it > all.records / 200), "{all:?}");
}

#[test]
fn records_near_alternate_sequences_are_those_of_the_library() {
    let mut all = Seen::default();
    for seed in seeds() {
        let mut dice = Dice(1000 + seed);
        let (genome, spots) = hostile_genome(&mut dice);
        for alternates in [&[0][..], &[2, 3], &[1, 3], &[0, 1, 2, 3]] {
            let engine = engine(&genome, &BwaOptions::default(), alternates);
            let ordinals = Ordinals::default();
            let seen = compare_hostile(&engine, &mut dice, &genome, &spots, ordinals);
            all.records += seen.records;
            all.with_share += seen.with_share;
        }
    }
    assert!(all.with_share > 20, "{all:?}");
}

#[test]
fn records_with_other_options_are_those_of_the_library() {
    let options = BwaOptions::default;
    let size = |text: &str| Some(text.parse().unwrap());
    let all = [
        BwaOptions { mark_split_secondary: true, ..options() },
        BwaOptions { soft_clip_supplementary: true, xa_hits: Some([1, 2]), ..options() },
        BwaOptions { min_output_score: Some(60), xa_hits: Some([0, 0]), ..options() },
        BwaOptions { min_output_score: Some(10), min_seed_length: Some(12), ..options() },
        BwaOptions { unpaired_penalty: Some(0), xa_hits: Some([100, 500]), ..options() },
        BwaOptions { unpaired_penalty: Some(90), insert_size: size("300,0"), ..options() },
        BwaOptions { insert_size: size("250,80,700,1"), ..options() },
        BwaOptions { insert_size: size("300,0,420,180"), band_width: Some(5), ..options() },
        // In windows of more than 32,767 bases the library loses hits that bwa has, and ours.
        BwaOptions { insert_size: size("5000,4000,30000,1"), ..options() },
        BwaOptions { preset: Some(Preset::Intractg), ..options() },
        BwaOptions { gap_open: Some([2, 4]), gap_extend: Some([2, 1]), ..options() },
        BwaOptions { mismatch_penalty: Some(1), clip_penalty: Some([0, 30]), ..options() },
    ];
    let mut secondary = 0;
    for (seed, options) in (500..).zip(&all) {
        let mut dice = Dice(seed);
        let (genome, spots) = hostile_genome(&mut dice);
        let engine = engine(&genome, options, if seed % 3 == 0 { &[1] } else { &[] });
        let ordinals = Ordinals { first_pair: seed, first_single: 3 };
        let seen = compare_hostile(&engine, &mut dice, &genome, &spots, ordinals);
        secondary += seen.secondary;
    }
    assert!(secondary > 0);
}

#[test]
fn reads_without_bases_and_of_unknown_ones_are_those_of_the_library() {
    let mut dice = Dice(3);
    let (genome, _) = hostile_genome(&mut dice);
    let engine = engine(&genome, &BwaOptions::default(), &[]);
    let unknown = vec![b'N'; 90];
    let known = &genome.contigs[0].bases[100..190];
    let read = |bases| Read { name: b"x", bases, qualities: None };
    let empty: &[u8] = &[];
    let pairs = [[known, empty], [empty, known], [empty, empty], [&unknown, known]];
    let pairs = pairs.iter().map(|it| it.map(read)).collect();
    let singles = vec![read(empty), read(&unknown), read(known), read(&known[..18])];
    let seen = compare_counted(&engine, &[EngineReads { pairs, singles }], Ordinals::default());
    assert_eq!(seen.records, 12);
}
