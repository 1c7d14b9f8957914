//! Names come back, and those of Illumina take few bytes.

use proptest::prelude::*;

use super::*;
use crate::read::codecs::names::decompress;

fn packed(names: &[&str]) -> Vec<u8> {
    names.iter().flat_map(|name| [name.as_bytes(), &[0]].concat()).collect()
}

/// Names that come back; their size.
#[track_caller]
fn check(names: &[u8]) -> usize {
    let (mut scratch, mut coder) = (Scratch::default(), rans_nx16::Scratch::default());
    let mut out = Vec::new();
    // Twice: with what the memory holds of the first.
    for _ in 0..2 {
        compress(names, &mut scratch, &mut coder, &mut out);
        let found = decompress(&out, names.len()).unwrap();
        assert_eq!(String::from_utf8_lossy(&found), String::from_utf8_lossy(names));
    }
    out.len()
}

#[test]
fn names_come_back() {
    let t = |names: &[&str]| check(&packed(names));
    t(&["a"]);
    t(&[""]);
    t(&["", "", "a", ""]);
    t(&["a", "a", "b", "a", "b"]);
    t(&["r1", "r2", "r3", "r13", "r300", "r299"]);
    t(&["r001", "r002", "r010", "r10", "r0100", "r0", "r00", "r000"]);
    t(&["x4294967295", "x4294967296", "x999999999", "x0000000001", "x99999999999999999999"]);
    t(&["a.b", "a:b", "a", "ab", "a1b2", "1a2b", "::", ":", "1", "2", "300", "555", "556"]);
    t(&["A:1:x", "A:2:x:y", "A:3", "A", "B:1:x:y:z:1:2:3", "\u{7f}~!"]);
    let long = "a1".repeat(127);
    t(&[&long, "a1", &long, &"a2".repeat(127), &":".repeat(254), &"9".repeat(254)]);
}

#[test]
fn illumina_names_are_small() {
    let mut state = 5_u64;
    let mut random = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
        (state >> 33) % below
    };
    let mut names = Vec::new();
    let mut open: Vec<String> = Vec::new();
    for _ in 0..10_000 {
        let name = match open.len() {
            300.. => open.swap_remove(random(300) as usize),
            _ => {
                let (lane, tile) = (1 + random(2), 1101 + random(78));
                let name = format!(
                    "A00111:222:HABCDEFXX:{lane}:{tile}:{}:{}",
                    random(32_000),
                    random(37_000)
                );
                open.push(name.clone());
                name
            }
        };
        names.extend_from_slice(name.as_bytes());
        names.push(0);
    }
    let size = check(&names);
    // Of a pair: a lane, a tile and two numbers of 15 bits, and which name the mate has.
    assert!(size < 10_000 * 6, "{size} of {}", names.len());
}

proptest! {
    #[test]
    fn any_names_come_back(names in prop::collection::vec("[!-~]{0,20}|[a-c0-9]{1,6}", 1..60)) {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        check(&packed(&names));
    }
}
