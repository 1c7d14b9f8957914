//! Where a test says that it did not run.
//!
//! `cargo test` hides what a passing test prints, so a skipped test looks like a passed one. Each
//! skip is therefore also written to the file that `SEQLOOM_SKIP_LOG` names; continuous
//! integration fails when that file is not empty.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;

/// Environment variable: folder of the unpacked real data.
pub const DATA: &str = "SEQLOOM_DATA";
/// Environment variable: file that collects the skips.
pub(crate) const SKIP_LOG: &str = "SEQLOOM_SKIP_LOG";

/// Says that a test is skipped because of `reason`, here and in the skip log.
#[allow(clippy::print_stderr)] // its whole job
pub fn skip(reason: &str) {
    let test = std::thread::current().name().unwrap_or("?").to_owned();
    eprintln!("skipped: {reason}");
    append_line(SKIP_LOG, &format!("{test}: {reason}"));
}

/// Appends a line to the file that an environment variable names, where it is set.
#[allow(clippy::print_stderr)] // a log that cannot be written must not pass for an empty one
pub(crate) fn append_line(variable: &str, line: &str) {
    let Some(log) = std::env::var_os(variable).filter(|path| !path.is_empty()) else { return };
    // One write call of one line in append mode: lines of parallel tests do not mix.
    let line = format!("{line}\n");
    let written = OpenOptions::new()
        .create(true)
        .append(true)
        .open(&log)
        .and_then(|mut file| file.write_all(line.as_bytes()));
    if let Err(error) = written {
        eprintln!("{}: {error}", PathBuf::from(log).display());
    }
}

/// The path of `relative` in the real data, or `None` after saying that the test is skipped.
#[must_use]
pub fn data(relative: &str) -> Option<PathBuf> {
    let Some(root) = std::env::var_os(DATA).filter(|path| !path.is_empty()) else {
        skip("SEQLOOM_DATA is not set");
        return None;
    };
    let path = PathBuf::from(root).join(relative);
    if !path.exists() {
        skip(&format!("SEQLOOM_DATA holds no {relative}"));
        return None;
    }
    Some(path)
}

/// True when the long tests were requested (`SEQLOOM_SLOW=1`, what `make test-slow` sets). The
/// short run leaves them out on purpose: that is no skip.
#[must_use]
pub fn slow_tests() -> bool {
    std::env::var_os("SEQLOOM_SLOW").is_some_and(|value| value == "1")
}
