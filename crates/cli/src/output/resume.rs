//! `--resume`: what a run keeps in a hidden folder next to its output, so that the same command
//! goes on from there after the process was killed.
//!
//! The folder holds a lock, the output as far as it is written, the spill files (unless folders
//! for those are given) and a manifest: what run it is of, and how far that run has come. After
//! each step all that later steps need is in the spill files, whose ends are in the manifest.
//! What a killed process has written after these ends is cut off by the next one.
//!
//! *Invariant:* a manifest is replaced as a whole, and only when all that it speaks of is on disk.

use crate::output::write_error;
use std::path::{Path, PathBuf};

use seqloom_format::{MalformedState, Persist, persist_fields};
use seqloom_io::spill::SpillFile;
use seqloom_io::{CheckpointFolder, Fingerprint, FoundManifest, Output};
use seqloom_prep::partition::{Backing, SavedValue};
use seqloom_prep::pipeline::{Checkpoints, Phase, WrittenUnits};
use seqloom_runtime::error::Class;
use seqloom_runtime::error::RunError;
use seqloom_runtime::memory::ByteSize;
use seqloom_terminal::error::UnusableFile;
use seqloom_terminal::{UsageError, signals};

use super::arguments::{OutputArguments, RunArguments};
use super::run::Run;
use crate::identity::{other_program, program};

/// The first word of a manifest. The program that wrote it follows, and, for those who look into
/// it, how far that has come: the first line is the same whatever else manifests have.
const MAGIC: &str = "resume";
/// Before and after the name of the program.
const BY: &str = " by ";
const AT: &str = ": ";
/// Bytes of records between two manifests while the output is written, for each worker: a few
/// seconds of work, of which the end, when workers wait for the last one, is a few milliseconds.
const STEP_BYTES_PER_WORKER: u64 = 256 << 20;

/// Options of runs that can be resumed.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Machine")]
pub(crate) struct ResumeArguments {
    /// Keep what is done in a hidden folder next to the output: the same command goes on from there
    /// if it is killed once its input is read; -t, -m and --tmp-dir may differ
    #[arg(long)]
    resume: bool,
    /// Bytes of records that are written between two points to go on from
    #[arg(long, value_name = "SIZE", requires = "resume", hide = true)]
    resume_step: Option<ByteSize>,
}

/// A named part of what a run is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) value: String,
}

/// How much of the output is written, and what was counted of it.
#[derive(Debug)]
struct Written {
    bytes: u64,
    state: Box<[u8]>,
}

/// How far a run has come.
#[derive(Default)]
struct Manifest {
    /// Identity of the run: options, files.
    identity: Vec<Part>,
    /// Spill files and their ends.
    spill: Vec<(PathBuf, u64)>,
    /// By [`Phase`].
    phases: [Option<SavedValue>; Phase::ALL.len()],
    written: Option<Written>,
}

persist_fields!(Part { name, value });
persist_fields!(Written { bytes, state });
persist_fields!(Manifest { identity, spill, phases, written });

impl Manifest {
    fn parse(bytes: &[u8]) -> Result<Self, MalformedState> {
        let line_end = bytes.iter().position(|&byte| byte == b'\n').ok_or(MalformedState)?;
        Self::from_state(&bytes[line_end + 1..])
    }

    fn encode(&self, stage: &str) -> Vec<u8> {
        let mut bytes = format!("{MAGIC}{BY}{}{AT}{stage}\n", program()).into_bytes();
        self.save(&mut bytes);
        bytes
    }

    /// Whether every byte that it speaks of is there.
    fn has_spilled_data(&self) -> bool {
        let is_there = |(path, end): &(PathBuf, u64)| {
            std::fs::metadata(path).is_ok_and(|it| it.is_file() && it.len() >= *end)
        };
        !self.spill.is_empty() && self.spill.iter().all(is_there)
    }

    /// The phase that was done last.
    fn last_phase(&self) -> Option<Phase> {
        let done = |phase: &&Phase| self.phases[**phase as usize].is_some();
        Phase::ALL.iter().rev().find(done).copied()
    }
}

/// Checkpoints of a run in their folder: those of an earlier process, and those that this one adds.
pub(crate) struct RunCheckpoints {
    folder: CheckpointFolder,
    manifest: Manifest,
    /// Bytes of records between two checkpoints while the output is written.
    step_bytes: u64,
    /// The phase after which this process goes on.
    continued: Option<&'static str>,
}

impl RunCheckpoints {
    /// Opens the folder of the output, if that is requested. `identity` and `files` are what the
    /// bytes of the output depend on.
    ///
    /// # Errors
    /// An output or a file that cannot be read twice; another run in the folder.
    pub(crate) fn open(
        arguments: &ResumeArguments,
        (output, machine): (&OutputArguments, &RunArguments),
        (identity, files): (Vec<Part>, Vec<PathBuf>),
        run: &Run<'_>,
    ) -> seqloom_terminal::Result<Option<Self>> {
        if !arguments.resume {
            return Ok(None);
        }
        let identity = whole_identity(identity, &files)?;
        let path = folder_of(&output.output)?;
        signals::defer();
        let mut folder = CheckpointFolder::open(&path)?;
        let output_file = path.join("output");
        folder.adopt(output_file.clone());
        let default_bytes = STEP_BYTES_PER_WORKER * run.threads.get() as u64;
        let step_bytes = arguments.resume_step.map_or(default_bytes, |size| size.0);
        let found = find(&mut folder, &identity, run)?;
        let continued = found.as_ref().and_then(Manifest::last_phase).map(Phase::name);
        let mut manifest = found.unwrap_or_default();
        if continued.is_none() {
            manifest = Manifest { identity, ..Manifest::default() };
            manifest.spill = spill_paths(&folder, &machine.tmp_dir)?;
        }
        manifest.spill.iter().for_each(|(path, _)| folder.adopt(path.clone()));
        let has = |written: &Written| {
            std::fs::metadata(&output_file).is_ok_and(|it| it.len() >= written.bytes)
        };
        manifest.written = manifest.written.filter(has);
        let mut checkpoints = Self { folder, manifest, step_bytes, continued };
        checkpoints.announce(run);
        Ok(Some(checkpoints))
    }

    fn announce(&mut self, run: &Run<'_>) {
        let Some(step) = self.continued else { return };
        let mut text = format!("continuing after {step}");
        if let Some(written) = &self.manifest.written {
            self.continued = Some("finish");
            text = format!("continuing after {} of output", ByteSize(written.bytes));
        }
        run.console.info(&format!("resume: {text}, kept in {}", self.folder.path().display()));
    }

    /// The phase after which this process goes on, if an earlier one has done any.
    pub(crate) fn continued(&self) -> Option<&'static str> {
        self.continued
    }

    /// The output, after what is written of it.
    pub(crate) fn output(&self, path: &Path) -> seqloom_terminal::Result<Output> {
        let bytes = self.manifest.written.as_ref().map_or(0, |written| written.bytes);
        Ok(Output::keep(path, &self.folder.path().join("output"), bytes)?)
    }

    /// The spill files, up to their ends.
    pub(crate) fn spill(&self) -> seqloom_terminal::Result<SpillFile> {
        Ok(SpillFile::named(&self.manifest.spill)?)
    }

    /// The run is complete: nothing is kept any more.
    pub(crate) fn close(self, run: &Run<'_>) {
        if let Err(error) = self.folder.remove() {
            run.console.error(&format!("seqloom: the output is complete, but: {error}"));
        }
    }

    /// Advice after a run that failed.
    pub(crate) fn advice(&self) -> Option<String> {
        self.folder.has_manifest().then(|| {
            format!(
                "what is done is kept in {}: the same command goes on from there; to begin anew, \
                 remove that folder",
                self.folder.path().display()
            )
        })
    }
}

/// What the folder keeps of this run. Another run's work is not thrown away.
fn find(
    folder: &mut CheckpointFolder,
    identity: &[Part],
    run: &Run<'_>,
) -> seqloom_terminal::Result<Option<Manifest>> {
    let found = match folder.manifest()? {
        FoundManifest::None => return Ok(None),
        FoundManifest::Damaged => None,
        FoundManifest::Whole(bytes) => {
            let theirs = program_of(&bytes);
            if theirs != program() {
                let place = folder.path().display().to_string();
                let text = other_program(&place, &theirs) + ", or remove the folder";
                return Err(UsageError(text).into());
            }
            Manifest::parse(&bytes).ok()
        }
    };
    if let Some(found) = &found {
        let differs = |(ours, theirs): (&Part, &Part)| (ours != theirs).then(|| ours.name.clone());
        let first = identity.iter().zip(&found.identity).find_map(differs);
        let first =
            first.or((identity.len() != found.identity.len()).then(|| "number of files".into()));
        if let Some(first) = first {
            return Err(UsageError(format!(
                "{} keeps a run that differs in its {first}; go on with that one, or remove the \
                 folder",
                folder.path().display()
            ))
            .into());
        }
    }
    let found = found.filter(|it| it.last_phase().is_some() && it.has_spilled_data());
    if found.is_none() {
        let path = folder.path().display().to_string();
        run.console.error(&format!("seqloom: what {path} keeps is of no use: beginning anew"));
        folder.forget()?;
    }
    Ok(found)
}

/// The state that an earlier run stored for `--resume` cannot be read back.
#[derive(Debug, thiserror::Error)]
#[error("the state of the run to resume is damaged: {0}")]
struct DamagedState(MalformedState);

impl RunError for DamagedState {
    fn class(&self) -> Class {
        Class::Damaged
    }
}

/// The program that wrote a manifest, whose checksum is right.
fn program_of(manifest: &[u8]) -> String {
    let line = manifest.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let rest = line.strip_prefix(MAGIC).and_then(|rest| rest.strip_prefix(BY));
    let theirs = rest.and_then(|rest| rest.rsplit_once(AT)).map(|(theirs, _)| theirs.to_owned());
    // Before builds had digests it began with the program's name.
    theirs.unwrap_or_else(|| "a seqloom before this one".to_owned())
}

impl Checkpoints for RunCheckpoints {
    type Error = seqloom_terminal::Error;

    fn load<T: Persist>(
        &self,
        phase: Phase,
        backing: &Backing,
    ) -> seqloom_terminal::Result<Option<T>> {
        let saved = self.manifest.phases[phase as usize].as_ref();
        let bytes = saved.map(|saved| saved.read(backing)).transpose()?;
        Ok(bytes.map(|bytes| T::from_state(&bytes)).transpose().map_err(DamagedState)?)
    }

    fn save(
        &mut self,
        phase: Phase,
        state: &[u8],
        backing: &Backing,
    ) -> seqloom_terminal::Result<()> {
        self.manifest.phases[phase as usize] = Some(SavedValue::write(state, backing)?);
        self.manifest.spill = backing.spill.sync()?;
        Ok(self.folder.write_manifest(&self.manifest.encode(phase.name()))?)
    }

    fn written<T: Persist>(&self) -> seqloom_terminal::Result<Option<T>> {
        let state = self.manifest.written.as_ref().map(|written| &*written.state);
        Ok(state.map(Persist::from_state).transpose().map_err(DamagedState)?)
    }

    fn save_written(
        &mut self,
        units: WrittenUnits,
        state: Vec<u8>,
        output: &Output,
    ) -> seqloom_terminal::Result<()> {
        output.sync()?;
        let bytes = output.written_bytes();
        self.manifest.written = Some(Written { bytes, state: state.into() });
        let stage = format!("finish {} of {}", units.written, units.all);
        Ok(self.folder.write_manifest(&self.manifest.encode(&stage))?)
    }

    fn damaged(&self, error: MalformedState) -> seqloom_terminal::Error {
        DamagedState(error).into()
    }

    fn step_bytes(&self) -> u64 {
        self.step_bytes
    }
}

/// Options, then files with their fingerprints.
fn whole_identity(options: Vec<Part>, files: &[PathBuf]) -> seqloom_terminal::Result<Vec<Part>> {
    let mut identity = options;
    for path in files {
        let name = path.display().to_string();
        let fingerprint = match path == Path::new("-") {
            true => None,
            false => Fingerprint::of(path).map_err(|error| UnusableFile::read(path, &error))?,
        };
        let Some(fingerprint) = fingerprint else {
            return Err(UsageError(format!(
                "--resume needs files that can be read again, and {name} is not one"
            ))
            .into());
        };
        identity.push(Part { name: format!("file {name}"), value: fingerprint.to_string() });
    }
    Ok(identity)
}

/// `.NAME.seqloom-resume` next to the output, symbolic links followed.
///
/// # Errors
/// An output that cannot be made twice.
pub(crate) fn folder_of(output: &Path) -> seqloom_terminal::Result<PathBuf> {
    let refused = || {
        let text = "--resume needs an output that is a regular file";
        seqloom_terminal::Error::from(UsageError(text.to_owned()))
    };
    let is_other = std::fs::metadata(output).is_ok_and(|it| !it.is_file());
    if output == Path::new("-") || is_other {
        return Err(refused());
    }
    let is_link = std::fs::symlink_metadata(output).is_ok_and(|it| it.is_symlink());
    let output = if is_link {
        std::fs::canonicalize(output).map_err(write_error(output))?
    } else {
        output.to_owned()
    };
    let mut name = std::ffi::OsString::from(".");
    name.push(output.file_name().ok_or_else(refused)?);
    name.push(".seqloom-resume");
    Ok(output.with_file_name(name))
}

/// Where a run that begins spills: in the folder, or in each of those that are given, under a name
/// that the next run will find. (`TMPDIR` is not taken: it is often emptied with a job's end.)
fn spill_paths(
    folder: &CheckpointFolder,
    given: &[PathBuf],
) -> seqloom_terminal::Result<Vec<(PathBuf, u64)>> {
    if given.is_empty() {
        return Ok(vec![(folder.path().join("spill"), 0)]);
    }
    let unique = folder.unique_name()?;
    let name = |index| format!(".seqloom.spill-{unique}-{index}");
    let mut paths = Vec::new();
    for (index, parent) in given.iter().enumerate() {
        let parent = std::fs::canonicalize(parent).map_err(write_error(parent))?;
        paths.push((parent.join(name(index)), 0));
    }
    Ok(paths)
}
