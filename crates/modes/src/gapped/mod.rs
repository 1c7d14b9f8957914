//! Our own engine: the best placements of a read by a scheme of scores, with gaps, of whole
//! reads or of clipped ones. What Bowtie 2 looks for.
//!
//! 1. `seeds` of [`super::by_score`]: strings of the read that occur in the genome, and their
//!    places, for a group of reads at once.
//! 2. `candidates`: the diagonals on which they are, and what the read is worth there without a
//!    gap.
//! 3. `choice`: which of them are extended with gaps (`kernel`), where that could be of use
//!    (`bound`), and which placements differ from one another (`distinct`, `traceback`).
//! 4. Reads without a good placement get more and shorter seeds, and go through 2 and 3 once
//!    more.
//! 5. `emit`: to records, with MAPQ by the table of `mapq`.
//!
//! Of mates, `mates` takes the place of 3: it chooses pairs (`fragment` says where mates are, and
//! where they would be), and `rescue` finds mates without seeds.

mod bound;
mod candidates;
mod choice;
mod distinct;
mod emit;
mod fragment;
mod kernel;
mod mapq;
mod mates;
mod options;
mod rescue;
mod simd;
mod traceback;

pub use super::by_score::mates::MateOptions;
pub use super::by_score::score::{
    GapPenalty, Growth, LengthFunction, MOST_BONUS, MOST_PENALTY, Scoring,
};
pub use options::{Effort, GappedOptions, Preset};

use super::by_score::alignment::{Alignment, Output};
use super::by_score::record::Records;
use super::by_score::seeds::{Seed, SeedContext, SeedRules, SeedScratch};
use super::by_score::{Reads, is_unknown};
use super::indexed::Indexed;
use super::options::Reported;
use super::placer::{self, Out, Placer, Template, batch_engine};
use super::query::Query;
use super::reference::Reference;
use candidates::ScoredRead;
use choice::{Chosen, Criteria};
use emit::Filtered;
use fragment::Question;
use mates::{Paired, Pairing};
use seqloom_align::engine::Read;
use seqloom_align::index::{IndexError, IndexSource};

/// Reads that are searched for together; fewer where many placements of each are requested.
const GROUP_READS: usize = 64;
/// Placements requested of a group, about.
const GROUP_PLACEMENTS: usize = 1024;
/// Most placements of a read that are reported, and rows of a seed that are looked at.
pub const MOST_PLACEMENTS: usize = 1 << 12;
/// Least rows of a seed that are looked at.
const LEAST_ROWS: u32 = 16;
/// A read whose best score is in the lowest part of those that count gets more seeds. Measured on
/// reads with 0 to 12 % random bases: without them Bowtie 2's score is better in 1 % of them.
const POOR: f64 = 0.6;

/// Aligns reads by score, with gaps: what Bowtie 2 looks for.
#[derive(Debug)]
pub struct GappedEngine {
    index: Indexed,
    options: GappedOptions,
}

/// Working memory of one worker.
#[derive(Debug, Default)]
pub struct Scratch {
    group: GroupResults,
    seeds: SeedScratch,
    pairing: Pairing,
    output: Output<Alignment>,
    /// By mate, the placements that are reported.
    numbers: [Vec<usize>; 2],
    records: Records,
}

/// The reads of a group, and what was found of them.
#[derive(Debug, Default)]
struct GroupResults {
    reads: Reads,
    filtered: Vec<Option<Filtered>>,
    chosen: Vec<Chosen>,
    /// Of mates: what is known of each pair.
    paired: Vec<Option<Paired>>,
}

impl GappedEngine {
    /// Reads an index.
    ///
    /// # Errors
    /// When a file cannot be read or has changed.
    pub fn load(source: IndexSource<'_>, options: GappedOptions) -> Result<Self, IndexError> {
        Ok(Self { index: Indexed::read(source)?, options })
    }

    /// Takes other options without reading the index again: tests and fuzzing try many.
    pub fn set_options(&mut self, options: GappedOptions) {
        self.options = options;
    }

    /// Memory besides that of the index itself, for a reference of so many bases.
    #[must_use]
    pub fn table_bytes(bases: u64) -> u64 {
        Indexed::table_bytes(bases)
    }

    /// The reference, and the strands on which mate `mate` is requested, or a single read (0).
    fn reference(&self, mate: usize) -> Reference<'_> {
        self.index.reference(self.options.mates.strands(mate, self.options.strands))
    }

    /// How many placements of a read are reported.
    fn placements(&self) -> usize {
        match self.options.reported {
            Reported::All => MOST_PLACEMENTS,
            Reported::AtMost(criteria) => criteria as usize,
        }
    }

    /// Rows of a seed that are looked at, where a read has so many seeds.
    fn rows_of_seed(&self, seeds: usize, is_second: bool) -> u32 {
        let Effort { rows, second_rows, .. } = self.options.effort;
        let rows = if is_second { second_rows } else { rows };
        let rows = (rows / (seeds as u32).max(1)).max(LEAST_ROWS);
        let criteria = self.placements().min(MOST_PLACEMENTS) as u32;
        if criteria == 1 { rows } else { rows.max(2 * criteria) }
    }

    /// Why a read is not searched for.
    fn filter(&self, query: &Query) -> Option<Filtered> {
        let scoring = &self.options.scoring;
        let bounds = scoring.bounds(query.len());
        if query.len() < 2 {
            Some(Filtered::Length)
        } else if is_unknown(query, scoring) {
            Some(Filtered::Unknown)
        } else if bounds.minimum > bounds.perfect {
            Some(Filtered::Score)
        } else {
            None
        }
    }

    /// Takes the reads of a group in place of what was here.
    fn take(&self, reads: &[Read<'_>], group: &mut GroupResults) {
        group.reads.take(reads, &self.options.scoring);
        group.filtered.clear();
        group.filtered.extend(group.reads.queries[..reads.len()].iter().map(|it| self.filter(it)));
        group.chosen.clear();
        group.chosen.resize(reads.len(), Chosen::default());
        group.paired.clear();
        group.paired.resize(reads.len().div_ceil(2), None);
    }

    /// The rules of the first seeds, or of the second ones, which are shorter.
    fn rules(&self, is_second: bool) -> SeedRules {
        let enough_bases = self.options.effort.seed_bases.max(self.index.chance_bases + 3);
        let least_bases = if is_second {
            self.index.chance_bases.saturating_sub(1)
        } else {
            self.index.chance_bases + 2
        };
        SeedRules { least_bases, enough_bases, rows_of_short: u32::MAX }
    }

    /// Shorter reads have no seed.
    fn shortest_read(&self) -> usize {
        self.rules(true).least_bases.into()
    }

    /// Adds the seeds of read `number` of a group: they end where the read does, and every so many
    /// bases before that.
    fn seed(&self, number: usize, query: &Query, is_second: bool, work: &mut SeedScratch) {
        let length = query.len();
        let effort = &self.options.effort;
        let interval = if is_second {
            usize::from(effort.second_interval).max(1)
        } else {
            effort.interval.at(length).max(1.0) as usize
        };
        let least = usize::from(self.rules(is_second).least_bases);
        let seeds = (length + 1).saturating_sub(least).div_ceil(interval);
        let rows = self.rows_of_seed(seeds, is_second);
        let ends = (least..=length).rev().step_by(interval);
        work.seeds.extend(ends.map(|end| Seed::new(number, end, rows)));
    }

    /// Searches for seeds of all reads that are requested, and chooses their placements.
    fn pass(
        &self,
        incoming: placer::Group<'_>,
        is_second: bool,
        scratch: &mut Scratch,
        are_requested: &[bool],
    ) {
        let Scratch { group, seeds, .. } = scratch;
        let first_ordinal = incoming.first_ordinal;
        for number in (0..group.chosen.len()).filter(|&number| are_requested[number]) {
            if group.filtered[number].is_none() {
                self.seed(number, &group.reads.queries[number], is_second, seeds);
            }
        }
        if seeds.seeds.is_empty() {
            return;
        }
        let (queries, rules) = (&group.reads.queries, self.rules(is_second));
        let context = SeedContext { tables: self.index.tables(), queries, rules };
        seeds.find(&context, |query| first_ordinal + u64::from(query));
        let firsts = (0..are_requested.len()).step_by(incoming.step());
        for number in firsts.filter(|&number| are_requested[number]) {
            if incoming.are_mates {
                self.choose_pair(number, first_ordinal, scratch);
            } else {
                self.choose_single(number, first_ordinal, scratch);
            }
        }
    }

    fn choose_single(&self, number: usize, first_ordinal: u64, scratch: &mut Scratch) {
        let Scratch { group, seeds, pairing, output, .. } = scratch;
        let (read, criteria) = self.request(group, number, first_ordinal);
        let (work, hits) = (&mut pairing.mates[0], seeds.hits_of(number));
        let chosen = simd::choose(work, read, &self.reference(0), (hits, &criteria), output);
        group.chosen[number] = chosen;
    }

    /// Of the mates that are reads `number` and the next.
    fn choose_pair(&self, number: usize, first_ordinal: u64, scratch: &mut Scratch) {
        let Scratch { group, seeds, pairing, output, .. } = scratch;
        let numbers = [number, number + 1];
        let [one, other] = numbers.map(|number| self.request(group, number, first_ordinal));
        let question = Question {
            reads: [one.0, other.0],
            references: [0, 1].map(|mate| self.reference(mate)),
            hits: numbers.map(|number| seeds.hits_of(number)),
            criteria: [one.1, other.1],
            are_searched: numbers.map(|number| group.filtered[number].is_none()),
            options: &self.options.mates,
        };
        let (chosen, paired) = simd::choose_pair(pairing, &question, output);
        for (number, chosen) in numbers.into_iter().zip(chosen) {
            group.chosen[number] = chosen;
        }
        group.paired[number / 2] = paired;
    }

    /// A read of a group, and what is required of it.
    fn request<'g>(
        &'g self,
        group: &'g GroupResults,
        number: usize,
        first_ordinal: u64,
    ) -> (ScoredRead<'g>, Criteria) {
        let Reads { queries, penalties } = &group.reads;
        let query = &queries[number];
        let scoring = &self.options.scoring;
        let bounds = scoring.bounds(query.len());
        let Effort { tries, likely, likely_part, .. } = self.options.effort;
        let range = bounds.perfect - bounds.minimum;
        let criteria = Criteria {
            bounds,
            likely: likely.min(range / likely_part.max(1)),
            most_unknown: scoring.unknown_at_most(query.len()),
            tries,
            placements: self.placements(),
            ordinal: first_ordinal + number as u64,
        };
        let minimum = bounds.minimum;
        (ScoredRead { query, penalties: &penalties[number], scoring, minimum }, criteria)
    }

    /// Whether a read has no placement, or one of a low score, or one that is not perfect among the
    /// places of frequent seeds.
    fn is_poor(&self, group: &GroupResults, number: usize, output: &Output<Alignment>) -> bool {
        let bounds = self.options.scoring.bounds(group.reads.queries[number].len());
        let least = bounds.minimum + (POOR * f64::from(bounds.perfect - bounds.minimum)) as i32;
        let chosen = &group.chosen[number];
        let least = if chosen.is_frequent { bounds.perfect } else { least };
        let best = chosen.alignments.clone().next();
        best.is_none_or(|best| output.alignments[best].score < least)
    }

    /// Whether a pair is no pair, or one of which both mates would get more seeds.
    fn is_poor_pair(
        &self,
        group: &GroupResults,
        number: usize,
        output: &Output<Alignment>,
    ) -> bool {
        let are_poor = || [number, number + 1].map(|number| self.is_poor(group, number, output));
        group.paired[number / 2].is_none() || are_poor() == [true; 2]
    }
}

batch_engine!(GappedEngine);

impl Placer for GappedEngine {
    type Scratch = Scratch;

    fn trim(&self) -> [usize; 2] {
        self.options.trim
    }

    fn group_reads(&self) -> usize {
        (GROUP_PLACEMENTS / self.placements()).clamp(2, GROUP_READS) & !1
    }

    fn place(&self, incoming: placer::Group<'_>, scratch: &mut Scratch) -> usize {
        let reads = incoming.reads;
        self.take(reads, &mut scratch.group);
        scratch.seeds.hits.clear();
        scratch.output.clear();
        self.pass(incoming, false, scratch, &vec![true; reads.len()]);
        let (group, output) = (&scratch.group, &scratch.output);
        let is_poor = |number: usize| {
            if incoming.are_mates {
                self.is_poor_pair(group, number & !1, output)
            } else {
                group.filtered[number].is_none() && self.is_poor(group, number, output)
            }
        };
        let are_poor: Vec<bool> = (0..reads.len()).map(is_poor).collect();
        self.pass(incoming, true, scratch, &are_poor);
        reads.len()
    }

    fn report(&self, template: Template<'_>, scratch: &mut Scratch, out: &mut Out<'_>) {
        self.hand_out(template, scratch, out);
    }

    fn end_batch(&self, _: &mut Scratch) {}
}
