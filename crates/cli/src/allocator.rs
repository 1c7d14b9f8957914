//! The program's allocator: mimalloc, for Rust and for the C and C++ libraries alike.
//!
//! Cross-thread frees are the rule here: a worker emits what another has aligned. mimalloc frees
//! without a lock. With the system's allocator two workers slept 30,000 times in a run of 20 s,
//! waiting for each other's heaps.

#[cfg(not(feature = "system-allocator"))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Runs `work`, whose large allocations get mappings of their own in place of parts of mimalloc's
/// arenas or of what ended threads have left, whose pages may have been used before and lie
/// anywhere. Where memory lies is chosen and told by mapping. Call while no other thread allocates.
pub(crate) fn with_own_mappings<T>(work: impl FnOnce() -> T) -> T {
    #[cfg(not(feature = "system-allocator"))]
    let _own = mimalloc_options::OwnMappings::begin();
    // The system's allocator maps large memory by itself.
    work()
}

#[cfg(not(feature = "system-allocator"))]
#[allow(unsafe_code)]
mod mimalloc_options {
    use std::ffi::c_long;

    use libmimalloc_sys::{
        _mi_option_last, mi_option_get, mi_option_max_segment_reclaim, mi_option_set, mi_option_t,
    };

    /// `mi_option_disallow_arena_alloc` of mimalloc 2.3, for which the crate has no name.
    const DISALLOW_ARENAS: mi_option_t = 27;
    // Options have no other number in a release that has as many; the crate's version is pinned.
    const _: () = assert!(_mi_option_last == 38);

    /// What allocations are taken from is restricted while this lives.
    pub(super) struct OwnMappings([(mi_option_t, c_long); 2]);

    impl OwnMappings {
        pub(super) fn begin() -> Self {
            let own = [(DISALLOW_ARENAS, 1), (mi_option_max_segment_reclaim, 0)];
            Self(own.map(|(option, value)| (option, exchange(option, value))))
        }
    }

    impl Drop for OwnMappings {
        fn drop(&mut self) {
            for (option, before) in self.0 {
                exchange(option, before);
            }
        }
    }

    fn exchange(option: mi_option_t, value: c_long) -> c_long {
        // SAFETY: neither takes pointers. Options are plain numbers, looked at when memory is asked
        // for, and no other thread does: workers are not there yet when the index is loaded, and
        // the threads that load it start after the first exchange and have ended before the last.
        unsafe {
            let before = mi_option_get(option);
            mi_option_set(option, value);
            before
        }
    }
}
