//! Filter pipelines of chunked datasets (specification, IV.A.2.l): their message, and what they do
//! when a chunk is read.

use libdeflater::Decompressor;

use super::bytes::Fields;
use super::checksum::fletcher32;
use super::error::Hdf5Error;
use super::vbz::{self, VbzDecoder};

/// Most filters of a pipeline (H5Z_MAX_NFILTERS).
const MAX_FILTERS: u8 = 32;
/// Parameters of a filter that are kept; VBZ has four.
const KEPT_VALUES: usize = 8;
const DEFLATE: u16 = 1;
const SHUFFLE: u16 = 2;
const FLETCHER32: u16 = 3;
/// No deflate stream expands more than this (RFC 1951: 258 bytes of two bits).
const DEFLATE_MAX_RATIO: usize = 1032;

/// One filter and its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Filter {
    id: u16,
    values: [u32; KEPT_VALUES],
    count: usize,
}

/// Buffers and decoders for filters.
pub(super) struct FilterScratch {
    /// The chunk, before and after.
    pub(super) chunk: Vec<u8>,
    spare: Vec<u8>,
    inflate: Decompressor,
    vbz: VbzDecoder,
}

impl Default for FilterScratch {
    fn default() -> Self {
        let (chunk, spare) = (Vec::new(), Vec::new());
        Self { chunk, spare, inflate: Decompressor::new(), vbz: VbzDecoder::default() }
    }
}

/// Reads a filter pipeline message.
pub(super) fn parse(fields: &mut Fields<'_>, out: &mut Vec<Filter>) -> Result<(), Hdf5Error> {
    out.clear();
    let version = fields.u8()?;
    let count = fields.u8()?;
    if count > MAX_FILTERS {
        return Err(fields.malformed("it has more than 32 filters"));
    }
    match version {
        1 => fields.skip(6)?,
        2 => {}
        _ => return Err(Hdf5Error::unsupported("filter pipeline", version, fields.address)),
    }
    for _ in 0..count {
        let id = fields.u16()?;
        let has_name = version == 1 || id >= 256;
        let name_bytes = if has_name { usize::from(fields.u16()?) } else { 0 };
        fields.u16()?; // flags: whether writing may go on without it
        let values = usize::from(fields.u16()?);
        let padded = if version == 1 { name_bytes.next_multiple_of(8) } else { name_bytes };
        fields.skip(padded)?;
        let mut filter = Filter { id, values: [0; KEPT_VALUES], count: values.min(KEPT_VALUES) };
        for index in 0..values {
            let value = fields.u32()?;
            if let Some(kept) = filter.values.get_mut(index) {
                *kept = value;
            }
        }
        fields.skip(if version == 1 && values % 2 == 1 { 4 } else { 0 })?;
        out.push(filter);
    }
    Ok(())
}

/// Undoes all filters of a chunk in place, but for those that `mask` names as left out. The result
/// has at most `chunk_bytes`. It may have fewer: there are files whose last chunk holds only the
/// values that the dataset has.
pub(super) fn undo(
    filters: &[Filter],
    mask: u32,
    chunk_bytes: usize,
    address: u64,
    scratch: &mut FilterScratch,
) -> Result<(), Hdf5Error> {
    for (index, filter) in filters.iter().enumerate().rev() {
        if mask >> index & 1 != 0 {
            continue;
        }
        // What a filter in the middle makes may be somewhat larger than the values.
        let limit = if index == 0 { chunk_bytes } else { 2 * chunk_bytes + 1024 };
        undo_one(filter, limit, address, scratch)?;
    }
    Ok(())
}

fn undo_one(
    filter: &Filter,
    limit: usize,
    address: u64,
    scratch: &mut FilterScratch,
) -> Result<(), Hdf5Error> {
    let FilterScratch { chunk, spare, inflate, vbz } = scratch;
    match filter.id {
        DEFLATE => {
            let limit = limit.min(chunk.len().saturating_mul(DEFLATE_MAX_RATIO));
            spare.resize(limit, 0);
            let inflated = inflate.zlib_decompress(chunk, spare);
            let damaged = |_| Hdf5Error::malformed("chunk", address, "damaged deflate stream");
            spare.truncate(inflated.map_err(damaged)?);
        }
        SHUFFLE => unshuffle(chunk, filter.values[0] as usize, spare),
        FLETCHER32 => {
            let Some((_, stored)) = chunk.split_last_chunk::<4>() else {
                return Err(Hdf5Error::malformed("chunk", address, "it lacks its checksum"));
            };
            let stored = u32::from_le_bytes(*stored);
            chunk.truncate(chunk.len() - 4);
            let sum = fletcher32(chunk);
            // HDF5 before 1.6.3 swapped the bytes of each half on little-endian machines.
            let swapped = (sum & 0x00ff_00ff) << 8 | sum >> 8 & 0x00ff_00ff;
            if stored != sum && stored != swapped {
                return Err(Hdf5Error::Checksum { what: "chunk", address });
            }
            return Ok(());
        }
        vbz::FILTER_ID => {
            let values = &filter.values[..filter.count];
            let decoded = vbz.decode(values, chunk, limit, spare);
            decoded.map_err(|source| Hdf5Error::Vbz { address, source })?;
        }
        id => return Err(Hdf5Error::unsupported("filter", id, address)),
    }
    std::mem::swap(chunk, spare);
    Ok(())
}

/// Puts bytes together again that were grouped by their place in the value.
fn unshuffle(chunk: &[u8], value_bytes: usize, out: &mut Vec<u8>) {
    out.clear();
    if value_bytes < 2 {
        out.extend_from_slice(chunk);
        return;
    }
    let values = chunk.len() / value_bytes;
    out.resize(chunk.len(), 0);
    let (whole, rest) = out.split_at_mut(values * value_bytes);
    for (place, plane) in chunk.chunks_exact(values.max(1)).take(value_bytes).enumerate() {
        for (value, &byte) in whole.chunks_exact_mut(value_bytes).zip(plane) {
            value[place] = byte;
        }
    }
    rest.copy_from_slice(&chunk[values * value_bytes..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hdf5::bytes::Sizes;

    const WHAT: &str = "filter pipeline";

    #[test]
    fn unshuffle_restores_values_and_keeps_what_is_left_over() {
        fn t(chunk: &[u8], value_bytes: usize, expected: &[u8]) {
            let mut out = vec![9; 3];
            unshuffle(chunk, value_bytes, &mut out);
            assert_eq!(out, expected);
        }
        t(&[], 2, &[]);
        t(&[7], 2, &[7]);
        t(&[1, 3, 5, 2, 4, 6], 2, &[1, 2, 3, 4, 5, 6]);
        t(&[1, 3, 2, 4, 9], 2, &[1, 2, 3, 4, 9]);
        t(&[1, 2, 3], 1, &[1, 2, 3]);
        t(&[1, 2, 3], 0, &[1, 2, 3]);
    }

    #[test]
    fn both_versions_of_the_message_say_the_same() {
        let sizes = Sizes { offset: 8, length: 8 };
        let first: Vec<u8> = [
            &[1, 2, 0, 0, 0, 0, 0, 0][..],
            &[1, 0, 8, 0, 1, 0, 1, 0],
            b"deflate\0",
            &[6, 0, 0, 0, 0, 0, 0, 0],
            &[0x14, 0x7d, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 2, 0, 0, 0],
        ]
        .concat();
        let second: Vec<u8> = [
            &[2, 2][..],
            &[1, 0, 1, 0, 1, 0, 6, 0, 0, 0],
            &[0x14, 0x7d, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 2, 0, 0, 0],
        ]
        .concat();
        for message in [first, second] {
            let mut filters = Vec::new();
            parse(&mut Fields::new(&message, 0, WHAT, sizes), &mut filters).unwrap();
            assert_eq!((filters[0].id, filters[0].count, filters[0].values[0]), (1, 1, 6));
            assert_eq!((filters[1].id, filters[1].count, filters[1].values[1]), (32020, 2, 2));
            for cut in 0..message.len() {
                let mut fields = Fields::new(&message[..cut], 0, WHAT, sizes);
                assert!(parse(&mut fields, &mut filters).is_err());
            }
        }
    }
}
