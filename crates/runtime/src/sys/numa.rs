//! The system calls that place threads and memory, for which no crate has a safe interface:
//! `set_mempolicy`, `mbind`, `move_pages`, `getcpu`, affinity masks of any size, `madvise`.
//!
//! Nothing here changes what memory holds: placement moves pages and never their contents, and only
//! pages that hold nothing are discarded.

use std::io;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr;

use crate::topology::IdSet;

/// Flag of `mbind`: move pages that are there already (`linux/mempolicy.h`).
const MPOL_MF_MOVE: libc::c_ulong = 1 << 1;
/// Masks grow up to this: 64 Ki CPUs.
const MAX_MASK_WORDS: usize = 1024;

/// Policy of the kernel's memory (`set_mempolicy(2)`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryPolicy {
    /// What the process was started with; the kernel's default is the node of the first touch.
    Default,
    /// The node of the first touch, whatever the process was started with.
    Local,
    /// These nodes and no other.
    Bind(IdSet),
    /// These nodes in turn, page by page.
    Interleave(IdSet),
}

impl MemoryPolicy {
    fn mode(&self) -> libc::c_int {
        match self {
            Self::Default => libc::MPOL_DEFAULT,
            Self::Local => libc::MPOL_LOCAL,
            Self::Bind(_) => libc::MPOL_BIND,
            Self::Interleave(_) => libc::MPOL_INTERLEAVE,
        }
    }

    /// The mask, and the number of bits that the kernel may look at (it takes one off).
    fn mask(&self) -> (Vec<u64>, usize) {
        match self {
            Self::Default | Self::Local => (Vec::new(), 0),
            Self::Bind(nodes) | Self::Interleave(nodes) => {
                let mask = nodes.mask();
                let bits = mask.len() * 64 + 1;
                (mask, bits)
            }
        }
    }
}

/// A mask's address as the kernel wants it: null where it is empty.
fn address(mask: &[u64]) -> *const u64 {
    if mask.is_empty() { ptr::null() } else { mask.as_ptr() }
}

fn checked(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// From now on the calling thread, and threads that it starts, take pages as `policy` says.
pub(crate) fn set_thread_policy(policy: &MemoryPolicy) -> io::Result<()> {
    let (mask, bits) = policy.mask();
    // SAFETY: the mask is as long as stated and lives during the call, which writes nothing.
    let result =
        unsafe { libc::syscall(libc::SYS_set_mempolicy, policy.mode(), address(&mask), bits) };
    checked(result).map(|_| ())
}

/// CPUs that the calling thread may run on.
pub(crate) fn affinity() -> io::Result<IdSet> {
    let mut words = 16;
    loop {
        let mut mask = vec![0u64; words];
        // SAFETY: the kernel writes at most the stated number of bytes to `mask`.
        let result =
            unsafe { libc::syscall(libc::SYS_sched_getaffinity, 0, words * 8, mask.as_mut_ptr()) };
        match checked(result) {
            Ok(_) => return Ok(IdSet::from_mask(&mask)),
            // The kernel knows more CPUs than the mask has room for.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) && words < MAX_MASK_WORDS => {
                words *= 2;
            }
            Err(error) => return Err(error),
        }
    }
}

/// Pins the calling thread, and threads that it starts, to `cpus`.
pub(crate) fn set_affinity(cpus: &IdSet) -> io::Result<()> {
    let mask = cpus.mask();
    // SAFETY: the mask is as long as stated and lives during the call, which writes nothing.
    let result =
        unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, mask.len() * 8, mask.as_ptr()) };
    checked(result).map(|_| ())
}

/// CPU and node of a thread.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ThreadPlace {
    pub(crate) cpu: u32,
    /// Node of the CPU.
    pub(crate) node: u32,
}

/// CPU and node of the calling thread.
pub(crate) fn current_place() -> io::Result<ThreadPlace> {
    let (mut cpu, mut node) = (0u32, 0u32);
    let nothing = ptr::null_mut::<libc::c_void>();
    // SAFETY: both pointers are valid for writing; the third argument is unused and may be null.
    let result = unsafe { libc::syscall(libc::SYS_getcpu, &raw mut cpu, &raw mut node, nothing) };
    checked(result).map(|_| ThreadPlace { cpu, node })
}

/// For each address, the node that its page is on; `None` where there is no page yet.
pub(crate) fn nodes_of_pages(addresses: &[usize]) -> io::Result<Vec<Option<u32>>> {
    let mut status = vec![-1i32; addresses.len()];
    let nowhere = ptr::null::<libc::c_int>();
    // SAFETY: both arrays have the stated length. Without target nodes the call moves nothing; an
    // address that is not mapped only gets an error in its status.
    let result = unsafe {
        libc::syscall(
            libc::SYS_move_pages,
            0,
            addresses.len(),
            addresses.as_ptr(),
            nowhere,
            status.as_mut_ptr(),
            0,
        )
    };
    checked(result)?;
    Ok(status.into_iter().map(|node| u32::try_from(node).ok()).collect())
}

/// Moves the pages of these addresses to `node`, as far as the kernel can.
pub(crate) fn move_pages(addresses: &[usize], node: u32) -> io::Result<()> {
    let nodes = vec![node.cast_signed(); addresses.len()];
    let mut status = vec![0i32; addresses.len()];
    // SAFETY: the three arrays have the stated length. Pages move, their contents do not change; an
    // address that is not mapped only gets an error in its status.
    let result = unsafe {
        libc::syscall(
            libc::SYS_move_pages,
            0,
            addresses.len(),
            addresses.as_ptr(),
            nodes.as_ptr(),
            status.as_mut_ptr(),
            MPOL_MF_MOVE,
        )
    };
    checked(result).map(|_| ())
}

/// Addresses of the calling thread's stack, in which its thread-local memory is too.
pub(crate) fn own_stack() -> io::Result<Range<usize>> {
    let mut attributes = std::mem::MaybeUninit::<libc::pthread_attr_t>::uninit();
    let (mut start, mut length_bytes) = (ptr::null_mut(), 0);
    // SAFETY: the first call initialises `attributes` or fails; the others get what it made, and
    // pointers that are valid for writing.
    let failed = unsafe {
        let failed = libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr());
        if failed == 0 {
            let attributes = attributes.as_mut_ptr();
            libc::pthread_attr_getstack(attributes, &raw mut start, &raw mut length_bytes);
            libc::pthread_attr_destroy(attributes);
        }
        failed
    };
    if failed != 0 {
        return Err(io::Error::from_raw_os_error(failed));
    }
    Ok(start as usize..start as usize + length_bytes)
}

/// Whether the kernel should back a range of mapped addresses by huge pages.
pub(crate) fn advise_huge(addresses: &Range<usize>, requested: bool) -> io::Result<()> {
    let advice = if requested { libc::MADV_HUGEPAGE } else { libc::MADV_NOHUGEPAGE };
    // SAFETY: these two advices change the size of pages and never what they hold; the kernel
    // refuses a range that is not mapped.
    let result =
        unsafe { libc::madvise(addresses.start as *mut libc::c_void, addresses.len(), advice) };
    checked(result.into()).map(|_| ())
}

/// Whether transparent huge pages are switched off for the process, by itself or by whoever started
/// it.
pub(crate) fn huge_pages_are_disabled() -> io::Result<bool> {
    // SAFETY: takes plain numbers only.
    let state = unsafe { libc::prctl(libc::PR_GET_THP_DISABLE, 0, 0, 0, 0) };
    checked(state.into()).map(|state| state != 0)
}

/// Gives the whole pages of `room` back to the kernel: they take no memory until they are written
/// to again.
pub(crate) fn discard_pages<T>(room: &mut [MaybeUninit<T>]) -> io::Result<()> {
    let pages = whole_pages(room, super::page_bytes());
    // SAFETY: the pages are borrowed and hold nothing, so they may read as anything from now on.
    // They are whole pages of this kernel, which rounds a length up to its own: with those of 4 KiB
    // on one of 64 KiB, up to 60 KiB after the room would read as zeros.
    let result = unsafe {
        libc::madvise(pages.start as *mut libc::c_void, pages.len(), libc::MADV_DONTNEED)
    };
    checked(result.into()).map(|_| ())
}

/// Addresses of the whole pages within `room`, of which there may be none.
pub(crate) fn whole_pages<T>(room: &mut [T], page_bytes: usize) -> Range<usize> {
    let room = room.as_ptr_range();
    within(&(room.start.addr()..room.end.addr()), page_bytes)
}

/// The whole pages of a range of addresses: its start rounded up, its end rounded down.
fn within(addresses: &Range<usize>, page_bytes: usize) -> Range<usize> {
    let start = addresses.start.next_multiple_of(page_bytes);
    let end = addresses.end / page_bytes * page_bytes;
    start..end.max(start)
}

/// Switches transparent huge pages off, or on again, for the whole process.
pub(crate) fn disable_huge_pages(disabled: bool) -> io::Result<()> {
    // SAFETY: takes plain numbers only.
    let result =
        unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, libc::c_ulong::from(disabled), 0, 0, 0) };
    checked(result.into()).map(|_| ())
}

/// An anonymous private mapping of its own: memory whose pages can be placed and counted.
#[derive(Debug)]
pub(crate) struct AnonymousMapping {
    start: *mut u8,
    length_bytes: usize,
}

// SAFETY: the mapping belongs to the region alone and is reached through borrows of it only.
unsafe impl Send for AnonymousMapping {}
// SAFETY: as above; a shared borrow only reads.
unsafe impl Sync for AnonymousMapping {}

impl AnonymousMapping {
    /// Maps `length_bytes` (at least one), all zero and without pages yet.
    ///
    /// # Errors
    /// When there is no room.
    pub(crate) fn map(length_bytes: usize) -> io::Result<Self> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping where the kernel likes; nothing that exists is touched.
        let start = unsafe { libc::mmap(ptr::null_mut(), length_bytes, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { start: start.cast(), length_bytes })
    }

    /// Its addresses.
    #[must_use]
    pub(crate) fn addresses(&self) -> Range<usize> {
        self.start as usize..self.start as usize + self.length_bytes
    }

    /// The bytes, to be written.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the mapping is writable, zeroed by the kernel, and lives as long as the region;
        // the borrow is the only one.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.length_bytes) }
    }

    /// Pages of this region are taken as `policy` says; those it has already are moved.
    ///
    /// # Errors
    /// When the kernel refuses the policy.
    pub(crate) fn set_policy(&self, policy: &MemoryPolicy) -> io::Result<()> {
        let (mask, bits) = policy.mask();
        // SAFETY: the range is the region's own mapping; pages move, their contents do not change.
        let result = unsafe {
            libc::syscall(
                libc::SYS_mbind,
                self.start,
                self.length_bytes,
                policy.mode(),
                address(&mask),
                bits,
                MPOL_MF_MOVE,
            )
        };
        checked(result).map(|_| ())
    }
}

impl Drop for AnonymousMapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is the region's own and nobody borrows it any more.
        unsafe { libc::munmap(self.start.cast(), self.length_bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_pages_are_within_a_range_whatever_their_size() {
        fn t(addresses: Range<usize>, page_kib: usize, expected: Range<usize>) {
            let found = within(&addresses, page_kib << 10);
            assert_eq!(found, expected, "{addresses:x?}, pages of {page_kib} KiB");
        }
        // A vector that starts where pages of all sizes do, and ends where those of 4 KiB do.
        t(0x40000..0x65000, 4, 0x40000..0x65000);
        t(0x40000..0x65000, 16, 0x40000..0x64000);
        t(0x40000..0x65000, 64, 0x40000..0x60000);
        // One that starts after the start of a page.
        t(0x40010..0x65678, 4, 0x41000..0x65000);
        t(0x40010..0x65678, 16, 0x44000..0x64000);
        t(0x40010..0x65678, 64, 0x50000..0x60000);
        // Less than a page, a page, and nothing.
        for page_kib in [4, 16, 64] {
            let page = page_kib << 10;
            t(page + 1..2 * page + 1, page_kib, 2 * page..2 * page);
            t(page + 8..page + 16, page_kib, 2 * page..2 * page);
            t(page..2 * page, page_kib, page..2 * page);
            t(page..page, page_kib, page..page);
            for start in (0..3 * page).step_by(1000) {
                for end in (start..3 * page).step_by(1000) {
                    let found = within(&(start..end), page);
                    assert!(found.is_empty() || start <= found.start && found.end <= end);
                    assert!(found.start.is_multiple_of(page) && found.end.is_multiple_of(page));
                    let is_whole = |at: usize| start <= at && at + page <= end;
                    assert_eq!(found.len() / page, (0..3).filter(|n| is_whole(n * page)).count());
                }
            }
        }
    }

    #[test]
    fn pages_of_this_kernel_are_of_a_size_that_it_can_have() {
        assert!([4 << 10, 16 << 10, 64 << 10].contains(&crate::sys::page_bytes()));
    }
}
