//! The store over SLOW5 and BLOW5: whole and damaged files, any number of workers, reads asked for
//! one by one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod damaged;
mod made;
mod threads;
