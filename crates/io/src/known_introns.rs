//! Files of known introns: splice sites or GTF, plain or compressed.

use std::path::{Path, PathBuf};

use seqloom_format::introns::{IntronError, IntronRows};
use seqloom_runtime::error::{Class, Place, RunError};

pub use seqloom_format::introns::KnownIntron;

use crate::input::error::InputError;
use crate::text::for_each_line;

/// Why known introns cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KnownIntronsError {
    /// The file cannot be read.
    #[error(transparent)]
    Source(#[from] InputError),
    /// A line makes no sense.
    #[error("{}: line {line} {source}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: u64,
        /// The problem.
        source: IntronError,
    },
    /// GTF of which no intron can be made.
    #[error(
        "{}: GTF without a row whose feature is exon, of which introns are made; is it an extract \
         of one feature?", path.display()
    )]
    NoExons {
        /// The file.
        path: PathBuf,
    },
    /// No row is on a sequence of the index.
    #[error(
        "{}: all introns are on sequences that the index does not have, {name} the first; are they \
         of another reference?", path.display()
    )]
    OtherReference {
        /// The file.
        path: PathBuf,
        /// The first sequence in it.
        name: String,
    },
}

impl RunError for KnownIntronsError {
    fn class(&self) -> Class {
        match self {
            Self::Source(source) => source.class(),
            Self::Line { .. } | Self::NoExons { .. } | Self::OtherReference { .. } => Class::Input,
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::Source(source) => source.place(),
            Self::Line { path, line, .. } => Place::of(path).at_line(*line),
            Self::NoExons { path } | Self::OtherReference { path, .. } => Place::of(path),
        }
    }
}

/// Totals of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownIntronsRead {
    /// In order, each once.
    pub introns: Vec<KnownIntron>,
    /// Rows on other sequences than those of the index.
    pub elsewhere: u64,
}

/// Reads a file, of sequences with these names and lengths.
///
/// # Errors
/// See [`KnownIntronsError`].
pub fn read<'a>(
    path: &Path,
    sequences: impl Iterator<Item = (&'a str, u32)>,
) -> Result<KnownIntronsRead, KnownIntronsError> {
    let mut rows = IntronRows::new(sequences);
    let at_line = |(line, source)| KnownIntronsError::Line { path: path.to_owned(), line, source };
    for_each_line(path, |line, text| {
        rows.line(text, line).map_err(|source| at_line((line, source)))
    })?;
    if rows.lacks_exons() {
        return Err(KnownIntronsError::NoExons { path: path.to_owned() });
    }
    let (elsewhere, is_other) = (rows.elsewhere, rows.rows == 0);
    if let Some(name) = rows.first_elsewhere.take().filter(|_| is_other) {
        return Err(KnownIntronsError::OtherReference { path: path.to_owned(), name });
    }
    let introns = rows.finish().map_err(at_line)?;
    Ok(KnownIntronsRead { introns, elsewhere })
}
