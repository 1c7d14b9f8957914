//! Partitions in memory and spilled.

use super::*;
use crate::test_records::backing;
use proptest::prelude::*;
use seqloom_testkit::random::Random;

/// An item that says what it is: partition, writer, number, and padding that repeats them.
fn item(partition: usize, writer: usize, number: usize, padding: usize) -> Vec<u8> {
    let mut item = Vec::new();
    for part in [partition, writer, number, padding] {
        item.extend_from_slice(&(part as u32).to_le_bytes());
    }
    item.resize(16 + padding, partition as u8 ^ number as u8);
    item
}

/// All items in `chunks`, sorted.
fn items(chunks: Vec<Chunk>, backing: &Backing, scratch: &mut StoreScratch) -> Vec<Vec<u8>> {
    let mut items = Vec::new();
    for chunk in chunks {
        let loaded = chunk.load(backing, scratch).unwrap();
        let mut rest = &loaded.bytes[..];
        while !rest.is_empty() {
            let padding = u32::from_le_bytes(rest[12..16].try_into().unwrap()) as usize;
            let (item, after) = rest.split_at(16 + padding);
            items.push(item.to_vec());
            rest = after;
        }
    }
    items.sort();
    items
}

struct Case {
    seed: u64,
    writers: usize,
    partitions: usize,
    items: usize,
    longest: u64,
    chunk_bytes: usize,
    total_bytes: u64,
}

/// Appends from several threads and reads everything back.
fn check(case: &Case) {
    let backing = backing(case.total_bytes);
    let store = ChunkStore::new(&backing, case.chunk_bytes);
    let written = Mutex::new(vec![Vec::new(); case.partitions]);
    std::thread::scope(|scope| {
        for writer in 0..case.writers {
            let (store, written) = (&store, &written);
            scope.spawn(move || {
                let mut random = Random::new(case.seed ^ writer as u64);
                let mut scratch = StoreScratch::new().unwrap();
                for number in 0..case.items {
                    let partition = random.index(case.partitions);
                    let item = item(partition, writer, number, random.below(case.longest) as usize);
                    let (first, second) = item.split_at(random.index(item.len()));
                    store.append(partition, &[first, second], &mut scratch).unwrap();
                    lock(written)[partition].push(item);
                    if random.chance(0.01) {
                        store.close(random.index(case.partitions));
                    }
                }
            });
        }
    });
    let mut scratch = StoreScratch::new().unwrap();
    assert!(store.partitions() <= case.partitions);
    for (partition, mut expected) in written.into_inner().unwrap().into_iter().enumerate() {
        expected.sort();
        assert_eq!(store.bytes(partition), expected.concat().len() as u64);
        assert!(items(store.take(partition), &backing, &mut scratch) == expected, "{partition}");
        assert!(store.take(partition).is_empty());
    }
    assert_eq!(backing.ledger.charged_bytes(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn what_is_taken_is_what_was_appended(
        seed in any::<u64>(),
        writers in 1..5_usize,
        partitions in 1..40_usize,
        items in 0..400_usize,
        longest in 1..3000_u64,
        chunk_bytes in 1..5000_usize,
        total_bytes in prop_oneof![Just(0_u64), 0..200_000_u64, Just(u64::MAX)],
    ) {
        check(&Case { seed, writers, partitions, items, longest, chunk_bytes, total_bytes });
    }
}

#[test]
fn the_ledger_is_kept_whatever_order_partitions_are_filled_in() {
    const CHUNK_BYTES: usize = 1000;
    const PARTITIONS: usize = 50;
    let backing = backing(4 * (PARTITIONS * CHUNK_BYTES) as u64);
    let store = ChunkStore::new(&backing, CHUNK_BYTES);
    let mut scratch = StoreScratch::new().unwrap();
    // As position-sorted input does: one partition after the other, each far over its share.
    for partition in 0..PARTITIONS {
        for number in 0..200 {
            store.append(partition, &[&item(partition, 0, number, 84)], &mut scratch).unwrap();
            assert!(backing.ledger.charged_bytes() <= backing.ledger.total_bytes());
        }
    }
    for partition in 0..PARTITIONS {
        assert_eq!(items(store.take(partition), &backing, &mut scratch).len(), 200);
    }
    assert_eq!(backing.ledger.charged_bytes(), 0);
}

#[test]
fn a_closed_partition_holds_what_it_needs_and_may_be_spilled_for_others() {
    let backing = backing(10_000);
    let store = ChunkStore::new(&backing, 2000);
    let mut scratch = StoreScratch::new().unwrap();
    // One small item in each of a thousand partitions, which are closed as the next ones come.
    for partition in 0..1000 {
        store.append(partition, &[&item(partition, 0, 0, 100)], &mut scratch).unwrap();
        assert!(backing.ledger.charged_bytes() <= 10_000);
        if let Some(before) = partition.checked_sub(2) {
            store.close(before);
        }
    }
    for partition in 0..1000 {
        let found = items(store.take(partition), &backing, &mut scratch);
        assert_eq!(found, [item(partition, 0, 0, 100)]);
    }
    assert_eq!(backing.ledger.charged_bytes(), 0);
}

#[test]
fn partitions_that_do_not_exist_are_empty() {
    let backing = backing(0);
    let store = ChunkStore::new(&backing, 10);
    assert_eq!((store.partitions(), store.bytes(5)), (0, 0));
    assert!(store.take(usize::MAX).is_empty());
    store.close(7);
}
