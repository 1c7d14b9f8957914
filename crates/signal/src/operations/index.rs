//! The stage that finds each read's id and place: for index files and lists of read ids.

use seqloom_format::slow5::index::{Entry, append_entry};

use crate::flow::pass::{Components, Stage, StoredRead, Tally, Work};
use crate::store::requests::Location;
use crate::store::{DecodeScratch, ReadIndex};

/// Gives the id and the place of each read.
pub struct Locate<'a> {
    /// Time of the components.
    pub components: &'a Components,
}

/// Ids and places of the reads of a batch, in its order.
#[derive(Debug, Default)]
pub struct Located {
    names: Vec<u8>,
    places: Vec<(usize, Location)>,
    /// Reads and faults.
    pub tally: Tally,
}

impl Located {
    /// Each read's id and place.
    pub fn reads(&self) -> impl Iterator<Item = (&[u8], Location)> {
        let starts = std::iter::once(0).chain(self.places.iter().map(|(end, _)| *end));
        starts
            .zip(&self.places)
            .map(|(start, (end, location))| (&self.names[start..*end], *location))
    }

    /// Appends them as entries of an index file, and to an index in memory.
    pub fn append_to(&self, file: &mut Vec<u8>, index: &mut ReadIndex) {
        for (read_id, location) in self.reads() {
            let Location { offset, size_bytes } = location;
            append_entry(&Entry { read_id, offset, size_bytes }, file);
            index.push(read_id, location);
        }
    }
}

/// Scratch of a worker.
#[derive(Default)]
pub struct LocateScratch {
    decode: DecodeScratch,
    read: seqloom_format::signal::SignalRead,
}

impl Stage for Locate<'_> {
    type Scratch = LocateScratch;
    type Output = Located;

    fn scratch(&self) -> LocateScratch {
        LocateScratch::default()
    }

    fn process(&self, scratch: &mut LocateScratch, work: &Work, output: &mut Located) {
        output.names.clear();
        output.places.clear();
        output.tally.clear();
        output.tally.faults.extend_from_slice(&work.batch.faults);
        for stored in work.reads() {
            let StoredRead { store, batch, frame } = stored;
            let LocateScratch { decode, read } = &mut *scratch;
            let id = &mut read.read_id;
            let decoding = &self.components.decode;
            let found = decoding.time(|| store.read_id(decode, batch, frame, id));
            if let Err(error) = found {
                id.clear();
                output.tally.faults.push(stored.fault(decode, read, &error));
                continue;
            }
            output.names.extend_from_slice(id);
            let location = Location { offset: frame.offset, size_bytes: frame.size_bytes };
            output.places.push((output.names.len(), location));
            output.tally.reads += 1;
        }
    }
}
