//! Tests of the dictionary step.

use super::super::StepOptions;
use super::super::test_bodies::{apply, header};
use super::*;

fn options(dictionary: &str) -> StepOptions {
    let dictionary = Header::parse(dictionary.as_bytes()).unwrap();
    StepOptions { reference_dictionary: Some(dictionary), ..StepOptions::default() }
}

const NEW: &str = "@HD\tVN:1.5\tSO:unsorted\n@SQ\tSN:e\tLN:40\tM5:abc\n\
                   @SQ\tSN:x\tLN:7\n@SQ\tSN:c\tLN:1000\n@CO\tnot taken over\n";

#[test]
fn the_header_takes_over_sequence_lines_only() {
    let steps = options(NEW).build(&header()).unwrap();
    let mut changed = header();
    steps.prepare_header(&mut changed).unwrap();
    let expected = "@HD\tVN:1.6\tSO:unknown\n@SQ\tSN:e\tLN:40\tM5:abc\n@SQ\tSN:x\tLN:7\n\
        @SQ\tSN:c\tLN:1000\n@RG\tID:a\tSM:x\n@RG\tID:b\tSM:y\n@PG\tID:p\n";
    assert_eq!(String::from_utf8(changed.text()).unwrap(), expected);
    // Without @HD the lines come first.
    let mut bare = Header::parse(b"@SQ\tSN:c\tLN:1000\n@PG\tID:p\n").unwrap();
    steps.prepare_header(&mut bare).unwrap();
    assert!(bare.text().starts_with(b"@SQ\tSN:e\tLN:40\tM5:abc\n"));
}

#[test]
fn the_sort_order_stays_where_it_can() {
    fn t(dictionary: &str, order: &str, expected: &str) {
        let mut header = header();
        header.set_sort_order(order, None);
        let steps = options(dictionary).build(&header).unwrap();
        steps.prepare_header(&mut header).unwrap();
        assert_eq!(header.sort_order(), Some(expected.as_bytes()), "{dictionary}");
    }
    t("@SQ\tSN:c\tLN:1000\n@SQ\tSN:e\tLN:40\n", "coordinate", "coordinate");
    t("@SQ\tSN:z\tLN:9\n@SQ\tSN:d\tLN:500\n@SQ\tSN:e\tLN:40\n", "coordinate", "coordinate");
    t(NEW, "coordinate", "unknown");
    t(NEW, "queryname", "queryname");
}

#[test]
fn records_follow_their_reference_or_go() {
    let steps = options(NEW).build(&header()).unwrap();
    let (lines, counts) = apply(
        &steps,
        &[
            "p 99 c 10 60 4M = 50 44 ACGT IIII MC:Z:4M MQ:i:60",
            "q 99 c 20 60 4M d 50 77 ACGT IIII MC:Z:4M SA:Z:d,5,+,4M,60,0; MQ:i:60",
            "s 33 e 5 60 4M c 40 0 ACGT IIII MC:Z:4M",
            "d 0 d 5 60 4M * 0 0 ACGT IIII",
            "u 133 d 5 0 * = 5 0 ACGT IIII",
            "z 77 * 0 0 * * 0 0 ACGT IIII",
            "y 69 * 0 0 * d 5 0 ACGT IIII",
        ],
    );
    let expected = [
        "p 99 c 10 60 4M = 50 44 ACGT IIII MC:Z:4M MQ:i:60",
        "q 105 c 20 60 4M * 0 0 ACGT IIII SA:Z:d,5,+,4M,60,0;",
        "s 33 e 5 60 4M c 40 0 ACGT IIII MC:Z:4M",
        "z 77 * 0 0 * * 0 0 ACGT IIII",
        "y 77 * 0 0 * * 0 0 ACGT IIII",
    ];
    assert_eq!(lines, expected);
    assert_eq!(counts.dropped, [2]);
}

#[test]
fn another_length_is_another_reference() {
    let dictionary = Header::parse(b"@SQ\tSN:d\tLN:501\n").unwrap();
    let error = ReplaceDictionary::new(&header(), &dictionary).unwrap_err().to_string();
    assert_eq!(error, "reference d has 500 bp in the input and 501 bp in the new dictionary");
}

#[test]
fn a_reference_that_the_header_does_not_have_is_an_error() {
    let steps = options(NEW).build(&Header::parse(b"@SQ\tSN:c\tLN:1000\n").unwrap()).unwrap();
    let framed = super::super::test_bodies::framed(&["r 0 d 5 60 4M * 0 0 ACGT IIII"]);
    let (mut scratch, mut counts) = Default::default();
    let error = steps.apply(&framed, &mut Vec::new(), &mut scratch, &mut counts).unwrap_err();
    let expected = "read r: step reference-dictionary: record refers to reference 1";
    assert!(error.to_string().starts_with(expected), "{error}");
}
