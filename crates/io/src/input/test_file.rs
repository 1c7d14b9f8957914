//! Files that tests read.

use std::path::PathBuf;

/// A file in a folder of its own.
pub(crate) struct TestFile {
    _folder: tempfile::TempDir,
    pub(crate) path: PathBuf,
}

pub(crate) fn file(content: &[u8]) -> TestFile {
    let folder = tempfile::tempdir().unwrap();
    // The suffix says nothing: formats are recognised by content.
    let path = folder.path().join("reads.txt");
    std::fs::write(&path, content).unwrap();
    TestFile { _folder: folder, path }
}
