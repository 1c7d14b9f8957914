//! `--progress` and `--log`: what they say, and that neither changes the output.

use crate::common::{READ_GROUP, assert_same_bytes, folder, names_in, run, seqloom};
use crate::data::{self, align_small, pairs_with_duplicates, simulate, small};
use std::fs;
use std::path::Path;

/// Shares of all work, in the order of the lines.
fn shares(log: &str) -> Vec<u32> {
    let share = |line: &str| {
        let before = line.split(" % of all work").next().filter(|it| it.len() < line.len())?;
        before.rsplit(' ').next()?.parse().ok()
    };
    log.lines().filter_map(share).collect()
}

/// Other lines are what the run begins and ends with.
fn is_progress(line: &str) -> bool {
    line.contains(" cores busy, ")
}

/// `align` of reads that take seconds: what takes less than the 200 ms between two looks has no
/// line.
fn align(here: &Path) -> Vec<String> {
    let reads = simulate(small(), &pairs_with_duplicates(60_000), here);
    data::align(small(), &[&reads.first, &reads.second])
}

#[test]
fn plain_progress_names_phases_and_its_share_grows() {
    let here = folder();
    let path = |name: &str| here.path().join(name);
    let words = align(here.path());
    let align = |name: &str, more: &[&str]| {
        let mut command = seqloom(&words);
        command.args(["-R", READ_GROUP, "--no-pg", "-t", "1"]).args(more);
        run(command.arg("-o").arg(path(name))).ok().stderr
    };
    let shown = align("a.bam", &["--progress", "plain"]);
    let mut first_shares = Vec::new();
    for phase in ["ingest", "finish"] {
        let of_phase = |line: &&str| line.contains(&format!("] {phase}: ")) && is_progress(line);
        let line = shown.lines().find(of_phase);
        let line = line.unwrap_or_else(|| panic!("no {phase} in {shown}"));
        for what in ["% of all work", " to go", "records", "peak"] {
            assert!(line.contains(what), "no {what} in {line}");
        }
        first_shares.extend(shares(line));
    }
    assert!(first_shares[0] < 80 && first_shares[1] > 80, "{first_shares:?}");
    let found = shares(&shown);
    assert!(found.is_sorted() && found.last().is_some_and(|share| *share <= 100), "{found:?}");
    // There is no terminal here.
    for quiet in [&["--progress", "auto"][..], &["--progress", "off"]] {
        assert_eq!(shares(&align("b.bam", quiet)), Vec::<u32>::new());
    }
    assert_same_bytes(&path("a.bam"), &path("b.bam"), "progress");
}

#[test]
fn a_pipe_shows_no_share_before_it_has_ended() {
    let here = folder();
    let words = align(here.path());
    // A regular file as standard input has a size; a pipe has none.
    let line = format!(
        "cat '{}' | '{}' align '{}' - -R '{READ_GROUP}' --progress plain -t 1 -o '{}'",
        words[2],
        env!("CARGO_BIN_EXE_seqloom"),
        words[1],
        here.path().join("x.bam").display()
    );
    let shown = run(std::process::Command::new("sh").arg("-c").arg(line)).ok().stderr;
    let of_ingest = |line: &&str| line.contains("] ingest: ") && is_progress(line);
    let line = shown.lines().find(of_ingest).unwrap_or_else(|| panic!("no line in {shown}"));
    assert!(!line.contains('%') && line.contains(" records"), "{line}");
    assert!(!shares(&shown).is_empty(), "what comes after is known: {shown}");
}

#[test]
fn the_log_has_the_lines_of_a_quiet_run_and_of_one_that_fails() {
    let here = folder();
    let path = |name: &str| here.path().join(name);
    let align = |more: &[&str], reads: &Path| {
        let words = align_small();
        let mut command = seqloom(&words[..2]);
        command.arg(reads).args(["-R", READ_GROUP, "--quiet", "--log"]).arg(path("run.log"));
        command.args(more).arg("-o").arg(path("x.bam"));
        run(&mut command)
    };
    let reads = align_small()[2].clone();
    let shown = align(&["--progress", "plain"], Path::new(&reads)).ok().stderr;
    assert_eq!(shown, "");
    let log = fs::read_to_string(path("run.log")).unwrap();
    assert!(log.lines().all(|line| line.starts_with("[I ")), "{log}");
    assert!(log.contains("align: 1 ") || log.contains("threads"), "{log}");
    assert!(log.contains("marked as duplicates; wall"), "{log}");
    fs::write(path("bad.fq"), "@r\nACGT\n+\nIII\n").unwrap();
    let shown = align(&[], &path("bad.fq")).fails_with(3).stderr;
    let log = fs::read_to_string(path("run.log")).unwrap();
    assert!(log.contains("bad.fq") && log.contains(shown.trim()), "{log}\n{shown}");
    fs::write(path("keep.fq"), "@r\nACGT\n+\nIIII\n").unwrap();
    let kept = path("keep.fq").display().to_string();
    let words = align_small();
    for (log, code) in [(kept.as_str(), 2), ("no/folder/run.log", 4)] {
        let mut command = seqloom(&words[..2]);
        command.arg(path("keep.fq")).args(["--log", log, "-o"]).arg(path("y.bam"));
        run(&mut command).fails_with(code).says(&[log]);
    }
    assert_eq!(fs::read_to_string(path("keep.fq")).unwrap(), "@r\nACGT\n+\nIIII\n");
    assert!(!names_in(here.path()).contains(&"y.bam".to_owned()));
}
