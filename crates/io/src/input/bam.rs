//! What reads and alignments have in common where they come as BAM.

use seqloom_format::bam::MAX_HEADER_LINE_BYTES;

use super::{MAX_RECORD_BYTES, SAMPLE_BYTES};

/// Longest header that is read.
pub(crate) const MAX_HEADER_BYTES: usize = 512 * 1024 * 1024;

/// The longest record with its size.
pub(crate) const MAX_FRAME_BYTES: usize = 4 + MAX_RECORD_BYTES;

/// Problem of a BAM header in place of a record.
pub(crate) const SECOND_HEADER: &str = "another BAM header is here: two BAM files, joined by `cat`";

/// Text of a header to have at hand next, where `held_bytes` of it are: a line that is too long is
/// noticed when not much more than it may have is held.
pub(crate) fn more_header_bytes(held_bytes: usize) -> usize {
    let more = held_bytes.clamp(1, MAX_HEADER_LINE_BYTES).max(held_bytes / 4);
    (held_bytes + more).min(MAX_HEADER_BYTES + SAMPLE_BYTES)
}

/// Where to cut `text`, which starts with a record: after as many whole ones as it has, 0 for none
/// (the caller bounds how much more it gathers for one). An impossible size is no reason to gather
/// more: whoever parses the text finds it there.
pub(crate) fn last_boundary(text: &[u8]) -> usize {
    let mut end = 0;
    while let Some((size, rest)) = text[end..].split_first_chunk::<4>() {
        let size = u32::from_le_bytes(*size) as usize;
        if size > MAX_RECORD_BYTES {
            return text.len();
        }
        if size > rest.len() {
            break;
        }
        end += 4 + size;
    }
    end
}
