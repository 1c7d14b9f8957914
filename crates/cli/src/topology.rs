//! `seqloom topology`: the machine as placement sees it, and proof that it places memory.

use std::path::{Path, PathBuf};

use seqloom_runtime::placement::probe::{self, Finding};
use seqloom_runtime::pool;
use seqloom_runtime::topology::{Limits, Node, Topology, TransparentHugePages};
use seqloom_terminal::error::SystemError;
use seqloom_terminal::{Console, print};
use serde_json::{Value, json};

/// Arguments of `seqloom topology`.
#[derive(Debug, clap::Args)]
pub(crate) struct TopologyArguments {
    /// As JSON
    #[arg(long)]
    json: bool,
    /// Test every memory placement policy: allocate, read back the node of each page, and fail on a
    /// mismatch
    #[arg(long)]
    self_test: bool,
    /// Describe the machine whose /sys and /proc were copied below this folder
    #[arg(long, value_name = "DIR", conflicts_with = "self_test")]
    root: Option<PathBuf>,
}

/// Runs the command.
pub(super) fn run(
    arguments: &TopologyArguments,
    console: &Console,
) -> seqloom_terminal::Result<()> {
    let root = arguments.root.as_deref();
    let topology = Topology::read(root.unwrap_or(Path::new("/")))?;
    let limits = match root {
        Some(root) => Limits::as_recorded(root, &topology),
        None => Limits::of_this_process(Path::new("/"), &topology),
    };
    let findings = if arguments.self_test { self_test(&topology, &limits)? } else { Vec::new() };
    if arguments.json {
        print(&format!("{:#}\n", as_json(&topology, &limits, &findings)))?;
    } else {
        let shown: String = findings.iter().map(shown).collect();
        print(&(as_text(&topology, &limits) + &shown))?;
    }
    let failed = findings.iter().filter(|finding| !finding.passed).count();
    let probes = findings.len();
    if failed > 0 {
        let text = format!("{failed} of {probes} probes found memory elsewhere");
        return Err(SystemError(text).into());
    }
    if arguments.self_test {
        console.info(&format!("{probes} probes passed"));
    }
    Ok(())
}

/// The probes move their thread about: they get one of their own.
fn self_test(topology: &Topology, limits: &Limits) -> seqloom_terminal::Result<Vec<Finding>> {
    let found = pool::run_one(|| {
        let mut findings = probe::run(topology, limits)?;
        findings.extend(probe::run_plans(topology, limits)?);
        Ok::<_, std::io::Error>(findings)
    })?;
    let refused = |error| format!("the kernel refuses to place memory here: {error}");
    Ok(found.map_err(|error| SystemError(refused(error)))?)
}

fn shown(finding: &Finding) -> String {
    let verdict = if finding.passed { "ok  " } else { "FAIL" };
    let pages = finding.evidence.pages_of_node.iter();
    let pages: Vec<String> = pages.map(|(node, pages)| format!("{node}:{pages}")).collect();
    format!("probe      {verdict} {} (pages by node: {})\n", finding.name, pages.join(" "))
}

const MIB: u64 = 1 << 20;

fn huge_pages_word(topology: &Topology) -> &'static str {
    match topology.transparent_huge_pages {
        TransparentHugePages::Always => "always",
        TransparentHugePages::Madvise => "madvise",
        TransparentHugePages::Never => "never",
    }
}

fn as_text(topology: &Topology, limits: &Limits) -> String {
    let mut text = format!(
        "machine    {} packages, {} cores, {} CPUs online, {} nodes\n",
        topology.packages(),
        topology.cores(),
        topology.cpus.len(),
        topology.nodes.len()
    );
    if !topology.offline.is_empty() {
        text += &format!("offline    CPUs {}\n", topology.offline);
    }
    for node in &topology.nodes {
        text += &node_text(node);
    }
    let cpus = topology.cpus.iter();
    let first = cpus.filter(|cpu| cpu.siblings.first() == Some(cpu.id) && cpu.siblings.len() > 1);
    let siblings: Vec<String> = first.map(|cpu| cpu.siblings.to_string()).collect();
    if !siblings.is_empty() {
        text += &format!("siblings   {}\n", siblings.join(" "));
    }
    text += &format!(
        "huge pages transparent: {} ({} KiB)\n",
        huge_pages_word(topology),
        topology.transparent_huge_page_bytes >> 10
    );
    text += &format!("allowed    CPUs {}, memory of nodes {}\n", limits.cpus, limits.memory_nodes);
    if let Some(cpuset) = &limits.cpuset {
        text += &format!("cpuset     CPUs {cpuset}\n");
    }
    if let Some(quota) = limits.quota_cores {
        let throttled = limits.throttled.unwrap_or(0);
        text += &format!("quota      {quota:.2} cores, throttled {throttled} times so far\n");
    }
    text
}

fn node_text(node: &Node) -> String {
    let distances: Vec<String> = node.distances.iter().map(u32::to_string).collect();
    let pools = node.huge_pools.iter().filter(|pool| pool.pages > 0).map(|pool| {
        let (size, pages) = (pool.page_bytes / MIB, pool.pages);
        format!(", {pages} huge pages of {size} MiB ({} free)", pool.free_pages)
    });
    format!(
        "node {:<5} CPUs {}, {} MiB of memory, {} free, {} available, distances {}{}\n",
        node.id,
        node.cpus,
        node.memory_bytes / MIB,
        node.free_bytes / MIB,
        node.available_bytes / MIB,
        distances.join(" "),
        pools.collect::<String>()
    )
}

fn as_json(topology: &Topology, limits: &Limits, findings: &[Finding]) -> Value {
    let ids = |set: &seqloom_runtime::topology::IdSet| set.iter().collect::<Vec<_>>();
    let node = |node: &Node| {
        let pool = |pool: &seqloom_runtime::topology::HugePool| {
            json!({
                "page_bytes": pool.page_bytes, "pages": pool.pages, "free_pages": pool.free_pages
            })
        };
        json!({
            "node": node.id,
            "cpus": ids(&node.cpus),
            "distances": node.distances,
            "memory_bytes": node.memory_bytes,
            "free_bytes": node.free_bytes,
            "available_bytes": node.available_bytes,
            "huge_pools": node.huge_pools.iter().map(pool).collect::<Vec<_>>(),
        })
    };
    let cpu = |cpu: &seqloom_runtime::topology::Cpu| {
        json!({
            "cpu": cpu.id, "package": cpu.package, "core": cpu.core, "node": cpu.node,
            "siblings": ids(&cpu.siblings),
        })
    };
    let finding = |finding: &Finding| {
        let pages = finding.evidence.pages_of_node.iter();
        let pages: serde_json::Map<_, _> =
            pages.map(|(node, pages)| (node.to_string(), json!(pages))).collect();
        json!({
            "probe": finding.name,
            "passed": finding.passed,
            "pages_of_node": pages,
            "huge_bytes": finding.evidence.huge_bytes,
        })
    };
    json!({
        "packages": topology.packages(),
        "cores": topology.cores(),
        "cpus": topology.cpus.iter().map(cpu).collect::<Vec<_>>(),
        "offline": ids(&topology.offline),
        "nodes": topology.nodes.iter().map(node).collect::<Vec<_>>(),
        "transparent_huge_pages": huge_pages_word(topology),
        "transparent_huge_page_bytes": topology.transparent_huge_page_bytes,
        "allowed_cpus": ids(&limits.cpus),
        "allowed_memory_nodes": ids(&limits.memory_nodes),
        "cpuset": limits.cpuset.as_ref().map(ids),
        "quota_cores": limits.quota_cores,
        "throttled": limits.throttled,
        "probes": findings.iter().map(finding).collect::<Vec<_>>(),
    })
}
