//! The store over SLOW5 and BLOW5: whole and damaged files, any number of workers, reads requested
//! one by one.

mod damaged;
pub(super) mod made;
mod threads;
