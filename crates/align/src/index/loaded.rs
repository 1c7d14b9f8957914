//! An index read into memory, for an engine of our own.

use std::fs::File;
use std::io::{BufReader, Read};
use std::ops::Range;
use std::path::Path;

use seqloom_runtime::placement::ask_for_huge_pages;

use super::annotation::{read_alt, read_amb, read_ann};
use super::check::{io_error, read_text};
use super::layout::{CHECKPOINTS_AT, Layout};
use super::{Block, IndexError, IndexInfo, IndexParts, IndexPaths, Sequence};

/// Bytes read at a time.
const CHUNK_BYTES: usize = 1 << 20;

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
    /// Reads the index at `prefix`, which [`check`](super::check()) has looked at and found to be
    /// `info`.
    ///
    /// # Errors
    /// A file cannot be read, or is not the one that was checked.
    pub fn read(prefix: &Path, info: &IndexInfo) -> Result<Self, IndexError> {
        let paths = IndexPaths::new(prefix);
        let annotation = read_text(&paths.ann(), read_ann)?;
        let holes = read_text(&paths.amb(), |input| read_amb(input, &annotation))?;
        let is_alt = match File::open(paths.alt()) {
            Ok(_) => read_text(&paths.alt(), |input| read_alt(input, &annotation))?,
            Err(_) => vec![false; annotation.sequences.len()],
        };
        let sequence = |(sequence, alternate): (&super::annotation::AnnotatedSequence, bool)| {
            let (start, end) = (sequence.offset, sequence.offset + sequence.length);
            Sequence { start, end, alternate }
        };
        let sequences = annotation.sequences.iter().zip(is_alt).map(sequence).collect();
        let path = paths.bwt();
        let changed = || IndexError::Damaged {
            path: path.clone(),
            problem: "it has changed since it was checked".to_owned(),
        };
        let layout = Layout::new(annotation.bases, info.sa_stride.trailing_zeros() as u8);
        let layout = layout.filter(|layout| layout.bases == info.bases).ok_or_else(changed)?;
        let mut body = Body::open(&path)?;
        let head = body.take(CHECKPOINTS_AT as usize / 8, u64::from_le_bytes)?;
        let [rows, counts @ ..] = std::array::from_fn::<u64, 6, _>(|at| head[at]);
        let blocks = body.take(layout.blocks() as usize, block_of)?;
        let samples_high = body.take(layout.samples() as usize, i8::from_le_bytes)?;
        let samples_low = body.take(layout.samples() as usize, u32::from_le_bytes)?;
        let sentinel_row = body.take(1, u64::from_le_bytes)?[0];
        if rows != layout.rows() || counts[4] != layout.symbols() || sentinel_row >= rows {
            return Err(changed());
        }
        let packed_bytes = annotation.bases.div_ceil(4) as usize;
        let packed = Body::open(&paths.pac())?.take(packed_bytes, u8::from_le_bytes)?;
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

    /// The sequences in order, one behind the other.
    pub fn sequences(&self) -> &[Sequence] {
        &self.sequences
    }

    /// Places of the forward strand where the reference has no base, in order.
    pub fn holes(&self) -> &[Range<u64>] {
        &self.holes
    }
}

fn block_of(bytes: [u8; 64]) -> Block {
    let word = |at: usize| std::array::from_fn::<u8, 8, _>(|i| bytes[8 * at + i]);
    Block {
        before: [0, 1, 2, 3].map(|at| i64::from_le_bytes(word(at))),
        rows: [4, 5, 6, 7].map(|at| u64::from_le_bytes(word(at))),
    }
}

/// A file read from its beginning.
struct Body<'a> {
    path: &'a Path,
    file: BufReader<File>,
}

impl<'a> Body<'a> {
    fn open(path: &'a Path) -> Result<Self, IndexError> {
        let file = File::open(path).map_err(io_error(path))?;
        Ok(Self { path, file: BufReader::new(file) })
    }

    /// The next `count` values.
    fn take<T, const N: usize>(
        &mut self,
        count: usize,
        value_of: fn([u8; N]) -> T,
    ) -> Result<Vec<T>, IndexError> {
        let mut values = Vec::with_capacity(count);
        // They are read here and there: small pages would cost a miss more each time.
        ask_for_huge_pages(&mut values);
        let mut buffer = vec![0; CHUNK_BYTES.min(count * N)];
        while values.len() < count {
            let some = (count - values.len()).min(CHUNK_BYTES / N);
            let bytes = &mut buffer[..some * N];
            self.file.read_exact(bytes).map_err(io_error(self.path))?;
            values.extend(bytes.as_chunks::<N>().0.iter().map(|&bytes| value_of(bytes)));
        }
        Ok(values)
    }
}
