//! Read ids to places, in little memory.
//!
//! A read takes 32 bytes: almost all read ids are UUIDs, of which 16 bytes say as much as their 36
//! letters. Other ids are kept as they are and take more.

use super::requests::Location;
use super::uuid::{self, Uuid};

/// A read id that occurs twice: nobody can say which read is meant by it.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "read {0} is there twice; an index needs distinct read ids: `seqloom signal convert \
     --deduplicate` writes reads that are the same once"
)]
pub struct DuplicateReadId(pub(crate) String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct UuidEntry {
    key: Uuid,
    location: FileExtent,
}

/// As [`Location`], but ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct FileExtent {
    offset: u64,
    size_bytes: u64,
}

#[derive(Debug, Clone, Copy)]
struct OtherEntry {
    name_start: u64,
    name_bytes: u32,
    location: FileExtent,
}

const TWICE: FileExtent = FileExtent { offset: u64::MAX, size_bytes: u64::MAX };

/// Sorts, has the first of equal entries marked and leaves the others out.
fn mark_twice<T: Copy>(
    entries: &mut Vec<T>,
    order: impl Fn(&T, &T) -> std::cmp::Ordering,
    mut mark: impl FnMut(&mut T),
) {
    entries.sort_unstable_by(&order);
    let mut is_marked = false;
    entries.dedup_by(|entry, kept| {
        let is_same = order(entry, kept).is_eq();
        if is_same && !is_marked {
            mark(kept);
        }
        is_marked = is_same;
        is_same
    });
}

/// Where the read of each id is.
#[derive(Debug, Default)]
pub struct ReadIndex {
    uuids: Vec<UuidEntry>,
    others: Vec<OtherEntry>,
    names: Vec<u8>,
}

impl ReadIndex {
    /// Adds a read; it is found only after [`ReadIndex::sort`].
    pub fn push(&mut self, read_id: &[u8], location: Location) {
        let Location { offset, size_bytes } = location;
        let location = FileExtent { offset, size_bytes };
        if let Some(key) = uuid::parse(read_id) {
            self.uuids.push(UuidEntry { key, location });
            return;
        }
        let name_start = self.names.len() as u64;
        self.names.extend_from_slice(read_id);
        let name_bytes = read_id.len() as u32;
        self.others.push(OtherEntry { name_start, name_bytes, location });
    }

    /// Sorts what was pushed.
    ///
    /// # Errors
    /// [`DuplicateReadId`], the first in order.
    pub fn sort(&mut self) -> Result<(), DuplicateReadId> {
        self.uuids.sort_unstable();
        let names = &self.names;
        self.others.sort_unstable_by(|a, b| name(names, a).cmp(name(names, b)));
        if let Some(pair) = self.uuids.windows(2).find(|pair| pair[0].key == pair[1].key) {
            return Err(DuplicateReadId(uuid_text(pair[0].key)));
        }
        let twice = |pair: &&[OtherEntry]| name(names, &pair[0]) == name(names, &pair[1]);
        self.others.windows(2).find(twice).map_or(Ok(()), |pair| {
            Err(DuplicateReadId(String::from_utf8_lossy(name(names, &pair[0])).into_owned()))
        })
    }

    /// Sorts what was pushed, whatever it is: reads that are there twice get the location
    /// [`ReadIndex::TWICE`]. Gives how many such ids there are, and one of them.
    pub fn sort_marking_twice(&mut self) -> (u64, Option<DuplicateReadId>) {
        let (mut count, mut example) = (0, None);
        mark_twice(
            &mut self.uuids,
            |a, b| a.key.cmp(&b.key),
            |entry| {
                entry.location = TWICE;
                count += 1;
                example.get_or_insert_with(|| uuid_text(entry.key));
            },
        );
        let names = &self.names;
        mark_twice(
            &mut self.others,
            |a, b| name(names, a).cmp(name(names, b)),
            |entry| {
                entry.location = TWICE;
                count += 1;
                example.get_or_insert_with(|| {
                    String::from_utf8_lossy(name(names, entry)).into_owned()
                });
            },
        );
        (count, example.map(DuplicateReadId))
    }

    /// Place of a read that is there twice; no file is so large.
    pub const TWICE: Location = Location { offset: TWICE.offset, size_bytes: TWICE.size_bytes };

    /// Bytes that the index holds.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        let entries = self.uuids.capacity() * size_of::<UuidEntry>()
            + self.others.capacity() * size_of::<OtherEntry>();
        (entries + self.names.capacity()) as u64
    }

    /// Number of reads.
    #[must_use]
    pub fn len(&self) -> usize {
        self.uuids.len() + self.others.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where a read is.
    #[must_use]
    pub fn find(&self, read_id: &[u8]) -> Option<Location> {
        let place = if let Some(key) = uuid::parse(read_id) {
            let found = self.uuids.binary_search_by(|entry| entry.key.cmp(&key));
            self.uuids[found.ok()?].location
        } else {
            let of = |entry: &OtherEntry| name(&self.names, entry).cmp(read_id);
            self.others[self.others.binary_search_by(of).ok()?].location
        };
        Some(Location { offset: place.offset, size_bytes: place.size_bytes })
    }
}

fn name<'a>(names: &'a [u8], entry: &OtherEntry) -> &'a [u8] {
    let start = entry.name_start as usize;
    &names[start..start + entry.name_bytes as usize]
}

fn uuid_text(uuid: Uuid) -> String {
    String::from_utf8_lossy(&uuid::text(uuid)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const UUID: &[u8] = b"0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9";

    #[test]
    fn an_entry_of_a_uuid_takes_32_bytes() {
        assert_eq!(size_of::<UuidEntry>(), 32);
    }

    #[test]
    fn a_read_id_that_is_there_twice_is_named() {
        for id in [UUID, b"r1"] {
            let mut index = ReadIndex::default();
            for (name, offset) in [(id, 1), (b"other", 2), (id, 3)] {
                index.push(name, Location { offset, size_bytes: 1 });
            }
            let expected = String::from_utf8_lossy(id).into_owned();
            assert_eq!(index.sort(), Err(DuplicateReadId(expected)));
        }
    }

    #[test]
    fn reads_that_are_there_twice_are_marked_and_the_others_found() {
        let mut index = ReadIndex::default();
        let at = |offset| Location { offset, size_bytes: 1 };
        for (offset, id) in [b"a", b"b", b"b", b"b", b"c", b"d", b"d"].into_iter().enumerate() {
            index.push(id, at(offset as u64));
        }
        for offset in 0..2 {
            index.push(UUID, at(offset));
        }
        let (count, example) = index.sort_marking_twice();
        assert_eq!((count, example.map(|it| it.0.into_bytes())), (3, Some(UUID.to_vec())));
        let found = [b"a".as_slice(), b"b", b"c", b"d", UUID].map(|id| index.find(id).unwrap());
        assert_eq!(found, [at(0), ReadIndex::TWICE, at(4), ReadIndex::TWICE, ReadIndex::TWICE]);
        assert_eq!(index.len(), 5);
    }

    proptest! {
        #[test]
        fn every_read_is_found_and_no_other(
            ids in prop::collection::btree_set("[a-f0-9]{1,4}", 0..50),
            keys in prop::collection::btree_set(any::<[u8; 16]>(), 0..50),
        ) {
            let texts = keys.iter().copied().map(uuid_text).chain(ids);
            let all: Vec<Vec<u8>> = texts.map(String::into_bytes).collect();
            let mut index = ReadIndex::default();
            for (number, id) in all.iter().enumerate().rev() {
                let offset = number as u64;
                index.push(id, Location { offset, size_bytes: offset + 1 });
            }
            index.sort().unwrap();
            prop_assert_eq!(index.len(), all.len());
            for (offset, id) in (0..).zip(&all) {
                prop_assert_eq!(index.find(id), Some(Location { offset, size_bytes: offset + 1 }));
            }
            prop_assert_eq!(index.find(b"fffff"), None);
            prop_assert_eq!(index.find(b""), None);
        }
    }
}
