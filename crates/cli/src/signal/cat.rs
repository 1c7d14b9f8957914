//! `seqloom signal cat`: files of the same header one after the other, records as they are stored.

use std::path::PathBuf;
use std::sync::Arc;

use seqloom_signal::flow::{Input, Sequential, inputs};
use seqloom_signal::operations::{Copy, Encoding};
use seqloom_signal::store::{SignalStore, StoreFormat};
use seqloom_terminal::{Console, UsageError};

use super::arguments::{Format, RunArguments, format_of_name, refuse_terminal};
use super::error::PassError;
use super::pass::{Pass, RecordSink};

/// Arguments of `seqloom signal cat`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Faster than merge, for files with the same header, format and compression. \
    Reads are not decoded."
)]
pub(crate) struct CatArguments {
    /// SLOW5 or BLOW5 files, and folders of them
    #[arg(value_name = "FILE|DIR", required = true)]
    inputs: Vec<PathBuf>,
    /// Output file; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    #[command(flatten)]
    run: RunArguments,
}

/// Runs the command.
pub(super) fn run(arguments: &CatArguments, console: &Console) -> seqloom_terminal::Result<()> {
    let found = inputs::find(&arguments.inputs, &["slow5", "blow5"])?;
    let paths = found.paths.iter().map(PathBuf::as_path);
    arguments.run.refuse_same_file_for_records(paths, &arguments.output)?;
    let pass = Pass::new(&arguments.run, console);
    pass.tell_apple_double(found.apple_double);
    let Some((first, rest)) = found.paths.split_first() else {
        return Err(PassError::Usage("there are no inputs".to_owned()).into());
    };
    let first = pass.open(first)?;
    let encoding = encoding(first.as_ref(), arguments)?;
    refuse_terminal(&arguments.output, encoding)?;
    let mut inputs = vec![Input::Open(first.clone())];
    for path in rest {
        let store = pass.open(path)?;
        require_same(&first, &store)?;
        inputs.push(Input::Path(path.clone()));
    }
    let mut sink = RecordSink::create(&arguments.output, encoding, first.header())?;
    pass.run("cat", Sequential::new(inputs, pass.options.clone()), &Copy, |copied| {
        pass.book(&copied.tally)?;
        sink.write(&copied.bytes)
    })?;
    sink.publish(&pass)?;
    pass.finish("cat")
}

/// The encoding of the files, which the output's name must not contradict.
fn encoding(store: &dyn SignalStore, arguments: &CatArguments) -> Result<Encoding, UsageError> {
    let (encoding, format) = match store.format() {
        StoreFormat::Slow5 => (Encoding::Slow5, Format::Slow5),
        StoreFormat::Blow5(compression) => (Encoding::Blow5(compression), Format::Blow5),
        StoreFormat::Fast5 | StoreFormat::Pod5 => {
            let path = store.path().display();
            return Err(UsageError(format!("{path} is neither SLOW5 nor BLOW5; use convert")));
        }
    };
    if format_of_name(&arguments.output)?.is_some_and(|named| named != format) {
        let text = "cat does not convert: the suffix of the output must be that of the inputs";
        return Err(UsageError(text.to_owned()));
    }
    Ok(encoding)
}

/// # Errors
/// When the files cannot be put after each other.
fn require_same(
    first: &Arc<dyn SignalStore>,
    other: &Arc<dyn SignalStore>,
) -> Result<(), UsageError> {
    let (a, b) = (first.header(), other.header());
    let what = if first.format() != other.format() {
        "format or compression"
    } else if a.auxiliary != b.auxiliary {
        "auxiliary fields"
    } else if a.read_groups != b.read_groups {
        "number of read groups"
    } else if a.attributes != b.attributes {
        "attributes"
    } else {
        return Ok(());
    };
    let (first, other) = (first.path().display(), other.path().display());
    Err(UsageError(format!("{other}: {what} differ from {first}; use merge")))
}
