//! The shape of the machine: nodes, packages, cores, CPUs, distances, memory, page sizes.
//!
//! All is read from `sys/devices/system` below a root folder, so that tests read recorded machines.
//! What a kernel does not report (no NUMA, no topology folder) is filled in as the simplest
//! machine: one node, each CPU a core. What it reports in a malformed form is an error.

mod ids;
mod limits;

use std::path::{Path, PathBuf};

use crate::error::{Class, Place, RunError};

pub use ids::IdSet;
pub use limits::Limits;

/// Why the topology cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{}: {message}", path.display())]
pub struct TopologyError {
    /// The file.
    pub(crate) path: PathBuf,
    /// The problem.
    pub(crate) message: String,
}

impl RunError for TopologyError {
    fn class(&self) -> Class {
        Class::System
    }

    fn place(&self) -> Place {
        Place::of(&self.path)
    }
}

/// A CPU that is online (a hardware thread).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cpu {
    /// The kernel's number of it.
    pub id: u32,
    /// The kernel's number of the socket.
    pub package: u32,
    /// Number of the core within its package; only `siblings` distinguishes cores for sure.
    pub core: u32,
    /// Threads of the same core, this one too.
    pub siblings: IdSet,
    /// NUMA node; `None` where no node lists it.
    pub node: Option<u32>,
}

/// Huge pages that were set aside (hugetlbfs) on a node, of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HugePool {
    /// Size of a page.
    pub page_bytes: u64,
    /// Pages in the pool.
    pub pages: u64,
    /// Pages of it that nobody uses.
    pub free_pages: u64,
}

/// A NUMA node. It may have no CPU (memory of an accelerator, HBM, CXL) or no memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// The kernel's number of it.
    pub id: u32,
    /// Its CPUs that are online.
    pub cpus: IdSet,
    /// Relative distance to every node, in the order of [`Topology::nodes`]; 10 is local.
    pub distances: Vec<u32>,
    /// All memory of the node, free or not.
    pub memory_bytes: u64,
    /// Memory that nobody uses.
    pub free_bytes: u64,
    /// Memory that is free or holds only copies of files, which the kernel drops on request.
    pub available_bytes: u64,
    /// Huge pages set aside, by size.
    pub huge_pools: Vec<HugePool>,
}

/// Transparent huge pages, as `/sys/kernel/mm/transparent_hugepage/enabled` states them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransparentHugePages {
    /// Every large mapping gets them.
    Always,
    /// Mappings that ask for them (`madvise`).
    Madvise,
    /// Nobody, or a kernel without them.
    Never,
}

/// The machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    /// CPUs online, by number.
    pub cpus: Vec<Cpu>,
    /// CPUs that exist but are switched off.
    pub offline: IdSet,
    /// Nodes online, by number; at least one.
    pub nodes: Vec<Node>,
    /// Whether transparent huge pages are given.
    pub transparent_huge_pages: TransparentHugePages,
    /// Size of a transparent huge page; 0 where there are none.
    pub transparent_huge_page_bytes: u64,
}

impl Topology {
    /// Reads the machine below `root` (`/` for this one).
    ///
    /// # Errors
    /// When a file holds what it cannot hold.
    pub fn read(root: &Path) -> Result<Self, TopologyError> {
        let system = root.join("sys/devices/system");
        let online = list(&system.join("cpu/online"))?;
        let present = list(&system.join("cpu/present"))?.unwrap_or_default();
        let online = online.unwrap_or_else(|| IdSet::from_iter([0]));
        let nodes = read_nodes(root, &system.join("node"), &online)?;
        let cpus = online.iter().map(|id| read_cpu(&system.join("cpu"), id, &nodes));
        let cpus = cpus.collect::<Result<_, _>>()?;
        let offline = present.iter().filter(|&id| !online.contains(id)).collect();
        let huge = root.join("sys/kernel/mm/transparent_hugepage");
        Ok(Self {
            cpus,
            offline,
            nodes,
            transparent_huge_pages: transparent_huge_pages(&huge.join("enabled")),
            transparent_huge_page_bytes: number(&huge.join("hpage_pmd_size"))?.unwrap_or(0),
        })
    }

    /// The node of that number.
    #[must_use]
    pub(crate) fn node(&self, id: u32) -> Option<&Node> {
        self.nodes.iter().find(|node| node.id == id)
    }

    /// Distance between two nodes; that of the same node where the kernel states none.
    #[must_use]
    pub(crate) fn distance(&self, from: u32, to: u32) -> u32 {
        let at = self.nodes.iter().position(|node| node.id == to);
        let row = self.node(from).map(|node| node.distances.as_slice()).unwrap_or_default();
        let unknown = if from == to { 10 } else { 20 };
        at.and_then(|at| row.get(at).copied()).unwrap_or(unknown)
    }

    /// Physical cores with a CPU online.
    #[must_use]
    pub fn cores(&self) -> usize {
        self.cpus.iter().filter(|cpu| cpu.siblings.first() == Some(cpu.id)).count()
    }

    /// Sockets with a CPU online.
    #[must_use]
    pub fn packages(&self) -> usize {
        self.cpus.iter().map(|cpu| cpu.package).collect::<IdSet>().len()
    }

    /// Place of a CPU among the threads of its core: 0 for the first.
    #[must_use]
    pub(crate) fn thread_of_core(&self, cpu: &Cpu) -> usize {
        cpu.siblings.iter().take_while(|&id| id != cpu.id).count()
    }
}

/// The text of a file; `None` where there is no such file.
fn text(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

fn list(path: &Path) -> Result<Option<IdSet>, TopologyError> {
    let refuse = |text: &str| TopologyError {
        path: path.to_owned(),
        message: format!("'{text}' is not a list of numbers"),
    };
    text(path).map(|text| IdSet::parse(&text).ok_or_else(|| refuse(&text))).transpose()
}

fn number(path: &Path) -> Result<Option<u64>, TopologyError> {
    let refuse = |text: &str| TopologyError {
        path: path.to_owned(),
        message: format!("'{text}' is not a number"),
    };
    text(path).map(|text| text.parse().map_err(|_| refuse(&text))).transpose()
}

fn read_cpu(folder: &Path, id: u32, nodes: &[Node]) -> Result<Cpu, TopologyError> {
    let topology = folder.join(format!("cpu{id}/topology"));
    // Firmware that does not know writes -1.
    let small = |name: &str| text(&topology.join(name)).and_then(|text| text.parse().ok());
    let siblings = list(&topology.join("thread_siblings_list"))?.filter(|set| set.contains(id));
    Ok(Cpu {
        id,
        package: small("physical_package_id").unwrap_or(0),
        core: small("core_id").unwrap_or(id),
        siblings: siblings.unwrap_or_else(|| IdSet::from_iter([id])),
        node: nodes.iter().find(|node| node.cpus.contains(id)).map(|node| node.id),
    })
}

fn read_nodes(root: &Path, folder: &Path, online: &IdSet) -> Result<Vec<Node>, TopologyError> {
    let ids = list(&folder.join("online"))?.unwrap_or_default();
    let nodes = ids.iter().map(|id| read_node(&folder.join(format!("node{id}")), id, online));
    let nodes: Vec<Node> = nodes.collect::<Result<_, _>>()?;
    if !nodes.is_empty() {
        return Ok(nodes);
    }
    // A kernel without NUMA.
    let memory = Memory::parse(&text(&root.join("proc/meminfo")).unwrap_or_default());
    Ok(vec![Node {
        id: 0,
        cpus: online.clone(),
        distances: vec![10],
        memory_bytes: memory.total_bytes,
        free_bytes: memory.free_bytes,
        available_bytes: memory.free_bytes + memory.file_bytes,
        huge_pools: Vec::new(),
    }])
}

fn read_node(folder: &Path, id: u32, online: &IdSet) -> Result<Node, TopologyError> {
    let cpus = list(&folder.join("cpulist"))?.unwrap_or_default();
    let distances = folder.join("distance");
    let row = text(&distances).unwrap_or_default();
    let row: Result<Vec<u32>, _> = row.split_whitespace().map(str::parse).collect();
    let refuse = |_| TopologyError { path: distances, message: "no row of numbers".to_owned() };
    let memory = Memory::parse(&text(&folder.join("meminfo")).unwrap_or_default());
    Ok(Node {
        id,
        cpus: cpus.intersect(online),
        distances: row.map_err(refuse)?,
        memory_bytes: memory.total_bytes,
        free_bytes: memory.free_bytes,
        available_bytes: memory.free_bytes + memory.file_bytes,
        huge_pools: huge_pools(&folder.join("hugepages"))?,
    })
}

/// Pools of hugetlbfs: folders `hugepages-2048kB`.
fn huge_pools(folder: &Path) -> Result<Vec<HugePool>, TopologyError> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(Vec::new()) };
    let mut pools = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let size = name.strip_prefix("hugepages-").and_then(|size| size.strip_suffix("kB"));
        let Some(kib) = size.and_then(|kib| kib.parse::<u64>().ok()) else { continue };
        pools.push(HugePool {
            page_bytes: kib.saturating_mul(1024),
            pages: number(&entry.path().join("nr_hugepages"))?.unwrap_or(0),
            free_pages: number(&entry.path().join("free_hugepages"))?.unwrap_or(0),
        });
    }
    pools.sort_by_key(|pool| pool.page_bytes);
    Ok(pools)
}

/// The lines of a `meminfo` that count here: `Node 0 MemTotal:  222472 kB`, or without the node.
#[derive(Default)]
struct Memory {
    total_bytes: u64,
    free_bytes: u64,
    file_bytes: u64,
}

impl Memory {
    fn parse(text: &str) -> Self {
        let mut memory = Self::default();
        for line in text.lines() {
            let Some((name, value)) = line.split_once(':') else { continue };
            let name = name.rsplit(' ').next().unwrap_or(name);
            let kib = value.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok());
            let bytes = kib.unwrap_or(0).saturating_mul(1024);
            match name {
                "MemTotal" => memory.total_bytes = bytes,
                "MemFree" => memory.free_bytes = bytes,
                "Active(file)" | "Inactive(file)" => memory.file_bytes += bytes,
                _ => {}
            }
        }
        memory
    }
}

/// The word in brackets: `always [madvise] never`.
fn transparent_huge_pages(path: &Path) -> TransparentHugePages {
    let text = text(path).unwrap_or_default();
    match text.split_once('[').and_then(|(_, rest)| rest.split(']').next()) {
        Some("always") => TransparentHugePages::Always,
        Some("madvise") => TransparentHugePages::Madvise,
        _ => TransparentHugePages::Never,
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests;
