//! Orders as tables and properties; the referees themselves run in `tests/orders`.

use super::*;
use crate::test_records::body;
use proptest::prelude::*;
use seqloom_format::bam::Reference;

const ORDERS: [SortOrder; 5] = [
    SortOrder::Coordinate,
    SortOrder::CoordinatePicard,
    SortOrder::QueryName,
    SortOrder::QueryNamePicard,
    SortOrder::Keep,
];

#[test]
fn natural_order_is_that_of_samtools() {
    // Each before the next, as `samtools sort -n` 1.24 puts them, but for those that are
    // equal to it.
    fn t(names: &[&str]) {
        for (index, left) in names.iter().enumerate() {
            for (other, right) in names.iter().enumerate() {
                let (left, right) = (left.as_bytes(), right.as_bytes());
                assert_eq!(natural::compare(left, right), index.cmp(&other), "{names:?}");
            }
        }
    }
    t(&["a001", "a01", "a1", "a0001a", "a1b", "a01z", "a2", "a10", "b"]);
    t(&["1", "01/0", "1/0", "001/1", "a"]);
    t(&["a", "a000", "a00", "a0", "a1"]);
    t(&["a", "a00b", "a0b", "ab", "b"]);
    t(&["", "x01y1", "x1y1", "x01y02", "x01y2", "x1y02"]);
    t(&["a99999999", "a999999999", "a0999999999x", "a9999999999", "a99999999999999999999999"]);
    t(&["a/", "a0", "a9", "a:"]);
    assert_eq!(natural::compare(b"a\0b", b"a\0c"), Ordering::Equal);
}

/// Names that are hard to order: digits, zeros, beginnings of each other, long numbers.
fn name() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        "[0-2]{0,3}",
        "0{0,12}[0-9]{0,12}",
        "[a:/]{0,2}",
        Just("SRR1:1101:".to_owned()),
        "[\\x01-\\x7e]{0,2}",
    ];
    prop::collection::vec(part, 0..5).prop_map(|parts| parts.concat())
}

/// Records that collide in everything.
fn record() -> impl Strategy<Value = Vec<u8>> {
    let flag = prop::sample::select(vec![0x1, 0x10, 0x40, 0x80, 0x100, 0x400, 0x800]);
    let flags = prop::collection::vec(flag, 0..5);
    let rest = (-1..3_i32, -1..3_i32, 0..2_i32, -1..2_i32);
    let hit = prop_oneof![Just(None), (-2..3_i8).prop_map(Some)];
    (name(), flags, -1..2_i32, -1..3_i32, rest, hit, any::<bool>()).prop_map(
        |(name, flags, reference, position, (mate, mate_position, mapq, length), hit, text)| {
            let flags = flags.into_iter().fold(0, |sum, flag| sum | flag);
            let mut body = body(&name, flags, reference, position, 3);
            body[9] = mapq as u8;
            body[20..24].copy_from_slice(&mate.to_le_bytes());
            body[24..28].copy_from_slice(&mate_position.to_le_bytes());
            body[28..32].copy_from_slice(&length.to_le_bytes());
            match hit {
                Some(_) if text => body.extend_from_slice(b"HIZx\0"),
                Some(hit) => body.extend_from_slice(&[b'H', b'I', b'c', hit as u8]),
                None => {}
            }
            body
        },
    )
}

proptest! {
    #[test]
    fn text_of_names_is_in_natural_order(left in name(), right in name()) {
        let text = |name: &str| {
            let mut text = Vec::new();
            natural::append_text(name.as_bytes(), &mut text);
            text
        };
        let by_text = text(&left).cmp(&text(&right));
        prop_assert_eq!(by_text, natural::compare(left.as_bytes(), right.as_bytes()));
    }

    #[test]
    fn orders_are_total_and_keys_never_contradict_them(
        bodies in prop::collection::vec(record(), 1..12),
    ) {
        let records: Vec<_> = bodies.iter().map(|body| RecordRef::new(body).unwrap()).collect();
        for order in ORDERS {
            let mut keys = PrefixKeys::new(order);
            records.iter().for_each(|record| keys.note(record));
            let keys: Vec<u64> = (0..).zip(&records).map(|(i, it)| keys.key(it, i)).collect();
            for (i, a) in records.iter().enumerate() {
                for (j, b) in records.iter().enumerate() {
                    let whole = order.compare(a, b);
                    prop_assert_eq!(whole, order.compare(b, a).reverse());
                    let by_key = keys[i].cmp(&keys[j]);
                    if order == SortOrder::Keep {
                        prop_assert_eq!(by_key, i.cmp(&j));
                    } else if order.is_key_whole() {
                        prop_assert_eq!(by_key, whole);
                    } else if by_key != Ordering::Equal {
                        prop_assert_eq!(by_key, whole, "{:?} {:?} {:?}", order, a.name(), b.name());
                    }
                    for c in &records {
                        if whole.is_le() && order.compare(b, c).is_le() {
                            prop_assert!(order.compare(a, c).is_le(), "{:?}", order);
                        }
                    }
                    // What partitions are cut by.
                    let [mut left, mut right] = [Vec::new(), Vec::new()];
                    order.append_text(a, &mut left);
                    order.append_text(b, &mut right);
                    let no_coordinate = a.reference_id() < 0 && b.reference_id() < 0;
                    let by_text = order.is_by_name() || no_coordinate;
                    if by_text && left != right {
                        prop_assert_eq!(left.cmp(&right), whole);
                    }
                }
            }
        }
    }
}

#[test]
fn picard_looks_at_everything_that_samtools_leaves_equal() {
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut body = body("n", 0x41, 0, 5, 3);
        change(&mut body);
        body
    };
    let set = |at: usize, value: u8| with(&|body: &mut Vec<u8>| body[at] = value);
    let hit = |bytes: &'static [u8]| with(&|body: &mut Vec<u8>| body.extend_from_slice(bytes));
    let flags =
        |flags: u16| with(&|body: &mut Vec<u8>| body[14..16].copy_from_slice(&flags.to_le_bytes()));
    let t = |order: SortOrder, first: &[u8], second: &[u8]| {
        let records = [first, second].map(|body| RecordRef::new(body).unwrap());
        assert_eq!(order.compare(&records[0], &records[1]), Ordering::Less, "{order:?}");
    };
    let plain = with(&|_| {});
    let coordinate = SortOrder::CoordinatePicard;
    // The name, MAPQ, mate's reference, its position, TLEN; before all the strand.
    t(coordinate, &plain, &set(32, b'o'));
    t(coordinate, &set(9, 59), &plain);
    t(coordinate, &plain, &with(&|b| b[20..24].fill(0)));
    t(coordinate, &plain, &with(&|b| b[24..28].fill(0)));
    t(coordinate, &with(&|b| b[28..32].fill(0xff)), &plain);
    t(coordinate, &flags(0x41), &flags(0x43));
    t(coordinate, &set(32, b'o'), &flags(0x51));
    let name = SortOrder::QueryNamePicard;
    t(name, &flags(0x81), &flags(0x40));
    t(name, &flags(0x51), &flags(0x81));
    t(name, &flags(0x141), &flags(0x51));
    t(name, &flags(0x841), &flags(0x141));
    t(name, &plain, &hit(b"HIC\0"));
    t(name, &hit(b"HIC\x09"), &hit(b"HIs\x0a\0"));
    t(name, &hit(b"HIc\xff"), &hit(b"HIC\xff"));
}

#[test]
fn headers_say_what_the_order_is() {
    fn t(order: SortOrder, before: &str, after: &str) {
        let mut header = Header::parse(before.as_bytes()).unwrap();
        order.describe_in(&mut header);
        assert_eq!(String::from_utf8(header.text()).unwrap(), after);
    }
    let before = "@HD\tVN:1.5\tSO:coordinate\tGO:query\tSS:coordinate:foo\tXX:keep\n";
    let by_name = "@HD\tVN:1.5\tSO:queryname\tSS:queryname:natural\tXX:keep\n";
    t(SortOrder::QueryName, before, by_name);
    t(SortOrder::QueryNamePicard, before, "@HD\tVN:1.5\tSO:queryname\tXX:keep\n");
    t(SortOrder::CoordinatePicard, before, "@HD\tVN:1.5\tSO:coordinate\tXX:keep\n");
    t(SortOrder::Keep, before, before);
    let mut header = Header::from_references(vec![Reference { name: "c".into(), length: 9 }]);
    SortOrder::Coordinate.describe_in(&mut header);
    assert_eq!(header.text(), b"@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:c\tLN:9\n");
}

#[test]
fn orders_have_names() {
    for (name, order) in NAMES {
        assert_eq!(name.parse(), Ok(order));
    }
    assert!("Coordinate".parse::<SortOrder>().unwrap_err().to_string().contains("'Coordinate'"));
}
