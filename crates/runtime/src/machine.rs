//! What this process may use of the machine: cores, memory, and what it has used so far.

use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Duration;

/// Cores this process may run on: affinity mask and cgroup quota taken into account.
#[must_use]
pub fn available_cores() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// Bytes of memory this process may use: the smaller of physical memory and the cgroup limit.
#[must_use]
pub fn available_memory_bytes() -> u64 {
    let physical = read_trimmed(Path::new("/proc/meminfo"))
        .and_then(|text| meminfo_total_bytes(&text))
        .unwrap_or(u64::MAX);
    cgroup_memory_limit_bytes(Path::new("/sys/fs/cgroup")).map_or(physical, |l| l.min(physical))
}

fn read_trimmed(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

fn meminfo_total_bytes(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|l| l.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1024)
}

/// Limit of the cgroup mounted at `root`: v2 `memory.max`, else v1 `memory.limit_in_bytes`.
fn cgroup_memory_limit_bytes(root: &Path) -> Option<u64> {
    ["memory.max", "memory/memory.limit_in_bytes"]
        .iter()
        .find_map(|name| read_trimmed(&root.join(name))?.parse().ok())
}

/// Processor time and memory of this process so far (`getrusage`).
#[derive(Debug, Clone, Copy, Default)]
pub struct Usage {
    /// User plus system time of all threads.
    pub cpu: Duration,
    /// Largest resident set so far.
    pub peak_rss_bytes: u64,
}

/// Reads [`Usage`]; zero where the system gives none.
#[must_use]
pub fn usage() -> Usage {
    let ticks = crate::sys::rusage_self();
    Usage {
        cpu: Duration::from_micros(ticks.cpu_us),
        peak_rss_bytes: ticks.max_rss_kib.saturating_mul(1024),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meminfo_is_read_in_kib() {
        assert_eq!(meminfo_total_bytes("MemTotal:       2 kB\nMemFree: 1 kB"), Some(2048));
        assert_eq!(meminfo_total_bytes("nothing"), None);
    }

    #[test]
    fn usage_grows() {
        let used = usage();
        assert!(used.peak_rss_bytes > 1 << 20);
    }
}
