//! Mates in `--mode end-to-end` and `--mode local`: no worse than Bowtie 2's where the truth is
//! known, and what becomes of pairs that are none.

use crate::by_score::{
    ALL, Changes, Record, STREAM, Truth, USUAL, USUALLY, compare_places, complement, preset,
    records, sample,
};
use crate::by_score_planted::compared_with;
use crate::common::{
    READ_GROUP, assert_same_bytes, folder, has, memory_floor, run, run_into, seqloom, words,
};
use crate::data::{Reference, align, small, yeast};
use crate::lead::Lead;
use crate::ungapped::{assert_valid, index_of};
use seqloom_testkit::random::Random;
use seqloom_testkit::referees;
use seqloom_testkit::sam::flag;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// FLAG of the mates of a concordant pair.
const PROPER: u16 = 0x2;
/// Fragments: how long they are about, and how far they are from that.
const FRAGMENT: u64 = 400;
const SPREAD: u64 = 140;

/// The files of the mates.
fn files(here: &Path) -> [PathBuf; 2] {
    ["1.fq", "2.fq"].map(|name| here.join(name))
}

fn write_read(text: &mut String, name: usize, bases: &[u8], random: &mut Random) {
    let quality = || -> char { char::from(b'!' + random.pick(&[40, 40, 38, 30, 20, 10, 2])) };
    let qualities: String = std::iter::repeat_with(quality).take(bases.len()).collect();
    writeln!(text, "@{name}\n{}\n+\n{qualities}", String::from_utf8_lossy(bases)).unwrap();
}

/// Writes pairs of mates of `length` bases, and says where each mate is from. One in `lost` pairs
/// has a mate of random bases, one in `far` is from two places.
fn pairs(
    reference: &Reference,
    (seed, count): (u64, usize),
    (length, changes): (usize, Changes),
    [lost, far]: [usize; 2],
    here: &Path,
) -> Vec<Truth> {
    let mut random = Random::new(seed);
    let (mut texts, mut truths) = ([String::new(), String::new()], Vec::new());
    let contigs = &reference.genome().contigs;
    let total: usize = contigs.iter().map(|contig| contig.bases.len()).sum();
    let fragment = |random: &mut Random| loop {
        let mut from = random.index(total);
        let contig = contigs.iter().find(|contig| {
            let is_here = from < contig.bases.len();
            from = if is_here { from } else { from - contig.bases.len() };
            is_here
        });
        let contig = contig.unwrap();
        let requested = FRAGMENT + random.below(SPREAD) - SPREAD / 2;
        let span = (requested as usize).max(length);
        let Some(window) = contig.bases.get(from..from + span + 120) else { continue };
        if !window.contains(&b'N') {
            return (contig, from, span, window);
        }
    };
    for number in 0..count {
        let is_turned = random.percent(50);
        let mut found = fragment(&mut random);
        for end in 0..2 {
            if end == 1 && far > 0 && number % far == 1 {
                found = fragment(&mut random);
            }
            let (contig, from, span, window) = found;
            // The left end is read forward, the right end is the reverse complement.
            let (mut bases, ends) = if end == 0 {
                let (bases, taken) = sample(&mut random, window, length, changes);
                (bases, [from as i64 + 1, (from + taken) as i64])
            } else {
                let turned = complement(&window[..span]);
                let beyond = complement(&window[span..]);
                let text = [turned, beyond].concat();
                let (bases, taken) = sample(&mut random, &text, length, changes);
                let start = from as i64 + span as i64 - taken as i64 + 1;
                (bases, [start, (from + span) as i64])
            };
            let is_lost = end == 1 && lost > 0 && number % lost == 2;
            if is_lost {
                bases = (0..length).map(|_| random.pick(b"ACGT")).collect();
            }
            let mate = usize::from((end == 1) != is_turned);
            write_read(&mut texts[mate], number, &bases, &mut random);
            let contig = if is_lost { "?".to_owned() } else { contig.name.clone() };
            truths.push((2 * number + mate, Truth { contig, ends, reverse: end == 1 }));
        }
    }
    for (path, text) in files(here).iter().zip(texts) {
        fs::write(path, text).unwrap();
    }
    truths.sort_by_key(|it| it.0);
    truths.into_iter().map(|it| it.1).collect()
}

fn seqloom_in(mode: &str, reference: &Reference, here: &Path, options: &str) -> Command {
    let [first, second] = files(here);
    let mut command = seqloom(align(reference, &[&first, &second]));
    command.args(["--mode", mode]).args(options.split_whitespace()).args(STREAM);
    command
}

fn bowtie_2_in(mode: &str, reference: &Reference, here: &Path, options: &str) -> Command {
    let [first, second] = files(here);
    let mut command = words(&format!("bowtie2 -p 2 --reorder --{mode} {options} -x"));
    command.arg(index_of("bowtie2", "bowtie2-build-s -q", reference));
    command.arg("-1").arg(first).arg("-2").arg(second);
    command
}

/// What seqloom and Bowtie 2 make of the pairs here, mate by mate.
fn both(
    mode: &str,
    reference: &Reference,
    here: &Path,
    [own, theirs]: [&str; 2],
) -> [Vec<Record>; 2] {
    let [ours, bowtie] = ["ours.sam", "theirs.sam"].map(|name| here.join(name));
    run_into(seqloom_in(mode, reference, here, own).args(["-o", "-"]), &ours).ok();
    run_into(&mut bowtie_2_in(mode, reference, here, theirs), &bowtie).ok();
    let both = [ours, bowtie].map(|path| {
        let mut all = records(&path);
        all.sort_by_key(Record::read);
        all
    });
    compared_with(&referees::path_of("bowtie2"), both[1].len());
    both
}

/// Modes, pairs of mates of one length and one share of errors, and at which efforts they are
/// compared.
type Set<'a> = (&'a [&'a str], usize, f64, &'a [&'a str]);

const BOTH: [&str; 2] = ["end-to-end", "local"];

fn no_worse(reference: &Reference, count: usize, sets: &[Set<'_>]) {
    let here = folder();
    let (name, mut lead) = (reference.name(), Lead::default());
    for &(modes, length, errors, efforts) in sets {
        let changes = Changes { errors, ..USUAL };
        let seed = (length as u64, count);
        let truths = pairs(reference, seed, (length, changes), [0, 0], here.path());
        for mode in modes {
            for effort in efforts {
                let what =
                    format!("{name}, {mode}, {effort}, {count} of 2x{length} bases, {errors}");
                let options = [format!("--effort {effort}"), preset(mode, effort)];
                let [ours, theirs] =
                    both(mode, reference, here.path(), options.each_ref().map(String::as_str));
                lead = lead.with(compare_places(&truths, [&ours, &theirs], (&what, 2)));
                let pairs = [&ours, &theirs]
                    .map(|all| all.iter().filter(|it| it.flags & PROPER != 0).count());
                assert!(pairs[0] >= pairs[1], "{what}: {pairs:?} mates of concordant pairs");
            }
        }
    }
    lead.check(name);
}

#[test]
fn mates_are_placed_no_worse_than_bowtie_2_s() {
    if has("bowtie2") {
        let sets: [Set<'_>; 4] = [(100, 0.001), (100, 0.03), (150, 0.006), (250, 0.01)]
            .map(|(length, errors)| (&BOTH[..], length, errors, &USUALLY[..]));
        no_worse(small(), 1500, &sets);
        if let Some(yeast) = yeast() {
            no_worse(yeast, 2500, &sets);
        }
    }
}

#[test]
fn slow_mates_are_placed_no_worse_than_bowtie_2_s_in_human() {
    if !seqloom_testkit::skip::slow_tests() || !has("bowtie2") {
        return;
    }
    // Bowtie 2 takes 3 ms for a pair in local mode.
    let whole = &BOTH[..1];
    let sets: [Set<'_>; 6] = [
        (whole, 100, 0.001, &USUALLY),
        (whole, 100, 0.01, &ALL),
        (whole, 100, 0.03, &USUALLY),
        (whole, 150, 0.001, &USUALLY),
        (&BOTH, 150, 0.01, &USUALLY),
        (whole, 250, 0.01, &USUALLY),
    ];
    for reference in [yeast(), crate::data::chr20()].into_iter().flatten() {
        no_worse(reference, 50_000, &sets);
        no_worse(reference, 10_000, &[(&BOTH[1..], 150, 0.001, &ALL)]);
    }
}

/// Mates of a genome of two sequences that are oriented to each other in all ways, each by its
/// name.
fn kinds_of_pairs(here: &Path) -> Reference {
    fs::create_dir(here.join("kinds")).unwrap();
    let mut random = Random::new(5);
    let mut bases =
        |count: usize| -> Vec<u8> { (0..count).map(|_| random.pick(b"ACGT")).collect() };
    let genome = [bases(4000), bases(4000)];
    let (lost, other_lost) = (bases(50), bases(50));
    let fasta = here.join("kinds/ref.fa");
    let text = [b">a\n", &genome[0][..], b"\n>b\n", &genome[1], b"\n"].concat();
    fs::write(&fasta, text).unwrap();
    let at = |from: usize, strand: char, length: usize| {
        let bases = genome[0][from..from + length].to_vec();
        if strand == '+' { bases } else { complement(&bases) }
    };
    let mut all = vec![
        [at(100, '+', 50), complement(&genome[1][300..350])],
        [at(100, '+', 50), lost.clone()],
        [lost.clone(), at(100, '-', 50)],
        [lost, other_lost],
        [b"N".repeat(50), at(100, '-', 50)],
        [at(100, '+', 50), b"A".to_vec()],
    ];
    // Fragments of the least and the greatest length and beyond; mates that pass each other,
    // overlap, contain each other, or touch.
    let places = [
        (100, 50, 300, 50),
        (100, 50, 549, 50),
        (100, 50, 550, 50),
        (100, 50, 551, 50),
        (100, 50, 100, 50),
        (100, 60, 110, 50),
        (100, 50, 100, 60),
        (100, 60, 105, 50),
        (105, 50, 100, 60),
        (110, 50, 100, 50),
        (100, 60, 100, 50),
        (140, 50, 100, 50),
        (149, 50, 100, 50),
        (150, 50, 100, 50),
        (160, 50, 100, 50),
        (100, 50, 140, 50),
        (100, 50, 149, 50),
        (100, 50, 150, 50),
    ];
    for (from, length, other, other_length) in places {
        for strands in [['+', '-'], ['-', '+'], ['+', '+'], ['-', '-']] {
            let is_together = from == other || from + length == other + other_length;
            // Bowtie 2 takes mates that begin or end together on one strand for one placement.
            if strands[0] != strands[1] || !is_together {
                all.push([at(from, strands[0], length), at(other, strands[1], other_length)]);
            }
        }
    }
    for mate in 0..2 {
        let mut text = String::new();
        for (number, pair) in all.iter().enumerate() {
            let bases = String::from_utf8_lossy(&pair[mate]);
            writeln!(text, "@{number}\n{bases}\n+\n{}", "I".repeat(bases.len())).unwrap();
        }
        fs::write(&files(here)[mate], text).unwrap();
    }
    Reference::new("kinds-of-pairs", &fasta)
}

/// Of all records name, FLAG, place, MAPQ, CIGAR, mate, TLEN, AS, YS, YT and YF, in order.
fn columns(sam: &Path) -> Vec<Vec<String>> {
    let text = fs::read_to_string(sam).unwrap();
    let mut all: Vec<Vec<String>> = text
        .lines()
        .filter(|line| !line.starts_with('@'))
        .map(|line| {
            let fields: Vec<&str> = line.split('\t').collect();
            let mut row: Vec<String> = fields[..9].iter().map(|&it| it.to_owned()).collect();
            for tag in ["AS:", "YS:", "YT:", "YF:"] {
                row.extend(fields.iter().filter(|it| it.starts_with(tag)).map(|&it| it.to_owned()));
            }
            row
        })
        .collect();
    all.sort_by_key(|row| {
        (row[0].parse::<usize>().unwrap(), row[1].parse::<u16>().unwrap() & flag::SECOND)
    });
    all
}

#[test]
fn what_a_pair_is_bowtie_2_says_too() {
    if !has("bowtie2") {
        return;
    }
    let here = folder();
    let reference = kinds_of_pairs(here.path());
    let [ours, theirs] = ["ours.sam", "theirs.sam"].map(|name| here.path().join(name));
    for (mode, own, bowtie) in [
        ("end-to-end", "", ""),
        ("local", "", ""),
        ("end-to-end", "--dovetail", "--dovetail"),
        ("end-to-end", "--dovetail --no-contain", "--dovetail --no-contain"),
        ("local", "--no-contain", "--no-contain"),
        ("end-to-end", "--no-overlap", "--no-overlap"),
        ("end-to-end", "--orientation rf", "--rf"),
        ("end-to-end", "--orientation rf --dovetail", "--rf --dovetail"),
        ("end-to-end", "--orientation ff", "--ff"),
        ("local", "--orientation ff --dovetail", "--ff --dovetail"),
        ("end-to-end", "--no-discordant", "--no-discordant"),
        ("end-to-end", "--no-discordant --no-mixed", "--no-discordant --no-mixed"),
        ("end-to-end", "--min-insert 90 --max-insert 100", "-I 90 -X 100"),
        ("end-to-end", "--drop-unaligned", ""),
    ] {
        let mut command = seqloom_in(mode, &reference, here.path(), own);
        let counts = run_into(command.args(["-o", "-"]), &ours).ok().stderr;
        let reported = run_into(&mut bowtie_2_in(mode, &reference, here.path(), bowtie), &theirs);
        let reported = reported.ok().stderr;
        let [a, mut b] = [&ours, &theirs].map(|path| columns(path));
        if own == "--drop-unaligned" {
            // Pairs of which neither mate is placed. Bowtie 2's --no-unal also tears apart those of
            // which one is.
            b.retain(|row| row[1] != "77" && row[1] != "141");
        }
        assert_eq!(a.len(), b.len(), "{mode} {own}");
        for (one, other) in a.iter().zip(&b) {
            assert_eq!(one, other, "{mode} {own}");
        }
        // Where something is left out Bowtie 2 leaves its counts out, too.
        if !own.contains("--no-") {
            let lines = reported.lines().filter(|line| !line.starts_with("Warning"));
            for line in lines {
                assert!(counts.contains(line), "{mode} {own}: {line}\n{counts}");
            }
        }
    }
}

#[test]
fn discordant_mates_are_distinguished_from_unlikely_ones() {
    let here = folder();
    let truths = pairs(small(), (21, 2000), (100, USUAL), [5, 4], here.path());
    let sam = here.path().join("ours.sam");
    run_into(seqloom_in("local", small(), here.path(), "").args(["-o", "-"]), &sam).ok();
    let found = records(&sam);
    assert_eq!(found.len(), truths.len());
    let is_wrong = |it: &&Record| it.mapq >= 20 && !it.is_right(&truths[it.read()]);
    let wrong: Vec<_> = found.iter().filter(is_wrong).collect();
    assert!(wrong.len() <= 4, "{wrong:?}");
    let sure = found.iter().filter(|it| it.mapq >= 20).count();
    assert!(10 * sure >= 8 * found.len(), "{sure}");
}

/// Records of a run that are compared whole.
fn out(name: &str, mode: &str, here: &Path, options: &[&str]) -> PathBuf {
    let path = here.join(name);
    let [first, second] = files(here);
    let mut command = seqloom(align(small(), &[&first, &second]));
    command.args(["--mode", mode, "--no-pg", "-R", READ_GROUP, "-o"]).arg(&path);
    run(command.args(options)).ok();
    path
}

#[test]
fn the_same_bytes_of_pairs_for_any_threads_and_memory() {
    let here = folder();
    let changes = Changes { noise: 0.08, ..USUAL };
    pairs(small(), (8, 3000), (100, changes), [9, 7], here.path());
    for mode in ["end-to-end", "local"] {
        let [first, second] = files(here.path());
        let mut arguments = align(small(), &[&first, &second]);
        arguments.extend(["--mode", mode, "-o", "-"].map(str::to_owned));
        let floor = memory_floor(&arguments);
        let base = out("base.bam", mode, here.path(), &["-t1"]);
        for other in
            [["-t2", "-m4G"], ["-t7", "-m4G"], ["-t64", "-m8G"], ["-t1", &format!("-m{floor}")]]
        {
            let path = out("other.bam", mode, here.path(), &other);
            assert_same_bytes(&base, &path, &format!("{mode} {other:?}"));
        }
    }
}

#[test]
fn records_of_mates_are_valid() {
    let (true, true) = (has("picard"), has("samtools")) else { return };
    let here = folder();
    let changes = Changes { errors: 0.02, indels: 0.004, noise: 0.0 };
    pairs(small(), (9, 1500), (120, changes), [6, 5], here.path());
    for (mode, options) in [
        ("end-to-end", ["--placements", "1"]),
        ("local", ["--placements", "1"]),
        ("end-to-end", ["--orientation", "rf"]),
    ] {
        let bam = out("valid.bam", mode, here.path(), &options);
        assert_valid(&bam, here.path(), mode);
    }
}

#[test]
fn files_of_pairs_have_those_that_are_concordant() {
    let here = folder();
    pairs(small(), (10, 300), (100, USUAL), [10, 0], here.path());
    let [placed, lost] = ["placed.fq", "lost.fq"].map(|name| here.path().join(name));
    let sam = here.path().join("x.sam");
    let mut command = seqloom_in("end-to-end", small(), here.path(), "");
    command.arg("--aligned-reads").arg(&placed).arg("--unaligned-reads").arg(&lost);
    run(command.arg("-o").arg(&sam)).ok();
    let proper = records(&sam).iter().filter(|it| it.flags & PROPER != 0).count() / 2;
    let names = |path: &Path, mate: usize| -> Vec<usize> {
        let stem = path.file_stem().unwrap().to_string_lossy();
        let text = fs::read_to_string(path.with_file_name(format!("{stem}_{mate}.fq"))).unwrap();
        text.lines().step_by(4).map(|line| line[1..].parse().unwrap()).collect()
    };
    assert_eq!(names(&placed, 1), names(&placed, 2));
    assert_eq!(names(&lost, 1), names(&lost, 2));
    assert_eq!(names(&placed, 1).len(), proper);
    assert_eq!(names(&lost, 1).len(), 300 - proper);
    assert!((20..60).contains(&(300 - proper)), "{proper}");
}

#[test]
fn options_of_mates_that_contradict_each_other_are_refused() {
    let here = folder();
    pairs(small(), (11, 10), (100, USUAL), [0, 0], here.path());
    for (options, expected) in [
        ("--min-insert 501", "--min-insert 501 is more than --max-insert 500"),
        ("--min-insert 30 --max-insert 20", "--min-insert 30 is more than --max-insert 20"),
        ("--dovetail --no-overlap", "cannot be used with"),
    ] {
        let mut command = seqloom_in("end-to-end", small(), here.path(), options);
        run(command.args(["-o", "-"])).fails_with(2).says(&[expected]);
    }
    let mut command = seqloom_in("ungapped", small(), here.path(), "--no-mixed");
    let expected = "--no-mixed is an option of --mode end-to-end, local and spliced";
    run(command.args(["-o", "-"])).fails_with(2).says(&[expected]);
    // Mates out of step are named, as in the other modes.
    let [_, second] = files(here.path());
    let text = fs::read_to_string(&second).unwrap().replacen("@3\n", "@x\n", 1);
    fs::write(&second, text).unwrap();
    let mut command = seqloom_in("local", small(), here.path(), "");
    run(command.args(["-o", "-"])).fails_with(3).says(&["'3'", "'x'"]);
}
