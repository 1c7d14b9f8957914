//! The adaptive arithmetic coder (CRAM codecs specification, section 4).

use super::model::{Model, RangeDecoder};
use super::packing::{Coder, ORDER, RUNS, STORED};
use crate::read::cursor::Cursor;
use crate::read::error::Problem;

/// bzip2 instead.
const FOREIGN: u8 = 4;
const NAME: &str = "arithmetic-coded";
const CORRUPT: Problem = Problem::Corrupt(NAME);
/// Models of lengths of runs: by the symbol, then for the second part, then for all others.
const RUN_MODELS: usize = 258;

const CODER: Coder = Coder { what: "an arithmetic-coded block", name: NAME, symbols };

/// The raw bytes, at most `most`.
pub(crate) fn decompress(bytes: &[u8], most: usize) -> Result<Vec<u8>, Problem> {
    CODER.decompress(bytes, most)
}

fn symbols(cursor: &mut Cursor<'_>, flags: u8, count: usize) -> Result<Vec<u8>, Problem> {
    if flags & STORED != 0 {
        Ok(cursor.take(count)?.to_vec())
    } else if flags & FOREIGN != 0 {
        super::bzip2::decompress(cursor.rest(), count)
    } else {
        decode(cursor, flags, count)
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
