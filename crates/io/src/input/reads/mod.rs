//! Reads from one or two inputs, by many workers at once and without one that feeds the others.
//!
//! A worker with nothing better to do calls [`ReadSource::fetch`]: it takes the next chunk of the
//! input that lags, decompresses and parses it, and gets a block of reads. Blocks come in any
//! order; [`BlockCheck`] verifies them in order.
//!
//! * Regular files of four-line FASTQ, plain or BGZF: claimed by one `fetch_add`, read and parsed
//!   by all workers at the same time (`claims`).
//! * CRAM: a container a block; one worker at a time reads, and decodes after it has released the
//!   lock (`containers`).
//! * All else (gzip, zstd, pipes, BAM, FASTA, wrapped FASTQ): one worker at a time decompresses and
//!   cuts, and parses after it has released the lock (`stream`).
//! * BGZF that something else follows, such as plain gzip: by all workers up to about there, the
//!   rest as a stream. The check of the blocks, which alone knows where the last sure record ends,
//!   starts it.
//!
//! What is read is recognised by content, never by a file's name. Bounds: [`SourceOptions`],
//! [`MAX_RECORD_BYTES`], and four blocks that one file may lead the other by.

mod again;
pub(crate) mod block;
mod check;
pub(crate) mod claims;
mod containers;
mod error;
pub(crate) mod file;
mod grammar;
pub(crate) mod opening;
mod options;
pub(crate) mod parse;
mod place;
mod records;
mod turns;
pub(crate) mod unaligned;

#[cfg(test)]
mod tests;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Instant;

use seqloom_format::ReadBlock;
use seqloom_format::bam::Header;
use seqloom_format::fastq::ParseOptions;

use self::claims::ClaimedChunk;
use self::file::{Access, InputFile, Progress};
use self::grammar::StreamGrammar;
use self::opening::Opened;
use self::parse::ParsedText;
pub use crate::input::MAX_RECORD_BYTES;
use crate::input::buffers::BufferPool;
use crate::input::claim::Chunks;
use crate::input::raw::Input;
use crate::input::stream::{Piece, Pull, SharedStream};
use crate::input::waiting::WaitingPlace;
use crate::input::window::BgzfScratch;
use crate::input::{MAX_BLOCK_BYTES, poll};

use crate::cram::ContainerScratch;

pub use self::block::InputBlock;
pub use self::check::BlockCheck;
pub use self::error::ReadsError;
pub use self::opening::{InputFormat, ReadFormat};
pub use self::options::SourceOptions;
pub use self::place::{BlockPlace, FilePosition, FileStart};
pub(crate) use self::records::{RecordReader, Records};
pub use crate::input::reader::{Compression, Truncation};
pub use crate::input::restart::RestartPoint;

/// Result of [`ReadSource::fetch`].
pub type Fetch = seqloom_runtime::schedule::Fetch<Box<InputBlock>>;

/// Buffers that a worker keeps from fetch to fetch.
#[derive(Default)]
pub struct FetchScratch {
    bgzf: BgzfScratch,
    container: ContainerScratch,
    /// Records of a container.
    records: Vec<u8>,
}

/// One attempt at one file.
enum Taken {
    Block(Box<InputBlock>),
    Held,
    Waiting,
    Exhausted,
}

/// One or two inputs, shared by all workers.
pub struct ReadSource {
    files: Vec<InputFile>,
    header: Option<Header>,
    options: SourceOptions,
    parse: ParseOptions,
    buffers: BufferPool<ReadBlock>,
    waiting: WaitingPlace,
    started: Instant,
}

impl ReadSource {
    /// Opens one or two inputs, `-` being standard input, and finds out what they are. Waits for
    /// the first data of pipes (of all of them at once).
    ///
    /// # Errors
    /// A [`ReadsError`] that names the input and what is wrong with it.
    pub fn open(inputs: &[PathBuf], options: SourceOptions) -> Result<Self, ReadsError> {
        Self::open_at(inputs, options, &[])
    }

    /// As [`ReadSource::open`], but each input is read from a place on that was found when it was
    /// read before: one start per input, or none at all. What was found out from the first records
    /// then, such as the offset of qualities, is not found out again.
    ///
    /// # Errors
    /// As [`ReadSource::open`]; a stream, which has no middle to start in.
    pub fn open_at(
        inputs: &[PathBuf],
        options: SourceOptions,
        starts: &[FileStart],
    ) -> Result<Self, ReadsError> {
        if inputs.is_empty() || inputs.len() > 2 {
            return Err(ReadsError::InputCount(inputs.len()));
        }
        if inputs.len() == 2 && inputs.iter().all(|path| path.as_os_str() == "-") {
            return Err(ReadsError::StandardInputTwice);
        }
        let block_bytes = options.block_bytes.clamp(1, MAX_BLOCK_BYTES);
        let options = SourceOptions { block_bytes, ..options };
        let opened = inputs.iter().map(|path| Input::open(path)).collect::<Result<_, _>>()?;
        let max_ahead_bytes = usize::try_from(options.max_skew_bytes).unwrap_or(usize::MAX);
        let opened = opening::open_all(opened, max_ahead_bytes, options.skew_patience)?;
        refuse_record_pairs(&opened)?;
        let header = opened.iter().find_map(|it| it.header.clone());
        if !starts.is_empty() {
            refuse_streams(&opened)?;
        }
        let starts = starts.iter().map(Some).chain(std::iter::repeat(None));
        let file = |(it, start)| InputFile::new(it, &options, start);
        let files = opened.into_iter().zip(starts).map(file).collect::<Result<_, _>>()?;
        Ok(Self {
            files,
            header,
            parse: ParseOptions {
                keep_comments: options.keep_comments,
                phred64: options.phred64,
                names: options.names,
            },
            buffers: BufferPool::new(options.free_blocks),
            options,
            waiting: WaitingPlace::default(),
            started: Instant::now(),
        })
    }

    /// Number of inputs: 1 or 2.
    #[must_use]
    pub fn files(&self) -> usize {
        self.files.len()
    }

    /// Format of the input of `file`.
    #[must_use]
    pub fn format(&self, file: usize) -> InputFormat {
        self.files[file].format
    }

    /// Path of the input of `file`, `standard input` for `-`.
    #[must_use]
    pub fn path(&self, file: usize) -> &Path {
        &self.files[file].input.path
    }

    /// The restart points of `file` that were found so far and not taken yet, in order.
    #[must_use]
    pub fn take_restart_points(&self, file: usize) -> Vec<RestartPoint> {
        let stream = self.files[file].stream();
        stream.map(SharedStream::take_restart_points).unwrap_or_default()
    }

    /// Header of unaligned BAM or CRAM.
    #[must_use]
    pub fn header(&self) -> Option<&Header> {
        self.header.as_ref()
    }

    /// Bytes of the inputs, compressed as they are, in the blocks taken so far.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        // Relaxed, here and below: see `Progress` and `InputFile::leaves_bgzf`.
        self.files.iter().map(|file| file.progress.raw_bytes.load(Ordering::Relaxed)).sum()
    }

    /// Size of the inputs in bytes; `None` if one is a stream.
    #[must_use]
    pub fn total_bytes(&self) -> Option<u64> {
        self.files.iter().map(|file| file.input.size).sum()
    }

    /// Gives a block's buffers back; they are freed, with all that were given back before, when no
    /// block is left to be read.
    pub fn recycle(&self, mut block: ReadBlock) {
        if self.files.iter().all(InputFile::is_exhausted) {
            self.release_buffers();
            return;
        }
        // A buffer that grew for a giant record is not worth keeping, nor is none at all.
        let most = self.options.block_bytes.saturating_mul(4).max(1 << 20);
        if !(1..=most).contains(&block.bytes.capacity()) {
            return;
        }
        block.reads.clear();
        block.mate_of_pair.clear();
        block.failed_filter.clear();
        self.buffers.give(block);
    }

    /// Frees the buffers that were given back: no further block comes.
    pub fn release_buffers(&self) {
        self.buffers.release();
    }

    /// Takes and parses the next block of the file that lags (or of another that may be taken).
    ///
    /// Never waits for another worker. Where only pipes without data are left, one worker at a
    /// time waits for them, at most about 20 ms, and the others get [`Fetch::Busy`] at once.
    ///
    /// # Errors
    /// What the operating system or the decompressor says, [`ReadsError::Skew`],
    /// [`InputError::Changed`](crate::InputError::Changed); after an error the source is of no
    /// further use. Malformed records are not errors here but [`InputBlock::defect`]s.
    pub fn fetch(&self, scratch: &mut FetchScratch) -> Result<Fetch, ReadsError> {
        for attempt in 0..2 {
            let mut open_files = self.files.len();
            let mut waiting = [None; poll::MAX_FILES];
            for (slot, file) in waiting.iter_mut().zip(self.files_by_lag()) {
                if self.files[file].is_exhausted() {
                    open_files -= 1;
                    continue;
                }
                if !self.may_take(file) {
                    continue;
                }
                match self.take(file, scratch)? {
                    Taken::Block(block) => return Ok(Fetch::Block(block)),
                    Taken::Held => {}
                    Taken::Waiting => *slot = Some(file),
                    Taken::Exhausted => open_files -= 1,
                }
            }
            if open_files == 0 {
                return Ok(Fetch::End);
            }
            if attempt == 1 || !self.wait_for_data(waiting)? {
                break;
            }
        }
        Ok(Fetch::Busy)
    }

    fn take(&self, file: usize, scratch: &mut FetchScratch) -> Result<Taken, ReadsError> {
        let InputFile { progress, source, .. } = &self.files[file];
        if let Some(stream) = self.files[file].stream() {
            return self.pull(file, stream);
        }
        match source {
            Access::Plain(chunks) | Access::Bgzf(chunks) => {
                let Some(index) = chunks.claim() else {
                    let is_over = self.files[file].is_exhausted();
                    return Ok(if is_over { Taken::Exhausted } else { Taken::Held });
                };
                progress.claimed_blocks.fetch_add(1, Ordering::Relaxed);
                self.read_claim(file, chunks, index, scratch)
            }
            Access::Containers(cram) => self.pull_container(file, cram, scratch),
            Access::Stream(_) => Ok(Taken::Exhausted),
        }
    }

    fn pull(&self, file: usize, stream: &SharedStream<StreamGrammar>) -> Result<Taken, ReadsError> {
        let progress = &self.files[file].progress;
        match stream.pull(|| self.buffers.take().bytes)? {
            Pull::Piece(piece) => {
                progress.claimed_blocks.fetch_add(1, Ordering::Relaxed);
                progress.starved_since.store(0, Ordering::Relaxed);
                self.parse_piece(file, stream.grammar, piece)
            }
            Pull::Held => Ok(Taken::Held),
            Pull::Ended => Ok(Taken::Exhausted),
            Pull::Waiting => Ok(self.wait_for(progress)),
        }
    }

    /// Notes since when a pipe has had no data.
    fn wait_for(&self, progress: &Progress) -> Taken {
        let now = self.started.elapsed().as_millis() as u64 + 1;
        // The first who finds nothing sets the time.
        let _ =
            progress.starved_since.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
        Taken::Waiting
    }

    fn read_claim(
        &self,
        file: usize,
        chunks: &Chunks,
        index: u64,
        scratch: &mut FetchScratch,
    ) -> Result<Taken, ReadsError> {
        let InputFile { input, source, start, max_record_bytes, .. } = &self.files[file];
        let mut block = self.buffers.take();
        let (options, max_record_bytes) = (self.parse, *max_record_bytes);
        let chunk = ClaimedChunk { input, chunks, index, options, max_record_bytes };
        let parsed = match source {
            Access::Bgzf(_) => {
                let skip = start.text - start.raw_text;
                claims::read_bgzf(chunk, skip, &mut block, &mut scratch.bgzf)?
            }
            _ => Some(claims::read_plain(chunk, &mut block)?),
        };
        let leaves_bgzf = parsed.is_none();
        if leaves_bgzf {
            self.files[file].leaves_bgzf.store(true, Ordering::Relaxed);
            if index == 0 {
                // Where its records start is sure. Of others the check of the blocks knows it.
                self.files[file].continue_as_stream(*start);
            }
        }
        let last = chunks.is_last(index);
        if last {
            input.check_unchanged()?;
        }
        let Range { start, end } = chunks.range(index);
        let parsed = parsed.unwrap_or_default();
        let is_last = last && !leaves_bgzf;
        let mut taken = self.deliver(file, (index, is_last), block, parsed, end - start);
        if let Taken::Block(block) = &mut taken {
            block.leaves_bgzf = leaves_bgzf;
        }
        Ok(taken)
    }

    fn parse_piece(
        &self,
        file: usize,
        grammar: StreamGrammar,
        piece: Piece,
    ) -> Result<Taken, ReadsError> {
        let Piece { index, last, text, too_long, raw_bytes, fault, .. } = piece;
        if let Some(fault) = fault {
            return Err(fault.into());
        }
        let mut block = self.buffers.take();
        let mut parsed = match grammar {
            StreamGrammar::Text(grammar) => {
                block.bytes = text;
                parse::parse_piece(grammar, &mut block, self.parse)
            }
            StreamGrammar::Bam => {
                block.bytes.clear();
                let parsed = parse::parse_bam_piece(&text, &mut block, self.parse.names);
                self.recycle(ReadBlock { bytes: text, ..ReadBlock::default() });
                parsed
            }
        };
        if let Some(head) = too_long {
            parsed.set_too_long(self.files[file].max_record_bytes, &head, 0);
        }
        Ok(self.deliver(file, (index, last), block, parsed, raw_bytes))
    }

    fn deliver(
        &self,
        file: usize,
        (index, last): (u64, bool),
        reads: ReadBlock,
        parsed: ParsedText,
        raw_bytes: u64,
    ) -> Taken {
        let progress = &self.files[file].progress;
        progress.reads.fetch_add(reads.reads.len() as u64, Ordering::Relaxed);
        progress.text_bytes.fetch_add(parsed.place.own_bytes, Ordering::Relaxed);
        progress.raw_bytes.fetch_add(raw_bytes, Ordering::Relaxed);
        // Whoever sees this sees, too, whether the block leaves BGZF.
        progress.delivered_blocks.fetch_add(1, Ordering::Release);
        let ParsedText { place, records, lines, bases, aligned, defect } = parsed;
        Taken::Block(Box::new(InputBlock {
            file,
            index,
            last,
            reads,
            records,
            lines,
            bases,
            aligned,
            defect,
            place,
            leaves_bgzf: false,
        }))
    }

    /// Whether the qualities of `file` may have another offset than 33.
    pub(crate) fn checks_phred_offset(&self, file: usize) -> bool {
        !self.options.assume_phred33
            && !self.options.phred64
            && self.files[file].start.records == 0
            && matches!(self.format(file).reads, ReadFormat::Fastq | ReadFormat::WrappedFastq)
    }

    /// Position of the first record of `file`.
    pub(crate) fn start(&self, file: usize) -> FilePosition {
        self.files[file].start
    }

    /// Where the text of the first block of `file` starts: before the first record where that
    /// is within a BGZF block.
    pub(crate) fn first_text(&self, file: usize) -> u64 {
        let InputFile { start, source, .. } = &self.files[file];
        if matches!(source, Access::Bgzf(_)) { start.raw_text } else { start.text }
    }

    /// Offset of the first chunk of `file`; 0 where it is read front to back.
    pub(crate) fn first_raw(&self, file: usize) -> u64 {
        match &self.files[file].source {
            Access::Plain(chunks) | Access::Bgzf(chunks) => chunks.range(0).start,
            Access::Stream(_) | Access::Containers(_) => 0,
        }
    }

    /// See [`InputFile::continue_as_stream`].
    pub(crate) fn continue_as_stream(&self, file: usize, place: FilePosition) -> u64 {
        self.files[file].continue_as_stream(place)
    }

    pub(crate) fn input_file(&self, file: usize) -> &Input {
        &self.files[file].input
    }
}

fn refuse_streams(opened: &[Opened]) -> Result<(), ReadsError> {
    match opened.iter().find(|it| it.reader.input().size.is_none()) {
        None => Ok(()),
        Some(stream) => {
            let problem = "a stream cannot be read from its middle on";
            Err(stream.reader.input().unsupported(problem, "write it to a file first").into())
        }
    }
}

/// Two files of BAM or CRAM are not a pair of files.
fn refuse_record_pairs(opened: &[Opened]) -> Result<(), ReadsError> {
    let records = opened.iter().find(|it| it.format.reads.has_records());
    match records.filter(|_| opened.len() > 1) {
        None => Ok(()),
        Some(it) => {
            let problem = format!("{} with a second input", it.format.reads.name());
            let hint =
                "unaligned BAM and CRAM have both reads of a pair: give it as the only input";
            Err(it.reader.input().unsupported(problem, hint).into())
        }
    }
}
