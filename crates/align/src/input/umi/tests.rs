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
    tags_by(&UmiRules { source: source.parse().unwrap(), prefix: None }, first, second)
}

fn tags_by(rules: &UmiRules, first: &str, second: Option<&str>) -> Result<String, UmiError> {
    let blocks = [Some(first), second];
    let blocks = blocks.map(|text| text.map(|text| block(text, Grammar::FourLine)));
    let mut tags = UmiTags::default();
    let [Some(first), second] = &blocks else { panic!("a read is always there") };
    tags.push(((first, 0), second.as_ref().map(|block| (block, 0))), rules)?;
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
    // An r before a part: BCL Convert has reverse-complemented it.
    t("I:1:F:1:1101:5:6:ACGTAC+rGGTCAC", Some("ACGTAC-GTGACC"));
    t("I:1:F:1:1101:5:6:rACGTAC+GGTCAC", Some("GTACGT-GGTCAC"));
    t("I:1:F:1:1101:5:6:rACN+rGGTCAc", Some("NGT-GTGACC"));
    t("I:1:F:1:1101:5:6:rACGT", Some("ACGT"));
    t("read_7_rAAC", Some("GTT"));
    for nothing in [
        "read",
        "I:1:F:1:1101:5:6",
        "I:1:F:1:1101:5:6:",
        "I:1:F:1:1101:5:6:r",
        "I:1:F:1:1101:5:6:ACGT+r",
        "I:1:F:1:1101:5:6:rrACGT",
        "I:1:F:1:1101:5:6:RACGT",
        "I:1:F:1:1101:5:6:ACrGT",
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
    t("comment", "r 1:N:0:AC+rAACG", Some("AC-CGTT"));
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
    // In bases an r is no letter, and reverses nothing.
    let ambiguous = tags("read1:3M+T", "@r\nrACGT\n+\nIIIII\n", None);
    assert_eq!(ambiguous, Err(UmiError::NotBases("rAC".into())));
    assert_eq!([source.template(0, 8), source.template(1, 6)], [3..8, 4..6]);
}

#[test]
fn fasta_has_no_qualities_of_umis() {
    let block = block(">r\nACGTA\n", Grammar::Fasta);
    let rules = UmiRules { source: "read1:2M+T".parse().unwrap(), prefix: None };
    let mut tags = UmiTags::default();
    tags.push(((&block, 0), None), &rules).unwrap();
    tags.push(((&block, 0), None), &rules).unwrap();
    assert_eq!([tags.of(0), tags.of(1), tags.of(2)], [b"RXZAC\0", b"RXZAC\0", &b""[..]]);
}

#[test]
fn umis_of_one_input_may_have_different_lengths() {
    let rules = UmiRules { source: UmiSource::Name, prefix: None };
    let mut tags = UmiTags::default();
    for name in ["a:AC", "b:ACG", "c:A+ACGT"] {
        let block = block(&format!("@{name}\nA\n+\nI\n"), Grammar::FourLine);
        tags.push(((&block, 0), None), &rules).unwrap();
    }
    let found = [tags.of(0), tags.of(1), tags.of(2)];
    assert_eq!(found, [&b"RXZAC\0"[..], b"RXZACG\0", b"RXZA-ACGT\0"]);
}

#[test]
fn a_prefix_is_removed_wherever_it_is() {
    let t = |source: &str, prefix: &str, header: &str, expected: Result<&str, UmiError>| {
        let source = source.parse().unwrap();
        let rules = UmiRules { source, prefix: Some(prefix.to_owned()) };
        let found = tags_by(&rules, &format!("@{header}\nA\n+\nI\n"), None);
        let expected = expected.map(|umi| format!("RXZ{umi}\0"));
        assert_eq!(found, expected, "{source:?} {prefix} {header}", source = rules.source);
    };
    t("name", "UMI_", "I:1:F:1:1101:5:6:UMI_ACGT", Ok("ACGT"));
    t("name", "UMI_", "I:1:F:1:1101:5:6:UMI_ACGT_CCA x", Ok("ACGT-CCA"));
    t("name", "UMI_", "r_UMI_UMI_rAACG", Ok("CGTT"));
    t("name", "umi:", "r.umi:ACGT/1", Ok("ACGT"));
    t("comment", "UMI_", "r 1:N:0:UMI_ACGT", Ok("ACGT"));
    t("comment:1", "U", "r UAC:G", Ok("AC"));
    t("name", "UMI_", "r:UMI_", Err(UmiError::Missing("name")));
    t("name", "UMI_", "r:UMI_AX", Err(UmiError::NotBases("AX".into())));
    let absent =
        |place, text: &str| UmiError::NoPrefix { prefix: "UMI_".into(), place, text: text.into() };
    t("name", "UMI_", "r:ACGT", Err(absent("name", "r:ACGT")));
    t("comment", "UMI_", "r:UMI_A 1:ACGT", Err(absent("comment", "ACGT")));
    t("comment", "UMI_", "r", Err(UmiError::Missing("comment")));
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
