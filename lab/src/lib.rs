//! Experiments: how the ways to read, lock, parse and place that papers compare behave on the
//! machine at hand. The product uses nothing of this.
//!
//! An experiment is a plan of runs ([`experiment`]), each a program or a piece of code with some
//! factors set; what is measured becomes a table of tab-separated values ([`table`]) and a report
//! with plots ([`plot`]).

pub mod campaign;
mod digest;
pub mod experiment;
pub mod latency;
pub mod locks;
pub mod methylation;
pub mod output;
pub mod parsing;
pub mod predict;
pub mod prep_memory;
pub mod process;
mod programs;
mod random;
pub mod schedule;
pub mod shard;
pub mod signal_io;
pub mod sinks;
pub mod table;
pub mod watch;
