//! Command lines that parse but make no sense.

/// What is wrong with the command line.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);
