//! `--mode end-to-end` and `--mode local`: records are worth what they say, and reads off the
//! genome are found.
#![allow(clippy::unwrap_used, clippy::panic)]

mod exercise;

use std::ops::Range;
use std::sync::{LazyLock, Mutex, PoisonError};

use exercise::{Bench, TestRead, benches, fuzzed, usual};
use proptest::prelude::*;
use seqloom_modes::{Reported, Strands};

static BENCHES: LazyLock<Mutex<Vec<Bench>>> = LazyLock::new(|| Mutex::new(benches()));

fn letters(count: Range<usize>) -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(prop::sample::select(b"ACGT".to_vec()), count)
}

/// A genome of so many bases with a repeat, and a read off it, of so many, that is whole but for a
/// change of one base.
fn with_read(
    genome: Range<usize>,
    read: Range<usize>,
) -> impl Strategy<Value = (Vec<Vec<u8>>, TestRead, bool)> {
    let ends = (0_usize..200, read, any::<bool>(), any::<prop::sample::Index>());
    (letters(genome), letters(100..300), ends).prop_map(|(mut one, other, ends)| {
        let (from, length, mirrored, at) = ends;
        one.extend_from_within(100..200);
        let from = from.min(one.len() - length);
        let mut bases = one[from..from + length].to_vec();
        let at = at.index(length);
        let changes = at >= 20 || at + 20 < length;
        if changes {
            bases[at] = if bases[at] == b'A' { b'C' } else { b'A' };
        }
        if mirrored {
            let turn = |&b: &u8| b"TGCA"[b"ACGT".iter().position(|&it| it == b).unwrap()];
            bases = bases.iter().rev().map(turn).collect();
        }
        (vec![other, one], (bases, vec![b'I'; length]), changes)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn a_read_with_one_mismatch_is_found(
        (genome, read, changes) in with_read(300..600, 40..120), is_local in any::<bool>(),
    ) {
        is_found(genome, &read, changes, is_local)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 30, ..ProptestConfig::default() })]

    #[test]
    fn a_long_read_with_one_mismatch_is_found(
        (genome, read, changes) in with_read(1400..2000, 400..1025), is_local in any::<bool>(),
    ) {
        is_found(genome, &read, changes, is_local)?;
    }
}

/// Places a read that has one mismatch, if it `changes`, and none else.
fn is_found(
    genome: Vec<Vec<u8>>,
    read: &TestRead,
    changes: bool,
    is_local: bool,
) -> Result<(), TestCaseError> {
    let mut bench = Bench::new(genome);
    bench.set(usual(is_local));
    let length = read.0.len() as i32;
    let found = bench.find(std::slice::from_ref(read), 0);
    let lost = if changes { if is_local { 8 } else { 6 } } else { 0 };
    let least = if is_local { 2 * length - lost } else { -lost };
    prop_assert!(found[0].first().is_some_and(|it| it.score >= least), "{:?}", found);
    let mut options = usual(is_local);
    options.reported = Reported::All;
    bench.set(options);
    let all = bench.find(std::slice::from_ref(read), 0);
    prop_assert_eq!(all[0][0].score, found[0][0].score);
    options.strands = Strands::Forward;
    bench.set(options);
    let forward = bench.find(std::slice::from_ref(read), 0);
    prop_assert!(forward[0].iter().all(|it| !it.is_reverse));
    Ok(())
}

proptest! {
    #[test]
    fn any_bytes_make_reads_whose_records_are_worth_what_they_say(
        data in proptest::collection::vec(any::<u8>(), 0..120),
    ) {
        fuzzed(&mut BENCHES.lock().unwrap_or_else(PoisonError::into_inner), &data);
    }
}
