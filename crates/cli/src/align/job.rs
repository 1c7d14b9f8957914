//! One run of `align`, opened: everything that can be known and refused before the engine is
//! loaded.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use seqloom_align::CohortRange;
use seqloom_align::index::IndexInfo;
use seqloom_align::ingest::{IngestOptions, IngestTrace, LaneInput};
use seqloom_format::bam::{Header, Reference};
use seqloom_io::Output;
use seqloom_io::reads::InputBlock;
use seqloom_prep::duplicates::LibraryTable;
use seqloom_prep::metrics::MetricsRequest;
use seqloom_prep::partition::GenomeBins;
use seqloom_prep::pipeline::ReferenceUse;
use seqloom_report::run::{IndexReport, PlacementReport};
use seqloom_runtime::memory::ByteSize;
use seqloom_runtime::placement::Plan;
use seqloom_runtime::pool::Interrupted;
use seqloom_terminal::{Console, UsageError};

use super::arguments::{AlignArguments, EngineChoice};
use super::certified::CertifiedRun;
use super::header::library_table;
use super::lanes::LaneSpecs;
use super::memory::{Demand, MemoryPlan};
use super::numa;
use super::opened::{InputPart, OpenLane, OpenLanes, Start};
use super::outcomes::Outcomes;
use crate::output::cram;
use crate::output::files::OutputFiles;
use crate::output::run::Run;
use crate::recalibration::Recalibration;

/// All that a run was resolved to: options, header, inputs, memory, output.
pub(crate) struct Job<'a> {
    pub(super) arguments: &'a AlignArguments,
    pub(crate) run: Run<'a>,
    /// Lanes, each aligned by itself.
    pub(super) lanes: Vec<OpenLane>,
    pub(super) header: Header,
    pub(crate) plan: MemoryPlan,
    pub(super) bins: GenomeBins,
    pub(crate) ingest: IngestOptions,
    /// Cohorts that are aligned. Where these are a part of the input, it is a single lane.
    range: CohortRange,
    pub(super) trace: IngestTrace,
    pub(super) output: OutputFiles<'a>,
    /// Outcomes of the reads, where the mode notes them.
    pub(super) outcomes: Option<Outcomes>,
    pub(super) finish: FinishInputs<'a>,
    pub(crate) certified: CertifiedRun,
    /// The index, and what it makes of the memory.
    pub(super) index: IndexReport,
    /// Placement of the index, once it is loaded.
    pub(super) placement: Option<PlacementReport>,
}

/// A job, with what it uses up.
pub(crate) struct OpenedJob<'a> {
    pub(crate) job: Job<'a>,
    /// Blocks fetched to learn the read length, of each lane.
    pub(crate) first: Vec<Vec<InputBlock>>,
    /// One, or its stripes; none where other processes write the output.
    pub(super) outputs: Vec<Output>,
}

impl<'a> Job<'a> {
    /// Opens the input and the output and shares out the memory. With a part of the input, no
    /// output is opened, and nothing loaded that only the output needs.
    pub(crate) fn open(
        arguments: &'a AlignArguments,
        inputs: LaneSpecs,
        index: &IndexInfo,
        part: Option<InputPart>,
        console: &'a Console,
    ) -> seqloom_terminal::Result<OpenedJob<'a>> {
        let run = Run::new(&arguments.run, console)?;
        run.compress_at(arguments.output.level);
        inputs.report_ignored(console);
        let opened = OpenLanes::open(arguments, inputs.lanes, index, Start::of(part.as_ref()))?;
        opened.warn(console);
        let mut opened = opened;
        let finish = match part {
            None => FinishInputs::prepare(arguments, &mut opened.header, console)?,
            Some(_) => FinishInputs::default(),
        };
        let loaded_bytes = finish.memory_bytes(run.threads, &opened.header);
        let demand = opened.demand(arguments, index, run.threads, loaded_bytes);
        let MemoryShares { plan, placement, certified, least_memory_bytes } =
            MemoryShares::of(arguments, index, &run, demand)?;
        let OpenLanes { lanes, first, header, .. } = opened;
        let references = header.references();
        let (output, outputs) = match part {
            None => open_outputs(arguments, references)?,
            Some(_) => (OutputFiles::of_others(&arguments.output, references)?, Vec::new()),
        };
        let outcomes = arguments.mode.outcomes(arguments.second.is_some())?;
        let IndexInfo { memory_bytes, sa_stride, .. } = *index;
        let report = IndexReport { memory_bytes, sa_stride, least_memory_bytes };
        let job = Self {
            arguments,
            bins: GenomeBins::new(references),
            ingest: IngestOptions {
                threads: run.threads,
                cores: demand.cores,
                cohort_bases: arguments.input.cohort_bases,
                held_limits: plan.held,
                placement,
            },
            run,
            lanes,
            header,
            plan,
            range: part.map(|part| part.range).unwrap_or_default(),
            trace: IngestTrace::default(),
            output,
            outcomes,
            finish,
            certified,
            index: report,
            placement: None,
        };
        Ok(OpenedJob { job, first, outputs })
    }

    pub(super) fn is_sorted(&self) -> bool {
        !self.arguments.no_sort
    }

    pub(crate) fn marks_duplicates(&self) -> bool {
        !self.arguments.duplicates.no_mark_duplicates
    }

    /// Folders for records that do not fit memory.
    pub(crate) fn spill_folders(&self) -> Vec<PathBuf> {
        self.arguments.run.spill_folders(self.output.path())
    }

    /// The names of all inputs.
    pub(crate) fn inputs(&self) -> Vec<String> {
        self.lanes.iter().flat_map(OpenLane::inputs).collect()
    }

    /// What is ingested: all lanes, with what was fetched of them and where their records go.
    pub(super) fn lane_inputs<'s, S>(
        &'s self,
        first: Vec<Vec<InputBlock>>,
        sinks: &'s [S],
    ) -> Vec<LaneInput<'s, S>> {
        let input = |((lane, first), sink): ((&'s OpenLane, Vec<InputBlock>), &'s S)| LaneInput {
            first,
            range: self.range.clone(),
            tags: lane.tags.clone(),
            ..LaneInput::whole(&lane.source, lane.pairing, sink)
        };
        self.lanes.iter().zip(first).zip(sinks).map(input).collect()
    }

    /// Bytes of the inputs read so far, and in all.
    pub(super) fn input_bytes(&self) -> (u64, Option<u64>) {
        let read = self.lanes.iter().map(|lane| lane.source.bytes_read()).sum();
        (read, self.lanes.iter().map(|lane| lane.source.total_bytes()).sum())
    }

    /// The libraries of the output.
    pub(crate) fn libraries(&self) -> seqloom_terminal::Result<LibraryTable> {
        library_table(self.arguments, &self.header)
    }

    /// Says what is aligned, and by what.
    pub(super) fn announce(&self) {
        let of_lane = |lane: &OpenLane| lane.inputs().join(" + ");
        let inputs: Vec<String> = self.lanes.iter().map(of_lane).collect();
        self.run.announce("align", &inputs.join(", "), self.output.path());
        for (lane, files) in self.lanes.iter().zip(&inputs) {
            if let Some(line) = &lane.read_group {
                self.run.console.info(&format!("align: {files}: {}", line.replace('\t', " ")));
            }
        }
        self.announce_lanes();
        self.announce_index();
    }

    /// Says how many lanes are read side by side, where there are several.
    fn announce_lanes(&self) {
        if self.lanes.len() > 1 {
            let (lanes, at_a_time) = (self.lanes.len(), self.plan.held.lanes.get());
            self.run.console.info(&format!("align: {lanes} lanes, {at_a_time} at a time"));
        }
    }

    /// Says what the index takes of the memory.
    fn announce_index(&self) {
        let IndexReport { memory_bytes, sa_stride, least_memory_bytes } = self.index;
        self.run.console.info(&format!(
            "align: index of {}, suffix array sampled every {sa_stride} rows; this run needs -m {} \
             at least",
            ByteSize(memory_bytes),
            ByteSize(least_memory_bytes)
        ));
    }

    /// Says where the index and the workers are, on machines where there is a choice.
    pub(crate) fn announce_placement(&self, placement: &PlacementReport) {
        if !self.ingest.placement.is_nothing() || self.ingest.placement.small_pages {
            numa::describe(placement).iter().for_each(|line| self.run.console.info(line));
        }
    }

    /// Says why the certified path is off, if it is and could be on, and why samples are not used.
    pub(crate) fn announce_certified(&self) {
        if let Some(reason) = self.certified.samples_unused() {
            self.run.console.info(&format!("align: without denser samples: {reason}"));
        }
        let requested = self.arguments.algorithm.no_certified_path
            || !self.arguments.mode.mode.is_bwa()
            || !matches!(self.arguments.algorithm.engine, EngineChoice::OfMode);
        if let (false, Some(reason)) = (requested, self.certified.off_because()) {
            let text = format!("align: without the certified path: {reason}");
            self.run.console.info(&text);
        }
    }

    /// Draws progress, and looks whether a signal stops the run.
    pub(crate) fn watch(&self, phase: &'static str, records: u64) -> Result<(), Interrupted> {
        self.run.watch(phase, self.input_bytes(), records)
    }
}

/// Opens what is written, one or its stripes.
fn open_outputs<'a>(
    arguments: &'a AlignArguments,
    references: &[Reference],
) -> seqloom_terminal::Result<(OutputFiles<'a>, Vec<Output>)> {
    let (output, stripes, is_sorted) = (&arguments.output, arguments.stripes, !arguments.no_sort);
    OutputFiles::open_striped(output, stripes, references, is_sorted)
}

/// How `-m` is shared out, and what that decides.
struct MemoryShares {
    plan: MemoryPlan,
    placement: Plan,
    certified: CertifiedRun,
    /// The least `-m` that the run needs.
    least_memory_bytes: u64,
}

impl MemoryShares {
    fn of(
        arguments: &AlignArguments,
        index: &IndexInfo,
        run: &Run<'_>,
        demand: Demand,
    ) -> seqloom_terminal::Result<Self> {
        let certified = CertifiedRun::plan(arguments, index, demand, run.memory);
        let tables_bytes = certified.table_bytes(index.bases) + arguments.mode.table_bytes(index);
        let index_bytes = index.memory_bytes + tables_bytes;
        let demand = certified.with_searches(Demand { index_bytes, ..demand });
        let with = |replicas| Demand { replicas, ..demand };
        let fit = |replicas| with(replicas).floor_bytes() <= run.memory.0;
        let threads = run.threads.get();
        let placement = numa::plan(&arguments.placement, threads, index_bytes, fit)?;
        let demand = with(placement.groups.len());
        let least_memory_bytes = demand.floor_bytes();
        let plan = demand.plan(run.memory).map_err(|it| run.explained(it, least_memory_bytes))?;
        Ok(Self { plan, placement, certified, least_memory_bytes })
    }
}

/// Inputs that only the finish phase needs.
#[derive(Default)]
pub(crate) struct FinishInputs<'a> {
    pub(super) recalibration: Option<Recalibration<'a>>,
    /// Metrics that are counted as records are written.
    pub(super) metrics: MetricsRequest,
    /// Uses of the bases of the reference.
    pub(super) uses: ReferenceUse,
}

impl<'a> FinishInputs<'a> {
    /// Reads it, and refuses what would stop the run in the end. The header of CRAM gets the MD5s
    /// of its sequences.
    pub(crate) fn prepare(
        arguments: &'a AlignArguments,
        header: &mut Header,
        console: &Console,
    ) -> seqloom_terminal::Result<Self> {
        let recalibration = Recalibration::prepare(
            &arguments.recalibration,
            header,
            arguments.read_groups_from(),
            console,
        )?;
        let mut metrics = arguments.output.metrics_request();
        // Stripes are written side by side: whose records follow whose is not known.
        metrics.depth &= arguments.stripes == NonZeroUsize::MIN;
        let has_fasta = has_fasta(arguments, metrics, console);
        let uses = arguments.output.reference_use(&arguments.recalibration, has_fasta);
        check_reference(arguments, header, uses)?;
        Ok(Self { recalibration, metrics, uses })
    }

    /// Memory that it takes all along.
    fn memory_bytes(&self, threads: NonZeroUsize, header: &Header) -> u64 {
        let (groups, sequences) = (header.read_groups().len(), header.references().len());
        self.recalibration.as_ref().map_or(0, |it| it.memory_bytes(header))
            + self.metrics.memory_bytes(threads, groups, sequences)
    }
}

/// Whether there is a FASTA of the reference for metrics.
fn has_fasta(arguments: &AlignArguments, metrics: MetricsRequest, console: &Console) -> bool {
    let has_fasta = arguments.reference_fasta.is_some() || arguments.fasta().is_file();
    if metrics.wants_reference() && !has_fasta {
        console.info(&format!(
            "align: {} is not a FASTA file, so metrics have neither mismatches nor GC bias; \
             --reference-fasta names one",
            arguments.fasta().display()
        ));
    }
    has_fasta
}

/// The reference's bases are loaded twice, for hours of alignment should not end with a file that
/// is of another reference: here, where there is no index in memory yet, and once that is gone.
fn check_reference(
    arguments: &AlignArguments,
    header: &mut Header,
    uses: ReferenceUse,
) -> seqloom_terminal::Result<()> {
    if !uses.is_any() {
        return Ok(());
    }
    let fasta = arguments.fasta();
    if uses.cram && !fasta.is_file() {
        return Err(UsageError(format!(
            "{} is not a FASTA file, and CRAM needs the bases of the reference; --reference-fasta \
             names one",
            fasta.display()
        ))
        .into());
    }
    let sequences = uses.load(fasta, header.references())?;
    if uses.cram {
        cram::set_digests(header, &sequences, fasta)?;
    }
    Ok(())
}
