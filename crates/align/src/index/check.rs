//! Checking an index before an engine loads it.
//!
//! The engine's loader aborts the process on a damaged file and loads the index of another
//! reference without a word, so everything it trusts is looked at here: that all files are there,
//! that `.ann` and `.amb` parse and agree, sizes by formula, the symbol counts of `.pac` against
//! those of `.bwt.2bit.64`, and in [`BLOCKS_EXAMINED`] blocks of rows, spread evenly from the
//! first to the last, that counts, masks and suffix-array samples fit each other and the bases,
//! and that the way from a sampled suffix to the one before it, and so on, leads to a row with the
//! sample that it should have.
//!
//! What this cannot see: damage between the blocks examined, and another reference of equal
//! length, names and symbol counts that differs in a few places only.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::IndexPaths;
use super::annotation::{Annotation, TextError, read_alt, read_amb, read_ann};
use super::layout::{BLOCK_ROWS, CHECKPOINTS_AT, Layout, MAX_STRIDE_LOG2, UNTAGGED_STRIDE_LOG2};
use super::packed::{ByteHistogram, pac_bytes};

/// Blocks of rows that are examined in full; all of them when there are fewer.
const BLOCKS_EXAMINED: u64 = 64;

/// Symbols of two neighbouring suffixes that are compared to see their order.
const COMPARED_SYMBOLS: u64 = 64;

/// Steps from a sample to another one that are taken in large indexes: each is a read in any place.
const WALKED_STEPS: u64 = 8;

/// Bytes of `.pac` read at a time.
const READ_BYTES: usize = 1 << 20;

/// One sequence of the reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contig {
    /// Name, printable ASCII.
    pub name: String,
    /// Number of bases, 1 to 2^31 - 1.
    pub length: u32,
    /// Whether `PREFIX.alt` names it.
    pub is_alt: bool,
}

/// What a checked index holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexInfo {
    /// The sequences in their order.
    pub contigs: Vec<Contig>,
    /// Bases of all sequences.
    pub bases: u64,
    /// Bytes of `.bwt.2bit.64`.
    pub bwt_bytes: u64,
    /// Every how many-th row has its suffix sampled: 1 to 64.
    pub sa_stride: u32,
    /// Bytes that the loaded index takes: `.bwt.2bit.64` and `.pac` as they are (chr20: 221 MB,
    /// measured the same).
    pub memory_bytes: u64,
}

/// Why an index cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// Files are missing.
    #[error(
        "no index for {prefix}: run `seqloom index {prefix}` (missing: {}){}",
        names(missing), hint(*bwa_only, *prefix_exists),
        prefix = prefix.display()
    )]
    Missing {
        /// The prefix asked for.
        prefix: PathBuf,
        /// The files that are not there.
        missing: Vec<PathBuf>,
        /// bwa's own `.bwt` and `.sa` are there, `.bwt.2bit.64` is not.
        bwa_only: bool,
        /// A file with the name of the prefix, most likely the FASTA, is there.
        prefix_exists: bool,
    },
    /// A file could not be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A line of `.ann` or `.amb` is not what it should be.
    #[error("{}: line {line}: {problem}; run `seqloom index` again", path.display())]
    Text {
        /// The file.
        path: PathBuf,
        /// Line, counted from 1.
        line: u64,
        /// What is wrong.
        problem: String,
    },
    /// A binary file has the wrong size, or holds what cannot be.
    #[error("{}: {problem}; run `seqloom index` again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong, with its place.
        problem: String,
    },
    /// `.bwt.2bit.64` was made from another reference than `.pac`.
    #[error(
        "{} and {} belong to different references ({problem}); run `seqloom index` again",
        pac.display(), bwt.display()
    )]
    OtherReference {
        /// The packed bases.
        pac: PathBuf,
        /// The transform.
        bwt: PathBuf,
        /// How that shows.
        problem: String,
    },
}

fn names(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

fn hint(bwa_only: bool, prefix_exists: bool) -> &'static str {
    match (bwa_only, prefix_exists) {
        (true, _) => "; the .bwt and .sa of `bwa index` are there, but this engine needs its own",
        (false, true) => "",
        (false, false) => "; there is no such reference file either",
    }
}

/// Checks the index at `prefix`; see the module's documentation for what that covers.
///
/// # Errors
/// The first thing that is wrong. Nothing is held but the contigs.
pub fn check(prefix: &Path) -> Result<IndexInfo, IndexError> {
    let paths = IndexPaths::new(prefix);
    all_there(&paths)?;
    let annotation = read_text(&paths.ann(), read_ann)?;
    read_text(&paths.amb(), |input| read_amb(input, &annotation))?;
    let is_alt = match File::open(paths.alt()) {
        Ok(_) => read_text(&paths.alt(), |input| read_alt(input, &annotation))?,
        Err(_) => vec![false; annotation.sequences.len()],
    };
    let pac = Pac::open(&paths, annotation.bases)?;
    let bwt = Bwt::open(&paths, annotation.bases)?;
    let counts = pac.cumulative_counts()?;
    bwt.check_head(&pac, counts)?;
    bwt.check_blocks(&pac, counts)?;
    Ok(IndexInfo {
        contigs: contigs(annotation, &is_alt),
        bases: pac.bases,
        bwt_bytes: bwt.size_bytes,
        sa_stride: 1 << bwt.layout.stride_log2,
        memory_bytes: bwt.size_bytes + pac_bytes(pac.bases),
    })
}

fn contigs(annotation: Annotation, is_alt: &[bool]) -> Vec<Contig> {
    let sequences = annotation.sequences.into_iter().zip(is_alt);
    sequences
        .map(|(sequence, &is_alt)| Contig {
            name: sequence.name,
            // `read_ann` refuses more than 2^31 - 1.
            length: u32::try_from(sequence.length).unwrap_or(u32::MAX),
            is_alt,
        })
        .collect()
}

fn all_there(paths: &IndexPaths) -> Result<(), IndexError> {
    let needed = [paths.pac(), paths.ann(), paths.amb(), paths.bwt()];
    let missing: Vec<PathBuf> = needed.into_iter().filter(|path| !path.is_file()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let bwa_only =
        !paths.bwt().is_file() && paths.with("bwt").is_file() && paths.with("sa").is_file();
    let prefix = paths.prefix().to_owned();
    let prefix_exists = prefix.exists();
    Err(IndexError::Missing { prefix, missing, bwa_only, prefix_exists })
}

pub(super) fn io_error(path: &Path) -> impl Fn(io::Error) -> IndexError + '_ {
    |source| IndexError::Io { path: path.to_owned(), source }
}

pub(super) fn read_text<T>(
    path: &Path,
    read: impl FnOnce(BufReader<File>) -> Result<T, TextError>,
) -> Result<T, IndexError> {
    let file = File::open(path).map_err(io_error(path))?;
    read(BufReader::new(file)).map_err(|error| match error {
        TextError::Io(source) => io_error(path)(source),
        TextError::Line(line, problem) => IndexError::Text { path: path.to_owned(), line, problem },
    })
}

/// An open file of known size: reads inside it only.
struct Sized {
    file: File,
    path: PathBuf,
}

impl Sized {
    fn open(path: PathBuf) -> Result<(Self, u64), IndexError> {
        let file = File::open(&path).map_err(io_error(&path))?;
        let size_bytes = file.metadata().map_err(io_error(&path))?.len();
        Ok((Self { file, path }, size_bytes))
    }

    fn damaged(&self, problem: impl Into<String>) -> IndexError {
        IndexError::Damaged { path: self.path.clone(), problem: problem.into() }
    }

    fn read(&self, at: u64, buffer: &mut [u8]) -> Result<(), IndexError> {
        self.file.read_exact_at(buffer, at).map_err(io_error(&self.path))
    }

    /// `N` little-endian 64-bit numbers at `at`.
    fn numbers<const N: usize>(&self, at: u64) -> Result<[u64; N], IndexError> {
        let mut bytes = [[0; 8]; N];
        self.read(at, bytes.as_flattened_mut())?;
        Ok(bytes.map(u64::from_le_bytes))
    }
}

/// `.pac`, its size checked.
struct Pac {
    file: Sized,
    bases: u64,
}

impl Pac {
    fn open(paths: &IndexPaths, bases: u64) -> Result<Self, IndexError> {
        let (file, size_bytes) = Sized::open(paths.pac())?;
        let expected = pac_bytes(bases);
        if size_bytes != expected {
            let problem = format!("{size_bytes} bytes; {bases} bases take {expected}");
            return Err(file.damaged(problem));
        }
        let mut tail = [0; 2];
        file.read(expected - 2, &mut tail)?;
        if u64::from(tail[1]) != bases % 4 || (bases.is_multiple_of(4) && tail[0] != 0) {
            return Err(file.damaged(format!("its last byte does not say {} bases", bases % 4)));
        }
        if !bases.is_multiple_of(4) && u64::from(tail[0].trailing_zeros()) < 2 * (4 - bases % 4) {
            return Err(file.damaged("bits set after the last base"));
        }
        Ok(Self { file, bases })
    }

    /// Symbol counts of `T`, from all bases.
    fn cumulative_counts(&self) -> Result<[u64; 5], IndexError> {
        let mut histogram = ByteHistogram::default();
        let mut packed = (&self.file.file).take(self.bases.div_ceil(4));
        let mut buffer = vec![0; READ_BYTES];
        loop {
            match packed.read(&mut buffer) {
                Ok(0) => return Ok(histogram.cumulative_counts(self.bases)),
                Ok(n) => histogram.add(&buffer[..n]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(io_error(&self.file.path)(error)),
            }
        }
    }

    /// At most [`COMPARED_SYMBOLS`]` + 1` symbols of `T` from `at`, fewer at its end.
    fn symbols(&self, at: u64) -> Result<Vec<u8>, IndexError> {
        let end = (at + COMPARED_SYMBOLS + 1).min(2 * self.bases);
        // The same places on the forward strand: one piece, or one on each side of the middle.
        let mirror = |place: u64| 2 * self.bases - place;
        let (forward, reverse) = if end <= self.bases {
            (at..end, 0..0)
        } else if at >= self.bases {
            (0..0, mirror(end)..mirror(at))
        } else {
            (at..self.bases, mirror(end)..self.bases)
        };
        let mut symbols = self.forward(forward)?;
        symbols.extend(self.forward(reverse)?.iter().rev().map(|code| 3 - code));
        Ok(symbols)
    }

    fn forward(&self, range: std::ops::Range<u64>) -> Result<Vec<u8>, IndexError> {
        if range.is_empty() {
            return Ok(Vec::new());
        }
        let first_byte = range.start / 4;
        let mut bytes = vec![0; (range.end.div_ceil(4) - first_byte) as usize];
        self.file.read(first_byte, &mut bytes)?;
        let code = |at: u64| (bytes[(at / 4 - first_byte) as usize] >> (6 - 2 * (at % 4))) & 3;
        Ok(range.map(code).collect())
    }
}

/// `.bwt.2bit.64`, its size checked.
struct Bwt {
    file: Sized,
    layout: Layout,
    size_bytes: u64,
    sentinel_row: u64,
}

/// What a block of rows says.
struct Block {
    start: u64,
    filled: u64,
    occ: [u64; 4],
    masks: [u64; 4],
}

impl Block {
    /// Symbol of row `start + place`.
    fn symbol(&self, place: u64) -> Option<u8> {
        (0..4).find(|&c| (self.masks[usize::from(c)] >> (63 - place)) & 1 == 1)
    }

    /// Symbols before the next block.
    fn occ_after(&self) -> [u64; 4] {
        let mut occ = self.occ;
        for (count, mask) in occ.iter_mut().zip(self.masks) {
            *count += u64::from(mask.count_ones());
        }
        occ
    }
}

impl Bwt {
    fn open(paths: &IndexPaths, bases: u64) -> Result<Self, IndexError> {
        let (file, size_bytes) = Sized::open(paths.bwt())?;
        let layouts = (0..=MAX_STRIDE_LOG2).filter_map(|s| Layout::new(bases, s));
        let tagged = layouts.clone().filter(|layout| layout.tagged_bytes() == size_bytes);
        let tag = match size_bytes.checked_sub(8) {
            Some(at) => file.numbers::<1>(at)?[0],
            None => return Err(file.damaged(format!("{size_bytes} bytes only"))),
        };
        let untagged = |s| move |l: &Layout| l.stride_log2 == s && l.untagged_bytes() == size_bytes;
        let chosen = tagged
            .into_iter()
            .find(|layout| u64::from(layout.stride_log2) == tag)
            .or_else(|| layouts.clone().find(untagged(UNTAGGED_STRIDE_LOG2)));
        let Some(layout) = chosen else {
            let stride = layouts.clone().find(|layout| layout.untagged_bytes() == size_bytes);
            return Err(file.damaged(match stride {
                Some(layout) => format!(
                    "a suffix-array stride of {} without the tag that says so",
                    1_u32 << layout.stride_log2
                ),
                None => format!("{size_bytes} bytes do not fit {bases} bases"),
            }));
        };
        let [sentinel_row] = file.numbers(layout.sentinel_at())?;
        if !(1..layout.rows()).contains(&sentinel_row) {
            return Err(file.damaged(format!("sentinel in row {sentinel_row}")));
        }
        Ok(Self { file, layout, size_bytes, sentinel_row })
    }

    /// The number of rows and the counts, against those of the bases.
    fn check_head(&self, pac: &Pac, counts: [u64; 5]) -> Result<(), IndexError> {
        let [rows, found @ ..] = self.file.numbers::<{ CHECKPOINTS_AT as usize / 8 }>(0)?;
        if rows != self.layout.rows() {
            let expected = self.layout.rows();
            return Err(self.file.damaged(format!("{rows} rows; expected {expected}")));
        }
        if !found.is_sorted() || found[0] != 0 || found[4] != self.layout.symbols() {
            return Err(self.file.damaged(format!("impossible symbol counts {found:?}")));
        }
        if found != counts {
            return Err(self.other_reference(pac, "the symbol counts differ"));
        }
        Ok(())
    }

    fn other_reference(&self, pac: &Pac, problem: impl Into<String>) -> IndexError {
        IndexError::OtherReference {
            pac: pac.file.path.clone(),
            bwt: self.file.path.clone(),
            problem: problem.into(),
        }
    }

    /// Examines blocks from the first to the last.
    fn check_blocks(&self, pac: &Pac, counts: [u64; 5]) -> Result<(), IndexError> {
        let blocks = self.layout.blocks();
        let examined = blocks.min(BLOCKS_EXAMINED);
        for i in 0..examined {
            let index = i * (blocks - 1) / (examined - 1).max(1);
            let block = self.block(index)?;
            let expected_after = if index + 1 < blocks {
                self.file.numbers(self.layout.checkpoint_at(index + 1))?
            } else {
                std::array::from_fn(|c| counts[c + 1] - counts[c])
            };
            let first_is_zero = index > 0 || block.occ == [0; 4];
            if !first_is_zero || block.occ_after() != expected_after {
                let problem = format!("the counts around row {} disagree", block.start);
                return Err(self.file.damaged(problem));
            }
            self.check_samples(pac, &block)?;
            let stride = 1 << self.layout.stride_log2;
            let (walks, steps) =
                if blocks == examined { (u64::MAX, u64::MAX) } else { (1, WALKED_STEPS) };
            let starts = (block.start..block.start + block.filled).step_by(stride);
            for row in starts.take(usize::try_from(walks).unwrap_or(usize::MAX)) {
                self.check_walk(pac, counts, row, steps)?;
            }
        }
        Ok(())
    }

    /// Goes from the suffix of `start`, a sampled row, to the suffixes before it until a row is
    /// sampled, for `steps` steps at most: it must have as many symbols more.
    fn check_walk(
        &self,
        pac: &Pac,
        counts: [u64; 5],
        start: u64,
        steps: u64,
    ) -> Result<(), IndexError> {
        let suffix = self.sample(start >> self.layout.stride_log2)?;
        let mut row = start;
        for step in 1..=steps.min(suffix) {
            let block = self.block(row / BLOCK_ROWS)?;
            let place = row % BLOCK_ROWS;
            let Some(symbol) = block.symbol(place) else { break };
            let c = usize::from(symbol);
            let before = block.masks[c].checked_shr((BLOCK_ROWS - place) as u32).unwrap_or(0);
            row = 1 + counts[c] + block.occ[c] + u64::from(before.count_ones());
            if row >= self.layout.rows() {
                return Err(self.file.damaged(format!("row {start} leads to no row")));
            }
            if row.is_multiple_of(1 << self.layout.stride_log2) {
                let found = self.sample(row >> self.layout.stride_log2)?;
                if found + step != suffix {
                    let problem = format!("the rows {step} steps from row {start} on disagree");
                    return Err(self.other_reference(pac, problem));
                }
                break;
            }
        }
        Ok(())
    }

    /// Reads block `index`; its masks must be disjoint and cover all rows but the sentinel's.
    fn block(&self, index: u64) -> Result<Block, IndexError> {
        let [a, c, g, t, masks @ ..] = self.file.numbers::<8>(self.layout.checkpoint_at(index))?;
        let start = BLOCK_ROWS * index;
        let filled = (self.layout.rows() - start).min(BLOCK_ROWS);
        // The last block is filled by 1 to 63 rows, because there are 2L + 1.
        let mut rows = u64::MAX << (BLOCK_ROWS - filled);
        if let Some(place) = self.sentinel_row.checked_sub(start).filter(|&p| p < BLOCK_ROWS) {
            rows &= !(1 << (63 - place));
        }
        let disjoint = masks.iter().map(|mask| mask.count_ones()).sum::<u32>();
        let union = masks.iter().fold(0, |union, mask| union | mask);
        if union != rows || disjoint != rows.count_ones() {
            let problem = format!("rows from {start} do not have one symbol each");
            return Err(self.file.damaged(problem));
        }
        let occ = [a, c, g, t];
        if occ.iter().any(|&count| count > self.layout.symbols()) {
            return Err(self.file.damaged(format!("impossible counts before row {start}")));
        }
        Ok(Block { start, filled, occ, masks })
    }

    /// The samples of a block: in range, after the symbol that the rows say, in order.
    fn check_samples(&self, pac: &Pac, block: &Block) -> Result<(), IndexError> {
        let stride = 1_u64 << self.layout.stride_log2;
        let mut previous: Option<Vec<u8>> = None;
        for place in (0..block.filled).step_by(stride as usize) {
            let row = block.start + place;
            let suffix = self.sample(row >> self.layout.stride_log2)?;
            let in_range = suffix <= self.layout.symbols();
            let ends_agree = (suffix == self.layout.symbols()) == (row == 0)
                && (suffix == 0) == (row == self.sentinel_row);
            if !in_range || !ends_agree {
                return Err(self.file.damaged(format!("row {row} has suffix {suffix}")));
            }
            let mut text = pac.symbols(suffix.saturating_sub(1))?;
            if suffix > 0 {
                let before = text.remove(0);
                if block.symbol(place) != Some(before) {
                    let problem = format!("row {row} has another symbol before suffix {suffix}");
                    return Err(self.other_reference(pac, problem));
                }
            }
            text.truncate(COMPARED_SYMBOLS as usize);
            if previous.is_some_and(|previous| previous > text) {
                let problem = format!("row {row} is out of order");
                return Err(self.other_reference(pac, problem));
            }
            previous = Some(text);
        }
        Ok(())
    }

    fn sample(&self, sample: u64) -> Result<u64, IndexError> {
        let (mut high, mut low) = ([0; 1], [0; 4]);
        self.file.read(self.layout.high_at(sample), &mut high)?;
        self.file.read(self.layout.low_at(sample), &mut low)?;
        Ok((u64::from(high[0]) << 32) | u64::from(u32::from_le_bytes(low)))
    }
}
