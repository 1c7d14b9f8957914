//! Outputs of which there are many and whose number is known only at the end: they are made in a
//! hidden folder within the one they are for, and moved there when all of them are complete.
//!
//! Nameless files would have to stay open until then, and there may be more of them than a process
//! may have open. A process that is killed leaves the hidden folder behind; one that fails does
//! not.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::atomic::{AtomicFileError, failed};

/// A hidden folder of outputs. Dropped without [`StagedFolder::publish`], it takes them along.
#[derive(Debug)]
pub struct StagedFolder {
    hidden: PathBuf,
    target: PathBuf,
}

impl StagedFolder {
    /// A hidden folder in `target`, which must be there.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn create(target: &Path) -> Result<Self, AtomicFileError> {
        let hidden = target.join(format!(".seqloom.tmp-{}", std::process::id()));
        fs::create_dir(&hidden).map_err(failed("create", &hidden))?;
        Ok(Self { hidden, target: target.to_owned() })
    }

    /// Where to make the outputs.
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
                // The error that is told is the first one.
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
        // Nobody is left to be told, and the folder is only a leftover.
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
