//! The compression header: what a reader has to know to decode the records of a container (CRAM
//! specification 3.0, section 8.4).

use crate::bases::substitution_matrix;
use crate::integers::push_itf8;
use crate::series::{Series, SeriesValues, Shape, Written};
use crate::tags::{Tag, TagShape, Tags};

/// Encodings (section 3).
const EXTERNAL: i32 = 1;
const HUFFMAN: i32 = 3;
const BYTE_ARRAY_LEN: i32 = 4;
const BYTE_ARRAY_STOP: i32 = 5;

/// Appends the header of records whose positions are differences if `has_deltas` says so.
pub(crate) fn push_compression_header(
    values: &SeriesValues,
    tags: &Tags,
    has_deltas: bool,
    out: &mut Vec<u8>,
) {
    let mut map = Vec::new();
    push_itf8(&mut map, 5);
    map.extend_from_slice(b"RN\x01AP");
    map.push(u8::from(has_deltas));
    map.extend_from_slice(b"RR\x01SM");
    map.extend_from_slice(&substitution_matrix());
    map.extend_from_slice(b"TD");
    push_sized(&mut map, tags.dictionary());
    push_sized(out, &map);

    map.clear();
    let mut count = 0;
    for series in Series::ALL {
        if push_series(series, &values.written(series), &mut map) {
            count += 1;
        }
    }
    push_counted(out, count, &map);

    map.clear();
    for tag in tags.all() {
        push_itf8(&mut map, tag.block_id());
        push_tag(tag, &mut map);
    }
    push_counted(out, tags.all().len() as i32, &map);
}

/// Bytes, their number before them.
fn push_sized(out: &mut Vec<u8>, bytes: &[u8]) {
    push_itf8(out, bytes.len() as i32);
    out.extend_from_slice(bytes);
}

/// A map: bytes in all, number of its entries, entries.
fn push_counted(out: &mut Vec<u8>, count: i32, entries: &[u8]) {
    let mut map = Vec::with_capacity(entries.len() + 5);
    push_itf8(&mut map, count);
    map.extend_from_slice(entries);
    push_sized(out, &map);
}

fn push_encoding(out: &mut Vec<u8>, codec: i32, parameters: &[u8]) {
    push_itf8(out, codec);
    push_sized(out, parameters);
}

/// The encoding of values that are in a block.
fn external(block: i32) -> Vec<u8> {
    let (mut id, mut out) = (Vec::new(), Vec::new());
    push_itf8(&mut id, block);
    push_encoding(&mut out, EXTERNAL, &id);
    out
}

/// The encoding of a value that is always the same: an alphabet of one with a code of no bits.
fn constant(value: i32) -> Vec<u8> {
    let (mut alphabet, mut out) = (Vec::new(), Vec::new());
    for it in [1, value, 1, 0] {
        push_itf8(&mut alphabet, it);
    }
    push_encoding(&mut out, HUFFMAN, &alphabet);
    out
}

fn stopped(stop: u8, block: i32, out: &mut Vec<u8>) {
    let mut parameters = vec![stop];
    push_itf8(&mut parameters, block);
    push_encoding(out, BYTE_ARRAY_STOP, &parameters);
}

fn counted(lengths: &[u8], values: &[u8], out: &mut Vec<u8>) {
    push_encoding(out, BYTE_ARRAY_LEN, &[lengths, values].concat());
}

/// Appends a series, if it has values.
fn push_series(series: Series, written: &Written<'_>, out: &mut Vec<u8>) -> bool {
    let block = series.block_id();
    match written {
        Written::Nothing => return false,
        Written::Constant(value) => {
            out.extend_from_slice(&series.key());
            out.extend_from_slice(&constant(*value));
        }
        Written::Bytes(_) => {
            out.extend_from_slice(&series.key());
            match series.shape() {
                Shape::Integer | Shape::Byte => out.extend_from_slice(&external(block)),
                Shape::Stopped => stopped(0, block, out),
                Shape::Counted => counted(&external(block), &external(block), out),
            }
        }
    }
    true
}

fn push_tag(tag: &Tag, out: &mut Vec<u8>) {
    let values = external(tag.block_id());
    match tag.shape() {
        TagShape::Fixed(bytes) => counted(&constant(bytes.into()), &values, out),
        TagShape::Stopped(stop) => stopped(stop, tag.block_id(), out),
        TagShape::Counted => counted(&external(tag.lengths_id()), &values, out),
    }
}
