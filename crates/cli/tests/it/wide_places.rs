//! Places on the flow cell past 16 bits, through every way to run: one process, shards, `--resume`,
//! a pattern of one's own, `prep`; duplicates and optical metrics are those of each Picard.

use crate::common::{finish, folder, limit, names_in, run, seqloom, signal};
use crate::data::{align, small, small_pairs};
use crate::prep::{has_referees, metrics_body, metrics_file};
use crate::prep_duplicates::{TAGS, as_picard, case, equal_picard_of};
use crate::shard::{OPTIONS, assert_same_run, do_all, gather, one_process, plan};
use seqloom_testkit::referees::PICARD;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The pattern that the default one stands for.
const PATTERN: &str = "[^:]*:[^:]*:[^:]*:[0-9]+:([0-9]+):([0-9]+):([0-9]+)";

/// The reads of a file with other places: x on both sides of 2^15, y on both sides of 2^16, and
/// tiles of which every other one is past 2^16.
fn with_wide_places(fastq: &Path, out: &Path) {
    let text = fs::read_to_string(fastq).unwrap();
    let mut wide = String::new();
    for (at, line) in text.lines().enumerate() {
        let fields: Vec<&str> = line.split(':').collect();
        if at % 4 != 0 {
            writeln!(wide, "{line}").unwrap();
            continue;
        }
        let (front, numbers) = fields.split_at(fields.len() - 3);
        let number = |at: usize| numbers[at].parse::<u32>().unwrap();
        let tile = number(0) + number(0) % 2 * 65_536;
        let (x, y) = (number(1) % 256 + 32_640, number(2) % 256 + 65_408);
        writeln!(wide, "{}:{tile}:{x}:{y}", front.join(":")).unwrap();
    }
    fs::write(out, wide).unwrap();
}

fn reads(folder: &Path) -> [PathBuf; 2] {
    let files = ["1.fq", "2.fq"].map(|name| folder.join(name));
    with_wide_places(&small_pairs().first, &files[0]);
    with_wide_places(&small_pairs().second, &files[1]);
    files
}

/// Starts the command, kills it once it has done a task, and lets the same command end.
#[track_caller]
fn kill_and_go_on(command: impl Fn() -> Command, kept: &Path) {
    let start = || command().stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut child = start();
    let is_done = |name: &String| name.ends_with(".json") || name == "manifest";
    let has_done = || {
        let folders = ["", "run/align"].map(|name| kept.join(name));
        folders.iter().any(|it| it.is_dir() && names_in(it).iter().any(is_done))
    };
    while child.try_wait().unwrap().is_none() && !has_done() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    signal(&child, "KILL");
    child.wait().unwrap();
    finish(start(), limit()).ok();
    assert!(!kept.exists());
}

#[test]
fn every_way_to_run_takes_them_as_each_picard() {
    if !has_referees() {
        return;
    }
    let here = folder();
    let [first, second] = reads(here.path());
    let mut counted = Vec::new();
    for version in PICARD {
        let new = |name: &str| {
            let folder = here.path().join(format!("{version}.{name}"));
            fs::create_dir(&folder).unwrap();
            folder
        };
        let mut line = align(small(), &[&first, &second]);
        line.extend(["-K", "900000"].map(str::to_owned));
        line.extend(as_picard(version).iter().map(|&it| it.to_owned()));
        let one = one_process(&line, &new("one"), "out");
        let metrics = metrics_body(&metrics_file(&one.with_extension("metrics")));

        // Picard of the records as they are aligned.
        let unsorted = here.path().join("unsorted.bam");
        let mut command = seqloom(&line[..line.len() - as_picard(version).len()]);
        command.args(OPTIONS).args(["--no-sort", "--no-mark-duplicates", "-o"]).arg(&unsorted);
        run(&mut command).ok();
        let picard = new("picard");
        if equal_picard_of(version, &picard, &[case(&unsorted, true, TAGS)]) {
            assert_eq!(metrics, metrics_body(&picard.join("0.picard.txt")), "{version}");
        }

        let task_folder = here.path().join(format!("{version}.run"));
        plan(&task_folder, (3, 4), &line);
        do_all(&task_folder, "2", 1);
        assert_same_run(&one, &gather(&task_folder, &new("shards"), "out"), "shards");

        let resumed = new("resumed").join("out.bam");
        let command = || {
            let mut command = seqloom(&line);
            command.args(OPTIONS).args(["--resume", "--resume-bases", "2M", "-o"]).arg(&resumed);
            command.arg("--metrics-dir").arg(resumed.with_extension("metrics"));
            command
        };
        kill_and_go_on(command, &resumed.with_file_name(".out.bam.seqloom-resume"));
        assert_same_run(&one, &resumed, "--resume");

        let by_pattern: Vec<String> = ["--read-name-regex", PATTERN].map(str::to_owned).into();
        let line: Vec<String> = [&line[..], &by_pattern].concat();
        let other = one_process(&line, &new("pattern"), "out");
        assert_same_run(&one, &other, "--read-name-regex");
        counted.push(metrics);
    }
    assert_ne!(counted[0], counted[1], "optical duplicates of both Picards");
}

#[test]
fn prep_that_is_killed_takes_them_as_each_picard() {
    if !has_referees() {
        return;
    }
    let here = folder();
    let [first, second] = reads(here.path());
    let unsorted = here.path().join("unsorted.bam");
    let mut command = seqloom(align(small(), &[&first, &second]));
    command.args(OPTIONS).args(["--no-sort", "--no-mark-duplicates", "-o"]).arg(&unsorted);
    run(&mut command).ok();
    for version in PICARD {
        let picard = here.path().join(version);
        fs::create_dir(&picard).unwrap();
        if !equal_picard_of(version, &picard, &[case(&unsorted, true, TAGS)]) {
            continue;
        }
        let out = here.path().join("out.bam");
        let command = || {
            let mut command = seqloom(["prep", "--no-pg", "--mark-duplicates", "--resume"]);
            command.args(TAGS.0.split_whitespace()).args(as_picard(version)).arg(&unsorted);
            command.arg("-o").arg(&out).arg("--metrics-dir").arg(out.with_extension("metrics"));
            command
        };
        kill_and_go_on(command, &out.with_file_name(".out.bam.seqloom-resume"));
        crate::common::assert_same_bytes(&out, &picard.join("0.ours.bam"), version);
        let metrics = metrics_body(&metrics_file(&out.with_extension("metrics")));
        assert_eq!(metrics, metrics_body(&picard.join("0.picard.txt")), "{version}");
    }
}
