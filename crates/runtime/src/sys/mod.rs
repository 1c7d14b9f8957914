//! Thin wrappers of the system calls this crate needs.
#![allow(unsafe_code)]

pub(crate) mod numa;

/// `getrusage(RUSAGE_SELF)`; zeros if the call fails.
pub(crate) fn rusage_self() -> libc::rusage {
    rusage(libc::RUSAGE_SELF)
}

/// `getrusage(RUSAGE_CHILDREN)`; zeros if the call fails.
pub(crate) fn rusage_children() -> libc::rusage {
    rusage(libc::RUSAGE_CHILDREN)
}

fn rusage(who: libc::c_int) -> libc::rusage {
    let mut raw = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `raw` is valid writable memory of the size the call expects; all-zero is a valid
    // `rusage`, so reading it is sound whether or not the call succeeded.
    unsafe {
        libc::getrusage(who, raw.as_mut_ptr());
        raw.assume_init()
    }
}

/// `getrlimit(RLIMIT_AS)`: bytes of address space that the process may have; `None` for any.
pub(crate) fn address_space_limit() -> Option<u64> {
    limit(libc::RLIMIT_AS)
}

/// `getrlimit(RLIMIT_NPROC)`: threads that the user may have; `None` for any.
pub(crate) fn process_limit() -> Option<u64> {
    limit(libc::RLIMIT_NPROC)
}

fn limit(resource: libc::__rlimit_resource_t) -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: 0 };
    // SAFETY: `limit` is valid writable memory of the type the call expects.
    unsafe { libc::getrlimit(resource, &raw mut limit) };
    Some(limit.rlim_cur).filter(|&limit| limit != libc::RLIM_INFINITY)
}

/// `sysconf(_SC_PAGESIZE)`: 4 KiB on x86-64, there or 16 or 64 KiB on aarch64, as the kernel was
/// built. The largest of them if the call fails: whole pages of that are whole pages of all.
pub(crate) fn page_bytes() -> usize {
    // SAFETY: takes a plain number only.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).ok().filter(|size| size.is_power_of_two()).unwrap_or(64 << 10)
}

/// Processor time of the calling thread in nanoseconds; zero if the clock cannot be read.
pub(crate) fn thread_cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid writable memory of the type the call expects.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    (time.tv_sec as u64) * 1_000_000_000 + time.tv_nsec as u64
}
