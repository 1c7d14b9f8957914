//! What a program of this project says to its user, and hears: log lines and progress, results as
//! text, errors with exit codes, signals; what it reports to a program that started it. The
//! product's binary and the laboratory's have it.

mod console;
pub mod error;
pub mod exit;
pub mod host;
pub mod signals;

pub use console::{Console, print};
pub use error::{Error, Result, UsageError};
