//! `seqloom signal index`: where each read of a SLOW5 or BLOW5 file is.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use seqloom_format::slow5::index::{append_footer, append_header};
use seqloom_io::sidecars::is_older;
use seqloom_io::{Output, OutputError};
use seqloom_signal::flow::Sequential;
use seqloom_signal::operations::Locate;
use seqloom_signal::store::{IndexFileError, ReadIndex, SignalStore, index_path, read_index_file};
use seqloom_terminal::{Console, UsageError};

use super::arguments::RunArguments;
use super::error::PassError;
use super::pass::Pass;

/// Arguments of `seqloom signal index`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  seqloom signal index reads.blow5\n\n\
    Writes FILE.idx, as slow5tools does.")]
pub(crate) struct IndexArguments {
    /// SLOW5 or BLOW5
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    run: RunArguments,
}

/// Runs the command. A file with bad reads is not indexed: slow5lib would take the index for whole.
pub(super) fn run(arguments: &IndexArguments, console: &Console) -> seqloom_terminal::Result<()> {
    let output = index_path(&arguments.file);
    arguments
        .run
        .refuse_same_file([arguments.file.as_path()], [("the index", output.as_path())])?;
    let pass = Pass::new(&arguments.run, console);
    let store = pass.open(&arguments.file)?;
    if !store.format().has_records() {
        let text = format!("{} is neither SLOW5 nor BLOW5", arguments.file.display());
        return Err(UsageError(text).into());
    }
    let (_, bytes) = build(&pass, store)?;
    if !pass.is_lossy() {
        write(&pass, &output, &bytes)?;
    }
    pass.finish("index")
}

/// The index of a file: the one that is next to it, or at `given`; a new one, which is then
/// written next to it, where there is none.
pub(super) fn load(
    pass: &Pass<'_>,
    store: &Arc<dyn SignalStore>,
    given: Option<&Path>,
) -> Result<ReadIndex, PassError> {
    if !store.format().has_records() {
        if given.is_some() {
            let text = format!("{} has its own table of reads, no index", store.path().display());
            return Err(PassError::Usage(text));
        }
        return Ok(build(pass, store.clone())?.0);
    }
    let default = index_path(store.path());
    let path = given.unwrap_or(&default);
    if given.is_some() || path.exists() {
        warn_if_old(pass, store.path(), path);
        return Ok(read_index_file(path, store.as_ref())?);
    }
    let (index, bytes) = build(pass, store.clone())?;
    // What is missing from a damaged file's index would be missing without a word the next time.
    if !pass.is_lossy()
        && let Err(error) = write(pass, path, &bytes)
    {
        pass.warn(&format!("{error}; the index is made again the next time"));
    }
    pass.forget_reads();
    Ok(index)
}

/// Finds all reads; the index in memory, and the bytes of its file.
fn build(pass: &Pass<'_>, store: Arc<dyn SignalStore>) -> Result<(ReadIndex, Vec<u8>), PassError> {
    let path = store.path().clone();
    let mut bytes = Vec::new();
    append_header(store.header().version, &mut bytes);
    let mut index = ReadIndex::default();
    let stage = Locate { components: &pass.components };
    pass.run("index", Sequential::of(store), &stage, |located| {
        pass.book(&located.tally)?;
        located.append_to(&mut bytes, &mut index);
        Ok(())
    })?;
    append_footer(&mut bytes);
    let duplicate = |source| IndexFileError::Duplicate { path: path.to_path_buf(), source };
    index.sort().map_err(duplicate)?;
    Ok((index, bytes))
}

fn write(pass: &Pass<'_>, path: &Path, bytes: &[u8]) -> Result<(), PassError> {
    let mut output = Output::create(path)?;
    output.write(bytes)?;
    pass.wrote(output.written_bytes());
    Ok(super::pass::publication(output, path).commit().map_err(OutputError::from)?)
}

/// slow5lib uses an old index, and so do we: reads are checked when they are fetched.
fn warn_if_old(pass: &Pass<'_>, data: &Path, index: &Path) {
    if is_older(index, data) {
        pass.warn(&format!("{} is older than its file", index.display()));
    }
}
