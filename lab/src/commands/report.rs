//! `seqloom-lab report`: tables and page of a campaign once more, from what its folder keeps.

use std::path::PathBuf;

use crate::campaign;

use seqloom_terminal::Console;

/// Arguments of `seqloom-lab report`.
#[derive(Debug, clap::Args)]
pub(crate) struct ReportArguments {
    /// A folder that `seqloom-lab run` wrote; a run that was ended early will do
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Writes tables and page.
pub(super) fn run(arguments: &ReportArguments, console: &Console) -> seqloom_terminal::Result<()> {
    campaign::report(&arguments.folder)?;
    console.info(&format!("report in {}", arguments.folder.join("report.html").display()));
    Ok(())
}
