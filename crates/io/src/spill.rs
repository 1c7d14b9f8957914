//! Temporary storage for what does not fit into memory: compressed, checksummed, nameless.
//!
//! A [`SpillFile`] has no name from the moment it is made, so nothing is left of it however the
//! process ends; unless it is to outlive the process, see [`SpillFile::named`]. Every thread
//! appends and reads through `&self`.

mod columns;

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use seqloom_format::state::State;
use seqloom_format::state_of_fields;

pub use columns::FRAME_BYTES;

use crate::sink::atomic::is_tmpfile_unsupported;
use columns::Columns;

/// zstd level of spilled data: higher levels cost more time than their bytes save.
const ZSTD_LEVEL: i32 = 1;
/// That of bases and qualities, where codes of unequal length do almost all there is to do: at
/// level 1 the piece would be smaller by a tenth, and a third more work.
const COLUMN_LEVEL: i32 = -40;
/// In front of a piece in columns: see [`ColumnSizes`].
const COLUMN_SIZES_BYTES: usize = 24;

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
        /// Where.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Every folder is full; this is the last one tried.
    #[error("no space left for temporary files in {}", folder.display())]
    NoSpace {
        /// Where.
        folder: PathBuf,
    },
    /// Writing failed for another reason than a full disk.
    #[error("cannot write a temporary file in {}: {source}", folder.display())]
    Write {
        /// Where.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Reading failed.
    #[error("cannot read data kept in {}: {source}", folder.display())]
    Read {
        /// Where.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// What was read is not what was written.
    #[error(
        "data kept in {} are damaged: the {compressed_bytes} bytes at byte {offset} are not those \
         that were written",
        folder.display()
    )]
    Damaged {
        /// Where.
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

impl SpillError {
    /// Whether a full disk is the cause.
    #[must_use]
    pub(crate) fn is_no_space(&self) -> bool {
        matches!(self, Self::NoSpace { .. })
    }
}

/// Where one appended piece lies, and how to know it again.
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

state_of_fields!(SpillExtent { offset, folder, compressed_bytes, raw_bytes, checksum, in_columns });

/// What a piece consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// Any bytes.
    Bytes,
    /// Mostly BAM records, each behind its ordinal (8 bytes) and size (4): kept in columns.
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

    /// The same piece, `bytes` further behind in its file.
    #[must_use]
    pub fn moved_by(self, bytes: u64) -> Self {
        Self { offset: self.offset.saturating_add(bytes), ..self }
    }
}

/// A thread's buffers for spilling and reading back.
pub struct SpillScratch {
    compressor: zstd::bulk::Compressor<'static>,
    /// Of bases and qualities.
    column_compressor: zstd::bulk::Compressor<'static>,
    decompressor: zstd::bulk::Decompressor<'static>,
    compressed: Vec<u8>,
    columns: Columns,
}

impl SpillScratch {
    /// Empty buffers; they grow to the compressed bound of the largest piece.
    ///
    /// # Errors
    /// [`SpillError::Zstd`] for want of memory.
    pub fn new() -> Result<Self, SpillError> {
        use zstd::zstd_safe::{CParameter, ParamSwitch};
        let compressor = |level| zstd::bulk::Compressor::new(level).map_err(SpillError::Zstd);
        let mut column_compressor = compressor(COLUMN_LEVEL)?;
        // Levels below zero leave it out unless told otherwise.
        let with_codes = CParameter::LiteralCompressionMode(ParamSwitch::Enable);
        column_compressor.set_parameter(with_codes).map_err(SpillError::Zstd)?;
        Ok(Self {
            compressor: compressor(ZSTD_LEVEL)?,
            column_compressor,
            decompressor: zstd::bulk::Decompressor::new().map_err(SpillError::Zstd)?,
            compressed: Vec::new(),
            columns: Columns::default(),
        })
    }

    /// Compresses a piece into the buffer.
    fn compress(&mut self, raw: &[u8], content: Content) -> Result<&[u8], SpillError> {
        if raw.len() > MAX_EXTENT_BYTES {
            return Err(SpillError::TooLarge(raw.len()));
        }
        self.compressed.clear();
        match content {
            Content::Bytes => {
                compress(&mut self.compressor, raw, &mut self.compressed)?;
            }
            Content::Records => self.compress_columns(raw)?,
        }
        Ok(&self.compressed)
    }

    fn compress_columns(&mut self, raw: &[u8]) -> Result<(), SpillError> {
        let Self { compressor, column_compressor, compressed, columns, .. } = self;
        columns.split(raw);
        compressed.resize(COLUMN_SIZES_BYTES, 0);
        let rest = compress(compressor, &columns.rest, compressed)?;
        let bases = compress(column_compressor, &columns.bases, compressed)?;
        compress(column_compressor, &columns.qualities, compressed)?;
        // A piece has at most 2^30 bytes: all fit.
        let raw = [columns.rest.len(), columns.bases.len(), columns.qualities.len()];
        let sizes = ColumnSizes {
            records: columns.records,
            raw: raw.map(|it| it as u32),
            packed: [rest as u32, bases as u32],
        };
        compressed[..COLUMN_SIZES_BYTES].copy_from_slice(&sizes.to_state());
        Ok(())
    }

    /// Appends the piece that the buffer holds to `out`; `None` if it is damaged.
    fn decompress(&mut self, extent: SpillExtent, out: &mut Vec<u8>) -> Option<()> {
        if extent.in_columns {
            return self.decompress_columns(extent.raw_bytes(), out);
        }
        decompress(&mut self.decompressor, &self.compressed, extent.raw_bytes(), out)
    }

    fn decompress_columns(&mut self, raw_bytes: usize, out: &mut Vec<u8>) -> Option<()> {
        let Self { decompressor, compressed, columns, .. } = self;
        let (sizes, packed) = compressed.split_at_checked(COLUMN_SIZES_BYTES)?;
        let ColumnSizes { records, raw, packed: sizes } = ColumnSizes::from_state(sizes).ok()?;
        let raw = raw.map(|it| it as usize);
        if raw.iter().sum::<usize>() != raw_bytes {
            return None;
        }
        let (rest, packed) = packed.split_at_checked(sizes[0] as usize)?;
        let (bases, qualities) = packed.split_at_checked(sizes[1] as usize)?;
        columns.records = records;
        let to = [&mut columns.rest, &mut columns.bases, &mut columns.qualities];
        for ((packed, raw), column) in [rest, bases, qualities].into_iter().zip(raw).zip(to) {
            column.clear();
            decompress(decompressor, packed, raw, column)?;
        }
        out.reserve(raw_bytes);
        columns.join(out)
    }

    /// Bytes of the buffers held, zstd's own tables (about 1 MB) not counted.
    #[must_use]
    pub(crate) fn heap_bytes(&self) -> usize {
        let Columns { rest, bases, qualities, .. } = &self.columns;
        let columns = [rest, bases, qualities].map(Vec::capacity);
        self.compressed.capacity() + columns.iter().sum::<usize>()
    }
}

/// What stands in front of a piece in columns.
struct ColumnSizes {
    /// Records that were cut.
    records: u32,
    /// Bytes of the rest, of bases and of qualities.
    raw: [u32; 3],
    /// Compressed bytes of the rest and of bases; qualities have what is left.
    packed: [u32; 2],
}

state_of_fields!(ColumnSizes { records, raw, packed });

/// Appends `raw`, compressed, to `out`; gives how many bytes that were.
fn compress(
    compressor: &mut zstd::bulk::Compressor<'static>,
    raw: &[u8],
    out: &mut Vec<u8>,
) -> Result<usize, SpillError> {
    let start = out.len();
    out.reserve(zstd::zstd_safe::compress_bound(raw.len()));
    let mut tail = io::Cursor::new(&mut *out);
    tail.set_position(start as u64);
    compressor.compress_to_buffer(raw, &mut tail).map_err(SpillError::Zstd)
}

/// Appends `raw_bytes` of what was compressed to `out`; `None` if it was not as many.
fn decompress(
    decompressor: &mut zstd::bulk::Decompressor<'static>,
    compressed: &[u8],
    raw_bytes: usize,
    out: &mut Vec<u8>,
) -> Option<()> {
    let start = out.len();
    out.resize(start + raw_bytes, 0);
    let inflated = decompressor.decompress_to_buffer(compressed, &mut out[start..]);
    inflated.is_ok_and(|bytes| bytes == raw_bytes).then_some(())
}

impl std::fmt::Debug for SpillScratch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SpillScratch").field("heap_bytes", &self.heap_bytes()).finish()
    }
}

/// One nameless file in one folder.
#[derive(Debug)]
struct Part {
    folder: PathBuf,
    file: File,
    /// Bytes reserved so far.
    end: AtomicU64,
}

/// Nameless temporary files, one per folder, used in turn.
#[derive(Debug)]
pub struct SpillFile {
    /// Those that are written to, then the sources.
    parts: Vec<Part>,
    writable: usize,
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

    /// Opens the files at these paths, of each what lies in front of its end, and makes those that
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

    /// As [`SpillFile::create`], with files beside them that are only read: of pieces that were
    /// [packed](SpillExtent::pack) by another process. [`SpillFile::in_source`] tells them apart.
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

    /// Writes everything through to disk; gives each file's path, as [`SpillFile::named`] was told,
    /// and its end. Nothing may be appended meanwhile.
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
fn open_nameless(folder: &Path) -> io::Result<File> {
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
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spill(folders: &[&Path]) -> SpillFile {
        let folders: Vec<PathBuf> = folders.iter().map(|&folder| folder.to_owned()).collect();
        SpillFile::create(&folders).unwrap()
    }

    fn is_empty(folder: &Path) -> bool {
        std::fs::read_dir(folder).unwrap().next().is_none()
    }

    fn read(file: &SpillFile, extent: SpillExtent) -> Result<Vec<u8>, SpillError> {
        let mut out = b"before".to_vec();
        let result = file.read(extent, &mut out, &mut SpillScratch::new().unwrap());
        assert!(out.starts_with(b"before"));
        if result.is_err() {
            assert_eq!(out.len(), 6);
        }
        result.map(|()| out.split_off(6))
    }

    #[test]
    fn no_name_is_ever_left() {
        let folder = tempfile::tempdir().unwrap();
        let file = spill(&[folder.path()]);
        file.append((b"bytes", Content::Bytes), &mut SpillScratch::new().unwrap()).unwrap();
        assert!(is_empty(folder.path()));
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        let unlinked = open_unlinked(folder.path(), &options).unwrap();
        assert!(is_empty(folder.path()));
        unlinked.write_all_at(b"x", 0).unwrap();
    }

    #[test]
    fn folders_take_turns() {
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let file = spill(&[folders[0].path(), folders[1].path()]);
        let mut scratch = SpillScratch::new().unwrap();
        let extents: Vec<SpillExtent> = (0..6_u8)
            .map(|i| file.append((&[i; 100], Content::Bytes), &mut scratch).unwrap())
            .collect();
        assert_eq!(extents.iter().map(|it| it.folder).collect::<Vec<_>>(), [0, 1, 0, 1, 0, 1]);
        for (i, &extent) in extents.iter().enumerate() {
            assert_eq!(read(&file, extent).unwrap(), [i as u8; 100]);
        }
        let on_disk: usize = extents.iter().map(SpillExtent::compressed_bytes).sum();
        assert_eq!(file.bytes_written(), on_disk as u64);
    }

    #[test]
    fn bad_folders_are_named() {
        assert!(matches!(SpillFile::create(&[]), Err(SpillError::NoFolder)));
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing");
        let error = SpillFile::create(std::slice::from_ref(&missing)).unwrap_err();
        assert!(error.to_string().contains("missing"), "{error}");
        let plain = folder.path().join("plain");
        std::fs::write(&plain, b"").unwrap();
        assert!(matches!(SpillFile::create(&[plain]), Err(SpillError::Create { .. })));
    }

    /// A file that every write to fails with ENOSPC.
    fn full() -> (PathBuf, File) {
        let file = OpenOptions::new().read(true).write(true).open("/dev/full").unwrap();
        (PathBuf::from("full-folder"), file)
    }

    #[test]
    fn a_full_folder_is_passed_over_and_named_when_it_is_the_last() {
        let mut scratch = SpillScratch::new().unwrap();
        let file = SpillFile::of_files(vec![full()]).unwrap();
        let error = file.append((b"bytes", Content::Bytes), &mut scratch).unwrap_err();
        assert!(error.is_no_space());
        assert!(error.to_string().contains("full-folder"), "{error}");

        let folder = tempfile::tempdir().unwrap();
        let good = (folder.path().to_owned(), open_nameless(folder.path()).unwrap());
        let file = SpillFile::of_files(vec![full(), good]).unwrap();
        for _ in 0..3 {
            let extent = file.append((b"bytes", Content::Bytes), &mut scratch).unwrap();
            assert_eq!(extent.folder, 1);
            assert_eq!(read(&file, extent).unwrap(), b"bytes");
        }
    }

    #[test]
    fn what_is_kept_under_a_name_is_read_by_the_next_and_cut_to_its_end() {
        use seqloom_format::state::State;
        let folder = tempfile::tempdir().unwrap();
        let paths = ["a", "b"].map(|name| (folder.path().join(name), 0));
        let first = SpillFile::named(&paths).unwrap();
        let mut scratch = SpillScratch::new().unwrap();
        let kept = [
            first.append((b"one", Content::Bytes), &mut scratch),
            first.append((b"two", Content::Bytes), &mut scratch),
        ];
        let bytes = kept.map(Result::unwrap).to_state();
        let ends = first.sync().unwrap();
        let lost = first.append((b"behind the end", Content::Bytes), &mut scratch).unwrap();
        drop(first);
        let next = SpillFile::named(&ends).unwrap();
        let kept = <[SpillExtent; 2]>::from_state(&bytes).unwrap();
        assert_eq!(kept.map(|it| read(&next, it).unwrap()), [b"one", b"two"]);
        assert!(matches!(read(&next, lost), Err(SpillError::Foreign)));
        assert_eq!(next.bytes_written(), ends.iter().map(|it| it.1).sum::<u64>());
        let longer: Vec<_> = ends.into_iter().map(|(path, end)| (path, end + 1)).collect();
        assert!(SpillFile::named(&longer).is_err(), "bytes are missing");
    }

    #[test]
    fn damage_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let file = spill(&[folder.path()]);
        let raw: Vec<u8> = (0..50_000_u32).flat_map(|i| (i * i).to_le_bytes()).collect();
        let extent =
            file.append((&raw, Content::Bytes), &mut SpillScratch::new().unwrap()).unwrap();
        assert_eq!(read(&file, extent).unwrap(), raw);
        for offset in [0, 20, extent.compressed_bytes() as u64 / 2] {
            let mut byte = [0];
            file.parts[0].file.read_exact_at(&mut byte, offset).unwrap();
            file.parts[0].file.write_all_at(&[byte[0] ^ 0x10], offset).unwrap();
            assert!(matches!(read(&file, extent), Err(SpillError::Damaged { .. })), "{offset}");
            file.parts[0].file.write_all_at(&byte, offset).unwrap();
        }
        let wrong = SpillExtent { checksum: !extent.checksum, ..extent };
        assert!(matches!(read(&file, wrong), Err(SpillError::Damaged { .. })));
        let short = SpillExtent { raw_bytes: extent.raw_bytes - 1, ..extent };
        assert!(matches!(read(&file, short), Err(SpillError::Damaged { .. })));
        let beyond = SpillExtent { offset: 1, ..extent };
        assert!(matches!(read(&file, beyond), Err(SpillError::Foreign)));
        let other = SpillExtent { folder: 1, ..extent };
        assert!(matches!(read(&file, other), Err(SpillError::Foreign)));
        file.parts[0].file.set_len(10).unwrap();
        assert!(matches!(read(&file, extent), Err(SpillError::Read { .. })));
    }

    #[test]
    fn many_threads_append_and_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = spill(&[folder.path()]);
        std::thread::scope(|scope| {
            for thread in 0..4_u8 {
                let file = &file;
                scope.spawn(move || {
                    let mut scratch = SpillScratch::new().unwrap();
                    let pieces: Vec<Vec<u8>> =
                        (0..50_u8).map(|i| vec![thread ^ i; 10 + usize::from(i) * 97]).collect();
                    let extents: Vec<SpillExtent> = pieces
                        .iter()
                        .map(|raw| file.append((raw, Content::Bytes), &mut scratch).unwrap())
                        .collect();
                    for (raw, &extent) in pieces.iter().zip(&extents) {
                        let mut out = Vec::new();
                        file.read(extent, &mut out, &mut scratch).unwrap();
                        assert_eq!(&out, raw);
                    }
                });
            }
        });
    }

    #[test]
    fn records_are_read_as_they_were_and_damage_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let file = spill(&[folder.path()]);
        let raw: Vec<u8> = (0..99).flat_map(|it| columns::tests::framed(9, 2, it, 30)).collect();
        let mut scratch = SpillScratch::new().unwrap();
        let extent = file.append((&raw, Content::Records), &mut scratch).unwrap();
        assert_eq!(read(&file, extent).unwrap(), raw);
        let shorter = file.append((&raw[..raw.len() - 1], Content::Records), &mut scratch).unwrap();
        assert_eq!(read(&file, shorter).unwrap(), raw[..raw.len() - 1]);
        for offset in 0..extent.compressed_bytes() as u64 {
            let mut byte = [0];
            file.parts[0].file.read_exact_at(&mut byte, offset).unwrap();
            file.parts[0].file.write_all_at(&[byte[0] ^ 0x10], offset).unwrap();
            // Not every bit of zstd's frames means something.
            assert!(
                read(&file, extent).is_ok_and(|it| it == raw)
                    || matches!(read(&file, extent), Err(SpillError::Damaged { .. })),
                "{offset}"
            );
            file.parts[0].file.write_all_at(&byte, offset).unwrap();
        }
        let wrong = SpillExtent { in_columns: false, ..extent };
        assert!(matches!(read(&file, wrong), Err(SpillError::Damaged { .. })));
    }

    proptest! {
        #[test]
        fn what_is_read_is_what_was_written(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..500), 0..8),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let file = spill(&[folder.path()]);
            let mut scratch = SpillScratch::new().unwrap();
            let contents = [Content::Bytes, Content::Records].into_iter().cycle();
            let append = |piece: (&Vec<u8>, Content)| {
                file.append((piece.0, piece.1), &mut scratch).unwrap()
            };
            let extents: Vec<SpillExtent> = pieces.iter().zip(contents).map(append).collect();
            for (raw, extent) in pieces.iter().zip(extents).rev() {
                prop_assert_eq!(&read(&file, extent).unwrap(), raw);
            }
        }
    }
}
