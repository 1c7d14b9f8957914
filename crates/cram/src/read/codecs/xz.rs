//! LZMA, as xz wraps it (the .xz file format, version 1.2.1): samtools writes it if an option says
//! so.
//!
//! The wrapping is read here and not by the library, because what it says of the dictionary is
//! what is allocated: here that is never more than the raw bytes, which is as far back as they can
//! refer. Of the checks at the end none is looked at: the CRC of the block is of all of it.

use std::io::{Cursor as Bytes, Read};

use lzma_rust2::Lzma2Reader;

use crate::read::cursor::Cursor;
use crate::read::error::Problem;

const MAGIC: [u8; 6] = [0xfd, b'7', b'z', b'X', b'Z', 0];
/// The filter that decompresses, which is the only one.
const LZMA2: u8 = 0x21;
/// Least size of a dictionary.
const LEAST_BYTES: usize = 4096;
const NAME: &str = "lzma";
const CORRUPT: Problem = Problem::Corrupt(NAME);
const WHAT: &str = "an lzma block";

/// The raw bytes, if there are `raw` of them.
pub(crate) fn decompress(bytes: &[u8], raw: usize) -> Result<Vec<u8>, Problem> {
    let mut cursor = Cursor::new(bytes, WHAT);
    if cursor.array()? != MAGIC {
        return Err(CORRUPT);
    }
    let [zero, check] = cursor.array()?;
    let check_bytes = match (zero, check) {
        (0, 0) => 0,
        (0, 1) => 4,
        (0, 4) => 8,
        (0, 10) => 32,
        _ => return Err(CORRUPT),
    };
    cursor.word()?;
    let mut out = Vec::new();
    while out.len() < raw {
        let start = cursor.at();
        skip_block_header(&mut cursor)?;
        let left = raw - out.len();
        let dictionary = u32::try_from(left.max(LEAST_BYTES)).map_err(|_| CORRUPT)?;
        let mut reader = Lzma2Reader::new(Bytes::new(cursor.clone().rest()), dictionary, None);
        let before = out.len();
        // One byte more than there may be shows what is too long.
        let mut limited = (&mut reader).take(left as u64 + 1);
        limited.read_to_end(&mut out).map_err(|_| CORRUPT)?;
        if out.len() > raw || out.len() == before {
            return Err(CORRUPT);
        }
        let used = usize::try_from(reader.inner().position()).map_err(|_| CORRUPT)?;
        cursor.take(used)?;
        let padding = (cursor.at() - start).next_multiple_of(4) - (cursor.at() - start);
        cursor.take(padding + check_bytes)?;
    }
    Ok(out)
}

/// Passes over the header of a block, which has one filter.
fn skip_block_header(cursor: &mut Cursor<'_>) -> Result<(), Problem> {
    // A size of 0 is that of the index, after all blocks.
    let size = cursor.byte()?;
    let bytes = match size {
        0 => return Err(CORRUPT),
        size => 4 * (usize::from(size) + 1),
    };
    let mut header = Cursor::new(cursor.take(bytes - 1)?, WHAT);
    let flags = header.byte()?;
    if flags & 0x3f != 0 {
        return Err(CORRUPT);
    }
    // Its sizes, where it says them.
    for bit in [0x40, 0x80] {
        if flags & bit != 0 {
            while header.byte()? & 0x80 != 0 {}
        }
    }
    if header.array()? != [LZMA2, 1] {
        return Err(CORRUPT);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use super::*;

    /// By the program xz; `None` where there is none.
    fn xz(data: &[u8], options: &[&str]) -> Option<Vec<u8>> {
        let mut child = Command::new("xz")
            .args(["-c"])
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .ok()?;
        let mut stdin = child.stdin.take()?;
        std::thread::scope(|scope| {
            scope.spawn(move || stdin.write_all(data));
            Some(child.wait_with_output().ok()?.stdout)
        })
    }

    #[test]
    fn what_xz_writes_is_read_back() {
        let mut state = 7_u64;
        let mut data: Vec<u8> = (0..300_000)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                b"ACGT"[(state >> 60) as usize % 4]
            })
            .collect();
        data.extend_from_within(..100_000);
        for options in
            [&["-0"][..], &["-9"], &["-C", "crc64"], &["-C", "none"], &["--block-size=65536"]]
        {
            let Some(bytes) = xz(&data, options) else {
                return seqloom_testkit::skip::skip("xz");
            };
            assert!(decompress(&bytes, data.len()).unwrap() == data, "{options:?}");
            assert_eq!(decompress(&bytes, data.len() - 1), Err(CORRUPT));
            assert!(decompress(&bytes, data.len() + 1).is_err());
            for cut in [0, 5, 11, 12, 20, 30, bytes.len() / 2] {
                assert!(decompress(&bytes[..cut], data.len()).is_err(), "{options:?} {cut}");
            }
        }
    }
}
