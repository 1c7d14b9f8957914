//! Where a read is in an input, so that another process can start there.

use super::block::InputBlock;
use crate::input::restart::RestartPoint;

/// Position of a read in one input.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FilePosition {
    /// Offset in the file, compressed as it is, from which text can be had: 0, that of a BGZF
    /// block, or that of a [`RestartPoint`].
    pub raw: u64,
    /// Bytes of text before that.
    pub raw_text: u64,
    /// Bytes of text before the read.
    pub text: u64,
    /// Records before it.
    pub records: u64,
    /// Lines before it.
    pub lines: u64,
}

/// Position to start reading an input from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileStart {
    /// The first read.
    pub place: FilePosition,
    /// State to inflate from `place.raw` on, within gzip.
    pub restart: Option<RestartPoint>,
}

impl FilePosition {
    /// The same place, reached from `point`, which is before it.
    #[must_use]
    pub fn reached_from(self, point: &RestartPoint) -> Self {
        Self { raw: point.raw(), raw_text: point.text(), ..self }
    }

    /// The first record, after a header of so many bytes.
    pub(crate) fn after_header(bytes: u64) -> Self {
        Self { text: bytes, ..Self::default() }
    }
}

/// Position of a block's text in its input.
#[derive(Debug, Clone, Copy)]
pub struct BlockPlace {
    /// As for a read that is where the block's buffer starts; records and lines are those before
    /// of the first record.
    start: FilePosition,
    /// Offset of the first record in the buffer.
    first: usize,
}

impl BlockPlace {
    /// Of a block that starts after `before`, which is where the text that it owns starts.
    pub(crate) fn new(before: FilePosition, block: &InputBlock) -> Self {
        let first = block.place.first.unwrap_or_default() as usize;
        let start = match block.place.raw {
            Some((raw, _)) => FilePosition { raw, raw_text: before.text, ..before },
            None => before,
        };
        Self { start, first }
    }

    /// Where read `index` of the block is; `bytes` is the buffer, and the read's name starts at
    /// `name_start` of it. FASTQ and FASTA have one byte between the start of a record and its
    /// name.
    #[must_use]
    pub fn of_read(&self, index: usize, bytes: &[u8], name_start: u32) -> FilePosition {
        let at = (name_start as usize).saturating_sub(1);
        let before = bytes.get(self.first..at).unwrap_or_default();
        let lines = memchr::memchr_iter(b'\n', before).count();
        FilePosition {
            text: self.start.text + at as u64,
            records: self.start.records + index as u64,
            lines: self.start.lines + lines as u64,
            ..self.start
        }
    }
}
