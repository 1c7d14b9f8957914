//! An index read into memory, for an engine of our own.

use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};

use bytemuck::Pod;

use super::annotation::{read_amb, read_ann};
use super::check::{alt_contigs, io_error, read_text};
use super::layout::Layout;
use super::read::{PartError, Parts, Readers};
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
    sample_shift: u32,
    blocks: Vec<Block>,
    samples_low: Vec<u32>,
    samples_high: Vec<i8>,
    packed: Vec<u8>,
    sequences: Vec<Sequence>,
    holes: Vec<Range<u64>>,
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
        let mut body = Body::open(paths.bwt(), readers)?;
        let [rows, counts @ ..] = body.take::<[u64; 6]>(1)?[0];
        let blocks = body.take(layout.blocks() as usize)?;
        let samples = layout.samples() as usize;
        let samples_high = if layout.has_long_places() {
            body.take(samples)?
        } else {
            body.parts.skip(samples);
            Vec::new()
        };
        let samples_low = body.take(samples)?;
        let sentinel_row = body.take::<u64>(1)?[0];
        if rows != layout.rows() || counts[4] != layout.symbols() || sentinel_row >= rows {
            return Err(changed());
        }
        let packed_bytes = annotation.bases.div_ceil(4) as usize;
        let packed = Body::open(paths.pac(), readers)?.take(packed_bytes)?;
        Ok(Self {
            bases: annotation.bases,
            // The sentinel's row is the first.
            first_rows: counts.map(|count| count + 1),
            sentinel_row,
            sample_shift: layout.stride_log2.into(),
            blocks,
            samples_low,
            samples_high,
            packed,
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
            sample_shift: self.sample_shift,
            blocks: &self.blocks,
            samples_low: &self.samples_low,
            samples_high: &self.samples_high,
            packed: &self.packed,
        }
    }

    /// The same, and the sequences.
    pub(crate) fn view(&self) -> IndexView<'_> {
        IndexView { parts: self.parts(), sequences: &self.sequences }
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

/// A file of the index.
struct Body {
    path: PathBuf,
    parts: Parts,
}

impl Body {
    fn open(path: PathBuf, readers: Readers) -> Result<Self, IndexError> {
        let file = File::open(&path).map_err(io_error(&path))?;
        Ok(Self { path, parts: Parts::new(file, 0, readers) })
    }

    /// The next `count` values.
    fn take<T: Pod>(&mut self, count: usize) -> Result<Vec<T>, IndexError> {
        self.parts.take(count).map_err(|error| match error {
            PartError::Io(error) => io_error(&self.path)(error),
            PartError::Stopped(stopped) => stopped.into(),
        })
    }
}
