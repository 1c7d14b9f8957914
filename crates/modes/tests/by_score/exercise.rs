//! Reads of any bytes placed by score: every record is worth what it says, is in a sequence,
//! and differs from the others of its read. The property tests next to this file and the fuzz
//! target call the same functions.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use seqloom_align::engine::{BatchEngine, EngineReads, Origin, Read, RecordSink};
use seqloom_align::index::{BuildOptions, IndexInfo, IndexSource, build, check, plan};
use seqloom_format::bam::{AuxFields, Flags, RecordRef};
use seqloom_modes::gapped::{
    Effort, GapPenalty, GappedEngine, GappedOptions, Growth, LengthFunction, MateOptions, Scoring,
};
use seqloom_modes::{Orientation, PairOptions, Reported, Strands};

/// A read and its qualities.
pub(crate) type TestRead = (Vec<u8>, Vec<u8>);

/// The code of a base and its quality.
pub(crate) type Coded = (usize, u8);

/// A genome and the engine of it.
pub(crate) struct Bench {
    sequences: Vec<Vec<u8>>,
    engine: GappedEngine,
    options: GappedOptions,
}

/// A placement as its record has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) sequence: usize,
    pub(crate) position: usize,
    pub(crate) is_reverse: bool,
    pub(crate) score: i32,
    pub(crate) mapq: u8,
    pub(crate) cigar: Vec<u32>,
    pub(crate) flags: u16,
    pub(crate) mate: [i32; 2],
    /// NM.
    pub(crate) edits: u32,
    /// NH, where it is said.
    pub(crate) reported: Option<u32>,
    template_length: i32,
    mate_score: Option<i32>,
}

/// Bowtie 2's scores, and a good deal of work.
pub(crate) fn usual(is_local: bool) -> GappedOptions {
    let interval = LengthFunction { growth: Growth::SquareRoot, constant: 1.0, factor: 0.5 };
    let effort = Effort {
        seed_bases: 20,
        interval,
        rows: 16,
        second_rows: 2 * 16,
        tries: 15,
        second_interval: 2,
        likely: 10,
        likely_part: 1,
    };
    GappedOptions { effort, ..GappedOptions::new(is_local) }
}

/// Records of a batch: of each read its placements, pairs first, mates one after the other.
#[derive(Default)]
pub(crate) struct Records {
    pub(crate) pairs: usize,
    pub(crate) found: Vec<Vec<Found>>,
}

impl RecordSink for Records {
    fn record(&mut self, origin: Origin, body: &[u8]) {
        let record = RecordRef::new(body).unwrap();
        let is_second = record.has_flags(Flags::SECOND_OF_PAIR);
        let number = match origin {
            Origin::Pair(at) => 2 * at + usize::from(is_second),
            Origin::Single(at) => 2 * self.pairs + at,
        };
        let is_paired = matches!(origin, Origin::Pair(_));
        assert_eq!(is_paired, record.has_flags(Flags::PAIRED));
        self.found.resize(self.found.len().max(number + 1), Vec::new());
        assert_eq!(self.found.len(), number + 1, "reads come in order");
        let tag = |requested: &[u8; 2]| {
            let mut fields = AuxFields::of(&body[record.aux_start()..]).map(Result::unwrap);
            fields.find(|(tag, _)| tag == requested).and_then(|(_, value)| value.as_int())
        };
        if record.has_flags(Flags::UNMAPPED) {
            assert!(tag(b"AS").is_none() && self.found[number].is_empty());
            return;
        }
        let name_end = 32 + usize::from(body[8]);
        let count = usize::from(u16::from_le_bytes([body[12], body[13]]));
        let words = body[name_end..name_end + 4 * count].as_chunks().0;
        self.found[number].push(Found {
            flags: record.flags(),
            mate: [record.mate_reference_id(), record.mate_position()],
            template_length: record.template_length(),
            mate_score: tag(b"YS").map(|it| it as i32),
            edits: tag(b"NM").unwrap() as u32,
            reported: tag(b"NH").map(|it| it as u32),
            sequence: record.reference_id() as usize,
            position: record.position() as usize,
            is_reverse: record.has_flags(Flags::REVERSE),
            score: tag(b"AS").unwrap() as i32,
            mapq: body[9],
            cigar: words.iter().map(|&word| u32::from_le_bytes(word)).collect(),
        });
    }
}

pub(crate) fn code(letter: u8) -> usize {
    b"ACGT".iter().position(|&it| it == letter.to_ascii_uppercase()).unwrap_or(4)
}

impl Found {
    /// Where the read begins and ends, with what is clipped.
    fn ends(&self) -> [i64; 2] {
        let clip = |op: Option<&u32>| op.filter(|&op| op & 15 == 4).map_or(0, |op| op >> 4);
        let span: u32 =
            self.cigar.iter().filter(|&op| [0, 2, 3].contains(&(op & 15))).map(|op| op >> 4).sum();
        let start = self.position as i64 - i64::from(clip(self.cigar.first()));
        [start, self.position as i64 + i64::from(span + clip(self.cigar.last()))]
    }
}

impl Bench {
    /// The index of these sequences, of letters as in FASTA.
    pub(crate) fn new(sequences: Vec<Vec<u8>>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let prefix = folder.path().join("ref.fa");
        let info = index(&sequences, &prefix);
        let options = usual(false);
        let engine = GappedEngine::load(IndexSource::new(&prefix, &info), options).unwrap();
        Self { sequences, engine, options }
    }

    /// The same genome with other options.
    pub(crate) fn set(&mut self, options: GappedOptions) {
        self.options = options;
        self.engine.set_options(options);
    }

    /// The placements of each read, all looked at. The first of them are so many pairs of mates.
    pub(crate) fn find(&self, reads: &[TestRead], pairs: usize) -> Vec<Vec<Found>> {
        let mut records = Records { pairs, ..Records::default() };
        place(&self.engine, reads, pairs, &mut records);
        for (at, (read, found)) in reads.iter().zip(&records.found).enumerate() {
            self.look(read, found, at >= 2 * pairs);
        }
        let (mates, _) = records.found.as_chunks();
        mates[..pairs].iter().for_each(|mates| look_at_mates(&self.options.mates, mates));
        records.found
    }

    /// Looks at the placements of a read, which is a single one or a mate.
    fn look(&self, read: &TestRead, found: &[Found], is_single: bool) {
        let mut places = BTreeSet::new();
        for placement in found {
            let (sequence, trim) = (&self.sequences[placement.sequence], self.options.trim);
            let own = as_placed(read, trim, placement.is_reverse);
            let (score, edits) =
                worth(&self.options.scoring, (&own, sequence), placement, &|_| 0, &mut |_| {
                    panic!("an intron")
                });
            assert_eq!((placement.score, placement.edits), (score, edits), "{placement:?}");
            let Found { sequence, position, is_reverse, .. } = *placement;
            let whole = (sequence, position, is_reverse, placement.cigar.clone());
            let is_new = places.insert(whole);
            // Of a pair one mate may stay where it is.
            let is_proper = placement.flags & Flags::PROPER_PAIR != 0;
            assert!(is_new || is_proper, "twice: {placement:?}");
            assert!(is_proper || placement.score <= found[0].score);
            assert!(!is_single || !is_proper && placement.mate == [-1, -1]);
            assert!(placement.mapq <= 44 || placement.mapq == 255);
            let [start, end] = self.options.trim;
            let length = read.0.len().saturating_sub(end);
            let length = length - start.min(length);
            let minimum = self.options.scoring.minimum.at(length).trunc();
            assert!(f64::from(placement.score) >= minimum, "{placement:?}");
        }
        if let Reported::AtMost(most) = self.options.reported {
            assert!(found.len() <= most as usize);
        }
    }
}

/// Looks at the placements of mates: pairs are what the options say, and each knows the other.
pub(crate) fn look_at_mates(options: &MateOptions, [first, second]: &[Vec<Found>; 2]) {
    let both = [first, second];
    let is_proper = |it: &Found| it.flags & Flags::PROPER_PAIR != 0;
    assert_eq!(first.iter().any(is_proper), second.iter().any(is_proper));
    for (mate, own) in both.into_iter().enumerate() {
        let other = both[1 - mate];
        for (at, found) in own.iter().enumerate() {
            let partner = if is_proper(found) { other.get(at) } else { other.first() };
            assert_eq!(found.flags & Flags::MATE_UNMAPPED == 0, partner.is_some());
            let partner = partner.unwrap_or(found);
            assert_eq!(found.mate, [partner.sequence as i32, partner.position as i32]);
            if let Some(score) = found.mate_score {
                assert_eq!(score, partner.score);
            }
        }
    }
    for (one, other) in first.iter().zip(second).filter(|(one, _)| is_proper(one)) {
        assert!(is_proper(other) && one.sequence == other.sequence);
        assert_eq!(one.template_length, -other.template_length);
        let PairOptions { orientation, min_insert_bp, max_insert_bp } = options.pairs;
        let distance = one.template_length.unsigned_abs();
        assert!((min_insert_bp..=max_insert_bp).contains(&distance), "{one:?} {other:?}");
        let is_alike = one.is_reverse == other.is_reverse;
        assert_eq!(is_alike, orientation == Orientation::Same);
        let [a, b] = [one, other].map(Found::ends);
        let overlap = a[0] < b[1] && b[0] < a[1];
        assert!(options.overlap || !overlap);
        let inside = |a: [i64; 2], b: [i64; 2]| a[0] <= b[0] && b[1] <= a[1];
        assert!(options.contain || !inside(a, b) && !inside(b, a));
    }
    let is_pair = |it: &Found| it.mate_score.is_some();
    let is_mixed = !first.iter().chain(second).any(is_pair);
    assert!(options.mixed || !is_mixed || first.is_empty() && second.is_empty());
    let is_discordant = !is_mixed && !first.iter().any(is_proper);
    assert!(options.discordant || !is_discordant);
}

/// Has an engine place reads, so many pairs of mates first.
pub(crate) fn place(
    engine: &impl BatchEngine,
    reads: &[TestRead],
    pairs: usize,
    sink: &mut dyn RecordSink,
) {
    let read = |(bases, qualities)| Read { name: b"r", bases, qualities: Some(qualities) };
    let all: Vec<Read<'_>> =
        reads.iter().map(|(bases, qualities)| read((bases, qualities))).collect();
    let (mates, singles) = all.split_at(2 * pairs);
    let batch = EngineReads { pairs: mates.as_chunks().0.to_vec(), singles: singles.to_vec() };
    let mut scratch = engine.scratch().unwrap();
    engine.align(&mut scratch, &batch, 0, sink).unwrap();
}

/// Builds the index of these sequences, of letters as in FASTA, at `prefix`.
pub(crate) fn index(sequences: &[Vec<u8>], prefix: &Path) -> IndexInfo {
    let mut text = Vec::new();
    for (number, bases) in sequences.iter().enumerate() {
        text.extend(format!(">s{number}\n").into_bytes());
        text.extend(bases);
        text.push(b'\n');
    }
    fs::write(prefix, text).unwrap();
    let ready = plan(prefix, &BuildOptions::default(), &|_, _| ()).unwrap();
    build(ready, prefix, &|_, _| ()).unwrap();
    check(prefix).unwrap()
}

/// The codes and qualities of a read as a placement has it, without what is trimmed.
pub(crate) fn as_placed(
    (bases, qualities): &TestRead,
    [start, end]: [usize; 2],
    is_reverse: bool,
) -> Vec<Coded> {
    let end = bases.len().saturating_sub(end);
    let kept = start.min(end)..end;
    let mut own: Vec<_> = kept.map(|at| (code(bases[at]), qualities[at] - b'!')).collect();
    if is_reverse {
        own.reverse();
        own.iter_mut().for_each(|it| it.0 = if it.0 < 4 { 3 - it.0 } else { 4 });
    }
    own
}

/// What a placement is worth over a sequence, and NM; `clipped` and `skipped` say what bases cost
/// that are clipped, and segments of the sequence that are left out.
pub(crate) fn worth(
    scoring: &Scoring,
    (own, sequence): (&[Coded], &[u8]),
    placement: &Found,
    clipped: &dyn Fn(&[Coded]) -> i32,
    skipped: &mut dyn FnMut([usize; 2]) -> i32,
) -> (i32, u32) {
    let Scoring { match_bonus, mismatch: [most, least], unknown, ignores_qualities, .. } = *scoring;
    let (mut at, mut place, mut score, mut edits) = (0, placement.position, 0, 0);
    for op in &placement.cigar {
        let count = (op >> 4) as usize;
        let gap = |gap: GapPenalty| i32::from(gap.open) + i32::from(gap.extend) * count as i32;
        match op & 15 {
            0 => {
                for _ in 0..count {
                    let ((base, quality), under) = (own[at], code(sequence[place]));
                    let quality = if ignores_qualities { 40 } else { quality.min(40) };
                    let lost = least + (most - least) * i16::from(quality) / 40;
                    let is_alike = base == under && base < 4;
                    score += i32::from(match () {
                        () if base == 4 || under == 4 => -unknown,
                        () if is_alike => match_bonus,
                        () => -lost,
                    });
                    edits += u32::from(!is_alike);
                    (at, place) = (at + 1, place + 1);
                }
            }
            1 => {
                score -= gap(scoring.reference_gap);
                edits += count as u32;
                at += count;
            }
            2 => {
                score -= gap(scoring.read_gap);
                edits += count as u32;
                place += count;
            }
            3 => {
                score -= skipped([place, place + count]);
                place += count;
            }
            4 => {
                score -= clipped(&own[at..at + count]);
                at += count;
            }
            kind => panic!("operation {kind}"),
        }
    }
    assert_eq!(at, own.len());
    assert!(place <= sequence.len());
    (score, edits)
}

/// Bases without a pattern.
pub(crate) fn random(seed: u32, count: u32) -> Vec<u8> {
    (0..count)
        .map(|at| b"ACGT"[((at + seed).wrapping_mul(2_654_435_761) >> 29) as usize & 3])
        .collect()
}

/// Genomes with what is hard: repeats, holes, palindromes, short sequences, one letter.
pub(crate) fn benches() -> Vec<Bench> {
    let unit = random(7, 120);
    let turned: Vec<u8> = unit.iter().rev().map(|&it| b"TGCA"[code(it)]).collect();
    let mut other = unit.clone();
    other[50] = b'A';
    other.drain(80..83);
    let holes =
        [&random(900, 100)[..], &[b'N'; 9], &random(50, 100), b"R", &random(7, 200)].concat();
    let genomes = [
        vec![[&unit[..], &random(300, 80), &other, &turned, &random(600, 50), &unit].concat()],
        vec![holes],
        vec![random(1, 30), random(60, 90), random(400, 45)],
        vec![vec![b'A'; 150], b"AC".repeat(70), b"AACG".repeat(40)],
    ];
    genomes.into_iter().map(Bench::new).collect()
}

/// Numbers off the bytes of a fuzzer; zeros past their end.
pub(crate) struct Numbers<'a>(pub(crate) &'a [u8]);

impl Numbers<'_> {
    pub(crate) fn below(&mut self, end: usize) -> usize {
        let [first, rest @ ..] = self.0 else { return 0 };
        self.0 = rest;
        usize::from(*first) % end
    }

    /// A segment of the genome with some changes and gaps, or any letters.
    pub(crate) fn read(&mut self, text: &[u8]) -> TestRead {
        // One in eight is long: some beyond what is searched for.
        let (length, from) = (self.below(140), self.below(256) + self.below(2) * 256);
        let length = if self.below(8) == 7 { 8 * length } else { length };
        let bases = (0..length).map(|at| text[(from + at) % text.len()]).collect();
        self.changed(bases)
    }

    /// Bases with some changes and gaps, on either strand.
    pub(crate) fn changed(&mut self, mut bases: Vec<u8>) -> TestRead {
        if self.below(2) == 1 {
            bases = bases.iter().rev().map(|&it| b"TGCAN"[code(it)]).collect();
        }
        for _ in 0..self.below(6) {
            let at = self.below(256);
            match self.below(3) {
                0 if at < bases.len() => bases[at] = b"ACGTNacgt.R-*"[self.below(13)],
                1 if at < bases.len() => drop(bases.drain(at..bases.len().min(at + self.below(9)))),
                2 if at < bases.len() => {
                    let letter = b"ACGT"[self.below(4)];
                    bases.splice(at..at, std::iter::repeat_n(letter, self.below(9)));
                }
                _ => (),
            }
        }
        let lowest = b'!' + self.below(40) as u8;
        let qualities = (0..bases.len()).map(|at| lowest + (at * 7 % 40) as u8).collect();
        (bases, qualities)
    }

    fn gap(&mut self) -> GapPenalty {
        GapPenalty { open: self.below(31) as i16, extend: self.below(31) as i16 }
    }

    /// Other penalties and bounds.
    pub(crate) fn change(&mut self, scoring: &mut Scoring) {
        let most = self.below(31) as i16;
        scoring.mismatch = [most, self.below(31).min(most as usize) as i16];
        scoring.ignores_qualities = self.below(2) == 1;
        scoring.unknown = self.below(31) as i16;
        [scoring.read_gap, scoring.reference_gap] = [self.gap(), self.gap()];
        scoring.gap_barrier = 1 + self.below(20) as u16;
        scoring.minimum.constant = self.below(256) as f64 - 200.0;
        scoring.most_unknown.constant = self.below(20) as f64;
    }

    fn options(&mut self) -> GappedOptions {
        let mut options = usual(self.below(2) == 1);
        let scoring = &mut options.scoring;
        if self.below(2) == 1 {
            self.change(scoring);
        }
        if scoring.is_local {
            scoring.match_bonus = 1 + self.below(20) as i16;
        }
        options.effort.rows = 1 + self.below(40) as u32;
        options.effort.tries = 1 + self.below(20) as u32;
        options.reported = match self.below(6) {
            0 => Reported::All,
            most => Reported::AtMost(most as u32),
        };
        options.strands = [Strands::Both, Strands::Forward, Strands::Reverse][self.below(3)];
        options.trim = [self.below(4), self.below(4)];
        options.mates = self.mates();
        options
    }

    pub(crate) fn mates(&mut self) -> MateOptions {
        let all = [Orientation::ForwardReverse, Orientation::ReverseForward, Orientation::Same];
        let orientation = all[self.below(3)];
        let (least, more) = (self.below(100) as u32, 2 * self.below(256) as u32);
        let pairs = PairOptions { orientation, min_insert_bp: least, max_insert_bp: least + more };
        let [dovetail, contain, overlap, mixed, discordant] =
            std::array::from_fn(|_| self.below(2) == 0);
        MateOptions { pairs, dovetail, contain, overlap, mixed, discordant }
    }
}

/// What bytes of a fuzzer make of a genome, reads and options.
pub(crate) fn fuzzed(benches: &mut [Bench], data: &[u8]) {
    let mut numbers = Numbers(data);
    let bench = &mut benches[numbers.below(4)];
    let options = numbers.options();
    bench.set(options);
    let (count, pairs) = (1 + numbers.below(4), numbers.below(3));
    let text = bench.sequences.concat();
    let reads: Vec<TestRead> = (0..count).map(|_| numbers.read(&text)).collect();
    bench.find(&reads, pairs.min(count / 2));
}
