//! The program that started this one, where it wants to know how the run is: lines of JSON on
//! descriptors that it hands down. One descriptor may be given for all of them.
//!
//! A line holds one object with one key: `progress`, `error` or `report`.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use seqloom_runtime::error::{Class, Place};
use seqloom_runtime::machine;
use serde::Serialize;

use crate::error::Error;

/// Least time between two lines of progress of one phase.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);

/// How far a run is.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Progress {
    /// Name of the phase.
    pub phase: &'static str,
    /// Bytes of input that are read.
    pub done_bytes: u64,
    /// Bytes of input, where they can be determined.
    pub total_bytes: Option<u64>,
    /// Records that the phase has seen.
    pub records: u64,
    /// Share of all work that is done, 0 to 1, where it can be determined; of the phase in `index`.
    pub share: Option<f64>,
}

/// Message, class and place of a failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct FailureReport {
    /// Exit code of the process.
    exit_code: u8,
    /// Class of the failure.
    class: &'static str,
    /// The message, without the program's name.
    message: String,
    /// The signal that stopped the run.
    signal: Option<i32>,
    file: Option<String>,
    record: Option<u64>,
    name: Option<String>,
    line: Option<u64>,
    byte: Option<u64>,
}

impl FailureReport {
    /// Report of a run that `error` or `signal` ended.
    pub(crate) fn new(error: &Error, exit_code: u8, signal: Option<i32>) -> Self {
        let Place { file, record, name, line, byte } = error.place();
        let (class, message) = (class_name(error.class()), error.to_string());
        Self { exit_code, class, message, signal, file, record, name, line, byte }
    }
}

/// The name of a class in what a host reads.
fn class_name(class: Class) -> &'static str {
    match class {
        Class::Usage => "usage",
        Class::Input => "input",
        Class::MissingInput => "missing-input",
        Class::Output => "output",
        Class::Damaged => "damaged",
        Class::ClosedPipe => "closed-pipe",
        Class::Interrupted => "interrupted",
        Class::System => "system",
        Class::Bug => "bug",
    }
}

/// Descriptors over which another program follows this run.
#[derive(Debug, Default)]
pub struct Host {
    progress: Option<File>,
    errors: Option<File>,
    report: Option<File>,
    last: Mutex<Option<Last>>,
}

/// Phase and time of the last line of progress.
#[derive(Debug, Clone, Copy)]
struct Last {
    phase: &'static str,
    at: Instant,
    cpu: Duration,
}

impl Host {
    /// `progress`, `errors` and `report` are descriptors of pipes or files that can be written.
    ///
    /// # Errors
    /// One of them cannot.
    pub fn open(
        progress: Option<u32>,
        errors: Option<u32>,
        report: Option<u32>,
    ) -> io::Result<Self> {
        let open = |descriptor: Option<u32>, flags| {
            let path = |descriptor| format!("/dev/fd/{descriptor}");
            let options = |path| File::options().append(true).custom_flags(flags).open(path);
            descriptor.map(path).map(options).transpose()
        };
        Ok(Self {
            // A host that does not read must not stop the run.
            progress: open(progress, libc::O_NONBLOCK)?,
            errors: open(errors, 0)?,
            report: open(report, 0)?,
            last: Mutex::default(),
        })
    }

    /// Whether [`Host::report`] is heard.
    #[must_use]
    pub fn wants_report(&self) -> bool {
        self.report.is_some()
    }

    /// Reports progress, at most once in [`PROGRESS_INTERVAL`]. `wall` is the time since the start.
    pub(crate) fn progress(&self, wall: Duration, progress: Progress) {
        if self.progress.is_none() {
            return;
        }
        let (now, cpu) = (Instant::now(), machine::usage().cpu);
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, cpu_before) = match *last {
            Some(it) if it.phase == progress.phase && now - it.at < PROGRESS_INTERVAL => return,
            Some(it) => (now - it.at, it.cpu),
            None => (wall, Duration::ZERO),
        };
        *last = Some(Last { phase: progress.phase, at: now, cpu });
        let busy = cpu.saturating_sub(cpu_before).as_secs_f64();
        send(
            self.progress.as_ref(),
            &serde_json::json!({ "progress": {
                "phase": progress.phase,
                "done_bytes": progress.done_bytes,
                "total_bytes": progress.total_bytes,
                "records": progress.records,
                "seconds": wall.as_secs_f64(),
                "cores_busy": busy / since.as_secs_f64().max(1e-3),
                "share": progress.share,
            }}),
        );
    }

    /// Reports why the run failed.
    pub(crate) fn error(&self, failure: &FailureReport) {
        send(self.errors.as_ref(), &serde_json::json!({ "error": failure }));
    }

    /// Gives the report of a run that succeeded.
    pub fn report(&self, report: &impl Serialize) {
        send(self.report.as_ref(), &serde_json::json!({ "report": report }));
    }
}

/// A host that has gone away, or does not read, misses the line.
fn send(to: Option<&File>, line: &serde_json::Value) {
    if let Some(mut to) = to {
        let _ = to.write_all(format!("{line}\n").as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::os::fd::AsRawFd;
    use std::path::Path;

    use crate::error::UnusableFile;

    #[test]
    fn a_host_reads_lines_of_json_and_progress_is_rare() {
        let (reader, writer) = io::pipe().unwrap();
        let descriptor = u32::try_from(writer.as_raw_fd()).ok();
        let host = Host::open(descriptor, descriptor, descriptor).unwrap();
        drop(writer);
        let second = Duration::from_secs(1);
        for (phase, records) in [("read", 1), ("read", 2), ("write", 3)] {
            host.progress(second, Progress { phase, records, ..Progress::default() });
        }
        let error = Error::from(UnusableFile::new(Path::new("a.bam"), "bad"));
        host.error(&FailureReport::new(&error, 3, None));
        host.report(&serde_json::json!({ "schema": 1 }));
        drop(host);
        let lines: Vec<serde_json::Value> = BufReader::new(reader)
            .lines()
            .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
            .collect();
        let records: Vec<_> = lines.iter().map(|it| &it["progress"]["records"]).collect();
        assert_eq!(lines.len(), 4, "{lines:?}");
        assert_eq!((records[0].as_u64(), records[1].as_u64()), (Some(1), Some(3)));
        let error = &lines[2]["error"];
        assert_eq!((&error["file"], &error["class"]), (&"a.bam".into(), &"input".into()));
        assert_eq!(lines[3]["report"]["schema"], 1);
    }

    #[test]
    fn a_host_that_does_not_read_does_not_stop_the_run() {
        let (reader, writer) = io::pipe().unwrap();
        let descriptor = u32::try_from(writer.as_raw_fd()).ok();
        let host = Host::open(descriptor, None, None).unwrap();
        for at in 0..2_000 {
            let phase = if at % 2 == 0 { "read" } else { "write" };
            host.progress(Duration::ZERO, Progress { phase, ..Progress::default() });
        }
        drop((reader, writer));
        host.progress(Duration::ZERO, Progress { phase: "end", ..Progress::default() });
        assert!(Host::open(Some(u32::MAX), None, None).is_err());
    }
}
