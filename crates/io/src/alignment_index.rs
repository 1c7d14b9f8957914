//! The index next to a file of alignments.

use std::path::{Path, PathBuf};

use seqloom_cram::read::{BadLine, ContainerPlace, first_container};
use seqloom_format::bgzf::VirtualOffset;
use seqloom_format::index::{BadIndex, IndexedRegion, first_offset};
use seqloom_runtime::error::{Class, Place, RunError};

use crate::input::alignments::AlignmentFormat;
use crate::input::error::InputError;
use crate::sidecars::{bam_indices, cram_indices, is_older};
use crate::text::for_each_chunk;

/// Why an index is of no use.
#[derive(Debug, thiserror::Error)]
pub enum AlignmentIndexError {
    /// Reading or inflating failed.
    #[error(transparent)]
    Read(#[from] InputError),
    /// It is malformed, or that of another file.
    #[error("{}: {source}; `samtools index` makes a new one", path.display())]
    Bad {
        /// The index.
        path: PathBuf,
        /// The problem.
        source: BadIndex,
    },
    /// The same of a CRAM's.
    #[error("{}: {source}; `samtools index` makes a new one", path.display())]
    BadLine {
        /// The index.
        path: PathBuf,
        /// The problem.
        source: BadLine,
    },
}

impl RunError for AlignmentIndexError {
    fn class(&self) -> Class {
        match self {
            Self::Read(source) => source.class(),
            Self::Bad { .. } | Self::BadLine { .. } => Class::Input,
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::Read(source) => source.place(),
            Self::Bad { path, .. } => Place::of(path),
            Self::BadLine { path, source } => Place::of(path).at_line(source.0 as u64),
        }
    }
}

/// Start of a record in a file of alignments, or of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RecordStart {
    /// In BAM.
    Virtual(VirtualOffset),
    /// In CRAM.
    Container(ContainerPlace),
}

/// BAI, CSI or CRAI.
#[derive(Debug)]
pub struct AlignmentIndex {
    path: PathBuf,
    is_older: bool,
    is_of_cram: bool,
}

impl AlignmentIndex {
    /// The first index next to a file that is there.
    #[must_use]
    pub fn find(file: &Path, format: AlignmentFormat) -> Option<Self> {
        let is_of_cram = format == AlignmentFormat::Cram;
        let mut paths = match is_of_cram {
            true => cram_indices(file).to_vec(),
            false => bam_indices(file).to_vec(),
        };
        let path = paths.drain(..).find(|path| path.exists())?;
        let is_older = is_older(&path, file);
        Some(Self { path, is_older, is_of_cram })
    }

    /// Path of the index.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether its file was changed later.
    #[must_use]
    pub fn is_older(&self) -> bool {
        self.is_older
    }

    /// From where on the file must be read to meet all records that reach into a region; `None`
    /// where there is no such record.
    ///
    /// # Errors
    /// [`AlignmentIndexError`].
    pub fn first_start(
        &self,
        region: &IndexedRegion,
    ) -> Result<Option<RecordStart>, AlignmentIndexError> {
        let mut index = Vec::new();
        for_each_chunk(&self.path, |chunk| -> Result<(), AlignmentIndexError> {
            index.extend_from_slice(chunk.text);
            Ok(())
        })?;
        let path = self.path.clone();
        if self.is_of_cram {
            let found = first_container(&index, region.reference, region.bases.clone());
            let found = found.map_err(|source| AlignmentIndexError::BadLine { path, source })?;
            return Ok(found.map(RecordStart::Container));
        }
        let found = first_offset(&index, region);
        let found = found.map_err(|source| AlignmentIndexError::Bad { path, source })?;
        Ok(found.map(RecordStart::Virtual))
    }
}
