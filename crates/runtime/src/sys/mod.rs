//! Thin wrappers of the system calls this crate needs.
#![allow(unsafe_code)]

pub(crate) mod numa;

use std::io;

/// Processor time and peak memory of the process.
pub(crate) struct SelfUsage {
    pub(crate) cpu_us: u64,
    pub(crate) max_rss_kib: u64,
    pub(crate) voluntary_switches: u64,
    pub(crate) involuntary_switches: u64,
}

/// `getrusage(RUSAGE_SELF)`; zeros if the call fails.
pub(crate) fn rusage_self() -> SelfUsage {
    rusage(libc::RUSAGE_SELF)
}

/// `getrusage(RUSAGE_CHILDREN)`; zeros if the call fails.
pub(crate) fn rusage_children() -> SelfUsage {
    rusage(libc::RUSAGE_CHILDREN)
}

fn rusage(who: libc::c_int) -> SelfUsage {
    let mut raw = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `raw` is valid writable memory of the size the call expects; all-zero is a valid
    // `rusage`, so reading it is sound whether or not the call succeeded.
    let raw = unsafe {
        libc::getrusage(who, raw.as_mut_ptr());
        raw.assume_init()
    };
    used(&raw)
}

/// `getrlimit(RLIMIT_AS)`: bytes of address space that the process may have; `None` for any.
pub(crate) fn address_space_limit() -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: 0 };
    // SAFETY: `limit` is valid writable memory of the type the call expects.
    unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) };
    Some(limit.rlim_cur).filter(|&bytes| bytes != libc::RLIM_INFINITY)
}

/// Waits until the child `pid` has ended, without taking its status: it can still be signalled.
pub(crate) fn await_end(pid: u32) -> io::Result<()> {
    let mut info = std::mem::MaybeUninit::<libc::siginfo_t>::zeroed();
    again_if_interrupted(|| {
        // SAFETY: `info` is valid writable memory of the type the call expects.
        unsafe { libc::waitid(libc::P_PID, pid, info.as_mut_ptr(), libc::WEXITED | libc::WNOWAIT) }
    })?;
    Ok(())
}

/// `wait4`: the status of the child `pid`, and what it and the children it waited for used.
pub(crate) fn wait_with_usage(pid: u32) -> io::Result<(i32, SelfUsage)> {
    let pid = libc::pid_t::try_from(pid).map_err(io::Error::other)?;
    let (mut status, mut raw) = (0, std::mem::MaybeUninit::<libc::rusage>::zeroed());
    again_if_interrupted(|| {
        // SAFETY: both are valid writable memory of the types the call expects.
        unsafe { libc::wait4(pid, &raw mut status, 0, raw.as_mut_ptr()) }
    })?;
    // SAFETY: all-zero is a valid `rusage`, and the call has filled it in.
    let raw = unsafe { raw.assume_init() };
    Ok((status, used(&raw)))
}

/// SIGKILL to all processes of a group.
pub(crate) fn kill_group(group: u32) -> io::Result<()> {
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

fn used(raw: &libc::rusage) -> SelfUsage {
    let us = |t: libc::timeval| (t.tv_sec as u64) * 1_000_000 + t.tv_usec as u64;
    SelfUsage {
        cpu_us: us(raw.ru_utime) + us(raw.ru_stime),
        max_rss_kib: raw.ru_maxrss as u64,
        voluntary_switches: raw.ru_nvcsw as u64,
        involuntary_switches: raw.ru_nivcsw as u64,
    }
}

/// Processor time of the calling thread in nanoseconds; zero if the clock cannot be read.
pub(crate) fn thread_cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid writable memory of the type the call expects.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    (time.tv_sec as u64) * 1_000_000_000 + time.tv_nsec as u64
}
