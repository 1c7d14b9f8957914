//! `seqloom signal degrade`: as `view`, with the noise of the signal rounded away.

use std::path::PathBuf;

use seqloom_format::slow5::SignalCompression;
use seqloom_signal::flow::Sequential;
use seqloom_signal::operations::{Dataset, Transcode};
use seqloom_signal::store::SignalStore;
use seqloom_terminal::{Console, UsageError};

use super::arguments::{Format, OutputArguments, RunArguments};
use super::pass::Pass;
use super::view::rewrite;

/// From so many bits on basecalling suffers (slow5tools warns from here too).
const BITS_THAT_HURT: u8 = 5;

/// Attributes that say what kind of run it is.
const TELLING: [&str; 5] =
    ["device_type", "sequencing_kit", "experiment_type", "sample_frequency", "sample_rate"];

/// Arguments of `seqloom signal degrade`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  seqloom signal degrade reads.blow5 -o small.blow5\n\n\
    What is rounded away cannot be brought back.")]
pub(crate) struct DegradeArguments {
    /// SLOW5, BLOW5, FAST5 or POD5
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Bits of each sample to round away, 1 to 16, or auto: by sequencer, kit and sampling rate
    #[arg(short, long, value_name = "N", default_value = "auto", value_parser = bits)]
    bits: Bits,
    #[command(flatten)]
    output: OutputArguments,
    #[command(flatten)]
    run: RunArguments,
}

#[derive(Debug, Clone, Copy)]
enum Bits {
    Auto,
    Given(u8),
}

fn bits(text: &str) -> Result<Bits, String> {
    if text == "auto" {
        return Ok(Bits::Auto);
    }
    let bits = text.parse().ok().filter(|bits| (1..=16).contains(bits));
    bits.map(Bits::Given).ok_or_else(|| "must be auto or 1 to 16".to_owned())
}

/// Runs the command.
pub(super) fn run(arguments: &DegradeArguments, console: &Console) -> seqloom_terminal::Result<()> {
    let encoding = arguments.output.encoding(Format::Slow5, SignalCompression::ExZd)?;
    let output = &arguments.output.output;
    arguments.run.refuse_same_file_for_records([arguments.file.as_path()], output)?;
    let pass = Pass::new(&arguments.run, console);
    let store = pass.open(&arguments.file)?;
    let header = store.header().clone();
    let (bits, dataset) = match arguments.bits {
        Bits::Given(bits) => (bits, None),
        Bits::Auto => {
            let dataset = Dataset::of(&header).ok_or_else(|| unknown(store.as_ref()))?;
            pass.info(&format!("degrade: {} bits, as for {}", dataset.bits, dataset.name));
            (dataset.bits, Some(dataset))
        }
    };
    if bits >= BITS_THAT_HURT {
        pass.warn(&format!("{bits} bits are more than noise: basecalls will be worse"));
    }
    let stage = Transcode { bits, dataset, ..Transcode::new(&header, encoding, &pass.components) };
    rewrite(&pass, "degrade", Sequential::of(store), &stage, output)?;
    pass.finish("degrade")
}

fn unknown(store: &dyn SignalStore) -> UsageError {
    let value = |name: &str| {
        let values = store.header().attributes.get(name.as_bytes());
        let values = values.map(|values| values.join(b",".as_slice())).unwrap_or_default();
        format!("{name}={}", String::from_utf8_lossy(&values))
    };
    let attributes = TELLING.map(value).join(" ");
    let path = store.path().display();
    UsageError(format!("{path}: no number of bits is known for {attributes}; give one with -b"))
}
