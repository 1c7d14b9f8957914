//! `PREFIX.tsa`: samples of the suffix array in the order of the text.
//!
//! `.bwt.2bit.64` has the places of every `s`-th row, as bwa-mem2 wants them: from any other row
//! a walk goes `s - 1` bases back on average until it meets one. Here places are sampled, not rows:
//! with distance `d`, all that are multiples of `4 d`, and those multiples of `d` at which, or less
//! than `d` after which, there are bases that occur twice in `T` (the flags of `PREFIX.fast`).
//! Nearly all rows that are looked up are of such places, and have `(d - 1) / 2` bases to go. `d`
//! is `s / 2`; where there would be more samples than in `.bwt.2bit.64`, as in a genome of 3 Gbp,
//! there is no such file: they never take more memory, and with a larger `d` gain nothing. Each
//! block of rows says which of its rows are sampled. Sampling in the order of the text is
//! Ferragina's and Manzini's (2000, doi:10.1109/SFCS.2000.892127).
//!
//! The file, little-endian:
//!
//! | at | bytes | what |
//! |---|---|---|
//! | 0 | 8 | `SLTSA1\n\0` |
//! | 8 | 8 | bases of the forward strand |
//! | 16 | 4 | CRC-32 of the packed forward strand, as in `.pac` |
//! | 20 | 4 | log2 of `s` |
//! | 24 | 4 | log2 of `d` |
//! | 28 | 4 | CRC-32 of the words |
//! | 32 | 8 | number of samples |
//! | 40 | 4 | CRC-32 of the samples' low bits |
//! | 44 | 4 | CRC-32 of their high bits |
//! | 48 | 12 | zero |
//! | 60 | 4 | CRC-32 of the header before |
//! | 64 | 8 each | a word for 64 rows: which are sampled, the first in the highest bit |
//! | | 4 each | the low 32 bits of the samples, places over `d`, in the order of rows |
//! | | 1 each | their high 8 bits, if any sample can have more than 32 |

mod write;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use bytemuck::{Pod, Zeroable};
use crc32fast::Hasher;

use super::layout::Layout;
use super::parts::Block;
use super::read::{PartError, Parts, Readers, combined, hasher, step_values};
use super::table_error::TableError;

pub(super) use write::{Sampling, TextSampleStripe, TextSampleWriter};

const MAGIC: [u8; 8] = *b"SLTSA1\n\0";

/// The file's first bytes.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
struct Header {
    magic: [u8; 8],
    bases: u64,
    packed_crc: u32,
    stride_log2: u32,
    sample_shift: u32,
    words_crc: u32,
    samples: u64,
    low_crc: u32,
    high_crc: u32,
    unused: [u32; 3],
    crc: u32,
}

const HEADER_BYTES: u64 = size_of::<Header>() as u64;

impl Header {
    /// With its checksum.
    fn sealed(self) -> Self {
        let bytes = bytemuck::bytes_of(&self);
        Self { crc: crc32fast::hash(&bytes[..bytes.len() - 4]), ..self }
    }
}

/// Bytes of a sample, of places up to that of the sentinel.
fn sample_bytes(layout: Layout, sample_shift: u32) -> u64 {
    if layout.symbols() >> sample_shift > u64::from(u32::MAX) { 5 } else { 4 }
}

/// The size of a file of so many samples.
fn file_bytes(layout: Layout, sample_shift: u32, samples: u64) -> u64 {
    HEADER_BYTES + 8 * layout.blocks() + samples * sample_bytes(layout, sample_shift)
}

/// The most bytes that the file of an index can have; 0 where there is none, as all rows have
/// their places.
pub(super) fn most_bytes(layout: Layout) -> u64 {
    if layout.stride_log2 == 0 {
        return 0;
    }
    HEADER_BYTES + 8 * layout.blocks() + layout.samples_bytes()
}

/// The samples that were read.
#[derive(Debug)]
pub(super) struct TextSamples {
    pub(super) words: RowWords,
    pub(super) low: Vec<u32>,
    pub(super) high: Vec<u8>,
    /// Log2 of what the places were divided by.
    pub(super) shift: u32,
}

/// The words that say which rows are sampled. They are read twice, to be checked and counted, and
/// for the blocks: so they are in memory only as parts of these.
#[derive(Debug)]
pub(super) struct RowWords {
    parts: Parts,
    /// Sampled rows before each step of blocks.
    before: Vec<u64>,
}

impl RowWords {
    /// Of the next `count` values; also returns their CRC-32.
    pub(super) fn read(parts: Parts, count: usize) -> Result<(Self, Hasher), PartError> {
        let ones = |word: &u64| u64::from(word.count_ones());
        let look = |words: &[u64]| (words.iter().map(ones).sum(), hasher(words));
        let steps: Vec<(u64, Hasher)> = parts.visit(count, step_values::<Block>(), look)?;
        let before = steps.iter().scan(0, |before, (sampled, _)| {
            *before += sampled;
            Some(*before - sampled)
        });
        let words = Self { before: before.collect(), parts };
        Ok((words, combined(steps.into_iter().map(|(_, crc)| crc))))
    }

    /// Those of a step of blocks, whose first is `first`; and how many rows before are sampled.
    pub(super) fn of_step(&self, first: usize, count: usize) -> Result<(Vec<u64>, u64), PartError> {
        let mut words = vec![0; count];
        self.parts.read_at(first, &mut words)?;
        Ok((words, self.before[first / step_values::<Block>()]))
    }
}

impl TextSamples {
    /// Reads `path`, for the index of this layout whose packed forward strand has this CRC-32.
    ///
    /// # Errors
    /// There is none, or it is not of this version and this index, or damaged.
    pub(super) fn read(
        path: &Path,
        layout: Layout,
        packed_crc: u32,
        readers: Readers,
    ) -> Result<Self, TableError> {
        let path = || path.to_owned();
        let file = File::open(path()).map_err(|error| TableError::opening(path(), error))?;
        let failed = |source| TableError::Read { path: path(), source };
        let size = file.metadata().map_err(failed)?.len();
        let mut header = Header::zeroed();
        file.read_exact_at(bytemuck::bytes_of_mut(&mut header), 0)
            .map_err(|_| TableError::Version(path()))?;
        if header.magic != MAGIC {
            return Err(TableError::Version(path()));
        }
        let Header { stride_log2, sample_shift, samples, .. } = header;
        if header != header.sealed() || sample_shift > stride_log2 {
            return Err(TableError::Damaged(path()));
        }
        if header.bases != layout.bases
            || header.packed_crc != packed_crc
            || stride_log2 != u32::from(layout.stride_log2)
        {
            return Err(TableError::Foreign(path()));
        }
        if samples > layout.samples() || size != file_bytes(layout, sample_shift, samples) {
            return Err(TableError::Damaged(path()));
        }
        let has_high = sample_bytes(layout, sample_shift) > 4;
        let mut body = Parts::new(file, path(), HEADER_BYTES, readers);
        let (words, words_crc) = RowWords::read(body.clone(), layout.blocks() as usize)?;
        body.skip(8 * layout.blocks() as usize);
        let (low, low_crc) = body.take_with_crc(samples as usize)?;
        let (high, high_crc) = body.take_with_crc(if has_high { samples as usize } else { 0 })?;
        let crcs = [words_crc, low_crc, high_crc].map(Hasher::finalize);
        if crcs != [header.words_crc, header.low_crc, header.high_crc] {
            return Err(TableError::Damaged(path()));
        }
        Ok(Self { words, low, high, shift: sample_shift })
    }
}

#[cfg(test)]
mod tests;
