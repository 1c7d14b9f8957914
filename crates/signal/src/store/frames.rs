//! Where one stored read ends and the next begins, found without decoding either.
//!
//! Both finders look at the bytes from a record boundary on and at how many bytes the file still
//! has from there, so that no length from the file is believed beyond the file's end.

use memchr::memchr;
use seqloom_format::slow5::binary::{self, Frame};
use seqloom_format::slow5::{FrameError, MAX_BODY_BYTES};

/// Bytes of the length before a BLOW5 record.
pub(super) const PREFIX_BYTES: u64 = binary::LENGTH_BYTES as u64;

/// Longest line that is read, as for records of BLOW5: far beyond any read.
pub(crate) const MAX_LINE_BYTES: u64 = MAX_BODY_BYTES as u64;

/// Why the rest of a file is unreadable, or one record of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FrameDefect {
    /// The bytes are not a record of BLOW5.
    #[error(transparent)]
    Record(#[from] FrameError),
    /// The last line of a SLOW5 file has no line feed.
    #[error("the last line has no end: the file is truncated")]
    NoLineEnd,
    /// A line is longer than [`MAX_LINE_BYTES`].
    #[error("a line is longer than the limit of {MAX_LINE_BYTES} bytes")]
    LongLine,
}

/// What is at a record boundary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    /// A whole record of so many bytes, its length or line feed included.
    Record(usize),
    /// Not enough bytes to say; this many are needed, never more than the file has.
    More(u64),
    /// A record that cannot be read, of so many bytes; the next boundary is after it.
    Skip(u64, FrameDefect),
    /// The end of the file.
    End,
    /// Nothing from here on can be read.
    Broken(FrameDefect),
}

/// A BLOW5 record at the start of `bytes`, from where the file has `left_bytes` more.
pub(super) fn blow5(bytes: &[u8], left_bytes: u64) -> Found {
    let held_bytes = bytes.len() as u64;
    let prefix_bytes = left_bytes.min(PREFIX_BYTES);
    if held_bytes < prefix_bytes {
        return Found::More(prefix_bytes);
    }
    match binary::parse_frame(&bytes[..prefix_bytes as usize], Some(left_bytes)) {
        Ok(Frame::EndOfFile) => Found::End,
        Ok(Frame::Record { stored_bytes }) => {
            let size_bytes = stored_bytes as u64 + PREFIX_BYTES;
            if held_bytes < size_bytes {
                return Found::More(size_bytes);
            }
            Found::Record(size_bytes as usize)
        }
        // The record is within the file, so the next one can be found.
        Err(FrameError::TooLong(stored_bytes)) => {
            let size_bytes = stored_bytes.saturating_add(PREFIX_BYTES);
            Found::Skip(size_bytes, FrameError::TooLong(stored_bytes).into())
        }
        Err(error) => Found::Broken(error.into()),
    }
}

/// A SLOW5 line at the start of `bytes`, from where the file has `left_bytes` more.
pub(super) fn slow5(bytes: &[u8], left_bytes: u64) -> Found {
    if left_bytes == 0 {
        return Found::End;
    }
    let held_bytes = bytes.len() as u64;
    match memchr(b'\n', bytes) {
        Some(end) => Found::Record(end + 1),
        None if held_bytes >= left_bytes => Found::Broken(FrameDefect::NoLineEnd),
        None if held_bytes > MAX_LINE_BYTES => Found::Broken(FrameDefect::LongLine),
        None => Found::More(left_bytes.min(held_bytes.saturating_mul(2).max(64))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(body: &[u8]) -> Vec<u8> {
        [&(body.len() as u64).to_le_bytes(), body].concat()
    }

    #[test]
    fn blow5_records_are_found_by_their_length() {
        fn t(bytes: &[u8], behind_bytes: u64, expected: Found) {
            assert_eq!(blow5(bytes, bytes.len() as u64 + behind_bytes), expected, "{bytes:?}");
        }
        let record = framed(b"abc");
        t(&record, 0, Found::Record(11));
        t(&record, 5, Found::Record(11));
        t(&[record.as_slice(), b"5WOLB"].concat(), 0, Found::Record(11));
        t(b"5WOLB", 0, Found::End);
        t(b"5WOLB", 1, Found::More(6));
        let broken = |error: FrameError| Found::Broken(error.into());
        let past = |stored_bytes, remaining_bytes| {
            broken(FrameError::PastEnd { stored_bytes, remaining_bytes })
        };
        t(b"", 0, broken(FrameError::NoEndMarker));
        t(b"", 100, Found::More(8));
        t(b"5WO", 0, broken(FrameError::NoEndMarker));
        t(b"5WOLBx", 0, broken(FrameError::NoEndMarker));
        t(&record[..9], 2, Found::More(11));
        t(&record[..10], 0, past(3, 2));
        t(b"5WOLBBLOW5\x01", 1000, broken(FrameError::SecondHeader));
        t(b"BLOW5\x01\x00\x02\x00", 1000, broken(FrameError::SecondHeader));
        t(&u64::MAX.to_le_bytes(), 1 << 40, past(u64::MAX, 1 << 40));
        let stored = (1_u64 << 30) + 1;
        let skip = Found::Skip(stored + 8, FrameError::TooLong(stored).into());
        t(&stored.to_le_bytes(), 1 << 40, skip);
    }

    #[test]
    fn lines_are_found_by_their_end() {
        fn t(bytes: &[u8], behind_bytes: u64, expected: Found) {
            assert_eq!(slow5(bytes, bytes.len() as u64 + behind_bytes), expected, "{bytes:?}");
        }
        t(b"a\tb\nc", 0, Found::Record(4));
        t(b"\n", 9, Found::Record(1));
        t(b"", 0, Found::End);
        t(b"", 3, Found::More(3));
        t(b"ab", 0, Found::Broken(FrameDefect::NoLineEnd));
        t(b"ab", 1, Found::More(3));
        t(&[b'a'; 100], 1000, Found::More(200));
    }
}
