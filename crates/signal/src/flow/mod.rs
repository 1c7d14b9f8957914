//! From files to a pass over their reads: which files, in which order, by all workers, and what was
//! lost on the way.

pub mod account;
pub mod inputs;
pub mod pass;
pub mod sources;
