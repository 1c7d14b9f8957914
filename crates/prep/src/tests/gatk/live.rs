//! Random hard reads: both passes of GATK against ours.

use std::ffi::OsString;
use std::path::Path;

use seqloom_testkit::gatk::Gatk;
use seqloom_testkit::planted::{changed_number, is_seen};
use seqloom_testkit::referees::compared;
use seqloom_testkit::skip::slow_tests;

use super::apply::{compare, ways_to_apply};
use super::common::{Bam, assert_reports_equal, assert_reports_equal_but_for_ties, count, text};
use super::hard_reads::{HardReads, Kind};
use crate::recalibrate::{ApplyOptions, DynamicQuantization, RecalibrationOptions, report};

/// Ways to count: GATK's arguments, and ours.
fn ways() -> Vec<(Vec<&'static str>, RecalibrationOptions)> {
    let default = RecalibrationOptions::default;
    vec![
        (vec![], default()),
        (
            vec!["--use-original-qualities", "--low-quality-tail", "12"],
            RecalibrationOptions {
                use_original_qualities: true,
                low_quality_tail: 12,
                ..default()
            },
        ),
        (
            vec![
                "--preserve-qscores-less-than",
                "0",
                "--mismatches-context-size",
                "4",
                "--maximum-cycle-value",
                "700",
                "--quantizing-levels",
                "9",
            ],
            RecalibrationOptions {
                preserve_below: 0,
                mismatches_context_bases: 4,
                max_cycle: 700,
                quantizing_levels: 9,
                ..default()
            },
        ),
        (
            vec!["--compute-indel-bqsr-tables", "--indels-context-size", "1"],
            RecalibrationOptions { indel_tables: true, indels_context_bases: 1, ..default() },
        ),
    ]
}

/// GATK's table of these reads.
fn gatk_report(gatk: &Gatk, reads: &HardReads, arguments: &[&str], out: &Path) -> String {
    let mut all: Vec<OsString> = vec!["-R".into(), reads.fasta.as_os_str().to_owned()];
    all.extend(["-I".into(), reads.bam.as_os_str().to_owned()]);
    for sites in &reads.sites {
        all.extend(["--known-sites".into(), sites.as_os_str().to_owned()]);
    }
    all.extend(["-O".into(), out.as_os_str().to_owned()]);
    all.extend(arguments.iter().map(Into::into));
    gatk.run("BaseRecalibrator", all).unwrap();
    text(out)
}

/// Reads in the short run, and in the long one.
fn reads() -> usize {
    if slow_tests() { 120_000 } else { 20_000 }
}

#[test]
fn hard_reads_are_counted() {
    let Some(gatk) = Gatk::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let Some(reads) = HardReads::write(folder.path(), 1, reads(), Kind::Any) else { return };
    let bam = Bam::read(&reads.bam);
    let ways = ways();
    for (arguments, options) in &ways[..if slow_tests() { ways.len() } else { 1 }] {
        println!("{arguments:?}");
        let theirs = gatk_report(&gatk, &reads, arguments, &folder.path().join("theirs.txt"));
        let ours = report::write(&count(&bam, &reads.fasta, &reads.sites, options));
        assert_reports_equal(&ours, &theirs);
        is_seen("a number of a table", || {
            assert_reports_equal(&changed_number(&ours).unwrap(), &theirs);
        });
        compared(&gatk.name(), bam.bodies.len());
    }
}

#[test]
fn hard_reads_are_counted_with_base_alignment_quality() {
    let Some(gatk) = Gatk::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let Some(reads) = HardReads::write(folder.path(), 3, reads(), Kind::ForBaq) else { return };
    let arguments = ["--enable-baq", "--compute-indel-bqsr-tables"];
    let theirs = gatk_report(&gatk, &reads, &arguments, &folder.path().join("theirs.txt"));
    let options = RecalibrationOptions {
        indel_tables: true,
        baq_gap_open_penalty: Some(40.0),
        ..RecalibrationOptions::default()
    };
    let ours = count(&Bam::read(&reads.bam), &reads.fasta, &reads.sites, &options);
    let ours = report::write(&ours);
    assert_reports_equal_but_for_ties(&ours, &theirs);
    // The last number is a sum of errors, which may differ by as much: an observation more.
    let (observations, errors) = ours.rsplit_once(' ').unwrap();
    let changed = format!("{} {errors}", changed_number(observations).unwrap());
    is_seen("a number of a table", || assert_reports_equal_but_for_ties(&changed, &theirs));
}

#[test]
fn hard_reads_are_recalibrated() {
    let Some(gatk) = Gatk::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let Some(reads) = HardReads::write(folder.path(), 2, reads(), Kind::Any) else { return };
    let report = folder.path().join("theirs.txt");
    gatk_report(&gatk, &reads, &[], &report);
    compare(&gatk, &ways_to_apply(), &reads.bam, &report, folder.path());
}

#[test]
fn slow_reads_whose_group_is_not_in_the_table() {
    let Some(gatk) = Gatk::find().filter(|_| slow_tests()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let Some(reads) = HardReads::write(folder.path(), 4, 5_000, Kind::Any) else { return };
    let report = folder.path().join("theirs.txt");
    let filter =
        ["--read-filter", "ReadGroupBlackListReadFilter", "--read-group-black-list", "PU:4"];
    gatk_report(&gatk, &reads, &filter, &report);
    let allowed = ApplyOptions { allow_missing_read_group: true, ..ApplyOptions::default() };
    let fixed = ApplyOptions { static_quantized: vec![10, 20, 30], ..allowed.clone() };
    let dynamic =
        ApplyOptions { quantize_levels: DynamicQuantization::AsReported, ..allowed.clone() };
    let allow = "--allow-missing-read-group";
    let levels = "--static-quantized-quals";
    let ways = [
        (vec![allow], allowed),
        (vec![allow, levels, "10", levels, "20", levels, "30"], fixed),
        (vec![allow, "--quantize-quals", "-1"], dynamic),
    ];
    compare(&gatk, &ways, &reads.bam, &report, folder.path());
}
