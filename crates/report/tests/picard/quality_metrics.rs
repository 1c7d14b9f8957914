//! Referee: Picard's metrics programs and `samtools stats` against ours; every line must be equal.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use seqloom_format::bam::{Header, RecordRef, framed_records};
use seqloom_prep::finish::VisitorSource;
use seqloom_prep::input::ReferenceSequences;
use seqloom_prep::metrics::{GatheredMetrics, MetricsRequest, MetricsVisitors};
use seqloom_report::picard;
use seqloom_report::samtools_stats::write_samtools_stats;
use seqloom_testkit::referees::{PICARD, Picard};
use seqloom_testkit::running::words;

use crate::hard_reads::{HardReads, Reads};
use crate::{find_picard, read_bam, run};

/// Records that one worker sees before the next one gets some.
const PORTION: usize = 50;
/// Endings of the files of Picard CollectMultipleMetrics, in the order of [`texts`].
const ENDINGS: [&str; 5] = [
    "insert_size_metrics",
    "alignment_summary_metrics",
    "quality_yield_metrics",
    "quality_by_cycle_metrics",
    "quality_distribution_metrics",
];

/// What is not compared.
const HEADING: &picard::Heading<'_> = &picard::Heading { command_line: "x", sample: "y" };

/// Counts with two workers that see records by turns.
fn count(records: &[u8], reference: Option<&ReferenceSequences>) -> GatheredMetrics {
    let visitors = MetricsVisitors::new(MetricsRequest::ALL, reference);
    let mut workers = [visitors.visitor(), visitors.visitor()];
    for (index, body) in framed_records(records).enumerate() {
        let record = RecordRef::new(body.unwrap()).unwrap();
        workers[index / PORTION % 2].visit(index as u64, &record).unwrap();
    }
    workers.into_iter().for_each(|worker| worker.finish().unwrap());
    visitors.into_metrics()
}

/// Our texts; no insert sizes where there are none.
fn texts(metrics: &GatheredMetrics) -> [Option<String>; 5] {
    let write = |write: &dyn Fn(&mut String)| {
        let mut text = String::new();
        write(&mut text);
        Some(text)
    };
    let rows = metrics.insert_size.as_ref().unwrap().rows();
    let summary = metrics.alignment_summary.as_ref().unwrap();
    let quality_yield = metrics.quality_yield.as_ref().unwrap();
    let by_cycle = metrics.quality_by_cycle.as_ref().unwrap();
    let distribution = metrics.quality_distribution.as_ref().unwrap();
    let inserts = write(&|text| picard::write_insert_sizes(text, HEADING, &rows).unwrap());
    [
        inserts.filter(|_| !rows.is_empty()),
        write(&|text| picard::write_alignment_summary(text, HEADING, summary).unwrap()),
        write(&|text| picard::write_quality_yield(text, HEADING, quality_yield).unwrap()),
        write(&|text| picard::write_quality_by_cycle(text, HEADING, by_cycle).unwrap()),
        write(&|text| picard::write_quality_distribution(text, HEADING, distribution).unwrap()),
    ]
}

/// What follows the heading.
fn body(text: &str) -> &str {
    let start = ["## METRICS CLASS", "## HISTOGRAM"].iter().filter_map(|it| text.find(it)).min();
    &text[start.unwrap_or(text.len())..]
}

/// Picard's texts; `None` when it ends with an error.
fn run_picard(
    picard: &Picard,
    folder: &Path,
    bam: &Path,
    fasta: Option<&Path>,
) -> Option<[Option<String>; 5]> {
    // Picard draws its charts with R. They are not looked at.
    let plotter = folder.join("Rscript");
    fs::write(&plotter, "#!/bin/sh\nexit 0\n").unwrap();
    fs::set_permissions(&plotter, fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let out = folder.join("picard");
    let mut command = picard.command();
    command.env("PATH", format!("{}:{path}", folder.display()));
    command.args(["CollectMultipleMetrics", "PROGRAM=null", "VALIDATION_STRINGENCY=SILENT"]);
    for program in [
        "CollectAlignmentSummaryMetrics",
        "CollectInsertSizeMetrics",
        "CollectQualityYieldMetrics",
        "MeanQualityByCycle",
        "QualityScoreDistribution",
    ] {
        command.arg(format!("PROGRAM={program}"));
    }
    command.arg(format!("INPUT={}", bam.display())).arg(format!("OUTPUT={}", out.display()));
    if let Some(fasta) = fasta {
        command.arg(format!("REFERENCE_SEQUENCE={}", fasta.display()));
    }
    if let Err(stderr) = finish(&mut command) {
        eprintln!("Picard fails on {}: {}", bam.display(), last_words(&stderr));
        return None;
    }
    Some(ENDINGS.map(|ending| fs::read_to_string(out.with_extension(ending)).ok()))
}

/// Runs Picard; what it says if it fails. Its other threads live on for a minute then, for which
/// nobody waits here.
fn finish(picard: &mut Command) -> Result<(), String> {
    let mut child = picard.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    for line in BufReader::new(child.stderr.take().unwrap()).lines() {
        let line = line.unwrap();
        if line.starts_with("Exception in thread") {
            child.kill().unwrap();
        }
        said.push_str(&line);
        said.push('\n');
    }
    if child.wait().unwrap().success() { Ok(()) } else { Err(said) }
}

fn last_words(stderr: &str) -> String {
    let is_error = |line: &&str| line.contains("xception");
    stderr.lines().find(is_error).unwrap_or_default().chars().take(200).collect()
}

#[track_caller]
fn assert_same_lines(ours: &str, theirs: &str, what: &str) {
    for (number, (ours, theirs)) in ours.lines().zip(theirs.lines()).enumerate() {
        assert_eq!(ours, theirs, "{what}: line {number}, ours and theirs");
    }
    assert_eq!(ours.lines().count(), theirs.lines().count(), "{what}: lines, ours and theirs");
}

/// Lines of the checksum and the summary numbers.
fn summary(text: &str) -> String {
    let is_summary = |line: &&str| line.starts_with("SN\t") || line.starts_with("CHK\t");
    text.lines().filter(is_summary).map(|line| format!("{line}\n")).collect()
}

/// Compares with `samtools stats`; false when that fails.
fn compare_stats(bam: &Path, metrics: &GatheredMetrics) -> bool {
    let output = words("samtools stats").arg(bam).output().unwrap();
    if !output.status.success() {
        return false;
    }
    let mut ours = String::new();
    write_samtools_stats(&mut ours, "x", metrics.samtools_stats.as_ref().unwrap()).unwrap();
    let theirs = String::from_utf8(output.stdout).unwrap();
    let what = format!("{}: samtools stats", bam.display());
    assert_same_lines(&summary(&ours), &summary(&theirs), &what);
    true
}

/// Compares with Picard; false when that fails.
fn compare_picard(
    picard: &Picard,
    bam: &Path,
    fasta: Option<&Path>,
    metrics: &GatheredMetrics,
) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let Some(theirs) = run_picard(picard, folder.path(), bam, fasta) else { return false };
    for ((ours, theirs), ending) in texts(metrics).iter().zip(&theirs).zip(ENDINGS) {
        let what = format!("{}: {ending}", bam.display());
        assert_eq!(ours.is_some(), theirs.is_some(), "{what}: is there, ours and theirs");
        if let (Some(ours), Some(theirs)) = (ours, theirs) {
            assert_same_lines(body(ours), body(theirs), &what);
        }
    }
    true
}

fn reference_of(header: &Header, fasta: &str) -> ReferenceSequences {
    let sequences: Vec<Vec<u8>> = fasta
        .split('>')
        .skip(1)
        .map(|entry| entry.lines().skip(1).flat_map(str::bytes).collect())
        .collect();
    assert_eq!(sequences.len(), header.references().len());
    ReferenceSequences::new(sequences)
}

/// A folder with the reads as BAM, in this order of `samtools sort`, and their reference.
fn made(reads: &HardReads, order: &[&str]) -> (tempfile::TempDir, PathBuf, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("in.sam"), &reads.sam).unwrap();
    fs::write(path("ref.fa"), &reads.fasta).unwrap();
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let (sam, bam, fasta) = (path("in.sam"), path("in.bam"), path("ref.fa"));
    let mut arguments = order.to_vec();
    let (sam, bam_text) = (text(&sam), text(&bam));
    arguments.extend(["-o", &bam_text, &sam]);
    run("samtools", &arguments);
    run("samtools", &["faidx", &text(&fasta)]);
    run("samtools", &["dict", "-o", &text(&path("ref.dict")), &text(&fasta)]);
    (folder, bam, fasta)
}

/// Name, seed, templates, kind of reads, options, whether with a reference.
type Case = (&'static str, u64, usize, Reads, &'static [&'static str], bool);

#[test]
fn hard_reads_are_counted_as_picard_and_samtools_count_them() {
    let Some(picard) = find_picard(PICARD[0]) else { return };
    let cases: [Case; 6] = [
        ("sorted, with reference", 1, 4000, Reads::Mixed, &["sort"], true),
        ("sorted", 2, 4000, Reads::Mixed, &["sort"], false),
        ("grouped by name", 3, 3000, Reads::Mixed, &["sort", "-n"], false),
        ("not sorted", 4, 3000, Reads::Mixed, &["view", "-b"], false),
        ("unpaired", 5, 2000, Reads::Unpaired, &["sort"], true),
        ("one read", 9, 1, Reads::One, &["sort"], true),
    ];
    for (name, seed, templates, kind, order, with_reference) in cases {
        eprintln!("{name}");
        let reads = HardReads::new(seed, templates, kind);
        let (_folder, bam, fasta) = made(&reads, order);
        let (header, records) = read_bam(&bam);
        let reference = with_reference.then(|| reference_of(&header, &reads.fasta));
        let metrics = count(&records, reference.as_ref());
        assert!(compare_stats(&bam, &metrics), "{name}");
        let fasta = with_reference.then_some(fasta.as_path());
        assert!(compare_picard(&picard, &bam, fasta, &metrics), "{name}");
    }
}

#[test]
fn real_data_are_counted_as_picard_and_samtools_count_them() {
    let Some(picard) = find_picard(PICARD[0]) else { return };
    let Some(folder) = seqloom_testkit::skip::data("bam") else { return };
    let mut files = vec!["picard_2.27.5_expected/NA12878.20.21.unmapped.orig.md.bam".to_owned()];
    files.extend((1..=5).map(|sample| format!("nf-cmgg/Sample{sample}.bam")));
    for file in files {
        eprintln!("{file}");
        let bam = folder.join(file);
        let metrics = count(&read_bam(&bam).1, None);
        assert!(compare_stats(&bam, &metrics));
        assert!(compare_picard(&picard, &bam, None, &metrics));
    }
}

/// All SAM and BAM files below a folder, those of more than 3 MB left out.
fn alignments(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            alignments(&path, found);
        } else if path.extension().is_some_and(|it| it == "sam" || it == "bam")
            && fs::metadata(&path).unwrap().len() < 3 << 20
        {
            found.push(path);
        }
    }
}

#[test]
fn test_files_of_others_are_counted_as_samtools_and_picard_count_them() {
    let Some(picard) = find_picard(PICARD[0]) else { return };
    let Some(data) = seqloom_testkit::skip::data("bam") else { return };
    let mut files = Vec::new();
    for folder in ["samtools_test", "htslib_test", "picard_testdata/sam"] {
        alignments(&data.join(folder), &mut files);
    }
    let folder = tempfile::tempdir().unwrap();
    let (bam, mut by_samtools, mut by_picard) = (folder.path().join("x.bam"), 0, 0);
    // Programs take their time to start: a few files are enough in the short run.
    let is_slow = seqloom_testkit::skip::slow_tests();
    let (every, picard_every) = if is_slow { (1, 10) } else { (5, 100) };
    for (index, file) in files.iter().enumerate().step_by(every) {
        let (from, to) = (file.to_str().unwrap(), bam.to_str().unwrap());
        let made = words("samtools view -b -o").args([to, from]).output().unwrap();
        if !made.status.success() {
            continue;
        }
        let (_, records) = read_bam(&bam);
        if framed_records(&records).any(|body| RecordRef::new(body.unwrap()).is_err()) {
            continue;
        }
        eprintln!("{from}");
        let metrics = count(&records, None);
        by_samtools += usize::from(compare_stats(&bam, &metrics));
        if index % picard_every == 0 {
            by_picard += usize::from(compare_picard(&picard, &bam, None, &metrics));
        }
    }
    eprintln!(
        "{} files, {by_samtools} compared with samtools, {by_picard} with Picard",
        files.len()
    );
    assert!(by_samtools > 50 && by_picard > 1);
}
