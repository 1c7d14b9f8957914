//! What the tests share.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use seqloom_format::signal::{SignalHeader, SignalRead};

use crate::store::fast5::{Fast5Error, Fast5File, Fast5Options, Fast5Scratch};

/// All files below `folder` with this ending, in order.
pub(crate) fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut entries: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if path.to_str().is_some_and(|path| path.ends_with(ending)) {
            found.push(path);
        }
    }
    found
}

/// Output of the script of this folder.
pub(crate) fn referee(python: &Path, script: &str, arguments: &[PathBuf]) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tests/fast5").join(script);
    let output = std::process::Command::new(python).arg(script).args(arguments).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8(output.stdout).unwrap()
}

pub(crate) fn open(path: &Path, options: Fast5Options) -> Result<Fast5File, Fast5Error> {
    let source = Arc::new(std::fs::read(path).unwrap());
    Fast5File::open(source, path, options, &mut Fast5Scratch::default())
}

/// A file's header and reads, or the first error.
pub(crate) fn load(
    path: &Path,
    options: Fast5Options,
) -> Result<(SignalHeader, Vec<SignalRead>), Fast5Error> {
    let file = open(path, options)?;
    let mut scratch = Fast5Scratch::default();
    let read = |index| {
        let mut read = SignalRead::default();
        file.read(index, &mut scratch, &mut read).map(|()| read)
    };
    let reads = (0..file.reads()).map(read).collect::<Result<_, _>>()?;
    Ok((file.header().clone(), reads))
}
