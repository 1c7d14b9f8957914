//! Waiting until one of a few descriptors can be read, without reading.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

/// Most descriptors in one call: there are two files.
pub(crate) const MAX_FILES: usize = 2;

/// Waits up to `timeout` (0: not at all) until a read of one of `files`, of which there are at most
/// [`MAX_FILES`], would not block, and says of which.
///
/// A FIFO that nobody has opened for writing yet is not readable; one whose last writer has left
/// is, and a read of it gives 0 bytes (poll(2), `POLLHUP`). An interrupted wait is a wait that
/// ended early.
pub(crate) fn readable(files: &[&File], timeout: Duration) -> io::Result<[bool; MAX_FILES]> {
    let mut entries = [libc::pollfd { fd: -1, events: 0, revents: 0 }; MAX_FILES];
    for (entry, file) in entries.iter_mut().zip(files) {
        *entry = libc::pollfd { fd: file.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    }
    let timeout_ms = i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: `entries` is an array of MAX_FILES initialised pollfd, alive and exclusively borrowed
    // during the call; entries with fd -1 are ignored (poll(2)).
    let count = unsafe {
        libc::poll(entries.as_mut_ptr(), MAX_FILES as libc::nfds_t, timeout_ms as libc::c_int)
    };
    if count < 0 {
        let error = io::Error::last_os_error();
        return match error.kind() {
            io::ErrorKind::Interrupted => Ok([false; MAX_FILES]),
            _ => Err(error),
        };
    }
    Ok(entries.map(|entry| entry.revents != 0))
}
