//! What is encoded comes back.

use super::decode::{self, Tables};
use super::symbol::{TOTAL, normalise};
use super::*;
use proptest::prelude::*;
use seqloom_testkit::random::Random;

fn decompress(bytes: &[u8], raw_bytes: usize) -> Vec<u8> {
    let mut out = vec![9];
    decode::decompress(bytes, raw_bytes, &mut Tables::default(), &mut out).unwrap();
    out
}

fn round_trip(data: &[u8], scratch: &mut Scratch) -> [usize; 2] {
    [Order::Zero, Order::One].map(|order| {
        let mut out = vec![1, 2, 3];
        compress(order, data, scratch, &mut out);
        if !data.is_empty() {
            assert!(decompress(&out, data.len()) == data, "{order:?}, {} bytes", data.len());
        }
        out.len()
    })
}

#[test]
fn hard_bytes_come_back() {
    let mut scratch = Scratch::default();
    assert_eq!(round_trip(&[], &mut scratch), [0, 0]);
    for length in 1..70 {
        round_trip(&vec![0; length], &mut scratch);
        round_trip(&vec![255; length], &mut scratch);
        let ascending: Vec<u8> = (0..length).map(|it| it as u8).collect();
        round_trip(&ascending, &mut scratch);
    }
    let all: Vec<u8> = (0..=255).collect();
    round_trip(&all, &mut scratch);
    round_trip(&all.repeat(40), &mut scratch);
    // A symbol that is all but alone, and rare ones that rounding would lose.
    let mut rare = vec![7; 1 << 20];
    (0..=255).for_each(|byte| rare[usize::from(byte) * 4000] = byte);
    round_trip(&rare, &mut scratch);
}

#[test]
fn frequencies_add_up_and_leave_nobody_out() {
    let t = |counts: &[u32]| {
        let mut frequencies = vec![0; counts.len()];
        normalise(counts, TOTAL, &mut frequencies);
        assert_eq!(frequencies.iter().sum::<u32>(), TOTAL, "{counts:?}");
        assert!(counts.iter().zip(&frequencies).all(|(count, it)| (*count > 0) == (*it > 0)));
    };
    t(&[1]);
    t(&[u32::MAX, 1]);
    t(&[1; 256]);
    t(&[u32::MAX; 256]);
    let mut falling: Vec<u32> = (0..256).map(|it| 1 << (it % 32)).collect();
    t(&falling);
    falling[3] = 0;
    t(&falling);
}

#[test]
fn contexts_pay_where_symbols_depend_on_them() {
    let mut scratch = Scratch::default();
    let mut random = Random::new(5);
    let mut last = 0_u8;
    let data: Vec<u8> = (0..100_000)
        .map(|_| {
            last = if random.chance(0.9) { last } else { random.index(40) as u8 };
            last
        })
        .collect();
    let [alone, in_context] = round_trip(&data, &mut scratch);
    // 40 equal symbols are 5.3 bits each; of a change in ten, 1.0.
    assert!((65_000..68_000).contains(&alone), "{alone}");
    assert!(in_context < 14_500, "{in_context}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn any_bytes_come_back(
        seed in any::<u64>(),
        length in 0..3000_usize,
        symbols in 1..257_usize,
        first in any::<u8>(),
    ) {
        let mut random = Random::new(seed);
        let mut scratch = Scratch::default();
        // Few are frequent.
        let symbol = |random: &mut Random| {
            let bound = random.index(symbols) + 1;
            first.wrapping_add(random.index(bound) as u8)
        };
        let data: Vec<u8> = (0..length).map(|_| symbol(&mut random)).collect();
        round_trip(&data, &mut scratch);
        // Memory that was used brings nothing along.
        round_trip(&data[..length / 2], &mut scratch);
    }
}
