//! What this process may use of the machine: cores, memory, and what it has used so far.

use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Duration;

/// Cores this process may run on: affinity mask and cgroup quota taken into account.
#[must_use]
pub fn available_cores() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// Address space of the program itself: code, libraries, the first segments of the allocator, and
/// what moves in and out of use. Measured: 60 MB before the first thread.
const PROGRAM_SPACE_BYTES: u64 = 64 << 20;
/// Address space of a thread besides what it uses: its stack, a segment of the allocator that is
/// not full, the gap that aligns the next one. Measured: with 1 to 8 threads and every `-m`,
/// `align` and `prep` took at most 40 MB a thread beyond `-m` (segments are of 32 MiB).
const THREAD_SPACE_BYTES: u64 = 48 << 20;

/// The limit of this process's address space in bytes (`ulimit -v`), if it has one.
#[must_use]
pub fn address_space_limit_bytes() -> Option<u64> {
    crate::sys::address_space_limit()
}

/// Bytes of memory that `limit_bytes` of address space leave for a run with `threads`: not all that
/// is mapped is used.
#[must_use]
pub fn memory_within_bytes(limit_bytes: u64, threads: NonZeroUsize) -> u64 {
    limit_bytes.saturating_sub(space_overhead_bytes(threads))
}

/// Address space of a run with `threads` that is no memory of its plan.
#[must_use]
pub fn space_overhead_bytes(threads: NonZeroUsize) -> u64 {
    let threads = u64::try_from(threads.get()).unwrap_or(u64::MAX);
    threads.saturating_mul(THREAD_SPACE_BYTES).saturating_add(PROGRAM_SPACE_BYTES)
}

/// Bytes of memory this process may use: the smallest of physical memory, its cgroup's limit and
/// that of its address space.
#[must_use]
pub fn available_memory_bytes() -> u64 {
    let limit = address_space_limit_bytes().unwrap_or(u64::MAX);
    limit.min(memory_of_machine_bytes())
}

fn memory_of_machine_bytes() -> u64 {
    let physical = read_trimmed(Path::new("/proc/meminfo"))
        .and_then(|text| meminfo_total_bytes(&text))
        .unwrap_or(u64::MAX);
    let own = read_trimmed(Path::new("/proc/self/cgroup")).unwrap_or_default();
    cgroup_limit(Path::new("/sys/fs/cgroup"), &own, &MEMORY)
        .map_or(physical, |limit| limit.min(physical))
}

/// The most threads that may be, those of other processes of this user, cgroup or machine included:
/// the smallest of `ulimit -u`, the cgroups' `pids.max` and the kernel's own limit.
pub(crate) fn thread_limit() -> Option<u64> {
    let own = read_trimmed(Path::new("/proc/self/cgroup")).unwrap_or_default();
    let of_kernel = read_trimmed(Path::new("/proc/sys/kernel/threads-max"));
    let of_kernel = of_kernel.and_then(|text| text.parse().ok());
    let of_cgroup = cgroup_limit(Path::new("/sys/fs/cgroup"), &own, &PIDS);
    [crate::sys::process_limit(), of_kernel, of_cgroup].into_iter().flatten().min()
}

fn read_trimmed(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

fn meminfo_total_bytes(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|l| l.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1024)
}

/// Names of the limits of cgroups.
struct CgroupLimit {
    /// The controller of v1.
    controller: &'static str,
    /// Files of v2 and v1.
    files: [&'static str; 2],
}

const MEMORY: CgroupLimit =
    CgroupLimit { controller: "memory", files: ["memory.max", "memory.limit_in_bytes"] };
const PIDS: CgroupLimit = CgroupLimit { controller: "pids", files: ["pids.max", "pids.max"] };

/// The smallest limit on the way from the process's own cgroup up to the mount at `root`.
///
/// `own` is `/proc/self/cgroup`: `0::/PATH` names the v2 group, `N:memory:/PATH` the v1 group. In a
/// container's namespace the path is `/`, and the limit is at the mount itself.
fn cgroup_limit(root: &Path, own: &str, limit: &CgroupLimit) -> Option<u64> {
    let limits = own.lines().flat_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (folder, file) = match fields.next() {
            Some("") => (root.to_owned(), limit.files[0]),
            Some(name) if name == limit.controller => (root.join(name), limit.files[1]),
            _ => return Vec::new(),
        };
        let path = Path::new(fields.next().unwrap_or_default().trim_start_matches('/'));
        path.ancestors()
            .filter_map(|group| read_trimmed(&folder.join(group).join(file))?.parse().ok())
            .collect()
    });
    limits.min()
}

/// Processor time and memory of this process so far (`getrusage`).
#[derive(Debug, Clone, Copy, Default)]
pub struct Usage {
    /// User plus system time of all threads.
    pub cpu: Duration,
    /// Largest resident set so far.
    pub peak_rss_bytes: u64,
    /// Times a thread gave its core up: it slept, or called `sched_yield` and another one ran.
    pub voluntary_switches: u64,
    /// Times a thread's core was taken away.
    pub involuntary_switches: u64,
}

/// Reads [`Usage`]; zero where the system gives none.
///
/// What `getrusage` says of memory starts, in a process that was forked, with that of its parent:
/// a program started by a large one would seem as large. So the kernel's own mark counts.
#[must_use]
pub fn usage() -> Usage {
    let usage = usage_from(&crate::sys::rusage_self());
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak_rss_bytes = noted_peak_bytes(&status).unwrap_or(usage.peak_rss_bytes);
    Usage { peak_rss_bytes, ..usage }
}

/// The largest resident set that `/proc/PID/status` has noted.
fn noted_peak_bytes(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes = line.trim().strip_suffix("kB")?.trim_end().parse::<u64>().ok()?;
    kibibytes.checked_mul(1024)
}

/// The same of all children of this process, and theirs, that have ended and were waited for: their
/// time summed, the memory of the largest.
#[must_use]
pub fn usage_of_children() -> Usage {
    usage_from(&crate::sys::rusage_children())
}

/// Counts of the system for a process (`getrusage(2)`, `wait4(2)`).
#[must_use]
pub fn usage_from(raw: &libc::rusage) -> Usage {
    let time =
        |t: libc::timeval| Duration::from_micros((t.tv_sec as u64) * 1_000_000 + t.tv_usec as u64);
    Usage {
        cpu: time(raw.ru_utime) + time(raw.ru_stime),
        peak_rss_bytes: (raw.ru_maxrss as u64).saturating_mul(1024),
        voluntary_switches: raw.ru_nvcsw as u64,
        involuntary_switches: raw.ru_nivcsw as u64,
    }
}

/// Processor time of the calling thread so far: what it waited for a core does not count.
#[must_use]
pub fn thread_cpu_time() -> Duration {
    Duration::from_nanos(crate::sys::thread_cpu_ns())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_of_address_space_leaves_less_than_itself() {
        let threads = |count| NonZeroUsize::new(count).unwrap();
        for count in [1, 2, 64] {
            let overhead = space_overhead_bytes(threads(count));
            assert_eq!(memory_within_bytes(overhead + 7, threads(count)), 7);
            assert_eq!(memory_within_bytes(overhead - 7, threads(count)), 0);
        }
        assert_eq!(memory_within_bytes(0, threads(usize::MAX)), 0);
        assert!(address_space_limit_bytes().is_none_or(|limit| limit > 1 << 20));
    }

    #[test]
    fn meminfo_is_read_in_kib() {
        assert_eq!(meminfo_total_bytes("MemTotal:       2 kB\nMemFree: 1 kB"), Some(2048));
        assert_eq!(meminfo_total_bytes("nothing"), None);
    }

    #[test]
    fn the_smallest_limit_between_a_group_and_the_root_counts() {
        let root = std::env::temp_dir().join(format!("seqloom-cgroup-{}", std::process::id()));
        let inner = root.join("outer/inner");
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::write(root.join("outer/memory.max"), "1000\n").unwrap();
        std::fs::write(inner.join("memory.max"), "max\n").unwrap();
        let limit = |own| cgroup_limit(&root, own, &MEMORY);
        assert_eq!(limit("0::/outer/inner\n"), Some(1000));
        assert_eq!(limit("0::/\n"), None);
        assert_eq!(limit("3:cpu:/outer\n"), None);
        std::fs::write(root.join("outer/pids.max"), "33\n").unwrap();
        assert_eq!(cgroup_limit(&root, "0::/outer/inner\n", &PIDS), Some(33));
        std::fs::write(inner.join("memory.max"), "10\n").unwrap();
        assert_eq!(limit("0::/outer/inner\n"), Some(10));
        std::fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_sleeping_thread_uses_no_processor_time() {
        let before = thread_cpu_time();
        std::thread::sleep(Duration::from_millis(30));
        assert!(thread_cpu_time() - before < Duration::from_millis(15));
        let mut sum = 0u64;
        while thread_cpu_time() - before < Duration::from_millis(20) {
            sum = std::hint::black_box(sum + 1);
        }
        assert!(sum > 0);
    }

    #[test]
    fn usage_grows() {
        let used = usage();
        assert!(used.peak_rss_bytes > 1 << 20);
    }

    #[test]
    fn the_peak_is_the_one_that_the_kernel_has_noted() {
        let status = "Name:\tx\nVmPeak:\t  9000 kB\nVmHWM:\t    1234 kB\nVmRSS:\t 1000 kB\n";
        assert_eq!(noted_peak_bytes(status), Some(1234 << 10));
        for broken in ["", "VmHWM:", "VmHWM:\t12", "VmHWM: x kB", "VmHWM: 99999999999999999999 kB"]
        {
            assert_eq!(noted_peak_bytes(broken), None, "{broken}");
        }
    }
}
