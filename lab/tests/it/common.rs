//! The binaries under test, and folders of a run of the tests.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) use seqloom_testkit::running::*;

/// `seqloom-lab` with arguments.
pub(crate) fn lab<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(arguments: I) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seqloom-lab"));
    command.args(arguments);
    command
}

/// `seqloom` with arguments: the one next to the lab, which cargo builds with the whole workspace.
pub(crate) fn seqloom<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(arguments: I) -> Command {
    let program = Path::new(env!("CARGO_BIN_EXE_seqloom-lab")).with_file_name("seqloom");
    assert!(program.is_file(), "build it first, in the same profile: cargo build -p seqloom");
    let mut command = Command::new(program);
    command.args(arguments);
    command
}

/// Folders of this run of the tests.
static FOLDERS: Folders = Folders::new(env!("CARGO_TARGET_TMPDIR"), "lab");

/// A folder that goes away with the test.
pub(crate) fn folder() -> tempfile::TempDir {
    FOLDERS.folder()
}

/// The folder of this run of the tests, emptied when the run starts.
pub(crate) fn scratch() -> &'static Path {
    FOLDERS.scratch()
}

/// A folder that outlives the run: for what referees make of fixed data, which is slow.
pub(crate) fn cache() -> PathBuf {
    FOLDERS.cache()
}
