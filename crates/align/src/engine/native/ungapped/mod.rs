//! Our own engine: placements without gaps, every one of them.
//!
//! [`UngappedEngine`] finds all places of the reference where a read has at most so many mismatches
//! (what Bowtie's `-v V -a` finds), and none elsewhere: not over the end of a sequence, and not
//! over a hole of the reference, whatever base the index has there. An unknown base of the read
//! matches nothing.
//!
//! 1. [`query`](super::query): reads are packed.
//! 2. `scheme`: a search scheme, complete and without repeats, gives leaves: few rows, or strings
//!    as long as the read.
//! 3. `locate`: rows to places, many at once. A walk to a place passes the bases beside what was
//!    searched for, and ends where too many are not the read's: most rows never get to a place.
//!    There the read is compared with the genome.
//! 4. `placements`: by read, for as many mismatches as are wanted.
//! 5. `choice`: which of them are reported, and which is the primary one.
//! 6. `record`: to BAM.

mod choice;
mod locate;
mod options;
mod pairs;
mod placements;
mod record;
mod scheme;
mod simd;

use std::path::Path;

pub use options::{Acceptance, Reported, SeedAcceptance, Strands, UngappedOptions};

use super::chance::hash;
use super::fields::SECONDARY;
use super::indexed::Indexed;
use super::placer::{Group, Out, Placer, Template};
use super::query::Query;
use crate::engine::{EngineError, Read};
use crate::index::{IndexError, IndexInfo};
use choice::choose;
use locate::Placement;
use pairs::Pairs;
use placements::{GROUP_READS, Genome, Limits, MOST_PLACEMENTS, Work};
use record::{Head, Records, Tags};

/// Most mismatches that can be asked for.
pub const MOST_MISMATCHES: u8 = scheme::MOST_MISMATCHES as u8;

/// See the module documentation.
#[derive(Debug)]
pub struct UngappedEngine {
    index: Indexed,
    options: UngappedOptions,
}

/// Working memory of one worker.
#[derive(Debug, Default)]
pub struct Scratch {
    queries: Vec<Query>,
    work: Work,
    singles: Vec<Placement>,
    pairs: Pairs,
    /// Of both mates, or of a single read.
    records: [Records; 2],
}

impl UngappedEngine {
    /// Reads the index at `prefix`, which has been checked and found to be `info`.
    ///
    /// # Errors
    /// When a file cannot be read or has changed.
    pub fn load(
        prefix: &Path,
        info: &IndexInfo,
        options: UngappedOptions,
    ) -> Result<Self, IndexError> {
        Ok(Self { index: Indexed::read(prefix, info)?, options })
    }

    /// Takes other options.
    pub fn set_options(&mut self, options: UngappedOptions) {
        self.options = options;
    }

    /// Memory beside that of the index itself, for a reference of so many bases.
    #[must_use]
    pub fn table_bytes(bases: u64) -> u64 {
        Indexed::table_bytes(bases)
    }

    fn genome(&self) -> Genome<'_> {
        let reference = self.index.reference(self.options.strands);
        Genome { tables: self.index.tables(), reference }
    }

    /// What the mismatches of a placement cost.
    fn cost_of(&self, query: &Query, placement: &Placement) -> u32 {
        let genome = self.genome().reference.genome;
        let differences = query.all_differences(genome, placement.place);
        query.cost(&differences, |quality| self.options.acceptance.cost(quality))
    }

    /// Hands out the records of a single read.
    fn report_single(
        &self,
        Template { reads, number, ordinal }: Template<'_>,
        scratch: &mut Scratch,
        out: &mut Out<'_>,
    ) -> Result<(), EngineError> {
        let read = &reads[0];
        let Scratch { queries, work, singles, records: [records, _], .. } = scratch;
        let (genome, query) = (self.genome(), &queries[number]);
        let range = work.range_of(number);
        singles.clear();
        singles.extend_from_slice(work.of(number));
        if self.options.reported == Reported::All && singles.len() > MOST_PLACEMENTS {
            return Err(too_many(read, MOST_PLACEMENTS));
        }
        let suppressed = choose(singles, &self.options, |placement| {
            (self.cost_of(query, placement), hash(ordinal, placement.place))
        });
        records.clear();
        if singles.is_empty() {
            let body = records.begin(read, Head::unmapped(0));
            record::push_suppressed(suppressed, body);
            out.record(body);
        }
        for (at, placement) in singles.iter().enumerate() {
            work.prefetch_after(range.start + at, &genome.reference, queries);
            let Some(spot) = genome.reference.spot(placement.place, read.bases.len()) else {
                continue;
            };
            let secondary = if at > 0 { SECONDARY } else { 0 };
            let body = records.begin(read, Head::single(secondary, spot));
            let tags = Tags { reported: singles.len() as u32, ..Tags::of(placement) };
            record::push_tags(query, &tags, genome.reference.genome, body);
            out.record(body);
        }
        Ok(())
    }

    /// Hands out the records of a pair.
    fn report_pair(
        &self,
        Template { number, ordinal, .. }: Template<'_>,
        reads: [&Read<'_>; 2],
        scratch: &mut Scratch,
        out: &mut Out<'_>,
    ) -> Result<(), EngineError> {
        let Scratch { queries, work, pairs, records, .. } = scratch;
        let genome = self.genome();
        let placements = [work.of(number), work.of(number + 1)];
        if placements.iter().any(|found| found.len() > MOST_PLACEMENTS) {
            return Err(too_many(reads[0], MOST_PLACEMENTS));
        }
        let most = self.options.max_placements.map_or(MOST_PLACEMENTS / 2, |it| it as usize);
        let lengths = reads.map(|read| read.bases.len());
        let most_found = if self.options.best_stratum { MOST_PLACEMENTS / 2 } else { most };
        pairs.find(genome, self.options.pairs, placements, lengths, most_found);
        if self.options.max_placements.is_none() && pairs.found.len() > most_found {
            return Err(too_many(reads[0], most_found));
        }
        let suppressed = choose(&mut pairs.found, &self.options, |mates| {
            let cost = |mate: usize| self.cost_of(&queries[number + mate], &mates[mate].placement);
            let [first, second] = mates.map(|mate| mate.placement.place);
            (cost(0) + cost(1), hash(hash(ordinal, first), second))
        });
        for (mate, records) in records.iter_mut().enumerate() {
            records.clear();
            if pairs.found.is_empty() {
                let body = records.begin(reads[mate], Head::unmapped(PAIRED_UNMAPPED[mate]));
                record::push_suppressed(suppressed, body);
                out.record(body);
            }
            for (at, placed) in pairs.found.iter().enumerate() {
                let secondary = if at > 0 { SECONDARY } else { 0 };
                let head = Head::of_pair(mate, secondary, placed.map(|it| it.spot), lengths);
                let body = records.begin(reads[mate], head);
                let hit = pairs::Hit { number: at as u32, mate_bases: lengths[1 - mate] as u32 };
                let reported = pairs.found.len() as u32;
                let placement = &placed[mate].placement;
                let tags = Tags { reported, hit: Some(hit), ..Tags::of(placement) };
                record::push_tags(&queries[number + mate], &tags, genome.reference.genome, body);
                out.record(body);
            }
        }
        Ok(())
    }
}

/// FLAG of the mates of a pair that is not placed.
const PAIRED_UNMAPPED: [u16; 2] = [0x4d, 0x8d];

fn too_many(read: &Read<'_>, most: usize) -> EngineError {
    EngineError::Read {
        name: String::from_utf8_lossy(read.name).into_owned(),
        problem: format!(
            "more than {most} placements, the most of a read or pair that --all writes; \
             --max-placements leaves such reads unmapped"
        ),
    }
}

impl Placer for UngappedEngine {
    type Scratch = Scratch;

    const MODE: &str = "ungapped";
    /// Shorter ones are everywhere.
    const SHORTEST_READ: usize = 15;

    fn trim(&self) -> [usize; 2] {
        self.options.trim
    }

    fn group_reads(&self) -> usize {
        GROUP_READS
    }

    fn place(&self, group: Group<'_>, scratch: &mut Scratch) -> usize {
        let Group { reads, are_mates, first_ordinal } = group;
        scratch.queries.resize_with(scratch.queries.len().max(reads.len()), Query::default);
        for (query, read) in scratch.queries.iter_mut().zip(reads) {
            query.take(read.bases, read.qualities);
        }
        let queries = &scratch.queries[..reads.len()];
        let limits = if are_mates {
            Limits::of_mates(&self.options)
        } else {
            Limits::of(&self.options, first_ordinal)
        };
        let acceptance = self.options.acceptance;
        simd::find(self.genome(), (acceptance, limits), queries, &mut scratch.work)
    }

    fn report(
        &self,
        template: Template<'_>,
        scratch: &mut Scratch,
        out: &mut Out<'_>,
    ) -> Result<(), EngineError> {
        match template.reads {
            [first, second] => self.report_pair(template, [first, second], scratch, out),
            _ => self.report_single(template, scratch, out),
        }
    }
}
