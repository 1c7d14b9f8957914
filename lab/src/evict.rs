//! Files that are read from the disk: their pages are evicted from the cache, which needs no root,
//! and what was read is counted.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use rustix::fs::{Advice, fadvise};

use crate::experiment::LabError;

/// Evicts the pages of a file, or of all files below a folder. They are written to the disk
/// before, since pages that are not stay.
///
/// # Errors
/// A file cannot be read.
pub(crate) fn evict(path: &Path) -> Result<(), LabError> {
    if path.is_dir() {
        let entries = fs::read_dir(path).map_err(LabError::file(path))?;
        return entries
            .into_iter()
            .try_for_each(|entry| evict(&entry.map_err(LabError::file(path))?.path()));
    }
    let evict = || -> io::Result<()> {
        let file = File::open(path)?;
        file.sync_data()?;
        Ok(fadvise(&file, 0, None, Advice::DontNeed)?)
    };
    evict().map_err(LabError::file(path))
}

/// Bytes that this process and its ended children have had from disks; none where the kernel does
/// not count them.
pub(crate) fn read_bytes() -> Option<u64> {
    counted("/proc/self/io")
}

/// The same of this thread.
fn read_bytes_here() -> Option<u64> {
    counted("/proc/thread-self/io")
}

fn counted(file: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("read_bytes:"))?;
    line.trim().parse().ok()
}

/// Whether a file of this folder comes from a disk once its pages are evicted: not where it is on a
/// file system in memory.
pub(crate) fn works_in(folder: &Path) -> bool {
    let path = folder.join("evicted");
    let read = || -> Option<bool> {
        fs::write(&path, vec![1; 1 << 20]).ok()?;
        evict(&path).ok()?;
        let before = read_bytes_here()?;
        fs::read(&path).ok()?;
        Some(read_bytes_here()? >= before + (1 << 19))
    };
    let works = read().unwrap_or(false);
    let _ = fs::remove_file(&path); // it may not be there
    works
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evicted_files_come_from_the_disk_once() {
        let folder = tempfile::tempdir().unwrap();
        if !works_in(folder.path()) {
            seqloom_testkit::skip::skip("evicted pages: the temporary folder is in memory");
            return;
        }
        let data = folder.path().join("data");
        fs::create_dir(&data).unwrap();
        let file = data.join("file");
        fs::write(&file, vec![7; 4 << 20]).unwrap();
        evict(&data).unwrap();
        let read = || {
            let before = read_bytes_here().unwrap();
            fs::read(&file).unwrap();
            read_bytes_here().unwrap() - before
        };
        assert!(read() >= 2 << 20);
        assert!(read() < 1 << 20, "it is in the page cache");
        assert!(read_bytes().unwrap() >= 2 << 20);
        assert!(evict(&folder.path().join("none")).is_err());
    }
}
