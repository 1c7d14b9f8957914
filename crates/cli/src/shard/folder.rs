//! The run directory: what is in it, and how a task's files get their names.
//!
//! ```text
//! RUN/plan.head.json, plan.header, plan.json
//! RUN/scan/SSSS.json: a shard, before the plan is there
//! RUN/scan/SSSS.L: its restart point in the gzip file L
//! RUN/align/SSSS    RUN/mark/MM    RUN/count/FFFF    RUN/table
//! RUN/finish/FFFF.bgzf, FFFF.parts
//! RUN/place/output, to which all tasks of `place` write    RUN/place/FFFF
//! ```
//!
//! Next to each task's files is `TASK.json`, its description, which is published last: *it says
//! that the task is done*. Files are made nameless or under a hidden name and get theirs by
//! `link(2)`, which one process alone succeeds with. A task's bytes depend on the plan alone, so
//! whoever finds a file of that name there compares digests.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use seqloom_format::Persist;
use seqloom_io::reads::RestartPoint;
use seqloom_io::{AtomicFile, Output};
use seqloom_runtime::machine;
use seqloom_terminal::error::Bug;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::error::ShardError;
use super::plan_file::{PlanFile, PlannedPosition, PlannedShard, SCHEMA};
use super::sealed::{hex, sealed, unsealed, unsealed_json};
use super::task::ShardTask;
use crate::align::opened::InputPart;
use crate::identity::program;
use crate::output::{read_error, write_error};

/// First field of a description.
const TASK_SCHEMA: &str = "seqloom shard task 1";
/// Names next to which tasks are.
pub(crate) const HEAD: &str = "plan.head.json";
pub(crate) const PLAN: &str = "plan.json";
pub(crate) const HEADER: &str = "plan.header";
/// Folders of tasks.
const FOLDERS: [&str; 6] = ["scan", "align", "mark", "count", "finish", "place"];
/// Bytes read at a time for a digest.
const DIGEST_BYTES: usize = 1 << 20;

/// Files that a task has published.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Description {
    schema: String,
    /// SHA-256 of the plan.
    plan: String,
    pub(crate) files: Vec<Published>,
    pub(crate) wall_seconds: f64,
    pub(crate) cpu_seconds: f64,
    pub(crate) peak_rss_bytes: u64,
}

/// A file of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Published {
    pub(crate) name: String,
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
}

/// Condition of a task.
#[derive(Debug)]
pub(crate) enum Condition {
    Missing,
    Done(Description),
}

/// A run directory with its plan.
pub(crate) struct RunFolder {
    pub(crate) path: PathBuf,
    /// Without totals, and with the shards that are known, while the input is scanned.
    pub(crate) plan: PlanFile,
    /// The input has been scanned.
    pub(crate) is_planned: bool,
    /// SHA-256 of the plan's head.
    digest: String,
}

/// A file of a task that is to be published, complete but for its name.
pub(crate) struct NewFile {
    file: AtomicFile,
    /// Its size and SHA-256, where they are known; else it is read.
    known: Option<(u64, String)>,
}

impl From<AtomicFile> for NewFile {
    fn from(file: AtomicFile) -> Self {
        Self { file, known: None }
    }
}

impl NewFile {
    /// What was [created](RunFolder::create_output) as an output; `None` for standard output,
    /// which no task writes to.
    pub(crate) fn of_output(output: Output) -> Option<Self> {
        let known = output.digest().map(|sha256| (output.written_bytes(), sha256));
        Some(Self { file: output.into_file()?, known })
    }
}

/// When a task's work began.
pub(crate) struct Clock {
    started: std::time::Instant,
    cpu: std::time::Duration,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { started: std::time::Instant::now(), cpu: machine::usage().cpu }
    }
}

impl RunFolder {
    /// Opens the folder of a plan.
    ///
    /// # Errors
    /// There is no plan, not yet, or it is another version's.
    pub(crate) fn open(path: &Path) -> seqloom_terminal::Result<Self> {
        let folder = Self::open_early(path)?;
        if folder.is_planned {
            return Ok(folder);
        }
        let path = folder.file(PLAN);
        Err(ShardError::NotDone { task: "plan".to_owned(), path }.into())
    }

    /// As [`RunFolder::open`], but the input may still be scanned.
    ///
    /// # Errors
    /// There is no head of a plan, or it is another version's.
    pub(crate) fn open_early(path: &Path) -> seqloom_terminal::Result<Self> {
        let path = std::path::absolute(path).map_err(write_error(path))?;
        let (head_file, file) = (path.join(HEAD), path.join(PLAN));
        let no_plan = |problem| ShardError::NoPlan { path: file.clone(), problem };
        let head_bytes = fs::read(&head_file).map_err(|error| no_plan(error.to_string()))?;
        check_program(&file, &head_bytes)?;
        let head: PlanFile = unsealed_json(&head_bytes)
            .map_err(|problem| ShardError::NoPlan { path: head_file, problem })?;
        let (plan, is_planned) = match fs::read(&file) {
            Ok(bytes) => {
                check_program(&file, &bytes)?;
                (unsealed_json(&bytes).map_err(no_plan)?, true)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                (PlanFile { shards: shards_so_far(&path)?, ..head.clone() }, false)
            }
            Err(error) => return Err(no_plan(error.to_string()).into()),
        };
        if plan.schema != SCHEMA {
            return Err(no_plan(format!("its schema is '{}', not '{SCHEMA}'", plan.schema)).into());
        }
        if !plan.is_of(&head) {
            return Err(no_plan(format!("it does not belong to {HEAD}")).into());
        }
        Ok(Self { path, plan, is_planned, digest: hex(&Sha256::digest(&head_bytes)) })
    }

    /// A file in the folder.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Removes the folder, the plan first: who is killed on the way leaves nothing that looks like
    /// a run.
    ///
    /// # Errors
    /// A file that cannot be removed.
    pub(crate) fn remove(&self) -> seqloom_terminal::Result<()> {
        let plan = self.file(PLAN);
        fs::remove_file(&plan).map_err(write_error(&plan))?;
        Ok(fs::remove_dir_all(&self.path).map_err(write_error(&self.path))?)
    }

    fn description_of(&self, task: ShardTask) -> PathBuf {
        self.file(&format!("{}.json", task.name()))
    }

    /// Whether a task is done; its files are looked at, but not read.
    ///
    /// # Errors
    /// A description or a file that is damaged, or of another run.
    pub(crate) fn condition(&self, task: ShardTask) -> seqloom_terminal::Result<Condition> {
        let path = self.description_of(task);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Condition::Missing),
            Err(error) => return Err(self.damaged(task, &path, error.to_string()).into()),
        };
        let description: Description = serde_json::from_slice(&bytes)
            .map_err(|error| self.damaged(task, &path, error.to_string()))?;
        if description.schema != TASK_SCHEMA || description.plan != self.digest {
            return Err(ShardError::OtherRun { path }.into());
        }
        for published in &description.files {
            let path = self.file(&published.name);
            let problem = match fs::metadata(&path) {
                Ok(metadata) if metadata.len() == published.bytes => continue,
                Ok(metadata) => {
                    format!("it has {} bytes and should have {}", metadata.len(), published.bytes)
                }
                Err(error) => error.to_string(),
            };
            return Err(self.damaged(task, &path, problem).into());
        }
        Ok(Condition::Done(description))
    }

    /// Whether a task is done.
    ///
    /// # Errors
    /// As [`RunFolder::condition`].
    pub(crate) fn is_done(&self, task: ShardTask) -> seqloom_terminal::Result<bool> {
        Ok(matches!(self.condition(task)?, Condition::Done(_)))
    }

    /// The description of a task that must be done.
    ///
    /// # Errors
    /// As [`RunFolder::condition`]; the task is not done.
    pub(crate) fn require(&self, task: ShardTask) -> seqloom_terminal::Result<Description> {
        match self.condition(task)? {
            Condition::Done(description) => Ok(description),
            Condition::Missing => {
                let path = self.description_of(task);
                Err(ShardError::NotDone { task: task.name(), path }.into())
            }
        }
    }

    /// An error that says what is wrong with a task's file.
    pub(crate) fn damaged(&self, task: ShardTask, path: &Path, problem: String) -> ShardError {
        let description = self.description_of(task);
        ShardError::Damaged { task: task.name(), path: path.to_owned(), description, problem }
    }

    /// A new file of a task, still without its name.
    pub(crate) fn create(
        &self,
        task: ShardTask,
        suffix: &str,
    ) -> seqloom_terminal::Result<AtomicFile> {
        Ok(AtomicFile::create(&self.file(&format!("{}{suffix}", task.name())))?)
    }

    /// As [`RunFolder::create`], for a file that is written from its start to its end; its digest
    /// is made on the way.
    pub(crate) fn create_output(
        &self,
        task: ShardTask,
        suffix: &str,
    ) -> seqloom_terminal::Result<Output> {
        let mut output = Output::create(&self.file(&format!("{}{suffix}", task.name())))?;
        output.take_sha256()?;
        Ok(output)
    }

    /// Gives a task's files, in the order of its suffixes, their names, and publishes what they
    /// are: the task is done.
    ///
    /// # Errors
    /// Files of these names with other bytes; what cannot be written.
    pub(crate) fn publish(
        &self,
        task: ShardTask,
        files: Vec<NewFile>,
        clock: &Clock,
    ) -> seqloom_terminal::Result<()> {
        let mut published = Vec::new();
        for (NewFile { file, known }, suffix) in files.into_iter().zip(task.suffixes()) {
            let name = format!("{}{suffix}", task.name());
            let path = self.file(&name);
            let (bytes, ours) = known.map_or_else(|| digest(&path)(file.file()), Ok)?;
            if !file.commit_new()? {
                let theirs = File::open(&path).map_err(read_error(&path))?;
                let (_, theirs) = digest(&path)(&theirs)?;
                if theirs != ours {
                    let task = task.name();
                    return Err(ShardError::Differs { task, path, ours, theirs }.into());
                }
            }
            published.push(Published { name, bytes, sha256: ours });
        }
        let usage = machine::usage();
        let description = Description {
            schema: TASK_SCHEMA.to_owned(),
            plan: self.digest.clone(),
            files: published,
            wall_seconds: clock.started.elapsed().as_secs_f64(),
            cpu_seconds: (usage.cpu.saturating_sub(clock.cpu)).as_secs_f64(),
            peak_rss_bytes: usage.peak_rss_bytes,
        };
        let path = self.description_of(task);
        let text = serde_json::to_string_pretty(&description).map_err(Bug::new)?;
        if publish_text(&path, &text)? {
            return Ok(());
        }
        // Another process was faster.
        if self.require(task)?.files == description.files {
            return Ok(());
        }
        Err(self.damaged(task, &path, "it describes other files than these".to_owned()).into())
    }
}

/// File that describes a shard before the plan is there.
pub(crate) fn shard_name(shard: usize) -> String {
    format!("scan/{shard:04}.json")
}

/// The shards that the scan has found so far.
fn shards_so_far(folder: &Path) -> seqloom_terminal::Result<Vec<PlannedShard>> {
    let mut shards = Vec::new();
    loop {
        let path = folder.join(shard_name(shards.len()));
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(shards),
            Err(error) => return Err(read_error(&path)(error).into()),
        };
        let no_plan = |problem| ShardError::NoPlan { path: path.clone(), problem };
        shards.push(unsealed_json(&bytes).map_err(no_plan)?);
    }
}

/// Makes the folder and those of the tasks.
///
/// # Errors
/// They cannot be made.
pub(crate) fn make_folders(path: &Path) -> seqloom_terminal::Result<()> {
    for name in FOLDERS {
        let folder = path.join(name);
        fs::create_dir_all(&folder).map_err(write_error(&folder))?;
    }
    Ok(())
}

/// Publishes a small file, unless there is one of this name; whether there was none.
///
/// # Errors
/// It cannot be written.
fn publish_text(path: &Path, text: &str) -> seqloom_terminal::Result<bool> {
    let file = AtomicFile::create(path)?;
    file.file().write_all(text.as_bytes()).map_err(write_error(path))?;
    file.file().write_all(b"\n").map_err(write_error(path))?;
    Ok(file.commit_new()?)
}

/// Fields of every plan, whichever program made it.
#[derive(Deserialize)]
struct AnyPlan {
    program: String,
}

/// The program that made a plan, if it is another one than this, whatever else that has in its
/// plans. What is no plan at all is said where it is read.
pub(crate) fn other_program_of(plan: &[u8]) -> Option<String> {
    let AnyPlan { program: theirs } = unsealed_json(plan).ok()?;
    (theirs != program()).then_some(theirs)
}

/// Refuses a plan of another program.
///
/// # Errors
/// [`ShardError::OtherProgram`].
pub(crate) fn check_program(path: &Path, plan: &[u8]) -> Result<(), ShardError> {
    match other_program_of(plan) {
        Some(theirs) => Err(ShardError::OtherProgram { path: path.to_owned(), theirs }),
        None => Ok(()),
    }
}

/// Size and SHA-256 of an open file, from its start, whatever its offset is.
pub(crate) fn digest(path: &Path) -> impl FnOnce(&File) -> seqloom_terminal::Result<(u64, String)> {
    use std::os::unix::fs::FileExt;
    move |file| {
        let (mut sha, mut offset) = (Sha256::new(), 0);
        let mut buffer = vec![0; DIGEST_BYTES];
        loop {
            match file.read_at(&mut buffer, offset).map_err(read_error(path))? {
                0 => return Ok((offset, hex(&sha.finalize()))),
                count => {
                    sha.update(&buffer[..count]);
                    offset += count as u64;
                }
            }
        }
    }
}

/// Name of a restart point inside its sealed file.
const RESTART: &str = "restart";

/// The file of the restart point for a shard in one input.
pub(crate) fn restart_file(point: &RestartPoint) -> Vec<u8> {
    sealed(RESTART, &point.to_state())
}

/// Its path in the run directory.
pub(crate) fn restart_name(shard: usize, lane: usize) -> String {
    format!("scan/{shard:04}.{lane}")
}

impl RunFolder {
    /// Reads what [`write_sealed`](super::sealed::write_sealed) wrote for a task that must be done.
    ///
    /// # Errors
    /// The task is not done; a file that is damaged.
    pub(crate) fn read_sealed<T: Persist>(
        &self,
        task: ShardTask,
        suffix: &str,
        kind: &str,
    ) -> seqloom_terminal::Result<T> {
        self.require(task)?;
        let path = self.file(&format!("{}{suffix}", task.name()));
        let damaged = |problem: &str| self.damaged(task, &path, problem.to_owned());
        let mut bytes = Vec::new();
        let read = File::open(&path).and_then(|mut file| file.read_to_end(&mut bytes));
        read.map_err(|error| self.damaged(task, &path, error.to_string()))?;
        Ok(unsealed(&bytes, kind).map_err(damaged)?)
    }

    /// The part of the input that a shard is.
    ///
    /// # Errors
    /// A restart point that is missing or damaged.
    pub(crate) fn part(&self, shard: usize) -> seqloom_terminal::Result<InputPart> {
        let planned = &self.plan.shards[shard];
        let restart = |(lane, place): (usize, &PlannedPosition)| -> seqloom_terminal::Result<_> {
            let Some(sha256) = &place.restart else { return Ok(None) };
            let path = self.file(&restart_name(shard, lane));
            let damaged = |problem: String| ShardError::Damaged {
                task: "plan".to_owned(),
                path: path.clone(),
                description: self.file(PLAN),
                problem,
            };
            let bytes = fs::read(&path).map_err(|error| damaged(error.to_string()))?;
            if hex(&Sha256::digest(&bytes)) != *sha256 {
                return Err(damaged("its SHA-256 differs".to_owned()).into());
            }
            let point = unsealed(&bytes, RESTART).map_err(|it| damaged(it.to_owned()))?;
            Ok(Some(point))
        };
        let restarts = planned.places.iter().enumerate().map(restart).collect::<Result<_, _>>()?;
        Ok(InputPart { range: planned.range(), restarts })
    }
}
