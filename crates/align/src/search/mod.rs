//! What searches share: rows of the index, packed bases, many searches in turn.

pub mod lockstep;
pub(crate) mod prefetch;
pub(crate) mod rows;
pub(crate) mod text;

pub use prefetch::prefetch;
pub use rows::{BiInterval, Interval, Rows, Step, Walk};
pub use text::{Genome, WORD_BASES};
