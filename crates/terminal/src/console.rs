//! Everything that a program says on stderr: log lines, progress, errors; and results that go to
//! stdout as text, see [`print`].

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use seqloom_io::{Output, OutputError};
use seqloom_runtime::machine;

use crate::host::{Host, Progress};

/// Carriage return, erase the line.
const REDRAW: &str = "\r\x1b[2K";

/// Writes a command's result, or a part of it, to standard output. In place of `print!`, which
/// panics where nobody reads or the disk is full.
///
/// # Errors
/// When it cannot be written.
pub fn print(text: &str) -> Result<(), OutputError> {
    Output::create(Path::new("-"))?.write(text.as_bytes())
}

/// The standard error of a program, with its log file and its progress line.
pub struct Console {
    program: &'static str,
    stderr: Arc<File>,
    started: Instant,
    is_terminal: bool,
    /// Relaxed: set before there are workers.
    quiet: AtomicBool,
    /// Takes all lines, also those that a quiet run does not show.
    log: OnceLock<File>,
    host: OnceLock<Host>,
}

impl Console {
    /// The console of this process. `program` is what messages begin with.
    ///
    /// # Errors
    /// When stderr cannot be had.
    pub fn open(program: &'static str) -> io::Result<Self> {
        let is_terminal = io::stderr().is_terminal();
        let stderr = Arc::new(File::from(io::stderr().as_fd().try_clone_to_owned()?));
        let for_panics = stderr.clone();
        std::panic::set_hook(Box::new(move |panic| {
            let version = env!("CARGO_PKG_VERSION");
            let text = format!("{program} {version}: a bug, please report it: {panic}\n");
            // Nothing is left to do if stderr is gone.
            let _ = (&*for_panics).write_all(text.as_bytes());
        }));
        Ok(Self {
            program,
            stderr,
            started: Instant::now(),
            is_terminal,
            quiet: AtomicBool::new(false),
            log: OnceLock::new(),
            host: OnceLock::new(),
        })
    }

    /// Its name.
    #[must_use]
    pub(crate) fn program(&self) -> &'static str {
        self.program
    }

    /// The user's stderr once more.
    ///
    /// # Errors
    /// When there is no descriptor left.
    pub fn stderr(&self) -> io::Result<File> {
        self.stderr.try_clone()
    }

    /// Says nothing but errors from now on.
    pub fn be_quiet(&self) {
        self.quiet.store(true, Ordering::Relaxed);
    }

    fn is_quiet(&self) -> bool {
        self.quiet.load(Ordering::Relaxed)
    }

    /// Time since the start.
    #[must_use]
    pub fn wall(&self) -> Duration {
        self.started.elapsed()
    }

    /// From now on all lines also go to this file, which is emptied first.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn log_to(&self, path: &Path) -> io::Result<()> {
        let file = File::create(path)?;
        self.log.set(file).map_err(|_| io::Error::other("there is a log already"))
    }

    /// From now on the program that started this one gets reports of how the run is.
    pub fn report_to_host(&self, host: Host) {
        // There is one host, named once on the command line.
        let _ = self.host.set(host);
    }

    /// The program that started this one, if it wants to know.
    #[must_use]
    pub fn host(&self) -> Option<&Host> {
        self.host.get()
    }

    /// Reports to the host how far the run is.
    pub fn report_progress(&self, progress: Progress) {
        if let Some(host) = self.host() {
            host.progress(self.wall(), progress);
        }
    }

    /// One log line, stamped with wall seconds and the number of cores kept busy so far.
    pub fn info(&self, message: &str) {
        let wall_s = self.wall().as_secs_f64();
        let cores = machine::usage().cpu.as_secs_f64() / wall_s.max(1e-3);
        let line = format!("[I {wall_s:.1}s {cores:.1}x] {message}");
        self.to_log(&line);
        if !self.is_quiet() {
            self.show(&line);
        }
    }

    /// A warning: a line even when quiet.
    pub fn warn(&self, message: &str) {
        self.error(&format!("{}: warning: {message}", self.program));
    }

    /// One line as it is, even when quiet.
    pub fn error(&self, text: &str) {
        self.to_log(text);
        self.show(text);
    }

    fn to_log(&self, line: &str) {
        if let Some(mut log) = self.log.get() {
            // A run does not fail for its log.
            let _ = log.write_all(format!("{line}\n").as_bytes());
        }
    }

    fn show(&self, text: &str) {
        let redraw = if self.is_terminal { REDRAW } else { "" };
        self.write(&format!("{redraw}{text}\n"));
    }

    /// Whether [`Console::progress`] is seen.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Redraws the progress line; only a terminal gets one.
    pub fn progress(&self, text: &str) {
        if self.is_terminal && !self.is_quiet() {
            self.write(&format!("{REDRAW}{text}"));
        }
    }

    fn write(&self, text: &str) {
        // A user who closed stderr does not want to hear from us.
        let _ = (&*self.stderr).write_all(text.as_bytes());
    }
}
