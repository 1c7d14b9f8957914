//! `shard count` and `shard table`: base quality recalibration, counted by ranges of the output.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use seqloom_format::bam::Header;
use seqloom_format::{MalformedState, Persist};
use seqloom_io::spill::SpillFile;
use seqloom_prep::finish::{CountingPassOptions, StoredRecords, UnitPlan};
use seqloom_prep::partition::{Backing, StoreScratch};
use seqloom_prep::pipeline::Phase;
use seqloom_prep::recalibrate::{
    CountedQuality, RecalibrationTable, StoredCounts, report as table_report,
};
use seqloom_runtime::memory::Ledger;
use seqloom_terminal::error::Bug;
use seqloom_terminal::{Console, UsageError};

use super::arguments::{RangeArguments, TaskArguments};
use super::error::ShardError;
use super::folder::{Clock, RunFolder, digest};
use super::loaded::{Loaded, check_files, header, planned_options, spare_bytes, unless_done};
use super::sealed::{SealedValues, write_sealed_values};
use super::task::ShardTask;
use crate::align::AlignArguments;
use crate::align::memory::PROGRAM_BYTES;
use crate::output::files::OutputFiles;
use crate::output::read_error;
use crate::output::run::{MIN_CHUNK_BYTES, Run, header_bytes};
use crate::recalibration::Recalibration;

/// Name of the counts inside their file.
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
        Ok(ShardTask::Count(range.check(folder.plan.ranges, "ranges of the output")?))
    };
    let Some((loaded, task)) = Loaded::unless_done(&arguments.task, task, console)? else {
        return Ok(());
    };
    let Loaded { align, header, exchanges, folder, run, .. } = &loaded;
    refuse_without_sites(align.recalibration.counts())?;
    check_files(folder, |path| align.recalibration.files().any(|it| it == path))?;
    let groups = align.read_groups_from();
    let requested = Recalibration::prepare(&align.recalibration, header, groups, console)?;
    let Some(requested) = requested else { return Ok(refuse_without_sites(false)?) };
    let (references, uses) = (header.references(), loaded.reference_use());
    let fixed_bytes =
        loaded.marks_bytes() + uses.bytes(references) + requested.memory_bytes(header);
    let backing = loaded.backing(fixed_bytes)?;
    let marks = loaded.marks()?;
    let bases = loaded.reference(uses)?;
    let chunk_bytes = MIN_CHUNK_BYTES as usize;
    let encoding = OutputFiles::of_others(&align.output, references)?.encoding();
    let all = exchanges.records(&backing, chunk_bytes, |_, _| true)?;
    let plan = UnitPlan::new(&all.each_ref(), encoding.unit_bytes());
    let units = plan.share(range.index, range.of);
    let stores = exchanges.records(&backing, chunk_bytes, |store, it| units.has(store, it))?;
    let stores = stores.each_ref();
    let records = StoredRecords { stores: &stores, backing: &backing, marks: marks.as_ref() };
    let seen = AtomicU64::new(0);
    // Relaxed: a count to be shown.
    let watch = || run.watch(Phase::Recalibrate.name(), (0, None), seen.load(Ordering::Relaxed));
    let pass = CountingPassOptions { threads: run.threads, records: &seen, watch: &watch };
    let counts = requested.request().count(header, &bases, &records, &pass)?.unwrap_or_default();
    let file = folder.create(task, "")?;
    let rows = counts.read(&backing).map(|row| Ok(row?));
    write_sealed_values(&file, COUNTS, rows)?;
    folder.publish(task, vec![file.into()], &clock)?;
    run.close(&format!("shard: {} is done", task.name()));
    Ok(())
}

/// Makes the recalibration report of all counts.
pub(super) fn table(arguments: &TaskArguments, console: &Console) -> seqloom_terminal::Result<()> {
    let clock = Clock::start();
    let Some((folder, _)) = unless_done(arguments, |_| Ok(ShardTask::Table), console)? else {
        return Ok(());
    };
    let (align, header) = (planned_options(&folder)?, header(&folder)?);
    refuse_without_sites(align.recalibration.counts())?;
    let run = Run::new(&arguments.machine, console)?;
    // Of the counts one quality is in memory; of the report, all.
    let tables_bytes = align.recalibration.most_memory_bytes(&header);
    let floor_bytes = PROGRAM_BYTES + header_bytes(&header, NonZeroUsize::MIN) + tables_bytes;
    spare_bytes(run.memory, floor_bytes)?;
    let spill = SpillFile::create(&arguments.machine.spill_folders(&align.output.output))?;
    let backing = Backing { ledger: Ledger::new(0), spill };
    let counts = sum(&folder, &backing)?;
    let file = folder.create(ShardTask::Table, "")?;
    align.recalibration.write_report(&header, (&counts, &backing), (&file, console))?;
    folder.publish(ShardTask::Table, vec![file.into()], &clock)
}

/// Bytes of a read group and a quality before its cells, and of the number of those.
const KEY_BYTES: usize = 4 + 1;
const SIZE_BYTES: usize = 8;

/// Counts of a range, quality by quality.
struct RangeCounts<'a> {
    folder: &'a RunFolder,
    task: ShardTask,
    values: SealedValues,
    /// Key of the next values.
    key: Option<Key>,
}

/// Read group and quality.
type Key = (u32, u8);

impl<'a> RangeCounts<'a> {
    fn open(folder: &'a RunFolder, task: ShardTask) -> seqloom_terminal::Result<Self> {
        folder.require(task)?;
        let path = folder.file(&task.name());
        let values = SealedValues::open(&path, COUNTS);
        let values = values.map_err(|problem| folder.damaged(task, &path, problem))?;
        let mut counts = Self { folder, task, values, key: None };
        counts.key = counts.next_key()?;
        Ok(counts)
    }

    fn damaged(&self, error: impl std::fmt::Display) -> ShardError {
        let path = self.folder.file(&self.task.name());
        self.folder.damaged(self.task, &path, error.to_string())
    }

    fn next_key(&mut self) -> seqloom_terminal::Result<Option<Key>> {
        let bytes = self.values.take(KEY_BYTES).map_err(|it| self.damaged(it))?;
        let key = bytes.map(|bytes| Persist::from_state(&bytes)).transpose();
        Ok(key.map_err(|it| self.damaged(it))?)
    }

    /// The cells of the next quality.
    fn take(&mut self) -> seqloom_terminal::Result<CountedQuality> {
        let end = || self.damaged(MalformedState);
        let (group, quality) = self.key.ok_or_else(end)?;
        let size = self.values.take(SIZE_BYTES).map_err(|it| self.damaged(it))?;
        let size = usize::from_state(&size.unwrap_or_default()).map_err(|it| self.damaged(it))?;
        let cells = match size {
            0 => Vec::new(),
            size => {
                let cells = self.values.take(size).map_err(|it| self.damaged(it))?;
                cells.ok_or_else(|| self.damaged(MalformedState))?
            }
        };
        self.key = self.next_key()?;
        Ok(CountedQuality { group, quality, cells: cells.into() })
    }
}

/// Adds up what all ranges have counted, of which the cells of one quality are in memory.
fn sum(folder: &RunFolder, backing: &Backing) -> seqloom_terminal::Result<StoredCounts> {
    let ranges = (0..folder.plan.ranges).map(|it| RangeCounts::open(folder, ShardTask::Count(it)));
    let mut ranges = ranges.collect::<seqloom_terminal::Result<Vec<_>>>()?;
    let (mut counts, mut scratch) = (StoredCounts::default(), StoreScratch::new()?);
    while let Some(key) = ranges.iter().filter_map(|it| it.key).min() {
        let mut of_key = ranges.iter_mut().filter(|it| it.key == Some(key));
        let Some(first) = of_key.next() else { break };
        let mut sum = first.take()?;
        for range in of_key {
            let other = range.take()?;
            sum.add(&other).map_err(|error| range.damaged(error))?;
        }
        counts.push(&sum, backing, &mut scratch)?;
    }
    Ok(counts)
}

/// Path of the report that [`table`] made, which must be as it was written.
pub(super) fn report(folder: &RunFolder) -> seqloom_terminal::Result<PathBuf> {
    let description = folder.require(ShardTask::Table)?;
    let path = folder.file(&ShardTask::Table.name());
    let file = std::fs::File::open(&path).map_err(read_error(&path))?;
    let (_, sha256) = digest(&path)(&file)?;
    if description.files.iter().any(|it| it.sha256 != sha256) {
        let problem = "its SHA-256 differs".to_owned();
        return Err(folder.damaged(ShardTask::Table, &path, problem).into());
    }
    Ok(path)
}

/// Memory that [`applied_table`] and what applies it need: the text of reports, and their tables.
pub(super) fn applier_bytes(loaded: &Loaded<'_>) -> u64 {
    /// A row has 70 characters and more, and takes 96 bytes in memory.
    const TEXTS: u64 = 3;
    let requested = &loaded.align.recalibration;
    if !requested.changes_records() {
        return 0;
    }
    let made = requested.counts().then(|| loaded.folder.file(&ShardTask::Table.name()));
    let given = requested.files().filter(|_| !requested.counts());
    let size = |path: &PathBuf| std::fs::metadata(path).map_or(0, |it| it.len());
    let text_bytes: u64 = made.iter().chain(given).map(size).sum();
    TEXTS * text_bytes + requested.most_memory_bytes(&loaded.header)
}

/// The table that qualities are set by, if they are recalibrated.
pub(super) fn applied_table(
    loaded: &Loaded<'_>,
) -> seqloom_terminal::Result<Option<RecalibrationTable>> {
    let requested = &loaded.align.recalibration;
    if !requested.changes_records() {
        return Ok(None);
    }
    let text = if requested.counts() {
        let path = report(&loaded.folder)?;
        std::fs::read_to_string(&path).map_err(read_error(&path))?
    } else {
        given_report(&loaded.folder, &loaded.align, &loaded.header, loaded.run.console)?
    };
    Ok(Some(table_report::parse(text.as_bytes())?))
}

/// The reports that were given, gathered.
pub(super) fn given_report(
    folder: &RunFolder,
    align: &AlignArguments,
    header: &Header,
    console: &Console,
) -> seqloom_terminal::Result<String> {
    let requested = &align.recalibration;
    check_files(folder, |path| requested.files().any(|it| it == path))?;
    let given = Recalibration::prepare(requested, header, align.read_groups_from(), console)?;
    given
        .and_then(|it| it.given_report())
        .ok_or_else(|| Bug("there is no report".to_owned()).into())
}
