//! Locks for many cores and NUMA nodes, behind one trait.
//!
#![doc = include_str!("../README.md")]

mod cna;
mod cohort;
mod handoffs;
mod hbo;
mod kind;
mod lock;
mod mcs;
pub mod node;
mod place;
mod raw;
mod spin;
mod standard;
mod sync;
#[cfg(all(test, loom))]
mod test_models;
#[cfg(all(test, not(loom)))]
mod test_order;
mod ticket;
mod waiting;

pub use cna::{Cna, RUN as CNA_RUN};
pub use cohort::{Cohort, PASSES as COHORT_PASSES};
pub use handoffs::{HandOffs, fairness};
pub use hbo::{Hbo, PATIENCE as HBO_PATIENCE};
pub use kind::Kind;
pub use lock::{Guard, Lock};
pub use mcs::Mcs;
pub use place::Place;
pub use raw::RawLock;
pub use spin::{TbbSpin, TinyThread};
pub use standard::Standard;
pub use ticket::Ticket;
#[cfg(not(loom))]
pub use waiting::waits_of_this_thread;
pub use waiting::{MAX_PAUSES, Parking, Waiting, Waits, Yielding};
