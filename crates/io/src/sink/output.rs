//! Where a command's main output goes, front to back: a file that gets its name when it is whole,
//! or standard output.

use std::fmt;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use seqloom_runtime::error::{Class, Place, RunError};

use md5::Md5;
use md5::digest::{Digest, DynDigest};
use sha2::Sha256;

use super::atomic::{AtomicFile, AtomicFileError};
use crate::sys;

/// A piece of a kept output that is read at a time.
const DIGEST_BYTES: u64 = 1 << 20;
/// What is written is on its way to disk in steps of this: less is left to wait for at the end,
/// when the file is synced and gets its name.
const SYNC_BYTES: u64 = 8 << 20;

/// Why output could not be written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// A write failed: a full disk, a closed pipe.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The output.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The checkpointed part of an output could not be read.
    #[error("cannot read what is kept of {}: {source}", path.display())]
    Read {
        /// The output.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file could not be made or named.
    #[error(transparent)]
    File(#[from] AtomicFileError),
}

impl RunError for OutputError {
    fn class(&self) -> Class {
        match self {
            _ if self.is_closed_pipe() => Class::ClosedPipe,
            Self::Write { .. } | Self::Read { .. } => Class::Output,
            Self::File(file) => file.class(),
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::Write { path, .. } | Self::Read { path, .. } => Place::of(path),
            Self::File(file) => file.place(),
        }
    }
}

impl OutputError {
    /// Whether whoever read our output has gone away, which is no failure of ours.
    #[must_use]
    fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Write { source, .. } if source.kind() == io::ErrorKind::BrokenPipe)
    }
}

/// A digest of what has been written so far.
type Running = Box<dyn DynDigest + Send>;

#[derive(Debug)]
enum Target {
    File(AtomicFile),
    Stdout(File),
}

/// An output written front to back.
pub struct Output {
    target: Target,
    path: PathBuf,
    written_bytes: u64,
    /// Leading bytes that are on their way to disk.
    begun_bytes: u64,
    digest: Option<Running>,
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { target, path, written_bytes, .. } = self;
        let mut fields = f.debug_struct("Output");
        fields.field("target", target).field("path", path).field("written_bytes", written_bytes);
        fields.finish_non_exhaustive()
    }
}

impl Output {
    /// Opens `path`; `-` is standard output.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn create(path: &Path) -> Result<Self, OutputError> {
        let target = if path == Path::new("-") {
            let stdout = io::stdout().as_fd().try_clone_to_owned();
            let failed = |source| OutputError::Write { path: path.to_owned(), source };
            Target::Stdout(File::from(stdout.map_err(failed)?))
        } else {
            Target::File(AtomicFile::create(path)?)
        };
        Ok(Self::new(target, path, 0))
    }

    /// Resumes an output of which the first `bytes` are `kept`, see [`AtomicFile::keep`].
    ///
    /// # Errors
    /// When they are not there, or the file cannot be opened.
    pub fn keep(path: &Path, kept: &Path, bytes: u64) -> Result<Self, OutputError> {
        let target = Target::File(AtomicFile::keep(path, kept, bytes)?);
        Ok(Self::new(target, path, bytes))
    }

    /// Continues a file that others have written parts of: see [`AtomicFile::adopt`], and
    /// [`Output::skip`] for those. `None` where it cannot get a name next to `path`.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn adopt(path: &Path, written: &Path) -> Result<Option<Self>, OutputError> {
        if path == Path::new("-") {
            return Ok(None);
        }
        let file = AtomicFile::adopt(path, written)?;
        Ok(file.map(|file| Self::new(Target::File(file), path, 0)))
    }

    fn new(target: Target, path: &Path, written_bytes: u64) -> Self {
        let path = path.to_owned();
        Self { target, path, written_bytes, begun_bytes: written_bytes, digest: None }
    }

    /// Takes the MD5 of what is written; call before anything is, but for what was kept.
    ///
    /// # Errors
    /// When what was kept cannot be read.
    pub fn take_md5(&mut self) -> Result<(), OutputError> {
        self.take(Box::new(Md5::new()))
    }

    /// As [`Output::take_md5`], but the SHA-256: an output has one digest.
    ///
    /// # Errors
    /// When what was kept cannot be read.
    pub fn take_sha256(&mut self) -> Result<(), OutputError> {
        self.take(Box::new(Sha256::new()))
    }

    fn take(&mut self, mut running: Running) -> Result<(), OutputError> {
        if let Target::File(file) = &self.target {
            let failed = |source| OutputError::Read { path: self.path.clone(), source };
            digest(file.file(), 0..self.written_bytes, &mut *running).map_err(failed)?;
        }
        self.digest = Some(running);
        Ok(())
    }

    /// Writes through to disk what was written so far.
    ///
    /// # Errors
    /// When that fails.
    pub fn sync(&self) -> Result<(), OutputError> {
        let Target::File(file) = &self.target else { return Ok(()) };
        let failed = |source| OutputError::Write { path: self.path.clone(), source };
        file.file().sync_data().map_err(failed)
    }

    /// The digest of all that was written, in hexadecimal, if one was to be taken.
    #[must_use]
    pub fn digest(&self) -> Option<String> {
        let digest = self.digest.as_ref()?.box_clone().finalize();
        Some(digest.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Bytes written so far.
    #[must_use]
    pub fn written_bytes(&self) -> u64 {
        self.written_bytes
    }

    /// Whether this is a file that will get a name, so that an index can be next to it.
    #[must_use]
    pub fn is_regular_file(&self) -> bool {
        matches!(&self.target, Target::File(file) if !file.is_direct())
    }

    /// Appends `bytes`.
    ///
    /// # Errors
    /// When not all of them can be written.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), OutputError> {
        let outcome = match &mut self.target {
            Target::File(file) => file.file().write_all(bytes),
            Target::Stdout(file) => file.write_all(bytes),
        };
        outcome.map_err(|source| OutputError::Write { path: self.path.clone(), source })?;
        self.written_bytes += bytes.len() as u64;
        if let Some(digest) = &mut self.digest {
            digest.update(bytes);
        }
        self.begin_to_sync();
        Ok(())
    }

    /// Passes over `bytes` of an [adopted](Output::adopt) file that are written already.
    ///
    /// # Errors
    /// When they cannot be read for a digest that is taken, or this is standard output.
    pub fn skip(&mut self, bytes: u64) -> Result<(), OutputError> {
        let end = self.written_bytes + bytes;
        let skipped = match &self.target {
            Target::Stdout(_) => Err(io::ErrorKind::Unsupported.into()),
            Target::File(file) => {
                let passed = file.file().seek(io::SeekFrom::Start(end)).map(|_| ());
                passed.and_then(|()| match &mut self.digest {
                    Some(running) => digest(file.file(), self.written_bytes..end, &mut **running),
                    None => Ok(()),
                })
            }
        };
        skipped.map_err(|source| OutputError::Read { path: self.path.clone(), source })?;
        (self.written_bytes, self.begun_bytes) = (end, end);
        Ok(())
    }

    /// Takes away what an [adopted](Output::adopt) file has after what was written.
    ///
    /// # Errors
    /// When that fails.
    pub fn end_here(&self) -> Result<(), OutputError> {
        let Target::File(file) = &self.target else { return Ok(()) };
        let failed = |source| OutputError::Write { path: self.path.clone(), source };
        if file.is_direct() {
            return Ok(());
        }
        file.file().set_len(self.written_bytes).map_err(failed)
    }

    fn begin_to_sync(&mut self) {
        let bytes = self.written_bytes - self.begun_bytes;
        if let Target::File(file) = &self.target
            && bytes >= SYNC_BYTES
        {
            sys::begin_to_sync(file.file(), self.begun_bytes, bytes);
            self.begun_bytes = self.written_bytes;
        }
    }

    /// The file that waits for its name; `None` for standard output, which is complete.
    #[must_use]
    pub fn into_file(self) -> Option<AtomicFile> {
        match self.target {
            Target::File(file) => Some(file),
            Target::Stdout(_) => None,
        }
    }
}

/// Takes a part of a file into a digest.
fn digest(file: &File, part: Range<u64>, digest: &mut dyn DynDigest) -> io::Result<()> {
    let mut buffer = vec![0; (part.end - part.start).min(DIGEST_BYTES) as usize];
    let mut offset = part.start;
    while offset < part.end {
        let piece = &mut buffer[..(part.end - offset).min(DIGEST_BYTES) as usize];
        file.read_exact_at(piece, offset)?;
        digest.update(piece);
        offset += piece.len() as u64;
    }
    Ok(())
}
