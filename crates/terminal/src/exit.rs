//! From the outcome of a command to what the process ends with: 0 ok, 1 failed, 2 usage, 3
//! malformed input, 4 output or disk, 128 + n for signal n.

use std::error::Error;
use std::process::ExitCode;

use seqloom_io::sink::output::OutputError;

use crate::console::Console;
use crate::signals;
use crate::usage::UsageError;

/// All is well; also where nobody reads the output any more.
pub const OK: u8 = 0;
/// The run failed.
pub const FAILED: u8 = 1;
/// The command line is wrong.
pub const USAGE: u8 = 2;
/// The input is malformed.
pub const MALFORMED: u8 = 3;
/// The output, or a temporary file, could not be written.
pub const OUTPUT: u8 = 4;

/// Prints what went wrong, if anything did, and gives the exit code: that of `code`, which knows
/// the errors of the program's commands.
pub fn report(
    outcome: anyhow::Result<()>,
    console: &Console,
    code: impl Fn(&anyhow::Error) -> u8,
) -> ExitCode {
    let Err(error) = outcome else { return ExitCode::SUCCESS };
    let code = code(&error);
    if code == OK {
        return ExitCode::SUCCESS;
    }
    let program = console.program();
    if let Some(signal) = signals::received() {
        console.error(&format!("{program}: stopped by signal {signal}"));
        return ExitCode::from(128 + u8::try_from(signal).unwrap_or(0));
    }
    console.error(&format!("{program}: {}", message(&error)));
    ExitCode::from(code)
}

/// The code of the errors that every program has.
#[must_use]
pub fn common_code(error: &anyhow::Error) -> u8 {
    if chain_has::<OutputError>(error, OutputError::is_closed_pipe) {
        return OK;
    }
    let is_usage = chain_has::<UsageError>(error, |_| true);
    let is_output = chain_has::<OutputError>(error, |_| true);
    match (is_usage, is_output) {
        (true, _) => USAGE,
        (_, true) => OUTPUT,
        _ => FAILED,
    }
}

/// Whether an error of the chain is an `E` that passes `test`.
pub fn chain_has<E: Error + Send + Sync + 'static>(
    error: &anyhow::Error,
    test: impl Fn(&E) -> bool,
) -> bool {
    error.chain().any(|cause| cause.downcast_ref::<E>().is_some_and(&test))
}

/// The messages of the chain, one after the other, without those that the one before quotes.
#[must_use]
pub fn message(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let words = cause.to_string();
        if !text.contains(&words) {
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(&words);
        }
    }
    text
}
