//! The stage that finds each read's id and place: for index files and lists of read ids.

use seqloom_format::slow5::index::{Entry, append_entry};

use crate::flow::pass::{Components, Stage, Tally, Work};
use crate::operations::transcode::read_fault;
use crate::store::requests::Location;
use crate::store::{DecodeScratch, ReadIndex};

/// See the module documentation.
pub struct Locate<'a> {
    /// Where time is booked.
    pub components: &'a Components,
}

/// Ids and places of the reads of a batch, in its order.
#[derive(Debug, Default)]
pub struct Located {
    names: Vec<u8>,
    places: Vec<(usize, Location)>,
    /// What was read and lost.
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

/// What a worker keeps.
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
        let Some(store) = &work.store else { return };
        for frame in &work.batch.frames {
            let id = &mut scratch.read.read_id;
            let found = self
                .components
                .decode
                .time(|| store.read_id(&mut scratch.decode, &work.batch, frame, id));
            if let Err(error) = found {
                scratch.read.read_id.clear();
                let LocateScratch { decode, read } = &mut *scratch;
                let fault = read_fault(store.as_ref(), decode, &work.batch, frame, read, &error);
                output.tally.faults.push(fault);
                continue;
            }
            output.names.extend_from_slice(id);
            let location = Location { offset: frame.offset, size_bytes: frame.size_bytes };
            output.places.push((output.names.len(), location));
            output.tally.reads += 1;
        }
    }
}
