//! From the machine and the wishes to groups and slots. No system call is made here.

use super::{
    GroupMemory, HugePages, IndexPlacement, MemoryPolicy, PinLevel, PinOrder, PlacementError,
    Wishes,
};
use crate::topology::{Cpu, IdSet, Limits, Topology};

/// With huge pages an index is interleaved by 2 MiB, which spreads a small one unevenly (measured:
/// 4 MiB over 16 nodes put a seventeenth of it on each of 15, and half on one). Below so much for
/// each node, small pages are used.
const SMALL_PER_NODE_BYTES: u64 = 64 << 20;

/// A node's memory that an index must leave to all else, in percent of the index.
const SPARE_PERCENT: u64 = 10;

/// Workers that share a replica of the index, and the nodes it is on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerGroup {
    /// Nodes with the group's memory.
    pub nodes: IdSet,
    /// CPUs of the group.
    pub(crate) cpus: IdSet,
    /// Policy of the replica's pages.
    pub index: MemoryPolicy,
    /// Policy of the pages that workers allocate.
    pub(crate) private: MemoryPolicy,
}

/// A worker's place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    /// Index of its group.
    pub group: usize,
    /// CPUs it is pinned to, if it is.
    pub(crate) cpus: Option<IdSet>,
}

/// Which workers run on which CPUs, and which copy of the index each reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The decision; never [`IndexPlacement::Auto`].
    pub placement: IndexPlacement,
    /// Groups, each with a replica; at least one.
    pub groups: Vec<WorkerGroup>,
    /// A slot for every worker.
    pub slots: Vec<Slot>,
    /// Whether groups were requested by number: their workers keep to their replica, pinned or not.
    pub(crate) instances: bool,
    /// How narrowly workers are pinned.
    pub pin: PinLevel,
    /// Whether huge pages of the index are prevented.
    pub small_pages: bool,
    /// The cause, in words.
    pub reason: &'static str,
}

/// Memory of a node, and the CPUs to which no other memory is nearer.
#[derive(Debug, Clone)]
struct Home {
    node: u32,
    cpus: IdSet,
    available_bytes: u64,
}

/// CPUs that workers may run on.
#[derive(Clone, Copy)]
struct Workers<'a> {
    homes: &'a [Home],
    /// In the order in which workers are pinned.
    cpus: &'a [u32],
    threads: usize,
}

impl Plan {
    /// The plan of a machine without nodes that matter: nothing is done.
    #[must_use]
    pub fn none(threads: usize) -> Self {
        let group = WorkerGroup {
            nodes: IdSet::default(),
            cpus: IdSet::default(),
            index: MemoryPolicy::Default,
            private: MemoryPolicy::Default,
        };
        Self {
            placement: IndexPlacement::Default,
            groups: vec![group],
            slots: vec![Slot { group: 0, cpus: None }; threads],
            instances: false,
            pin: PinLevel::None,
            small_pages: false,
            reason: "one node",
        }
    }

    /// Decides for `threads` workers and an index of `index_bytes`. `replicas_fit` says whether so
    /// many replicas fit the memory that the process may use.
    ///
    /// # Errors
    /// When an explicit wish cannot be granted.
    pub fn new(
        (topology, limits): (&Topology, &Limits),
        wishes: &Wishes,
        threads: usize,
        index_bytes: u64,
        replicas_fit: impl Fn(usize) -> bool,
    ) -> Result<Self, PlacementError> {
        let homes = homes(topology, limits);
        // Unless requested otherwise workers are spread, so that every node's memory is used alike.
        let order = wishes.pin.map_or(PinOrder::Scatter, |(_, order)| order);
        let cpus = cpu_order(topology, &homes, order);
        let mut plan = if let Some((instances, memory)) = wishes.instances {
            let groups = instance_groups(&homes, instances.get(), memory);
            if instances.get() > threads {
                return Err(PlacementError::TooFewThreads { instances: instances.get(), threads });
            }
            let slots = (0..threads).map(|worker| worker % instances.get()).collect();
            let mut plan = Self::with_slots(IndexPlacement::Replicate, groups, slots);
            plan.instances = true;
            plan.check_room(&homes, index_bytes)?;
            plan
        } else {
            let workers = Workers { homes: &homes, cpus: &cpus, threads };
            Self::without_instances(workers, wishes, index_bytes, &replicas_fit)?
        };
        plan.pin = wishes.pin.map_or_else(|| plan.usual_pin(limits), |(level, _)| level);
        plan.pin_slots(&cpus, &homes);
        let per_node = index_bytes / plan.groups[0].nodes.len().max(1) as u64;
        let interleaved = matches!(plan.groups[0].index, MemoryPolicy::Interleave(_));
        plan.small_pages = match wishes.huge_pages {
            HugePages::On => false,
            HugePages::Off => true,
            HugePages::Auto => interleaved && per_node < SMALL_PER_NODE_BYTES,
        };
        Ok(plan)
    }

    fn with_slots(
        placement: IndexPlacement,
        groups: Vec<WorkerGroup>,
        group_of: Vec<usize>,
    ) -> Self {
        let slots = group_of.into_iter().map(|group| Slot { group, cpus: None }).collect();
        let (pin, small_pages, reason) = (PinLevel::None, false, "asked for");
        Self { placement, groups, slots, instances: false, pin, small_pages, reason }
    }

    fn without_instances(
        Workers { homes, cpus, threads }: Workers<'_>,
        wishes: &Wishes,
        index_bytes: u64,
        replicas_fit: &impl Fn(usize) -> bool,
    ) -> Result<Self, PlacementError> {
        if cpus.is_empty() {
            // Neither /sys nor /proc is there, as in an empty root.
            let reason = "the machine does not say what nodes it has";
            return Ok(Self { reason, ..Self::single(IndexPlacement::Default, homes, threads) });
        }
        let replicated = Self::replicated(homes, cpus, threads);
        let (placement, reason) = match wishes.index {
            IndexPlacement::Auto if homes.len() < 2 => (IndexPlacement::Default, "one node"),
            // Where exactly is the kernel's choice: other processes may sit on some nodes already.
            IndexPlacement::Auto if homes.iter().any(|home| home.cpus.len() >= threads) => {
                (IndexPlacement::Default, "all workers fit one node")
            }
            IndexPlacement::Auto if replicated.check_room(homes, index_bytes).is_err() => {
                (IndexPlacement::Interleave, "a copy does not fit every node")
            }
            IndexPlacement::Auto if !replicas_fit(replicated.groups.len()) => {
                (IndexPlacement::Interleave, "copies do not fit the memory cap")
            }
            IndexPlacement::Auto => (IndexPlacement::Replicate, "a copy fits every node"),
            wish => (wish, "asked for"),
        };
        let mut plan = match placement {
            IndexPlacement::Replicate => {
                if wishes.index == IndexPlacement::Replicate {
                    replicated.check_room(homes, index_bytes)?;
                }
                replicated
            }
            _ => Self::single(placement, homes, threads),
        };
        plan.reason = reason;
        Ok(plan)
    }

    /// One index for all workers.
    fn single(placement: IndexPlacement, homes: &[Home], threads: usize) -> Self {
        let nodes: IdSet = homes.iter().map(|home| home.node).collect();
        let (index, private) = match placement {
            IndexPlacement::Interleave => {
                (MemoryPolicy::Interleave(nodes.clone()), MemoryPolicy::Local)
            }
            IndexPlacement::Local => (MemoryPolicy::Local, MemoryPolicy::Local),
            _ => (MemoryPolicy::Default, MemoryPolicy::Default),
        };
        let cpus = homes.iter().fold(IdSet::default(), |all, home| all.union(&home.cpus));
        let group = WorkerGroup { nodes, cpus, index, private };
        Self::with_slots(placement, vec![group], vec![0; threads])
    }

    /// A group on every node that has a worker.
    fn replicated(homes: &[Home], cpus: &[u32], threads: usize) -> Self {
        let bin_of_record = |cpu: u32| homes.iter().position(|home| home.cpus.contains(cpu));
        let homes_of: Vec<usize> = (0..threads)
            .filter_map(|worker| bin_of_record(*cpus.get(worker % cpus.len())?))
            .collect();
        let used: IdSet = homes_of.iter().map(|&home| home as u32).collect();
        let used: Vec<usize> = used.iter().map(|home| home as usize).collect();
        let group_of =
            homes_of.iter().filter_map(|home| used.iter().position(|u| u == home)).collect();
        let groups =
            used.iter().map(|&home| group_of_homes(&homes[home..=home], GroupMemory::Bind));
        let mut plan = Self::with_slots(IndexPlacement::Replicate, groups.collect(), group_of);
        for group in &mut plan.groups {
            // A worker that needs more than its node has left takes it elsewhere.
            group.private = MemoryPolicy::Local;
        }
        plan
    }

    /// Whether every group's nodes have room for its replica, and for those that share them.
    fn check_room(&self, homes: &[Home], index_bytes: u64) -> Result<(), PlacementError> {
        for group in &self.groups {
            let sharers = self.groups.iter().filter(|g| g.nodes == group.nodes).count() as u64;
            let there = homes.iter().filter(|home| group.nodes.contains(home.node));
            let available_bytes: u64 = there.map(|home| home.available_bytes).sum();
            let needed = index_bytes / 100 * (100 + SPARE_PERCENT) * sharers;
            if needed > available_bytes {
                let nodes = group.nodes.to_string();
                return Err(PlacementError::ReplicaTooLarge {
                    nodes,
                    available_bytes,
                    index_bytes,
                });
            }
        }
        Ok(())
    }

    /// Workers with a replica of their own stay on its node, but where a quota makes the kernel
    /// stop threads: there it must be free to choose.
    fn usual_pin(&self, limits: &Limits) -> PinLevel {
        let pinned = self.groups.len() > 1 && limits.quota_cores.is_none();
        if pinned { PinLevel::Node } else { PinLevel::None }
    }

    fn pin_slots(&mut self, cpus: &[u32], homes: &[Home]) {
        let mut taken = vec![0usize; self.groups.len()];
        for slot in &mut self.slots {
            let group = &self.groups[slot.group];
            let own: Vec<u32> = cpus.iter().copied().filter(|&c| group.cpus.contains(c)).collect();
            let sharers: Vec<usize> = (0..self.groups.len())
                .filter(|&other| self.groups[other].cpus == group.cpus)
                .collect();
            let place = sharers.iter().position(|&g| g == slot.group).unwrap_or(0);
            // Groups on the same CPUs take them in turn.
            let at = taken[slot.group] * sharers.len() + place;
            taken[slot.group] += 1;
            let Some(&cpu) = own.get(at % own.len().max(1)) else { continue };
            slot.cpus = match self.pin {
                PinLevel::None => None,
                PinLevel::Core => Some(IdSet::from_iter([cpu])),
                PinLevel::Node => {
                    let home = homes.iter().find(|home| home.cpus.contains(cpu));
                    home.map(|home| home.cpus.clone())
                }
            };
        }
    }
}

/// Nodes with memory that the process may have and CPUs that it may use. CPUs of a node without
/// memory belong to the nearest that has some; memory far from all CPUs is left to the kernel.
fn homes(topology: &Topology, limits: &Limits) -> Vec<Home> {
    let mut cpus_of = vec![Vec::new(); topology.nodes.len()];
    for cpu in topology.cpus.iter().filter(|cpu| limits.cpus.contains(cpu.id)) {
        let from = cpu.node.unwrap_or(0);
        let with_memory = topology.nodes.iter().enumerate();
        let nearest = with_memory
            .filter(|(_, node)| limits.memory_nodes.contains(node.id))
            .min_by_key(|(_, node)| topology.distance(from, node.id));
        if let Some((at, _)) = nearest {
            cpus_of[at].push(cpu.id);
        }
    }
    let nodes = topology.nodes.iter().zip(cpus_of).filter(|(_, cpus)| !cpus.is_empty());
    let home = |(node, cpus): (&crate::topology::Node, Vec<u32>)| Home {
        node: node.id,
        cpus: cpus.into_iter().collect(),
        available_bytes: node.available_bytes,
    };
    nodes.map(home).collect()
}

/// The CPUs of all homes in the order in which workers take them.
fn cpu_order(topology: &Topology, homes: &[Home], order: PinOrder) -> Vec<u32> {
    let mut keyed = Vec::new();
    for (home_at, home) in homes.iter().enumerate() {
        let here: Vec<&Cpu> = topology.cpus.iter().filter(|c| home.cpus.contains(c.id)).collect();
        let mut seen = std::collections::HashMap::new();
        for cpu in here {
            let thread = topology.thread_of_core(cpu);
            let core = seen.entry(thread).or_insert(0usize);
            let key = match order {
                PinOrder::Compact => (thread, home_at, *core),
                PinOrder::Scatter => (thread, *core, home_at),
            };
            *core += 1;
            keyed.push((key, cpu.id));
        }
    }
    keyed.sort_unstable();
    keyed.into_iter().map(|(_, cpu)| cpu).collect()
}

fn group_of_homes(homes: &[Home], memory: GroupMemory) -> WorkerGroup {
    let nodes: IdSet = homes.iter().map(|home| home.node).collect();
    let cpus = homes.iter().fold(IdSet::default(), |all, home| all.union(&home.cpus));
    let policy = match memory {
        GroupMemory::Bind => MemoryPolicy::Bind(nodes.clone()),
        GroupMemory::Local => MemoryPolicy::Local,
        GroupMemory::Interleave => MemoryPolicy::Interleave(nodes.clone()),
    };
    WorkerGroup { nodes, cpus, index: policy.clone(), private: policy }
}

/// Groups of neighbouring nodes; where there are more groups than nodes, several on one node.
fn instance_groups(homes: &[Home], instances: usize, memory: GroupMemory) -> Vec<WorkerGroup> {
    let count = homes.len().max(1);
    let homes_of = |group: usize| {
        let first = group * count / instances;
        let end = ((group + 1) * count / instances).max(first + 1);
        homes.get(first..end.min(homes.len())).unwrap_or_default()
    };
    (0..instances).map(|group| group_of_homes(homes_of(group), memory)).collect()
}

#[cfg(test)]
#[cfg(not(loom))]
#[path = "plan_tests.rs"]
mod tests;
