//! SIGINT and SIGTERM: the first asks the workers to stop, the second ends the process at once.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicI32, Ordering};

static RECEIVED: AtomicI32 = AtomicI32::new(0);

/// The signal that asked us to stop, if one did.
pub(crate) fn received() -> Option<i32> {
    Some(RECEIVED.load(Ordering::Relaxed)).filter(|&signal| signal != 0)
}

/// Whether workers should stop.
pub(crate) fn interrupted() -> bool {
    received().is_some()
}

extern "C" fn on_signal(signal: libc::c_int) {
    RECEIVED.store(signal, Ordering::Relaxed);
}

/// Installs the handlers.
pub(crate) fn install() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: an all-zero `sigaction` is valid; the handler only stores to an atomic;
        // SA_RESETHAND gives the second signal its default action.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_signal as *const () as usize;
            action.sa_flags = libc::SA_RESETHAND | libc::SA_RESTART;
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
}
