//! Our own engine for RNA: the best placements of reads that may go over introns. What HISAT2
//! looks for.
//!
//! 1. `seeds` of [`super::by_score`]: few, which are enough for a read without a mismatch. Other
//!    reads get many, and those that are still not good, shorter ones.
//! 2. `diagonals`: where they are, and where known introns lead from there (`sites`).
//! 3. `join`: the best way of a read over diagonals that are near to each other; `motif` says what
//!    an intron between them would be.
//! 4. `choice`: which placements a read has; `pairs`: which of two mates are pairs.
//! 5. `emit`: to records. `introns`: what the placements go over.
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
mod introns;
mod join;
mod motif;
mod options;
mod overhang;
mod pairs;
mod sites;

use std::sync::Arc;

pub use found::{Evidence, IntronTable};
pub use options::{IntronOptions, LibraryStrand, SplicedOptions, StrandTag};
pub use sites::Intron;

use super::by_score::alignment::Output;
use super::by_score::record::Records;
use super::by_score::seeds::{Seed, SeedContext, SeedRules, SeedScratch};
use super::by_score::{Reads, is_unknown};
use super::chance;
use super::indexed::Indexed;
use super::placer::{self, Out, Placer, Template, batch_engine};
use super::query::Query;
use super::reference::Reference;
use choice::{ChoiceScratch, Chosen, Request, Spliced};
use diagonals::PricedRead;
use found::Met;
use seqloom_align::engine::Read;
use seqloom_align::index::{IndexError, IndexSource};
use sites::Sites;

/// Reads that are searched for together.
const GROUP_READS: usize = 64;
/// Rows of a seed that are looked at.
const ROWS: u32 = 16;
/// Rows of a seed that is not longer than chance would have it.
const ROWS_OF_SHORT: u32 = 8;

/// Introns that there is memory for besides what is planned: more than any annotation has.
const MOST_INTRONS: usize = 1 << 20;

/// Aligns reads of RNA over introns: what HISAT2 looks for.
#[derive(Debug)]
pub struct SplicedEngine {
    index: Indexed,
    options: SplicedOptions,
    introns: Arc<IntronTable>,
}

/// Working memory of one worker.
#[derive(Debug, Default)]
pub struct Scratch {
    group: GroupResults,
    seeds: SeedScratch,
    work: ChoiceScratch,
    output: Output<Spliced>,
    /// By mate, the placements that are reported.
    numbers: [Vec<usize>; 2],
    records: Records,
    met: Vec<Met>,
}

/// The reads of a group, and what was found of them.
#[derive(Debug, Default)]
struct GroupResults {
    reads: Reads,
    are_searched: Vec<bool>,
    /// What decides among placements of one score.
    keys: Vec<u64>,
    chosen: Vec<Chosen>,
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
    /// Reads an index.
    ///
    /// # Errors
    /// When a file cannot be read or has changed.
    pub fn load(
        source: IndexSource<'_>,
        options: SplicedOptions,
        introns: Arc<IntronTable>,
    ) -> Result<Self, IndexError> {
        let index = Indexed::read(source)?;
        introns.begin(index.bases());
        Ok(Self { index, options, introns })
    }

    /// Takes other options and introns without reading the index again: tests and fuzzing try many.
    pub fn set_options(&mut self, options: SplicedOptions, introns: Arc<IntronTable>) {
        introns.begin(self.index.bases());
        (self.options, self.introns) = (options, introns);
    }

    /// Memory besides that of the index itself, for a reference of so many bases.
    #[must_use]
    pub fn table_bytes(bases: u64) -> u64 {
        Indexed::table_bytes(bases) + Sites::size_bytes(MOST_INTRONS)
    }

    /// The reference, and the strands on which mate `mate` is requested, or a single read (0).
    fn reference(&self, mate: usize) -> Reference<'_> {
        self.index.reference(self.options.mates.strands(mate, self.options.strands))
    }

    /// Takes the reads of a group in place of what was here.
    fn take(&self, reads: &[Read<'_>], group: &mut GroupResults) {
        let scoring = &self.options.scoring;
        group.reads.take(reads, scoring);
        let is_searched = |query: &Query| {
            query.len() >= self.shortest_read()
                && !is_unknown(query, scoring)
                && choice::minimum(scoring, query.len()) <= 0
        };
        group.are_searched.clear();
        group.are_searched.extend(group.reads.queries[..reads.len()].iter().map(is_searched));
        group.keys.clear();
        group.keys.extend(reads.iter().map(|read| chance::of_texts([read.name, read.bases])));
        group.chosen.clear();
        group.chosen.resize(reads.len(), Chosen::default());
    }

    /// Shorter reads are not searched for.
    fn shortest_read(&self) -> usize {
        self.index.chance_bases.into()
    }

    fn rules(&self, round: Round) -> SeedRules {
        let enough_bases = self.index.chance_bases + 8;
        let (least_bases, rows_of_short) = match round {
            Round::First | Round::Second => (self.index.chance_bases + 2, ROWS),
            Round::Third => (self.index.chance_bases.saturating_sub(1), ROWS_OF_SHORT),
        };
        SeedRules { least_bases, enough_bases, rows_of_short }
    }

    /// Adds the seeds of read `number` of a group.
    fn seed(&self, number: usize, query: &Query, round: Round, work: &mut SeedScratch) {
        let (length, least) = (query.len(), usize::from(self.rules(round).least_bases));
        let ends = (least..=length).rev().step_by(round.interval(length));
        work.seeds.extend(ends.map(|end| Seed::new(number, end, ROWS)));
    }

    /// Searches for seeds of all reads that are requested, and chooses their placements.
    fn pass(
        &self,
        incoming: placer::Group<'_>,
        round: Round,
        scratch: &mut Scratch,
        are_requested: &[bool],
    ) {
        let Scratch { group, seeds, work, output, .. } = scratch;
        let requested = || (0..are_requested.len()).filter(|&number| are_requested[number]);
        requested()
            .for_each(|number| self.seed(number, &group.reads.queries[number], round, seeds));
        if seeds.seeds.is_empty() {
            return;
        }
        let (queries, rules) = (&group.reads.queries, self.rules(round));
        let context = SeedContext { tables: self.index.tables(), queries, rules };
        seeds.find(&context, |query| group.keys[query as usize]);
        let references = [0, 1].map(|mate| self.reference(mate));
        for number in requested() {
            let looks_beyond = round == Round::Third;
            let request = self.request((group, number), looks_beyond);
            let reference = &references[if incoming.are_mates { number % 2 } else { 0 }];
            let chosen = work.choose(request, reference, seeds.hits_of(number), output);
            group.chosen[number] = chosen;
        }
    }

    /// A read of a group, and what is required of it.
    fn request<'g>(
        &'g self,
        (group, number): (&'g GroupResults, usize),
        looks_beyond: bool,
    ) -> Request<'g> {
        let Reads { queries, penalties } = &group.reads;
        let query = &queries[number];
        let scoring = &self.options.scoring;
        Request {
            read: PricedRead { query, penalties: &penalties[number], unknown: scoring.unknown },
            options: &self.options,
            sites: self.introns.sites(),
            minimum: choice::minimum(scoring, query.len()),
            key: group.keys[number],
            looks_beyond,
        }
    }

    /// Whether a read is to be searched for once more.
    fn is_requested(&self, scratch: &Scratch, number: usize, round: Round) -> bool {
        let (group, output) = (&scratch.group, &scratch.output);
        let chosen = &group.chosen[number];
        let best = output.alignments[chosen.found.clone()].first();
        // A read with one mismatch that two seeds are on is nowhere else with less than two.
        let enough = match round {
            Round::First => 0,
            Round::Second | Round::Third => -i32::from(self.options.scoring.mismatch[0]),
        };
        group.are_searched[number] && best.is_none_or(|best| best.alignment.score < enough)
    }
}

batch_engine!(SplicedEngine);

impl Placer for SplicedEngine {
    type Scratch = Scratch;

    fn trim(&self) -> [usize; 2] {
        self.options.trim
    }

    fn group_reads(&self) -> usize {
        GROUP_READS
    }

    fn place(&self, incoming: placer::Group<'_>, scratch: &mut Scratch) -> usize {
        let reads = incoming.reads;
        self.take(reads, &mut scratch.group);
        scratch.seeds.hits.clear();
        scratch.output.clear();
        for round in [Round::First, Round::Second, Round::Third] {
            let are_requested: Vec<bool> =
                (0..reads.len()).map(|number| self.is_requested(scratch, number, round)).collect();
            self.pass(incoming, round, scratch, &are_requested);
        }
        reads.len()
    }

    fn report(&self, template: Template<'_>, scratch: &mut Scratch, out: &mut Out<'_>) {
        self.hand_out(template, scratch, out);
    }

    fn end_batch(&self, scratch: &mut Scratch) {
        self.introns.add(&mut scratch.met);
    }
}
