//! Which regions of a read are primary, and which give way to them.
//!
//! Regions are ordered by score; of equal ones those on primary sequences come first, then by a
//! hash of the read's number, so that chance, and not the order of the genome, picks one. A region
//! is secondary to the first before it that competes for the same bases. Where there are regions
//! on ALT sequences, all are compared first; then those on primary sequences among themselves, so
//! that an ALT hit takes no score from them (`mem_mark_primary_se`).

use super::super::settings::Settings;
use super::{NONE, OF_ALT, Region};

/// A 64-bit number mixed so that every bit depends on all (Thomas Wang's `hash64`, as in klib).
pub(crate) fn mixed(key: u64) -> u64 {
    let mut key = key;
    key = key.wrapping_add(!(key << 32));
    key ^= key >> 22;
    key = key.wrapping_add(!(key << 13));
    key ^= key >> 8;
    key = key.wrapping_add(key << 3);
    key ^= key >> 15;
    key = key.wrapping_add(!(key << 27));
    key ^ key >> 31
}

/// Working memory of [`mark_primary`].
#[derive(Debug, Default)]
pub(in super::super) struct MarkScratch {
    primary: Vec<i32>,
}

/// Orders the regions of the read with the number `id` and says which are secondary to which; the
/// number of those on primary sequences, which come first.
pub(in super::super) fn mark_primary(
    regions: &mut [Region],
    id: u64,
    settings: &Settings,
    scratch: &mut MarkScratch,
) -> usize {
    for (at, region) in (0..).zip(regions.iter_mut()) {
        (region.sub, region.alt_score) = (0, 0);
        (region.secondary, region.secondary_of_all) = (NONE, NONE);
        region.hash = mixed(id.wrapping_add(at));
    }
    let on_primary = regions.iter().filter(|region| !region.is_alt).count();
    if regions.len() < 2 {
        return on_primary;
    }
    // Hashes of different numbers differ, so there are no ties.
    regions.sort_unstable_by_key(|it| (-it.score, it.is_alt, it.hash));
    mark(regions, settings, &mut scratch.primary);
    if on_primary == regions.len() {
        regions.iter_mut().for_each(|it| it.secondary_of_all = it.secondary);
        return on_primary;
    }
    keep_ranks(regions);
    mark_without_alt(regions, on_primary, settings, &mut scratch.primary);
    on_primary
}

/// Marks each region that competes with one before it, and counts what the latter gains by it.
fn mark(regions: &mut [Region], settings: &Settings, primary: &mut Vec<i32>) {
    primary.clear();
    let near = settings.one_event();
    for at in 0..regions.len() {
        let (before, rest) = regions.split_at_mut(at);
        let region = &mut rest[0];
        let over = |&&of: &&i32| before[of as usize].competes_with(region, settings);
        let Some(&of) = primary.iter().find(over) else {
            primary.push(at as i32);
            continue;
        };
        region.secondary = of;
        let better = &mut before[of as usize];
        if better.sub == 0 {
            better.sub = region.score;
        }
        let close = better.score - region.score <= near;
        if close && (better.is_alt || !region.is_alt) {
            better.sub_count += 1;
        }
    }
}

/// Keeps the ranks of the first round, and the scores of ALT regions that come before others.
fn keep_ranks(regions: &mut [Region]) {
    for at in 0..regions.len() {
        let better = usize::try_from(regions[at].secondary).ok().map(|of| regions[of]);
        let region = &mut regions[at];
        region.secondary_of_all = at as i32;
        if let Some(better) = better.filter(|it| it.is_alt && !region.is_alt) {
            region.alt_score = better.score;
        }
    }
}

/// The second round, of the `on_primary` regions that are not on ALT sequences.
fn mark_without_alt(
    regions: &mut [Region],
    on_primary: usize,
    settings: &Settings,
    ranks: &mut Vec<i32>,
) {
    if on_primary > 0 {
        regions.sort_unstable_by_key(|it| (it.is_alt, -it.score, it.hash));
    }
    ranks.clear();
    ranks.resize(regions.len(), 0);
    for (at, region) in (0..).zip(regions.iter()) {
        ranks[region.secondary_of_all as usize] = at;
    }
    for region in regions.iter_mut() {
        let of = usize::try_from(region.secondary).ok();
        region.secondary_of_all = of.map_or(NONE, |of| ranks[of]);
        if of.is_some() && region.is_alt {
            region.secondary = OF_ALT;
        }
    }
    let regions = &mut regions[..on_primary];
    regions.iter_mut().for_each(|it| (it.sub, it.secondary) = (0, NONE));
    mark(regions, settings, ranks);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::oracle::emit;
    use super::super::super::oracle::index::Options;
    use super::*;

    proptest! {
        #[test]
        fn marks_are_those_of_the_library(
            regions in emit::some_regions(3000, 40),
            alternates in 0..4_u8,
            id in any::<u64>(),
        ) {
            let options = Options::new().unwrap();
            let settings = Settings::of(options.get());
            let mut ours = regions;
            for (at, region) in ours.iter_mut().enumerate() {
                region.is_alt = match alternates {
                    0 => false,
                    1 => true,
                    2 => at % 2 == 0,
                    _ => region.is_alt,
                };
            }
            let mut expected = ours.clone();
            let mut scratch = MarkScratch::default();
            let on_primary = mark_primary(&mut ours, id, &settings, &mut scratch);
            prop_assert_eq!(emit::mark_primary(&mut expected, id, &options), on_primary);
            prop_assert_eq!(ours, expected);
        }
    }
}
