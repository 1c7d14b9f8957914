//! `seqloom signal convert`: files of any of the formats to one file.

use std::path::PathBuf;

use seqloom_format::slow5::SignalCompression;
use seqloom_signal::fast5::Fast5Options;
use seqloom_signal::inputs::{self, ALL_SUFFIXES};
use seqloom_signal::sources::Sequential;
use seqloom_signal::transcode::{Route, Transcode};
use seqloom_signal::union::UnionOptions;

use super::arguments::{Format, LosslessArguments, OutputArguments, RunArguments};
use super::join::join;
use super::pass::Pass;
use super::view::rewrite;
use crate::console::Console;

/// Arguments of `seqloom signal convert`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  seqloom signal convert fast5_pass/ -o reads.blow5\n  \
    seqloom signal convert reads.pod5 -c zstd -o reads.blow5\n\n\
    Several runs become several read groups.")]
pub(crate) struct ConvertArguments {
    /// SLOW5, BLOW5, FAST5 and POD5 files, and folders of them
    #[arg(value_name = "FILE|DIR", required = true)]
    inputs: Vec<PathBuf>,
    /// Join files of one run that have different attributes, which are left empty, and take FAST5
    /// files with reads of several runs, which are then taken for the first
    #[arg(short, long)]
    allow: bool,
    /// Keep attributes of FAST5 reads that have no place of their own as auxiliary fields
    #[arg(long)]
    dump_all: bool,
    #[command(flatten)]
    lossless: LosslessArguments,
    #[command(flatten)]
    output: OutputArguments,
    #[command(flatten)]
    run: RunArguments,
}

/// Runs the command.
pub(super) fn run(arguments: &ConvertArguments, console: &Console) -> anyhow::Result<()> {
    let encoding = arguments.output.encoding(Format::Blow5, SignalCompression::SvbZd)?;
    let found = inputs::find(&arguments.inputs, &ALL_SUFFIXES)?;
    let mut pass = Pass::new(&arguments.run, console);
    pass.options.fast5 = Fast5Options {
        allow_run_id_mismatch: arguments.allow,
        keep_unknown: arguments.dump_all,
        complete_header: true,
    };
    pass.tell_apple_double(found.apple_double);
    let options = UnionOptions {
        keep_auxiliary: arguments.lossless.lossless,
        allow_differences: arguments.allow,
        keep_order: true,
    };
    let joined = join(&pass, &found.paths, options)?;
    let stage = Transcode {
        header: &joined.header,
        encoding,
        route: Route::Together(&joined.groups),
        bits: 0,
        dataset: None,
        components: &pass.components,
    };
    let output = &arguments.output.output;
    rewrite(
        &pass,
        "convert",
        Sequential::new(joined.inputs, pass.options.clone()),
        &stage,
        output,
    )?;
    pass.finish("convert")
}
