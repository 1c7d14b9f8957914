//! All the sides of a round: those that need no matrix, and the others side by side.
//!
//! Lanes take as long as the longest of them, so sides are sorted by how far the diagonal lives and
//! how long they are.

use std::ops::Range;

use super::super::settings::Settings;
use super::dispatch::{Kernels, Size};
use super::side::{Extension, Side, inner_band};

/// Fewer sides than this share of the lanes are extended one by one.
const LEAST_SHARE: usize = 16;

/// What a side starts from.
#[derive(Debug, Clone, Copy)]
pub(super) struct SideStart {
    pub(super) seed_score: i32,
    pub(super) clip: i32,
    pub(super) band: i32,
    /// Whether it is extended with the score of the other side.
    pub(super) is_right: bool,
}

/// A side, by where its bases are.
#[derive(Debug, Clone)]
struct Stored {
    query: Range<usize>,
    target: Range<usize>,
    seed_score: i32,
    clip: i32,
    band: i32,
    /// The band in the matrix.
    inner_band: i32,
    is_right: bool,
}

/// How alike sides are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Likeness {
    size: Size,
    /// Rows until the diagonal's score is 0, in steps; the last for those that live.
    diagonal: u32,
    columns: usize,
}

/// The sides of a round, and what they come to.
#[derive(Debug, Default)]
pub(super) struct Sides {
    codes: Vec<u8>,
    stored: Vec<Stored>,
    extensions: Vec<Extension>,
    order: Vec<(Likeness, usize)>,
    found: Vec<Extension>,
}

impl Sides {
    pub(super) fn clear(&mut self) {
        self.codes.clear();
        self.stored.clear();
    }

    /// Adds a side whose bases `query` and `target` put behind others. Its number.
    pub(super) fn add(
        &mut self,
        start: SideStart,
        settings: &Settings,
        query: impl FnOnce(&mut Vec<u8>),
        target: impl FnOnce(&mut Vec<u8>),
    ) -> usize {
        let first = self.codes.len();
        query(&mut self.codes);
        let middle = self.codes.len();
        target(&mut self.codes);
        let (query, target) = (first..middle, middle..self.codes.len());
        let SideStart { seed_score, clip, band, is_right } = start;
        let inner_band = inner_band([query.len() as i32, clip, band], settings);
        self.stored.push(Stored { query, target, seed_score, clip, band, inner_band, is_right });
        self.stored.len() - 1
    }

    fn side(&self, at: usize) -> Side<'_> {
        let Stored { query, target, seed_score, inner_band: band, .. } = self.stored[at].clone();
        let [query, target] = [query, target].map(|range| &self.codes[range]);
        Side { query, target, seed_score, band }
    }

    /// What side `at` comes to, in twice its band if the alignment came near the band's edge; and
    /// the band.
    pub(super) fn extension(&self, at: usize) -> (Extension, i32) {
        (self.extensions[at], self.stored[at].band)
    }

    /// Extends all.
    pub(super) fn extend(&mut self, kernels: &mut Kernels, settings: &Settings) {
        self.extensions.clear();
        self.extensions.resize(self.stored.len(), Extension::default());
        let mut order = std::mem::take(&mut self.order);
        order.clear();
        for at in 0..self.stored.len() {
            let side = self.side(at);
            match diagonal(&side, self.stored[at].band, settings) {
                Diagonal::Decides(extension) => self.extensions[at] = extension,
                Diagonal::Lives(rows) => {
                    let (size, columns) = (Size::of(&side, settings), side.query.len());
                    order.push((Likeness { size, diagonal: rows, columns }, at));
                }
            }
        }
        order.sort_unstable();
        for some in order.chunk_by(|a, b| a.0.size == b.0.size) {
            let size = some[0].0.size;
            for some in some.chunks(kernels.lanes(size)) {
                self.extend_some(some, size, kernels, settings);
            }
        }
        for &(_, at) in &order {
            self.widen(at, kernels, settings);
        }
        self.order = order;
    }

    fn extend_some(
        &mut self,
        some: &[(Likeness, usize)],
        size: Size,
        kernels: &mut Kernels,
        settings: &Settings,
    ) {
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        let sides: Vec<_> = some.iter().map(|&(_, at)| self.side(at)).collect();
        if sides.len() * LEAST_SHARE < kernels.lanes(size) {
            found.extend(sides.iter().map(|side| kernels.extend_one(side, settings)));
        } else {
            kernels.extend(&sides, size, settings, &mut found);
        }
        for (&(_, at), &extension) in some.iter().zip(&found) {
            self.extensions[at] = extension;
        }
        self.found = found;
    }

    /// Extends a side once more in twice the band if the best scores were near the edge of the
    /// band, and better than that of the seed.
    fn widen(&mut self, at: usize, kernels: &mut Kernels, settings: &Settings) {
        let Extension { score, off_diagonal, .. } = self.extensions[at];
        let Stored { band, seed_score, is_right, .. } = self.stored[at];
        let is_far_inside = off_diagonal < (band >> 1) + (band >> 2);
        if is_far_inside || (is_right && score == seed_score) {
            return;
        }
        let stored = &mut self.stored[at];
        stored.band = band << 1;
        let bases = stored.query.len() as i32;
        stored.inner_band = inner_band([bases, stored.clip, stored.band], settings);
        self.extensions[at] = kernels.extend_one(&self.side(at), settings);
    }
}

/// What the diagonal says of a side.
enum Diagonal {
    /// All: no gap pays.
    Decides(Extension),
    /// That a matrix is needed; for how many steps of rows its score is above 0.
    Lives(u32),
}

/// Rows of the diagonal that count as one step.
const STEP_ROWS: usize = 8;

/// Looks along the diagonal.
fn diagonal(side: &Side<'_>, band: i32, settings: &Settings) -> Diagonal {
    let Side { query, target, seed_score, .. } = *side;
    let (mut score, mut mismatches, mut first, mut known) = (seed_score, 0, query.len(), true);
    let mut rows = 0;
    for (row, (&code, &base)) in query.iter().zip(target).enumerate() {
        if code != base {
            known &= code < 4;
            if mismatches == 0 {
                first = row;
            }
            mismatches += 1;
        }
        score += settings.score(code, base);
        if score <= 0 {
            break;
        }
        rows = row + 1;
    }
    let is_whole = rows == query.len();
    if is_whole && known && mismatches <= 1 && no_gap_pays(side, [first as i32, band], settings) {
        return Diagonal::Decides(on_diagonal(side, mismatches, first, settings));
    }
    let steps = if is_whole { u32::MAX } else { (rows / STEP_ROWS) as u32 };
    Diagonal::Lives(steps)
}

/// Whether one mismatch, before which `first` bases match, costs less than any gap: then each row's
/// best score, and the best at the end of the read, are on the diagonal alone. In a band of 1 and
/// less bwa would try twice the band.
fn no_gap_pays(side: &Side<'_>, [first, band]: [i32; 2], settings: &Settings) -> bool {
    let gaps = &settings.gaps;
    let lost = settings.matching - settings.mismatch_score;
    let gap = (gaps.open_deletion + gaps.extend_deletion)
        .min(gaps.open_insertion + gaps.extend_insertion);
    let before = side.seed_score + first * settings.matching;
    let goes_on = before > -settings.mismatch_score;
    let not_dropped = settings.drop <= 0 || -settings.mismatch_score <= settings.drop;
    let in_order = settings.matching > 0 && settings.mismatch_score < 0 && band >= 2;
    let gaps_cost = gaps.extend_deletion > 0 && gaps.extend_insertion > 0;
    in_order && gaps_cost && lost < gap && goes_on && not_dropped
}

/// The extension of a side that is all on the diagonal.
fn on_diagonal(side: &Side<'_>, mismatches: i32, first: usize, settings: &Settings) -> Extension {
    let whole = side.query.len() as i32;
    let lost = mismatches * (settings.matching - settings.mismatch_score);
    let end_score = side.seed_score + whole * settings.matching - lost;
    let before = side.seed_score + first as i32 * settings.matching;
    // With no mismatch the two are one.
    let (score, bases) =
        if end_score > before { (end_score, whole) } else { (before, first as i32) };
    Extension {
        score,
        query_bases: bases,
        target_bases: bases,
        end_score,
        end_target_bases: whole,
        off_diagonal: 0,
    }
}

/// What the diagonal alone decides.
#[cfg(test)]
pub(super) fn decided(side: &Side<'_>, settings: &Settings) -> Option<Extension> {
    match diagonal(side, 100, settings) {
        Diagonal::Decides(extension) => Some(extension),
        Diagonal::Lives(_) => None,
    }
}
