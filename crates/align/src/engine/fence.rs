//! A fence round the C++ engine: it prints to stderr, obeys environment variables, and ends the
//! process with `exit` or `abort` where we would return an error.
//!
//! [`Fence::raise`] clears those variables, keeps a private duplicate of stderr for our own
//! messages, and sends file descriptor 2 to an unnamed file. If the process dies inside the engine,
//! the end of that file is copied to the private stderr, so that the user sees why.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::sync::atomic::{AtomicI32, Ordering};

/// Variables with these beginnings change what the engine does.
const ENGINE_VARIABLES: [&str; 4] = ["BWA3_", "BWAMEM3_", "BWA_MEM3_", "BWA_INDEX_"];

/// How much of the engine's last words is shown, in bytes.
const LAST_WORDS_BYTES: usize = 2048;

const NONE: i32 = -1;
/// Read by the exit and signal handlers, which cannot be given a context.
static PRIVATE_STDERR: AtomicI32 = AtomicI32::new(NONE);
static ENGINE_LOG: AtomicI32 = AtomicI32::new(NONE);

/// The raised fence. Dropping it gives stderr back.
pub struct Fence {
    private_stderr: File,
    _engine_log: File,
}

impl Fence {
    /// Raises the fence. Call once, before any thread is started and before an index is loaded.
    ///
    /// # Errors
    /// When the descriptors cannot be duplicated.
    pub fn raise() -> io::Result<Self> {
        clear_engine_variables();
        // SAFETY: plain descriptor calls on constants; each result is checked before it is owned,
        // and owned exactly once.
        let (private_stderr, engine_log) = unsafe {
            let private = checked(libc::fcntl(2, libc::F_DUPFD_CLOEXEC, 3))?;
            let private = File::from_raw_fd(private);
            let log = checked(libc::memfd_create(c"engine-log".as_ptr(), libc::MFD_CLOEXEC))?;
            (private, File::from_raw_fd(log))
        };
        PRIVATE_STDERR.store(private_stderr.as_raw_fd(), Ordering::SeqCst);
        ENGINE_LOG.store(engine_log.as_raw_fd(), Ordering::SeqCst);
        install_handlers();
        // SAFETY: both descriptors are open; `dup2` replaces descriptor 2 atomically.
        checked(unsafe { libc::dup2(engine_log.as_raw_fd(), 2) })?;
        Ok(Self { private_stderr, _engine_log: engine_log })
    }

    /// The user's stderr, while descriptor 2 belongs to the engine.
    ///
    /// # Errors
    /// When the descriptor cannot be duplicated.
    pub fn user_stderr(&self) -> io::Result<File> {
        self.private_stderr.try_clone()
    }
}

impl Drop for Fence {
    fn drop(&mut self) {
        ENGINE_LOG.store(NONE, Ordering::SeqCst);
        // SAFETY: the private descriptor is open until after this call.
        unsafe { libc::dup2(self.private_stderr.as_raw_fd(), 2) };
        PRIVATE_STDERR.store(NONE, Ordering::SeqCst);
    }
}

fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn clear_engine_variables() {
    let ours = |name: &std::ffi::OsStr| {
        let name = name.to_string_lossy();
        ENGINE_VARIABLES.iter().any(|prefix| name.starts_with(prefix))
    };
    for (name, _) in std::env::vars_os().filter(|(name, _)| ours(name)) {
        // SAFETY: `raise` is called before any thread is started, so nobody reads the environment.
        unsafe { std::env::remove_var(name) };
    }
}

fn install_handlers() {
    // SAFETY: `last_words` has the signature `atexit` expects and never unwinds.
    unsafe { libc::atexit(last_words) };
    for signal in [libc::SIGABRT, libc::SIGFPE, libc::SIGILL, libc::SIGBUS] {
        // SAFETY: an all-zero `sigaction` is valid; the handler only makes async-signal-safe calls;
        // SA_RESETHAND restores the default action, so that raising again ends the process.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_fatal_signal as *const () as usize;
            action.sa_flags = libc::SA_RESETHAND;
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
}

extern "C" fn on_fatal_signal(signal: libc::c_int) {
    last_words();
    // SAFETY: `raise` is async-signal-safe.
    unsafe { libc::raise(signal) };
}

/// Copies the end of the engine's log to the user's stderr. Makes only async-signal-safe calls.
extern "C" fn last_words() {
    let log = ENGINE_LOG.swap(NONE, Ordering::SeqCst);
    let user = PRIVATE_STDERR.load(Ordering::SeqCst);
    if log == NONE || user == NONE {
        return;
    }
    let headline = b"seqloom: the alignment engine ended the process; its last words:\n";
    let mut words = [0u8; LAST_WORDS_BYTES];
    // SAFETY: both descriptors are open while the statics name them; the buffer is ours.
    unsafe {
        let end = libc::lseek(log, 0, libc::SEEK_END);
        let start = (end - LAST_WORDS_BYTES as i64).max(0);
        let read = libc::pread(log, words.as_mut_ptr().cast(), words.len(), start);
        libc::write(user, headline.as_ptr().cast(), headline.len());
        if read > 0 {
            libc::write(user, words.as_ptr().cast(), read.cast_unsigned());
        }
    }
}
