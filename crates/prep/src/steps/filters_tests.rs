//! Tables from the descriptions of elPrep's filters and of `samtools view`.

use super::super::StepOptions;
use super::super::test_bodies::{apply, header};
use super::*;

/// Whether a record, given as SAM text, is kept.
fn keeps(options: StepOptions, line: &str) -> bool {
    let (lines, counts) = apply(&options.build(&header()).unwrap(), &[line]);
    assert_eq!(lines.len() as u64 + counts.dropped[0], 1);
    assert!(lines.iter().all(|it| it == line), "{lines:?}");
    lines.len() == 1
}

#[test]
fn unmapped_reads() {
    fn t(line: &str, plain: bool, strict: bool) {
        for (strictness, expected) in [(Strictness::Plain, plain), (Strictness::Strict, strict)] {
            let filter_unmapped = Some(strictness);
            let options = StepOptions { filter_unmapped, ..StepOptions::default() };
            assert_eq!(keeps(options, line), expected, "{strictness:?} {line}");
        }
    }
    t("r 0 c 5 60 4M * 0 0 ACGT IIII", true, true);
    t("r 16 c 1 0 * * 0 0 ACGT IIII", true, true);
    t("r 4 * 0 0 * * 0 0 ACGT IIII", false, false);
    t("r 4 c 5 0 * * 0 0 ACGT IIII", false, false);
    t("r 0 c 0 0 4M * 0 0 ACGT IIII", true, false);
    t("r 0 * 5 0 4M * 0 0 ACGT IIII", true, false);
    t("r 73 c 5 0 4M = 5 0 ACGT IIII", true, true);
}

#[test]
fn flags_and_mapping_quality() {
    fn t(flags: u16, required: u16, excluded: u16, kept: bool) {
        let (require_flags, exclude_flags) = (required, excluded);
        let options = StepOptions { require_flags, exclude_flags, ..StepOptions::default() };
        let line = format!("r {flags} c 5 60 4M * 0 0 ACGT IIII");
        assert_eq!(keeps(options, &line), kept, "{line} {required} {excluded}");
    }
    t(0x63, 0x3, 0, true);
    t(0x61, 0x3, 0, false);
    t(0x61, 0, 0x2, true);
    t(0x63, 0, 0x902, false);
    t(0x400, 0, 0x400, false);
    t(0x63, 0x1, 0x4, true);
    for (bound, kept) in [(60, true), (61, false), (1, true)] {
        let options = StepOptions { min_mapping_quality: bound, ..StepOptions::default() };
        assert_eq!(keeps(options, "r 4 * 0 60 * * 0 0 ACGT IIII"), kept, "{bound}");
    }
}

#[test]
fn exact_matches() {
    fn t(strictness: Strictness, cigar: &str, tags: &str, kept: bool) {
        let bases = if cigar == "*" { "* *" } else { "ACGTA IIIII" };
        let line = format!("r 0 c 5 60 {cigar} * 0 0 {bases}{tags}");
        let options = StepOptions { exact_match: Some(strictness), ..StepOptions::default() };
        assert_eq!(keeps(options, &line), kept, "{line}");
    }
    let all = " X0:i:1 X1:i:0 XM:i:0 XO:i:0 XG:i:0";
    let plain = Strictness::Plain;
    for kept in ["5M", "2S3M", "2S1M2S", "*"] {
        t(plain, kept, "", true);
    }
    for dropped in ["2M1I2M", "2M1D3M", "2M1N3M", "1H5M", "2M1P3M", "5=", "4=1X"] {
        t(plain, dropped, all, false);
    }
    let strict = Strictness::Strict;
    t(strict, "5M", all, true);
    t(strict, "2M1I2M", all, true);
    t(strict, "5M", "", false);
    for (right, wrong) in [
        ("X0:i:1", "X0:i:2"),
        ("X1:i:0", "X1:i:1"),
        ("XM:i:0", "XM:i:1"),
        ("XO:i:0", "XO:i:1"),
        ("XG:i:0", "XG:i:1"),
        ("XG:i:0", "XG:Z:0"),
        (" XM:i:0", ""),
    ] {
        t(strict, "5M", &all.replace(right, wrong), false);
    }
}

#[test]
fn regions() {
    fn t(line: &str, kept: bool) {
        let regions = Some(BedIntervals::parse(b"c\t10\t20\nc\t50\t51\nx\t0\t9\n").unwrap());
        let options = StepOptions { regions, ..StepOptions::default() };
        assert_eq!(keeps(options, line), kept, "{line}");
    }
    t("r 0 c 11 60 4M * 0 0 ACGT IIII", true);
    t("r 0 c 7 60 4M * 0 0 ACGT IIII", false);
    t("r 0 c 8 60 4M * 0 0 ACGT IIII", true);
    t("r 0 c 20 60 4M * 0 0 ACGT IIII", true);
    t("r 0 c 21 60 4M * 0 0 ACGT IIII", false);
    // Deletions and introns count, clips do not; an interval may be within.
    t("r 0 c 40 60 2M20N2M * 0 0 ACGT IIII", true);
    t("r 0 c 47 60 2M4S * 0 0 ACGTAA IIIIII", false);
    t("r 0 d 11 60 4M * 0 0 ACGT IIII", false);
    t("r 4 * 0 0 * * 0 0 ACGT IIII", false);
    // An unmapped read is one base at its mate's place.
    t("r 133 c 11 0 * = 11 0 ACGT IIII", true);
    t("r 133 c 10 0 * = 10 0 ACGT IIII", false);
}

#[test]
fn regions_of_another_reference_are_refused() {
    let regions = BedIntervals::parse(b"chr1\t10\t20\n").unwrap();
    let error = FilterRegions::new(&regions, &header()).unwrap_err();
    let expected = "the first is on \"chr1\", and the header has \"c\", \"d\"";
    assert!(error.to_string().contains(expected), "{error}");
    // No interval at all keeps nothing.
    let filter = FilterRegions::new(&BedIntervals::default(), &header()).unwrap();
    let mut body = super::super::test_bodies::body("r 0 c 11 60 4M * 0 0 ACGT IIII");
    let verdict = filter.apply(&mut body, &mut StepScratch::default()).unwrap();
    assert_eq!(verdict, Verdict::Drop);
}

#[test]
fn filters_are_applied_in_elpreps_order() {
    let options = StepOptions {
        filter_unmapped: Some(Strictness::Plain),
        exclude_flags: 0x400,
        min_mapping_quality: 10,
        exact_match: Some(Strictness::Plain),
        regions: Some(BedIntervals::parse(b"c\t10\t20\n").unwrap()),
        ..StepOptions::default()
    };
    let (_, counts) = apply(
        &options.build(&header()).unwrap(),
        &[
            "a 1028 d 5 0 * * 0 0 ACGT IIII",
            "b 1024 d 5 0 2M1I1M * 0 0 ACGT IIII",
            "c 0 d 5 0 2M1I1M * 0 0 ACGT IIII",
            "d 0 d 5 60 2M1I1M * 0 0 ACGT IIII",
            "e 0 d 5 60 4M * 0 0 ACGT IIII",
            "f 0 c 15 60 4M * 0 0 ACGT IIII",
        ],
    );
    assert_eq!(counts.dropped, [1, 1, 1, 1, 1]);
    assert_eq!((counts.examined, counts.kept), (6, 1));
}
