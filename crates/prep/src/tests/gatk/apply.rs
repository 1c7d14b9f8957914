//! Records that GATK recalibrated with a table at hand.

use std::path::Path;

use seqloom_format::bam::RecordRef;
use seqloom_testkit::gatk::Gatk;
use seqloom_testkit::planted::is_seen;
use seqloom_testkit::referees::compared;
use seqloom_testkit::skip::slow_tests;

use super::common::{
    Bam, apply, assert_records_equal, assert_reports_equal, count, data, table, text,
};
use crate::recalibrate::{ApplyOptions, DynamicQuantization, RecalibrationOptions, report};

/// The expected records of chromosome 17, made with the expected table that travels with them;
/// and the table of these records.
#[test]
fn expected_records_of_chr17() {
    let Some(bam) = data("NA12878.chr17_69k_70k.dictFix.bam") else { return };
    let table = table(&bam.with_file_name("expected.NA12878.chr17_69k_70k.txt"));
    let mut reads = Bam::read(&bam);
    reads.bodies = apply(&reads, &table, &ApplyOptions::default());
    let expected = "expected.NA12878.chr17_69k_70k.dictFix.recalibrated.DIQ.bam";
    assert_records_equal(&reads.bodies, &Bam::read(&bam.with_file_name(expected)).bodies);

    let options = RecalibrationOptions {
        indel_tables: true,
        baq_gap_open_penalty: Some(40.0),
        ..RecalibrationOptions::default()
    };
    let fasta = bam.parent().unwrap().join("../../../../../human_g1k_v37.chr17_1Mb.fasta");
    let sites = "dbsnp_132.b37.excluding_sites_after_129.chr17_69k_70k.vcf";
    let again = count(&reads, &fasta, &[bam.with_file_name(sites)], &options);
    let expected = bam.with_file_name("expected.NA12878.chr17_69k_70k.postRecalibrated.txt");
    assert_reports_equal(&report::write(&again), &text(&expected));
}

/// A way to apply a table: GATK's arguments, and ours.
pub(crate) type Way = (Vec<&'static str>, ApplyOptions);

/// Ways to apply a table; only the first two in the short run.
pub(crate) fn ways_to_apply() -> Vec<Way> {
    let default = ApplyOptions::default;
    let fixed = |levels: &[u8]| ApplyOptions { static_quantized: levels.to_vec(), ..default() };
    let dynamic = |quantize_levels| ApplyOptions { quantize_levels, ..default() };
    let sqq = |levels: &[&'static str]| -> Vec<&'static str> {
        levels.iter().flat_map(|level| ["--static-quantized-quals", level]).collect()
    };
    let mut rounded_down = sqq(&["10", "20", "30"]);
    rounded_down.push("--round-down-quantized");
    let mut preserving = sqq(&["20", "30"]);
    preserving.extend(["--preserve-qscores-less-than", "10"]);
    let mut ways = vec![
        (vec![], default()),
        (sqq(&["10", "20", "30"]), fixed(&[10, 20, 30])),
        (vec!["--emit-original-quals"], ApplyOptions { emit_original: true, ..default() }),
        (vec!["--use-original-qualities"], ApplyOptions { use_original: true, ..default() }),
        (sqq(&["40", "30", "10", "20"]), fixed(&[10, 20, 30, 40])),
        (sqq(&["25"]), fixed(&[25])),
        (rounded_down, ApplyOptions { round_down: true, ..fixed(&[10, 20, 30]) }),
        (vec!["--quantize-quals", "-1"], dynamic(DynamicQuantization::AsReported)),
        (vec!["--quantize-quals", "6"], dynamic(DynamicQuantization::Levels(6))),
        (
            vec!["--global-qscore-prior", "20"],
            ApplyOptions { global_prior: Some(20.0), ..default() },
        ),
        (preserving, ApplyOptions { preserve_below: 10, ..fixed(&[20, 30]) }),
    ];
    ways.truncate(if slow_tests() { ways.len() } else { 2 });
    ways
}

/// Applies a table in some ways, GATK against ours.
pub(crate) fn compare(gatk: &Gatk, ways: &[Way], bam: &Path, report: &Path, folder: &Path) {
    let (reads, table) = (Bam::read(bam), table(report));
    for (arguments, options) in ways {
        let out = folder.join("applied.bam");
        let mut all = vec!["-I".into(), bam.as_os_str().to_owned()];
        all.extend(["-bqsr".into(), report.as_os_str().to_owned()]);
        all.extend(["-O".into(), out.as_os_str().to_owned()]);
        all.extend(arguments.iter().map(Into::into));
        gatk.run("ApplyBQSR", all).unwrap();
        println!("{arguments:?}");
        let (mut ours, theirs) = (apply(&reads, &table, options), Bam::read(&out).bodies);
        assert_records_equal(&ours, &theirs);
        // A comparison that never fails may be blind.
        let last_quality = |body: &Vec<u8>| {
            let record = RecordRef::new(body).unwrap();
            (record.base_count() > 0).then(|| record.aux_start() - 1)
        };
        let at = ours.iter().position(|body| last_quality(body).is_some()).unwrap();
        let quality = last_quality(&ours[at]).unwrap();
        ours[at][quality] ^= 1;
        is_seen("a quality", || assert_records_equal(&ours, &theirs));
        compared(&gatk.name(), reads.bodies.len());
    }
}

/// Real reads with the tables of their flow cell that GATK's own tests use, live.
#[test]
fn real_reads_are_recalibrated() {
    let Some(gatk) = Gatk::find() else { return };
    let Some(bam) = data("HiSeq.1mb.1RG.2k_lines.alternate.bam") else { return };
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report.txt");
    std::fs::write(&report, text(&bam.with_file_name("HiSeq.1mb.1RG.highMaxCycle.table.gz")))
        .unwrap();
    compare(&gatk, &ways_to_apply(), &bam, &report, folder.path());
}
