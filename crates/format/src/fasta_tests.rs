//! FASTA files as they come: wrapped, empty, with holes, malformed.

use super::*;
use proptest::prelude::*;

/// Name, comment and bases of a record.
type Record = (Vec<u8>, Vec<u8>, Vec<u8>);

#[derive(Debug, Default, PartialEq, Eq, Clone)]
struct Records(Vec<Record>);

impl FastaSink for Records {
    fn record(&mut self, name: &[u8], comment: &[u8]) {
        self.0.push((name.to_vec(), comment.to_vec(), Vec::new()));
    }
    fn bases(&mut self, bases: &[u8]) {
        assert!(!bases.is_empty());
        self.0.last_mut().unwrap().2.extend_from_slice(bases);
    }
}

fn parse_in(text: &[u8], chunk: usize) -> Result<Records, FastaError> {
    let (mut parser, mut records) = (FastaParser::new(), Records::default());
    for part in text.chunks(chunk) {
        parser.push(part, &mut records)?;
    }
    let count = parser.finish(&mut records)?;
    assert_eq!(count, records.0.len() as u64);
    Ok(records)
}

/// Parses with every small chunk size; all must agree.
fn parse(text: &[u8]) -> Result<Records, FastaError> {
    let whole = parse_in(text, text.len().max(1));
    for chunk in 1..=7 {
        let part = parse_in(text, chunk);
        if let (Ok(a), Ok(b)) = (&whole, &part) {
            assert_eq!(a, b);
        } else {
            assert_eq!(whole, part, "chunks of {chunk}");
        }
    }
    whole
}

fn record(name: &str, comment: &str, bases: &str) -> Record {
    (name.into(), comment.into(), bases.into())
}

#[test]
fn reads_records() {
    let cases: [(&str, Vec<Record>); 10] = [
        (">a\nACGT\n", vec![record("a", "", "ACGT")]),
        (">a\nACGT", vec![record("a", "", "ACGT")]),
        (">a b c\nAC\nGT\n>d\nNN\n", vec![record("a", "b c", "ACGT"), record("d", "", "NN")]),
        (">a  b \n-*\n", vec![record("a", " b ", "-*")]),
        (">a\tb\nacgtnRYx\n", vec![record("a", "b", "acgtnRYx")]),
        ("\n\n>a\n\nAC\n\n\nGT\n\n", vec![record("a", "", "ACGT")]),
        ("\r\n>a b\r\nAC\r\n\r\nGT\r\n", vec![record("a", "b", "ACGT")]),
        (">a \r\n\r\nAC\r\n", vec![record("a", "", "AC")]),
        (">a\r\nAC\r", vec![record("a", "", "AC")]),
        (">a >b\nAC\n", vec![record("a", ">b", "AC")]),
    ];
    for (text, expected) in cases {
        assert_eq!(parse(text.as_bytes()).map(|r| r.0), Ok(expected), "{text:?}");
    }
}

#[test]
fn refuses_what_is_wrong_and_says_where() {
    use FastaErrorKind as K;
    let byte = |byte, at| K::Name(SequenceNameProblem::Byte { byte, at });
    let cases: [(&str, K, u64, u64, u64); 25] = [
        ("", K::Empty, 0, 1, 0),
        ("\n\r\n", K::Empty, 0, 3, 3),
        ("ACGT\n", K::NotFasta(b'A'), 0, 1, 0),
        ("\n @r\n", K::NotFasta(b' '), 0, 2, 1),
        ("@r1\nACGT\n+\nIIII\n", K::NotFasta(b'@'), 0, 1, 0),
        (">\nAC\n", K::Name(SequenceNameProblem::Empty), 1, 1, 0),
        ("> a\nAC\n", K::Name(SequenceNameProblem::Empty), 1, 1, 0),
        (">a\nAC\n>*b\nAC\n", byte(b'*', 0), 2, 3, 6),
        (">=\nAC\n", byte(b'=', 0), 1, 1, 0),
        (">a\x01\nAC\n", byte(1, 1), 1, 1, 0),
        (">a,b\nAC\n", byte(b',', 1), 1, 1, 0),
        (">x(1)[y]\nAC\n", byte(b'(', 1), 1, 1, 0),
        (">a\nAC\n>\u{e9}\nAC\n", byte(0xc3, 0), 2, 3, 6),
        (">a\nAC\n>b\nAC\n>a x\nAC", K::DuplicateName { first_record: 1 }, 3, 5, 12),
        (">a\n>b\nAC\n", K::EmptySequence, 1, 2, 3),
        (">a\nAC\n>b\n\n", K::EmptySequence, 2, 5, 10),
        (">a", K::EmptySequence, 1, 1, 2),
        (">a\nAC1\n", K::SequenceByte(b'1'), 1, 2, 5),
        (">a\nAC GT\n", K::SequenceByte(b' '), 1, 2, 5),
        (">a\nAC\n>b\nA\nC\tG\n", K::SequenceByte(b'\t'), 2, 5, 12),
        (">a\nAC\rGT\n", K::SequenceByte(b'\r'), 1, 2, 5),
        (">a\nAC\r\r\n", K::SequenceByte(b'\r'), 1, 2, 5),
        (">a\nMKLV\n", K::SequenceByte(b'L'), 1, 2, 5),
        (">a\nAC\n+\nII\n", K::SequenceByte(b'+'), 1, 3, 6),
        (">a\nAC>b\n", K::SequenceByte(b'>'), 1, 2, 5),
    ];
    for (text, kind, record, line, byte) in cases {
        let error = parse(text.as_bytes()).unwrap_err();
        let place = (error.record, error.line, error.byte);
        assert_eq!((&error.kind, place), (&kind, (record, line, byte)), "{text:?}");
    }
}

#[test]
fn every_byte_is_a_base_or_refused_by_name() {
    for byte in 0..=255_u8 {
        let text = [b">a\nA".as_slice(), &[byte], b"A\n"].concat();
        let ok = b"ACGTUMRSWYKVHDBNX-*".contains(&byte.to_ascii_uppercase()) || byte == b'\n';
        assert_eq!(parse_in(&text, 64).is_ok(), ok, "byte {byte}");
    }
}

#[test]
fn limits_hold_at_their_edge() {
    let name = |n: usize| [b">".to_vec(), vec![b'n'; n], b"\nAC\n".to_vec()].concat();
    assert!(parse_in(&name(MAX_NAME_BYTES), 4096).is_ok());
    let error = parse_in(&name(MAX_NAME_BYTES + 1), 4096).unwrap_err();
    assert_eq!(error.kind, FastaErrorKind::NameTooLong);
    assert!(error.name.len() <= 100);
    let comment = [b">a ".to_vec(), vec![b'c'; MAX_HEADER_BYTES]].concat();
    let error = parse_in(&comment, 4096).unwrap_err();
    assert_eq!(error.kind, FastaErrorKind::HeaderTooLong);
}

#[test]
fn a_message_names_record_line_and_byte() {
    let error = parse_in(b">chr1 x\nAC7\n", 64).unwrap_err().to_string();
    assert_eq!(
        error,
        "record 1 (chr1), line 2, byte 10: '7' in the sequence is not a nucleotide code"
    );
    let error = parse_in(b"x", 64).unwrap_err().to_string();
    assert!(error.starts_with("line 1, byte 0: 'x' before the first '>'"), "{error}");
}

proptest! {
    /// Any text gives the same records, or the same error, however it is cut.
    #[test]
    fn chunks_do_not_matter(text in "[>AC\r\n 1a]{0,40}", chunk in 1_usize..9) {
        let whole = parse_in(text.as_bytes(), 64);
        prop_assert_eq!(whole, parse_in(text.as_bytes(), chunk));
    }

    /// What is written line by line is read back.
    #[test]
    fn written_records_are_read_back(
        sequences in prop::collection::vec("[ACGTNacgtnRY*-]{1,60}", 1..5),
        width in 1_usize..70,
        crlf in any::<bool>(),
    ) {
        let end = if crlf { "\r\n" } else { "\n" };
        let mut text = String::new();
        let mut expected = Vec::new();
        for (i, sequence) in sequences.iter().enumerate() {
            text += &format!(">s{i} c{end}");
            for line in sequence.as_bytes().chunks(width) {
                text += std::str::from_utf8(line).unwrap();
                text += end;
            }
            expected.push(record(&format!("s{i}"), "c", sequence));
        }
        prop_assert_eq!(parse(text.as_bytes()).map(|r| r.0), Ok(expected));
    }
}
