//! Expected tables that travel with GATK's test data. GATK made them with base alignment quality
//! and tables of indels switched on; 4.6.2 with these switches writes the same bytes.

use std::path::PathBuf;

use super::common::{Bam, assert_reports_equal, count, data, text};
use crate::recalibrate::{RecalibrationOptions, report};

/// The switches that the expected tables were made with.
fn switches() -> RecalibrationOptions {
    RecalibrationOptions {
        indel_tables: true,
        baq_gap_open_penalty: Some(40.0),
        ..RecalibrationOptions::default()
    }
}

const SITES: &str = "dbsnp_132.b37.excluding_sites_after_129.chr17_69k_70k.vcf";

/// Compares the table of the reads of chromosome 17.
fn chr17(sites: &[&str], options: &RecalibrationOptions, expected: &str) {
    let Some(bam) = data("NA12878.chr17_69k_70k.dictFix.bam") else { return };
    let fasta = bam.parent().unwrap().join("../../../../../human_g1k_v37.chr17_1Mb.fasta");
    let sites: Vec<PathBuf> = sites.iter().map(|name| bam.with_file_name(name)).collect();
    let table = count(&Bam::read(&bam), &fasta, &sites, options);
    assert_reports_equal(&report::write(&table), &text(&bam.with_file_name(expected)));
}

#[test]
fn default_table() {
    chr17(&[SITES], &switches(), "expected.NA12878.chr17_69k_70k.txt");
}

#[test]
fn two_files_of_known_sites() {
    let sites = [SITES, "bqsr.fakeSitesForTesting.b37.chr17.vcf"];
    chr17(&sites, &switches(), "expected.NA12878.chr17_69k_70k.2inputs.txt");
}

#[test]
fn low_quality_tail() {
    let options = RecalibrationOptions { low_quality_tail: 5, ..switches() };
    chr17(&[SITES], &options, "expected.NA12878.chr17_69k_70k.low_quality_tail5.txt");
}

#[test]
fn quantizing_levels() {
    let options = RecalibrationOptions { quantizing_levels: 6, ..switches() };
    chr17(&[SITES], &options, "expected.NA12878.chr17_69k_70k.quantizing_levels6.txt");
}

#[test]
fn contexts_of_mismatches() {
    let options = RecalibrationOptions { mismatches_context_bases: 4, ..switches() };
    chr17(&[SITES], &options, "expected.NA12878.chr17_69k_70k.mismatches_context_size4.txt");
}

#[test]
fn contexts_of_indels() {
    let options = RecalibrationOptions { indels_context_bases: 4, ..switches() };
    chr17(&[SITES], &options, "expected.NA12878.chr17_69k_70k.indels_context_size4.txt");
}

#[test]
fn original_qualities() {
    let Some(bam) = data("originalQuals.1kg.chr1.1-1K.1RG.dictFix.bam") else { return };
    let options = RecalibrationOptions { use_original_qualities: true, ..switches() };
    let sites = [bam.with_file_name("dbsnp_132.b36.excluding_sites_after_129.chr1_1k.vcf")];
    let fasta = bam.with_file_name("human_b36_both.chr1_1k.fasta");
    let table = count(&Bam::read(&bam), &fasta, &sites, &options);
    let expected = bam.with_file_name("expected.originalQuals.1kg.chr1.1-1K.1RG.dictFix.OQ.txt");
    assert_reports_equal(&report::write(&table), &text(&expected));
}

/// Every report of GATK's tests is read; those of this version are written back as they were.
#[test]
fn reports_are_read_and_written_back() {
    let Some(bam) = data("NA12878.chr17_69k_70k.dictFix.bam") else { return };
    let more = bam.parent().unwrap().join("../../utils/recalibration");
    let (mut same, mut read) = (0, 0);
    for folder in [bam.parent().unwrap(), &more] {
        for path in std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()) {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if ![".txt", ".table", ".tbl"]
                .iter()
                .any(|it| name.trim_end_matches(".gz").ends_with(it))
            {
                continue;
            }
            let text = text(&path);
            let parsed = report::parse(text.as_bytes());
            if name == "HiSeq.1mb.1RG.lowMaxCycle.table.gz" {
                // It has cycles above the largest that it states.
                assert!(parsed.unwrap_err().to_string().contains("not a good value of Cycle"));
                continue;
            }
            let table = parsed.unwrap_or_else(|error| panic!("{name}: {error}"));
            let again = report::write(&table);
            assert_eq!(report::parse(again.as_bytes()).unwrap(), table, "{name}");
            read += 1;
            // GATK 3 had other empirical qualities; gathered reports had more digits than shown.
            if name.starts_with("expected") || name.starts_with("gatk4_chr") {
                assert_reports_equal(&again, &text);
                same += 1;
            }
        }
    }
    assert_eq!((read, same), (27, 12));
}
