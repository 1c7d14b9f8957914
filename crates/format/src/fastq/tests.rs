//! Tables and properties of parsing, cutting and finding record starts.

use proptest::prelude::*;

use super::*;

fn parse_text(grammar: Grammar, text: &[u8], at_eof: bool) -> (ReadBlock, Parsed) {
    let mut block = ReadBlock { bytes: text.to_vec(), ..ReadBlock::default() };
    let range = TextRange { from: 0, limit: text.len(), at_eof };
    let parsed = parse(
        grammar,
        &mut block,
        range,
        ParseOptions { keep_comments: true, ..ParseOptions::default() },
    );
    (block, parsed)
}

fn reads(block: &ReadBlock) -> Vec<[String; 4]> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (0..block.reads.len())
        .map(|at| [block.name(at), block.bases(at), block.qualities(at), block.extra(at)].map(text))
        .collect()
}

#[test]
fn names_are_cut_as_bwa_cuts_them() {
    let cases = [
        ("a", "a", ""),
        ("a/1", "a", ""),
        ("a/9", "a", ""),
        ("a/10", "a/10", ""),
        ("a/x", "a/x", ""),
        // Not longer than the suffix itself: kept.
        ("/1", "/1", ""),
        ("a/1/2", "a/1", ""),
        ("a b", "a", "b"),
        ("a/2\tb c", "a", "b c"),
        ("a  b", "a", " b"),
        ("a ", "a", ""),
        ("+", "+", ""),
    ];
    for (title, name, comment) in cases {
        let (block, parsed) =
            parse_text(Grammar::FourLine, format!("@{title}\nA\n+\nI\n").as_bytes(), true);
        assert_eq!(parsed.stop, Stop::Done, "{title}");
        assert_eq!(reads(&block), [[name, "A", "I", comment]], "{title}");
    }
    let mut block = ReadBlock { bytes: b"@a b\nA\n+\nI\n".to_vec(), ..ReadBlock::default() };
    let range = TextRange { from: 0, limit: 11, at_eof: true };
    parse(Grammar::FourLine, &mut block, range, ParseOptions::default());
    assert_eq!(block.extra(0), b"");
}

#[test]
fn malformed_records_are_named() {
    use DefectKind::*;
    let long = "n".repeat(255);
    let byte = |byte, at| Name(ReadNameProblem::Byte { byte, at });
    // Text, kind, line, offset, name.
    let cases: Vec<(String, DefectKind, u64, usize, &str)> = vec![
        ("r\nA\n+\nI\n".into(), BadStart { expected: b'@', found: b'r' }, 0, 0, ""),
        ("@\nA\n+\nI\n".into(), Name(ReadNameProblem::Empty), 0, 1, ""),
        ("@ x\nA\n+\nI\n".into(), Name(ReadNameProblem::Empty), 0, 1, ""),
        (format!("@{long}\nA\n+\nI\n"), Name(ReadNameProblem::Long(255)), 0, 1, &long[..254]),
        ("@a\x07b\nA\n+\nI\n".into(), byte(7, 1), 0, 2, "a\x07b"),
        ("@@a\nA\n+\nI\n".into(), byte(b'@', 0), 0, 1, "@a"),
        ("@a\u{e9} x\nA\n+\nI\n".into(), byte(0xc3, 1), 0, 2, "a\u{e9}"),
        ("@a b\0c\nA\n+\nI\n".into(), HeaderByte(0), 0, 4, "a"),
        ("@a b\rc\nA\n+\nI\n".into(), HeaderByte(b'\r'), 0, 4, "a"),
        ("@a\nA1\n+\nII\n".into(), BaseByte(b'1'), 1, 4, "a"),
        ("@a\nA\rC\n+\nIII\n".into(), BaseByte(b'\r'), 1, 4, "a"),
        ("@a\nAC\r\r\n+\nII\n".into(), BaseByte(b'\r'), 1, 5, "a"),
        ("@a\n@A\n+\nII\n".into(), BaseByte(b'@'), 1, 3, "a"),
        ("@a\nA\nC\n+\nII\n".into(), MissingPlus(b'C'), 2, 5, "a"),
        ("@a\nA\n+b\nI\n".into(), OtherName, 2, 5, "a"),
        ("@a\nA\n+\n\x7f\n".into(), QualityByte(0x7f), 3, 7, "a"),
        ("@a\nA\n+\n \n".into(), QualityByte(b' '), 3, 7, "a"),
        ("@a\nAC\n+\nI\n".into(), Lengths { bases: 2, qualities: 1 }, 3, 8, "a"),
        ("@a\nA\n+\n\n".into(), Lengths { bases: 1, qualities: 0 }, 3, 7, "a"),
        ("@a\nA\n+\n".into(), Truncated, 3, 7, "a"),
        ("@a\n\n+".into(), Truncated, 2, 5, "a"),
        ("@a\nA".into(), Truncated, 1, 4, "a"),
        ("@a".into(), Truncated, 0, 2, "a"),
        ("@".into(), Truncated, 0, 1, ""),
        ("\n@a\nA\n+\nI\n".into(), BlankLine, 0, 0, ""),
    ];
    let good = "@g\nAC\n+\nII\n";
    for (text, kind, line, offset, name) in cases {
        let (_, parsed) = parse_text(Grammar::FourLine, format!("{good}{text}").as_bytes(), true);
        assert_eq!((parsed.records, parsed.lines, parsed.end), (1, 4, good.len()), "{text:?}");
        let offset = offset + good.len();
        let expected = Defect { kind, record: 1, line: line + 4, offset, name: name.into() };
        assert_eq!(parsed.stop, Stop::Defect(expected), "{text:?}");
    }
}

#[test]
fn legal_oddities() {
    let cases: [(&[u8], usize); 8] = [
        (b"", 0),
        (b"\n\r\n\n", 0),
        (b"@a\n\n+\n", 1),
        (b"@a\n\n+\n\n@b\n\n+\n\n\n\n", 2),
        (b"@a x\nAC\n+a x\nII", 1),
        (b"@a x\r\nAC\r\n+a\r\nII\r\n\r\n", 1),
        (b"@a\nacgtnRYKM.*-\n+\n!\"#$%&'()~@+", 1),
        (b"@a\nA\n+\n@\n@b\nA\n+\n+\n", 2),
    ];
    for (text, count) in cases {
        let (block, parsed) = parse_text(Grammar::FourLine, text, true);
        assert_eq!((&parsed.stop, parsed.end), (&Stop::Done, text.len()), "{text:?}");
        assert_eq!(block.reads.len(), count);
        assert_eq!(
            parsed.bases,
            block.reads.iter().map(|read| u64::from(read.bases.len)).sum::<u64>()
        );
    }
}

#[test]
fn wrapped_records_are_joined_in_place() {
    let text = b"@a x\nAC\nGT\nA\n+a\n@+\n+@+\n@b\n\n+\n\n>";
    let (block, parsed) = parse_text(Grammar::MultiLine, text, true);
    assert_eq!(reads(&block), [["a", "ACGTA", "@++@+", "x"], ["b", "", "", ""]]);
    assert_eq!((parsed.records, parsed.lines), (2, 11));
    assert!(matches!(parsed.stop, Stop::Defect(Defect { record: 2, line: 11, .. })));
    let bad = b"@a\nAC\nG1\n+\nIIII\n";
    let (_, parsed) = parse_text(Grammar::MultiLine, bad, true);
    let Stop::Defect(defect) = parsed.stop else { panic!("not refused") };
    assert_eq!((defect.kind, defect.line, defect.offset), (DefectKind::BaseByte(b'1'), 2, 7));
}

#[test]
fn grammar_is_found_by_content() {
    use Grammar::*;
    let cases: [(&[u8], Grammar); 9] = [
        (b"", FourLine),
        (b">a\nAC\n", Fasta),
        (b"@a\nAC\n+\nII\n", FourLine),
        (b"@a\nAC\n+\nII\n@b\nA\nC\n+\nI\nI\n", MultiLine),
        (b"@a\nAC\n+\nI\nI\n@b\nA\n+\nI\n", MultiLine),
        // Cut within a wrapped record.
        (b"@a\nAC\nGT\nAC", MultiLine),
        // Damaged, not wrapped.
        (b"@a\nAC\n@b\nAC\n+\nII\n", FourLine),
        (b"@a\nAC\n+\nI\n@b\nAC\n+\nII\n", FourLine),
        (b"no reads", FourLine),
    ];
    for (text, grammar) in cases {
        assert_eq!(detect_grammar(text, false), grammar, "{text:?}");
    }
}

#[test]
fn text_is_cut_after_records() {
    use Grammar::*;
    let cases: [(Grammar, &[u8], usize); 10] = [
        (FourLine, b"", 0),
        (FourLine, b"@a\nA\n+\n", 0),
        (FourLine, b"@a\nA\n+\nI\n", 9),
        (FourLine, b"@a\nA\n+\nI\n@b\nA\n+\nI", 9),
        (FourLine, b"@a\nA\n+\nI\n\n\n\n\n\n", 9),
        (FourLine, b"\n\n\n\n\n\n", 0),
        (FourLine, b"@a\n\n+\n\n\n", 7),
        (Fasta, b">a\nAC\n>b\nA>\n", 6),
        (Fasta, b">a\nAC\n", 0),
        (MultiLine, b"@a\nA\nC\n+\n@\n@\n@b\nA\n", 13),
    ];
    for (grammar, text, cut) in cases {
        assert_eq!(last_boundary(grammar, text), cut, "{:?}", String::from_utf8_lossy(text));
    }
}

#[test]
fn a_record_start_is_found_or_more_text_requested() {
    use RecordStart::*;
    // Text, from, limit, at the end of the input or not.
    let cases: [(&[u8], usize, usize, bool, RecordStart); 9] = [
        (b"@a\nA\n+\nI\n", 0, 1, false, At(0)),
        (b"@a\nA\n", 0, 1, false, NeedMore),
        (b"@a\nA\n", 0, 1, true, Nowhere),
        // A quality line that looks like a header: the next line is one.
        (b"@I\n@b\nA\n+\nI\n", 0, 3, false, Nowhere),
        (b"@I\n@b\nA\n+\nI\n", 0, 4, false, At(3)),
        (b"@I\n", 0, 1, false, NeedMore),
        (b"@I\n\n\n", 0, 5, true, Nowhere),
        (b"+\n@\n@b\nA\n+\nI\n", 0, 5, false, At(4)),
        // Only a line that starts within the limit counts.
        (b"ACGT", 0, 4, false, Nowhere),
    ];
    for (text, from, limit, at_eof, expected) in cases {
        let found = find_record_start(text, from, limit, at_eof);
        assert_eq!(found, expected, "{:?}", String::from_utf8_lossy(text));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    /// Anything at all: no panic, spans within the buffer, and the same reads whether the text is
    /// parsed whole or cut where it may be cut.
    #[test]
    fn cutting_changes_nothing(
        text in "[@+>ACI!\n\r x\u{1}]{0,80}",
        grammar in prop::sample::select(
            vec![Grammar::FourLine, Grammar::MultiLine, Grammar::Fasta],
        ),
        upto in any::<prop::sample::Index>(),
    ) {
        // FASTA is what starts with '>'.
        let text = if grammar == Grammar::Fasta { format!(">{text}") } else { text };
        let text = text.as_bytes();
        let (whole, parsed) = parse_text(grammar, text, true);
        let cut = last_boundary(grammar, &text[..upto.index(text.len() + 1)]);
        let (head, head_parsed) = parse_text(grammar, &text[..cut], true);
        let mut joined = reads(&head);
        if head_parsed.stop == Stop::Done {
            prop_assert_eq!(head_parsed.end, cut);
            joined.extend(reads(&parse_text(grammar, &text[cut..], true).0));
        } else if let (Stop::Defect(defect), Stop::Defect(expected)) =
            (head_parsed.stop, &parsed.stop)
        {
            prop_assert_eq!(&defect, expected);
        } else {
            prop_assert!(false, "a defect only where there is one");
        }
        prop_assert_eq!(joined, reads(&whole));
    }

    #[test]
    fn every_record_start_is_found_from_every_line(
        records in prop::collection::vec(("[@+a]{1,3}", "[ACGT]{0,4}", "[@+!I~]{4}"), 1..8),
        limit in 1..200usize,
    ) {
        let (mut text, mut starts) = (Vec::new(), Vec::new());
        for (name, bases, qualities) in &records {
            starts.push(text.len());
            let qualities = &qualities[..bases.len()];
            text.extend_from_slice(format!("@{name}\n{bases}\n+\n{qualities}\n").as_bytes());
        }
        let limit = limit.min(text.len());
        let lines = (0..text.len()).filter(|&at| at == 0 || text[at - 1] == b'\n');
        for from in lines.filter(|&from| from < limit) {
            let expected = starts.iter().find(|&&start| (from..limit).contains(&start));
            let expected = expected.map_or(RecordStart::Nowhere, |&start| RecordStart::At(start));
            prop_assert_eq!(find_record_start(&text, from, limit, true), expected);
            // With less text the answer is the same, or that more is needed.
            for end in limit..text.len() {
                let found = find_record_start(&text[..end], from, limit, false);
                prop_assert!(found == expected || found == RecordStart::NeedMore);
            }
        }
    }
}

#[test]
fn names_that_sam_does_not_allow_are_renamed_where_that_is_requested() {
    let long = "n".repeat(300);
    let mut short = long.clone().into_bytes();
    let end = rename_read(&mut short);
    let short = std::str::from_utf8(&short[..end]).unwrap();
    // Header line; name and comment of the read, and its header line then.
    let cases = [
        ("@at/1 c".to_owned(), "_at", "c", "_at/1 c".to_owned()),
        ("l\u{e9}sion x\u{e9}".into(), "l__sion", "x\u{e9}", "l__sion x\u{e9}".into()),
        (format!("{long}/2 2:N:0"), short, "2:N:0", format!("{short}/2 2:N:0")),
        (format!("{long}\tBC:Z:A"), short, "BC:Z:A", format!("{short}\tBC:Z:A")),
        (long.clone(), short, "", short.to_owned()),
        ("good".into(), "good", "", "good".into()),
    ];
    let options =
        ParseOptions { keep_comments: true, names: ReadNames::Rename, ..ParseOptions::default() };
    for (title, name, comment, expected) in cases {
        for (grammar, text) in [
            (Grammar::FourLine, format!("@{title}\nA\n+{title}\nI\n@next\nC\n+\nI\n")),
            (Grammar::FourLine, format!("@{title}\r\nA\r\n+\r\nI\r\n@next\r\nC\r\n+\r\nI\r\n")),
            (Grammar::MultiLine, format!("@{title}\nA\n+\nI\n@next\nC\n+\nI\n")),
            (Grammar::Fasta, format!(">{title}\nA\n>next\nC\n")),
        ] {
            let mut block = ReadBlock { bytes: text.into(), ..ReadBlock::default() };
            let range = TextRange { from: 0, limit: block.bytes.len(), at_eof: true };
            let parsed = parse(grammar, &mut block, range, options);
            assert_eq!((parsed.stop, parsed.records), (Stop::Done, 2), "{title}");
            assert_eq!(block.name(0), name.as_bytes());
            assert_eq!(block.extra(0), comment.as_bytes());
            let line = String::from_utf8(block.header_line(0).unwrap().to_vec()).unwrap();
            assert_eq!(line[1..].trim_end_matches(' '), expected);
            let number = title.contains("/1").then_some(1).or(title.contains("/2").then_some(2));
            assert_eq!(block.mate_number(0), number, "{title}");
            assert_eq!((block.name(1), block.bases(1)), (&b"next"[..], &b"C"[..]));
        }
    }
    for nothing in ["@\nA\n+\nI\n", "@ x\nA\n+\nI\n", "@a\0\nA\n+\nI\n"] {
        let mut block = ReadBlock { bytes: nothing.into(), ..ReadBlock::default() };
        let range = TextRange { from: 0, limit: nothing.len(), at_eof: true };
        let parsed = parse(Grammar::FourLine, &mut block, range, options);
        assert!(matches!(parsed.stop, Stop::Defect(_)), "{nothing:?}");
    }
}
