//! What this process may use of the machine: its affinity mask, its cgroup's cpuset and quota, and
//! the nodes whose memory it may have.

use std::path::{Path, PathBuf};

use super::{IdSet, Topology, list, text};
use crate::sys;

/// CPUs and memory nodes that this process may use.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// CPUs that the process may run on and that are online.
    pub cpus: IdSet,
    /// Nodes whose memory the process may have.
    pub memory_nodes: IdSet,
    /// CPUs of its cpuset, where there is one: no mask can leave it.
    pub cpuset: Option<IdSet>,
    /// Cores' worth of time that its cgroups allow; `None` for any.
    pub quota_cores: Option<f64>,
    /// How often the quota has stopped it so far.
    pub throttled: Option<u64>,
}

impl Limits {
    /// The limits of this process, read below `root`; the mask is read from the kernel.
    ///
    /// The mask is that of the calling thread: ask before a thread is pinned.
    #[must_use]
    pub fn of_this_process(root: &Path, topology: &Topology) -> Self {
        Self::read(root, topology, sys::numa::affinity().ok())
    }

    /// The limits of a recorded process: all is read below `root`, the mask too.
    #[must_use]
    pub fn as_recorded(root: &Path, topology: &Topology) -> Self {
        Self::read(root, topology, None)
    }

    /// The limits as the files below `root` state them; `mask` replaces `Cpus_allowed_list`.
    pub(super) fn read(root: &Path, topology: &Topology, mask: Option<IdSet>) -> Self {
        let status = text(&root.join("proc/self/status")).unwrap_or_default();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            IdSet::parse(line.strip_prefix(':')?)
        };
        let online: IdSet = topology.cpus.iter().map(|cpu| cpu.id).collect();
        let with_memory = topology.nodes.iter().filter(|node| node.memory_bytes > 0);
        let with_memory: IdSet = with_memory.map(|node| node.id).collect();
        let groups = Cgroups::of(root);
        let cpuset = groups.cpuset();
        let mut cpus = online;
        for narrower in [mask.or_else(|| field("Cpus_allowed_list")), cpuset.clone()] {
            // The kernel keeps a mask within its cpuset: one that leaves nothing is another's.
            let both = narrower.map(|set| cpus.intersect(&set)).filter(|both| !both.is_empty());
            cpus = both.unwrap_or(cpus);
        }
        let allowed = field("Mems_allowed_list").map(|set| set.intersect(&with_memory));
        Self {
            cpus,
            memory_nodes: allowed.filter(|set| !set.is_empty()).unwrap_or(with_memory),
            cpuset,
            quota_cores: groups.quota_cores(),
            throttled: groups.throttled(),
        }
    }
}

/// Folders of this process's cgroups, from its own up to the mount, for each controller.
///
/// In a container's namespace the path is often that of the host and not mounted: then only the
/// mount itself is left, which is the container's own group.
struct Cgroups {
    cpuset: Vec<PathBuf>,
    cpu: Vec<PathBuf>,
}

impl Cgroups {
    /// `proc/self/cgroup`: `0::/PATH` is the group of version 2, `4:cpu,cpuacct:/PATH` one of
    /// version 1.
    fn of(root: &Path) -> Self {
        let own = text(&root.join("proc/self/cgroup")).unwrap_or_default();
        let mount = root.join("sys/fs/cgroup");
        let mut groups = Self { cpuset: Vec::new(), cpu: Vec::new() };
        for line in own.lines() {
            let mut fields = line.splitn(3, ':').skip(1);
            let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
            let has = |name| controllers.is_empty() || controllers.split(',').any(|c| c == name);
            if has("cpuset") {
                groups.cpuset.extend(folders(&mount, controllers, "cpuset", path));
            }
            if has("cpu") {
                groups.cpu.extend(folders(&mount, controllers, "cpu", path));
            }
        }
        groups
    }

    fn cpuset(&self) -> Option<IdSet> {
        let names = ["cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus"];
        let files = self.cpuset.iter().flat_map(|folder| names.map(|name| folder.join(name)));
        let sets = files.filter_map(|file| list(&file).ok().flatten());
        sets.into_iter().find(|set| !set.is_empty())
    }

    /// The smallest quota on the way up.
    fn quota_cores(&self) -> Option<f64> {
        let quotas = self.cpu.iter().filter_map(|folder| quota_cores(folder));
        quotas.min_by(f64::total_cmp)
    }

    /// The most of any group on the way up: only those with a quota count.
    fn throttled(&self) -> Option<u64> {
        let stats = self.cpu.iter().filter_map(|folder| text(&folder.join("cpu.stat")));
        let count = |stat: String| {
            let line = stat.lines().find_map(|line| line.strip_prefix("nr_throttled "))?;
            line.trim().parse().ok()
        };
        stats.filter_map(count).max()
    }
}

fn folders(mount: &Path, controllers: &str, controller: &str, path: &str) -> Vec<PathBuf> {
    let mounts = match controllers {
        "" => vec![mount.to_owned()],
        _ => vec![mount.join(controller), mount.join(controllers)],
    };
    let path = Path::new(path.trim_start_matches('/'));
    let up = |mount: &PathBuf| path.ancestors().map(|p| mount.join(p)).collect::<Vec<_>>();
    mounts.iter().filter(|mount| mount.is_dir()).take(1).flat_map(up).collect()
}

/// `cpu.max` (version 2): `QUOTA PERIOD` or `max PERIOD`; version 1 has a file for each, -1 is max.
fn quota_cores(folder: &Path) -> Option<f64> {
    let of = |quota: f64, period: f64| (quota > 0.0 && period > 0.0).then(|| quota / period);
    if let Some(text) = text(&folder.join("cpu.max")) {
        let (quota, period) = text.split_once(' ')?;
        return of(quota.parse().ok()?, period.trim().parse().ok()?);
    }
    let read = |name: &str| text(&folder.join(name))?.parse().ok();
    of(read("cpu.cfs_quota_us")?, read("cpu.cfs_period_us")?)
}
