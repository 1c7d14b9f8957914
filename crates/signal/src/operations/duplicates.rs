//! Read ids that are there more than once: as in a folder and its copy, or a file that was
//! recovered.
//!
//! Reads of one id are the same read if their samples are; then the first is written, and the
//! others are left out. If their samples differ, nobody can say which read is meant by the id: the
//! first is written, and the others are lost by name.

use std::collections::HashMap;
use std::collections::hash_map::{DefaultHasher, Entry};
use std::hash::{Hash, Hasher};
use std::path::Path;
use std::sync::Arc;

use seqloom_format::signal::SignalRead;

use crate::flow::account::{Fault, Loss};
use crate::flow::pass::Tally;
use crate::store::uuid::{self, Uuid};

/// Read ids that were there, each with what is known of its first read. An id that is a UUID takes
/// 16 bytes.
#[derive(Debug)]
pub struct SeenReads<V> {
    uuids: HashMap<Uuid, V>,
    others: HashMap<Box<[u8]>, V>,
}

impl<V> Default for SeenReads<V> {
    fn default() -> Self {
        Self { uuids: HashMap::new(), others: HashMap::new() }
    }
}

impl<V: Copy> SeenReads<V> {
    /// Adds a read; what is known of the first of its id where there was one.
    pub fn add(&mut self, read_id: &[u8], value: V) -> Option<V> {
        fn first<K, V: Copy>(entry: Entry<'_, K, V>, value: V) -> Option<V> {
            match entry {
                Entry::Occupied(entry) => Some(*entry.get()),
                Entry::Vacant(place) => {
                    place.insert(value);
                    None
                }
            }
        }
        match uuid::parse(read_id) {
            Some(key) => first(self.uuids.entry(key), value),
            None => first(self.others.entry(read_id.into()), value),
        }
    }
}

/// Counts reads whose id was there before, where all are written.
#[derive(Debug, Default)]
pub struct RepeatedIds {
    seen: SeenReads<()>,
    /// Such reads.
    pub count: u64,
    /// The id of the first of them.
    pub first: Option<Vec<u8>>,
}

impl RepeatedIds {
    /// Adds a read that is written.
    pub fn add(&mut self, read_id: &[u8]) {
        if self.seen.add(read_id, ()).is_some() {
            self.count += 1;
            self.first.get_or_insert_with(|| read_id.to_vec());
        }
    }
}

/// Hashes of a read. They are compared only between reads of one id, so 64 bits are enough.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Content {
    samples: u64,
    /// Everything else but the id.
    fields: u64,
}

impl Content {
    /// That of a read as it will be written.
    pub(crate) fn of(read: &SignalRead) -> Self {
        let mut samples = DefaultHasher::new();
        read.samples.hash(&mut samples);
        let mut fields = DefaultHasher::new();
        read.read_group.hash(&mut fields);
        for number in [read.digitisation, read.offset, read.range, read.sampling_rate] {
            number.to_bits().hash(&mut fields);
        }
        read.auxiliary.iter().for_each(|value| value.hash(&mut fields));
        Self { samples: samples.finish(), fields: fields.finish() }
    }
}

/// Lets each read through once; called in the order of the reads.
#[derive(Debug, Default)]
pub struct Deduplication {
    seen: SeenReads<Content>,
    /// Reads that were left out, since one of the same id and samples was there before.
    pub repeated: u64,
    /// Those of them that differ from it in other fields.
    pub in_other_fields: u64,
}

impl Deduplication {
    /// Whether a read is to be written. One that is not is taken from `tally`, and is a fault there
    /// when its samples are not those of the first.
    pub(crate) fn is_first(
        &mut self,
        path: Option<&Arc<Path>>,
        read_id: &[u8],
        content: Content,
        tally: &mut Tally,
    ) -> bool {
        let Some(first) = self.seen.add(read_id, content) else { return true };
        tally.reads = tally.reads.saturating_sub(1);
        if first.samples == content.samples {
            self.repeated += 1;
            self.in_other_fields += u64::from(first.fields != content.fields);
            return false;
        }
        let unnamed = || Arc::from(Path::new(""));
        tally.faults.push(Fault {
            path: path.cloned().unwrap_or_else(unnamed),
            read_id: Some(read_id.to_vec()),
            offset: None,
            reason:
                "a read of this id with another signal was there before, which alone is written"
                    .to_owned(),
            loss: Loss::Read,
        });
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_of_an_id_that_was_there_are_counted_and_the_first_is_named() {
        let mut repeated = RepeatedIds::default();
        let uuid = b"0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9".as_slice();
        for id in [b"r1".as_slice(), uuid, b"r2"] {
            repeated.add(id);
        }
        assert_eq!((repeated.count, &repeated.first), (0, &None));
        for id in [uuid, b"r2", uuid] {
            repeated.add(id);
        }
        assert_eq!((repeated.count, repeated.first.as_deref()), (3, Some(uuid)));
    }

    #[test]
    fn the_first_read_of_an_id_is_written_and_others_are_left_out_or_lost() {
        let mut once = Deduplication::default();
        let mut tally = Tally { reads: 7, ..Tally::default() };
        let read = |samples: &[i16], range| {
            Content::of(&SignalRead { samples: samples.to_vec(), range, ..SignalRead::default() })
        };
        let uuid = b"0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9";
        let mut t = |id: &[u8], content, expected| {
            assert_eq!(once.is_first(None, id, content, &mut tally), expected);
        };
        t(uuid, read(&[1, 2], 1.0), true);
        t(b"r1", read(&[1, 2], 1.0), true);
        t(uuid, read(&[1, 2], 1.0), false);
        t(b"r1", read(&[1, 2], 2.0), false);
        t(b"r1", read(&[1], 1.0), false);
        t(uuid, read(&[], 1.0), false);
        t(b"r2", read(&[], 1.0), true);
        assert_eq!((once.repeated, once.in_other_fields), (2, 1));
        assert_eq!((tally.reads, tally.faults.len()), (3, 2));
        let lost: Vec<_> = tally.faults.into_iter().filter_map(|fault| fault.read_id).collect();
        assert_eq!(lost, [b"r1".to_vec(), uuid.to_vec()]);
    }
}
