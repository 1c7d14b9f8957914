//! Headers as text and as BAM has them, whole and malformed.

use super::*;
use crate::bam::test_data::{bam_folder, files, inflate_all, samtools};
use crate::names::SequenceNameProblem;
use proptest::prelude::*;

const TEXT: &str = "@HD\tVN:1.5\tSO:queryname\tGO:none\tSS:queryname:natural\tXX:kept\n\
        @SQ\tSN:chr1\tLN:1000\tM5:abc\n@SQ\tSN:HLA-A*01:01\tLN:2147483647\n\
        @RG\tID:a\tLB:l\tSM:s\tPU:u\n@RG\tID:b\n@PG\tID:bwa\tPN:bwa\n@CO\tfree\ttext \u{e9}\n";

fn problem(text: &str) -> (usize, LineProblem) {
    match Header::parse(text.as_bytes()) {
        Err(HeaderError::Line { line, problem }) => (line, problem),
        other => panic!("{other:?}"),
    }
}

fn lines(header: &Header) -> Vec<String> {
    header.lines().map(lossy).collect()
}

#[test]
fn text_is_kept() {
    let header = Header::parse(TEXT.as_bytes()).unwrap();
    assert_eq!(header.text(), TEXT.as_bytes());
    assert_eq!(header.references()[1].name, "HLA-A*01:01");
    assert_eq!(header.references()[1].length, 2_147_483_647);
    assert_eq!(header.sort_order(), Some(&b"queryname"[..]));
    assert_eq!(header.group_order(), Some(&b"none"[..]));
    let crlf = TEXT.replace('\n', "\r\n");
    assert_eq!(Header::parse(crlf.as_bytes()).unwrap(), header);
    let padded = format!("{}\0\0", TEXT.trim_end());
    assert_eq!(Header::parse(padded.as_bytes()).unwrap(), header);
    assert_eq!(Header::parse(b"").unwrap(), Header::default());
    assert_eq!(Header::parse(b"\n\0").unwrap(), Header::default());
}

#[test]
fn read_groups_are_read() {
    let header = Header::parse(TEXT.as_bytes()).unwrap();
    let (id, library, sample, platform_unit) =
        (&b"a"[..], Some(&b"l"[..]), Some(&b"s"[..]), Some(&b"u"[..]));
    let first = ReadGroup { id, library, sample, platform_unit, platform: None };
    let second = ReadGroup { id: b"b", platform_unit: None, library: None, sample: None, ..first };
    assert_eq!(header.read_groups(), [first, second]);
}

#[test]
fn malformed_lines_are_named() {
    let name = |text: &str| text.to_owned();
    for (text, line, expected) in [
        ("HD\tVN:1.6\n", 1, LineProblem::NotAHeaderLine),
        ("@HD VN:1.6\n", 1, LineProblem::NotAHeaderLine),
        ("@HD\tVN:1.6\n\n@CO\tx\n", 2, LineProblem::NotAHeaderLine),
        ("@HD\tVN:1.6\n@HD\tVN:1.6\n", 2, LineProblem::SecondHd),
        ("@CO\n@RG\tID:a\tnonsense\n", 2, LineProblem::BadField(name("nonsense"))),
        ("@RG\tID:a\t\n", 1, LineProblem::BadField(String::new())),
        ("@RG\tID:a\u{1}\n", 1, LineProblem::BadField(name("ID:a\u{1}"))),
        ("@RG\tSM:a\n", 1, LineProblem::MissingField("ID")),
        ("@PG\tID:\n", 1, LineProblem::MissingField("ID")),
        ("@SQ\tLN:1\n", 1, LineProblem::MissingField("SN")),
        ("@SQ\tSN:a\n", 1, LineProblem::MissingField("LN")),
        (
            "@SQ\tSN:a b\tLN:1\n",
            1,
            LineProblem::BadName {
                name: name("a b"),
                problem: SequenceNameProblem::Byte { byte: b' ', at: 1 },
            },
        ),
        (
            "@SQ\tSN:a,b\tLN:1\n",
            1,
            LineProblem::BadName {
                name: name("a,b"),
                problem: SequenceNameProblem::Byte { byte: b',', at: 1 },
            },
        ),
        ("@CO\ta\0b\n@CO\n", 1, LineProblem::Nul),
        ("@HD\tVN:1.6\n@CO\t\0\n@CO\n", 2, LineProblem::Nul),
        ("@CO\n@XY\tAB:x\n", 2, LineProblem::UnknownType(name("XY"))),
        ("@RG\tID:a\0\n@CO\n", 1, LineProblem::Nul),
        ("@SQ\tSN:a\tLN:2147483648\n", 1, LineProblem::BadLength(name("2147483648"))),
        ("@SQ\tSN:a\tLN:-1\n", 1, LineProblem::BadLength(name("-1"))),
        ("@SQ\tSN:a\tLN:0\n", 1, LineProblem::BadLength(name("0"))),
        ("@SQ\tSN:a\tLN:1\tLN:2\n", 1, LineProblem::LengthTwice(name("1"), name("2"))),
        ("@SQ\tSN:a\tLN:1\n@SQ\tSN:a\tLN:1\n", 2, LineProblem::Duplicate(name("a"))),
        ("@RG\tID:a\n@RG\tID:a\n", 2, LineProblem::Duplicate(name("a"))),
    ] {
        assert_eq!(problem(text), (line, expected), "{text:?}");
    }
}

#[test]
fn a_comment_has_a_tab_after_its_type() {
    let header = Header::parse(b"@CO\n@CO\t\n@CO\tx\n@PG\tID:p\n").unwrap();
    assert_eq!(lines(&header), ["@CO\t", "@CO\t", "@CO\tx", "@PG\tID:p"]);
}

#[test]
fn sort_order_is_set() {
    let mut header = Header::parse(TEXT.as_bytes()).unwrap();
    header.set_sort_order("coordinate", None);
    assert_eq!(lines(&header)[0], "@HD\tVN:1.5\tSO:coordinate\tXX:kept");
    header.set_sort_order("queryname", Some("queryname:natural"));
    assert_eq!(lines(&header)[0], "@HD\tVN:1.5\tSO:queryname\tSS:queryname:natural\tXX:kept");
    header.set_grouped_by_name();
    assert_eq!(lines(&header)[0], "@HD\tVN:1.5\tSO:unsorted\tGO:query\tXX:kept");
    header.set_sort_order("coordinate", None);
    assert_eq!(lines(&header)[0], "@HD\tVN:1.5\tSO:coordinate\tXX:kept");
    let mut header = Header::parse(b"@CO\tx\n").unwrap();
    header.set_sort_order("queryname", Some("queryname:natural"));
    assert_eq!(lines(&header), ["@HD\tVN:1.6\tSO:queryname\tSS:queryname:natural", "@CO\tx"]);
}

#[test]
fn read_groups_are_added() {
    let mut header = Header::parse(TEXT.as_bytes()).unwrap();
    let line = expand_escapes(r"@RG\tID:c\tSM:s");
    assert_eq!(header.add_read_group(line.as_bytes()).unwrap(), b"c");
    assert_eq!(lines(&header)[5], "@RG\tID:c\tSM:s");
    let mut refused = |line: &str| match header.add_read_group(line.as_bytes()) {
        Err(HeaderError::ReadGroupLine(problem)) => problem,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused("@RG\tID:c"), LineProblem::Duplicate("c".to_owned()));
    assert_eq!(refused("@RG\tSM:c"), LineProblem::MissingField("ID"));
    assert_eq!(refused("@PG\tID:d"), LineProblem::NotAReadGroup);
    assert_eq!(refused("ID:d"), LineProblem::NotAHeaderLine);
    assert_eq!(refused("@RG\tID:d\n@CO\tx"), LineProblem::BadField("ID:d\n@CO".to_owned()));
    assert_eq!(lines(&header).len(), 8);
    let mut header = Header::parse(b"@PG\tID:a\n").unwrap();
    header.add_read_group(b"@RG\tID:a").unwrap();
    assert_eq!(lines(&header), ["@RG\tID:a", "@PG\tID:a"]);
}

#[test]
fn escapes_are_expanded() {
    assert_eq!(expand_escapes(r"@RG\tID:a\\t\n\r\q\"), "@RG\tID:a\\t\n\r\\q\\");
}

#[test]
fn programs_are_chained() {
    let mut header = Header::default();
    assert_eq!(header.add_program("seqloom", "1", "a\tb\nc"), ["seqloom"]);
    assert_eq!(lines(&header), ["@PG\tID:seqloom\tPN:seqloom\tVN:1\tCL:a b c"]);
    assert_eq!(header.add_program("seqloom", "1", "x"), ["seqloom.1"]);
    assert_eq!(lines(&header)[1], "@PG\tID:seqloom.1\tPN:seqloom\tPP:seqloom\tVN:1\tCL:x");
    // What samtools 1.16.1 makes of these was looked at.
    for (text, expected) in [
        ("@PG\tID:a\n@PG\tID:b\tPP:a\n@PG\tID:c\tPP:a\n@PG\tID:s\n", &["b", "c"][..]),
        ("@PG\tID:a\n@PG\tID:b\tPP:a\n@PG\tID:x\tPP:missing\n", &["b"]),
        ("@PG\tID:b\tPP:a\n@PG\tID:a\n", &["b"]),
        ("@PG\tID:a\n@PG\tID:b\n", &["b"]),
        ("@PG\tID:x\tPP:y\n@PG\tID:y\tPP:x\n@PG\tID:z\tPP:z\n", &[]),
    ] {
        let mut header = Header::parse(text.as_bytes()).unwrap();
        let ids = header.add_program("s", "1", "x");
        let added = header.lines.split_off(header.lines.len() - ids.len());
        let parents: Vec<_> =
            added.iter().filter_map(|it| line::value(it, *b"PP")).map(lossy).collect();
        assert_eq!(parents, expected, "{text}");
        assert!(ids.len() == expected.len().max(1));
    }
    let mut header = Header::parse(b"@PG\tID:a\n@PG\tID:s\tPP:a\n@PG\tID:t\tPP:a\n").unwrap();
    assert_eq!(header.add_program("s", "1", "x"), ["s.1", "s.2"]);
}

#[test]
fn programs_are_chained_as_samtools_does() {
    let Some(folder) = bam_folder() else { return };
    let version = samtools(&["--version"], "".as_ref());
    let version = version.unwrap_or_else(|| samtools(&["version"], "".as_ref()).unwrap());
    let version = String::from_utf8_lossy(&version).lines().next().unwrap()[9..].to_owned();
    let mut compared = 0;
    for path in files(&folder, ".bam") {
        let Ok((bytes, _)) = inflate_all(&std::fs::read(&path).unwrap()) else { continue };
        let Ok((mut header, _)) = Header::decode(&bytes) else { continue };
        let Some(theirs) = samtools(&["view", "-H"], &path) else { continue };
        // It says by which path it was called.
        let text = lossy(&theirs);
        let called = text.rsplit("\tCL:").next().and_then(|it| it.split(" view -H").next());
        let command = format!("{} view -H {}", called.unwrap(), path.display());
        header.add_program("samtools", &version, &command);
        // samtools also groups the lines by their types, which is not ours to do.
        let programs = |text: &[u8]| -> Vec<String> {
            text.split(|&byte| byte == b'\n')
                .filter(|it| line::kind(it) == b"PG")
                .map(lossy)
                .collect()
        };
        assert_eq!(programs(&header.text()), programs(&theirs), "{}", path.display());
        compared += 1;
    }
    assert!(compared > 100, "{compared}");
}

#[test]
fn bam_bytes_are_read_back() {
    for text in [TEXT, "", "@CO\tx\n"] {
        let header = Header::parse(text.as_bytes()).unwrap();
        let bytes = header.encode().unwrap();
        let longer = [&bytes[..], b"records"].concat();
        assert_eq!(Header::decode(&longer).unwrap(), (header, bytes.len()));
        for len in 0..bytes.len() {
            match Header::decode(&bytes[..len]) {
                Err(HeaderError::Truncated { available_bytes, needed_bytes }) => {
                    assert_eq!(available_bytes, len);
                    assert!(len < needed_bytes && needed_bytes <= bytes.len());
                }
                other => panic!("{len}: {other:?}"),
            }
        }
    }
}

#[test]
fn references_without_lines_get_them() {
    let reference = |name: &str| Reference { name: name.to_owned(), length: 7 };
    let references = vec![reference("a"), reference("b")];
    let mut bytes = Header::parse(b"@HD\tVN:1.6\n@CO\tx\n").unwrap().encode().unwrap();
    let list = Header::from_references(references.clone()).encode().unwrap();
    bytes.truncate(bytes.len() - 4);
    bytes.extend_from_slice(&list[list.len() - 4 - 2 * 10..]);
    let (header, _) = Header::decode(&bytes).unwrap();
    assert_eq!(header.references(), references);
    assert_eq!(lines(&header), ["@HD\tVN:1.6", "@SQ\tSN:a\tLN:7", "@SQ\tSN:b\tLN:7", "@CO\tx"]);
}

#[test]
fn hostile_bam_headers_are_refused() {
    let header = Header::parse(b"@SQ\tSN:a\tLN:5\n").unwrap();
    let good = header.encode().unwrap();
    let changed = |offset: usize, bytes: &[u8]| {
        let mut header = good.clone();
        header[offset..offset + bytes.len()].copy_from_slice(bytes);
        Header::decode(&header).unwrap_err()
    };
    let bad = |field, value| HeaderError::BadValue { field, value };
    let (text, list) = (4, 8 + 14);
    assert_eq!(changed(0, b"CRAM"), HeaderError::BadMagic);
    assert_eq!(changed(text, &(-1_i32).to_le_bytes()), bad("l_text", -1));
    assert_eq!(changed(list, &i32::MIN.to_le_bytes()), bad("n_ref", i32::MIN));
    assert_eq!(changed(list + 4, &0_i32.to_le_bytes()), bad("l_name", 0));
    for offset in [text, list, list + 4] {
        let error = changed(offset, &i32::MAX.to_le_bytes());
        assert!(matches!(error, HeaderError::Truncated { .. }), "{error}");
    }
    assert_eq!(changed(list + 8, b"b"), HeaderError::ReferenceMismatch(0));
    for (byte, name) in [(b'\t', "\t"), (b',', ","), (b'*', "*")] {
        let problem = SequenceNameProblem::Byte { byte, at: 0 };
        let error = HeaderError::BadReferenceName { index: 0, name: name.into(), problem };
        assert_eq!(changed(list + 8, &[byte]), error);
    }
    assert_eq!(changed(list + 9, b"x"), HeaderError::BadReference(0));
    assert_eq!(changed(list + 10, &[6]), HeaderError::ReferenceMismatch(0));
    assert_eq!(changed(list + 13, &[0x80]), HeaderError::BadReference(0));
}

proptest! {
    #[test]
    fn encode_and_decode_are_inverse(lengths in prop::collection::vec(0_u32..1 << 31, 0..9)) {
        let name = |(index, length)| Reference { name: format!("r{index}"), length };
        let references = lengths.into_iter().enumerate().map(name).collect();
        let header = Header::from_references(references);
        let bytes = header.encode().unwrap();
        prop_assert_eq!(Header::decode(&bytes).unwrap(), (header, bytes.len()));
    }

    #[test]
    fn hostile_bytes_never_panic(
        changes in prop::collection::vec((any::<usize>(), any::<u8>()), 1..5),
    ) {
        let mut bytes = Header::parse(TEXT.as_bytes()).unwrap().encode().unwrap();
        for (offset, value) in changes {
            let offset = offset % bytes.len();
            bytes[offset] = value;
        }
        let _ = Header::decode(&bytes);
    }
}
