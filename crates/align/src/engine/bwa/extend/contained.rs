//! Whether a seed need not be extended, as it is in a region that was found before.

use super::super::chain::Seed;
use super::super::settings::Settings;
use super::ExtendedSeed;
use super::window::longest_gap;

/// Whether a seed is in a region, near its diagonal at one end of the seed, and is not much
/// longer than the region's own seed.
pub(super) fn is_in_region(
    seed: &Seed,
    found: &ExtendedSeed,
    read_bases: i32,
    settings: &Settings,
) -> bool {
    let ExtendedSeed { region, seed_bases } = found;
    let (end, reference_end) =
        (seed.read_start + seed.length, seed.reference_start + i64::from(seed.length));
    // Not one after the other: nearly all regions are elsewhere, half of them on either side.
    let is_there =
        (seed.reference_start >= region.reference_start) & (reference_end <= region.reference_end);
    let is_inside = is_there && seed.read_start >= region.read_start && end <= region.read_end;
    if !is_inside || f64::from(seed.length - seed_bases) > 0.1 * f64::from(read_bases) {
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
