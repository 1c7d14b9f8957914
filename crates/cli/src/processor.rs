//! The processor that the program needs, looked at before anything else.
//!
//! Nothing is tested on a processor without AVX2, so none is let in. This is in
//! `.preinit_array`, before all constructors, and uses nothing but `cpuid`, `write` and
//! `_exit`.

#![allow(unsafe_code)]

use seqloom_terminal::exit::FAILED;

/// Message on older processors.
const TOO_OLD: &str = "seqloom: this processor has no AVX2, which this build needs: Intel has it \
                       since Haswell (2013), AMD since Excavator (2015)\n";

#[used]
// SAFETY: the C library calls what is in this section as `void f(int, char **, char **)`, once,
// with all relocations done; in the C calling convention arguments may be ignored.
#[unsafe(link_section = ".preinit_array")]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("popcnt")
    {
        return;
    }
    // SAFETY: a constant of its length; `_exit` runs nothing that was to run at the end.
    unsafe {
        libc::write(libc::STDERR_FILENO, TOO_OLD.as_ptr().cast(), TOO_OLD.len());
        libc::_exit(FAILED.into())
    }
}
