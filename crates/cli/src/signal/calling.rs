//! What `methylation`, `eventalign` and `train` have in common: their inputs, and the checks that
//! these belong together.

use std::num::NonZeroUsize;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use seqloom_calling::events::ReadOptions;
use seqloom_calling::flow::{
    self, CallInputs, CallOptions, CallTimes, CallTotals, Committed, Filter, HardClips, ReadKernel,
    ReadSequences, SignalFiles, Skip,
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

use super::call_arguments::CallArguments;
use super::calling_inputs::{Opened, match_contigs, open_alignments, open_sequences, open_signals};
use super::error::PassError;
use super::model::{GivenModel, Molecules, nucleotide_model};
use super::pass::Pass;
use crate::output::run::{beyond_address_space, default_memory, within_address_space};

/// Memory of the program itself: code, models, buffers of the reader and of the output.
const OWN_BYTES: u64 = 96 << 20;

/// Least memory for the reads that a worker has in hand: one of 10,000 bases.
const WORKER_BYTES: u64 = 8 << 20;

/// Least memory for the records and results that wait.
const WINDOW_BYTES: u64 = 32 << 20;

/// Files that only one of the commands has, as they are given.
pub(super) struct OwnFiles<'a> {
    pub(super) inputs: &'a [&'a PathBuf],
    /// Options and paths of outputs.
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
        let reference = IndexedFasta::open(&arguments.reference)?;
        if let Some(index) = reference.old_index() {
            pass.warn(&format!("{} is older than its file, but fits it", index.display()));
        }
        let header = &alignments.headers()[0];
        let contigs = match_contigs(pass, header, &reference, &arguments.bam)?;
        let kmer_model = arguments.kmer_model();
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
            filter: arguments.filter(region),
            hard_clips: arguments.hard_clips(),
            region: region.map(|it| it.start..=it.end - 1),
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
    /// Too little memory is left.
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
