//! What a program of this project says to its user, and hears: log lines and progress, results as
//! text, errors with exit codes, signals; what it reports to a program that started it. The
//! product's binary and the laboratory's have it.
//!
//! A [`Console`] is what is said; [`signals`] end a run in good order; a [`Host`](host::Host) is
//! the program that started this one.
//!
//! A wrong command line, and the code that the program ends with:
//!
//! ```
//! use seqloom_terminal::{Error, UsageError, exit};
//!
//! let error = Error::from(UsageError("--level is 0 to 12".to_owned())).context("align");
//! assert_eq!(error.to_string(), "align: --level is 0 to 12");
//! assert_eq!(exit::code(error.class()), exit::USAGE);
//! ```

mod console;
pub mod error;
pub mod exit;
pub mod host;
pub mod signals;

pub use console::{Console, print};
pub use error::{Error, Result, UsageError};
