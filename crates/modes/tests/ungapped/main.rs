//! `--mode ungapped` finds what a look at every place finds.
#![allow(clippy::unwrap_used, clippy::panic)]

mod exercise;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{LazyLock, Mutex, PoisonError};

use exercise::{Bench, TestRead, all, benches, compare, fuzzed};
use proptest::prelude::*;
use seqloom_format::bam::RecordRef;
use seqloom_modes::ungapped::{Acceptance, SeedAcceptance, UngappedOptions};
use seqloom_modes::{Reported, Strands};
use seqloom_testkit::random::Random;

/// A genome with repeats, some of them mirrored and nearly the same, holes, and short sequences.
fn genome() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let piece = prop_oneof![
        6 => proptest::collection::vec(prop::sample::select(b"ACGT".to_vec()), 1..120),
        2 => (prop::sample::select(b"ACGT".to_vec()), 5_usize..60).prop_map(|(b, n)| vec![b; n]),
        1 => (prop::sample::select(b"NRn".to_vec()), 1_usize..9).prop_map(|(b, n)| vec![b; n]),
    ];
    let pieces = proptest::collection::vec(piece, 2..8);
    let order = proptest::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 1..14);
    (pieces, order, 1_usize..4).prop_map(|(pieces, order, count)| {
        let mut text: Vec<u8> = pieces.concat();
        for (which, mirrored) in order {
            let piece = which.get(&pieces);
            if mirrored {
                let turn = |&b: &u8| b"TGCA"[b"ACGT".iter().position(|&it| it == b).unwrap_or(0)];
                text.extend(piece.iter().rev().map(turn));
            } else {
                text.extend(piece);
            }
        }
        text.truncate(2000);
        text.chunks(text.len().div_ceil(count)).map(<[u8]>::to_vec).collect()
    })
}

/// Bases without a pattern.
fn random(seed: u32, count: usize) -> Vec<u8> {
    let mut random = Random::new(seed.into());
    (0..count).map(|_| random.pick(b"ACGT")).collect()
}

/// Where a read comes from, what of it is changed, and its qualities.
type Origin = (prop::sample::Index, usize, bool, Vec<(prop::sample::Index, u8)>, Vec<u8>);

fn origins() -> impl Strategy<Value = Vec<Origin>> {
    let letter = prop::sample::select(b"ACGTACGTACGTN.R".to_vec());
    let changes = proptest::collection::vec((any::<prop::sample::Index>(), letter), 0..6);
    let qualities = proptest::collection::vec(b'!'..=b'J', 60);
    let one = (any::<prop::sample::Index>(), 15_usize..60, any::<bool>(), changes, qualities);
    proptest::collection::vec(one, 1..12)
}

/// Reads off the genome, over all its borders.
fn reads(genome: &[Vec<u8>], origins: &[Origin]) -> Vec<TestRead> {
    let text = genome.concat();
    let read = |(from, length, mirrored, changes, qualities): &Origin| {
        let from = from.index(text.len());
        let mut bases: Vec<u8> = (0..*length).map(|i| text[(from + i) % text.len()]).collect();
        if *mirrored {
            let turn = |b: &u8| b"TGCAN"[b"ACGT".iter().position(|it| it == b).unwrap_or(4)];
            bases = bases.iter().rev().map(turn).collect();
        }
        for (at, letter) in changes {
            let at = at.index(bases.len());
            bases[at] = *letter;
        }
        (bases, qualities[..*length].to_vec())
    };
    origins.iter().map(read).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn all_placements_are_found_and_no_other(
        genome in genome(), origins in origins(), seed in 5_usize..40, ceiling in 0_u32..150,
    ) {
        let reads = reads(&genome, &origins);
        let mut bench = Bench::new(genome, all(Acceptance::Mismatches(0)));
        for most in 0..=4 {
            compare(&mut bench, &reads, Acceptance::Mismatches(most));
        }
        for mismatches in 0..=3 {
            let rounds = mismatches % 2 == 0;
            let quality_ceiling = ceiling;
            let it = SeedAcceptance { bases: seed, mismatches, quality_ceiling, rounds };
            compare(&mut bench, &reads, Acceptance::Seed(it));
        }
    }

    #[test]
    fn what_is_reported_is_part_of_all(
        genome in genome(), origins in origins(), most in 0_u8..=3, limit in 1_u32..5,
    ) {
        let reads = reads(&genome, &origins);
        let acceptance = Acceptance::Mismatches(most);
        let mut bench = Bench::new(genome, all(acceptance));
        let every: Vec<_> = reads.iter().map(|read| bench.scan(read, acceptance)).collect();
        let mut with = |change: &dyn Fn(&mut UngappedOptions)| {
            let mut options = all(acceptance);
            change(&mut options);
            bench.set(options);
            bench.find(&reads)
        };
        let least = |places: &[exercise::Place]| places.iter().map(|place| place.3).min();
        let some = with(&|it| it.reported = Reported::AtMost(limit));
        let best = with(&|it| it.best_stratum = true);
        let few = with(&|it| it.max_placements = Some(limit));
        let forward = with(&|it| it.strands = Strands::Forward);
        for (number, every) in every.iter().enumerate() {
            let requested = every.len().min(limit as usize);
            prop_assert_eq!(some[number].0.len(), requested);
            let mut fewest: Vec<u32> = every.iter().map(|place| place.3).collect();
            fewest.sort_unstable();
            let mut reported: Vec<u32> = some[number].0.iter().map(|place| place.3).collect();
            reported.sort_unstable();
            prop_assert_eq!(&reported[..], &fewest[..requested]);
            prop_assert!(some[number].0.iter().all(|place| every.contains(place)));

            let stratum = every.iter().filter(|place| Some(place.3) == least(every));
            let stratum: Vec<_> = stratum.copied().collect();
            let mut found = best[number].0.clone();
            found.sort_unstable();
            prop_assert_eq!(found, stratum);

            let too_many = every.len() > limit as usize;
            let suppressed = if too_many { limit + 1 } else { 0 };
            let unmapped = (too_many || every.is_empty()).then_some(suppressed);
            prop_assert_eq!(few[number].1, unmapped);
            prop_assert_eq!(few[number].0.len(), if too_many { 0 } else { every.len() });

            let mut found = forward[number].0.clone();
            found.sort_unstable();
            let expected: Vec<_> = every.iter().filter(|place| !place.2).copied().collect();
            prop_assert_eq!(found, expected);
        }
    }
}

#[test]
fn reads_out_of_bounds_are_unmapped() {
    let genome = vec![random(11, 3000)];
    let bench = Bench::new(genome.clone(), all(Acceptance::Mismatches(1)));
    let read = |length: usize| (genome[0][20..20 + length].to_vec(), vec![b'I'; length]);
    for (length, is_placed) in [(0, false), (1, false), (14, false), (15, true), (1024, true)] {
        let found = bench.find(&[read(length)]);
        assert_eq!(found[0].1.is_none(), is_placed, "{length}");
    }
    for length in [1025, 2000] {
        assert_eq!(bench.find(&[read(length)]), [(Vec::new(), Some(0))]);
    }
}

#[test]
fn of_many_exact_places_some_are_drawn_and_all_are_as_likely() {
    const COPIES: usize = 40;
    const READS: usize = 4000;
    let mut random = Random::new(8);
    let mut bases =
        |count: usize| -> Vec<u8> { (0..count).map(|_| random.pick(b"ACGT")).collect() };
    let repeat = bases(30);
    let mut genome: Vec<u8> =
        (0..COPIES).flat_map(|_| [repeat.clone(), bases(20)].concat()).collect();
    // A copy over a hole and one over the end of a sequence are none.
    genome.extend([&repeat[..15], b"N", &repeat[16..], &repeat[..20]].concat());
    let genome = vec![genome, [&repeat[20..], &bases(40)].concat()];
    let reads = vec![(repeat, vec![b'I'; 30]); READS];
    for requested in [1, 3] {
        for best_stratum in [false, true] {
            let mut options = all(Acceptance::Mismatches(1));
            options.reported = Reported::AtMost(requested);
            options.best_stratum = best_stratum;
            let found = Bench::new(genome.clone(), options).find(&reads);
            let mut counts = BTreeMap::new();
            for (places, _) in &found {
                assert_eq!(places.iter().collect::<BTreeSet<_>>().len(), requested as usize);
                places.iter().for_each(|place| *counts.entry(*place).or_insert(0) += 1);
            }
            assert_eq!(counts.len(), COPIES);
            let expected = READS * requested as usize / COPIES;
            let far = counts.values().find(|count| expected.abs_diff(**count) > expected / 2);
            assert_eq!(far, None, "of about {expected}");
        }
    }
}

#[test]
fn a_read_with_more_placements_than_a_template_holds_is_unmapped() {
    let bench = Bench::new(vec![vec![b'A'; 70_000]], all(Acceptance::Mismatches(0)));
    let read = (vec![b'A'; 20], vec![b'I'; 20]);
    let other = (vec![b'C'; 20], vec![b'I'; 20]);
    let short = (vec![b'C'; 5], vec![b'I'; 5]);
    assert_eq!(bench.find(std::slice::from_ref(&read)), [(Vec::new(), Some(65_537))]);
    for mates in [[&read, &other], [&other, &read], [&read, &short], [&short, &read]] {
        let bodies = bench.find_mates(mates);
        assert_eq!(bodies.len(), 2);
        let suppressed = |body: &Vec<u8>| {
            let record = RecordRef::new(body).unwrap();
            assert_eq!(record.flags() & 0xd, 0xd);
            record.find_aux(*b"XM").unwrap().unwrap().as_int().unwrap()
        };
        assert_eq!(bodies.iter().map(suppressed).max(), Some(65_537));
    }
}

#[test]
fn the_mate_of_a_read_out_of_bounds_is_placed_as_a_single_read_is() {
    let sequence = random(5, 4000);
    let bench = Bench::new(vec![sequence.clone()], all(Acceptance::Mismatches(1)));
    let turn = |&b: &u8| b"TGCA"[b"ACGT".iter().position(|&it| it == b).unwrap()];
    let good = (sequence[100..150].iter().rev().map(turn).collect(), vec![b'I'; 50]);
    for bad in [(vec![b'A'; 14], vec![b'I'; 14]), (sequence[..1025].to_vec(), vec![b'I'; 1025])] {
        for (placed, mates) in [(0, [&good, &bad]), (1, [&bad, &good])] {
            let bodies = bench.find_mates(mates);
            let records: Vec<_> = bodies.iter().map(|it| RecordRef::new(it).unwrap()).collect();
            let number = [0x40, 0x80];
            let of_placed = 0x1 | 0x8 | 0x10 | number[placed];
            let of_other = 0x1 | 0x4 | 0x20 | number[1 - placed];
            let flags = if placed == 0 { [of_placed, of_other] } else { [of_other, of_placed] };
            assert_eq!([records[0].flags(), records[1].flags()], flags);
            for record in &records {
                let place = (record.reference_id(), record.position());
                assert_eq!(place, (0, 100));
                assert_eq!((record.mate_reference_id(), record.mate_position()), place);
                assert_eq!(record.template_length(), 0);
            }
            let outside = records[1 - placed].find_aux(*b"YF").unwrap();
            assert_eq!(outside.unwrap().as_string(), Some(&b"LN"[..]));
            assert!(records[placed].find_aux(*b"YF").unwrap().is_none());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn all_placements_of_long_reads_are_found_and_no_other(
        seed in any::<u32>(),
        (length, from, mirrored) in (380_usize..1025, 0_usize..900, any::<bool>()),
        changes in proptest::collection::vec(any::<prop::sample::Index>(), 0..6),
        most in 0_u8..=4,
    ) {
        // A second copy differs in a few bases.
        let mut genome = random(seed, 2000);
        let mut copy = genome[300..1700].to_vec();
        for at in [77, 500, 501, 1111] {
            copy[at] = if copy[at] == b'A' { b'C' } else { b'A' };
        }
        genome.extend(copy);
        let mut bases = genome[from..from + length].to_vec();
        for at in changes {
            bases[at.index(length)] = b'G';
        }
        if mirrored {
            let turn = |&b: &u8| b"TGCA"[b"ACGT".iter().position(|&it| it == b).unwrap()];
            bases = bases.iter().rev().map(turn).collect();
        }
        let mut bench = Bench::new(vec![genome], all(Acceptance::Mismatches(0)));
        let read = (bases, vec![b'I'; length]);
        compare(&mut bench, std::slice::from_ref(&read), Acceptance::Mismatches(most));
        let seed = SeedAcceptance { bases: 28, mismatches: 2, quality_ceiling: 120, rounds: true };
        compare(&mut bench, &[read], Acceptance::Seed(seed));
    }
}

static BENCHES: LazyLock<Mutex<Vec<Bench>>> = LazyLock::new(|| Mutex::new(benches()));

proptest! {
    #[test]
    fn any_bytes_make_reads_that_a_scan_places_alike(
        data in proptest::collection::vec(any::<u8>(), 0..80),
    ) {
        fuzzed(&mut BENCHES.lock().unwrap_or_else(PoisonError::into_inner), &data);
    }
}
