//! The extension of one seed: where it is, and the region so far.

use super::super::chain::Seed;
use super::super::settings::Settings;
use super::ExtendedSeed;
use super::flank::Extension;
use super::flanks::{FlankStart, FoundFlank};

/// The extension of one seed: left, then right.
#[derive(Debug, Clone, Copy)]
pub(super) struct SeedExtension {
    pub(super) read: usize,
    pub(super) chain: usize,
    pub(super) seed: usize,
    pub(super) next: NextFlank,
    pub(super) so_far: ExtendedSeed,
}

/// The flank that an extension has before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NextFlank {
    Left,
    Right,
    None,
}

impl SeedExtension {
    /// Where the extension over a flank starts.
    pub(super) fn flank_start(&self, is_right: bool, settings: &Settings) -> FlankStart {
        let clip = settings.clip_penalties[usize::from(is_right)];
        FlankStart { seed_score: self.so_far.score, clip, band: settings.band, is_right }
    }

    /// Takes what the next flank comes to.
    pub(super) fn take(
        &mut self,
        found: FoundFlank,
        seed: &Seed,
        read_bases: i32,
        settings: &Settings,
    ) {
        let (next, is_right) = match self.next {
            NextFlank::Left => (NextFlank::Right, false),
            NextFlank::Right | NextFlank::None => (NextFlank::None, true),
        };
        self.next = next;
        match found.extension {
            Some(extended) if is_right => self.take_right(extended, seed, read_bases, settings),
            Some(extended) => self.take_left(extended, seed, settings),
            None => {}
        }
    }

    fn take_left(&mut self, (found, band): (Extension, i32), seed: &Seed, settings: &Settings) {
        let region = &mut self.so_far;
        (region.score, region.band) = (found.score, region.band.max(band));
        if found.end_score <= 0 || found.end_score <= found.score - settings.clip_penalties[0] {
            region.read_start = seed.read_start - found.query_bases;
            region.reference_start = seed.reference_start - i64::from(found.target_bases);
            region.true_score = found.score;
        } else {
            region.read_start = 0;
            region.reference_start = seed.reference_start - i64::from(found.end_target_bases);
            region.true_score = found.end_score;
        }
    }

    fn take_right(
        &mut self,
        (found, band): (Extension, i32),
        seed: &Seed,
        read_bases: i32,
        settings: &Settings,
    ) {
        let region = &mut self.so_far;
        let before = region.score;
        (region.score, region.band) = (found.score, region.band.max(band));
        if found.end_score <= 0 || found.end_score <= found.score - settings.clip_penalties[1] {
            region.read_end = seed.read_start + seed.length + found.query_bases;
            region.reference_end = seed.reference_end() + i64::from(found.target_bases);
            region.true_score += found.score - before;
        } else {
            region.read_end = read_bases;
            region.reference_end = seed.reference_end() + i64::from(found.end_target_bases);
            region.true_score += found.end_score - before;
        }
    }
}
