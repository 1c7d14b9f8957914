//! Building the index: [`plan`] reads the FASTA and says what building takes, [`build`] does it.
//!
//! **Memory.** With `n = 2L` symbols, `w` bytes per entry of the suffix array (4 while
//! `n < 2^31 - 10,000`, else 8) and `m` the number of LMS suffixes of the text (counted, not
//! guessed: below `n / 3` in every genome), the most that is held is
//!
//! ```text
//! n / 8 + annotation + fixed + n / 16 + max(n + n w + x, n w + waves)   x = m w if 3 m > n, else 0
//! ```
//!
//! packed bases; names and holes; 56 MiB for the program and its buffers; the flags of what occurs
//! twice, by which rows are sampled, if the table is made; then, while sorting, the text, the
//! suffix array and what libsais allocates besides it. The sorter renames at most `m` LMS
//! substrings in the free `n - 2m` entries of the suffix array and allocates a bucket array for
//! them only if they do not fit (libsais by Ilya Grebnov states 2n bytes as its absolute worst
//! case). The text is given back before the rows are written in waves (`bwt::wave_bytes`).
//!
//! Where that is more than the limit, suffixes are sorted in blocks (`blockwise`), with the same
//! bytes; what that takes is in `blockwise::plan`.
//!
//! **Files.** Everything is written under temporary names next to the target. When all of it is
//! complete, an old `.bwt.2bit.64` is removed, the others get their names, and `.bwt.2bit.64` comes
//! last: at no moment is there a half index that looks like a whole one.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use libsais::{IsValidOutputFor, OutputElement, SuffixArrayConstruction};
use seqloom_io::{AtomicFile, AtomicFileError, Publication};

use super::annotation::{write_amb, write_ann};
use super::blockwise::{self, Needs, Sizes};
use super::bwt::{self, Position, RowWriter, Rows};
use super::companions::{Companion, Mismatch};
use super::error::BuildError;
use super::fast_table::{FastTable, Repeats};
use super::layout::{Layout, MAX_BASES, MAX_STRIDE_LOG2, default_stride_log2};
use super::memory::{Large, reserved};
use super::packed::{Packed, pac_bytes};
use super::reference::Reference;
use super::text_samples::{self, TextSampleWriter};
use super::{IndexPaths, fasta_file};

/// Texts of fewer symbols are sorted with 32-bit positions; the rest of 2^31 is for libsais.
const NARROW_SYMBOLS: u64 = (1 << 31) - 10_000;

/// The program itself, stacks, the gzip and write buffers.
const FIXED_BYTES: u64 = 56 << 20;

/// Bytes written at a time to the text and packed files.
const WRITE_BYTES: usize = 1 << 20;

/// How to build.
#[derive(Debug, Clone)]
pub struct BuildOptions {
    /// Refuse to build when it takes more; `None`: no limit.
    pub memory_limit_bytes: Option<u64>,
    /// Write `PREFIX.fast`, the tables of the certified path, and `PREFIX.tsa`, denser samples of
    /// what occurs twice.
    pub fast_table: bool,
    /// Write `PREFIX.0123` too, without which bwa-mem2 does not start. seqloom never reads it.
    pub with_0123: bool,
    /// log2 of the suffix-array stride, 0 to 6; `None`: by the length of the reference. 3 (every
    /// 8th) is the only one bwa-mem2 reads right.
    pub sa_stride_log2: Option<u8>,
    /// Workers that write the rows, and that sort in blocks. Sorting in one piece uses one.
    pub threads: NonZeroUsize,
}

impl Default for BuildOptions {
    fn default() -> Self {
        Self {
            memory_limit_bytes: None,
            fast_table: true,
            with_0123: false,
            sa_stride_log2: None,
            threads: NonZeroUsize::MIN,
        }
    }
}

/// What is being done, for a progress line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The FASTA is read.
    Read,
    /// Suffixes are sorted. In one piece that is one call of the sorter, so only its start and end
    /// are reported; in blocks each is written when it is sorted.
    Sort,
    /// The rows are written, if they have not been yet.
    Write,
}

/// How suffixes are sorted. The bytes of the index do not depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// All at once, by libsais: the fastest, in the most memory.
    OnePiece,
    /// In blocks.
    Blocks {
        /// How often the text is gone through, about.
        passes: u64,
    },
}

/// Called with the phase and how much of it is done, 0 to 1.
pub(crate) type Progress<'a> = &'a dyn Fn(Phase, f64);

/// A reference read and ready to be built, and what that takes.
#[derive(Debug)]
pub struct IndexPlan {
    fasta: PathBuf,
    reference: Reference,
    layout: Layout,
    /// Files next to the FASTA with which something is to be done.
    companions: Vec<Companion>,
    options: BuildOptions,
    /// Sizes of the blocks, when suffixes are sorted in blocks.
    blocks: Option<Sizes>,
    /// How suffixes will be sorted.
    pub method: Method,
    /// Number of sequences.
    pub sequences: u64,
    /// Bases on one strand.
    pub bases: u64,
    /// Most memory the build will hold at a time (formulas in the module's documentation). More
    /// than the limit, if that allows no method: then it is the least that would do.
    pub memory_bytes_needed: u64,
    /// Bytes of all files that will be written, but for the small `.ann` and `.amb`; at most, as
    /// `.tsa` depends on what occurs twice.
    pub most_output_bytes: u64,
}

/// A finished index.
#[derive(Debug)]
pub struct Built {
    /// The files written, complete and under their final names.
    pub files: Vec<PathBuf>,
    /// Files of other tools at the same prefix that belong to another reference (`.bwt`, `.sa` of
    /// bwa, `.0123` of bwa-mem2, when the old `.pac` was missing or different): those tools would
    /// now read a mixed index.
    /// So are a `.fai` and a `.dict` next to the FASTA that are another one's.
    pub stale_files: Vec<PathBuf>,
    /// Files next to the FASTA that are missing and cannot be written there, and why.
    pub not_made: Vec<AtomicFileError>,
}

/// Reads the FASTA at `fasta` (plain, gzip, BGZF or zstd) and says what building its index takes.
///
/// # Errors
/// The file cannot be read or is not a FASTA we accept; it holds more than the format can number;
/// it does not even fit the memory limit packed. Else the limit is held against the plan by
/// [`build`], so that a caller can announce the need first.
pub fn plan(
    fasta: &Path,
    options: &BuildOptions,
    progress: Progress<'_>,
) -> Result<IndexPlan, BuildError> {
    if let Some(stride_log2) = options.sa_stride_log2.filter(|&log2| log2 > MAX_STRIDE_LOG2) {
        return Err(BuildError::Stride(stride_log2));
    }
    let limit_bytes = options.memory_limit_bytes;
    let mut read = |done| progress(Phase::Read, done);
    let (reference, companions) = fasta_file::read(fasta, limit_bytes, &mut read)?;
    let too_large =
        |what, count, most| Err(BuildError::TooLarge { path: fasta.to_owned(), what, count, most });
    let (bases, holes) = (reference.packed.bases(), reference.holes.len() as u64);
    if holes > i32::MAX as u64 {
        return too_large("runs of ambiguous bases", holes, i32::MAX as u64);
    }
    let stride_log2 = options.sa_stride_log2.unwrap_or_else(|| default_stride_log2(bases));
    let Some(layout) = Layout::new(bases, stride_log2) else {
        return too_large("bases", bases, MAX_BASES);
    };
    let Sorting { blocks, method, memory_bytes_needed } = sorting(&reference, layout, options);
    let tables = if options.fast_table { FastTable::least_bytes(bases) } else { 0 };
    let memory_bytes_needed = memory_bytes_needed.max(reference_bytes(&reference) + tables);
    if let (true, Some(limit_bytes)) = (reference.packed.is_count(), limit_bytes) {
        let needed_bytes = memory_bytes_needed;
        return Err(BuildError::MemoryLimit { needed_bytes, limit_bytes, bases });
    }
    let unpacked_bytes = if options.with_0123 { layout.symbols() } else { 0 };
    let fast_bytes = if options.fast_table {
        FastTable::size_bytes(bases) + text_samples::most_bytes(layout)
    } else {
        0
    };
    Ok(IndexPlan {
        sequences: reference.sequences.len() as u64,
        bases,
        blocks,
        method,
        memory_bytes_needed,
        most_output_bytes: pac_bytes(bases) + layout.tagged_bytes() + unpacked_bytes + fast_bytes,
        fasta: fasta.to_owned(),
        reference,
        layout,
        companions,
        options: options.clone(),
    })
}

impl IndexPlan {
    /// Distance of suffix-array samples, in rows.
    #[must_use]
    pub fn sa_stride(&self) -> u32 {
        1 << self.layout.stride_log2
    }

    /// Bytes that the index would take once loaded, with another distance of samples; `None` for
    /// one that is no power of two up to 64.
    #[must_use]
    pub fn loaded_bytes(&self, sa_stride: u32) -> Option<u64> {
        let stride_log2 = u8::try_from(sa_stride.trailing_zeros()).ok()?;
        let layout = Layout::new(self.bases, stride_log2)?;
        sa_stride.is_power_of_two().then(|| layout.loaded_bytes() + pac_bytes(self.bases))
    }

    /// Length of each sequence, in bases.
    pub fn lengths_bp(&self) -> impl Iterator<Item = u64> {
        self.reference.sequences.iter().map(|sequence| sequence.length)
    }
}

/// What is held from start to end: the packed bases, the annotation, the program.
fn reference_bytes(reference: &Reference) -> u64 {
    reference.packed.bases() / 4 + reference.annotation_bytes() + FIXED_BYTES
}

/// How suffixes are sorted, and the memory of all.
struct Sorting {
    blocks: Option<Sizes>,
    method: Method,
    memory_bytes_needed: u64,
}

/// In one piece where the limit allows it, else in blocks.
fn sorting(reference: &Reference, layout: Layout, options: &BuildOptions) -> Sorting {
    let (symbols, limit_bytes) = (layout.symbols(), options.memory_limit_bytes);
    // The flags of what occurs twice stay until the rows are written.
    let flags = if options.fast_table { Repeats::size_bytes(layout.bases) } else { 0 };
    let fixed = reference.annotation_bytes() + FIXED_BYTES + flags;
    let whole = symbols / 8 + fixed + whole_bytes(reference, layout, options.threads);
    let one = Sorting { blocks: None, method: Method::OnePiece, memory_bytes_needed: whole };
    let Some(limit_bytes) = limit_bytes.filter(|&limit_bytes| limit_bytes < whole) else {
        return one;
    };
    let Some(needs) = Needs::new(layout, options.threads) else { return one };
    match limit_bytes.checked_sub(fixed).and_then(|bytes| needs.sizes(bytes)) {
        Some(sizes) => Sorting {
            blocks: Some(sizes),
            method: Method::Blocks { passes: needs.passes(sizes) },
            memory_bytes_needed: fixed + needs.memory_bytes(sizes),
        },
        None => Sorting { memory_bytes_needed: whole.min(fixed + needs.least_bytes()), ..one },
    }
}

/// Sorting in one piece, besides the packed bases: the formula of the module's documentation.
fn whole_bytes(reference: &Reference, layout: Layout, threads: NonZeroUsize) -> u64 {
    let symbols = layout.symbols();
    let width = if symbols < NARROW_SYMBOLS { 4 } else { 8 };
    let packed = &reference.packed;
    let lms = if packed.is_count() { 0 } else { packed.lms_suffixes() };
    let sidecars = if 3 * lms > symbols { lms * width } else { 0 };
    let suffixes = symbols * width;
    (symbols + suffixes + sidecars).max(suffixes + bwt::wave_bytes(layout, threads))
}

/// Builds the index of `plan` at `prefix`; an index already there is replaced.
///
/// # Errors
/// The plan needs more memory than its options allow; memory is refused; a file cannot be written.
/// Nothing has its final name then, and an old index is untouched unless the renaming had begun.
pub fn build(plan: IndexPlan, prefix: &Path, progress: Progress<'_>) -> Result<Built, BuildError> {
    let IndexPlan { reference, layout, options, blocks, memory_bytes_needed, bases, .. } = plan;
    let companions = plan.companions;
    if let Some(limit_bytes) = options.memory_limit_bytes
        && memory_bytes_needed > limit_bytes
    {
        let needed_bytes = memory_bytes_needed;
        return Err(BuildError::MemoryLimit { needed_bytes, limit_bytes, bases });
    }
    let paths = IndexPaths::new(prefix);
    let beside_packed = memory_bytes_needed.saturating_sub(reference_bytes(&reference));
    // The largest file first: a folder that cannot be written is found before the long work.
    let bwt = AtomicFile::create(&paths.bwt())?;
    let mut small = vec![
        filled(&paths.pac(), |out| reference.packed.write_pac(out))?,
        filled(&paths.ann(), |out| write_ann(&reference, out))?,
        filled(&paths.amb(), |out| write_amb(&reference, out))?,
    ];
    let mut text_samples = None;
    if options.fast_table {
        let table = FastTable::make(&reference.packed, beside_packed, options.threads)?;
        small.push(filled(&paths.fast(), |out| table.write(out))?);
        text_samples = TextSampleWriter::create(&paths.text_samples(), layout, table)?;
    }
    if options.with_0123 {
        small.push(filled(&paths.unpacked(), |out| reference.packed.write_unpacked(out))?);
    }
    // While the packed bases are there: the old `.pac` stays until all is complete.
    let mut stale_files = stale_files(&paths, &reference, options.with_0123)?;
    let Sidecars { made, stale, not_made } = sidecars(companions, prefix == plan.fasta)?;
    small.extend(made);
    stale_files.extend(stale);
    let path = paths.bwt();
    let failed = write_error(&path);
    let threads = options.threads;
    let job = RowsJob { layout, threads, file: bwt.file(), failed: &failed, text_samples };
    let text_samples = match blocks {
        Some(sizes) => job.run_in_blocks(reference.packed, sizes, progress)?,
        None if layout.symbols() < NARROW_SYMBOLS => job.run::<i32>(&reference.packed, progress)?,
        None => job.run::<i64>(&reference.packed, progress)?,
    };
    // The first gets its name last: no half index looks whole.
    let outputs: Vec<_> = [bwt].into_iter().chain(text_samples).chain(small).collect();
    let mut files: Vec<_> = outputs.iter().map(|file| file.final_path().to_owned()).collect();
    files.rotate_left(1);
    let mut stale = vec![paths.fast(), paths.text_samples()];
    stale.retain(|path| !files.contains(path));
    Publication { outputs, stale, ..Publication::default() }.commit()?;
    Ok(Built { files, stale_files, not_made })
}

/// What has become of the files next to the FASTA.
#[derive(Default)]
struct Sidecars {
    made: Vec<AtomicFile>,
    stale: Vec<PathBuf>,
    not_made: Vec<AtomicFileError>,
}

/// Makes those that are missing, if the index is there too. The folder of a reference often
/// belongs to somebody else: that nothing can be made there is no reason to fail.
fn sidecars(companions: Vec<Companion>, with_index: bool) -> Result<Sidecars, BuildError> {
    let mut sidecars = Sidecars::default();
    for Companion { path, state } in companions {
        match state {
            Mismatch::Other => sidecars.stale.push(path),
            Mismatch::Missing(_) if !with_index => {}
            Mismatch::Missing(content) => match AtomicFile::create(&path) {
                Ok(file) => {
                    file.file().write_all(&content).map_err(write_error(&path))?;
                    sidecars.made.push(file);
                }
                Err(error) => sidecars.not_made.push(error),
            },
        }
    }
    Ok(sidecars)
}

/// What the ways to sort share.
struct RowsJob<'a> {
    layout: Layout,
    threads: NonZeroUsize,
    file: &'a File,
    failed: &'a (dyn Fn(io::Error) -> BuildError + Sync),
    text_samples: Option<TextSampleWriter>,
}

impl RowsJob<'_> {
    /// Sorts the suffixes in one piece, gives the text back, and writes the rows.
    fn run<P>(
        self,
        packed: &Packed,
        progress: Progress<'_>,
    ) -> Result<Option<AtomicFile>, BuildError>
    where
        P: Position + OutputElement + IsValidOutputFor<u8>,
    {
        let mut text = reserved(self.layout.symbols())?;
        packed.unpack(&mut text);
        progress(Phase::Sort, 0.0);
        let suffixes = suffix_array::<P>(&text)?;
        drop(text);
        progress(Phase::Sort, 1.0);
        let rows = Rows { layout: self.layout, packed, suffixes: &suffixes };
        let written = &mut |done| progress(Phase::Write, done);
        bwt::write(rows, self.file, self.threads, self.failed, self.text_samples, written)
    }

    /// Sorts the suffixes in blocks and writes the rows of each.
    fn run_in_blocks(
        self,
        packed: Packed,
        sizes: Sizes,
        progress: Progress<'_>,
    ) -> Result<Option<AtomicFile>, BuildError> {
        let Self { layout, file, threads, failed, text_samples } = self;
        let writer = RowWriter::new(layout, file, threads, failed, text_samples);
        let done = |done| progress(Phase::Sort, done);
        blockwise::write(packed, sizes, threads, writer, &done)
    }
}

/// The plain suffix array of `text`.
pub(crate) fn suffix_array<P>(text: &[u8]) -> Result<Large<P>, BuildError>
where
    P: OutputElement + IsValidOutputFor<u8>,
{
    let mut suffixes = reserved(text.len() as u64)?;
    suffixes.resize(text.len(), P::zero());
    SuffixArrayConstruction::for_text(text)
        .in_borrowed_buffer(&mut suffixes)
        .single_threaded()
        .run()
        .map_err(|error| BuildError::SuffixArray(format!("{error:?}")))?;
    Ok(suffixes)
}

fn write_error(path: &Path) -> impl Fn(io::Error) -> BuildError + '_ {
    |source| BuildError::Write { path: path.to_owned(), source }
}

/// A file under its temporary name with all its content.
fn filled(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
) -> Result<AtomicFile, BuildError> {
    let file = AtomicFile::create(path)?;
    let mut out = BufWriter::with_capacity(WRITE_BYTES, file.file());
    write(&mut out).and_then(|()| out.flush()).map_err(write_error(path))?;
    drop(out);
    Ok(file)
}

/// The files of other tools that will not fit the new `.pac`.
fn stale_files(
    paths: &IndexPaths,
    reference: &Reference,
    with_0123: bool,
) -> Result<Vec<PathBuf>, BuildError> {
    let mut others = vec![paths.with("bwt"), paths.with("sa")];
    if !with_0123 {
        others.push(paths.unpacked());
    }
    others.retain(|path| path.exists());
    if others.is_empty() {
        return Ok(others);
    }
    let mut same = Comparison { old: File::open(paths.pac()).ok(), buffer: Vec::new() };
    reference.packed.write_pac(&mut same).map_err(write_error(&paths.pac()))?;
    if same.holds() { Ok(Vec::new()) } else { Ok(others) }
}

/// A sink that compares what is written to it with a file.
struct Comparison {
    /// The file while it is equal so far.
    old: Option<File>,
    buffer: Vec<u8>,
}

impl Comparison {
    /// Whether the file was equal and ends here.
    fn holds(mut self) -> bool {
        self.old.as_mut().is_some_and(|old| matches!(old.read(&mut [0]), Ok(0)))
    }
}

impl Write for Comparison {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let bytes = &bytes[..bytes.len().min(WRITE_BYTES)];
        self.buffer.resize(bytes.len(), 0);
        let equal = self.old.as_mut().is_some_and(|old| old.read_exact(&mut self.buffer).is_ok())
            && self.buffer == bytes;
        if !equal {
            self.old = None;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
