//! Metrics that `prep` and `align` count as they write: those of Picard and samtools for their
//! output.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{READ_GROUP, folder, names_in, run, seqloom, words};
use crate::data::{align_small, small};

/// A BAM file sorted by coordinate.
const DATA: &str = "bam/picard_2.27.5_expected/NA12878.20.21.unmapped.orig.md.bam";

/// Kinds of metrics files.
const KINDS: [&str; 9] = [
    "alignment_summary",
    "flagstat",
    "idxstats",
    "insert_size",
    "markdup",
    "quality_by_cycle",
    "quality_distribution",
    "quality_yield",
    "stats",
];

/// Runs `prep` with all metrics; gives the folder of metrics.
fn prepare(input: &Path, here: &Path, name: &str, more: &[&str]) -> PathBuf {
    let metrics = here.join(format!("metrics{name}"));
    let mut command = seqloom(["prep"]);
    command.arg(input).args(["--mark-duplicates", "--sort", "coordinate", "--metrics", "all"]);
    command.args(more).arg("--metrics-dir").arg(&metrics);
    run(command.arg("-o").arg(here.join("sample7.bam"))).ok();
    metrics
}

fn summary(text: &str) -> Vec<&str> {
    let is_summary = |line: &&str| line.starts_with("SN\t") || line.starts_with("CHK\t");
    text.lines().filter(is_summary).collect()
}

/// Lines that do not hold the command line.
fn counted(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().filter(|line| !line.starts_with("# ")).map(str::to_owned).collect()
}

#[test]
fn summary_numbers_are_those_of_the_output_and_threads_change_nothing() {
    let Some(input) = seqloom_testkit::skip::data(DATA) else { return };
    let here = folder();
    let one = prepare(&input, here.path(), "1", &["-t", "1"]);
    let ours = fs::read_to_string(one.join("sample7.stats.txt")).unwrap();
    assert_eq!(names_in(&one), KINDS.map(|kind| format!("sample7.{kind}.txt")));
    let mut samtools = words("samtools");
    let theirs = run(samtools.arg("stats").arg(here.path().join("sample7.bam"))).ok().text();
    assert_eq!(summary(&ours), summary(&theirs));
    assert!(summary(&ours).len() > 30);
    let seven = prepare(&input, here.path(), "7", &["-t", "7", "-m", "700M"]);
    for name in names_in(&one) {
        assert_eq!(counted(&one.join(&name)), counted(&seven.join(&name)), "{name}");
    }
}

#[test]
fn only_what_is_requested_is_counted() {
    let Some(input) = seqloom_testkit::skip::data(DATA) else { return };
    let here = folder();
    let metrics = here.path().join("m");
    let mut command = seqloom(["prep"]);
    command.arg(&input).args(["--metrics", "quality-yield,insert-size", "--metrics-dir"]);
    run(command.arg(&metrics).arg("-o").arg(here.path().join("x.bam"))).ok();
    let expected = ["flagstat", "idxstats", "insert_size", "quality_yield"];
    assert_eq!(names_in(&metrics), expected.map(|kind| format!("x.{kind}.txt")));
    let mut command = seqloom(["prep"]);
    command.arg(&input).args(["--metrics", "all", "-o"]).arg(here.path().join("x.bam"));
    run(&mut command).fails_with(2).says(&["--metrics-dir"]);
}

/// Runs `align` of simulated reads with all metrics; gives the folder of metrics.
fn align(here: &Path, name: &str, more: &[&str]) -> PathBuf {
    let metrics = here.join(format!("aligned{name}"));
    let mut command = seqloom(align_small());
    command.args(["-R", READ_GROUP, "--metrics", "all", "-K", "1000000"]).args(more);
    command.arg("--metrics-dir").arg(&metrics);
    run(command.arg("-o").arg(here.join("sample7.bam"))).ok();
    metrics
}

/// What `prep` counts has been compared with Picard and samtools, so that it is the referee here.
#[test]
fn align_counts_what_prep_counts_of_its_output() {
    let here = folder();
    let one = align(here.path(), "1", &["-t", "1"]);
    assert_eq!(names_in(&one), KINDS.map(|kind| format!("sample7.{kind}.txt")));
    let copied = here.path().join("prepared");
    std::fs::create_dir(&copied).unwrap();
    let mut command = seqloom(["prep", "--metrics", "all", "--metrics-dir"]);
    command.arg(&copied).arg("--reference").arg(&small().ours);
    command.arg(here.path().join("sample7.bam")).arg("-o").arg(copied.join("sample7.bam"));
    run(&mut command).ok();
    for kind in KINDS.iter().filter(|kind| **kind != "markdup") {
        let name = format!("sample7.{kind}.txt");
        assert_eq!(counted(&one.join(&name)), counted(&copied.join(&name)), "{name}");
    }
    let summary = fs::read_to_string(one.join("sample7.alignment_summary.txt")).unwrap();
    let rows: Vec<Vec<&str>> = summary.lines().map(|line| line.split('\t').collect()).collect();
    let heads = rows.iter().position(|row| row[0] == "CATEGORY").unwrap();
    let column = rows[heads].iter().position(|name| *name == "PF_MISMATCH_RATE").unwrap();
    let rate: f64 = rows[heads + 1][column].parse().unwrap();
    assert!(rate > 0.0 && rate < 0.1, "simulated reads have errors: {rate}");
    for more in [&["-t", "7", "-m", "600M"][..], &["-t", "2"][..]] {
        let other = align(here.path(), &more.join(""), more);
        for name in names_in(&one) {
            assert_eq!(counted(&one.join(&name)), counted(&other.join(&name)), "{name} {more:?}");
        }
    }
}

#[test]
fn metrics_of_align_that_cannot_be_are_refused() {
    let here = folder();
    let refused = |more: &[&str], says: &str| {
        let mut command = seqloom(align_small());
        command.args(["-R", READ_GROUP]).args(more).arg("-o").arg(here.path().join("x.bam"));
        run(&mut command).fails_with(2).says(&[says]);
        assert_eq!(names_in(here.path()), Vec::<String>::new());
    };
    refused(&["--metrics", "all"], "--metrics-dir");
    let folder = here.path().join("m").display().to_string();
    let streamed = ["--metrics", "all", "--metrics-dir", &folder, "--no-sort"];
    refused(&[&streamed[..], &["--no-mark-duplicates"]].concat(), "--no-sort");
    refused(&["--reference-fasta", "nowhere.fa"], "--reference-fasta");
}

#[test]
fn multiqc_finds_every_table() {
    let multiqc = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv/bin/multiqc");
    if !multiqc.exists() {
        seqloom_testkit::skip::skip("MultiQC is not installed in .venv");
        return;
    }
    let Some(input) = seqloom_testkit::skip::data(DATA) else { return };
    let here = folder();
    let metrics = prepare(&input, here.path(), "", &[]);
    // Two more samples, from reads, in the same folder.
    for sample in ["sample8", "sample9"] {
        let mut command = seqloom(align_small());
        command.args(["-R", READ_GROUP, "--metrics", "all", "--metrics-dir"]).arg(&metrics);
        run(command.arg("-o").arg(here.path().join(format!("{sample}.bam")))).ok();
    }
    let mut report = Command::new(multiqc);
    report.args(["--no-ansi", "--no-report", "-o"]).arg(here.path().join("qc")).arg(&metrics);
    let said = run(&mut report).ok();
    assert!(!format!("{}{}", said.text(), said.stderr).contains("Oops"), "{}", said.stderr);
    let sources = here.path().join("qc/multiqc_data/multiqc_sources.txt");
    let sources = fs::read_to_string(sources).unwrap();
    for section in [
        "Picard\tAlignmentSummaryMetrics",
        "Picard\tInsertSizeMetrics",
        "Picard\tDuplicationMetrics",
        "Picard\tHistogram",
        "Picard\tQualityYieldMetrics",
        "Samtools\tstats",
        "Samtools\tflagstat",
        "Samtools\tidxstats",
    ] {
        for sample in ["sample7", "sample8", "sample9"] {
            let row = format!("{section}\t{sample}\t");
            assert!(sources.contains(&row), "{section} of {sample} in {sources}");
        }
    }
}
