//! `seqloom signal merge`: several files to one, each run a read group.

use std::path::PathBuf;

use seqloom_format::slow5::SignalCompression;
use seqloom_signal::flow::{Sequential, inputs};
use seqloom_signal::operations::{Differences, Route, Transcode, UnionOptions};
use seqloom_terminal::Console;

use super::arguments::{Format, LosslessArguments, OnceArguments, OutputArguments, RunArguments};
use super::join::{Unfit, join};
use super::pass::Pass;
use super::view::rewrite;

/// Arguments of `seqloom signal merge`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  seqloom signal merge run1/ run2/ -o all.blow5")]
pub(crate) struct MergeArguments {
    /// SLOW5 and BLOW5 files, and folders of them
    #[arg(value_name = "FILE|DIR", required = true)]
    inputs: Vec<PathBuf>,
    /// Merge files of one run that have different attributes; these are left empty
    #[arg(short, long)]
    allow: bool,
    #[command(flatten)]
    lossless: LosslessArguments,
    #[command(flatten)]
    once: OnceArguments,
    #[command(flatten)]
    output: OutputArguments,
    #[command(flatten)]
    run: RunArguments,
}

/// Runs the command.
pub(super) fn run(arguments: &MergeArguments, console: &Console) -> seqloom_terminal::Result<()> {
    let encoding = arguments.output.encoding(Format::Blow5, SignalCompression::SvbZd)?;
    let found = inputs::find(&arguments.inputs, &["slow5", "blow5"])?;
    let output = &arguments.output.output;
    arguments.run.refuse_same_file_for_records(found.paths.iter().map(PathBuf::as_path), output)?;
    let pass = Pass::new(&arguments.run, console);
    pass.tell_apple_double(found.apple_double);
    let options = UnionOptions {
        keep_auxiliary: arguments.lossless.lossless,
        differences: if arguments.allow { Differences::Empty } else { Differences::Refuse },
        keep_order: false,
        widen: false,
    };
    let joined = join(&pass, &found.paths, options, Unfit::Refuse)?;
    let stage = Transcode {
        route: Route::Together(&joined.groups),
        compares: arguments.once.deduplicate,
        ..Transcode::new(&joined.header, encoding, &pass.components)
    };
    rewrite(&pass, "merge", Sequential::new(joined.inputs, pass.options.clone()), &stage, output)?;
    pass.finish("merge")
}
