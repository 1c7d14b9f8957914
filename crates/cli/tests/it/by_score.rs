//! `--mode end-to-end` and `--mode local`: no worse than Bowtie 2 where the truth is known, its
//! scores, its tags and its MAPQ.

use crate::by_score_planted::{bowtie_2_of, each_bowtie_2};
use crate::common::{
    READ_GROUP, assert_same_bytes, folder, has, memory_floor, run, run_into, seqloom,
};
use crate::data::{Reference, align, small, yeast};
use crate::lead::{Lead, MOST_BELOW};
use crate::ungapped::assert_valid;
use seqloom_testkit::random::Random;
use seqloom_testkit::referees;
use seqloom_testkit::sam::{SamRecord, flag};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) const STREAM: [&str; 4] =
    ["--no-sort", "--no-mark-duplicates", "--output-format", "sam"];

/// Where a read is from.
#[derive(Clone)]
pub(crate) struct Truth {
    pub(crate) contig: String,
    /// First base, from 1, and the last one.
    pub(crate) ends: [i64; 2],
    pub(crate) reverse: bool,
}

/// How reads differ from the reference.
#[derive(Clone, Copy)]
pub(crate) struct Changes {
    /// Of all bases: errors, and variants of one base.
    pub(crate) errors: f64,
    /// Of all bases: where bases are left out or put in.
    pub(crate) indels: f64,
    /// Greatest share of random bases; each read has a share of its own.
    pub(crate) noise: f64,
}

pub(crate) const USUAL: Changes = Changes { errors: 0.006, indels: 0.0004, noise: 0.0 };

pub(crate) fn complement(bases: &[u8]) -> Vec<u8> {
    let turn = |&base: &u8| b"TGCAN"[b"ACGT".iter().position(|&it| it == base).unwrap_or(4)];
    bases.iter().rev().map(turn).collect()
}

/// A read off the beginning of `window`, its qualities, and how much of the window it took.
pub(crate) fn sample(
    random: &mut Random,
    window: &[u8],
    length: usize,
    changes: Changes,
) -> (Vec<u8>, usize) {
    let noise = random.unit() * changes.noise;
    let (mut bases, mut at) = (Vec::new(), 0);
    while bases.len() < length {
        let count = 1 + random.below(6) as usize;
        if random.chance(changes.indels / 2.0) {
            at += count;
        } else if random.chance(changes.indels / 2.0) {
            bases.extend((0..count).map(|_| random.pick(b"ACGT")));
        }
        let any = random.chance(changes.errors + noise);
        bases.push(if any { random.pick(b"ACGT") } else { window[at] });
        at += 1;
    }
    bases.truncate(length);
    (bases, at)
}

/// Writes reads of `length`, and says where each is from.
pub(crate) fn reads(
    reference: &Reference,
    (seed, count): (u64, usize),
    length: usize,
    changes: Changes,
    path: &Path,
) -> Vec<Truth> {
    let mut random = Random::new(seed);
    let (mut text, mut truths) = (Vec::new(), Vec::new());
    let contigs = &reference.genome().contigs;
    let total: usize = contigs.iter().map(|contig| contig.bases.len()).sum();
    while truths.len() < count {
        // Contigs by their lengths.
        let mut from = random.index(total);
        let contig = contigs.iter().find(|contig| {
            let is_here = from < contig.bases.len();
            from = if is_here { from } else { from - contig.bases.len() };
            is_here
        });
        let contig = contig.unwrap();
        let span = length + 120;
        let Some(window) = contig.bases.get(from..from + span) else { continue };
        if window.contains(&b'N') {
            continue;
        }
        let (mut bases, taken) = sample(&mut random, window, length, changes);
        let reverse = random.percent(50);
        if reverse {
            bases = complement(&bases);
        }
        let qualities: String = bases
            .iter()
            .map(|_| char::from(b'!' + random.pick(&[40, 40, 38, 30, 20, 10, 2])))
            .collect();
        let bases = String::from_utf8(bases).unwrap();
        writeln!(text, "@{}\n{bases}\n+\n{qualities}", truths.len()).unwrap();
        let ends = [from as i64 + 1, (from + taken) as i64];
        truths.push(Truth { contig: contig.name.clone(), ends, reverse });
    }
    fs::write(path, text).unwrap();
    truths
}

/// What a record says.
#[derive(Debug, Clone, Default)]
pub(crate) struct Record {
    /// Its number; of mates twice that, and one more for the second.
    read: usize,
    pub(crate) flags: u16,
    pub(crate) contig: String,
    pub(crate) position: i64,
    pub(crate) mapq: u8,
    cigar: String,
    pub(crate) score: Option<i32>,
    second: Option<i32>,
    bases: usize,
    tags: String,
}

fn number<T: std::str::FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(text).ok()?.trim_start_matches("i:").parse().ok()
}

pub(crate) fn records(sam: &Path) -> Vec<Record> {
    let text = fs::read(sam).unwrap();
    let lines = text.split(|&byte| byte == b'\n').filter(|line| !line.starts_with(b"@"));
    lines
        .filter_map(SamRecord::parse)
        .map(|record| {
            let column = |at: usize| String::from_utf8_lossy(record.columns[at]).into_owned();
            let name: usize = column(0).parse().unwrap();
            let is_second = record.flag & flag::SECOND != 0;
            let read = if record.flag & flag::PAIRED == 0 {
                name
            } else {
                2 * name + usize::from(is_second)
            };
            Record {
                read,
                flags: record.flag,
                contig: column(2),
                position: column(3).parse().unwrap(),
                mapq: column(4).parse().unwrap(),
                cigar: column(5),
                score: record.tag(*b"AS").and_then(number),
                second: record.tag(*b"XS").and_then(number),
                bases: record.columns[9].len(),
                tags: String::from_utf8_lossy(record.tags).into_owned(),
            }
        })
        .collect()
}

/// Lengths and kinds of the operations of a CIGAR.
fn operations(cigar: &str) -> Vec<(i64, char)> {
    let parts = cigar.split_inclusive(|it: char| it.is_ascii_alphabetic());
    parts
        .filter_map(|part| {
            let kind = part.chars().last()?;
            Some((part[..part.len() - 1].parse().ok()?, kind))
        })
        .collect()
}

impl Record {
    /// See the field.
    pub(crate) fn read(&self) -> usize {
        self.read
    }

    pub(crate) fn is_placed(&self) -> bool {
        self.flags & flag::UNMAPPED == 0
    }

    /// Whether another placement is as good, so that this one was drawn.
    fn is_drawn(&self) -> bool {
        self.score.is_some() && self.score == self.second
    }

    /// Whether it begins or ends where the read does, but for ten bases.
    pub(crate) fn is_right(&self, truth: &Truth) -> bool {
        let operations = operations(&self.cigar);
        let clip = |it: Option<&(i64, char)>| it.filter(|it| it.1 == 'S').map_or(0, |it| it.0);
        let span: i64 = operations.iter().filter(|it| "MD".contains(it.1)).map(|it| it.0).sum();
        let start = self.position - clip(operations.first());
        let end = self.position + span - 1 + clip(operations.last());
        let is_near = |a: i64, b: i64| (a - b).abs() <= 10;
        self.is_placed()
            && self.contig == truth.contig
            && (self.flags & flag::REVERSE != 0) == truth.reverse
            && (is_near(start, truth.ends[0]) || is_near(end, truth.ends[1]))
    }
}

fn seqloom_in(mode: &str, reference: &Reference, reads: &Path, options: &str) -> Command {
    let mut command = seqloom(align(reference, &[reads]));
    command.args(["--mode", mode]).args(options.split_whitespace()).args(STREAM);
    command
}

/// What seqloom makes of reads.
pub(crate) fn ours(mode: &str, reference: &Reference, reads: &Path, options: &str) -> Vec<Record> {
    let sam = reads.with_extension("ours.sam");
    run_into(seqloom_in(mode, reference, reads, options).args(["-o", "-"]), &sam).ok();
    records(&sam)
}

/// What the current Bowtie 2 makes of them.
pub(crate) fn bowtie_2_s(
    mode: &str,
    reference: &Reference,
    reads: &Path,
    options: &str,
) -> Vec<Record> {
    bowtie_2_of(&referees::path_of("bowtie2"), mode, reference, reads, options)
}

/// The names of a preset.
pub(crate) fn preset(mode: &str, effort: &str) -> String {
    if mode == "local" { format!("--{effort}-local") } else { format!("--{effort}") }
}

/// MAPQ by the table of the specification: first the least part of the range that a score needs
/// over the minimum, then MAPQ by the distance to the second score, in tenths from 9 to 0.
fn mapq(mode: &str, record: &Record) -> u8 {
    let length = record.bases as f64;
    let (minimum, perfect) = match mode {
        "local" => ((20.0 + 8.0 * length.ln()) as i32, 2 * record.bases as i32),
        _ => ((-0.6 - 0.6 * length) as i32, 0),
    };
    let (score, range) = (record.score.unwrap(), f64::from(perfect - minimum));
    let reaches = |value: i32, part: f32| f64::from(value) >= range * f64::from(part);
    let over = score - minimum;
    let Some(second) = record.second else {
        let tenths = [0.8, 0.7, 0.6, 0.5, 0.4, 0.3].into_iter().position(|it| reaches(over, it));
        let values: [u8; 7] = match mode {
            "local" => [44, 42, 41, 36, 28, 24, 22],
            _ => [42, 40, 24, 23, 8, 3, 0],
        };
        return values[tenths.unwrap_or(6)];
    };
    let distance = (score - second).abs();
    let tenths = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1];
    let column = tenths.into_iter().position(|it| reaches(distance, it));
    let column = column.unwrap_or(if distance > 0 { 9 } else { 10 });
    let row: [u8; 11] = match mode {
        "local" if over == perfect - minimum => [40, 39, 38, 37, 35, 34, 33, 32, 31, 11, 1],
        "local" if reaches(over, 0.5) => [40, 39, 38, 37, 25, 21, 18, 17, 14, 11, 1],
        "local" => [40, 39, 38, 37, 99, 19, 16, 12, 9, 2, 0],
        _ if score == perfect => [39, 38, 37, 36, 35, 34, 32, 31, 30, 6, 1],
        _ if reaches(over, if column < 6 { 0.84 } else { 0.88 }) => {
            [33, 27, 26, 22, 25, 21, 18, 17, 12, 6, 1]
        }
        _ if reaches(over, if column < 6 { 0.68 } else { 0.67 }) => {
            [33, 27, 26, 22, 16, 14, 15, 11, 7, 6, 1]
        }
        _ => [33, 27, 26, 22, 5, 4, 3, 0, 0, 2, 0],
    };
    row[column]
}

/// Every record's MAPQ is the table's.
fn check_mapq(mode: &str, records: &[Record], whose: &str) {
    for record in records.iter().filter(|record| record.is_placed()) {
        assert_eq!(record.mapq, mapq(mode, record), "{whose}, {mode}: {record:?}");
    }
}

/// Reads at MAPQ 20 and above, of Bowtie 2's, at least.
const LEAST_SURE: f64 = 0.999;

/// Shares that are not below Bowtie 2's, of records of which `together` and `together` are of one
/// template.
pub(crate) fn compare_places(
    truths: &[Truth],
    [ours, theirs]: [&[Record]; 2],
    (what, together): (&str, usize),
) -> Lead {
    assert_eq!([ours.len(), theirs.len()], [truths.len(); 2]);
    let of = |records: &[Record], is_it: &dyn Fn(&Record) -> bool| {
        records.iter().filter(|record| is_it(record)).count()
    };
    let is_right = |record: &Record| record.is_right(&truths[record.read]);
    let is_wrong = |record: &Record| record.mapq >= 20 && !is_right(record);
    let lead_of = |counts: &dyn Fn(&Record, &Record) -> bool| {
        let mut lead = Lead::default();
        for (a, b) in ours.chunks(together).zip(theirs.chunks(together)) {
            let both = a.iter().zip(b).filter(|(a, b)| counts(a, b));
            lead.add(both.map(|(a, b)| i64::from(is_right(a)) - i64::from(is_right(b))).sum());
        }
        lead
    };
    let of_all = lead_of(&|_, _| true);
    let of_chosen = lead_of(&|a, b| !(a.is_drawn() && b.is_drawn())).errors();
    let right = [ours, theirs].map(|it| of(it, &is_right));
    let wrong = [ours, theirs].map(|it| of(it, &is_wrong));
    let sure = [ours, theirs].map(|it| of(it, &|record| record.mapq >= 20));
    let lost = [ours, theirs].map(|it| of(it, &|record| !record.is_placed()));
    eprintln!(
        "{what}: right {right:?} ({:+.1}, but for drawn ones {of_chosen:+.1} standard errors), \
         wrong at 20 {wrong:?}, at 20 {sure:?}, unaligned {lost:?}",
        of_all.errors()
    );
    of_all.check_set(what);
    assert!(of_chosen >= -MOST_BELOW, "{what}: right {right:?} but for drawn ones");
    assert!(wrong[0] <= wrong[1] + 3, "{what}: wrong at 20 {wrong:?}");
    let least = (sure[1] as f64 * LEAST_SURE).floor();
    assert!(sure[0] as f64 >= least, "{what}: at 20 {sure:?}");
    of_all
}

/// Shares that are not below Bowtie 2's, and scores.
pub(crate) fn compare(mode: &str, truths: &[Truth], both: [&[Record]; 2], what: &str) -> Lead {
    let lead = compare_places(truths, both, (what, 1));
    let [ours, theirs] = both;
    let lower = ours.iter().zip(theirs).filter(|(a, b)| a.score < b.score).count();
    assert!(1000 * lower <= truths.len(), "{what}: {lower} of lower score");
    check_mapq(mode, ours, "ours");
    check_mapq(mode, theirs, "Bowtie 2's");
    lead
}

/// Reads of one length and one share of errors, and at which efforts they are compared.
type Set<'a> = (usize, f64, &'a [&'a str]);

/// Efforts.
pub(crate) const ALL: [&str; 4] = ["very-fast", "fast", "sensitive", "very-sensitive"];
pub(crate) const USUALLY: [&str; 1] = ["sensitive"];

fn no_worse(bowtie_2: &Path, reference: &Reference, count: usize, sets: &[Set<'_>]) {
    let here = folder();
    let file = here.path().join("reads.fq");
    let (name, mut lead) = (reference.name(), Lead::default());
    for &(length, errors, efforts) in sets {
        let changes = Changes { errors, ..USUAL };
        let truths = reads(reference, (length as u64, count), length, changes, &file);
        for mode in ["end-to-end", "local"] {
            for effort in efforts {
                let what = format!("{name}, {mode}, {effort}, {count} of {length} bases, {errors}");
                let found = ours(mode, reference, &file, &format!("--effort {effort}"));
                let options = preset(mode, effort);
                let theirs = bowtie_2_of(bowtie_2, mode, reference, &file, &options);
                lead = lead.with(compare(mode, &truths, [&found, &theirs], &what));
            }
        }
    }
    lead.check(name);
}

#[test]
fn placements_and_scores_are_no_worse_than_bowtie_2_s() {
    let kinds = [(50, 0.006), (100, 0.001), (100, 0.03), (150, 0.006), (250, 0.01)];
    for bowtie_2 in each_bowtie_2() {
        let sets = kinds.map(|(length, errors)| (length, errors, &USUALLY[..]));
        no_worse(&bowtie_2, small(), 2000, &sets);
    }
    if let (true, Some(yeast)) = (has("bowtie2"), yeast()) {
        let sets = kinds.map(|(length, errors)| (length, errors, &ALL[..3]));
        no_worse(&referees::path_of("bowtie2"), yeast, 5000, &sets);
    }
}

/// Merged mates, and reads of Sanger's length.
#[test]
fn placements_and_scores_of_long_reads_are_no_worse_than_bowtie_2_s() {
    if has("bowtie2") {
        let bowtie_2 = referees::path_of("bowtie2");
        let kinds = [(400, 0.006), (600, 0.01), (800, 0.03), (1000, 0.01)];
        let sets = kinds.map(|(length, errors)| (length, errors, &USUALLY[..]));
        no_worse(&bowtie_2, small(), 1000, &sets);
        if let Some(yeast) = yeast() {
            let sets = [(500, 0.01, &USUALLY[..]), (1000, 0.006, &USUALLY)];
            no_worse(&bowtie_2, yeast, 1500, &sets);
        }
    }
}

/// The sets of the slow tests.
const SLOW: [Set<'_>; 8] = [
    (50, 0.001, &USUALLY),
    (50, 0.01, &ALL),
    (50, 0.03, &USUALLY),
    (100, 0.001, &USUALLY),
    (100, 0.01, &USUALLY),
    (100, 0.03, &USUALLY),
    (150, 0.01, &USUALLY),
    (250, 0.01, &USUALLY),
];

fn slow_sets(reference: fn() -> Option<&'static Reference>) {
    if seqloom_testkit::skip::slow_tests()
        && has("bowtie2")
        && let Some(reference) = reference()
    {
        no_worse(&referees::path_of("bowtie2"), reference, 100_000, &SLOW);
    }
}

#[test]
fn slow_placements_are_no_worse_than_bowtie_2_s_in_human() {
    slow_sets(crate::data::chr20);
}

#[test]
fn slow_placements_are_no_worse_than_bowtie_2_s_in_yeast() {
    slow_sets(yeast);
}

#[test]
fn noisy_reads_are_placed_twice_as_often() {
    if !has("bowtie2") {
        return;
    }
    let here = folder();
    let file = here.path().join("reads.fq");
    let changes = Changes { errors: 0.0, indels: 0.0, noise: 0.12 };
    let truths = reads(small(), (12, 3000), 100, changes, &file);
    for effort in ["very-fast", "sensitive", "very-sensitive"] {
        let found = ours("end-to-end", small(), &file, &format!("--effort {effort}"));
        let theirs = bowtie_2_s("end-to-end", small(), &file, &preset("end-to-end", effort));
        let lost = [&found, &theirs].map(|all| all.iter().filter(|it| !it.is_placed()).count());
        assert!(2 * lost[0] <= lost[1], "{effort}: {lost:?}");
        compare("end-to-end", &truths, [&found, &theirs], effort);
    }
}

/// Bases and qualities of the reads of a file.
fn sequences(file: &Path) -> Vec<[Vec<u8>; 2]> {
    let text = fs::read_to_string(file).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    lines.chunks(4).map(|it| [it[1], it[3]].map(|line| line.as_bytes().to_vec())).collect()
}

/// Penalties: of a mismatch, of an unknown base, of gaps in the read and in the reference.
struct Penalties {
    bonus: i32,
    mismatch: [i32; 2],
    unknown: i32,
    read_gap: [i32; 2],
    reference_gap: [i32; 2],
}

/// What a record's CIGAR is worth over the reference.
fn worth(
    record: &Record,
    reference: &Reference,
    [bases, qualities]: &[Vec<u8>; 2],
    penalties: &Penalties,
) -> i32 {
    let contig = reference.genome().contigs.iter().find(|it| it.name == record.contig).unwrap();
    let is_reverse = record.flags & flag::REVERSE != 0;
    let bases = if is_reverse { complement(bases) } else { bases.clone() };
    let mut qualities = qualities.clone();
    if is_reverse {
        qualities.reverse();
    }
    let (mut at, mut place, mut score) = (0, record.position as usize - 1, 0);
    for (count, kind) in operations(&record.cigar) {
        let gap = |[open, extend]: [i32; 2]| open + extend * count as i32;
        match kind {
            'M' => {
                for _ in 0..count {
                    let (own, under) = (bases[at], contig.bases[place]);
                    let quality = i32::from(qualities[at] - b'!').min(40);
                    let [most, least] = penalties.mismatch;
                    score += match () {
                        () if own == b'N' || under == b'N' => -penalties.unknown,
                        () if own == under => penalties.bonus,
                        () => -(least + (most - least) * quality / 40),
                    };
                    (at, place) = (at + 1, place + 1);
                }
            }
            'D' => {
                score -= gap(penalties.read_gap);
                place += count as usize;
            }
            'I' => {
                score -= gap(penalties.reference_gap);
                at += count as usize;
            }
            'S' => at += count as usize,
            _ => panic!("{}", record.cigar),
        }
    }
    score
}

#[test]
fn scores_are_what_the_options_say() {
    if !has("bowtie2") {
        return;
    }
    let here = folder();
    let file = here.path().join("reads.fq");
    let changes = Changes { errors: 0.02, indels: 0.004, noise: 0.0 };
    let truths = reads(small(), (3, 2000), 100, changes, &file);
    // An N now and then, and reads of it.
    let text = fs::read_to_string(&file).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for at in (1..lines.len()).step_by(4 * 7) {
        let from = at % 80;
        lines[at].replace_range(from..from + 3, "NNN");
    }
    lines[4 * 50 + 1] = "N".repeat(100);
    fs::write(&file, lines.join("\n") + "\n").unwrap();
    let sequences = sequences(&file);
    let usual = Penalties {
        bonus: 0,
        mismatch: [6, 2],
        unknown: 1,
        read_gap: [5, 3],
        reference_gap: [5, 3],
    };
    for (mode, own, theirs, penalties) in [
        ("end-to-end", "", "", Penalties { ..usual }),
        ("local", "", "", Penalties { bonus: 2, ..usual }),
        (
            "end-to-end",
            "--mismatch-penalties 4,3 --unknown-penalty 2 --read-gap 3,2 --reference-gap 6,1",
            "--mp 4,3 --np 2 --rdg 3,2 --rfg 6,1",
            Penalties {
                mismatch: [4, 3],
                unknown: 2,
                read_gap: [3, 2],
                reference_gap: [6, 1],
                ..usual
            },
        ),
        (
            "local",
            "--match-bonus 3 --ignore-qualities --score-min C,60 --gap-barrier 8",
            "--ma 3 --ignore-quals --score-min C,60 --gbar 8",
            Penalties { bonus: 3, mismatch: [6, 6], ..usual },
        ),
        (
            "end-to-end",
            "--score-min L,0,-0.3 --max-unknown L,2,0",
            "--score-min L,0,-0.3 --n-ceil L,2,0",
            Penalties { ..usual },
        ),
    ] {
        let found = ours(mode, small(), &file, own);
        let theirs = bowtie_2_s(mode, small(), &file, theirs);
        assert_eq!(found.len(), truths.len());
        for record in found.iter().filter(|record| record.is_placed()) {
            let expected = worth(record, small(), &sequences[record.read], &penalties);
            assert_eq!(record.score, Some(expected), "{mode} {own}: {record:?}");
        }
        let lower = found.iter().zip(&theirs).filter(|(a, b)| a.score < b.score).count();
        assert!(lower <= 2, "{mode} {own}: {lower} of lower score");
        // Why reads are not searched for is reported alike.
        let filtered = |records: &[Record]| -> Vec<(usize, bool)> {
            let tag = |record: &&Record| record.tags.contains("YF:Z:");
            let all = records.iter().filter(tag);
            all.map(|it| (it.read, it.tags.contains("YF:Z:NS"))).collect()
        };
        assert_eq!(filtered(&found), filtered(&theirs), "{mode} {own}");
        assert!(!filtered(&found).is_empty());
        let same = found.iter().zip(&theirs).filter(|(a, b)| a.cigar == b.cigar).count();
        assert!(same * 100 > 96 * truths.len(), "{mode} {own}: {same} of the same CIGAR");
    }
}

#[test]
fn more_placements_are_as_good_as_bowtie_2_s() {
    if !has("bowtie2") {
        return;
    }
    let here = folder();
    let (fasta, file) = (here.path().join("repeats/ref.fa"), here.path().join("reads.fq"));
    fs::create_dir(here.path().join("repeats")).unwrap();
    let mut random = Random::new(4);
    let mut bases =
        |count: usize| -> Vec<u8> { (0..count).map(|_| random.pick(b"ACGT")).collect() };
    let repeat = bases(300);
    let mut genome = Vec::new();
    for copy in 0..6 {
        genome.extend(bases(500));
        let mut unit = repeat.clone();
        // Copies differ in some bases, on either strand.
        for at in (copy * 7..300).step_by(60) {
            unit[at] = complement(&unit[at..=at])[0];
        }
        genome.extend(if copy % 2 == 0 { unit } else { complement(&unit) });
    }
    genome.extend(bases(500));
    let text = [b">r\n", &genome[..], b"\n"].concat();
    fs::write(&fasta, text).unwrap();
    let reference = Reference::new("repeats-by-score", &fasta);
    let truths = reads(&reference, (5, 600), 80, USUAL, &file);
    for mode in ["end-to-end", "local"] {
        for (own, theirs, most) in
            [("--placements 3", "-k 3", 3), ("--all", "-a", usize::MAX), ("--placements 1", "", 1)]
        {
            let found = ours(mode, &reference, &file, own);
            let theirs = bowtie_2_s(mode, &reference, &file, theirs);
            for read in 0..truths.len() {
                let of = |records: &[Record]| -> Vec<Record> {
                    let all = records.iter().filter(|it| it.read == read && it.is_placed());
                    all.cloned().collect()
                };
                let [a, b] = [of(&found), of(&theirs)];
                let what = format!("{mode} {own}, read {read}: {a:?}\n{b:?}");
                assert!(a.len() <= most, "{what}");
                let scores = |records: &[Record]| -> Vec<i32> {
                    // Far worse ones have gaps, of which both look at some alone.
                    let good = records.iter().filter_map(|it| it.score).filter(|&it| it >= -24);
                    let mut scores: Vec<i32> = good.collect();
                    scores.sort_unstable_by(|one, other| other.cmp(one));
                    scores
                };
                let [own, bowtie] = [scores(&a), scores(&b)];
                if mode == "end-to-end" {
                    assert!(own.len() >= bowtie.len(), "{what}");
                    assert!(own.iter().zip(&bowtie).all(|(one, other)| one >= other), "{what}");
                }
                assert!(own.first() >= bowtie.first(), "{what}");
                let places: std::collections::BTreeSet<_> =
                    a.iter().map(|it| (it.position, it.flags & flag::REVERSE)).collect();
                assert_eq!(places.len(), a.len(), "{what}");
                for (at, record) in a.iter().enumerate() {
                    assert_eq!(record.flags & flag::SECONDARY != 0, at > 0, "{what}");
                    let is_known = at == 0 && (record.second.is_some() || most == 1);
                    let expected = if is_known { mapq(mode, record) } else { 255 };
                    assert_eq!(record.mapq, expected, "{what}");
                }
            }
        }
    }
}

/// Records of a run that are compared whole.
fn out(name: &str, mode: &str, here: &Path, reads: &Path, options: &[&str]) -> PathBuf {
    let path = here.join(name);
    let mut command = seqloom(align(small(), &[reads]));
    command.args(["--mode", mode, "--no-pg", "-R", READ_GROUP, "-o"]).arg(&path);
    run(command.args(options)).ok();
    path
}

#[test]
fn the_same_bytes_for_any_threads_and_memory_by_score() {
    let here = folder();
    let file = here.path().join("reads.fq");
    reads(small(), (8, 6000), 100, Changes { noise: 0.1, ..USUAL }, &file);
    for mode in ["end-to-end", "local"] {
        let mut arguments = align(small(), &[&file]);
        arguments.extend(["--mode", mode, "-o", "-"].map(str::to_owned));
        let floor = memory_floor(&arguments);
        let base = out("base.bam", mode, here.path(), &file, &["-t1"]);
        for other in
            [["-t2", "-m4G"], ["-t7", "-m4G"], ["-t64", "-m8G"], ["-t1", &format!("-m{floor}")]]
        {
            let path = out("other.bam", mode, here.path(), &file, &other);
            assert_same_bytes(&base, &path, &format!("{mode} {other:?}"));
        }
    }
}

#[test]
fn records_by_score_are_valid() {
    let (true, true) = (has("picard"), has("samtools")) else { return };
    let here = folder();
    let file = here.path().join("reads.fq");
    let changes = Changes { errors: 0.02, indels: 0.004, noise: 0.0 };
    reads(small(), (9, 3000), 120, changes, &file);
    for mode in ["end-to-end", "local"] {
        let bam = out("valid.bam", mode, here.path(), &file, &["--placements", "2"]);
        assert_valid(&bam, here.path(), mode);
    }
}

#[test]
fn holes_and_ends_of_the_reference_count_as_bowtie_2_s() {
    if !has("bowtie2") {
        return;
    }
    let here = folder();
    let (fasta, file) = (here.path().join("holes/ref.fa"), here.path().join("reads.fq"));
    fs::create_dir(here.path().join("holes")).unwrap();
    let mut random = Random::new(6);
    let mut bases =
        |count: usize| -> Vec<u8> { (0..count).map(|_| random.pick(b"ACGT")).collect() };
    let (one, other, hidden) = (bases(400), bases(400), bases(400));
    let mut holed = one.clone();
    holed[200..206].fill(b'N');
    let text = [b">a\n", &holed[..], b"\n>b\n", &other, b"\n>c\n", &hidden, b"\n"].concat();
    fs::write(&fasta, text).unwrap();
    let reference = Reference::new("holes-by-score", &fasta);
    // Over the hole, and over the ends of sequences by one to twelve bases.
    let joined = [&one[..], &other, &hidden].concat();
    let starts = (110..206).step_by(3).chain((300..313).map(|at| at + 1)).chain(688..713);
    let mut text = String::new();
    for (number, start) in starts.enumerate() {
        let mut read = joined[start..start + 100].to_vec();
        if number % 2 == 1 {
            read = complement(&read);
        }
        let read = String::from_utf8(read).unwrap();
        text += &format!("@{number}\n{read}\n+\n{}\n", "I".repeat(100));
    }
    fs::write(&file, text).unwrap();
    for mode in ["end-to-end", "local"] {
        let found = ours(mode, &reference, &file, "");
        let theirs = bowtie_2_s(mode, &reference, &file, "");
        assert_eq!(found.len(), theirs.len());
        for (a, b) in found.iter().zip(&theirs) {
            let what = format!("{mode}: {a:?}\n{b:?}");
            assert!(a.score >= b.score, "{what}");
            let unknown = |it: &Record| {
                it.tags.split('\t').find(|tag| tag.starts_with("XN:i:")).map(str::to_owned)
            };
            if a.score == b.score && a.cigar == b.cigar && a.position == b.position {
                let md = |it: &Record| {
                    it.tags.split('\t').find(|tag| tag.starts_with("MD")).map(str::to_owned)
                };
                assert_eq!(md(a), md(b), "{what}");
            }
            assert!(!a.is_placed() || unknown(a).is_some(), "{what}");
        }
    }
}

#[test]
fn options_without_a_meaning_are_refused() {
    let file = small().ours.clone();
    for (options, expected) in [
        ("--mode end-to-end --match-bonus 2", "--match-bonus is an option of --mode local"),
        ("--mode end-to-end --score-min C,5", "above the score of a perfect alignment"),
        ("--mode local --score-min L,1,3", "above the score of a perfect alignment"),
        ("--mode local --score-min X,1,3", "must be C, L, S or G"),
        ("--mode local --score-min L,1", "must be C, L, S or G"),
        ("--mode end-to-end --mismatch-penalties 2,6", "is more than 2"),
        ("--mode end-to-end --mismatch-penalties 6", "two numbers"),
        ("--mode end-to-end --mismatch-penalties 6,2 --ignore-qualities", "one penalty"),
        ("--mode end-to-end --max-unknown C,-1", "--max-unknown is below 0"),
        (
            "--mode end-to-end --max-mismatches 2",
            "--max-mismatches is an option of --mode ungapped",
        ),
        ("--mode local --min-insert 2", "--min-insert is for mates, and the reads are single"),
        ("--mode local --dovetail", "--dovetail is for mates, and the reads are single"),
        ("--mode local -k 19", "-k is an option of --mode bwa"),
        ("--mode local --placements 5000", "takes 4096 at most"),
        ("--mode local --placements 5 --all", "cannot be used"),
        ("--mode ungapped --effort fast", "--effort is an option of --mode end-to-end"),
        ("--score-min C,5", "--score-min is an option of --mode end-to-end"),
    ] {
        let mut command = seqloom(align(small(), &[&file]));
        command.args(["-o", "-"]).args(options.split_whitespace());
        run(&mut command).fails_with(2).says(&[expected]);
    }
}

#[test]
fn the_summary_is_bowtie_2_s_and_files_of_reads_are_written() {
    let here = folder();
    let file = here.path().join("reads.fq");
    reads(small(), (10, 200), 80, USUAL, &file);
    let random = format!("@200\n{}\n+\n{}\n", "ACGTTGCA".repeat(10), "I".repeat(80));
    fs::write(&file, fs::read_to_string(&file).unwrap() + &random).unwrap();
    let [placed, lost] = ["placed.fq", "lost.fq"].map(|name| here.path().join(name));
    let mut command = seqloom_in("end-to-end", small(), &file, "");
    command.arg("--aligned-reads").arg(&placed).arg("--unaligned-reads").arg(&lost);
    command.arg("--metrics-dir").arg(here.path().join("metrics"));
    run(command.arg("-o").arg(here.path().join("x.sam"))).ok();
    let counts = fs::read_to_string(here.path().join("metrics/x.counts.txt")).unwrap();
    for line in [
        "201 reads; of these:\n",
        "  201 (100.00%) were unpaired; of these:\n",
        "    1 (0.50%) aligned 0 times\n",
        "99.50% overall alignment rate\n",
    ] {
        assert!(counts.contains(line), "{counts}");
    }
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(fs::read_to_string(lost).unwrap(), random);
    assert_eq!(fs::read_to_string(placed).unwrap() + &random, text);
}
