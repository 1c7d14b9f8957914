//! Where workers run and where memory is, on a machine with several NUMA nodes.
//!
//! [`Plan::new`] decides from topology, limits and wishes; it is a pure function. A plan has
//! *groups*: nodes with their CPUs, each with a copy of the index (a replica). Every worker has a
//! slot in a group. [`Plan::take_slot`] puts the calling thread there, [`Plan::take_loader_slot`]
//! the one that allocates a group's replica, and [`evidence`] asks the kernel where pages really
//! are.
//!
//! *Invariant:* placement decides where bytes are, never what they are; no result depends on it.

pub mod evidence;
mod plan;
pub mod probe;
mod slot;

use std::fmt;
use std::num::NonZeroUsize;

use crate::error::{Class, RunError};
use crate::memory::ByteSize;

pub(crate) use crate::sys::numa::AnonymousMapping;
pub use crate::sys::numa::MemoryPolicy;
pub use plan::{Plan, Slot, WorkerGroup};
pub use slot::{ask_for_huge_pages, drop_with_pages, keep_small, permitted, with_pages};

/// Whether a system call is one that this process may not make (containers may forbid `mbind` and
/// `move_pages`), or that an emulator of user programs does not have (qemu-user has neither).
#[cfg(test)]
pub(crate) fn is_withheld(error: &std::io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOSYS))
}

/// Placement of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IndexPlacement {
    /// By size: copies where they fit, else interleaved; nothing on a machine with one node.
    #[default]
    Auto,
    /// As the kernel does it: on the node of the thread that loads it.
    Default,
    /// On the node of the thread that loads it, whatever policy the process was started with.
    Local,
    /// Pages in turn over all nodes.
    Interleave,
    /// A copy on every node.
    Replicate,
}

/// How narrowly workers are pinned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PinLevel {
    /// Not at all.
    None,
    /// To the CPUs of a node.
    Node,
    /// To one CPU.
    Core,
}

/// In which order CPUs are given to workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PinOrder {
    /// Node by node. Cores are filled before their second threads.
    #[default]
    Compact,
    /// A CPU of every node in turn.
    Scatter,
}

/// Placement of a group's memory, within the nodes of the group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GroupMemory {
    /// There and nowhere else.
    #[default]
    Bind,
    /// On the node of the thread that touches it first.
    Local,
    /// Pages in turn.
    Interleave,
}

/// Huge pages of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HugePages {
    /// Yes, but for an index that is interleaved and small.
    #[default]
    Auto,
    /// Ask for them.
    On,
    /// Prevent them.
    Off,
}

/// Requested placement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wishes {
    /// Placement of the index.
    pub index: IndexPlacement,
    /// How workers are pinned; `None` leaves it to the plan.
    pub pin: Option<(PinLevel, PinOrder)>,
    /// Groups of workers, each with a replica.
    pub instances: Option<(NonZeroUsize, GroupMemory)>,
    /// Huge pages of the index.
    pub huge_pages: HugePages,
}

/// A wish that this machine cannot grant.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum PlacementError {
    /// A replica does not fit its nodes.
    #[error(
        "NUMA nodes {nodes} have {} of memory free, and a replica of the index takes {}; use \
         --placement interleave, or fewer --instances",
        ByteSize(*.available_bytes), ByteSize(*.index_bytes)
    )]
    ReplicaTooLarge {
        /// The nodes.
        nodes: String,
        /// Available memory.
        available_bytes: u64,
        /// Memory of the index.
        index_bytes: u64,
    },
    /// More groups than workers.
    #[error("--instances {instances} needs as many threads; -t is {threads}")]
    TooFewThreads {
        /// Groups requested.
        instances: usize,
        /// Workers, of which each group wants one.
        threads: usize,
    },
}

impl RunError for PlacementError {
    fn class(&self) -> Class {
        match self {
            Self::ReplicaTooLarge { .. } | Self::TooFewThreads { .. } => Class::Usage,
        }
    }
}

impl fmt::Display for IndexPlacement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Default => "default",
            Self::Local => "local",
            Self::Interleave => "interleave",
            Self::Replicate => "replicate",
        })
    }
}
