//! The `seqloom` binary against its contract and against the field's referees.
//!
//! One test binary, so that its data sets are made once. Real data comes from `SEQLOOM_DATA`; the
//! runs of a million reads wait for `SEQLOOM_SLOW=1`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod common;
mod data;

mod command_line;
mod determinism;
mod duplicates;
mod faults;
mod identity;
mod input;
mod memory;
mod metrics;
mod validity;
