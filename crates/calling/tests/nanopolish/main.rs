//! Methylation calls and event tables against nanopolish, which is run on the same reads.
//!
//! A few reads are compared always, all of them where slow tests are asked for. The calls of all
//! reads are always compared with those that f5c's tests expect.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::print_stdout)] // how close it was, for whoever runs with --nocapture

mod calls;
mod inputs;
mod referee;
#[path = "../kernels/support.rs"]
#[allow(dead_code)] // scalings are compared there
mod support;
mod tables;
