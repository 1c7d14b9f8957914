//! The binary under test, and folders of a run of the tests.

use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) use seqloom_testkit::running::*;

/// `-R` of most runs.
pub(crate) const READ_GROUP: &str = r"@RG\tID:a\tSM:s\tLB:l\tPL:ILLUMINA";

/// `seqloom` with arguments, and without anything in the environment that could steer it.
pub(crate) fn seqloom<I: IntoIterator<Item = S>, S: AsRef<std::ffi::OsStr>>(
    arguments: I,
) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seqloom"));
    command.args(arguments);
    command
}

/// Folders of this run of the tests.
static FOLDERS: Folders = Folders::new(env!("CARGO_TARGET_TMPDIR"), "it");

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

/// The smallest memory that `align` accepts with these arguments, from the message that refuses
/// less.
#[track_caller]
pub(crate) fn memory_floor(arguments: &[String]) -> String {
    let refused = run(seqloom(arguments).args(["-m", "1M"]));
    assert_ne!(refused.code(), 0, "-m 1M was accepted");
    let text = refused.says(&["at least"]).stderr;
    let after = text.split("at least").nth(1).unwrap().trim_start();
    let number: String = after.chars().take_while(|c| c.is_ascii_alphanumeric()).collect();
    assert!(number.starts_with(|c: char| c.is_ascii_digit()), "no size in {text}");
    number
}
