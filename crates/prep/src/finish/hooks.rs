//! What others may do with records on their way through the finish phase: look at them, or change
//! them. Both are made once per worker, so that they keep scratch and counts of their own.

use seqloom_format::bam::edit::EditError;
use seqloom_format::bam::{RecordError, RecordRef};
use seqloom_runtime::error::{Class, Place, RunError};

use crate::recalibrate::RecalibrationError;
use crate::steps::StepError;

use crate::recalibrate::AppliedCounts;

/// Error of a visitor or an editor; the message names the record.
#[derive(Debug, thiserror::Error)]
pub enum HookError {
    /// A record is malformed.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A tag cannot be added or removed.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// A late step failed.
    #[error(transparent)]
    Step(#[from] StepError),
    /// Covariates cannot be counted, or qualities not recalibrated.
    #[error(transparent)]
    Recalibration(#[from] RecalibrationError),
    /// A hook of a test failed.
    #[cfg(test)]
    #[error("{0}")]
    Test(String),
}

impl RunError for HookError {
    fn class(&self) -> Class {
        match self {
            Self::Record(_) | Self::Edit(_) => Class::Input,
            Self::Step(step) => step.class(),
            Self::Recalibration(recalibration) => recalibration.class(),
            #[cfg(test)]
            Self::Test(_) => Class::Bug,
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::Step(step) => step.place(),
            Self::Recalibration(recalibration) => recalibration.place(),
            Self::Record(_) | Self::Edit(_) => Place::default(),
            #[cfg(test)]
            Self::Test(_) => Place::default(),
        }
    }
}

/// Looks at records on behalf of one worker.
///
/// Which worker sees a record, and when, is chance: what visitors count must not depend on it.
pub trait RecordVisitor: Send {
    /// Takes a record with its final flags.
    ///
    /// # Errors
    /// Ends the phase.
    fn visit(&mut self, ordinal: u64, record: &RecordRef<'_>) -> Result<(), HookError>;

    /// Called after the last record of a unit, which one worker has seen in order; units are
    /// numbered in the order of the output.
    ///
    /// # Errors
    /// Ends the phase.
    fn end_unit(&mut self, _number: u64) -> Result<(), HookError> {
        Ok(())
    }

    /// Called once, when the worker has no more records: the place to add up counts.
    ///
    /// # Errors
    /// Ends the phase.
    fn finish(self: Box<Self>) -> Result<(), HookError>;
}

/// Makes the visitors.
pub trait VisitorSource: Sync {
    /// A visitor for one worker.
    fn visitor(&self) -> Box<dyn RecordVisitor + '_>;
}

/// Outcome of an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edited {
    /// It is written as it was.
    Unchanged,
    /// The record in `out` is written instead.
    Changed,
    /// It is left out.
    Dropped,
}

/// Changes records, on behalf of one worker, before they are written. Sorting is over: what sort
/// orders look at (name, place, FLAG, mate's place, tag HI) has to stay.
pub trait RecordEditor: Send {
    /// Takes a record with its final flags; `out` is empty and takes the body as it should be.
    ///
    /// # Errors
    /// Ends the phase.
    fn edit(
        &mut self,
        ordinal: u64,
        record: &RecordRef<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Edited, HookError>;

    /// Outcomes of recalibration of the records so far.
    fn recalibrated(&self) -> AppliedCounts {
        AppliedCounts::default()
    }
}

/// Makes the editors.
pub trait EditorSource: Sync {
    /// An editor for one worker.
    fn editor(&self) -> Box<dyn RecordEditor + '_>;
}
