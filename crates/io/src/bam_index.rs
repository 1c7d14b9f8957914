//! The index next to a BAM file.

use std::path::{Path, PathBuf};

use seqloom_format::bgzf::VirtualOffset;
use seqloom_format::index::{BadIndex, IndexedRegion, first_offset};
use seqloom_runtime::error::{Class, Place, RunError};

use crate::sidecars::{bam_indices, is_older};
use crate::source::SourceError;
use crate::text::for_each_chunk;

/// Why an index is of no use.
#[derive(Debug, thiserror::Error)]
pub enum BamIndexError {
    /// Reading or inflating failed.
    #[error(transparent)]
    Read(#[from] SourceError),
    /// It is malformed, or that of another file.
    #[error("{}: {source}; `samtools index` makes a new one", path.display())]
    Bad {
        /// The index.
        path: PathBuf,
        /// What is wrong.
        source: BadIndex,
    },
}

impl RunError for BamIndexError {
    fn class(&self) -> Class {
        match self {
            Self::Read(source) => source.class(),
            Self::Bad { .. } => Class::Input,
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::Read(source) => source.place(),
            Self::Bad { path, .. } => Place::of(path),
        }
    }
}

/// BAI or CSI.
#[derive(Debug)]
pub struct BamIndex {
    path: PathBuf,
    is_older: bool,
}

impl BamIndex {
    /// The first index next to `bam` that is there.
    #[must_use]
    pub fn find(bam: &Path) -> Option<Self> {
        let path = bam_indices(bam).into_iter().find(|path| path.exists())?;
        let is_older = is_older(&path, bam);
        Some(Self { path, is_older })
    }

    /// Where it is.
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
    /// [`BamIndexError`].
    pub fn first_offset(
        &self,
        region: &IndexedRegion,
    ) -> Result<Option<VirtualOffset>, BamIndexError> {
        let mut index = Vec::new();
        for_each_chunk(&self.path, |chunk| -> Result<(), BamIndexError> {
            index.extend_from_slice(chunk);
            Ok(())
        })?;
        let path = self.path.clone();
        first_offset(&index, region).map_err(|source| BamIndexError::Bad { path, source })
    }
}
