//! A region more among regions of which none is redundant.
//!
//! Regions as [`remove_redundant`](super::redundant::remove_redundant) leaves them stay as they are
//! if it sees them again: it has compared every two of them that are near enough. So if one is
//! added, only pairs with that one count, and two that are redundant overlap on the reference,
//! so that nothing between them in the order of their ends hides one from the other. What follows
//! is what the whole would do, in the order in which it would: the new region meets those that end
//! before it, the last first; if it is still there, those that end after it meet it, the first
//! first.
//!
//! Where two that matter end in one place, their order is that of klib's sort of all regions, which
//! is not known here; nor is which of two comes first that agree in what they are sorted by.

use super::super::settings::Settings;
use super::Region;
use super::redundant::{are_one, key};

/// Adds a region to those of a read, none of which is redundant, and removes those that become
/// redundant. Returns false, and changes nothing, if all must be sorted.
///
/// `met` is working memory.
pub(in super::super) fn add(
    regions: &mut Vec<Region>,
    region: &Region,
    settings: &Settings,
    met: &mut Vec<(i64, u32)>,
) -> bool {
    met.clear();
    let gap = i64::from(settings.chain_gap);
    for (number, other) in (0..).zip(&*regions) {
        let [first, second] = if other.reference_end < region.reference_end {
            [other, region]
        } else {
            [region, other]
        };
        let near =
            first.sequence == second.sequence && second.reference_start < first.reference_end + gap;
        if near && are_one(first, second, settings) {
            met.push((other.reference_end, number));
        }
    }
    met.sort_unstable();
    let end = region.reference_end;
    let has_ties = met.windows(2).any(|two| two[0].0 == two[1].0)
        || met.iter().any(|&(other, _)| other == end);
    if has_ties {
        return false;
    }
    let (before, behind) = met.split_at(met.partition_point(|&(other, _)| other < end));
    let score = |number: u32| regions[number as usize].score;
    // Those that the new one outlives, up to the one that outlives it.
    let lost_before = before.iter().rev().position(|&(_, other)| region.score < score(other));
    let lost_behind = behind.iter().position(|&(_, other)| score(other) >= region.score);
    let survives = lost_before.is_none() && lost_behind.is_none();
    let place = regions.partition_point(|other| key(other) < key(region));
    if survives && regions.get(place).is_some_and(|other| key(other) == key(region)) {
        return false;
    }
    let start = lost_before.map_or(0, |count| before.len() - count);
    let end = match (lost_before, lost_behind) {
        (Some(_), _) => before.len(),
        (None, count) => before.len() + count.unwrap_or(behind.len()),
    };
    met.truncate(end);
    met.drain(..start);
    if survives {
        regions.insert(place, *region);
        let moved = met.iter_mut().filter(|(_, number)| *number as usize >= place);
        moved.for_each(|(_, number)| *number += 1);
    }
    met.sort_unstable_by_key(|&(_, number)| std::cmp::Reverse(number));
    for &(_, number) in &*met {
        regions.remove(number as usize);
    }
    true
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::oracle::emit;
    use super::super::super::oracle::index::Options;
    use super::super::redundant::remove_redundant;
    use super::*;

    /// Settings, and by how much regions may be apart.
    fn settings() -> Settings {
        Settings::of(Options::new().unwrap().get())
    }

    /// As rescue did without [`add`].
    fn add_by_sort(regions: &mut Vec<Region>, region: &Region, settings: &Settings) {
        let at = regions.iter().position(|it| it.score < region.score).unwrap_or(regions.len());
        regions.insert(at, *region);
        remove_redundant(regions, settings, &mut <_>::default(), |_, _| None);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, ..<_>::default() })]
        #[test]
        fn a_region_more_changes_what_the_sort_of_all_would(
            mut regions in emit::some_regions(600, 40),
            more in emit::some_regions(600, 30),
            moves in proptest::collection::vec((any::<u16>(), -3..4_i64, 0..4_i32), 0..30),
        ) {
            let settings = settings();
            remove_redundant(&mut regions, &settings, &mut <_>::default(), |_, _| None);
            let mut met = Vec::new();
            // Others, and some that nearly are the ones that are there.
            let mut all = more;
            for (which, moved, worse) in moves {
                if let Some(at) = usize::from(which).checked_rem(regions.len()) {
                    let region = regions[at];
                    all.push(Region {
                        reference_start: region.reference_start + moved.min(0),
                        reference_end: region.reference_end + moved.max(0),
                        score: region.score + worse - 2,
                        ..region
                    });
                }
            }
            for region in &all {
                let mut expected = regions.clone();
                add_by_sort(&mut expected, region, &settings);
                let before = regions.clone();
                if add(&mut regions, region, &settings, &mut met) {
                    prop_assert_eq!(&regions, &expected, "{:?} {:?}", before, region);
                } else {
                    prop_assert_eq!(&regions, &before);
                }
                // What is left stays as it is.
                let mut again = expected.clone();
                remove_redundant(&mut again, &settings, &mut <_>::default(), |_, _| None);
                prop_assert_eq!(&again, &expected);
                regions = expected;
            }
        }
    }

    #[test]
    fn a_region_with_equals_is_left_to_the_sort_of_all() {
        let settings = settings();
        let mut met = Vec::new();
        let at = emit::region_at;
        let mut regions = vec![at(500)];
        // It ends where another ends that matters.
        assert!(!add(
            &mut regions,
            &Region { reference_start: 501, ..at(500) },
            &settings,
            &mut met
        ));
        // It ends elsewhere, and is as good: the later stays.
        assert!(add(&mut regions, &at(501), &settings, &mut met));
        assert_eq!(regions, [at(501)]);
        assert!(add(&mut regions, &at(500), &settings, &mut met));
        assert_eq!(regions, [at(501)]);
        // Nothing that matters ends there.
        assert!(add(&mut regions, &Region { score: 30, ..at(900) }, &settings, &mut met));
        assert_eq!(regions, [at(501), Region { score: 30, ..at(900) }]);
    }
}
