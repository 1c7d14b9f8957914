//! The `seqloom-lab` binary: experiments made tiny, with the product's binary next to it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod common;
// The data sets of the product's tests, of which a part is used here.
#[allow(dead_code)]
#[path = "../../../crates/cli/tests/it/data.rs"]
mod data;

mod campaigns;
mod papers;
mod predict;
mod schedule;
mod signal;
