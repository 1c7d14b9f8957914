//! `seqloom signal`: nanopore raw signal from one format to another, joined, split, looked at.
//!
//! Each command is one file and one short function: source, stage, sink.

mod arguments;
mod call_arguments;
mod called;
mod calling;
mod calling_inputs;
mod calling_sinks;
mod cat;
mod check;
mod convert;
mod degrade;
pub(crate) mod error;
mod eventalign;
pub(crate) mod fast5_worker;
mod frequency;
mod get;
mod index;
mod join;
mod merge;
mod methylation;
mod model;
mod motif;
mod pass;
mod skim;
mod split;
mod stats;
mod train;
mod view;

use seqloom_terminal::Console;

/// Commands of `seqloom signal`.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum SignalCommand {
    /// Convert SLOW5, BLOW5, FAST5 and POD5 files to one SLOW5, BLOW5 or FAST5 file
    Convert(convert::ConvertArguments),
    /// Show a file as text, or write it with other compression
    View(view::ViewArguments),
    /// Write the index of a SLOW5 or BLOW5 file
    Index(index::IndexArguments),
    /// How often sites are methylated, from tables of calls
    Frequency(frequency::FrequencyArguments),
    /// Get reads by their ids
    Get(get::GetArguments),
    /// Merge SLOW5 and BLOW5 files; each run becomes a read group
    Merge(merge::MergeArguments),
    /// Split a file by read groups, numbers of reads or categories
    Split(split::SplitArguments),
    /// Concatenate files that have the same header, without looking at the reads
    Cat(cat::CatArguments),
    /// Summarise a file
    Stats(stats::StatsArguments),
    /// Show all of a file but the signal
    Skim(skim::SkimArguments),
    /// Check whether files are whole
    #[command(visible_alias = "quickcheck")]
    Check(check::CheckArguments),
    /// Call CpG methylation from the signal of aligned reads
    #[command(visible_alias = "call-methylation")]
    Methylation(Box<methylation::MethylationArguments>),
    /// Align the events of the signal of aligned reads to the reference
    Eventalign(Box<eventalign::EventalignArguments>),
    /// Train a model of methylated k-mers on controls, for `seqloom signal methylation`
    Train(Box<train::TrainArguments>),
    /// Round away the bits of the signal that are noise
    Degrade(degrade::DegradeArguments),
}

/// Runs the command.
pub(crate) fn run(command: &SignalCommand, console: &Console) -> seqloom_terminal::Result<()> {
    match command {
        SignalCommand::Convert(arguments) => convert::run(arguments, console),
        SignalCommand::View(arguments) => view::run(arguments, console),
        SignalCommand::Index(arguments) => index::run(arguments, console),
        SignalCommand::Frequency(arguments) => frequency::run(arguments, console),
        SignalCommand::Get(arguments) => get::run(arguments, console),
        SignalCommand::Merge(arguments) => merge::run(arguments, console),
        SignalCommand::Split(arguments) => split::run(arguments, console),
        SignalCommand::Cat(arguments) => cat::run(arguments, console),
        SignalCommand::Stats(arguments) => stats::run(arguments, console),
        SignalCommand::Skim(arguments) => skim::run(arguments, console),
        SignalCommand::Check(arguments) => check::run(arguments, console),
        SignalCommand::Methylation(arguments) => methylation::run(arguments, console),
        SignalCommand::Eventalign(arguments) => eventalign::run(arguments, console),
        SignalCommand::Train(arguments) => train::run(arguments, console),
        SignalCommand::Degrade(arguments) => degrade::run(arguments, console),
    }
}
