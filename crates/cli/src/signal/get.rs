//! `seqloom signal get`: reads by their ids, in the order requested.

use std::path::PathBuf;

use seqloom_format::slow5::SignalCompression;
use seqloom_signal::operations::Transcode;
use seqloom_signal::store::{Location, ReadIndex, Requests, index_path};
use seqloom_terminal::error::UnusableFile;
use seqloom_terminal::{Console, UsageError};

use super::arguments::{Format, OutputArguments, RunArguments};
use super::error::PassError;
use super::index;
use super::pass::Pass;
use super::view::rewrite;

/// Most missing reads that are named.
const MAX_NAMED: usize = 10;

/// Arguments of `seqloom signal get`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  seqloom signal get reads.blow5 READ_ID -o some.blow5\n  \
    seqloom signal get reads.blow5 --list ids.txt --to slow5")]
pub(crate) struct GetArguments {
    /// SLOW5, BLOW5, FAST5 or POD5
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Read ids
    #[arg(value_name = "ID", required_unless_present = "list")]
    ids: Vec<String>,
    /// File of read ids, one a line
    #[arg(short, long, value_name = "FILE", conflicts_with = "ids")]
    list: Option<PathBuf>,
    /// Warn of reads that are not there, instead of writing nothing
    #[arg(long)]
    skip: bool,
    /// Index to use [default: FILE.idx, made if it is not there]
    #[arg(long, value_name = "FILE")]
    index: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArguments,
    #[command(flatten)]
    run: RunArguments,
}

/// Runs the command.
pub(super) fn run(arguments: &GetArguments, console: &Console) -> seqloom_terminal::Result<()> {
    let encoding = arguments.output.encoding(Format::Blow5, SignalCompression::SvbZd)?;
    refuse_same_file(arguments)?;
    let ids = read_ids(arguments)?;
    let pass = Pass::new(&arguments.run, console);
    let store = pass.open(&arguments.file)?;
    let header = store.header().clone();
    let index = index::load(&pass, &store, arguments.index.as_deref())?;
    let requested = locate(&pass, &index, &ids, arguments)?;
    let stage = Transcode::new(&header, encoding, &pass.components);
    let requests = Requests::new(store, requested, pass.threads.get());
    rewrite(&pass, "get", requests, &stage, &arguments.output.output)?;
    pass.finish("get")
}

/// An index is an input where it is given; that next to the file may have to be made.
fn refuse_same_file(arguments: &GetArguments) -> Result<(), UsageError> {
    let GetArguments { file, list, index, output, run, .. } = arguments;
    let (made, old) = (index_path(file), index_path(&output.output));
    let inputs = [Some(file), list.as_ref(), index.as_ref()];
    let made = index.is_none().then_some(("the index of the reads", made.as_path()));
    let outputs = [("-o", output.output.as_path()), ("the index of -o", &old)];
    let inputs = inputs.into_iter().flatten().map(PathBuf::as_path);
    run.refuse_same_file(inputs, outputs.into_iter().chain(made))
}

/// The ids requested. Lines may end in `\r\n`; empty ones are passed over.
fn read_ids(arguments: &GetArguments) -> seqloom_terminal::Result<Vec<Vec<u8>>> {
    let Some(path) = &arguments.list else {
        return Ok(arguments.ids.iter().map(|id| id.clone().into_bytes()).collect());
    };
    let text = std::fs::read(path).map_err(|error| UnusableFile::read(path, &error))?;
    let lines =
        text.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    Ok(lines.filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect())
}

/// Places of the reads; those that are not there end the run, or are left out.
fn locate(
    pass: &Pass<'_>,
    index: &ReadIndex,
    ids: &[Vec<u8>],
    arguments: &GetArguments,
) -> Result<Vec<Location>, PassError> {
    let (mut requested, mut missing) = (Vec::with_capacity(ids.len()), Vec::new());
    for id in ids {
        match index.find(id) {
            Some(location) => requested.push(location),
            None => missing.push(String::from_utf8_lossy(id)),
        }
    }
    if missing.is_empty() {
        return Ok(requested);
    }
    let more = if missing.len() > MAX_NAMED { " ..." } else { "" };
    let named = missing[..missing.len().min(MAX_NAMED)].join(" ");
    let (path, count, all) = (arguments.file.display(), missing.len(), ids.len());
    let text = format!("{path}: {count} of {all} reads are not there: {named}{more}");
    if !arguments.skip {
        return Err(PassError::Input(format!("{text}; with --skip they are left out")));
    }
    pass.warn(&text);
    Ok(requested)
}
