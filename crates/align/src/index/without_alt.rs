//! An index without its `.alt` file, for an engine that reads that file whenever it is next to it.

use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::{IndexError, IndexPaths};

/// A temporary folder of links to the other files of an index; removed when dropped.
#[derive(Debug)]
pub struct WithoutAlt {
    folder: PathBuf,
}

impl WithoutAlt {
    /// Links the index at `prefix`.
    ///
    /// # Errors
    /// When the folder or the links cannot be made.
    pub fn of(prefix: &Path) -> Result<Self, IndexError> {
        let folder = std::env::temp_dir().join(format!("seqloom-index-{}", std::process::id()));
        let failed = |source: io::Error| IndexError::Io { path: folder.clone(), source };
        std::fs::create_dir(&folder).map_err(failed)?;
        let linked = Self { folder: folder.clone() };
        let (from, to) = (IndexPaths::new(prefix), IndexPaths::new(&linked.prefix()));
        let files = [
            (from.pac(), to.pac()),
            (from.ann(), to.ann()),
            (from.amb(), to.amb()),
            (from.bwt(), to.bwt()),
            (from.text_samples(), to.text_samples()),
        ];
        for (target, link) in files {
            let target = std::path::absolute(target).map_err(failed)?;
            symlink(target, link).map_err(failed)?;
        }
        Ok(linked)
    }

    /// Prefix of the linked index.
    #[must_use]
    pub fn prefix(&self) -> PathBuf {
        self.folder.join("index")
    }
}

impl Drop for WithoutAlt {
    fn drop(&mut self) {
        // What is left are a few links; nothing depends on them.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
