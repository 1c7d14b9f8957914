//! From the packed records of one template to its duplicate-marking entries.
//!
//! Rules of Picard MarkDuplicates' `buildReadEnds`: every mapped primary record gives an end at its
//! unclipped 5' position; two ends of one template give a pair.

use seqloom_format::bam::{Flags, RecordError, RecordRef, framed_records};
use seqloom_runtime::error::{Class, Place, RunError};

use crate::duplicates::NAME_OF_ITS_OWN;
use crate::duplicates::barcode::{BarcodeError, BarcodeTags};
use crate::duplicates::location::LocationSource;
use crate::duplicates::metrics::DuplicationCounters;
use crate::duplicates::{
    DuplicateMode, FragmentEnd, GroupIndex, LibraryTable, Location, MappedRead, MateEnd, PairEnds,
    PairedEndMarker, PicardVersion, pair_up,
};

/// Why a template has no read ends.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadEndError {
    /// A record is malformed.
    #[error("template {template}: record {record}: {source}")]
    Record {
        /// Template ordinal, from 0.
        template: u64,
        /// Record of the template, from 0.
        record: usize,
        /// The problem.
        source: BarcodeError,
    },
    /// The name is used for more than one template.
    #[error(
        "template {template} ({name}) has more than two mapped primary records: {NAME_OF_ITS_OWN}"
    )]
    TooManyPrimaries {
        /// Template ordinal, from 0.
        template: u64,
        /// Its name.
        name: String,
    },
}

impl RunError for ReadEndError {
    fn class(&self) -> Class {
        match self {
            Self::Record { .. } | Self::TooManyPrimaries { .. } => Class::Input,
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::Record { .. } => Place::default(),
            Self::TooManyPrimaries { name, .. } => Place::default().at_name(name),
        }
    }
}

/// How read ends are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadEndOptions {
    /// Rule that breaks ties.
    pub mode: DuplicateMode,
    /// How places on the flow cell are read from names.
    pub locations: LocationSource,
    /// Tags whose values duplicates must share.
    pub barcodes: BarcodeTags,
    /// Which Picard is followed.
    pub picard: PicardVersion,
}

impl ReadEndOptions {
    /// The place of the read with this name.
    fn locate(&self, name: &[u8]) -> Location {
        self.locations.locate(name, self.picard)
    }

    /// The read group that mates must share; the same for all where it does not count.
    fn group_of_mates(&self, read: &MappedRead) -> Option<u16> {
        match self.picard {
            PicardVersion::V3_5 => Some(read.read_group),
            PicardVersion::V2_27 => None,
        }
    }
}

/// The entries of one template.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadEnds {
    /// Both ends, where both primary records are mapped and belong together.
    pub pair: Option<PairEnds>,
    /// Ends without a mapped mate; by order of the records.
    pub fragments: [Option<FragmentEnd>; 2],
    /// Ends with a mapped mate (whether the mate is there or not).
    pub markers: [Option<PairedEndMarker>; 2],
}

/// Makes the entries of one template and counts its records as examined.
///
/// `records` are all framed records of the template (or of a name group), in input order;
/// `template` is its ordinal. A mapped record is one without flag 0x4 and with a reference. Reads
/// of different read groups are no mates, but as in Picard 2.27.5, which examines each in its own
/// library and counts both as duplicates in that of the first.
///
/// # Errors
/// A malformed record, or more than two mapped primary records.
pub fn examine_template(
    records: &[u8],
    template: u64,
    table: &LibraryTable,
    options: &ReadEndOptions,
    counters: &mut DuplicationCounters,
) -> Result<ReadEnds, ReadEndError> {
    let mut primaries: [Option<(MappedRead, &[u8])>; 2] = [None; 2];
    for (index, body) in framed_records(records).enumerate() {
        let malformed = |source| ReadEndError::Record { template, record: index, source };
        let damaged = |source: RecordError| malformed(source.into());
        let record = RecordRef::new(body.map_err(damaged)?).map_err(damaged)?;
        let Some(read) = examine_record(&record, table, options, counters).map_err(malformed)?
        else {
            continue;
        };
        let free = primaries.iter_mut().find(|slot| slot.is_none()).ok_or_else(|| {
            let name = String::from_utf8_lossy(record.name()).into_owned();
            ReadEndError::TooManyPrimaries { template, name }
        })?;
        *free = Some((read, record.name()));
    }
    let mut ends = ReadEnds::default();
    for (index, read) in primaries.iter().enumerate() {
        let Some((read, name)) = read else { continue };
        if read.mate_reference == -1 {
            ends.fragments[index] =
                Some(read.fragment(template, options.locate(name), options.mode));
        } else {
            ends.markers[index] = Some(read.marker());
        }
    }
    let group = |read: &MappedRead| options.group_of_mates(read);
    if let [Some(a), Some(b)] = &primaries
        && group(&a.0) == group(&b.0)
    {
        // The order of the records in the file: emission order, or the sorter's.
        let swapped = options.mode == DuplicateMode::Coordinate && b.0.sort_key() < a.0.sort_key();
        let ((first, name), (this, _)) = if swapped { (b, a) } else { (a, b) };
        let both = [(template, first), (template, this)];
        ends.pair = pair_up(both, || options.locate(name), options.mode);
    }
    if let [Some((a, _)), Some((b, _))] = &primaries
        && ends.pair.is_none()
        && options.mode == DuplicateMode::Query
    {
        for (end, other) in ends.fragments.iter_mut().zip([b, a]) {
            let companion = Some(other.as_companion());
            *end = end.map(|end| FragmentEnd { companion, ..end });
        }
    }
    Ok(ends)
}

/// The entries of one record of input that is sorted by coordinate, where mates are apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordEnds {
    /// Not a mapped primary record.
    None,
    /// A read without a mapped mate.
    Fragment(FragmentEnd),
    /// A read with a mapped mate, which is somewhere else in the input.
    Mate(PairedEndMarker, MateEnd),
}

/// Makes the entries of one record and counts it as examined; `ordinal` is its number in the input,
/// which breaks ties after its place (so that the mode of `options` has no effect here). In sorted
/// input both say the same; input whose header only claims to be sorted has its positions alone.
///
/// # Errors
/// A malformed record.
pub(crate) fn examine_single(
    record: &RecordRef<'_>,
    ordinal: u64,
    table: &LibraryTable,
    options: &ReadEndOptions,
    counters: &mut DuplicationCounters,
) -> Result<RecordEnds, ReadEndError> {
    let malformed = |source| ReadEndError::Record { template: ordinal, record: 0, source };
    let Some(read) = examine_record(record, table, options, counters).map_err(malformed)? else {
        return Ok(RecordEnds::None);
    };
    let location = options.locate(record.name());
    if read.mate_reference == -1 {
        let fragment = read.fragment(ordinal, location, DuplicateMode::Coordinate);
        return Ok(RecordEnds::Fragment(fragment));
    }
    let group = options.group_of_mates(&read);
    let mate = MateEnd::new(record.name(), group, ordinal, location, read);
    Ok(RecordEnds::Mate(read.marker(), mate))
}

/// Counts a record; what duplicate marking needs of it if it is mapped and primary.
fn examine_record(
    record: &RecordRef<'_>,
    table: &LibraryTable,
    options: &ReadEndOptions,
    counters: &mut DuplicationCounters,
) -> Result<Option<MappedRead>, BarcodeError> {
    let group = group_of(record, table)?;
    counters.count_record(group.library, record.flags());
    let not_an_end = Flags::UNMAPPED | Flags::SECONDARY | Flags::SUPPLEMENTARY;
    let is_end = record.flags() & not_an_end == 0 && record.reference_id() >= 0;
    if !is_end {
        return Ok(None);
    }
    let barcodes = options.barcodes.of(record)?;
    Ok(Some(MappedRead::of(record, group, barcodes)))
}

/// Library and read group of a record.
pub(crate) fn group_of(
    record: &RecordRef<'_>,
    table: &LibraryTable,
) -> Result<GroupIndex, RecordError> {
    if let Some(library) = table.constant_library() {
        return Ok(GroupIndex { library, read_group: 0 });
    }
    let id = record.find_aux(*b"RG")?.and_then(|value| value.as_string());
    Ok(table.resolve(id))
}

#[cfg(test)]
#[path = "read_end_tests.rs"]
mod tests;
