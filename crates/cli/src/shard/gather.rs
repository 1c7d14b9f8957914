//! `shard gather`: puts the ranges together to the output, its index and its metrics.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use seqloom_align::ingest::IngestTotals;
use seqloom_cram::{Container, Numbering};
use seqloom_format::bam::Header;
use seqloom_io::{AtomicFile, Output};
use seqloom_prep::exchange::PartTotals;
use seqloom_prep::finish::{FinishError, Finished, OutputIndex};
use seqloom_prep::metrics::{GatheredMetrics, MetricsRequest};
use seqloom_report::run::Counts;
use seqloom_terminal::{Console, UsageError};

use super::finish::{PARTS, Parts};
use super::folder::RunFolder;
use super::loaded::{exchanges, header, planned_options, read_marks, spare_bytes};
use super::task::ShardTask;
use super::{piece, place};
use crate::align::AlignArguments;
use crate::align::header::library_table;
use crate::align::memory::PROGRAM_BYTES;
use crate::align::summary::check_none_lost;
use crate::output::arguments::{OutputArguments, RunArguments};
use crate::output::files::OutputFiles;
use crate::output::run::{Run, header_bytes};
use crate::output::summary::{Duplicates, Ingested, Summary};
use crate::output::{read_error, stage_text, write_error};
use crate::same_file::refuse_same_file;

/// Memory of containers of CRAM as they are put together: usual ones, three times.
const CONTAINERS_BYTES: u64 = 48 << 20;
/// No container has more: a record of the longest read that is placed, with its tags.
const MOST_CONTAINER_BYTES: usize = 1 << 30;

/// Options of `shard gather`.
#[derive(Debug, clap::Args)]
pub(crate) struct GatherArguments {
    /// The run directory
    #[arg(long = "run", value_name = "RUN")]
    pub(super) folder: PathBuf,
    /// Output file, its index next to it; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: PathBuf,
    /// Write the MD5 of the output into FILE.md5 next to it
    #[arg(long)]
    pub(super) md5: bool,
    /// Folder for metrics, as of `align`
    #[arg(long, value_name = "DIR")]
    pub(super) metrics_dir: Option<PathBuf>,
    /// Report of the run: options, counts
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
    /// Remove the run directory when the output has its name
    #[arg(long)]
    pub(super) remove: bool,
    #[command(flatten)]
    pub(super) machine: RunArguments,
}

impl GatherArguments {
    /// The plan's options of the output, with those that were left to this verb.
    ///
    /// # Errors
    /// A name that another format has than that of the plan.
    fn output(&self, planned: &OutputArguments) -> Result<OutputArguments, UsageError> {
        let mut output = planned.clone();
        output.output.clone_from(&self.output);
        output.md5 = self.md5;
        output.metrics_dir.clone_from(&self.metrics_dir);
        output.json.clone_from(&self.json);
        output.check_suffix(planned.named_format())?;
        output.format()?;
        Ok(output)
    }
}

/// Runs the command.
pub(super) fn run(arguments: &GatherArguments, console: &Console) -> seqloom_terminal::Result<()> {
    if arguments.machine.quiet {
        console.be_quiet();
    }
    let folder = RunFolder::open(&arguments.folder)?;
    let align = planned_options(&folder)?;
    let header = header(&folder)?;
    let output = arguments.output(&align.output)?;
    check_files(arguments, &align, &output)?;
    let run = Run::new(&arguments.machine, console)?;
    let containers_bytes = if output.is_cram() { CONTAINERS_BYTES } else { 0 };
    let floor_bytes = floor_bytes(&folder, &header, output.metrics_request());
    spare_bytes(run.memory, floor_bytes + containers_bytes)?;
    run.announce("shard gather", &folder.path.display().to_string(), &output.output);
    let totals = exchanges(&folder)?.totals();
    for range in 0..folder.plan.ranges {
        folder.require(ShardTask::Finish(range))?;
    }
    let duplicates = duplicates(&folder, &align)?;
    let references = header.references();
    let placed = place::begun(&folder, &output.output)?;
    let is_placed = placed.is_some();
    let (files, mut file) = OutputFiles::open(&output, references, true, placed)?;
    let outputs = std::slice::from_mut(&mut file);
    files.write_header(&header, outputs)?;
    let mut index = files.encoding().index(references.len());
    let mut finished = Finished::new(references.len());
    let mut metrics = GatheredMetrics::new(align.output.metrics_request());
    for range in 0..folder.plan.ranges {
        let start = file.written_bytes();
        match is_placed {
            true => place::append(&folder, range, &mut file)?,
            false => match &mut index {
                Some(OutputIndex::Containers(numbering)) => {
                    append_containers(&folder, range, (&mut file, numbering), &run)?;
                }
                _ => append(&folder, range, &mut file, &run)?,
            },
        }
        let (counted, measured) = add_range(&folder, range, index.as_mut(), start)?;
        finished.merge(&counted);
        metrics.merge(&measured);
    }
    let index = files.close(index, std::slice::from_mut(&mut file))?;
    file.end_here()?;
    run.end_phase("gather");
    let mut summary = Summary { duplicates, metrics, index, ..Summary::of(finished) };
    let PartTotals { reads, templates, records, reads_too_short, reads_too_long } = totals;
    let ingested = IngestTotals { reads, templates, records, ..IngestTotals::default() };
    check_none_lost(&ingested, &summary)?;
    summary.sidecars.extend(staged_report(&folder, &align, console)?);
    let counts =
        Counts { reads, templates, records, reads_too_short, reads_too_long, ..Counts::default() };
    let counted = summary.counts(&counts);
    files.publish(vec![file], references, (&mut summary, &run), || {
        of_plan(&folder, &align, counts)
    })?;
    if arguments.remove {
        folder.remove()?;
    }
    summary.log_applied(console);
    log_lengths(console, &[(reads_too_short, "short"), (reads_too_long, "long")]);
    run.close(&format!(
        "shard: {} reads, {} records, {} marked as duplicates",
        counted.reads, counted.records_written, counted.duplicate_records,
    ));
    Ok(())
}

/// Logs how many reads have lengths that the mode does not take.
fn log_lengths(console: &Console, lengths: &[(u64, &str)]) {
    for (reads, problem) in lengths {
        if *reads > 0 {
            console.info(&format!("shard: reads too {problem}, and unmapped (YF:Z:LN): {reads}"));
        }
    }
}

/// The least memory: the header and its index, what is counted, and of other tasks' files one at a
/// time, as bytes and as values. Pieces go through a buffer.
fn floor_bytes(folder: &RunFolder, header: &Header, requested: MetricsRequest) -> u64 {
    /// Of a file that is read: its bytes, its values, and the sum that they are added to.
    const COPIES: u64 = 3;
    let marks = (0..folder.plan.parts).map(|it| folder.file(&ShardTask::Mark(it).name()));
    let ranges = 0..folder.plan.ranges;
    let ranges = ranges.map(|it| folder.file(&format!("{}.parts", ShardTask::Finish(it).name())));
    let size = |path: PathBuf| std::fs::metadata(path).map_or(0, |it| it.len());
    let largest_bytes = marks.chain(ranges).map(size).max().unwrap_or_default();
    let (groups, references) = (header.read_groups().len(), header.references().len());
    let alone = NonZeroUsize::MIN;
    PROGRAM_BYTES
        + header_bytes(header, alone)
        + requested.memory_bytes(alone, groups, references)
        + COPIES * largest_bytes
}

/// Refuses outputs that are inputs, or one another.
fn check_files(
    arguments: &GatherArguments,
    align: &AlignArguments,
    output: &OutputArguments,
) -> seqloom_terminal::Result<()> {
    output.check_metrics()?;
    let inputs: Vec<PathBuf> = align.files().into_iter().chain(align.inputs().cloned()).collect();
    let outputs = output.outputs().chain(align.recalibration.outputs());
    let outputs = outputs.chain(arguments.machine.outputs());
    Ok(refuse_same_file(inputs.iter().map(PathBuf::as_path), outputs)?)
}

/// Appends a range's piece to the output.
fn append(
    folder: &RunFolder,
    range: usize,
    output: &mut Output,
    run: &Run<'_>,
) -> seqloom_terminal::Result<()> {
    piece::read(folder, range, |bytes| {
        output.write(bytes)?;
        Ok(run.watch("gather", (0, None), 0)?)
    })
}

/// Appends the containers of a range's piece to the output, with their numbers.
fn append_containers(
    folder: &RunFolder,
    range: usize,
    (output, numbering): (&mut Output, &mut Numbering),
    run: &Run<'_>,
) -> seqloom_terminal::Result<()> {
    let damaged = |problem: String| {
        let task = ShardTask::Finish(range);
        folder.damaged(task, &folder.file(&format!("{}.bgzf", task.name())), problem)
    };
    let (mut rest, mut container) = (Vec::new(), Vec::new());
    piece::read(folder, range, |bytes| {
        rest.extend_from_slice(bytes);
        let mut at = 0;
        loop {
            let first = Container::first_of_part(&rest[at..], MOST_CONTAINER_BYTES);
            let Some((found, bytes)) = first.map_err(|it| damaged(it.to_string()))? else { break };
            container.clear();
            numbering.push(&found, output.written_bytes(), &mut container);
            output.write(&container)?;
            at += bytes;
        }
        rest.drain(..at);
        Ok(run.watch("gather", (0, None), 0)?)
    })?;
    match rest.len() {
        0 => Ok(()),
        _ => Err(damaged("it ends within a container".to_owned()).into()),
    }
}

/// Adds a range that starts at `start` of the output to the index; gives what was counted of it.
fn add_range(
    folder: &RunFolder,
    range: usize,
    index: Option<&mut OutputIndex>,
    start: u64,
) -> seqloom_terminal::Result<(Finished, GatheredMetrics)> {
    let (finished, fragments, metrics): Parts =
        folder.read_sealed(ShardTask::Finish(range), ".parts", PARTS)?;
    if let Some(OutputIndex::Bins(index)) = index {
        for (fragment, at) in &fragments {
            index.append(fragment, start + at).map_err(FinishError::Index)?;
        }
    }
    Ok((finished, metrics))
}

/// The recalibration report, as the run made or was given it, where one is requested.
fn staged_report(
    folder: &RunFolder,
    align: &AlignArguments,
    console: &Console,
) -> seqloom_terminal::Result<Option<AtomicFile>> {
    let Some(path) = align.recalibration.report_path() else { return Ok(None) };
    if !align.recalibration.counts() {
        let text = super::count::given_report(folder, align, &header(folder)?, console)?;
        return Ok(Some(stage_text(path, &text)?));
    }
    let made = super::count::report(folder)?;
    let file = AtomicFile::create(path)?;
    let mut text = std::fs::File::open(&made).map_err(read_error(&made))?;
    std::io::copy(&mut text, &mut file.file()).map_err(write_error(path))?;
    Ok(Some(file))
}

/// Counts and description of the input.
fn of_plan(folder: &RunFolder, align: &AlignArguments, counts: Counts) -> Ingested {
    let marks = !align.duplicates.no_mark_duplicates;
    let size = |path: &PathBuf| std::fs::metadata(path).map_or(0, |it| it.len());
    let shards =
        (0..folder.plan.shards.len()).filter_map(|it| folder.require(ShardTask::Align(it)).ok());
    Ingested {
        inputs: align.inputs().map(|it| it.display().to_string()).collect(),
        counts,
        cohort_bases: Some(align.input.cohort_bases),
        duplicate_mode: marks.then(|| align.duplicates.duplicate_mode.into()),
        continued_behind: None,
        placement: None,
        engine_seconds: shards.map(|it| it.cpu_seconds).sum(),
        peak_held_bytes: 0,
        certified: None,
        index: None,
        lanes: Vec::new(),
        read_bytes: align.inputs().map(size).sum(),
    }
}

/// Metrics of duplicates, if they are marked.
fn duplicates(
    folder: &RunFolder,
    align: &AlignArguments,
) -> seqloom_terminal::Result<Option<Duplicates>> {
    if align.duplicates.no_mark_duplicates {
        return Ok(None);
    }
    let libraries = library_table(align, &header(folder)?)?;
    let mut counters = exchanges(folder)?.counters(&libraries);
    for part in 0..folder.plan.parts {
        counters.merge(&read_marks(folder, part)?.1);
    }
    Ok(Some(Duplicates::new(counters, &libraries)))
}
