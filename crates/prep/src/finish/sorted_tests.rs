//! Sorting in memory and by merging runs.

use super::*;
use crate::partition::store::ChunkStore;
use crate::test_records::{backing, body};
use proptest::prelude::*;
use seqloom_runtime::pool::Stopped;
use seqloom_testkit::random::Random;

/// Records of one partition in a store, with many at equal places.
fn fill(store: &ChunkStore<'_>, count: u64, random: &mut Random, scratch: &mut StoreScratch) {
    let mut ordinals: Vec<u64> = (0..count).collect();
    while !ordinals.is_empty() {
        let ordinal = ordinals.swap_remove(random.index(ordinals.len()));
        let (flags, position) = (0x10 * random.below(2) as u16, random.below(20) as i32 - 1);
        let reference = random.below(2) as i32 - 1;
        let longest = if random.chance(0.01) { 100_000 } else { 100 };
        // Names come in pairs.
        let name = format!("read:{}:{}", ordinal % 20, ordinal / 2 % 40);
        let body = body(&name, flags, reference, position, random.index(longest));
        let frame = [&ordinal.to_le_bytes()[..], &(body.len() as u32).to_le_bytes(), &body];
        store.append(0, &frame, scratch).unwrap();
    }
}

type Visited = Vec<(u64, Vec<u8>)>;

fn keep(visited: &mut Visited) -> impl FnMut(u64, &[u8]) -> Result<(), FinishError> {
    |ordinal, body| {
        visited.push((ordinal, body.to_vec()));
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn merging_is_sorting(
        seed in any::<u64>(),
        count in 0..1500_u64,
        portion_bytes in prop_oneof![1..3000_u64, 3000..300_000_u64],
        total_bytes in prop_oneof![Just(0_u64), Just(u64::MAX)],
        order in prop::sample::select(vec![
            SortOrder::Coordinate,
            SortOrder::CoordinatePicard,
            SortOrder::QueryName,
            SortOrder::QueryNamePicard,
            SortOrder::Keep,
        ]),
    ) {
        let mut scratch = StoreScratch::new().unwrap();
        let [mut sorted, mut merged] = [Visited::new(), Visited::new()];
        for (merge, visited) in [(false, &mut sorted), (true, &mut merged)] {
            let backing = backing(total_bytes);
            let store = ChunkStore::new(&backing, 2000);
            fill(&store, count, &mut Random::new(seed), &mut scratch);
            let chunks = store.take(0);
            let sorting = Sorting { order, marks: None, backing: &backing };
            if merge {
                sorting.visit_merged(chunks, portion_bytes, &mut scratch, keep(visited)).unwrap();
            } else {
                sorting.visit_sorted(chunks, &mut scratch, keep(visited)).unwrap();
            }
            prop_assert_eq!(backing.ledger.charged_bytes(), 0);
        }
        prop_assert_eq!(sorted.len() as u64, count);
        prop_assert!(sorted == merged);
        let is_sorted = sorted.is_sorted_by(|(left_ordinal, left), (right_ordinal, right)| {
            let [left, right] = [left, right].map(|body| RecordRef::new(body).unwrap());
            order.compare(&left, &right).then(left_ordinal.cmp(right_ordinal)).is_lt()
        });
        prop_assert!(is_sorted, "{:?}", order);
    }
}

#[test]
fn an_error_of_the_visitor_ends_the_visit() {
    let (backing, mut scratch) = (backing(0), StoreScratch::new().unwrap());
    let store = ChunkStore::new(&backing, 2000);
    fill(&store, 300, &mut Random::new(1), &mut scratch);
    let mut seen = 0;
    let sorting = Sorting { order: SortOrder::QueryName, marks: None, backing: &backing };
    let outcome = sorting.visit_merged(store.take(0), 1, &mut scratch, |_, _| {
        seen += 1;
        if seen == 7 { Err(Stopped::ByAnother.into()) } else { Ok(()) }
    });
    assert!(matches!(outcome, Err(FinishError::Stopped(Stopped::ByAnother))));
    assert_eq!(seen, 7);
}
