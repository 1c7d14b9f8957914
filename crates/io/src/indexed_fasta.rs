//! A FASTA read by region, by many threads at once and without a lock.
//!
//! The htslib way (one file position and one cache behind a lock, or one open file per thread) is
//! what f5c's threads queue up for. Here a region is one positional read into the caller's scratch.
//!
//! The `.fai` next to the file is used after it was compared with the file: the header line of
//! every sequence must be where the index says that the sequence before ends. An index that is
//! merely older than its file is used with a warning; one that is missing is made in memory.

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use seqloom_format::fai::{
    FaiBuildError, FaiBuilder, FaiEntry, IndexTextError, MAX_NAME_BYTES, parse_fai,
};
use seqloom_runtime::error::{Class, Place, RunError};

use crate::input::error::InputError;
use crate::seekable_text::{SeekableText, TextError, TextScratch};
use crate::sidecars::{is_older, with_suffix};
use crate::text::for_each_chunk;

/// Sequences whose header is looked for: all of any genome, and few enough that a file of millions
/// of contigs is opened at once.
const MAX_CHECKED: usize = 100_000;

/// Why a FASTA cannot be read by region.
#[derive(Debug, thiserror::Error)]
pub enum IndexedFastaError {
    /// Its text cannot be read.
    #[error(transparent)]
    Text(#[from] TextError),
    /// It could not be read through.
    #[error(transparent)]
    Source(#[from] InputError),
    /// No index can be made of it.
    #[error("{}: {source}", path.display())]
    Build {
        /// The file.
        path: PathBuf,
        /// The problem.
        source: FaiBuildError,
    },
    /// The index cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    ReadIndex {
        /// The index.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The index is malformed.
    #[error("{}: {source}", path.display())]
    Index {
        /// The index.
        path: PathBuf,
        /// The problem.
        source: IndexTextError,
    },
    /// The index is another file's.
    #[error("{}: not the index of its file: {problem}; make it again with samtools faidx",
            path.display())]
    OtherIndex {
        /// The index.
        path: PathBuf,
        /// How that shows.
        problem: String,
    },
    /// A region that the sequence does not have.
    #[error("{}: {name} has {length_bp} bases, not {start} to {end}", path.display())]
    Region {
        /// The file.
        path: PathBuf,
        /// The sequence.
        name: String,
        /// Its length.
        length_bp: u64,
        /// First base requested, from 0.
        start: u64,
        /// One past the last base requested.
        end: u64,
    },
}

impl RunError for IndexedFastaError {
    fn class(&self) -> Class {
        match self {
            Self::Text(source) => source.class(),
            Self::Source(source) => source.class(),
            Self::ReadIndex { source, .. } => Class::of_input(source),
            Self::Build { .. }
            | Self::Index { .. }
            | Self::OtherIndex { .. }
            | Self::Region { .. } => Class::Input,
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::Text(source) => source.place(),
            Self::Source(source) => source.place(),
            Self::Build { path, .. }
            | Self::ReadIndex { path, .. }
            | Self::Index { path, .. }
            | Self::OtherIndex { path, .. } => Place::of(path),
            Self::Region { path, name, .. } => Place::of(path).at_name(name),
        }
    }
}

/// A FASTA file of which any region can be read.
#[derive(Debug)]
pub struct IndexedFasta {
    text: SeekableText,
    sequences: Vec<FaiEntry>,
    by_name: HashMap<Vec<u8>, usize>,
    index_path: PathBuf,
    is_index_old: bool,
}

impl IndexedFasta {
    /// Opens a FASTA, plain or BGZF.
    ///
    /// # Errors
    /// [`IndexedFastaError`].
    pub fn open(path: &Path) -> Result<Self, IndexedFastaError> {
        let text = SeekableText::open(path)?;
        match read_index(path)? {
            Some(sequences) => Self::with_index(text, sequences, true),
            None => Self::with_index(text, build(path)?, false),
        }
    }

    /// Opens a FASTA, if it is plain or BGZF and its index is there.
    ///
    /// # Errors
    /// [`IndexedFastaError`].
    pub fn open_indexed(path: &Path) -> Result<Option<Self>, IndexedFastaError> {
        let Some(sequences) = read_index(path)? else { return Ok(None) };
        match SeekableText::open(path) {
            Ok(text) => Self::with_index(text, sequences, true).map(Some),
            Err(TextError::NotRandom { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn with_index(
        text: SeekableText,
        sequences: Vec<FaiEntry>,
        has_index: bool,
    ) -> Result<Self, IndexedFastaError> {
        let index_path = with_suffix(text.path(), ".fai");
        let names = sequences.iter().enumerate();
        let by_name = names.map(|(number, it)| (it.name.clone(), number)).collect();
        let is_index_old = has_index && is_older(&index_path, text.path());
        let fasta = Self { text, sequences, by_name, index_path, is_index_old };
        if has_index {
            fasta.check_index()?;
        }
        Ok(fasta)
    }

    /// The index, if it is older than its file (and yet fits it).
    #[must_use]
    pub fn old_index(&self) -> Option<&Path> {
        self.is_index_old.then_some(self.index_path.as_path())
    }

    /// Path of the FASTA.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.text.path()
    }

    /// Number of the sequence of this name.
    #[must_use]
    pub fn find(&self, name: &[u8]) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// Bases of a sequence; 0 for one that is not there.
    #[must_use]
    pub fn length_bp(&self, sequence: usize) -> u64 {
        self.sequences.get(sequence).map_or(0, |it| it.length_bp)
    }

    /// Replaces `out` by bases of a sequence, as they are in the file.
    ///
    /// # Errors
    /// [`IndexedFastaError`]; a region that reaches out of the sequence is one.
    pub fn fetch(
        &self,
        scratch: &mut TextScratch,
        sequence: usize,
        region: Range<u64>,
        out: &mut Vec<u8>,
    ) -> Result<(), IndexedFastaError> {
        out.clear();
        let entry = self.sequences.get(sequence);
        let length_bp = entry.map_or(0, |it| it.length_bp);
        let Some(entry) = entry.filter(|_| region.start <= region.end && region.end <= length_bp)
        else {
            return Err(IndexedFastaError::Region {
                path: self.path().to_owned(),
                name: entry.map_or("?".into(), |it| String::from_utf8_lossy(&it.name)).into_owned(),
                length_bp,
                start: region.start,
                end: region.end,
            });
        };
        if region.is_empty() {
            return Ok(());
        }
        let first = entry.place(region.start);
        let after = entry.place(region.end - 1) + 1;
        let read = self.text.read(scratch, first, (after - first) as usize, out);
        read.map_err(|error| match error {
            TextError::Read { source, .. } if source.kind() == io::ErrorKind::UnexpectedEof => {
                self.other_index(format!("{} ends past the end of the file", lossy(&entry.name)))
            }
            error => error.into(),
        })?;
        join_lines(out, entry, region.start);
        let is_other = memchr::memchr3(b'\n', b'\r', b'>', out).is_some();
        if out.len() as u64 != region.end - region.start || is_other {
            return Err(self.other_index(format!("{} has other lines", lossy(&entry.name))));
        }
        Ok(())
    }

    fn other_index(&self, problem: String) -> IndexedFastaError {
        IndexedFastaError::OtherIndex { path: self.index_path.clone(), problem }
    }

    /// Compares the index with the file; see the module documentation.
    fn check_index(&self) -> Result<(), IndexedFastaError> {
        let (mut scratch, mut between) = (TextScratch::default(), Vec::new());
        let (mut last_end, mut has_line) = (0, false);
        for entry in self.sequences.iter().take(MAX_CHECKED) {
            let name = lossy(&entry.name);
            let gap = entry.offset.checked_sub(last_end);
            let Some(gap) = gap.filter(|&gap| gap <= 4 * MAX_NAME_BYTES as u64) else {
                return Err(self.other_index(format!("no header of {name} is there")));
            };
            between.clear();
            if self.text.read(&mut scratch, last_end, gap as usize, &mut between).is_err() {
                return Err(self.other_index(format!("{name} is past the end of the file")));
            }
            if !is_header(&between, &entry.name, !has_line) {
                return Err(self.other_index(format!("the header of {name} is elsewhere")));
            }
            last_end = entry.place(entry.length_bp);
            has_line = entry.length_bp > 0;
        }
        if self.sequences.len() > MAX_CHECKED {
            return Ok(());
        }
        let rest = self.text.text_bytes().checked_sub(last_end);
        let Some(rest) = rest else {
            return Err(self.other_index("its last sequence is past the end".to_owned()));
        };
        between.clear();
        self.text.read(&mut scratch, last_end, rest.min(64) as usize, &mut between)?;
        if between.iter().any(|byte| !byte.is_ascii_whitespace()) {
            return Err(self.other_index("the file has more after its last sequence".to_owned()));
        }
        Ok(())
    }
}

fn lossy(name: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(name)
}

/// Whether `text` is line ends and the header line of `name`; `starts_line` where the text begins a
/// line.
fn is_header(text: &[u8], name: &[u8], starts_line: bool) -> bool {
    let blank = text.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let Some(line) = text[blank..].strip_prefix(b">").and_then(|it| it.strip_prefix(name)) else {
        return false;
    };
    let is_whole = line.first().is_some_and(u8::is_ascii_whitespace);
    let newlines = memchr::memchr_iter(b'\n', line).count();
    (starts_line || blank > 0) && is_whole && newlines == 1 && line.ends_with(b"\n")
}

/// Takes line ends out of the text of a sequence from the base `start` on.
fn join_lines(text: &mut Vec<u8>, entry: &FaiEntry, start: u64) {
    let (bases, bytes) = (entry.line_bases as usize, entry.line_bytes as usize);
    // A sequence has bases, and so have its lines.
    let first = bases - start as usize % bases.max(1);
    let mut kept = first.min(text.len());
    let mut from = kept + (bytes - bases);
    while from < text.len() {
        let line = from..text.len().min(from + bases);
        let count = line.len();
        text.copy_within(line, kept);
        (kept, from) = (kept + count, from + bytes);
    }
    text.truncate(kept);
}

/// The index that is next to a FASTA.
fn read_index(path: &Path) -> Result<Option<Vec<FaiEntry>>, IndexedFastaError> {
    let path = with_suffix(path, ".fai");
    match std::fs::read(&path) {
        Ok(bytes) => match parse_fai(&bytes) {
            Ok(sequences) => Ok(Some(sequences)),
            Err(source) => Err(IndexedFastaError::Index { path, source }),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(IndexedFastaError::ReadIndex { path, source }),
    }
}

/// The index of a FASTA that has none.
fn build(path: &Path) -> Result<Vec<FaiEntry>, IndexedFastaError> {
    let mut builder = FaiBuilder::default();
    let failed = |source| IndexedFastaError::Build { path: path.to_owned(), source };
    for_each_chunk(path, |chunk| builder.push(chunk.text).map_err(failed))?;
    builder.finish().map_err(failed)
}

#[cfg(test)]
#[path = "indexed_fasta_tests.rs"]
mod tests;
