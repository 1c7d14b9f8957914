//! Which places are sampled, and the file of them.

use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crc32fast::Hasher;
use seqloom_io::AtomicFile;

use super::super::error::BuildError;
use super::super::fast_table::{FastTable, Repeats, SEED_BASES};
use super::super::layout::Layout;
use super::{HEADER_BYTES, Header, MAGIC, sample_bytes};

/// Samples that are multiples of the distance alone are this many times further apart, as a power
/// of two.
const SPARSE_LOG2: u32 = 2;

/// Which places are sampled.
#[derive(Debug)]
pub(crate) struct Sampling {
    layout: Layout,
    repeats: Repeats,
    /// Log2 of the distance.
    distance_log2: u32,
    /// How many places are sampled.
    samples: u64,
}

impl Sampling {
    /// For an index of which rows have their places too. `None` where all have, or these take less
    /// memory.
    pub(in super::super) fn new(layout: Layout, repeats: Repeats) -> Option<Self> {
        let distance_log2 = u32::from(layout.stride_log2).checked_sub(1)?;
        let mut sampling = Self { layout, repeats, distance_log2, samples: 0 };
        sampling.samples = sampling.count();
        let bytes = sampling.samples * sample_bytes(layout, distance_log2);
        (bytes <= layout.samples_bytes()).then_some(sampling)
    }

    fn count(&self) -> u64 {
        let places = (0..=self.layout.symbols()).step_by(1 << self.distance_log2);
        places.filter(|&place| self.is_sampled(place)).count() as u64
    }

    /// Whether a place of `T`, or its end, is sampled.
    #[inline]
    pub(super) fn is_sampled(&self, place: u64) -> bool {
        let is_multiple = |log2: u32| place.trailing_zeros() >= log2;
        is_multiple(self.distance_log2 + SPARSE_LOG2)
            || is_multiple(self.distance_log2) && self.is_repeated(place)
    }

    /// Whether one of the next places on the strand has bases that occur twice.
    #[inline]
    fn is_repeated(&self, place: u64) -> bool {
        let Layout { bases, .. } = self.layout;
        let strand_end = if place < bases { bases } else { 2 * bases };
        let places = (strand_end + 1).saturating_sub(place + SEED_BASES as u64);
        let count = places.min(1 << self.distance_log2) as usize;
        count > 0 && self.repeats.at(place, count) != 0
    }
}

/// The samples of neighbouring blocks of rows, as they are in the file.
#[derive(Debug, Default)]
pub(crate) struct TextSampleStripe {
    words: Vec<u8>,
    low: Vec<u8>,
    high: Vec<u8>,
    /// Samples of the rows before, once known.
    before: u64,
    crcs: [Hasher; 3],
}

impl TextSampleStripe {
    /// Bytes a row, at most.
    pub(in super::super) const ROW_BYTES: u64 = 5;
    /// Bytes a block besides.
    pub(in super::super) const BLOCK_BYTES: u64 = 8;

    /// Takes blocks of rows, of which `suffix` has the places, in place of what was there.
    pub(in super::super) fn encode(
        &mut self,
        sampling: &Sampling,
        rows: Range<u64>,
        suffix: impl Fn(u64) -> u64,
    ) {
        let Self { words, low, high, crcs, .. } = self;
        for bytes in [&mut *words, &mut *low, &mut *high] {
            bytes.clear();
        }
        let shift = sampling.distance_log2;
        let has_high = sample_bytes(sampling.layout, shift) > 4;
        for first in rows.clone().step_by(64) {
            let mut word = 0_u64;
            for row in first..rows.end.min(first + 64) {
                let place = suffix(row);
                if sampling.is_sampled(place) {
                    let sample = place >> shift;
                    word |= 1 << (63 - (row - first));
                    low.extend_from_slice(&(sample as u32).to_le_bytes());
                    high.extend(has_high.then_some((sample >> 32) as u8));
                }
            }
            words.extend_from_slice(&word.to_le_bytes());
        }
        *crcs = [&*words, &*low, &*high].map(|bytes| {
            let mut crc = Hasher::new();
            crc.update(bytes);
            crc
        });
    }

    fn samples(&self) -> u64 {
        self.low.len() as u64 / 4
    }
}

/// Writes the file, from the first block of rows to the last.
pub(crate) struct TextSampleWriter {
    pub(in super::super) sampling: Sampling,
    file: AtomicFile,
    packed_crc: u32,
    /// Samples of the stripes so far.
    before: u64,
    crcs: [Hasher; 3],
}

impl TextSampleWriter {
    /// A writer of `path` that has written nothing yet, for the reference that `table` is of.
    /// `None` where there are to be no such samples.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub(in super::super) fn create(
        path: &Path,
        layout: Layout,
        table: FastTable,
    ) -> Result<Option<Self>, BuildError> {
        let packed_crc = table.packed_crc();
        let Some(sampling) = Sampling::new(layout, table.into_repeats()) else { return Ok(None) };
        let (file, crcs) = (AtomicFile::create(path)?, std::array::from_fn(|_| Hasher::new()));
        Ok(Some(Self { sampling, file, packed_crc, before: 0, crcs }))
    }

    /// Takes note of the next stripe.
    pub(in super::super) fn place(&mut self, stripe: &mut TextSampleStripe) {
        stripe.before = self.before;
        self.before += stripe.samples();
        for (all, crc) in self.crcs.iter_mut().zip(&stripe.crcs) {
            all.combine(crc);
        }
    }

    /// Writes a stripe that has its place and begins with block `first_block`.
    pub(in super::super) fn write(
        &self,
        first_block: u64,
        stripe: &TextSampleStripe,
    ) -> Result<(), BuildError> {
        let Sampling { layout, samples, .. } = self.sampling;
        let low_at = HEADER_BYTES + 8 * layout.blocks();
        let parts = [
            (&stripe.words, HEADER_BYTES + 8 * first_block),
            (&stripe.low, low_at + 4 * stripe.before),
            (&stripe.high, low_at + 4 * samples + stripe.before),
        ];
        parts.into_iter().try_for_each(|(bytes, at)| self.write_at(bytes, at))
    }

    fn write_at(&self, bytes: &[u8], at: u64) -> Result<(), BuildError> {
        let path = || self.file.final_path().to_owned();
        let failed = |source: io::Error| BuildError::Write { path: path(), source };
        self.file.file().write_all_at(bytes, at).map_err(failed)
    }

    /// Writes the header; returns the file, which has all its content.
    ///
    /// # Errors
    /// [`BuildError::SuffixArray`] when there are more or fewer samples than places to be sampled,
    /// which would be a bug of the suffix sorter; writing fails.
    pub(in super::super) fn finish(mut self) -> Result<AtomicFile, BuildError> {
        let Sampling { layout, distance_log2, samples, .. } = self.sampling;
        if self.before != samples {
            return Err(BuildError::SuffixArray("its samples are not those of the text".into()));
        }
        let crcs = std::mem::take(&mut self.crcs);
        let [words_crc, low_crc, high_crc] = crcs.map(Hasher::finalize);
        let header = Header {
            magic: MAGIC,
            bases: layout.bases,
            packed_crc: self.packed_crc,
            stride_log2: layout.stride_log2.into(),
            sample_shift: distance_log2,
            words_crc,
            samples,
            low_crc,
            high_crc,
            unused: [0; 3],
            crc: 0,
        };
        let header = header.sealed();
        self.write_at(bytemuck::bytes_of(&header), 0)?;
        Ok(self.file)
    }
}
