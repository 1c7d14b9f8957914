//! What commands with BAM output have in common: their options, the run, and the output itself.

pub(crate) mod arguments;
pub(crate) mod plan;
pub(crate) mod run;

/// The command line as @PG shows it.
pub(crate) fn command_line() -> String {
    std::env::args().collect::<Vec<_>>().join(" ")
}
