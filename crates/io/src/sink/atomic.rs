//! Output files that appear under their final name only when they are complete.
//!
//! [`AtomicFile`] writes to a nameless file (`O_TMPFILE`) in the target's folder, so that not even
//! `kill -9` leaves anything behind; where the file system has none, to a hidden one that is
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
    /// What was tried, as a verb.
    pub(crate) action: &'static str,
    /// On which file or folder.
    pub path: PathBuf,
    /// What the system said.
    pub(crate) source: io::Error,
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

/// Where the bytes go.
#[derive(Debug)]
enum State {
    /// To a file without a name.
    Nameless,
    /// To a file with a temporary name.
    Named(TemporaryName),
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
            // Nobody is left to be told, and the file is only a leftover.
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
    /// then, whatever becomes of this process: a path on the same file system. Of a file that lies
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

    /// Opens a file that lies `written` somewhere as one that will become `final_path`: it gets a
    /// temporary name beside that, and has its own as long as its owner wants. `None` where it
    /// cannot: it lies on another file system, or there is no `link(2)`.
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
        let linked = with_temporary_name(&final_path, |name| fs::hard_link(written, name));
        let Ok(((), name)) = linked else { return Ok(None) };
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).open(written);
        let file = file.map_err(failed("go on with", written))?;
        Ok(Some(Self { file, final_path, state: State::Named(name) }))
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

    /// Where the file will be, symbolic links followed.
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
            State::Named(TemporaryName { path: Some(path), .. }) => fs::hard_link(path, final_path),
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
        let name = match state {
            State::Named(name) => name,
            _ => {
                with_temporary_name(&final_path, |name| sys::link_file(&file, name))
                    .map_err(failed("name", &final_path))?
                    .1
            }
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
/// makes stale. [`Publication::commit`] sees to it that files beside an output are always those of
/// the run that made it: at no moment, and whatever becomes of this process, do others lie there.
#[derive(Debug, Default)]
pub struct Publication {
    /// The output, or its parts, of which the first holds the header.
    pub outputs: Vec<AtomicFile>,
    /// The index of the output.
    pub index: Option<AtomicFile>,
    /// All else: metrics, reports, digests; in the order in which they get their names.
    pub beside: Vec<AtomicFile>,
    /// Files that would be taken for the new output's, if they are there. Pipes and devices stay.
    pub stale: Vec<PathBuf>,
}

impl Publication {
    /// Writes everything to disk before anything changes; removes what is stale, and what has the
    /// names of the index and of the files beside the output; then gives their names to the
    /// output, its index and the files beside it. Of parts the first that was there is removed,
    /// too, and the new first one gets its name behind the others and their index, so that parts
    /// that begin with a header are always all of one run.
    ///
    /// # Errors
    /// [`AtomicFileError`] for the first step that failed. When it was before the first renaming,
    /// the old output is still there, at worst without the files beside it. When one of the files
    /// cannot be renamed those before it are removed. When it was the sync of a folder, all are
    /// there.
    pub fn commit(self) -> Result<(), AtomicFileError> {
        // All on disk before the first has any name: what a kill leaves has one for a moment only.
        let all = self.outputs.iter().chain(&self.index).chain(&self.beside);
        all.into_iter().try_for_each(AtomicFile::sync)?;
        let stage = |files: Vec<AtomicFile>| -> Result<Vec<Staged>, AtomicFileError> {
            files.into_iter().map(AtomicFile::stage).collect()
        };
        let mut outputs = stage(self.outputs)?;
        let (index, beside) = (stage(self.index.into_iter().collect())?, stage(self.beside)?);
        let mut old = self.stale;
        old.extend(index.iter().chain(&beside).filter_map(Staged::target));
        let mut ordered = Vec::new();
        if outputs.len() > 1 {
            let first = outputs.remove(0);
            old.extend(first.target());
            ordered.extend(outputs.into_iter().chain(index).chain([first]));
        } else {
            ordered.extend(outputs.into_iter().chain(index));
        }
        ordered.extend(beside);
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
            // The error that is told is the first one.
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

/// The path behind symbolic links. A link to nothing is an error: nothing says where its target
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

/// `.NAME.seqloom.tmp-PID-COUNT` beside `final_path`.
fn temporary_path(final_path: &Path) -> PathBuf {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let stem = final_path.file_name().unwrap_or_default().as_bytes();
    let mut name = OsString::from(".");
    name.push(OsStr::from_bytes(&stem[..stem.len().min(MAX_STEM_BYTES)]));
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
mod tests {
    use std::io::{Read, Write};
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// Names in a folder, sorted.
    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// A file made either way, with `bytes` in it.
    fn written(path: &Path, is_named: bool, bytes: &[u8]) -> AtomicFile {
        let made = if is_named {
            AtomicFile::create_named(path.to_owned())
        } else {
            AtomicFile::create(path)
        };
        let made = made.unwrap();
        assert_eq!(matches!(made.state, State::Named(_)), is_named);
        made.file().write_all(bytes).unwrap();
        made
    }

    #[test]
    fn a_commit_replaces_what_was_there() {
        for is_named in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("out.bam");
            for bytes in [&b"first and longer"[..], b"second"] {
                let before = fs::read(&path).ok();
                let file = written(&path, is_named, bytes);
                assert_eq!(fs::read(&path).ok(), before, "untouched until the commit");
                file.commit().unwrap();
                assert_eq!(fs::read(&path).unwrap(), bytes);
                assert_eq!(names(folder.path()), ["out.bam"]);
            }
        }
    }

    #[test]
    fn a_drop_leaves_nothing() {
        for is_named in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("out.bam");
            let file = written(&path, is_named, b"bytes");
            assert_eq!(names(folder.path()).len(), usize::from(is_named));
            drop(file);
            assert!(names(folder.path()).is_empty());
            fs::write(&path, b"old").unwrap();
            drop(written(&path, is_named, b"bytes"));
            assert_eq!(fs::read(&path).unwrap(), b"old");
        }
    }

    #[test]
    fn a_commit_that_fails_leaves_nothing() {
        for is_named in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("out.bam");
            let file = written(&path, is_named, b"bytes");
            fs::create_dir(&path).unwrap();
            let error = file.commit().unwrap_err();
            assert!(error.to_string().contains("out.bam"), "{error}");
            assert_eq!(names(folder.path()), ["out.bam"]);
        }
    }

    #[test]
    fn what_is_kept_is_gone_on_with_and_renamed_when_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let (path, kept) = (folder.path().join("out.bam"), folder.path().join("kept"));
        fs::write(&path, b"old").unwrap();
        for (from, bytes) in [(0, b"first part, and more"), (10, b" and the second part")] {
            let file = AtomicFile::keep(&path, &kept, from).unwrap();
            file.file().write_all(bytes).unwrap();
        }
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert!(AtomicFile::keep(&path, &kept, 99).is_err(), "bytes are missing");
        AtomicFile::keep(&path, &kept, 30).unwrap().commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"first part and the second part");
        assert_eq!(names(folder.path()), ["out.bam"]);
    }

    #[test]
    fn the_umask_holds() {
        let folder = tempfile::tempdir().unwrap();
        let plain = folder.path().join("plain");
        File::create(&plain).unwrap();
        let expected = fs::metadata(&plain).unwrap().permissions().mode();
        for is_named in [false, true] {
            let path = folder.path().join("out.bam");
            written(&path, is_named, b"").commit().unwrap();
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode(), expected);
        }
    }

    #[test]
    fn bad_places_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = AtomicFile::create(&folder.path().join("missing/out.bam")).unwrap_err();
        assert_eq!(error.source.kind(), io::ErrorKind::NotFound);
        assert!(error.to_string().contains("missing/out.bam"), "{error}");
        fs::write(folder.path().join("plain"), b"").unwrap();
        let error = AtomicFile::create(&folder.path().join("plain/out.bam")).unwrap_err();
        assert_eq!(error.source.kind(), io::ErrorKind::NotADirectory);
        let error = AtomicFile::create(folder.path()).unwrap_err();
        assert_eq!(error.source.kind(), io::ErrorKind::IsADirectory);
        std::os::unix::fs::symlink("nowhere", folder.path().join("dangling")).unwrap();
        assert!(AtomicFile::create(&folder.path().join("dangling")).is_err());
    }

    #[test]
    fn long_names_fit() {
        let folder = tempfile::tempdir().unwrap();
        let name = "n".repeat(255);
        for is_named in [false, true] {
            written(&folder.path().join(&name), is_named, b"").commit().unwrap();
            assert_eq!(names(folder.path()), [name.as_str()]);
        }
    }

    #[test]
    fn a_link_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().join("real");
        let link = folder.path().join("link");
        fs::write(&real, b"old").unwrap();
        std::os::unix::fs::symlink("real", &link).unwrap();
        written(&link, false, b"new").commit().unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&real).unwrap(), b"new");
    }

    #[test]
    fn devices_and_pipes_are_written_directly() {
        let file = AtomicFile::create(Path::new("/dev/null")).unwrap();
        assert!(file.is_direct());
        file.file().write_all(b"gone").unwrap();
        file.commit().unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());

        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status().unwrap();
        assert!(made.success());
        let reader = fifo.clone();
        let reader = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            File::open(reader).unwrap().read_to_end(&mut bytes).unwrap();
            bytes
        });
        let file = AtomicFile::create(&fifo).unwrap();
        file.file().write_all(b"bytes").unwrap();
        file.commit().unwrap();
        assert_eq!(reader.join().unwrap(), b"bytes");
        assert_eq!(names(folder.path()), ["fifo"]);
    }

    #[test]
    fn open_files_are_written_directly() {
        let (mut reader, writer) = io::pipe().unwrap();
        let path = |fd: i32| PathBuf::from(format!("/dev/fd/{fd}"));
        let file = AtomicFile::create(&path(writer.as_raw_fd())).unwrap();
        drop(writer);
        file.file().write_all(b"bytes").unwrap();
        file.commit().unwrap();
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes, b"bytes");

        let mut regular = tempfile::NamedTempFile::new().unwrap();
        let file = AtomicFile::create(&path(regular.as_file().as_raw_fd())).unwrap();
        assert!(file.is_direct());
        file.file().write_all(b"bytes").unwrap();
        file.commit().unwrap();
        bytes.clear();
        regular.read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes, b"bytes", "the file that was open, not another one under its name");
    }

    #[test]
    fn relative_paths_have_a_folder() {
        assert_eq!(folder_of(Path::new("out.bam")), Path::new("."));
        assert_eq!(folder_of(Path::new("a/out.bam")), Path::new("a"));
        assert_eq!(folder_of(Path::new("/out.bam")), Path::new("/"));
    }

    fn publication(
        outputs: Vec<AtomicFile>,
        index: AtomicFile,
        stale: Vec<PathBuf>,
    ) -> Publication {
        Publication { outputs, index: Some(index), stale, ..Publication::default() }
    }

    fn commit(
        bam: AtomicFile,
        index: AtomicFile,
        stale: &[PathBuf],
    ) -> Result<(), AtomicFileError> {
        publication(vec![bam], index, stale.to_vec()).commit()
    }

    #[test]
    fn files_beside_an_output_are_of_its_run_or_gone() {
        for is_named in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let path = |name: &str| folder.path().join(name);
            for name in ["out.bam", "out.json", "out.bam.md5", "other.json"] {
                fs::write(path(name), b"old").unwrap();
            }
            let fifo = path("fifo");
            let made = std::process::Command::new("mkfifo").arg(&fifo).status().unwrap();
            assert!(made.success());
            let run = |json: &str| Publication {
                outputs: vec![written(&path("out.bam"), is_named, b"new")],
                beside: vec![written(&path(json), is_named, b"new")],
                stale: vec![path("out.bam.md5"), path("none"), fifo.clone()],
                ..Publication::default()
            };
            // Dropped: as it was.
            drop(run("out.json"));
            assert_eq!(fs::read(path("out.json")).unwrap(), b"old");
            // A folder in the way of the last file: nothing of either run.
            let made = run("folder.json");
            fs::create_dir(path("folder.json")).unwrap();
            made.commit().unwrap_err();
            assert_eq!(fs::read(path("out.bam")).unwrap(), b"old");
            let before = ["fifo", "folder.json", "other.json", "out.bam", "out.json"];
            assert_eq!(names(folder.path()), before);
            run("out.json").commit().unwrap();
            assert_eq!(names(folder.path()), before);
            for name in ["out.bam", "out.json"] {
                assert_eq!(fs::read(path(name)).unwrap(), b"new");
            }
            assert_eq!(fs::read(path("other.json")).unwrap(), b"old");
        }
    }

    #[test]
    fn a_bam_file_and_its_index_go_together() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["out.bam", "out.bam.bai", "out.bai", "out.bam.csi"] {
            fs::write(path(name), b"old").unwrap();
        }
        let bam = written(&path("out.bam"), false, b"bam");
        let index = written(&path("out.bam.bai"), false, b"index");
        let old = [path("out.bai"), path("out.bam.csi"), path("none.csi")];
        commit(bam, index, &old).unwrap();
        assert_eq!(names(folder.path()), ["out.bam", "out.bam.bai"]);
        assert_eq!(fs::read(path("out.bam")).unwrap(), b"bam");
        assert_eq!(fs::read(path("out.bam.bai")).unwrap(), b"index");
    }

    #[test]
    fn no_old_index_stays_when_the_bam_file_cannot_be_renamed() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("out.bam.bai"), b"old").unwrap();
        let bam = written(&path("out.bam"), false, b"bam");
        let index = written(&path("out.bam.bai"), true, b"index");
        fs::create_dir(path("out.bam")).unwrap();
        commit(bam, index, &[]).unwrap_err();
        assert_eq!(names(folder.path()), ["out.bam"]);
    }

    /// Three parts of `bytes`, and their index.
    fn parts(folder: &Path, is_named: bool, bytes: &[u8]) -> (Vec<AtomicFile>, AtomicFile) {
        let part = |name: &str| written(&folder.join(name), is_named, bytes);
        (["out.bam.00", "out.bam.01", "out.bam.02"].map(part).into(), part("out.bam.bai"))
    }

    const PARTS: [&str; 4] = ["out.bam.00", "out.bam.01", "out.bam.02", "out.bam.bai"];

    #[test]
    fn parts_and_their_index_appear_and_replace_others() {
        let folder = tempfile::tempdir().unwrap();
        for is_named in [false, true] {
            let (made, index) = parts(folder.path(), is_named, &[u8::from(is_named); 9]);
            fs::write(folder.path().join("out.bai"), b"old").unwrap();
            let stale = vec![folder.path().join("out.bai")];
            publication(made, index, stale).commit().unwrap();
            assert_eq!(names(folder.path()), PARTS);
            for name in PARTS {
                assert_eq!(fs::read(folder.path().join(name)).unwrap(), [u8::from(is_named); 9]);
            }
        }
    }

    #[test]
    fn no_part_stays_when_one_cannot_be_renamed() {
        // What can be seen before anything is renamed leaves the old first part.
        for (in_the_way, left) in
            [("out.bam.02", &["out.bam.02"][..]), ("out.bam.bai", &["out.bam.00", "out.bam.bai"])]
        {
            let folder = tempfile::tempdir().unwrap();
            let (made, index) = parts(folder.path(), false, b"new");
            fs::write(folder.path().join("out.bam.00"), b"old").unwrap();
            fs::create_dir(folder.path().join(in_the_way)).unwrap();
            let error = publication(made, index, Vec::new()).commit().unwrap_err();
            assert!(error.to_string().contains(in_the_way), "{error}");
            assert_eq!(names(folder.path()), left);
            let old = fs::read(folder.path().join("out.bam.00"));
            assert!(old.is_err() || old.unwrap() == b"old");
        }
    }

    #[test]
    fn an_old_index_that_cannot_be_removed_stops_the_commit() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("out.bam"), b"old").unwrap();
        fs::create_dir(path("out.bai")).unwrap();
        let bam = written(&path("out.bam"), false, b"bam");
        let index = written(&path("out.bam.bai"), false, b"index");
        let error = commit(bam, index, &[path("out.bai")]).unwrap_err();
        assert!(error.to_string().contains("out.bai"), "{error}");
        assert_eq!(names(folder.path()), ["out.bai", "out.bam"]);
        assert_eq!(fs::read(path("out.bam")).unwrap(), b"old");
    }
}
