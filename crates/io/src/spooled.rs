//! Inputs that are read twice: what can be read once alone (a pipe) is kept in a file without a
//! name.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::spill::{SpillError, open_nameless};
use crate::sys::descriptor_path;

/// An input that is kept as long as this lives.
#[derive(Debug)]
pub struct SpooledInput {
    _file: File,
    path: PathBuf,
}

impl SpooledInput {
    /// Keeps what `path` (`-` for standard input) holds in the first of `folders`; `None` where it
    /// can be read as often as one likes.
    ///
    /// # Errors
    /// [`SpillError`]; what cannot be read is one of [`SpillError::Read`].
    pub fn of(path: &Path, folders: &[PathBuf]) -> Result<Option<Self>, SpillError> {
        let at_path = |source| SpillError::Read { folder: path.to_owned(), source };
        let mut input: Box<dyn io::Read> = if path == Path::new("-") {
            Box::new(io::stdin().lock())
        } else {
            // What cannot be opened is reported by whoever reads it.
            match File::open(path) {
                Ok(file) if !file.metadata().map_err(at_path)?.is_file() => Box::new(file),
                _ => return Ok(None),
            }
        };
        let folder = folders.first().ok_or(SpillError::NoFolder)?;
        let create = |source| SpillError::Create { folder: folder.clone(), source };
        let mut file = open_nameless(folder).map_err(create)?;
        let write = |source| SpillError::Write { folder: folder.clone(), source };
        io::copy(&mut input, &mut file).map_err(write)?;
        let path = descriptor_path(&file);
        Ok(Some(Self { _file: file, path }))
    }

    /// Path that it can be read from, from its beginning each time.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}
