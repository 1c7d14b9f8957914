//! Outputs that would destroy what the run reads, or one another.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use seqloom_terminal::UsageError;

/// Standard input among the inputs, standard output among the outputs.
const STANDARD_STREAM: &str = "-";

/// What standard input is.
const STDIN: &str = "/dev/stdin";

/// Identity of a file, whatever its name.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    fn of(found: &fs::Metadata) -> Self {
        Self { device: found.dev(), inode: found.ino() }
    }
}

/// Refuses outputs that are an input under whatever name, and two outputs of one name. Each output
/// comes with what the command line calls it, such as `-o`. Call before anything is opened for
/// writing.
///
/// `-`, pipes, devices and paths where nothing is yet are no input. Pipes and devices may be
/// several outputs.
///
/// # Errors
/// [`UsageError`] that names the output.
pub(crate) fn refuse_same_file<'a>(
    inputs: impl IntoIterator<Item = &'a Path>,
    outputs: impl IntoIterator<Item = (&'a str, &'a Path)>,
) -> Result<(), UsageError> {
    let outputs: Vec<_> = outputs.into_iter().collect();
    refuse_inputs(inputs, &outputs)?;
    let mut labels: HashMap<PathBuf, &str> = HashMap::new();
    for (label, path) in outputs {
        let Some(place) = place(path) else { continue };
        if let Some(other) = labels.insert(place, label) {
            let name = path.display();
            let text = format!("{other} and {label} are both {name}; give each its own");
            return Err(UsageError(text));
        }
    }
    Ok(())
}

/// # Errors
/// When one of the outputs is one of the inputs.
fn refuse_inputs<'a>(
    inputs: impl IntoIterator<Item = &'a Path>,
    outputs: &[(&str, &Path)],
) -> Result<(), UsageError> {
    let existing =
        outputs.iter().filter_map(|&(label, path)| Some((regular_file(path)?, label, path)));
    let existing: Vec<_> = existing.collect();
    // Thousands of inputs are opened to see what they are only where one of them can be meant.
    if existing.is_empty() {
        return Ok(());
    }
    let inputs: HashSet<FileId> = inputs.into_iter().filter_map(regular_file).collect();
    match existing.iter().find(|(id, ..)| inputs.contains(id)) {
        Some((_, label, path)) => {
            let name = path.display();
            Err(UsageError(format!("{label} {name} is also an input; it would be overwritten")))
        }
        None => Ok(()),
    }
}

/// Refuses a second input, such as mates, that is read from where the first is: under one name or
/// several, as a pipe or as standard input. Devices pass: `/dev/null` is empty however often it is
/// read. `why` says what the second one is.
///
/// # Errors
/// [`UsageError`] that names both.
pub(crate) fn refuse_one_file_as_both(
    first: &Path,
    second: &Path,
    why: &str,
) -> Result<(), UsageError> {
    let [(one, found), (other, found_too)] = [first, second].map(|path| {
        let path = if path == Path::new(STANDARD_STREAM) { Path::new(STDIN) } else { path };
        (path, fs::metadata(path).ok().filter(|found| !found.file_type().is_char_device()))
    });
    let (Some(found), Some(found_too)) = (found, found_too) else { return Ok(()) };
    let is_one = one == other || FileId::of(&found) == FileId::of(&found_too);
    if !is_one {
        return Ok(());
    }
    let (first, second) = (first.display(), second.display());
    Err(UsageError(format!("{first} and {second} are one file; {why}")))
}

/// Target of a path, links followed, if it is a regular file.
fn regular_file(path: &Path) -> Option<FileId> {
    if path == Path::new(STANDARD_STREAM) {
        return None;
    }
    fs::metadata(path).ok().filter(fs::Metadata::is_file).as_ref().map(FileId::of)
}

/// The one name of an output's place; `None` for what several outputs may share. Two names of one
/// inode are two places: an output takes the name, not the inode.
fn place(path: &Path) -> Option<PathBuf> {
    if path == Path::new(STANDARD_STREAM) {
        return Some(path.to_owned());
    }
    if fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        return None;
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let in_folder = || {
        let folder = fs::canonicalize(folder.unwrap_or(Path::new("."))).ok()?;
        Some(folder.join(path.file_name()?))
    };
    Some(fs::canonicalize(path).ok().or_else(in_folder).unwrap_or_else(|| path.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A folder with the file `a`, a hard link and a symbolic link to it, the file `b`, a folder
    /// `sub`, and links to this folder and to a device.
    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("a"), "a").unwrap();
        fs::write(at("b"), "b").unwrap();
        fs::hard_link(at("a"), at("hard")).unwrap();
        symlink(at("a"), at("link")).unwrap();
        symlink(folder.path(), at("around")).unwrap();
        symlink("/dev/null", at("null")).unwrap();
        fs::create_dir(at("sub")).unwrap();
        folder
    }

    /// What is said of inputs and outputs in such a folder.
    fn outcome(inputs: &[&str], outputs: &[(&'static str, &str)]) -> Result<(), String> {
        let folder = folder();
        let at = |name: &&str| match *name {
            "-" => PathBuf::from("-"),
            name => folder.path().join(name),
        };
        let inputs: Vec<PathBuf> = inputs.iter().map(at).collect();
        let outputs: Vec<_> = outputs.iter().map(|(label, name)| (*label, at(name))).collect();
        let outputs = outputs.iter().map(|(label, path)| (*label, path.as_path()));
        let refused = refuse_same_file(inputs.iter().map(PathBuf::as_path), outputs);
        let prefix = format!("{}/", folder.path().display());
        refused.map_err(|error| error.to_string().replace(&prefix, ""))
    }

    #[test]
    fn an_output_that_is_an_input_is_refused_whatever_its_name() {
        for name in ["a", "hard", "link", "sub/../a", "around/a", "around/link"] {
            let expected = format!("-o {name} is also an input; it would be overwritten");
            assert_eq!(outcome(&["b", "a"], &[("--json", "c"), ("-o", name)]), Err(expected));
        }
        // Even where it would be two outputs, too.
        let twice = outcome(&["a"], &[("-o", "a"), ("--lost", "a")]);
        assert_eq!(twice, Err("-o a is also an input; it would be overwritten".to_owned()));
        let by_link = outcome(&["link"], &[("-o", "a")]);
        assert_eq!(by_link, Err("-o a is also an input; it would be overwritten".to_owned()));
    }

    #[test]
    fn two_outputs_of_one_name_are_refused() {
        let t = |one: &str, other: &str| {
            let expected = format!("-o and --lost are both {other}; give each its own");
            assert_eq!(outcome(&[], &[("-o", one), ("--lost", other)]), Err(expected));
        };
        t("a", "a");
        t("link", "a");
        t("new", "new");
        t("new", "sub/../new");
        t("new", "around/new");
        t("missing/new", "missing/new");
        t("-", "-");
    }

    #[test]
    fn what_is_written_next_to_or_to_no_file_passes() {
        let t = |inputs: &[&str], outputs: &[(&'static str, &str)]| {
            assert_eq!(outcome(inputs, outputs), Ok(()), "{inputs:?} {outputs:?}");
        };
        t(&[], &[]);
        t(&["a", "missing", "sub"], &[("-o", "b"), ("--json", "c"), ("--lost", "sub/a")]);
        t(&["-"], &[("-o", "-")]);
        t(&["missing"], &[("-o", "missing")]);
        t(&["null"], &[("-o", "null"), ("--lost", "null")]);
        // They are replaced one by one; neither is written through the other.
        t(&[], &[("-o", "a"), ("--lost", "hard")]);
    }

    #[test]
    fn one_file_as_both_is_refused_whatever_its_names() {
        let folder = folder();
        let at = |name: &str| match name {
            "-" | "/dev/stdin" | "/dev/null" => PathBuf::from(name),
            name => folder.path().join(name),
        };
        let refused = |one: &str, other: &str| {
            let said = refuse_one_file_as_both(&at(one), &at(other), "it is not");
            said.map_err(|error| error.to_string())
        };
        for name in ["a", "hard", "link", "sub/../a", "around/a", "around/link"] {
            let expected = format!("{} and {} are one file", at("a").display(), at(name).display());
            assert!(refused("a", name).unwrap_err().starts_with(&expected));
            assert!(refused(name, "a").is_err());
        }
        for (one, other) in [
            ("a", "b"),
            ("null", "null"),
            ("/dev/null", "null"),
            ("missing", "a"),
            ("missing", "missing"),
            ("-", "a"),
            ("a", "-"),
        ] {
            assert_eq!(refused(one, other), Ok(()), "{one} {other}");
        }
    }
}
