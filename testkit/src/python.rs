//! The Python that referees written in it run under: that of the repository's virtual environment.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::skip::skip;

/// `.venv/bin/python` of the repository when it can import all `modules` (a list with commas), or
/// `None` after saying that the test is skipped.
#[must_use]
pub fn with(modules: &str) -> Option<PathBuf> {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.venv/bin/python");
    let import = format!("import {modules}");
    let tried = Command::new(&python).args(["-c", &import]).output();
    if tried.is_ok_and(|output| output.status.success()) {
        return Some(python);
    }
    skip(&format!(".venv has no Python with {modules}"));
    None
}

/// As [`with`], for one module.
#[must_use]
pub fn with_module(module: &str) -> Option<PathBuf> {
    with(module)
}
