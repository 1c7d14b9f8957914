//! Command lines that parse but make no sense.

/// What is wrong with the command line.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct UsageError(pub(crate) String);
