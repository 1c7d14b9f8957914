//! Our own engine for RNA: the best placements of reads that may go over introns. What HISAT2
//! looks for.
//!
//! 1. `seeds` of [`super::gapped`]: few, which are enough for a read without a mismatch. Other
//!    reads get many, and those that are still not good, shorter ones.
//! 2. `diagonals`: where they lie, and where known introns lead from there (`sites`).
//! 3. `join`: the best way of a read over diagonals that are near to each other; `motif` says what
//!    an intron between them would be.
//! 4. `choice`: which placements a read has.
//! 5. `record`: to BAM.
//!
//! Of placements of one score chance decides, by the read's name and bases: neither the order of
//! reads nor that of lanes changes what becomes of one.
//!
//! A first pass over the input does 1 to 4 to find introns (`found`), by which the second places
//! reads: what a read becomes does not depend on which came before it.

mod choice;
mod diagonals;
mod emit;
mod found;
mod join;
mod motif;
mod options;
mod overhang;
mod pairs;
mod record;
mod sites;

use std::path::Path;
use std::sync::Arc;

pub use found::{Evidence, IntronTable};
pub use options::{IntronOptions, LibraryStrand, SplicedOptions, StrandTag};
pub use sites::Intron;

use super::chance;
use super::gapped::seeds::{Seed, SeedContext, SeedRules, SeedWork};
use super::gapped::window::Reference;
use super::query::Query;
use super::starts::Starts;
use crate::engine::Read;
use crate::index::{IndexError, IndexInfo, Loaded};
use crate::search::rows::Rows;
use crate::search::text::Genome;
use choice::{Asked, Chosen, Output, Work};
use diagonals::PricedRead;
use found::Met;
use sites::Sites;

/// Reads that are searched for together.
const GROUP_READS: usize = 64;
/// Rows of a seed that are looked at.
const ROWS: u32 = 16;
/// Rows of a seed that is not longer than chance would have it.
const ROWS_OF_SHORT: u32 = 8;

/// Introns that there is memory for beside what is planned: more than any annotation has.
const MOST_INTRONS: usize = 1 << 20;

/// See the module documentation.
#[derive(Debug)]
pub struct SplicedEngine {
    index: Loaded,
    starts: Starts,
    options: SplicedOptions,
    introns: Arc<IntronTable>,
    /// Strings of so many bases occur by chance once or less.
    chance_bases: u16,
}

/// Working memory of one worker.
#[derive(Debug, Default)]
pub struct Scratch {
    reads: Group,
    seeds: SeedWork,
    work: Work,
    output: Output,
    records: record::Work,
    met: Vec<Met>,
}

/// The reads of a group.
#[derive(Debug, Default)]
struct Group {
    queries: Vec<Query>,
    /// What mismatches cost, by base.
    penalties: Vec<Vec<i16>>,
    are_searched: Vec<bool>,
    /// What decides among placements of one score.
    keys: Vec<u64>,
    chosen: Vec<Chosen>,
}

/// The reads of a group as they come in.
#[derive(Debug, Clone, Copy)]
struct Incoming<'r> {
    reads: &'r [Read<'r>],
    /// Two and two are mates.
    are_mates: bool,
}

/// How much is done for reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Round {
    /// Enough for reads without a mismatch.
    First,
    /// Enough for most others.
    Second,
    /// For what is near the ends of a read.
    Third,
}

impl Round {
    /// Bases from the end of a seed to that of the next.
    fn interval(self, length: usize) -> usize {
        match self {
            Self::First => (length / 2).max(1),
            Self::Second => 8,
            Self::Third => 3,
        }
    }
}

impl SplicedEngine {
    /// Reads the index at `prefix`, which has been checked and found to be `info`.
    ///
    /// # Errors
    /// When a file cannot be read or has changed.
    pub fn load(
        prefix: &Path,
        info: &IndexInfo,
        options: SplicedOptions,
        introns: Arc<IntronTable>,
    ) -> Result<Self, IndexError> {
        let index = Loaded::read(prefix, info)?;
        let parts = index.parts();
        let starts = Starts::find(&Rows::new(parts), parts.bases);
        let chance_bases = (1..32).find(|&bases| 1 << (2 * bases) >= 2 * parts.bases);
        let chance_bases = chance_bases.unwrap_or(32);
        introns.begin(parts.bases);
        Ok(Self { index, starts, options, introns, chance_bases })
    }

    /// Goes by other options and introns from here on.
    pub fn set_options(&mut self, options: SplicedOptions, introns: Arc<IntronTable>) {
        introns.begin(self.index.parts().bases);
        (self.options, self.introns) = (options, introns);
    }

    /// Memory beside that of the index itself, for a reference of so many bases.
    #[must_use]
    pub fn table_bytes(bases: u64) -> u64 {
        Starts::size_bytes(bases) + Sites::size_bytes(MOST_INTRONS)
    }

    /// The reference, and the strands on which reads are wanted: of single ones, or of mate 0 or 1.
    fn reference(&self, mate: Option<usize>) -> Reference<'_> {
        let parts = self.index.parts();
        let genome = Genome { packed: parts.packed, bases: parts.bases };
        let (sequences, holes) = (self.index.sequences(), self.index.holes());
        let is_turned = mate == Some(1) && !self.options.mates.pairs.are_alike();
        let strands = self.options.strands.turned_if(is_turned);
        Reference { genome, sequences, holes, strands }
    }

    /// Takes the reads of a group in place of what was here.
    fn take(&self, reads: &[Read<'_>], group: &mut Group) {
        let count = group.queries.len().max(reads.len());
        group.queries.resize_with(count, Query::default);
        group.penalties.resize_with(count, Vec::new);
        group.are_searched.clear();
        group.keys.clear();
        group.keys.extend(reads.iter().map(|read| chance::of_texts([read.name, read.bases])));
        group.chosen.clear();
        group.chosen.resize(reads.len(), Chosen::default());
        let scoring = &self.options.scoring;
        for (number, read) in reads.iter().enumerate() {
            let query = &mut group.queries[number];
            query.take(read.bases, read.qualities);
            scoring.penalties(query, &mut group.penalties[number]);
            let unknown = choice::unknown_bases(query.codes());
            let is_searched = query.len() >= usize::from(self.chance_bases)
                && unknown <= scoring.unknown_at_most(query.len()) as usize
                && choice::minimum(scoring, query.len()) <= 0;
            group.are_searched.push(is_searched);
        }
    }

    fn rules(&self, round: Round) -> SeedRules {
        let enough_bases = self.chance_bases + 8;
        let (least_bases, rows_of_short) = match round {
            Round::First | Round::Second => (self.chance_bases + 2, ROWS),
            Round::Third => (self.chance_bases.saturating_sub(1), ROWS_OF_SHORT),
        };
        SeedRules { least_bases, enough_bases, rows_of_short }
    }

    /// Adds the seeds of read `number` of a group.
    fn seed(&self, number: usize, query: &Query, round: Round, work: &mut SeedWork) {
        let (length, least) = (query.len(), usize::from(self.rules(round).least_bases));
        let ends = (least..=length).rev().step_by(round.interval(length));
        work.seeds.extend(ends.map(|end| Seed::new(number, end, ROWS)));
    }

    /// Searches for seeds of all reads that are wanted, and chooses their placements.
    fn pass(
        &self,
        incoming: Incoming<'_>,
        round: Round,
        scratch: &mut Scratch,
        are_wanted: &[bool],
    ) {
        let Scratch { reads: group, seeds, work, output, .. } = scratch;
        let wanted = || (0..are_wanted.len()).filter(|&number| are_wanted[number]);
        wanted().for_each(|number| self.seed(number, &group.queries[number], round, seeds));
        if seeds.seeds.is_empty() {
            return;
        }
        let rows = Rows::new(self.index.parts());
        let (queries, rules) = (&group.queries, self.rules(round));
        let context = SeedContext { rows, starts: &self.starts, queries, rules };
        seeds.find(&context, |query| group.keys[query as usize]);
        let references = [Some(0), Some(1)].map(|mate| self.reference(mate));
        for number in wanted() {
            let looks_beyond = round == Round::Third;
            let asked = self.asked((group, number), looks_beyond);
            let reference = &references[if incoming.are_mates { number % 2 } else { 0 }];
            let chosen = work.choose(asked, reference, seeds.hits_of(number), output);
            group.chosen[number] = chosen;
        }
    }

    /// A read of a group, and what is asked of it.
    fn asked<'g>(&'g self, (group, number): (&'g Group, usize), looks_beyond: bool) -> Asked<'g> {
        let query = &group.queries[number];
        let scoring = &self.options.scoring;
        Asked {
            read: PricedRead {
                query,
                penalties: &group.penalties[number],
                unknown: scoring.unknown,
            },
            options: &self.options,
            sites: self.introns.sites(),
            minimum: choice::minimum(scoring, query.len()),
            key: group.keys[number],
            looks_beyond,
        }
    }

    /// Whether a read is to be searched for once more.
    fn is_wanted(&self, scratch: &Scratch, number: usize, round: Round) -> bool {
        let (group, output) = (&scratch.reads, &scratch.output);
        let chosen = &group.chosen[number];
        let best = output.alignments[chosen.found.clone()].first();
        // A read with one mismatch that two seeds lie on is nowhere else with less than two.
        let enough = match round {
            Round::First => 0,
            Round::Second | Round::Third => -i32::from(self.options.scoring.mismatch[0]),
        };
        group.are_searched[number] && best.is_none_or(|best| best.score < enough)
    }

    /// Finds the placements of a group of reads.
    fn place(&self, incoming: Incoming<'_>, scratch: &mut Scratch) {
        let reads = incoming.reads;
        self.take(reads, &mut scratch.reads);
        scratch.seeds.hits.clear();
        scratch.output.alignments.clear();
        scratch.output.ops.clear();
        for round in [Round::First, Round::Second, Round::Third] {
            let are_wanted: Vec<bool> =
                (0..reads.len()).map(|number| self.is_wanted(scratch, number, round)).collect();
            self.pass(incoming, round, scratch, &are_wanted);
        }
    }
}
