//! What a program that starts seqloom, such as the Python package, needs: to learn how the run
//! is, and that no run outlives it. No option of this kind is part of a command line that is
//! written to an output: the same run from a shell gives the same bytes.

use seqloom_terminal::error::SystemError;
use seqloom_terminal::host::Host;
use seqloom_terminal::{Console, UsageError, signals};

/// Options of every command, for programs.
#[derive(Debug, clap::Args)]
pub(crate) struct HostArguments {
    /// Descriptor for lines of JSON: how far the run is
    #[arg(long, value_name = "N", global = true, hide = true)]
    progress_fd: Option<u32>,
    /// Descriptor for a line of JSON: why the run failed, and where
    #[arg(long, value_name = "N", global = true, hide = true)]
    error_fd: Option<u32>,
    /// Descriptor for a line of JSON: the report of the run, as --json
    #[arg(long, value_name = "N", global = true, hide = true)]
    report_fd: Option<u32>,
    /// End when the parent, which has this number, does
    #[arg(long, value_name = "PID", global = true, hide = true)]
    end_with: Option<i32>,
}

/// The options above.
const OPTIONS: [&str; 4] = ["--progress-fd=", "--error-fd=", "--report-fd=", "--end-with="];

/// The command line without what a host adds to it, which it writes as `--OPTION=VALUE`.
pub(crate) fn command_line() -> Vec<String> {
    without_options(std::env::args())
}

fn without_options(words: impl Iterator<Item = String>) -> Vec<String> {
    words.filter(|word| !is_option(word)).collect()
}

/// Whether a word of the command line is a host's.
pub(crate) fn is_option(word: &str) -> bool {
    OPTIONS.iter().any(|option| word.starts_with(option))
}

impl HostArguments {
    /// Does what is requested.
    ///
    /// # Errors
    /// A descriptor that cannot be written.
    pub(crate) fn apply(&self, console: &Console) -> seqloom_terminal::Result<()> {
        if let Some(parent) = self.end_with {
            signals::end_with(parent).map_err(SystemError::new)?;
        }
        let refused =
            |error| UsageError(format!("a descriptor of the host cannot be written: {error}"));
        let host = Host::open(self.progress_fd, self.error_fd, self.report_fd).map_err(refused)?;
        console.report_to_host(host);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_options_of_a_host_leave_no_trace() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let found = words("seqloom prep --end-with=7 a.bam -o x.bam --error-fd=5 --progress-fd=5");
        assert_eq!(without_options(found.into_iter()), words("seqloom prep a.bam -o x.bam"));
    }
}
