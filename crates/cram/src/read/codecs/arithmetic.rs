//! The adaptive arithmetic coder (CRAM codecs specification, section 4).

use super::model::{Model, RangeDecoder};
use super::packing::{
    MOST_DEPTH, NO_SIZE, ORDER, PACKED, Packing, RUNS, STORED, STRIPE, read_striped,
};
use crate::read::cursor::Cursor;
use crate::read::error::Problem;

/// bzip2 instead.
const FOREIGN: u8 = 4;
const CORRUPT: Problem = Problem::Corrupt("arithmetic-coded");
/// Models of lengths of runs: by the symbol, then for the second part, then for all others.
const RUN_MODELS: usize = 258;

/// The raw bytes, at most `most`.
pub(crate) fn decompress(bytes: &[u8], most: usize) -> Result<Vec<u8>, Problem> {
    stream(bytes, None, most, 0)
}

fn stream(
    bytes: &[u8],
    known: Option<usize>,
    most: usize,
    depth: usize,
) -> Result<Vec<u8>, Problem> {
    let mut cursor = Cursor::new(bytes, "an arithmetic-coded block");
    let flags = cursor.byte()?;
    let count = if flags & NO_SIZE == 0 { cursor.uint7()? } else { known.ok_or(CORRUPT)? };
    if count > most {
        return Err(Problem::TooLarge(most));
    }
    if flags & STRIPE != 0 {
        if depth >= MOST_DEPTH {
            return Err(CORRUPT);
        }
        return read_striped(&mut cursor, count, |bytes, part| {
            stream(bytes, Some(part), part, depth + 1)
        });
    }
    let packing = (flags & PACKED != 0).then(|| Packing::read(&mut cursor)).transpose()?;
    let symbols = packing.as_ref().map_or(count, |packing| packing.packed_bytes);
    let most_symbols = packing.as_ref().map_or(count, |packing| packing.bytes_of(count));
    if symbols > most_symbols {
        return Err(CORRUPT);
    }
    let data = if flags & STORED != 0 {
        cursor.take(symbols)?.to_vec()
    } else if flags & FOREIGN != 0 {
        super::super::blocks::bzip2(cursor.rest(), symbols)?
    } else {
        decode(&mut cursor, flags, symbols)?
    };
    match packing {
        Some(packing) => packing.unpack(&data, count),
        None => Ok(data),
    }
}

fn decode(cursor: &mut Cursor<'_>, flags: u8, count: usize) -> Result<Vec<u8>, Problem> {
    let mut out = Vec::with_capacity(count);
    if count == 0 {
        return Ok(out);
    }
    let alphabet = match cursor.byte()? {
        0 => 256,
        count => usize::from(count),
    };
    let contexts = if flags & ORDER == 0 { 1 } else { alphabet };
    let mut models = vec![Model::new(alphabet); contexts];
    let run_models = if flags & RUNS == 0 { 0 } else { RUN_MODELS };
    let mut runs = vec![Model::new(4); run_models];
    let mut decoder = RangeDecoder::new(cursor.rest());
    let mut before = 0;
    while out.len() < count {
        let context = if flags & ORDER == 0 { 0 } else { before };
        let symbol = models[context].decode(&mut decoder)?;
        before = usize::from(symbol);
        let mut length = 1;
        if flags & RUNS != 0 {
            let mut context = before;
            loop {
                let part = runs[context].decode(&mut decoder)?;
                length += usize::from(part);
                if part < 3 || length > count {
                    break;
                }
                context = if context < 256 { 256 } else { 257 };
            }
        }
        if length > count - out.len() {
            return Err(CORRUPT);
        }
        out.resize(out.len() + length, symbol);
    }
    decoder.finish()?;
    Ok(out)
}
