//! One input of aligned reads, and how it is read.

use std::sync::atomic::AtomicU64;

use seqloom_format::bam::Header;
use seqloom_format::sam::ReferenceNames;

use super::chunk::BgzfPosition;
use super::error::AlignmentError;
use super::opening::{self, AlignmentFormat, Opened};
use super::options::AlignmentOptions;
use crate::cram::{Consumer, CramInput, CramLimits};
use crate::input::bam;
use crate::input::claim::Chunks;
use crate::input::raw::Input;
use crate::input::reader::{Compression, Truncation};
use crate::input::stream::{Cut, Limits, MISSING_EOF_BLOCK, SharedStream, StreamState};

/// Grammar by which a stream of aligned reads is cut.
#[derive(Debug, Clone, Copy)]
pub(super) enum StreamGrammar {
    Bam,
    Sam,
}

impl Cut for StreamGrammar {
    fn last_boundary(self, text: &[u8]) -> usize {
        match self {
            Self::Bam => bam::last_boundary(text),
            Self::Sam => memchr::memrchr(b'\n', text).map_or(0, |newline| newline + 1),
        }
    }

    fn needs_eof_block(self) -> bool {
        true
    }
}

/// How an input is read.
pub(super) enum Access {
    /// BAM by chunks, with the place of its first record.
    Bgzf(Chunks, BgzfPosition),
    /// SAM by chunks.
    Plain(Chunks),
    Stream(Box<SharedStream<StreamGrammar>>),
    /// CRAM.
    Containers(Box<CramInput>),
}

/// One input.
pub(super) struct InputFile {
    pub(super) input: Input,
    pub(super) format: AlignmentFormat,
    pub(super) access: Access,
    pub(super) names: ReferenceNames,
    pub(super) reference_count: usize,
    pub(super) header_bytes: u64,
    pub(super) header_lines: u64,
    /// The file lacks its last block, and that is allowed.
    pub(super) missing_eof: Option<Truncation>,
    /// Relaxed: a count for who watches.
    pub(super) bytes_read: AtomicU64,
}

impl InputFile {
    pub(super) fn is_exhausted(&self) -> bool {
        match &self.access {
            Access::Bgzf(chunks, _) | Access::Plain(chunks) => chunks.is_exhausted(),
            Access::Stream(stream) => stream.is_ended(),
            Access::Containers(containers) => containers.is_ended(),
        }
    }

    /// Chooses how an opened input is read.
    pub(super) fn new(
        opened: Opened,
        header: &Header,
        options: &AlignmentOptions,
    ) -> Result<Self, AlignmentError> {
        let Opened { reader, text, format, header_bytes, header_lines, fault, .. } = opened;
        let references = header.references();
        let input = reader.input().clone();
        let block_bytes = options.block_bytes;
        let mut missing_eof = None;
        let access = match (format, reader.compression(), input.size) {
            (AlignmentFormat::Bam, Some(Compression::Bgzf), Some(size)) => {
                if !opening::ends_with_eof_block(&input, size)? {
                    opening::refuse_trailing(&input, size)?;
                    let (path, problem) = (input.path.to_path_buf(), MISSING_EOF_BLOCK);
                    if !options.allow_truncated {
                        return Err(AlignmentError::MissingEof { path, byte: size, problem });
                    }
                    missing_eof = Some(Truncation { byte: size, problem: problem.into() });
                }
                let first = opening::locate(&input, size, header_bytes)?;
                Access::Bgzf(Chunks::of_bgzf(size, block_bytes), first)
            }
            (AlignmentFormat::Cram, ..) => {
                let limits = CramLimits {
                    container_bytes: options.max_container_bytes,
                    allow_truncated: options.allow_truncated,
                    consumer: Consumer::Alignments,
                };
                let rest = (text, header_bytes, fault);
                Access::Containers(Box::new(CramInput::open(reader, rest, header.clone(), limits)?))
            }
            (AlignmentFormat::Sam, Some(Compression::Plain), Some(size)) => {
                Access::Plain(Chunks::new(size, block_bytes as u64))
            }
            _ => {
                let (grammar, max_record_bytes) = match format {
                    AlignmentFormat::Sam => (StreamGrammar::Sam, options.max_line_bytes),
                    AlignmentFormat::Bam | AlignmentFormat::Cram => {
                        (StreamGrammar::Bam, bam::MAX_FRAME_BYTES)
                    }
                };
                let limits = Limits { block_bytes, max_record_bytes };
                let state = StreamState::new(reader, grammar, text, limits);
                Access::Stream(Box::new(SharedStream::new(state.with_fault(fault))))
            }
        };
        Ok(Self {
            input,
            format,
            access,
            names: ReferenceNames::new(references),
            reference_count: references.len(),
            header_bytes,
            header_lines,
            missing_eof,
            bytes_read: AtomicU64::new(0),
        })
    }
}
