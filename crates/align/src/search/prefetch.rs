//! Prefetching memory before it is needed.
#![allow(unsafe_code)]

/// Has the processor fetch `value`, which need not come in time.
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing that the program can see, and `value` is a valid address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above. `core::arch` has this instruction on nightly compilers alone.
    unsafe {
        std::arch::asm!(
            "prfm pldl1keep, [{0}]",
            in(reg) std::ptr::from_ref(value),
            options(readonly, nostack, preserves_flags),
        );
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = value;
}

/// Has the processor fetch all of `bytes`.
#[inline]
pub(crate) fn prefetch_all(bytes: &[u8]) {
    bytes.iter().step_by(LINE_BYTES).chain(bytes.last()).for_each(prefetch);
}

/// Bytes of a line of the cache.
const LINE_BYTES: usize = 64;
