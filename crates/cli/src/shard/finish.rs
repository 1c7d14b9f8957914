//! `shard finish`: sorts and encodes a range of the output.

use std::sync::Arc;

use seqloom_format::Persist;
use seqloom_prep::finish::{FinishTrace, Finished, Fragments, StoredRecords, UnitPlan};
use seqloom_prep::metrics::GatheredMetrics;
use seqloom_prep::partition::SortOrder;
use seqloom_prep::pipeline::{
    self, OutputRequest, Phase, PipelineCallbacks, PipelinePiece, ReferenceRequest,
    ReferenceSource, ReferenceUse,
};
use seqloom_prep::steps::Steps;
use seqloom_runtime::pool::Interrupted;
use seqloom_terminal::Console;

use super::arguments::RangeArguments;
use super::count;
use super::folder::{Clock, NewFile, RunFolder};
use super::loaded::Loaded;
use super::sealed::write_sealed;
use super::task::ShardTask;
use crate::output::files::OutputFiles;
use crate::output::run::{MIN_CHUNK_BYTES, Run};

/// What `.parts` is called inside.
pub(crate) const PARTS: &str = "parts";

/// Parts of a piece of the output, and its counts.
pub(crate) type Parts = (Finished, Fragments, GatheredMetrics);

/// Runs the command.
pub(crate) fn run(arguments: &RangeArguments, console: &Console) -> seqloom_terminal::Result<()> {
    let clock = Clock::start();
    let range = arguments.range;
    let task = |folder: &RunFolder| {
        Ok(ShardTask::Finish(range.check(folder.plan.ranges, "ranges of the output")?))
    };
    let Some((loaded, task)) = Loaded::unless_done(&arguments.task, task, console)? else {
        return Ok(());
    };
    let (header, output) = (&loaded.header, &loaded.align.output);
    let (references, threads) = (header.references(), loaded.run.computing_threads());
    // Covariates were counted by other tasks.
    let uses = ReferenceUse { recalibration: false, ..loaded.reference_use() };
    let backing = loaded.backing(fixed_bytes(&loaded, uses))?;
    let marks = loaded.marks()?;
    let table = count::applied_table(&loaded)?;
    let bases = Arc::new(loaded.reference(uses)?);
    let stores = loaded.exchanges.records(&backing, MIN_CHUNK_BYTES as usize, |_, _| true)?;
    let stores = stores.each_ref();
    let records = StoredRecords { stores: &stores, backing: &backing, marks: marks.as_ref() };
    let (trace, late) = (FinishTrace::default(), Steps::new());
    let request = OutputRequest {
        header,
        threads,
        order: SortOrder::Coordinate,
        encoding: OutputFiles::of_others(output, references)?.encoding(),
        remove_duplicates: loaded.align.duplicates.remove_duplicates,
        tagging: None,
        writes_families: loaded.writes_families(),
        late: &late,
        metrics: output.metrics_request(),
        reference: ReferenceRequest { uses, source: ReferenceSource::Loaded(bases) },
        recalibration: table.as_ref().map(|table| loaded.align.recalibration.applying(table)),
    };
    let plan = UnitPlan::new(&stores, request.encoding.unit_bytes());
    let units = plan.share(range.index, range.of);
    let mut piece = loaded.folder.create_output(task, ".bgzf")?;
    let PipelinePiece { finished, fragments, metrics } = pipeline::run_piece(
        (&records, units),
        &request,
        &FinishCallbacks { run: &loaded.run },
        &mut piece,
        &trace,
    )?;
    let parts: Parts = (finished, fragments, metrics);
    let described = loaded.folder.create(task, ".parts")?;
    write_sealed(&described, PARTS, &parts.to_state())?;
    let files = NewFile::of_output(piece).into_iter().chain([described.into()]);
    loaded.folder.publish(task, files.collect(), &clock)?;
    loaded.run.close(&format!(
        "shard: {} is done, {} records",
        task.name(),
        parts.0.records_written
    ));
    Ok(())
}

/// Memory besides that of records and workers.
fn fixed_bytes(loaded: &Loaded<'_>, uses: ReferenceUse) -> u64 {
    let (output, references) = (&loaded.align.output, loaded.header.references());
    let groups = loaded.header.read_groups().len();
    let metrics = output.metrics_request();
    loaded.marks_bytes()
        + output.finish_bytes(uses, references, loaded.run.computing_threads())
        + metrics.memory_bytes(loaded.run.threads, groups, references.len())
        + count::applier_bytes(loaded)
}

/// The command in the course of the pipeline.
struct FinishCallbacks<'a> {
    run: &'a Run<'a>,
}

impl PipelineCallbacks for FinishCallbacks<'_> {
    type Error = seqloom_terminal::Error;

    fn watch(&self, phase: Phase, records: u64) -> Result<(), Interrupted> {
        self.run.watch(phase.name(), (0, None), records)
    }

    fn end_phase(&self, _: Phase) {}
}
