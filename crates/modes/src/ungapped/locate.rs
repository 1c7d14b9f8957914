//! From rows to placements: many rows in turn to their places, and the read compared with each.

use super::choice::Choosable;
use super::options::Acceptance;
use super::scheme::{Leaf, Pieces, Rest};
use crate::query::{Differences, Query};
use crate::reference::Reference;
use seqloom_align::search::lockstep::Search;
use seqloom_align::search::{Rows, Step, Walk};

/// A placement that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Placement {
    /// Number of the read among those that are searched for together.
    pub(super) query: u32,
    /// Mismatches where the search counts them.
    pub(super) stratum: u8,
    /// The read's first base in `T`.
    pub(super) place: u64,
}

impl Placement {
    /// By read, then place. In one word, which compares without a branch: places have 39 bits
    /// (`index::layout`), and of reads there are few.
    #[inline(always)]
    pub(super) fn order(&self) -> u64 {
        u64::from(self.query) << 40 | self.place
    }
}

impl Choosable for Placement {
    type Place = u64;

    fn stratum(&self) -> u32 {
        self.stratum.into()
    }

    fn place(&self) -> u64 {
        self.place
    }
}

impl Reference<'_> {
    /// The first base of a read whose base `offset` is at `place`, if all of it is on one strand.
    #[inline(always)]
    fn start(&self, place: u64, offset: usize, length: usize) -> Option<u64> {
        let start = place.checked_sub(offset as u64)?;
        let (bases, end) = (self.genome.bases, start + length as u64);
        let on_one_strand = if start < bases { end <= bases } else { end <= 2 * bases };
        on_one_strand.then_some(start)
    }
}

/// What all rows of a search are looked at with.
pub(super) struct Context<'a> {
    pub(super) rows: Rows<'a>,
    pub(super) reference: Reference<'a>,
    pub(super) queries: &'a [Query],
    pub(super) acceptance: Acceptance,
}

/// Where a row's walk has come to.
#[derive(Debug, Clone, Copy)]
enum SearchState {
    Walking(Walk),
    /// The read's first base would be here.
    Placed(u64),
    Done(Option<Placement>),
}

/// A row of a leaf.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate {
    state: SearchState,
    query: u32,
    /// What the walk has not passed.
    rest: Rest,
    /// Most mismatches, where the search counts them.
    most: u8,
    /// The first piece without a mismatch.
    piece: u8,
}

impl Rest {
    /// Whether the read can still be here when the walk has passed `base` with its step number
    /// `steps`, from 1.
    #[inline(always)]
    fn goes_on(&mut self, query: &Query, steps: u64, base: usize) -> bool {
        if self.beyond == 0 {
            return true;
        }
        self.beyond -= 1;
        let (border, steps) = (usize::from(self.border), steps as usize);
        let is_match = if self.is_turned {
            usize::from(query.codes()[border + steps - 1]) == 3 - base
        } else {
            usize::from(query.codes()[border - steps]) == base
        };
        if is_match {
            return true;
        }
        let left = self.allowed.checked_sub(1);
        self.allowed = left.unwrap_or(0);
        left.is_some()
    }

    /// Where the read's first base is, whose row is at `place`.
    #[inline(always)]
    fn start(&self, reference: &Reference<'_>, place: u64, length: usize) -> Option<u64> {
        let border = usize::from(self.border);
        if self.is_turned {
            let turned = reference.start(place, length - border, length)?;
            return Some(2 * reference.genome.bases - turned - length as u64);
        }
        reference.start(place, border, length)
    }
}

impl Candidate {
    /// A row of a leaf of search `piece` for at most `most` mismatches.
    pub(super) fn new(row: u64, query: usize, leaf: &Leaf, most: usize, piece: usize) -> Self {
        Self {
            state: SearchState::Walking(Walk::from_row(row)),
            query: query as u32,
            rest: leaf.rest,
            most: most as u8,
            piece: piece as u8,
        }
    }

    /// The placement, if there is one that counts, once the walk is over.
    pub(super) fn placement(&self) -> Option<Placement> {
        if let SearchState::Done(placement) = self.state { placement } else { None }
    }

    /// Compares the read with the genome.
    #[inline(always)]
    fn examine(&self, context: &Context<'_>, place: u64) -> Option<Placement> {
        let query = &context.queries[self.query as usize];
        let (length, most) = (query.len(), u32::from(self.most));
        let limit = match context.acceptance {
            Acceptance::Mismatches(_) => most,
            Acceptance::Seed(_) => u32::MAX,
        };
        let differences = query.differences(context.reference.genome, place, limit)?;
        let searched = context.acceptance.searched_bases(length);
        let stratum = differences.count_in(0, searched);
        let counts = stratum <= most
            && self.is_of_this_search(&differences, searched)
            && context.acceptance.takes(query, &differences)
            && context.reference.spot(place, length).is_some();
        counts.then_some(Placement { query: self.query, stratum: stratum as u8, place })
    }

    /// Whether the first piece without a mismatch is that of the search.
    #[inline(always)]
    fn is_of_this_search(&self, differences: &Differences, searched: usize) -> bool {
        let pieces = Pieces::new(searched, self.most.into());
        let count = |number: usize| {
            let [from, end] = pieces.piece(number);
            differences.count_in(from, end)
        };
        let piece = usize::from(self.piece);
        count(piece) == 0 && (0..piece).all(|number| count(number) > 0)
    }
}

impl Acceptance {
    /// Whether the qualities of the mismatches are low enough, where they count.
    #[inline(always)]
    fn takes(self, query: &Query, differences: &Differences) -> bool {
        match self {
            Self::Mismatches(_) => true,
            Self::Seed(seed) => {
                query.cost(differences, |quality| self.cost(quality)) <= seed.quality_ceiling
            }
        }
    }
}

impl Search<Context<'_>> for Candidate {
    #[inline(always)]
    fn step(&mut self, context: &Context<'_>) -> bool {
        match &mut self.state {
            SearchState::Walking(walk) => {
                let query = &context.queries[self.query as usize];
                let found = context.rows.step_over(walk);
                let walk = *walk;
                let start = match found {
                    Step::Place(place) => self.rest.start(&context.reference, place, query.len()),
                    Step::Base(base) if !self.rest.goes_on(query, walk.steps, base) => None,
                    Step::Base(_) | Step::Sampled => {
                        context.rows.prefetch_walk(walk);
                        return true;
                    }
                };
                self.state = start.map_or(SearchState::Done(None), SearchState::Placed);
                if let Some(start) = start {
                    context.reference.genome.prefetch(start, query.len());
                }
                start.is_some()
            }
            SearchState::Placed(place) => {
                let place = *place;
                self.state = SearchState::Done(self.examine(context, place));
                false
            }
            SearchState::Done(_) => false,
        }
    }
}
