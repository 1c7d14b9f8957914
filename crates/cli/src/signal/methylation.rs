//! `seqloom signal methylation`: CpG methylation from raw signal.

use std::path::PathBuf;

use clap::ValueEnum;
use seqloom_signal::calling::kernels::MethylationKernel;
use seqloom_signal::event::read::ReadOptions;
use seqloom_signal::methylation::call::CallOptions;
use seqloom_signal::methylation::table::TableFormat;
use seqloom_signal::pore_model::{Alphabet, ModelRequest, PoreModel, builtin};

use super::calling::{CallArguments, Job, TextSink, load_model, refuse_nothing, tell};
use super::pass::{Pass, PassError};
use crate::console::Console;

/// Columns of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Those of nanopolish 0.14 and f5c from 1.0 on
    Nanopolish,
    /// Those of f5c before 1.0: without strand
    F5c,
}

/// Arguments of `seqloom signal methylation`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  seqloom signal methylation --bam reads.bam --reference ref.fa \
    --reads reads.fastq --signal reads.blow5 -o calls.tsv\n\n\
    Positive log-likelihood ratios say methylated. `seqloom signal frequency` makes a table of \
    sites of them.")]
pub(crate) struct MethylationArguments {
    #[command(flatten)]
    call: CallArguments,
    /// Lowest mapping quality
    #[arg(long, value_name = "N", default_value_t = 20)]
    min_mapq: u8,
    /// Columns of the table
    #[arg(long, value_name = "PROGRAM", default_value = "nanopolish")]
    format: Format,
    /// Pore model of bases and methylated C, in nanopolish's or f5c's form [default: R9.4.1 CpG,
    /// 6-mers]
    #[arg(long, visible_alias = "meth-model", value_name = "FILE")]
    methylation_model: Option<PathBuf>,
}

/// Runs the command.
pub(super) fn run(arguments: &MethylationArguments, console: &Console) -> anyhow::Result<()> {
    let pass = Pass::new(&arguments.call.run, console);
    let job = Job::open(&arguments.call, &pass)?;
    let format = match arguments.format {
        Format::Nanopolish => TableFormat::Nanopolish,
        Format::F5c => TableFormat::F5c,
    };
    let kernel = MethylationKernel {
        cpg: cpg_model(arguments, &job.nucleotides)?,
        nucleotides: job.nucleotides.clone(),
        read: ReadOptions::dna(),
        call: CallOptions::default(),
        format,
        region: job.region(),
    };
    let mut sink = TextSink::create(&arguments.call.output, format.header().as_bytes())?;
    let totals = job.call(&pass, arguments.min_mapq, &kernel, |committed| {
        committed.outcome.and_then(Result::ok).map_or(Ok(()), |output| sink.write(&output.text))
    })?;
    refuse_nothing(&totals.account)?;
    sink.publish(&pass)?;
    tell("methylation", &arguments.call, &pass, &job, &totals)?;
    pass.finish("methylation")
}

/// The model that sites are scored with; its k-mers must be as long as those of the other.
fn cpg_model(
    arguments: &MethylationArguments,
    nucleotides: &PoreModel,
) -> anyhow::Result<PoreModel> {
    let kmer_length = nucleotides.kmer_length;
    if let Some(path) = &arguments.methylation_model {
        let request = ModelRequest {
            alphabet: Some(Alphabet::Cpg),
            kmer_length: Some(kmer_length),
            chemistry: None,
        };
        return load_model(path, &request);
    }
    let model = builtin::r9_4_1_cpg()?;
    if model.kmer_length != kmer_length {
        let text = format!(
            "the model of --kmer-model has {kmer_length}-mers, that of methylated sites which \
             comes with the program {}-mers; give one with --methylation-model",
            model.kmer_length
        );
        return Err(PassError::Refused(text).into());
    }
    Ok(model)
}
