//! Our own engine: the best placements of a read by a scheme of scores, with gaps, of whole
//! reads or of clipped ones. What Bowtie 2 looks for.
//!
//! 1. `seeds`: strings of the read that occur in the genome, and their places, for a group of
//!    reads at once.
//! 2. `candidates`: the diagonals on which they lie, and what the read is worth there without a
//!    gap.
//! 3. `choice`: which of them are extended with gaps (`kernel`), and which placements differ
//!    from one another (`traceback`).
//! 4. Reads without a good placement get more and shorter seeds, and go through 2 and 3 once
//!    more.
//! 5. `record`: to BAM, with MAPQ by the table of `mapq`.

mod candidates;
mod choice;
mod kernel;
mod mapq;
mod options;
mod record;
mod score;
mod seeds;
mod simd;
mod traceback;
mod window;

use std::path::Path;

pub use options::{Effort, GappedOptions};
pub use score::{GapPenalty, Growth, LengthFunction, Scoring};

use super::query::{LONGEST_READ, Query, UNKNOWN};
use super::starts::Starts;
use super::ungapped::Reported;
use super::{checked, fields};
use crate::engine::copied_reads::CopiedReads;
use crate::engine::{
    AlignmentEngine, EngineError, EngineReads, Ordinals, Origin, Read, RecordSink,
};
use crate::index::{IndexError, IndexInfo, Loaded};
use crate::search::rows::Rows;
use crate::search::text::Genome;
use candidates::ScoredRead;
use choice::{Chosen, Output, Wanted};
use record::{Filtered, Said};
use seeds::{SeedContext, SeedRules, SeedWork};
use window::Reference;

/// Reads that are searched for together; fewer where many placements of each are wanted.
const GROUP_READS: usize = 64;
/// Placements wanted of a group, about.
const GROUP_PLACEMENTS: usize = 1024;
/// Most placements of a read that are reported, and rows of a seed that are looked at.
pub const MOST_PLACEMENTS: usize = 1 << 12;
/// Rows of a seed that is not longer than chance would have it.
const ROWS_OF_SHORT: u32 = 16;
/// A read whose best score is in the lowest part of those that count gets more seeds. Measured on
/// reads with 0 to 12 % random bases: without them Bowtie 2's score is better in 1 % of them.
const POOR: f64 = 0.6;

/// See the module documentation.
#[derive(Debug)]
pub struct GappedEngine {
    index: Loaded,
    starts: Starts,
    options: GappedOptions,
    /// Strings of so many bases occur by chance once or less.
    chance_bases: u16,
}

/// Working memory of one worker.
#[derive(Debug, Default)]
pub struct Scratch {
    reads: Group,
    seeds: SeedWork,
    choice: choice::Work,
    output: Output,
    records: record::Work,
}

/// The reads of a group.
#[derive(Debug, Default)]
struct Group {
    queries: Vec<Query>,
    /// What mismatches cost, by base.
    penalties: Vec<Vec<i16>>,
    filtered: Vec<Option<Filtered>>,
    chosen: Vec<Chosen>,
}

impl GappedEngine {
    /// Reads the index at `prefix`, which has been checked and found to be `info`.
    ///
    /// # Errors
    /// When a file cannot be read or has changed.
    pub fn load(
        prefix: &Path,
        info: &IndexInfo,
        options: GappedOptions,
    ) -> Result<Self, IndexError> {
        let index = Loaded::read(prefix, info)?;
        let parts = index.parts();
        let starts = Starts::find(&Rows::new(parts), parts.bases);
        let chance_bases = (1..32).find(|&bases| 1 << (2 * bases) >= 2 * parts.bases);
        let chance_bases = chance_bases.unwrap_or(32);
        Ok(Self { index, starts, options, chance_bases })
    }

    /// Takes other options.
    pub fn set_options(&mut self, options: GappedOptions) {
        self.options = options;
    }

    /// Memory beside that of the index itself, for a reference of so many bases.
    #[must_use]
    pub fn table_bytes(bases: u64) -> u64 {
        Starts::size_bytes(bases)
    }

    fn reference(&self) -> Reference<'_> {
        let parts = self.index.parts();
        let genome = Genome { packed: parts.packed, bases: parts.bases };
        let (sequences, holes) = (self.index.sequences(), self.index.holes());
        Reference { genome, sequences, holes, strands: self.options.strands }
    }

    /// How many placements of a read are reported.
    fn placements(&self) -> usize {
        match self.options.reported {
            Reported::All => MOST_PLACEMENTS,
            Reported::AtMost(wanted) => wanted as usize,
        }
    }

    /// Rows of a seed that are looked at.
    fn rows_of_seed(&self) -> u32 {
        let wanted = self.placements().min(MOST_PLACEMENTS) as u32;
        if wanted == 1 {
            self.options.effort.rows
        } else {
            self.options.effort.rows.max(2 * wanted)
        }
    }

    /// Why a read is not searched for.
    fn filter(&self, query: &Query) -> Option<Filtered> {
        let scoring = &self.options.scoring;
        let bounds = scoring.bounds(query.len());
        let unknown = query.codes().iter().filter(|&&code| code == UNKNOWN).count();
        if query.len() < 2 {
            Some(Filtered::Length)
        } else if unknown > scoring.unknown_at_most(query.len()) as usize {
            Some(Filtered::Unknown)
        } else if bounds.minimum > bounds.perfect {
            Some(Filtered::Score)
        } else {
            None
        }
    }

    /// Takes the reads of a group in place of what was here.
    fn take(&self, reads: &[Read<'_>], group: &mut Group) {
        let count = group.queries.len().max(reads.len());
        group.queries.resize_with(count, Query::default);
        group.penalties.resize_with(count, Vec::new);
        group.filtered.clear();
        group.chosen.clear();
        group.chosen.resize(reads.len(), Chosen::default());
        for (number, read) in reads.iter().enumerate() {
            let query = &mut group.queries[number];
            query.take(read.bases, read.qualities);
            self.options.scoring.penalties(query, &mut group.penalties[number]);
            group.filtered.push(self.filter(query));
        }
    }

    /// The rules of the first seeds, or of the second ones, which are shorter.
    fn rules(&self, is_second: bool) -> SeedRules {
        let enough_bases = self.options.effort.seed_bases.max(self.chance_bases + 3);
        let rows = self.rows_of_seed();
        if is_second {
            let least_bases = self.chance_bases.saturating_sub(1);
            SeedRules { least_bases, enough_bases, rows, rows_of_short: ROWS_OF_SHORT.min(rows) }
        } else {
            let least_bases = self.chance_bases + 2;
            SeedRules { least_bases, enough_bases, rows, rows_of_short: rows }
        }
    }

    /// Adds the seeds of read `number` of a group: they end where the read does, and every so many
    /// bases in front of that.
    fn seed(&self, number: usize, query: &Query, is_second: bool, work: &mut SeedWork) {
        let length = query.len();
        let effort = &self.options.effort;
        let interval = if is_second {
            effort.second_interval.into()
        } else {
            effort.interval.at(length).max(1.0) as usize
        };
        let least = usize::from(self.rules(is_second).least_bases);
        let ends = (least..=length).rev().step_by(interval.max(1));
        work.seeds.extend(ends.map(|end| seeds::Seed::new(number, end)));
    }

    /// Searches for seeds of all reads for which `wants` it, and chooses their placements.
    fn pass(
        &self,
        first_ordinal: u64,
        is_second: bool,
        scratch: &mut Scratch,
        wants: impl Fn(&Group, usize) -> bool,
    ) {
        let Scratch { reads: group, seeds, choice, output, .. } = scratch;
        for number in (0..group.chosen.len()).filter(|&number| wants(group, number)) {
            self.seed(number, &group.queries[number], is_second, seeds);
        }
        if seeds.seeds.is_empty() {
            return;
        }
        let rows = Rows::new(self.index.parts());
        let (queries, rules) = (&group.queries, self.rules(is_second));
        seeds.find(&SeedContext { rows, starts: &self.starts, queries, rules }, first_ordinal);
        let reference = self.reference();
        let is_of = |number: usize| move |hit: &seeds::Hit| (hit.query as usize) < number;
        for number in 0..group.chosen.len() {
            if !wants(group, number) {
                continue;
            }
            let from = seeds.hits.partition_point(is_of(number));
            let end = seeds.hits.partition_point(is_of(number + 1));
            let (read, wanted) = self.asked(group, number, first_ordinal);
            let hits = &seeds.hits[from..end];
            let chosen = simd::choose(choice, read, &reference, (hits, &wanted), output);
            group.chosen[number] = chosen;
        }
    }

    /// A read of a group, and what is asked of it.
    fn asked<'g>(
        &'g self,
        group: &'g Group,
        number: usize,
        first_ordinal: u64,
    ) -> (ScoredRead<'g>, Wanted) {
        let query = &group.queries[number];
        let scoring = &self.options.scoring;
        let wanted = Wanted {
            bounds: scoring.bounds(query.len()),
            most_unknown: scoring.unknown_at_most(query.len()),
            tries: self.options.effort.tries,
            placements: self.placements(),
            ordinal: first_ordinal + number as u64,
        };
        (ScoredRead { query, penalties: &group.penalties[number], scoring }, wanted)
    }

    /// Whether a read has no placement, or one of a low score, or one that is not perfect among the
    /// places of frequent seeds.
    fn is_poor(&self, group: &Group, number: usize, output: &Output) -> bool {
        let bounds = self.options.scoring.bounds(group.queries[number].len());
        let least = bounds.minimum + (POOR * f64::from(bounds.perfect - bounds.minimum)) as i32;
        let chosen = &group.chosen[number];
        let least = if chosen.is_frequent { bounds.perfect } else { least };
        let best = chosen.alignments.clone().next();
        best.is_none_or(|best| output.alignments[best].score < least)
    }

    /// Finds the placements of a group of reads.
    fn place(&self, reads: &[Read<'_>], first_ordinal: u64, scratch: &mut Scratch) {
        self.take(reads, &mut scratch.reads);
        scratch.seeds.hits.clear();
        scratch.output.alignments.clear();
        scratch.output.ops.clear();
        self.pass(first_ordinal, false, scratch, |group, number| group.filtered[number].is_none());
        let poor: Vec<bool> = (0..reads.len())
            .map(|number| self.is_poor(&scratch.reads, number, &scratch.output))
            .collect();
        self.pass(first_ordinal, true, scratch, |group, number| {
            group.filtered[number].is_none() && poor[number]
        });
    }

    /// Hands out the records of read `number` of a group.
    fn emit_single(
        &self,
        (number, read): (usize, &Read<'_>),
        scratch: &mut Scratch,
        out: &mut dyn FnMut(&[u8]),
    ) {
        let Scratch { reads: group, output, records, .. } = scratch;
        let chosen = &group.chosen[number];
        if chosen.alignments.is_empty() {
            out(records.unmapped(read, group.filtered[number]));
            return;
        }
        let (scored, Wanted { bounds, placements, .. }) = self.asked(group, number, 0);
        let reference = self.reference();
        for (at, alignment) in output.alignments[chosen.alignments.clone()].iter().enumerate() {
            let is_known = placements == 1 || chosen.second.is_some();
            let mapping_quality = if at == 0 && is_known {
                let is_local = self.options.scoring.is_local;
                mapq::mapping_quality(is_local, bounds, alignment.score, chosen.second)
            } else {
                255
            };
            let flags = if at > 0 { fields::SECONDARY } else { 0 };
            let said = Said { flags, mapping_quality, second: chosen.second };
            let ops = &output.ops[alignment.ops.clone()];
            out(records.placed((read, scored), &reference, (alignment, ops), said));
        }
    }
}

impl AlignmentEngine for GappedEngine {
    type Scratch = Scratch;
    type Candidates = CopiedReads;
    type Model = ();

    const NEEDS_COHORTS: bool = false;
    const MANY_RECORDS: bool = true;

    fn scratch(&self) -> Result<Scratch, EngineError> {
        Ok(Scratch::default())
    }

    fn seed_extend(
        &self,
        _scratch: &mut Scratch,
        reads: &EngineReads<'_>,
    ) -> Result<CopiedReads, EngineError> {
        if let Some([first, _]) = reads.pairs.first() {
            let problem =
                "it has a mate; --mode end-to-end and --mode local take single reads as yet";
            let name = String::from_utf8_lossy(first.name).into_owned();
            return Err(EngineError::Read { name, problem: problem.to_owned() });
        }
        Ok(CopiedReads::of(reads))
    }

    fn infer_cohort(&self, _candidates: &[CopiedReads]) -> Result<(), EngineError> {
        Ok(())
    }

    fn emit(
        &self,
        scratch: &mut Scratch,
        candidates: CopiedReads,
        _model: Option<&()>,
        ordinals: Ordinals,
        sink: &mut dyn RecordSink,
    ) -> Result<(), EngineError> {
        let take = |read| checked(read, self.options.trim, 0, "end-to-end or local");
        let reads: Vec<_> = candidates.reads().map(take).collect::<Result<_, _>>()?;
        let together = (GROUP_PLACEMENTS / self.placements()).clamp(1, GROUP_READS);
        for (group, reads) in reads.chunks(together).enumerate() {
            let from = group * together;
            self.place(reads, ordinals.first_single + from as u64, scratch);
            for (number, read) in reads.iter().enumerate() {
                let mut out = |body: &[u8]| sink.record(Origin::Single(from + number), body);
                self.emit_single((number, read), scratch, &mut out);
            }
        }
        Ok(())
    }

    fn held_bytes(&self, candidates: &CopiedReads) -> u64 {
        candidates.held_bytes()
    }

    fn longest_read_bases(&self) -> usize {
        LONGEST_READ + self.options.trim.iter().sum::<usize>()
    }
}
