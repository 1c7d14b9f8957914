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
//! 3. `locate`: rows to places, many at once. A walk to a place passes the bases next to what was
//!    searched for, and ends where too many are not the read's: most rows never get to a place.
//!    There the read is compared with the genome.
//! 4. `placements`: by read, for as many mismatches as are requested.
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

pub use options::{Acceptance, SeedAcceptance, UngappedOptions};

use crate::options::Reported;

use super::chance::hash;
use super::fields::SECONDARY;
use super::indexed::Indexed;
use super::placer::{Group, Out, Placer, Template, batch_engine};
use super::query::Query;
use super::reference::Spot;
use choice::choose;
use locate::Placement;
use pairs::Pairs;
use placements::{GROUP_READS, Genome, Limits, MOST_PLACEMENTS, PlacementScratch};
use record::{Head, Records, Tags, UnmappedTags};
use seqloom_align::engine::Read;
use seqloom_align::index::{IndexError, IndexSource};

/// Shorter reads may be anywhere, and are not searched for.
const SHORTEST_READ: usize = 15;

/// Most mismatches that can be requested.
pub const MOST_MISMATCHES: u8 = scheme::MOST_MISMATCHES as u8;

/// Aligns reads without gaps: what Bowtie looks for.
#[derive(Debug)]
pub struct UngappedEngine {
    index: Indexed,
    options: UngappedOptions,
}

/// Working memory of one worker.
#[derive(Debug, Default)]
pub struct Scratch {
    queries: Vec<Query>,
    work: PlacementScratch,
    /// Placements of a read that are reported.
    chosen: Vec<Placement>,
    pairs: Pairs,
    /// Of both mates, or of a single read.
    records: [Records; 2],
}

impl UngappedEngine {
    /// Reads an index.
    ///
    /// # Errors
    /// When a file cannot be read or has changed.
    pub fn load(source: IndexSource<'_>, options: UngappedOptions) -> Result<Self, IndexError> {
        Ok(Self { index: Indexed::read(source)?, options })
    }

    /// Takes other options without reading the index again: tests and fuzzing try many.
    pub fn set_options(&mut self, options: UngappedOptions) {
        self.options = options;
    }

    /// Memory besides that of the index itself, for a reference of so many bases.
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

    /// The placements of read `number` of the group that are reported, as [`choose`] has them. So
    /// many that no template can have them are none, as with `--max-placements`.
    fn choose_of_read(
        &self,
        (number, ordinal): (usize, u64),
        scratch: &Scratch,
        chosen: &mut Vec<Placement>,
    ) -> u32 {
        chosen.clear();
        let (found, query) = (scratch.work.of(number), &scratch.queries[number]);
        if self.options.reported == Reported::All && found.len() > MOST_PLACEMENTS {
            return MOST_PLACEMENTS as u32 + 1;
        }
        chosen.extend_from_slice(found);
        choose(chosen, &self.options, |placement| {
            (self.cost_of(query, placement), hash(ordinal, placement.place))
        })
    }

    /// Hands out the records of the placements `chosen` of a read, which begin as `head` says of
    /// the flags and the place of each. Where the first one is.
    fn report_placements(
        &self,
        (read, number): (&Read<'_>, usize),
        chosen: &[Placement],
        head: impl Fn(u16, Spot) -> Head,
        scratch: &mut Scratch,
        out: &mut Out<'_>,
    ) -> Option<Spot> {
        let Scratch { queries, work, records: [records, _], .. } = scratch;
        let (reference, first) = (self.genome().reference, work.range_of(number).start);
        let mut primary = None;
        records.clear();
        for (at, placement) in chosen.iter().enumerate() {
            work.prefetch_after(first + at, &reference, queries);
            let Some(spot) = reference.spot(placement.place, read.bases.len()) else { continue };
            primary = primary.or(Some(spot));
            let body = records.begin(read, head(if at > 0 { SECONDARY } else { 0 }, spot));
            let tags = Tags { reported: chosen.len() as u32, ..Tags::of(placement) };
            record::push_tags(&queries[number], &tags, reference.genome, body);
            out.record(body);
        }
        primary
    }

    /// Hands out the records of a single read.
    fn report_single(&self, template: Template<'_>, scratch: &mut Scratch, out: &mut Out<'_>) {
        let Template { reads, number, ordinal } = template;
        let mut chosen = std::mem::take(&mut scratch.chosen);
        let suppressed = self.choose_of_read((number, ordinal), scratch, &mut chosen);
        self.report_placements((&reads[0], number), &chosen, Head::single, scratch, out);
        if chosen.is_empty() {
            let tags = UnmappedTags { suppressed, ..scratch.unmapped_tags(number) };
            let body = scratch.records[0].begin(&reads[0], Head::unmapped(0));
            record::push_unmapped_tags(tags, body);
            out.record(body);
        }
        scratch.chosen = chosen;
    }

    /// Hands out the records of mates of which `mate`, 0 or 1, is searched for alone: the other one
    /// is too short or too long. It is placed as a single read is.
    fn report_half(
        &self,
        template: Template<'_>,
        mate: usize,
        scratch: &mut Scratch,
        out: &mut Out<'_>,
    ) {
        let Template { reads, number, ordinal } = template;
        let (own, read) = (number + mate, &reads[mate]);
        let mut chosen = std::mem::take(&mut scratch.chosen);
        let suppressed = self.choose_of_read((own, ordinal), scratch, &mut chosen);
        let reference = self.genome().reference;
        let length = read.bases.len();
        let spot = chosen.first().and_then(|first| reference.spot(first.place, length));
        for (at, read_at) in reads.iter().enumerate() {
            if at == mate && !chosen.is_empty() {
                let head = |flags, spot| Head::lonely_mate(mate, flags, spot);
                self.report_placements((read, own), &chosen, head, scratch, out);
                continue;
            }
            let other = spot.filter(|_| at != mate);
            let tags = UnmappedTags {
                suppressed: if at == mate { suppressed } else { 0 },
                mate_bases: other.map(|_| length as u32),
                ..scratch.unmapped_tags(number + at)
            };
            let records = &mut scratch.records[1];
            records.clear();
            let body = records.begin(read_at, Head::unmapped_mate(at, other));
            record::push_unmapped_tags(tags, body);
            out.record(body);
        }
        scratch.chosen = chosen;
    }

    /// Finds the pairs of a template that are reported, in place of those there were: what
    /// [`choose`] gives. Too many for a template are none.
    fn choose_pairs(&self, template: Template<'_>, scratch: &mut Scratch) -> u32 {
        let Template { reads, number, ordinal } = template;
        let Scratch { queries, work, pairs, .. } = scratch;
        pairs.found.clear();
        let placements = [work.of(number), work.of(number + 1)];
        if placements.iter().any(|found| found.len() > MOST_PLACEMENTS) {
            return MOST_PLACEMENTS as u32 + 1;
        }
        let most = self.options.max_placements.map_or(MOST_PLACEMENTS / 2, |it| it as usize);
        let lengths = [0, 1].map(|mate: usize| reads[mate].bases.len());
        let most_found = if self.options.best_stratum { MOST_PLACEMENTS / 2 } else { most };
        pairs.find(self.genome(), self.options.pairs, placements, lengths, most_found);
        if self.options.max_placements.is_none() && pairs.found.len() > most_found {
            pairs.found.clear();
            return most_found as u32 + 1;
        }
        choose(&mut pairs.found, &self.options, |mates| {
            let cost = |mate: usize| self.cost_of(&queries[number + mate], &mates[mate].placement);
            let [first, second] = mates.map(|mate| mate.placement.place);
            (cost(0) + cost(1), hash(hash(ordinal, first), second))
        })
    }

    /// Hands out the records of a pair.
    fn report_pair(&self, template: Template<'_>, scratch: &mut Scratch, out: &mut Out<'_>) {
        let Template { reads, number, .. } = template;
        let suppressed = self.choose_pairs(template, scratch);
        let outside = [0, 1].map(|mate| scratch.unmapped_tags(number + mate));
        let Scratch { queries, pairs, records, .. } = scratch;
        let lengths = [0, 1].map(|mate: usize| reads[mate].bases.len());
        for (mate, records) in records.iter_mut().enumerate() {
            let read = &reads[mate];
            records.clear();
            if pairs.found.is_empty() {
                let body = records.begin(read, Head::unmapped_mate(mate, None));
                record::push_unmapped_tags(UnmappedTags { suppressed, ..outside[mate] }, body);
                out.record(body);
            }
            for (at, placed) in pairs.found.iter().enumerate() {
                let secondary = if at > 0 { SECONDARY } else { 0 };
                let head = Head::of_pair(mate, secondary, placed.map(|it| it.spot), lengths);
                let body = records.begin(read, head);
                let hit = pairs::Hit { number: at as u32, mate_bases: lengths[1 - mate] as u32 };
                let reported = pairs.found.len() as u32;
                let placement = &placed[mate].placement;
                let tags = Tags { reported, hit: Some(hit), ..Tags::of(placement) };
                let genome = self.genome().reference.genome;
                record::push_tags(&queries[number + mate], &tags, genome, body);
                out.record(body);
            }
        }
    }
}

impl Scratch {
    /// Whether read `number` of the group is too short or too long to be searched for.
    fn is_outside(&self, number: usize) -> bool {
        self.queries[number].len() == 0
    }

    /// The tags of read `number` of the group, if it is not placed.
    fn unmapped_tags(&self, number: usize) -> UnmappedTags {
        UnmappedTags { is_outside: self.is_outside(number), ..UnmappedTags::default() }
    }
}

batch_engine!(UngappedEngine);

impl Placer for UngappedEngine {
    type Scratch = Scratch;

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
            let is_long_enough = read.bases.len() >= SHORTEST_READ;
            query.take(if is_long_enough { read.bases } else { &[] }, read.qualities);
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

    fn report(&self, template: Template<'_>, scratch: &mut Scratch, out: &mut Out<'_>) {
        let are_outside = template.numbers().map(|number| scratch.is_outside(number));
        match are_outside.collect::<Vec<_>>()[..] {
            [false, true] => self.report_half(template, 0, scratch, out),
            [true, false] => self.report_half(template, 1, scratch, out),
            [_, _] => self.report_pair(template, scratch, out),
            _ => self.report_single(template, scratch, out),
        }
    }

    fn end_batch(&self, _: &mut Scratch) {}
}
