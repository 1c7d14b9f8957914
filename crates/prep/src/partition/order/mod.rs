//! Sort orders: which of two records comes first, a 64-bit key that mostly decides it, and what a
//! header says of it.
//!
//! Every order is total: what an order leaves equal stays in input order, which the record ordinal
//! says. That makes the sorted stream a function of the records alone. The orders are those of
//! samtools (`samtools sort`, `samtools sort -n`) and Picard (`SortSam`), down to their ties, in
//! the versions of docs/referees.md, which tests run.

mod keys;
pub(crate) mod natural;

use std::cmp::Ordering;
use std::str::FromStr;

use seqloom_format::bam::{Flags, Header, RecordRef};
use seqloom_runtime::error::{Class, RunError};

pub(crate) use keys::PrefixKeys;

/// Orders that output can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SortOrder {
    /// `samtools sort`: reference (none last), position, strand. Among records without a
    /// reference, position and strand decide too.
    #[default]
    Coordinate,
    /// Picard's `SortSam SORT_ORDER=coordinate`: reference (none last), position, strand, name,
    /// FLAG, MAPQ, reference and position of the mate, TLEN. Position does not count for records
    /// without a reference.
    CoordinatePicard,
    /// `samtools sort -n` of 1.24: names in natural order ([`natural::compare`]), then which read
    /// of the template it is (FLAG 0xC0 as a number), then primary, supplementary, secondary.
    QueryName,
    /// Picard's `SortSam SORT_ORDER=queryname`: names by bytes, then paired before unpaired, the
    /// first read before the second, forward before reverse, primary before secondary before
    /// supplementary bits, and tag HI (none before any). Picard's order is none where a paired
    /// record is neither or both of first and second; here it is between the two.
    QueryNamePicard,
    /// Input order.
    Keep,
}

/// A text that names no [`SortOrder`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is not a sort order; there are coordinate, coordinate-picard, queryname, \
     queryname-picard and keep"
)]
pub struct ParseOrderError(String);

impl RunError for ParseOrderError {
    fn class(&self) -> Class {
        Class::Usage
    }
}

/// Every order and its name on the command line.
const NAMES: [(&str, SortOrder); 5] = [
    ("coordinate", SortOrder::Coordinate),
    ("coordinate-picard", SortOrder::CoordinatePicard),
    ("queryname", SortOrder::QueryName),
    ("queryname-picard", SortOrder::QueryNamePicard),
    ("keep", SortOrder::Keep),
];

impl FromStr for SortOrder {
    type Err = ParseOrderError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = NAMES.iter().find(|(name, _)| *name == text);
        found.map(|(_, order)| *order).ok_or_else(|| ParseOrderError(text.to_owned()))
    }
}

impl SortOrder {
    /// Whether records are ordered by their place on the reference, so that an index can be made.
    #[must_use]
    pub fn is_by_coordinate(self) -> bool {
        matches!(self, Self::Coordinate | Self::CoordinatePicard)
    }

    /// Whether all records are ordered by their names. (Those of [`Self::CoordinatePicard`] without
    /// a reference do so too.)
    #[must_use]
    pub fn is_by_name(self) -> bool {
        matches!(self, Self::QueryName | Self::QueryNamePicard)
    }

    /// SO of the @HD line; `None` where the order is left as it is.
    #[must_use]
    pub(crate) fn header_value(self) -> Option<&'static str> {
        match self {
            Self::Coordinate | Self::CoordinatePicard => Some("coordinate"),
            Self::QueryName | Self::QueryNamePicard => Some("queryname"),
            Self::Keep => None,
        }
    }

    /// Says in the header that its records have this order: SO and SS are set as by `samtools sort`
    /// 1.24, and GO is removed, because it describes the order there was before. Picard leaves GO
    /// and SS as they were, even where they are wrong now. [`Self::Keep`] changes nothing.
    pub fn describe_in(self, header: &mut Header) {
        if let Some(value) = self.header_value() {
            let sub_sort_order = (self == Self::QueryName).then_some("queryname:natural");
            header.set_sort_order(value, sub_sort_order);
        }
    }

    /// Which of two records comes first; equal ones stay in input order.
    #[must_use]
    pub(crate) fn compare(self, left: &RecordRef<'_>, right: &RecordRef<'_>) -> Ordering {
        match self {
            Self::Keep => Ordering::Equal,
            Self::Coordinate => keys::place_key(left).cmp(&keys::place_key(right)),
            Self::CoordinatePicard => compare_coordinate_picard(left, right),
            Self::QueryName => natural::compare(left.name(), right.name())
                .then_with(|| read_and_kind(left).cmp(&read_and_kind(right))),
            Self::QueryNamePicard => {
                left.name().cmp(right.name()).then_with(|| compare_namesakes_picard(left, right))
            }
        }
    }

    /// Whether the prefix key with the ordinal after it is the whole order.
    pub(crate) fn is_key_whole(self) -> bool {
        matches!(self, Self::Coordinate | Self::Keep)
    }

    /// Appends text whose byte order is the order of names, so that records of equal names have
    /// equal text: what names are partitioned by. Nothing where names do not decide.
    pub(crate) fn append_text(self, record: &RecordRef<'_>, out: &mut Vec<u8>) {
        match self {
            Self::Coordinate | Self::Keep => {}
            Self::QueryName => natural::append_text(record.name(), out),
            Self::QueryNamePicard => out.extend_from_slice(record.name()),
            Self::CoordinatePicard if record.reference_id() >= 0 => {}
            Self::CoordinatePicard => {
                out.push(u8::from(record.has_flags(Flags::REVERSE)));
                out.extend_from_slice(record.name());
            }
        }
    }
}

/// Which read of its template a record is, as samtools compares it.
fn read_bits(record: &RecordRef<'_>) -> u16 {
    record.flags() & (Flags::FIRST_OF_PAIR | Flags::SECOND_OF_PAIR)
}

/// Which read, then primary, supplementary, secondary: as samtools 1.24 compares FLAG (1.16.1
/// compares the read alone).
fn read_and_kind(record: &RecordRef<'_>) -> u16 {
    let is = |flag| u16::from(record.has_flags(flag));
    read_bits(record) << 2 | is(Flags::SECONDARY) << 1 | is(Flags::SUPPLEMENTARY)
}

/// htsjdk's `SAMRecordCoordinateComparator`.
fn compare_coordinate_picard(left: &RecordRef<'_>, right: &RecordRef<'_>) -> Ordering {
    // Without a reference the position does not count, only the strand.
    let place = |record: &RecordRef<'_>| match keys::place_key(record) {
        key if record.reference_id() < 0 => key & keys::NO_COORDINATE_STRAND_MASK,
        key => key,
    };
    // Java's own arithmetic: 1-based, in 32 bits.
    let rest = |record: &RecordRef<'_>| {
        let mate = record.mate_position().wrapping_add(1);
        let to_mate = (record.mate_reference_id(), mate, record.template_length());
        (record.flags(), record.mapping_quality(), to_mate)
    };
    place(left)
        .cmp(&place(right))
        .then_with(|| left.name().cmp(right.name()))
        .then_with(|| rest(left).cmp(&rest(right)))
}

/// htsjdk's `SAMRecordQueryNameComparator` after the names.
fn compare_namesakes_picard(left: &RecordRef<'_>, right: &RecordRef<'_>) -> Ordering {
    let rank = |record: &RecordRef<'_>| {
        let of_pair = match read_bits(record) {
            _ if !record.has_flags(Flags::PAIRED) => 3,
            Flags::FIRST_OF_PAIR => 0,
            Flags::SECOND_OF_PAIR => 2,
            _ => 1,
        };
        let is = |bit: u16| record.has_flags(bit);
        (of_pair, is(Flags::REVERSE), is(Flags::SECONDARY), is(Flags::SUPPLEMENTARY))
    };
    rank(left).cmp(&rank(right)).then_with(|| hit_index(left).cmp(&hit_index(right)))
}

/// Tag HI, where it is a number. (Picard refuses other types.)
fn hit_index(record: &RecordRef<'_>) -> Option<i64> {
    record.find_aux(*b"HI").ok().flatten().and_then(|value| value.as_int())
}

#[cfg(test)]
mod tests;
