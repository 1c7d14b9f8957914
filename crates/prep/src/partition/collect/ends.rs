//! Read ends to the partitions that their duplicate sets will be found in.

use std::sync::Mutex;

use seqloom_format::bam::{RecordRef, framed_records};
use seqloom_format::{MalformedState, persist_fields};
use seqloom_io::spill::SpillError;
use seqloom_runtime::failure::lock;

use super::{CollectError, END_PARTITIONS, Grouping};
use crate::duplicates::metrics::DuplicationCounters;
use crate::duplicates::read_end::{
    ReadEndOptions, ReadEnds, RecordEnds, examine_single, examine_template, group_of,
};
use crate::duplicates::{
    DuplicateMode, FragmentEnd, LibraryTable, MateEnd, PairEnds, PairedEndMarker, Relative, UmiForm,
};
use crate::partition::store::{Backing, ChunkStore, SavedStore, StoreScratch};

/// Partitions of read ends.
pub struct EndCollector<'a> {
    /// Pairs with both ends mapped.
    pub(crate) pairs: ChunkStore<'a>,
    /// Mapped reads without a mapped mate.
    pub(crate) fragments: ChunkStore<'a>,
    /// Places of reads with a mapped mate.
    pub(crate) markers: ChunkStore<'a>,
    /// Of sorted input: reads whose mate is still missing, by name.
    pub(crate) mates: Option<ChunkStore<'a>>,
    /// Of sorted input with `--umi-distance`: all records, by name.
    pub(crate) relatives: Option<ChunkStore<'a>>,
    /// What decides which of two such pairs comes first, [`crate::duplicates::pair_mates`].
    pub(crate) ties: DuplicateMode,
    libraries: &'a LibraryTable,
    options: ReadEndOptions,
    counters: Mutex<DuplicationCounters>,
}

impl<'a> EndCollector<'a> {
    /// Empty partitions with chunks of about `chunk_bytes`. `grouping` says whether mates come
    /// together.
    #[must_use]
    pub fn new(
        backing: &'a Backing,
        chunk_bytes: usize,
        grouping: Grouping,
        libraries: &'a LibraryTable,
        options: ReadEndOptions,
    ) -> Self {
        let store = || ChunkStore::new(backing, chunk_bytes);
        let is_apart = grouping == Grouping::Records;
        Self {
            pairs: store(),
            fragments: store(),
            markers: store(),
            mates: is_apart.then(store),
            relatives: (is_apart && options.barcodes.is_umi).then(store),
            ties: DuplicateMode::Query,
            libraries,
            options,
            counters: Mutex::new(DuplicationCounters::new(libraries.libraries().len())),
        }
    }

    /// For inputs that stand for the sorted file that `samtools sort` or `merge` would make of them
    /// (several files, or one that is not sorted as it says): there numbers of records alone do not
    /// show the order of that file, but places and then numbers do.
    #[must_use]
    pub fn by_place(self) -> Self {
        Self { ties: DuplicateMode::Coordinate, ..self }
    }

    /// Places of everything, each store as `place` says.
    pub(super) fn saved_as(
        &self,
        mut place: impl FnMut(&ChunkStore<'a>) -> SavedStore,
    ) -> SavedEnds {
        SavedEnds {
            pairs: place(&self.pairs),
            fragments: place(&self.fragments),
            markers: place(&self.markers),
            mates: self.mates.as_ref().map(&mut place),
            relatives: self.relatives.as_ref().map(&mut place),
            counters: lock(&self.counters).clone(),
        }
    }

    /// Puts what was saved of a collector like this one into its stores, which are empty.
    pub(super) fn restore(&self, saved: SavedEnds) -> Result<(), MalformedState> {
        self.pairs.restore(saved.pairs)?;
        self.fragments.restore(saved.fragments)?;
        self.markers.restore(saved.markers)?;
        *lock(&self.counters) = saved.counters;
        let optional = [(&self.mates, saved.mates), (&self.relatives, saved.relatives)];
        optional.into_iter().try_for_each(|both| match both {
            (None, None) => Ok(()),
            (Some(store), Some(saved)) => store.restore(saved),
            _ => Err(MalformedState),
        })
    }

    /// Records examined so far.
    #[must_use]
    pub(crate) fn into_counters(self) -> DuplicationCounters {
        self.counters.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Examines all records of templates, each with its ordinal, and keeps their ends.
    pub(super) fn examine_all<'t>(
        &self,
        templates: impl Iterator<Item = (u64, &'t [u8])>,
        scratch: &mut StoreScratch,
    ) -> Result<(), CollectError> {
        let mut counters = DuplicationCounters::new(self.libraries.libraries().len());
        for template in templates {
            self.examine(template, &mut counters, scratch)?;
        }
        lock(&self.counters).merge(&counters);
        Ok(())
    }

    /// Examines all records of a template and keeps its ends.
    fn examine(
        &self,
        (ordinal, records): (u64, &[u8]),
        counters: &mut DuplicationCounters,
        scratch: &mut StoreScratch,
    ) -> Result<(), CollectError> {
        let Some(mates) = &self.mates else {
            let ends = examine_template(records, ordinal, self.libraries, &self.options, counters)?;
            return Ok(self.append(&ends, scratch)?);
        };
        for body in framed_records(records) {
            let malformed = |source| CollectError::Record { template: ordinal, source };
            let record = RecordRef::new(body.map_err(malformed)?).map_err(malformed)?;
            let ends = examine_single(&record, ordinal, self.libraries, &self.options, counters)?;
            self.append_single(ends, mates, scratch)?;
            if let Some(relatives) = &self.relatives {
                let group = group_of(&record, self.libraries).map_err(malformed)?.read_group;
                let relative = Relative::new(record.name(), group, ordinal);
                let partition = relative.partition_of(END_PARTITIONS);
                relatives.append(partition, &[&relative.to_bytes()], scratch)?;
            }
        }
        Ok(())
    }

    fn append(&self, ends: &ReadEnds, scratch: &mut StoreScratch) -> Result<(), SpillError> {
        if let Some(pair) = &ends.pair {
            self.append_pair(pair, scratch)?;
        }
        for end in ends.fragments.iter().flatten() {
            self.append_fragment(end, scratch)?;
        }
        for end in ends.markers.iter().flatten() {
            self.append_marker(end, scratch)?;
        }
        Ok(())
    }

    fn append_single(
        &self,
        ends: RecordEnds,
        mates: &ChunkStore<'_>,
        scratch: &mut StoreScratch,
    ) -> Result<(), SpillError> {
        match ends {
            RecordEnds::None => Ok(()),
            RecordEnds::Fragment(end) => self.append_fragment(&end, scratch),
            RecordEnds::Mate(marker, mate) => {
                self.append_marker(&marker, scratch)?;
                let umi = mate.umi().to_le_bytes();
                let parts = [&mate.to_bytes()[..], self.umi_form().tail(&umi)];
                mates.append(mate.partition_of(END_PARTITIONS), &parts, scratch)
            }
        }
    }

    /// Keeps a pair.
    ///
    /// # Errors
    /// When a full chunk cannot be spilled.
    pub(crate) fn append_pair(
        &self,
        pair: &PairEnds,
        scratch: &mut StoreScratch,
    ) -> Result<(), SpillError> {
        let umi = pair.umi.to_le_bytes();
        let parts = [&pair.to_bytes()[..], self.umi_form().tail(&umi)];
        self.pairs.append(pair.partition_of(END_PARTITIONS), &parts, scratch)
    }

    fn append_fragment(
        &self,
        end: &FragmentEnd,
        scratch: &mut StoreScratch,
    ) -> Result<(), SpillError> {
        let umi = end.umi.to_le_bytes();
        let parts = [&end.to_bytes()[..], self.umi_form().tail(&umi)];
        self.fragments.append(end.partition_of(END_PARTITIONS), &parts, scratch)
    }

    fn append_marker(
        &self,
        marker: &PairedEndMarker,
        scratch: &mut StoreScratch,
    ) -> Result<(), SpillError> {
        let umi = marker.umi.to_le_bytes();
        let parts = [&marker.to_bytes()[..], self.umi_form().tail(&umi)];
        self.markers.append(marker.partition_of(END_PARTITIONS), &parts, scratch)
    }

    /// How entries hold UMIs.
    pub(crate) fn umi_form(&self) -> UmiForm {
        UmiForm { is_kept: self.options.barcodes.is_umi }
    }

    /// Decodes all entries of a run of chunks.
    pub(crate) fn pairs_of(&self, bytes: &[u8]) -> impl Iterator<Item = PairEnds> {
        let entries = self.umi_form().entries(bytes);
        entries.map(|(form, umi)| PairEnds { umi, ..PairEnds::from_bytes(form) })
    }

    /// As [`EndCollector::pairs_of`].
    pub(crate) fn fragments_of(&self, bytes: &[u8]) -> impl Iterator<Item = FragmentEnd> {
        let entries = self.umi_form().entries(bytes);
        entries.map(|(form, umi)| FragmentEnd { umi, ..FragmentEnd::from_bytes(form) })
    }

    /// As [`EndCollector::pairs_of`].
    pub(crate) fn mates_of(&self, bytes: &[u8]) -> impl Iterator<Item = MateEnd> {
        let entries = self.umi_form().entries(bytes);
        entries.map(|(form, umi)| MateEnd::from_bytes(form).with_umi(umi))
    }

    /// As [`EndCollector::pairs_of`].
    pub(crate) fn markers_of(&self, bytes: &[u8]) -> impl Iterator<Item = PairedEndMarker> {
        let entries = self.umi_form().entries(bytes);
        entries.map(|(form, umi)| PairedEndMarker { umi, ..PairedEndMarker::from_bytes(form) })
    }
}

/// Read ends, and their counts.
pub(crate) struct SavedEnds {
    pub(crate) pairs: SavedStore,
    pub(crate) fragments: SavedStore,
    pub(crate) markers: SavedStore,
    mates: Option<SavedStore>,
    relatives: Option<SavedStore>,
    pub(crate) counters: DuplicationCounters,
}

persist_fields!(SavedEnds { pairs, fragments, markers, mates, relatives, counters });
