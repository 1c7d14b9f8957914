//! From files to a pass over their reads: which files, in which order, by all workers, and what was
//! lost on the way.

pub(crate) mod account;
pub mod inputs;
pub mod pass;
pub(crate) mod sources;

pub use account::{Account, Fault, Loss};
pub use sources::{Input, Numbers, Sequential, file_fault};
