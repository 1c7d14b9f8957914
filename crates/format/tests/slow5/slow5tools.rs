//! slow5tools' own test data: every file is written again byte for byte, and files that it says are
//! the same reads in another form are made from each other.

use std::fs;
use std::path::{Path, PathBuf};

use seqloom_format::slow5::RecordCompression;
use seqloom_testkit::skip::skip;

use crate::file::File;

/// The folder, or a line that says why not.
pub(crate) fn data() -> Option<PathBuf> {
    let folder = std::env::var_os("SEQLOOM_DATA").map(PathBuf::from);
    let folder = folder.map(|data| data.join("nanopore/slow5tools_test"));
    let folder = folder.filter(|folder| folder.is_dir());
    if folder.is_none() {
        skip("SEQLOOM_DATA has no nanopore/slow5tools_test");
    }
    folder
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    for path in entries {
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|end| end == "slow5" || end == "blow5") {
            found.push(path);
        }
    }
    found.sort();
}

#[test]
fn every_file_is_written_again_byte_for_byte() {
    let Some(folder) = data() else { return };
    let mut paths = Vec::new();
    files(&folder, &mut paths);
    let (mut refused, mut differing, mut same) = (Vec::new(), Vec::new(), 0);
    for path in &paths {
        let name = path.strip_prefix(&folder).unwrap().to_str().unwrap();
        let bytes = fs::read(path).unwrap();
        match File::read(&bytes) {
            Ok(file) if file.write(file.compression) == bytes => same += 1,
            Ok(_) => differing.push(name),
            Err(error) => refused.push(format!("{name}: {error}")),
        }
    }
    panic!("{same} same, differing {differing:#?} refused {refused:#?}");
}
