//! `seqloom-testkit`: the test kit on the command line.

use std::process::ExitCode;

fn main() -> ExitCode {
    seqloom_testkit::run()
}
