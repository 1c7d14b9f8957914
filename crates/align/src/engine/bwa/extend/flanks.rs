//! Flanks: those that need no matrix, and the others, which wait until they fill the lanes of a
//! kernel.
//!
//! A kernel takes as long as its longest lane, so flanks are sorted by length. (Where the score
//! along the diagonal falls to 0 says less of how many rows a flank takes: gaps keep it alive.)

use std::ops::Range;

use super::super::differences::differences;
use super::super::settings::Settings;
use super::dispatch::{KernelKind, Kernels};
use super::flank::{Extension, Flank, inner_band};

/// Fewer flanks than this share of the lanes are extended by the scalar kernel.
const LEAST_SHARE: usize = 32;

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

/// A flank that waits, by where its bases are.
#[derive(Debug, Clone)]
struct WaitingFlank {
    /// Number of the seed's extension.
    of: usize,
    query: Range<usize>,
    target: Range<usize>,
    seed_score: i32,
    clip: i32,
    band: i32,
    /// The band in the matrix.
    inner_band: i32,
    is_right: bool,
}

/// By what flanks are sorted: those that are alike share a kernel call.
#[derive(Debug, Clone, Copy)]
struct SortKey {
    kind: KernelKind,
    columns: u32,
    /// The flank's number.
    flank: u32,
}

impl SortKey {
    fn order(&self) -> u64 {
        (self.kind as u64) << 32 | u64::from(self.columns)
    }
}

/// What a flank comes to.
#[derive(Debug, Clone, Copy)]
pub(super) struct FoundFlank {
    /// Number of the seed's extension.
    pub(super) of: usize,
    /// The extension, in twice the band if the alignment came near the band's edge, and the band;
    /// `None` where the read ends.
    pub(super) extension: Option<(Extension, i32)>,
}

/// Flanks that wait.
#[derive(Debug, Default)]
struct WaitingFlanks {
    codes: Vec<u8>,
    flanks: Vec<WaitingFlank>,
    keys: Vec<SortKey>,
}

/// The flanks of the extensions.
#[derive(Debug, Default)]
pub(super) struct Flanks {
    waiting: WaitingFlanks,
    /// Those that wait on, as they are moved.
    left_over: WaitingFlanks,
    found: Vec<Extension>,
}

impl Flanks {
    /// Takes the next flank of extension `of`, whose bases `query` and `target` append. Returns
    /// what it comes to if the diagonal decides that, else it waits.
    pub(super) fn add(
        &mut self,
        of: usize,
        start: FlankStart,
        settings: &Settings,
        query: impl FnOnce(&mut Vec<u8>),
        target: impl FnOnce(&mut Vec<u8>),
    ) -> Option<FoundFlank> {
        let WaitingFlanks { codes, flanks, keys } = &mut self.waiting;
        let first = codes.len();
        query(codes);
        let middle = codes.len();
        target(codes);
        let (query, target) = (first..middle, middle..codes.len());
        let FlankStart { seed_score, clip, band, is_right } = start;
        let inner_band = inner_band([query.len() as i32, clip, band], settings);
        let waiting =
            WaitingFlank { of, query, target, seed_score, clip, band, inner_band, is_right };
        let flank = waiting.flank(codes);
        if let Some(extension) = decided(&flank, band, settings) {
            codes.truncate(first);
            return Some(FoundFlank { of, extension: Some((extension, band)) });
        }
        let (kind, columns) = (KernelKind::of(&flank, settings), flank.query.len() as u32);
        keys.push(SortKey { kind, columns, flank: flanks.len() as u32 });
        flanks.push(waiting);
        None
    }

    /// Extends as many of the flanks as fill the lanes of kernels, or all if there are too few, and
    /// hands out what they come to. False if no flank waits.
    pub(super) fn extend_some(
        &mut self,
        kernels: &mut Kernels,
        settings: &Settings,
        take: &mut impl FnMut(FoundFlank),
    ) -> bool {
        let Self { waiting, left_over, found } = self;
        waiting.keys.sort_unstable_by_key(SortKey::order);
        let has_some = !waiting.keys.is_empty();
        let kinds = || waiting.keys.chunk_by(|a, b| a.kind == b.kind);
        let is_one_full = kinds().any(|some| some.len() >= kernels.lanes(some[0].kind));
        for some in kinds() {
            let lanes = kernels.lanes(some[0].kind);
            // Those that are left over are the ones that end first.
            let (last, now) = some.split_at(if is_one_full { some.len() % lanes } else { 0 });
            for some in now.rchunks(lanes) {
                waiting.extend_together(some, kernels, settings, found, take);
            }
            last.iter().for_each(|&key| left_over.take(key, waiting));
        }
        std::mem::swap(waiting, left_over);
        left_over.clear();
        has_some
    }
}

impl WaitingFlanks {
    fn clear(&mut self) {
        self.codes.clear();
        self.flanks.clear();
        self.keys.clear();
    }

    /// Takes a flank of others.
    fn take(&mut self, key: SortKey, others: &Self) {
        let mut flank = others.flanks[key.flank as usize].clone();
        for range in [&mut flank.query, &mut flank.target] {
            let start = self.codes.len();
            self.codes.extend_from_slice(&others.codes[range.clone()]);
            *range = start..self.codes.len();
        }
        self.keys.push(SortKey { flank: self.flanks.len() as u32, ..key });
        self.flanks.push(flank);
    }

    /// Extends over flanks of one kind, as many as there are lanes at most.
    fn extend_together(
        &self,
        some: &[SortKey],
        kernels: &mut Kernels,
        settings: &Settings,
        found: &mut Vec<Extension>,
        take: &mut impl FnMut(FoundFlank),
    ) {
        let (codes, kind) = (&self.codes, some[0].kind);
        let waiting = || some.iter().map(|key| &self.flanks[key.flank as usize]);
        found.clear();
        let flanks: Vec<_> = waiting().map(|flank| flank.flank(codes)).collect();
        if flanks.len() * LEAST_SHARE < kernels.lanes(kind) {
            found.extend(flanks.iter().map(|flank| kernels.extend_scalar(flank, settings)));
        } else {
            kernels.extend(&flanks, kind, settings, found);
        }
        for (flank, &extension) in waiting().zip(found.iter()) {
            let extension = flank.widened(extension, codes, kernels, settings);
            take(FoundFlank { of: flank.of, extension: Some(extension) });
        }
    }
}

impl WaitingFlank {
    fn flank<'a>(&self, codes: &'a [u8]) -> Flank<'a> {
        let [query, target] = [&self.query, &self.target].map(|range| &codes[range.clone()]);
        Flank { query, target, seed_score: self.seed_score, band: self.inner_band }
    }

    /// The extension and its band: once more in twice the band if the best scores were near the
    /// edge of the band, and better than that of the seed.
    fn widened(
        &self,
        extension: Extension,
        codes: &[u8],
        kernels: &mut Kernels,
        settings: &Settings,
    ) -> (Extension, i32) {
        let band = self.band;
        let is_far_inside = extension.off_diagonal < (band >> 1) + (band >> 2);
        if is_far_inside || (self.is_right && extension.score == self.seed_score) {
            return (extension, band);
        }
        let band = band << 1;
        let inner_band = inner_band([self.query.len() as i32, self.clip, band], settings);
        let flank = Flank { band: inner_band, ..self.flank(codes) };
        (kernels.extend_scalar(&flank, settings), band)
    }
}

/// The extension over a flank that has one mismatch with the reference at most, if no gap pays.
pub(super) fn decided(flank: &Flank<'_>, band: i32, settings: &Settings) -> Option<Extension> {
    let Flank { query, target, .. } = *flank;
    let mut mismatches = differences(query, target);
    let first = mismatches.next();
    if target.len() < query.len() || mismatches.next().is_some() {
        return None;
    }
    let is_known = first.is_none_or(|at| query[at] < 4);
    let (count, bases) = (first.iter().len() as i32, first.unwrap_or(query.len()));
    let is_decided = is_known && no_gap_pays(flank, [bases as i32, band], settings);
    is_decided.then(|| on_diagonal(flank, count, bases, settings))
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
