//! `seqloom signal view`: one file, read by read, in another form.

use std::path::{Path, PathBuf};

use seqloom_format::slow5::SignalCompression;
use seqloom_signal::flow::Sequential;
use seqloom_signal::flow::pass::BatchSource;
use seqloom_signal::operations::{Deduplication, RepeatedIds, Transcode};
use seqloom_terminal::Console;

use super::arguments::{Format, OutputArguments, RunArguments};
use super::error::PassError;
use super::pass::{Pass, RecordSink};

/// Arguments of `seqloom signal view`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  seqloom signal view reads.blow5 | less -S\n  \
    seqloom signal view reads.blow5 -c zstd -o smaller.blow5")]
pub(crate) struct ViewArguments {
    /// SLOW5, BLOW5, FAST5 or POD5
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    output: OutputArguments,
    #[command(flatten)]
    run: RunArguments,
}

/// Runs the command.
pub(super) fn run(arguments: &ViewArguments, console: &Console) -> seqloom_terminal::Result<()> {
    let encoding = arguments.output.encoding(Format::Slow5, SignalCompression::SvbZd)?;
    let output = &arguments.output.output;
    arguments.run.refuse_same_file_for_records([arguments.file.as_path()], output)?;
    let pass = Pass::new(&arguments.run, console);
    let store = pass.open(&arguments.file)?;
    let header = store.header().clone();
    let stage = Transcode::new(&header, encoding, &pass.components);
    rewrite(&pass, "view", Sequential::of(store), &stage, output)?;
    pass.finish("view")
}

/// All reads of `source` to one output.
pub(super) fn rewrite<B: BatchSource>(
    pass: &Pass<'_>,
    what: &str,
    source: B,
    stage: &Transcode<'_>,
    output: &Path,
) -> Result<(), PassError> {
    let mut sink = RecordSink::create(output, stage.encoding, stage.header)?;
    let (mut once, mut repeated) = (Deduplication::default(), RepeatedIds::default());
    pass.run(what, source, stage, |encoded| {
        if stage.compares {
            encoded.deduplicate(&mut once);
        } else {
            encoded.read_ids().for_each(|id| repeated.add(id));
        }
        pass.book(&encoded.tally)?;
        sink.write(&encoded.bytes)
    })?;
    report_repeated(pass, &once);
    if let Some(first) = &repeated.first {
        pass.warn(&format!(
            "{}: {} reads have an id that was there before, the first of them {}; `index` and \
             `get` refuse such a file, and `seqloom signal convert --deduplicate` writes reads \
             that are the same once",
            output.display(),
            repeated.count,
            String::from_utf8_lossy(first)
        ));
    }
    sink.publish(pass)
}

/// Says how many reads were left out, since they were there before.
pub(super) fn report_repeated(pass: &Pass<'_>, once: &Deduplication) {
    let Deduplication { repeated, in_other_fields, .. } = once;
    if *repeated > 0 {
        pass.info(&format!("{repeated} reads were there before and are left out"));
    }
    if *in_other_fields > 0 {
        pass.warn(&format!(
            "{in_other_fields} of these differ from the first in a field other than the signal; \
             that of the first is written"
        ));
    }
}
