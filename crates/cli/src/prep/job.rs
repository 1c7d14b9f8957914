//! One run of `prep`, opened: everything that can be known and refused before records are read.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use seqloom_format::bam::Header;
use seqloom_io::Output;
use seqloom_io::alignments::{AlignmentFormat, AlignmentOptions, AlignmentSource};
use seqloom_io::reference::{self, Loaded};
use seqloom_prep::duplicates::DuplicateMode;
use seqloom_prep::input::{CoordinateClaim, ReferenceSequences, headers};
use seqloom_prep::metrics::MetricsRequest;
use seqloom_prep::partition::{GenomeBins, Grouping, SortOrder};
use seqloom_prep::pipeline::ReferenceUse;
use seqloom_prep::steps::{
    MissingSequences, NoteMissingSequences, SetMismatchTags, StepError, Steps,
};
use seqloom_runtime::pool::Interrupted;
use seqloom_terminal::{Console, UsageError};

use super::arguments::PrepArguments;
use super::memory::{self, Demand, MemoryPlan};
use crate::cram_input::{self, Held, waiting_bytes};
use crate::output::command_line;
use crate::output::cram;
use crate::output::files::{OutputFiles, refuse_replacing};
use crate::output::resume::RunCheckpoints;
use crate::output::run::{Run, header_bytes};
use crate::recalibration::{ReadGroupsFrom, Recalibration};
use crate::same_file::refuse_same_file;

/// Compressed bytes of a block of input: inflated three to ten times as many, a few blocks per
/// worker, which the plan's share of a worker has room for.
const BLOCK_BYTES: usize = 256 << 10;

/// All that a run was resolved to: options, header, inputs, memory, output.
pub(super) struct Job<'a> {
    pub(super) arguments: &'a PrepArguments,
    pub(super) run: Run<'a>,
    pub(super) source: AlignmentSource,
    pub(super) header: Header,
    /// Steps on the records of each input as they come.
    pub(super) steps: Vec<Steps>,
    /// Steps on records before they are written.
    pub(super) late: Steps,
    /// Uses of the bases of the reference, but for steps.
    pub(super) uses: ReferenceUse,
    /// Bases, where they are needed.
    pub(super) reference: Arc<ReferenceSequences>,
    /// The header's sequences that it does not hold.
    pub(super) missing: Arc<MissingSequences>,
    pub(super) recalibration: Option<Recalibration<'a>>,
    /// Metrics that are counted as records are written.
    pub(super) metrics: MetricsRequest,
    /// Whose decisions on duplicates, if they are requested.
    pub(super) marks: Option<DuplicateMode>,
    pub(super) grouping: Grouping,
    /// Whether the header of every input says that it is sorted by coordinate.
    pub(super) claim: CoordinateClaim,
    pub(super) bins: GenomeBins,
    pub(super) plan: MemoryPlan,
    pub(super) output: OutputFiles<'a>,
}

/// A job, with what it uses up.
pub(super) struct OpenedJob<'a> {
    pub(super) job: Job<'a>,
    pub(super) output: Output,
    /// Checkpoints of an earlier run, and of this one.
    pub(super) checkpoints: Option<RunCheckpoints>,
}

impl<'a> Job<'a> {
    /// Opens input and output and shares out the memory.
    pub(super) fn open(
        arguments: &'a PrepArguments,
        console: &'a Console,
    ) -> seqloom_terminal::Result<OpenedJob<'a>> {
        check_files(arguments)?;
        let run = Run::new(&arguments.run, console)?;
        run.compress_at(arguments.output.level);
        let mut source = open_source(arguments, &run)?;
        let (order, uses) = (InputOrder::of(source.headers()), reference_use(arguments));
        let marks = duplicate_mode(arguments, order)?;
        let Chains { mut header, early: steps, late, reference, missing } =
            chains(arguments, &source)?;
        let fasta = arguments.changes.reference.as_deref();
        let input_bytes = refer(&mut source, fasta, (&header, &reference), run.threads)?;
        let grouping = grouping(order, marks, &steps)?;
        describe(&mut header, arguments);
        if let Some(fasta) = fasta
            && arguments.output.is_cram()
        {
            cram::set_digests(&mut header, &reference, fasta)?;
        }
        let recalibration = Recalibration::prepare(
            &arguments.recalibration,
            &header,
            ReadGroupsFrom::Option,
            console,
        )?;
        let bins = GenomeBins::new(header.references());
        let is_text = |input| matches!(source.format(input), AlignmentFormat::Sam);
        let demand = Demand {
            threads: run.threads,
            has_text: (0..arguments.inputs.len()).any(is_text),
            bins: partitions(&bins, arguments.sort),
            marks_duplicates: marks.is_some(),
            writes_families: arguments.duplicates.barcodes.umi_distance().is_some(),
            grouping,
            loaded_bytes: reference.size_bytes()
                + input_bytes
                + recalibration.as_ref().map_or(0, |it| it.memory_bytes(&header))
                + metrics_bytes(arguments, run.threads, &header)
                + arguments.output.encoder_bytes(run.threads),
            header_bytes: header_bytes(&header, run.threads),
        };
        let floor_bytes = demand.floor_bytes();
        let plan = demand.plan(run.memory).map_err(|it| run.explained(it, floor_bytes))?;
        let is_sorted = is_in_coordinate_order(arguments, order);
        let mut metrics = arguments.output.metrics_request();
        metrics.depth &= is_sorted;
        let (requested, references) = (&arguments.output, header.references());
        let (resume, files) = (&arguments.resume, (requested, &arguments.run));
        let checkpoints = RunCheckpoints::open(resume, files, arguments.identity(), &run)?;
        let begun = checkpoints.as_ref().map(|it| it.output(&requested.output)).transpose()?;
        let (output_files, output) = OutputFiles::open(requested, references, is_sorted, begun)?;
        let job = Self {
            arguments,
            run,
            source,
            header,
            steps,
            late,
            uses,
            reference,
            missing,
            recalibration,
            metrics,
            marks,
            grouping,
            claim: claim(order, arguments.sort),
            bins,
            plan,
            output: output_files,
        };
        Ok(OpenedJob { job, output, checkpoints })
    }

    /// The names of all inputs.
    pub(super) fn inputs(&self) -> String {
        input_names(self.arguments)
    }

    /// Draws progress, and looks whether a signal stops the run.
    pub(super) fn watch(&self, phase: &'static str, records: u64) -> Result<(), Interrupted> {
        let bytes = (self.source.bytes_read(), self.source.total_bytes());
        self.run.watch(phase, bytes, records)
    }
}

fn open_source(
    arguments: &PrepArguments,
    run: &Run<'_>,
) -> seqloom_terminal::Result<AlignmentSource> {
    let options = AlignmentOptions {
        allow_truncated: arguments.allow_truncated,
        read_names: arguments.read_names.policy(),
        block_bytes: BLOCK_BYTES,
        free_blocks: run.threads.get(),
        max_line_bytes: memory::max_line_bytes(run.memory),
        max_container_bytes: cram_input::max_container_bytes(run.memory, run.threads),
    };
    Ok(AlignmentSource::open(&arguments.inputs, options)?)
}

/// Has inputs of CRAM refer to the reference, of which the bases of the output's header are in
/// memory; what these inputs take besides.
fn refer(
    source: &mut AlignmentSource,
    fasta: Option<&Path>,
    (header, reference): (&Header, &Arc<ReferenceSequences>),
    threads: NonZeroUsize,
) -> seqloom_terminal::Result<u64> {
    let held = Held { references: header.references(), sequences: reference.clone() };
    let own_bytes = cram_input::refer(source, fasta, &held)?;
    Ok(own_bytes + waiting_bytes(cram_input::container_bytes(source), threads))
}

/// Whether records are written by coordinate.
fn is_in_coordinate_order(arguments: &PrepArguments, input: InputOrder) -> bool {
    match arguments.sort {
        SortOrder::Keep => input == InputOrder::Coordinate && arguments.inputs.len() == 1,
        order => order.is_by_coordinate(),
    }
}

/// Adds sort order and `@PG` to the header of the output.
fn describe(header: &mut Header, arguments: &PrepArguments) {
    arguments.sort.describe_in(header);
    if !arguments.output.no_pg {
        header.add_program("seqloom", env!("CARGO_PKG_VERSION"), &command_line());
    }
}

/// Most memory of the counts of metrics.
fn metrics_bytes(arguments: &PrepArguments, threads: NonZeroUsize, header: &Header) -> u64 {
    let (groups, sequences) = (header.read_groups().len(), header.references().len());
    arguments.output.metrics_request().memory_bytes(threads, groups, sequences)
}

/// Refuses outputs that are inputs, or one another.
fn check_files(arguments: &PrepArguments) -> Result<(), UsageError> {
    arguments.output.format()?;
    arguments.output.check_metrics()?;
    let requested = &arguments.duplicates;
    let marks = requested.mark_duplicates || requested.remove_duplicates;
    if let Some(option) = requested.barcodes.given().filter(|_| !marks) {
        let text = "is for --mark-duplicates or --remove-duplicates; nothing else looks at it";
        return Err(UsageError(format!("{option} {text}")));
    }
    requested.optical_distance.check(requested.read_name_regex.as_ref())?;
    let (_, files) = arguments.identity();
    let outputs = arguments.output.outputs().chain(arguments.recalibration.outputs());
    let outputs = outputs.chain(arguments.run.outputs());
    refuse_same_file(files.iter().map(PathBuf::as_path), outputs)?;
    let more = arguments.recalibration.outputs().chain(arguments.run.outputs());
    refuse_replacing(&arguments.output, more.map(|(_, path)| path))
}

/// How the records of all inputs are ordered, as their headers say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InputOrder {
    /// `SO:coordinate`.
    Coordinate,
    /// Records of a template are together: `SO:queryname` or `GO:query`.
    Grouped,
    /// Nothing is said.
    Unknown,
}

impl InputOrder {
    fn of(headers: &[Header]) -> Self {
        let one = |header: &Header| match (header.sort_order(), header.group_order()) {
            (Some(b"coordinate"), _) => Self::Coordinate,
            (Some(b"queryname"), _) | (_, Some(b"query")) => Self::Grouped,
            _ => Self::Unknown,
        };
        let first = headers.first().map_or(Self::Unknown, one);
        if headers.iter().all(|header| one(header) == first) { first } else { Self::Unknown }
    }
}

/// A false claim does no harm where records are put in order anyway.
fn claim(order: InputOrder, sort: SortOrder) -> CoordinateClaim {
    match (order, sort) {
        (InputOrder::Coordinate, SortOrder::Keep) => CoordinateClaim::Trusted,
        (InputOrder::Coordinate, _) => CoordinateClaim::Checked,
        _ => CoordinateClaim::None,
    }
}

/// Picard's choice by the order of the input, unless the user chooses.
fn duplicate_mode(
    arguments: &PrepArguments,
    order: InputOrder,
) -> Result<Option<DuplicateMode>, UsageError> {
    let requested = &arguments.duplicates;
    if !requested.mark_duplicates && !requested.remove_duplicates {
        return Ok(None);
    }
    match (requested.duplicate_mode.map(DuplicateMode::from), order) {
        (Some(DuplicateMode::Query), InputOrder::Coordinate) => Err(UsageError(
            "--duplicate-mode query needs input grouped by name, and this is sorted by coordinate"
                .to_owned(),
        )),
        (Some(mode), _) => Ok(Some(mode)),
        (None, InputOrder::Coordinate) => Ok(Some(DuplicateMode::Coordinate)),
        (None, InputOrder::Grouped) => Ok(Some(DuplicateMode::Query)),
        (None, InputOrder::Unknown) => Err(UsageError(
            "the header does not say how the records are sorted (SO:coordinate, SO:queryname or \
             GO:query); --duplicate-mode query says that they are grouped by name"
                .to_owned(),
        )),
    }
}

/// Templates are looked at whole where that is needed and the input has them whole.
fn grouping(
    order: InputOrder,
    marks: Option<DuplicateMode>,
    steps: &[Steps],
) -> Result<Grouping, UsageError> {
    let together = order != InputOrder::Coordinate;
    let needs_templates = steps.iter().any(Steps::needs_templates);
    if needs_templates && !together {
        return Err(UsageError(
            "--fix-mates needs input grouped by name, and this is sorted by coordinate; sort it by \
             name first (--sort queryname)"
                .to_owned(),
        ));
    }
    let whole = together && (marks.is_some() || needs_templates);
    Ok(if whole { Grouping::Templates } else { Grouping::Records })
}

/// Partitions that keep an open chunk: bins of the genome, or as many by name.
fn partitions(bins: &GenomeBins, order: SortOrder) -> usize {
    if order == SortOrder::Keep { 0 } else { bins.count() }
}

/// The steps of all inputs, and the header that they lead to.
struct Chains {
    header: Header,
    early: Vec<Steps>,
    late: Steps,
    /// Bases of the header's sequences; none where nobody needs them.
    reference: Arc<ReferenceSequences>,
    missing: Arc<MissingSequences>,
}

fn chains(arguments: &PrepArguments, source: &AlignmentSource) -> seqloom_terminal::Result<Chains> {
    let (merged, changes) = headers::merge(source.headers())?;
    let options = arguments.step_options()?;
    let mut header = merged.clone();
    let named = |error| name_file(arguments, error);
    options.build(&merged).map_err(named)?.prepare_header(&mut header)?;
    let (reference, missing) = reference(arguments, &header, cram_input::has_cram(source))?;
    let differ = changes.iter().any(|change| !change.is_empty());
    let (mut early, mut last) = (Vec::new(), Steps::new());
    for change in changes {
        let mut steps = options.build(&merged)?;
        if !missing.is_empty() {
            steps.add_record_step(NoteMissingSequences(missing.clone()));
        }
        if let Some(tags) = arguments.mismatch_tags() {
            steps.add_record_step(SetMismatchTags::new(reference.clone(), tags));
        }
        if differ {
            steps.add_record_step(change);
        }
        let split = steps.split_late();
        early.push(split.early);
        last = split.late;
    }
    Ok(Chains { header, early, late: last, reference, missing })
}

fn input_names(arguments: &PrepArguments) -> String {
    let inputs = arguments.inputs.iter().map(|path| path.display().to_string());
    inputs.collect::<Vec<_>>().join(" + ")
}

/// With the file that does not go with the other: regions, or the inputs.
fn name_file(arguments: &PrepArguments, error: StepError) -> seqloom_terminal::Error {
    let file = match &error {
        StepError::UnknownReference { .. } => {
            arguments.regions().map(|it| it.display().to_string())
        }
        StepError::UnknownReadGroup { .. } | StepError::ReadGroupExists(_) => {
            Some(input_names(arguments))
        }
        _ => None,
    };
    let error = seqloom_terminal::Error::from(error);
    match file {
        Some(file) => error.context(file),
        None => error,
    }
}

/// Uses of the bases of the reference, but for steps.
fn reference_use(arguments: &PrepArguments) -> ReferenceUse {
    let has_fasta = arguments.changes.reference.is_some();
    arguments.output.reference_use(&arguments.recalibration, has_fasta)
}

/// The bases of the reference where they are needed, and what it lacks.
fn reference(
    arguments: &PrepArguments,
    header: &Header,
    reads_cram: bool,
) -> seqloom_terminal::Result<(Arc<ReferenceSequences>, Arc<MissingSequences>)> {
    let (path, uses) = (arguments.changes.reference.as_deref(), reference_use(arguments));
    let references = header.references();
    if uses.cram && !references.is_empty() {
        let missing = || UsageError("CRAM output needs --reference FASTA".to_owned());
        let sequences = uses.load(path.ok_or_else(missing)?, references)?;
        return Ok((Arc::new(sequences), Arc::default()));
    }
    let needs_reference =
        ReferenceUse { cram: false, ..uses }.is_any() || arguments.mismatch_tags().is_some();
    if !needs_reference {
        return Ok(Default::default());
    }
    let missing = || UsageError("--known-sites needs --reference FASTA".to_owned());
    let path = path.ok_or_else(missing)?;
    let Loaded { mut sequences, missing } = reference::load_found(path, references)?;
    if reads_cram {
        sequences.iter_mut().for_each(|bases| bases.make_ascii_uppercase());
    }
    let missing = MissingSequences::new(path.to_owned(), references, &missing);
    Ok((Arc::new(ReferenceSequences::new(sequences)), Arc::new(missing)))
}
