//! `seqloom signal frequency`: tables of methylation calls to one table of frequencies.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use seqloom_calling::Motif;
use seqloom_calling::methylation::{Cutoff, CutoffStyle, Frequencies, FrequencyOptions};
use seqloom_io::{Output, OutputError};
use seqloom_terminal::Console;

use super::motif::MotifName;
use crate::same_file::refuse_same_file;

/// Which program's rule for ambiguous calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Style {
    /// Left out below threshold x sites of the group (nanopolish 0.14)
    Nanopolish,
    /// Left out below the threshold, whatever the group (f5c)
    F5c,
}

/// Arguments of `seqloom signal frequency`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  \
    seqloom signal frequency calls.tsv more_calls.tsv.gz -o frequency.tsv\n\n\
    Calls are those of `seqloom signal methylation`, nanopolish or f5c.")]
pub(crate) struct FrequencyArguments {
    /// Tables of methylation calls, plain or compressed; `-` is standard input
    #[arg(value_name = "CALLS", required = true)]
    calls: Vec<PathBuf>,
    /// Output file; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// Which calls are too ambiguous to count
    #[arg(long, value_name = "PROGRAM", default_value = "nanopolish")]
    cutoff_style: Style,
    /// Log-likelihood ratio from which calls count [default: nanopolish 2.0, f5c 2.5]
    #[arg(short = 'c', long, value_name = "LLR", value_parser = threshold)]
    threshold: Option<f64>,
    /// Count each site of a group by itself
    #[arg(short, long)]
    split_groups: bool,
    /// What was called, for --split-groups
    #[arg(
        short = 'q',
        long,
        value_name = "MOTIF",
        default_value = "cpg",
        requires = "split_groups"
    )]
    motif: MotifName,
    /// Print errors only
    #[arg(long)]
    quiet: bool,
}

fn threshold(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|it: &f64| it.is_finite() && *it >= 0.0);
    number.ok_or_else(|| "must be a number from 0 on".to_owned())
}

/// Runs the command.
pub(super) fn run(
    arguments: &FrequencyArguments,
    console: &Console,
) -> seqloom_terminal::Result<()> {
    if arguments.quiet {
        console.be_quiet();
    }
    let calls = arguments.calls.iter().map(PathBuf::as_path);
    refuse_same_file(calls, [("-o", arguments.output.as_path())])?;
    let style = match arguments.cutoff_style {
        Style::Nanopolish => CutoffStyle::Nanopolish,
        Style::F5c => CutoffStyle::F5c,
    };
    let threshold = arguments.threshold.unwrap_or_else(|| style.default_threshold());
    let mut frequencies = Frequencies::new(FrequencyOptions {
        cutoff: Cutoff { style, threshold },
        splits_groups: arguments.split_groups.then(|| Motif::from(arguments.motif)),
    });
    for path in &arguments.calls {
        frequencies.read(path)?;
    }
    let (rows, ambiguous) = (frequencies.rows(), frequencies.ambiguous());
    write(frequencies, &arguments.output)?;
    console.info(&format!("frequency: {rows} calls, {ambiguous} of them ambiguous"));
    Ok(())
}

fn write(frequencies: Frequencies, path: &Path) -> Result<(), OutputError> {
    let mut output = Output::create(path)?;
    frequencies.write(|piece| output.write(piece))?;
    match output.into_file() {
        Some(file) => Ok(file.commit()?),
        None => Ok(()),
    }
}
