//! The rows of `.bwt.2bit.64` as sorted entries: what comes does not end where blocks of rows do.

use seqloom_io::AtomicFile;

use super::super::bwt::{NO_SYMBOL, RowSource, RowWriter};
use super::super::error::BuildError;
use super::super::layout::BLOCK_ROWS;
use super::entry::{Entry, Format};
use super::text::Text;

/// Hands entries on to the writer in whole blocks of rows.
pub(super) struct Rows<'a> {
    writer: RowWriter<'a>,
    format: Format,
    /// Rows handed on so far, in whole blocks.
    first_row: u64,
    /// Those after, less than a block.
    carried: Vec<Entry>,
}

/// Rows `first_row` and so on: those carried, then those of a pass.
struct Pass<'a> {
    format: Format,
    first_row: u64,
    carried: &'a [Entry],
    entries: &'a [Entry],
}

impl<'a> Rows<'a> {
    /// Rows for `writer`. The first is that of the empty suffix.
    pub(super) fn new(writer: RowWriter<'a>, text: &Text, format: Format) -> Self {
        let carried = vec![format.entry(text, text.symbols())];
        Self { writer, format, first_row: 0, carried }
    }

    /// The rows that come next.
    pub(super) fn take(&mut self, entries: &[Entry]) -> Result<(), BuildError> {
        let rows = self.first_row + (self.carried.len() + entries.len()) as u64;
        self.write_until(rows / BLOCK_ROWS, entries)?;
        let kept = (rows % BLOCK_ROWS) as usize;
        let new = entries.len().min(kept);
        self.carried.drain(..self.carried.len() - (kept - new));
        self.carried.extend_from_slice(&entries[entries.len() - new..]);
        self.first_row = rows - kept as u64;
        Ok(())
    }

    fn write_until(&mut self, end_block: u64, entries: &[Entry]) -> Result<(), BuildError> {
        let (format, first_row) = (self.format, self.first_row);
        let pass = Pass { format, first_row, carried: &self.carried, entries };
        self.writer.write_until(end_block, &pass, &mut |_| ())
    }

    /// Writes the last block and the ends, as [`RowWriter::finish`].
    pub(super) fn finish(mut self, counts: [u64; 5]) -> Result<Option<AtomicFile>, BuildError> {
        // There is an odd number of rows, so the last block is never a whole one.
        self.write_until(self.first_row / BLOCK_ROWS + 1, &[])?;
        self.writer.finish(counts)
    }
}

impl Pass<'_> {
    #[inline]
    fn entry(&self, row: u64) -> Option<Entry> {
        let at = row.checked_sub(self.first_row)? as usize;
        let entry = self.carried.get(at).or_else(|| self.entries.get(at - self.carried.len()));
        entry.copied()
    }
}

impl RowSource for Pass<'_> {
    #[inline]
    fn suffix(&self, row: u64) -> u64 {
        self.entry(row).map_or(0, |entry| self.format.position(entry))
    }

    #[inline]
    fn symbol(&self, row: u64) -> u8 {
        self.entry(row).map_or(NO_SYMBOL, |entry| self.format.before(entry))
    }
}
