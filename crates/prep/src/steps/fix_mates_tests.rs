//! Tables for mates. samtools itself judges in `tests/steps`.

use super::super::StepOptions;
use super::super::test_bodies::{apply, framed, header};
use super::*;

fn fixed(options: FixMatesOptions, records: &[&str]) -> Vec<String> {
    let options = StepOptions { fix_mates: Some(options), ..StepOptions::default() };
    let steps = options.build(&header()).unwrap();
    assert!(steps.needs_templates());
    apply(&steps, records).0
}

#[test]
fn mates_learn_of_each_other() {
    let lines = fixed(
        FixMatesOptions::default(),
        &[
            "r 67 c 11 60 4M * 0 0 ACGT IIII MQ:i:1 X0:i:1 ms:i:1",
            "r 2113 d 11 60 2H4M * 0 0 ACGT IIII",
            "r 147 c 51 50 2S2M * 0 0 ACGT 0+IJ",
            "r 321 d 11 60 4M * 0 0 ACGT IIII",
        ],
    );
    let expected = [
        "r 99 c 11 60 4M = 51 42 ACGT IIII X0:i:1 MQ:i:50 MC:Z:2S2M ms:i:96",
        "r 2145 d 11 60 2H4M c 51 0 ACGT IIII MQ:i:50 MC:Z:2S2M",
        "r 147 c 51 50 2S2M = 11 -42 ACGT 0+IJ MQ:i:60 MC:Z:4M ms:i:160",
        "r 321 d 11 60 4M * 0 0 ACGT IIII",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn an_unmapped_mate_takes_the_place_of_the_mapped_one() {
    let options = FixMatesOptions { mate_score: false, ..Default::default() };
    let read = "r 81 c 20000 60 4M * 0 7 ACGT IIII";
    let lines = fixed(options, &["r 133 * 0 0 * * 0 9 ACGT IIII", &read.replace("20000", "900")]);
    let expected = [
        "r 165 c 900 0 * = 900 0 ACGT IIII MQ:i:60 MC:Z:4M",
        "r 89 c 900 60 4M = 900 0 ACGT IIII MC:Z:*",
    ];
    assert_eq!(lines, expected);
    // A read past the end of its reference is clipped.
    let lines = fixed(options, &["r 65 c 998 60 4M * 0 0 ACGT IIII", "r 129 d 5 60 4M * 0 0 A I"]);
    let expected = [
        "r 65 c 998 60 3M1S d 5 0 ACGT IIII MQ:i:60 MC:Z:4M",
        "r 129 d 5 60 4M c 998 0 A I MQ:i:60 MC:Z:3M1S",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn only_pairs_that_face_each_other_stay_proper() {
    fn t(first: (u16, u32), second: (u16, u32), proper: bool) {
        let line = |(flags, position), bit: u16| {
            format!("r {} c {position} 60 4M * 0 0 ACGT IIII", flags | bit | 3)
        };
        let lines = [line(first, 0x40), line(second, 0x80)];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        for (check, expected) in [(true, proper), (false, true)] {
            let options = FixMatesOptions { proper_pair_check: check, ..Default::default() };
            for line in fixed(options, &lines) {
                let flags: u16 = line.split(' ').nth(1).unwrap().parse().unwrap();
                assert_eq!(flags & 2 != 0, expected, "{line}");
            }
        }
    }
    t((0, 10), (16, 50), true);
    t((16, 10), (0, 50), false);
    t((0, 10), (0, 50), false);
    t((16, 10), (16, 50), false);
    t((0, 50), (16, 47), true); // the reverse one's 5' end is not left of the other
    t((0, 50), (16, 46), true);
    t((0, 50), (16, 45), false);
}

#[test]
fn whoever_has_no_mate_says_so() {
    let options = FixMatesOptions::default();
    let lines = fixed(options, &["r 107 c 10 60 4M d 50 9 ACGT IIII MC:Z:4M"]);
    assert_eq!(lines, ["r 73 c 10 60 4M * 0 0 ACGT IIII MC:Z:4M"]);
    let lines = fixed(options, &["r 133 c 10 0 * c 10 0 ACGT IIII"]);
    assert_eq!(lines, ["r 133 c 10 0 * * 0 0 ACGT IIII"]);
    // The first read of a name is the mate of the third, too.
    let three =
        ["r 65 c 10 60 4M * 0 0 A I", "r 129 c 10 60 4M * 0 0 A I", "r 65 d 1 1 1M * 0 0 A I"];
    let third = "r 65 d 1 1 1M c 10 0 A I MQ:i:60 MC:Z:4M ms:i:40";
    assert_eq!(fixed(options, &three)[2], third);
    assert_eq!(fixed(options, &["r 321 c 10 60 4M * 0 0 A I"]).len(), 1);
}

#[test]
fn supplementary_records_learn_of_the_mate_of_their_read() {
    let options = FixMatesOptions { mate_score: false, ..Default::default() };
    let records = [
        "r 99 c 100 60 4M = 1 7 ACGT IIII",
        "r 147 c 200 50 4M * 0 0 ACGT IIII",
        "r 2115 d 30 40 2M2S d 7 99 ACGT IIII MC:Z:3M MQ:i:3",
        // Not paired, secondary; secondary and supplementary.
        "r 2176 d 30 40 2M2S d 7 99 ACGT IIII",
        "r 321 c 600 0 4M d 9 55 ACGT IIII",
        "r 2369 c 600 0 4M d 9 55 ACGT IIII",
    ];
    let expected = [
        "r 2147 d 30 40 2M2S c 200 99 ACGT IIII MQ:i:50 MC:Z:4M",
        "r 2176 d 30 40 2M2S = 7 99 ACGT IIII",
        "r 321 c 600 0 4M d 9 55 ACGT IIII",
        "r 2401 c 600 0 4M = 200 55 ACGT IIII MQ:i:50 MC:Z:4M",
    ];
    assert_eq!(fixed(options, &records)[2..], expected);
    // A single read is the mate of supplementary records of the other.
    let single = ["r 64 c 100 60 4M = 1 7 A I", records[2], "r 2179 d 30 40 2M2S d 7 99 A I"];
    let expected = [
        "r 64 c 100 60 4M * 0 0 A I",
        records[2],
        "r 2179 d 30 40 2M2S c 100 99 A I MQ:i:60 MC:Z:4M",
    ];
    assert_eq!(
        fixed(options, &single),
        expected.map(|it| it.replace(" d 7 99 ACGT", " = 7 99 ACGT"))
    );
}

#[test]
fn records_are_sanitized_first() {
    let options = FixMatesOptions { mate_score: false, ..Default::default() };
    let lines = fixed(
        options,
        &[
            "r 99 c 850 60 2M2M = 1 7 ACGT IIII NM:i:1",
            "r 147 c 1001 50 4M * 0 0 ACGT IIII NM:i:0 XX:i:1 MD:Z:4 SM:i:3",
            "r 2113 c 998 60 2M4N2M * 0 0 ACGT IIII",
        ],
    );
    let expected = [
        "r 105 c 850 60 4M = 850 0 ACGT IIII NM:i:1 MC:Z:*",
        "r 149 c 850 0 * = 850 0 ACGT IIII XX:i:1 MQ:i:60 MC:Z:4M",
        "r 2153 c 998 60 2M1N2S = 850 0 ACGT IIII MC:Z:*",
    ];
    assert_eq!(lines, expected);
    let lines = fixed(options, &["q 77 * 0 9 4M * 0 0 ACGT IIII NM:i:1"]);
    assert_eq!(lines, ["q 77 * 0 0 * * 0 0 ACGT IIII"]);
}

#[test]
fn unmapped_and_secondary_records_can_be_removed() {
    let options =
        FixMatesOptions { remove_unmapped: true, mate_score: false, ..Default::default() };
    let lines = fixed(
        options,
        &[
            "r 99 c 10 60 4M = 10 0 ACGT IIII",
            "r 133 c 10 0 * = 10 0 ACGT IIII",
            "r 355 c 10 60 4M = 10 0 ACGT IIII",
            "r 2147 c 10 60 4M = 10 0 ACGT IIII",
        ],
    );
    let expected =
        ["r 73 c 10 60 4M = 10 0 ACGT IIII MC:Z:*", "r 2123 c 10 60 4M = 10 0 ACGT IIII MC:Z:*"];
    assert_eq!(lines, expected);
    assert_eq!(fixed(options, &["r 4 * 0 0 * * 0 0 A I"]), [""; 0]);
    assert_eq!(fixed(options, &["r 0 c 1 0 1M * 0 0 A I"]).len(), 1);
}

#[test]
fn the_template_cigar_is_on_the_leftmost_mate() {
    let options = FixMatesOptions { template_cigar: true, mate_score: false, ..Default::default() };
    let lines = fixed(
        options,
        &["r 65 c 50 60 2S2M * 0 0 ACGT IIII ct:Z:x", "r 145 c 11 50 4M * 0 0 ACGT IIII ct:Z:y"],
    );
    assert!(lines[0].ends_with("IIII MQ:i:50 MC:Z:4M"), "{}", lines[0]);
    assert!(lines[1].ends_with("IIII MQ:i:60 MC:Z:2S2M ct:Z:2R4M35T1F2S2M"), "{}", lines[1]);
}

#[test]
fn an_unknown_reference_is_an_error() {
    let short = Header::parse(b"@SQ\tSN:c\tLN:1000\n").unwrap();
    let fix_mates = Some(FixMatesOptions::default());
    let steps = StepOptions { fix_mates, ..StepOptions::default() }.build(&short).unwrap();
    let input = framed(&["r 0 d 5 60 4M * 0 0 ACGT IIII"]);
    let (mut scratch, mut counts) = Default::default();
    let error = steps.apply(&input, &mut Vec::new(), &mut scratch, &mut counts).unwrap_err();
    let expected = "read r: step fix-mates: record refers to reference 1";
    assert!(error.to_string().starts_with(expected), "{error}");
}

#[test]
fn numbers_are_written_in_decimal() {
    for number in [0, 7, -7, 10, -100, 268_435_455, i64::MAX, i64::MIN] {
        let mut text = b"x".to_vec();
        append_number(number, &mut text);
        assert_eq!(String::from_utf8(text).unwrap(), format!("x{number}"));
    }
}
