//! `seqloom-lab schedule` and `output`: every way gives the records of `align`, and stops when
//! something fails.

use crate::common::{SOON, folder, lab, run, run_for, seqloom};
use crate::data::{align, small, small_pairs};
use seqloom_testkit::bam::{BamReader, BamRecord};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const SCHEDULES: [&str; 4] = ["pull", "farm", "pipeline", "multiprocess"];
/// Insert sizes of the simulated pairs, more or less.
const INSERT_SIZE: &str = "300,40";

fn schedule_run(schedule: &str, threads: &str, engine: &str, reads: &[&Path]) -> Command {
    let mut command = lab(["schedule-run", "--schedule", schedule, "--digest"]);
    command.args(["--threads", threads, "--engine", engine]);
    if schedule == "pipeline" {
        command.args(["--chunk-bases", "200000"]);
    }
    command.arg("--reference").arg(&small().ours);
    reads.iter().for_each(|file| {
        command.arg("--input").arg(file);
    });
    command
}

/// The records of a BAM, each without its size.
fn records_of_bam(path: &Path) -> Vec<Vec<u8>> {
    let (mut reader, mut record) = (BamReader::open(path).unwrap(), BamRecord::default());
    let mut records = Vec::new();
    while reader.read(&mut record).unwrap() {
        records.push(record.bytes.clone());
    }
    records
}

/// The records of files that a schedule wrote.
fn records_of_files(paths: &[PathBuf]) -> Vec<Vec<u8>> {
    let mut records = Vec::new();
    for path in paths {
        let bytes = fs::read(path).unwrap();
        let mut rest = &bytes[..];
        while let Some((size, more)) = rest.split_first_chunk::<4>() {
            let (body, more) = more.split_at(u32::from_le_bytes(*size) as usize);
            records.push(body.to_vec());
            rest = more;
        }
    }
    records
}

fn sorted(mut records: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    records.sort_unstable();
    records
}

/// All schedules against `align`: in its order where the output is ordered.
fn compare(engine: &str, reads: &[&Path]) {
    let here = folder();
    let bam = here.path().join("align.bam");
    let mut command = seqloom(align(small(), reads));
    let aligns = !engine.starts_with("fake:");
    match engine {
        "end-to-end" => command.args(["--mode", engine]),
        _ => command.args(["--engine", engine]),
    };
    command.args(["--no-sort", "--no-mark-duplicates", "-t", "2", "-o"]).arg(&bam);
    if engine == "bwa" && reads.len() == 2 {
        command.args(["-I", INSERT_SIZE]);
    }
    run(&mut command).ok();
    let expected = records_of_bam(&bam);
    assert!(expected.len() >= 20_000);
    for schedule in SCHEDULES {
        let engine = if aligns { engine } else { "null" };
        // More than one process has threads, but where every process has an index.
        let threads = if aligns { "3" } else { "17" };
        let output = here.path().join(schedule);
        let mut command = schedule_run(schedule, threads, engine, reads);
        command.args(["--strategy", "ordered"]);
        if engine == "bwa" && reads.len() == 2 {
            command.args(["--insert-size", INSERT_SIZE]);
        }
        let told = run(command.arg("--output").arg(&output)).ok().text();
        assert!(told.contains(&format!("counter\trecords\t{}\n", expected.len())), "{told}");
        let by_processes = schedule == "multiprocess" && !aligns;
        if by_processes {
            let files = [0, 1].map(|at| output.join(format!("process-{at}/records-0")));
            assert_eq!(sorted(records_of_files(&files)), sorted(expected.clone()));
        } else {
            let found = records_of_files(&[output.join("records-0")]);
            assert!(found == expected, "{schedule} {engine}: other records than align");
        }
    }
}

#[test]
fn all_schedules_give_the_records_of_align() {
    let reads = small_pairs();
    compare("fake:", &[&reads.first]);
    compare("fake:", &[&reads.first, &reads.second]);
}

#[test]
fn all_schedules_give_the_records_of_align_with_bwa() {
    let reads = small_pairs();
    compare("bwa", &[&reads.first]);
    compare("bwa", &[&reads.first, &reads.second]);
}

/// Records of mates that are pairs name each other: both ways to number reads are the input's.
#[test]
fn all_schedules_give_the_records_of_align_end_to_end() {
    let reads = small_pairs();
    compare("end-to-end", &[&reads.first]);
    compare("end-to-end", &[&reads.first, &reads.second]);
}

#[test]
fn what_fails_stops_all_threads_and_processes() {
    let reads = &small_pairs().first;
    for schedule in SCHEDULES {
        // The last process, while the others take their time.
        for (engine, words) in [
            ("fake:sleep=100us,fail-at=19990", "set to fail"),
            ("fake:sleep=100us,panic-at=19990", "set to panic"),
        ] {
            let mut command = schedule_run(schedule, "40", engine, &[reads]);
            let failed = run_for(&mut command, SOON).fails_with(1);
            assert!(failed.stderr.contains(words), "{schedule}: {}", failed.stderr);
        }
    }
    let mut command = schedule_run("multiprocess", "40", "null", &[Path::new("/none/such.fq")]);
    run_for(&mut command, SOON).says(&["/none/such.fq"]);
}

#[test]
fn what_makes_no_sense_is_refused() {
    fn t(arguments: &[&str], words: &[&str]) {
        let command = &mut lab(["schedule-run", "--schedule", "pull"]);
        let refused = run(command.args(arguments)).says(words);
        assert_ne!(refused.code(), 0);
    }
    t(&["--engine", "snap"], &["null"]);
    t(&["--engine", "bwa", "--us-per-read", "3"], &["do not align"]);
    t(&["--engine", "bwa", "--reads", "100"], &["reference"]);
    t(&["--us-per-read=-3", "--reads", "100"], &["--us-per-read"]);
    t(&["--lock", "none", "--reads", "100"], &["no lock none"]);
    t(&["--lock", "standard,mcs", "--reads", "100"], &["no lock standard,mcs"]);
    t(&["--lock", "mcs", "--strategy", "ordered", "--reads", "100"], &["--lock is for"]);
    t(&["--chunk-bases", "9", "--reads", "100"], &["--chunk-bases is for", "pipeline"]);
    t(&["--insert-size", "300,40", "--reads", "100"], &["--insert-size is for", "bwa"]);
    t(&["--threads", "2", "--reads-per-thread", "9223372036854775808"], &["too many reads"]);
    let mut command = lab(["schedule", "--engines", "null,bwa"]);
    run(&mut command).says(&["--engines: bwa needs an index"]);
    run(&mut lab(["schedule", "--engines", "null,spin=5us"])).says(&["must be"]);
    run(&mut lab(["schedule", "--engines", "fake:spin=5us,colour=3"])).says(&["colour"]);
    let mut command = lab(["schedule", "--engines", "bwa", "--reference", "x"]);
    run(command.args(["--input", "1.fq", "--input", "2.fq"])).says(&["takes single reads"]);
}

#[test]
fn the_experiments_write_their_reports() {
    let here = folder();
    let report = |command: &mut Command, name: &str| {
        let out = here.path().join(name);
        command.arg("--out").arg(&out).arg("--work").arg(here.path().join("work"));
        run(command).ok();
        assert!(out.join(format!("{name}.tsv")).exists());
        let report = fs::read_to_string(out.join("README.md")).unwrap();
        assert!(!report.contains("NaN") && !report.contains("inf"), "{report}");
        report
    };
    let mut command = lab(["schedule", "--reads", "4000", "--threads", "1,2,40"]);
    let text = report(command.args(["--engines", "null,fake:sleep=5us"]), "schedule");
    assert!(text.contains("| multiprocess |") && text.contains("fake:sleep=5us"), "{text}");
    let mut command = lab(["output", "--records", "2000", "--threads", "1,5"]);
    let text = report(&mut command, "output");
    assert!(text.contains("striped:16, mcs-park") && text.contains("| ordered |"), "{text}");
}
