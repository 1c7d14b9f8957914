//! SLOW5 and BLOW5 against slow5lib: its test data, and the library itself through pyslow5.
#![allow(clippy::unwrap_used, clippy::panic)] // all of it is a test

mod file;
mod pyslow5;
mod slow5tools;
mod speed;
