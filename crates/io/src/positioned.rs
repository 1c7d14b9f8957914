//! A file that is read at any place, by many threads at once (`pread`).

use std::fs::File;
use std::io::{self, Error, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::Path;

use seqloom_format::ReadAt;

/// A regular file. Its size is that at the time it was opened: what is appended later is not seen,
/// and a file that is cut short while it is read gives [`ErrorKind::UnexpectedEof`].
#[derive(Debug)]
pub struct PositionedFile {
    file: File,
    size_bytes: u64,
}

impl PositionedFile {
    /// Opens `path`.
    ///
    /// # Errors
    /// Those of opening; [`ErrorKind::Unsupported`] for a pipe, device or folder, which cannot be
    /// read at any place.
    pub fn open(path: &Path) -> io::Result<Self> {
        // Looked at before it is opened: opening a pipe waits for its other end.
        if !std::fs::metadata(path)?.is_file() {
            return Err(Error::new(ErrorKind::Unsupported, "not a regular file"));
        }
        let file = File::open(path)?;
        let size_bytes = file.metadata()?.len();
        Ok(Self { file, size_bytes })
    }
}

impl ReadAt for PositionedFile {
    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn read_exact_at(&self, out: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(out, offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_from_any_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, b"abcde").unwrap();
        let file = PositionedFile::open(&path).unwrap();
        assert_eq!(file.size_bytes(), 5);
        let mut out = [0; 2];
        file.read_exact_at(&mut out, 3).unwrap();
        assert_eq!(&out, b"de");
        let error = file.read_exact_at(&mut out, 4).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
    }

    #[test]
    fn folders_and_missing_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let kind = |path: &Path| PositionedFile::open(path).unwrap_err().kind();
        assert_eq!(kind(folder.path()), ErrorKind::Unsupported);
        assert_eq!(kind(&folder.path().join("none")), ErrorKind::NotFound);
    }
}
