//! Regions that are found twice, or in two parts (`mem_sort_dedup_patch`).
//!
//! Regions are compared in the order of their ends. Two that share nearly all of both intervals are
//! one: the better stays, of equal ones the later. That order decides which of several dies, and
//! where ends are equal it is the order that klib's sort leaves. Two that do not share so much may
//! be parts of one with a gap between them: the later then takes the place of both.

use super::super::order::introsort::introsort;
use super::super::settings::Settings;
use super::Region;
use super::merge::Merged;

/// Working memory of [`remove_redundant`].
#[derive(Debug, Default)]
pub(in super::super) struct RedundantScratch {
    /// Ends of regions, with their numbers.
    ends: Vec<(i64, u32)>,
    sorted: Vec<Region>,
    /// What those are sorted by that stay, with their numbers.
    keys: Vec<(u128, u32)>,
}

/// What regions are sorted by, as one number: the score, the highest first, then where they begin
/// on the reference, and in the read.
pub(super) fn key(region: &Region) -> u128 {
    let score = (i32::MAX - region.score) as u32;
    let [reference, read] = [region.reference_start as u64, region.read_start as u64];
    u128::from(score) << 96 | u128::from(reference) << 32 | u128::from(read)
}

/// Removes redundant regions of a read, and sorts the others by score, then by where they begin.
/// `merge` says what two regions, the first of which begins first, come to as one.
pub(in super::super) fn remove_redundant(
    regions: &mut Vec<Region>,
    settings: &Settings,
    scratch: &mut RedundantScratch,
    mut merge: impl FnMut(&Region, &Region) -> Option<Merged>,
) {
    if regions.len() < 2 {
        return;
    }
    sort_by_end(regions, scratch);
    for at in 1..scratch.sorted.len() {
        compare_with_earlier(&mut scratch.sorted, at, settings, &mut merge);
    }
    sort_by_score(scratch, regions);
}

/// Puts the regions in `scratch.sorted`, in klib's order of ends.
fn sort_by_end(regions: &[Region], scratch: &mut RedundantScratch) {
    let RedundantScratch { ends, sorted, .. } = scratch;
    let numbered = || regions.iter().map(|it| it.reference_end).zip(0..);
    ends.clear();
    ends.extend(numbered());
    ends.sort_unstable();
    if ends.windows(2).any(|two| two[0].0 == two[1].0) {
        ends.clear();
        ends.extend(numbered());
        introsort(ends, |a, b| a.0 < b.0);
    }
    sorted.clear();
    sorted.extend(ends.iter().map(|&(_, number)| regions[number as usize]));
}

/// Puts those of `scratch.sorted` that stay in `regions`, by score, then by where they begin. Of
/// equal ones, which only merges leave, the one stays that klib's sort puts first.
fn sort_by_score(scratch: &mut RedundantScratch, regions: &mut Vec<Region>) {
    let RedundantScratch { sorted, keys, .. } = scratch;
    let stays = |it: &Region| it.read_end > it.read_start;
    let numbered = (0..).zip(&*sorted).filter(|(_, it)| stays(it));
    keys.clear();
    keys.extend(numbered.map(|(number, it)| (key(it), number)));
    keys.sort_unstable_by_key(|&(key, _)| key);
    let has_ties = keys.windows(2).any(|two| two[0].0 == two[1].0);
    regions.clear();
    if has_ties {
        regions.extend(sorted.iter().filter(|it| stays(it)));
        introsort(regions, |a, b| key(a) < key(b));
        regions.dedup_by_key(|it| key(it));
    } else {
        regions.extend(keys.iter().map(|&(_, number)| sorted[number as usize]));
    }
}

/// Compares a region with those before it, nearest first. What is redundant becomes empty.
fn compare_with_earlier(
    regions: &mut [Region],
    at: usize,
    settings: &Settings,
    merge: &mut impl FnMut(&Region, &Region) -> Option<Merged>,
) {
    let (earlier, rest) = regions.split_at_mut(at);
    let region = &mut rest[0];
    let gap = i64::from(settings.chain_gap);
    for other in earlier.iter_mut().rev() {
        let near =
            region.sequence == other.sequence && region.reference_start < other.reference_end + gap;
        if !near {
            break;
        }
        if other.read_end == other.read_start {
            continue;
        }
        if !are_one(other, region, settings) {
            if other.reference_start < region.reference_start
                && let Some(merged) = merge(other, region)
            {
                region.take_part(other, merged);
                other.read_start = other.read_end;
            }
            continue;
        }
        if region.score < other.score {
            region.read_end = region.read_start;
            break;
        }
        other.read_end = other.read_start;
    }
}

impl Region {
    /// Takes another part, which begins first, in.
    fn take_part(&mut self, first: &Self, merged: Merged) {
        (self.reference_start, self.read_start) = (first.reference_start, first.read_start);
        (self.score, self.true_score) = (merged.score, merged.score);
        self.band = merged.band;
    }
}

/// Whether two regions, the first of which ends first, share nearly all of the shorter interval, of
/// the read as of the reference.
pub(super) fn are_one(first: &Region, second: &Region, settings: &Settings) -> bool {
    let level = settings.redundant_level;
    let on_reference = first.reference_end - second.reference_start;
    let on_read = if first.read_start < second.read_start {
        first.read_end - second.read_start
    } else {
        second.read_end - first.read_start
    };
    let reference = first.reference_span().min(second.reference_span());
    let read = first.read_span().min(second.read_span());
    on_reference as f32 > level * reference as f32 && on_read as f32 > level * read as f32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::oracle::emit;
    use super::super::super::oracle::index::Options;
    use super::*;

    proptest! {
        #[test]
        fn what_stays_is_what_the_library_keeps(
            mut regions in emit::some_regions(900, 90),
            grid in 1..60_i64,
        ) {
            // Ends on a grid, so that many are equal.
            for region in &mut regions {
                let moved = region.reference_end.rem_euclid(grid);
                region.reference_end -= moved.min(region.reference_span() - 1);
            }
            let options = Options::new().unwrap();
            let settings = Settings::of(options.get());
            let mut expected = regions.clone();
            emit::remove_redundant(&mut expected, &options);
            let mut scratch = RedundantScratch::default();
            remove_redundant(&mut regions, &settings, &mut scratch, |_, _| None);
            prop_assert_eq!(&regions, &expected);
            // Again, from another order.
            regions.reverse();
            emit::remove_redundant(&mut expected, &options);
            expected.reverse();
            let mut again = expected.clone();
            emit::remove_redundant(&mut expected, &options);
            remove_redundant(&mut again, &settings, &mut scratch, |_, _| None);
            prop_assert_eq!(again, expected);
        }
    }
}
