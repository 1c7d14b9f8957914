//! What can be wrong with a run directory.

use std::path::PathBuf;

use crate::identity::other_program;
use seqloom_runtime::error::{Class, Place, RunError};

/// A run directory that does not have what a task needs.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ShardError {
    /// A task that this one needs has not been done.
    #[error("{task} is not done yet: {} is missing", path.display())]
    NotDone { task: String, path: PathBuf },
    /// A file is not as it was written.
    #[error("{} is damaged: {problem}; remove it and {}, and run {task} again", path.display(),
        description.display())]
    Damaged { task: String, path: PathBuf, description: PathBuf, problem: String },
    /// The header of the output is not as the plan has it.
    #[error("{} is damaged: its digest is not that of the plan; run `seqloom shard plan` again",
        path.display())]
    DamagedHeader { path: PathBuf },
    /// Somebody has published other bytes for the same task.
    #[error(
        "{} is there with other bytes than this process made for {task} (SHA-256 {theirs}, not \
         {ours}): one of the two is wrong, by a bug or bad memory",
        path.display()
    )]
    Differs { task: String, path: PathBuf, ours: String, theirs: String },
    /// The folder holds what another plan made.
    #[error("{} belongs to another run; use a run directory for each", path.display())]
    OtherRun { path: PathBuf },
    /// A file has changed since the plan was made.
    #[error("{what} is not what it was when {} was made: it was {was}, it is {is}", plan.display())]
    Changed { what: String, plan: PathBuf, was: String, is: String },
    /// Another program, or another build of it, made the plan.
    #[error("{}, or plan anew in another run directory",
        other_program(&path.display().to_string(), theirs))]
    OtherProgram { path: PathBuf, theirs: String },
    /// The plan is not one.
    #[error("{} is not a plan of `seqloom shard plan`: {problem}", path.display())]
    NoPlan { path: PathBuf, problem: String },
}

impl RunError for ShardError {
    fn class(&self) -> Class {
        match self {
            // Its process may be running, or a file system may be slow to list its file.
            Self::NotDone { .. } => Class::System,
            Self::Damaged { .. } | Self::DamagedHeader { .. } => Class::Damaged,
            Self::Differs { .. } => Class::Bug,
            // To try again, on another node perhaps, is of no use.
            Self::OtherRun { .. }
            | Self::Changed { .. }
            | Self::OtherProgram { .. }
            | Self::NoPlan { .. } => Class::Usage,
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::NotDone { path, .. }
            | Self::Damaged { path, .. }
            | Self::DamagedHeader { path }
            | Self::Differs { path, .. }
            | Self::OtherRun { path }
            | Self::OtherProgram { path, .. }
            | Self::NoPlan { path, .. }
            | Self::Changed { plan: path, .. } => Place::of(path),
        }
    }
}
