//! `seqloom signal stats`: what a file is and holds.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use seqloom_format::slow5::{Compression, RecordCompression, SignalCompression};
use seqloom_io::Output;
use seqloom_signal::flow::Sequential;
use seqloom_signal::operations::Copy;
use seqloom_signal::store::{SignalStore, StoreFormat};
use seqloom_terminal::Console;

use super::arguments::RunArguments;
use super::check::{DecodeAll, first_fault};
use super::error::PassError;
use super::pass::Pass;

/// Arguments of `seqloom signal stats`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Counts records without decoding them, unless the first is bad.\nExit code 3 if \
    none of them can be decoded, or where the file is cut short."
)]
pub(crate) struct StatsArguments {
    /// SLOW5, BLOW5, FAST5 or POD5
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    run: RunArguments,
}

/// Runs the command.
pub(super) fn run(arguments: &StatsArguments, console: &Console) -> seqloom_terminal::Result<()> {
    arguments.run.refuse_same_file([arguments.file.as_path()], [])?;
    let pass = Pass::new(&arguments.run, console);
    let store = pass.open(&arguments.file)?;
    let mut text = summary(&arguments.file, store.as_ref());
    let mut reads = 0;
    if any_read_parses(&pass, &store)? {
        pass.run("stats", Sequential::of(store), &Copy, |copied| {
            reads += copied.tally.reads;
            pass.book(&copied.tally)
        })?;
    } else {
        let stage = DecodeAll { components: &pass.components };
        pass.run("stats", Sequential::of(store), &stage, |decoded| pass.book(&decoded.tally))?;
    }
    text.push_str(&format!("number of records\t{reads}\n"));
    Output::create(Path::new("-"))?.write(text.as_bytes())?;
    pass.finish("stats")
}

/// Whether there is a read that can be decoded. As a rule the first one is, and says so; else all
/// are tried, and the count of a file that holds nothing but damage would look like success.
fn any_read_parses(pass: &Pass<'_>, store: &Arc<dyn SignalStore>) -> Result<bool, PassError> {
    if first_fault(store.as_ref())?.is_none() {
        return Ok(true);
    }
    let stage = DecodeAll { components: &pass.components };
    let mut reads = 0;
    pass.run("stats", Sequential::of(store.clone()), &stage, |decoded| {
        reads += decoded.tally.reads;
        Ok(())
    })?;
    Ok(reads > 0)
}

/// The lines that slow5tools prints of a header.
fn summary(path: &Path, store: &dyn SignalStore) -> String {
    let header = store.header();
    let version = header.version;
    let (format, compression) = match store.format() {
        StoreFormat::Slow5 => ("SLOW5 ASCII", Compression::NONE),
        StoreFormat::Blow5(compression) => ("BLOW5", compression),
        other => (other.name(), Compression::NONE),
    };
    let record = match compression.record {
        RecordCompression::None => "none",
        RecordCompression::Zlib | RecordCompression::ZlibFast => "zlib",
        RecordCompression::Zstd => "zstd",
    };
    let signal = match compression.signal {
        SignalCompression::None => "none",
        SignalCompression::SvbZd => "svb-zd",
        SignalCompression::ExZd => "ex-zd",
    };
    let names: Vec<_> =
        header.auxiliary.iter().map(|field| String::from_utf8_lossy(&field.name)).collect();
    let names = if names.is_empty() { String::new() } else { format!("\t{}", names.join(",")) };
    format!(
        "file path\t{}\nfile version\t{}.{}.{}\nfile format\t{format}\n\
         record compression method\t{record}\nsignal compression method\t{signal}\n\
         number of read groups\t{}\nnumber of auxiliary fields\t{}\nauxiliary fields{names}\n",
        path.display(),
        version.0,
        version.1,
        version.2,
        header.read_groups,
        header.auxiliary.len(),
    )
}
