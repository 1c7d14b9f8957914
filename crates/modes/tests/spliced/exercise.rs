//! Reads of any bytes placed over introns: every record is worth what it says, its introns are as
//! the options want them, and a read becomes the same alone and among others. The property tests
//! next to this file and the fuzz target call the same functions.

use std::collections::BTreeSet;
use std::sync::Arc;

use seqloom_align::engine::{Origin, RecordSink};
use seqloom_align::index::IndexSource;
use seqloom_format::bam::Flags;
use seqloom_modes::Strands;
use seqloom_modes::gapped::Scoring;
use seqloom_modes::spliced::{
    Intron, IntronOptions, IntronTable, LibraryStrand, SplicedEngine, SplicedOptions, StrandTag,
};

#[allow(dead_code)] // what both modes by score have in common
#[path = "../by_score/exercise.rs"]
mod by_score;

use by_score::{
    Coded, Found, Numbers, Records, TestRead, as_placed, code, index, look_at_mates, place, random,
    worth,
};

/// A sequence, the first base of an intron and the first one after it.
type Place = (usize, [usize; 2]);

/// A genome, what is transcribed of it, and the engine of it.
pub(crate) struct Bench {
    sequences: Vec<Vec<u8>>,
    transcripts: Vec<Vec<u8>>,
    introns: Vec<Place>,
    engine: SplicedEngine,
    options: SplicedOptions,
    table: Arc<IntronTable>,
    /// Introns of the table, and those that the first pass has met.
    known: BTreeSet<Place>,
    met: BTreeSet<Place>,
}

/// HISAT2's scores.
pub(crate) fn usual() -> SplicedOptions {
    let mut by_score = by_score::usual(false);
    by_score.mates.pairs.max_insert_bp = 1000;
    let minimum = by_score.scoring.minimum;
    SplicedOptions {
        scoring: Scoring {
            minimum: seqloom_modes::gapped::LengthFunction {
                constant: 0.0,
                factor: -0.2,
                ..minimum
            },
            ..by_score.scoring
        },
        clip: [2, 1],
        introns: IntronOptions {
            are_requested: true,
            novel: true,
            least_bp: 20,
            most_bp: 500_000,
            other_penalty: 12,
            anchor_bases: 8,
            other_anchor_bases: 16,
        },
        placements: 5,
        strands: Strands::Both,
        trim: [0, 0],
        mates: by_score.mates,
        library: LibraryStrand::Unstranded,
        strand_tag: StrandTag::Genome,
    }
}

/// Takes no records.
struct Nowhere;

impl RecordSink for Nowhere {
    fn record(&mut self, _origin: Origin, _body: &[u8]) {}
}

impl Bench {
    /// The index of these genes, each of which is a sequence of exons with introns between them.
    pub(crate) fn new(genes: Vec<Vec<Vec<u8>>>) -> Self {
        let (mut sequences, mut transcripts, mut introns) = (Vec::new(), Vec::new(), Vec::new());
        for (sequence, parts) in genes.into_iter().enumerate() {
            let mut at = 0;
            for (number, part) in parts.iter().enumerate() {
                if number % 2 == 1 {
                    introns.push((sequence, [at, at + part.len()]));
                }
                at += part.len();
            }
            transcripts.push(parts.iter().step_by(2).flatten().copied().collect());
            sequences.push(parts.concat());
        }
        let folder = tempfile::tempdir().unwrap();
        let prefix = folder.path().join("ref.fa");
        let (info, options) = (index(&sequences, &prefix), usual());
        let table = Arc::new(IntronTable::default());
        let engine =
            SplicedEngine::load(IndexSource::new(&prefix, &info), options, Arc::clone(&table))
                .unwrap();
        let (known, met) = (BTreeSet::new(), BTreeSet::new());
        Self { sequences, transcripts, introns, engine, options, table, known, met }
    }

    /// The same genome with other options and known introns.
    pub(crate) fn set(&mut self, options: SplicedOptions, known: BTreeSet<Place>) {
        self.options = options;
        let starts = self.starts();
        let intron = |(sequence, [start, end]): &Place| Intron {
            start: (starts[*sequence] + start) as u64,
            end: (starts[*sequence] + end) as u64,
            is_reverse: None,
        };
        self.table = Arc::new(IntronTable::new(known.iter().map(intron).collect()));
        self.engine.set_options(options, Arc::clone(&self.table));
        (self.known, self.met) = (known, BTreeSet::new());
    }

    /// The first base of each sequence among those of all.
    fn starts(&self) -> Vec<usize> {
        let lengths = self.sequences.iter().map(Vec::len);
        lengths.scan(0, |at, length| Some(std::mem::replace(at, *at + length))).collect()
    }

    /// Ends the first pass, in which these reads have been gone through.
    pub(crate) fn settle(&mut self, reads: &[TestRead], pairs: usize) {
        place(&self.engine, reads, pairs, &mut Nowhere);
        let starts = self.starts();
        for (intron, evidence) in self.table.met() {
            let (start, end) = (intron.start as usize, intron.end as usize);
            let sequence = starts.partition_point(|&it| it <= start) - 1;
            let place = (sequence, [start, end].map(|it| it - starts[sequence]));
            assert_eq!(evidence.is_known, self.known.contains(&place));
            assert!(evidence.reads > 0 && evidence.reads <= reads.len() as u64);
            self.met.insert(place);
        }
        self.end_first_pass();
    }

    /// There is one pass alone.
    pub(crate) fn end_first_pass(&self) {
        let bases: usize = self.sequences.iter().map(Vec::len).sum();
        self.table.settle(bases as u64);
    }

    /// The placements of each read, all looked at. The first of them are so many pairs of mates.
    pub(crate) fn find(&self, reads: &[TestRead], pairs: usize) -> Vec<Vec<Found>> {
        let found = self.records(reads, pairs);
        for (at, (read, found)) in reads.iter().zip(&found).enumerate() {
            self.look(read, found, at >= 2 * pairs);
        }
        let (mates, _) = found.as_chunks();
        mates[..pairs].iter().for_each(|mates| look_at_mates(&self.options.mates, mates));
        found
    }

    /// Looks whether a read, or a pair, becomes the same alone as it did among others.
    pub(crate) fn look_alone(
        &self,
        reads: &[TestRead],
        pairs: usize,
        at: usize,
        found: &[Vec<Found>],
    ) {
        let (own, pairs) =
            if at < 2 * pairs { (at & !1..(at | 1) + 1, 1) } else { (at..at + 1, 0) };
        assert_eq!(self.records(&reads[own.clone()], pairs), found[own]);
    }

    fn records(&self, reads: &[TestRead], pairs: usize) -> Vec<Vec<Found>> {
        let mut records = Records { pairs, ..Records::default() };
        place(&self.engine, reads, pairs, &mut records);
        records.found
    }

    /// Looks at the placements of a read, which is a single one or a mate.
    fn look(&self, read: &TestRead, found: &[Found], is_single: bool) {
        let mut places = BTreeSet::new();
        assert!(found.len() <= self.options.placements);
        for (number, placement) in found.iter().enumerate() {
            let (least, most, edits) = self.worth(read, placement);
            assert!((least..=most).contains(&placement.score), "{least} {most} {placement:?}");
            assert_eq!(placement.edits, edits, "{placement:?}");
            assert_eq!(placement.reported, Some(found.len() as u32));
            assert!([1, 60].contains(&placement.mapq), "{placement:?}");
            assert!(found.len() == 1 || placement.mapq == 1, "{found:?}");
            let is_secondary = placement.flags & Flags::SECONDARY != 0;
            assert_eq!(is_secondary, number > 0);
            let Found { sequence, position, is_reverse, .. } = *placement;
            let is_new = places.insert((sequence, position, is_reverse, placement.cigar.clone()));
            let is_proper = placement.flags & Flags::PROPER_PAIR != 0;
            assert!(is_new || is_proper, "twice: {placement:?}");
            assert!(!is_single || !is_proper && placement.mate == [-1, -1]);
            let length = as_placed(read, self.options.trim, false).len();
            let minimum = self.options.scoring.minimum.at(length).trunc();
            assert!(f64::from(placement.score) >= minimum, "{placement:?}");
        }
    }

    /// What a placement is worth at least and at most, and NM: an intron that the first pass has
    /// met may be one of the table or not.
    fn worth(&self, read: &TestRead, placement: &Found) -> (i32, i32, u32) {
        let SplicedOptions { scoring, clip: [good, bad], trim, .. } = &self.options;
        let own = as_placed(read, *trim, placement.is_reverse);
        let sequence = &self.sequences[placement.sequence];
        let clipped = |all: &[Coded]| {
            let cost = |&(_, quality): &Coded| if quality >= 40 { *good } else { *bad };
            all.iter().map(|it| i32::from(cost(it))).sum()
        };
        let mut unsure = 0;
        let mut skipped = |ends: [usize; 2]| {
            let [least, most] = self.costs(sequence, ends);
            let place = (placement.sequence, ends);
            if self.known.contains(&place) {
                return 0;
            }
            if self.met.contains(&place) {
                unsure += most;
            } else {
                self.look_at_anchors(placement, ends);
                unsure += most - least;
            }
            most
        };
        let (score, edits) = worth(scoring, (&own, sequence), placement, &clipped, &mut skipped);
        (score, score + unsure, edits)
    }

    /// What a new intron costs, at least and at most: bases that are not known are any ones in the
    /// index.
    fn costs(&self, sequence: &[u8], [start, end]: [usize; 2]) -> [i32; 2] {
        let options = &self.options.introns;
        assert!(options.are_requested && start > 0 && end < sequence.len());
        let length = end - start;
        assert!((options.least_bp as usize..=options.most_bp as usize).contains(&length));
        let ends = [&sequence[start..start + 2], &sequence[end - 2..end]].concat();
        let is_plain = ends.iter().all(|&base| code(base) < 4);
        let is_usual = [b"GTAG", b"CTAC"].iter().any(|usual| ends.eq_ignore_ascii_case(*usual));
        let of_length = ((length as f64).ln() - 8.0).trunc().max(0.0) as i32;
        let other = i32::from(options.other_penalty);
        match () {
            () if !is_plain => [of_length, of_length + other],
            () if is_usual => [of_length; 2],
            () => [of_length + other; 2],
        }
    }

    /// A new intron has so many bases on either side.
    fn look_at_anchors(&self, placement: &Found, [start, _]: [usize; 2]) {
        let mut at = placement.position;
        let least = u32::from(
            self.options.introns.anchor_bases.min(self.options.introns.other_anchor_bases),
        );
        for (number, op) in placement.cigar.iter().enumerate() {
            if op & 15 == 3 && at == start {
                for shift in [number - 1, number + 1] {
                    let shift = placement.cigar[shift];
                    assert!(shift & 15 == 0 && shift >> 4 >= least, "{placement:?}");
                }
            }
            at += if [0, 2, 3].contains(&(op & 15)) { (op >> 4) as usize } else { 0 };
        }
    }
}

/// An intron of so many bases with these ends.
fn intron(seed: u32, bases: u32, ends: [&[u8]; 2]) -> Vec<u8> {
    [ends[0], &random(seed, bases - 4), ends[1]].concat()
}

/// Genes with what is hard: short exons, copies without introns, both strands, holes, repeats,
/// ends that are not GT-AG.
pub(crate) fn benches() -> Vec<Bench> {
    let forward: [&[u8]; 2] = [b"GT", b"AG"];
    let reverse: [&[u8]; 2] = [b"CT", b"AC"];
    let gene = |seed: u32, ends: [&[u8]; 2]| {
        let exon = |at: u32, bases: u32| random(seed + 1000 * at, bases);
        let within = |at: u32, bases: u32| intron(seed + 77 * at, bases, ends);
        vec![
            exon(1, 90),
            within(1, 25),
            exon(2, 60),
            within(2, 130),
            exon(3, 9),
            within(3, 20),
            exon(4, 100),
        ]
    };
    let copy: Vec<u8> = gene(5, forward).iter().step_by(2).flatten().copied().collect();
    let mut with_hole = gene(9, forward);
    with_hole[3][40..60].fill(b'N');
    with_hole[4][4] = b'R';
    let tandem = random(3, 70).repeat(3);
    let genomes = [
        vec![gene(5, forward), vec![copy]],
        vec![gene(6, reverse), with_hole, vec![random(8, 30)]],
        vec![vec![
            tandem.clone(),
            intron(4, 60, forward),
            tandem.clone(),
            intron(2, 60, reverse),
            tandem,
        ]],
        vec![
            vec![
                b"A".repeat(90),
                intron(1, 40, forward),
                b"AC".repeat(60),
                b"GTAG".repeat(12),
                random(2, 60),
            ],
            gene(11, [b"GC", b"AG"]),
            gene(12, [b"AA", b"TT"]),
        ],
    ];
    genomes.into_iter().map(Bench::new).collect()
}

/// Numbers that say what is requested.
trait Choices {
    fn options(&mut self) -> SplicedOptions;
    fn known(&mut self, bench: &Bench, lengths: [u32; 2]) -> BTreeSet<Place>;
    fn read_over_introns(&mut self, bench: &Bench) -> TestRead;
}

impl Choices for Numbers<'_> {
    fn options(&mut self) -> SplicedOptions {
        let mut options = usual();
        let scoring = &mut options.scoring;
        if self.below(2) == 1 {
            self.change(scoring);
            let good = self.below(31) as i16;
            options.clip = [good, self.below(31).min(good as usize) as i16];
        }
        let introns = &mut options.introns;
        if self.below(2) == 1 {
            introns.are_requested = self.below(8) > 0;
            introns.novel = self.below(8) > 0;
            introns.least_bp = 16 + self.below(100) as u32;
            introns.most_bp = introns.least_bp + 4 * self.below(256) as u32;
            introns.other_penalty = self.below(31) as i16;
            introns.anchor_bases = 1 + self.below(20) as u16;
            introns.other_anchor_bases = 1 + self.below(20) as u16;
        }
        options.placements = 1 + self.below(6);
        options.strands = [Strands::Both, Strands::Forward, Strands::Reverse][self.below(3)];
        options.trim = [self.below(4), self.below(4)];
        options.mates = self.mates();
        options.library =
            [LibraryStrand::Unstranded, LibraryStrand::Forward, LibraryStrand::Reverse]
                [self.below(3)];
        options.strand_tag = [StrandTag::Genome, StrandTag::Read][self.below(2)];
        options
    }

    /// Some of the true introns, and others.
    fn known(&mut self, bench: &Bench, [least, most]: [u32; 2]) -> BTreeSet<Place> {
        let mut all = BTreeSet::new();
        let is_requested =
            |[start, end]: [usize; 2]| (least as usize..=most as usize).contains(&(end - start));
        let mask = self.below(256);
        for (number, place) in bench.introns.iter().enumerate() {
            if mask >> (number % 8) & 1 == 1 && is_requested(place.1) {
                all.insert(*place);
            }
        }
        for _ in 0..self.below(3) {
            let sequence = self.below(bench.sequences.len());
            let start = self.below(256) + self.below(256);
            let place = [start, start + least as usize + self.below(64)];
            if place[1] <= bench.sequences[sequence].len() && is_requested(place) {
                all.insert((sequence, place));
            }
        }
        all
    }

    fn read_over_introns(&mut self, bench: &Bench) -> TestRead {
        match self.below(4) {
            0 => self.read(&bench.sequences.concat()),
            1 => {
                // Any segments one after the other.
                let text = bench.sequences.concat();
                let (mut at, mut bases) = (self.below(256), Vec::new());
                for _ in 0..1 + self.below(5) {
                    let count = self.below(60);
                    bases.extend((at..at + count).map(|at| text[at % text.len()]));
                    at += count + self.below(256);
                }
                self.changed(bases)
            }
            _ => {
                let transcript = &bench.transcripts[self.below(bench.transcripts.len())];
                self.read(transcript)
            }
        }
    }
}

/// What bytes of a fuzzer make of a genome, known introns, reads and options.
pub(crate) fn fuzzed(benches: &mut [Bench], data: &[u8]) {
    let mut numbers = Numbers(data);
    // Repeats take many times as long as genes.
    let number = [0, 1].repeat(7).into_iter().chain([2, 3]).nth(numbers.below(16));
    let bench = &mut benches[number.unwrap()];
    let options = numbers.options();
    let known = numbers.known(bench, [options.introns.least_bp, options.introns.most_bp]);
    bench.set(options, known);
    let (has_first_pass, count) = (numbers.below(2) == 1, 1 + numbers.below(3));
    let pairs = numbers.below(3).min(count / 2);
    let reads: Vec<TestRead> = (0..count).map(|_| numbers.read_over_introns(bench)).collect();
    if has_first_pass {
        bench.settle(&reads, pairs);
    } else {
        bench.end_first_pass();
    }
    let found = bench.find(&reads, pairs);
    bench.look_alone(&reads, pairs, numbers.below(count), &found);
}
