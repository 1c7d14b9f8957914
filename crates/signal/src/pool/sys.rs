//! The system calls of the process pool that the standard library has none for: memory that two
//! processes share, a descriptor that a child inherits, and a child that ends with its parent.
//!
//! Invariants: no pointer into shared memory is ever made (it is read and written like a file, so a
//! child that changes or shortens it can neither race with a reference nor raise SIGBUS here); what
//! runs between fork and exec, and in the signal handler, is async-signal-safe.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicI32, Ordering};

/// The process that a worker works for.
static PARENT: AtomicI32 = AtomicI32::new(0);

/// Memory with a descriptor but without a name (`memfd_create(2)`), closed on exec.
pub(super) fn shared_memory() -> io::Result<File> {
    // SAFETY: the name is a string that ends in NUL and lives for ever; the call keeps no pointer.
    let descriptor = unsafe { libc::memfd_create(c"seqloom-samples".as_ptr(), libc::MFD_CLOEXEC) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new, open, and nobody else's.
    Ok(unsafe { File::from_raw_fd(descriptor) })
}

/// Lets the child of `command` keep `file`, under the number that is returned. The file must live
/// until the child is spawned. Only in the child the descriptor loses its close-on-exec flag, so
/// that children which other threads spawn meanwhile do not get it.
pub(super) fn inherit(command: &mut Command, file: &File) -> RawFd {
    let descriptor = file.as_raw_fd();
    // SAFETY: the closure makes one async-signal-safe call, allocates nothing and touches no
    // memory but a number of its own.
    unsafe {
        command.pre_exec(move || match libc::fcntl(descriptor, libc::F_SETFD, 0) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        });
    }
    descriptor
}

/// Ends this process when `parent` ends, whatever it is doing then.
///
/// `PR_SET_PDEATHSIG` alone would not do: its signal comes when the *thread* that made this process
/// ends, and the workers of a pass end before the process does. The signal is therefore one whose
/// handler looks whether the process still has its parent. (A child of a thread that ends becomes
/// the child of another thread of the same process, with the same request for a signal.)
pub(super) fn end_with_parent(parent: u32) -> io::Result<()> {
    let expected = i32::try_from(parent).map_err(io::Error::other)?;
    PARENT.store(expected, Ordering::SeqCst);
    // SAFETY: an all-zero `sigaction` is valid; the handler makes async-signal-safe calls only;
    // `prctl` takes a number here.
    let (installed, requested) = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_lost_thread as *const () as usize;
        action.sa_flags = libc::SA_RESTART;
        let installed = libc::sigaction(libc::SIGUSR1, &raw const action, std::ptr::null_mut());
        (installed, libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGUSR1 as libc::c_ulong))
    };
    if installed != 0 || requested != 0 {
        return Err(io::Error::last_os_error());
    }
    // It may have ended before the request.
    if parent_is(expected) { Ok(()) } else { Err(io::Error::other("the parent is gone")) }
}

fn parent_is(expected: i32) -> bool {
    // SAFETY: `getppid` takes nothing and cannot fail.
    unsafe { libc::getppid() == expected }
}

extern "C" fn on_lost_thread(_: libc::c_int) {
    if !parent_is(PARENT.load(Ordering::SeqCst)) {
        // The parent that would read the code is gone.
        // SAFETY: `_exit` is async-signal-safe.
        unsafe { libc::_exit(1) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;
    use std::process::Stdio;

    #[test]
    fn a_child_writes_what_its_parent_reads() {
        let file = shared_memory().unwrap();
        let mut command = Command::new("sh");
        let descriptor = inherit(&mut command, &file);
        command.args(["-c", &format!("printf abc >&{descriptor}")]).stdin(Stdio::null());
        assert!(command.status().unwrap().success());
        let mut bytes = [0; 3];
        file.read_exact_at(&mut bytes, 0).unwrap();
        assert_eq!(&bytes, b"abc");
        // Another child has no such descriptor.
        let line = format!("printf abc >&{descriptor}");
        let other = Command::new("sh").args(["-c", &line]).stderr(Stdio::null()).status();
        assert!(!other.unwrap().success());
    }
}
