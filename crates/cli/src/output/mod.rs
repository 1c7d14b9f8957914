//! What commands with BAM output have in common: their options, the run, and the output itself.

pub(crate) mod arguments;
pub(crate) mod barcodes;
pub(crate) mod cram;
pub(crate) mod files;
pub(crate) mod index;
mod metrics;
mod page;
pub(crate) mod pipeline;
pub(crate) mod progress;
pub(crate) mod reference;
pub(crate) mod resume;
pub(crate) mod run;
pub(crate) mod stripes;
pub(crate) mod summary;

use std::io::{self, Write};
use std::path::Path;

use seqloom_io::{AtomicFile, OutputError, is_direct};
use seqloom_terminal::error::UnusableFile;

use crate::host;

/// The command line as @PG shows it.
pub(crate) fn command_line() -> String {
    host::command_line().join(" ")
}

/// A file of text that is still to get its name.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn stage_text(path: &Path, text: &str) -> seqloom_terminal::Result<AtomicFile> {
    let file = AtomicFile::create(path)?;
    file.file().write_all(text.as_bytes()).map_err(write_error(path))?;
    Ok(file)
}

/// Looks, before the work of hours, whether a file that is written in the end can be.
///
/// # Errors
/// When it cannot.
pub(crate) fn check_writable(path: &Path) -> seqloom_terminal::Result<()> {
    // Who reads a pipe would take this for its end.
    if !is_direct(path) || path.is_dir() {
        drop(AtomicFile::create(path)?);
    }
    Ok(())
}

/// A failure to write the file or folder at `path`.
pub(crate) fn write_error(path: &Path) -> impl FnOnce(io::Error) -> OutputError {
    let path = path.to_owned();
    move |source| OutputError::Write { path, source }
}

/// A failure to read the file or folder at `path`.
pub(crate) fn read_error(path: &Path) -> impl FnOnce(io::Error) -> UnusableFile {
    move |error| UnusableFile::read(path, &error)
}
