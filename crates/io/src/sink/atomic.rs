//! Output files that appear under their final name only when they are complete.
//!
//! [`AtomicFile`] writes to a nameless file (`O_TMPFILE`) in the target's folder, so that not even
//! `kill -9` leaves anything after; where the file system has none, to a hidden one that is
//! removed on drop. [`AtomicFile::commit`] syncs it to disk, names it and renames it over the
//! target. This is the only place that makes final names, but for [`super::staging`], where there
//! are too many files to be kept open.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use seqloom_runtime::error::{Class, Place, RunError};

use crate::sys;

/// Permissions of a new file before the umask is taken off.
const MODE: u32 = 0o666;

/// Most temporary names tried for one file: each must be in use by somebody else to be passed over.
const MAX_NAME_ATTEMPTS: u32 = 100;

/// Most bytes of the target's name that go into a temporary name (file names have at most 255).
const MAX_STEM_BYTES: usize = 200;

/// An output file that could not be made, written to disk or named.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}: {source}", path.display())]
pub struct AtomicFileError {
    /// Failed operation, as a verb.
    pub(crate) action: &'static str,
    /// On which file or folder.
    pub path: PathBuf,
    /// The error of the operating system.
    pub(crate) source: io::Error,
}

impl RunError for AtomicFileError {
    fn class(&self) -> Class {
        Class::Output
    }

    fn place(&self) -> Place {
        Place::of(&self.path)
    }
}

/// Makes an [`AtomicFileError`] of an I/O error.
pub(super) fn failed(
    action: &'static str,
    path: &Path,
) -> impl FnOnce(io::Error) -> AtomicFileError {
    move |source| AtomicFileError { action, path: path.to_owned(), source }
}

/// A file that is being written and has no final name yet. Dropped without
/// [`AtomicFile::commit`], it leaves nothing behind, and the target is as it was.
#[derive(Debug)]
pub struct AtomicFile {
    file: File,
    final_path: PathBuf,
    state: State,
}

/// Destination of the bytes.
#[derive(Debug)]
enum State {
    /// To a file without a name.
    Nameless,
    /// To a file with a temporary name.
    Named(TemporaryName),
    /// To a file that has a name elsewhere, which it keeps.
    Elsewhere(PathBuf),
    /// Straight to the target, which is a device, a pipe or a socket.
    Direct,
}

/// A name that is removed on drop, unless it was given away or is kept.
#[derive(Debug)]
struct TemporaryName {
    path: Option<PathBuf>,
    is_kept: bool,
}

impl TemporaryName {
    fn new(path: PathBuf) -> Self {
        Self { path: Some(path), is_kept: false }
    }
}

impl Drop for TemporaryName {
    fn drop(&mut self) {
        if let Some(path) = self.path.as_ref().filter(|_| !self.is_kept) {
            // Nobody is left to read a report, and the file is only a leftover.
            let _ = fs::remove_file(path);
        }
    }
}

impl AtomicFile {
    /// Opens a file that will become `final_path`, with the permissions that the umask leaves. A
    /// symbolic link is followed: its target will be replaced. A target that exists and is no
    /// regular file (`/dev/null`, a FIFO), or that is an open file (`/dev/stdout`), is written to
    /// directly, see [`AtomicFile::is_direct`].
    ///
    /// # Errors
    /// [`AtomicFileError`] when the folder is missing or cannot be written to, or the target is a
    /// folder.
    pub fn create(final_path: &Path) -> Result<Self, AtomicFileError> {
        if is_direct(final_path) {
            let file = OpenOptions::new()
                .write(true)
                .open(final_path)
                .map_err(failed("write to", final_path))?;
            return Ok(Self { file, final_path: final_path.to_owned(), state: State::Direct });
        }
        let final_path = followed(final_path)?;
        match open_nameless(folder_of(&final_path)) {
            Ok(file) if can_be_named(&file) => {
                return Ok(Self { file, final_path, state: State::Nameless });
            }
            Err(error) if !is_tmpfile_unsupported(&error) => {
                return Err(failed("create", &final_path)(error));
            }
            _ => {}
        }
        Self::create_named(final_path)
    }

    /// Opens a file that will become `final_path`, in place of what is there, and is `kept` until
    /// then, whatever becomes of this process: a path on the same file system. Of a file that is
    /// there already the first `bytes` stay, to be followed by what is written.
    ///
    /// # Errors
    /// [`AtomicFileError`]; a file that is shorter than it should be.
    pub(crate) fn keep(
        final_path: &Path,
        kept: &Path,
        bytes: u64,
    ) -> Result<Self, AtomicFileError> {
        let final_path = followed(final_path)?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(MODE);
        let cut = |mut file: File| {
            if file.metadata()?.len() < bytes {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            file.set_len(bytes)?;
            file.seek(io::SeekFrom::Start(bytes))?;
            Ok(file)
        };
        let file = options.open(kept).and_then(cut).map_err(failed("go on with", kept))?;
        let name = TemporaryName { path: Some(kept.to_owned()), is_kept: true };
        Ok(Self { file, final_path, state: State::Named(name) })
    }

    /// Opens a file that is `written` somewhere as one that will have the name `final_path`, too.
    /// `None` where it cannot: it is on another file system, or there is no `link(2)`.
    ///
    /// # Errors
    /// [`AtomicFileError`] when it cannot be opened.
    pub(crate) fn adopt(
        final_path: &Path,
        written: &Path,
    ) -> Result<Option<Self>, AtomicFileError> {
        if is_direct(final_path) {
            return Ok(None);
        }
        let final_path = followed(final_path)?;
        // A name for a moment, to see whether it can have one there.
        if with_temporary_name(&final_path, |name| fs::hard_link(written, name)).is_err() {
            return Ok(None);
        }
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).open(written);
        let file = file.map_err(failed("go on with", written))?;
        Ok(Some(Self { file, final_path, state: State::Elsewhere(written.to_owned()) }))
    }

    /// The way for file systems without nameless files.
    fn create_named(final_path: PathBuf) -> Result<Self, AtomicFileError> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(MODE);
        let (file, name) = with_temporary_name(&final_path, |name| options.open(name))
            .map_err(failed("create", &final_path))?;
        Ok(Self { file, final_path, state: State::Named(name) })
    }

    /// The file to write to. Unless it is [direct](AtomicFile::is_direct), it can be read and
    /// written at any offset, from many threads.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Final path, symbolic links followed.
    #[must_use]
    pub fn final_path(&self) -> &Path {
        &self.final_path
    }

    /// Whether the bytes go straight to a device or pipe: they can then only be written in order,
    /// and are out as soon as they are written.
    #[must_use]
    pub fn is_direct(&self) -> bool {
        matches!(self.state, State::Direct)
    }

    /// Writes the file through to disk and gives it its final name, in place of what had it.
    ///
    /// # Errors
    /// [`AtomicFileError`]; the target is then as it was, unless only the last step failed, the
    /// sync of the folder.
    pub fn commit(self) -> Result<(), AtomicFileError> {
        self.sync()?;
        self.stage()?.publish()?.sync()
    }

    /// Writes the file through to disk and gives it its final name if that is free (`link(2)`, so
    /// that of several processes, on several machines, one succeeds); whether it was. Where it was
    /// not, what has the name stays, and this file is gone.
    ///
    /// # Errors
    /// [`AtomicFileError`]; a file system without links.
    pub fn commit_new(self) -> Result<bool, AtomicFileError> {
        self.sync()?;
        let Self { file, final_path, state } = &self;
        let linked = match state {
            State::Nameless => sys::link_file(file, final_path),
            State::Named(TemporaryName { path: Some(path), .. }) | State::Elsewhere(path) => {
                fs::hard_link(path, final_path)
            }
            State::Named(_) | State::Direct => Err(io::ErrorKind::Unsupported.into()),
        };
        match linked {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
            linked => linked.map_err(failed("link a new file to", final_path))?,
        }
        Published { folder: Some(folder_of(final_path).to_owned()) }.sync()?;
        Ok(true)
    }

    /// Writes the file through to disk.
    fn sync(&self) -> Result<(), AtomicFileError> {
        if matches!(self.state, State::Direct) {
            return Ok(());
        }
        self.file.sync_all().map_err(failed("write to disk", &self.final_path))
    }

    /// Gives the file, which is on disk, a temporary name.
    fn stage(self) -> Result<Staged, AtomicFileError> {
        let Self { file, final_path, state } = self;
        if matches!(state, State::Direct) {
            return Ok(Staged { name: None, final_path });
        }
        let link = |name: &Path| match &state {
            State::Elsewhere(path) => fs::hard_link(path, name),
            _ => sys::link_file(&file, name),
        };
        let name = match state {
            State::Named(name) => name,
            _ => with_temporary_name(&final_path, link).map_err(failed("name", &final_path))?.1,
        };
        Ok(Staged { name: Some(name), final_path })
    }
}

/// A complete file under a temporary name; `None` for one written directly.
struct Staged {
    name: Option<TemporaryName>,
    final_path: PathBuf,
}

impl Staged {
    /// The name that it will have; `None` for one written directly.
    fn target(&self) -> Option<PathBuf> {
        self.name.is_some().then(|| self.final_path.clone())
    }

    /// Gives the file its final name.
    fn publish(self) -> Result<Published, AtomicFileError> {
        let Self { name, final_path } = self;
        let Some(mut name) = name else { return Ok(Published { folder: None }) };
        if let Some(path) = &name.path {
            fs::rename(path, &final_path).map_err(failed("rename a file to", &final_path))?;
            // Of two names of one file, as adopted ones may be, rename(2) leaves both.
            let _ = fs::remove_file(path);
        }
        name.path = None;
        Ok(Published { folder: Some(folder_of(&final_path).to_owned()) })
    }
}

/// A file with its final name, in a folder that is still to be written to disk.
struct Published {
    folder: Option<PathBuf>,
}

impl Published {
    fn sync(self) -> Result<(), AtomicFileError> {
        let Some(folder) = self.folder else { return Ok(()) };
        let result = File::open(&folder).and_then(|it| it.sync_all());
        match result {
            // Some file systems cannot sync a folder, and need not.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Ok(()),
            result => result.map_err(failed("write to disk the folder", &folder)),
        }
    }
}

/// What one run has made, all of it complete and still without names, and the files that its output
/// makes stale. [`Publication::commit`] sees to it that files next to an output are always those of
/// the run that made it: at no moment, and whatever becomes of this process, are others there.
#[derive(Debug, Default)]
pub struct Publication {
    /// The output, or its parts, of which the first holds the header.
    pub outputs: Vec<AtomicFile>,
    /// The index of the output.
    pub index: Option<AtomicFile>,
    /// All else: metrics, reports, digests; in the order in which they get their names.
    pub sidecars: Vec<AtomicFile>,
    /// Files that would be taken for the new output's, if they are there. Pipes and devices stay.
    pub stale: Vec<PathBuf>,
}

impl Publication {
    /// Writes everything to disk before anything changes; removes what is stale, and what has the
    /// names of the index and of the files next to the output; then gives their names to the
    /// output, its index and the files next to it. Of parts the first that was there is removed,
    /// too, and the new first one gets its name after the others and their index, so that parts
    /// that begin with a header are always all of one run.
    ///
    /// # Errors
    /// [`AtomicFileError`] for the first step that failed. When it was before the first renaming,
    /// the old output is still there, at worst without the files next to it. When one of the files
    /// cannot be renamed those before it are removed. When it was the sync of a folder, all are
    /// there.
    pub fn commit(self) -> Result<(), AtomicFileError> {
        // All on disk before the first has any name: what a kill leaves has one for a moment only.
        let all = self.outputs.iter().chain(&self.index).chain(&self.sidecars);
        all.into_iter().try_for_each(AtomicFile::sync)?;
        let stage = |files: Vec<AtomicFile>| -> Result<Vec<Staged>, AtomicFileError> {
            files.into_iter().map(AtomicFile::stage).collect()
        };
        let mut outputs = stage(self.outputs)?;
        let (index, sidecars) = (stage(self.index.into_iter().collect())?, stage(self.sidecars)?);
        let mut old = self.stale;
        old.extend(index.iter().chain(&sidecars).filter_map(Staged::target));
        let mut ordered = Vec::new();
        if outputs.len() > 1 {
            let first = outputs.remove(0);
            old.extend(first.target());
            ordered.extend(outputs.into_iter().chain(index).chain([first]));
        } else {
            ordered.extend(outputs.into_iter().chain(index));
        }
        ordered.extend(sidecars);
        remove_stale(&old)?;
        publish_all(ordered)
    }
}

/// Names files, all or none, and syncs their folders: links may lead each to one of its own.
fn publish_all(files: Vec<Staged>) -> Result<(), AtomicFileError> {
    let mut named = Vec::new();
    let publish = |staged: Staged| -> Result<Published, AtomicFileError> {
        let path = staged.target();
        let published = staged.publish()?;
        named.extend(path);
        Ok(published)
    };
    let published: Result<Vec<_>, _> = files.into_iter().map(publish).collect();
    if published.is_err() {
        for path in named {
            // The error that is reported is the first one.
            let _ = fs::remove_file(path);
        }
    }
    published?.into_iter().try_for_each(Published::sync)
}

/// Removes files, those that are there, of a run before this one. Pipes and devices stay: they are
/// no run's.
///
/// # Errors
/// One that cannot be removed.
pub fn remove_stale(paths: &[PathBuf]) -> Result<(), AtomicFileError> {
    for path in paths {
        let found = fs::symlink_metadata(path).map(|it| it.file_type());
        let is_lasting = found.is_ok_and(|it| !(it.is_file() || it.is_symlink() || it.is_dir()));
        if is_lasting {
            continue;
        }
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(failed("remove the old file", path)(error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether an error of opening with O_TMPFILE says that this file system, or kernel, has none.
pub(crate) fn is_tmpfile_unsupported(error: &io::Error) -> bool {
    // EISDIR: a kernel that ignores the flag sees an attempt to write to a folder.
    matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EISDIR | libc::EINVAL))
}

fn open_nameless(folder: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).mode(MODE).custom_flags(libc::O_TMPFILE).open(folder)
}

/// Whether a nameless file can get a name later: that goes through `/proc`, which may be missing.
fn can_be_named(file: &File) -> bool {
    fs::symlink_metadata(sys::descriptor_path(file)).is_ok()
}

/// Whether an output of this name would be [direct](AtomicFile::is_direct).
#[must_use]
pub fn is_direct(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|it| !it.is_file()) || is_descriptor(path)
}

/// Whether a path stands for an open file of this process: whoever opened it expects the bytes
/// there, even where it is a regular file that could be replaced.
fn is_descriptor(path: &Path) -> bool {
    path == Path::new("/dev/stdout")
        || path == Path::new("/dev/stderr")
        || path.starts_with("/dev/fd")
        || path.starts_with("/proc/self/fd")
}

/// The path after symbolic links. A link to nothing is an error: nothing says where its target
/// should be made.
fn followed(path: &Path) -> Result<PathBuf, AtomicFileError> {
    if fs::symlink_metadata(path).is_ok_and(|it| it.is_symlink()) {
        return fs::canonicalize(path).map_err(failed("follow the link", path));
    }
    Ok(path.to_owned())
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// `.NAME.seqloom.tmp-PID-COUNT` next to `final_path`.
fn temporary_path(final_path: &Path) -> PathBuf {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let stem = final_path.file_name().unwrap_or_default().as_bytes();
    let mut name = OsString::from(".");
    name.push(OsStr::from_bytes(&stem[..stem.len().min(MAX_STEM_BYTES)]));
    // Relaxed: every number is given once.
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    name.push(format!(".seqloom.tmp-{}-{count}", std::process::id()));
    folder_of(final_path).join(name)
}

/// Does `make` with temporary names until one is free.
fn with_temporary_name<T>(
    final_path: &Path,
    make: impl Fn(&Path) -> io::Result<T>,
) -> io::Result<(T, TemporaryName)> {
    let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
    for _ in 0..MAX_NAME_ATTEMPTS {
        let path = temporary_path(final_path);
        match make(&path) {
            Ok(made) => return Ok((made, TemporaryName::new(path))),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

#[cfg(test)]
#[path = "atomic_tests.rs"]
mod tests;
