//! What verbs after `align` load: the plan's options, the header, what all shards hold.

use std::path::{Path, PathBuf};

use seqloom_format::bam::Header;
use seqloom_io::Fingerprint;
use seqloom_prep::duplicates::{DuplicateMarks, LibraryTable, ResolveError, SparseMarks};
use seqloom_prep::exchange::{Exchange, Exchanges};
use seqloom_prep::input::ReferenceSequences;
use seqloom_prep::partition::Backing;
use seqloom_prep::pipeline::ReferenceUse;
use seqloom_runtime::memory::{ByteSize, Ledger};
use seqloom_terminal::error::Bug;
use seqloom_terminal::{Console, UsageError};
use sha2::{Digest, Sha256};

use super::arguments::TaskArguments;
use super::error::ShardError;
use super::folder::{HEADER, PLAN, RunFolder};
use super::plan::parse_plan;
use super::sealed::hex;
use super::task::ShardTask;
use crate::align::AlignArguments;
use crate::align::header::library_table;
use crate::align::memory::{MIN_STORE_BYTES, PROGRAM_BYTES, WORKER_BYTES};
use crate::output::read_error;
use crate::output::run::{Run, header_bytes};

/// Name of the marks of a part inside their file.
pub(crate) const MARKS: &str = "marks";

/// The options of `align` that a plan was made with; paths as they are from anywhere.
///
/// # Errors
/// Options that are none.
pub(crate) fn planned_options(folder: &RunFolder) -> seqloom_terminal::Result<AlignArguments> {
    let no_plan = |error: clap::Error| ShardError::NoPlan {
        path: folder.file(PLAN),
        problem: error.to_string(),
    };
    let mut align = parse_plan(&folder.plan.command).map_err(no_plan)?.align;
    align.rebase(Path::new(&folder.plan.folder));
    align.output.output_format = Some(align.output.named_format());
    // Where spilled data goes if nothing says otherwise.
    align.output.output = folder.file("output");
    Ok(align)
}

/// Refuses files that have changed since the plan was made.
///
/// # Errors
/// The first file that has.
pub(crate) fn check_files(
    folder: &RunFolder,
    is_read: impl Fn(&Path) -> bool,
) -> seqloom_terminal::Result<()> {
    for planned in folder.plan.files.iter().filter(|it| is_read(Path::new(&it.path))) {
        let is = match Fingerprint::of(Path::new(&planned.path)) {
            Ok(Some(fingerprint)) => fingerprint.to_string(),
            Ok(None) => "no regular file".to_owned(),
            Err(error) => error.to_string(),
        };
        if is != planned.fingerprint {
            let (what, was) = (planned.path.clone(), planned.fingerprint.clone());
            return Err(ShardError::Changed { what, plan: folder.file(PLAN), was, is }.into());
        }
    }
    Ok(())
}

/// The header of the output.
///
/// # Errors
/// It is not that of the plan.
pub(crate) fn header(folder: &RunFolder) -> seqloom_terminal::Result<Header> {
    let path = folder.file(HEADER);
    let bytes = std::fs::read(&path).map_err(read_error(&path))?;
    if hex(&Sha256::digest(&bytes)) != folder.plan.header_sha256 {
        return Err(ShardError::DamagedHeader { path }.into());
    }
    Ok(Header::decode(&bytes).map_err(Bug::new)?.0)
}

/// All shards, aligned.
///
/// # Errors
/// A shard that is missing or damaged, or is not what the plan says.
pub(crate) fn exchanges(folder: &RunFolder) -> seqloom_terminal::Result<Exchanges> {
    let mut all = Vec::new();
    for (shard, planned) in folder.plan.shards.iter().enumerate() {
        let task = ShardTask::Align(shard);
        folder.require(task)?;
        let path = folder.file(&task.name());
        let exchange = Exchange::open(&path)?;
        let totals = exchange.totals();
        if (totals.reads, totals.templates) != (planned.reads, planned.templates) {
            let problem = format!("it holds {} reads, not {}", totals.reads, planned.reads);
            return Err(folder.damaged(task, &path, problem).into());
        }
        all.push(exchange);
    }
    Ok(Exchanges::new(all))
}

/// Opens the folder, unless `task` is done: then `None`.
///
/// # Errors
/// There is no plan; a task whose files are damaged.
pub(crate) fn unless_done(
    arguments: &TaskArguments,
    task: impl FnOnce(&RunFolder) -> seqloom_terminal::Result<ShardTask>,
    console: &Console,
) -> seqloom_terminal::Result<Option<(RunFolder, ShardTask)>> {
    let opened = unless_all_done(arguments, |it| Ok(vec![task(it)?]), console)?;
    Ok(opened.and_then(|(folder, left)| Some((folder, *left.first()?))))
}

/// Opens the folder, unless every task is done: then `None`. Gives those that are not.
fn unless_all_done(
    arguments: &TaskArguments,
    tasks: impl FnOnce(&RunFolder) -> seqloom_terminal::Result<Vec<ShardTask>>,
    console: &Console,
) -> seqloom_terminal::Result<Option<(RunFolder, Vec<ShardTask>)>> {
    if arguments.machine.quiet {
        console.be_quiet();
    }
    let folder = RunFolder::open(&arguments.folder)?;
    let mut left = Vec::new();
    for task in tasks(&folder)? {
        match folder.is_done(task)? {
            true => console.info(&format!("shard: {} is done already", task.name())),
            false => left.push(task),
        }
    }
    Ok((!left.is_empty()).then_some((folder, left)))
}

/// Memory left of `-m` after the least that a task can do with.
///
/// # Errors
/// There is less.
pub(crate) fn spare_bytes(memory: ByteSize, floor_bytes: u64) -> Result<u64, UsageError> {
    memory.0.checked_sub(floor_bytes).ok_or_else(|| {
        let floor = ByteSize(floor_bytes);
        UsageError(format!("-m {memory} is too small: this task needs at least {floor}"))
    })
}

/// A verb after `align`, with what all of them need.
pub(crate) struct Loaded<'a> {
    pub(crate) folder: RunFolder,
    pub(crate) align: AlignArguments,
    pub(crate) header: Header,
    pub(crate) libraries: LibraryTable,
    pub(crate) exchanges: Exchanges,
    pub(crate) run: Run<'a>,
    spill_folders: Vec<PathBuf>,
}

impl<'a> Loaded<'a> {
    /// Loads all, unless `task` is done: then `None`.
    ///
    /// # Errors
    /// A file that is missing, damaged or changed.
    pub(crate) fn unless_done(
        arguments: &'a TaskArguments,
        task: impl FnOnce(&RunFolder) -> seqloom_terminal::Result<ShardTask>,
        console: &'a Console,
    ) -> seqloom_terminal::Result<Option<(Self, ShardTask)>> {
        let loaded = Self::unless_all_done(arguments, |it| Ok(vec![task(it)?]), console)?;
        Ok(loaded.and_then(|(loaded, left)| Some((loaded, *left.first()?))))
    }

    /// Loads all, unless every task is done: then `None`. Gives those that are not.
    ///
    /// # Errors
    /// A file that is missing, damaged or changed.
    pub(crate) fn unless_all_done(
        arguments: &'a TaskArguments,
        tasks: impl FnOnce(&RunFolder) -> seqloom_terminal::Result<Vec<ShardTask>>,
        console: &'a Console,
    ) -> seqloom_terminal::Result<Option<(Self, Vec<ShardTask>)>> {
        let Some((folder, left)) = unless_all_done(arguments, tasks, console)? else {
            return Ok(None);
        };
        let align = planned_options(&folder)?;
        let header = header(&folder)?;
        let libraries = library_table(&align, &header)?;
        let exchanges = exchanges(&folder)?;
        let run = Run::new(&arguments.machine, console)?;
        let spill_folders = arguments.machine.spill_folders(&align.output.output);
        let loaded = Self { folder, align, header, libraries, exchanges, run, spill_folders };
        Ok(Some((loaded, left)))
    }

    /// Memory and spill file of the exchanges, with what is left of `-m` after `fixed_bytes`.
    ///
    /// # Errors
    /// Too little memory.
    pub(crate) fn backing(&self, fixed_bytes: u64) -> seqloom_terminal::Result<Backing> {
        let workers_bytes = self.run.threads.get() as u64 * WORKER_BYTES;
        let header_bytes = header_bytes(&self.header, self.run.threads);
        let fixed_bytes = PROGRAM_BYTES + header_bytes + workers_bytes + fixed_bytes;
        let spare_bytes = spare_bytes(self.run.memory, fixed_bytes + MIN_STORE_BYTES)?;
        let ledger = Ledger::new(MIN_STORE_BYTES + spare_bytes);
        Ok(self.exchanges.backing(ledger, &self.spill_folders)?)
    }

    /// Uses of the bases of the reference: by metrics where the plan has a FASTA.
    pub(crate) fn reference_use(&self) -> ReferenceUse {
        let fasta = self.align.fasta();
        let has_fasta = self.folder.plan.files.iter().any(|file| Path::new(&file.path) == fasta);
        self.align.output.reference_use(&self.align.recalibration, has_fasta)
    }

    /// The bases of the reference, from the plan's FASTA, where anything needs them.
    ///
    /// # Errors
    /// It has changed, or cannot be read.
    pub(crate) fn reference(
        &self,
        uses: ReferenceUse,
    ) -> seqloom_terminal::Result<ReferenceSequences> {
        if !uses.is_any() {
            return Ok(ReferenceSequences::default());
        }
        check_files(&self.folder, |path| path == self.align.fasta())?;
        Ok(uses.load(self.align.fasta(), self.header.references())?)
    }

    /// Whether duplicates are marked.
    pub(crate) fn marks_duplicates(&self) -> bool {
        !self.align.duplicates.no_mark_duplicates
    }

    /// Whether marks record families of UMIs.
    pub(crate) fn writes_families(&self) -> bool {
        self.align.duplicates.barcodes.umi_distance().is_some()
    }

    /// Memory of all marks.
    pub(crate) fn marks_bytes(&self) -> u64 {
        if !self.marks_duplicates() {
            return 0;
        }
        let templates = self.folder.plan.templates;
        let mode = self.align.duplicates.duplicate_mode.into();
        let bytes = DuplicateMarks::size_bytes(templates, mode, false) as u64;
        let families = self.writes_families().then(|| DuplicateMarks::families_bytes(templates));
        bytes + families.unwrap_or_default()
    }

    /// The marks of all parts, if duplicates are marked.
    ///
    /// # Errors
    /// A part that is missing or damaged.
    pub(crate) fn marks(&self) -> seqloom_terminal::Result<Option<DuplicateMarks>> {
        if !self.marks_duplicates() {
            return Ok(None);
        }
        let mode = self.align.duplicates.duplicate_mode.into();
        let marks = DuplicateMarks::new(self.folder.plan.templates, mode);
        let marks = match self.writes_families() {
            true => marks.telling_families().ok_or(ResolveError::TooManyTemplates)?,
            false => marks,
        };
        for part in 0..self.folder.plan.parts {
            let task = ShardTask::Mark(part);
            let (sparse, _) = read_marks(&self.folder, part)?;
            let other = || {
                let path = self.folder.file(&task.name());
                self.folder.damaged(task, &path, "its marks are of other reads".to_owned())
            };
            marks.merge(&sparse).map_err(|_| other())?;
        }
        Ok(Some(marks))
    }
}

/// The marks of a part, and what was counted.
///
/// # Errors
/// It is missing or damaged.
pub(crate) fn read_marks(
    folder: &RunFolder,
    part: usize,
) -> seqloom_terminal::Result<(SparseMarks, seqloom_prep::duplicates::DuplicationCounters)> {
    folder.read_sealed(ShardTask::Mark(part), "", MARKS)
}
