//! A file: one input, how it is read, and how far it is.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use seqloom_format::fastq::Grammar;

use super::error::ReadsError;
use super::grammar::StreamGrammar;
use super::opening::{InputFormat, Opened, ReadFormat};
use super::options::{MAX_FASTQ_BYTES, SourceOptions};
use super::place::{FilePosition, FileStart};
use crate::cram::{Consumer, CramInput, CramLimits};
use crate::input::MAX_RECORD_BYTES;
use crate::input::bam::MAX_FRAME_BYTES;
use crate::input::claim::Chunks;
use crate::input::raw::Input;
use crate::input::reader::{Compression, TextReader};
use crate::input::restart::RestartPoint;
use crate::input::stream::{Limits, SharedStream, StreamState};

/// How a file is read.
pub(crate) enum Access {
    Plain(Chunks),
    Bgzf(Chunks),
    Stream(Box<SharedStream<StreamGrammar>>),
    Containers(Box<CramInput>),
}

/// One input as it is read.
pub(crate) struct InputFile {
    pub(crate) input: Input,
    pub(crate) format: InputFormat,
    pub(crate) source: Access,
    pub(crate) progress: Progress,
    /// Position of its first record: after a BAM header, or where a part of the input starts.
    pub(crate) start: FilePosition,
    /// Longest record, in bytes.
    pub(crate) max_record_bytes: usize,
    /// Somewhere in BGZF something else follows: what is left is to be read as a stream. Relaxed:
    /// set before its block is counted as delivered, by Release, and looked at after that count.
    pub(crate) leaves_bgzf: AtomicBool,
    /// The stream of the rest.
    tail: OnceLock<Tail>,
    block_bytes: usize,
    record_every_bytes: Option<u64>,
}

/// The rest of a BGZF file in which something else than BGZF follows, read front to back.
struct Tail {
    stream: SharedStream<StreamGrammar>,
    /// Index of its first block.
    first_index: u64,
}

/// How far a file is; every counter only grows, but for `starved_since`.
///
/// Relaxed: they choose the file that is read next and how far one may lead, on which no result
/// depends, and one that is seen late is off by a few blocks. `delivered_blocks` alone says more:
/// see [`InputFile::is_exhausted`].
#[derive(Debug, Default)]
pub(crate) struct Progress {
    pub(crate) claimed_blocks: AtomicU64,
    pub(crate) delivered_blocks: AtomicU64,
    pub(crate) reads: AtomicU64,
    pub(crate) text_bytes: AtomicU64,
    pub(crate) raw_bytes: AtomicU64,
    /// Milliseconds from the source's start, plus one, since when a pipe has nothing; 0: it had.
    pub(crate) starved_since: AtomicU64,
}

impl Progress {
    /// Mean so far, at least 1.
    pub(crate) fn reads_per_block(&self) -> u64 {
        let blocks = self.delivered_blocks.load(Ordering::Relaxed).max(1);
        (self.reads.load(Ordering::Relaxed) / blocks).max(1)
    }

    /// Reads delivered, and those in claimed blocks at the mean so far.
    pub(crate) fn expected_reads(&self) -> u64 {
        let claimed = self.claimed_blocks.load(Ordering::Relaxed);
        let pending = claimed.saturating_sub(self.delivered_blocks.load(Ordering::Relaxed));
        self.reads.load(Ordering::Relaxed) + pending * self.reads_per_block()
    }

    /// Text that `reads` reads take.
    pub(crate) fn bytes_of(&self, reads: u64) -> u64 {
        let mean = self.text_bytes.load(Ordering::Relaxed) as f64
            / self.reads.load(Ordering::Relaxed).max(1) as f64;
        (mean * reads as f64) as u64
    }
}

/// A reader for a stream that is not read on from what was read to find out what it is: from
/// `start` on, or from its beginning with restart points recorded.
fn read_again(
    input: &Input,
    start: Option<FilePosition>,
    restart: Option<&RestartPoint>,
    record_every_bytes: Option<u64>,
) -> Result<Option<TextReader>, ReadsError> {
    let input = input.clone();
    Ok(match (start, restart, record_every_bytes) {
        (Some(_), Some(point), _) => Some(TextReader::restarted(input, point)?),
        (Some(start), None, _) => Some(TextReader::new(input, start.raw)),
        (None, _, Some(every_bytes)) => Some(TextReader::new(input, 0).recording(every_bytes)),
        (None, _, None) => None,
    })
}

impl InputFile {
    /// The file that an opened input becomes, from `start` on if that is given. A stream cannot be
    /// read from its middle.
    pub(crate) fn new(
        opened: Opened,
        options: &SourceOptions,
        start: Option<&FileStart>,
    ) -> Result<Self, ReadsError> {
        let (block_bytes, max_text_bytes) = (options.block_bytes, options.max_text_bytes);
        let record_every_bytes = options.restart_every_bytes;
        let restart = start.and_then(|start| start.restart.as_ref());
        let start = start.map(|start| start.place);
        let Opened { mut reader, mut text, format, header, header_bytes } = opened;
        let max_record_bytes = match format.reads {
            ReadFormat::Fastq | ReadFormat::WrappedFastq => max_text_bytes.min(MAX_FASTQ_BYTES),
            ReadFormat::Fasta => max_text_bytes.min(MAX_RECORD_BYTES),
            ReadFormat::Bam | ReadFormat::Cram => MAX_FRAME_BYTES,
        };
        let input = reader.input().clone();
        let first = FilePosition::after_header(header_bytes);
        let source = match (format.reads, format.compression, input.size) {
            (ReadFormat::Fastq, Compression::Plain, Some(size)) => {
                let all = Chunks::new(size, block_bytes as u64);
                Access::Plain(all.starting_at(start.map_or(0, |start| start.text)))
            }
            (ReadFormat::Fastq, Compression::Bgzf, Some(size)) if restart.is_none() => {
                let all = Chunks::of_bgzf(size, block_bytes);
                Access::Bgzf(all.starting_at(start.map_or(0, |start| start.raw)))
            }
            (ReadFormat::Cram, ..) => {
                let limits = CramLimits {
                    container_bytes: options.max_container_bytes,
                    allow_truncated: false,
                    consumer: Consumer::Reads,
                };
                let rest = (text, header_bytes, None);
                let header = header.unwrap_or_default();
                Access::Containers(Box::new(CramInput::open(reader, rest, header, limits)?))
            }
            (reads, ..) => {
                let grammar = match reads {
                    ReadFormat::Fastq => StreamGrammar::Text(Grammar::FourLine),
                    ReadFormat::WrappedFastq => StreamGrammar::Text(Grammar::MultiLine),
                    ReadFormat::Fasta => StreamGrammar::Text(Grammar::Fasta),
                    ReadFormat::Bam | ReadFormat::Cram => StreamGrammar::Bam,
                };
                let limits = Limits { block_bytes, max_record_bytes };
                let skip = start.map_or(0, |start| start.text - start.raw_text);
                let is_gzip = matches!(format.compression, Compression::Gzip | Compression::Bgzf);
                let may_restart = is_gzip && input.size.is_some() && reads != ReadFormat::Bam;
                let record_every_bytes = record_every_bytes.filter(|_| may_restart);
                if let Some(again) = read_again(&input, start, restart, record_every_bytes)? {
                    (reader, text) = (again, Vec::new());
                }
                let state = StreamState::new(reader, grammar, text, limits).after(skip);
                Access::Stream(Box::new(SharedStream::new(state)))
            }
        };
        let (progress, start) = (Progress::default(), start.unwrap_or(first));
        Ok(InputFile {
            input,
            format,
            source,
            progress,
            start,
            max_record_bytes,
            leaves_bgzf: AtomicBool::new(false),
            tail: OnceLock::new(),
            block_bytes,
            record_every_bytes,
        })
    }

    /// The stream that the file is, or that the rest of it is.
    pub(crate) fn stream(&self) -> Option<&SharedStream<StreamGrammar>> {
        match &self.source {
            Access::Stream(stream) => Some(stream),
            Access::Plain(_) | Access::Bgzf(_) | Access::Containers(_) => {
                self.tail.get().map(|tail| &tail.stream)
            }
        }
    }

    /// Reads BGZF on as a stream: from the block at `place.raw`, before which there are
    /// `place.raw_text` bytes of text, and from the record at `place.text` on. The index of the
    /// stream's first block; those of other blocks that were handed out are lower. The first call
    /// counts.
    pub(crate) fn continue_as_stream(&self, place: FilePosition) -> u64 {
        let make = || {
            let first_index = match &self.source {
                Access::Plain(chunks) | Access::Bgzf(chunks) => chunks.close(),
                Access::Stream(_) | Access::Containers(_) => 0,
            };
            let reader = TextReader::new(self.input.clone(), place.raw);
            let reader = reader.with_text_before(place.raw_text);
            let reader = match self.record_every_bytes {
                Some(every_bytes) => reader.recording(every_bytes),
                None => reader,
            };
            let (block_bytes, max_record_bytes) = (self.block_bytes, self.max_record_bytes);
            let limits = Limits { block_bytes, max_record_bytes };
            let grammar = StreamGrammar::Text(Grammar::FourLine);
            let state = StreamState::new(reader, grammar, Vec::new(), limits);
            let state = state.after(place.text - place.raw_text).numbered_from(first_index);
            Tail { stream: SharedStream::new(state), first_index }
        };
        self.tail.get_or_init(make).first_index
    }

    /// All of it has been taken. Of BGZF that is known once all has been handed out: something else
    /// may follow in the last of it.
    pub(crate) fn is_exhausted(&self) -> bool {
        if let Some(stream) = self.stream() {
            return stream.is_ended();
        }
        match &self.source {
            Access::Bgzf(chunks) => {
                let delivered = self.progress.delivered_blocks.load(Ordering::Acquire);
                delivered == chunks.count() && !self.leaves_bgzf.load(Ordering::Relaxed)
            }
            Access::Plain(chunks) => chunks.is_exhausted(),
            Access::Containers(cram) => cram.is_ended(),
            Access::Stream(_) => true,
        }
    }

    /// The containers that the file has.
    pub(crate) fn containers(&self) -> Option<&CramInput> {
        match &self.source {
            Access::Containers(cram) => Some(cram),
            _ => None,
        }
    }

    /// A stream that may have nothing for now.
    pub(crate) fn is_pipe(&self) -> bool {
        self.input.size.is_none()
    }
}
