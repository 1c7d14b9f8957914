//! Where the index and the workers of a run go, and what became of it.

use std::num::NonZeroUsize;
use std::path::Path;
use std::str::FromStr;

use seqloom_align::engine::Replicated;
use seqloom_report::run::{PlacementReport, ReplicaReport};
use seqloom_runtime::memory::ByteSize;
use seqloom_runtime::placement::evidence::{Evidence, Mappings};
use seqloom_runtime::placement::{
    self, GroupMemory, HugePages, IndexPlacement, MemoryPolicy, PinLevel, PinOrder, Plan, Wishes,
};
use seqloom_runtime::pool;
use seqloom_runtime::topology::{Limits, Topology};
use seqloom_terminal::UsageError;
use seqloom_terminal::error::SystemError;

/// Options of placement.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Machines with several NUMA nodes")]
pub(crate) struct NumaArguments {
    /// Where the index is: a copy on every node, pages over all nodes in turn, on the node that
    /// loads it; auto goes by its size
    #[arg(long, value_name = "WHERE", default_value = "auto", conflicts_with = "instances")]
    placement: WhereArgument,
    /// Groups of workers, each with a copy of the index on nodes of its own, and whether memory
    /// stays there (bind), follows the thread (local) or is spread over the nodes of the group
    #[arg(long, value_name = "N[:bind|local|interleave]")]
    instances: Option<InstancesArgument>,
    /// Pin workers to the CPUs of a node or to one CPU each: node by node, or a CPU of each node in
    /// turn [default: node where there are copies, else none]
    #[arg(long, value_name = "none|node|core[:compact|scatter]")]
    pin: Option<PinArgument>,
    /// Huge pages for the index; auto is on, but off for a small index that is interleaved
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    huge_pages: HugePagesArgument,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum WhereArgument {
    Auto,
    Default,
    Local,
    Interleave,
    Replicate,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum HugePagesArgument {
    Auto,
    On,
    Off,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct InstancesArgument(NonZeroUsize, GroupMemory);

impl FromStr for InstancesArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (count, memory) = text.split_once(':').unwrap_or((text, "bind"));
        let memory = match memory {
            "bind" => GroupMemory::Bind,
            "local" => GroupMemory::Local,
            "interleave" => GroupMemory::Interleave,
            _ => return Err("after the colon must come bind, local or interleave".to_owned()),
        };
        let count = count.parse().map_err(|_| "must be N or N:bind|local|interleave".to_owned())?;
        Ok(Self(count, memory))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PinArgument(PinLevel, PinOrder);

impl FromStr for PinArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (level, order) = text.split_once(':').unwrap_or((text, "compact"));
        let level = match level {
            "none" => PinLevel::None,
            "node" => PinLevel::Node,
            "core" => PinLevel::Core,
            _ => return Err("must be none, node or core".to_owned()),
        };
        match order {
            "compact" => Ok(Self(level, PinOrder::Compact)),
            "scatter" => Ok(Self(level, PinOrder::Scatter)),
            _ => Err("after the colon must come compact or scatter".to_owned()),
        }
    }
}

impl NumaArguments {
    fn wishes(&self) -> Wishes {
        Wishes {
            index: match self.placement {
                WhereArgument::Auto => IndexPlacement::Auto,
                WhereArgument::Default => IndexPlacement::Default,
                WhereArgument::Local => IndexPlacement::Local,
                WhereArgument::Interleave => IndexPlacement::Interleave,
                WhereArgument::Replicate => IndexPlacement::Replicate,
            },
            pin: self.pin.map(|PinArgument(level, order)| (level, order)),
            instances: self.instances.map(|InstancesArgument(count, memory)| (count, memory)),
            huge_pages: match self.huge_pages {
                HugePagesArgument::Auto => HugePages::Auto,
                HugePagesArgument::On => HugePages::On,
                HugePagesArgument::Off => HugePages::Off,
            },
        }
    }
}

/// Decides where all goes. `replicas_fit` says whether so many copies of the index fit `-m`.
///
/// # Errors
/// What was requested and cannot be had. What was not requested is left out instead.
pub(super) fn plan(
    arguments: &NumaArguments,
    threads: usize,
    index_bytes: u64,
    replicas_fit: impl Fn(usize) -> bool,
) -> seqloom_terminal::Result<Plan> {
    let wishes = arguments.wishes();
    let is_requested = wishes != Wishes { huge_pages: wishes.huge_pages, ..Wishes::default() };
    let machine = Topology::read(Path::new("/"));
    let topology = match machine {
        Ok(topology) => topology,
        Err(error) if is_requested => return Err(error.into()),
        Err(_) => return Ok(Plan::none(threads)),
    };
    if let Err(error) = placement::permitted() {
        // Containers are often forbidden to place memory: then nothing is placed.
        let text = format!("the kernel refuses to place memory here: {error}");
        return if is_requested { Err(SystemError(text).into()) } else { Ok(Plan::none(threads)) };
    }
    let limits = Limits::of_this_process(Path::new("/"), &topology);
    Plan::new((&topology, &limits), &wishes, threads, index_bytes, replicas_fit)
        .map_err(|error| UsageError(error.to_string()).into())
}

/// Loads a copy of the index for every group, one after the other, each by a thread on the group's
/// CPUs under its policy, with as many more as `threads` says, and looks where the pages are.
pub(crate) fn load<E: Send>(
    plan: &Plan,
    threads: NonZeroUsize,
    load_one: impl Fn(NonZeroUsize) -> seqloom_terminal::Result<E> + Sync,
) -> seqloom_terminal::Result<(Replicated<E>, PlacementReport)> {
    let mut report = PlacementReport::from(plan);
    let mut load = |group: usize| -> seqloom_terminal::Result<E> {
        let (engine, ranges) = placement::with_pages(plan.small_pages, || {
            pool::run_one(|| {
                plan.take_loader_slot(group).map_err(SystemError::new)?;
                let before = Mappings::now();
                let engine = load_one(threads)?;
                let ranges = before.and_then(|before| Ok(Mappings::now()?.since(&before)));
                Ok::<_, seqloom_terminal::Error>((engine, ranges))
            })
        })??;
        if let (Ok(ranges), true) = (&ranges, plan.small_pages) {
            placement::keep_small(ranges).map_err(SystemError::new)?;
        }
        let evidence = ranges.and_then(|ranges| Evidence::of(&ranges)).unwrap_or_default();
        report.replicas.push(replica_report(plan, group, &evidence));
        Ok(engine)
    };
    let first = load(0)?;
    let others = (1..plan.groups.len()).map(load).collect::<seqloom_terminal::Result<_>>()?;
    Ok((Replicated::new(first, others, plan.clone()), report))
}

fn replica_report(plan: &Plan, group: usize, evidence: &Evidence) -> ReplicaReport {
    let group = &plan.groups[group];
    ReplicaReport {
        nodes: group.nodes.iter().collect(),
        policy: match group.index {
            MemoryPolicy::Default => "default",
            MemoryPolicy::Local => "local",
            MemoryPolicy::Bind(_) => "bind",
            MemoryPolicy::Interleave(_) => "interleave",
        },
        sampled_pages_of_node: evidence.pages_of_node.clone(),
        resident_bytes: evidence.resident_bytes,
        huge_bytes: evidence.huge_bytes,
    }
}

/// What is said about placement: a line for the plan, one for each replica. Nothing where nothing
/// was done and all is as it always is.
pub(super) fn describe(report: &PlacementReport) -> Vec<String> {
    let mut lines = vec![format!(
        "placement: {} ({}), {} of the index in pages of {}, workers pinned to {}",
        report.placement,
        report.reason,
        if report.replicas.len() == 1 {
            "one copy".to_owned()
        } else {
            format!("{} copies", report.replicas.len())
        },
        if report.small_pages { "4 KiB" } else { "2 MiB where the kernel gives them" },
        report.pinned_to,
    )];
    for (at, replica) in report.replicas.iter().enumerate() {
        let pages: u64 = replica.sampled_pages_of_node.values().sum();
        let share = |(node, count): (&u32, &u64)| {
            format!("{:.0} % on node {node}", 100.0 * *count as f64 / pages.max(1) as f64)
        };
        let found: Vec<String> = replica.sampled_pages_of_node.iter().map(share).collect();
        lines.push(format!(
            "placement: copy {at}: {} resident, {}, {} in huge pages",
            ByteSize(replica.resident_bytes),
            if found.is_empty() { "nodes unknown".to_owned() } else { found.join(", ") },
            ByteSize(replica.huge_bytes),
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_and_pins_are_parsed_or_refused() {
        let three = NonZeroUsize::new(3).unwrap();
        let instances = |text: &str| text.parse::<InstancesArgument>();
        assert_eq!(instances("3"), Ok(InstancesArgument(three, GroupMemory::Bind)));
        assert_eq!(instances("3:local"), Ok(InstancesArgument(three, GroupMemory::Local)));
        for bad in ["0", "x", "3:", "3:far", ":bind"] {
            assert!(instances(bad).is_err(), "{bad}");
        }
        let pin = |text: &str| text.parse::<PinArgument>();
        assert_eq!(pin("core"), Ok(PinArgument(PinLevel::Core, PinOrder::Compact)));
        assert_eq!(pin("node:scatter"), Ok(PinArgument(PinLevel::Node, PinOrder::Scatter)));
        for bad in ["", "socket", "core:", "core:up"] {
            assert!(pin(bad).is_err(), "{bad}");
        }
    }
}
