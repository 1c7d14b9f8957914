//! `seqloom signal eventalign`: which event of the signal belongs to which base of the reference.

use std::path::PathBuf;

use seqloom_calling::eventalign::{TableOptions, push_header, push_summary_header};
use seqloom_calling::flow::EventalignKernel;
use seqloom_io::Publication;
use seqloom_terminal::Console;

use super::call_arguments::CallArguments;
use super::called::{Called, refuse_nothing, tell};
use super::calling::{Job, OwnFiles};
use super::calling_sinks::TextSink;
use super::model::Molecules;
use super::pass::Pass;
use crate::output::command_line;

/// Arguments of `seqloom signal eventalign`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  seqloom signal eventalign --bam reads.bam --reference ref.fa \
    --reads reads.fastq --signal reads.blow5 --print-read-names -o events.tsv\n\n\
    Columns are those of nanopolish, and so is SAM.")]
pub(crate) struct EventalignArguments {
    #[command(flatten)]
    call: CallArguments,
    /// The signal is of direct RNA; files of signal mostly say so themselves
    #[arg(long)]
    rna: bool,
    /// Name reads instead of numbering them
    #[arg(short = 'n', long)]
    print_read_names: bool,
    /// Scale events to the model instead of the model to the events
    #[arg(long)]
    scale_events: bool,
    /// Add the samples from which to which an event reaches
    #[arg(long)]
    signal_index: bool,
    /// Add the samples of an event
    #[arg(long)]
    samples: bool,
    /// Write SAM in place of a table: a record for each read, with its events in place of bases
    #[arg(long,
          conflicts_with_all = ["print_read_names", "scale_events", "signal_index", "samples"])]
    sam: bool,
    /// Write a line for each read to this file
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,
}

/// Runs the command.
pub(super) fn run(
    arguments: &EventalignArguments,
    console: &Console,
) -> seqloom_terminal::Result<()> {
    let pass = Pass::new(&arguments.call.run, console);
    let outputs = [("--summary", arguments.summary.as_ref())];
    let files = OwnFiles { inputs: &[], outputs: &outputs };
    let job = Job::open(&arguments.call, &files, Molecules::Any { is_rna: arguments.rna }, &pass)?;
    let table = TableOptions {
        read_names: arguments.print_read_names,
        scale_events: arguments.scale_events,
        signal_index: arguments.signal_index,
        samples: arguments.samples,
    };
    let kernel = EventalignKernel {
        nucleotides: job.nucleotides.clone(),
        read: job.read_options(),
        table,
        is_sam: arguments.sam,
        summary_model: arguments.summary.is_some().then(|| job.model_name().to_vec()),
        region: job.region(),
    };
    let (mut header, mut summary_header) = (Vec::new(), Vec::new());
    if arguments.sam {
        let mut of_bam = job.header().clone();
        of_bam.add_program("seqloom", env!("CARGO_PKG_VERSION"), &command_line());
        header = of_bam.text();
    } else {
        push_header(&table, &mut header);
    }
    push_summary_header(&mut summary_header);
    let mut sink = TextSink::create(&arguments.call.output, &header)?;
    let create = |path: &PathBuf| TextSink::create(path, &summary_header);
    let mut summary = arguments.summary.as_ref().map(create).transpose()?;
    let totals = job.call(&pass, &kernel, |committed| {
        let Some(Ok(output)) = committed.outcome else { return Ok(()) };
        sink.write(&output.text)?;
        summary.as_mut().map_or(Ok(()), |summary| summary.write(&output.summary))
    })?;
    refuse_nothing(&totals.account)?;
    let mut made = Publication::default();
    made.outputs.extend(sink.finish(&pass)?);
    made.sidecars.extend(summary.map(|summary| summary.finish(&pass)).transpose()?.flatten());
    let called = Called { arguments: &arguments.call, job: &job, totals: &totals };
    made.sidecars.extend(tell("eventalign", &pass, &[called])?);
    pass.publish(made)?;
    pass.finish("eventalign")
}
