//! An index read into memory, for an engine of our own.

use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::annotation::{read_amb, read_ann};
use super::blocks::{self, SampledRows};
use super::check::{alt_contigs, io_error, read_text};
use super::layout::Layout;
use super::read::{PartError, Parts, Readers};
use super::table_error::TableError;
use super::text_samples::TextSamples;
use super::{Block, IndexError, IndexInfo, IndexParts, IndexPaths, IndexView, Sequence};

/// A checked index that is to be loaded.
#[derive(Debug, Clone, Copy)]
pub struct IndexSource<'a> {
    /// Its prefix.
    pub prefix: &'a Path,
    /// What [`check`](super::check()) has found there.
    pub info: &'a IndexInfo,
    /// Who reads it.
    pub readers: Readers,
}

impl<'a> IndexSource<'a> {
    /// Read by one thread, which nothing interrupts.
    #[must_use]
    pub fn new(prefix: &'a Path, info: &'a IndexInfo) -> Self {
        Self { prefix, info, readers: Readers::ONE }
    }
}

/// A loaded index; see [`IndexParts`].
#[derive(Debug)]
pub struct Loaded {
    bases: u64,
    first_rows: [u64; 5],
    sentinel_row: u64,
    superblocks: Vec<[u64; 4]>,
    blocks: Vec<Block>,
    samples: Samples,
    packed: Vec<u8>,
    packed_crc: u32,
    sequences: Vec<Sequence>,
    holes: Vec<Range<u64>>,
}

/// The places of the sampled rows.
#[derive(Debug)]
struct Samples {
    low: Vec<u32>,
    high: Vec<u8>,
    shift: u32,
    row_stride_log2: u32,
    /// Why they are not those of `PREFIX.tsa`, which is there.
    unused: Option<TableError>,
}

impl Loaded {
    /// Reads an index.
    ///
    /// # Errors
    /// A file cannot be read, or is not the one that was checked; an interrupt.
    pub fn read(source: IndexSource<'_>) -> Result<Self, IndexError> {
        let IndexSource { prefix, info, readers } = source;
        let paths = IndexPaths::new(prefix);
        let annotation = read_text(&paths.ann(), read_ann)?;
        let holes = read_text(&paths.amb(), |input| read_amb(input, &annotation))?;
        let is_alt = alt_contigs(&paths, &annotation)?;
        let sequence = |(sequence, is_alt): (&super::annotation::AnnotatedSequence, bool)| {
            let (start, end) = (sequence.offset, sequence.offset + sequence.length);
            Sequence { start, end, is_alt }
        };
        let sequences = annotation.sequences.iter().zip(is_alt).map(sequence).collect();
        let changed = || IndexError::Damaged {
            path: paths.bwt(),
            problem: "it has changed since it was checked".to_owned(),
        };
        let layout = Layout::new(annotation.bases, info.sa_stride.trailing_zeros() as u8);
        let layout = layout.filter(|layout| layout.bases == info.bases).ok_or_else(changed)?;
        let packed_bytes = annotation.bases.div_ceil(4) as usize;
        let (packed, crc) = whole(paths.pac(), readers)?.take_with_crc(packed_bytes)?;
        let packed_crc = crc.finalize();
        let of_text = TextSamples::read(&paths.text_samples(), layout, packed_crc, readers);
        let mut body = whole(paths.bwt(), readers)?;
        let [rows, counts @ ..] = body.take::<[u64; 6]>(1)?[0];
        let Rows { blocks, superblocks, samples } = Rows::read(&mut body, layout, of_text)?;
        let sentinel_row = body.take::<u64>(1)?[0];
        if rows != layout.rows() || counts[4] != layout.symbols() || sentinel_row >= rows {
            return Err(changed());
        }
        // The sentinel's row is the first.
        let first_rows = counts.map(|count| count + 1);
        let superblock = |before: [u64; 4]| std::array::from_fn(|b| first_rows[b] + before[b]);
        Ok(Self {
            bases: annotation.bases,
            first_rows,
            sentinel_row,
            superblocks: superblocks.into_iter().map(superblock).collect(),
            blocks,
            samples,
            packed,
            packed_crc,
            sequences,
            holes,
        })
    }

    /// What searches read.
    pub fn parts(&self) -> IndexParts<'_> {
        IndexParts {
            bases: self.bases,
            first_rows: self.first_rows,
            sentinel_row: self.sentinel_row,
            superblocks: &self.superblocks,
            blocks: &self.blocks,
            samples_low: &self.samples.low,
            samples_high: &self.samples.high,
            sample_shift: self.samples.shift,
            row_stride_log2: self.samples.row_stride_log2,
            packed: &self.packed,
        }
    }

    /// The same, and the sequences.
    pub(crate) fn view(&self) -> IndexView<'_> {
        IndexView { parts: self.parts(), sequences: &self.sequences }
    }

    /// CRC-32 of the packed forward strand.
    pub(crate) fn packed_crc(&self) -> u32 {
        self.packed_crc
    }

    /// Why `PREFIX.tsa`, which is there, is not used.
    pub fn text_samples_unused(&self) -> Option<&TableError> {
        self.samples.unused.as_ref()
    }

    /// The sequences in order, one after the other.
    pub fn sequences(&self) -> &[Sequence] {
        &self.sequences
    }

    /// Places of the forward strand where the reference has no base, in order.
    pub fn holes(&self) -> &[Range<u64>] {
        &self.holes
    }
}

/// The rows of the transform, and the places of the sampled ones.
struct Rows {
    blocks: Vec<Block>,
    /// How often each base occurs before each superblock.
    superblocks: Vec<[u64; 4]>,
    samples: Samples,
}

impl Rows {
    /// Reads what comes next in `.bwt.2bit.64`; samples `of_text` take the place of those there.
    fn read(
        body: &mut Parts,
        layout: Layout,
        of_text: Result<TextSamples, TableError>,
    ) -> Result<Self, IndexError> {
        let every = SampledRows::Every(layout.stride_log2);
        let (sampled, samples, unused) = match of_text {
            Ok(TextSamples { words, low, high, shift }) => {
                let samples = Samples { low, high, shift, row_stride_log2: u32::MAX, unused: None };
                (SampledRows::Marked(words), Some(samples), None)
            }
            Err(TableError::Missing(_)) => (every, None, None),
            Err(TableError::Stopped(stopped)) => return Err(stopped.into()),
            Err(unused) => (every, None, Some(unused)),
        };
        let (blocks, superblocks) = blocks::read(body, layout, &sampled)?;
        let count = layout.samples() as usize;
        let high_count = if layout.has_long_places() { count } else { 0 };
        let samples = match samples {
            Some(samples) => {
                body.skip(5 * count);
                samples
            }
            None => {
                let high = body.take(high_count)?;
                body.skip(count - high_count);
                let row_stride_log2 = layout.stride_log2.into();
                Samples { low: body.take(count)?, high, shift: 0, row_stride_log2, unused }
            }
        };
        Ok(Self { blocks, superblocks, samples })
    }
}

/// A file of the index, from its first byte on.
fn whole(path: PathBuf, readers: Readers) -> Result<Parts, IndexError> {
    let file = File::open(&path).map_err(io_error(&path))?;
    Ok(Parts::new(file, path, 0, readers))
}

impl From<PartError> for IndexError {
    fn from(error: PartError) -> Self {
        match error {
            PartError::Io { path, source } => Self::Io { path, source },
            PartError::Stopped(stopped) => stopped.into(),
        }
    }
}
