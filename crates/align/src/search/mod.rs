//! What searches share: rows of the index, packed bases, many searches in turn.

pub(crate) mod lockstep;
pub(crate) mod prefetch;
pub(crate) mod rows;
pub(crate) mod text;
