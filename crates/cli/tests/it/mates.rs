//! Mates that are not where alignment takes them from: BAM out of order, files swapped or given
//! twice.

use crate::common::{
    SOON, assert_same_bytes, folder, has, names_in, run, run_for, run_into, seqloom, words,
};
use crate::data::{align, small, small_pairs, to_bam};
use crate::shard::{assert_same_run, do_all, gather, one_process, plan};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const STREAM: [&str; 7] =
    ["--no-pg", "--no-sort", "--no-mark-duplicates", "--output-format", "sam", "-o", "-"];

/// Aligned pairs of [`small`], and what `samtools` makes of them by a line of words.
fn aligned(here: &Path) -> PathBuf {
    let path = here.join("aligned.bam");
    let mut command = seqloom(align(small(), &[&small_pairs().first, &small_pairs().second]));
    run(command.args(["--no-pg", "--no-sort", "--no-mark-duplicates", "-o"]).arg(&path)).ok();
    path
}

fn samtools(line: &str, here: &Path) {
    run(words(&format!("samtools {line}")).current_dir(here)).ok();
}

/// Refused with code 3 and such words, for one thread and several; nothing has the final name.
#[track_caller]
fn is_refused(bam: &Path, expected: &[&str]) {
    let out = bam.with_file_name("out.bam");
    for t in ["1", "3"] {
        let mut command = seqloom(align(small(), &[bam]));
        let refused = run_for(command.args(["-t", t, "-o"]).arg(&out), SOON);
        let name = bam.file_name().unwrap().to_str().unwrap();
        refused.fails_with(3).says(&[name, "samtools collate -o"]).says(expected);
        assert!(!out.exists());
    }
}

#[test]
fn bam_out_of_order_is_refused_and_collated_it_is_taken() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let at = |name: &str| here.path().join(name);
    aligned(here.path());
    samtools("sort -o sorted.bam aligned.bam", here.path());
    is_refused(&at("sorted.bam"), &["SO:coordinate", "neighbours"]);
    // The same where no header says so.
    samtools("view -h -o sorted.sam sorted.bam", here.path());
    let text = fs::read_to_string(at("sorted.sam")).unwrap();
    fs::write(at("mute.sam"), text.replacen("SO:coordinate", "SO:unknown", 1)).unwrap();
    to_bam(&at("mute.sam"), &at("mute.bam"));
    is_refused(&at("mute.bam"), &["the mates of 'SIM", "primary records"]);
    // Unaligned, first reads before all second ones.
    samtools("view -b -f 64 -o 1.bam aligned.bam", here.path());
    samtools("view -b -f 128 -o 2.bam aligned.bam", here.path());
    samtools("cat -o halves.bam 1.bam 2.bam", here.path());
    is_refused(&at("halves.bam"), &["the mates of 'SIM"]);
    // Sorted by name backwards: second reads first.
    samtools("view -h -o by_name.sam aligned.bam", here.path());
    let text = fs::read_to_string(at("by_name.sam")).unwrap();
    let (head, records): (Vec<_>, Vec<_>) = text.lines().partition(|l| l.starts_with('@'));
    let backwards: Vec<_> = head.into_iter().chain(records.into_iter().rev()).collect();
    fs::write(at("backwards.sam"), backwards.join("\n") + "\n").unwrap();
    to_bam(&at("backwards.sam"), &at("backwards.bam"));
    is_refused(&at("backwards.bam"), &["primary records 1 and 2"]);

    // The command that the message gives puts it right, and says what the input was.
    samtools("collate -o grouped.bam sorted.bam", here.path());
    let mut command = seqloom(align(small(), &[&at("grouped.bam")]));
    let taken = run(command.args(STREAM)).ok();
    assert!(taken.stderr.contains(" reads were aligned anew"), "{}", taken.stderr);
    assert!(taken.stderr.contains("secondary and supplementary records left out"));
    let text = String::from_utf8(taken.stdout).unwrap();
    let paired = text.lines().filter(|l| !l.starts_with('@'));
    let flags = paired.map(|l| l.split('\t').nth(1).unwrap().parse::<u16>().unwrap());
    assert!(flags.clone().all(|flags| flags & 1 == 1));
    assert!(flags.count() >= 40_000);
}

/// What was aligned once is aligned anew with the same result: alignments in the input are nothing
/// but reads.
#[test]
fn aligned_bam_by_name_gives_what_its_reads_give() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let bam = aligned(here.path());
    let (from_fastq, from_bam) = (here.path().join("a.sam"), here.path().join("b.sam"));
    run_into(
        seqloom(align(small(), &[&small_pairs().first, &small_pairs().second])).args(STREAM),
        &from_fastq,
    )
    .ok();
    let reads = run_into(seqloom(align(small(), &[&bam])).args(STREAM), &from_bam).ok();
    assert!(reads.stderr.contains("the input holds alignments"), "{}", reads.stderr);
    assert_same_bytes(&from_fastq, &from_bam, "aligned anew");
}

/// Reads whose mates were filtered away are single reads, and counted.
#[test]
fn reads_without_their_mates_are_single() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    aligned(here.path());
    samtools("view -b -f 64 -F 0x900 -o first.bam aligned.bam", here.path());
    let mut command = seqloom(align(small(), &[&here.path().join("first.bam")]));
    let taken = run(command.args(STREAM)).ok();
    assert!(taken.stderr.contains("20000 reads are flagged as paired"), "{}", taken.stderr);
}

/// Pairs in two files or one, the header lines of the first and second reads as given: `#` becomes
/// the number of the pair.
fn write_pairs(here: &Path, first: &str, second: &str) -> [PathBuf; 3] {
    let record = |header: &str, i: usize| {
        let header = header.replace('#', &i.to_string());
        format!("@{header}\n{}\n+\n{}\n", "ACGTA".repeat(20), "I".repeat(100))
    };
    let one: Vec<_> = (0..600).map(|i| record(first, i)).collect();
    let two: Vec<_> = (0..600).map(|i| record(second, i)).collect();
    let both = one.iter().zip(&two).map(|(a, b)| format!("{a}{b}")).collect::<String>();
    let paths = ["1.fq", "2.fq", "both.fq"].map(|name| here.join(name));
    for (path, text) in paths.iter().zip([one.concat(), two.concat(), both]) {
        fs::write(path, text).unwrap();
    }
    paths
}

const FAKE: [&str; 4] = ["--engine", "fake:spin=0us", "-o", "-"];

#[test]
fn mates_with_wrong_numbers_are_refused() {
    let here = folder();
    for (first, second) in [
        ("r#/2", "r#/1"),
        ("r#/1", "r#/1"),
        ("r#/2", "r#/2"),
        ("r# 2:N:0:ACGT", "r# 1:N:0:ACGT"),
        ("r# 1:N:0:ACGT", "r# 1:Y:18:ACGT"),
        ("r#/2 1:N:0:A", "r#/1 2:N:0:A"),
        ("r#/2", "r# 1:N:0:"),
    ] {
        let [one, two, both] = write_pairs(here.path(), first, second);
        for t in ["1", "4"] {
            let mut command = seqloom(align(small(), &[&one, &two]));
            let refused = run_for(command.args(FAKE).args(["-t", t]), SOON).fails_with(3);
            refused.says(&["1.fq", "2.fq", "record 1:", "'r0'", "of their pair", "first"]);
            let mut command = seqloom(align(small(), &[&both]));
            let refused = run_for(command.args(FAKE).args(["-p", "-t", t]), SOON).fails_with(3);
            refused.says(&["both.fq", "record 1:", "'r0'", "interleaved"]);
        }
    }
    // Every pair is looked at, not only the first ones.
    let [one, two, both] = write_pairs(here.path(), "r#/1", "r#/2");
    for (path, record) in [(&two, "record 578:"), (&both, "record 1155:")] {
        let text = fs::read_to_string(path).unwrap();
        fs::write(path, text.replacen("@r577/2", "@r577/1", 1)).unwrap();
        let mut command = seqloom(match path == &two {
            true => align(small(), &[&one, path]),
            false => align(small(), &[path]),
        });
        let options = if path == &two { "-t3" } else { "-p" };
        let refused = run_for(command.args(FAKE).arg(options), SOON).fails_with(3);
        refused.says(&[record, "'r577'", "reads 1 and 1"]);
    }
}

#[test]
fn mates_that_say_nothing_wrong_pass() {
    let here = folder();
    for (first, second) in [
        ("r#", "r#"),
        ("r#/1", "r#/2"),
        ("r#/1", "r#"),
        ("r#", "r#/1"),
        ("r# 1:N:0:ACGT", "r# 2:N:0:ACGT"),
        ("r# 1:N:0:ACGT", "r# 3:N:0:ACGT"),
        ("r# 1:N:0", "r#"),
        ("r#", "r# 1:N:0:ACGT"),
        ("r# length=100", "r# length=100"),
        ("r# 1", "r# 1"),
        ("r#.1", "r#.1"),
    ] {
        let [one, two, both] = write_pairs(here.path(), first, second);
        let mut command = seqloom(align(small(), &[&one, &two]));
        run_for(command.args(FAKE), SOON).ok();
        let mut command = seqloom(align(small(), &[&both]));
        run_for(command.args(FAKE).arg("-p"), SOON).ok();
    }
}

#[test]
fn one_file_as_both_is_refused() {
    let here = folder();
    let [one, ..] = write_pairs(here.path(), "r#", "r#");
    fs::hard_link(&one, here.path().join("hard.fq")).unwrap();
    std::os::unix::fs::symlink(&one, here.path().join("link.fq")).unwrap();
    run(words("mkfifo fifo other").current_dir(here.path())).ok();
    let before = names_in(here.path());
    let program = env!("CARGO_BIN_EXE_seqloom");
    let reference = small().ours.display().to_string();
    let shell = |files: &str| {
        let options = "--engine fake:spin=0us --no-mark-duplicates --no-sort -o /dev/null";
        let line = format!("{program} align {reference} {files} {options}");
        let line = line.replace("<stdin>", "< 1.fq").replace("<two>", "< 2.fq");
        run_for(Command::new("bash").args(["-c", &line]).current_dir(here.path()), SOON)
    };
    for files in [
        "1.fq 1.fq",
        "1.fq ./1.fq",
        "1.fq hard.fq",
        "link.fq 1.fq",
        "fifo fifo",
        "/dev/stdin /dev/stdin <stdin>",
        "- /dev/stdin <stdin>",
        "- 1.fq <stdin>",
        "1.fq /dev/fd/0 <stdin>",
    ] {
        shell(files).fails_with(2).says(&["are one file", "mates"]);
    }
    for files in [
        "1.fq 2.fq",
        "<(cat 1.fq) <(cat 2.fq)",
        "- 2.fq <stdin>",
        "1.fq - <two>",
        "/dev/null /dev/null",
    ] {
        shell(files).ok();
    }
    let mut writers = Command::new("bash");
    writers.args(["-c", "cat 1.fq > fifo & cat 2.fq > other; wait"]).current_dir(here.path());
    let mut writers = writers.spawn().unwrap();
    shell("fifo other").ok();
    assert!(writers.wait().unwrap().success());
    assert_eq!(names_in(here.path()), before);
}

/// Aligns two files, or one of neighbours, without a line of the program.
fn unsorted(files: &[&Path], more: &[&str], out: &Path) -> PathBuf {
    let mut command = seqloom(align(small(), files));
    run(command.args(["--no-pg", "-K", "20000"]).args(more).arg("-o").arg(out)).ok();
    out.to_owned()
}

#[test]
fn names_that_end_in_numbers_of_mates_are_those_of_pairs() {
    let here = folder();
    let [numbered, plain] = ["numbered", "plain"].map(|name| here.path().join(name));
    [&numbered, &plain].iter().for_each(|path| fs::create_dir(path).unwrap());
    let [one, two, both] = write_pairs(&numbered, "SRR1.#.1 # length=100", "SRR1.#.2 # length=100");
    let [one_plain, two_plain, both_plain] = write_pairs(&plain, "SRR1.#", "SRR1.#");
    let out = |name: &str| here.path().join(name);
    for mode in ["bwa", "end-to-end", "local", "spliced", "ungapped"] {
        let more = ["--mode", mode];
        let ours = unsorted(&[&one, &two], &more, &out("numbered.bam"));
        let theirs = unsorted(&[&one_plain, &two_plain], &more, &out("plain.bam"));
        assert_same_bytes(&theirs, &ours, mode);
    }
    let ours = unsorted(&[&both], &["-p"], &out("numbered.bam"));
    let theirs = unsorted(&[&both_plain], &["-p"], &out("plain.bam"));
    assert_same_bytes(&theirs, &ours, "interleaved");
    let resumed = ["--resume", "--resume-bases", "30000"];
    let ours = unsorted(&[&one, &two], &resumed, &out("resumed.bam"));
    let theirs = unsorted(&[&one_plain, &two_plain], &[], &out("plain.bam"));
    assert_same_bytes(&theirs, &ours, "--resume");
}

#[test]
fn shards_take_numbers_off_names_as_one_process_does() {
    let here = folder();
    let [one, two, _] = write_pairs(here.path(), "SRR1.#.1", "SRR1.#.2");
    let with_k = |files: &[&Path]| {
        let mut arguments = align(small(), files);
        arguments.extend(["-K", "20000"].map(str::to_owned));
        arguments
    };
    let arguments = with_k(&[&one, &two]);
    let folder = here.path().join("run");
    plan(&folder, (3, 1), &arguments);
    do_all(&folder, "2", 7);
    let whole = one_process(&arguments, here.path(), "whole");
    assert_same_run(&whole, &gather(&folder, here.path(), "shards"), "shards");
    let text = run(words("samtools view").arg(&whole)).ok().text();
    assert!(text.lines().all(|line| line.split('\t').next().unwrap().matches('.').count() == 1));
}

#[test]
fn a_later_pair_without_numbers_is_out_of_step() {
    let here = folder();
    let [one, two, both] = write_pairs(here.path(), "S.#.1", "S.#.2");
    let replace = |path: &Path, from: &str, to: &str| {
        let text = fs::read_to_string(path).unwrap();
        assert!(text.contains(from));
        fs::write(path, text.replacen(from, to, 1)).unwrap();
    };
    let refused = |files: &[&Path], more: &str, says: &[&str]| {
        for t in ["-t1", "-t3"] {
            let mut command = seqloom(align(small(), files));
            let more = more.split_whitespace();
            run_for(command.args(FAKE).args(more).arg(t), SOON).fails_with(3).says(says);
        }
    };
    replace(&two, "@S.577.2\n", "@S.577\n");
    let says = ["2.fq", "record 578:", "out of step", "'S.577.1' and 'S.577'", ".1 and .2"];
    refused(&[&one, &two], "", &says);
    replace(&two, "@S.577\n", "@S.578.2\n");
    refused(&[&one, &two], "", &["record 578:", "'S.577.1' and 'S.578.2' have different names"]);
    replace(&both, "@S.577.1\n", "@S.577\n");
    replace(&both, "@S.577.2\n", "@S.577\n");
    refused(&[&both], "-p", &["both.fq", "record 578:", "'S.577' and 'S.577'", ".1 and .2"]);
}

/// Flag 0x200 of unaligned BAM: each read has its own, in every record, whatever becomes of it.
#[test]
fn reads_that_did_not_pass_the_filter_say_so_in_every_mode() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let at = |name: &str| here.path().join(name);
    // The first contig begins with N.
    let contig = &small().genome().contigs[0].bases[10_000..];
    let bases = |from: usize| String::from_utf8(contig[from..from + 60].to_vec()).unwrap();
    let read = |name: &str, flags: u16, bases: &str| {
        format!("{name}\t{flags}\t*\t0\t0\t*\t*\t0\t0\t{bases}\t{}\n", "I".repeat(bases.len()))
    };
    let mut text = "@HD\tVN:1.6\tSO:unsorted\tGO:query\n".to_owned();
    // Both mates, one of them, none; of single reads every other one; some that are nowhere.
    for (number, failed) in [[0x200, 0x200], [0x200, 0], [0, 0x200], [0, 0]].iter().enumerate() {
        let name = format!("p{number}");
        text += &read(&name, 0x4d | failed[0], &bases(1000 * number + 500));
        text += &read(&name, 0x8d | failed[1], &bases(1000 * number + 600));
    }
    for number in 0..6 {
        let failed = if number % 2 == 0 { 0x200 } else { 0 };
        let bases = if number < 4 { bases(7000 + 500 * number) } else { "AC".repeat(30) };
        text += &read(&format!("s{number}"), 0x4 | failed, &bases);
    }
    fs::write(at("u.sam"), text).unwrap();
    to_bam(&at("u.sam"), &at("u.bam"));
    let failed = |file: &str| {
        let view = run(words("samtools view -f 0x200").arg(at(file))).ok().text();
        let name = |line: &str| {
            let columns: Vec<&str> = line.split('\t').collect();
            let mate = columns[1].parse::<u16>().unwrap() & 0xc0;
            (columns[0].to_owned(), mate)
        };
        view.lines().map(name).collect::<std::collections::BTreeSet<_>>()
    };
    let expected = failed("u.bam");
    assert_eq!(expected.len(), 7);
    for mode in ["bwa", "ungapped", "end-to-end", "local", "spliced"] {
        for options in [&[][..], &["--no-sort", "--no-mark-duplicates"]] {
            let mut command = seqloom(align(small(), &[&at("u.bam")]));
            command.args(["--mode", mode]).args(options).arg("-o").arg(at("x.bam"));
            run(&mut command).ok();
            assert_eq!(failed("x.bam"), expected, "{mode} {options:?}");
            let count = |filter: &str| {
                let line = format!("samtools view -c -F 0x900 {filter}");
                run(words(&line).arg(at("x.bam"))).ok().text().trim().to_owned()
            };
            assert_eq!([count("-f 0x200"), count("")], ["7", "14"], "{mode} {options:?}");
        }
    }
}
