//! `--mode ungapped`: Bowtie's placements, all of them and no other.

use crate::common::{
    READ_GROUP, assert_same_bytes, cache, folder, has, json_number, memory_floor, picard, run,
    run_into, seqloom, words,
};
use crate::data::{Reference, align, chr20, ecoli, small, yeast};
use seqloom_testkit::random::Random;
use seqloom_testkit::sam::{SamRecord, flag};
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

const STREAM: [&str; 4] = ["--no-sort", "--no-mark-duplicates", "--output-format", "sam"];

/// Number of the read, then where it is; of pairs, where both mates are.
type Place = (u32, [Spot; 2]);

/// Number of the sequence, position, reverse strand, mismatches. That of a mate that a single read
/// does not have is zero.
type Spot = (u32, u32, bool, u8);

/// Bowtie's index of a reference, kept between runs.
pub(crate) fn bowtie_index(reference: &Reference) -> PathBuf {
    index_of("bowtie", "bowtie-build-s -q", reference)
}

/// The index of another program, which `build` makes, kept between runs.
pub(crate) fn index_of(program: &str, build: &str, reference: &Reference) -> PathBuf {
    let name = reference.ours.parent().unwrap().file_name().unwrap();
    let folder = cache().join(program).join(name);
    fs::create_dir_all(&folder).unwrap();
    let lock = fs::File::create(folder.join("lock")).unwrap();
    lock.lock().unwrap();
    let (fasta, index) = (folder.join("ref.fa"), folder.join("index"));
    let fresh = !fasta.exists() || fs::read(&fasta).unwrap() != fs::read(&reference.ours).unwrap();
    if fresh || !folder.join("done").exists() {
        let _ = fs::remove_file(folder.join("done"));
        fs::copy(&reference.ours, &fasta).unwrap();
        run(words(build).arg(&fasta).arg(&index)).ok();
        fs::write(folder.join("done"), "").unwrap();
    }
    index
}

/// A read with its qualities.
struct Sampled {
    bases: Vec<u8>,
    qualities: Vec<u8>,
}

fn complement(bases: &[u8]) -> Vec<u8> {
    let turn = |&base: &u8| b"TGCAN"[b"ACGT".iter().position(|&it| it == base).unwrap_or(4)];
    bases.iter().rev().map(turn).collect()
}

/// A segment of the genome from either strand with up to five changes, now and then an N, and
/// qualities on both sides of all of Bowtie's steps.
fn sample(random: &mut Random, bases: &[u8], reverse: bool) -> Sampled {
    let mut bases = bases.to_ascii_uppercase();
    for _ in 0..random.below(8).saturating_sub(2) {
        let at = random.index(bases.len());
        bases[at] = random.pick(b"ACGT");
    }
    if random.percent(3) {
        let at = random.index(bases.len());
        bases[at] = b'N';
    }
    if reverse {
        bases = complement(&bases);
    }
    let qualities = bases.iter().map(|_| b'!' + random.below(42) as u8).collect();
    Sampled { bases, qualities }
}

/// Writes reads of `length`; with `insert`, mates with so many bases from end to end, in files of
/// their own.
pub(crate) fn reads(
    reference: &Reference,
    (seed, count): (u64, usize),
    length: usize,
    insert: Option<usize>,
    here: &Path,
) -> [PathBuf; 2] {
    let mut random = Random::new(seed);
    let files = [here.join(format!("{length}.1.fq")), here.join(format!("{length}.2.fq"))];
    let mut out = [1, 2].map(|_| Vec::new());
    let span = insert.unwrap_or(length);
    for number in 0..count {
        let window = loop {
            let contig =
                &reference.genome().contigs[random.index(reference.genome().contigs.len())];
            if contig.bases.len() > span {
                let from = random.index(contig.bases.len() - span);
                let window = &contig.bases[from..from + span];
                if window.iter().filter(|&&base| base == b'N').count() < 3 {
                    break window;
                }
            }
        };
        let reverse = random.percent(50);
        let first = sample(&mut random, &window[..length], reverse && insert.is_none());
        let second = sample(&mut random, &window[span - length..], true);
        let mates = if reverse && insert.is_some() { [second, first] } else { [first, second] };
        for (out, read) in out.iter_mut().zip(mates) {
            let [bases, qualities] =
                [&read.bases, &read.qualities].map(|it| String::from_utf8_lossy(it));
            writeln!(out, "@r{number}\n{bases}\n+\n{qualities}").unwrap();
        }
    }
    for (file, out) in files.iter().zip(out) {
        fs::write(file, out).unwrap();
    }
    files
}

fn number(text: &[u8]) -> u32 {
    let digits = text.iter().skip_while(|byte| !byte.is_ascii_digit());
    digits.fold(0, |number, digit| number * 10 + u32::from(digit - b'0'))
}

/// The placements in SAM text; each only once.
fn placements(sam: &Path, reference: &Reference, pairs: bool) -> BTreeSet<Place> {
    let contigs = reference.genome().contigs.iter().zip(0..);
    let contigs: HashMap<&[u8], u32> =
        contigs.map(|(contig, number)| (contig.name.as_bytes(), number)).collect();
    let mut lines = BufReader::new(fs::File::open(sam).unwrap());
    let (mut line, mut placed) = (Vec::new(), Vec::new());
    while lines.read_until(b'\n', &mut line).unwrap() > 0 {
        let text = line.trim_ascii_end();
        if let Some(record) = SamRecord::parse(text).filter(|_| !text.starts_with(b"@"))
            && record.flag & flag::UNMAPPED == 0
        {
            let mismatches = number(record.tag(*b"NM").unwrap()) as u8;
            let is_reverse = record.flag & flag::REVERSE != 0;
            let [name, sequence, position] = [0, 2, 3].map(|at| record.columns[at]);
            let spot = (contigs[sequence], number(position), is_reverse, mismatches);
            let hit = record.tag(*b"HI").map(number);
            placed.push((number(name), hit, record.flag & flag::SECOND != 0, spot));
        }
        line.clear();
    }
    let mut found = BTreeSet::new();
    let mut add = |place: Place| assert!(found.insert(place), "twice: {place:?}");
    if pairs {
        // Bowtie writes mates one after the other and in any order; here HI distinguishes them.
        if placed.iter().all(|it| it.1.is_some()) {
            placed.sort_unstable();
        }
        for mates in placed.chunks(2) {
            let [one, other] = mates else { panic!("a mate alone") };
            assert_eq!((one.0, one.2), (other.0, !other.2));
            let [first, second] = if one.2 { [other, one] } else { [one, other] };
            add((one.0, [first.3, second.3]));
        }
    } else {
        placed.into_iter().for_each(|it| add((it.0, [it.3, Spot::default()])));
    }
    found
}

/// What seqloom finds.
fn ours_of(reference: &Reference, files: &[&Path], options: &str, here: &Path) -> BTreeSet<Place> {
    let sam = here.join("seqloom.sam");
    let mut command = seqloom(align(reference, files));
    command.args(["--mode", "ungapped"]).args(options.split_whitespace()).args(STREAM);
    run_into(command.args(["-o", "-"]), &sam).ok();
    placements(&sam, reference, files.len() > 1)
}

/// What Bowtie finds.
fn bowtie_s(reference: &Reference, files: &[&Path], options: &str, here: &Path) -> BTreeSet<Place> {
    let sam = here.join("bowtie.sam");
    let mut bowtie = words(&format!("bowtie-align-s --sam-nohead -S {options} -x"));
    bowtie.arg(bowtie_index(reference));
    match files {
        [first, second] => bowtie.arg("-1").arg(first).arg("-2").arg(second),
        _ => bowtie.args(files),
    };
    run_into(&mut bowtie, &sam).ok();
    placements(&sam, reference, files.len() > 1)
}

/// What both find, with their options.
fn both(
    reference: &Reference,
    files: &[&Path],
    ours: &str,
    theirs: &str,
    here: &Path,
) -> [BTreeSet<Place>; 2] {
    [ours_of(reference, files, ours, here), bowtie_s(reference, files, theirs, here)]
}

#[track_caller]
fn same_places(ours: &BTreeSet<Place>, bowtie: &BTreeSet<Place>, options: &str) {
    let only: Vec<_> = ours.symmetric_difference(bowtie).take(3).collect();
    assert!(only.is_empty() && !ours.is_empty(), "{options}: {only:?}");
}

#[track_caller]
fn equal(reference: &Reference, file: &Path, ours: &str, theirs: &str, here: &Path) {
    let [found, bowtie] = both(reference, &[file], ours, theirs, here);
    same_places(&found, &bowtie, ours);
}

/// All lengths and numbers of mismatches, `count` reads where Bowtie is fast enough.
fn all_placements(reference: &Reference, count: impl Fn(usize, usize) -> usize) {
    let here = folder();
    for length in [20, 36, 50, 100] {
        for most in 0..=3 {
            let seed = (10 * length + most) as u64;
            let [file, _] =
                reads(reference, (seed, count(length, most)), length, None, here.path());
            let theirs = format!("-v {most} -a");
            let mut bowtie = bowtie_s(reference, &[&file], &theirs, here.path());
            let file = without_frequent(&file, &mut bowtie);
            let ours = format!("--max-mismatches {most} --all");
            let found = ours_of(reference, &[&file], &ours, here.path());
            same_places(&found, &bowtie, &format!("{length} bases, {ours}"));
        }
    }
}

/// Takes out the reads that `--all` refuses by name, as another test shows: those with more than
/// 65,536 placements. They are few: strings of one or two letters.
fn without_frequent(file: &Path, found: &mut BTreeSet<Place>) -> PathBuf {
    let mut counts = HashMap::new();
    found.iter().for_each(|&(read, _)| *counts.entry(read).or_insert(0) += 1);
    let kept = |read: u32| counts.get(&read).is_none_or(|&count| count <= 65_536);
    found.retain(|&(read, _)| kept(read));
    let text = fs::read_to_string(file).unwrap();
    let reads: Vec<_> = text.split_inclusive('\n').collect();
    let reads = reads.chunks(4);
    let all = reads.len();
    let requested: Vec<_> =
        reads.filter(|lines| kept(number(lines[0].trim_end().as_bytes()))).collect();
    assert!(requested.len() + all / 100 >= all, "{} of {all} reads left", requested.len());
    let path = file.with_extension("kept.fq");
    fs::write(&path, requested.concat().concat()).unwrap();
    path
}

#[test]
fn all_placements_are_bowtie_s() {
    if !has("bowtie-align-s") {
        return;
    }
    all_placements(small(), |_, _| 2000);
    if let Some(ecoli) = ecoli() {
        all_placements(ecoli, |length, most| if length == 20 && most > 1 { 500 } else { 3000 });
    }
}

/// As many reads as Bowtie places in reasonable time: 200,000 where it takes 200 us a read at most,
/// else 20,000, and 2,000 of 20 bases with V of 2 and 3.
fn many(is_human: bool) -> impl Fn(usize, usize) -> usize {
    move |length, most| match (length, most) {
        (20, 2..) => 2000,
        (20, 1) | (36, 2..) | (50.., 3) if is_human => 20_000,
        _ => 200_000,
    }
}

#[test]
fn slow_all_placements_are_bowtie_s() {
    if !seqloom_testkit::skip::slow_tests() || !has("bowtie-align-s") {
        return;
    }
    for (reference, is_human) in [(ecoli(), false), (yeast(), false), (chr20(), true)] {
        if let Some(reference) = reference {
            all_placements(reference, many(is_human));
        }
    }
}

#[test]
fn slow_seeds_strata_and_pairs_are_bowtie_s() {
    if !seqloom_testkit::skip::slow_tests() || !has("bowtie-align-s") {
        return;
    }
    let here = folder();
    for reference in [ecoli(), yeast(), chr20()].into_iter().flatten() {
        for length in [20, 36, 50, 100] {
            let count = if length == 20 { 2000 } else { 20_000 };
            let [file, _] = reads(reference, (length as u64, count), length, None, here.path());
            let theirs = "-n 2 -l 28 -e 70 -a -y";
            equal(reference, &file, "--seed-mismatches 2 --all", theirs, here.path());
            for most in 1..=3 {
                let ours = format!("--max-mismatches {most} --best-stratum --all");
                let theirs = format!("-v {most} -a --best --strata");
                equal(reference, &file, &ours, &theirs, here.path());
            }
        }
        pairs_are_defined(reference, 20_000, &PAIRS[..1]);
    }
}

#[test]
fn seeds_and_qualities_are_bowtie_s() {
    if !has("bowtie-align-s") {
        return;
    }
    let here = folder();
    for length in [20, 36, 50, 100] {
        let [file, _] = reads(small(), (length as u64, 2000), length, None, here.path());
        for (ours, theirs) in [
            ("--seed-mismatches 2", "-n 2 -l 28 -e 70"),
            ("--seed-mismatches 0 --seed-length 20", "-n 0 -l 20"),
            ("--seed-mismatches 1 --seed-length 15 --quality-ceiling 120", "-n 1 -l 15 -e 120"),
            (
                "--seed-mismatches 3 --quality-ceiling 40 --exact-qualities",
                "-n 3 -e 40 --nomaqround",
            ),
        ] {
            equal(
                small(),
                &file,
                &format!("{ours} --all"),
                &format!("{theirs} -a -y"),
                here.path(),
            );
        }
    }
}

#[test]
fn best_strata_strands_and_trimmed_reads_are_bowtie_s() {
    if !has("bowtie-align-s") {
        return;
    }
    let here = folder();
    let [file, _] = reads(small(), (5, 3000), 36, None, here.path());
    for (ours, theirs) in [
        ("--max-mismatches 1 --best-stratum", "-v 1 --best --strata"),
        ("--max-mismatches 3 --best-stratum", "-v 3 --best --strata"),
        ("--max-mismatches 2 --strand forward", "-v 2 --norc"),
        ("--max-mismatches 2 --strand reverse", "-v 2 --nofw"),
        ("--max-mismatches 2 --trim5 4 --trim3 9", "-v 2 -5 4 -3 9"),
        ("--max-mismatches 2 --max-placements 3", "-v 2 -m 3"),
        ("--max-mismatches 2 --max-placements 1 --best-stratum", "-v 2 -m 1 --best --strata"),
    ] {
        equal(small(), &file, &format!("{ours} --all"), &format!("{theirs} -a"), here.path());
    }
}

/// Options of pairs, ours and Bowtie's.
const PAIRS: [(&str, &str); 4] = [
    ("--max-insert 250", "--fr -X 250"),
    ("--min-insert 170 --max-insert 185", "--fr -I 170 -X 185"),
    ("--orientation rf --max-insert 600", "--rf -X 600"),
    ("--orientation ff --max-insert 600", "--ff -X 600"),
];

#[test]
fn pairs_are_all_that_the_definition_has() {
    if has("bowtie-align-s") {
        pairs_are_defined(small(), 2000, &PAIRS);
    }
}

/// Bowtie leaves out some pairs among dense repeats, so that its pairs are looked for in ours; that
/// ours are all there are, the definition says.
fn pairs_are_defined(reference: &Reference, count: usize, options: &[(&str, &str)]) {
    let here = folder();
    let [first, second] = reads(reference, (6, count), 36, Some(180), here.path());
    let all = "--max-mismatches 2 --all";
    let singles =
        [&first, &second].map(|file| both(reference, &[file], all, "-v 2 -a", here.path()));
    let singles = singles.map(|[found, _]| found);
    let mut compared = 0;
    for (ours, theirs) in options {
        let theirs = format!("-v 2 -a -y --pairtries 1000000 {theirs}");
        let files = [&*first, &*second];
        let [found, bowtie] =
            both(reference, &files, &format!("{all} {ours}"), &theirs, here.path());
        let missing: Vec<_> = bowtie.difference(&found).take(3).collect();
        assert!(missing.is_empty(), "{ours}: {missing:?}");
        compared += bowtie.len();
        assert!(found == defined(&singles, ours), "{ours}");
    }
    assert!(compared > count / 2, "{compared}");
}

/// The pairs among the placements of both mates, of 36 bases, by their definition.
fn defined(singles: &[BTreeSet<Place>; 2], options: &str) -> BTreeSet<Place> {
    let value = |name: &str| options.split(name).nth(1)?.split_whitespace().next();
    let number = |name: &str, default| value(name).map_or(default, |it| it.parse::<u32>().unwrap());
    let (least, most) = (number("--min-insert", 0), number("--max-insert", 250));
    let strands = match value("--orientation") {
        Some("rf") => [[true, false], [true, false]],
        Some("ff") => [[false, false], [true, true]],
        _ => [[false, true], [false, true]],
    };
    let mut found = BTreeSet::new();
    for &(read, [first, _]) in &singles[0] {
        let from = (read, [Spot::default(); 2]);
        for &(_, [second, _]) in singles[1].range(from..).take_while(|it| it.0 == read) {
            let left_is_first = first.1 < second.1;
            let [left, right] = if left_is_first { [first, second] } else { [second, first] };
            let distance = right.1 - left.1 + 36;
            if left.0 == right.0
                && left.1 != right.1
                && [left.2, right.2] == strands[usize::from(!left_is_first)]
                && (least..=most).contains(&distance)
            {
                found.insert((read, [first, second]));
            }
        }
    }
    found
}

/// Options of a run whose records are counted and compared.
fn out(name: &str, here: &Path, files: &[&Path], options: &[&str]) -> PathBuf {
    let path = here.join(name);
    let mut command = seqloom(align(small(), files));
    command.args(["--mode", "ungapped", "--no-pg", "-R", READ_GROUP, "-o"]).arg(&path);
    run(command.args(options)).ok();
    path
}

#[test]
fn the_same_bytes_for_any_threads_and_memory() {
    let here = folder();
    let [single, _] = reads(small(), (7, 5000), 20, None, here.path());
    let [first, second] = reads(small(), (8, 2000), 36, Some(180), here.path());
    let options = ["--max-mismatches", "3", "--all"];
    for (name, files) in [("single", &[&*single][..]), ("pairs", &[&*first, &*second])] {
        let mut arguments = align(small(), files);
        arguments.extend(["--mode", "ungapped", "-o", "-"].map(str::to_owned));
        let floor = memory_floor(&arguments);
        let base =
            out(&format!("{name}.bam"), here.path(), files, &[&options[..], &["-t1"]].concat());
        for other in
            [["-t2", "-m4G"], ["-t7", "-m4G"], ["-t64", "-m8G"], ["-t1", &format!("-m{floor}")]]
        {
            let path = out("other.bam", here.path(), files, &[&options[..], &other].concat());
            assert_same_bytes(&base, &path, &format!("{name} {other:?}"));
        }
        let stream = [&options[..], &["--no-sort", "--no-mark-duplicates"]].concat();
        let base = out("base.bam", here.path(), files, &[&stream[..], &["-t1"]].concat());
        let other = out("stream.bam", here.path(), files, &[&stream[..], &["-t7"]].concat());
        assert_same_bytes(&base, &other, &format!("{name} in input order"));
    }
}

/// Reads that are in thousands of places, so that a batch has far more records than are held.
#[test]
fn many_placements_stay_within_the_memory() {
    let here = folder();
    let fasta = here.path().join("repeats.fa");
    let unit = b"ACGTTGCATTAGCCATTGACGG".repeat(500);
    let mut text = Vec::new();
    for number in 0..4 {
        text.extend(format!(">s{number}\n").into_bytes());
        text.extend(&unit);
        text.push(b'\n');
    }
    fs::write(&fasta, text).unwrap();
    run(seqloom(["index"]).arg(&fasta)).ok();
    let file = here.path().join("reads.fq");
    let read = |number: usize| {
        let bases = String::from_utf8_lossy(&unit[number % 22..][..40]).into_owned();
        format!("@r{number}\n{bases}\n+\n{}\n", "I".repeat(40))
    };
    fs::write(&file, (0..2000).map(read).collect::<String>()).unwrap();
    let json = here.path().join("run.json");
    for (order, mebibytes) in [(&[][..], 200), (&["--no-sort", "--no-mark-duplicates"], 200)] {
        let mut command = seqloom(["align", "--mode", "ungapped", "--all", "-t", "2", "-l", "1"]);
        command.args(order).arg("-m").arg(format!("{mebibytes}M")).arg("--json").arg(&json);
        run(command.arg(&fasta).arg(&file).arg("-o").arg(here.path().join("x.bam"))).ok();
        let peak = json_number(&json, &["peak_rss_bytes"]).unwrap();
        assert!(peak < f64::from(mebibytes << 20), "{order:?}: {peak}");
    }
}

/// Records of the small genome are valid, and their NM and MD are those of samtools.
#[track_caller]
pub(crate) fn assert_valid(bam: &Path, here: &Path, what: &str) {
    let fasta = small().ours.display();
    let line = format!("ValidateSamFile I={} R={fasta} MODE=SUMMARY", bam.display());
    let report = run(&mut picard(&line));
    let text = report.text();
    assert!(text.contains("No errors found"), "{what}: {text}{}", report.stderr);
    let (plain, filled) = (here.join("plain.sam"), here.join("filled.sam"));
    run_into(words("samtools view").arg(bam), &plain).ok();
    let mut fill = words("samtools calmd -Q");
    run_into(fill.arg(bam).arg(&small().ours), &filled).ok();
    let tags = |path: &Path| {
        let text = fs::read_to_string(path).unwrap();
        let lines = text.lines().filter(|line| !line.starts_with('@'));
        let tag = |line: &str, tag: &str| {
            line.split('\t').find(|it| it.starts_with(tag)).map(str::to_owned)
        };
        lines.map(|line| ["NM:i:", "MD:Z:"].map(|it| tag(line, it))).collect::<Vec<_>>()
    };
    assert!(tags(&plain) == tags(&filled), "{what}");
}

#[test]
fn records_are_valid() {
    let (true, true) = (has("picard"), has("samtools")) else { return };
    let here = folder();
    let [single, _] = reads(small(), (9, 3000), 36, None, here.path());
    let [first, second] = reads(small(), (10, 2000), 36, Some(180), here.path());
    for (name, files) in [("single", &[&*single][..]), ("pairs", &[&*first, &*second])] {
        let options = ["--max-mismatches", "3", "--all"];
        let bam = out(&format!("{name}.bam"), here.path(), files, &options);
        assert_valid(&bam, here.path(), name);
    }
}

#[test]
fn options_of_another_mode_are_refused_with_its_name() {
    let file = small().ours.clone();
    for (options, expected) in [
        ("--mode ungapped -k 19", "-k is an option of --mode bwa"),
        ("--mode ungapped -Y", "-Y is an option of --mode bwa"),
        ("--all", "--all is an option of --mode ungapped"),
        ("--max-mismatches 2", "--max-mismatches is an option of --mode ungapped"),
        ("--mode ungapped --max-mismatches 5", "5"),
        ("--mode ungapped --max-mismatches 2 --seed-mismatches 1", "cannot be used"),
        ("--mode ungapped --all --placements 2", "cannot be used"),
    ] {
        let mut command = seqloom(align(small(), &[&file]));
        command.args(["-o", "-"]).args(options.split_whitespace());
        run(&mut command).fails_with(2).says(&[expected]);
    }
}
