//! A thread takes its place, and finds the replica that is nearest to it.

use std::cell::Cell;
use std::io;
use std::ops::Range;

use super::evidence::Evidence;
use super::{MemoryPolicy, PinLevel, Plan};
use crate::sys::{numa, page_bytes};
use crate::topology::IdSet;

thread_local! {
    /// Group of the calling thread, where it keeps to one.
    static GROUP: Cell<Option<usize>> = const { Cell::new(None) };
}

impl Plan {
    /// Whether nothing is to be done: the threads are left as they are.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        let plain = |policy: &MemoryPolicy| *policy == MemoryPolicy::Default;
        self.pin == PinLevel::None
            && self.groups.len() == 1
            && self.groups.iter().all(|group| plain(&group.index) && plain(&group.private))
    }

    /// Puts the calling thread on the slot of `worker`: pins it, and has its memory taken from
    /// where its group's private memory is. Whatever the thread allocates should come after.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn take_slot(&self, worker: usize) -> io::Result<()> {
        let Some(slot) = self.slots.get(worker % self.slots.len().max(1)) else { return Ok(()) };
        if let Some(cpus) = &slot.cpus {
            numa::set_affinity(cpus)?;
            bring_stack()?;
        }
        if slot.cpus.is_some() || self.instances {
            GROUP.set(Some(slot.group));
        }
        match &self.groups[slot.group].private {
            MemoryPolicy::Default => Ok(()),
            policy => numa::set_thread_policy(policy),
        }
    }

    /// Makes the calling thread, and those it starts, the loader of a group's replica. The thread
    /// should end with the load.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn take_loader_slot(&self, group: usize) -> io::Result<()> {
        let Some(group) = self.groups.get(group) else { return Ok(()) };
        match &group.index {
            // One index on one node: that of the thread that loads it, which must not wander.
            MemoryPolicy::Local if self.groups.len() == 1 => {
                let cpu = numa::current_place()?.cpu;
                numa::set_affinity(&IdSet::from_iter([cpu]))?;
            }
            MemoryPolicy::Bind(_) | MemoryPolicy::Local => numa::set_affinity(&group.cpus)?,
            MemoryPolicy::Default | MemoryPolicy::Interleave(_) => {}
        }
        match &group.index {
            MemoryPolicy::Default => Ok(()),
            policy => numa::set_thread_policy(policy),
        }
    }

    /// The group whose replica the calling thread should read now: its own where it keeps to one,
    /// else that of the node it runs on.
    #[must_use]
    pub fn group_here(&self) -> usize {
        if self.groups.len() < 2 {
            return 0;
        }
        if let Some(group) = GROUP.get() {
            return group.min(self.groups.len() - 1);
        }
        let Ok(place) = numa::current_place() else { return 0 };
        self.groups.iter().position(|group| group.cpus.contains(place.cpu)).unwrap_or(0)
    }
}

/// Brings what the calling thread has of stack and thread-local memory to the node it runs on: the
/// thread that started it has made that.
fn bring_stack() -> io::Result<()> {
    let stack = numa::own_stack()?;
    let page_bytes = page_bytes();
    let pages: Vec<usize> =
        (stack.start & !(page_bytes - 1)..stack.end).step_by(page_bytes).collect();
    let here = numa::current_place()?.node;
    let nodes = numa::nodes_of_pages(&pages)?;
    let is_elsewhere = |node: &Option<u32>| node.is_some_and(|node| node != here);
    let elsewhere = pages.iter().zip(&nodes).filter(|(_, node)| is_elsewhere(node));
    let elsewhere: Vec<usize> = elsewhere.map(|(&page, _)| page).collect();
    if elsewhere.is_empty() { Ok(()) } else { numa::move_pages(&elsewhere, here) }
}

/// Addresses of the calling thread's stack and thread-local memory.
pub(super) fn stack_evidence() -> io::Result<Evidence> {
    Evidence::of(&[numa::own_stack()?])
}

/// Whether this process may place memory and ask where it is; containers often may not.
///
/// # Errors
/// Error of the kernel.
pub fn permitted() -> io::Result<()> {
    numa::set_thread_policy(&MemoryPolicy::Local)?;
    numa::set_thread_policy(&MemoryPolicy::Default)?;
    let here = 0u8;
    numa::nodes_of_pages(&[&raw const here as usize]).map(|_| ())
}

/// Runs `work`; while it runs, the process gets no transparent huge pages if `small` says so.
/// Where the kernel or a sandbox refuses that, `work` runs with the pages it gets: what it got can
/// be looked up, see [`super::evidence`].
pub fn with_pages<T>(small: bool, work: impl FnOnce() -> T) -> T {
    let switched = small
        && matches!(numa::huge_pages_are_disabled(), Ok(false))
        && numa::disable_huge_pages(true).is_ok();
    let result = work();
    if switched {
        // A kernel that switched them off switches them on; else later pages are small, no more.
        let _ = numa::disable_huge_pages(false);
    }
    result
}

/// Keeps the kernel from making huge pages of these ranges later: it collects them on one node.
/// Parts that are mapped no more, such as the stacks of threads that have ended, need no advice;
/// the kernel reports them as out of memory once it has advised the rest (`madvise(2)`).
///
/// # Errors
/// When the kernel refuses.
pub fn keep_small(ranges: &[Range<usize>]) -> io::Result<()> {
    ranges.iter().try_for_each(|range| match numa::advise_huge(range, false) {
        Err(error) if error.raw_os_error() == Some(libc::ENOMEM) => Ok(()),
        other => other,
    })
}

/// Requests huge pages of the kernel under `memory`, which has not been touched yet. Where it
/// refuses, pages are small.
pub fn ask_for_huge_pages<T>(memory: &mut [T]) {
    let pages = numa::whole_pages(memory, page_bytes());
    // Speed alone depends on it.
    let _ = numa::advise_huge(&pages, true);
}

/// Drops `values` and gives their pages back to the kernel at once, where the allocator would keep
/// them for a while. Where the kernel refuses, the allocator does as it does.
pub fn drop_with_pages<T>(mut values: Vec<T>) {
    values.clear();
    let _ = numa::discard_pages(values.spare_capacity_mut());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_with_huge_pages_is_memory() {
        for count in [0, 1, 100, 1 << 20] {
            let mut values = Vec::with_capacity(count);
            ask_for_huge_pages(&mut values);
            values.extend(0..count as u64);
            assert!(values.iter().copied().eq(0..count as u64));
        }
    }

    #[test]
    fn memory_that_holds_nothing_can_be_given_back() {
        let page_bytes = page_bytes();
        let mut values = vec![1_u8; 64 * page_bytes];
        values.truncate(32 * page_bytes);
        let whole = values.spare_capacity_mut().as_ptr().addr().next_multiple_of(page_bytes);
        let pages: Vec<usize> = (0..31).map(|page| whole + page * page_bytes).collect();
        numa::discard_pages(values.spare_capacity_mut()).unwrap();
        if let Ok(nodes) = numa::nodes_of_pages(&pages) {
            assert_eq!(nodes, [None; 31]);
        }
        assert!(values.iter().all(|&value| value == 1));
        values.resize(64 * page_bytes, 2);
        assert!(values[32 * page_bytes..].iter().all(|&value| value == 2));
        for count in [0, 1, 100, 1 << 20] {
            drop_with_pages(vec![1_u64; count]);
        }
    }

    #[test]
    fn pages_are_as_before_when_the_work_is_done() {
        let state = || numa::huge_pages_are_disabled().ok();
        let before = state();
        assert_eq!(with_pages(false, state), before);
        let inside = with_pages(true, state);
        assert!(inside == Some(true) || inside == before, "{inside:?}");
        assert_eq!(state(), before);
        // Switched off by whoever started us: left so.
        if numa::disable_huge_pages(true).is_ok() {
            assert_eq!(with_pages(true, state), Some(true));
            assert_eq!(state(), Some(true));
            numa::disable_huge_pages(false).unwrap();
        }
    }
}
