//! A folder in which a run keeps what it has done, for another process to go on from: its manifest,
//! which is always a whole one, and a lock, so that no two processes have the folder at a time.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use seqloom_runtime::error::{Class, Place, RunError};

/// Names in the folder.
const LOCK: &str = "lock";
const MANIFEST: &str = "manifest";
const NEW_MANIFEST: &str = "manifest.new";
/// Bytes of the checksum at the end of a manifest (CRC32).
const CHECKSUM_BYTES: usize = 4;
/// Most attempts at a lock whose folder another process is removing.
const MAX_LOCK_ATTEMPTS: u32 = 100;

/// Why the folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// Another process has it.
    #[error("{} is in use by another run", folder.display())]
    Busy {
        /// The folder.
        folder: PathBuf,
    },
    /// The system said so.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// Failed operation, as a verb.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

impl RunError for CheckpointError {
    fn class(&self) -> Class {
        match self {
            Self::Busy { .. } | Self::Io { .. } => Class::Output,
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::Busy { folder: path } | Self::Io { path, .. } => Place::of(path),
        }
    }
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> CheckpointError {
    move |source| CheckpointError::Io { action, path: path.to_owned(), source }
}

/// State that the run before left in a folder.
#[derive(Debug, PartialEq, Eq)]
pub enum FoundManifest {
    /// No run has left a manifest.
    None,
    /// Something that nobody wrote.
    Damaged,
    /// Manifest that was written last.
    Whole(Vec<u8>),
}

/// A locked folder with a manifest. Dropped before a manifest was written, or found, it is removed.
#[derive(Debug)]
pub struct CheckpointFolder {
    path: PathBuf,
    lock: File,
    /// Files elsewhere that go with it.
    files: Vec<PathBuf>,
    has_manifest: bool,
}

impl CheckpointFolder {
    /// Opens the folder, which is made if it is missing, and locks it.
    ///
    /// # Errors
    /// [`CheckpointError`].
    pub fn open(path: &Path) -> Result<Self, CheckpointError> {
        for _ in 0..MAX_LOCK_ATTEMPTS {
            match fs::create_dir(path) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(failed("make the folder", path)(error));
                }
                _ => {}
            }
            let lock_path = path.join(LOCK);
            let options = OpenOptions::new().write(true).create(true).truncate(false).clone();
            let lock = match options.open(&lock_path) {
                // Removed a moment ago.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                opened => opened.map_err(failed("open", &lock_path))?,
            };
            match lock.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Err(CheckpointError::Busy { folder: path.to_owned() });
                }
                Err(TryLockError::Error(error)) => return Err(failed("lock", &lock_path)(error)),
            }
            if is_at(&lock, &lock_path) {
                let files = vec![path.join(MANIFEST), path.join(NEW_MANIFEST)];
                return Ok(Self { path: path.to_owned(), lock, files, has_manifest: false });
            }
        }
        Err(CheckpointError::Busy { folder: path.to_owned() })
    }

    /// Path of the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A name that no other folder of this kind has while this one exists.
    ///
    /// # Errors
    /// When the lock cannot be looked at.
    pub fn unique_name(&self) -> Result<String, CheckpointError> {
        let it = self.lock.metadata().map_err(failed("look at", &self.path))?;
        Ok(format!("{:x}-{:x}", it.dev(), it.ino()))
    }

    /// A file that goes with the folder, and will be removed with it.
    pub fn adopt(&mut self, file: PathBuf) {
        self.files.push(file);
    }

    /// State that the run before left.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn manifest(&mut self) -> Result<FoundManifest, CheckpointError> {
        let path = self.path.join(MANIFEST);
        let mut bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(FoundManifest::None);
            }
            Err(error) => return Err(failed("read", &path)(error)),
        };
        let Some((content, checksum)) = bytes.split_last_chunk::<CHECKSUM_BYTES>() else {
            return Ok(FoundManifest::Damaged);
        };
        if crc32fast::hash(content) != u32::from_le_bytes(*checksum) {
            return Ok(FoundManifest::Damaged);
        }
        bytes.truncate(bytes.len() - CHECKSUM_BYTES);
        self.has_manifest = true;
        Ok(FoundManifest::Whole(bytes))
    }

    /// Forgets the manifest, which cannot be used.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn forget(&mut self) -> Result<(), CheckpointError> {
        let path = self.path.join(MANIFEST);
        remove_if_there(&path).map_err(failed("remove", &path))?;
        self.has_manifest = false;
        Ok(())
    }

    /// Writes a manifest, which is on disk when this returns, in place of the last one.
    ///
    /// # Errors
    /// When it cannot be written; the last one is then still there.
    pub fn write_manifest(&mut self, content: &[u8]) -> Result<(), CheckpointError> {
        let (new, path) = (self.path.join(NEW_MANIFEST), self.path.join(MANIFEST));
        let write = || {
            let mut file = File::create(&new)?;
            file.write_all(content)?;
            file.write_all(&crc32fast::hash(content).to_le_bytes())?;
            file.sync_all()
        };
        write().map_err(failed("write", &new))?;
        fs::rename(&new, &path).map_err(failed("name", &path))?;
        self.has_manifest = true;
        match File::open(&self.path).and_then(|folder| folder.sync_all()) {
            // Some file systems cannot sync a folder, and need not.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Ok(()),
            outcome => outcome.map_err(failed("write to disk the folder", &self.path)),
        }
    }

    /// Whether a process that comes later has something to go on from.
    #[must_use]
    pub fn has_manifest(&self) -> bool {
        self.has_manifest
    }

    /// Removes the folder and all that goes with it.
    ///
    /// # Errors
    /// What is left of it.
    pub fn remove(mut self) -> Result<(), CheckpointError> {
        self.has_manifest = true; // what cannot be removed is not tried twice
        self.remove_all()
    }

    fn remove_all(&self) -> Result<(), CheckpointError> {
        // The manifest is the first: what is half removed says nothing.
        for file in &self.files {
            remove_if_there(file).map_err(failed("remove", file))?;
        }
        let lock = self.path.join(LOCK);
        remove_if_there(&lock).map_err(failed("remove", &lock))?;
        fs::remove_dir(&self.path).map_err(failed("remove the folder", &self.path))
    }
}

impl Drop for CheckpointFolder {
    fn drop(&mut self) {
        if !self.has_manifest {
            // Nobody is left to read a report, and nothing in it is of use.
            let _ = self.remove_all();
        }
        // Closing does not do it while another thread starts a program: until that is loaded, its
        // process has the descriptor, too. Who cannot unlock closes at least.
        let _ = self.lock.unlock();
    }
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        outcome => outcome,
    }
}

/// Whether an open file is the one at `path`.
fn is_at(file: &File, path: &Path) -> bool {
    let place = |it: fs::Metadata| (it.dev(), it.ino());
    match (file.metadata().map(place), fs::metadata(path).map(place)) {
        (Ok(open), Ok(there)) => open == there,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_is_whole_or_damaged_and_outlives_the_process() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("kept");
        let mut folder = CheckpointFolder::open(&path).unwrap();
        assert_eq!(folder.manifest().unwrap(), FoundManifest::None);
        for content in [&b"first"[..], b"", b"second"] {
            folder.write_manifest(content).unwrap();
            assert_eq!(folder.manifest().unwrap(), FoundManifest::Whole(content.to_vec()));
        }
        drop(folder);
        let mut folder = CheckpointFolder::open(&path).unwrap();
        assert_eq!(folder.manifest().unwrap(), FoundManifest::Whole(b"second".to_vec()));
        for damaged in [&b"second"[..], b"", b"abc"] {
            fs::write(path.join(MANIFEST), damaged).unwrap();
            assert_eq!(folder.manifest().unwrap(), FoundManifest::Damaged);
        }
        folder.forget().unwrap();
        drop(folder);
        assert!(!path.exists(), "there is nothing to go on from");
    }

    #[test]
    fn one_process_at_a_time() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("kept");
        let folder = CheckpointFolder::open(&path).unwrap();
        assert!(matches!(CheckpointFolder::open(&path), Err(CheckpointError::Busy { .. })));
        drop(folder);
        CheckpointFolder::open(&path).unwrap();
        let missing = parent.path().join("missing/kept");
        assert!(matches!(CheckpointFolder::open(&missing), Err(CheckpointError::Io { .. })));
    }

    #[test]
    fn a_process_about_to_become_another_program_does_not_hold_the_lock() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("kept");
        let mut folder = CheckpointFolder::open(&path).unwrap();
        folder.write_manifest(b"content").unwrap();
        // What a fork leaves in the child until it calls exec.
        let inherited = folder.lock.try_clone().unwrap();
        drop(folder);
        CheckpointFolder::open(&path).unwrap();
        drop(inherited);
    }

    #[test]
    fn all_that_goes_with_it_is_removed_and_nothing_else() {
        let parent = tempfile::tempdir().unwrap();
        let (path, own) = (parent.path().join("kept"), parent.path().join("own"));
        let mut folder = CheckpointFolder::open(&path).unwrap();
        folder.write_manifest(b"content").unwrap();
        fs::write(&own, b"").unwrap();
        folder.adopt(own.clone());
        folder.adopt(parent.path().join("never made"));
        folder.remove().unwrap();
        assert!(!path.exists() && !own.exists());

        let mut folder = CheckpointFolder::open(&path).unwrap();
        folder.write_manifest(b"content").unwrap();
        fs::write(path.join("of the user"), b"").unwrap();
        assert!(folder.remove().is_err());
        assert!(path.join("of the user").exists());
    }
}
