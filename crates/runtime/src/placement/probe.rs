//! Proof that this machine does what a policy says: memory is placed and then read back.
//!
//! Each probe maps memory, has it placed, touches every page and queries the kernel for the node of
//! each. A probe passes only if all pages are where they should be.

use std::io;

use super::evidence::Evidence;
use super::{
    AnonymousMapping, GroupMemory, IndexPlacement, MemoryPolicy, PinLevel, PinOrder, Plan, Wishes,
};
use crate::pool;
use crate::sys::{numa, page_bytes};
use crate::topology::{IdSet, Limits, Topology};

/// Pages of each node in a probe with small pages.
const PAGES_PER_NODE: usize = 64;
/// Size of a transparent huge page on the machines that matter here.
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Result of a probe.
#[derive(Debug, Clone)]
pub struct Finding {
    /// Name of the probe.
    pub name: String,
    /// Whether all pages were where they should be.
    pub passed: bool,
    /// Pages by node.
    pub evidence: Evidence,
}

/// Where memory of this process is placed, tried out: binding to each node, interleaving by small
/// and by huge pages, first touch from each node's CPUs, moving, and policies of a thread.
///
/// Moves the calling thread about: call it on a thread of its own.
///
/// # Errors
/// When the kernel refuses a call (a container may forbid `mbind` and `move_pages`).
pub fn run(topology: &Topology, limits: &Limits) -> io::Result<Vec<Finding>> {
    let nodes = &limits.memory_nodes;
    let mut findings = Vec::new();
    for node in nodes.iter() {
        let only = IdSet::from_iter([node]);
        let bind = MemoryPolicy::Bind(only.clone());
        let (_, evidence) = placed(&bind, nodes.len() * PAGES_PER_NODE * page_bytes(), false)?;
        findings.push(all_on(format!("bind to node {node}"), &only, evidence));
    }
    let interleave = MemoryPolicy::Interleave(nodes.clone());
    let (region, evidence) =
        placed(&interleave, nodes.len() * PAGES_PER_NODE * page_bytes(), false)?;
    let name = format!("interleave by {} KiB", page_bytes() / 1024);
    findings.push(even(&name, nodes, evidence));
    drop(region);
    findings.push(interleaved_by_huge_pages(topology, nodes)?);
    findings.extend(first_touch(topology, limits)?);
    findings.extend(moved(nodes)?);
    numa::set_thread_policy(&interleave)?;
    let thread = touched(nodes.len() * PAGES_PER_NODE * page_bytes(), false);
    numa::set_thread_policy(&MemoryPolicy::Default)?;
    findings.push(even("interleave by a thread's policy", nodes, evidence_of(&thread?)?));
    Ok(findings)
}

fn all_on(name: String, nodes: &IdSet, evidence: Evidence) -> Finding {
    let passed = evidence.pages() > 0 && evidence.share_on(nodes) >= 1.0;
    Finding { name, passed, evidence }
}

/// Every node has its share, give or take two pages for where the kernel starts.
fn even(name: &str, nodes: &IdSet, evidence: Evidence) -> Finding {
    Finding { name: name.to_owned(), passed: is_even(&evidence, nodes), evidence }
}

fn is_even(evidence: &Evidence, nodes: &IdSet) -> bool {
    let share = evidence.pages() / nodes.len().max(1) as u64;
    let of = |node| evidence.pages_of_node.get(&node).copied().unwrap_or(0);
    share > 0 && nodes.iter().all(|node| of(node).abs_diff(share) <= 2)
}

fn evidence_of(region: &AnonymousMapping) -> io::Result<Evidence> {
    Evidence::of(std::slice::from_ref(&region.addresses()))
}

/// New memory, every page of it touched.
fn touched(length_bytes: usize, huge: bool) -> io::Result<AnonymousMapping> {
    let mut region = AnonymousMapping::map(length_bytes)?;
    // A kernel without huge pages knows the advice for neither.
    let _ = numa::advise_huge(&region.addresses(), huge);
    region.bytes_mut().iter_mut().step_by(page_bytes()).for_each(|byte| *byte = 1);
    Ok(region)
}

/// New memory under a policy, every page of it touched, and where it is.
fn placed(
    policy: &MemoryPolicy,
    length_bytes: usize,
    huge: bool,
) -> io::Result<(AnonymousMapping, Evidence)> {
    let mut region = AnonymousMapping::map(length_bytes)?;
    let _ = numa::advise_huge(&region.addresses(), huge);
    region.set_policy(policy)?;
    region.bytes_mut().iter_mut().step_by(page_bytes()).for_each(|byte| *byte = 1);
    let evidence = evidence_of(&region)?;
    Ok((region, evidence))
}

/// With huge pages, memory is interleaved by 2 MiB: eight of them for each node, but for the ends,
/// which are not aligned.
fn interleaved_by_huge_pages(topology: &Topology, nodes: &IdSet) -> io::Result<Finding> {
    let huge = topology.transparent_huge_page_bytes.max(HUGE_PAGE_BYTES as u64) as usize;
    let length_bytes = nodes.len() * 8 * huge;
    let policy = MemoryPolicy::Interleave(nodes.clone());
    let (_region, evidence) = placed(&policy, length_bytes, true)?;
    let got = 100 * evidence.huge_bytes / length_bytes as u64;
    let name = format!("interleave by huge pages ({got} % of the memory got them)");
    let low = evidence.least_share(nodes);
    // Where one huge page is missing, small ones fill its place.
    let passed = low * nodes.len() as f64 >= 0.7;
    Ok(Finding { name, passed, evidence })
}

/// A thread on a node's CPUs gets memory of that node.
fn first_touch(topology: &Topology, limits: &Limits) -> io::Result<Vec<Finding>> {
    let mask = numa::affinity()?;
    let mut findings = Vec::new();
    for node in topology.nodes.iter().filter(|node| limits.memory_nodes.contains(node.id)) {
        let cpus = node.cpus.intersect(&limits.cpus);
        if cpus.is_empty() {
            continue;
        }
        numa::set_affinity(&cpus)?;
        numa::set_thread_policy(&MemoryPolicy::Local)?;
        let region = touched(PAGES_PER_NODE * page_bytes(), false);
        let place = numa::current_place();
        numa::set_thread_policy(&MemoryPolicy::Default)?;
        numa::set_affinity(&mask)?;
        let only = IdSet::from_iter([node.id]);
        let name = format!("first touch on node {}", node.id);
        let mut finding = all_on(name, &only, evidence_of(&region?)?);
        finding.passed &= place?.node == node.id;
        findings.push(finding);
    }
    Ok(findings)
}

/// Pages that are there already follow a new policy.
fn moved(nodes: &IdSet) -> io::Result<Option<Finding>> {
    let (Some(first), Some(last)) = (nodes.first(), nodes.iter().last()) else { return Ok(None) };
    let there = MemoryPolicy::Bind(IdSet::from_iter([first]));
    let (region, _) = placed(&there, PAGES_PER_NODE * page_bytes(), false)?;
    let only = IdSet::from_iter([last]);
    region.set_policy(&MemoryPolicy::Bind(only.clone()))?;
    let name = format!("move from node {first} to node {last}");
    Ok(Some(all_on(name, &only, evidence_of(&region)?)))
}

/// Tries every plan: each worker takes its slot and each replica's loader its own, on threads of
/// their own. The CPU they run on and the node of their memory must be those of the plan.
///
/// # Errors
/// When the kernel refuses a call.
pub fn run_plans(topology: &Topology, limits: &Limits) -> io::Result<Vec<Finding>> {
    let threads = limits.cpus.len().min(MOST_SLOTS);
    let mut findings = Vec::new();
    for (name, wishes) in wishes(topology.nodes.len(), threads) {
        let made = Plan::new((topology, limits), &wishes, threads, 1 << 20, |_| true);
        let Ok(plan) = made else { continue };
        let mut finding =
            Finding { name: format!("plan: {name}"), passed: true, evidence: Evidence::default() };
        for group in 0..plan.groups.len() {
            let policy = &plan.groups[group].index;
            let slot = on_its_own(|| plan.take_loader_slot(group), &plan, policy)?;
            finding.add(slot.evidence, policy, &plan.groups[group].nodes);
        }
        for (worker, place) in plan.slots.iter().enumerate() {
            let policy = &plan.groups[place.group].private;
            let slot = on_its_own(|| plan.take_slot(worker), &plan, policy)?;
            let kept = place.cpus.is_some() || plan.instances;
            finding.passed &= place.cpus.as_ref().is_none_or(|cpus| cpus.contains(slot.cpu));
            finding.passed &= !kept || slot.group == place.group;
            let nodes = &plan.groups[place.group].nodes;
            finding.passed &= place.cpus.is_none() || slot.stack.share_on(nodes) >= 1.0;
            let policy = if kept { policy } else { &MemoryPolicy::Default };
            finding.add(slot.evidence, policy, &plan.groups[place.group].nodes);
        }
        findings.push(finding);
    }
    Ok(findings)
}

/// Slots tried of a plan, at most.
const MOST_SLOTS: usize = 64;

fn wishes(nodes: usize, threads: usize) -> Vec<(String, Wishes)> {
    let mut all = Vec::new();
    for index in [IndexPlacement::Local, IndexPlacement::Interleave, IndexPlacement::Replicate] {
        all.push((index.to_string(), Wishes { index, ..Wishes::default() }));
    }
    for (word, order) in [("compact", PinOrder::Compact), ("scatter", PinOrder::Scatter)] {
        for (level_word, level) in [("node", PinLevel::Node), ("core", PinLevel::Core)] {
            let index = IndexPlacement::Replicate;
            let wishes = Wishes { index, pin: Some((level, order)), ..Wishes::default() };
            all.push((format!("replicate, pinned to {level_word}, {word}"), wishes));
        }
    }
    for count in [nodes / 2, nodes, 2 * nodes].into_iter().filter_map(std::num::NonZero::new) {
        let kinds = [
            ("bind", GroupMemory::Bind),
            ("local", GroupMemory::Local),
            ("interleave", GroupMemory::Interleave),
        ];
        for (word, memory) in kinds.into_iter().filter(|_| count.get() <= threads) {
            let wishes = Wishes { instances: Some((count, memory)), ..Wishes::default() };
            all.push((format!("{count} instances, {word}"), wishes));
        }
    }
    all
}

impl Finding {
    /// Adds what was found of memory that `policy` and a group's `nodes` should hold.
    fn add(&mut self, evidence: Evidence, policy: &MemoryPolicy, nodes: &IdSet) {
        self.passed &= evidence.pages() > 0
            && match policy {
                MemoryPolicy::Default => true,
                MemoryPolicy::Local | MemoryPolicy::Bind(_) => evidence.share_on(nodes) >= 1.0,
                MemoryPolicy::Interleave(nodes) => is_even(&evidence, nodes),
            };
        for (node, pages) in evidence.pages_of_node {
            *self.evidence.pages_of_node.entry(node).or_default() += pages;
        }
    }
}

/// Nodes of a thread and of its memory.
struct TakenSlot {
    cpu: u32,
    group: usize,
    evidence: Evidence,
    stack: Evidence,
}

fn on_its_own(
    take: impl Fn() -> io::Result<()> + Sync,
    plan: &Plan,
    policy: &MemoryPolicy,
) -> io::Result<TakenSlot> {
    let nodes = match policy {
        MemoryPolicy::Bind(nodes) | MemoryPolicy::Interleave(nodes) => nodes.len(),
        MemoryPolicy::Default | MemoryPolicy::Local => 1,
    };
    let slot = pool::run_one(|| {
        take()?;
        let region = touched(nodes * 16 * page_bytes(), false)?;
        let evidence = evidence_of(&region)?;
        let cpu = numa::current_place()?.cpu;
        let stack = super::slot::stack_evidence()?;
        Ok(TakenSlot { cpu, group: plan.group_here(), evidence, stack })
    });
    slot.unwrap_or_else(|panic| Err(io::Error::other(panic)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::is_withheld;
    use std::path::Path;

    #[test]
    fn this_machine_places_memory_as_planned() {
        let topology = Topology::read(Path::new("/")).unwrap();
        let limits = Limits::of_this_process(Path::new("/"), &topology);
        match run(&topology, &limits) {
            Ok(findings) => {
                assert!(findings.len() >= 6);
                for finding in findings {
                    assert!(finding.passed, "{finding:?}");
                }
            }
            Err(error) => assert!(is_withheld(&error), "{error}"),
        }
    }

    #[test]
    fn slots_are_where_plans_say() {
        let topology = Topology::read(Path::new("/")).unwrap();
        let limits = Limits::of_this_process(Path::new("/"), &topology);
        if super::super::permitted().is_ok() {
            let findings = run_plans(&topology, &limits).unwrap();
            assert!(findings.len() >= 7);
            findings.iter().for_each(|finding| assert!(finding.passed, "{finding:?}"));
        }
    }

    #[test]
    fn pages_on_another_node_are_a_failure() {
        let evidence = Evidence { pages_of_node: [(0, 63), (1, 1)].into(), ..Evidence::default() };
        assert!(!all_on(String::new(), &IdSet::from_iter([0]), evidence.clone()).passed);
        assert!(!even("", &IdSet::from_iter([0, 1]), evidence.clone()).passed);
        assert!(!all_on(String::new(), &IdSet::from_iter([0]), Evidence::default()).passed);
        let evidence = Evidence { pages_of_node: [(0, 64), (1, 63)].into(), ..evidence };
        assert!(even("", &IdSet::from_iter([0, 1]), evidence).passed);
    }
}
