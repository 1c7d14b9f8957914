//! The bytes of one input as they are: a regular file read at offsets, or a stream read as it
//! comes.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::error::InputError;
use super::poll;

/// One opened input.
#[derive(Debug, Clone)]
pub(crate) struct Input {
    pub(crate) path: Arc<Path>,
    pub(crate) file: Arc<File>,
    /// Size in bytes at open of a regular file that can be read at offsets; `None` for streams
    /// (pipes, terminals, sockets, standard input of any kind).
    pub(crate) size: Option<u64>,
}

impl Input {
    /// Opens a path, or standard input for `-`. Opening a FIFO does not wait for its writer.
    pub(crate) fn open(path: &Path) -> Result<Self, InputError> {
        let failed = |source| InputError::Open { path: path.to_path_buf(), source };
        if path.as_os_str() == "-" {
            let file = File::from(io::stdin().as_fd().try_clone_to_owned().map_err(failed)?);
            return Ok(Self {
                path: Path::new("standard input").into(),
                file: file.into(),
                size: None,
            });
        }
        let is_fifo = std::fs::metadata(path).map_err(failed)?.file_type().is_fifo();
        let mut options = OpenOptions::new();
        options.read(true);
        if is_fifo {
            options.custom_flags(libc::O_NONBLOCK);
        }
        let file = options.open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if metadata.is_dir() {
            return Err(failed(io::Error::from(io::ErrorKind::IsADirectory)));
        }
        let size = metadata.is_file().then_some(metadata.len());
        Ok(Self { path: path.into(), file: file.into(), size })
    }

    /// Fills `out` from `offset` of a regular file as far as `size` goes; every byte of it must be
    /// there.
    pub(crate) fn read_exact_at(&self, out: &mut [u8], offset: u64) -> Result<(), InputError> {
        self.file.read_exact_at(out, offset).map_err(|source| match source.kind() {
            io::ErrorKind::UnexpectedEof => match self.check_unchanged() {
                Err(changed) => changed,
                Ok(()) => self.read_error(offset, source),
            },
            _ => self.read_error(offset, source),
        })
    }

    /// Fails if a regular file has another size than at open.
    pub(crate) fn check_unchanged(&self) -> Result<(), InputError> {
        let Some(was_bytes) = self.size else { return Ok(()) };
        let now_bytes = self.file.metadata().map_err(|error| self.read_error(0, error))?.len();
        if now_bytes == was_bytes {
            return Ok(());
        }
        Err(InputError::Changed { path: self.path.to_path_buf(), was_bytes, now_bytes })
    }

    pub(crate) fn read_error(&self, byte: u64, source: io::Error) -> InputError {
        InputError::Read { path: self.path.to_path_buf(), byte, source }
    }

    /// It is something else than is read here.
    pub(crate) fn unsupported(&self, problem: impl Into<String>, hint: &'static str) -> InputError {
        let (path, problem) = (self.path.to_path_buf(), problem.into());
        InputError::Unsupported { path, problem, hint }
    }

    pub(crate) fn compressed_error(&self, byte: u64, problem: impl Into<String>) -> InputError {
        let (path, problem) = (self.path.to_path_buf(), problem.into());
        InputError::Compressed { path, byte, problem, is_truncation: false }
    }

    pub(crate) fn truncation_error(&self, byte: u64, problem: impl Into<String>) -> InputError {
        let (path, problem) = (self.path.to_path_buf(), problem.into());
        InputError::Compressed { path, byte, problem, is_truncation: true }
    }
}

/// Result of one read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Filled {
    /// That many bytes, more than none.
    Bytes(usize),
    /// Nothing is there now.
    Waiting,
    /// The input is used up.
    End,
}

/// Reads from an input front to back and never blocks on a stream that has nothing yet.
#[derive(Debug)]
pub(crate) struct RawReader {
    pub(crate) input: Input,
    /// Offset of the next byte.
    offset: u64,
}

impl RawReader {
    /// From `offset`, which must be 0 for a stream.
    pub(crate) fn new(input: Input, offset: u64) -> Self {
        Self { input, offset }
    }

    /// Offset of the next byte.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Reads some bytes into `out`, which is not empty.
    pub(crate) fn read(&mut self, out: &mut [u8]) -> Result<Filled, InputError> {
        loop {
            let result = match self.input.size {
                Some(_) => self.input.file.read_at(out, self.offset),
                None => {
                    // Asking first serves two ends: a descriptor that is shared with others need
                    // not be made non-blocking, and a FIFO without a writer yet is not its end.
                    match poll::readable(&[&self.input.file], Duration::ZERO) {
                        Ok([true, _]) => (&*self.input.file).read(out),
                        Ok(_) => return Ok(Filled::Waiting),
                        Err(error) => Err(error),
                    }
                }
            };
            match result {
                Ok(0) => {
                    self.input.check_unchanged()?;
                    return Ok(Filled::End);
                }
                Ok(count) => {
                    self.offset += count as u64;
                    return Ok(Filled::Bytes(count));
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(Filled::Waiting);
                }
                Err(error) => return Err(self.input.read_error(self.offset, error)),
            }
        }
    }
}
