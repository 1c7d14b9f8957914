//! Bytes that are compressed in every way come back.

use proptest::prelude::*;

use super::*;
use crate::read::codecs::rans_nx16::decompress;

const WAYS: [Way; 8] = [
    Way::PLAIN,
    Way::IN_CONTEXT,
    Way::RUNS,
    Way::RUNS_IN_CONTEXT,
    Way::PACKED,
    Way { packed: true, ..Way::IN_CONTEXT },
    Way { in_context: false, runs: true, packed: true },
    Way { in_context: true, runs: true, packed: true },
];

/// All ways and stripes give the data back; the sizes of all ways.
#[track_caller]
fn check(data: &[u8]) -> Vec<usize> {
    let (mut scratch, mut out) = (Scratch::default(), Vec::new());
    let mut sizes = Vec::new();
    for way in WAYS {
        compress(way, data, &mut scratch, &mut out);
        assert!(out.len() <= data.len() + 32, "{way:?}: {} of {}", out.len(), data.len());
        assert!(decompress(&out, data.len()).unwrap() == data, "{way:?} {} bytes", data.len());
        sizes.push(out.len());
    }
    for stripes in [2, 4, 7] {
        compress_striped(stripes, data, &mut scratch, &mut out);
        assert!(decompress(&out, data.len()).unwrap() == data, "{stripes} {}", data.len());
    }
    sizes
}

/// Bytes of an alphabet, the first of which are frequent, in runs of about `run`.
fn bytes(count: usize, symbols: u64, run: u64) -> Vec<u8> {
    let mut state = 11_u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
        state >> 33
    };
    let mut data = Vec::new();
    while data.len() < count {
        let symbol = random() % symbols * (random() % symbols) / symbols;
        data.extend((0..=random() % run).map(|_| symbol as u8));
    }
    data.truncate(count);
    data
}

#[test]
fn all_ways_give_bytes_back() {
    for count in [0, 1, 2, 3, 4, 5, 23, 24, 25, 31, 32, 33, 63, 1000, 49_999, 50_000, 50_031] {
        for symbols in [1, 2, 3, 4, 5, 16, 17, 41, 256] {
            check(&bytes(count, symbols, 1));
            check(&bytes(count, symbols, 9));
        }
    }
    check(&[255; 70_000]);
    check(&(0..=255).cycle().take(60_000).collect::<Vec<u8>>());
}

#[test]
fn each_way_is_of_use() {
    let sizes = check(&bytes(100_000, 4, 9));
    let of = |way: Way| sizes[WAYS.iter().position(|&it| it == way).unwrap()];
    assert!(of(Way::IN_CONTEXT) < of(Way::PLAIN), "{sizes:?}");
    assert!(of(Way::RUNS) < of(Way::PLAIN) && of(Way::PACKED) < of(Way::PLAIN), "{sizes:?}");
    assert!(of(Way::RUNS_IN_CONTEXT) < of(Way::RUNS), "{sizes:?}");
    // Numbers that are small.
    let numbers: Vec<u8> = (0..20_000_u32).flat_map(|it| (it * 7 % 300).to_le_bytes()).collect();
    let (mut scratch, mut out) = (Scratch::default(), Vec::new());
    compress_striped(4, &numbers, &mut scratch, &mut out);
    assert!(out.len() < check(&numbers)[0]);
    // One symbol takes no byte.
    compress(Way::PACKED, &[7; 1 << 20], &mut scratch, &mut out);
    assert!(out.len() < 10);
}

proptest! {
    #[test]
    fn any_bytes_come_back(
        data in prop::collection::vec(any::<u8>(), 0..600),
        few in any::<bool>(),
    ) {
        let data: Vec<u8> = data.iter().map(|it| if few { it % 5 } else { *it }).collect();
        check(&data);
    }
}
