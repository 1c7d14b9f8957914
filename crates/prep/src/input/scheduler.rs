//! What is to be done next: the state that the ingest workers share, without any thread in it.
//!
//! Blocks come in any order. Here they are put in the order of the input, verified, and cut at
//! edges of templates; ordinals follow from that order alone. That takes no time per record, so
//! one lock round it is no bottleneck; the records themselves are looked at by all workers.

use std::collections::VecDeque;
use std::ops::Range;
use std::path::PathBuf;

use seqloom_io::alignments::{AlignmentSource, BlockCheck, RecordBlock, Truncation};
use seqloom_runtime::schedule::{Fetch, Fetches, Idle, InOrder};

use super::error::IngestError;
use super::names::NotGrouped;
use super::templates::{Scan, Templates, name_of, scan_block};
use crate::partition::collect::Grouping;
use crate::partition::frame::MAX_TEMPLATE_RECORDS;

/// Trust in a header that says that the input is sorted by coordinate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CoordinateClaim {
    /// There is none.
    None,
    /// The output keeps the order: input that is not sorted is refused.
    Trusted,
    /// Records are put in order anyway: input that is not sorted is noted,
    /// [`unsorted`](super::ingest::IngestTotals::unsorted).
    Checked,
}

/// Blocks, per worker, that are being fetched, wait for a block before them, or wait to be
/// processed: bounds what piles up.
const BLOCKS_PER_WORKER: usize = 4;

/// A block, and what was found in it.
pub(super) struct Scanned {
    pub(super) block: Box<RecordBlock>,
    pub(super) found: Scan,
}

/// Templates that one worker processes at a time.
pub(super) struct Batch {
    /// Index of the input.
    pub(super) input: usize,
    /// A template that started in an earlier block; empty if there is none.
    head: Vec<u8>,
    /// The block with the others.
    pub(super) block: Option<Box<RecordBlock>>,
    body: Range<usize>,
    first_template: u64,
    /// Number of the first record, counted over all inputs from 0.
    pub(super) first_record: u64,
    grouping: Grouping,
}

impl Batch {
    /// Ordinal and framed records of every template.
    pub(super) fn templates(&self) -> impl Iterator<Item = (u64, &[u8])> + Clone {
        let body = self.block.as_ref().map_or(&[][..], |block| &block.bytes[self.body.clone()]);
        let templates =
            Templates::new(&self.head, self.grouping).chain(Templates::new(body, self.grouping));
        (self.first_template..).zip(templates)
    }

    /// The first record's number, counted over all inputs from 0, and framed records of every
    /// template.
    pub(super) fn numbered_templates(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.templates().scan(self.first_record, |next, (_, template)| {
            let first = *next;
            *next += Templates::new(template, Grouping::Records).count() as u64;
            Some((first, template))
        })
    }
}

/// Work for one worker.
pub(super) enum Task {
    /// Fetch a block from the source.
    Fetch,
    /// Process a batch.
    Process(Batch),
}

/// A template that may go on in the next block.
#[derive(Default)]
struct Carried {
    bytes: Vec<u8>,
    records: u64,
}

/// The blocks that are read, and the templates that are ready for workers.
pub(super) struct Scheduler<'a> {
    source: &'a AlignmentSource,
    grouping: Grouping,
    claim: CoordinateClaim,
    /// Inputs that are not sorted as they say, with the first record that shows it, from 1.
    unsorted: Vec<(PathBuf, u64)>,
    workers: usize,
    inputs: Vec<Input>,
    /// Index of the input being read.
    current: usize,
    carried: Carried,
    /// Place of the last record of the input being read.
    last_place: u64,
    records_of_input: u64,
    /// Records of all inputs before each one that has begun.
    records_before: Vec<u64>,
    ready: VecDeque<Batch>,
    fetches: Fetches,
    records: u64,
    templates: u64,
}

/// Blocks of one input.
struct Input {
    check: BlockCheck,
    order: InOrder<Scanned>,
}

impl<'a> Scheduler<'a> {
    pub(super) fn new(
        source: &'a AlignmentSource,
        grouping: Grouping,
        claim: CoordinateClaim,
        workers: usize,
    ) -> Self {
        let input =
            |input| Input { check: BlockCheck::new(source, input), order: InOrder::default() };
        Self {
            source,
            grouping,
            claim,
            unsorted: Vec::new(),
            workers,
            inputs: (0..source.headers().len()).map(input).collect(),
            current: 0,
            carried: Carried::default(),
            last_place: 0,
            records_of_input: 0,
            records_before: vec![0],
            ready: VecDeque::new(),
            fetches: Fetches::default(),
            records: 0,
            templates: 0,
        }
    }

    /// The next task, if there is one now.
    pub(super) fn next_task(&mut self) -> Result<Task, Idle> {
        if let Some(batch) = self.ready.pop_front() {
            return Ok(Task::Process(batch));
        }
        let waiting = self.fetches.in_work() + self.early();
        if self.fetches.may_start() && waiting < self.workers * BLOCKS_PER_WORKER {
            self.fetches.start();
            return Ok(Task::Fetch);
        }
        Err(if self.fetches.are_over() { Idle::Finished } else { Idle::Wait })
    }

    /// Blocks that wait for one before them.
    fn early(&self) -> usize {
        self.inputs.iter().map(|input| input.order.early()).sum()
    }

    /// Records of the input so far.
    pub(super) fn records(&self) -> u64 {
        self.records
    }

    /// Templates of the input so far.
    pub(super) fn templates(&self) -> u64 {
        self.templates
    }

    /// Inputs that were cut short, and where.
    pub(super) fn truncations(&self) -> Vec<(PathBuf, Truncation)> {
        let inputs = self.inputs.iter().enumerate();
        let found = inputs.filter_map(|(index, input)| {
            let truncation = input.check.truncation()?.clone();
            Some((self.source.path(index).to_owned(), truncation))
        });
        found.collect()
    }

    /// Inputs that are not sorted as they say, and the first record of each that shows it.
    pub(super) fn take_unsorted(&mut self) -> Vec<(PathBuf, u64)> {
        std::mem::take(&mut self.unsorted)
    }

    /// The error that two places of a name are.
    pub(super) fn not_grouped(&self, found: NotGrouped) -> IngestError {
        let (path, first) = self.place_of(found.first);
        IngestError::NotGrouped { path, record: first + (found.again - found.first), first }
    }

    /// The input of a record, which is counted over all inputs from 0, and its number there, from
    /// 1.
    pub(super) fn place_of(&self, record: u64) -> (PathBuf, u64) {
        let begun = self.records_before.partition_point(|&before| before <= record);
        // Inputs without records begin where the next one does.
        let input = begun.saturating_sub(1);
        let before = self.records_before.get(input).copied().unwrap_or_default();
        (self.source.path(input).to_owned(), record.saturating_sub(before) + 1)
    }

    /// Whether the last block of the last input was taken.
    pub(super) fn is_complete(&self) -> bool {
        self.early() == 0 && self.current == self.inputs.len()
    }

    /// A fetch is back: takes its block and all that waited for it.
    pub(super) fn fetched(&mut self, fetched: Fetch<Scanned>) -> Result<(), IngestError> {
        let Some(scanned) = self.fetches.finish(fetched) else { return Ok(()) };
        let Scanned { block, .. } = &scanned;
        self.inputs[block.input].order.push(block.index, scanned);
        while let Some(next) = self.inputs.get_mut(self.current).and_then(|it| it.order.pop()) {
            self.accept(next)?;
        }
        Ok(())
    }

    fn accept(&mut self, Scanned { mut block, found }: Scanned) -> Result<(), IngestError> {
        let (input, last) = (block.input, block.last);
        let scan_block = |bytes: &[u8]| scan_block(bytes, self.grouping);
        let check = &mut self.inputs[input].check;
        let found = check.accept_scanned(self.source, &mut block, found, scan_block)?;
        if self.claim != CoordinateClaim::None && block.records > 0 {
            self.check_sorted(input, &found)?;
            self.last_place = found.last_place;
        }
        self.records += block.records;
        self.records_of_input += block.records;
        match self.grouping {
            Grouping::Records => {
                let body = 0..block.bytes.len();
                let first_record = self.records - block.records;
                let place = (input, first_record);
                self.push(place, Vec::new(), Some(block), body, found.templates);
            }
            Grouping::Templates => self.cut(block, &found)?,
        }
        if last {
            self.current += 1;
            let Carried { bytes: head, records } = std::mem::take(&mut self.carried);
            let templates = u64::from(!head.is_empty());
            self.push((input, self.records - records), head, None, 0..0, templates);
            (self.last_place, self.records_of_input) = (0, 0);
            self.records_before.push(self.records);
        }
        Ok(())
    }

    fn check_sorted(&mut self, input: usize, found: &Scan) -> Result<(), IngestError> {
        let unsorted =
            if found.first_place < self.last_place { Some(0) } else { found.unsorted_record };
        let Some(record) = unsorted else { return Ok(()) };
        let (path, record) = (self.source.path(input), self.records_of_input + record + 1);
        if self.claim == CoordinateClaim::Trusted {
            return Err(IngestError::Unsorted { path: path.to_owned(), record });
        }
        // The first of each input is reported.
        if self.unsorted.last().is_none_or(|(last, _)| last != path) {
            self.unsorted.push((path.to_owned(), record));
        }
        Ok(())
    }

    /// Cuts a block before its last template, which may go on in the next block, and joins
    /// the one carried here to the start of it.
    fn cut(&mut self, block: Box<RecordBlock>, found: &Scan) -> Result<(), IngestError> {
        if found.templates == 0 {
            self.source.recycle(block);
            return Ok(());
        }
        let bytes = &block.bytes;
        let first_record = self.records - block.records - self.carried.records;
        let goes_on =
            !self.carried.bytes.is_empty() && name_of(&self.carried.bytes) == name_of(bytes);
        if goes_on {
            self.carry(&bytes[..found.first_end])?;
            if found.templates == 1 {
                self.source.recycle(block);
                return Ok(());
            }
        }
        let head = std::mem::take(&mut self.carried).bytes;
        self.carry(&bytes[found.last_start..])?;
        let body = if goes_on { found.first_end } else { 0 }..found.last_start;
        let in_body = found.templates - 1 - u64::from(goes_on);
        let templates = in_body + u64::from(!head.is_empty());
        self.push((block.input, first_record), head, Some(block), body, templates);
        Ok(())
    }

    fn carry(&mut self, records: &[u8]) -> Result<(), IngestError> {
        self.carried.bytes.extend_from_slice(records);
        self.carried.records += Templates::new(records, Grouping::Records).count() as u64;
        if self.carried.records > MAX_TEMPLATE_RECORDS {
            return Err(IngestError::TooManyRecords {
                path: self.source.path(self.current).to_owned(),
                name: String::from_utf8_lossy(name_of(records)).into_owned(),
            });
        }
        Ok(())
    }

    fn push(
        &mut self,
        (input, first_record): (usize, u64),
        head: Vec<u8>,
        block: Option<Box<RecordBlock>>,
        body: Range<usize>,
        templates: u64,
    ) {
        let first_template = self.templates;
        self.templates += templates;
        if templates > 0 {
            let grouping = self.grouping;
            self.ready.push_back(Batch {
                input,
                head,
                block,
                body,
                first_template,
                first_record,
                grouping,
            });
        } else if let Some(block) = block {
            self.source.recycle(block);
        }
    }
}
