//! The flanks of a round: those that need no matrix, and the others in lanes.
//!
//! A kernel takes as long as its longest lane, so flanks are sorted by how far the score along the
//! diagonal stays above 0, and by length.

use std::ops::Range;

use super::super::differences::differences;
use super::super::settings::Settings;
use super::dispatch::{KernelKind, Kernels};
use super::flank::{Extension, Flank, inner_band};

/// Fewer flanks than this share of the lanes are extended by the scalar kernel.
const LEAST_SHARE: usize = 16;

/// Where the extension over a flank starts.
#[derive(Debug, Clone, Copy)]
pub(super) struct FlankStart {
    pub(super) seed_score: i32,
    pub(super) clip: i32,
    pub(super) band: i32,
    /// Whether it is extended with the score of the other flank.
    pub(super) is_right: bool,
}

impl FlankStart {
    /// Bases of the reference that an extension over so many bases of the read may reach, in twice
    /// the band, too.
    pub(super) fn reach(&self, bases: i32, settings: &Settings) -> i64 {
        let band = inner_band([bases, self.clip, self.band.saturating_mul(2)], settings);
        i64::from(bases) + i64::from(band.max(0))
    }
}

/// A flank, by where its bases are.
#[derive(Debug, Clone)]
struct StoredFlank {
    query: Range<usize>,
    target: Range<usize>,
    seed_score: i32,
    clip: i32,
    band: i32,
    /// The band in the matrix.
    inner_band: i32,
    is_right: bool,
}

/// Flanks that are alike by this share a kernel call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct SortKey {
    kind: KernelKind,
    /// Rows until the diagonal's score is 0, in steps; the last for those that live.
    diagonal: u32,
    columns: usize,
}

/// The flanks of a round, and their extensions.
#[derive(Debug, Default)]
pub(super) struct Flanks {
    codes: Vec<u8>,
    stored: Vec<StoredFlank>,
    extensions: Vec<Extension>,
    order: Vec<(SortKey, usize)>,
    found: Vec<Extension>,
}

impl Flanks {
    pub(super) fn clear(&mut self) {
        self.codes.clear();
        self.stored.clear();
    }

    /// Adds a flank, whose bases `query` and `target` append. Returns its number.
    pub(super) fn add(
        &mut self,
        start: FlankStart,
        settings: &Settings,
        query: impl FnOnce(&mut Vec<u8>),
        target: impl FnOnce(&mut Vec<u8>),
    ) -> usize {
        let first = self.codes.len();
        query(&mut self.codes);
        let middle = self.codes.len();
        target(&mut self.codes);
        let (query, target) = (first..middle, middle..self.codes.len());
        let FlankStart { seed_score, clip, band, is_right } = start;
        let inner_band = inner_band([query.len() as i32, clip, band], settings);
        self.stored.push(StoredFlank {
            query,
            target,
            seed_score,
            clip,
            band,
            inner_band,
            is_right,
        });
        self.stored.len() - 1
    }

    fn flank(&self, at: usize) -> Flank<'_> {
        let StoredFlank { query, target, seed_score, inner_band: band, .. } =
            self.stored[at].clone();
        let [query, target] = [query, target].map(|range| &self.codes[range]);
        Flank { query, target, seed_score, band }
    }

    /// The extension over flank `at`, in twice its band if the alignment came near the band's edge;
    /// and the band.
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
            let flank = self.flank(at);
            match diagonal(&flank, self.stored[at].band, settings) {
                Diagonal::Decides(extension) => self.extensions[at] = extension,
                Diagonal::Lives(rows) => {
                    let (kind, columns) = (KernelKind::of(&flank, settings), flank.query.len());
                    order.push((SortKey { kind, diagonal: rows, columns }, at));
                }
            }
        }
        order.sort_unstable();
        for some in order.chunk_by(|a, b| a.0.kind == b.0.kind) {
            let kind = some[0].0.kind;
            // Those that are left over are the ones that end first.
            for some in some.rchunks(kernels.lanes(kind)) {
                self.extend_together(some, kind, kernels, settings);
            }
        }
        for &(_, at) in &order {
            self.widen(at, kernels, settings);
        }
        self.order = order;
    }

    fn extend_together(
        &mut self,
        some: &[(SortKey, usize)],
        kind: KernelKind,
        kernels: &mut Kernels,
        settings: &Settings,
    ) {
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        let flanks: Vec<_> = some.iter().map(|&(_, at)| self.flank(at)).collect();
        if flanks.len() * LEAST_SHARE < kernels.lanes(kind) {
            found.extend(flanks.iter().map(|flank| kernels.extend_scalar(flank, settings)));
        } else {
            kernels.extend(&flanks, kind, settings, &mut found);
        }
        for (&(_, at), &extension) in some.iter().zip(&found) {
            self.extensions[at] = extension;
        }
        self.found = found;
    }

    /// Extends a flank once more in twice the band if the best scores were near the edge of the
    /// band, and better than that of the seed.
    fn widen(&mut self, at: usize, kernels: &mut Kernels, settings: &Settings) {
        let Extension { score, off_diagonal, .. } = self.extensions[at];
        let StoredFlank { band, seed_score, is_right, .. } = self.stored[at];
        let is_far_inside = off_diagonal < (band >> 1) + (band >> 2);
        if is_far_inside || (is_right && score == seed_score) {
            return;
        }
        let stored = &mut self.stored[at];
        stored.band = band << 1;
        let bases = stored.query.len() as i32;
        stored.inner_band = inner_band([bases, stored.clip, stored.band], settings);
        self.extensions[at] = kernels.extend_scalar(&self.flank(at), settings);
    }
}

/// What the diagonal says of a flank.
enum Diagonal {
    /// All: no gap pays.
    Decides(Extension),
    /// That a matrix is needed; for how many steps of rows its score is above 0.
    Lives(u32),
}

/// Rows of the diagonal that count as one step.
const STEP_ROWS: usize = 8;

/// Looks along the diagonal, where a match adds to the score.
fn diagonal(flank: &Flank<'_>, band: i32, settings: &Settings) -> Diagonal {
    let Flank { query, target, seed_score, .. } = *flank;
    let (mut score, mut mismatches, mut first, mut known) = (seed_score, 0, query.len(), true);
    let (mut after, mut rows) = (0, query.len().min(target.len()));
    for row in differences(query, target) {
        let code = query[row];
        known &= code < 4;
        if mismatches == 0 {
            first = row;
        }
        mismatches += 1;
        score += (row - after) as i32 * settings.matching + settings.score(code, target[row]);
        after = row + 1;
        if score <= 0 {
            rows = row;
            break;
        }
    }
    let is_whole = rows == query.len();
    if is_whole && known && mismatches <= 1 && no_gap_pays(flank, [first as i32, band], settings) {
        return Diagonal::Decides(on_diagonal(flank, mismatches, first, settings));
    }
    let steps = if is_whole { u32::MAX } else { (rows / STEP_ROWS) as u32 };
    Diagonal::Lives(steps)
}

/// Whether one mismatch, before which `first` bases match, costs less than any gap: then each row's
/// best score, and the best at the end of the read, are on the diagonal alone. In a band of 1 and
/// less bwa would try twice the band.
fn no_gap_pays(flank: &Flank<'_>, [first, band]: [i32; 2], settings: &Settings) -> bool {
    let gaps = &settings.gaps;
    let lost = settings.matching - settings.mismatch_score;
    let gap = (gaps.open_deletion + gaps.extend_deletion)
        .min(gaps.open_insertion + gaps.extend_insertion);
    let before = flank.seed_score + first * settings.matching;
    let goes_on = before > -settings.mismatch_score;
    let not_dropped = settings.z_drop <= 0 || -settings.mismatch_score <= settings.z_drop;
    let in_order = settings.matching > 0 && settings.mismatch_score < 0 && band >= 2;
    let gaps_cost = gaps.extend_deletion > 0 && gaps.extend_insertion > 0;
    in_order && gaps_cost && lost < gap && goes_on && not_dropped
}

/// The extension of a flank that is all on the diagonal.
fn on_diagonal(flank: &Flank<'_>, mismatches: i32, first: usize, settings: &Settings) -> Extension {
    let whole = flank.query.len() as i32;
    let lost = mismatches * (settings.matching - settings.mismatch_score);
    let end_score = flank.seed_score + whole * settings.matching - lost;
    let before = flank.seed_score + first as i32 * settings.matching;
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
pub(super) fn decided(flank: &Flank<'_>, settings: &Settings) -> Option<Extension> {
    match diagonal(flank, 100, settings) {
        Diagonal::Decides(extension) => Some(extension),
        Diagonal::Lives(_) => None,
    }
}
