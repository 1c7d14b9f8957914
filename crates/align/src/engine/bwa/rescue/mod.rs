//! Mate rescue: a mate without a region where a proper pair would have it is aligned to that window
//! of the reference by Smith-Waterman (`mem_matesw`).
//!
//! Each good region of a read is an anchor: the mate is aligned to the windows of all orientations
//! in which it has no region yet. What is found becomes a region of the mate like others, and may
//! make later windows unneeded. So a batch is searched in two steps: all windows that are needed by
//! the regions that are there at first, in lanes; then pair by pair, in order, results are added to
//! the regions, or dropped where they are no longer needed.

mod find;
mod start;
mod window;

use find::Finder;
use window::Window;

use super::local::dispatch::{Kernels, ScoreWidth};
use super::pair::insert_size::Model;
use super::reference::Reference;
use super::regions::redundant::{RedundantScratch, remove_redundant};
use super::regions::rescued;
use super::regions::{NONE, Region};
use super::settings::Settings;

/// A read as rescue needs it: its bases as codes.
pub(super) type Codes<'a> = &'a [u8];

/// The options, the insert-size model and the reference.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rescue<'a> {
    pub(super) settings: &'a Settings,
    pub(super) model: &'a Model,
    pub(super) reference: &'a Reference<'a>,
}

/// One attempt to rescue a mate: from one anchor, in one orientation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Attempt {
    /// Number of the pair in the batch.
    pair: u32,
    /// The mate whose region is the anchor; the other is searched for.
    mate: u8,
    /// Number of the anchor.
    anchor: u32,
    orientation: u8,
}

/// An alignment in a window: both intervals, and scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LocalAlignment {
    score: i32,
    second: i32,
    /// From the window's first base, to the last base of the alignment.
    target: [usize; 2],
    /// Likewise, of the query.
    query: [usize; 2],
}

/// An attempt's window, and what was found there.
#[derive(Debug, Clone, Copy)]
struct MateSearch {
    attempt: Attempt,
    window: Window,
    score_width: ScoreWidth,
    found: Option<LocalAlignment>,
}

/// Working memory of rescue.
#[derive(Debug)]
pub(super) struct RescueScratch {
    finder: Finder,
    searches: Vec<MateSearch>,
    anchors: [Vec<Region>; 2],
    redundant: RedundantScratch,
    met: Vec<(i64, u32)>,
}

impl RescueScratch {
    /// Works with so many lanes at most from now on.
    pub(super) fn limit_lanes(&mut self, most: usize) {
        self.finder.kernels = Kernels::of_lanes(most);
    }
}

impl Default for RescueScratch {
    fn default() -> Self {
        Self {
            finder: Finder::new(Kernels::new()),
            searches: Vec::new(),
            anchors: <[Vec<Region>; 2]>::default(),
            redundant: RedundantScratch::default(),
            met: Vec::new(),
        }
    }
}

impl Rescue<'_> {
    /// Searches for the mates of all pairs, of which bases and regions are given one mate after the
    /// other, and adds what it finds to their regions.
    pub(super) fn run(
        &self,
        reads: &[Codes<'_>],
        regions: &mut [Vec<Region>],
        scratch: &mut RescueScratch,
    ) {
        scratch.searches.clear();
        let pairs = reads.as_chunks().0.iter().zip(regions.as_chunks().0);
        for (pair, (reads, regions)) in (0..).zip(pairs) {
            self.plan(pair, reads, regions, &mut scratch.searches);
        }
        self.search(reads, &mut scratch.searches, &mut scratch.finder);
        // Of pairs without a search nothing changes.
        let searches = std::mem::take(&mut scratch.searches);
        for of_pair in searches.chunk_by(|one, next| one.attempt.pair == next.attempt.pair) {
            let reads_at = 2 * of_pair[0].attempt.pair as usize;
            let reads = [reads[reads_at], reads[reads_at + 1]];
            if let [one, two, ..] = &mut regions[reads_at..] {
                self.apply(&reads, [one, two], of_pair, scratch);
            }
        }
        scratch.searches = searches;
    }

    /// The regions of a mate from which the other is searched for.
    fn anchors<'r>(&self, regions: &'r [Region]) -> impl Iterator<Item = &'r Region> + 'r {
        let least = regions.first().map_or(0, |it| it.score) - self.settings.unpaired_penalty;
        let good = regions.iter().filter(move |it| it.score >= least);
        good.take(self.settings.most_rescues)
    }

    /// All attempts that a pair's regions require, in order.
    fn plan(
        &self,
        pair: u32,
        reads: &[Codes<'_>; 2],
        regions: &[Vec<Region>; 2],
        out: &mut Vec<MateSearch>,
    ) {
        for mate in 0..2 {
            let other = 1 - mate;
            for (number, anchor) in (0..).zip(self.anchors(&regions[mate])) {
                let bases = self.reference.bases;
                let needed =
                    window::needed_orientations(anchor, &regions[other], self.model, bases);
                for orientation in (0..4).filter(|&at| needed[at]) {
                    let attempt = Attempt {
                        pair,
                        mate: mate as u8,
                        anchor: number,
                        orientation: orientation as u8,
                    };
                    out.extend(self.search_for(attempt, anchor, reads[other]));
                }
            }
        }
    }

    /// The search of an attempt, if there is a window for it.
    fn search_for(&self, attempt: Attempt, anchor: &Region, mate: Codes<'_>) -> Option<MateSearch> {
        let orientation = attempt.orientation.into();
        let (model, settings) = (self.model, self.settings);
        let window =
            window::window(anchor, orientation, mate.len(), model, self.reference, settings)?;
        let score_width = width(mate.len(), settings);
        Some(MateSearch { attempt, window, score_width, found: None })
    }

    /// Adds what was found for a pair to its regions.
    fn apply(
        &self,
        reads: &[Codes<'_>; 2],
        regions: [&mut Vec<Region>; 2],
        searches: &[MateSearch],
        scratch: &mut RescueScratch,
    ) {
        let pair = searches[0].attempt.pair;
        let mut anchors = std::mem::take(&mut scratch.anchors);
        for (anchors, regions) in anchors.iter_mut().zip(&regions) {
            anchors.clear();
            anchors.extend(self.anchors(regions));
        }
        for mate in 0..2 {
            let (other, read) = (1 - mate, reads[1 - mate]);
            // As extension left them, they may still change.
            let mut is_settled = false;
            for (number, anchor) in (0..).zip(&anchors[mate]) {
                let bases = self.reference.bases;
                let needed = window::needed_orientations(anchor, regions[other], self.model, bases);
                let mut tried = false;
                for orientation in (0..4).filter(|&at| needed[at]) {
                    let attempt = Attempt {
                        pair,
                        mate: mate as u8,
                        anchor: number,
                        orientation: orientation as u8,
                    };
                    let search = self.result_of(attempt, anchor, reads, searches, scratch);
                    tried |= search.is_some();
                    let found = search.and_then(|it| Some((it.window, it.found?)));
                    let region =
                        found.map(|(window, it)| self.region(anchor, &window, &it, read.len()));
                    if tried {
                        self.add(region, regions[other], &mut is_settled, scratch);
                    }
                }
            }
        }
        scratch.anchors = anchors;
    }

    /// Adds a region, if one was found, to those of a mate, and removes what is redundant.
    /// `is_settled` says that nothing is before that.
    fn add(
        &self,
        region: Option<Region>,
        regions: &mut Vec<Region>,
        is_settled: &mut bool,
        scratch: &mut RescueScratch,
    ) {
        let RescueScratch { redundant, met, finder, .. } = scratch;
        if *is_settled && finder.shortcuts.insertion {
            let Some(region) = &region else { return };
            if rescued::add(regions, region, self.settings, met) {
                return;
            }
        }
        if let Some(region) = region {
            insert(regions, region);
        }
        remove_redundant(regions, self.settings, redundant, |_, _| None);
        *is_settled = true;
    }

    /// The search of an attempt: one of those that were done, or, where a region is gone that made
    /// it unneeded, done now.
    fn result_of(
        &self,
        attempt: Attempt,
        anchor: &Region,
        reads: &[Codes<'_>; 2],
        searches: &[MateSearch],
        scratch: &mut RescueScratch,
    ) -> Option<MateSearch> {
        if let Ok(at) = searches.binary_search_by_key(&attempt, |it| it.attempt) {
            return Some(searches[at]);
        }
        let mate = reads[1 - usize::from(attempt.mate)];
        let here = Attempt { pair: 0, ..attempt };
        let mut search = self.search_for(here, anchor, mate)?;
        self.search(reads, std::slice::from_mut(&mut search), &mut scratch.finder);
        Some(search)
    }

    /// An alignment in a window as a region of a mate of `length` bases.
    fn region(
        &self,
        anchor: &Region,
        window: &Window,
        local: &LocalAlignment,
        length: usize,
    ) -> Region {
        let [first, last] = local.query.map(|at| at as i32);
        let [start, end] =
            [local.target[0], local.target[1] + 1].map(|at| window.start + at as i64);
        let (doubled, length) = (2 * self.reference.bases as i64, length as i32);
        let (reference, read) = if window.reversed {
            ([doubled - end, doubled - start], [length - (last + 1), length - first])
        } else {
            ([start, end], [first, last + 1])
        };
        Region {
            reference_start: reference[0],
            reference_end: reference[1],
            hash: 0,
            read_start: read[0],
            read_end: read[1],
            sequence: anchor.sequence,
            score: local.score,
            true_score: 0,
            sub: 0,
            alt_score: 0,
            tandem_score: local.second,
            sub_count: 0,
            band: 0,
            secondary: NONE,
            secondary_of_all: 0,
            repetitive: 0.0,
            is_alt: anchor.is_alt,
        }
    }
}

/// Bits of the scores of a mate of `length` bases: 8 where no score can pass them. (Columns are
/// padded accordingly.)
fn width(length: usize, settings: &Settings) -> ScoreWidth {
    const MOST: i64 = 254;
    const BELOW: i64 = 250;
    let most = length as i64 * i64::from(settings.matching);
    let penalty = i64::from(-settings.mismatch_score).max(1);
    if most < BELOW && most + penalty <= MOST { ScoreWidth::Bits8 } else { ScoreWidth::Bits16 }
}

/// Inserts a region before the first that scores less.
fn insert(regions: &mut Vec<Region>, region: Region) {
    let at = regions.iter().position(|it| it.score < region.score).unwrap_or(regions.len());
    regions.insert(at, region);
}

#[cfg(test)]
mod tests;
