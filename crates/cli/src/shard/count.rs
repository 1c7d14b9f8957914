//! `shard count` and `shard table`: base quality recalibration, counted by ranges of the output.

use std::io::Write;

use seqloom_format::bam::Header;
use seqloom_format::state::State;
use seqloom_prep::finish::{StoredRecords, UnitPlan};
use seqloom_prep::recalibrate::{Applier, Counts};
use seqloom_terminal::error::Bug;
use seqloom_terminal::{Console, UsageError, signals};

use super::arguments::{RangeArguments, TaskArguments};
use super::folder::{Clock, RunFolder, digest};
use super::loaded::{Loaded, check_files, header, planned_options, unless_done};
use super::sealed::write_sealed;
use super::task::Task;
use crate::align::AlignArguments;
use crate::output::at_path;
use crate::output::run::MIN_CHUNK_BYTES;
use crate::recalibration::{Recalibration, reference_bytes};

/// What the counts of a range are called inside.
const COUNTS: &str = "counts";

fn refuse_without_sites(counts: bool) -> Result<(), UsageError> {
    if counts {
        return Ok(());
    }
    Err(UsageError("the plan counts no covariates (--known-sites)".to_owned()))
}

/// Counts covariates in a range of the output.
pub(super) fn count(arguments: &RangeArguments, console: &Console) -> seqloom_terminal::Result<()> {
    let clock = Clock::start();
    let range = arguments.range;
    let task = |folder: &RunFolder| {
        Ok(Task::Count(range.check(folder.plan.ranges, "ranges of the output")?))
    };
    let Some((loaded, task)) = Loaded::unless_done(&arguments.task, task, console)? else {
        return Ok(());
    };
    let Loaded { align, header, exchanges, folder, run, .. } = &loaded;
    refuse_without_sites(align.recalibration.counts())?;
    check_files(folder, |path| align.recalibration.files().any(|it| it == path))?;
    signals::defer();
    let asked = Recalibration::prepare(&align.recalibration, header)?;
    let Some(asked) = asked else { return Ok(refuse_without_sites(false)?) };
    let references = header.references();
    let fixed_bytes = loaded.marks_bytes() + reference_bytes(references) + asked.size_bytes();
    let backing = loaded.backing(fixed_bytes)?;
    let marks = loaded.marks()?;
    let bases = loaded.reference()?;
    let chunk_bytes = MIN_CHUNK_BYTES as usize;
    let all = exchanges.records(&backing, chunk_bytes, |_, _| true)?;
    let plan = UnitPlan::new(&all.each_ref());
    let units = plan.share(range.index, range.of);
    let stores = exchanges.records(&backing, chunk_bytes, |store, it| units.has(store, it))?;
    let stores = stores.each_ref();
    let records = StoredRecords { stores: &stores, backing: &backing, marks: marks.as_ref() };
    let counts = asked.count(header, &bases, &records, run)?;
    let file = folder.create(task, "")?;
    write_sealed(&file, COUNTS, &counts.to_state())?;
    folder.publish(task, vec![file.into()], &clock)?;
    run.close(&format!("shard: {} is done", task.name()));
    Ok(())
}

/// Makes the recalibration report of all counts.
pub(super) fn table(arguments: &TaskArguments, console: &Console) -> seqloom_terminal::Result<()> {
    let clock = Clock::start();
    let Some((folder, _)) = unless_done(arguments, |_| Ok(Task::Table), console)? else {
        return Ok(());
    };
    let (align, header) = (planned_options(&folder)?, header(&folder)?);
    refuse_without_sites(align.recalibration.counts())?;
    let mut sum = Counts::new();
    for range in 0..folder.plan.ranges {
        sum.merge(&folder.read_sealed(Task::Count(range), "", COUNTS)?);
    }
    let report = align.recalibration.report_of(&header, &sum)?;
    let file = folder.create(Task::Table, "")?;
    file.file().write_all(report.as_bytes()).map_err(at_path(file.final_path()))?;
    folder.publish(Task::Table, vec![file.into()], &clock)
}

/// The report that [`table`] made, which must be as it was written.
pub(super) fn report(folder: &RunFolder) -> seqloom_terminal::Result<String> {
    let description = folder.require(Task::Table)?;
    let path = folder.file(&Task::Table.name());
    let file = std::fs::File::open(&path).map_err(at_path(&path))?;
    let (_, sha256) = digest(&path)(&file)?;
    if description.files.iter().any(|it| it.sha256 != sha256) {
        let problem = "its SHA-256 differs".to_owned();
        return Err(folder.damaged(Task::Table, &path, problem).into());
    }
    Ok(std::fs::read_to_string(&path).map_err(at_path(&path))?)
}

/// What changes the qualities of records, if anything does.
pub(super) fn applier(loaded: &Loaded<'_>) -> seqloom_terminal::Result<Option<Applier>> {
    let asked = &loaded.align.recalibration;
    if !asked.changes_records() {
        return Ok(None);
    }
    if asked.counts() {
        let report = report(&loaded.folder)?;
        return Ok(Some(asked.applier_of(&loaded.header, &report)?));
    }
    let report = given_report(&loaded.folder, &loaded.align, &loaded.header)?;
    Ok(Some(asked.applier_of(&loaded.header, &report)?))
}

/// The reports that were given, gathered.
pub(super) fn given_report(
    folder: &RunFolder,
    align: &AlignArguments,
    header: &Header,
) -> seqloom_terminal::Result<String> {
    let asked = &align.recalibration;
    check_files(folder, |path| asked.files().any(|it| it == path))?;
    let given = Recalibration::prepare(asked, header)?;
    given
        .and_then(|it| it.given_report())
        .ok_or_else(|| Bug("there is no report".to_owned()).into())
}
