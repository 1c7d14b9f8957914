//! Whether a seed need not be extended, as it is in a region that was found before.

use super::super::chain::Seed;
use super::super::settings::Settings;
use super::ExtendedSeed;
use super::window::longest_gap;

/// The extended seeds of a read, in the order in which they were found.
#[derive(Debug, Default)]
pub(super) struct FoundSeeds {
    all: Vec<ExtendedSeed>,
    /// The low bits of where their regions begin on the reference, of which many are compared at
    /// once.
    starts: Vec<u32>,
    /// Bases of the reference that the longest region spans.
    longest: i64,
}

impl FoundSeeds {
    pub(super) fn clear(&mut self) {
        self.all.clear();
        self.starts.clear();
        self.longest = 0;
    }

    pub(super) fn push(&mut self, extended: ExtendedSeed) {
        self.longest = self.longest.max(extended.reference_end - extended.reference_start);
        self.starts.push(extended.reference_start as u32);
        self.all.push(extended);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &ExtendedSeed> {
        self.all.iter()
    }

    /// Whether a seed need not be extended, as it is in one of the regions.
    pub(super) fn contain(&self, seed: &Seed, read_bases: i32, settings: &Settings) -> bool {
        let is_in = |found: &ExtendedSeed| is_in_region(seed, found, read_bases, settings);
        self.may_contain(seed) && self.all.iter().any(is_in)
    }

    /// Whether a region begins as near before the seed as one that has it. A read of a repeat has
    /// many regions, nearly all of them elsewhere.
    fn may_contain(&self, seed: &Seed) -> bool {
        let furthest = self.longest - i64::from(seed.length);
        if furthest < 0 {
            return false;
        }
        let furthest = u32::try_from(furthest).unwrap_or(u32::MAX);
        let start = seed.reference_start as u32;
        let is_near = |&at: &u32| start.wrapping_sub(at) <= furthest;
        self.starts.iter().fold(false, |any, at| any | is_near(at))
    }
}

/// Whether a seed is in a region, near its diagonal at one end of the seed, and is not much
/// longer than the region's own seed.
fn is_in_region(seed: &Seed, region: &ExtendedSeed, read_bases: i32, settings: &Settings) -> bool {
    let (end, reference_end) = (seed.read_start + seed.length, seed.reference_end());
    let is_inside = seed.reference_start >= region.reference_start
        && reference_end <= region.reference_end
        && seed.read_start >= region.read_start
        && end <= region.read_end;
    if !is_inside || f64::from(seed.length - region.seed_bases) > 0.1 * f64::from(read_bases) {
        return false;
    }
    let is_near = |in_read: i32, in_reference: i64| {
        if i64::from(in_read) == in_reference {
            // The longest gap is 1 or more.
            return region.band > 0;
        }
        let shorter = i64::from(in_read).min(in_reference) as i32;
        let band = i64::from(longest_gap(shorter, settings).min(region.band));
        (i64::from(in_read) - in_reference).abs() < band
    };
    is_near(seed.read_start - region.read_start, seed.reference_start - region.reference_start)
        || is_near(region.read_end - end, region.reference_end - reference_end)
}

/// Whether another seed of the chain, nearly as long or longer, overlaps this one on another
/// diagonal: then this one may lead to another region all the same.
pub(super) fn may_lead_elsewhere(seed: &Seed, other: &Seed) -> bool {
    if f64::from(other.length) < f64::from(seed.length) * 0.95 {
        return false;
    }
    let diagonals_differ = seed.reference_start - other.reference_start
        != i64::from(seed.read_start - other.read_start);
    let quarter = seed.length >> 2;
    let overlap = |first: &Seed, second: &Seed| {
        first.read_start <= second.read_start
            && first.read_start + first.length - second.read_start >= quarter
    };
    diagonals_differ && (overlap(seed, other) || overlap(other, seed))
}

#[cfg(test)]
mod tests {
    use super::super::super::BwaOptions;
    use super::super::super::certified_tests::Dice;
    use super::*;

    #[test]
    fn a_seed_is_in_any_of_the_regions_or_in_none() {
        let options = BwaOptions::default().library().unwrap();
        let settings = Settings::of(options.get());
        let mut dice = Dice(63);
        let mut seen = [0; 2];
        for _ in 0..3000 {
            let mut found = FoundSeeds::default();
            // A sequence that is longer than four billion bases has like low bits in two places.
            let mut place = || (dice.below(2) as i64) << 32 | dice.below(60) as i64;
            let starts = [(); 4].map(|()| place());
            let seed_start = place();
            for reference_start in &starts[..dice.below(5)] {
                let bases = 19 + dice.below(20) as i32;
                found.push(ExtendedSeed {
                    reference_start: *reference_start,
                    reference_end: reference_start + i64::from(bases),
                    read_start: 30,
                    read_end: 30 + bases,
                    sequence: 0,
                    score: bases,
                    true_score: bases,
                    band: 100,
                    seed_bases: 19,
                });
            }
            let (length, read_start) = (19 + dice.below(3) as i32, 30 + dice.below(10) as i32);
            let seed = Seed { reference_start: seed_start, read_start, length, score: length };
            let expected = found.all.iter().any(|it| is_in_region(&seed, it, 100, &settings));
            assert_eq!(found.contain(&seed, 100, &settings), expected, "{found:?} {seed:?}");
            seen[usize::from(expected)] += 1;
        }
        assert!(seen[1] > 100 && seen[0] > 100, "{seen:?}");
    }
}
