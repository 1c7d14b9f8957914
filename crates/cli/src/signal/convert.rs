//! `seqloom signal convert`: files of any of the formats to one file.

use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use seqloom_format::slow5::SignalCompression;
use seqloom_io::{AtomicFile, OutputError, Publication, is_direct};
use seqloom_signal::flow::inputs::{self, ALL_SUFFIXES};
use seqloom_signal::flow::{Fault, Loss, Sequential};
use seqloom_signal::operations::{
    Deduplication, Deflate, DeflatedRead, Differences, Encoding, Route, Transcode, UnionOptions,
};
use seqloom_signal::store::fast5::{Fast5Options, Fast5WriteError, Fast5Writer};
use seqloom_terminal::{Console, UsageError};

use super::arguments::{Format, LosslessArguments, OnceArguments, OutputArguments, RunArguments};
use super::error::PassError;
use super::join::{Unfit, join};
use super::pass::Pass;
use super::view::{report_repeated, rewrite};
use crate::output::write_error;

/// Arguments of `seqloom signal convert`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  seqloom signal convert fast5_pass/ -o reads.blow5\n  \
    seqloom signal convert reads.pod5 -c zstd -o reads.blow5\n\n\
    Several runs become several read groups (FAST5 has room for one). Where files of one run \
    differ in an\nattribute, that of the first is kept; end reasons are joined to one list. \
    A file that does not fit\nthe others (no run_id, a field of another type) is skipped, \
    with the reason.")]
pub(crate) struct ConvertArguments {
    /// SLOW5, BLOW5, FAST5 and POD5 files, and folders of them
    #[arg(value_name = "FILE|DIR", required = true)]
    inputs: Vec<PathBuf>,
    /// Take FAST5 files with reads of several runs; all are then taken for the first
    #[arg(short, long)]
    allow: bool,
    /// Keep attributes of FAST5 reads that have no place of their own, such as
    /// tracked_scaling_scale, as auxiliary fields; lists, which are left out without it, cannot be
    /// kept
    #[arg(long)]
    dump_all: bool,
    /// Give reads whose id no read may have another one, with _ for the bytes that it may not have,
    /// and r before what is neither letter nor digit. Without it they are named and lost
    #[arg(long)]
    mend_names: bool,
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
pub(super) fn run(arguments: &ConvertArguments, console: &Console) -> seqloom_terminal::Result<()> {
    let path = &arguments.output.output;
    let format = arguments.output.format.format(path, Format::Blow5)?;
    let found = inputs::find(&arguments.inputs, &ALL_SUFFIXES)?;
    arguments.run.refuse_same_file_for_records(found.paths.iter().map(PathBuf::as_path), path)?;
    let mut pass = Pass::new(&arguments.run, console);
    pass.options.fast5 = Fast5Options {
        allow_run_id_mismatch: arguments.allow,
        keep_unknown: arguments.dump_all,
        complete_header: true,
        leave_out_auxiliary: !arguments.lossless.lossless,
        ..Fast5Options::default()
    };
    pass.options.mend_names = arguments.mend_names;
    pass.tell_apple_double(found.apple_double);
    let options = UnionOptions {
        keep_auxiliary: arguments.lossless.lossless,
        differences: Differences::First,
        keep_order: true,
        widen: true,
    };
    let encoding = match format {
        Format::Fast5 => {
            arguments.output.format.refuse_compression(format)?;
            refuse_stream(path)?;
            None
        }
        _ => Some(arguments.output.encoding(format, SignalCompression::SvbZd)?),
    };
    let joined = join(&pass, &found.paths, options, Unfit::Lose)?;
    let stage = Transcode {
        route: Route::Together(&joined.groups),
        mend_names: arguments.mend_names,
        compares: arguments.once.deduplicate,
        ..Transcode::new(&joined.header, encoding.unwrap_or(Encoding::Slow5), &pass.components)
    };
    let source = Sequential::new(joined.inputs, pass.options.clone());
    match encoding {
        Some(_) => rewrite(&pass, "convert", source, &stage, path)?,
        None => to_fast5(&pass, source, Deflate(stage), path)?,
    }
    pass.finish("convert")
}

/// # Errors
/// For an output that cannot be written to anywhere but at its end: FAST5's first bytes are written
/// last.
fn refuse_stream(path: &Path) -> Result<(), UsageError> {
    if path == Path::new("-") || is_direct(path) {
        let text = "FAST5 cannot be written front to back; the output must be a regular file";
        return Err(UsageError(text.to_owned()));
    }
    Ok(())
}

/// All reads of `source` to one FAST5 file.
fn to_fast5(
    pass: &Pass<'_>,
    source: Sequential,
    stage: Deflate<'_>,
    path: &Path,
) -> Result<(), PassError> {
    let mut bytes = Vec::new();
    let mut writer = Fast5Writer::new(stage.0.header, &mut bytes)?;
    for what in writer.left_out() {
        pass.warn(&format!("FAST5 has no place for the {what}; it is left out"));
    }
    let file = AtomicFile::create(path).map_err(OutputError::from)?;
    let write = |bytes: &[u8]| file.file().write_all(bytes).map_err(write_error(path));
    write(&bytes)?;
    let mut written_bytes = bytes.len() as u64;
    let mut once = Deduplication::default();
    pass.run("convert", source, &stage, |deflated| {
        if stage.0.compares {
            deflated.deduplicate(&mut once);
        }
        pass.book(&deflated.tally)?;
        bytes.clear();
        for DeflatedRead { read, chunk, .. } in deflated.reads() {
            match writer.push(read, chunk, &mut bytes) {
                Ok(()) => {}
                Err(error @ (Fast5WriteError::Hdf5(_) | Fast5WriteError::ReadGroups(_))) => {
                    return Err(error.into());
                }
                // A read that FAST5 cannot hold; the others can go on.
                Err(error) => pass.lose(&Fault {
                    path: Arc::from(path),
                    read_id: Some(read.read_id.clone()),
                    offset: None,
                    reason: error.to_string(),
                    loss: Loss::Read,
                })?,
            }
        }
        written_bytes += bytes.len() as u64;
        Ok(write(&bytes)?)
    })?;
    report_repeated(pass, &once);
    bytes.clear();
    let start = match writer.finish(&mut bytes) {
        // The reason has been reported.
        Err(Fast5WriteError::NoReads) if pass.is_lossy() => return Ok(()),
        start => start?,
    };
    write(&bytes)?;
    file.file().write_all_at(&start, 0).map_err(write_error(path))?;
    pass.wrote(written_bytes + bytes.len() as u64);
    pass.publish(Publication { outputs: vec![file], ..Publication::default() })
}
