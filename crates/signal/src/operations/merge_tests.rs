//! Files put together: order, headers, what does not go together.

use super::*;

fn field(name: &str, kind: AuxiliaryType) -> AuxiliaryField {
    let is_array = kind == AuxiliaryType::Char;
    AuxiliaryField { name: name.into(), kind, is_array }
}

fn labels(labels: &str) -> AuxiliaryType {
    AuxiliaryType::Enum(labels.split(',').map(|label| label.as_bytes().to_vec()).collect())
}

/// A header of one read group for each list of `name=value`.
fn header(groups: &[&str], auxiliary: Vec<AuxiliaryField>) -> SignalHeader {
    let mut header =
        SignalHeader { read_groups: groups.len() as u32, auxiliary, ..SignalHeader::default() };
    for (group, text) in groups.iter().enumerate() {
        for (name, value) in text.split(' ').filter_map(|pair| pair.split_once('=')) {
            let values = header
                .attributes
                .entry(name.into())
                .or_insert_with(|| vec![Vec::new(); groups.len()]);
            values[group] = value.into();
        }
    }
    header
}

fn union(differences: Differences, keep_order: bool) -> HeaderUnion {
    let widen = false;
    HeaderUnion::new(UnionOptions { keep_auxiliary: true, differences, keep_order, widen })
}

fn widening() -> HeaderUnion {
    HeaderUnion::new(UnionOptions {
        keep_auxiliary: true,
        differences: Differences::First,
        keep_order: true,
        widen: true,
    })
}

fn mux() -> Vec<AuxiliaryField> {
    vec![field("mux", AuxiliaryType::U8)]
}

#[test]
fn runs_become_read_groups() {
    let mut union = union(Differences::Refuse, false);
    let path = Path::new("f");
    let first = union.add(path, &header(&["run_id=a x=1"], mux())).unwrap();
    let second = union.add(path, &header(&["run_id=b y=2", "run_id=a x=1"], mux())).unwrap();
    assert_eq!((&*first, &*second), ([0].as_slice(), [1, 0].as_slice()));
    let header = union.into_header();
    assert_eq!(header.read_groups, 2);
    let values = |name: &[u8]| header.attributes[name].clone();
    assert_eq!(values(b"run_id"), [b"a", b"b"]);
    assert_eq!(values(b"x"), [b"1".as_slice(), b""]);
    assert_eq!(values(b"y"), [b"".as_slice(), b"2"]);
}

#[test]
fn every_difference_within_a_run_counts() {
    let mut strict = union(Differences::Refuse, false);
    let path = Path::new("f");
    strict.add(path, &header(&["run_id=a x=1 y=2"], mux())).unwrap();
    let error = strict.add(path, &header(&["run_id=a x=2"], mux())).unwrap_err();
    assert!(error.to_string().contains("run_id a: x, y"), "{error}");
    // A later file that agrees does not take it back.
    strict.add(path, &header(&["run_id=a x=1 y=2"], mux())).unwrap();

    let mut lax = union(Differences::Empty, false);
    lax.add(path, &header(&["run_id=a x=1 y=2"], mux())).unwrap();
    lax.add(path, &header(&["run_id=a x=2 y=2 z=3"], mux())).unwrap();
    assert_eq!(lax.take_warnings().len(), 1);
    let joined = lax.into_header();
    let values = |name: &[u8]| joined.attributes[name][0].clone();
    assert_eq!((values(b"x"), values(b"y"), values(b"z")), (vec![], vec![b'2'], vec![]));

    let mut first = union(Differences::First, false);
    first.add(path, &header(&["run_id=a x=1"], mux())).unwrap();
    first.add(path, &header(&["run_id=a x=2 z=3"], mux())).unwrap();
    assert_eq!(first.take_warnings().len(), 1);
    let joined = first.into_header();
    assert_eq!(joined.attributes[b"x".as_slice()], [b"1"]);
    assert!(!joined.attributes.contains_key(b"z".as_slice()));
}

#[test]
fn fields_are_joined_by_name() {
    let path = Path::new("f");
    let ends = field("end_reason", labels("a,b"));
    let mut union = union(Differences::Refuse, false);
    union.add(path, &header(&["run_id=a"], vec![mux()[0].clone(), ends.clone()])).unwrap();
    let time = field("a_time", AuxiliaryType::U64);
    union.add(path, &header(&["run_id=b"], vec![time])).unwrap();
    for wrong in [
        field("mux", AuxiliaryType::U16),
        field("end_reason", AuxiliaryType::U8),
        field("end_reason", labels("b,a")),
        field("end_reason", labels("a,b,c")),
        field("a_time", labels("a")),
    ] {
        let error = union.add(path, &header(&["run_id=c"], vec![wrong])).unwrap_err();
        assert!(matches!(error.misfit, Misfit::Type { .. }), "{error}");
    }
    let none = union.add(path, &header(&["run_id=c"], Vec::new())).unwrap_err();
    assert!(matches!(none.misfit, Misfit::NoAuxiliary));
    let nameless = union.add(path, &header(&["x=c"], mux())).unwrap_err();
    assert!(matches!(nameless.misfit, Misfit::NoRunId { .. }));
    let header = union.into_header();
    let names: Vec<_> = header.auxiliary.iter().map(|field| field.name.as_slice()).collect();
    assert_eq!(names, [b"end_reason".as_slice(), b"a_time", b"mux"]);
}

#[test]
fn labels_of_several_files_become_one_list() {
    let path = Path::new("f");
    let ends = |text: &str| field("end_reason", labels(text));
    let mut union = widening();
    union.add(path, &header(&["run_id=a"], vec![ends("a,b")])).unwrap();
    union.add(path, &header(&["run_id=b"], vec![mux()[0].clone(), ends("c,b")])).unwrap();
    union.add(path, &header(&["run_id=c"], Vec::new())).unwrap();
    union.add(path, &header(&["run_id=d"], vec![ends("b,a")])).unwrap();
    let many: Vec<String> = (0..253).map(|label| format!("l{label}")).collect();
    let error = union.add(path, &header(&["run_id=e"], vec![ends(&many.join(","))]));
    assert!(matches!(error.unwrap_err().misfit, Misfit::Labels { .. }));
    let array = AuxiliaryField { is_array: true, ..ends("a,b") };
    let error = union.add(path, &header(&["run_id=e"], vec![array])).unwrap_err();
    assert!(matches!(error.misfit, Misfit::Type { .. }));
    assert_eq!(union.into_header().auxiliary, [ends("a,b,c"), mux()[0].clone()]);

    fn t(from: &str, to: &str, values: &[u8], expected: &[u8]) {
        let [from, to] = [from, to].map(|text| field("end_reason", labels(text)));
        let mut read = SignalRead::default();
        read.auxiliary.push(values);
        FieldMap::new(&[from], &[to]).apply(&mut read);
        assert_eq!(read.auxiliary.get(0), expected);
    }
    t("c,b", "a,b,c", &[0], &[2]);
    t("c,b", "a,b,c", &[1], &[1]);
    t("c,b", "a,b,c", &[255], &[255]);
    t("c,b", "a,b,c", &[2], &[255]);
    t("c,b", "a,b", &[0], &[255]);
}

#[test]
fn a_file_that_does_not_fit_leaves_nothing_behind() {
    let path = Path::new("f");
    let mut union = widening();
    union.add(path, &header(&["run_id=a"], mux())).unwrap();
    let new = field("new", AuxiliaryType::U8);
    let wrong = field("mux", AuxiliaryType::U16);
    union.add(path, &header(&["run_id=b"], vec![new.clone(), wrong])).unwrap_err();
    union.add(path, &header(&["run_id=b y=1", "y=1"], vec![new])).unwrap_err();
    let groups = union.add(path, &header(&["run_id=c"], mux())).unwrap();
    assert_eq!(*groups, [1]);
    let header = union.into_header();
    assert_eq!((header.read_groups, header.auxiliary), (2, mux()));
    assert!(!header.attributes.contains_key(b"y".as_slice()));
}

#[test]
fn integers_become_strings_where_other_files_have_strings() {
    let path = Path::new("f");
    for order in
        [[AuxiliaryType::Char, AuxiliaryType::I16], [AuxiliaryType::I16, AuxiliaryType::Char]]
    {
        let mut union = union(Differences::Refuse, true);
        for (kind, run) in order.into_iter().zip(["run_id=a", "run_id=b"]) {
            union.add(path, &header(&[run], vec![field("channel", kind)])).unwrap();
        }
        assert_eq!(union.into_header().auxiliary, [field("channel", AuxiliaryType::Char)]);
    }
    fn t(kind: AuxiliaryType, value: &[u8], expected: &str) {
        let mut read = SignalRead::default();
        read.auxiliary.push(value);
        let to = [field("c", AuxiliaryType::Char)];
        FieldMap::new(&[field("c", kind)], &to).apply(&mut read);
        assert_eq!(read.auxiliary.get(0), expected.as_bytes());
    }
    t(AuxiliaryType::I16, &481_i16.to_le_bytes(), "481");
    t(AuxiliaryType::I16, &(-2_i16).to_le_bytes(), "-2");
    t(AuxiliaryType::I16, &i16::MAX.to_le_bytes(), "");
    t(AuxiliaryType::U8, &[254], "254");
    t(AuxiliaryType::U64, &(u64::MAX - 1).to_le_bytes(), "18446744073709551614");
    t(AuxiliaryType::I64, &i64::MIN.to_le_bytes(), "-9223372036854775808");
}

#[test]
fn the_order_of_fields_can_be_kept() {
    fn t(keep_order: bool, second: &[&str], expected: &[&str]) {
        let fields = |names: &[&str]| -> Vec<_> {
            names.iter().map(|name| field(name, AuxiliaryType::U8)).collect()
        };
        let mut union = union(Differences::Refuse, keep_order);
        union.add(Path::new("f"), &header(&["run_id=a"], fields(&["b", "a"]))).unwrap();
        union.add(Path::new("f"), &header(&["run_id=b"], fields(second))).unwrap();
        assert_eq!(union.into_header().auxiliary, fields(expected));
    }
    t(true, &["b", "a"], &["b", "a"]);
    t(true, &["a", "b"], &["b", "a"]);
    t(true, &["c", "a", "0"], &["b", "a", "c", "0"]);
    t(false, &["b", "a"], &["a", "b"]);
}

#[test]
fn values_go_where_their_fields_are() {
    let from = [field("a", AuxiliaryType::U8), field("s", AuxiliaryType::Char)];
    let to = [
        field("s", AuxiliaryType::Char),
        field("n", AuxiliaryType::U16),
        field("t", AuxiliaryType::Char),
        field("a", AuxiliaryType::U8),
    ];
    let mut read = SignalRead::default();
    read.auxiliary.push(&[7]);
    read.auxiliary.push(b"text");
    let mut map = FieldMap::new(&from, &to);
    map.apply(&mut read);
    let values: Vec<_> = read.auxiliary.iter().collect();
    assert_eq!(values, [b"text".as_slice(), &[255, 255], b"", &[7]]);
    assert!(FieldMap::new(&from, &from).is_identity());
    FieldMap::new(&to, &[]).apply(&mut read);
    assert!(read.auxiliary.is_empty());
}
