//! Reads as they come in: what may be wrong with them, whose mates they are, and what the
//! input says of them besides their bases.

pub mod error;
pub mod mates;
pub mod tags;
pub mod umi;
