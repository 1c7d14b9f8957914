//! Headers: what is read, what is refused and where, and that what is written is read again.

use super::*;
use proptest::prelude::*;

const TYPES: &str = "#char*\tuint32_t\tdouble\tdouble\tdouble\tdouble\tuint64_t\tint16_t*";
const NAMES: &str =
    "#read_id\tread_group\tdigitisation\toffset\trange\tsampling_rate\tlen_raw_signal\traw_signal";

/// A header of text with these lines between the first two and the last two.
fn with(attributes: &str, types: &str, names: &str) -> String {
    let first = "#slow5_version\t0.2.0\n#num_read_groups\t2\n";
    format!("{first}{attributes}{TYPES}{types}\n{NAMES}{names}\n")
}

fn parsed(text: &str) -> Result<SignalHeader, String> {
    match parse_text(text.as_bytes()) {
        Ok(Some((header, bytes))) => {
            assert_eq!(bytes, text.len());
            Ok(header)
        }
        Ok(None) => Err("not whole".into()),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn a_header_of_everything_comes_back() {
    let text = with(
        "@asic\t7\t.\n@run_id\ta b\tc,d\n",
        "\tint8_t\tchar*\tenum{A,_b,C3}\tenum*{X}\tdouble*",
        "\ta\tb\tc\td\te",
    );
    let header = parsed(&text).unwrap();
    assert_eq!((header.version, header.read_groups), (Slow5Version::V0_2_0, 2));
    assert_eq!(header.attributes[&b"asic"[..]], [b"7".to_vec(), Vec::new()]);
    assert_eq!(header.auxiliary.len(), 5);
    let labels = [b"A".to_vec(), b"_b".to_vec(), b"C3".to_vec()];
    assert_eq!(header.auxiliary[2].kind, AuxiliaryType::Enum(labels.to_vec()));
    assert!(header.auxiliary[3].is_array && header.auxiliary[4].is_array);
    let mut out = Vec::new();
    append_text(&header, &mut out);
    assert_eq!(String::from_utf8(out).unwrap(), text);
}

#[test]
fn what_follows_the_header_is_left_alone() {
    let text = with("", "", "") + "read\t...";
    let (_, bytes) = parse_text(text.as_bytes()).unwrap().unwrap();
    assert_eq!(&text[bytes..], "read\t...");
}

#[test]
fn a_header_cut_anywhere_is_not_whole() {
    let text = with("@a\t1\t2\n", "\tchar", "\tx");
    let header = parsed(&text).unwrap();
    let mut binary = Vec::new();
    append_binary(&header, Compression::default(), &mut binary).unwrap();
    for cut in 0..text.len() {
        assert_eq!(parse_text(&text.as_bytes()[..cut]), Ok(None), "cut at {cut}");
    }
    for cut in 0..binary.len() {
        assert_eq!(parse_binary(&binary[..cut]), Ok(None), "cut at {cut}");
    }
    let (again, compression, bytes) = parse_binary(&binary).unwrap().unwrap();
    assert_eq!((again, compression, bytes), (header, Compression::default(), binary.len()));
}

#[test]
fn malformed_text_is_refused_with_its_line() {
    fn t(text: &str, expected: &str) {
        let error = parsed(text).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
    t("#slow6", "not a SLOW5 file");
    t("BLOW5", "not a SLOW5 file");
    t("#slow5_version\t0.2\n", "line 1 of the header: version");
    t("#slow5_version\t0.2.0.1\n", "line 1 of the header: version");
    t("#slow5_version\t0.2.0\r\n", "line 1 of the header: version");
    t("#slow5_version\t0.2.256\n", "line 1 of the header: version");
    t("#slow5_version\t1.1.0\n", "version 1.1.0 is not known");
    t("#slow5_version\t0.3.0\n", "version 0.3.0 is not known");
    t("#slow5_version\t1.0.1\n", "version 1.0.1 is not known");
    let groups = |line: &str| format!("#slow5_version\t0.2.0\n{line}\n");
    for bad in ["#num_read_groups\t0", "#num_read_groups\t4294967296", "#num_read_groups", "@a\tb"]
    {
        t(&groups(bad), "line 2 of the header: expected #num_read_groups");
    }
    t(&with("x\n", "", ""), "line 3 of the header: expected an attribute");
    t(&with("\n", "", ""), "line 3 of the header: expected an attribute");
    t(&with("@a\t1\n", "", ""), "line 3 of the header: attribute a has 1 values for 2");
    t(&with("@a\t1\t2\t3\n", "", ""), "attribute a has 3 values for 2");
    t(&with("@a\n", "", ""), "attribute a has 0 values for 2");
    t(&with("@\t1\t2\n", "", ""), "attribute  is empty");
    t(&with("@a\t1\t2\n@a\t1\t2\n", "", ""), "line 4 of the header: attribute a comes twice");
    t(&with("", "\tint9_t", "\ta"), "line 3 of the header: auxiliary type int9_t is not known");
    t(&with("", "\tint8_t**", "\ta"), "auxiliary type int8_t** is not known");
    t(&with("", "x", "\ta"), "auxiliary type x is not known");
    t(&with("", "\t", "\ta"), "auxiliary type  is not known");
    let labels = ["", "{}", "{A,}", "{A,A}", "{1A}", "{A B}", "{A", "A}", "{A-b}", "*", "{A}*"];
    for bad in labels {
        t(&with("", &format!("\tenum{bad}"), "\ta"), "are not 1 to 255 different C identifiers");
    }
    t(&with("", "\tint8_t", ""), "1 auxiliary types for 0 auxiliary names");
    t(&with("", "", "\ta"), "0 auxiliary types for 1 auxiliary names");
    t(&with("", "\tchar\tchar", "\ta\ta"), "auxiliary name \"a\"");
    t(&with("", "\tchar", "\t"), "auxiliary name \"\"");
    t(&with("", "", "x"), "line 4 of the header: expected the names");
}

#[test]
fn an_enum_has_at_most_255_labels() {
    let labels = |count: usize| (0..count).map(|label| format!("L{label}")).collect::<Vec<_>>();
    let header =
        |count| parsed(&with("", &format!("\tenum{{{}}}", labels(count).join(",")), "\te"));
    let AuxiliaryType::Enum(found) = &header(255).unwrap().auxiliary[0].kind else { panic!() };
    assert_eq!(found.len(), 255);
    assert!(header(256).is_err());
}

/// A binary header with some bytes changed.
fn binary(changes: &[(usize, u8)]) -> Vec<u8> {
    let header = parsed(&with("@a\t1\t2\n", "", "")).unwrap();
    let mut out = Vec::new();
    let compression =
        Compression { record: RecordCompression::Zstd, signal: SignalCompression::ExZd };
    append_binary(&header, compression, &mut out).unwrap();
    for &(at, byte) in changes {
        out[at] = byte;
    }
    out
}

#[test]
fn the_fixed_part_is_checked() {
    fn t(changes: &[(usize, u8)], expected: Result<Compression, &str>) {
        let outcome = match parse_binary(&binary(changes)) {
            Ok(parsed) => Ok(parsed.unwrap().1),
            Err(error) => Err(error.to_string()),
        };
        match (outcome, expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected),
            (Err(error), Err(expected)) => assert!(error.contains(expected), "{error}"),
            other => panic!("{changes:?}: {other:?}"),
        }
    }
    use {RecordCompression as Record, SignalCompression as Signal};
    let of = |record, signal| Ok(Compression { record, signal });
    t(&[], of(Record::Zstd, Signal::ExZd));
    t(&[(9, 0), (14, 1)], of(Record::None, Signal::SvbZd));
    t(&[(9, 1), (14, 0)], of(Record::Zlib, Signal::None));
    // Reserved bytes are not looked at.
    t(&[(15, 1), (63, 9)], of(Record::Zstd, Signal::ExZd));
    // The byte of signal compression counts from version 0.2.0 on.
    t(&[(7, 1), (14, 77)], of(Record::Zstd, Signal::None));
    t(&[(6, 1), (7, 0)], of(Record::Zstd, Signal::ExZd));
    t(&[(6, 1), (7, 1)], Err("version 1.1.0 is not known"));
    t(&[(0, b'b')], Err("not a BLOW5 file"));
    t(&[(5, 2)], Err("not a BLOW5 file"));
    t(&[(9, 3)], Err("record compression 3 is not known"));
    t(&[(9, 250)], Err("record compression 250 is not known"));
    t(&[(14, 3)], Err("signal compression 3 is not known"));
    t(&[(10, 0)], Err("number of at least 1"));
    t(&[(10, 3)], Err("attribute a has 2 values for 3"));
    t(&[(67, 255)], Err("longer than"));
    let text_bytes = binary(&[]).len() - 68;
    t(&[(64, text_bytes as u8 - 1)], Err("bytes, "));
}

#[test]
fn text_of_another_length_than_stated_is_refused() {
    let mut longer = binary(&[]);
    let stated = (longer.len() - 68 + 1) as u32;
    longer.push(b'x');
    longer[64..68].copy_from_slice(&stated.to_le_bytes());
    let error = parse_binary(&longer).unwrap_err();
    let (stated_bytes, parsed_bytes) = (stated as usize, stated as usize - 1);
    assert_eq!(error, HeaderError::TextLength { stated_bytes, parsed_bytes });
}

#[test]
fn a_version_too_old_for_the_compression_is_raised() {
    fn t(version: Slow5Version, record: RecordCompression, signal: SignalCompression) -> [u8; 3] {
        let header = SignalHeader { version, ..SignalHeader::default() };
        let mut out = Vec::new();
        append_binary(&header, Compression { record, signal }, &mut out).unwrap();
        [out[6], out[7], out[8]]
    }
    use {RecordCompression as Record, SignalCompression as Signal};
    assert_eq!(t(Slow5Version::V0_1_0, Record::Zlib, Signal::None), [0, 1, 0]);
    assert_eq!(t(Slow5Version::V0_1_0, Record::Zstd, Signal::None), [0, 2, 0]);
    assert_eq!(t(Slow5Version::V0_1_0, Record::None, Signal::SvbZd), [0, 2, 0]);
    assert_eq!(t(Slow5Version::V0_1_0, Record::None, Signal::ExZd), [0, 2, 0]);
    assert_eq!(t(Slow5Version::V1_0_0, Record::Zstd, Signal::ExZd), [1, 0, 0]);
}

#[test]
fn what_cannot_be_read_again_is_not_written() {
    fn t(change: impl Fn(&mut SignalHeader), expected: &str) {
        let mut header = SignalHeader { read_groups: 2, ..SignalHeader::default() };
        header.attributes.insert(b"a".to_vec(), vec![b"1".to_vec(), Vec::new()]);
        assert_eq!(check(&header), Ok(()));
        change(&mut header);
        let error = check(&header).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        let mut out = b"before".to_vec();
        append_binary(&header, Compression::NONE, &mut out).unwrap_err();
        assert_eq!(out, b"before");
    }
    let field = |name: &[u8], kind| AuxiliaryField { name: name.to_vec(), kind, is_array: false };
    let put = |header: &mut SignalHeader, name: &[u8], value: &[u8]| {
        header.attributes.insert(name.to_vec(), vec![value.to_vec(); 2]);
    };
    t(|header| header.version = Slow5Version(1, 1, 0), "version 1.1.0");
    t(|header| header.read_groups = 0, "at least 1");
    t(|header| header.read_groups = 3, "attribute a has 2 values for 3");
    t(|header| put(header, b"", b"x"), "is empty or has a tab");
    t(|header| put(header, b"b", b"x\ty"), "attribute b is empty or has a tab");
    t(|header| put(header, b"b\n", b"x"), "is empty or has a tab");
    let bad = [&b""[..], b"x\ty", b"z\n"];
    for name in bad {
        t(|header| header.auxiliary.push(field(name, AuxiliaryType::I8)), "auxiliary name");
    }
    t(|header| header.auxiliary = vec![field(b"x", AuxiliaryType::I8); 2], "auxiliary name \"x\"");
    let labels = || AuxiliaryType::Enum(vec![b"A".to_vec()]);
    t(
        |header| {
            header.version = Slow5Version::V0_1_0;
            header.auxiliary.push(field(b"x", labels()));
        },
        "enums need version 0.2.0",
    );
    t(|header| header.auxiliary.push(field(b"x", AuxiliaryType::Enum(Vec::new()))), "labels of x");
}

/// Headers of every shape that can be written.
fn headers() -> impl Strategy<Value = SignalHeader> {
    let labels = prop::collection::btree_set("[A-Za-z_][A-Za-z0-9_]{0,3}", 1..5)
        .prop_map(|labels| labels.into_iter().map(String::into_bytes).collect());
    let kind = prop_oneof![
        Just(AuxiliaryType::I8),
        Just(AuxiliaryType::U64),
        Just(AuxiliaryType::F32),
        Just(AuxiliaryType::Char),
        labels.prop_map(AuxiliaryType::Enum),
    ];
    let fields = prop::collection::btree_map("[a-z ]{1,4}", (kind, any::<bool>()), 0..5);
    let version = prop::sample::select(vec![Slow5Version::V0_2_0, Slow5Version::V1_0_0]);
    (version, 1_u32..4, fields).prop_flat_map(|(version, read_groups, fields)| {
        let fields = fields.into_iter().map(|(name, (kind, is_array))| AuxiliaryField {
            name: name.into_bytes(),
            kind,
            is_array,
        });
        let auxiliary: Vec<_> = fields.collect();
        let value = "[ -~]{0,6}".prop_filter("a point is missing", |value| value != ".");
        let values =
            prop::collection::vec(value.prop_map(String::into_bytes), read_groups as usize);
        let name = "[ -~]{1,5}".prop_map(String::into_bytes);
        prop::collection::btree_map(name, values, 0..5).prop_map(move |attributes| SignalHeader {
            version,
            read_groups,
            attributes,
            auxiliary: auxiliary.clone(),
        })
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read(header in headers()) {
        prop_assert_eq!(check(&header), Ok(()));
        let mut out = Vec::new();
        append_text(&header, &mut out);
        prop_assert_eq!(parse_text(&out), Ok(Some((header.clone(), out.len()))));
        out.clear();
        append_binary(&header, Compression::NONE, &mut out).unwrap();
        let expected = (header, Compression::NONE, out.len());
        prop_assert_eq!(parse_binary(&out), Ok(Some(expected)));
    }
}
