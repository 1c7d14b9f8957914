//! Cuts the input into cohorts and batches, by ordinals alone.
//!
//! A cohort (not one of samples) is bwa's chunk: the first even number of reads whose bases reach
//! `-K`. A batch is what one worker aligns at a time: 256 pairs or 512 single reads counted from
//! the cohort's start. Both depend on nothing but the reads and `-K`, so neither threads nor memory
//! nor the form of the input can change them. Blocks arrive in any order; each file's are put in
//! order here and verified to follow each other.

mod batch;
mod file_blocks;

use std::sync::Arc;

use seqloom_format::ReadBlock;
use seqloom_io::reads::{FilePosition, InputBlock, ReadSource};

use crate::input::error::CohortError;
use crate::input::mates::{BamTotals, MateOrder};
use crate::input::tags::ReadTags;
use crate::input::umi::{UmiRules, UmiSource, UmiTags};

pub(crate) use batch::TemplateCounts;
pub use batch::{Batch, BatchReads, LongRead, Segment, Shape, recycle};
use file_blocks::FileBlocks;

/// Reads per batch: the engine's kernels work on 512 at a time.
pub const BATCH_READS: usize = 512;

/// How reads form templates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pairing {
    /// Every read is its own template.
    Single,
    /// The n-th reads of two files are mates.
    TwoFiles,
    /// Neighbours with equal names are mates, others are single (bwa's `-p`).
    Adjacent,
}

/// What is known of a cohort once its last batch is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClosedCohort {
    /// Its number.
    pub(crate) cohort: u64,
    /// Ordinal of its first read.
    pub(crate) first_read: u64,
    /// Number of batches.
    pub(crate) batches: u64,
    /// Single reads in it.
    pub(crate) singles: u64,
    /// Pairs in it.
    pub(crate) pairs: u64,
}

/// What the cutter has produced.
#[derive(Debug)]
pub enum Cut {
    /// A batch to align.
    Batch(Box<Batch>),
    /// No further batch of this cohort will come.
    Closed(ClosedCohort),
}

/// How much was cut.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CutTotals {
    pub(crate) reads: u64,
    pub(crate) templates: u64,
}

/// How an input is cut.
#[derive(Debug, Clone, Copy)]
pub struct CutRules<'u> {
    /// How reads form templates.
    pub pairing: Pairing,
    /// Bases of a cohort, `-K`.
    pub cohort_bases: u64,
    /// UMIs that are taken from reads, as far as there are any.
    pub umi: Option<&'u UmiRules>,
}

/// The first read of a cohort: how much of the whole input is before it, and where it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CohortStart {
    /// Number of the cohort.
    pub cohort: u64,
    /// Ordinal of its first read.
    pub first_read: u64,
    /// Ordinal of its first template.
    pub first_template: u64,
    /// Place of its first batch in the output order.
    pub sequence: u64,
    /// Where its first read is in each file; empty: where each file starts.
    pub places: Vec<FilePosition>,
    /// Names of the whole input end in the numbers of mates; see [`CohortCutter`]. Of no meaning
    /// where each file starts: the first pair says it there.
    pub has_numbers: bool,
}

/// A run of cohorts of an input; the default is all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CohortRange {
    /// The first one. The source starts at its places.
    pub start: CohortStart,
    /// How many; `None` for all up to the end of the input.
    pub cohorts: Option<u64>,
}

/// Takes the blocks of a lane and gives its cohorts, cut into batches.
///
/// Where the names of the first pair are alike but for `.1` and `.2` at their ends (`fastq-dump
/// --readids` writes such), these are taken off all names of the input.
pub struct CohortCutter<'a> {
    source: &'a ReadSource,
    pairing: Pairing,
    cohort_bases: u64,
    /// UMIs among the bases, which do not count for cohorts.
    umi: Option<UmiSource>,
    files: Arc<str>,
    blocks: Vec<FileBlocks>,
    range: CohortRange,
    /// Cohorts whose first read was met, where that is requested.
    starts: Option<Vec<CohortStart>>,
    open: OpenCohort,
    next_sequence: u64,
    next_read: u64,
    next_template: u64,
    finished: bool,
    /// Whether names end in numbers of mates; `None` until the first pair is there.
    has_numbers: Option<bool>,
}

/// The cohort being cut.
#[derive(Debug, Default)]
struct OpenCohort {
    number: u64,
    first_read: u64,
    bases: u64,
    batches: u64,
    pairs: u64,
    singles: u64,
}

/// How far the next batch reaches.
struct Reach {
    reads_per_file: usize,
    templates: u64,
    pairs: u64,
    bases: u64,
    shape: Shape,
    ends_cohort: bool,
}

impl<'a> CohortCutter<'a> {
    /// A cutter for the reads of `source`.
    #[must_use]
    pub fn new(source: &'a ReadSource, pairing: Pairing, cohort_bases: u64) -> Self {
        let blocks: Vec<_> =
            (0..source.files()).map(|file| FileBlocks::new(source, file)).collect();
        let paths: Vec<_> = blocks.iter().map(|file| file.path.as_str()).collect();
        Self {
            source,
            pairing,
            cohort_bases,
            umi: None,
            files: paths.join(" + ").into(),
            blocks,
            range: CohortRange::default(),
            starts: None,
            open: OpenCohort::default(),
            next_sequence: 0,
            next_read: 0,
            next_template: 0,
            finished: false,
            has_numbers: (pairing == Pairing::Single).then_some(false),
        }
    }

    /// Cuts a run of cohorts of an input instead of all. `source` must start at the run's places;
    /// what is after the run is passed over.
    #[must_use]
    pub(crate) fn within(mut self, range: CohortRange) -> Self {
        let CohortStart { cohort, first_read, first_template, sequence, has_numbers, .. } =
            range.start;
        if !range.start.places.is_empty() {
            self.set_has_numbers(has_numbers);
        }
        self.open = OpenCohort { number: cohort, first_read, ..OpenCohort::default() };
        (self.next_read, self.next_template) = (first_read, first_template);
        self.next_sequence = sequence;
        self.finished = range.cohorts == Some(0);
        Self { range, ..self }
    }

    /// Leaves bases out that are taken from reads as UMIs, as if the input had not had them.
    #[must_use]
    pub(crate) fn without_umis(self, umi: Option<&UmiRules>) -> Self {
        Self { umi: umi.map(|umi| umi.source.clone()), ..self }
    }

    /// Takes note of where cohorts start, for [`CohortCutter::into_starts`].
    #[must_use]
    pub(crate) fn noting_starts(self) -> Self {
        Self { starts: Some(Vec::new()), ..self }
    }

    /// Where every cohort so far starts.
    #[must_use]
    pub(crate) fn starts(&self) -> &[CohortStart] {
        self.starts.as_deref().unwrap_or_default()
    }

    /// Where every cohort so far starts.
    #[must_use]
    pub(crate) fn into_starts(self) -> Vec<CohortStart> {
        self.starts.unwrap_or_default()
    }

    /// Takes a block and hands every batch that is complete now to `produce`.
    ///
    /// # Errors
    /// Malformed input, blocks that do not follow each other, files of unequal length: when all
    /// reads before it have been cut, so that the order in which blocks come makes no
    /// difference.
    pub fn push(
        &mut self,
        block: InputBlock,
        mut produce: impl FnMut(Cut),
    ) -> Result<(), CohortError> {
        if self.finished {
            return Ok(());
        }
        let file = block.file;
        self.blocks[file].accept(self.source, block);
        self.look_for_numbers();
        while let Some(reach) = self.reach()? {
            self.cut(reach, &mut produce);
            if self.finished {
                return Ok(());
            }
        }
        let used_up = self.blocks.iter_mut().filter(|file| file.available == 0);
        if let Some(defect) = used_up.filter_map(|file| file.defect.take()).next() {
            return Err(defect);
        }
        if !self.finished && self.blocks.iter().all(FileBlocks::exhausted) {
            self.finished = true;
            if self.open.batches > 0 {
                self.close(&mut produce);
            }
        }
        Ok(())
    }

    /// Looks at the names of the first pair, once it is there.
    fn look_for_numbers(&mut self) {
        if self.has_numbers.is_some() {
            return;
        }
        let at = |file: usize, offset: usize| {
            let file = &self.blocks[file];
            let read = file.peek(offset);
            let is_over = read.is_none() && file.ended;
            (read, is_over)
        };
        let second = if self.blocks.len() == 2 { at(1, 0) } else { at(0, 1) };
        match (at(0, 0), second) {
            ((Some(first), _), (Some(second), _)) => {
                self.set_has_numbers(are_numbered_mates(first, second));
            }
            ((_, true), _) | (_, (_, true)) => self.set_has_numbers(false),
            _ => {}
        }
    }

    fn set_has_numbers(&mut self, has_numbers: bool) {
        self.has_numbers = Some(has_numbers);
        if has_numbers {
            self.blocks.iter_mut().for_each(FileBlocks::cut_numbers);
        }
    }

    /// Where the next batch will be in the output order.
    #[must_use]
    pub(crate) fn next_sequence(&self) -> u64 {
        self.next_sequence
    }

    /// Whether every read has been cut.
    #[must_use]
    pub fn finished(&self) -> bool {
        self.finished
    }

    /// Blocks that wait for one before them.
    #[must_use]
    pub(crate) fn early_blocks(&self) -> usize {
        self.blocks.iter().map(|file| file.early_blocks()).sum()
    }

    /// What was cut so far.
    #[must_use]
    pub(crate) fn totals(&self) -> CutTotals {
        let CohortStart { first_read, first_template, .. } = self.range.start;
        CutTotals {
            reads: self.next_read - first_read,
            templates: self.next_template - first_template,
        }
    }

    /// What was found in BAM input; nothing in other input.
    #[must_use]
    pub(crate) fn bam_totals(&self) -> BamTotals {
        let mates = self.blocks.first().and_then(|file| file.mates.as_ref());
        mates.map(MateOrder::totals).unwrap_or_default()
    }

    /// The next batch, if enough reads are here to know where it ends.
    fn reach(&self) -> Result<Option<Reach>, CohortError> {
        if self.has_numbers.is_none() {
            return Ok(None);
        }
        match self.pairing {
            Pairing::TwoFiles => self.reach_two_files(),
            Pairing::Single => Ok(self.reach_one_file(false)),
            Pairing::Adjacent => Ok(self.reach_one_file(true)),
        }
    }

    fn reach_two_files(&self) -> Result<Option<Reach>, CohortError> {
        let [first, second] = &self.blocks[..] else { return Ok(None) };
        let mut unequal = None;
        for (shorter, longer) in [(first, second), (second, first)] {
            // Known as soon as it is so: the rest of the longer file need not be read.
            let is_whole = shorter.ended && !shorter.is_malformed;
            if is_whole && longer.available > shorter.available {
                unequal = Some(CohortError::UnequalCounts {
                    shorter: shorter.path.clone(),
                    longer: longer.path.clone(),
                    records: shorter.taken + shorter.available as u64,
                });
            }
        }
        let available = first.available.min(second.available);
        let pairs = available.min(BATCH_READS / 2);
        if pairs == 0 {
            // After all pairs there are: what is wrong with one of these is to be reported first.
            return unequal.map_or(Ok(None), Err);
        }
        let is_last = self.blocks.iter().any(|file| file.ended && file.available == available);
        if pairs < BATCH_READS / 2 && !is_last {
            return Ok(None);
        }
        let (mut taken, mut bases) = (0, 0);
        let mut ends_cohort = false;
        while taken < pairs && !ends_cohort {
            bases += self.base_count(0, taken) + self.base_count(1, taken);
            taken += 1;
            ends_cohort = self.open.bases + bases >= self.cohort_bases;
        }
        Ok(Some(Reach {
            reads_per_file: taken,
            templates: taken as u64,
            pairs: taken as u64,
            bases,
            shape: Shape::Pairs,
            ends_cohort,
        }))
    }

    fn reach_one_file(&self, pair_neighbours: bool) -> Option<Reach> {
        let file = self.blocks.first()?;
        // One more than a batch, so that a pair that straddles its end is seen.
        if file.available < BATCH_READS + 1 && !file.ended || file.available == 0 {
            return None;
        }
        let cohort_reads = 2 * self.open.pairs + self.open.singles;
        let (mut taken, mut bases, mut ends_cohort) = (0, 0, false);
        let mut is_pair = Vec::with_capacity(BATCH_READS);
        let take_one = |taken: &mut usize, bases: &mut u64| {
            *bases += self.base_count(0, *taken);
            *taken += 1;
            let even = (cohort_reads + *taken as u64).is_multiple_of(2);
            self.open.bases + *bases >= self.cohort_bases && even
        };
        while taken < BATCH_READS && taken < file.available && !ends_cohort {
            let mates = pair_neighbours && file.has_mates(taken);
            ends_cohort = take_one(&mut taken, &mut bases);
            // As in bwa, a cohort that ends between two mates makes them single.
            let paired = mates && !ends_cohort;
            if paired {
                ends_cohort = take_one(&mut taken, &mut bases);
            }
            is_pair.push(paired);
        }
        let pairs = is_pair.iter().filter(|&&pair| pair).count() as u64;
        let templates = is_pair.len() as u64;
        let shape = match pairs {
            0 => Shape::Singles,
            all if all == templates => Shape::Pairs,
            _ => Shape::Mixed(is_pair),
        };
        Some(Reach { reads_per_file: taken, templates, pairs, bases, shape, ends_cohort })
    }

    /// Bases to align of the read `offset` places after the front of a file.
    fn base_count(&self, file: usize, offset: usize) -> u64 {
        let read = self.blocks.get(file).and_then(|file| file.peek(offset));
        let bases = read.map_or(0, |(block, i)| block.reads[i].bases.len);
        match &self.umi {
            None => bases.into(),
            Some(umi) => umi.template(file, bases as usize).len() as u64,
        }
    }

    /// Takes note of where the cohort that is about to be cut starts.
    fn note_start(&mut self) {
        let Some(starts) = self.starts.as_mut().filter(|_| self.open.batches == 0) else { return };
        starts.push(CohortStart {
            cohort: self.open.number,
            first_read: self.next_read,
            first_template: self.next_template,
            sequence: self.next_sequence,
            places: self.blocks.iter().filter_map(FileBlocks::place).collect(),
            has_numbers: self.has_numbers == Some(true),
        });
    }

    fn cut(&mut self, reach: Reach, produce: &mut impl FnMut(Cut)) {
        self.note_start();
        let segments: Vec<_> =
            self.blocks.iter_mut().map(|file| file.take(reach.reads_per_file)).collect();
        let singles = reach.templates - reach.pairs;
        let reads = 2 * reach.pairs + singles;
        produce(Cut::Batch(Box::new(Batch {
            sequence: self.next_sequence,
            cohort: self.open.number,
            index_in_cohort: self.open.batches,
            first_read: self.next_read,
            first_template: self.next_template,
            pairs_before: self.open.pairs,
            singles_before: self.open.singles,
            shape: reach.shape,
            segments,
            reads: reads as usize,
            files: self.files.clone(),
            has_cut_numbers: self.has_numbers == Some(true),
            umis: UmiTags::default(),
            tags: ReadTags::default(),
            failed_filter: Vec::new(),
        })));
        self.next_sequence += 1;
        self.next_read += reads;
        self.next_template += reach.templates;
        self.open.bases += reach.bases;
        self.open.pairs += reach.pairs;
        self.open.singles += singles;
        self.open.batches += 1;
        if reach.ends_cohort {
            self.close(produce);
        }
    }

    fn close(&mut self, produce: &mut impl FnMut(Cut)) {
        let next = OpenCohort {
            number: self.open.number + 1,
            first_read: self.next_read,
            ..OpenCohort::default()
        };
        let closed = std::mem::replace(&mut self.open, next);
        produce(Cut::Closed(ClosedCohort {
            cohort: closed.number,
            first_read: closed.first_read,
            batches: closed.batches,
            singles: closed.singles,
            pairs: closed.pairs,
        }));
        let end = self.range.cohorts.map(|cohorts| self.range.start.cohort + cohorts);
        self.finished |= end == Some(self.open.number);
    }
}

/// Whether two names are alike but for `.1` and `.2` at their ends.
fn are_numbered_mates((a, i): (&ReadBlock, usize), (b, j): (&ReadBlock, usize)) -> bool {
    (a.dotted_number(i), b.dotted_number(j)) == (Some(1), Some(2))
        && a.name(i).strip_suffix(b".1") == b.name(j).strip_suffix(b".2")
}

#[cfg(test)]
mod tests;
