//! What `methylation`, `eventalign` and `train` have in common: their inputs, and the checks that
//! these belong together.

use std::num::NonZeroUsize;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use seqloom_calling::events::ReadOptions;
use seqloom_calling::flow::{
    self, CallInputs, CallOptions, CallTimes, CallTotals, Committed, Filter, HardClips, ReadKernel,
    ReadSequences, Region, SignalFiles, Skip,
};
use seqloom_calling::pore_model::PoreModel;
use seqloom_format::bam::{Header, RecordRef};
use seqloom_io::IndexedFasta;
use seqloom_io::alignments::AlignmentSource;
use seqloom_io::sidecars::{bam_indices, cram_indices, with_suffix};
use seqloom_runtime::memory::ByteSize;
use seqloom_signal::flow::inputs;
use seqloom_signal::store::index_path;
use seqloom_terminal::UsageError;

use super::arguments::RunArguments;
use super::calling_inputs::{Opened, match_contigs, open_alignments, open_sequences, open_signals};
use super::error::PassError;
use super::model::{GivenModel, Molecules, nucleotide_model};
use super::pass::Pass;
use crate::output::arguments::memory_size;
use crate::output::run::{beyond_address_space, default_memory, within_address_space};

/// What the program itself takes: code, models, buffers of the reader and of the output.
const OWN_BYTES: u64 = 96 << 20;

/// Least memory for the reads that a worker has in hand: one of 10,000 bases.
const WORKER_BYTES: u64 = 8 << 20;

/// Least memory for the records and results that wait.
const WINDOW_BYTES: u64 = 32 << 20;

/// Inputs of a call, and how it runs.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct CallArguments {
    /// Aligned reads, sorted by coordinate: BAM, CRAM or SAM
    #[arg(short, long, value_name = "FILE")]
    pub(super) bam: PathBuf,
    /// Reference that they are aligned to: FASTA, plain or BGZF; read by region
    #[arg(short = 'g', long, visible_alias = "genome", value_name = "FASTA")]
    pub(super) reference: PathBuf,
    /// The reads as they were basecalled: FASTA or FASTQ [default: their bases in the BAM]
    #[arg(short, long, value_name = "FILE")]
    pub(super) reads: Option<PathBuf>,
    /// Their signal: SLOW5, BLOW5, FAST5 or POD5 files, or folders of them
    #[arg(short, long, value_name = "FILE", required = true, num_args = 1..)]
    pub(super) signal: Vec<PathBuf>,
    /// Output file; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub(super) output: PathBuf,
    #[command(flatten)]
    alignments: AlignmentArguments,
    /// Pore model of the four bases: text as nanopolish, f5c and ONT have it, or Uncalled4's .npz
    /// [default: nanopolish's for R9.4.1: 6-mers of DNA, 5-mers of RNA]
    #[arg(long, value_name = "FILE")]
    kmer_model: Option<PathBuf>,
    /// Standard deviation of all levels, in picoampere, for a --kmer-model that has none
    #[arg(long, value_name = "PA", requires = "kmer_model", value_parser = deviation)]
    level_stdv: Option<f64>,
    /// Memory of the whole process [default: three quarters of what there is]
    #[arg(short, long, value_name = "SIZE", help_heading = "Run", value_parser = memory_size)]
    memory: Option<ByteSize>,
    /// Report of the run: counts, reads that were not called, time and memory
    #[arg(long, value_name = "FILE", help_heading = "Run")]
    pub(super) json: Option<PathBuf>,
    #[command(flatten)]
    pub(super) run: RunArguments,
}

impl CallArguments {
    /// The region, as it was given.
    pub(super) fn region(&self) -> Option<&str> {
        self.alignments.region.as_deref()
    }

    /// The model of the four bases that was given.
    pub(super) fn kmer_model(&self) -> Option<&Path> {
        self.kmer_model.as_deref()
    }
}

fn deviation(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|it: &f64| it.is_normal() && *it > 0.0);
    number.ok_or_else(|| "must be a number above 0".to_owned())
}

/// Which alignments are called.
#[derive(Debug, Clone, clap::Args)]
struct AlignmentArguments {
    /// Only this region of the reference; positions count from 1, both ends are part of it. A BAM
    /// that has an index is read from where it begins
    #[arg(short = 'w', long, value_name = "NAME[:FIRST-LAST]")]
    region: Option<String>,
    /// Lowest mapping quality
    #[arg(long, value_name = "N", default_value_t = 20)]
    min_mapq: u8,
    /// Call secondary alignments, too
    #[arg(long)]
    secondary: bool,
    /// Do not count bases that are clipped off a record: signal of another part of the read is
    /// taken for it, as nanopolish and f5c take it. For comparisons with them
    #[arg(long)]
    forget_hard_clips: bool,
}

impl AlignmentArguments {
    fn filter(&self, region: Option<Region>) -> Filter {
        let (min_mapping_quality, has_secondary) = (self.min_mapq, self.secondary);
        Filter { min_mapping_quality, region, has_secondary }
    }

    fn hard_clips(&self) -> HardClips {
        if self.forget_hard_clips { HardClips::Forgotten } else { HardClips::Counted }
    }
}

/// Files that only one of the commands has, as they are given.
pub(super) struct OwnFiles<'a> {
    pub(super) inputs: &'a [&'a PathBuf],
    /// What the command line calls them, and where they go.
    pub(super) outputs: &'a [(&'a str, Option<&'a PathBuf>)],
}

/// Everything that reads are called from.
pub(super) struct Job {
    pub(super) alignments: AlignmentSource,
    reference: IndexedFasta,
    contigs: Vec<Option<usize>>,
    sequences: Option<ReadSequences>,
    pub(super) signals: SignalFiles,
    filter: Filter,
    hard_clips: HardClips,
    /// First and last base that are called, 0-based.
    region: Option<RangeInclusive<u64>>,
    memory_bytes: u64,
    /// Bytes of it that reads being called cannot have.
    reserved_bytes: u64,
    /// Of the whole process.
    pub(super) limit: ByteSize,
    block_bytes: u64,
    pub(super) nucleotides: PoreModel,
    /// The reads are RNA.
    is_rna: bool,
    /// It is the program's.
    has_own_model: bool,
    /// Reads were called before.
    is_again: bool,
}

impl Job {
    /// Opens all inputs and makes sure that they belong together; what needs no reading through is
    /// refused first. `files` are the command's own, besides those of `arguments`.
    pub(super) fn open(
        arguments: &CallArguments,
        files: &OwnFiles<'_>,
        takes: Molecules,
        pass: &Pass<'_>,
    ) -> seqloom_terminal::Result<Self> {
        let found = inputs::find(&arguments.signal, &inputs::ALL_SUFFIXES)?;
        refuse_same_file(arguments, &found.paths, files)?;
        let limit = memory_limit(arguments.memory, pass.threads)?;
        let block_bytes = (limit.0 / 256).clamp(64 << 10, 1 << 20);
        let Opened { alignments, read_bytes, region } =
            open_alignments(arguments, limit, block_bytes, pass)?;
        let which = &arguments.alignments;
        let reference = IndexedFasta::open(&arguments.reference)?;
        if let Some(index) = reference.old_index() {
            pass.warn(&format!("{} is older than its file, but fits it", index.display()));
        }
        let header = &alignments.headers()[0];
        let contigs = match_contigs(pass, header, &reference, &arguments.bam)?;
        let kmer_model = arguments.kmer_model.as_deref();
        let given = kmer_model.map(|path| GivenModel { path, stdv_pa: arguments.level_stdv });
        let (signals, chemistry) = open_signals(found, pass)?;
        let (mut nucleotides, is_rna) = nucleotide_model(given, chemistry.as_ref(), takes)?;
        nucleotides.chemistry = nucleotides.chemistry.or(chemistry.map(|(chemistry, _)| chemistry));
        let sequences = open_sequences(arguments, pass, ByteSize(limit.0 / 2))?;
        let held = read_bytes + signals.held_bytes();
        let held = held + sequences.as_ref().map_or(0, ReadSequences::held_bytes);
        let memory_bytes = memory_left(held, READS_TAKE, limit, pass.threads)?;
        Ok(Self {
            alignments,
            reference,
            contigs,
            sequences,
            signals,
            filter: which.filter(region.as_ref().map(|it| it.region)),
            hard_clips: which.hard_clips(),
            region: region.map(|it| it.bases),
            memory_bytes,
            reserved_bytes: held,
            limit,
            block_bytes,
            nucleotides,
            is_rna,
            has_own_model: kmer_model.is_none(),
            is_again: false,
        })
    }

    /// Has the next call begin at the first record again. What that call cannot read has been
    /// booked before.
    pub(super) fn rewind(
        &mut self,
        arguments: &CallArguments,
        pass: &Pass<'_>,
    ) -> seqloom_terminal::Result<()> {
        self.alignments =
            open_alignments(arguments, self.limit, self.block_bytes, pass)?.alignments;
        self.is_again = true;
        Ok(())
    }

    /// Leaves `bytes` of the memory to `what`, besides the names and places of the reads.
    ///
    /// # Errors
    /// What is left is too little.
    pub(super) fn reserve(
        &mut self,
        bytes: u64,
        what: &str,
        pass: &Pass<'_>,
    ) -> Result<(), UsageError> {
        self.reserved_bytes += bytes;
        self.memory_bytes = memory_left(self.reserved_bytes, what, self.limit, pass.threads)?;
        Ok(())
    }

    /// Bytes that the places and names of the reads take.
    pub(super) fn held_bytes(&self) -> u64 {
        self.reserved_bytes
    }

    /// How reads are aligned with their signal.
    pub(super) fn read_options(&self) -> ReadOptions {
        if self.is_rna { ReadOptions::rna() } else { ReadOptions::dna() }
    }

    /// First and last base of the region, 0-based.
    pub(super) fn region(&self) -> Option<RangeInclusive<u64>> {
        self.region.clone()
    }

    /// The header of the aligned reads.
    pub(super) fn header(&self) -> &Header {
        &self.alignments.headers()[0]
    }

    /// Name of the model that was given; empty for that of the program.
    pub(super) fn model_name(&self) -> &[u8] {
        if self.has_own_model { b"" } else { self.nucleotides.name.as_bytes() }
    }

    /// Name of the reference sequence of a record.
    pub(super) fn contig_name(&self, record: &RecordRef<'_>) -> &[u8] {
        let id = usize::try_from(record.reference_id()).ok();
        let reference = id.and_then(|id| self.header().references().get(id));
        reference.map(|it| it.name.as_bytes()).unwrap_or_default()
    }

    /// Whether a record reaches into the region, if there is one.
    pub(super) fn is_in_region(&self, record: &RecordRef<'_>) -> bool {
        self.filter.covers(record)
    }

    /// Calls all reads; `commit` takes one after the other, in the order of the BAM.
    pub(super) fn call<K: ReadKernel>(
        &self,
        pass: &Pass<'_>,
        kernel: &K,
        mut commit: impl FnMut(&Committed<'_, K::Output>) -> Result<(), PassError> + Send,
    ) -> Result<CallTotals, PassError> {
        let inputs = CallInputs {
            alignments: &self.alignments,
            reference: &self.reference,
            contigs: self.contigs.clone(),
            sequences: self.sequences.as_ref(),
            signals: &self.signals,
            filter: self.filter,
            hard_clips: self.hard_clips,
        };
        let times = CallTimes::default();
        let options = CallOptions {
            threads: pass.threads,
            memory_bytes: self.memory_bytes,
            block_bytes: self.block_bytes,
            times: &times,
            components: &pass.components,
        };
        let watch = || pass.watch("call");
        let totals = flow::run(&inputs, kernel, &options, &watch, |committed| {
            match committed.outcome {
                Some(Ok(_)) => pass.count_read(),
                Some(Err(Skip::SignalUnreadable(fault))) if !self.is_again => pass.lose(fault)?,
                _ => {}
            }
            commit(&committed)
        })?;
        pass.add_components(vec![
            ("bam_s", times.bam.seconds()),
            ("fasta_s", times.reference.seconds()),
            ("reads_s", times.sequences.seconds()),
            ("events_s", times.events.seconds()),
            ("abea_s", times.align.seconds()),
            ("scaling_s", times.scaling.seconds()),
            ("hmm_s", times.hmm.seconds()),
            ("format_s", times.format.seconds()),
            ("wait_s", times.wait.seconds()),
        ]);
        Ok(totals)
    }
}

/// The least memory of the whole process, without names and places of reads.
fn least_bytes(threads: NonZeroUsize) -> u64 {
    OWN_BYTES + WINDOW_BYTES + WORKER_BYTES * threads.get() as u64
}

/// The memory of the whole process.
///
/// # Errors
/// It is too little for so many threads.
fn memory_limit(
    requested: Option<ByteSize>,
    threads: NonZeroUsize,
) -> seqloom_terminal::Result<ByteSize> {
    let requested = requested.unwrap_or_else(default_memory);
    let (limit, space_limit) = within_address_space(requested, threads);
    let least = least_bytes(threads);
    if let Some(space_limit) = space_limit.filter(|_| limit.0 < least) {
        return Err(beyond_address_space(space_limit, least, threads).into());
    }
    if limit.0 < least {
        let least = ByteSize(least);
        let text = format!("-m {limit} is too little for {threads} threads: {least} is the least");
        return Err(UsageError(text).into());
    }
    Ok(limit)
}

/// What [`memory_left`] says of names and places of the reads.
const READS_TAKE: &str = "names and places of the reads take";

/// What is left of the memory besides the program and `held` bytes; `what` says whose these are.
///
/// # Errors
/// It is too little.
fn memory_left(
    held: u64,
    what: &str,
    limit: ByteSize,
    threads: NonZeroUsize,
) -> Result<u64, UsageError> {
    let (left, least) = (limit.0.saturating_sub(OWN_BYTES + held), least_bytes(threads));
    if left < least - OWN_BYTES {
        let (held, requested) = (ByteSize(held), ByteSize(least + held));
        return Err(UsageError(format!(
            "-m {limit} is too little: {what} {held}, {requested} is the least"
        )));
    }
    Ok(left)
}

/// # Errors
/// When an output is an input, or an index of one that is used.
fn refuse_same_file(
    arguments: &CallArguments,
    signal: &[PathBuf],
    files: &OwnFiles<'_>,
) -> Result<(), UsageError> {
    let CallArguments { bam, reference, reads, kmer_model, .. } = arguments;
    let mut indices: Vec<PathBuf> = signal.iter().map(|path| index_path(path)).collect();
    indices.extend(bam_indices(bam));
    indices.extend(cram_indices(bam));
    indices.extend([".fai", ".gzi"].map(|suffix| with_suffix(reference, suffix)));
    let inputs = [Some(bam), Some(reference), reads.as_ref(), kmer_model.as_ref()];
    let inputs = inputs.into_iter().flatten().chain(files.inputs.iter().copied());
    let inputs = inputs.chain(signal).chain(&indices);
    let outputs = [("-o", Some(&arguments.output)), ("--json", arguments.json.as_ref())];
    let outputs = outputs.into_iter().chain(files.outputs.iter().copied());
    let given = outputs.filter_map(|(label, path)| Some((label, path?.as_path())));
    arguments.run.refuse_same_file(inputs.map(PathBuf::as_path), given)
}
