//! One flank of a seed, and the extension over it.

use super::super::settings::Settings;

/// Bases next to a seed: of the read and of the reference, as codes, from the seed outwards.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flank<'a> {
    /// One base or more.
    pub(super) query: &'a [u8],
    /// Without codes above 3.
    pub(super) target: &'a [u8],
    /// The score at the start, above 0.
    pub(super) seed_score: i32,
    /// The band: see [`inner_band`].
    pub(super) band: i32,
}

/// The result of an extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in super::super) struct Extension {
    /// The best score.
    pub(in super::super) score: i32,
    /// Bases of the read up to where it is reached.
    pub(in super::super) query_bases: i32,
    /// Bases of the reference up to there.
    pub(in super::super) target_bases: i32,
    /// The best score at the end of the read; -1 if it is not reached.
    pub(in super::super) end_score: i32,
    /// Bases of the reference up to there.
    pub(in super::super) end_target_bases: i32,
    /// How far off the diagonal best scores were.
    pub(in super::super) off_diagonal: i32,
}

/// The band of a flank of so many bases of the read, whose end costs `clip` to clip: no wider than
/// the longest gap that pays.
pub(super) fn inner_band([bases, clip, band]: [i32; 3], settings: &Settings) -> i32 {
    let gaps = &settings.gaps;
    let most = settings.best_score();
    let longest = |open: i32, extend: i32| {
        let gain = bases.saturating_mul(most) + clip - open;
        // By default without a division.
        match extend {
            1 => gain.saturating_add(1),
            _ => (f64::from(gain) / f64::from(extend) + 1.0) as i32,
        }
    };
    let insertion = longest(gaps.open_insertion, gaps.extend_insertion).max(1);
    let deletion = longest(gaps.open_deletion, gaps.extend_deletion).max(1);
    band.min(insertion).min(deletion)
}

impl Flank<'_> {
    /// Rows that the band reaches.
    pub(super) fn rows(&self) -> usize {
        self.target.len().min(self.query.len().saturating_add(self.band.max(0) as usize))
    }

    /// Whether all bases are known, and the row above the first ends within the band of the first.
    pub(super) fn is_plain(&self, settings: &Settings) -> bool {
        let gaps = &settings.gaps;
        let reach = self.seed_score - gaps.open_insertion;
        let in_band = reach <= gaps.extend_insertion.saturating_mul(self.band + 1)
            || self.query.len() as i64 <= i64::from(self.band) + 1;
        // In one loop without an end in between.
        in_band && self.query.iter().fold(0, |all, &code| all | code) < 4
    }

    /// The largest score that can be, and the number of the last row or column.
    fn extremes(&self, settings: &Settings) -> [usize; 2] {
        let gain = self.query.len() * settings.matching.max(0) as usize;
        [self.seed_score as usize + gain, self.rows().max(self.query.len())]
    }

    /// Whether lanes of 8 bits hold all numbers.
    pub(super) fn fits_8_bits(&self, settings: &Settings) -> bool {
        let [score, last] = self.extremes(settings);
        score <= 250 && last < 254
    }

    /// Whether lanes of 16 bits do.
    pub(super) fn fits_16_bits(&self, settings: &Settings) -> bool {
        self.extremes(settings).into_iter().all(|number| number < 1 << 14)
    }
}
