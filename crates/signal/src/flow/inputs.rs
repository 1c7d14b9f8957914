//! Which files a command reads: those given, and those in the folders given.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use seqloom_runtime::error::{Class, Place, RunError};

/// Names of files that may hold raw signal end in one of these.
pub const ALL_SUFFIXES: [&str; 4] = ["slow5", "blow5", "fast5", "pod5"];

/// Folders are followed to this depth; more is taken for a loop of links.
const MAX_DEPTH: usize = 64;

/// Why there is nothing to read.
#[derive(Debug, thiserror::Error)]
pub enum InputsError {
    /// A folder cannot be listed, or a path is not there.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A folder was given that has no such file: most likely the wrong one.
    #[error("{}: no {suffixes} file in this folder", path.display())]
    Empty {
        /// The folder.
        path: PathBuf,
        /// Suffixes of files of signal.
        suffixes: String,
    },
}

impl RunError for InputsError {
    fn class(&self) -> Class {
        match self {
            Self::Read { source, .. } => Class::of_input(source),
            Self::Empty { .. } => Class::Input,
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::Read { path, .. } | Self::Empty { path, .. } => Place::of(path),
        }
    }
}

/// The files found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Inputs {
    /// In the order given, those of a folder in byte order of their paths.
    pub paths: Vec<PathBuf>,
    /// Files named `._*` that were passed over: the second halves that macOS leaves of files it
    /// copies (AppleDouble); they carry the suffix, but no signal.
    pub apple_double: u64,
}

/// Lists the files: `given` ones as they are, those in folders if their suffix is in `suffixes`.
///
/// # Errors
/// [`InputsError`]; a folder without such a file is one, whatever else is given.
pub fn find(given: &[PathBuf], suffixes: &[&str]) -> Result<Inputs, InputsError> {
    let mut inputs = Inputs::default();
    for path in given {
        let failed = |source| InputsError::Read { path: path.clone(), source };
        if fs::metadata(path).map_err(failed)?.is_dir() {
            let found_before = inputs.paths.len();
            walk(path, suffixes, 0, &mut inputs)?;
            if inputs.paths.len() == found_before {
                let suffixes = alternatives(suffixes);
                return Err(InputsError::Empty { path: path.clone(), suffixes });
            }
        } else {
            inputs.paths.push(path.clone());
        }
    }
    Ok(inputs)
}

/// `.a, .b or .c`.
fn alternatives(suffixes: &[&str]) -> String {
    let dotted: Vec<String> = suffixes.iter().map(|suffix| format!(".{suffix}")).collect();
    match dotted.split_last() {
        Some((last, first)) if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => dotted.concat(),
    }
}

fn walk(
    folder: &Path,
    suffixes: &[&str],
    depth: usize,
    inputs: &mut Inputs,
) -> Result<(), InputsError> {
    let failed = |source| InputsError::Read { path: folder.to_owned(), source };
    if depth > MAX_DEPTH {
        return Err(failed(io::Error::other("folders within folders without end")));
    }
    let entries: Result<Vec<_>, _> = fs::read_dir(folder).map_err(failed)?.collect();
    let mut paths: Vec<PathBuf> =
        entries.map_err(failed)?.into_iter().map(|entry| entry.path()).collect();
    paths.sort_unstable_by(|a, b| a.as_os_str().as_bytes().cmp(b.as_os_str().as_bytes()));
    for path in paths {
        let has_suffix = path
            .extension()
            .and_then(OsStr::to_str)
            .is_some_and(|suffix| suffixes.contains(&suffix.to_ascii_lowercase().as_str()));
        let name = path.file_name().map(OsStr::as_bytes).unwrap_or_default();
        // A link to nothing is no folder; if it is an input, opening it will say so.
        if fs::metadata(&path).is_ok_and(|it| it.is_dir()) {
            walk(&path, suffixes, depth + 1, inputs)?;
        } else if has_suffix && name.starts_with(b"._") {
            inputs.apple_double += 1;
        } else if has_suffix {
            inputs.paths.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_walked_in_order_and_apple_double_files_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir_all(path("b/c")).unwrap();
        for name in ["z.blow5", "a.BLOW5", "b/c/x.fast5", "b/._x.fast5", "notes.txt", "b/y.slow5"] {
            fs::write(path(name), b"").unwrap();
        }
        let found = find(&[path("z.blow5"), folder.path().to_owned()], &ALL_SUFFIXES).unwrap();
        let expected =
            ["z.blow5", "a.BLOW5", "b/c/x.fast5", "b/y.slow5", "z.blow5"].map(path).to_vec();
        assert_eq!(found, Inputs { paths: expected, apple_double: 1 });
        assert_eq!(find(&[path("b")], &["slow5"]).unwrap().paths, [path("b/y.slow5")]);
        // A file that is given is taken whatever it is called.
        assert_eq!(find(&[path("notes.txt")], &["slow5"]).unwrap().paths, [path("notes.txt")]);
        assert!(find(&[path("none")], &ALL_SUFFIXES).is_err());
        std::os::unix::fs::symlink("..", path("b/up")).unwrap();
        assert!(find(&[path("b")], &ALL_SUFFIXES).is_err());
    }

    #[test]
    fn a_folder_without_signal_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir_all(path("a/b")).unwrap();
        fs::write(path("x.slow5"), b"").unwrap();
        fs::write(path("a/notes.txt"), b"").unwrap();
        fs::write(path("a/b/._x.fast5"), b"").unwrap();
        let t = |given: &[&str], suffixes: &[&str], expected: &str| {
            let given: Vec<PathBuf> = given.iter().map(|name| path(name)).collect();
            let said = find(&given, suffixes).unwrap_err().to_string();
            assert_eq!(said, format!("{}: no {expected} file in this folder", path("a").display()));
        };
        t(&["a"], &ALL_SUFFIXES, ".slow5, .blow5, .fast5 or .pod5");
        t(&["x.slow5", "a"], &["slow5", "blow5"], ".slow5 or .blow5");
        t(&["a", "x.slow5"], &["fast5"], ".fast5");
    }
}
