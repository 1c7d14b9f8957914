//! Four-line FASTQ front to back as text, whole records at a time: for what rewrites files rather
//! than reads them.

use std::path::Path;

use memchr::memchr;
use seqloom_format::fastq::{
    Grammar, ParseOptions, Stop, TextRange, detect_grammar, name_of_header, parse,
};
use seqloom_format::{ReadBlock, ReadSpans};

use super::error::ReadsError;
use super::options::MAX_FASTQ_BYTES;
use crate::input::SAMPLE_BYTES;
use crate::input::malformed::shown_name;
use crate::input::raw::Input;
use crate::input::reader::TextReader;

/// Consecutive records as they are in the input.
#[derive(Debug)]
pub(crate) struct Records<'a> {
    /// Their text.
    pub(crate) text: &'a [u8],
    /// Start of each in `text`, and the end of the last one.
    pub(crate) starts: &'a [usize],
    /// Their parts in `text`.
    pub(crate) reads: &'a [ReadSpans],
}

impl Records<'_> {
    /// How many there are.
    #[must_use]
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.reads.len()
    }
}

/// Reads and checks the records of one input.
pub(crate) struct RecordReader {
    reader: TextReader,
    block: ReadBlock,
    starts: Vec<usize>,
    /// Bytes of the block's buffer that were handed out.
    used: usize,
    ended: bool,
    started: bool,
    records: u64,
    lines: u64,
}

impl RecordReader {
    /// Opens `path`, `-` being standard input.
    ///
    /// # Errors
    /// The input cannot be opened.
    pub(crate) fn open(path: &Path) -> Result<Self, ReadsError> {
        Ok(Self {
            reader: TextReader::new(Input::open(path)?, 0),
            block: ReadBlock::default(),
            starts: Vec::new(),
            used: 0,
            ended: false,
            started: false,
            records: 0,
            lines: 0,
        })
    }

    /// The next records, at least one and about `want` bytes of them; `None` at the end.
    ///
    /// # Errors
    /// What the system or the decompressor says, input that is not four-line FASTQ, and malformed
    /// records.
    pub(crate) fn next(&mut self, want: usize) -> Result<Option<Records<'_>>, ReadsError> {
        self.block.bytes.drain(..self.used);
        self.used = 0;
        let mut want = want.max(SAMPLE_BYTES);
        loop {
            self.ended = self.reader.fill_waiting(&mut self.block.bytes, want)?;
            if !self.started {
                self.check_grammar()?;
                self.started = true;
            }
            self.parse()?;
            if !self.block.reads.is_empty() || self.ended {
                break;
            }
            if self.block.bytes.len() > MAX_FASTQ_BYTES {
                let name = shown_name(name_of_header(&self.block.bytes)).unwrap_or_default();
                let problem = format!(
                    "record {} ({name}): the record is longer than {MAX_FASTQ_BYTES} bytes",
                    self.records + 1
                );
                return Err(self.unsupported(problem, "is this FASTQ?"));
            }
            want = (2 * want).min(MAX_FASTQ_BYTES + 1);
        }
        if self.block.reads.is_empty() {
            return Ok(None);
        }
        let text = &self.block.bytes[..self.starts.last().copied().unwrap_or(0)];
        Ok(Some(Records { text, starts: &self.starts, reads: &self.block.reads }))
    }

    fn check_grammar(&self) -> Result<(), ReadsError> {
        let sample = &self.block.bytes[..self.block.bytes.len().min(SAMPLE_BYTES)];
        let whole = self.ended && sample.len() == self.block.bytes.len();
        match detect_grammar(sample, whole) {
            Grammar::FourLine => Ok(()),
            Grammar::MultiLine => Err(self.unsupported(
                "FASTQ with wrapped lines".to_owned(),
                "unwrap it, for example with `seqtk seq -l0`",
            )),
            Grammar::Fasta => Err(self.unsupported("FASTA".to_owned(), "this command takes FASTQ")),
        }
    }

    fn parse(&mut self) -> Result<(), ReadsError> {
        let block = &mut self.block;
        block.reads.clear();
        let limit = block.bytes.len();
        let range = TextRange { from: 0, limit, at_eof: self.ended };
        let parsed = parse(Grammar::FourLine, block, range, ParseOptions::default());
        // A record starts with its '@', which the name follows.
        let starts = block.reads.iter().map(|read| read.name.start as usize - 1);
        self.starts.clear();
        self.starts.extend(starts);
        if let Stop::Defect(defect) = &parsed.stop {
            // Those before it are handed out first.
            if block.reads.is_empty() {
                let problem = format!(
                    "record {}, line {}: {}",
                    self.records + defect.record + 1,
                    self.lines + defect.line + 1,
                    defect.kind
                );
                return Err(self.unsupported(problem, "repair the file first"));
            }
        }
        // Blank lines after the last record of all belong to none.
        if let Some(last) = block.reads.last() {
            let qualities_end = (last.qualities.start + last.qualities.len) as usize;
            let rest = memchr(b'\n', &block.bytes[qualities_end..parsed.end]);
            self.starts.push(rest.map_or(parsed.end, |at| qualities_end + at + 1));
        }
        self.used = parsed.end;
        self.records += parsed.records;
        self.lines += parsed.lines;
        Ok(())
    }

    fn unsupported(&self, problem: String, hint: &'static str) -> ReadsError {
        self.reader.input().unsupported(problem, hint).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8], want: usize) -> Result<Vec<String>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("reads.fq");
        std::fs::write(&path, text).unwrap();
        let mut reader = RecordReader::open(&path).map_err(|e| e.to_string())?;
        let mut found = Vec::new();
        while let Some(records) = reader.next(want).map_err(|e| e.to_string())? {
            assert_eq!(records.starts.len(), records.len() + 1);
            for ends in records.starts.windows(2) {
                let text = &records.text[ends[0]..ends[1]];
                found.push(String::from_utf8_lossy(text).into_owned());
            }
        }
        Ok(found)
    }

    #[test]
    fn records_come_as_they_are() {
        let one = "@a b\nAC\n+a b\nII\n";
        let two = "@c\r\nA\r\n+\r\n@\r\n";
        assert_eq!(read(format!("{one}{two}").as_bytes(), 1).unwrap(), [one, two]);
        assert_eq!(read(format!("{one}\n\n").as_bytes(), 1).unwrap(), [one]);
        assert_eq!(read(b"@a\nA\n+\nI", 1).unwrap(), ["@a\nA\n+\nI"]);
        assert_eq!(read(b"", 1).unwrap(), Vec::<String>::new());
        let many = one.repeat(40_000);
        assert_eq!(read(many.as_bytes(), 1 << 17).unwrap(), vec![one; 40_000]);
    }

    #[test]
    fn what_is_not_four_line_fastq_is_refused() {
        let good = "@a\nAC\n+\nII\n";
        let broken = read(format!("{good}@b\nAC\n+\nI\n{good}").as_bytes(), 1).unwrap_err();
        assert!(broken.contains("record 2, line 8"), "{broken}");
        assert!(read(b">a\nACGT\n", 1).unwrap_err().contains("FASTA"));
        let wrapped = read(b"@a\nAC\nGT\n+\nII\nII\n", 1).unwrap_err();
        assert!(wrapped.contains("wrapped"), "{wrapped}");
    }
}
