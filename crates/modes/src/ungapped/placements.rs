//! All placements that count, of a group of reads.

use std::ops::Range;

use crate::chance::{drawn_rows, hash};
use seqloom_align::search::{Interval, lockstep};

use super::locate::{Candidate, Context, Placement};
use super::options::{Acceptance, UngappedOptions};
use super::scheme::{CutRead, FEW_ROWS, Leaf, LeafSink, Pieces, Stack, search};
use crate::indexed::Tables;
use crate::options::Reported;
use crate::query::Query;
use crate::reference::Reference;

/// Reads that are searched for together.
pub(super) const GROUP_READS: usize = 64;
/// A group ends early where it has so many placements: with those of the read that passes it, a
/// worker holds 3 MiB of them.
const GROUP_PLACEMENTS: usize = 1 << 16;
/// Most placements of a read that are looked at: a template may have 65,536 records.
pub(super) const MOST_PLACEMENTS: usize = 1 << 16;
/// Rows that go to their places together: enough for the walks to overlap, and little memory.
const CANDIDATES: usize = 2048;

/// Prefetch distance, in placements.
const AHEAD: usize = 16;

/// Working memory.
#[derive(Debug, Default)]
pub(super) struct PlacementScratch {
    stack: Stack,
    candidates: Vec<Candidate>,
    active: Vec<usize>,
    /// Placements of the group, sorted by read and place.
    found: Vec<Placement>,
    /// Of each read, how many were found; one more than [`Limits::kept`] is more than that.
    counts: Vec<u32>,
    /// Reads that some rows were drawn of, in order.
    drawn: Vec<usize>,
    open: Vec<usize>,
}

impl PlacementScratch {
    /// Where in the group the placements of read `number` are.
    pub(super) fn range_of(&self, number: usize) -> Range<usize> {
        let read = |placement: &Placement| placement.query as usize;
        let from = self.found.partition_point(|it| read(it) < number);
        from..self.found.partition_point(|it| read(it) <= number)
    }

    /// The placements of read `number` of the group, by place.
    pub(super) fn of(&self, number: usize) -> &[Placement] {
        &self.found[self.range_of(number)]
    }

    /// Has the processor fetch the bases under the placement that comes some after number `at` of
    /// the group: by the time that it is written, they are there.
    #[inline(always)]
    pub(super) fn prefetch_after(&self, at: usize, reference: &Reference<'_>, queries: &[Query]) {
        if let Some(placement) = self.found.get(at + AHEAD) {
            let length = queries[placement.query as usize].len();
            reference.genome.prefetch(placement.place, length);
        }
    }
}

/// What is searched in, by all workers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Genome<'a> {
    pub(super) tables: Tables<'a>,
    pub(super) reference: Reference<'a>,
}

/// How long is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    /// Placements of a read that are kept; the search for it ends when there is one more.
    kept: u32,
    /// First number of mismatches that is searched for.
    first_level: u8,
    last_level: u8,
    /// A read with so many placements is not searched for with more mismatches.
    enough: u32,
    draw: Option<Draw>,
    /// Reads of a template: all of them are searched for.
    step: usize,
}

/// Which exact placements of a read are looked at where not all are requested and one is as good as
/// another. A read from a repeat is exactly in thousands of places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Draw {
    /// How many are requested.
    rows: u32,
    /// The number that the first read of the group has in the input.
    first_ordinal: u64,
}

impl Draw {
    /// Rows of read `number` of the group, among `all`, which are more.
    fn rows_of(self, number: usize, all: Interval) -> impl Iterator<Item = u64> {
        let chance = move |which| hash(self.first_ordinal + number as u64, which);
        drawn_rows(chance, all, self.rows)
    }
}

impl Limits {
    /// Those of single reads, the first of which has number `first_ordinal` in the input.
    pub(super) fn of(options: &UngappedOptions, first_ordinal: u64) -> Self {
        let most = options.acceptance.most();
        let least_requested = match (options.best_stratum, options.reported, options.max_placements)
        {
            (true, ..) => Some(1),
            (false, Reported::AtMost(requested), None) => Some(requested),
            _ => None,
        };
        let draw = match (options.acceptance, options.reported, options.max_placements) {
            (Acceptance::Mismatches(_), Reported::AtMost(rows), None) => {
                Some(Draw { rows, first_ordinal })
            }
            _ => None,
        };
        Self {
            kept: options
                .max_placements
                .map_or(MOST_PLACEMENTS as u32, |most| most.min(MOST_PLACEMENTS as u32)),
            first_level: if least_requested.is_some() { 0 } else { most },
            last_level: most,
            enough: least_requested.unwrap_or(u32::MAX),
            draw,
            step: 1,
        }
    }

    /// Those of mates: all that there is, for any of it may be part of a pair.
    pub(super) fn of_mates(options: &UngappedOptions) -> Self {
        let most = options.acceptance.most();
        let (first_level, last_level) = (most, most);
        let kept = MOST_PLACEMENTS as u32;
        Self { kept, first_level, last_level, enough: u32::MAX, draw: None, step: 2 }
    }
}

/// Finds the placements of `queries`, or of the first of them: as many as it says. Of a read with
/// more placements than are looked at, one more than that many.
#[inline(always)]
pub(super) fn find(
    genome: Genome<'_>,
    (acceptance, limits): (Acceptance, Limits),
    queries: &[Query],
    work: &mut PlacementScratch,
) -> usize {
    work.found.clear();
    work.candidates.clear();
    work.counts.clear();
    work.counts.resize(queries.len(), 0);
    work.drawn.clear();
    work.open.clear();
    work.open.extend(0..queries.len());
    let mut finished = queries.len();
    let levels = (limits.first_level..=limits.last_level).map(|level| (level, None));
    let drawing = limits.draw.map(|draw| (0, Some(draw)));
    for (level, draw) in drawing.into_iter().chain(levels) {
        let pass = Pass { genome, acceptance, limits, queries, level, draw };
        finished = pass.run(finished, work);
        work.found.retain(|placement| (placement.query as usize) < finished);
        let (counts, drawn) = (&work.counts, &work.drawn);
        work.open.retain(|query| {
            // What was drawn may reach over the end of a sequence.
            let all_drawn = draw.filter(|_| drawn.binary_search(query).is_ok());
            let enough = all_drawn.map_or(limits.enough, |draw| draw.rows);
            *query < finished && counts[*query] < enough
        });
        if work.open.is_empty() {
            break;
        }
        if draw.is_some() || level < limits.last_level {
            // They are found again with those that have more mismatches.
            for &query in &work.open {
                work.counts[query] = 0;
            }
            work.found.retain(|placement| work.counts[placement.query as usize] > 0);
        }
    }
    work.found.sort_unstable_by_key(Placement::order);
    finished
}

/// A search for all open reads with some number of mismatches.
#[derive(Clone, Copy)]
struct Pass<'a> {
    genome: Genome<'a>,
    acceptance: Acceptance,
    limits: Limits,
    queries: &'a [Query],
    /// The number of mismatches.
    level: u8,
    /// Not all rows of exact placements are looked at.
    draw: Option<Draw>,
}

impl Pass<'_> {
    /// Up to the template, of `end` reads, where the group has placements enough.
    #[inline(always)]
    fn run(self, end: usize, work: &mut PlacementScratch) -> usize {
        let open = std::mem::take(&mut work.open);
        let mut end = end;
        for &number in &open {
            if number >= end {
                break;
            }
            self.search(number, work);
            if work.found.len() > GROUP_PLACEMENTS {
                end = end.min((number + 1).next_multiple_of(self.limits.step));
            }
        }
        self.locate(work);
        work.open = open;
        end
    }

    #[inline(always)]
    fn search(self, number: usize, work: &mut PlacementScratch) {
        let query = &self.queries[number];
        let searched = self.acceptance.searched_bases(query.len());
        if searched == 0 {
            return;
        }
        let pieces = Pieces::new(searched, self.level.into());
        let read = CutRead { codes: &query.codes()[..searched], pieces: &pieces };
        let mut stack = std::mem::take(&mut work.stack);
        for piece in 0..pieces.count() {
            let mut rows = RowsOfRead { pass: self, number, piece, work };
            if !search(self.genome.tables, read, piece, &mut stack, &mut rows) {
                break;
            }
        }
        work.stack = stack;
    }

    /// All candidates to placements.
    #[inline(always)]
    fn locate(self, work: &mut PlacementScratch) {
        let context = Context {
            rows: self.genome.tables.rows,
            reference: self.genome.reference,
            queries: self.queries,
            acceptance: self.acceptance,
        };
        lockstep::run(&mut work.candidates, &context, &mut work.active);
        for placement in work.candidates.drain(..).filter_map(|found| found.placement()) {
            let count = &mut work.counts[placement.query as usize];
            if *count <= self.limits.kept {
                *count += 1;
                work.found.push(placement);
            }
        }
    }
}

/// Takes the rows of a read's leaves.
struct RowsOfRead<'a, 'w> {
    pass: Pass<'a>,
    number: usize,
    piece: usize,
    work: &'w mut PlacementScratch,
}

impl RowsOfRead<'_, '_> {
    /// Takes rows of `leaf`. False once the read has more placements than are kept.
    #[inline(always)]
    fn take(&mut self, leaf: &Leaf, mut rows: impl Iterator<Item = u64>) -> bool {
        let (level, piece) = (self.pass.level.into(), self.piece);
        rows.all(|row| {
            let candidate = Candidate::new(row, self.number, leaf, level, piece);
            self.work.candidates.push(candidate);
            if self.work.candidates.len() < CANDIDATES {
                return true;
            }
            self.pass.locate(self.work);
            self.work.counts[self.number] <= self.pass.limits.kept
        })
    }
}

impl LeafSink for RowsOfRead<'_, '_> {
    #[inline(always)]
    fn leaf(&mut self, leaf: Leaf) -> bool {
        let Interval { first, count } = leaf.rows;
        // Fewer rows may be those of a part of the read.
        let draw = self.pass.draw.filter(|draw| count > FEW_ROWS.max(draw.rows.into()));
        let Some(draw) = draw else { return self.take(&leaf, first..first + count) };
        self.work.drawn.push(self.number);
        self.take(&leaf, draw.rows_of(self.number, leaf.rows))
    }
}
