//! What searches share: rows of the index, packed bases, many searches in turn.

pub mod lockstep;
pub mod prefetch;
pub mod rows;
pub mod text;
