//! One-dimensional datasets of integers (specification, IV.A.2.i and VII), read as 16-bit samples.

use super::array_index::{Chunk, ExtensibleArray, FixedArray};
use super::attribute::elements_of;
use super::btree1::{self, TreeKind, TreeScratch};
use super::bytes::{Fields, UNDEFINED};
use super::datatype::{DatatypeClass, append};
use super::error::Hdf5Error;
use super::file::{Hdf5File, PageCache};
use super::filter::{self, FilterScratch};
use super::object::{MessageKind, shared_address};
use super::scratch::Hdf5Scratch;
use super::shape::{Chunked, DatasetShape, Index, Layout, MAX_ELEMENTS, parse_fill, parse_layout};

const WHAT: &str = "dataset";

/// Most samples that were never written and stand for themselves as fill values.
const MAX_UNWRITTEN: usize = 1 << 24;

impl Hdf5File {
    /// Reads a dataset of one dimension and of integers into `out`. Values that do not fit 16 bits
    /// become the nearest that does, as HDF5 converts them.
    ///
    /// # Errors
    /// The object is no such dataset, it is damaged, or it is larger than [`MAX_ELEMENTS`].
    pub fn read_i16(
        &self,
        address: u64,
        scratch: &mut Hdf5Scratch,
        out: &mut Vec<i16>,
    ) -> Result<(), Hdf5Error> {
        out.clear();
        self.load_shape(address, scratch)?;
        let Hdf5Scratch { cache, object, shape, filters, node, tree, .. } = scratch;
        let elements = shape.elements as usize;
        let value_bytes = u64::from(shape.datatype.size_bytes);
        match shape.layout {
            Layout::None => return Err(Hdf5Error::malformed(WHAT, address, "it has no layout")),
            Layout::Compact(start, end) => {
                let bytes = object.bytes_between(start, end);
                let needed = elements.checked_mul(value_bytes as usize);
                let bytes = needed.and_then(|needed| bytes.get(..needed));
                let short = "its values are fewer than its size";
                let bytes = bytes.ok_or_else(|| Hdf5Error::malformed(WHAT, address, short))?;
                append(&shape.datatype, bytes, out);
            }
            Layout::Contiguous { address: UNDEFINED, .. } => {}
            Layout::Contiguous { address: data, bytes } => {
                let needed = shape.elements.saturating_mul(value_bytes);
                if bytes < needed {
                    let short = "its values are fewer than its size";
                    return Err(Hdf5Error::malformed(WHAT, address, short));
                }
                self.fetch_direct(data, needed, WHAT, &mut filters.chunk)?;
                append(&shape.datatype, &filters.chunk, out);
            }
            Layout::Chunked(chunked) if chunked.address == UNDEFINED => {}
            Layout::Chunked(layout) => {
                let chunks = Chunks { file: self, shape, layout };
                let mut take = |chunk| chunks.take(chunk, filters, out);
                chunks.visit(cache, node, tree, &mut take)?;
            }
        }
        fill_to(elements, shape.fill, address, out)
    }

    /// Reads the messages of a dataset.
    fn load_shape(&self, address: u64, scratch: &mut Hdf5Scratch) -> Result<(), Hdf5Error> {
        let Hdf5Scratch { cache, object, shared, shape, .. } = scratch;
        let mut reader = self.metadata(cache);
        object.load(&mut reader, address)?;
        let find = |kind, why| {
            let message = object.find(kind);
            message.ok_or_else(|| Hdf5Error::malformed(WHAT, address, why))
        };
        let message = find(MessageKind::DATATYPE, "it has no datatype")?;
        let (place, what) = (message.address, "datatype");
        let body = object.body(message);
        let mut fields = Fields::new(body, place, what, self.sizes);
        if message.is_shared() {
            shared.load(&mut reader, shared_address(fields)?)?;
            let committed = shared.find(MessageKind::DATATYPE);
            let why = "its committed object is not a datatype";
            let committed = committed.ok_or_else(|| Hdf5Error::malformed(WHAT, address, why))?;
            fields = Fields::new(shared.body(committed), committed.address, what, self.sizes);
        }
        shape.datatype.parse(&mut fields)?;
        if !matches!(shape.datatype.class, DatatypeClass::Integer { .. })
            || !matches!(shape.datatype.size_bytes, 1 | 2 | 4 | 8)
        {
            return Err(Hdf5Error::malformed(WHAT, address, "its values are not integers"));
        }
        let message = find(MessageKind::DATASPACE, "it has no dataspace")?;
        let body = object.body(message);
        if body.get(1) != Some(&1) {
            return Err(Hdf5Error::malformed(WHAT, address, "it has not one dimension"));
        }
        let mut fields = Fields::new(body, message.address, "dataspace", self.sizes);
        shape.elements = elements_of(&mut fields)?;
        if shape.elements > MAX_ELEMENTS {
            let (value, limit) = (shape.elements, MAX_ELEMENTS);
            return Err(Hdf5Error::Limit { what: "samples of a dataset", value, limit, address });
        }
        shape.filters.clear();
        if let Some(message) = object.find(MessageKind::FILTERS) {
            let body = object.body(message);
            let mut fields = Fields::new(body, message.address, "filter pipeline", self.sizes);
            filter::parse(&mut fields, &mut shape.filters)?;
        }
        shape.fill = match object.find(MessageKind::FILL_VALUE) {
            Some(message) => {
                let body = object.body(message);
                let mut fields = Fields::new(body, message.address, "fill value", self.sizes);
                parse_fill(&mut fields, &shape.datatype)?
            }
            None => 0,
        };
        let message = find(MessageKind::LAYOUT, "it has no layout")?;
        let body = object.body(message);
        let mut fields = Fields::new(body, message.address, "data layout", self.sizes);
        let start = object.start(message);
        shape.layout = parse_layout(&mut fields, start, &shape.datatype, &shape.filters)?;
        Ok(())
    }
}

/// A dataset in chunks.
#[derive(Clone, Copy)]
struct Chunks<'a> {
    file: &'a Hdf5File,
    shape: &'a DatasetShape,
    layout: Chunked,
}

impl Chunks<'_> {
    /// Visits the chunks of a dataset from its start to its end.
    fn visit(
        self,
        cache: &mut PageCache,
        node: &mut Vec<u8>,
        tree: &mut TreeScratch,
        visit: &mut dyn FnMut(Chunk) -> Result<(), Hdf5Error>,
    ) -> Result<(), Hdf5Error> {
        let Self { file, shape, layout: chunked } = self;
        let mut reader = file.metadata(cache);
        let reader = &mut reader;
        let chunks = shape.elements.div_ceil(chunked.elements);
        // At most `MAX_ELEMENTS` times eight bytes.
        let plain_bytes = chunked.elements * u64::from(shape.datatype.size_bytes);
        let address = chunked.address;
        let limit = file.size_bytes;
        if chunks > limit {
            return Err(Hdf5Error::Limit { what: "chunks", value: chunks, limit, address });
        }
        let plain = |number: u64, address: u64| {
            let first = number * chunked.elements;
            Chunk { first, address, stored_bytes: plain_bytes, mask: 0 }
        };
        match chunked.index {
            Index::Tree => {
                let kind = TreeKind::Chunks { rank: 1 };
                btree1::visit(reader, address, kind, tree, &mut |_, mut key, child| {
                    let stored_bytes = u64::from(key.u32()?);
                    let mask = key.u32()?;
                    visit(Chunk { first: key.u64()?, address: child, stored_bytes, mask })
                })
            }
            Index::Single(None) => visit(plain(0, address)),
            Index::Single(Some((stored_bytes, mask))) => {
                visit(Chunk { first: 0, address, stored_bytes, mask })
            }
            Index::Implicit => (0..chunks).try_for_each(|number| {
                let at = number.checked_mul(plain_bytes).and_then(|at| at.checked_add(address));
                visit(plain(number, at.unwrap_or(UNDEFINED)))
            }),
            Index::FixedArray => {
                let array = FixedArray::open(reader, address, node)?;
                (0..chunks).try_for_each(|number| {
                    let entry = array.entry(reader, number, plain(number, UNDEFINED))?;
                    if entry.address == UNDEFINED { Ok(()) } else { visit(entry) }
                })
            }
            Index::ExtensibleArray => {
                let array = ExtensibleArray::open(reader, address, node)?;
                (0..chunks).try_for_each(|number| {
                    let entry = array.entry(reader, number, plain(number, UNDEFINED))?;
                    if entry.address == UNDEFINED { Ok(()) } else { visit(entry) }
                })
            }
        }
    }

    /// Reads one chunk and appends its values. Chunks must come in order, so that no file makes
    /// more work than its values.
    fn take(
        self,
        chunk: Chunk,
        filters: &mut FilterScratch,
        out: &mut Vec<i16>,
    ) -> Result<(), Hdf5Error> {
        let Self { file, shape, layout: chunked } = self;
        let Chunk { first, address, stored_bytes, mask } = chunk;
        if first >= shape.elements {
            return Ok(()); // the dataset was made shorter
        }
        if !first.is_multiple_of(chunked.elements) || first < out.len() as u64 {
            return Err(Hdf5Error::malformed("chunk", address, "it is not where it belongs"));
        }
        fill_to(first as usize, shape.fill, address, out)?;
        let value_bytes = shape.datatype.size_bytes as usize;
        let chunk_bytes = chunked.elements as usize * value_bytes;
        file.fetch_direct(address, stored_bytes, "chunk", &mut filters.chunk)?;
        let is_edge = shape.elements - first < chunked.elements;
        if !(chunked.plain_edge && is_edge) {
            filter::undo(&shape.filters, mask, chunk_bytes, address, filters)?;
        }
        let required = chunked.elements.min(shape.elements - first) as usize * value_bytes;
        let short = "its values are fewer than its size";
        let bytes = filters.chunk.get(..required);
        let bytes = bytes.ok_or_else(|| Hdf5Error::malformed("chunk", address, short))?;
        append(&shape.datatype, bytes, out);
        Ok(())
    }
}

/// Appends fill values until there are `len` values.
fn fill_to(len: usize, fill: i16, address: u64, out: &mut Vec<i16>) -> Result<(), Hdf5Error> {
    let missing = len.saturating_sub(out.len());
    if missing > MAX_UNWRITTEN {
        let (value, limit) = (missing as u64, MAX_UNWRITTEN as u64);
        return Err(Hdf5Error::Limit { what: "unwritten samples", value, limit, address });
    }
    out.resize(len.max(out.len()), fill);
    Ok(())
}
