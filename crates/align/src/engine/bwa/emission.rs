//! From the regions of a batch's reads to its records.
//!
//! Mates that are missing are rescued for the whole batch; then pair by pair, and read by read,
//! regions are marked, pairs are chosen and records are written.

use super::candidates::Candidates;
use super::cigar::Tracer;
use super::pair::choose::{PairScratch, Pairing, Resolved};
use super::pair::insert_size::{Histogram, Model};
use super::pair::score::PairScores;
use super::record::write::RecordOf;
use super::record::{
    Alignment, FIRST_OF_PAIR, MATE_UNMAPPED, PAIRED, PROPER, Pool, RecordRead, Recorder, SPLIT,
    SUPPLEMENTARY,
};
use super::reference::Reference;
use super::regions::mark::{MarkScratch, mark_primary};
use super::regions::{MateDistance, Region};
use super::rescue::{Rescue, RescueScratch};
use super::seed::append_codes;
use super::settings::Settings;
use crate::engine::{EngineReads, Ordinals, Origin, Read, RecordSink};
use crate::search::prefetch::prefetch_all;

/// Pairs that are rescued together.
const RESCUED_PAIRS: usize = 256;

/// Reads that are fetched ahead of the one whose bases are read: more lines than a core fetches at
/// once.
const READS_AHEAD: usize = 4;

/// A batch with its reads.
pub(super) struct SeededReads<'a> {
    pub(super) candidates: &'a Candidates,
    pub(super) reads: &'a EngineReads<'a>,
    pub(super) codes: &'a BatchCodes,
}

impl SeededReads<'_> {
    fn read(&self, at: usize) -> RecordRead<'_> {
        let EngineReads { pairs, singles } = self.reads;
        let read = match at.checked_sub(2 * pairs.len()) {
            None => &pairs[at / 2][at % 2],
            Some(single) => &singles[single],
        };
        RecordRead { name: read.name, codes: self.codes.of(at), qualities: read.qualities }
    }
}

/// The bases of a batch's reads as codes, one read after the other.
#[derive(Debug, Default)]
pub(super) struct BatchCodes {
    codes: Vec<u8>,
    ends: Vec<usize>,
}

impl BatchCodes {
    /// Those of other reads, in place of what was here. The reads have waited for their cohort, so
    /// they are fetched from memory, with what their records need besides bases.
    pub(super) fn take(&mut self, reads: &EngineReads<'_>) {
        self.codes.clear();
        self.ends.clear();
        let all = reads.pairs.iter().flatten().chain(&reads.singles);
        let mut ahead = all.clone().skip(READS_AHEAD);
        for read in all {
            if let Some(Read { name, bases, qualities }) = ahead.next() {
                [name, bases, qualities.unwrap_or_default()].into_iter().for_each(prefetch_all);
            }
            append_codes(read.bases, &mut self.codes);
            self.ends.push(self.codes.len());
        }
    }

    fn of(&self, at: usize) -> &[u8] {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.codes[start..self.ends[at]]
    }
}

/// The options, the reference, and where the batch is in the input.
#[derive(Debug, Clone, Copy)]
pub(super) struct Emitter<'a> {
    pub(super) settings: &'a Settings,
    pub(super) reference: &'a Reference<'a>,
    pub(super) ordinals: Ordinals,
}

/// A cohort's insert sizes, and what follows from them.
#[derive(Debug)]
pub struct CohortModel {
    pub(super) sizes: Model,
    scores: PairScores,
}

impl CohortModel {
    pub(super) fn new(sizes: Model, settings: &Settings) -> Self {
        Self { sizes, scores: PairScores::new(&sizes, settings.matching) }
    }

    /// Learned from all batches of a cohort, on a reference of `bases`.
    pub(super) fn learned(cohort: &[Candidates], bases: u64, settings: &Settings) -> Self {
        let mut histogram = Histogram::new(settings.largest_insert);
        let mut mates = [Vec::new(), Vec::new()];
        for batch in cohort {
            for first in (0..batch.counts()[0]).step_by(2) {
                for (at, mate) in (first..).zip(&mut mates) {
                    mate.clear();
                    mate.extend(batch.of(at));
                }
                histogram.add(mates.each_ref().map(|mate| &mate[..]), bases, settings);
            }
        }
        Self::new(histogram.model(), settings)
    }
}

/// Working memory of [`Emitter::emit`].
#[derive(Debug, Default)]
pub(super) struct EmitScratch {
    regions: Vec<Vec<Region>>,
    rescue: RescueScratch,
    pairs: PairScratch,
    records: RecordScratch,
}

impl EmitScratch {
    /// See [`Scratch::limit_lanes`](super::Scratch::limit_lanes).
    pub(super) fn limit_lanes(&mut self, most: usize) {
        self.rescue.limit_lanes(most);
    }
}

/// Working memory for the records of one template.
#[derive(Debug, Default)]
struct RecordScratch {
    mark: MarkScratch,
    tracer: Tracer,
    pool: Pool,
    lists: [Vec<Alignment>; 2],
    body: Vec<u8>,
}

/// The regions of a read, of which the first `on_primary` are not on ALT sequences.
#[derive(Debug, Clone, Copy)]
struct Marked<'a> {
    regions: &'a [Region],
    on_primary: usize,
}

impl Emitter<'_> {
    /// Hands out the records of a batch.
    ///
    /// # Errors
    /// What BAM cannot hold, or a region that is none.
    pub(super) fn emit(
        &self,
        batch: &SeededReads<'_>,
        model: Option<&CohortModel>,
        scratch: &mut EmitScratch,
        sink: &mut dyn RecordSink,
    ) -> Result<(), String> {
        let [of_pairs, count] = batch.candidates.counts();
        for first in (0..of_pairs).step_by(2 * RESCUED_PAIRS) {
            let model = model.ok_or("pairs without a model of their cohort")?;
            let end = of_pairs.min(first + 2 * RESCUED_PAIRS);
            self.emit_pairs(batch, first..end, model, scratch, sink)?;
        }
        for at in of_pairs..count {
            let number = at - of_pairs;
            scratch.regions.resize_with(scratch.regions.len().max(1), Vec::new);
            let regions = &mut scratch.regions[0];
            regions.clear();
            regions.extend(batch.candidates.of(at));
            let id = self.ordinals.first_single + number as u64;
            let read = batch.read(at);
            let origin = Origin::Single(number);
            self.emit_single(&read, regions, id, &mut scratch.records, origin, sink)?;
        }
        Ok(())
    }

    fn emit_pairs(
        &self,
        batch: &SeededReads<'_>,
        reads: std::ops::Range<usize>,
        model: &CohortModel,
        scratch: &mut EmitScratch,
        sink: &mut dyn RecordSink,
    ) -> Result<(), String> {
        let EmitScratch { regions, rescue, pairs, records } = scratch;
        regions.resize_with(regions.len().max(reads.len()), Vec::new);
        let regions = &mut regions[..reads.len()];
        for (at, regions) in reads.clone().zip(regions.iter_mut()) {
            regions.clear();
            regions.extend(batch.candidates.of(at));
            if let Some(first) = regions.first() {
                self.reference.prefetch([first.reference_start, first.reference_end]);
            }
        }
        let codes: Vec<_> = reads.clone().map(|at| batch.read(at).codes).collect();
        let Self { settings, reference, .. } = *self;
        Rescue { settings, model: &model.sizes, reference }.run(&codes, regions, rescue);
        let pairing = Pairing { settings, model: &model.sizes, scores: &model.scores, reference };
        let mates = regions.as_chunks_mut().0;
        for (number, mates) in (reads.start / 2..).zip(mates) {
            let reads = [0, 1].map(|mate| batch.read(2 * number + mate));
            let id = self.ordinals.first_pair + number as u64;
            let on_primary = [0, 1].map(|mate| {
                mark_primary(&mut mates[mate], id << 1 | mate as u64, settings, &mut records.mark)
            });
            let resolved = pairing.resolve(mates, on_primary, id, pairs);
            let marked =
                [0, 1].map(|mate| Marked { regions: &mates[mate], on_primary: on_primary[mate] });
            records.pool.clear();
            let found = match resolved {
                Some(resolved) => self.paired(&reads, marked, &resolved, records)?,
                None => self.unpaired(&reads, marked, &model.sizes, records)?,
            };
            self.write_pair(&reads, &found, records, Origin::Pair(number), sink)?;
        }
        Ok(())
    }

    /// The records of a pair whose mates were chosen together; what each is to the other.
    fn paired(
        &self,
        reads: &[RecordRead<'_>; 2],
        marked: [Marked<'_>; 2],
        resolved: &Resolved,
        scratch: &mut RecordScratch,
    ) -> Result<[Alignment; 2], String> {
        let RecordScratch { tracer, pool, lists, .. } = scratch;
        let recorder = self.recorder();
        let shared = PAIRED | if resolved.proper { PROPER } else { 0 };
        for mate in 0..2 {
            let Marked { regions, on_primary } = marked[mate];
            let codes = reads[mate].codes;
            let flags = FIRST_OF_PAIR << mate | shared;
            let mut push = |at: usize, more: u32, quality: Option<i32>| {
                let mut it = recorder.align(codes, &regions[at], tracer, pool)?;
                it.xa = recorder.push_xa(codes, regions, at, tracer, pool)?;
                it.flags |= flags | more;
                it.quality = quality.unwrap_or(it.quality);
                lists[mate].push(it);
                Ok::<_, String>(())
            };
            push(resolved.regions[mate], 0, Some(resolved.qualities[mate]))?;
            let is_written = |it: &Region| {
                it.score >= self.settings.least_score && it.secondary < 0 && it.is_alt
            };
            if regions.get(on_primary).is_some_and(is_written) {
                push(on_primary, SUPPLEMENTARY, None)?;
            }
        }
        Ok(lists.each_ref().map(|list| list[0].clone()))
    }

    /// The records of a pair whose mates go by their own regions.
    fn unpaired(
        &self,
        reads: &[RecordRead<'_>; 2],
        marked: [Marked<'_>; 2],
        model: &Model,
        scratch: &mut RecordScratch,
    ) -> Result<[Alignment; 2], String> {
        let mut chosen = [None; 2];
        let mut found = [const { None }; 2];
        for mate in 0..2 {
            let Marked { regions, on_primary } = marked[mate];
            let is_good = |&at: &usize| {
                regions.get(at).is_some_and(|it| it.score >= self.settings.least_score)
            };
            chosen[mate] = [0, on_primary].into_iter().find(is_good);
            self.list(&reads[mate], regions, mate, scratch)?;
            let list = &scratch.lists[mate];
            found[mate] = match chosen[mate] {
                Some(at) if list[0].is_placed() => {
                    let RecordScratch { tracer, pool, .. } = scratch;
                    Some(self.recorder().align(reads[mate].codes, &regions[at], tracer, pool)?)
                }
                _ => None,
            };
        }
        let shared = PAIRED | self.proper_flag(marked, chosen, model);
        let is_missing = [0, 1].map(|mate| !scratch.lists[mate][0].is_placed());
        for (mate, list) in scratch.lists.iter_mut().enumerate() {
            let missing = if is_missing[1 - mate] { MATE_UNMAPPED } else { 0 };
            list.iter_mut().for_each(|it| it.flags |= shared | FIRST_OF_PAIR << mate | missing);
        }
        Ok(found.map(|it| it.unwrap_or_else(Alignment::unplaced)))
    }

    /// The flag of a proper pair, if the first regions of two mates are one.
    fn proper_flag(
        &self,
        marked: [Marked<'_>; 2],
        chosen: [Option<usize>; 2],
        model: &Model,
    ) -> u32 {
        let [Some(first), Some(second)] = chosen else { return 0 };
        let [one, two] = marked.map(|it| it.regions);
        if one[first].sequence != two[second].sequence {
            return 0;
        }
        let places = [one[0].reference_start, two[0].reference_start];
        let MateDistance { orientation, distance } = MateDistance::of(self.reference.bases, places);
        let sizes = &model[orientation];
        if !sizes.failed && sizes.holds(distance) { PROPER } else { 0 }
    }

    /// Lists what is written of a read by its own regions (`mem_reg2sam`).
    fn list(
        &self,
        read: &RecordRead<'_>,
        regions: &[Region],
        mate: usize,
        scratch: &mut RecordScratch,
    ) -> Result<(), String> {
        let RecordScratch { tracer, pool, lists, .. } = scratch;
        let (list, recorder) = (&mut lists[mate], self.recorder());
        for (at, region) in regions.iter().enumerate() {
            if region.score < self.settings.least_score || region.secondary >= 0 {
                continue;
            }
            let mut it = recorder.align(read.codes, region, tracer, pool)?;
            it.xa = recorder.push_xa(read.codes, regions, at, tracer, pool)?;
            if let Some(first) = list.first() {
                it.flags |= if self.settings.marks_secondary { SPLIT } else { SUPPLEMENTARY };
                if !region.is_alt {
                    it.quality = it.quality.min(first.quality);
                }
            }
            list.push(it);
        }
        if list.is_empty() {
            list.push(Alignment::unplaced());
        }
        Ok(())
    }

    fn emit_single(
        &self,
        read: &RecordRead<'_>,
        regions: &mut [Region],
        id: u64,
        scratch: &mut RecordScratch,
        origin: Origin,
        sink: &mut dyn RecordSink,
    ) -> Result<(), String> {
        scratch.pool.clear();
        mark_primary(regions, id, self.settings, &mut scratch.mark);
        self.list(read, regions, 0, scratch)?;
        self.write_read(read, 0, None, scratch, origin, sink)
    }

    fn write_pair(
        &self,
        reads: &[RecordRead<'_>; 2],
        found: &[Alignment; 2],
        scratch: &mut RecordScratch,
        origin: Origin,
        sink: &mut dyn RecordSink,
    ) -> Result<(), String> {
        for mate in 0..2 {
            let other = Some(&found[1 - mate]);
            self.write_read(&reads[mate], mate, other, scratch, origin, sink)?;
        }
        Ok(())
    }

    /// Writes the records of a read, and empties its list.
    fn write_read(
        &self,
        read: &RecordRead<'_>,
        at: usize,
        mate: Option<&Alignment>,
        scratch: &mut RecordScratch,
        origin: Origin,
        sink: &mut dyn RecordSink,
    ) -> Result<(), String> {
        let RecordScratch { pool, lists, body, .. } = scratch;
        let list = &mut lists[at];
        for number in 0..list.len() {
            let of = RecordOf { read, list, number, mate, pool };
            self.recorder().write(&of, body)?;
            sink.record(origin, body);
        }
        list.clear();
        Ok(())
    }

    fn recorder(&self) -> Recorder<'_> {
        Recorder { settings: self.settings, reference: self.reference }
    }
}
