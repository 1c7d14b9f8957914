//! Kernels on real signal, against what f5c made of it, and nanopolish live.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod f5c;
mod models;
mod nanopolish;
mod support;
