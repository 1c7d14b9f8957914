//! Everything that a program says on stderr: log lines, progress, errors; and results that go to
//! stdout as text, see [`print`].
//!
//! The C++ engine writes to file descriptor 2 as well; the [`Fence`] takes that away from it, and
//! the console keeps the user's stderr.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use seqloom_align::engine::fence::Fence;
use seqloom_io::sink::output::{Output, OutputError};
use seqloom_runtime::machine;

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

/// See the module documentation.
pub struct Console {
    program: &'static str,
    stderr: Arc<File>,
    started: Instant,
    is_terminal: bool,
    quiet: AtomicBool,
    _fence: Fence,
}

impl Console {
    /// Raises the fence; call before any thread is started. `program` is what messages begin with.
    ///
    /// # Errors
    /// When stderr cannot be had.
    pub fn open(program: &'static str) -> io::Result<Self> {
        let is_terminal = io::stderr().is_terminal();
        let fence = Fence::raise()?;
        let stderr = Arc::new(fence.user_stderr()?);
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
            _fence: fence,
        })
    }

    /// Its name.
    #[must_use]
    pub fn program(&self) -> &'static str {
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

    /// One log line, stamped with wall seconds and the number of cores kept busy so far.
    pub fn info(&self, message: &str) {
        if !self.is_quiet() {
            let wall_s = self.wall().as_secs_f64();
            let cores = machine::usage().cpu.as_secs_f64() / wall_s.max(1e-3);
            self.error(&format!("[I {wall_s:.1}s {cores:.1}x] {message}"));
        }
    }

    /// One line as it is, even when quiet.
    pub fn error(&self, text: &str) {
        let redraw = if self.is_terminal { REDRAW } else { "" };
        self.write(&format!("{redraw}{text}\n"));
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
