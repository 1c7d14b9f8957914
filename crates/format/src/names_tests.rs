//! Names, tags and identifiers against the specification's patterns, and renamed reads.

use super::*;
use proptest::prelude::*;

#[test]
fn read_names_are_those_of_the_pattern() {
    let one_byte: Vec<u8> = (0..=u8::MAX).filter(|&it| check_read_name(&[it]).is_ok()).collect();
    let pattern: Vec<u8> = (b'!'..=b'?').chain(b'A'..=b'~').collect();
    assert_eq!(one_byte, pattern);
    for length in [1, 2, 31, 32, 33, 254] {
        assert_eq!(check_read_name(&b"r".repeat(length)), Ok(()));
    }
    assert_eq!(check_read_name(b""), Err(ReadNameProblem::Empty));
    assert_eq!(check_read_name(&[b'r'; 255]), Err(ReadNameProblem::Long(255)));
    assert_eq!(check_read_name(b"a@b"), Err(ReadNameProblem::Byte { byte: b'@', at: 1 }));
    assert_eq!(check_read_name(b"a\xc3\xa9"), Err(ReadNameProblem::Byte { byte: 0xc3, at: 1 }));
    assert_eq!(check_read_name(b"*"), Ok(()));
}

#[test]
fn renamed_reads_say_what_they_were_as_far_as_sam_lets_them() {
    fn t(name: &[u8], expected: &[u8]) {
        let mut renamed = name.to_vec();
        let length = rename_read(&mut renamed);
        assert_eq!(&renamed[..length], expected, "{}", name.escape_ascii());
    }
    t(b"@at", b"_at");
    t("lésion:1".as_bytes(), b"l__sion:1");
    t(b"a\tb\nc\0d", b"a_b_c_d");
    t(b"good", b"good");
    let long = b"n".repeat(300);
    let head = String::from_utf8(b"n".repeat(237)).unwrap();
    let expected = format!("{head}_{:016x}", fnv1a(&long));
    assert_eq!(expected.len(), MAX_READ_NAME_BYTES);
    t(&long, expected.as_bytes());
}

/// The test vectors of the algorithm's authors.
#[test]
fn the_hash_is_fnv_1a() {
    for (text, hash) in [
        ("", 0xcbf2_9ce4_8422_2325_u64),
        ("a", 0xaf63_dc4c_8601_ec8c),
        ("foobar", 0x8594_4171_f739_67e8),
    ] {
        assert_eq!(fnv1a(text.as_bytes()), hash, "{text}");
    }
}

#[test]
fn sequence_names_are_those_of_the_pattern() {
    let rest = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&*+./:;=?@^_|~-";
    for byte in 0..=u8::MAX {
        let is_first = rest.contains(&byte) && !b"*=".contains(&byte);
        assert_eq!(check_sequence_name(&[byte]).is_ok(), is_first, "{byte}");
        assert_eq!(check_sequence_name(&[b'c', byte]).is_ok(), rest.contains(&byte), "{byte}");
    }
    assert_eq!(check_sequence_name(b""), Err(SequenceNameProblem::Empty));
    let problem = |byte, at| Err(SequenceNameProblem::Byte { byte, at });
    assert_eq!(check_sequence_name(b"a,b"), problem(b',', 1));
    assert_eq!(check_sequence_name(b"x(1)[y]"), problem(b'(', 1));
    assert_eq!(check_sequence_name(b"HLA-A*01:01:01:01"), Ok(()));
    assert_eq!(check_sequence_name(b"gi|224589800|ref|NC_000001.10|"), Ok(()));
}

#[test]
fn values_of_tags_have_their_ranges() {
    assert!(is_tag(*b"RG") && is_tag(*b"1!") && !is_tag(*b"R ") && !is_tag(*b"R\0"));
    assert!(is_character(b'!') && is_character(b'~') && !is_character(b' '));
    assert!(is_text(b"") && is_text(b"a b") && is_text("gr\u{fc}n".as_bytes()));
    for bad in [&b"a\tb"[..], b"a\n", b"\r", b"\0", b"\x1f", b"\x7f"] {
        assert!(!is_text(bad) && !is_read_group_id(bad), "{bad:?}");
    }
    assert!(is_hex(b"") && is_hex(b"1aE3") && !is_hex(b"ABC") && !is_hex(b"AG"));
    let sized: Vec<u8> = (0..=u8::MAX).filter(|&it| array_element_bytes(it).is_some()).collect();
    assert_eq!(sized, b"CIScfis");
    assert!(is_read_group_id(b"lane 1") && !is_read_group_id(b""));
}

proptest! {
    #[test]
    fn every_renamed_read_has_a_name(name in prop::collection::vec(any::<u8>(), 1..600)) {
        let mut renamed = name.clone();
        let length = rename_read(&mut renamed);
        prop_assert_eq!(check_read_name(&renamed[..length]), Ok(()));
        if check_read_name(&name).is_ok() {
            prop_assert_eq!(&renamed[..length], &name[..]);
        }
        // Mates have one name; long names that differ, though it be in the last byte, stay apart.
        let mut again = name.clone();
        prop_assert_eq!(rename_read(&mut again), length);
        prop_assert_eq!(&again, &renamed);
        if name.len() > MAX_READ_NAME_BYTES {
            let mut other = name;
            *other.last_mut().unwrap() ^= 1;
            let length = rename_read(&mut other);
            prop_assert_ne!(&other[..length], &renamed[..length]);
        }
    }
}
