//! The stage that turns stored reads into records of SLOW5 or BLOW5.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use seqloom_format::hdf5::SignalCompressor;
use seqloom_format::signal::{SignalHeader, SignalRead};
use seqloom_format::slow5::binary::{self, RecordEncoder};
use seqloom_format::slow5::{Compression, HeaderError, header, text};

use crate::flow::pass::{Components, Stage, StoredRead, Tally, Work};
use crate::operations::degrade::{Dataset, round_samples};
use crate::operations::demultiplex::DemuxTable;
use crate::operations::duplicates::{Content, Deduplication};
use crate::operations::merge::FieldMap;
use crate::store::{DecodeScratch, ReadError, SignalStore, StoreFormat};

/// How records are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// SLOW5 text.
    Slow5,
    /// BLOW5.
    Blow5(Compression),
}

impl Encoding {
    /// The bytes before the records.
    ///
    /// # Errors
    /// When the header cannot be written in this encoding.
    pub fn header(self, of: &SignalHeader) -> Result<Vec<u8>, HeaderError> {
        let mut out = Vec::new();
        match self {
            Self::Slow5 => {
                header::check(of)?;
                header::append_text(of, &mut out);
            }
            Self::Blow5(compression) => header::append_binary(of, compression, &mut out)?,
        }
        Ok(out)
    }

    /// The bytes after the records.
    #[must_use]
    pub fn end(self) -> &'static [u8] {
        match self {
            Self::Slow5 => b"",
            Self::Blow5(_) => &binary::END_OF_FILE,
        }
    }
}

/// What makes the read group of a record, and which output it goes to.
pub enum Route<'a> {
    /// One output; per input, which read group of the output each of its own is. Empty: the same.
    Together(&'a [Arc<[u32]>]),
    /// An output per read group, in each of which it is the first.
    ByGroup,
    /// Outputs by categories; the target is the read's place in the table.
    ByCategory(&'a DemuxTable),
}

/// Writes each read as a record of the output format.
pub struct Transcode<'a> {
    /// The header of the output, or of all outputs.
    pub header: &'a SignalHeader,
    /// How records are written.
    pub encoding: Encoding,
    /// Where records go.
    pub route: Route<'a>,
    /// Bits of the samples that are rounded away; 0 for none.
    pub bits: u8,
    /// What each read must be.
    pub dataset: Option<&'static Dataset>,
    /// Whether ids may have been replaced: records are then not copied as they are stored.
    pub mend_names: bool,
    /// Whether reads will be compared, by [`Encoded::deduplicate`].
    pub compares: bool,
    /// Where time is booked.
    pub components: &'a Components,
}

/// One record of [`Encoded`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedRead {
    /// Its end; it begins where the one before ends.
    pub end: usize,
    /// Read group in the input.
    pub group: u32,
    /// Categories, for [`Route::ByCategory`]: a range of [`Encoded::categories`].
    pub categories: Range<u32>,
    /// End of its id in those of the batch, and its hashes, where reads are compared.
    identity: (usize, Content),
}

/// The records of a batch.
#[derive(Debug, Default)]
pub struct Encoded {
    /// All records, one after the other.
    pub bytes: Vec<u8>,
    /// Where each ends and goes to.
    pub reads: Vec<EncodedRead>,
    /// Indices of categories.
    pub categories: Vec<u16>,
    /// What was read and lost.
    pub tally: Tally,
    /// The file that they are from.
    source: Option<Arc<Path>>,
    /// Read ids, one after the other.
    ids: Vec<u8>,
}

impl Encoded {
    fn clear(&mut self) {
        self.bytes.clear();
        self.reads.clear();
        self.categories.clear();
        self.tally.clear();
        self.ids.clear();
    }

    /// Ids of the reads, in order; before any are taken out.
    pub fn read_ids(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.reads.iter().map(move |read| {
            let id = &self.ids[start..read.identity.0];
            start = read.identity.0;
            id
        })
    }

    /// Takes out the reads that were there before; batches in order.
    pub fn deduplicate(&mut self, once: &mut Deduplication) {
        let Self { bytes, reads, tally, source, ids, .. } = self;
        let (mut start, mut id_start, mut end) = (0, 0, 0);
        reads.retain_mut(|read| {
            let record = start..read.end;
            let (id_end, content) = read.identity;
            let id = &ids[id_start..id_end];
            (start, id_start) = (read.end, id_end);
            let is_first = once.is_first(source.as_ref(), id, content, tally);
            if is_first {
                bytes.copy_within(record.clone(), end);
                end += record.len();
                read.end = end;
            }
            is_first
        });
        bytes.truncate(end);
    }
}

/// Fields of a read that are known before it is encoded.
struct Prepared {
    group: u32,
    categories: Range<u32>,
    /// Whether it is as it is stored.
    is_same: bool,
}

/// Working memory, kept between batches.
#[derive(Default)]
pub struct Scratch {
    decode: DecodeScratch,
    encoder: Option<RecordEncoder>,
    read: SignalRead,
    /// Fields of the last input; a file's batches come one after the other.
    fields: Option<(usize, FieldMap)>,
}

impl Stage for Transcode<'_> {
    type Scratch = Scratch;
    type Output = Encoded;

    fn scratch(&self) -> Scratch {
        Scratch::default()
    }

    fn process(&self, scratch: &mut Scratch, work: &Work, output: &mut Encoded) {
        output.clear();
        output.source = work.store.as_ref().map(|store| store.path().clone());
        output.tally.faults.extend_from_slice(&work.batch.faults);
        for stored in work.reads() {
            let before = (output.bytes.len(), output.categories.len());
            if let Err(error) = self.one(scratch, work.input, stored, output) {
                output.bytes.truncate(before.0);
                output.categories.truncate(before.1);
                let Scratch { decode, read, .. } = &mut *scratch;
                output.tally.faults.push(stored.fault(decode, read, &error));
            } else {
                output.tally.reads += 1;
            }
        }
    }
}

impl<'a> Transcode<'a> {
    /// All reads as they are, to one output of this header.
    #[must_use]
    pub fn new(header: &'a SignalHeader, encoding: Encoding, components: &'a Components) -> Self {
        Self {
            header,
            encoding,
            route: Route::Together(&[]),
            bits: 0,
            dataset: None,
            mend_names: false,
            compares: false,
            components,
        }
    }

    /// Decodes, changes, routes and encodes one read.
    fn one(
        &self,
        scratch: &mut Scratch,
        input: usize,
        stored: StoredRead<'_>,
        output: &mut Encoded,
    ) -> Result<(), ReadError> {
        let prepared = self.prepare(scratch, input, stored, &mut output.categories)?;
        let Prepared { group, categories, is_same } = prepared;
        let started = Instant::now();
        self.encode(scratch, stored, is_same, &mut output.bytes)?;
        output.ids.extend_from_slice(&scratch.read.read_id);
        let content = self.compares.then(|| Content::of(&scratch.read));
        let identity = (output.ids.len(), content.unwrap_or_default());
        output.reads.push(EncodedRead { end: output.bytes.len(), group, categories, identity });
        self.components.encode.book(started);
        Ok(())
    }

    /// Decodes, changes and routes one read: `scratch.read` is then as it is to be written.
    fn prepare(
        &self,
        scratch: &mut Scratch,
        input: usize,
        stored: StoredRead<'_>,
        categories: &mut Vec<u16>,
    ) -> Result<Prepared, ReadError> {
        let StoredRead { store, batch, frame } = stored;
        let started = Instant::now();
        scratch.read.clear();
        let decoded = store.decode(&mut scratch.decode, batch, frame, &mut scratch.read);
        self.components.decode.book(started);
        self.components.inflate.add(scratch.decode.take_inflate_time());
        decoded?;
        let group = scratch.read.read_group;
        let categories = self.route(input, &mut scratch.read, categories)?;
        if let Some(dataset) = self.dataset {
            dataset.check(&scratch.read).map_err(ReadError)?;
        }
        round_samples(&mut scratch.read.samples, self.bits);
        let keeps_fields = self.fields(scratch, input, store);
        let keeps_rest = self.bits == 0 && !self.mend_names;
        let is_same = keeps_fields && keeps_rest && scratch.read.read_group == group;
        Ok(Prepared { group, categories, is_same })
    }

    /// Gives the read its group in the output, and its categories.
    fn route(
        &self,
        input: usize,
        read: &mut SignalRead,
        categories: &mut Vec<u16>,
    ) -> Result<Range<u32>, ReadError> {
        match &self.route {
            Route::Together([]) => {}
            Route::Together(groups) => {
                let groups = groups.get(input).map(|groups| &**groups).unwrap_or_default();
                let group = groups.get(read.read_group as usize).copied();
                let unknown = || ReadError::new("the read group is not in the header");
                read.read_group = group.ok_or_else(unknown)?;
            }
            Route::ByGroup => read.read_group = 0,
            Route::ByCategory(table) => {
                let unknown = || ReadError::new("the table of categories does not name this read");
                let found = table.of(&read.read_id).ok_or_else(unknown)?;
                let start = categories.len() as u32;
                categories.extend_from_slice(found);
                return Ok(start..categories.len() as u32);
            }
        }
        Ok(0..0)
    }

    /// Rearranges the auxiliary values; whether they stay as they are.
    fn fields(&self, scratch: &mut Scratch, input: usize, store: &dyn SignalStore) -> bool {
        if scratch.fields.as_ref().is_none_or(|(of, _)| *of != input) {
            let map = FieldMap::new(&store.header().auxiliary, &self.header.auxiliary);
            scratch.fields = Some((input, map));
        }
        let Some((_, map)) = &mut scratch.fields else { return true };
        map.apply(&mut scratch.read);
        map.is_identity()
    }

    /// Appends the record; a read that is the same in the same encoding is copied as it is stored,
    /// since deflating it again would only take time.
    fn encode(
        &self,
        scratch: &mut Scratch,
        stored: StoredRead<'_>,
        is_same: bool,
        out: &mut Vec<u8>,
    ) -> Result<(), ReadError> {
        let Encoding::Blow5(compression) = self.encoding else {
            return text::append_record(&scratch.read, self.header, out).map_err(ReadError::new);
        };
        if is_same && stored.store.format() == StoreFormat::Blow5(compression) {
            out.extend_from_slice(stored.batch.stored(stored.frame));
            return Ok(());
        }
        let encoder = match &mut scratch.encoder {
            Some(encoder) => encoder,
            none => none.insert(RecordEncoder::new(compression).map_err(ReadError::new)?),
        };
        encoder.append(&scratch.read, self.header, out).map_err(ReadError::new)
    }
}

/// As [`Transcode`], for a FAST5 output: reads with their samples deflated, to be put into the file
/// by whoever commits them.
pub struct Deflate<'a>(pub Transcode<'a>);

/// One read for FAST5.
#[derive(Debug, Default)]
pub struct DeflatedRead {
    /// The read.
    pub read: SignalRead,
    /// Its samples as a chunk of HDF5.
    pub chunk: Vec<u8>,
    /// Its hashes, for reads that are compared.
    content: Content,
}

/// The reads of a batch.
#[derive(Debug, Default)]
pub struct Deflated {
    /// Buffers of reads; those after [`Deflated::count`] hold older ones.
    buffers: Vec<DeflatedRead>,
    count: usize,
    /// What was read and lost.
    pub tally: Tally,
    /// The file that they are from.
    source: Option<Arc<Path>>,
}

impl Deflated {
    /// Takes out the reads that were there before; batches in order.
    pub fn deduplicate(&mut self, once: &mut Deduplication) {
        let Self { buffers, count, tally, source } = self;
        let mut retained = 0;
        for at in 0..*count {
            let DeflatedRead { read, content, .. } = &buffers[at];
            if once.is_first(source.as_ref(), &read.read_id, *content, tally) {
                buffers.swap(retained, at);
                retained += 1;
            }
        }
        *count = retained;
    }

    /// The reads.
    #[must_use]
    pub fn reads(&self) -> &[DeflatedRead] {
        &self.buffers[..self.count]
    }
}

impl Stage for Deflate<'_> {
    type Scratch = (Scratch, SignalCompressor);
    type Output = Deflated;

    fn scratch(&self) -> Self::Scratch {
        Self::Scratch::default()
    }

    fn process(
        &self,
        (scratch, compressor): &mut Self::Scratch,
        work: &Work,
        output: &mut Deflated,
    ) {
        output.count = 0;
        output.source = work.store.as_ref().map(|store| store.path().clone());
        output.tally.clear();
        output.tally.faults.extend_from_slice(&work.batch.faults);
        let mut categories = Vec::new();
        for stored in work.reads() {
            if let Err(error) = self.0.prepare(scratch, work.input, stored, &mut categories) {
                let Scratch { decode, read, .. } = &mut *scratch;
                output.tally.faults.push(stored.fault(decode, read, &error));
                continue;
            }
            if output.count == output.buffers.len() {
                output.buffers.push(DeflatedRead::default());
            }
            let buffer = &mut output.buffers[output.count];
            std::mem::swap(&mut buffer.read, &mut scratch.read);
            let deflate = || compressor.compress(&buffer.read.samples, &mut buffer.chunk);
            self.0.components.encode.time(deflate);
            let content = self.0.compares.then(|| Content::of(&buffer.read));
            buffer.content = content.unwrap_or_default();
            output.count += 1;
            output.tally.reads += 1;
        }
    }
}
