//! `seqloom signal skim`: everything about the reads but the signal.

use std::path::{Path, PathBuf};

use seqloom_io::Output;
use seqloom_signal::flow::Sequential;
use seqloom_signal::operations::{Encoding, Locate, Skim, column_names};
use seqloom_terminal::Console;

use super::arguments::RunArguments;
use super::error::PassError;
use super::pass::Pass;

/// Arguments of `seqloom signal skim`.
#[derive(Debug, clap::Args)]
pub(crate) struct SkimArguments {
    /// SLOW5, BLOW5, FAST5 or POD5
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Only the header
    #[arg(long, conflicts_with = "rid")]
    hdr: bool,
    /// Only the read ids
    #[arg(long)]
    rid: bool,
    #[command(flatten)]
    run: RunArguments,
}

/// Runs the command.
pub(super) fn run(arguments: &SkimArguments, console: &Console) -> seqloom_terminal::Result<()> {
    arguments.run.refuse_same_file([arguments.file.as_path()], [])?;
    let pass = Pass::new(&arguments.run, console);
    let store = pass.open(&arguments.file)?;
    let header = store.header().clone();
    let mut output = Output::create(Path::new("-"))?;
    let source = Sequential::of(store);
    let components = &pass.components;
    if arguments.hdr {
        output.write(&Encoding::Slow5.header(&header).map_err(PassError::Header)?)?;
    } else if arguments.rid {
        let mut lines = Vec::new();
        pass.run("skim", source, &Locate { components }, |located| {
            lines.clear();
            for (read_id, _) in located.reads() {
                lines.extend_from_slice(read_id);
                lines.push(b'\n');
            }
            pass.book(&located.tally)?;
            Ok(output.write(&lines)?)
        })?;
    } else {
        output.write(&column_names(&header))?;
        pass.run("skim", source, &Skim { header: &header, components }, |skimmed| {
            pass.book(&skimmed.tally)?;
            Ok(output.write(&skimmed.text)?)
        })?;
    }
    pass.finish("skim")
}
