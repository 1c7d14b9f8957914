//! FASTQ whose blocks of B bytes hold exactly N records each: what Langmead 2018 calls blocked
//! input (figure 2), for aligners that read a block in one step and parse it later (L-parsing).
//!
//! The padding is blanks at the end of the last header line of a block, where they are a comment
//! of nothing: every FASTQ reader takes them. Blank lines, or blanks after bases or qualities,
//! would break most.

use memchr::memchr;

/// A block that cannot be padded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{records} records take {needed_bytes} bytes, more than a block of {block_bytes}")]
pub struct BlockTooSmall {
    /// Records of the block.
    pub records: usize,
    /// Their bytes.
    pub needed_bytes: usize,
    /// Bytes of a block.
    pub block_bytes: usize,
}

/// Bytes that records take in a block: their text, and an end of the last line where it has none.
#[must_use]
pub fn unpadded_bytes(records: &[u8]) -> usize {
    records.len() + usize::from(records.last().is_some_and(|&byte| byte != b'\n'))
}

/// Appends `records`, the text of whole four-line records, padded to `block_bytes`.
///
/// `last` is where the last of the `count` records starts.
///
/// # Errors
/// [`BlockTooSmall`]; nothing is appended then.
pub fn pad_block(
    records: &[u8],
    last: usize,
    count: usize,
    block_bytes: usize,
    out: &mut Vec<u8>,
) -> Result<(), BlockTooSmall> {
    let needed_bytes = unpadded_bytes(records);
    let Some(blanks) = block_bytes.checked_sub(needed_bytes) else {
        return Err(BlockTooSmall { records: count, needed_bytes, block_bytes });
    };
    let line_end = memchr(b'\n', &records[last..]).map_or(records.len(), |at| last + at);
    let carriage = records[..line_end].last() == Some(&b'\r');
    let header_end = line_end - usize::from(carriage);
    out.extend_from_slice(&records[..header_end]);
    out.resize(out.len() + blanks, b' ');
    out.extend_from_slice(&records[header_end..]);
    if needed_bytes > records.len() {
        out.push(b'\n');
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fastq::{Grammar, ParseOptions, Stop, TextRange, parse};
    use crate::reads::ReadBlock;

    fn padded(text: &str, last: usize, block_bytes: usize) -> Result<String, BlockTooSmall> {
        let mut out = Vec::new();
        pad_block(text.as_bytes(), last, 2, block_bytes, &mut out)?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn blanks_come_after_the_last_header() {
        fn t(text: &str, last: usize, block_bytes: usize, expected: &str) {
            assert_eq!(padded(text, last, block_bytes).unwrap(), expected, "{text:?}");
        }
        t("@a\nA\n+\nI\n", 0, 9, "@a\nA\n+\nI\n");
        t("@a\nA\n+\nI\n", 0, 11, "@a  \nA\n+\nI\n");
        t("@a\nA\n+\nI\n@b x\nC\n+\nI\n", 9, 21, "@a\nA\n+\nI\n@b x \nC\n+\nI\n");
        t("@a\r\nA\r\n+\r\nI\r\n", 0, 15, "@a  \r\nA\r\n+\r\nI\r\n");
        t("@a\nA\n+\nI", 0, 10, "@a \nA\n+\nI\n");
        let small = padded("@a\nA\n+\nI", 0, 8).unwrap_err();
        assert_eq!((small.needed_bytes, small.block_bytes), (9, 8));
    }

    #[test]
    fn padded_text_has_the_same_reads() {
        let text = "@r1/1 one\nACGT\n+\nIIII\n@r2\n\n+\n\n";
        for block_bytes in text.len()..text.len() + 20 {
            let mut block = ReadBlock {
                bytes: padded(text, 22, block_bytes).unwrap().into(),
                ..Default::default()
            };
            assert_eq!(block.bytes.len(), block_bytes);
            let range = TextRange { from: 0, limit: block_bytes, at_eof: true };
            let parsed = parse(Grammar::FourLine, &mut block, range, ParseOptions::default());
            assert_eq!((parsed.records, parsed.stop), (2, Stop::Done));
            assert_eq!((block.name(0), block.bases(0)), (&b"r1"[..], &b"ACGT"[..]));
            assert_eq!((block.name(1), block.bases(1)), (&b"r2"[..], &b""[..]));
        }
    }
}
