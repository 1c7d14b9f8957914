//! Which programs this machine has, and in which versions.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::printed;

/// Where a program is: a path as it is, a name looked up on the PATH.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| path.is_file());
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// Whether a path exists, or a program is on the PATH.
pub(crate) fn is_there(program: &str) -> bool {
    Path::new(program).is_absolute() && Path::new(program).exists() || find(program).is_some()
}

/// What a program says of its version: the first line with a digit in it. Some say it on standard
/// error, and fail.
pub(crate) fn version(words: &[String]) -> Option<String> {
    let (program, arguments) = words.split_first()?;
    let output = printed(Command::new(program).args(arguments)).ok()?;
    let said = [output.stdout, output.stderr].concat();
    version_in(&String::from_utf8_lossy(&said))
}

fn version_in(text: &str) -> Option<String> {
    let line = text.lines().find(|line| line.contains(|c: char| c.is_ascii_digit()))?;
    Some(line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_by_name_and_by_path() {
        let shell = find("sh").unwrap();
        assert_eq!(find(shell.to_str().unwrap()), Some(shell));
        assert!(is_there("sh") && is_there("/tmp"));
        for missing in ["no-such-program", "/none/such", ""] {
            assert_eq!(find(missing), None, "{missing}");
        }
    }

    #[test]
    fn a_version_is_the_first_line_with_a_digit() {
        let bwa = "\nProgram: bwa (alignment)\nVersion: 0.7.17-r1188\nContact: x1\n";
        assert_eq!(version_in(bwa).as_deref(), Some("Version: 0.7.17-r1188"));
        assert_eq!(version_in("usage\n"), None);
        let words = ["sh", "-c", "echo v2 >&2; exit 1"].map(str::to_owned);
        assert_eq!(version(&words).as_deref(), Some("v2"));
        assert_eq!(version(&["no-such-program".to_owned()]), None);
    }
}
