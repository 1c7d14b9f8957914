//! Arguments of `seqloom prep`.

use std::path::PathBuf;

use crate::output::arguments::{ModeArgument, OpticalDistance, OutputArguments, RunArguments};

/// What `seqloom prep` is told.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Steps are applied in this order, whatever the order of the options: filters, clean, mates, reference,
read group, tags, NM/MD/UQ; then duplicates, recalibration and the sort.

Examples:
  seqloom prep in.bam --mark-duplicates --sort coordinate -o out.bam
  bwa mem ref.fa r1.fq r2.fq | seqloom prep - --mark-duplicates --sort coordinate -o out.bam

The output is the same bytes whatever -t and -m are.
Exit codes: 0 ok, 1 failed, 2 usage, 3 malformed input, 4 output or disk.")]
pub(crate) struct PrepArguments {
    /// BAM or SAM; several files are one behind the other; `-` is standard input
    #[arg(value_name = "IN", required = true)]
    pub(crate) inputs: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
    /// Order of the output
    #[arg(long, value_name = "ORDER", default_value = "keep", help_heading = "Output")]
    pub(crate) sort: SortArgument,
    #[command(flatten)]
    pub(crate) run: RunArguments,
    /// Take what is whole of an input that ends too early
    #[arg(long, help_heading = "Input")]
    pub(crate) allow_truncated: bool,
    #[command(flatten)]
    pub(crate) duplicates: DuplicateArguments,
}

/// `--sort`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum SortArgument {
    /// As `samtools sort`.
    Coordinate,
    /// As Picard SortSam, which breaks ties by name and flags.
    CoordinatePicard,
    /// As `samtools sort -n`.
    Queryname,
    /// As Picard SortSam.
    QuerynamePicard,
    /// That of the input.
    Keep,
}

/// How duplicates are marked.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Duplicates (as Picard MarkDuplicates)")]
pub(crate) struct DuplicateArguments {
    /// Set or clear the duplicate flag of every record
    #[arg(long)]
    pub(crate) mark_duplicates: bool,
    /// Leave duplicates out
    #[arg(long)]
    pub(crate) remove_duplicates: bool,
    /// As Picard marks reads grouped by name (query) or sorted (coordinate) [default: by the order
    /// that the input's header states]
    #[arg(long, value_name = "MODE")]
    pub(crate) duplicate_mode: Option<ModeArgument>,
    /// Largest distance of optical duplicates in pixels (2500 for patterned flow cells), or `off`
    #[arg(long, value_name = "N", default_value = "100")]
    pub(crate) optical_distance: OpticalDistance,
}
