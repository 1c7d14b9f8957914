//! `seqloom fastq`: what files are, and files in blocks.

use std::fs;
use std::path::Path;

use crate::common::{folder, has, run, run_into, run_to_nobody, seqloom, words};

/// `reads` reads of 20 to 60 bases; the names show the mate only in their comments.
fn fastq(reads: usize, mate: usize) -> String {
    let one = |read: usize| {
        let bases = "ACGTT".repeat(4 + (read * 7 + mate) % 9);
        format!("@read{read} {mate}:N:0\n{bases}\n+\n{}\n", "I".repeat(bases.len()))
    };
    (0..reads).map(one).collect()
}

fn check(path: &Path) -> String {
    run(seqloom(["fastq", "check"]).arg(path)).ok().text()
}

#[test]
fn padded_pairs_are_in_step_and_hold_the_same_reads() {
    let here = folder();
    let path = |name: &str| here.path().join(name);
    let texts = [fastq(1234, 1), fastq(1234, 2)];
    fs::write(path("1.fq"), &texts[0]).unwrap();
    fs::write(path("2.fq"), &texts[1]).unwrap();
    let mut pad = seqloom(["fastq", "pad", "--reads-per-block", "50"]);
    pad.arg(path("1.fq")).arg(path("2.fq")).arg("-o").arg(path("p1.fq"));
    let done = run(pad.arg("--output2").arg(path("p2.fq"))).ok();
    assert!(done.stderr.contains("padding pays after"), "{}", done.stderr);
    let padded = ["p1.fq", "p2.fq"].map(|name| fs::read_to_string(path(name)).unwrap());
    let size = done.stderr.split(" blocks of ").nth(1).unwrap().split(' ').next().unwrap();
    let size: usize = size.parse().unwrap();
    for (text, padded) in texts.iter().zip(&padded) {
        for (number, block) in padded.as_bytes().chunks(size).enumerate() {
            let lines = block.iter().filter(|&&byte| byte == b'\n').count();
            assert_eq!(lines, 4 * if number < 24 { 50 } else { 34 });
            assert!(block.starts_with(format!("@read{} ", 50 * number).as_bytes()));
        }
        let trimmed: String =
            padded.lines().map(|line| line.trim_end().to_owned() + "\n").collect();
        assert_eq!(trimmed, *text);
    }
    let found = check(&path("p1.fq"));
    assert!(found.contains("1234 reads") && found.contains("20 to 60 bp"), "{found}");
    assert!(found.contains("without a lock"), "{found}");
}

#[test]
fn what_cannot_be_padded_is_refused_and_leaves_nothing() {
    let here = folder();
    let path = |name: &str| here.path().join(name);
    fs::write(path("1.fq"), fastq(100, 1)).unwrap();
    fs::write(path("2.fq"), fastq(99, 2)).unwrap();
    let pad = |more: &[&str]| {
        let mut command = seqloom(["fastq", "pad"]);
        command.arg(path("1.fq")).arg("-o").arg(path("p1.fq")).args(more);
        run(&mut command)
    };
    let (two, out2) = (path("2.fq"), path("p2.fq"));
    let mates = [two.to_str().unwrap(), "--output2", out2.to_str().unwrap()];
    pad(&mates).fails_with(3).says(&["100 reads", "99"]);
    pad(&["--block-bytes", "100", "--reads-per-block", "10"]).fails_with(2).says(&["block 0"]);
    pad(&["--output2", "x"]).fails_with(2);
    pad(&["--bgzf", "-l", "20"]).fails_with(2).says(&["0..=12"]);
    run(seqloom(["fastq", "pad", "-", "-o"]).arg(path("p1.fq"))).fails_with(2).says(&["twice"]);
    fs::write(path("1.fq"), ">a\nACGT\n").unwrap();
    pad(&[]).fails_with(3).says(&["FASTA"]);
    assert!(!path("p1.fq").exists() && !out2.exists());
}

#[test]
fn check_shows_what_scales_and_what_does_not() {
    let here = folder();
    let path = |name: &str| here.path().join(name);
    fs::write(path("a.fq"), fastq(5000, 1)).unwrap();
    let mut pad = seqloom(["fastq", "pad", "--bgzf", "--reads-per-block", "100", "-o"]);
    run(pad.arg(path("a.bgzf.gz")).arg(path("a.fq"))).ok();
    let bgzf = check(&path("a.bgzf.gz"));
    assert!(bgzf.contains("BGZF, 51 blocks;") || bgzf.contains("BGZF, 51 blocks\n"), "{bgzf}");
    assert!(bgzf.contains("5000 reads") && bgzf.contains("none needed"), "{bgzf}");
    if has("gzip") {
        let text = run(words("gzip -c").arg(path("a.fq"))).ok().stdout;
        fs::write(path("a.gz"), &text).unwrap();
        fs::write(path("b.gz"), [&text[..], &text[..]].concat()).unwrap();
        let one = check(&path("a.gz"));
        assert!(one.contains("gzip, 1 member") && one.contains("bgzip"), "{one}");
        let two = check(&path("b.gz"));
        assert!(two.contains("gzip, 2 members") && two.contains("10000 reads"), "{two}");
    }
    fs::write(path("w.fq"), "@a\nAC\nGT\n+\nII\nII\n").unwrap();
    let wrapped = check(&path("w.fq"));
    assert!(wrapped.contains("wrapped") && wrapped.contains("4 to 4 bp"), "{wrapped}");
    fs::write(path("bad.fq"), "@a\nAC\n+\nI\n").unwrap();
    run(seqloom(["fastq", "check"]).arg(path("bad.fq"))).fails_with(3).says(&["2 bases"]);
}

#[test]
fn a_check_whose_reader_goes_is_no_failure_and_a_full_disk_is() {
    let here = folder();
    let file = here.path().join("a.fq");
    fs::write(&file, fastq(10, 1)).unwrap();
    let check = || {
        let mut command = seqloom(["fastq", "check"]);
        command.arg(&file).arg(&file);
        command
    };
    let gone = run_to_nobody(&mut check()).ok();
    assert_eq!(gone.stderr, "");
    run_into(&mut check(), Path::new("/dev/full")).fails_with(4).says(&["cannot write"]);
}
