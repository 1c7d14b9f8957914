//! Thin wrappers of the system calls that the standard library has none for.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The path by which the system knows an open file.
pub(crate) fn descriptor_path(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// Gives an open file the name `path`, which must be free and on the same file system
/// (`linkat(2)` with `AT_SYMLINK_FOLLOW`, the way that open(2) describes for `O_TMPFILE`).
pub(crate) fn link_file(file: &File, path: &Path) -> io::Result<()> {
    let old = CString::new(descriptor_path(file).as_os_str().as_bytes())?;
    let new = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: both pointers are to strings that end in NUL and live until the call returns; the
    // call keeps neither.
    let result = unsafe {
        libc::linkat(
            libc::AT_FDCWD,
            old.as_ptr(),
            libc::AT_FDCWD,
            new.as_ptr(),
            libc::AT_SYMLINK_FOLLOW,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Has the system begin to write `bytes` bytes of a file from `offset` on to disk, without waiting
/// for it (`sync_file_range(2)`). What cannot do that, as a pipe, does nothing.
pub(crate) fn begin_to_sync(file: &File, offset: u64, bytes: u64) {
    let (Ok(offset), Ok(bytes)) = (offset.try_into(), bytes.try_into()) else { return };
    // SAFETY: the call takes numbers alone, and the descriptor is open.
    let _ = unsafe {
        libc::sync_file_range(file.as_raw_fd(), offset, bytes, libc::SYNC_FILE_RANGE_WRITE)
    };
}
