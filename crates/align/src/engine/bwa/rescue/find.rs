//! The searches of a batch: where in each window a mate aligns best.
//!
//! First common 5-mers are counted, which leaves bands of a window, or nothing of it ([`bound`]);
//! then bands are aligned in lanes, those of like widths together, and windows without bands in
//! full; last, the start of an alignment is found from its end backwards, again in a band.

use super::super::local::band::BandedWindow;
use super::super::local::bound::{self, Band, DiagonalHit, QueryKmers, SearchScope};
use super::super::local::dispatch::{Kernels, ScoreWidth};
use super::super::local::kernel::{FullWindow, Scores, SequencePair};
use super::super::local::parts::{Best, MatrixParts};
use super::super::settings::has_gap;
use super::start::{self, StartBound};
use super::{Attempt, Codes, LocalAlignment, MateSearch, Rescue};
use crate::search::text::Bases;

/// What is done to find the same with less work; tests turn it off.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shortcuts {
    /// Windows are passed over in which no alignment can be.
    pub(super) bound: bool,
    /// Windows are aligned in bands.
    pub(super) bands: bool,
    /// Starts are searched for in bands.
    pub(super) starts: bool,
    /// What is found is compared with the other regions alone.
    pub(super) insertion: bool,
}

impl Default for Shortcuts {
    fn default() -> Self {
        Self { bound: true, bands: true, starts: true, insertion: true }
    }
}

/// Rows of a window that are aligned in full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct FullSearch {
    rows: u32,
    first: u32,
    search: u32,
}

/// A band of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct BandSearch {
    width: u32,
    first: i32,
    search: u32,
}

/// An alignment of which the start is searched for.
#[derive(Debug, Clone, Copy)]
struct AlignmentEnd {
    search: u32,
    best: Best,
    back: StartBound,
    /// Whether lanes have no score for a letter of the read.
    is_odd: bool,
}

/// Working memory of searches.
#[derive(Debug)]
pub(in super::super) struct Finder {
    pub(super) kernels: Kernels,
    pub(super) shortcuts: Shortcuts,
    query: QueryKmers,
    window: Bases,
    hits: Vec<DiagonalHit>,
    reach: Vec<i32>,
    bands: Vec<Band>,
    in_full: Vec<FullSearch>,
    in_bands: Vec<BandSearch>,
    whole: Vec<FullWindow>,
    banded: Vec<BandedWindow>,
    parts: MatrixParts,
    /// The search of each part, and the part's number.
    owners: Vec<(u32, usize)>,
    numbers: Vec<usize>,
    ends: Vec<AlignmentEnd>,
    sequences: SequencePair,
}

impl Finder {
    pub(super) fn new(kernels: Kernels) -> Self {
        Self {
            kernels,
            shortcuts: Shortcuts::default(),
            query: QueryKmers::default(),
            window: Bases::default(),
            hits: Vec::new(),
            reach: Vec::new(),
            bands: Vec::new(),
            in_full: Vec::new(),
            in_bands: Vec::new(),
            whole: Vec::new(),
            banded: Vec::new(),
            parts: MatrixParts::default(),
            owners: Vec::new(),
            numbers: Vec::new(),
            ends: Vec::new(),
            sequences: SequencePair::default(),
        }
    }
}

impl Rescue<'_> {
    /// Does all searches.
    pub(super) fn search(
        &self,
        reads: &[Codes<'_>],
        searches: &mut [MateSearch],
        finder: &mut Finder,
    ) {
        let least = self.settings.unseen_score();
        for (score_width, padding) in [(ScoreWidth::Bits8, 16), (ScoreWidth::Bits16, 8)] {
            let scores = Scores { settings: self.settings, least, padding };
            self.divide(reads, searches, score_width, &scores, finder);
            self.align(reads, searches, score_width, &scores, finder);
            self.find_ends(reads, searches, &scores, finder);
            self.find_starts(reads, searches, score_width, &scores, finder);
        }
    }

    /// Divides the windows of all searches of one kind into what has to be aligned.
    fn divide(
        &self,
        reads: &[Codes<'_>],
        searches: &[MateSearch],
        score_width: ScoreWidth,
        scores: &Scores<'_>,
        finder: &mut Finder,
    ) {
        finder.in_full.clear();
        finder.in_bands.clear();
        let is_bounded = finder.shortcuts.bound && bound::holds(self.settings);
        let mut last = None;
        let mut sought = SearchScope::Everywhere;
        for (at, search) in (0..).zip(searches).filter(|(_, it)| it.score_width == score_width) {
            let MateSearch { attempt, window, .. } = *search;
            let rows = (window.end - window.start) as u32;
            let whole = FullSearch { rows, first: 0, search: at };
            let of = (attempt.pair, attempt.mate, window.reversed);
            if is_bounded && last.replace(of) != Some(of) {
                let read = mate_of(attempt, reads);
                let reversed = read.iter().rev().map(|&code| complement(code));
                sought = if window.reversed {
                    finder.query.take(reversed, scores.least)
                } else {
                    finder.query.take(read.iter().copied(), scores.least)
                };
            }
            let least = match sought {
                SearchScope::Nowhere => continue,
                SearchScope::Bands { least } => least,
                SearchScope::Everywhere => {
                    finder.in_full.push(whole);
                    continue;
                }
            };
            let genome = self.reference.genome();
            finder.window.take_window(genome, window.start as u64, rows as usize);
            let Finder { kernels, query, window, hits, reach, bands, .. } = finder;
            kernels.count(query, window, hits);
            bound::bands(hits, least, reach, bands);
            if !finder.shortcuts.bands && !finder.bands.is_empty() {
                finder.in_full.push(whole);
                continue;
            }
            let padded = mate_of(attempt, reads).len().next_multiple_of(scores.padding) as i32;
            for &Band { first, last } in &finder.bands {
                let (first, last) = (first.max(1 - padded), last.min(rows as i32 - 1));
                let width = last - first + 1;
                if width < padded {
                    finder.in_bands.push(BandSearch { width: width as u32, first, search: at });
                } else {
                    let end = (last + padded).min(rows as i32);
                    let first = first.max(0) as u32;
                    finder.in_full.push(FullSearch { rows: end as u32 - first, first, search: at });
                }
            }
        }
    }

    /// Aligns all that there is to be aligned.
    fn align(
        &self,
        reads: &[Codes<'_>],
        searches: &[MateSearch],
        score_width: ScoreWidth,
        scores: &Scores<'_>,
        finder: &mut Finder,
    ) {
        let Finder { kernels, in_full, in_bands, whole, banded, parts, owners, .. } = finder;
        let lanes = kernels.lanes(score_width);
        parts.clear();
        owners.clear();
        let mut own = |search: u32| owners.push((search, owners.len()));
        in_full.sort_unstable();
        whole.resize_with(whole.len().max(lanes), FullWindow::default);
        for some in in_full.chunks(lanes) {
            for (it, whole) in some.iter().zip(&mut *whole) {
                let search = &searches[it.search as usize];
                let rows = [it.first, it.first + it.rows].map(i64::from);
                self.load(search, reads, rows, &mut whole.sequences);
                whole.first_row = it.first;
                own(it.search);
            }
            kernels.align(&whole[..some.len()], scores, score_width, parts);
        }
        in_bands.sort_unstable();
        banded.resize_with(banded.len().max(lanes), BandedWindow::default);
        for some in in_bands.chunks(lanes) {
            for (it, banded) in some.iter().zip(&mut *banded) {
                let search = &searches[it.search as usize];
                let columns = mate_of(search.attempt, reads).len().next_multiple_of(scores.padding);
                let end = i64::from(it.first) + i64::from(it.width) + columns as i64 - 1;
                let rows = [i64::from(it.first), end];
                self.load(search, reads, rows, &mut banded.sequences);
                (banded.first_row, banded.width) = (it.first, it.width as usize);
                own(it.search);
            }
            kernels.align_in_bands(&banded[..some.len()], scores, score_width, parts);
        }
    }

    /// Lists the ends of all alignments that score enough, but those of which the start is known.
    fn find_ends(
        &self,
        reads: &[Codes<'_>],
        searches: &mut [MateSearch],
        scores: &Scores<'_>,
        finder: &mut Finder,
    ) {
        let Finder { parts, owners, numbers, ends, shortcuts, sequences, .. } = finder;
        ends.clear();
        owners.sort_unstable();
        for of_one in owners.chunk_by(|one, next| one.0 == next.0) {
            numbers.clear();
            numbers.extend(of_one.iter().map(|&(_, part)| part));
            let best = parts.best(numbers, scores);
            if best.score < scores.least {
                continue;
            }
            let number = of_one[0].0;
            let search = &mut searches[number as usize];
            let mut back = StartBound::new(&best, scores);
            if shortcuts.starts {
                self.reverse_to_start(search, reads, &best, [best.column + 1; 2], sequences);
                if let Some(length) = start::straight(sequences, &best, scores) {
                    back = back.within_rows(length, &best, scores);
                    if back.is_straight() {
                        let first = Best { row: length - 1, column: length - 1, ..best };
                        search.found = local(&best, &first);
                        continue;
                    }
                }
            }
            let is_odd = has_gap(mate_of(search.attempt, reads));
            ends.push(AlignmentEnd { search: number, best, back, is_odd });
        }
    }

    /// Finds where the alignments begin, back from their ends.
    fn find_starts(
        &self,
        reads: &[Codes<'_>],
        searches: &mut [MateSearch],
        score_width: ScoreWidth,
        scores: &Scores<'_>,
        finder: &mut Finder,
    ) {
        let Finder { kernels, whole, banded, parts, ends, shortcuts, .. } = finder;
        let lanes = kernels.lanes(score_width);
        let width = |end: &AlignmentEnd| {
            let width = end.back.width();
            if width < end.back.columns && shortcuts.starts && !end.is_odd {
                width
            } else {
                usize::MAX
            }
        };
        // Those of like shapes together.
        ends.sort_unstable_by_key(|end| (width(end), end.back.rows, end.search));
        let (in_bands, in_full) =
            ends.split_at(ends.partition_point(|end| width(end) < usize::MAX));
        whole.resize_with(whole.len().max(lanes), FullWindow::default);
        for some in in_full.chunks(lanes) {
            for (end, whole) in some.iter().zip(&mut *whole) {
                let AlignmentEnd { search, best, back, .. } = end;
                let most = [back.rows, back.columns];
                let search = &searches[*search as usize];
                self.reverse_to_start(search, reads, best, most, &mut whole.sequences);
                whole.first_row = 0;
            }
            parts.clear();
            kernels.align(&whole[..some.len()], scores, score_width, parts);
            put_starts(some, parts, searches);
        }
        banded.resize_with(banded.len().max(lanes), BandedWindow::default);
        for some in in_bands.chunks(lanes) {
            for (end, banded) in some.iter().zip(&mut *banded) {
                let AlignmentEnd { search, best, back, .. } = end;
                let most = [back.rows, back.columns];
                let search = &searches[*search as usize];
                self.reverse_to_start(search, reads, best, most, &mut banded.sequences);
                (banded.first_row, banded.width) = (-(back.insertions as i32), back.width());
            }
            parts.clear();
            kernels.align_in_bands(&banded[..some.len()], scores, score_width, parts);
            put_starts(some, parts, searches);
        }
    }

    /// The mate, reverse-complemented if its search requires that, and those of the rows that the
    /// window has.
    fn load(
        &self,
        search: &MateSearch,
        reads: &[Codes<'_>],
        rows: [i64; 2],
        out: &mut SequencePair,
    ) {
        let MateSearch { attempt, window, .. } = *search;
        let read = mate_of(attempt, reads);
        let SequencePair { query, target } = out;
        query.clear();
        if window.reversed {
            query.extend(read.iter().rev().map(|&code| complement(code)));
        } else {
            query.extend_from_slice(read);
        }
        let [start, end] = rows.map(|row| (window.start + row).clamp(window.start, window.end));
        self.reference.window(start, end, target);
    }

    /// The sequences by which the start of an alignment is found: up to its end, reversed, and no
    /// more rows and columns than `most`. The first row of these that reaches the score is that of
    /// the first base.
    fn reverse_to_start(
        &self,
        search: &MateSearch,
        reads: &[Codes<'_>],
        best: &Best,
        most: [usize; 2],
        out: &mut SequencePair,
    ) {
        let last = best.row as i64 + 1;
        self.load(search, reads, [(last - most[0] as i64).max(0), last], out);
        out.query.truncate(best.column + 1);
        out.query.reverse();
        out.query.truncate(most[1]);
        out.target.reverse();
    }
}

/// Stores the starts of some alignments in their searches.
fn put_starts(some: &[AlignmentEnd], parts: &MatrixParts, searches: &mut [MateSearch]) {
    for (at, end) in some.iter().enumerate() {
        searches[end.search as usize].found = local(&end.best, &parts.first(at));
    }
}

/// The mate that is searched for.
fn mate_of<'a>(attempt: Attempt, reads: &[Codes<'a>]) -> Codes<'a> {
    reads[2 * attempt.pair as usize + 1 - usize::from(attempt.mate)]
}

fn complement(code: u8) -> u8 {
    // Turned round, every other letter is N to bwa.
    if code < 4 { 3 - code } else { 4 }
}

/// An alignment from both its ends, if there is one.
pub(super) fn local(best: &Best, first: &Best) -> Option<LocalAlignment> {
    let found = first.score == best.score && first.score > 0;
    let is_in_both = first.row <= best.row && first.column <= best.column;
    (found && is_in_both).then_some(LocalAlignment {
        score: best.score,
        second: best.second,
        target: [best.row - first.row, best.row],
        query: [best.column - first.column, best.column],
    })
}
