//! Random hard reads: both passes of GATK 4.6.2 beside ours.

use std::ffi::OsString;
use std::path::Path;

use seqloom_prep::recalibrate::{RecalibrationOptions, report};
use seqloom_testkit::gatk::Gatk;

use crate::apply::compare_all_ways;
use crate::common::{Bam, assert_reports_equal, count, text};
use crate::hard_reads::HardReads;

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

#[test]
fn hard_reads_are_counted_in_all_ways() {
    let Some(gatk) = Gatk::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let Some(reads) = HardReads::write(folder.path(), 1, 30_000) else { return };
    let bam = Bam::read(&reads.bam);
    for (arguments, options) in ways() {
        println!("{arguments:?}");
        let theirs = gatk_report(&gatk, &reads, &arguments, &folder.path().join("theirs.txt"));
        let ours = report::write(&count(&bam, &reads.fasta, &reads.sites, &options));
        assert_reports_equal(&ours, &theirs);
    }
}

#[test]
fn hard_reads_are_recalibrated_in_all_ways() {
    let Some(gatk) = Gatk::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let Some(reads) = HardReads::write(folder.path(), 2, 30_000) else { return };
    let report = folder.path().join("theirs.txt");
    gatk_report(&gatk, &reads, &[], &report);
    compare_all_ways(&gatk, &reads.bam, &report, folder.path());
}
