//! Bounds of options, and the exit codes of what is wrong with a command line or an input.

use crate::common::{SOON, folder, memory_floor, names_in, run, run_for, seqloom};
use crate::data::{align, small};
use crate::faults::preload;
use crate::memory::size_bytes;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A header with one sequence and reads of it.
const SAM: &str = "@HD\tVN:1.6\tSO:unsorted\n@SQ\tSN:c\tLN:900\n\
                   r\t0\tc\t1\t60\t4M\t*\t0\t0\tACGT\tIIII\n";

#[test]
fn more_threads_than_may_be_are_refused_by_all_commands() {
    let here = folder();
    fs::write(here.path().join("in.sam"), SAM).unwrap();
    for line in [
        "align ref.fa r.fq -o new",
        "prep in.sam -o new",
        "index ref.fa",
        "columns in.sam -o new",
        "signal check x.slow5",
        "signal convert x.slow5 -o new.blow5",
        "signal methylation --bam in.sam --reference ref.fa --signal old -o new",
        "shard align --run run --shard 0",
        "shard finish --run run --range 0/1",
        "shard plan --run run ref.fa r.fq",
    ] {
        for count in ["4097", "4611686018427387904", "18446744073709551615", "99999999999999999999"]
        {
            let mut command = seqloom(line.split_whitespace());
            let refused = run_for(command.args(["-t", count]).current_dir(here.path()), SOON);
            refused.fails_with(2).says(&["--threads", count, "1 to 4096"]);
        }
    }
    // The most that may be is a number like others: the memory for them is what is missing.
    for (command, least) in [("prep in.sam -o new", 4096 * 24), ("columns in.sam -o new", 4096)] {
        let mut arguments: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
        arguments[1] = here.path().join("in.sam").display().to_string();
        arguments.extend(["-t", "4096"].map(str::to_owned));
        assert!(size_bytes(&memory_floor(&arguments)) > least << 20, "{command}");
    }
    assert_eq!(names_in(here.path()), ["in.sam"]);
}

#[test]
fn larger_cohorts_than_may_be_are_refused() {
    let here = folder();
    let reads = here.path().join("r.fq");
    fs::write(&reads, "@a\nACGT\n+\nIIII\n@a\nACGT\n+\nIIII\n").unwrap();
    let mut base = align(small(), &[&reads]);
    base.extend(["-p", "-o"].map(str::to_owned));
    base.push(here.path().join("new.bam").display().to_string());
    for bases in ["0", "1000000000001", "18446744073709551615"] {
        let refused = run_for(seqloom(&base).args(["-K", bases]), SOON);
        refused.fails_with(2).says(&["--cohort-bases", bases, "1..=1000000000000"]);
    }
    run(seqloom(&base).args(["-K", "1000000000000", "-t", "1"])).ok();
}

/// Reads of so few bases.
fn write_reads(path: &Path, reads: usize, bases: usize) {
    let (bases, qualities) = ("A".repeat(bases), "I".repeat(bases));
    let text: String = (0..reads).map(|i| format!("@r{i}\n{bases}\n+\n{qualities}\n")).collect();
    fs::write(path, text).unwrap();
}

fn gzip(path: &Path) -> PathBuf {
    let zipped = path.with_extension("fq.gz");
    let out = fs::File::create(&zipped).unwrap();
    let gzip = Command::new("gzip").arg("-c").arg(path).stdout(out).status().unwrap();
    assert!(gzip.success());
    zipped
}

/// The floor of `align`, in bytes.
fn floor(reads: &[&Path], more: &str) -> u64 {
    let mut arguments = align(small(), reads);
    arguments.extend(more.split_whitespace().map(str::to_owned));
    arguments.extend(["-t", "2", "-o", "/dev/null"].map(str::to_owned));
    size_bytes(&memory_floor(&arguments))
}

#[test]
fn small_compressed_inputs_need_what_they_hold() {
    let here = folder();
    let at = |name: &str| here.path().join(name);
    // Two files of reads of two bases: the cohort of 50 million of them was 61 GB.
    let plain = [at("a.fq"), at("b.fq")];
    plain.iter().for_each(|path| write_reads(path, 40, 2));
    let zipped = [gzip(&plain[0]), gzip(&plain[1])];
    let usual = floor(&[&plain[0], &plain[1]], "");
    let of_gzip = floor(&[&zipped[0], &zipped[1]], "");
    assert_eq!(of_gzip, usual);
    assert!(of_gzip < 600 << 20, "{of_gzip}");
    // More than the first block of text.
    let long = [at("c.fq"), at("d.fq")];
    long.iter().for_each(|path| write_reads(path, 90_000, 2));
    let zipped = [gzip(&long[0]), gzip(&long[1])];
    let of_gzip = floor(&[&zipped[0], &zipped[1]], "");
    assert!((usual + (55 << 20)..usual + (90 << 20)).contains(&of_gzip), "{of_gzip}");
    // Unaligned BAM of 10 kB with reads of 22 bases: 7 GB.
    let mut sam = "@HD\tVN:1.6\tSO:unsorted\n".to_owned();
    for i in 0..600 {
        let (bases, qualities) = ("ACGTTGCAACGTTGCAACGTTG", "I".repeat(22));
        for flag in [77, 141] {
            sam += &format!("q{i}\t{flag}\t*\t0\t0\t*\t*\t0\t0\t{bases}\t{qualities}\n");
        }
    }
    fs::write(at("u.sam"), sam).unwrap();
    let bam = at("u.bam");
    run(seqloom(["prep", "--no-pg", "-t", "1", "-o"]).arg(&bam).arg(at("u.sam"))).ok();
    let of_bam = floor(&[&bam], "");
    assert!(of_bam < usual + (1200 * 2 * 1700) + (1 << 20), "{of_bam} after {usual}");
    // What a pipe will bring is not known.
    let mut align = align(small(), &[Path::new("-")]);
    align.extend(["-p", "-m", "600M", "-t", "1", "-o", "/dev/null"].map(str::to_owned));
    let mut shell = Command::new("bash");
    shell.args(["-c", "cat \"$0\" | \"$@\""]).arg(&long[0]).arg(env!("CARGO_BIN_EXE_seqloom"));
    let refused = run_for(shell.args(align), SOON);
    refused.fails_with(2).says(&["at least", "one cohort of 50000002 reads of 2 bp"]);
}

#[test]
fn malformed_files_next_to_the_reads_are_malformed_input() {
    let here = folder();
    let at = |name: &str, text: &str| {
        let path = here.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let sam = at("in.sam", SAM);
    let out = here.path().join("new.bam").display().to_string();
    let t = |line: &str, code: i32, says: &[&str]| {
        let mut command = seqloom(words_of(line));
        run_for(command.args(["-t", "1", "-o", &out]), SOON).fails_with(code).says(says);
        assert!(!Path::new(&out).exists(), "{line}");
    };
    let bed = at("x.bed", "elsewhere\t0\t10\n");
    t(
        &format!("prep {sam} --regions {bed}"),
        3,
        &["elsewhere", "no region is on a sequence of the header"],
    );
    let bed = at("y.bed", "c\t10\n");
    t(&format!("prep {sam} --regions {bed}"), 3, &["line 1"]);
    let missing = here.path().join("missing.bed").display().to_string();
    t(&format!("prep {sam} --regions {missing}"), 3, &["missing.bed"]);
    // Further than BAI reaches, which the sequence does not.
    let far = at("far.sam", &SAM.replace("c\t1\t", "c\t536870910\t"));
    for sort in ["coordinate", "coordinate-picard"] {
        let line = format!("prep {far} --sort {sort}");
        t(&line, 3, &["536870909-536870913", "outside"]);
    }
    let dict = at("z.dict", "@SQ\tSN:c\tLN:901\n");
    t(&format!("prep {sam} --reference-dict {dict}"), 3, &["900 bp", "901 bp"]);
    let reads = at("r.fq", "@a\nACGT\n+\nIIII\n");
    let reference = small().ours.display();
    let spliced = format!("align {reference} {reads} --mode spliced --splice-sites");
    let gtf = at("x.gtf", "c\ts\texon\tfive\t9\t.\t+\t.\ttranscript_id \"t\";\n");
    t(&format!("{spliced} {gtf}"), 3, &["x.gtf"]);
    let gtf = at(
        "y.gtf",
        "chrX\ts\texon\t5\t9\t.\t+\t.\ttranscript_id \"t\";\n\
                           chrX\ts\texon\t50\t90\t.\t+\t.\ttranscript_id \"t\";\n",
    );
    t(&format!("{spliced} {gtf}"), 3, &["y.gtf", "another reference"]);
    t(&format!("{spliced} {}", here.path().join("missing.gtf").display()), 3, &["missing.gtf"]);
}

fn words_of(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

#[test]
fn standard_input_given_twice_is_a_wrong_command_line() {
    let here = folder();
    let out = here.path().join("new").display().to_string();
    for line in ["prep - -", "columns - -", &format!("align {} - -", small().ours.display())] {
        let mut command = seqloom(words_of(line));
        let refused = run_for(command.args(["-o", &out]).stdin(Stdio::null()), SOON);
        refused.fails_with(2).says(&["standard input"]);
    }
}

/// `-t 2^62` once passed the check of the memory, because its sum had wrapped.
#[test]
fn sums_of_the_command_line_are_checked_in_releases() {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");
    let manifest = fs::read_to_string(manifest).unwrap();
    for package in ["seqloom", "seqloom-runtime"] {
        let section = format!("[profile.release.package.{package}]\noverflow-checks = true\n");
        assert!(manifest.contains(&section), "{section}");
    }
}

/// What stops one thread stops those after it, too: the first that cannot be started is reported,
/// and no further one is requested.
#[test]
fn a_pool_that_cannot_start_its_threads_says_so_at_the_first() {
    let here = folder();
    let at = |name: &str| here.path().join(name);
    // The fourth thread and all after it fail; each that is requested leaves a byte.
    let shim = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static int requested;
typedef int create_t(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int pthread_create(pthread_t *new, const pthread_attr_t *how, void *(*work)(void *), void *of) {
    create_t *create = (create_t *)dlsym(RTLD_NEXT, "pthread_create");
    int log = open(getenv("REQUESTED"), O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (write(log, "x", 1) != 1) { abort(); }
    close(log);
    return __sync_add_and_fetch(&requested, 1) > 3 ? EAGAIN : create(new, how, work, of);
}
"#;
    let Some(shim) = preload(here.path(), shim) else { return };
    fs::write(at("in.sam"), SAM).unwrap();
    let mut command = seqloom(["prep", "in.sam", "-t", "40", "-m", "4G", "-o", "new.bam"]);
    command.current_dir(here.path()).env("LD_PRELOAD", shim).env("REQUESTED", at("requested"));
    let refused = run_for(&mut command, SOON).fails_with(1);
    assert_eq!(fs::read(at("requested")).unwrap().len(), 4, "threads were requested");
    refused.says(&["thread 4 of 40 could not be started", "ask for fewer with -t"]);
    assert_eq!(names_in(here.path()), ["in.sam", "requested", "shim.c", "shim.so"]);
}
