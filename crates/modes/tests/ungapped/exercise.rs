//! Reads of any bytes against a genome of any bases: the engine's placements against those that a
//! look at every place gives. The property tests next to this file and the fuzz target call the
//! same functions.

use std::fs;

use seqloom_align::engine::{BatchEngine, EngineReads, Origin, Read, RecordSink};
use seqloom_align::index::{BuildOptions, IndexSource, build, check, plan};
use seqloom_format::bam::{AuxFields, Flags, RecordRef};
use seqloom_modes::ungapped::{Acceptance, SeedAcceptance, UngappedEngine, UngappedOptions};
use seqloom_modes::{Orientation, PairOptions, Reported, Strands};

/// Sequence, position, reverse strand, mismatches.
pub(crate) type Place = (usize, usize, bool, u32);

/// What is reported of a read: its placements, and XM where there is none.
pub(crate) type Report = (Vec<Place>, Option<u32>);

/// A read and its qualities.
pub(crate) type TestRead = (Vec<u8>, Vec<u8>);

/// A genome and the engine of it.
pub(crate) struct Bench {
    sequences: Vec<Vec<u8>>,
    engine: UngappedEngine,
}

/// All placements, without a preference.
pub(crate) fn all(acceptance: Acceptance) -> UngappedOptions {
    UngappedOptions {
        acceptance,
        reported: Reported::All,
        max_placements: None,
        best_stratum: false,
        strands: Strands::Both,
        trim: [0, 0],
        pairs: PairOptions {
            orientation: Orientation::ForwardReverse,
            min_insert_bp: 0,
            max_insert_bp: 250,
        },
    }
}

/// Records of a batch: of each read its placements, the primary one first, and XM where there is
/// none.
#[derive(Default)]
struct Found(Vec<Report>);

impl RecordSink for Found {
    fn record(&mut self, origin: Origin, body: &[u8]) {
        let Origin::Single(number) = origin else { panic!("a pair") };
        let record = RecordRef::new(body).unwrap();
        if self.0.len() == number {
            self.0.push((Vec::new(), None));
        }
        assert_eq!(self.0.len(), number + 1, "reads come in order");
        let (places, suppressed) = self.0.last_mut().unwrap();
        let number_of = |requested: &[u8; 2]| {
            let mut fields = AuxFields::of(&body[record.aux_start()..]).map(Result::unwrap);
            fields.find(|(tag, _)| tag == requested).and_then(|(_, value)| value.as_int())
        };
        if record.has_flags(Flags::UNMAPPED) {
            assert!(places.is_empty());
            *suppressed = Some(number_of(b"XM").unwrap() as u32);
            return;
        }
        assert_eq!(record.has_flags(Flags::SECONDARY), !places.is_empty());
        let is_reverse = record.has_flags(Flags::REVERSE);
        let (sequence, position) = (record.reference_id() as usize, record.position() as usize);
        places.push((sequence, position, is_reverse, number_of(b"NM").unwrap() as u32));
    }
}

/// Records as they come.
#[derive(Default)]
struct Bodies(Vec<Vec<u8>>);

impl RecordSink for Bodies {
    fn record(&mut self, _: Origin, body: &[u8]) {
        self.0.push(body.to_vec());
    }
}

/// A read of the name `r`.
fn named((bases, qualities): &TestRead) -> Read<'_> {
    Read { name: b"r", bases, qualities: Some(qualities) }
}

impl Bench {
    /// The index of these sequences, of letters as in FASTA.
    pub(crate) fn new(sequences: Vec<Vec<u8>>, options: UngappedOptions) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let prefix = folder.path().join("ref.fa");
        let mut text = Vec::new();
        for (number, bases) in sequences.iter().enumerate() {
            text.extend(format!(">s{number}\n").into_bytes());
            text.extend(bases);
            text.push(b'\n');
        }
        fs::write(&prefix, text).unwrap();
        let ready = plan(&prefix, &BuildOptions::default(), &|_, _| ()).unwrap();
        build(ready, &prefix, &|_, _| ()).unwrap();
        let engine =
            UngappedEngine::load(IndexSource::new(&prefix, &check(&prefix).unwrap()), options)
                .unwrap();
        Self { sequences, engine }
    }

    /// The same genome with other options.
    pub(crate) fn set(&mut self, options: UngappedOptions) {
        self.engine.set_options(options);
    }

    /// What the engine reports of each read.
    pub(crate) fn find(&self, reads: &[TestRead]) -> Vec<Report> {
        let singles = reads.iter().map(named).collect();
        let mut found = Found::default();
        self.emit(&EngineReads { pairs: Vec::new(), singles }, &mut found);
        found.0
    }

    /// The records of mates.
    pub(crate) fn find_mates(&self, mates: [&TestRead; 2]) -> Vec<Vec<u8>> {
        let mut bodies = Bodies::default();
        let reads = EngineReads { pairs: vec![mates.map(named)], singles: Vec::new() };
        self.emit(&reads, &mut bodies);
        bodies.0
    }

    fn emit(&self, reads: &EngineReads<'_>, sink: &mut dyn RecordSink) {
        let mut scratch = self.engine.scratch().unwrap();
        self.engine.align(&mut scratch, reads, 0, sink).unwrap();
    }

    /// What a look at every place of both strands gives, in order.
    pub(crate) fn scan(&self, (bases, qualities): &TestRead, acceptance: Acceptance) -> Vec<Place> {
        let mut places = Vec::new();
        for (number, sequence) in self.sequences.iter().enumerate() {
            for at in 0..(sequence.len() + 1).saturating_sub(bases.len()) {
                let window = &sequence[at..at + bases.len()];
                if window.is_empty() || window.iter().any(|&it| code(it).is_none()) {
                    continue;
                }
                let turned: Vec<u8> = window.iter().rev().map(|&it| complement(it)).collect();
                for (text, is_reverse) in [(window, false), (&turned, true)] {
                    let differ = |i: &usize| code(bases[*i]) != code(text[*i]);
                    let mismatches: Vec<usize> = (0..bases.len()).filter(differ).collect();
                    if accepts(acceptance, &mismatches, qualities) {
                        places.push((number, at, is_reverse, mismatches.len() as u32));
                    }
                }
            }
        }
        places.sort_unstable();
        places
    }
}

/// Number of a base; `None` of what is none.
fn code(letter: u8) -> Option<usize> {
    b"ACGT".iter().position(|&it| it == letter.to_ascii_uppercase())
}

fn complement(letter: u8) -> u8 {
    code(letter).map_or(letter, |code| b"TGCA"[code])
}

/// Bowtie's definition, mismatch by mismatch.
fn accepts(acceptance: Acceptance, mismatches: &[usize], qualities: &[u8]) -> bool {
    match acceptance {
        Acceptance::Mismatches(most) => mismatches.len() <= usize::from(most),
        Acceptance::Seed(SeedAcceptance { bases, mismatches: most, quality_ceiling, rounds }) => {
            let in_seed = mismatches.iter().filter(|&&at| at < bases).count();
            let cost = |&at: &usize| match qualities[at] - b'!' {
                quality if !rounds => u32::from(quality),
                0..=4 => 0,
                5..=14 => 10,
                15..=24 => 20,
                _ => 30,
            };
            let sum: u32 = mismatches.iter().map(cost).sum();
            in_seed <= usize::from(most) && sum <= quality_ceiling
        }
    }
}

/// Compares what the engine finds of all reads with the scan.
pub(crate) fn compare(bench: &mut Bench, reads: &[TestRead], acceptance: Acceptance) {
    bench.set(all(acceptance));
    let found = bench.find(reads);
    assert_eq!(found.len(), reads.len());
    for (read, (mut places, _)) in reads.iter().zip(found) {
        let expected = bench.scan(read, acceptance);
        if let Some(first) = places.first() {
            let least = expected.iter().map(|place| place.3).min();
            let by_total = matches!(acceptance, Acceptance::Mismatches(_));
            assert!(!by_total || Some(first.3) == least, "the primary one has the fewest");
        }
        places.sort_unstable();
        let text = String::from_utf8_lossy(&read.0);
        assert_eq!(places, expected, "{acceptance:?}: {text}");
    }
}

/// Genomes of all shapes, for bytes of a fuzzer.
pub(crate) fn benches() -> Vec<Bench> {
    let unit = b"ACGTTGCATTAGCCATTGACGGATCGATTACAGGTCCATGAAT";
    let repeats = unit.repeat(6);
    let mut holes = repeats.clone();
    holes[40..43].fill(b'N');
    holes[100] = b'R';
    let mirrored: Vec<u8> = unit.iter().rev().map(|&it| complement(it)).collect();
    let palindrome = [&unit[..], &mirrored].concat();
    let mixed: Vec<u8> = (0_u32..300)
        .map(|at| b"ACGT"[(at.wrapping_mul(2_654_435_761) >> 29) as usize & 3])
        .collect();
    let genomes = [
        vec![repeats],
        vec![holes],
        vec![palindrome.clone(), b"ACGTTGCATTAGCCATT".to_vec(), palindrome],
        vec![vec![b'A'; 90], b"AT".repeat(50), b"AAC".repeat(30)],
        vec![mixed[..10].to_vec(), mixed[10..160].to_vec(), mixed[160..].to_vec()],
    ];
    genomes.map(|genome| Bench::new(genome, all(Acceptance::Mismatches(0)))).into()
}

/// Numbers off the bytes of a fuzzer; zeros past their end.
struct Numbers<'a>(&'a [u8]);

impl Numbers<'_> {
    fn below(&mut self, end: usize) -> usize {
        let [first, rest @ ..] = self.0 else { return 0 };
        self.0 = rest;
        usize::from(*first) % end
    }

    /// A segment of the genome with some changes, or any letters.
    fn read(&mut self, sequences: &[Vec<u8>]) -> TestRead {
        let text = sequences.concat();
        // One in eight is long: some beyond what is searched for.
        let length = self.below(90);
        let length = if self.below(8) == 7 { 13 * length } else { length };
        let from = self.below(256) + self.below(2) * 256;
        let mut bases: Vec<u8> = (0..length).map(|at| text[(from + at) % text.len()]).collect();
        if self.below(2) == 1 {
            bases = bases.iter().rev().map(|&it| complement(it)).collect();
        }
        for _ in 0..self.below(8) {
            let (at, letter) = (self.below(256), b"ACGTNacgt.R-*"[self.below(13)]);
            if let Some(base) = bases.get_mut(at) {
                *base = letter;
            }
        }
        let lowest = b'!' + self.below(40) as u8;
        let quality = |at: usize| lowest + (at * 7 % 40) as u8;
        (bases, (0..length).map(quality).collect())
    }

    fn acceptance(&mut self) -> Acceptance {
        match self.below(9) {
            most @ 0..5 => Acceptance::Mismatches(most as u8),
            mismatches => Acceptance::Seed(SeedAcceptance {
                bases: 5 + self.below(60),
                mismatches: mismatches as u8 - 5,
                quality_ceiling: self.below(256) as u32,
                rounds: self.below(2) == 0,
            }),
        }
    }

    fn options(&mut self) -> UngappedOptions {
        let orientations =
            [Orientation::ForwardReverse, Orientation::ReverseForward, Orientation::Same];
        let reported = self.below(6) as u32;
        let max_placements = self.below(6) as u32;
        UngappedOptions {
            reported: if reported == 0 { Reported::All } else { Reported::AtMost(reported) },
            max_placements: (max_placements > 0).then_some(max_placements),
            best_stratum: self.below(2) == 1,
            strands: [Strands::Both, Strands::Forward, Strands::Reverse][self.below(3)],
            trim: [self.below(12), self.below(12)],
            pairs: PairOptions {
                orientation: orientations[self.below(3)],
                min_insert_bp: self.below(100) as u32,
                max_insert_bp: self.below(256) as u32,
            },
            ..all(self.acceptance())
        }
    }
}

/// Records of pairs and singles, all well-formed.
struct Checked(usize);

impl RecordSink for Checked {
    fn record(&mut self, _: Origin, body: &[u8]) {
        let record = RecordRef::new(body).unwrap();
        assert!(AuxFields::of(&body[record.aux_start()..]).all(|field| field.is_ok()));
        self.0 += 1;
    }
}

/// What bytes of a fuzzer make of a genome, reads and options: single reads against the scan, then
/// with mates and any options.
pub(crate) fn fuzzed(benches: &mut [Bench], data: &[u8]) {
    let mut numbers = Numbers(data);
    let bench = &mut benches[numbers.below(5)];
    let acceptance = numbers.acceptance();
    let count = 1 + numbers.below(4);
    let reads: Vec<TestRead> = (0..count).map(|_| numbers.read(&bench.sequences)).collect();
    let fits = |read: &&TestRead| read.0.is_empty() || (15..=1024).contains(&read.0.len());
    let fitting: Vec<TestRead> = reads.iter().filter(fits).cloned().collect();
    compare(bench, &fitting, acceptance);

    bench.set(numbers.options());
    survive(bench, &reads);
}

/// Pairs of the first reads, and all of them alone, of any lengths: records of all.
fn survive(bench: &Bench, reads: &[TestRead]) {
    let read = |at: usize| Read { name: b"r", bases: &reads[at].0, qualities: Some(&reads[at].1) };
    let pairs = (1..reads.len()).step_by(2).map(|at| [read(at - 1), read(at)]).collect();
    let singles = (0..reads.len()).map(read).collect();
    let reads_in = EngineReads { pairs, singles };
    let templates = reads_in.pairs.len() + reads_in.singles.len();
    let mut checked = Checked(0);
    bench.emit(&reads_in, &mut checked);
    assert!(checked.0 >= templates);
}
