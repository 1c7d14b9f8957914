//! Where a thread runs: the NUMA node that locks ask for.
//!
//! A lock calls a function that its maker gives ([`NodeOf`]). The one used by default returns what
//! the thread has said of itself: right for pinned threads, free, and tests can make up nodes.
//! A node is a hint: a wrong one costs time, never exclusion.

use std::cell::Cell;

use crate::sync::thread_local;

/// Number of the calling thread's NUMA node.
pub type NodeOf = fn() -> usize;

#[cfg(not(loom))]
thread_local! {
    static NODE: Cell<usize> = const { Cell::new(0) };
}
#[cfg(loom)]
thread_local! {
    static NODE: Cell<usize> = Cell::new(0);
}

/// The node that this thread was said to run on; 0 before.
#[must_use]
pub fn of_this_thread() -> usize {
    NODE.with(Cell::get)
}

/// Says that this thread runs on `node`.
pub fn set_of_this_thread(node: usize) {
    NODE.with(|of| of.set(node));
}
