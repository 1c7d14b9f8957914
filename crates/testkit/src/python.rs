//! The Python of the tests: referees that are Python packages live in `.venv` of the repository.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::skip::skip;

/// Python that can import `module`, or `None` after saying that the test is skipped.
#[must_use]
pub fn with_module(module: &str) -> Option<PathBuf> {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv/bin/python");
    let imports = Command::new(&python)
        .args(["-c", &format!("import {module}")])
        .stderr(Stdio::null())
        .status();
    if imports.is_ok_and(|status| status.success()) {
        return Some(python);
    }
    skip(&format!("{module} is not installed in .venv"));
    None
}
