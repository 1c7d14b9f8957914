//! Reads whose mate is elsewhere in sorted input, and the mates that belong together.

use std::hash::{DefaultHasher, Hasher};

use seqloom_format::bam::Flags;
use seqloom_runtime::error::{Class, Place, RunError};

use super::Location;
use super::entry::{Decoder, Encoder, ordinal_bytes};
use super::mapped_read::{MappedRead, SortKey, pair_up};
use super::{DuplicateMode, PairEnds};
use crate::duplicates::NAME_OF_ITS_OWN;
use crate::duplicates::barcode::ReadBarcodes;
use crate::hash::spread;

/// A mapped primary record with a mapped mate.
///
/// Its name, with its read group where that counts, is stored as a hash of 128 bits: among 10^10
/// names the odds that any two share theirs are below 10^-18.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MateEnd {
    name: [u64; 2],
    /// Number of the record in the input.
    pub(crate) record: u64,
    location: Location,
    read: MappedRead,
}

/// Two reads of one name are not the mates of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[error(
    "records {} and {} have the same name and are not mates of each other: {NAME_OF_ITS_OWN}",
    first + 1, second + 1
)]
pub struct NameUsedTwice {
    /// Number of the earlier record, from 0.
    pub(crate) first: u64,
    /// Number of the later record, from 0.
    pub(crate) second: u64,
}

impl RunError for NameUsedTwice {
    fn class(&self) -> Class {
        Class::Input
    }

    fn place(&self) -> Place {
        Place::default().at_record(self.second + 1)
    }
}

impl MateEnd {
    /// Size of the serialised form.
    pub(crate) const BYTES: usize = 64;

    /// Of a read; its mate is one of the same name and the same `group`, which is `None` for all
    /// reads where read groups do not count.
    pub(crate) fn new(
        name: &[u8],
        group: Option<u16>,
        record: u64,
        location: Location,
        read: MappedRead,
    ) -> Self {
        let group = group.map(u16::to_le_bytes);
        let group = group.as_ref().map_or(&[][..], |bytes| bytes);
        Self { name: hash_128(&[name, group]), record, location, read }
    }

    /// Partition of `partitions` that all reads of this name go to.
    #[must_use]
    pub(crate) fn partition_of(&self, partitions: usize) -> usize {
        spread(self.name[0], partitions)
    }

    /// The serialised form.
    #[must_use]
    pub(crate) fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut out = Encoder::<{ Self::BYTES }>::new();
        out.put(self.name[0].to_le_bytes());
        out.put(self.name[1].to_le_bytes());
        out.put(ordinal_bytes(self.record));
        out.put_location(self.location);
        out.put(self.read.library.to_le_bytes());
        out.put(self.read.read_group.to_le_bytes());
        out.put(self.read.flags.to_le_bytes());
        out.put(self.read.reference.to_le_bytes());
        out.put(self.read.start.to_le_bytes());
        out.put(self.read.position.to_le_bytes());
        out.put(self.read.mate_reference.to_le_bytes());
        out.put(self.read.score.to_le_bytes());
        out.put(self.read.barcodes.template.to_le_bytes());
        out.put(self.read.barcodes.read.to_le_bytes());
        out.bytes
    }

    /// The entry of a serialised form.
    #[must_use]
    pub(crate) fn from_bytes(bytes: &[u8; Self::BYTES]) -> Self {
        let mut input = Decoder { bytes, at: 0 };
        let name = std::array::from_fn(|_| u64::from_le_bytes(input.take()));
        let record = input.ordinal();
        let location = input.location();
        let [library, read_group, flags] =
            std::array::from_fn(|_| u16::from_le_bytes(input.take()));
        let [reference, start, position, mate_reference] =
            std::array::from_fn(|_| i32::from_le_bytes(input.take()));
        let score = i16::from_le_bytes(input.take());
        let [template, own] = std::array::from_fn(|_| u32::from_le_bytes(input.take()));
        let barcodes = ReadBarcodes::of_flags(template, own, flags);
        let read = MappedRead {
            library,
            read_group,
            flags,
            reference,
            start,
            position,
            mate_reference,
            score,
            barcodes,
        };
        Self { name, record, location, read }
    }

    /// The read's UMI where it counts up to errors, which the serialised form does not have.
    #[must_use]
    pub(crate) fn umi(&self) -> u64 {
        self.read.barcodes.umi
    }

    /// With the UMI.
    #[must_use]
    pub(crate) fn with_umi(mut self, umi: u64) -> Self {
        self.read.barcodes.umi = umi;
        self
    }

    /// Key of its place among the reads of its name.
    fn order(&self, ties: DuplicateMode) -> ([u64; 2], SortKey, u64) {
        let place = match ties {
            DuplicateMode::Query => SortKey::default(),
            DuplicateMode::Coordinate => self.read.sort_key(),
        };
        (self.name, place, self.record)
    }

    /// First or second of its pair, as its flags say.
    fn read_number(&self) -> u16 {
        self.read.flags & (Flags::FIRST_OF_PAIR | Flags::SECOND_OF_PAIR)
    }

    fn pair_with(&self, later: &Self, ties: DuplicateMode) -> Option<PairEnds> {
        let both = [(self.record, &self.read), (later.record, &later.read)];
        pair_up(both, || self.location, ties)
    }
}

/// SipHash of some texts; the second half hashes what the first one came to as well.
pub(super) fn hash_128(texts: &[&[u8]]) -> [u64; 2] {
    let mut hasher = DefaultHasher::new();
    texts.iter().for_each(|text| hasher.write(text));
    let first = hasher.finish();
    hasher.write_u64(first);
    [first, hasher.finish()]
}

/// Joins the mates of one partition, which holds all reads of each of its names, and hands every
/// pair on; gives the first records of a name that is used twice, if any is. The list is sorted in
/// place; the outcome does not depend on its order.
///
/// As Picard's map of pending reads: a read takes the pending one of its name that expects its mate
/// on this reference. Of more than two mapped reads of a name, where Picard joins whichever come
/// first, nobody can say which are mates: that is an error, as it is where the records of a name
/// are together ([`examine_template`](super::examine_template)).
///
/// `ties` says what decides which of two reads comes first: the number of the record
/// ([`DuplicateMode::Query`]: one sorted file, whatever its order of equal places), or its place
/// first ([`DuplicateMode::Coordinate`]: files that are not merged or not sorted yet).
///
/// A name is used twice by more than two reads, or by two that wait in the same place for a mate
/// that may come.
///
/// # Errors
/// An error of `pair`.
pub(crate) fn pair_mates<E>(
    mates: &mut [MateEnd],
    ties: DuplicateMode,
    mut pair: impl FnMut(&PairEnds) -> Result<(), E>,
) -> Result<Option<NameUsedTwice>, E> {
    mates.sort_unstable_by_key(|mate| mate.order(ties));
    let mut twice: Option<NameUsedTwice> = None;
    let mut note = |one: &MateEnd, other: &MateEnd| {
        let [first, second] = [one.record.min(other.record), one.record.max(other.record)];
        let found = NameUsedTwice { first, second };
        twice = Some(twice.map_or(found, |before| before.min(found)));
    };
    for name_group in mates.chunk_by(|a, b| a.name == b.name) {
        match name_group {
            [] | [_] => (),
            [first, second] if first.read.mate_reference == second.read.reference => {
                first.pair_with(second, ties).iter().try_for_each(&mut pair)?;
            }
            [first, second] => {
                // On a reference that the sorted file has left no mate can come, so that nobody is
                // mistaken for another; Picard does not look there again either.
                let may_come = second.read.mate_reference >= second.read.reference;
                if may_come && first.read.mate_reference == second.read.mate_reference {
                    note(first, second);
                }
            }
            [first, others @ ..] => {
                // One that says to be the same read of its pair, if there is such.
                let is_same = |it: &&MateEnd| it.read_number() == first.read_number();
                let other = others.iter().find(is_same).unwrap_or(&others[1]);
                note(first, other);
            }
        }
    }
    Ok(twice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn mate(name: &str, record: u64, reference: i32, mate_reference: i32) -> MateEnd {
        let read = MappedRead {
            library: 3,
            read_group: 4,
            flags: if record.is_multiple_of(2) { 0x41 } else { 0x91 },
            reference,
            start: 50,
            position: 100 - record as i32,
            mate_reference,
            score: 7,
            barcodes: ReadBarcodes::default(),
        };
        MateEnd::new(name.as_bytes(), None, record, Location::NONE, read)
    }

    fn pairs(mates: &mut [MateEnd]) -> Result<Vec<(u64, u64)>, NameUsedTwice> {
        let mut found = Vec::new();
        let twice = pair_mates(mates, DuplicateMode::Query, |pair| {
            found.push((pair.template, pair.template2));
            Ok::<(), std::convert::Infallible>(())
        });
        found.sort_unstable();
        let Ok(twice) = twice;
        twice.map_or(Ok(found), Err)
    }

    #[test]
    fn mates_find_each_other_by_name_and_reference() {
        fn t(mates: &[MateEnd], expected: &[(u64, u64)]) {
            let mut mates = mates.to_vec();
            assert_eq!(pairs(&mut mates).unwrap(), expected, "{mates:?}");
            mates.reverse();
            assert_eq!(pairs(&mut mates).unwrap(), expected, "{mates:?}");
        }
        t(&[], &[]);
        t(&[mate("a", 0, 0, 0)], &[]);
        // End 1 is the one with the smaller position: the later record here.
        t(&[mate("a", 0, 0, 0), mate("a", 1, 0, 0)], &[(1, 0)]);
        t(&[mate("a", 0, 0, 1), mate("a", 1, 1, 0)], &[(0, 1)]);
        t(&[mate("a", 0, 0, 0), mate("b", 1, 0, 0)], &[]);
        t(&[mate("a", 0, 0, 1), mate("a", 1, 2, 0)], &[]);
        let others = [mate("b", 4, 0, 0), mate("a", 1, 0, 0), mate("b", 3, 0, 0)];
        t(&[&others[..], &[mate("a", 0, 0, 0)]].concat(), &[(1, 0), (4, 3)]);
    }

    #[test]
    fn mates_are_of_one_read_group_where_groups_count() {
        let of = |group, record| MateEnd {
            name: MateEnd::new(b"a", group, 0, Location::NONE, mate("a", 0, 0, 0).read).name,
            ..mate("a", record, 0, 0)
        };
        let four = [(Some(1), 0), (Some(2), 1), (Some(1), 2), (Some(2), 3)];
        let mut groups = four.map(|(group, record)| of(group, record));
        assert_eq!(pairs(&mut groups), Ok(vec![(2, 0), (3, 1)]));
        assert_eq!(pairs(&mut [of(Some(1), 0), of(Some(2), 1)]), Ok(vec![]));
        // By name alone they are four reads of one name.
        let mut names = four.map(|(_, record)| of(None, record));
        assert_eq!(pairs(&mut names), Err(NameUsedTwice { first: 0, second: 2 }));
    }

    #[test]
    fn ties_of_several_files_follow_their_places() {
        let both = [mate("a", 4, 0, 0), mate("a", 7, 0, 0)];
        let tie = |ties| {
            let mut found = Vec::new();
            pair_mates(&mut both.clone(), ties, |pair| {
                found.push((pair.tie_position, pair.tie_reverse));
                Ok::<(), std::convert::Infallible>(())
            })
            .unwrap();
            found
        };
        assert_eq!(tie(DuplicateMode::Query), [(0, false)]);
        assert_eq!(tie(DuplicateMode::Coordinate), [(50, true)]);
    }

    #[test]
    fn more_than_two_reads_of_a_name_are_an_error() {
        let used_twice = |first, second| Err(NameUsedTwice { first, second });
        // Even numbers are first reads, odd ones second: of a template that is there twice the
        // first read comes again.
        let four = [0, 1, 2, 3].map(|record| mate("a", record, 0, 0));
        assert_eq!(pairs(&mut four.clone()), used_twice(0, 2));
        assert_eq!(pairs(&mut [four[2], four[3], four[0]]), used_twice(0, 2));
        assert_eq!(pairs(&mut [four[1], four[3], four[0], four[2]]), used_twice(0, 2));
        let odd = [mate("a", 0, 0, 0), mate("a", 1, 0, 0), mate("a", 3, 0, 0)];
        assert_eq!(pairs(&mut odd.clone()), used_twice(0, 3));
        // Also where the references say which are mates.
        let mut far = [(0, 0, 1), (2, 2, 3), (1, 1, 0), (3, 3, 2)]
            .map(|(record, reference, of_mate)| mate("a", record, reference, of_mate));
        assert_eq!(pairs(&mut far), used_twice(0, 2));
    }

    #[test]
    fn a_name_that_waits_twice_is_an_error() {
        let mut mates = [mate("a", 5, 0, 1), mate("a", 8, 0, 1)];
        assert_eq!(pairs(&mut mates), Err(NameUsedTwice { first: 5, second: 8 }));
        let text = NameUsedTwice { first: 5, second: 8 }.to_string();
        assert!(text.starts_with("records 6 and 9 have the same name"), "{text}");
        // Both name a reference that is before theirs.
        let mut mates = [mate("a", 5, 2, 1), mate("a", 8, 2, 1)];
        assert_eq!(pairs(&mut mates), Ok(vec![]));
    }

    proptest! {
        #[test]
        fn round_trip(bytes in prop::collection::vec(any::<u8>(), MateEnd::BYTES)) {
            let form = <[u8; MateEnd::BYTES]>::try_from(bytes.as_slice()).unwrap();
            let entry = MateEnd::from_bytes(&form);
            prop_assert_eq!(entry.to_bytes(), form);
            prop_assert!(entry.partition_of(7) < 7);
        }
    }
}
