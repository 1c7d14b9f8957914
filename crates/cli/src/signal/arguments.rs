//! Arguments that several of the `signal` commands share. Letters mean what they mean in
//! slow5tools.

use std::ffi::OsStr;
use std::io::IsTerminal;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use seqloom_format::slow5::{Compression, RecordCompression, SignalCompression};
use seqloom_runtime::machine;
use seqloom_signal::operations::Encoding;
use seqloom_signal::store::index_path;
use seqloom_terminal::UsageError;

use crate::output::arguments::thread_count;
use crate::same_file;

/// How a command runs.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Run")]
pub(crate) struct RunArguments {
    /// Busy threads, 1 to 4096 [default: all cores this process may use]
    #[arg(short, long, short_alias = '@', value_name = "N", value_parser = thread_count)]
    pub(crate) threads: Option<NonZeroUsize>,
    /// Stop at the first read that cannot be read, and write nothing
    #[arg(long)]
    pub(crate) strict: bool,
    /// Write every read that was lost to this file: file, read, byte, reason
    #[arg(long, value_name = "FILE")]
    pub(crate) lost: Option<PathBuf>,
    /// Print a breakdown of the run's time at the end
    #[arg(long)]
    pub(crate) report: bool,
    /// Print errors only
    #[arg(long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) fast5: super::fast5_worker::EngineArguments,
}

impl RunArguments {
    pub(crate) fn threads(&self) -> NonZeroUsize {
        self.threads.unwrap_or_else(machine::available_cores)
    }

    /// As [`same_file::refuse_same_file`], with the file of `--lost` among the outputs.
    ///
    /// # Errors
    /// When an output is an input, or two outputs are one.
    pub(crate) fn refuse_same_file<'a>(
        &'a self,
        inputs: impl IntoIterator<Item = &'a Path>,
        outputs: impl IntoIterator<Item = (&'a str, &'a Path)>,
    ) -> Result<(), UsageError> {
        let lost = self.lost.as_deref().map(|path| ("--lost", path));
        same_file::refuse_same_file(inputs, outputs.into_iter().chain(lost))
    }

    /// As [`Self::refuse_same_file`] for a command that writes records to `output`. The index that
    /// is next to it and is removed with the old file, and must not be an input either.
    ///
    /// # Errors
    /// When an output is an input, or two outputs are one.
    pub(crate) fn refuse_same_file_for_records<'a>(
        &'a self,
        inputs: impl IntoIterator<Item = &'a Path>,
        output: &Path,
    ) -> Result<(), UsageError> {
        let index = index_path(output);
        let inputs: Vec<&Path> = inputs.into_iter().collect();
        self.refuse_same_file(inputs, [("-o", output), ("the index of -o", &index)])
    }
}

/// Format that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// SLOW5 text
    Slow5,
    /// SLOW5 binary
    Blow5,
    /// FAST5, many reads in a file
    Fast5,
}

/// Compression of records.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum RecordMethod {
    None,
    /// The bytes that slow5tools writes
    Zlib,
    /// zlib for any reader in half the time, as small, with other bytes than slow5tools'
    ZlibFast,
    /// Smaller and faster than zlib; readers need zstd
    Zstd,
}

/// Compression of samples.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum SignalMethod {
    None,
    SvbZd,
    ExZd,
}

/// How records are written.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct FormatArguments {
    /// Format of the output [default: by the suffix of the output file; where that is none of
    /// .slow5, .blow5 and .fast5, SLOW5 text from view and degrade, BLOW5 from the others]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) to: Option<Format>,
    /// Compression of BLOW5 records [default: zlib]
    #[arg(short = 'c', long, visible_alias = "compress", value_name = "METHOD")]
    record_compression: Option<RecordMethod>,
    /// Compression of BLOW5 samples [default: svb-zd, with degrade ex-zd]
    #[arg(short = 's', long, visible_alias = "sig-compress", value_name = "METHOD")]
    signal_compression: Option<SignalMethod>,
}

impl FormatArguments {
    /// The format: what is requested, else what `output` is called, else `default`.
    ///
    /// # Errors
    /// When requested one and called another, or called POD5.
    pub(crate) fn format(&self, output: &Path, default: Format) -> Result<Format, UsageError> {
        let named = format_of_name(output)?;
        if let (Some(requested), Some(named)) = (self.to, named)
            && requested != named
        {
            let name = output.display();
            return Err(UsageError(format!("--to says another format than the suffix of {name}")));
        }
        Ok(self.to.or(named).unwrap_or(default))
    }

    /// # Errors
    /// When compressions are requested and `format` has none of them.
    pub(crate) fn refuse_compression(&self, format: Format) -> Result<(), UsageError> {
        let is_requested = self.record_compression.is_some() || self.signal_compression.is_some();
        if is_requested && format != Format::Blow5 {
            return Err(UsageError("-c and -s are for BLOW5; the output is not".to_owned()));
        }
        Ok(())
    }

    /// The compressions of BLOW5, samples by `default` where nothing is said.
    pub(crate) fn compression(&self, default: SignalCompression) -> Compression {
        Compression {
            record: match self.record_compression {
                Some(RecordMethod::None) => RecordCompression::None,
                None | Some(RecordMethod::Zlib) => RecordCompression::Zlib,
                Some(RecordMethod::ZlibFast) => RecordCompression::ZlibFast,
                Some(RecordMethod::Zstd) => RecordCompression::Zstd,
            },
            signal: match self.signal_compression {
                None => default,
                Some(SignalMethod::None) => SignalCompression::None,
                Some(SignalMethod::SvbZd) => SignalCompression::SvbZd,
                Some(SignalMethod::ExZd) => SignalCompression::ExZd,
            },
        }
    }

    /// How records of `format` are encoded.
    ///
    /// # Errors
    /// For FAST5, which this command does not write, and for compressions that are not BLOW5's.
    pub(crate) fn encoding(
        &self,
        format: Format,
        default: SignalCompression,
    ) -> Result<Encoding, UsageError> {
        self.refuse_compression(format)?;
        match format {
            Format::Slow5 => Ok(Encoding::Slow5),
            Format::Blow5 => Ok(Encoding::Blow5(self.compression(default))),
            Format::Fast5 => {
                Err(UsageError("only `seqloom signal convert` writes FAST5".to_owned()))
            }
        }
    }
}

/// The format that an output's suffix names, if it names one.
///
/// # Errors
/// For POD5, which is not written: under that name any format would be taken for it.
pub(crate) fn format_of_name(path: &Path) -> Result<Option<Format>, UsageError> {
    let suffix = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    match suffix.to_ascii_lowercase().as_str() {
        "slow5" => Ok(Some(Format::Slow5)),
        "blow5" => Ok(Some(Format::Blow5)),
        "fast5" => Ok(Some(Format::Fast5)),
        "pod5" => {
            let name = path.display();
            Err(UsageError(format!("POD5 is not written; {name} could end in .blow5 instead")))
        }
        _ => Ok(None),
    }
}

/// Output and its format.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArguments {
    /// Output file; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) format: FormatArguments,
}

impl OutputArguments {
    /// How records are encoded.
    ///
    /// # Errors
    /// When that makes no sense.
    pub(crate) fn encoding(
        &self,
        default: Format,
        signal_default: SignalCompression,
    ) -> Result<Encoding, UsageError> {
        let encoding =
            self.format.encoding(self.format.format(&self.output, default)?, signal_default)?;
        refuse_terminal(&self.output, encoding)?;
        Ok(encoding)
    }
}

/// # Errors
/// When binary output would go to a terminal.
pub(crate) fn refuse_terminal(output: &Path, encoding: Encoding) -> Result<(), UsageError> {
    let is_terminal = output == Path::new("-") && std::io::stdout().is_terminal();
    if is_terminal && encoding != Encoding::Slow5 {
        let text = "refusing to write BLOW5 to a terminal; use -o FILE, a pipe or --to slow5";
        return Err(UsageError(text.to_owned()));
    }
    Ok(())
}

/// Whether auxiliary fields are kept.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct LosslessArguments {
    /// Keep auxiliary fields; without them files are smaller, but not lossless
    #[arg(short = 'l', long, value_name = "yes|no", default_value = "yes",
          value_parser = yes_or_no, action = clap::ArgAction::Set)]
    pub(crate) lossless: bool,
}

/// Whether a read id may be there more than once.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OnceArguments {
    /// Write reads of the same id and signal once, as they are there first; reads of that id with
    /// another signal are named and lost
    #[arg(long)]
    pub(crate) deduplicate: bool,
}

fn yes_or_no(text: &str) -> Result<bool, String> {
    match text {
        "yes" | "true" => Ok(true),
        "no" | "false" => Ok(false),
        _ => Err("must be yes or no".to_owned()),
    }
}
