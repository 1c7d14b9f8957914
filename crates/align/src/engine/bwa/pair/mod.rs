//! Pairs: which insert sizes are usual, which regions of two mates belong together, and how sure
//! that is.

pub(super) mod choose;
pub(super) mod insert_size;
pub(super) mod score;
