//! Aligned reads, SAM, BAM or CRAM, from files and pipes, by many workers at once and without one
//! that feeds the others.
//!
//! A worker with nothing better to do calls [`AlignmentSource::fetch`]: it takes the next chunk
//! of the input whose turn it is, decompresses and checks it, and gets a block of BAM records.
//! Blocks come in any order; [`BlockCheck`] takes those of an input in order and makes sure of
//! them.
//!
//! * Regular files of BAM in BGZF: claimed by one `fetch_add`, inflated and checked by all workers
//!   at the same time (`chunk`). Where a chunk's first record starts is guessed.
//! * Regular files of uncompressed SAM: likewise (`lines`), nothing to guess.
//! * CRAM: one worker at a time reads a container, and decodes it after it has let the input go.
//! * All else (pipes, gzip, zstd, uncompressed BAM, compressed SAM): one worker at a time
//!   decompresses and cuts, and checks or parses after it has let the input go.
//!
//! Every record is checked in full (`bam::check_record`) and gets the `bin` that belongs to it, so
//! that the records are those that `samtools view -b` writes. What is recognised by its content is
//! never recognised by a file's name. Bounds: [`AlignmentOptions`], [`MAX_RECORD_BYTES`], and the
//! text of one chunk: BGZF of nothing but one byte repeated inflates to about 730 times its size.
//!
//! [`MAX_RECORD_BYTES`]: crate::input::MAX_RECORD_BYTES

mod block;
mod check;
mod chunk;
mod error;
mod file;
mod lines;
mod opening;
mod options;
mod pieces;
mod records;

#[cfg(test)]
mod tests;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use seqloom_format::bam::Header;

use self::chunk::{BgzfFile, BgzfPosition, ChunkScratch};
use self::file::{Access, InputFile, StreamGrammar};
use self::lines::SamFile;
use self::records::RecordRules;
use crate::alignment_index::RecordStart;
use crate::cram::{ContainerScratch, InputBases};
use crate::input::buffers::BufferPool;
use crate::input::error::InputError;
use crate::input::stream::Pull;
use crate::input::waiting::WaitingPlace;
use crate::input::{MAX_BLOCK_BYTES, MAX_RECORD_BYTES};

pub use self::block::RecordBlock;
pub use self::check::BlockCheck;
pub use self::error::AlignmentError;
pub use self::opening::AlignmentFormat;
pub use self::options::AlignmentOptions;
pub use crate::input::reader::Truncation;

/// Result of [`AlignmentSource::fetch`].
pub type AlignmentFetch = seqloom_runtime::schedule::Fetch<Box<RecordBlock>>;

/// Buffers that a worker keeps from fetch to fetch.
#[derive(Default)]
pub struct AlignmentScratch {
    chunk: ChunkScratch,
    text: Vec<u8>,
    container: ContainerScratch,
}

/// Inputs of aligned reads, shared by all workers and read one after the other.
pub struct AlignmentSource {
    files: Vec<InputFile>,
    headers: Vec<Header>,
    options: AlignmentOptions,
    /// The input whose turn it is.
    turn: AtomicUsize,
    buffers: BufferPool<Vec<u8>>,
    waiting: WaitingPlace,
}

impl AlignmentSource {
    /// Opens all inputs, `-` being standard input, and reads their headers. Waits for the header of
    /// one pipe after the other.
    ///
    /// # Errors
    /// An [`AlignmentError`] that names the input and what is wrong with it.
    pub fn open(inputs: &[PathBuf], options: AlignmentOptions) -> Result<Self, AlignmentError> {
        if inputs.is_empty() {
            return Err(AlignmentError::NoInput);
        }
        if inputs.iter().filter(|path| path.as_os_str() == "-").count() > 1 {
            return Err(AlignmentError::StandardInputTwice);
        }
        let block_bytes = options.block_bytes.clamp(1, MAX_BLOCK_BYTES);
        let max_line_bytes = options.max_line_bytes.min(MAX_RECORD_BYTES);
        let options = AlignmentOptions { block_bytes, max_line_bytes, ..options };
        let (mut files, mut headers) = (Vec::new(), Vec::new());
        for path in inputs {
            let mut opened = opening::open(path, options.allow_truncated)?;
            let header = std::mem::take(&mut opened.header);
            files.push(InputFile::new(opened, &header, &options)?);
            headers.push(header);
        }
        Ok(Self {
            files,
            headers,
            buffers: BufferPool::new(options.free_blocks),
            options,
            turn: AtomicUsize::new(0),
            waiting: WaitingPlace::default(),
        })
    }

    /// The headers, one per input.
    #[must_use]
    pub fn headers(&self) -> &[Header] {
        &self.headers
    }

    /// Whether an input can be read from any of its records on: BAM in a file of BGZF; or from any
    /// of its containers, a file of CRAM.
    #[must_use]
    pub fn can_start_anywhere(&self, input: usize) -> bool {
        match &self.files[input].access {
            Access::Bgzf(..) => true,
            Access::Containers(cram) => cram.can_start_anywhere(),
            _ => false,
        }
    }

    /// Has an input that can be read from any record on read from the one at `start` on, or, if
    /// that is `None`, not at all. To be called before anything is fetched.
    ///
    /// # Errors
    /// [`AlignmentError::Start`] if nothing can be there, [`AlignmentError::Input`] if it cannot
    /// be looked at.
    pub fn start_at(
        &mut self,
        input: usize,
        start: Option<RecordStart>,
    ) -> Result<(), AlignmentError> {
        let InputFile { input, access, .. } = &mut self.files[input];
        let place = match (access, start) {
            (Access::Bgzf(chunks, first), start) => {
                let place = match start {
                    Some(RecordStart::Virtual(offset)) => {
                        opening::place_at(input, chunks.size, offset)?
                    }
                    _ => BgzfPosition { block: chunks.size, skip: 0 },
                };
                (*chunks, *first) = (chunks.starting_at(place.block), place);
                return Ok(());
            }
            (Access::Containers(cram), Some(RecordStart::Container(place))) => {
                cram.start_at(Some(place))
            }
            (Access::Containers(cram), _) => cram.start_at(None),
            _ => Ok(()),
        };
        place.map_err(AlignmentError::from)
    }

    /// Path of an input, `standard input` for `-`.
    #[must_use]
    pub fn path(&self, input: usize) -> &Path {
        &self.files[input].input.path
    }

    /// Whether an input's records are differences from bases that are not in the file, as far as
    /// its first container shows.
    #[must_use]
    pub fn needs_reference(&self, input: usize) -> bool {
        matches!(&self.files[input].access, Access::Containers(cram) if cram.wants.reference)
    }

    /// Inflated bytes of the first container of an input of CRAM.
    #[must_use]
    pub fn container_bytes(&self, input: usize) -> u64 {
        match &self.files[input].access {
            Access::Containers(cram) => cram.wants.raw_bytes,
            _ => 0,
        }
    }

    /// Has the records of an input of CRAM refer to bases of the sequences of its header, which are
    /// those of `fasta`. To be called before anything is fetched.
    pub fn refer(&mut self, input: usize, bases: InputBases, fasta: &Path) {
        if let Access::Containers(cram) = &mut self.files[input].access {
            cram.refer(bases, fasta.to_path_buf());
        }
    }

    /// Bases that an input of CRAM refers to, and their FASTA.
    #[must_use]
    pub fn referred(&self, input: usize) -> Option<(InputBases, PathBuf)> {
        match &self.files[input].access {
            Access::Containers(cram) => cram.referred(),
            _ => None,
        }
    }

    /// Format of an input.
    #[must_use]
    pub fn format(&self, input: usize) -> AlignmentFormat {
        self.files[input].format
    }

    /// Bytes of the inputs, compressed as they are, in the blocks taken so far.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        // Relaxed: see `InputFile::bytes_read`.
        self.files.iter().map(|file| file.bytes_read.load(Ordering::Relaxed)).sum()
    }

    /// Size of the inputs in bytes; `None` if one is a stream.
    #[must_use]
    pub fn total_bytes(&self) -> Option<u64> {
        self.files.iter().map(|file| file.input.size).sum()
    }

    /// Gives a block's buffer back.
    pub fn recycle(&self, block: Box<RecordBlock>) {
        // A buffer that grew for a giant record is not worth keeping. BAM inflates up to ten times.
        let usual = self.options.block_bytes.saturating_mul(16).max(1 << 20);
        let container = usize::try_from(self.container_bytes(block.input)).unwrap_or(0);
        if block.bytes.capacity() > usual.max(container.saturating_mul(2)) {
            return;
        }
        self.buffers.give(block.bytes);
    }

    /// Frees the buffers that were given back: no further block comes.
    pub fn release_buffers(&self) {
        self.buffers.release();
    }

    fn free_bytes(&self) -> Vec<u8> {
        let mut bytes = self.buffers.take();
        bytes.clear();
        bytes
    }

    /// Rules for BAM records.
    fn rules(&self, file: &InputFile) -> RecordRules {
        let read_names = self.options.read_names;
        RecordRules { reference_count: file.reference_count, read_names }
    }

    /// A block of nothing.
    fn new_block(&self, input: usize, index: u64, last: bool, bytes: Vec<u8>) -> Box<RecordBlock> {
        Box::new(RecordBlock { input, index, last, bytes, ..RecordBlock::default() })
    }

    /// Takes and checks the next block.
    ///
    /// Never waits for another worker. Where a pipe has nothing, one worker at a time waits for it,
    /// at most about 20 ms, and the others get [`AlignmentFetch::Busy`] at once.
    ///
    /// # Errors
    /// What the operating system says; after an error the source is of no further use. Malformed
    /// records and corrupt data are not errors here but [`RecordBlock::defect`]s.
    pub fn fetch(&self, scratch: &mut AlignmentScratch) -> Result<AlignmentFetch, AlignmentError> {
        let mut has_waited = false;
        loop {
            let input = self.turn.load(Ordering::Acquire);
            let Some(file) = self.files.get(input) else { return Ok(AlignmentFetch::End) };
            match self.take(input, scratch)? {
                Pull::Piece(block) => return Ok(AlignmentFetch::Block(block)),
                Pull::Held => return Ok(AlignmentFetch::Busy),
                Pull::Ended => {
                    // Whoever finds it ended first moves on; it is ended for everybody.
                    let next = input + 1;
                    let order = Ordering::AcqRel;
                    let _ = self.turn.compare_exchange(input, next, order, Ordering::Acquire);
                }
                Pull::Waiting if !has_waited && self.waiting.wait(&[&file.input])? => {
                    has_waited = true;
                }
                Pull::Waiting => return Ok(AlignmentFetch::Busy),
            }
        }
    }

    fn take(
        &self,
        input: usize,
        scratch: &mut AlignmentScratch,
    ) -> Result<Pull<Box<RecordBlock>>, AlignmentError> {
        let file = &self.files[input];
        if file.is_exhausted() {
            return Ok(Pull::Ended);
        }
        let (chunks, index) = match &file.access {
            Access::Bgzf(chunks, _) | Access::Plain(chunks) => match chunks.claim() {
                Some(index) => (chunks, index),
                None => return Ok(Pull::Ended),
            },
            Access::Stream(stream) => {
                let grammar = stream.grammar;
                let buffer = || match grammar {
                    StreamGrammar::Sam => std::mem::take(&mut scratch.text),
                    StreamGrammar::Bam => self.free_bytes(),
                };
                let pulled = stream.pull(buffer)?;
                return pulled.try_map(|piece| self.parse_piece(input, grammar, piece, scratch));
            }
            Access::Containers(cram) => {
                let pulled = cram.pull(&mut scratch.container)?;
                return pulled.try_map(|piece| Ok(self.read_container(input, piece, scratch)));
            }
        };
        let bytes = self.free_bytes();
        let mut block = self.new_block(input, index, chunks.is_last(index), bytes);
        self.read_chunk(&mut block, None, scratch)?;
        if block.last {
            file.input.check_unchanged()?;
        }
        let Range { start: lo, end: hi } = chunks.range(index);
        file.bytes_read.fetch_add(hi - lo, Ordering::Relaxed);
        Ok(Pull::Piece(block))
    }

    /// Reads the chunk of `block` into it.
    fn read_chunk(
        &self,
        block: &mut RecordBlock,
        from: Option<BgzfPosition>,
        scratch: &mut AlignmentScratch,
    ) -> Result<(), InputError> {
        let file = &self.files[block.input];
        block.discard();
        match &file.access {
            Access::Bgzf(chunks, first) => {
                let Range { start: lo, end: hi } = chunks.range(block.index);
                if hi <= first.block {
                    return Ok(());
                }
                let file = BgzfFile {
                    input: &file.input,
                    chunks,
                    rules: self.rules(file),
                    allow_truncated: self.options.allow_truncated,
                };
                let from = from.or((lo <= first.block).then_some(*first));
                chunk::read(file, block.index, from, block, &mut scratch.chunk)
            }
            Access::Plain(chunks) => {
                let file = SamFile {
                    input: &file.input,
                    chunks,
                    names: &file.names,
                    read_names: self.options.read_names,
                    header_bytes: file.header_bytes,
                    max_line_bytes: self.options.max_line_bytes,
                };
                lines::read(file, block.index, block, &mut scratch.text)
            }
            Access::Stream(_) | Access::Containers(_) => Ok(()),
        }
    }

    /// The first record's place in a file that is read by guesses.
    fn first_place(&self, input: usize) -> Option<BgzfPosition> {
        match &self.files[input].access {
            Access::Bgzf(_, first) => Some(*first),
            _ => None,
        }
    }

    /// Text before the first block.
    fn text_start(&self, input: usize) -> u64 {
        match &self.files[input].access {
            Access::Stream(_) => self.files[input].header_bytes,
            Access::Containers(cram) => cram.start().byte,
            _ => 0,
        }
    }

    /// Containers before the first one that is read.
    fn containers_before(&self, input: usize) -> Option<u64> {
        match &self.files[input].access {
            Access::Containers(cram) => Some(cram.start().before),
            _ => None,
        }
    }

    /// Lines of the header, where records are lines.
    fn header_lines(&self, input: usize) -> Option<u64> {
        let file = &self.files[input];
        (file.format == AlignmentFormat::Sam).then_some(file.header_lines)
    }

    fn missing_eof(&self, input: usize) -> Option<&Truncation> {
        self.files[input].missing_eof.as_ref()
    }

    /// `byte` if it is before the end of the chunk.
    fn starts_in_chunk(&self, input: usize, index: u64, byte: u64) -> Option<u64> {
        let Access::Bgzf(chunks, _) = &self.files[input].access else { return None };
        (byte < chunks.range(index).end).then_some(byte)
    }

    fn read_again(
        &self,
        block: &mut RecordBlock,
        place: BgzfPosition,
        scratch: &mut AlignmentScratch,
    ) -> Result<(), InputError> {
        self.read_chunk(block, Some(place), scratch)
    }
}
