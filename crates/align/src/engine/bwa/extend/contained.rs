//! Whether a seed need not be extended, as it lies in a region that was found before.

use super::super::chain::build::PlacedSeed;
use super::super::settings::Settings;
use super::Extended;
use super::window::longest_gap;

/// Whether a seed lies in a region, near its diagonal at one end of the seed, and is not much
/// longer than the region's own seed.
pub(super) fn is_in_region(
    seed: &PlacedSeed,
    found: &Extended,
    read_bases: i32,
    settings: &Settings,
) -> bool {
    let Extended { region, seed_bases } = found;
    let (end, place_end) = (seed.base + seed.length, seed.place + i64::from(seed.length));
    let is_inside = seed.place >= region.reference_start
        && place_end <= region.reference_end
        && seed.base >= region.read_start
        && end <= region.read_end;
    if !is_inside || f64::from(seed.length - seed_bases) > 0.1 * f64::from(read_bases) {
        return false;
    }
    let is_near = |in_read: i32, in_reference: i64| {
        let shorter = i64::from(in_read).min(in_reference) as i32;
        let band = i64::from(longest_gap(shorter, settings).min(region.band));
        (i64::from(in_read) - in_reference).abs() < band
    };
    is_near(seed.base - region.read_start, seed.place - region.reference_start)
        || is_near(region.read_end - end, region.reference_end - place_end)
}

/// Whether another seed of the chain, nearly as long or longer, overlaps this one on another
/// diagonal: then this one may lead to another region all the same.
pub(super) fn may_lead_elsewhere(seed: &PlacedSeed, other: &PlacedSeed) -> bool {
    if f64::from(other.length) < f64::from(seed.length) * 0.95 {
        return false;
    }
    let diagonals_differ = seed.place - other.place != i64::from(seed.base - other.base);
    let quarter = seed.length >> 2;
    let overlap = |first: &PlacedSeed, second: &PlacedSeed| {
        first.base <= second.base && first.base + first.length - second.base >= quarter
    };
    diagonals_differ && (overlap(seed, other) || overlap(other, seed))
}
