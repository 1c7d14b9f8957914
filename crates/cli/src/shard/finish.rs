//! `shard finish`: sorts and encodes a range of the output.

use std::sync::atomic::Ordering;

use seqloom_format::Persist;
use seqloom_prep::finish::{FinishTrace, Finished, Fragments, StoredRecords, UnitPlan};
use seqloom_prep::metrics::{GatheredMetrics, MetricsRequest};
use seqloom_prep::partition::SortOrder;
use seqloom_prep::pipeline::{OutputRequest, Writing};
use seqloom_prep::steps::Steps;
use seqloom_terminal::{Console, signals};

use super::arguments::RangeArguments;
use super::count;
use super::folder::{Clock, NewFile, RunFolder};
use super::loaded::Loaded;
use super::sealed::write_sealed;
use super::task::ShardTask;
use crate::output::files::OutputFiles;
use crate::output::reference::reference_bytes;
use crate::output::run::MIN_CHUNK_BYTES;

/// What `.parts` is called inside.
pub(crate) const PARTS: &str = "parts";

/// Where the parts of the output's piece are, and what was counted of it.
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
    signals::defer();
    let references = loaded.header.references();
    let requested = loaded.align.output.metrics_request();
    let compares = requested.wants_reference() && loaded.has_fasta();
    let is_cram = loaded.align.output.is_cram();
    let wants_bases = compares || is_cram;
    let encoders = loaded.align.output.encoder_bytes(loaded.run.computing_threads());
    let fixed_bytes = metrics_bytes(&loaded, requested, wants_bases) + encoders;
    let backing =
        loaded.backing(loaded.marks_bytes() + fixed_bytes + count::applier_bytes(&loaded))?;
    let marks = loaded.marks()?;
    let applier = count::applier(&loaded)?;
    let bases = wants_bases.then(|| loaded.reference()).transpose()?;
    let stores = loaded.exchanges.records(&backing, MIN_CHUNK_BYTES as usize, |_, _| true)?;
    let stores = stores.each_ref();
    let records = StoredRecords { stores: &stores, backing: &backing, marks: marks.as_ref() };
    let encoding = OutputFiles::of_others(&loaded.align.output, references)?.encoding();
    let plan = UnitPlan::new(&stores, encoding.unit_bytes());
    let mut output = loaded.folder.create_output(task, ".bgzf")?;
    let (trace, late) = (FinishTrace::default(), Steps::new());
    // Relaxed: a count to be shown.
    let watch = || loaded.run.watch("write", (0, None), trace.records.load(Ordering::Relaxed));
    let request = OutputRequest {
        header: &loaded.header,
        threads: loaded.run.computing_threads(),
        order: SortOrder::Coordinate,
        encoding,
        remove_duplicates: loaded.align.duplicates.remove_duplicates,
        tagging: None,
        writes_families: loaded.writes_families(),
        late: &late,
        metrics: requested,
    };
    let changes = (applier.as_ref(), bases.as_ref().filter(|_| compares));
    let writing = Writing::new(&request, &records, changes, &trace, &watch)
        .referring_to(bases.as_ref().filter(|_| is_cram));
    let units = plan.share(range.index, range.of);
    let (finished, fragments) = writing.piece(units, &mut output)?;
    let parts: Parts = (finished, fragments, writing.into_metrics());
    let described = loaded.folder.create(task, ".parts")?;
    write_sealed(&described, PARTS, &parts.to_state())?;
    let files = NewFile::of_output(output).into_iter().chain([described.into()]);
    loaded.folder.publish(task, files.collect(), &clock)?;
    loaded.run.close(&format!(
        "shard: {} is done, {} records",
        task.name(),
        parts.0.records_written
    ));
    Ok(())
}

/// What metrics take, which are counts, and the bases that records are compared with.
fn metrics_bytes(loaded: &Loaded<'_>, requested: MetricsRequest, wants_bases: bool) -> u64 {
    let (references, groups) = (loaded.header.references(), loaded.header.read_groups().len());
    let bases_bytes = if wants_bases { reference_bytes(references) } else { 0 };
    bases_bytes + requested.memory_bytes(loaded.run.threads, groups, references.len())
}
