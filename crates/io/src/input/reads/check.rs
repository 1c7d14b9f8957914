//! The check, in order and off the workers' critical path, that the blocks of a file join.

use super::ReadSource;
use super::block::{Defect, InputBlock, Problem};
use super::error::ReadsError;
use super::place::{BlockPlace, FilePosition};
use crate::input::error::InputError;
use crate::input::malformed::{Malformed, RecordPlace, shown_name};

/// Records looked at to distinguish Phred+64 from Phred+33.
const PHRED_RECORDS: u64 = 10_000;

/// Verifies the blocks of one file, given in the order of their index: each must start where the
/// one before ended. A start found in the middle of a file counts only by this. Counts records and
/// lines on the way and turns the first defect into an error that names them.
#[derive(Debug)]
pub struct BlockCheck {
    file: usize,
    pub(crate) next_index: u64,
    /// Text before the next block's chunk.
    base: u64,
    /// Start of the next record, blank lines at the end skipped.
    expected: u64,
    /// One past the last record: `expected` before blank lines were skipped.
    record_end: u64,
    in_blank_tail: bool,
    /// Of the file, those before its first block too.
    records: u64,
    lines: u64,
    /// Records before the first block.
    records_before: u64,
    bases: u64,
    /// After the compressed unit that the blocks so far end with.
    raw_end: u64,
    /// A place in the file to decompress from, at or before `record_end`, and the text before it.
    anchor: (u64, u64),
    /// Position of the first record of the file.
    start: FilePosition,
    last_name: Vec<u8>,
    qualities: QualityRange,
    /// Blocks of lower index are of no use: a stream gives what they would have had.
    stream_from: u64,
}

impl BlockCheck {
    /// For `file` of `source`.
    #[must_use]
    pub fn new(source: &ReadSource, file: usize) -> Self {
        let (start, base) = (source.start(file), source.first_text(file));
        let raw = source.first_raw(file);
        Self {
            file,
            next_index: 0,
            base,
            expected: start.text,
            record_end: start.text,
            in_blank_tail: false,
            records: start.records,
            lines: start.lines,
            records_before: start.records,
            bases: 0,
            raw_end: raw,
            anchor: (raw, if raw == 0 { 0 } else { base }),
            start,
            last_name: Vec::new(),
            qualities: QualityRange::new(source.checks_phred_offset(file)),
            stream_from: 0,
        }
    }

    /// Blocks accepted so far: the index of the next one.
    #[must_use]
    pub fn accepted(&self) -> u64 {
        self.next_index
    }

    /// Records in the blocks accepted so far.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records - self.records_before
    }

    /// Where the text of the next block, which is this one, is in the input. To be checked before
    /// it is accepted.
    #[must_use]
    pub fn place_of_next(&self, block: &InputBlock) -> BlockPlace {
        let FilePosition { raw, raw_text, .. } = self.start;
        let (text, records, lines) = (self.base, self.records, self.lines);
        BlockPlace::new(FilePosition { raw, raw_text, text, records, lines }, block)
    }

    /// Bases in the blocks accepted so far.
    #[must_use]
    pub fn bases(&self) -> u64 {
        self.bases
    }

    /// Accepts the next block. `block` must be the one with the next index. Where BGZF ends, blocks
    /// that were read ahead lose their reads: a stream gives them.
    ///
    /// # Errors
    /// [`ReadsError::Malformed`] for the first malformed record of the file,
    /// [`ReadsError::PhredOffset`] once the first 10,000 records have shown it (or the file's end,
    /// if it has fewer), [`InputError::Compressed`] if BGZF blocks do not join, and
    /// [`ReadsError::Inconsistent`] if reading again does not show why two blocks do not join.
    pub fn accept(
        &mut self,
        source: &ReadSource,
        block: &mut InputBlock,
    ) -> Result<(), ReadsError> {
        debug_assert_eq!((block.file, block.index), (self.file, self.next_index));
        self.next_index += 1;
        if block.leaves_bgzf && self.stream_from == 0 {
            self.continue_as_stream(source);
        }
        if block.index < self.stream_from {
            block.discard();
            return Ok(());
        }
        self.check_raw(source, block)?;
        if !self.joins(block) {
            return Err(self.diagnose(source));
        }
        if let Some(defect) = &block.defect {
            return Err(self.malformed(source, block, defect));
        }
        let place = &block.place;
        if let Some((raw_start, _)) = place.raw.filter(|_| self.base <= self.record_end) {
            self.anchor = (raw_start, self.base);
        }
        if place.first.is_some() {
            self.record_end = self.base + place.end;
            self.expected = self.record_end;
        } else if self.expected <= self.base + place.own_bytes {
            self.in_blank_tail = true;
            self.expected = self.base + place.own_bytes;
        }
        self.base += place.own_bytes;
        self.records += block.records;
        self.lines += block.lines;
        self.bases += block.bases;
        if block.last && self.expected != self.base {
            return Err(self.diagnose(source));
        }
        if let Some(name) = block.last_name() {
            self.last_name.clear();
            self.last_name.extend_from_slice(name);
        }
        self.check_phred_offset(source, block)
    }

    /// The rest of the file comes as a stream, from the end of the last record on.
    fn continue_as_stream(&mut self, source: &ReadSource) {
        let (raw, raw_text) = self.anchor;
        let (text, records, lines) = (self.record_end, self.records, self.lines);
        let place = FilePosition { raw, raw_text, text, records, lines };
        self.stream_from = source.continue_as_stream(self.file, place);
        (self.start.raw, self.start.raw_text) = (raw, raw_text);
        (self.base, self.expected) = (text, text);
        self.in_blank_tail = false;
    }

    /// Compressed units must join too, or one was taken for a unit that is none.
    fn check_raw(&mut self, source: &ReadSource, block: &InputBlock) -> Result<(), ReadsError> {
        let Some((first, end)) = block.place.raw else { return Ok(()) };
        if first != self.raw_end {
            let problem = format!("blocks do not join: one ends here, the next starts at {first}");
            let input = source.input_file(self.file);
            return Err(input.compressed_error(self.raw_end, problem).into());
        }
        self.raw_end = end;
        Ok(())
    }

    /// Whether the block starts where the one before ended.
    fn joins(&self, block: &InputBlock) -> bool {
        let place = &block.place;
        match place.first {
            Some(first) => !self.in_blank_tail && self.base + first == self.expected,
            None if self.expected > self.base + place.own_bytes => true,
            None => self.expected >= self.base + place.blank_from,
        }
    }

    /// Reads again from the last sure record, one record after the other, to name what is wrong.
    fn diagnose(&self, source: &ReadSource) -> ReadsError {
        let (raw_start, base) = self.anchor;
        match source.first_defect(self.file, raw_start, self.record_end - base) {
            Ok(Some(mut defect)) => {
                defect.record += self.records;
                defect.line = defect.line.map(|line| line + self.lines);
                defect.byte += self.record_end;
                self.error(source, &defect, None)
            }
            Ok(None) => ReadsError::Inconsistent {
                path: source.path(self.file).to_path_buf(),
                byte: self.expected,
            },
            Err(error) => error,
        }
    }

    fn malformed(&self, source: &ReadSource, block: &InputBlock, defect: &Defect) -> ReadsError {
        let mut defect = defect.clone();
        defect.record += self.records;
        defect.line = defect.line.map(|line| line + self.lines);
        defect.byte += self.base;
        self.error(source, &defect, block.last_name())
    }

    /// `defect` counts from the start of the file; `before` is the name of the read before it.
    fn error(&self, source: &ReadSource, defect: &Defect, before: Option<&[u8]>) -> ReadsError {
        let path = source.path(self.file);
        if let Problem::Container(defect) = &defect.problem {
            // The first one has the number 1.
            return InputError::from(defect.clone().at(path, self.next_index, self.base)).into();
        }
        let byte = defect.byte;
        let place = match defect.line {
            Some(line) => RecordPlace::Line { line: line + 1, byte },
            None => RecordPlace::Byte(byte),
        };
        ReadsError::Malformed(Box::new(Malformed {
            path: path.to_path_buf(),
            record: defect.record + 1,
            name: shown_name(&defect.name),
            after: shown_name(before.unwrap_or(&self.last_name)),
            place,
            problem: defect.problem.to_string(),
            hint: defect.problem.hint(),
        }))
    }

    fn check_phred_offset(
        &mut self,
        source: &ReadSource,
        block: &InputBlock,
    ) -> Result<(), ReadsError> {
        if !self.qualities.open {
            return Ok(());
        }
        for read in 0..block.reads.reads.len() {
            self.qualities.add(block.reads.qualities(read));
        }
        if block.last || self.qualities.records >= PHRED_RECORDS {
            self.qualities.open = false;
            if let Some(encoding) = self.qualities.other_encoding() {
                return Err(ReadsError::PhredOffset {
                    path: source.path(self.file).to_path_buf(),
                    encoding,
                    records: self.qualities.records,
                    lowest: self.qualities.lowest,
                    highest: self.qualities.highest,
                });
            }
        }
        Ok(())
    }
}

/// The qualities of the first [`PHRED_RECORDS`] records.
#[derive(Debug)]
struct QualityRange {
    /// Still looking.
    open: bool,
    records: u64,
    bytes: u64,
    lowest: u8,
    highest: u8,
}

impl QualityRange {
    fn new(open: bool) -> Self {
        Self { open, records: 0, bytes: 0, lowest: u8::MAX, highest: 0 }
    }

    fn add(&mut self, qualities: &[u8]) {
        if self.records < PHRED_RECORDS {
            self.records += 1;
            self.bytes += qualities.len() as u64;
            let fold =
                |(lowest, highest): (u8, u8), &byte: &u8| (lowest.min(byte), highest.max(byte));
            (self.lowest, self.highest) = qualities.iter().fold((self.lowest, self.highest), fold);
        }
    }

    /// The encoding with offset 64 that these are, if they hardly can be Phred+33.
    ///
    /// No byte is out of the question in Phred+33, so it is a matter of the whole range (Cock et
    /// al. 2010, doi:10.1093/nar/gkp1137, for the encodings). Phred+64 has `@` (64) to about `i`
    /// (105), Solexa starts at `;` (59). Read as Phred+33 that would be all qualities from 26 or 31
    /// up to 72 at most. Either the highest byte is `a` (97) or more, that is Phred+33 quality 64,
    /// which instruments do not give and consensus callers that do exceed (they go to 93); or
    /// it is above `J` (74), quality 41, and there are 10,000 bases and not one below 31. Short
    /// inputs of high quality (`I`, `J`, `K`, `~`) are neither.
    fn other_encoding(&self) -> Option<&'static str> {
        const SURE_BYTES: u64 = 10_000;
        if self.highest > b'i' {
            return None;
        }
        match (self.lowest, self.highest) {
            (b'@'.., b'a'..) => Some("Phred+64"),
            (b';'.., b'a'..) => Some("Solexa+64"),
            (b'@'.., b'K'..) if self.bytes >= SURE_BYTES => Some("Phred+64"),
            _ => None,
        }
    }
}
