//! Packed templates to partitions: every record to the genome bin it will be sorted in, every read
//! end to the partition its duplicate set will be found in.

mod ends;

use std::sync::atomic::{AtomicUsize, Ordering};

use seqloom_format::bam::{RecordError, RecordRef, framed_records};
use seqloom_format::{MalformedState, PackedTemplates, persist_fields};
use seqloom_io::spill::SpillError;
use seqloom_runtime::error::{Class, Place, RunError};

use crate::duplicates::read_end::ReadEndError;
use crate::partition::frame::{frame_of, record_ordinal};
use crate::partition::genome_bins::{GenomeBins, RecordBin};
use crate::partition::numbers::Numbering;
use crate::partition::order::SortOrder;
use crate::partition::redistribute::NameSample;
use crate::partition::store::{Backing, ChunkStore, SavedStore, StoreScratch};

pub use ends::EndCollector;
pub(crate) use ends::SavedEnds;

/// Partitions of read ends, by a hash of their place.
pub const END_PARTITIONS: usize = 256;
/// Bins of records without a coordinate that stay open after the newest of a lane. Batches leave
/// the aligner nearly in order; where one comes later yet, its bin is opened again.
const OPEN_ORDINAL_BINS: usize = 16;

/// Why templates could not be collected.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    /// A chunk could not be spilled.
    #[error(transparent)]
    Spill(#[from] SpillError),
    /// A template's read ends could not be determined.
    #[error(transparent)]
    ReadEnd(#[from] ReadEndError),
    /// A record is malformed.
    #[error("template {template}: {source}")]
    Record {
        /// Template ordinal, from 0.
        template: u64,
        /// The problem.
        source: RecordError,
    },
    /// More records than their ordinals can distinguish.
    #[error("template {template} has more than 65536 records")]
    TooManyRecords {
        /// Template ordinal, from 0.
        template: u64,
    },
    /// More templates than their ordinals can distinguish.
    #[error("a lane has more than {most} templates, which is all that one of {lanes} may have")]
    TooManyTemplates {
        /// Templates that a lane may have.
        most: u64,
        /// Number of lanes.
        lanes: usize,
    },
}

impl RunError for CollectError {
    fn class(&self) -> Class {
        match self {
            Self::Spill(spill) => spill.class(),
            Self::ReadEnd(end) => end.class(),
            Self::Record { .. } | Self::TooManyRecords { .. } | Self::TooManyTemplates { .. } => {
                Class::Input
            }
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::Spill(spill) => spill.place(),
            Self::ReadEnd(end) => end.place(),
            Self::Record { .. } | Self::TooManyRecords { .. } | Self::TooManyTemplates { .. } => {
                Place::default()
            }
        }
    }
}

impl CollectError {
    /// Ordinal of the template whose records are at fault.
    pub(crate) fn template(&self) -> Option<u64> {
        match self {
            Self::Record { template, .. }
            | Self::TooManyRecords { template }
            | Self::ReadEnd(
                ReadEndError::Record { template, .. }
                | ReadEndError::TooManyPrimaries { template, .. },
            ) => Some(*template),
            Self::Spill(_) | Self::TooManyTemplates { .. } => None,
        }
    }

    /// With the template's number in its lane in place of its ordinal.
    fn in_lane(mut self, numbering: Numbering) -> Self {
        if let Self::Record { template, .. }
        | Self::TooManyRecords { template }
        | Self::ReadEnd(
            ReadEndError::Record { template, .. } | ReadEndError::TooManyPrimaries { template, .. },
        ) = &mut self
        {
            *template = numbering.split(*template).1;
        }
        self
    }
}

/// How the records of a template are placed in the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grouping {
    /// One after the other; ordinals count templates.
    Templates,
    /// Anywhere (input sorted by coordinate): every record counts as a template of its own.
    Records,
}

/// Order and partitions of the records.
#[derive(Clone, Copy)]
pub struct Destination<'a> {
    /// The order that the output will have.
    pub order: SortOrder,
    /// The genome's bins.
    pub bins: &'a GenomeBins,
    /// Takes a sample of the names, for orders that are by name where
    /// [`Collected::by_ordinal`] is concerned.
    pub names: Option<&'a NameSample>,
}

impl<'a> Destination<'a> {
    /// As `samtools sort` has it.
    #[must_use]
    pub fn by_coordinate(bins: &'a GenomeBins) -> Self {
        Self { order: SortOrder::Coordinate, bins, names: None }
    }
}

/// Collected records and read ends.
pub struct Collected<'a> {
    /// Records by genome bin.
    pub placed: ChunkStore<'a>,
    /// Records by template ordinal: those without a reference, or all where the order requires it.
    pub by_ordinal: ChunkStore<'a>,
    /// Records without a reference but with a position, see [`RecordBin::UnplacedWithPosition`].
    pub unplaced_with_position: ChunkStore<'a>,
    /// Read ends, where duplicates are to be marked.
    pub ends: Option<EndCollector<'a>>,
}

/// Place in the spill file of all that was collected.
pub struct SavedCollection {
    pub(crate) placed: SavedStore,
    pub(crate) by_ordinal: SavedStore,
    pub(crate) unplaced_with_position: SavedStore,
    pub(crate) ends: Option<SavedEnds>,
}

persist_fields!(SavedCollection { placed, by_ordinal, unplaced_with_position, ends });

impl<'a> Collected<'a> {
    /// Every store: of records, then of read ends, where there are such.
    #[must_use]
    pub fn stores(&self) -> Vec<&ChunkStore<'a>> {
        let Self { placed, by_ordinal, unplaced_with_position, ends } = self;
        let mut stores = vec![placed, by_ordinal, unplaced_with_position];
        if let Some(EndCollector { pairs, fragments, markers, mates, relatives, .. }) = ends {
            stores.extend([pairs, fragments, markers]);
            stores.extend(mates);
            stores.extend(relatives);
        }
        stores
    }

    /// Where everything is, once [`write_out`](crate::partition::store::write_out) is through
    /// with all stores.
    #[must_use]
    pub fn saved(&self) -> SavedCollection {
        self.saved_as(ChunkStore::saved)
    }

    /// As [`Collected::saved`], with where each store is, in the order of
    /// [`Collected::stores`], as `place` says.
    pub(crate) fn saved_as(
        &self,
        mut place: impl FnMut(&ChunkStore<'a>) -> SavedStore,
    ) -> SavedCollection {
        SavedCollection {
            placed: place(&self.placed),
            by_ordinal: place(&self.by_ordinal),
            unplaced_with_position: place(&self.unplaced_with_position),
            ends: self.ends.as_ref().map(|ends| ends.saved_as(&mut place)),
        }
    }

    /// Puts what was saved of a collector like this one into its stores, which are empty.
    ///
    /// # Errors
    /// When it was of another collector.
    pub fn restore(&self, saved: SavedCollection) -> Result<(), MalformedState> {
        self.placed.restore(saved.placed)?;
        self.by_ordinal.restore(saved.by_ordinal)?;
        self.unplaced_with_position.restore(saved.unplaced_with_position)?;
        match (&self.ends, saved.ends) {
            (None, None) => Ok(()),
            (Some(ends), Some(saved)) => ends.restore(saved),
            _ => Err(MalformedState),
        }
    }
}

/// Partitions of records and read ends; see the module documentation.
pub struct Collector<'a> {
    destination: Destination<'a>,
    placed: ChunkStore<'a>,
    by_ordinal: ChunkStore<'a>,
    unplaced_with_position: ChunkStore<'a>,
    numbering: Numbering,
    /// Bins of `by_ordinal` of a lane before this one are closed, by lane. Relaxed: whoever
    /// raises it closes the bins in between, each under its lock; a record that comes late opens
    /// one again.
    by_ordinal_from: Box<[AtomicUsize]>,
    ends: Option<EndCollector<'a>>,
}

impl<'a> Collector<'a> {
    /// Empty partitions; `ends` when duplicates are to be marked.
    #[must_use]
    pub fn new(
        backing: &'a Backing,
        chunk_bytes: usize,
        destination: Destination<'a>,
        ends: Option<EndCollector<'a>>,
    ) -> Self {
        Self {
            destination,
            placed: ChunkStore::of_records(backing, chunk_bytes),
            by_ordinal: ChunkStore::of_records(backing, chunk_bytes),
            unplaced_with_position: ChunkStore::of_records(backing, chunk_bytes),
            numbering: Numbering::of_lanes(1),
            by_ordinal_from: by_ordinal_from(Numbering::of_lanes(1)),
            ends,
        }
    }

    /// For templates whose ordinals are those of several lanes.
    #[must_use]
    pub fn numbered(self, numbering: Numbering) -> Self {
        Self { numbering, by_ordinal_from: by_ordinal_from(numbering), ..self }
    }

    /// How ordinals distinguish lanes.
    #[must_use]
    pub fn numbering(&self) -> Numbering {
        self.numbering
    }

    /// Takes a batch of templates; returns how many records it had. Called by all workers at once.
    ///
    /// # Errors
    /// A malformed record, or a chunk that cannot be spilled.
    pub fn collect(
        &self,
        templates: &PackedTemplates,
        scratch: &mut StoreScratch,
    ) -> Result<u64, CollectError> {
        self.collect_each(templates.iter(), scratch)
    }

    /// As [`Collector::collect`], given the ordinal and the framed records of each template.
    ///
    /// # Errors
    /// As [`Collector::collect`].
    pub(crate) fn collect_each<'t>(
        &self,
        templates: impl Iterator<Item = (u64, &'t [u8])> + Clone,
        scratch: &mut StoreScratch,
    ) -> Result<u64, CollectError> {
        if let Some(ends) = &self.ends {
            ends.examine_all(templates.clone(), scratch)?;
        }
        let mut records = 0;
        for (ordinal, framed) in templates {
            records += self.store_template(ordinal, framed, scratch)?;
        }
        Ok(records)
    }

    /// As [`Collector::collect`], of one of the lanes that the collector's numbering has: templates
    /// come with their number in the lane.
    ///
    /// # Errors
    /// As [`Collector::collect`]; more templates than a lane may have.
    pub fn collect_of_lane(
        &self,
        lane: usize,
        templates: &PackedTemplates,
        scratch: &mut StoreScratch,
    ) -> Result<u64, CollectError> {
        let (numbering, first) = (self.numbering, self.numbering.first_ordinal(lane));
        let (most, lanes) = (numbering.most_templates(), numbering.lanes());
        if templates.first_template + templates.ends.len() as u64 > most {
            return Err(CollectError::TooManyTemplates { most, lanes });
        }
        let numbered = templates.iter().map(|(number, records)| (first + number, records));
        self.collect_each(numbered, scratch).map_err(|error| error.in_lane(numbering))
    }

    fn store_template(
        &self,
        template: u64,
        records: &[u8],
        scratch: &mut StoreScratch,
    ) -> Result<u64, CollectError> {
        let mut stored = 0;
        for (index, body) in framed_records(records).enumerate() {
            let malformed = |source| CollectError::Record { template, source };
            let body = body.map_err(malformed)?;
            let record = RecordRef::new(body).map_err(malformed)?;
            let ordinal = record_ordinal(template, index);
            let ordinal = ordinal.ok_or(CollectError::TooManyRecords { template })?;
            let parts: [&[u8]; 2] = [&frame_of(ordinal, body), body];
            let Destination { order, bins, names } = self.destination;
            match bins.bin_of_record(order, self.numbering.ordinal_bin(template), &record) {
                RecordBin::Placed(bin) => self.placed.append(bin, &parts, scratch)?,
                RecordBin::UnplacedWithPosition(bin) => {
                    self.unplaced_with_position.append(bin, &parts, scratch)?
                }
                RecordBin::ByOrdinal(bin) => {
                    self.by_ordinal.append(bin, &parts, scratch)?;
                    let lane = self.numbering.split(template).0;
                    self.close_ordinal_bins(lane, bin.saturating_sub(OPEN_ORDINAL_BINS));
                    if let Some(names) = names {
                        names.add(record.name());
                    }
                }
            }
            stored += 1;
        }
        Ok(stored)
    }

    /// There is no limit to the number of these bins, so that they must not keep an open chunk
    /// each: those of a lane before `bin` are closed.
    fn close_ordinal_bins(&self, lane: usize, bin: usize) {
        let closed_to = &self.by_ordinal_from[lane];
        if closed_to.load(Ordering::Relaxed) < bin {
            let from = closed_to.fetch_max(bin, Ordering::Relaxed);
            (from..bin).for_each(|closed| self.by_ordinal.close(closed));
        }
    }

    /// No more templates of this lane come.
    pub fn end_lane(&self, lane: usize) {
        let open_from = self.by_ordinal_from[lane].load(Ordering::Relaxed);
        self.close_ordinal_bins(lane, open_from + OPEN_ORDINAL_BINS + 1);
    }

    /// The partitions, for the phases after.
    #[must_use]
    pub fn into_collected(self) -> Collected<'a> {
        let Self { placed, by_ordinal, unplaced_with_position, ends, .. } = self;
        Collected { placed, by_ordinal, unplaced_with_position, ends }
    }
}

/// The first bin of each lane.
fn by_ordinal_from(numbering: Numbering) -> Box<[AtomicUsize]> {
    let first = |lane| numbering.ordinal_bin(numbering.first_ordinal(lane));
    (0..numbering.lanes()).map(|lane| AtomicUsize::new(first(lane))).collect()
}

#[cfg(test)]
mod tests;
