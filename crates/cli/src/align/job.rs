//! One run of `align`, prepared: everything that can be known and refused before the engine is
//! loaded.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use seqloom_align::cohort::{CohortRange, Pairing};
use seqloom_align::emit::RecordTags;
use seqloom_align::index::IndexInfo;
use seqloom_align::ingest::{IngestOptions, IngestTrace, LaneInput};
use seqloom_align::input_tags::InputTags;
use seqloom_align::mates::MateOrder;
use seqloom_format::bam::Header;
use seqloom_io::sink::output::Output;
use seqloom_io::source::{
    Compression, Container, Fetch, FetchScratch, InputBlock, LaneStart, ReadSource, RestartPoint,
    SourceOptions,
};
use seqloom_prep::metrics::quality::MetricsRequest;
use seqloom_prep::partition::genome_bins::GenomeBins;
use seqloom_report::run::{IndexReport, PlacementReport};
use seqloom_runtime::machine;
use seqloom_runtime::memory::ByteSize;
use seqloom_terminal::{Console, UsageError, signals};

use super::arguments::{AlignArguments, EngineChoice};
use super::certified::CertifiedRun;
use super::header::{self, HeaderParts};
use super::lanes::{self, InputLane, InputLanes};
use super::mode::Mode;
use super::outcomes::Outcomes;
use super::placing;
use super::plan::{Demand, MemoryPlan, mean_read_bases};
use crate::clash::{refuse_clashes, refuse_one_file_as_both};
use crate::output::plan::{OutputPlan, refuse_replacing};
use crate::output::run::Run;
use crate::output::{command_line, stripes};
use crate::recalibration::{Recalibration, load_reference};

/// Blocks looked at for a read that tells the read length; empty reads may fill many.
const MAX_FIRST_BLOCKS: usize = 16;

/// Longest record of FASTQ or FASTA: thirty times what the longest read that the engine takes
/// needs, so that comments have room, and a small part of what each worker has.
const MAX_READ_BYTES: usize = 4 << 20;

/// See the module documentation.
pub(crate) struct Job<'a> {
    pub(super) arguments: &'a AlignArguments,
    pub(crate) run: Run<'a>,
    /// What is aligned, each by itself.
    pub(super) lanes: Vec<Lane>,
    pub(super) header: Header,
    pub(crate) plan: MemoryPlan,
    pub(super) bins: GenomeBins,
    pub(crate) ingest: IngestOptions,
    /// Which cohorts of the input: of a part of it, there is one lane.
    range: CohortRange,
    pub(super) trace: IngestTrace,
    pub(super) output: OutputPlan<'a>,
    /// What became of the reads, where the mode notes that.
    pub(super) outcomes: Option<Outcomes>,
    pub(super) recalibration: Option<Recalibration<'a>>,
    pub(crate) certified: CertifiedRun,
    /// Metrics that are counted as records are written.
    pub(super) metrics: MetricsRequest,
    /// Whether they compare records with the reference.
    pub(super) compares: bool,
    /// The index, and what it makes of the memory.
    pub(super) index: IndexReport,
    /// Where the index was put, once it is loaded.
    pub(super) placement: Option<PlacementReport>,
}

/// Files that are aligned together, by themselves.
pub(crate) struct Lane {
    pub(crate) source: ReadSource,
    pub(crate) pairing: Pairing,
    tags: RecordTags,
    /// Its read group line, where a sheet or names of reads have it.
    pub(super) read_group: Option<String>,
}

/// A job, with what it uses up.
pub(crate) struct Prepared<'a> {
    pub(crate) job: Job<'a>,
    /// Blocks fetched to learn the read length, of each lane.
    pub(crate) first: Vec<Vec<InputBlock>>,
    /// One, or its stripes; none where other processes write the output.
    pub(super) outputs: Vec<Output>,
}

impl<'a> Job<'a> {
    /// Opens the input and the output and shares out the memory.
    pub(super) fn prepare(
        arguments: &'a AlignArguments,
        inputs: InputLanes,
        index: &IndexInfo,
        console: &'a Console,
    ) -> anyhow::Result<Prepared<'a>> {
        Self::prepare_part((arguments, inputs), index, None, console)
    }

    /// As [`Job::prepare`]; with a part of the input, no output is opened, and nothing loaded that
    /// only the output needs.
    pub(crate) fn prepare_part(
        (arguments, inputs): (&'a AlignArguments, InputLanes),
        index: &IndexInfo,
        part: Option<InputPart>,
        console: &'a Console,
    ) -> anyhow::Result<Prepared<'a>> {
        let run = Run::new(&arguments.run, console)?;
        run.compress_at(arguments.output.level);
        inputs.tell_ignored(console);
        let opened = OpenedLanes::open(arguments, inputs.lanes, index, Start::of(part.as_ref()))?;
        let Late { recalibration, metrics, compares } = match part {
            None => Late::prepare(arguments, &opened.header, console)?,
            Some(_) => Late::default(),
        };
        let (threads, cores) = (run.threads, machine::available_cores());
        let bins = GenomeBins::new(opened.header.references());
        let loaded_bytes = recalibration.as_ref().map_or(0, Recalibration::size_bytes);
        let sequences = opened.header.references().len();
        let groups = opened.header.read_groups().len();
        let loaded_bytes = loaded_bytes + metrics.memory_bytes(threads, groups, sequences);
        let demand = opened.demand(arguments, index, (threads, cores), &bins, loaded_bytes);
        let OpenedLanes { lanes, first, header } = opened;
        let certified = CertifiedRun::plan(arguments, index, demand, run.memory);
        let tables_bytes = certified.table_bytes(index.bases) + arguments.mode.table_bytes(index);
        let index_bytes = index.memory_bytes + tables_bytes;
        let demand = certified.with_searches(Demand { index_bytes, ..demand });
        let with = |replicas| Demand { replicas, ..demand };
        let fit = |replicas| with(replicas).floor_bytes() <= run.memory.0;
        let placement = placing::plan(&arguments.placement, threads.get(), index_bytes, fit)?;
        let demand = with(placement.groups.len());
        let floor_bytes = demand.floor_bytes();
        let plan = demand.plan(run.memory).map_err(|it| run.explained(it, floor_bytes))?;
        let references = header.references();
        let (plan_of_output, outputs) = match part {
            None => {
                let (output, stripes) = (&arguments.output, arguments.stripes);
                OutputPlan::open_striped(output, stripes, references, !arguments.no_sort)?
            }
            Some(_) => (OutputPlan::of_others(&arguments.output, references)?, Vec::new()),
        };
        let outcomes = arguments.mode.outcomes(arguments.second.is_some())?;
        signals::defer();
        let ingest = IngestOptions {
            threads,
            cores,
            cohort_bases: arguments.input.cohort_bases,
            held_limits: plan.held,
            placement,
        };
        let job = Self {
            arguments,
            run,
            lanes,
            header,
            plan,
            bins,
            ingest,
            range: part.map(|part| part.range).unwrap_or_default(),
            trace: IngestTrace::default(),
            output: plan_of_output,
            outcomes,
            recalibration,
            certified,
            metrics,
            compares,
            index: IndexReport {
                memory_bytes: index.memory_bytes,
                sa_stride: index.sa_stride,
                least_memory_bytes: floor_bytes,
            },
            placement: None,
        };
        Ok(Prepared { job, first, outputs })
    }

    pub(super) fn is_sorted(&self) -> bool {
        !self.arguments.no_sort
    }

    pub(crate) fn marks_duplicates(&self) -> bool {
        !self.arguments.duplicates.no_mark_duplicates
    }

    /// Where records go for which there is no memory.
    pub(crate) fn spill_folders(&self) -> Vec<PathBuf> {
        self.arguments.run.spill_folders(self.output.path())
    }

    /// The names of all inputs.
    pub(crate) fn inputs(&self) -> Vec<String> {
        self.lanes.iter().flat_map(Lane::inputs).collect()
    }

    /// What is ingested: all lanes, with what was fetched of them and where their records go.
    pub(super) fn lane_inputs<'s, S>(
        &'s self,
        first: Vec<Vec<InputBlock>>,
        sinks: &'s [S],
    ) -> Vec<LaneInput<'s, S>> {
        let input = |((lane, first), sink): ((&'s Lane, Vec<InputBlock>), &'s S)| LaneInput {
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

    /// Whether every record gets a read group of the command line or of the sheet.
    pub(super) fn tags_records(&self) -> bool {
        self.lanes.iter().all(|lane| lane.tags.read_group.is_some())
    }

    /// Says how many lanes are read side by side, where there are several.
    pub(super) fn announce_lanes(&self) {
        if self.lanes.len() > 1 {
            let (lanes, beside) = (self.lanes.len(), self.plan.held.lanes.get());
            self.run.console.info(&format!("align: {lanes} lanes, {beside} at a time"));
        }
    }

    /// Says what the index takes of the memory.
    pub(super) fn announce_index(&self) {
        let IndexReport { memory_bytes, sa_stride, least_memory_bytes } = self.index;
        self.run.console.info(&format!(
            "align: index of {}, a sample every {sa_stride} rows; this run needs -m {} at least",
            ByteSize(memory_bytes),
            ByteSize(least_memory_bytes)
        ));
    }

    /// Says where the index and the workers are, on machines where there is a choice.
    pub(crate) fn announce_placement(&self, placement: &PlacementReport) {
        if !self.ingest.placement.is_nothing() || self.ingest.placement.small_pages {
            placing::describe(placement).iter().for_each(|line| self.run.console.info(line));
        }
    }

    /// Says why the certified path is off, if it is and could be on.
    pub(crate) fn announce_certified(&self) {
        let asked_for = self.arguments.algorithm.no_certified_path
            || self.arguments.mode.mode != Mode::Bwa
            || !matches!(self.arguments.algorithm.engine, EngineChoice::Bwa);
        if let (false, Some(reason)) = (asked_for, self.certified.off_because()) {
            let text = format!("align: without the certified path: {reason}");
            self.run.console.info(&text);
        }
    }

    /// Draws progress; `false` when a signal asks to stop.
    pub(crate) fn watch(&self, phase: &'static str, records: u64) -> bool {
        self.run.watch(phase, self.input_bytes(), records)
    }
}

/// Refuses options that make no sense together, before anything is opened.
///
/// # Errors
/// [`UsageError`].
pub(crate) fn check_options(arguments: &AlignArguments, lanes: &InputLanes) -> anyhow::Result<()> {
    arguments.output.format()?;
    let inputs = arguments.files().into_iter().chain(lanes.files().cloned());
    let inputs: Vec<PathBuf> = inputs.collect();
    let outputs = arguments.output.outputs().chain(arguments.recalibration.outputs());
    let outputs = outputs.chain(arguments.run.outputs());
    let of_reads = arguments.mode.outputs(arguments.second.is_some());
    let outputs = outputs.chain(of_reads.iter().map(|(name, path)| (*name, path.as_path())));
    refuse_clashes(inputs.iter().map(PathBuf::as_path), outputs)?;
    let is_striped = arguments.stripes > NonZeroUsize::MIN;
    if is_striped {
        stripes::check_options(&arguments.output)?;
    }
    let more = arguments.recalibration.outputs().chain(arguments.run.outputs());
    let stripes = is_striped.then(|| stripes::paths(&arguments.output.output, arguments.stripes));
    let stripes = stripes.iter().flatten().map(PathBuf::as_path);
    refuse_replacing(&arguments.output, more.map(|(_, path)| path).chain(stripes))?;
    let refuse = |text: &str| Err(UsageError(text.to_owned()).into());
    if arguments.no_sort && !arguments.duplicates.no_mark_duplicates {
        return refuse(
            "--no-sort streams records as they are made, before duplicates are known; \
             add --no-mark-duplicates",
        );
    }
    if arguments.no_sort && arguments.recalibration.is_asked() {
        return refuse("--no-sort streams records before covariates are counted; leave one out");
    }
    let metrics = arguments.output.metrics_request();
    if arguments.no_sort && !metrics.is_empty() {
        return refuse(
            "--no-sort streams records, and --metrics and --html count sorted ones; leave one out",
        );
    }
    let is_compared = arguments.recalibration.counts() || metrics.wants_reference();
    if arguments.reference_fasta.is_some() && !is_compared {
        return refuse(
            "--reference-fasta is for --known-sites, --metrics alignment-summary and --html; \
             nothing else looks at it",
        );
    }
    let stdin = Path::new("-");
    let first = arguments.first.as_deref();
    if first == Some(stdin) && arguments.second.as_deref() == Some(stdin) {
        return refuse("standard input cannot be both files; -p takes mates next to each other");
    }
    if let (Some(first), Some(second)) = (first, &arguments.second) {
        refuse_one_file_as_both(first, second)?;
    }
    let names = &arguments.names;
    if names.sample.is_some() && arguments.sheet.is_none() && !names.rg_from_names {
        return refuse("--sample is the sample of --rg-from-names, or the one of --input to align");
    }
    if arguments.sheet.is_some() && arguments.no_sort {
        return refuse("--no-sort streams one pair of files; leave it or --input out");
    }
    if arguments.sheet.is_some() && arguments.mode.keeps_reads() {
        return refuse("files of reads are of one pair of files; leave them or --input out");
    }
    if lanes.lanes.iter().any(|lane| lane.files.len() > 1) && arguments.input.interleaved {
        return refuse("-p takes one file with mates next to each other, not two files");
    }
    Ok(())
}

/// What only the end of the run needs.
#[derive(Default)]
pub(crate) struct Late<'a> {
    pub(crate) recalibration: Option<Recalibration<'a>>,
    /// Metrics that are counted as records are written.
    pub(crate) metrics: MetricsRequest,
    /// Whether they compare records with the reference.
    pub(crate) compares: bool,
}

impl<'a> Late<'a> {
    /// Reads it, and refuses what would stop the run in the end.
    pub(crate) fn prepare(
        arguments: &'a AlignArguments,
        header: &Header,
        console: &Console,
    ) -> anyhow::Result<Self> {
        let recalibration = Recalibration::prepare(&arguments.recalibration, header)?;
        let mut metrics = arguments.output.metrics_request();
        // Stripes are written side by side: whose records follow whose is not known.
        metrics.depth &= arguments.stripes == NonZeroUsize::MIN;
        let compares = compares(arguments, metrics, console);
        check_reference(arguments, header, compares)?;
        Ok(Self { recalibration, metrics, compares })
    }
}

/// Whether metrics compare records with the reference: where its FASTA is at hand.
fn compares(arguments: &AlignArguments, metrics: MetricsRequest, console: &Console) -> bool {
    let is_at_hand = arguments.reference_fasta.is_some() || arguments.fasta().is_file();
    if metrics.wants_reference() && !is_at_hand {
        console.info(&format!(
            "align: {} is no FASTA, so metrics have neither mismatches nor GC bias; \
             --reference-fasta names one",
            arguments.fasta().display()
        ));
    }
    metrics.wants_reference() && is_at_hand
}

/// The reference's bases are loaded twice, for hours of alignment should not end with a file that
/// is of another reference: here, where there is no index in memory yet, and once that is gone.
fn check_reference(
    arguments: &AlignArguments,
    header: &Header,
    compares: bool,
) -> anyhow::Result<()> {
    if compares || arguments.recalibration.counts() {
        drop(load_reference(arguments.fasta(), header.references())?);
    }
    Ok(())
}

fn open_source(
    arguments: &AlignArguments,
    files: &[PathBuf],
    start: Start<'_>,
) -> anyhow::Result<ReadSource> {
    let (starts, restart_every_bytes) = match start {
        Start::Beginning => (Vec::new(), None),
        Start::Scan { restart_every_bytes } => (Vec::new(), Some(restart_every_bytes)),
        Start::Part(part) => (part.starts(), None),
    };
    let options = SourceOptions {
        keep_comments: arguments.input.append_comments,
        assume_phred33: arguments.input.assume_phred33,
        phred64: arguments.input.phred64,
        max_text_bytes: MAX_READ_BYTES,
        restart_every_bytes,
        ..SourceOptions::default()
    };
    let source = ReadSource::open_at(files, options, &starts)?;
    let wants_names = arguments.sheet.is_some() || arguments.names.rg_from_names;
    if wants_names && is_bam(&source) {
        let what = if arguments.sheet.is_some() { "a sheet has" } else { "--rg-from-names is for" };
        let text = format!("{}: {what} FASTQ, and this is BAM", source.path(0).display());
        return Err(UsageError(text).into());
    }
    refuse_phred64(arguments, &source)?;
    Ok(source)
}

/// Refuses Phred+64 where there is no quality, or one without an offset.
fn refuse_phred64(arguments: &AlignArguments, source: &ReadSource) -> Result<(), UsageError> {
    let has_qualities = |lane: &usize| {
        matches!(source.format(*lane).container, Container::Fastq | Container::WrappedFastq)
    };
    match (0..source.lanes()).find(|lane| !has_qualities(lane)) {
        Some(lane) if arguments.input.phred64 => {
            let path = source.path(lane).display();
            Err(UsageError(format!("--phred64 is for FASTQ, and {path} is none")))
        }
        _ => Ok(()),
    }
}

/// A part of an input, and what it takes to start there.
pub(crate) struct InputPart {
    pub(crate) range: CohortRange,
    /// Of each file, where it is within gzip.
    pub(crate) restarts: Vec<Option<RestartPoint>>,
}

impl InputPart {
    fn starts(&self) -> Vec<LaneStart> {
        let restarts = self.restarts.iter().cloned().chain(std::iter::repeat(None));
        let places = self.range.start.places.iter().copied();
        places.zip(restarts).map(|(place, restart)| LaneStart { place, restart }).collect()
    }
}

/// Where reading starts.
#[derive(Clone, Copy)]
pub(crate) enum Start<'a> {
    Beginning,
    /// There, with a note of where in gzip others may start, so many bytes of text apart.
    Scan {
        restart_every_bytes: u64,
    },
    Part(&'a InputPart),
}

impl<'a> Start<'a> {
    fn of(part: Option<&'a InputPart>) -> Self {
        part.map_or(Self::Beginning, Self::Part)
    }
}

/// Lanes that are open.
pub(crate) struct OpenedLanes {
    pub(crate) lanes: Vec<Lane>,
    /// Blocks fetched to learn the read length, of each lane.
    pub(crate) first: Vec<Vec<InputBlock>>,
    pub(crate) header: Header,
}

impl OpenedLanes {
    /// Opens what is aligned, or a part of it, and builds the header that it leads to.
    pub(crate) fn open(
        arguments: &AlignArguments,
        inputs: Vec<InputLane>,
        index: &IndexInfo,
        start: Start<'_>,
    ) -> anyhow::Result<Self> {
        let (mut sources, mut looked_at) = (Vec::new(), Vec::new());
        for lane in inputs {
            let source = open_source(arguments, &lane.files, start)?;
            let first = fetch_first(&source)?;
            check_mates(&source, &first)?;
            sources.push(source);
            looked_at.push((lane, first));
        }
        let read_groups = read_groups(arguments, &looked_at)?;
        let command_line = command_line();
        let built = header::build(&HeaderParts {
            index,
            read_groups: &read_groups,
            input: sources.first().and_then(ReadSource::header),
            sorted: !arguments.no_sort,
            command_line: (!arguments.output.no_pg).then_some(command_line.as_str()),
        })?;
        let is_told = arguments.sheet.is_some() || arguments.names.rg_from_names;
        let mut groups = built.read_groups.into_iter().zip(read_groups);
        let lane = |source| Lane::new(arguments, source, groups.next(), is_told);
        let lanes: Vec<Lane> = sources.into_iter().map(lane).collect();
        refuse_without_mates(arguments, &lanes)?;
        let first = looked_at.into_iter().map(|(_, first)| first).collect();
        Ok(Self { lanes, first, header: built.header })
    }

    /// What the memory of a run depends on.
    pub(crate) fn demand(
        &self,
        arguments: &AlignArguments,
        index: &IndexInfo,
        (threads, cores): (NonZeroUsize, NonZeroUsize),
        bins: &GenomeBins,
        loaded_bytes: u64,
    ) -> Demand {
        let lanes = &self.lanes;
        Demand {
            index_bytes: index.memory_bytes,
            replicas: 1,
            loaded_bytes,
            threads,
            cores,
            pairing: if arguments.mode.holds_cohorts() {
                most_held(lanes)
            } else {
                Pairing::Single
            },
            cohort_bases: arguments.input.cohort_bases,
            read_bases: self.first.iter().map(|first| mean_read_bases(first)).max().unwrap_or(0),
            input_bases_at_most: input_bases_at_most(lanes),
            keeps_input: arguments.mode.keeps_reads()
                || lanes.iter().any(|lane| lane.tags.input.wanted()),
            bins: if arguments.no_sort { 0 } else { bins.count() },
            marks_duplicates: !arguments.duplicates.no_mark_duplicates,
            lanes: lanes.len(),
        }
    }
}

/// Refuses options of pairs where no input has any.
fn refuse_without_mates(arguments: &AlignArguments, lanes: &[Lane]) -> Result<(), UsageError> {
    let has_mates = lanes.iter().any(|lane| lane.pairing != Pairing::Single);
    match arguments.mode.given_for_mates() {
        Some(option) if !has_mates => {
            Err(UsageError(format!("{option} is for mates, and the reads are single")))
        }
        _ => Ok(()),
    }
}

/// Lines of the read groups that are given: by `-R`, by names of reads, or of each lane of a sheet.
fn read_groups(
    arguments: &AlignArguments,
    lanes: &[(InputLane, Vec<InputBlock>)],
) -> anyhow::Result<Vec<String>> {
    let has_rows = lanes.iter().any(|(lane, _)| lane.row.is_some());
    Ok(if has_rows {
        lanes::read_group_lines(arguments.sheet.as_deref(), lanes)?
    } else {
        arguments.input.read_group.iter().cloned().collect()
    })
}

impl Lane {
    fn new(
        arguments: &AlignArguments,
        source: ReadSource,
        group: Option<(Vec<u8>, String)>,
        is_told: bool,
    ) -> Self {
        let (read_group, line) = group.unzip();
        let tags = RecordTags { read_group, input: input_tags(arguments, &source) };
        let pairing = pairing(arguments, &source);
        Self { pairing, tags, source, read_group: line.filter(|_| is_told) }
    }

    /// The names of its inputs.
    pub(super) fn inputs(&self) -> Vec<String> {
        (0..self.source.lanes()).map(|i| self.source.path(i).display().to_string()).collect()
    }
}

/// Whose cohorts are held: reads of one lane without mates need none.
fn most_held(lanes: &[Lane]) -> Pairing {
    let paired = lanes.iter().map(|lane| lane.pairing).find(|it| *it != Pairing::Single);
    paired.unwrap_or(Pairing::Single)
}

fn is_bam(source: &ReadSource) -> bool {
    matches!(source.format(0).container, Container::Bam)
}

/// Unaligned BAM says itself which reads are mates.
fn pairing(arguments: &AlignArguments, source: &ReadSource) -> Pairing {
    if source.lanes() == 2 {
        Pairing::TwoFiles
    } else if arguments.input.interleaved || is_bam(source) {
        Pairing::Adjacent
    } else {
        Pairing::Single
    }
}

fn input_tags(arguments: &AlignArguments, source: &ReadSource) -> InputTags {
    if is_bam(source) {
        InputTags::Fields
    } else if arguments.input.append_comments {
        InputTags::Comments
    } else {
        InputTags::Drop
    }
}

/// A bound of the bases of every lane, where all are uncompressed files: in FASTQ each base has its
/// quality.
fn input_bases_at_most(lanes: &[Lane]) -> Option<u64> {
    let of_lane = |lane: &Lane| {
        let source = &lane.source;
        let is_plain = |lane| source.format(lane).compression == Compression::Plain;
        let bytes = source.total_bytes().filter(|_| (0..source.lanes()).all(is_plain))?;
        Some(match source.format(0).container {
            Container::Fastq | Container::WrappedFastq => bytes / 2,
            Container::Fasta | Container::Bam => bytes,
        })
    };
    let bounds: Option<Vec<u64>> = lanes.iter().map(of_lane).collect();
    bounds?.into_iter().max()
}

/// Most files that are out of order show it in their first blocks, before the index is loaded.
fn check_mates(source: &ReadSource, first: &[InputBlock]) -> anyhow::Result<()> {
    if let Some(mut mates) = MateOrder::of(source) {
        first.iter().try_for_each(|block| mates.accept(block))?;
    }
    Ok(())
}

/// The first block of reads, and what came on the way to it.
fn fetch_first(source: &ReadSource) -> anyhow::Result<Vec<InputBlock>> {
    let mut scratch = FetchScratch::default();
    let mut blocks = Vec::new();
    loop {
        match source.fetch(&mut scratch)? {
            Fetch::Block(block) => {
                let found = block.bases > 0 || block.defect.is_some();
                blocks.push(*block);
                if found || blocks.len() == MAX_FIRST_BLOCKS {
                    return Ok(blocks);
                }
            }
            Fetch::Busy => {}
            Fetch::End => return Ok(blocks),
        }
    }
}
