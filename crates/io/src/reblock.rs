//! FASTQ files rewritten so that blocks hold whole numbers of reads: padded text of equal blocks
//! ([`pad`]), or BGZF whose blocks end between reads ([`bgzf_blocks`]).
//!
//! Files of a pair are rewritten with the same numbers, so that block i of one holds the mates of
//! block i of the other.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use flate2::Compression as GzipLevel;
use flate2::write::GzEncoder;
use memchr::memchr_iter;
use seqloom_format::bgzf::{self, BgzfError, BlockCompressor};
use seqloom_format::fastq::{BlockTooSmall, pad_block, unpadded_bytes};
use seqloom_runtime::error::{Class, Place, RunError};

use crate::input::reads::{ReadsError, RecordReader, Records};
use crate::sink::output::{Output, OutputError};

/// Text read at a time.
const STEP_BYTES: usize = 1 << 20;
/// Text of each file whose growth under gzip is measured.
const SAMPLE_BYTES: usize = 8 << 20;

/// Why a file could not be rewritten.
#[derive(Debug, thiserror::Error)]
pub enum ReblockError {
    /// Reading failed.
    #[error(transparent)]
    Source(#[from] ReadsError),
    /// Writing failed.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// A block holds too much.
    #[error("{}, block {block}: {source}", path.display())]
    TooSmall {
        /// The input.
        path: PathBuf,
        /// From 0.
        block: u64,
        /// What does not fit.
        source: BlockTooSmall,
    },
    /// Files of a pair have different numbers of reads.
    #[error(
        "{} has {first} reads, {} has {second}: files of a pair must have equal numbers",
        paths.0.display(),
        paths.1.display()
    )]
    Unequal {
        /// The two inputs.
        paths: (PathBuf, PathBuf),
        /// Reads of the first.
        first: u64,
        /// Reads of the second.
        second: u64,
    },
    /// Deflating failed.
    #[error(transparent)]
    Bgzf(#[from] BgzfError),
    /// Measuring growth failed.
    #[error("cannot deflate a sample: {0}")]
    Sample(std::io::Error),
}

impl RunError for ReblockError {
    fn class(&self) -> Class {
        match self {
            Self::Source(source) => source.class(),
            Self::Output(output) => output.class(),
            Self::TooSmall { .. } => Class::Usage,
            Self::Unequal { .. } => Class::Input,
            Self::Bgzf(_) | Self::Sample(_) => Class::Bug,
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::Source(source) => source.place(),
            Self::Output(output) => output.place(),
            Self::TooSmall { path, .. } | Self::Unequal { paths: (path, _), .. } => Place::of(path),
            Self::Bgzf(_) | Self::Sample(_) => Place::default(),
        }
    }
}

/// Contents of a file, counted in blocks of some number of reads.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Measured {
    /// Reads of the file.
    pub records: u64,
    /// Their text in bytes, blank lines at the end apart.
    pub(crate) text_bytes: u64,
    /// Text of the largest block.
    pub largest_block_bytes: usize,
    /// Time to find where records end and to check them.
    pub(crate) scan: Duration,
}

/// Calls `take` with each group of `reads_per_block` records, and a last one of fewer: their text,
/// where the last of them starts, and how many they are.
fn each_block<E: From<ReadsError>>(
    input: &Path,
    reads_per_block: usize,
    mut take: impl FnMut(&[u8], usize, usize) -> Result<(), E>,
) -> Result<Duration, E> {
    let mut reader = RecordReader::open(input)?;
    let mut pending = Vec::new();
    let (mut count, mut last) = (0, 0);
    let mut scan = Duration::ZERO;
    loop {
        let started = Instant::now();
        let Some(Records { text, starts, reads }) = reader.next(STEP_BYTES)? else { break };
        scan += started.elapsed();
        for index in 0..reads.len() {
            last = pending.len();
            pending.extend_from_slice(&text[starts[index]..starts[index + 1]]);
            count += 1;
            if count == reads_per_block {
                take(&pending, last, count)?;
                pending.clear();
                count = 0;
            }
        }
    }
    if count > 0 {
        take(&pending, last, count)?;
    }
    Ok(scan)
}

/// Reads a file and finds the size of its largest block of `reads_per_block` reads.
///
/// # Errors
/// Reading fails, or the file is not four-line FASTQ.
pub fn measure(input: &Path, reads_per_block: usize) -> Result<Measured, ReblockError> {
    let mut found = Measured::default();
    found.scan = each_block(input, reads_per_block.max(1), |text, _, count| {
        let bytes = unpadded_bytes(text);
        found.records += count as u64;
        found.text_bytes += bytes as u64;
        found.largest_block_bytes = found.largest_block_bytes.max(bytes);
        Ok::<_, ReblockError>(())
    })?;
    Ok(found)
}

/// Totals of rewriting.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Rewritten {
    /// Reads that were written.
    pub records: u64,
    /// Blocks that they are in.
    pub blocks: u64,
    /// Text before, in bytes.
    pub text_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Time to find the line ends of all the text, from that of the sample: what a reader that
    /// knows the size of a block need not do under its lock.
    pub line_scan: Duration,
    /// A sample (its first 8 MiB of text) under gzip level 6, in bytes, before and after padding.
    pub gzip_sample_bytes: (u64, u64),
}

/// Deflates the beginning of what it is given and counts.
struct GzipSample {
    encoder: GzEncoder<Vec<u8>>,
    taken: usize,
}

impl GzipSample {
    fn new() -> Self {
        Self { encoder: GzEncoder::new(Vec::new(), GzipLevel::new(6)), taken: 0 }
    }

    fn add(&mut self, text: &[u8]) -> Result<(), ReblockError> {
        self.taken += text.len();
        self.encoder.write_all(text).map_err(ReblockError::Sample)
    }

    fn bytes(self) -> Result<u64, ReblockError> {
        Ok(self.encoder.finish().map_err(ReblockError::Sample)?.len() as u64)
    }
}

/// Writes the reads of `input` in blocks of `block_bytes` that hold `reads_per_block` each; the
/// last one, if it holds fewer, is not padded.
///
/// # Errors
/// A block that is too small, and whatever reading and writing meet.
pub fn pad(
    input: &Path,
    output: &mut Output,
    block_bytes: usize,
    reads_per_block: usize,
) -> Result<Rewritten, ReblockError> {
    let mut done = Rewritten::default();
    let (mut before, mut after) = (GzipSample::new(), GzipSample::new());
    let mut padded = Vec::new();
    let mut sample_scan = Duration::ZERO;
    let start_bytes = output.written_bytes();
    each_block(input, reads_per_block.max(1), |text, last, count| {
        padded.clear();
        let full = count == reads_per_block;
        let size = if full { block_bytes } else { unpadded_bytes(text) };
        pad_block(text, last, count, size, &mut padded).map_err(|source| {
            ReblockError::TooSmall { path: input.to_path_buf(), block: done.blocks, source }
        })?;
        if before.taken < SAMPLE_BYTES {
            let started = Instant::now();
            std::hint::black_box(memchr_iter(b'\n', text).count());
            sample_scan += started.elapsed();
            before.add(text)?;
            after.add(&padded)?;
        }
        output.write(&padded)?;
        done.records += count as u64;
        done.blocks += 1;
        done.text_bytes += unpadded_bytes(text) as u64;
        Ok::<_, ReblockError>(())
    })?;
    done.written_bytes = output.written_bytes() - start_bytes;
    let sampled = before.taken.max(1) as f64;
    done.line_scan = sample_scan.mul_f64(done.text_bytes as f64 / sampled);
    done.gzip_sample_bytes = (before.bytes()?, after.bytes()?);
    Ok(done)
}

/// Writes the reads of `input` as BGZF, `reads_per_block` reads to a block, without padding.
///
/// # Errors
/// Reads that take more than a block holds (65,280 bytes), and whatever reading and writing meet.
pub fn bgzf_blocks(
    input: &Path,
    output: &mut Output,
    reads_per_block: usize,
    level: u8,
) -> Result<Rewritten, ReblockError> {
    let mut done = Rewritten::default();
    let mut compressor = BlockCompressor::new(level)?;
    let mut block = Vec::new();
    let start_bytes = output.written_bytes();
    each_block(input, reads_per_block.max(1), |text, _, count| {
        if text.len() > bgzf::MAX_PAYLOAD_BYTES {
            let source = BlockTooSmall {
                records: count,
                needed_bytes: text.len(),
                block_bytes: bgzf::MAX_PAYLOAD_BYTES,
            };
            let path = input.to_path_buf();
            return Err(ReblockError::TooSmall { path, block: done.blocks, source });
        }
        block.clear();
        compressor.compress(text, &mut block)?;
        output.write(&block)?;
        done.records += count as u64;
        done.blocks += 1;
        done.text_bytes += text.len() as u64;
        Ok(())
    })?;
    output.write(&bgzf::EOF_BLOCK)?;
    done.written_bytes = output.written_bytes() - start_bytes;
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(text: &str) -> (tempfile::TempDir, PathBuf, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let (input, output) = (folder.path().join("in.fq"), folder.path().join("out.fq"));
        std::fs::write(&input, text).unwrap();
        (folder, input, output)
    }

    fn record(number: usize) -> String {
        let bases = "ACGT".repeat(1 + number % 7);
        format!("@read{number}\n{bases}\n+\n{}\n", "I".repeat(bases.len()))
    }

    #[test]
    fn every_block_holds_the_reads_that_it_should() {
        let text: String = (0..1003).map(record).collect();
        let (_folder, input, path) = files(&text);
        let found = measure(&input, 10).unwrap();
        assert_eq!((found.records, found.text_bytes), (1003, text.len() as u64));
        let size = found.largest_block_bytes;
        let mut output = Output::create(&path).unwrap();
        let done = pad(&input, &mut output, size, 10).unwrap();
        output.into_file().unwrap().commit().unwrap();
        let padded = std::fs::read(&path).unwrap();
        assert_eq!((done.records, done.blocks), (1003, 101));
        assert_eq!(done.written_bytes, padded.len() as u64);
        assert!(done.gzip_sample_bytes.1 > done.gzip_sample_bytes.0);
        assert!(padded.len() < 101 * size && padded.len() > 100 * size);
        for (number, block) in padded.chunks(size).enumerate() {
            let text = std::str::from_utf8(block).unwrap();
            let names = text.lines().step_by(4).map(str::trim_end);
            let expected = 10 * number..(10 * number + 10).min(1003);
            assert!(names.eq(expected.map(|read| format!("@read{read}"))), "{text}");
        }
        let again = pad(&input, &mut Output::create(&path).unwrap(), size - 1, 10).unwrap_err();
        assert!(again.to_string().contains("more than a block"), "{again}");
    }

    #[test]
    fn bgzf_blocks_end_between_reads() {
        let text: String = (0..205).map(record).collect();
        let (_folder, input, path) = files(&text);
        let mut output = Output::create(&path).unwrap();
        let done = bgzf_blocks(&input, &mut output, 20, 6).unwrap();
        output.into_file().unwrap().commit().unwrap();
        assert_eq!((done.records, done.blocks), (205, 11));
        let file = std::fs::read(&path).unwrap();
        let (mut at, mut all, mut blocks) = (0, Vec::new(), 0);
        while at < file.len() {
            let size = bgzf::parse_block_header(&file[at..]).unwrap().block_bytes;
            let mut block = Vec::new();
            bgzf::BlockDecompressor::new().decompress(&file[at..at + size], &mut block).unwrap();
            assert!(block.is_empty() || block.starts_with(b"@read"));
            (at, blocks) = (at + size, blocks + 1);
            all.extend(block);
        }
        assert_eq!((all, blocks), (text.into_bytes(), 12));
        let error = bgzf_blocks(&input, &mut Output::create(&path).unwrap(), 9000, 6);
        assert!(error.is_ok(), "205 reads fit one block");
    }
}
