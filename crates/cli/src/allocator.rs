//! The program's allocator: mimalloc, for Rust and for the C libraries alike.
//!
//! Cross-thread frees are the rule here: a worker emits what another has aligned. mimalloc frees
//! without a lock. With the system's allocator two workers slept 30,000 times in a run of 20 s,
//! waiting for each other's heaps.
//!
//! Where there is no more memory the process ends, with one line and exit code 1, at the allocation
//! that fails: neither Rust's collections nor most C libraries can go on without. Under a limit of
//! address space that is the rule rather than the exception, so there signals that want of memory
//! leads to (a thread without a stack) end in the same line. What has a final name by then is
//! complete.

use std::fs::File;

#[cfg(not(feature = "system-allocator"))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// From now on `stderr` is where the end of memory is reported: the console's. Call
/// after whoever takes the signals.
pub(crate) fn set_stderr(stderr: File) {
    #[cfg(not(feature = "system-allocator"))]
    exhaustion::set_stderr(stderr);
    #[cfg(feature = "system-allocator")]
    drop(stderr);
}

/// Runs `work`, whose large allocations get mappings of their own in place of parts of mimalloc's
/// arenas or of what ended threads have left, whose pages may have been used before and are
/// anywhere. Where memory is placed is chosen and reported by mapping. Call while no other thread
/// allocates.
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

    /// From now on memory is mapped as it is needed, not reserved by the gigabyte.
    pub(super) fn reserve_nothing() {
        exchange(DISALLOW_ARENAS, 1);
    }

    fn exchange(option: mi_option_t, value: c_long) -> c_long {
        // SAFETY: neither takes pointers. Options are plain numbers, looked at when memory is
        // allocated, and no other thread does: workers are not there yet when the index is
        // loaded, and the threads that load it start after the first exchange and have ended before
        // the last.
        unsafe {
            let before = mi_option_get(option);
            mi_option_set(option, value);
            before
        }
    }
}

#[cfg(not(feature = "system-allocator"))]
#[allow(unsafe_code)]
mod exhaustion {
    use std::ffi::{c_int, c_void};
    use std::fs::File;
    use std::os::fd::IntoRawFd;
    use std::panic::{self, PanicHookInfo};
    use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};

    use libmimalloc_sys::mi_register_error;
    use seqloom_runtime::machine;

    use seqloom_terminal::exit::FAILED;

    /// Signals that want of memory can end in. But for the first they are taken when Rust's runtime
    /// has: it gives threads a stack for signals only where it takes them itself.
    const SIGNALS: [c_int; 3] = [libc::SIGABRT, libc::SIGSEGV, libc::SIGBUS];
    /// How the line begins where it is known that memory has ended.
    const OUT_OF_MEMORY: &[u8] = b"seqloom: out of memory: ";
    /// [`LIMIT_BYTES`] where there is no limit.
    const NO_LIMIT: u64 = u64::MAX;

    /// Descriptor that the end is reported to; handlers cannot be given a context.
    static STDERR: AtomicI32 = AtomicI32::new(2);
    /// The limit of address space.
    static LIMIT_BYTES: AtomicU64 = AtomicU64::new(NO_LIMIT);

    /// Called by the system before `main` and before whatever the runtimes of Rust and C allocate
    /// there (100 and below are kept for the system).
    #[used]
    #[unsafe(link_section = ".init_array.00101")]
    static BEGIN: extern "C" fn() = begin;

    extern "C" fn begin() {
        // SAFETY: the function has the type that is requested and is there as long as the program;
        // it takes no argument. No other thread is there yet.
        unsafe { mi_register_error(Some(on_error), std::ptr::null_mut()) };
        if let Some(limit_bytes) = machine::address_space_limit_bytes() {
            LIMIT_BYTES.store(limit_bytes, Ordering::SeqCst);
            super::mimalloc_options::reserve_nothing();
            take_signals(&SIGNALS[..1]);
        }
    }

    /// See [`super::set_stderr`].
    pub(super) fn set_stderr(stderr: File) {
        // Never closed: it may be needed until the very end.
        STDERR.store(stderr.into_raw_fd(), Ordering::SeqCst);
        let told_otherwise = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if is_want_of_a_stack(panic) {
                end(OUT_OF_MEMORY);
            }
            told_otherwise(panic);
        }));
        if LIMIT_BYTES.load(Ordering::SeqCst) != NO_LIMIT {
            take_signals(&SIGNALS);
        }
    }

    fn take_signals(signals: &[c_int]) {
        for &signal in signals {
            // SAFETY: an all-zero `sigaction` is valid; the handler makes async-signal-safe calls
            // only, on the thread's signal stack where it has one.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = on_signal as *const () as usize;
                action.sa_flags = libc::SA_RESETHAND | libc::SA_ONSTACK;
                libc::sigaction(signal, &raw const action, std::ptr::null_mut());
            }
        }
    }

    /// A thread that has begun and finds no memory for its second stack, that for signals: Rust's
    /// runtime panics there, in a file that maps such stacks and does no more.
    fn is_want_of_a_stack(panic: &PanicHookInfo<'_>) -> bool {
        panic.location().is_some_and(|place| place.file().ends_with("unix/stack_overflow.rs"))
    }

    /// mimalloc's word that an allocation has failed, whoever requested it.
    unsafe extern "C" fn on_error(code: c_int, _: *mut c_void) {
        if code == libc::ENOMEM {
            end(OUT_OF_MEMORY);
        }
    }

    extern "C" fn on_signal(signal: c_int) {
        end(match signal {
            libc::SIGABRT => b"seqloom: stopped by signal 6, most likely for want of memory: ",
            libc::SIGSEGV => b"seqloom: stopped by signal 11, most likely for want of memory: ",
            _ => b"seqloom: stopped by a signal, most likely for want of memory: ",
        });
    }

    /// Says why in one line, and ends the process. Allocates none.
    fn end(why: &[u8]) -> ! {
        static ENDING: AtomicBool = AtomicBool::new(false);
        if ENDING.swap(true, Ordering::SeqCst) {
            loop {
                // SAFETY: it takes nothing; another thread ends the process meanwhile.
                unsafe { libc::pause() };
            }
        }
        let limit_bytes = LIMIT_BYTES.load(Ordering::SeqCst);
        let mut line = Line::default();
        line.push(why);
        if limit_bytes == NO_LIMIT {
            line.push(b"the system has none left; ask for less with -m or -t\n");
        } else {
            line.push(b"the limit of address space (ulimit -v) is ");
            line.push_number(limit_bytes >> 20);
            line.push(b"M; raise it, or ask for less with -m or -t\n");
        }
        // SAFETY: `write` and `_exit` are async-signal-safe; the line outlives the call. Nothing
        // can be done about a message that cannot be written.
        unsafe {
            let stderr = STDERR.load(Ordering::SeqCst);
            let _ = libc::write(stderr, line.bytes.as_ptr().cast(), line.length);
            libc::_exit(FAILED.into());
        }
    }

    /// A line of text on the stack.
    struct Line {
        bytes: [u8; 256],
        length: usize,
    }

    impl Default for Line {
        fn default() -> Self {
            Self { bytes: [0; 256], length: 0 }
        }
    }

    impl Line {
        fn push(&mut self, text: &[u8]) {
            let room = self.bytes.iter_mut().skip(self.length);
            self.length += room.zip(text).map(|(to, from)| *to = *from).count();
        }

        fn push_number(&mut self, number: u64) {
            let mut digits = [b'0'; 20];
            let mut first = digits.len();
            let mut rest = number;
            for (at, digit) in digits.iter_mut().enumerate().rev() {
                *digit = b'0' + (rest % 10) as u8;
                rest /= 10;
                first = at;
                if rest == 0 {
                    break;
                }
            }
            self.push(digits.get(first..).unwrap_or_default());
        }
    }

    #[cfg(test)]
    mod tests {
        use super::Line;

        #[test]
        fn a_line_is_made_without_memory_and_never_too_long() {
            let mut line = Line::default();
            for number in [0, 9, 10, 300, u64::MAX] {
                line.push_number(number);
                line.push(b" ");
            }
            assert_eq!(&line.bytes[..line.length], b"0 9 10 300 18446744073709551615 ");
            line.push(&[b'x'; 300]);
            assert_eq!(line.length, line.bytes.len());
        }
    }
}
