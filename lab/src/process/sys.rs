//! Thin wrappers of the system calls that wait for programs and end them.
#![allow(unsafe_code)]

use std::io;

/// Waits until the child `pid` has ended, without taking its status: it can still be signalled.
pub(super) fn await_end(pid: u32) -> io::Result<()> {
    let mut info = std::mem::MaybeUninit::<libc::siginfo_t>::zeroed();
    again_if_interrupted(|| {
        // SAFETY: `info` is valid writable memory of the type the call expects.
        unsafe { libc::waitid(libc::P_PID, pid, info.as_mut_ptr(), libc::WEXITED | libc::WNOWAIT) }
    })?;
    Ok(())
}

/// `wait4`: the status of the child `pid`, and what it and the children it waited for used. `None`
/// where it has not ended, if that is to be known `at_once`.
pub(super) fn wait_with_usage(pid: u32, at_once: bool) -> io::Result<Option<(i32, libc::rusage)>> {
    let pid = libc::pid_t::try_from(pid).map_err(io::Error::other)?;
    let (mut status, mut raw) = (0, std::mem::MaybeUninit::<libc::rusage>::zeroed());
    let options = if at_once { libc::WNOHANG } else { 0 };
    let ended = again_if_interrupted(|| {
        // SAFETY: both are valid writable memory of the types the call expects.
        unsafe { libc::wait4(pid, &raw mut status, options, raw.as_mut_ptr()) }
    })?;
    // SAFETY: all-zero is a valid `rusage`, and the call has filled it in.
    let raw = unsafe { raw.assume_init() };
    Ok((ended == pid).then_some((status, raw)))
}

/// SIGKILL to all processes of a group.
pub(super) fn kill_group(group: u32) -> io::Result<()> {
    // 0 would be this process's own group, 1 and below everybody.
    let group = libc::pid_t::try_from(group).ok().filter(|group| *group > 1);
    let group = group.ok_or_else(|| io::Error::other("no process group has this number"))?;
    // SAFETY: `kill` takes no pointers.
    let sent = unsafe { libc::kill(-group, libc::SIGKILL) };
    if sent == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn again_if_interrupted(mut call: impl FnMut() -> libc::c_int) -> io::Result<libc::c_int> {
    loop {
        let result = call();
        if result >= 0 {
            return Ok(result);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}
