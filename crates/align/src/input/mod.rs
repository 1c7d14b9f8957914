//! Reads as they come in: what may be wrong with them, whose mates they are, and what the
//! input says of them besides their bases.

pub(crate) mod error;
pub(crate) mod mates;
pub(crate) mod tags;
pub(crate) mod umi;

use seqloom_format::ReadBlock;

/// The reads of one template, each as its block and index.
pub(crate) type Mates<'a> = ((&'a ReadBlock, usize), Option<(&'a ReadBlock, usize)>);
