//! The part of the reference that the seeds of a chain are extended over.

use super::super::chain::Seed;
use super::super::float::truncated;
use super::super::reference::Reference;
use super::super::settings::Settings;

/// The longest gap that can pay over so many bases of the read, up to twice the band
/// (`cal_max_gap`).
pub(super) fn longest_gap(bases: i32, settings: &Settings) -> i32 {
    let gaps = &settings.gaps;
    let longest = |open: i32, extend: i32| {
        let gain = bases * settings.matching - open;
        // By default without a division.
        match extend {
            1 => gain + 1,
            _ => truncated(f64::from(gain) / f64::from(extend) + 1.0),
        }
    };
    let deletion = longest(gaps.open_deletion, gaps.extend_deletion);
    let insertion = longest(gaps.open_insertion, gaps.extend_insertion);
    deletion.max(insertion).max(1).min(settings.band << 1)
}

/// The bases that an extension of any seed of the chain may reach: on the strand and in the
/// sequence of its first seed.
pub(super) fn window(
    seeds: &[Seed],
    sequence: usize,
    read_bases: i32,
    reference: &Reference<'_>,
    settings: &Settings,
) -> [i64; 2] {
    let reach = |bases: i32| i64::from(bases) + i64::from(longest_gap(bases, settings));
    let start = |seed: &Seed| seed.reference_start - reach(seed.read_start);
    let end = |seed: &Seed| {
        let behind = read_bases - seed.read_start - seed.length;
        seed.reference_start + i64::from(seed.length) + reach(behind)
    };
    let start = seeds.iter().map(start).min().unwrap_or(0);
    let end = seeds.iter().map(end).max().unwrap_or(0);
    let span = reference.span(sequence, seeds.first().map_or(0, |seed| seed.reference_start));
    [start.max(span.start), end.min(span.end)]
}
