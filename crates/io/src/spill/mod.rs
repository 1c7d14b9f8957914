//! Temporary storage for what does not fit into memory: compressed, checksummed, nameless.
//!
//! A [`SpillFile`] has no name from the moment it is made, so nothing is left of it however the
//! process ends; unless it is to outlive the process, see [`SpillFile::named`]. Every thread
//! appends and reads through `&self`.

mod columns;
mod scratch;

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use seqloom_format::persist_fields;
use seqloom_runtime::error::{Class, Place, RunError};

pub use columns::FRAME_BYTES;
pub use scratch::SpillScratch;

use crate::sink::atomic::is_tmpfile_unsupported;

/// Most raw bytes of one extent (1 GiB).
pub(crate) const MAX_EXTENT_BYTES: usize = 1 << 30;

/// Most names tried for a spill file where it needs one for a moment.
const MAX_NAME_ATTEMPTS: u32 = 100;

/// Why bytes could not be spilled or read back.
#[derive(Debug, thiserror::Error)]
pub enum SpillError {
    /// No folder was given.
    #[error("no folder for temporary files was given")]
    NoFolder,
    /// The file could not be made.
    #[error("cannot create a temporary file in {}: {source}", folder.display())]
    Create {
        /// Folder of temporary files.
        folder: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Every folder is full; this is the last one tried.
    #[error("no space left for temporary files in {}", folder.display())]
    NoSpace {
        /// The last folder of temporary files.
        folder: PathBuf,
    },
    /// Writing failed for another reason than a full disk.
    #[error("cannot write a temporary file in {}: {source}", folder.display())]
    Write {
        /// Folder of the file.
        folder: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Reading failed.
    #[error("cannot read data kept in {}: {source}", folder.display())]
    Read {
        /// Folder of the file.
        folder: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The data read differ from those written.
    #[error(
        "data kept in {} are damaged: the {compressed_bytes} bytes at byte {offset} are not those \
         that were written",
        folder.display()
    )]
    Damaged {
        /// Folder of the file.
        folder: PathBuf,
        /// Offset in the nameless file.
        offset: u64,
        /// Number of bytes there.
        compressed_bytes: u32,
    },
    /// More than [`MAX_EXTENT_BYTES`] in one extent.
    #[error("{0} bytes are too many for one piece of temporary data (at most 1 GiB)")]
    TooLarge(usize),
    /// The extent was made by another spill file.
    #[error("temporary data is missing from its file")]
    Foreign,
    /// zstd failed, which it does for want of memory only.
    #[error("zstd: {0}")]
    Zstd(io::Error),
}

impl RunError for SpillError {
    fn class(&self) -> Class {
        match self {
            Self::Create { .. } | Self::NoSpace { .. } | Self::Write { .. } | Self::Read { .. } => {
                Class::Output
            }
            Self::Damaged { .. } => Class::Damaged,
            Self::Zstd(_) => Class::System,
            Self::NoFolder | Self::TooLarge(_) | Self::Foreign => Class::Bug,
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::Create { folder, .. }
            | Self::NoSpace { folder }
            | Self::Write { folder, .. }
            | Self::Read { folder, .. } => Place::of(folder),
            Self::Damaged { folder, offset, .. } => Place::of(folder).at_byte(*offset),
            Self::NoFolder | Self::TooLarge(_) | Self::Foreign | Self::Zstd(_) => Place::default(),
        }
    }
}

impl SpillError {
    /// Whether a full disk is the cause.
    #[must_use]
    pub(crate) fn is_no_space(&self) -> bool {
        matches!(self, Self::NoSpace { .. })
    }
}

/// Place and checksum of one appended piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpillExtent {
    offset: u64,
    folder: u32,
    compressed_bytes: u32,
    raw_bytes: u32,
    /// CRC32 of the raw bytes.
    checksum: u32,
    in_columns: bool,
}

persist_fields!(SpillExtent { offset, folder, compressed_bytes, raw_bytes, checksum, in_columns });

/// Contents of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// Any bytes.
    Bytes,
    /// Mostly BAM records, each after its ordinal (8 bytes) and size (4): kept in columns.
    Records,
}

impl SpillExtent {
    /// Bytes that [`SpillFile::read`] will append.
    #[must_use]
    pub(crate) fn raw_bytes(&self) -> usize {
        self.raw_bytes as usize
    }

    /// Bytes on disk.
    #[must_use]
    pub(crate) fn compressed_bytes(&self) -> usize {
        self.compressed_bytes as usize
    }

    /// Appends a piece, compressed as in a spill file, to `out`, which is to become part of a
    /// [source](SpillFile::with_sources); the extent counts from the start of `out`.
    ///
    /// # Errors
    /// [`SpillError::TooLarge`], [`SpillError::Zstd`].
    pub fn pack(
        (raw, content): (&[u8], Content),
        scratch: &mut SpillScratch,
        out: &mut Vec<u8>,
    ) -> Result<Self, SpillError> {
        let offset = out.len() as u64;
        out.extend_from_slice(scratch.compress(raw, content)?);
        Ok(Self::new((raw, content), 0, offset, scratch.compressed.len()))
    }

    fn new(
        (raw, content): (&[u8], Content),
        folder: usize,
        offset: u64,
        compressed_bytes: usize,
    ) -> Self {
        Self {
            in_columns: content == Content::Records,
            offset,
            // A folder each, and at most 2^30 bytes and their bound: all fit.
            folder: folder as u32,
            compressed_bytes: compressed_bytes as u32,
            raw_bytes: raw.len() as u32,
            checksum: crc32fast::hash(raw),
        }
    }

    /// The same piece, `bytes` further after in its file.
    #[must_use]
    pub fn moved_by(self, bytes: u64) -> Self {
        Self { offset: self.offset.saturating_add(bytes), ..self }
    }
}

/// One nameless file in one folder.
#[derive(Debug)]
struct Part {
    folder: PathBuf,
    file: File,
    /// Bytes reserved so far. Relaxed where it is but reported.
    end: AtomicU64,
}

/// Nameless temporary files, one per folder, used in turn.
#[derive(Debug)]
pub struct SpillFile {
    /// Those that are written to, then the sources.
    parts: Vec<Part>,
    writable: usize,
    /// Relaxed: the folder decides nothing but where bytes are.
    turn: AtomicUsize,
}

impl SpillFile {
    /// Opens a nameless file in every folder.
    ///
    /// # Errors
    /// [`SpillError::NoFolder`], [`SpillError::Create`].
    pub fn create(folders: &[PathBuf]) -> Result<Self, SpillError> {
        let open = |folder: &PathBuf| match open_nameless(folder) {
            Ok(file) => Ok((folder.clone(), file)),
            Err(source) => Err(SpillError::Create { folder: folder.clone(), source }),
        };
        Self::of_files(folders.iter().map(open).collect::<Result<_, _>>()?)
    }

    /// Opens the files at these paths, of each what is before its end, and makes those that
    /// are missing: for data that another process is to go on with. Nothing removes them.
    ///
    /// # Errors
    /// [`SpillError::NoFolder`], [`SpillError::Create`]; a file that is shorter than it should be.
    pub fn named(files: &[(PathBuf, u64)]) -> Result<Self, SpillError> {
        let open = |(path, end): &(PathBuf, u64)| match open_named(path, *end) {
            Ok(file) => Ok((path.clone(), file)),
            Err(source) => Err(SpillError::Create { folder: path.clone(), source }),
        };
        let spill = Self::of_files(files.iter().map(open).collect::<Result<_, _>>()?)?;
        for (part, (_, end)) in spill.parts.iter().zip(files) {
            part.end.store(*end, Ordering::Release);
        }
        Ok(spill)
    }

    /// As [`SpillFile::create`], with files next to them that are only read: of pieces that were
    /// [packed](SpillExtent::pack) by another process. [`SpillFile::in_source`] distinguishes them.
    ///
    /// # Errors
    /// As [`SpillFile::create`]; [`SpillError::Read`] for a source that cannot be looked at.
    pub fn with_sources(
        folders: &[PathBuf],
        sources: Vec<(PathBuf, File)>,
    ) -> Result<Self, SpillError> {
        let mut spill = Self::create(folders)?;
        for (folder, file) in sources {
            let metadata = file.metadata();
            let failed = |source| SpillError::Read { folder: folder.clone(), source };
            let end = AtomicU64::new(metadata.map_err(failed)?.len());
            spill.parts.push(Part { folder, file, end });
        }
        Ok(spill)
    }

    /// An extent of source number `source`, as this file knows it.
    #[must_use]
    pub fn in_source(&self, source: usize, extent: SpillExtent) -> SpillExtent {
        SpillExtent { folder: (self.writable + source) as u32, ..extent }
    }

    /// Writes everything through to disk; gives each file's path, as [`SpillFile::named`] was
    /// given, and its end. Nothing may be appended meanwhile.
    ///
    /// # Errors
    /// [`SpillError::Write`].
    pub fn sync(&self) -> Result<Vec<(PathBuf, u64)>, SpillError> {
        let sync = |part: &Part| match part.file.sync_data() {
            Ok(()) => Ok((part.folder.clone(), part.end.load(Ordering::Acquire))),
            Err(source) => Err(SpillError::Write { folder: part.folder.clone(), source }),
        };
        self.parts[..self.writable].iter().map(sync).collect()
    }

    fn of_files(files: Vec<(PathBuf, File)>) -> Result<Self, SpillError> {
        if files.is_empty() {
            return Err(SpillError::NoFolder);
        }
        let writable = files.len();
        let part = |(folder, file)| Part { folder, file, end: AtomicU64::new(0) };
        let parts = files.into_iter().map(part).collect();
        Ok(Self { parts, writable, turn: AtomicUsize::new(0) })
    }

    /// Compresses and writes `raw` (at most [`MAX_EXTENT_BYTES`]) to the folder whose turn it is,
    /// or, where that is full, to the next one that is not.
    ///
    /// # Errors
    /// [`SpillError::NoSpace`] when every folder is full, [`SpillError::Write`],
    /// [`SpillError::TooLarge`], [`SpillError::Zstd`].
    pub fn append(
        &self,
        (raw, content): (&[u8], Content),
        scratch: &mut SpillScratch,
    ) -> Result<SpillExtent, SpillError> {
        let compressed = scratch.compress(raw, content)?;
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let mut full = None;
        for index in (0..self.writable).map(|step| turn.wrapping_add(step) % self.writable) {
            match self.parts[index].append(compressed) {
                Ok(offset) => {
                    let piece = (raw, content);
                    return Ok(SpillExtent::new(piece, index, offset, compressed.len()));
                }
                Err(error) if error.is_no_space() => full = Some(error),
                Err(error) => return Err(error),
            }
        }
        Err(full.unwrap_or(SpillError::NoFolder))
    }

    /// Appends the raw bytes of `extent` to `out`; on an error `out` is as it was.
    ///
    /// # Errors
    /// [`SpillError::Read`], [`SpillError::Damaged`], [`SpillError::Foreign`].
    pub fn read(
        &self,
        extent: SpillExtent,
        out: &mut Vec<u8>,
        scratch: &mut SpillScratch,
    ) -> Result<(), SpillError> {
        let part = self.parts.get(extent.folder as usize).ok_or(SpillError::Foreign)?;
        let end = extent.offset.saturating_add(extent.compressed_bytes.into());
        if end > part.end.load(Ordering::Acquire) {
            return Err(SpillError::Foreign);
        }
        let compressed = &mut scratch.compressed;
        compressed.resize(extent.compressed_bytes(), 0);
        part.file
            .read_exact_at(compressed, extent.offset)
            .map_err(|source| SpillError::Read { folder: part.folder.clone(), source })?;
        let start = out.len();
        let is_whole = scratch.decompress(extent, out).is_some();
        if is_whole && crc32fast::hash(&out[start..]) == extent.checksum {
            return Ok(());
        }
        out.truncate(start);
        Err(SpillError::Damaged {
            folder: part.folder.clone(),
            offset: extent.offset,
            compressed_bytes: extent.compressed_bytes,
        })
    }

    /// Compressed bytes of all folders so far.
    #[must_use]
    pub fn bytes_written(&self) -> u64 {
        self.parts[..self.writable].iter().map(|part| part.end.load(Ordering::Relaxed)).sum()
    }
}

impl Part {
    /// Reserves room and writes; gives the offset.
    fn append(&self, bytes: &[u8]) -> Result<u64, SpillError> {
        let offset = self.end.fetch_add(bytes.len() as u64, Ordering::AcqRel);
        self.file.write_all_at(bytes, offset).map_err(|source| {
            let folder = self.folder.clone();
            match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    SpillError::NoSpace { folder }
                }
                _ => SpillError::Write { folder, source },
            }
        })?;
        Ok(offset)
    }
}

/// Opens a file of this name and cuts it to `end` bytes, all of which must be there.
fn open_named(path: &Path, end: u64) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let file = options.open(path)?;
    if file.metadata()?.len() < end {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
    }
    file.set_len(end)?;
    Ok(file)
}

/// Opens a file that no name leads to, for reading and writing by this process's user only.
pub(crate) fn open_nameless(folder: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    // O_EXCL: the file can never be given a name.
    match options.clone().custom_flags(libc::O_TMPFILE | libc::O_EXCL).open(folder) {
        Err(error) if is_tmpfile_unsupported(&error) => open_unlinked(folder, &options),
        result => result,
    }
}

/// The same where the file system has no O_TMPFILE: made with a name, which is removed at once.
fn open_unlinked(folder: &Path, options: &OpenOptions) -> io::Result<File> {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
    for _ in 0..MAX_NAME_ATTEMPTS {
        // Relaxed: every number is given once.
        let count = COUNTER.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!(".seqloom.spill-{}-{count}", std::process::id()));
        match options.clone().create_new(true).open(&path) {
            Ok(file) => {
                std::fs::remove_file(&path)?;
                return Ok(file);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests;
