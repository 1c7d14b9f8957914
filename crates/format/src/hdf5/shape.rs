//! What is known of a dataset before its values are read (specification, IV.A.2.f and IV.A.2.i).

use super::bytes::Fields;
use super::datatype::{Datatype, append};
use super::error::Hdf5Error;
use super::filter::Filter;

/// Most samples of a dataset: two days of signal at 5 kHz.
pub const MAX_ELEMENTS: u64 = 1 << 30;

/// All that is known of a dataset before its values are read.
#[derive(Debug, Default)]
pub(super) struct DatasetShape {
    pub(super) datatype: Datatype,
    pub(super) elements: u64,
    pub(super) layout: Layout,
    pub(super) filters: Vec<Filter>,
    pub(super) fill: i16,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) enum Layout {
    #[default]
    None,
    /// In the message: from and to.
    Compact(usize, usize),
    Contiguous {
        address: u64,
        bytes: u64,
    },
    Chunked(Chunked),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Chunked {
    pub(super) address: u64,
    /// Values of a chunk.
    pub(super) elements: u64,
    pub(super) index: Index,
    /// A last chunk that the data does not fill is stored without filters.
    pub(super) plain_edge: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Index {
    Tree,
    /// One chunk: its stored bytes and filter mask when it has filters.
    Single(Option<(u64, u32)>),
    Implicit,
    FixedArray,
    ExtensibleArray,
}

/// The fill value message (IV.A.2.e), as a sample.
pub(super) fn parse_fill(fields: &mut Fields<'_>, datatype: &Datatype) -> Result<i16, Hdf5Error> {
    let version = fields.u8()?;
    let is_defined = match version {
        1 | 2 => {
            fields.skip(2)?;
            fields.u8()? != 0 || version == 1
        }
        3 => fields.u8()? & 0x20 != 0,
        _ => return Err(Hdf5Error::unsupported("fill value version", version, fields.address)),
    };
    if !is_defined {
        return Ok(0);
    }
    let size = fields.u32()?;
    if size != datatype.size_bytes {
        return Ok(0); // no value: zeros
    }
    let mut value = Vec::with_capacity(1);
    append(datatype, fields.take(size as usize)?, &mut value);
    Ok(value.first().copied().unwrap_or(0))
}

/// The data layout message (IV.A.2.i), whose body starts at `start` of the object's bytes.
pub(super) fn parse_layout(
    fields: &mut Fields<'_>,
    start: usize,
    datatype: &Datatype,
    filters: &[Filter],
) -> Result<Layout, Hdf5Error> {
    let version = fields.u8()?;
    if !matches!(version, 3 | 4) {
        return Err(Hdf5Error::unsupported("data layout version", version, fields.address));
    }
    match fields.u8()? {
        0 => {
            let length = usize::from(fields.u16()?);
            let at = start + fields.position();
            fields.skip(length)?;
            Ok(Layout::Compact(at, at + length))
        }
        1 => Ok(Layout::Contiguous { address: fields.offset()?, bytes: fields.length()? }),
        2 if version == 3 => {
            check_rank(fields)?;
            let address = fields.offset()?;
            let sizes = [u64::from(fields.u32()?), u64::from(fields.u32()?)];
            check_chunks(fields, sizes, datatype)?;
            let elements = sizes[0];
            Ok(Layout::Chunked(Chunked {
                address,
                elements,
                index: Index::Tree,
                plain_edge: false,
            }))
        }
        2 => {
            let flags = fields.u8()?;
            check_rank(fields)?;
            let width = usize::from(fields.u8()?);
            let sizes = [fields.unsigned(width)?, fields.unsigned(width)?];
            let index = parse_index(fields, flags & 2 != 0, filters)?;
            let address = fields.offset()?;
            check_chunks(fields, sizes, datatype)?;
            let (elements, plain_edge) = (sizes[0], flags & 1 != 0);
            Ok(Layout::Chunked(Chunked { address, elements, index, plain_edge }))
        }
        class => Err(Hdf5Error::unsupported("data layout class", class, fields.address)),
    }
}

/// What a version 4 layout says of its index; `has_size` where a single chunk's size is there.
fn parse_index(
    fields: &mut Fields<'_>,
    has_size: bool,
    filters: &[Filter],
) -> Result<Index, Hdf5Error> {
    match fields.u8()? {
        1 if has_size => Ok(Index::Single(Some((fields.length()?, fields.u32()?)))),
        1 if filters.is_empty() => Ok(Index::Single(None)),
        1 => Err(fields.malformed("a filtered chunk has no size")),
        2 => Ok(Index::Implicit),
        3 => fields.skip(1).map(|()| Index::FixedArray),
        4 => fields.skip(5).map(|()| Index::ExtensibleArray),
        kind => Err(Hdf5Error::unsupported("chunk index", kind, fields.address)),
    }
}

/// The rank of chunks counts the bytes of a value as a dimension.
fn check_rank(fields: &mut Fields<'_>) -> Result<(), Hdf5Error> {
    if fields.u8()? == 2 { Ok(()) } else { Err(fields.malformed("chunks have not one dimension")) }
}

/// Checks the sizes of chunks: elements, and bytes of a value.
fn check_chunks(
    fields: &Fields<'_>,
    [elements, value_bytes]: [u64; 2],
    datatype: &Datatype,
) -> Result<(), Hdf5Error> {
    if elements == 0 || elements > MAX_ELEMENTS || value_bytes != u64::from(datatype.size_bytes) {
        return Err(fields.malformed("the size of its chunks makes no sense"));
    }
    Ok(())
}
