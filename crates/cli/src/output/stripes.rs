//! One output in several files that are written side by side: `NAME.00`, `NAME.01` and so on, which
//! one after the other are the output. The first holds the header, the last the end of the file.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use seqloom_io::Output;
use seqloom_terminal::UsageError;

use super::arguments::{OutputArguments, OutputFormat};
use crate::output::read_error;

/// Digits of a number at least, so that the names of few and of many stripes look alike.
const MIN_DIGITS: usize = 2;

/// Names of the stripes of `output`, in the order of what they hold, which is that of the names.
pub(crate) fn paths(output: &Path, stripes: NonZeroUsize) -> Vec<PathBuf> {
    let digits = (stripes.get() - 1).to_string().len().max(MIN_DIGITS);
    (0..stripes.get()).map(|stripe| numbered(output, &format!("{stripe:0digits$}"))).collect()
}

fn numbered(output: &Path, number: &str) -> PathBuf {
    let mut name = output.as_os_str().to_owned();
    name.push(format!(".{number}"));
    name.into()
}

/// Refuses what cannot be had in stripes.
///
/// # Errors
/// [`UsageError`].
pub(crate) fn check_options(arguments: &OutputArguments) -> Result<(), UsageError> {
    let output = &arguments.output;
    let refuse = |text: &str| Err(UsageError(text.to_owned()));
    if arguments.format()? == OutputFormat::Cram {
        return refuse(
            "--stripes writes several files at a time, and records of a CRAM are numbered from \
             front to back; leave it out, or write BAM",
        );
    }
    if output == Path::new("-") || fs::metadata(output).is_ok_and(|it| !it.is_file()) {
        return refuse("--stripes makes files named after -o; name a file there");
    }
    if arguments.md5 {
        return refuse(
            "--md5 digests one file from front to back, and --stripes writes several at a time; \
             leave one out",
        );
    }
    Ok(())
}

/// Opens the stripes of an output, for which there may be an index.
///
/// # Errors
/// Files in the way: those of more stripes than these would be taken for some of them, and the
/// index would be next to another file. What cannot be written.
pub(crate) fn open(
    arguments: &OutputArguments,
    stripes: NonZeroUsize,
    is_indexed: bool,
) -> seqloom_terminal::Result<Vec<Output>> {
    let output = &arguments.output;
    let paths = paths(output, stripes);
    if is_indexed && fs::symlink_metadata(output).is_ok() {
        let file = output.display();
        let text = format!(
            "{file} is there, and an index of the stripes would be next to it; remove it or add \
             --write-index none"
        );
        return Err(UsageError(text).into());
    }
    if let Some(other) = stripe_of_others(output, &paths)? {
        let text = format!(
            "{} looks like a stripe of another output than these {stripes}; remove it",
            other.display()
        );
        return Err(UsageError(text).into());
    }
    Ok(paths.iter().map(|path| Output::create(path)).collect::<Result<_, _>>()?)
}

/// A file that is named like a stripe of `output`, and is none of `paths`.
fn stripe_of_others(output: &Path, paths: &[PathBuf]) -> seqloom_terminal::Result<Option<PathBuf>> {
    let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let prefix = output.file_name().unwrap_or_default().as_encoded_bytes();
    for entry in fs::read_dir(folder).map_err(read_error(folder))? {
        let name = entry.map_err(read_error(folder))?.file_name();
        let number = name.as_encoded_bytes().strip_prefix(prefix);
        let number = number.and_then(|rest| rest.strip_prefix(b"."));
        let is_number = number
            .is_some_and(|n| n.len() >= MIN_DIGITS && n.iter().all(|byte| byte.is_ascii_digit()));
        if is_number && !paths.iter().any(|path| path.file_name() == Some(&name)) {
            return Ok(Some(folder.join(name)));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_the_order_of_the_stripes() {
        fn t(stripes: usize, first: &str, last: &str) {
            let paths = paths(Path::new("a/x.bam"), NonZeroUsize::new(stripes).unwrap());
            assert_eq!(paths.len(), stripes);
            assert!(paths.is_sorted());
            assert_eq!(paths[0], Path::new(first));
            assert_eq!(paths[stripes - 1], Path::new(last));
        }
        t(2, "a/x.bam.00", "a/x.bam.01");
        t(100, "a/x.bam.00", "a/x.bam.99");
        t(101, "a/x.bam.000", "a/x.bam.100");
    }

    #[test]
    fn stripes_of_another_output_are_seen() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let of_others = |stripes: usize| {
            let paths = paths(&path("x.bam"), NonZeroUsize::new(stripes).unwrap());
            let found = stripe_of_others(&path("x.bam"), &paths).unwrap();
            found.map(|it| it.file_name().unwrap().to_str().unwrap().to_owned())
        };
        for name in ["x.bam", "x.bam.bai", "x.bam.0", "y.bam.07", "x.bam.00", "x.bam.1a"] {
            fs::write(path(name), "").unwrap();
        }
        assert_eq!(of_others(2), None);
        fs::write(path("x.bam.07"), "").unwrap();
        assert_eq!(of_others(2).as_deref(), Some("x.bam.07"));
        assert_eq!(of_others(8), None);
        assert!(of_others(101).is_some());
    }
}
