//! What an input is, found out from its first bytes, without ever waiting for one input alone.

use std::time::{Duration, Instant};

use seqloom_format::bam::Header;
use seqloom_format::fastq::{Grammar, detect_grammar};

use super::error::ReadsError;
use crate::cram::Consumer;
use crate::input::SAMPLE_BYTES;
use crate::input::bam::more_header_bytes;
use crate::input::error::HeaderProblem;
use crate::input::header::RecordFormat;
use crate::input::raw::Input;
use crate::input::reader::{Compression, Fill, TextReader};
use crate::input::waiting::{self, WAIT};

/// Text taken at a time from a pipe whose turn it is not.
const AHEAD_STEP_BYTES: usize = 1024 * 1024;

/// Kind of reads, recognised by content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadFormat {
    /// FASTQ of four lines a record (also: nothing at all).
    Fastq,
    /// FASTQ with wrapped lines.
    WrappedFastq,
    /// FASTA: reads without qualities.
    Fasta,
    /// Unaligned BAM.
    Bam,
    /// Unaligned CRAM.
    Cram,
}

impl ReadFormat {
    /// Whether its records are those of alignments: they say which reads are mates, and have tags.
    #[must_use]
    pub fn has_records(self) -> bool {
        self.records().is_some()
    }

    fn records(self) -> Option<RecordFormat> {
        match self {
            Self::Fastq | Self::WrappedFastq | Self::Fasta => None,
            Self::Bam => Some(RecordFormat::Bam),
            Self::Cram => Some(RecordFormat::Cram),
        }
    }

    /// Name in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fastq | Self::WrappedFastq => "FASTQ",
            Self::Fasta => "FASTA",
            Self::Bam => "BAM",
            Self::Cram => "CRAM",
        }
    }
}

/// Format and compression of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InputFormat {
    /// Kind of reads.
    pub reads: ReadFormat,
    /// Compression around them.
    pub compression: Compression,
}

/// An input whose first text is read and named.
pub(crate) struct Opened {
    pub(crate) reader: TextReader,
    /// Text read so far, after the header of BAM or CRAM.
    pub(crate) text: Vec<u8>,
    pub(crate) format: InputFormat,
    pub(crate) header: Option<Header>,
    /// Bytes of text before the first record: such a header.
    pub(crate) header_bytes: u64,
}

/// An input on its way to be [`Opened`].
struct Opening {
    reader: TextReader,
    text: Vec<u8>,
    want: usize,
    named: Option<(InputFormat, Option<Header>)>,
    header_bytes: u64,
}

impl Opening {
    fn new(input: Input) -> Self {
        let reader = TextReader::new(input, 0);
        Self { reader, text: Vec::new(), want: SAMPLE_BYTES, named: None, header_bytes: 0 }
    }

    /// Reads as far as it goes without waiting; `true` once the format is known.
    fn advance(&mut self) -> Result<bool, ReadsError> {
        while self.named.is_none() {
            let ended = match self.reader.fill(&mut self.text, self.want)? {
                Fill::Waiting => return Ok(false),
                Fill::Full => false,
                Fill::End => true,
            };
            let compression = self.reader.compression().unwrap_or(Compression::Plain);
            let reads = sniff_reads(&self.text, ended)
                .map_err(|(problem, hint)| self.reader.input().unsupported(problem, hint))?;
            let format = InputFormat { reads, compression };
            match reads.records() {
                None => self.named = Some((format, None)),
                Some(records) => {
                    let header = self.read_header(records, ended)?;
                    self.named = header.map(|header| (format, Some(header)));
                }
            }
        }
        Ok(true)
    }

    /// Takes the header off the text; `None` if more text is needed first.
    fn read_header(
        &mut self,
        records: RecordFormat,
        ended: bool,
    ) -> Result<Option<Header>, ReadsError> {
        let input = self.reader.input();
        match records.read_header(&self.text, ended, input, Consumer::Reads) {
            Ok(Some((header, bytes))) => {
                self.text.drain(..bytes);
                self.header_bytes = bytes as u64;
                Ok(Some(header))
            }
            Ok(None) => {
                self.want = more_header_bytes(self.text.len());
                Ok(None)
            }
            Err(HeaderProblem::Input(error)) => Err(error.into()),
            Err(HeaderProblem::Text(error)) => {
                let hint = "check the file with `samtools view -H`";
                Err(input.unsupported(error.to_string(), hint).into())
            }
        }
    }

    fn is_stream(&self) -> bool {
        self.reader.input().size.is_none()
    }

    /// Waits for data: not to be named or, being named, ahead of one that is not.
    fn wants_data(&self, max_ahead_bytes: usize) -> bool {
        self.is_stream() && (self.named.is_none() || self.text.len() < max_ahead_bytes)
    }
}

/// Opens all inputs. Two pipes may be written by one program that goes on with the second only
/// when the first is read: while one is not named yet, the other is read ahead, up to
/// `max_ahead_bytes` of text; then nothing for `patience` is an error.
pub(crate) fn open_all(
    inputs: Vec<Input>,
    max_ahead_bytes: usize,
    patience: Duration,
) -> Result<Vec<Opened>, ReadsError> {
    let mut openings: Vec<Opening> = inputs.into_iter().map(Opening::new).collect();
    let mut last_news = Instant::now();
    loop {
        let mut missing = None;
        for (file, opening) in openings.iter_mut().enumerate() {
            if !opening.advance()? {
                missing = missing.or(Some(file));
            }
        }
        let Some(missing) = missing else { break };
        for opening in openings.iter_mut().filter(|it| it.named.is_some() && it.is_stream()) {
            if opening.text.len() < max_ahead_bytes {
                let want = opening.text.len() + AHEAD_STEP_BYTES;
                opening.reader.fill(&mut opening.text, want)?;
            }
        }
        if wait(&openings, max_ahead_bytes)? {
            last_news = Instant::now();
        }
        let full = openings.iter().find(|it| it.is_stream() && it.text.len() >= max_ahead_bytes);
        if let Some(full) = full.filter(|_| last_news.elapsed() > patience) {
            return Err(ReadsError::Skew {
                path: openings[missing].reader.input().path.to_path_buf(),
                ahead: full.reader.input().path.to_path_buf(),
                ahead_bytes: full.text.len() as u64,
                seconds: patience.as_secs(),
            });
        }
    }
    Ok(openings
        .into_iter()
        .filter_map(|opening| {
            let Opening { reader, text, named, header_bytes, .. } = opening;
            named.map(|(format, header)| Opened { reader, text, format, header, header_bytes })
        })
        .collect())
}

/// Waits a while for data on the pipes; whether there are some.
fn wait(openings: &[Opening], max_ahead_bytes: usize) -> Result<bool, ReadsError> {
    let waiting =
        openings.iter().filter(|it| it.wants_data(max_ahead_bytes) && !it.reader.is_ended());
    let inputs: Vec<&Input> = waiting.map(|it| it.reader.input()).collect();
    Ok(waiting::wait(&inputs, WAIT)?)
}

/// Kind of reads by their first text. The error is what it is instead and what to do.
fn sniff_reads(text: &[u8], ended: bool) -> Result<ReadFormat, (String, &'static str)> {
    const CONVERT: &str = "convert it with `samtools fastq` or `samtools view -b`";
    const EXPECTED: &str = "FASTQ, FASTA, unaligned BAM or CRAM is expected";
    match RecordFormat::sniff(text)? {
        Some(RecordFormat::Bam) => return Ok(ReadFormat::Bam),
        Some(RecordFormat::Cram) => return Ok(ReadFormat::Cram),
        None => {}
    }
    match text {
        [] => Ok(ReadFormat::Fastq),
        [b'@', b'H', b'D', b'\t', ..] | [b'@', b'S', b'Q', b'\t', ..] => {
            Err(("SAM text is not read".into(), CONVERT))
        }
        [b'@' | b'>', ..] => Ok(match detect_grammar(text, ended) {
            Grammar::FourLine => ReadFormat::Fastq,
            Grammar::MultiLine => ReadFormat::WrappedFastq,
            Grammar::Fasta => ReadFormat::Fasta,
        }),
        [0xef, 0xbb, 0xbf, ..] => {
            Err(("the file starts with a byte order mark".into(), "save it as plain text"))
        }
        // Blank lines only: no reads. `parse` says what is wrong if more follows.
        [b'\n' | b'\r', ..] => Ok(ReadFormat::Fastq),
        [other, ..] => {
            Err((format!("not reads: the first byte is {:?}", char::from(*other)), EXPECTED))
        }
    }
}
