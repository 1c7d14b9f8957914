//! Outputs of which there are many and whose number is known only at the end: they are made in a
//! hidden folder within the one they are for, and moved there when all of them are complete.
//!
//! Nameless files would have to stay open until then, and there may be more of them than a process
//! may have open. A process that is killed leaves the hidden folder; one that fails does not. While
//! a process lives it has the folder locked (`flock`), so that the next one can remove what dead
//! processes have left.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::atomic::{AtomicFileError, failed};

/// How the names of hidden folders begin; the number of the process follows.
const PREFIX: &str = ".seqloom.tmp-";

/// A hidden folder of outputs. Dropped without [`StagedFolder::publish`], it takes them along.
#[derive(Debug)]
pub struct StagedFolder {
    hidden: PathBuf,
    target: PathBuf,
    /// Locked while the process lives.
    _lock: File,
}

/// Removes the hidden folders that processes have left in `target` which were killed. Gives the one
/// of a process that still writes to it, if there is one.
///
/// # Errors
/// When a folder cannot be listed, locked or removed.
pub fn remove_leftovers(target: &Path) -> Result<Option<PathBuf>, AtomicFileError> {
    for entry in fs::read_dir(target).map_err(failed("list", target))? {
        let entry = entry.map_err(failed("list", target))?;
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(PREFIX)).unwrap_or_default();
        let is_ours = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        // A link of that name is none of ours.
        if !is_ours || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let path = entry.path();
        let removed = match File::open(&path).map(|folder| folder.try_lock().map(|()| folder)) {
            Ok(Ok(_folder)) => fs::remove_dir_all(&path).map_err(failed("remove", &path)),
            Ok(Err(TryLockError::WouldBlock)) => return Ok(Some(path)),
            Ok(Err(TryLockError::Error(error))) => Err(failed("lock", &path)(error)),
            Err(error) => Err(failed("open", &path)(error)),
        };
        match removed {
            // Another process did it.
            Err(error) if error.source.kind() == io::ErrorKind::NotFound => {}
            removed => removed?,
        }
    }
    Ok(None)
}

impl StagedFolder {
    /// A hidden folder in `target`, which must be there.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn create(target: &Path) -> Result<Self, AtomicFileError> {
        let hidden = target.join(format!("{PREFIX}{}", std::process::id()));
        fs::create_dir(&hidden).map_err(failed("create", &hidden))?;
        let lock = File::open(&hidden).map_err(failed("open", &hidden))?;
        lock.lock().map_err(failed("lock", &hidden))?;
        Ok(Self { hidden, target: target.to_owned(), _lock: lock })
    }

    /// Path to make the outputs in.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.hidden
    }

    /// Moves all outputs to where they belong. If one of them cannot be moved, those before it are
    /// removed: it is all or nothing.
    ///
    /// # Errors
    /// [`AtomicFileError`] for the step that failed.
    pub fn publish(self) -> Result<(), AtomicFileError> {
        let mut moved = Vec::new();
        let outcome = self.move_all(&mut moved);
        if outcome.is_err() {
            for path in moved {
                // The error that is reported is the first one.
                let _ = fs::remove_file(path);
            }
        }
        outcome
    }

    fn move_all(&self, moved: &mut Vec<PathBuf>) -> Result<(), AtomicFileError> {
        for entry in fs::read_dir(&self.hidden).map_err(failed("list", &self.hidden))? {
            let entry = entry.map_err(failed("list", &self.hidden))?;
            let path = self.target.join(entry.file_name());
            // Unlike a rename, a link does not replace what somebody else has put there.
            fs::hard_link(entry.path(), &path)
                .or_else(|_| rename_to_new(&entry.path(), &path))
                .map_err(failed("name", &path))?;
            moved.push(path);
        }
        let synced = File::open(&self.target).and_then(|folder| folder.sync_all());
        match synced {
            // Some file systems cannot sync a folder, and need not.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Ok(()),
            synced => synced.map_err(failed("write to disk the folder", &self.target)),
        }
    }
}

/// For file systems without links.
fn rename_to_new(from: &Path, to: &Path) -> std::io::Result<()> {
    if fs::symlink_metadata(to).is_ok() {
        return Err(std::io::ErrorKind::AlreadyExists.into());
    }
    fs::rename(from, to)
}

impl Drop for StagedFolder {
    fn drop(&mut self) {
        // Nobody is left to read a report, and the folder is only a leftover.
        let _ = fs::remove_dir_all(&self.hidden);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> =
            entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_dead_processes_left_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in [".seqloom.tmp-1", ".seqloom.tmp-4194304", ".seqloom.tmp-x", ".seqloom.tmp-"] {
            fs::create_dir(at(name)).unwrap();
            fs::write(at(name).join("a_0.blow5"), "half").unwrap();
        }
        fs::write(at(".seqloom.tmp-2"), "a file").unwrap();
        std::os::unix::fs::symlink(at(".seqloom.tmp-x"), at(".seqloom.tmp-3")).unwrap();
        let rest = [".seqloom.tmp-", ".seqloom.tmp-2", ".seqloom.tmp-3", ".seqloom.tmp-x"];
        assert_eq!(remove_leftovers(folder.path()).unwrap(), None);
        assert_eq!(names(folder.path()), rest);
        // A process that lives has it locked.
        let staged = StagedFolder::create(folder.path()).unwrap();
        let hidden = staged.path().to_owned();
        assert_eq!(remove_leftovers(folder.path()).unwrap(), Some(hidden.clone()));
        assert!(hidden.exists());
        drop(staged);
        assert_eq!(remove_leftovers(folder.path()).unwrap(), None);
        assert_eq!(names(folder.path()), rest);
    }

    #[test]
    fn all_outputs_appear_or_none() {
        let folder = tempfile::tempdir().unwrap();
        let stage = || {
            let staged = StagedFolder::create(folder.path()).unwrap();
            for name in ["a", "b", "c"] {
                fs::write(staged.path().join(name), name).unwrap();
            }
            staged
        };
        drop(stage());
        assert_eq!(names(folder.path()), [""; 0]);
        // Somebody else makes a file of that name meanwhile.
        let staged = stage();
        fs::write(folder.path().join("b"), "other").unwrap();
        let error = staged.publish().unwrap_err();
        assert!(error.to_string().contains("/b"), "{error}");
        assert_eq!(names(folder.path()), ["b"]);
        assert_eq!(fs::read(folder.path().join("b")).unwrap(), b"other");
        fs::remove_file(folder.path().join("b")).unwrap();
        stage().publish().unwrap();
        assert_eq!(names(folder.path()), ["a", "b", "c"]);
    }
}
