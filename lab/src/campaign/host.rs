//! The machine that results come from.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use seqloom_runtime::machine;
use seqloom_runtime::topology::{Limits, Topology, TransparentHugePages};

/// Facts of a machine; `None` and empty where it does not report it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Host {
    /// Model of the first CPU.
    pub(crate) cpu_model: String,
    /// CPUs online (hardware threads).
    pub(crate) cpus: usize,
    /// Physical cores.
    pub(crate) cores: usize,
    /// Sockets.
    pub(crate) packages: usize,
    /// Memory of each NUMA node in bytes, by number of the node.
    pub(crate) node_memory_bytes: Vec<(u32, u64)>,
    /// Cores that may be used: mask and quota taken into account.
    pub(crate) usable_cores: usize,
    /// CPUs of the mask.
    pub(crate) allowed_cpus: String,
    /// Nodes whose memory may be used.
    pub(crate) allowed_memory_nodes: String,
    /// Cores' worth of time that cgroups allow.
    pub(crate) quota_cores: Option<f64>,
    /// Memory in bytes that may be used.
    pub(crate) memory_bytes: u64,
    /// Release of the kernel.
    pub(crate) kernel: String,
    /// Governor of the first CPU's frequency.
    pub(crate) governor: Option<String>,
    /// Transparent huge pages: always, madvise, never.
    pub(crate) transparent_huge_pages: String,
    /// Size of one in bytes.
    pub(crate) transparent_huge_page_bytes: u64,
}

/// Facts of this machine, and its nodes that have CPUs and memory to be used.
///
/// # Errors
/// The kernel describes the machine in a form that is none.
pub(super) fn this_machine(root: &Path) -> Result<(Host, Vec<u32>), String> {
    let topology = Topology::read(root).map_err(|error| error.to_string())?;
    let limits = Limits::of_this_process(root, &topology);
    let text = |path: &str| {
        let text = std::fs::read_to_string(root.join(path)).ok()?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    let usable = topology.nodes.iter().filter(|node| {
        let has_cpus = !node.cpus.intersect(&limits.cpus).is_empty();
        has_cpus && limits.memory_nodes.contains(node.id)
    });
    let nodes = usable.map(|node| node.id).collect();
    let pages = match topology.transparent_huge_pages {
        TransparentHugePages::Always => "always",
        TransparentHugePages::Madvise => "madvise",
        TransparentHugePages::Never => "never",
    };
    let host = Host {
        cpu_model: cpu_model(&text("proc/cpuinfo").unwrap_or_default()),
        cpus: topology.cpus.len(),
        cores: topology.cores(),
        packages: topology.packages(),
        node_memory_bytes: topology.nodes.iter().map(|n| (n.id, n.memory_bytes)).collect(),
        usable_cores: machine::available_cores().get(),
        allowed_cpus: limits.cpus.to_string(),
        allowed_memory_nodes: limits.memory_nodes.to_string(),
        quota_cores: limits.quota_cores,
        memory_bytes: machine::available_memory_bytes(),
        kernel: text("proc/sys/kernel/osrelease").unwrap_or_default(),
        governor: text("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        transparent_huge_pages: pages.to_owned(),
        transparent_huge_page_bytes: topology.transparent_huge_page_bytes,
    };
    Ok((host, nodes))
}

/// x86 says `model name`, others name their parts or nothing.
fn cpu_model(cpuinfo: &str) -> String {
    let value = |name: &str| {
        let line = cpuinfo.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    ["model name", "CPU part", "cpu"].into_iter().find_map(value).unwrap_or_default()
}

/// Now, in UTC, as ISO 8601 writes it.
pub(super) fn now() -> String {
    iso(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}

/// Time since 1970 as ISO 8601 (Hinnant's days to civil: eras of 400 years that begin in March).
fn iso(since_1970: Duration) -> String {
    let seconds = since_1970.as_secs();
    let (days, second) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{:02}Z", second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_right() {
        fn t(seconds: u64, expected: &str) {
            assert_eq!(iso(Duration::from_secs(seconds)), expected);
        }
        // By `date -u -d @N +%FT%TZ`.
        t(0, "1970-01-01T00:00:00Z");
        t(951_782_399, "2000-02-28T23:59:59Z");
        t(951_782_400, "2000-02-29T00:00:00Z");
        t(1_709_251_199, "2024-02-29T23:59:59Z");
        t(4_107_542_400, "2100-03-01T00:00:00Z");
        assert!(now().starts_with("20"), "{}", now());
    }

    #[test]
    fn this_machine_is_described() {
        let (host, nodes) = this_machine(Path::new("/")).unwrap();
        assert!(host.cpus >= host.cores && host.usable_cores > 0 && host.memory_bytes > 0);
        assert!(!nodes.is_empty() && !host.kernel.is_empty(), "{host:?}");
        let text = serde_json::to_string(&host).unwrap();
        assert_eq!(serde_json::from_str::<Host>(&text).unwrap(), host);
    }

    #[test]
    fn models_are_found() {
        assert_eq!(cpu_model("processor: 0\nmodel name\t: AMD EPYC\n"), "AMD EPYC");
        assert_eq!(cpu_model("CPU part\t: 0xd40\n"), "0xd40");
        assert_eq!(cpu_model(""), "");
    }
}
