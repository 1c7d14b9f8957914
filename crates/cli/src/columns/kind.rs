//! What an input is, recognised by its content.

use std::path::{Path, PathBuf};

use seqloom_io::InputError;
use seqloom_io::reads::{ReadSource, ReadsError, SourceOptions};
use seqloom_signal::store::{self, OpenOptions, StoreError};

use super::arguments::Kind;

/// What `path` is. Standard input, which cannot be looked at twice, counts as alignments, as do
/// pipes; a folder is one of raw signal.
///
/// # Errors
/// The file cannot be read.
pub(super) fn of(path: &PathBuf) -> seqloom_terminal::Result<Kind> {
    if path.is_dir() {
        return Ok(Kind::Signal);
    }
    if path == Path::new("-") || !path.is_file() {
        return Ok(Kind::Alignments);
    }
    match store::open(path, &OpenOptions::default()) {
        Ok(_) | Err(StoreError::Malformed { .. }) => return Ok(Kind::Signal),
        Err(_) => {}
    }
    let opened = ReadSource::open(std::slice::from_ref(path), SourceOptions::default());
    match opened.map(|source| source.format(0).reads) {
        Ok(format) if format.has_records() => Ok(Kind::Alignments),
        Err(ReadsError::Input(InputError::Unsupported { .. })) => Ok(Kind::Alignments),
        Ok(_) => Ok(Kind::Reads),
        Err(error) => Err(error.into()),
    }
}
