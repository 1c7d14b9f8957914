//! The check, in order and off the workers' critical path, that the blocks of an input join.

use super::block::{Defect, RecordBlock};
use super::chunk::BgzfPosition;
use super::error::{AlignmentError, Problem};
use super::{AlignmentScratch, AlignmentSource};
use crate::input::error::InputError;
use crate::input::malformed::{Malformed, RecordPlace, shown_name};
use crate::input::reader::Truncation;

/// Accepts the blocks of one input, given in the order of their index. Where a start that was
/// guessed is not where the block before ended, it has the chunk read once more from there.
pub struct BlockCheck {
    input: usize,
    next_index: u64,
    /// Text before the next block's chunk: from the first record's BGZF block on in files
    /// that are read by chunks, else from the start.
    base: u64,
    /// Start of the next record, counted alike.
    expected: u64,
    /// Offset of the next BGZF block.
    raw_end: u64,
    records: u64,
    reread_blocks: u64,
    truncation: Option<Truncation>,
    scratch: AlignmentScratch,
}

impl BlockCheck {
    /// For one input of `source`.
    #[must_use]
    pub fn new(source: &AlignmentSource, input: usize) -> Self {
        let place = source.first_place(input);
        let (base, expected) = match place {
            Some(place) => (0, place.skip),
            None => (source.text_start(input), 0),
        };
        Self {
            input,
            next_index: 0,
            base,
            expected,
            raw_end: place.map_or(0, |place| place.block),
            records: 0,
            reread_blocks: 0,
            truncation: None,
            scratch: AlignmentScratch::default(),
        }
    }

    /// Records in the blocks accepted so far.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Blocks that had to be read again because their start was guessed wrongly.
    #[must_use]
    #[cfg(test)]
    pub(super) fn reread_blocks(&self) -> u64 {
        self.reread_blocks
    }

    /// Truncation of the input, if that is allowed; final with the last block.
    #[must_use]
    pub fn truncation(&self) -> Option<&Truncation> {
        self.truncation.as_ref()
    }

    /// Accepts a block of which `found` was found by `scan`; what is found now that its records
    /// are right.
    ///
    /// # Errors
    /// As [`BlockCheck::accept`].
    pub fn accept_scanned<S>(
        &mut self,
        source: &AlignmentSource,
        block: &mut RecordBlock,
        found: S,
        scan: impl FnOnce(&[u8]) -> S,
    ) -> Result<S, AlignmentError> {
        let before = (self.reread_blocks, block.records);
        self.accept(source, block)?;
        let is_unchanged = before == (self.reread_blocks, block.records);
        Ok(if is_unchanged { found } else { scan(&block.bytes) })
    }

    /// Accepts the next block of the input, which must be the one with the next index; puts its
    /// records right where their start was guessed wrongly.
    ///
    /// # Errors
    /// [`AlignmentError::Malformed`] for the first malformed record of the input,
    /// [`AlignmentError::Input`] if reading again fails.
    pub fn accept(
        &mut self,
        source: &AlignmentSource,
        block: &mut RecordBlock,
    ) -> Result<(), AlignmentError> {
        debug_assert_eq!((block.input, block.index), (self.input, self.next_index));
        self.next_index += 1;
        if self.truncation.is_some() {
            // What is after a cut is nothing.
            block.discard_records();
            return Ok(());
        }
        if source.first_place(self.input).is_some() {
            self.join(source, block)?;
        }
        if let Some(defect) = &block.defect {
            return Err(self.malformed(source, defect));
        }
        let place = &block.place;
        if place.first.is_some() {
            self.expected = self.base + place.end;
        }
        if let Some((_, raw_end)) = place.raw {
            self.raw_end = raw_end;
        }
        self.base += place.own_bytes;
        self.records += block.records;
        self.truncation = block.truncation.clone();
        if block.last && self.truncation.is_none() {
            self.truncation = source.missing_eof(self.input).cloned();
        }
        Ok(())
    }

    /// Makes sure that the block starts where the one before ended.
    fn join(
        &mut self,
        source: &AlignmentSource,
        block: &mut RecordBlock,
    ) -> Result<(), AlignmentError> {
        let first_block = source.starts_in_chunk(self.input, block.index, self.raw_end);
        let is_joined = block.place.raw.map(|(first, _)| first) == first_block;
        let is_covered = self.expected >= self.base + block.place.own_bytes;
        let starts_right = match block.place.first {
            Some(first) => self.base + first == self.expected && !is_covered,
            None => is_covered,
        };
        // Where no record was found, neither was the place of the one that a defect belongs to.
        let is_place_open = block.place.first.is_none() && block.defect.is_some();
        if is_joined && starts_right && !block.is_unfinished && !is_place_open {
            return Ok(());
        }
        if is_joined && is_covered && block.defect.is_none() && block.truncation.is_none() {
            // One record reaches from before the chunk to after it.
            block.discard_records();
            return Ok(());
        }
        let Some(first_block) = first_block else {
            block.discard();
            return Ok(());
        };
        self.reread_blocks += 1;
        let place = BgzfPosition { block: first_block, skip: self.expected - self.base };
        source.read_again(block, place, &mut self.scratch)?;
        Ok(())
    }

    fn malformed(&self, source: &AlignmentSource, defect: &Defect) -> AlignmentError {
        let record = self.records + defect.record;
        let byte = self.base + defect.byte;
        let path = source.path(self.input);
        let before = source.containers_before(self.input);
        let container = before.unwrap_or_default() + self.next_index;
        if let Problem::Container(defect) = &defect.problem {
            return InputError::from(defect.clone().at(path, container, self.base)).into();
        }
        let place = match (defect.virtual_offset, source.header_lines(self.input)) {
            _ if before.is_some() => RecordPlace::Container { container, byte },
            (Some(offset), _) => RecordPlace::Virtual(offset),
            (None, Some(lines)) => RecordPlace::Line { line: lines + record + 1, byte },
            (None, None) => RecordPlace::Byte(byte),
        };
        AlignmentError::Malformed(Box::new(Malformed {
            path: path.to_path_buf(),
            record: record + 1,
            name: shown_name(&defect.name),
            after: None,
            place,
            problem: defect.problem.to_string(),
            hint: defect.problem.hint(),
        }))
    }
}
