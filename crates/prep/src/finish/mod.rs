//! The finish phase: every unit is loaded, flagged, sorted and encoded by one worker, and committed
//! in order by whoever finds it next in line. Flags come before sorting because some orders look at
//! them. On their way records pass an editor and a visitor, where there are such ([`hooks`]);
//! [`counting_pass`] shows them to a visitor before all that.

mod counting_pass;
pub(crate) mod encode;
mod error;
pub(crate) mod hooks;
mod merged;
mod output_index;
mod output_transform;
mod sorted;
mod stripes;
mod units;

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};

use seqloom_cram::Referred;
use seqloom_format::bam::{Flags, RecordRef, Reference};
use seqloom_format::persist_fields;
use seqloom_io::Output;
use seqloom_runtime::admission::{Admission, AdmissionControl};
use seqloom_runtime::pool::{Stopped, Watch};
use seqloom_runtime::trace::Stage;

use crate::duplicates::DuplicateMarks;
use crate::metrics::tally::{TalliedRecord, Tally};
use crate::partition::order::SortOrder;
use crate::partition::store::{Backing, Chunk, ChunkStore, StoreScratch};
use crate::recalibrate::AppliedCounts;
pub use counting_pass::CountingPassOptions;
pub(crate) use counting_pass::counting_pass;
pub use encode::{EncodeError, EncodedUnit, Encoder, Encoding, UNIT_BYTES, bgzf_blocks};
pub use error::FinishError;
pub use hooks::VisitorSource;
use hooks::{Edited, EditorSource, RecordEditor, RecordVisitor};
pub use output_index::OutputIndex;
pub use output_transform::{DuplicateTagging, OutputTransform};
use sorted::{ENTRY_BYTES, Sorting};
pub use stripes::Fragments;
use stripes::{Committer, IndexEntries, Slot, Stripe};
use units::Unit;
pub use units::UnitPlan;
pub(crate) use units::Units;

/// Units that are worked on or wait for their turn, per worker.
const IN_FLIGHT_PER_WORKER: usize = 4;
/// Smallest record in a chunk, for the number of sort entries: 12 frame, 32 fixed, a name, bases.
const TYPICAL_RECORD_BYTES: u64 = 128;
/// A unit that is merged from runs hands its bytes on in pieces of this size.
const DRAIN_BYTES: usize = 4 << 20;

/// The records of a run: where they are stored, and which of them are duplicates.
#[derive(Clone, Copy)]
pub struct StoredRecords<'a> {
    /// One after the other in the order of the output.
    pub stores: &'a [&'a ChunkStore<'a>],
    /// Memory and spilled data of the stores.
    pub backing: &'a Backing,
    /// Marks to apply; `None` leaves flags as they are.
    pub marks: Option<&'a DuplicateMarks>,
}

/// Options of the finish phase.
pub struct FinishOptions<'a> {
    /// How many workers.
    pub threads: NonZeroUsize,
    /// Order of the records. Stores and partitions have to follow it: see [`run`].
    pub order: SortOrder,
    /// Format of the output; an index can be made of records by coordinate only.
    pub encoding: Encoding,
    /// The header's references.
    pub references: &'a [Reference],
    /// Bases and read groups that CRAM refers to.
    pub referred: Option<Referred<'a>>,
    /// Leave marked records out.
    pub remove_duplicates: bool,
    /// Changes records before they are written.
    pub editor: Option<&'a dyn EditorSource>,
    /// Sees records as they are written.
    pub visitor: Option<&'a dyn VisitorSource>,
    /// Time per stage.
    pub trace: &'a FinishTrace,
    /// Progress and interrupts.
    pub watch: Watch<'a>,
}

/// Time per stage, summed over workers.
#[derive(Debug, Default)]
pub struct FinishTrace {
    /// Reading back, sorting, flagging and encoding.
    pub encode: Stage,
    /// Writing encoded units in their turn.
    pub write: Stage,
    /// Waiting for memory or for the turn.
    pub wait: Stage,
    /// Records written so far. Relaxed: a count for who watches.
    pub records: AtomicU64,
}

/// Counts of the finish phase.
#[derive(Debug, Default)]
pub struct Finished {
    /// Counts of the records written.
    pub tally: Tally,
    /// Records written.
    pub records_written: u64,
    /// Records left out as duplicates.
    pub records_removed: u64,
    /// Records left out by the editor.
    pub(crate) records_dropped: u64,
    /// Outcomes of recalibration.
    pub recalibrated: AppliedCounts,
}

persist_fields!(Finished {
    tally,
    records_written,
    records_removed,
    records_dropped,
    recalibrated,
});

impl Finished {
    /// Nothing yet, for a header of this many references.
    #[must_use]
    pub fn new(references: usize) -> Self {
        Self { tally: Tally::new(references), ..Self::default() }
    }

    /// Adds what was finished of other records.
    pub fn merge(&mut self, other: &Self) {
        self.tally.merge(&other.tally);
        self.records_written += other.records_written;
        self.records_removed += other.records_removed;
        self.records_dropped += other.records_dropped;
        self.recalibrated.merge(&other.recalibrated);
    }
}

/// Sorts and writes some units of `records` after what `outputs` hold. All of them, one after the
/// other, are everything that the stores hold. Several outputs, of which only the first may hold
/// anything yet, are stripes: one after the other they are what a single one would be, and the
/// index is one of that.
///
/// A partition is sorted by itself: that partitions follow each other in the order of the output is
/// the doing of whoever filled them
/// ([`crate::partition::genome_bins::GenomeBins::bin_of_record`], and
/// [`crate::partition::redistribute`] for orders by name).
///
/// # Errors
/// The first failure of any worker.
pub fn run(
    records: &StoredRecords<'_>,
    units: Units<'_>,
    options: &FinishOptions<'_>,
    outputs: &mut [Output],
    index: Option<&mut OutputIndex>,
) -> Result<Finished, FinishError> {
    let (mut now, mut later) = (None, None);
    match index {
        Some(OutputIndex::Containers(numbering)) => now = Some(IndexEntries::Numbered(numbering)),
        Some(OutputIndex::Bins(builder)) => match outputs.len() {
            1 => now = Some(IndexEntries::Now(builder)),
            _ => later = Some(builder),
        },
        None => {}
    }
    let (is_gathered, ledger) = (later.is_some(), &records.backing.ledger);
    let stripe = |output| {
        let otherwise =
            if is_gathered { IndexEntries::later(ledger) } else { IndexEntries::Unwanted };
        Committer::new(output, now.take().unwrap_or(otherwise))
    };
    let stripes = outputs.iter_mut().map(stripe).collect();
    let (finished, committers) = finish_units(records, units, options, stripes)?;
    if let Some(index) = later {
        stripes::gather_entries(committers, index)?;
    }
    Ok(finished)
}

/// As [`run`], for a piece of an output that other processes make the rest of: gives index entries
/// as fragments, where the encoding has such, for whoever puts the pieces together. Containers of
/// CRAM are without numbers: see [`Container::push_part`](seqloom_cram::Container::push_part).
///
/// # Errors
/// As [`run`].
pub(crate) fn run_piece(
    records: &StoredRecords<'_>,
    units: Units<'_>,
    options: &FinishOptions<'_>,
    output: &mut Output,
) -> Result<(Finished, Fragments), FinishError> {
    let entries = IndexEntries::later(&records.backing.ledger);
    let stripes = vec![Committer::new(output, entries)];
    let (finished, committers) = finish_units(records, units, options, stripes)?;
    Ok((finished, stripes::take_entries(committers)))
}

fn finish_units<'o>(
    records: &StoredRecords<'_>,
    units: Units<'_>,
    options: &FinishOptions<'_>,
    stripes: Vec<Committer<'o>>,
) -> Result<(Finished, Vec<Committer<'o>>), FinishError> {
    let StoredRecords { stores, backing, marks } = *records;
    let in_flight = IN_FLIGHT_PER_WORKER * options.threads.get();
    let control = AdmissionControl::new(&backing.ledger, in_flight).timing(&options.trace.wait);
    let finish = Finish {
        stores,
        threads: options.threads,
        encoding: options.encoding,
        references: options.references,
        referred: options.referred,
        remove_duplicates: options.remove_duplicates && marks.is_some(),
        editor: options.editor,
        visitor: options.visitor,
        sorting: Sorting { order: options.order, marks, backing },
        trace: options.trace,
        units: units.as_slice(),
        first_unit: units.first(),
        slots: stripes::schedule(units.as_slice(), stripes.len()),
        control: &control,
        stripes: stripes.into_iter().map(Stripe::new).collect(),
    };
    let (cost, worker) = (|ticket| finish.cost(ticket), |_| finish.worker());
    let workers =
        control.run(options.threads, options.watch, cost, worker, |worker, admission| {
            finish.finish_unit(admission, worker)
        })?;
    let mut total = Finished::default();
    for worker in workers {
        total.merge(&worker.writer.finish()?);
    }
    let committers = finish.stripes.into_iter().map(Stripe::into_committer).collect();
    Ok((total, committers))
}

struct Finish<'a, 'o> {
    stores: &'a [&'a ChunkStore<'a>],
    threads: NonZeroUsize,
    encoding: Encoding,
    references: &'a [Reference],
    referred: Option<Referred<'a>>,
    remove_duplicates: bool,
    editor: Option<&'a dyn EditorSource>,
    visitor: Option<&'a dyn VisitorSource>,
    sorting: Sorting<'a>,
    trace: &'a FinishTrace,
    units: &'a [Unit],
    /// Number of the first of them.
    first_unit: usize,
    /// By ticket.
    slots: Vec<Slot>,
    control: &'a AdmissionControl<'a>,
    stripes: Vec<Stripe<'a, 'o>>,
}

/// One worker's memory and counts.
struct Worker<'a> {
    store: StoreScratch,
    writer: Writer<'a>,
}

/// Edits, counts and encodes one worker's records, which come in order.
struct Writer<'a> {
    encoder: Encoder<'a>,
    editor: Option<Box<dyn RecordEditor + 'a>>,
    /// An edited record.
    edited: Vec<u8>,
    visitor: Option<Box<dyn RecordVisitor + 'a>>,
    remove_duplicates: bool,
    finished: Finished,
    trace: &'a FinishTrace,
}

impl<'a> Finish<'a, '_> {
    fn worker(&self) -> Result<Worker<'a>, FinishError> {
        let references = self.references;
        Ok(Worker {
            store: StoreScratch::new()?,
            writer: Writer {
                encoder: Encoder::new(self.encoding, references, self.referred)?,
                editor: self.editor.map(EditorSource::editor),
                edited: Vec::new(),
                visitor: self.visitor.map(VisitorSource::visitor),
                remove_duplicates: self.remove_duplicates,
                finished: Finished::new(references.len()),
                trace: self.trace,
            },
        })
    }

    fn slot_of(&self, ticket: u64) -> Option<(Slot, &Unit)> {
        let slot = *self.slots.get(usize::try_from(ticket).ok()?)?;
        Some((slot, self.units.get(slot.unit)?))
    }

    /// Memory of a unit's work beyond what its chunks are charged already: spilled chunks read
    /// back, sort entries, and output that does not compress; for a merge its runs and pieces.
    fn cost(&self, ticket: u64) -> Option<u64> {
        let bytes = self.slot_of(ticket)?.1.bytes;
        let in_memory = 2 * bytes + bytes / TYPICAL_RECORD_BYTES * ENTRY_BYTES;
        Some(in_memory.min(2 * self.portion_bytes() + 2 * DRAIN_BYTES as u64))
    }

    /// Units up to this size are sorted in memory; larger ones are merged from runs of this size.
    fn portion_bytes(&self) -> u64 {
        let total_bytes = self.sorting.backing.ledger.total_bytes();
        let share = total_bytes / (8 * self.threads.get() as u64);
        share.max(DRAIN_BYTES as u64)
    }

    fn take_chunks(&self, unit: &Unit) -> Vec<Chunk> {
        let store = self.stores[unit.store];
        unit.partitions.clone().flat_map(|partition| store.take(partition)).collect()
    }

    fn finish_unit(
        &self,
        mut admission: Admission<'a>,
        worker: &mut Worker<'a>,
    ) -> Result<(), FinishError> {
        let Some((slot, unit)) = self.slot_of(admission.ticket()) else { return Ok(()) };
        let stripe = &self.stripes[slot.stripe];
        let chunks = self.take_chunks(unit);
        if unit.bytes > self.portion_bytes() {
            self.merge_unit(slot, chunks, worker)?;
        } else {
            self.trace.encode.time(|| self.sort_unit(chunks, worker))?;
        }
        if let Some(visitor) = &mut worker.writer.visitor {
            let number = self.first_unit + slot.unit;
            visitor.end_unit(number as u64).map_err(FinishError::Hook)?;
        }
        let encoded = worker.writer.encoder.finish_unit()?;
        admission.shrink_to(encoded.held_bytes() as u64);
        stripe.ordered.deposit(slot.sequence, (encoded, admission), |(unit, admission)| {
            self.trace.write.time(|| stripe.commit(unit))?;
            drop(admission);
            Ok::<_, FinishError>(())
        })?;
        self.control.wake_all();
        Ok(())
    }

    fn sort_unit(&self, chunks: Vec<Chunk>, worker: &mut Worker<'_>) -> Result<(), FinishError> {
        let Worker { store, writer } = worker;
        self.sorting.visit_sorted(chunks, store, |ordinal, body| writer.write(ordinal, body))?;
        self.control.wake_all();
        Ok(())
    }

    /// A unit too large for memory: merged from runs, and written in pieces when its turn has come.
    fn merge_unit(
        &self,
        slot: Slot,
        chunks: Vec<Chunk>,
        worker: &mut Worker<'_>,
    ) -> Result<(), FinishError> {
        let Worker { store, writer } = worker;
        let mut drained = Vec::new();
        let portion_bytes = self.portion_bytes() / 2;
        self.sorting.visit_merged(chunks, portion_bytes, store, |ordinal, body| {
            writer.write(ordinal, body)?;
            if writer.encoder.pending_bytes() >= DRAIN_BYTES {
                self.wait_for_turn(slot)?;
                let containers = writer.encoder.drain(&mut drained);
                self.stripes[slot.stripe].write(&drained, &containers)?;
                drained.clear();
            }
            Ok(())
        })
    }

    fn wait_for_turn(&self, slot: Slot) -> Result<(), FinishError> {
        let ordered = &self.stripes[slot.stripe].ordered;
        let has_come = self.control.wait_until(|| ordered.committed() >= slot.sequence);
        if has_come { Ok(()) } else { Err(Stopped::ByAnother.into()) }
    }
}

impl Writer<'_> {
    /// Takes the next record, whose flags are final.
    fn write(&mut self, ordinal: u64, body: &[u8]) -> Result<(), FinishError> {
        let record = RecordRef::new(body)?;
        if self.remove_duplicates && record.has_flags(Flags::DUPLICATE) {
            self.finished.records_removed += 1;
            return Ok(());
        }
        let Some(editor) = &mut self.editor else { return self.put(ordinal, &record) };
        let mut edited = std::mem::take(&mut self.edited);
        edited.clear();
        match editor.edit(ordinal, &record, &mut edited).map_err(FinishError::Hook)? {
            Edited::Unchanged => self.put(ordinal, &record)?,
            Edited::Changed => self.put(ordinal, &RecordRef::new(&edited)?)?,
            Edited::Dropped => self.finished.records_dropped += 1,
        }
        self.edited = edited;
        Ok(())
    }

    /// Encodes and counts a record as it is.
    fn put(&mut self, ordinal: u64, record: &RecordRef<'_>) -> Result<(), FinishError> {
        self.encoder.push(record, None)?;
        if let Some(visitor) = &mut self.visitor {
            visitor.visit(ordinal, record).map_err(FinishError::Hook)?;
        }
        self.finished.tally.add(&TalliedRecord::from(record));
        self.finished.records_written += 1;
        self.trace.records.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// The counts, when there are no more records.
    fn finish(self) -> Result<Finished, FinishError> {
        self.visitor.map_or(Ok(()), RecordVisitor::finish).map_err(FinishError::Hook)?;
        let recalibrated = self.editor.map(|editor| editor.recalibrated()).unwrap_or_default();
        Ok(Finished { recalibrated, ..self.finished })
    }
}

#[cfg(test)]
mod tests;
