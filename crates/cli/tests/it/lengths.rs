//! Reads that are too short or too long for a mode of `align` stop no run: they come out unmapped
//! with the tag YF:Z:LN, counted and named, and their mates are placed.

use crate::by_score::{STREAM, complement};
use crate::common::{
    READ_GROUP, Run, assert_same_bytes, folder, has, json_number, run, run_into, seqloom, words,
};
use crate::data::{align, small};
use crate::ungapped::assert_valid;
use seqloom_testkit::sam::{SamRecord, flag};
use std::fs;
use std::path::Path;

/// Modes, and the longest read that each searches for.
const MODES: [(&str, usize); 5] =
    [("bwa", 65_536), ("ungapped", 1024), ("end-to-end", 1024), ("local", 1024), ("spliced", 1024)];

/// The first contig begins with N.
const START: usize = 10_000;

/// `length` bases of the genome, from base `from` of what we take of its first contig.
fn bases(from: usize, length: usize) -> String {
    let bases = &small().genome().contigs[0].bases[START..];
    String::from_utf8(bases[from..from + length].to_vec()).unwrap()
}

/// Qualities by place.
fn qualities(length: usize) -> String {
    (0..length).map(|at| char::from(b'#' + (at % 40) as u8)).collect()
}

fn fastq(reads: &[(&str, String)]) -> String {
    let read = |(name, bases): &(&str, String)| {
        format!("@{name}\n{bases}\n+\n{}\n", qualities(bases.len()))
    };
    reads.iter().map(read).collect()
}

/// A record of SAM.
#[derive(Debug, Clone)]
struct Line {
    name: String,
    flags: u16,
    columns: Vec<String>,
    tags: String,
}

impl Line {
    fn has(&self, flags: u16) -> bool {
        self.flags & flags == flags
    }

    fn is_placed(&self) -> bool {
        !self.has(flag::UNMAPPED)
    }

    /// Whether it says that its read was not searched for.
    fn is_outside(&self) -> bool {
        self.tags.split('\t').any(|tag| tag == "YF:Z:LN")
    }

    /// Bases and qualities of the read as they were sequenced.
    fn read(&self) -> [String; 2] {
        let [bases, qualities] = [&self.columns[9], &self.columns[10]];
        if !self.has(flag::REVERSE) {
            return [bases.clone(), qualities.clone()];
        }
        let turned = String::from_utf8(complement(bases.as_bytes())).unwrap();
        [turned, qualities.chars().rev().collect()]
    }
}

fn lines(sam: &Path) -> Vec<Line> {
    let text = fs::read(sam).unwrap();
    let lines = text.split(|&byte| byte == b'\n').filter(|line| !line.starts_with(b"@"));
    let line = |record: SamRecord<'_>| {
        let columns: Vec<String> =
            record.columns.iter().map(|it| String::from_utf8_lossy(it).into_owned()).collect();
        let tags = String::from_utf8_lossy(record.tags).into_owned();
        Line { name: columns[0].clone(), flags: record.flag, columns, tags }
    };
    lines.filter_map(SamRecord::parse).map(line).collect()
}

/// Requires words in the log, which [`Run::says`] leaves out.
#[track_caller]
fn logs(run: &Run, words: &[&str]) {
    words.iter().for_each(|word| assert!(run.stderr.contains(word), "{word}: {}", run.stderr));
}

/// Runs a mode on files of reads, to SAM in their order and a report.
fn place(mode: &str, reads: &[&Path], options: &[&str], sam: &Path) -> Run {
    let mut command = seqloom(align(small(), reads));
    command.args(["--mode", mode, "--json"]).arg(sam.with_extension("json"));
    run_into(command.args(options).args(STREAM).args(["-o", "-"]), sam).ok()
}

#[test]
fn reads_outside_the_bounds_of_a_mode_are_unmapped_counted_and_named() {
    let here = folder();
    let (file, sam) = (here.path().join("r.fq"), here.path().join("r.sam"));
    for (mode, longest) in MODES {
        let all = [
            ("good", bases(1000, 60)),
            // Small RNA as an adapter trimmer leaves it.
            ("short", bases(3000, 7)),
            ("none", String::new()),
            ("longest", bases(5000, longest)),
            ("long", bases(5000, longest + 1)),
            ("longer", bases(4000, longest + 999)),
            ("last", bases(9000, 100)),
        ];
        fs::write(&file, fastq(&all)).unwrap();
        let done = place(mode, &[&file], &[], &sam);
        let found = lines(&sam);
        let outside: Vec<&str> =
            found.iter().filter(|it| it.is_outside()).map(|it| &*it.name).collect();
        // bwa searches for a read of any few bases, and says nothing of one without.
        let (short, too_short): (&[&str], f64) =
            if mode == "bwa" { (&[], 0.0) } else { (&["short", "none"], 2.0) };
        assert_eq!(outside, [short, &["long", "longer"]].concat(), "{mode}");
        for (line, (name, bases)) in found.iter().zip(&all) {
            let is_expected = !["short", "none", "long", "longer"].contains(name);
            assert_eq!(line.is_placed(), is_expected, "{mode}: {line:?}");
            let expected = if bases.is_empty() { "*".to_owned() } else { bases.clone() };
            let [found, quality] = line.read();
            assert!(found == expected && quality.len() == expected.len(), "{mode}: {name}");
        }
        let number = |words: &[&str]| json_number(&sam.with_extension("json"), words);
        assert_eq!(number(&["counts", "reads_too_short"]), Some(too_short), "{mode}");
        assert_eq!(number(&["counts", "reads_too_long"]), Some(2.0), "{mode}");
        let long = format!(
            "warning: align: 2 reads are too long for --mode {mode}, and unmapped (YF:Z:LN); the \
             first is 'long' with {} bases",
            longest + 1
        );
        let done = done.says(&[&long]);
        if mode != "bwa" {
            logs(
                &done,
                &[&format!("2 reads are too short for --mode {mode}"), "'short' with 7 bases"],
            );
        }
    }
}

#[test]
fn the_shortest_read_of_mode_ungapped_is_what_is_left_of_it_once_it_is_trimmed() {
    let here = folder();
    let (file, sam) = (here.path().join("r.fq"), here.path().join("r.sam"));
    let reads = [("a", bases(1000, 22)), ("b", bases(2000, 13)), ("c", bases(3000, 21))];
    fs::write(&file, fastq(&reads)).unwrap();
    let placed = |options: &[&str]| -> Vec<bool> {
        place("ungapped", &[&file], options, &sam);
        let found = lines(&sam);
        assert!(found.iter().all(|it| it.is_placed() != it.is_outside()));
        found.iter().map(Line::is_placed).collect()
    };
    assert_eq!(placed(&[]), [true, false, true]);
    assert_eq!(placed(&["--trim5", "4", "--trim3", "3"]), [true, false, false]);
    let trimmed: Vec<usize> = lines(&sam).iter().map(|it| it.columns[9].len()).collect();
    assert_eq!(trimmed, [15, 6, 14]);
    // Bowtie's summary and the files of reads have them among those that fail to align.
    let unaligned = here.path().join("un.fq");
    let done =
        place("ungapped", &[&file], &["--unaligned-reads", unaligned.to_str().unwrap()], &sam);
    logs(&done, &["# reads processed: 3", "# reads that failed to align: 1 (33.33%)"]);
    assert_eq!(fs::read_to_string(&unaligned).unwrap(), fastq(&reads[1..2]));
}

#[test]
fn the_mate_of_a_read_outside_the_bounds_is_placed() {
    let here = folder();
    let (files, sam) = ([1, 2].map(|it| here.path().join(format!("r{it}.fq"))), here.path());
    let sam = sam.join("r.sam");
    let turned = |text: String| String::from_utf8(complement(text.as_bytes())).unwrap();
    for (mode, longest) in MODES {
        let long = longest + 5;
        // Concordant; with either mate too short or too long, on both strands; with both.
        let first = [
            ("pair", bases(1000, 100)),
            ("a", bases(2000, 100)),
            ("b", bases(4000, 8)),
            ("c", turned(bases(6000, 100))),
            ("d", bases(7000, long)),
            ("e", bases(9000, long)),
        ];
        let second = [
            ("pair", turned(bases(1120, 100))),
            ("a", turned(bases(2100, long))),
            ("b", turned(bases(4100, 100))),
            ("c", bases(5500, long)),
            ("d", turned(bases(7100, 100))),
            ("e", bases(9100, long)),
        ];
        fs::write(&files[0], fastq(&first)).unwrap();
        fs::write(&files[1], fastq(&second)).unwrap();
        place(mode, &[&files[0], &files[1]], &[], &sam);
        let found = lines(&sam);
        assert_eq!(found.len(), 12, "{mode}: {found:?}");
        for (at, two) in found.chunks(2).enumerate() {
            let what = format!("{mode}: {two:?}");
            let reads = [&first[at].1, &second[at].1];
            for (mate, line) in two.iter().enumerate() {
                assert_eq!(line.read(), [reads[mate].clone(), qualities(reads[mate].len())]);
                let other = &two[1 - mate];
                assert!(line.has(flag::PAIRED | [flag::FIRST, flag::SECOND][mate]), "{what}");
                assert_eq!(line.has(flag::MATE_UNMAPPED), !other.is_placed(), "{what}");
                assert_eq!(line.columns[7], other.columns[3], "PNEXT, {what}");
            }
            let placed = [0, 1].map(|mate: usize| two[mate].is_placed());
            let expected = [[true; 2], [true, false], [false, true], [true, false], [false, true]];
            assert_eq!(placed, expected.get(at).copied().unwrap_or([false; 2]), "{what}");
            if placed[0] != placed[1] {
                let alone = &two[usize::from(placed[1])];
                assert!(!alone.has(0x2) && alone.columns[8] == "0", "{what}");
                assert_eq!(two[0].columns[2..4], two[1].columns[2..4], "{what}");
                assert_eq!(alone.has(flag::REVERSE), ["b", "c", "d"].contains(&&*alone.name));
            }
        }
        if has("picard") && has("samtools") {
            let bam = here.path().join("x.bam");
            let mut command = seqloom(align(small(), &[&files[0], &files[1]]));
            command.args(["--mode", mode, "-R", READ_GROUP, "-o"]).arg(&bam);
            run(&mut command).ok();
            assert_valid(&bam, here.path(), mode);
        }
    }
}

/// Bases of the genome with what sequencing changes: a base in a hundred, and two indels.
fn sequenced(from: usize, length: usize) -> String {
    let mut read = bases(from, length).into_bytes();
    for at in (37..length).step_by(101) {
        read[at] = complement(&read[at..=at])[0];
    }
    read.remove(length / 3);
    read.splice(length / 2..length / 2, *b"GAT");
    read.truncate(length);
    String::from_utf8(read).unwrap()
}

#[test]
fn merged_pairs_and_reads_of_a_thousand_bases_are_placed() {
    let here = folder();
    let (file, sam) = (here.path().join("r.fq"), here.path().join("r.sam"));
    let lengths = [390, 400, 401, 430, 511, 512, 513, 600, 800, 1000, 1023, 1024];
    let names: Vec<String> = lengths.iter().map(|it| format!("r{it}")).collect();
    for (mode, _) in MODES {
        let read = |at: usize| {
            let (from, length) = (2000 * (at + 1), lengths[at]);
            if mode == "ungapped" { bases(from, length) } else { sequenced(from, length) }
        };
        let reads: Vec<(&str, String)> =
            (0..lengths.len()).map(|at| (&*names[at], read(at))).collect();
        fs::write(&file, fastq(&reads)).unwrap();
        place(mode, &[&file], &[], &sam);
        let found = lines(&sam);
        assert_eq!(found.len(), lengths.len(), "{mode}");
        for (at, line) in found.iter().enumerate() {
            assert!(line.is_placed() && !line.is_outside(), "{mode}: {line:?}");
            let position: usize = line.columns[3].parse().unwrap();
            assert!(position.abs_diff(START + 2000 * (at + 1) + 1) <= 3, "{mode}: {line:?}");
        }
    }
}

#[test]
fn a_read_of_a_thousand_bases_goes_over_many_introns() {
    let here = folder();
    let (file, sam) = (here.path().join("r.fq"), here.path().join("r.sam"));
    let exons = [1000..1240, 1540..1800, 2800..3040, 5040..5300];
    let mut read: String = exons.iter().map(|it| bases(it.start, it.len())).collect();
    // An error in each exon but the first.
    for at in [300, 600, 900] {
        let base = if read.as_bytes()[at] == b'A' { "C" } else { "A" };
        read.replace_range(at..=at, base);
    }
    let turned = String::from_utf8(complement(read.as_bytes())).unwrap();
    fs::write(&file, fastq(&[("forward", read), ("reverse", turned)])).unwrap();
    let name = &small().genome().contigs[0].name;
    let site = |two: &[std::ops::Range<usize>]| {
        format!("{name}\t{}\t{}\t+\n", START + two[0].end - 1, START + two[1].start)
    };
    let sites = here.path().join("sites.txt");
    fs::write(&sites, exons.windows(2).map(site).collect::<String>()).unwrap();
    place("spliced", &[&file], &["--splice-sites", sites.to_str().unwrap()], &sam);
    for line in lines(&sam) {
        assert_eq!(line.columns[3], "11001", "{line:?}");
        assert_eq!(line.columns[5], "240M300N260M1000N240M2000N260M", "{line:?}");
        assert!(line.tags.contains("XM:i:3") && line.tags.contains("XS:A:+"), "{line:?}");
    }
}

#[test]
fn reads_too_long_for_bwa_s_mode_change_no_byte_of_others_for_any_threads() {
    let here = folder();
    let at = |name: &str| here.path().join(name);
    let pairs = |long: bool| {
        let reads = |mate: usize| {
            let read = |number: usize| {
                let from = 150 * number + 90 * mate;
                let is_long = long && number == 170 + mate;
                let text = if is_long { bases(from, 70_000) } else { bases(from, 80) };
                let turned = || String::from_utf8(complement(text.as_bytes())).unwrap();
                if mate == 0 { text } else { turned() }
            };
            let names: Vec<String> = (0..700).map(|number| format!("p{number}")).collect();
            let all: Vec<(&str, String)> =
                (0..700).map(|number| (&*names[number], read(number))).collect();
            fs::write(at(&format!("{}.fq", mate + 1)), fastq(&all)).unwrap();
        };
        (0..2).for_each(reads);
    };
    let out = |name: &str, threads: &str| {
        let mut command = seqloom(align(small(), &[&at("1.fq"), &at("2.fq")]));
        command.args(["--no-pg", "-K", "60000", "-t", threads, "-R", READ_GROUP, "-o"]);
        run(command.arg(at(name))).ok()
    };
    pairs(true);
    out("one.bam", "1").says(&["2 reads are too long for --mode bwa", "'p170' with 70000 bases"]);
    out("three.bam", "3");
    assert_same_bytes(&at("one.bam"), &at("three.bam"), "threads");
    if !has("samtools") {
        return;
    }
    let text = run(words("samtools view").arg(at("one.bam"))).ok().text();
    let outside: Vec<&str> = text.lines().filter(|line| line.contains("YF:Z:LN")).collect();
    assert_eq!(outside.len(), 2);
    for line in outside {
        let columns: Vec<&str> = line.split('\t').collect();
        assert_eq!((columns[9].len(), columns[10].len()), (70_000, 70_000));
        assert!(columns[0] == "p170" || columns[0] == "p171");
    }
}

#[test]
fn a_read_with_more_placements_than_a_template_can_have_is_unmapped() {
    let here = folder();
    let (fasta, file) = (here.path().join("a/ref.fa"), here.path().join("r.fq"));
    fs::create_dir(here.path().join("a")).unwrap();
    fs::write(&fasta, format!(">r\n{}{}\n", "A".repeat(70_000), bases(0, 500))).unwrap();
    let reference = crate::data::Reference::new("run-of-a", &fasta);
    let reads = [("many", "A".repeat(20)), ("one", bases(100, 40))];
    fs::write(&file, fastq(&reads)).unwrap();
    let mut command = seqloom(align(&reference, &[&file]));
    let sam = here.path().join("x.sam");
    command.args(["--mode", "ungapped", "--all"]).args(STREAM).args(["-o", "-"]);
    logs(&run_into(&mut command, &sam).ok(), &["suppressed due to -m: 1 (50.00%)"]);
    let found = lines(&sam);
    assert_eq!(found.iter().map(Line::is_placed).collect::<Vec<_>>(), [false, true]);
    assert!(found[0].tags.contains("XM:i:65537"), "{found:?}");
}
