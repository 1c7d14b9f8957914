//! `seqloom signal train`: a model of methylated k-mers from reads whose methylation is known.

use std::fs;
use std::path::{Path, PathBuf};

use seqloom_calling::Motif;
use seqloom_calling::flow::{CallTotals, TrainingKernel};
use seqloom_calling::pore_model::{ModelError, PoreModel};
use seqloom_calling::training::{
    self, EventSums, LEAST_EVENTS, MethylatedKmers, TrainedModel, TrainingRecord, training_bytes,
};
use seqloom_io::Publication;
use seqloom_terminal::{Console, UsageError};

use super::call_arguments::CallArguments;
use super::called::{Called, refuse_nothing, tell};
use super::calling::{Job, OwnFiles};
use super::calling_sinks::TextSink;
use super::error::PassError;
use super::model::Molecules;
use super::motif::MotifName;
use super::pass::Pass;
use crate::same_file::refuse_one_file_as_both;

/// Use of memory besides that of reads.
const SUMS_TAKE: &str = "the model, its sums, and names and places of the reads take";

/// Arguments of `seqloom signal train`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  seqloom signal train --reference ref.fa --bam pcr.bam \
    --reads pcr.fastq --signal pcr.blow5 --methylated-bam sssi.bam --methylated-reads sssi.fastq \
    --methylated-signal sssi.blow5 --motif cpg -o cpg.model\n\n\
    --bam, --reads and --signal are those of the control without methylation. \
    `seqloom signal methylation --methylation-model cpg.model` calls with what was trained.")]
pub(crate) struct TrainArguments {
    #[command(flatten)]
    call: CallArguments,
    /// Aligned reads of the methylated control: BAM, CRAM or SAM
    #[arg(long, value_name = "FILE")]
    methylated_bam: PathBuf,
    /// The reads of the methylated control as they were basecalled: FASTA or FASTQ [default: their
    /// bases in the BAM]
    #[arg(long, value_name = "FILE")]
    methylated_reads: Option<PathBuf>,
    /// Their signal: SLOW5, BLOW5, FAST5 or POD5 files, or folders of them
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    methylated_signal: Vec<PathBuf>,
    /// Motif of which all sites are methylated in the methylated control
    #[arg(short = 'q', long, value_name = "MOTIF", default_value = "cpg")]
    motif: MotifName,
    /// Times that events are aligned and levels are trained
    #[arg(long, value_name = "N", default_value_t = 4,
          value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Events that a k-mer needs to be trained; those with fewer get what a regression over the
    /// others gives
    #[arg(long, value_name = "N", default_value_t = 5,
          value_parser = clap::value_parser!(u32).range(i64::from(LEAST_EVENTS)..))]
    min_events: u32,
}

impl TrainArguments {
    /// Inputs of the methylated control.
    fn of_methylated(&self) -> CallArguments {
        let mut of_methylated = self.call.clone();
        of_methylated.bam.clone_from(&self.methylated_bam);
        of_methylated.reads.clone_from(&self.methylated_reads);
        of_methylated.signal.clone_from(&self.methylated_signal);
        of_methylated
    }
}

/// Reads of which is known whether they are methylated.
struct Control {
    arguments: CallArguments,
    job: Job,
    methylated: Option<Motif>,
}

/// State of all rounds.
struct Training {
    controls: [Control; 2],
    nucleotides: PoreModel,
    motif: Motif,
    rounds: u32,
    min_events: u32,
}

/// Runs the command.
pub(super) fn run(arguments: &TrainArguments, console: &Console) -> seqloom_terminal::Result<()> {
    let pass = Pass::new(&arguments.call.run, console);
    let mut training = Training::open(arguments, &pass)?;
    let start = training.start(arguments, &pass)?;
    let mut sink = TextSink::create(&arguments.call.output, b"")?;
    let (mut trained, mut totals) = training.round(1, start, &pass)?;
    for number in 2..=arguments.rounds {
        (trained, totals) = training.round(number, trained.model, &pass)?;
    }
    let Training { controls, rounds, min_events, .. } = &training;
    sink.write(&trained.text(&TrainingRecord { rounds: *rounds, min_events: *min_events }))?;
    let mut made = Publication::default();
    made.outputs.extend(sink.finish(&pass)?);
    let called: Vec<_> = controls
        .iter()
        .zip(&totals)
        .map(|(Control { arguments, job, .. }, totals)| Called { arguments, job, totals })
        .collect();
    made.sidecars.extend(tell("train", &pass, &called)?);
    pass.publish(made)?;
    pass.finish("train")
}

impl Training {
    /// Opens all inputs.
    fn open(arguments: &TrainArguments, pass: &Pass<'_>) -> seqloom_terminal::Result<Self> {
        let motif = Motif::from(arguments.motif);
        let of_methylated = arguments.of_methylated();
        let (bam, methylated_bam) = (&arguments.call.bam, &of_methylated.bam);
        refuse_one_file_as_both(
            bam,
            methylated_bam,
            "--bam takes the control without methylation, --methylated-bam the other one",
        )?;
        refuse_stream(bam, "--bam")?;
        refuse_stream(methylated_bam, "--methylated-bam")?;
        let open = |arguments: &CallArguments, others: &CallArguments, methylated| {
            let inputs: Vec<_> =
                [&others.bam].into_iter().chain(&others.reads).chain(&others.signal).collect();
            let files = OwnFiles { inputs: &inputs, outputs: &[] };
            let job = Job::open(arguments, &files, Molecules::Dna("methylation is trained"), pass)?;
            seqloom_terminal::Result::Ok(Control { arguments: arguments.clone(), job, methylated })
        };
        let bare = open(&arguments.call, &of_methylated, None)?;
        let methylated = open(&of_methylated, &arguments.call, Some(motif))?;
        let nucleotides = bare.job.nucleotides.clone();
        let chemistries = [&bare, &methylated].map(|control| control.job.nucleotides.chemistry);
        if let [Some(one), Some(other)] = chemistries
            && one != other
        {
            let text =
                format!("the signal of --signal is {one}, that of --methylated-signal {other}");
            return Err(PassError::Input(text).into());
        }
        let TrainArguments { rounds, min_events, .. } = *arguments;
        Ok(Self { controls: [bare, methylated], nucleotides, motif, rounds, min_events })
    }

    /// The model that the first round aligns with. Leaves to training what that needs of the
    /// memory.
    fn start(
        &mut self,
        arguments: &TrainArguments,
        pass: &Pass<'_>,
    ) -> seqloom_terminal::Result<PoreModel> {
        let refused = |source: ModelError| match arguments.call.kmer_model() {
            Some(path) => PassError::Model { path: path.to_owned(), source },
            None => PassError::Input(source.to_string()),
        };
        let start = training::start(&self.nucleotides, self.motif).map_err(refused)?;
        let own_bytes = training_bytes(start.rows());
        let [bare, methylated] = &mut self.controls;
        let of_bare = bare.job.held_bytes();
        bare.job.reserve(own_bytes + methylated.job.held_bytes(), SUMS_TAKE, pass)?;
        methylated.job.reserve(own_bytes + of_bare, SUMS_TAKE, pass)?;
        Ok(start)
    }

    /// Aligns the events of both controls with `current`, and makes a model of them.
    fn round(
        &mut self,
        number: u32,
        current: PoreModel,
        pass: &Pass<'_>,
    ) -> seqloom_terminal::Result<(TrainedModel, Vec<CallTotals>)> {
        pass.forget_reads();
        let mut sums = EventSums::new(&current, number > 1);
        let mut kernel = TrainingKernel {
            nucleotides: self.nucleotides.clone(),
            current,
            methylated: None,
            read: self.controls[0].job.read_options(),
            region: None,
        };
        let mut all = Vec::new();
        for Control { arguments, job, methylated } in &mut self.controls {
            if number > 1 {
                job.rewind(arguments, pass)?;
            }
            kernel.methylated = *methylated;
            kernel.region = job.region();
            let totals = job.call(pass, &kernel, |committed| {
                if let Some(Ok(events)) = committed.outcome {
                    events.add_to(&mut sums);
                }
                Ok(())
            })?;
            refuse_nothing(&totals.account)?;
            all.push(totals);
        }
        let Self { nucleotides, motif, rounds, min_events, .. } = self;
        let trained = training::train(nucleotides, *motif, &kernel.current, &sums, *min_events)
            .map_err(|error| PassError::Input(error.to_string()))?;
        let MethylatedKmers { trained: with_events, imputed, .. } = trained.methylated;
        pass.info(&format!(
            "round {number} of {rounds}: {with_events} k-mers with M trained, {imputed} imputed"
        ));
        Ok((trained, all))
    }
}

/// # Errors
/// `path` cannot be read again and again.
fn refuse_stream(path: &Path, option: &str) -> Result<(), UsageError> {
    let is_stream = path == Path::new("-") || fs::metadata(path).is_ok_and(|it| !it.is_file());
    if is_stream {
        let path = path.display();
        let text = format!("{option} {path} is not a regular file; each round reads it anew");
        return Err(UsageError(text));
    }
    Ok(())
}
