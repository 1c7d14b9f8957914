//! SIGINT and SIGTERM.
//!
//! Until the first look ([`check`], [`interrupted`]) a signal ends the process at once: a command
//! that does not look would not stop. From then on the first one requests the workers to stop,
//! which they do between tasks, and gives them [`GRACE_S`] seconds for it: a write to a pipe that
//! nobody reads, or a long call into the engine, would else hold the process for ever. A second one
//! has its default action. What opens an output that would stay behind does not wait for the first
//! look: [`defer`].
//!
//! A program that started this one may want it to end with itself: [`end_with`].
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::IntoRawFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use seqloom_runtime::pool::Interrupted;

/// Seconds that workers have to stop in.
const GRACE_S: libc::c_uint = 5;

/// Who looks at it between tasks may do so Relaxed: nothing else goes by it, and it is seen at some
/// later look.
static RECEIVED: AtomicI32 = AtomicI32::new(0);
static DEFERRED: AtomicBool = AtomicBool::new(false);
/// Number of the process that this one ends with.
static PARENT: AtomicI32 = AtomicI32::new(0);
/// State that the handler sets; it cannot be given a context.
static STDERR: AtomicI32 = AtomicI32::new(2);

/// The program's name, for the handler.
static PROGRAM: OnceLock<&'static str> = OnceLock::new();

/// The signal that stops us, if one did.
#[must_use]
pub(crate) fn received() -> Option<i32> {
    Some(RECEIVED.load(Ordering::Relaxed)).filter(|&signal| signal != 0)
}

/// The exit code of a process that a signal ends.
#[must_use]
pub(crate) const fn exit_code(signal: i32) -> u8 {
    128 + (signal & 0x7F) as u8
}

/// Whether workers should stop. Who has looked once takes the signals over: see the module
/// documentation.
#[must_use]
pub fn interrupted() -> bool {
    defer();
    received().is_some()
}

/// The interrupt as an error.
///
/// # Errors
/// [`Interrupted`].
pub fn check() -> Result<(), Interrupted> {
    if interrupted() { Err(Interrupted) } else { Ok(()) }
}

/// From now on a signal is for the workers to see: there is an output to be removed.
pub fn defer() {
    DEFERRED.store(true, Ordering::SeqCst);
}

/// Installs the handlers; `stderr` is the user's, and `program` what a message begins with.
pub fn install(stderr: File, program: &'static str) {
    PROGRAM.get_or_init(|| program);
    // Never closed: a handler may need it until the very end.
    STDERR.store(stderr.into_raw_fd(), Ordering::SeqCst);
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGALRM] {
        // SAFETY: an all-zero `sigaction` is valid; the handler makes async-signal-safe calls only;
        // SA_RESETHAND gives the second signal its default action.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_signal as *const () as usize;
            action.sa_flags = libc::SA_RESETHAND | libc::SA_RESTART;
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
}

/// From now on the end of the parent process is as a SIGTERM. `parent` is its number, as the
/// parent gave it: it may be gone already.
///
/// # Errors
/// When the system refuses.
pub fn end_with(parent: i32) -> io::Result<()> {
    PARENT.store(parent, Ordering::SeqCst);
    // SAFETY: as in `install`; the arguments of `prctl` are what this request takes.
    let (installed, requested) = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_lost_parent as *const () as usize;
        action.sa_flags = libc::SA_RESTART;
        let installed = libc::sigaction(libc::SIGUSR1, &raw const action, std::ptr::null_mut());
        (installed, libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGUSR1 as libc::c_ulong))
    };
    if installed != 0 || requested != 0 {
        return Err(io::Error::last_os_error());
    }
    // It may have ended before the request.
    on_lost_parent(libc::SIGUSR1);
    Ok(())
}

/// The system sends the signal when the thread ends that started this process, too.
extern "C" fn on_lost_parent(_: libc::c_int) {
    // SAFETY: `getppid` and `raise` take no pointers and are async-signal-safe.
    unsafe {
        if libc::getppid() != PARENT.load(Ordering::SeqCst) {
            libc::raise(libc::SIGTERM);
        }
    }
}

/// Notes the signal, or, where nobody looks at it or nobody did in time, ends the process.
extern "C" fn on_signal(signal: libc::c_int) {
    if signal != libc::SIGALRM {
        RECEIVED.store(signal, Ordering::SeqCst);
        if DEFERRED.load(Ordering::SeqCst) {
            // SAFETY: `alarm` is async-signal-safe.
            unsafe { libc::alarm(GRACE_S) };
            return;
        }
    }
    let (text, code): (&[u8], _) = match RECEIVED.load(Ordering::SeqCst) {
        libc::SIGINT => (b": stopped by signal 2\n", exit_code(libc::SIGINT)),
        _ => (b": stopped by signal 15\n", exit_code(libc::SIGTERM)),
    };
    let (program, stderr) =
        (PROGRAM.get().unwrap_or(&"").as_bytes(), STDERR.load(Ordering::SeqCst));
    // SAFETY: `write` and `_exit` are async-signal-safe; both texts outlive the calls. Nothing can
    // be done about a message that cannot be written.
    unsafe {
        let _ = libc::write(stderr, program.as_ptr().cast(), program.len());
        let _ = libc::write(stderr, text.as_ptr().cast(), text.len());
        libc::_exit(code.into());
    }
}
