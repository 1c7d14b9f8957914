//! The program's allocator: mimalloc, for Rust and for the C and C++ libraries alike.
//!
//! Cross-thread frees are the rule here: a worker emits what another has aligned. mimalloc frees
//! without a lock. With the system's allocator two workers slept 30,000 times in a run of 20 s,
//! waiting for each other's heaps.

#[cfg(not(feature = "system-allocator"))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// `mi_option_disallow_arena_alloc` of mimalloc 2.3, for which the crate has no name.
#[cfg(not(feature = "system-allocator"))]
const DISALLOW_ARENAS: libmimalloc_sys::mi_option_t = 27;

/// Runs `work`, whose large allocations get mappings of their own in place of parts of mimalloc's
/// arenas, whose pages may have been used before and lie anywhere. Where memory lies is chosen and
/// told by mapping. Call while no other thread allocates.
pub(crate) fn with_own_mappings<T>(work: impl FnOnce() -> T) -> T {
    allow_arenas(false);
    let result = work();
    allow_arenas(true);
    result
}

#[cfg(not(feature = "system-allocator"))]
#[allow(unsafe_code)]
fn allow_arenas(allowed: bool) {
    // SAFETY: takes no pointers; sets a number that is read when memory is asked from the system.
    unsafe { libmimalloc_sys::mi_option_set_enabled(DISALLOW_ARENAS, !allowed) }
}

/// The system's allocator maps large memory by itself.
#[cfg(feature = "system-allocator")]
fn allow_arenas(_allowed: bool) {}
