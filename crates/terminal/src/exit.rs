//! From the outcome of a command to what the process ends with: 0 ok, 1 failed, 2 usage, 3 input,
//! 4 output or disk, 128 + n for signal n.
//!
//! Every exit code of the program is from here, but for those of clap, which parses the command
//! line in `main.rs`: 2 where it cannot, 0 for `--help` and `--version`. What ends the process
//! without [`report`], as it may not return to `main` (handlers of signals, a failed allocation, a
//! look at the processor before `main`), names these constants; ARCHITECTURE.md lists those files.

use std::process::ExitCode;

use seqloom_runtime::error::Class;

use crate::console::Console;
use crate::error::Result;
use crate::host::FailureReport;
use crate::signals;

/// All is well; also where nobody reads the output any more.
pub const OK: u8 = 0;
/// The run failed.
pub const FAILED: u8 = 1;
/// The command line is wrong.
pub const USAGE: u8 = 2;
/// An input is missing or malformed.
pub const INPUT: u8 = 3;
/// The output, or a temporary file, could not be written.
pub const OUTPUT: u8 = 4;

/// The exit code of an error of this class.
#[must_use]
pub fn code(class: Class) -> u8 {
    match class {
        Class::ClosedPipe => OK,
        Class::Usage => USAGE,
        Class::Input | Class::MissingInput => INPUT,
        Class::Output | Class::Damaged => OUTPUT,
        Class::Interrupted | Class::System | Class::Bug => FAILED,
    }
}

/// Prints what went wrong, if anything did, to the console and the host, and gives the exit code.
pub fn report(outcome: Result<()>, console: &Console) -> ExitCode {
    let Err(error) = outcome else { return ExitCode::SUCCESS };
    let code = code(error.class());
    if code == OK {
        return ExitCode::SUCCESS;
    }
    let signal = signals::received();
    if let Some(host) = console.host() {
        host.error(&FailureReport::new(&error, code, signal));
    }
    let program = console.program();
    if let Some(signal) = signal {
        console.error(&format!("{program}: stopped by signal {signal}"));
        return ExitCode::from(signals::exit_code(signal));
    }
    console.error(&format!("{program}: {error}"));
    ExitCode::from(code)
}
