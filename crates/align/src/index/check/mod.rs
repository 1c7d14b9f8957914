//! Checking an index before an engine loads it.
//!
//! The engine's loader aborts the process on a damaged file and loads the index of another
//! reference without a word, so everything it trusts is looked at here: that all files are there,
//! that `.ann` and `.amb` parse and agree, sizes by formula, the symbol counts of `.pac` against
//! those of `.bwt.2bit.64`, and in some blocks of rows, spread evenly from the
//! first to the last, that counts, masks and suffix-array samples fit each other and the bases,
//! and that the way from a sampled suffix to the one before it, and so on, leads to a row with the
//! sample that it should have.
//!
//! What this cannot see: damage between the blocks examined, and another reference of equal
//! length, names and symbol counts that differs in a few places only.

mod files;
mod rows;

use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use seqloom_runtime::error::{Class, Place, RunError};
use seqloom_runtime::pool::Stopped;

use super::IndexPaths;
use super::annotation::{Annotation, TextError, read_alt, read_amb, read_ann};
use super::packed::pac_bytes;
use files::Pac;
use rows::Bwt;

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
        /// The prefix requested.
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
        /// The error of the operating system.
        source: io::Error,
    },
    /// A line of `.ann` or `.amb` is not what it should be.
    #[error("{}: line {line}: {problem}; run `seqloom index` again", path.display())]
    Text {
        /// The file.
        path: PathBuf,
        /// Line, counted from 1.
        line: u64,
        /// The problem.
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
    /// Its readers were stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

impl RunError for IndexError {
    fn class(&self) -> Class {
        match self {
            Self::Missing { .. } => Class::MissingInput,
            Self::Io { source, .. } => Class::of_input(source),
            Self::Text { .. } | Self::Damaged { .. } | Self::OtherReference { .. } => Class::Input,
            Self::Stopped(stopped) => stopped.class(),
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::Missing { prefix: path, .. }
            | Self::Io { path, .. }
            | Self::Damaged { path, .. }
            | Self::OtherReference { bwt: path, .. } => Place::of(path),
            Self::Text { path, line, .. } => Place::of(path).at_line(*line),
            Self::Stopped(stopped) => stopped.place(),
        }
    }
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
    let is_alt = alt_contigs(&paths, &annotation)?;
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
        memory_bytes: bwt.layout.loaded_bytes() + pac_bytes(pac.bases),
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

/// Which contigs `.alt` names: none where there is no such file.
pub(super) fn alt_contigs(
    paths: &IndexPaths,
    annotation: &Annotation,
) -> Result<Vec<bool>, IndexError> {
    match File::open(paths.alt()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Ok(vec![false; annotation.sequences.len()])
        }
        _ => read_text(&paths.alt(), |input| read_alt(input, annotation)),
    }
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
