//! `seqloom signal methylation`: methylation of a motif from raw signal.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use seqloom_calling::flow::{Committed, MethylationKernel, MethylationOutput};
use seqloom_calling::methylation::{
    BedMethyl, CallOptions, Cutoff, CutoffStyle, ModbamScratch, TableFormat, tag_record,
};
use seqloom_calling::pore_model::{Alphabet, ModelRequest, PoreModel, builtin};
use seqloom_calling::{AlignedRead, Motif};
use seqloom_format::bam::{Flags, RecordRef, framed_records};
use seqloom_io::sidecars::with_suffix;
use seqloom_io::{AtomicFile, Publication};
use seqloom_terminal::Console;

use super::call_arguments::CallArguments;
use super::called::{Called, refuse_nothing, tell};
use super::calling::{Job, OwnFiles};
use super::calling_sinks::{BamSink, TextSink};
use super::error::PassError;
use super::model::{Molecules, bad_builtin, load_model};
use super::motif::MotifName;
use super::pass::Pass;
use crate::output::arguments::refuse_cram;

/// Columns of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Those of nanopolish 0.14 and f5c from 1.0 on
    Nanopolish,
    /// Those of f5c before 1.0: without strand
    F5c,
}

/// Calls that count in bedMethyl: nanopolish's rule, as in `seqloom signal frequency`.
const CUTOFF: Cutoff = Cutoff { style: CutoffStyle::Nanopolish, threshold: 2.0 };

/// Arguments of `seqloom signal methylation`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  seqloom signal methylation --bam reads.bam --reference ref.fa \
    --reads reads.fastq --signal reads.blow5 -o calls.tsv\n\n\
    Positive log-likelihood ratios say methylated. `seqloom signal frequency` makes a table of \
    sites of them."
)]
pub(crate) struct MethylationArguments {
    #[command(flatten)]
    call: CallArguments,
    /// Motif whose methylation is called
    #[arg(
        short = 'q',
        long,
        visible_alias = "methylation",
        value_name = "MOTIF",
        default_value = "cpg"
    )]
    motif: MotifName,
    /// Columns of the table
    #[arg(long, value_name = "PROGRAM", default_value = "nanopolish")]
    format: Format,
    /// Pore model of bases and the motif's methylated base (M), in nanopolish's or f5c's form, or
    /// of `seqloom signal train`
    /// [default: nanopolish's for the motif, R9.4.1 DNA, 6-mers]
    #[arg(long, visible_alias = "meth-model", value_name = "FILE")]
    methylation_model: Option<PathBuf>,
    /// Write the records with their calls as MM and ML tags to this BAM; tags that they came with
    /// are removed
    #[arg(long, value_name = "FILE", conflicts_with = "forget_hard_clips")]
    modbam: Option<PathBuf>,
    /// Write counts of methylated reads by site and strand to this bedMethyl
    #[arg(long, value_name = "FILE")]
    bedmethyl: Option<PathBuf>,
}

/// Runs the command.
pub(super) fn run(
    arguments: &MethylationArguments,
    console: &Console,
) -> seqloom_terminal::Result<()> {
    let pass = Pass::new(&arguments.call.run, console);
    let job = open(arguments, &pass)?;
    let format = match arguments.format {
        Format::Nanopolish => TableFormat::Nanopolish,
        Format::F5c => TableFormat::F5c,
    };
    let motif = Motif::from(arguments.motif);
    let kernel = MethylationKernel {
        methylated: methylated_model(motif, arguments, &job.nucleotides)?,
        nucleotides: job.nucleotides.clone(),
        read: job.read_options(),
        call: CallOptions::of(motif),
        format,
        region: job.region(),
        has_record: arguments.modbam.is_some(),
        outcomes: arguments.bedmethyl.is_some().then_some(CUTOFF),
    };
    let mut table = TextSink::create(&arguments.call.output, format.header().as_bytes())?;
    let create = |path: &PathBuf| ModbamSink::create(path, motif, &job);
    let mut bam = arguments.modbam.as_ref().map(create).transpose()?;
    let mut bed =
        arguments.bedmethyl.as_ref().map(|path| BedSink::create(path, motif)).transpose()?;
    let totals = job.call(&pass, &kernel, |committed| {
        if let Some(Ok(output)) = committed.outcome {
            table.write(&output.text)?;
            if let Some(bed) = &mut bed {
                bed.add(committed, output, &job)?;
            }
        }
        bam.as_mut().map_or(Ok(()), |bam| bam.add(committed, &job))
    })?;
    refuse_nothing(&totals.account)?;
    let mut made = Publication::default();
    made.outputs.extend(table.finish(&pass)?);
    bam.map_or(Ok(()), |bam| bam.finish(&pass, &mut made))?;
    made.sidecars.extend(bed.map(|bed| bed.finish(&pass)).transpose()?.flatten());
    let called = Called { arguments: &arguments.call, job: &job, totals: &totals };
    made.sidecars.extend(tell("methylation", &pass, &[called])?);
    pass.publish(made)?;
    pass.finish("methylation")
}

/// Opens all inputs; the BAM with tags has an index next to it.
fn open(arguments: &MethylationArguments, pass: &Pass<'_>) -> seqloom_terminal::Result<Job> {
    let modbam = arguments.modbam.as_ref();
    modbam.map_or(Ok(()), |path| refuse_cram(path))?;
    let index = |suffix| modbam.map(|path| with_suffix(path, suffix));
    let (bai, csi) = (index(".bai"), index(".csi"));
    let outputs = [
        ("--modbam", modbam),
        ("the index of --modbam", bai.as_ref()),
        ("the index of --modbam", csi.as_ref()),
        ("--bedmethyl", arguments.bedmethyl.as_ref()),
    ];
    let inputs: Vec<_> = arguments.methylation_model.iter().collect();
    let files = OwnFiles { inputs: &inputs, outputs: &outputs };
    Job::open(&arguments.call, &files, Molecules::Dna("methylation is called"), pass)
}

/// Counts by site, of primary alignments: others count a read twice.
struct BedSink {
    text: TextSink,
    counts: BedMethyl,
    rows: Vec<u8>,
}

impl BedSink {
    fn create(path: &Path, motif: Motif) -> Result<Self, PassError> {
        let text = TextSink::create(path, b"")?;
        Ok(Self { text, counts: BedMethyl::new(motif), rows: Vec::new() })
    }

    fn add(
        &mut self,
        committed: &Committed<'_, MethylationOutput>,
        output: &MethylationOutput,
        job: &Job,
    ) -> Result<(), PassError> {
        let Some(record) = committed.record.and_then(record_of) else { return Ok(()) };
        if record.has_flags(Flags::SECONDARY) || record.has_flags(Flags::SUPPLEMENTARY) {
            return Ok(());
        }
        let read = AlignedRead {
            name: record.name(),
            contig: job.contig_name(&record),
            start: u64::from(record.position().unsigned_abs()),
            is_reverse: record.has_flags(Flags::REVERSE),
            sequence: &[],
            reference: &[],
            pairs: &[],
        };
        self.counts.add(&read, &output.outcomes, &mut self.rows);
        self.text.write(&self.rows)?;
        self.rows.clear();
        Ok(())
    }

    fn finish(mut self, pass: &Pass<'_>) -> Result<Option<AtomicFile>, PassError> {
        self.counts.finish(&mut self.rows);
        self.text.write(&self.rows)?;
        self.text.finish(pass)
    }
}

/// The records of the BAM, those of the region where there is one, with the tags of their calls.
struct ModbamSink {
    bam: BamSink,
    motif: Motif,
    scratch: ModbamScratch,
    body: Vec<u8>,
}

impl ModbamSink {
    fn create(path: &Path, motif: Motif, job: &Job) -> seqloom_terminal::Result<Self> {
        let bam = BamSink::create(path, job.header())?;
        Ok(Self { bam, motif, scratch: ModbamScratch::default(), body: Vec::new() })
    }

    fn add(
        &mut self,
        committed: &Committed<'_, MethylationOutput>,
        job: &Job,
    ) -> Result<(), PassError> {
        for body in framed_records(committed.skipped).flatten() {
            self.add_uncalled(body, job)?;
        }
        match (committed.record, committed.outcome) {
            (_, Some(Ok(output))) => self.bam.write(&output.record),
            (Some(framed), _) => {
                framed_records(framed).flatten().try_for_each(|it| self.add_uncalled(it, job))
            }
            (None, _) => Ok(()),
        }
    }

    /// A record without calls, without the tags of others' calls.
    fn add_uncalled(&mut self, body: &[u8], job: &Job) -> Result<(), PassError> {
        let is_requested = RecordRef::new(body).is_ok_and(|record| job.is_in_region(&record));
        if !is_requested {
            return Ok(());
        }
        self.body.clear();
        self.body.extend_from_slice(body);
        tag_record(self.motif, &mut self.body, &[], &mut self.scratch)
            .map_err(|error| PassError::Input(error.to_string()))?;
        self.bam.write(&self.body)
    }

    fn finish(self, pass: &Pass<'_>, with: &mut Publication) -> Result<(), PassError> {
        self.bam.finish(pass, with)
    }
}

fn record_of(framed: &[u8]) -> Option<RecordRef<'_>> {
    RecordRef::new(framed_records(framed).next()?.ok()?).ok()
}

/// The model that sites are scored with; its k-mers must be as long as those of the other.
fn methylated_model(
    motif: Motif,
    arguments: &MethylationArguments,
    nucleotides: &PoreModel,
) -> seqloom_terminal::Result<PoreModel> {
    let kmer_length = nucleotides.kmer_length;
    if let Some(path) = &arguments.methylation_model {
        let request = ModelRequest {
            alphabet: Some(Alphabet::Methylated),
            motif: Some(motif),
            kmer_length: Some(kmer_length),
            chemistry: None,
        };
        return load_model(path, None, &request);
    }
    let model = builtin::r9_4_1_methylated(motif).map_err(bad_builtin)?;
    if model.kmer_length != kmer_length {
        let text = format!(
            "the model of --kmer-model has {kmer_length}-mers, that of methylated {motif} which \
             comes with the program {}-mers of R9.4.1 DNA; give a table of all {kmer_length}-mers \
             of A, C, G, T and M with --methylation-model (`seqloom signal train` makes one)",
            model.kmer_length
        );
        return Err(PassError::Usage(text).into());
    }
    Ok(model)
}
