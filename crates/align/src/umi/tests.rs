//! UMIs of names, comments and bases, and those that are none.

use seqloom_format::fastq::{Grammar, ParseOptions, TextRange, parse};

use super::*;

fn block(text: &str, grammar: Grammar) -> ReadBlock {
    let mut block = ReadBlock { bytes: text.into(), ..ReadBlock::default() };
    let range = TextRange { from: 0, limit: block.bytes.len(), at_eof: true };
    parse(grammar, &mut block, range, ParseOptions::default());
    block
}

/// The tags of a pair, or of a read.
fn tags(source: &str, first: &str, second: Option<&str>) -> Result<String, UmiError> {
    let blocks = [Some(first), second];
    let blocks = blocks.map(|text| text.map(|text| block(text, Grammar::FourLine)));
    let rules = UmiRules { source: source.parse().unwrap(), letters: None };
    let mut tags = UmiTags::default();
    let [Some(first), second] = &blocks else { panic!("a read is always there") };
    tags.push(((first, 0), second.as_ref().map(|block| (block, 0))), &rules)?;
    Ok(String::from_utf8(tags.of(0).to_vec()).unwrap())
}

fn of_header(source: &str, header: &str) -> Option<String> {
    let found = tags(source, &format!("@{header}\nA\n+\nI\n"), None).ok()?;
    Some(found.strip_prefix("RXZ").unwrap().trim_end_matches('\0').to_owned())
}

#[test]
fn names_have_umis_where_tools_put_them() {
    let t = |name: &str, expected: Option<&str>| {
        assert_eq!(of_header("name", name).as_deref(), expected, "{name}");
        assert_eq!(of_header("name", &format!("{name}/1 x")).as_deref(), expected, "{name}");
    };
    t("I:1:F:1:1101:5:6:ACGT", Some("ACGT"));
    t("I:1:F:1:1101:5:6:ACGT+GGN", Some("ACGT-GGN"));
    t("I:1:F:1:1101:5:6:acg_ggt", Some("ACG-GGT"));
    t("I:1:F:1:1101:5:6_ACGT", Some("ACGT"));
    t("I:1:F:1:1101:5:6_CELL_ACGT", Some("ACGT"));
    t("read_7_ACGT", Some("ACGT"));
    t("SRR1.7:AC", Some("AC"));
    for nothing in [
        "read",
        "I:1:F:1:1101:5:6",
        "I:1:F:1:1101:5:6:",
        "I:1:F:1:1101:5:6:rACGT",
        "I:1:F:1:1101:5:6:UMI_ACGT",
        "I:1:F:1:1101:5:6:ACGT+",
        "I:1:F:1:1101:5:6:+ACGT",
        "I:1:F:1:1101:5:6:AC++GT",
        "read_",
        "read_AXC",
    ] {
        t(nothing, None);
    }
}

#[test]
fn comments_have_umis_in_a_field_of_their_first_word() {
    let t = |source: &str, header: &str, expected: Option<&str>| {
        assert_eq!(of_header(source, header).as_deref(), expected, "{source} {header}");
    };
    t("comment", "r ACGT", Some("ACGT"));
    t("comment", "r/1\tACGT x", Some("ACGT"));
    t("comment", "r 1:N:0:AC+GT", Some("AC-GT"));
    t("comment", "r RX:Z:ACGT\tBC:Z:G", Some("ACGT"));
    t("comment:2", "r 1:ACGT:N", Some("ACGT"));
    t("comment:1", "r ACGT", Some("ACGT"));
    t("comment:9", "r ACGT", None);
    t("comment", "r", None);
    t("comment", "r ", None);
    t("comment", "r 1:N:0:", None);
    t("comment", "r 1:N:0:7", None);
}

#[test]
fn mates_have_one_umi() {
    let mate = |comment: &str| format!("@r {comment}\nA\n+\nI\n");
    let both = |one: &str, two: &str| tags("comment", &mate(one), Some(&mate(two)));
    assert_eq!(both("AC", "ac").unwrap(), "RXZAC\0");
    assert_eq!(both("AC", "AG"), Err(UmiError::MatesDiffer("AC".into(), "AG".into())));
    assert_eq!(both("AC", ""), Err(UmiError::Missing("comment")));
    assert_eq!(both("", "AC"), Err(UmiError::Missing("comment")));
}

#[test]
fn bases_of_reads_are_umis_with_qualities() {
    let (one, two) = ("@r\nACGTACGT\n+\nabcdefgh\n", "@r\nttnnAA\n+\nIJKLMN\n");
    let t = |source: &str, second: Option<&str>, expected: &str| {
        assert_eq!(tags(source, one, second).unwrap(), expected, "{source}");
    };
    t("read1:3M+T", None, "RXZACG\0QXZabc\0");
    t("read1:3M1S+T", Some(two), "RXZACG\0QXZabc\0");
    t("read2:4M+T", Some(two), "RXZTTNN\0QXZIJKL\0");
    t("read1:3M+T,read2:4M+T", Some(two), "RXZACG-TTNN\0QXZabc IJKL\0");
    t("read1:1M1S1M+T", Some(two), "RXZA-G\0QXZa c\0");
    let short = tags("read1:9M+T", one, None);
    assert_eq!(short, Err(UmiError::Length { read: 1, bases: 8, needed: 9, is_open: true }));
    let long = tags("read1:+T,read2:2M3T", one, Some(two));
    assert_eq!(long, Err(UmiError::Length { read: 2, bases: 6, needed: 5, is_open: false }));
    let source: UmiSource = "read1:3M+T,read2:4M+T".parse().unwrap();
    assert_eq!(source.letters((&block(one, Grammar::FourLine), 0)), Ok(8));
    assert_eq!([source.template(0, 8), source.template(1, 6)], [3..8, 4..6]);
}

#[test]
fn fasta_has_no_qualities_of_umis() {
    let block = block(">r\nACGTA\n", Grammar::Fasta);
    let rules = UmiRules { source: "read1:2M+T".parse().unwrap(), letters: Some(2) };
    let mut tags = UmiTags::default();
    tags.push(((&block, 0), None), &rules).unwrap();
    tags.push(((&block, 0), None), &rules).unwrap();
    assert_eq!([tags.of(0), tags.of(1), tags.of(2)], [b"RXZAC\0", b"RXZAC\0", &b""[..]]);
    let rules = UmiRules { letters: Some(3), ..rules };
    let unequal = UmiError::Unequal { umi: "AC".into(), found: 2, expected: 3 };
    assert_eq!(tags.push(((&block, 0), None), &rules), Err(unequal));
}

#[test]
fn what_names_no_umis_is_refused() {
    for text in [
        "",
        "nam",
        "comment:",
        "comment:0",
        "comment:x",
        "comments",
        "read1",
        "read1:",
        "read3:1M+T",
        "read1:+T",
        "read1:8M+S",
        "read1:8M+T,",
        "read1:8M+T,read1:8M+T",
        "8M+T",
    ] {
        assert!(text.parse::<UmiSource>().is_err(), "{text}");
    }
}
