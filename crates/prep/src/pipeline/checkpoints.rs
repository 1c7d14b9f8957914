//! What phases keep for a run that goes on after them.

use seqloom_format::{MalformedState, Persist, persist_fields};
use seqloom_io::Output;

use super::phase::Phase;
use crate::finish::{Finished, OutputIndex};
use crate::partition::Backing;

/// Where a run keeps what its phases have made. Nothing may be spilled while something is saved.
pub trait Checkpoints {
    /// Error of the command.
    type Error;

    /// State that a phase of an earlier run has saved.
    ///
    /// # Errors
    /// When it cannot be read or is damaged.
    fn load<T: Persist>(&self, phase: Phase, backing: &Backing) -> Result<Option<T>, Self::Error>;

    /// Keeps what the phases after this one need of it, as bytes of a [`Persist`].
    ///
    /// # Errors
    /// When it cannot be written.
    fn save(&mut self, phase: Phase, state: &[u8], backing: &Backing) -> Result<(), Self::Error>;

    /// State that [`Checkpoints::save_written`] has kept.
    ///
    /// # Errors
    /// When it is damaged.
    fn written<T: Persist>(&self) -> Result<Option<T>, Self::Error>;

    /// Keeps that so many of all units are written, and a state that goes with it.
    ///
    /// # Errors
    /// When it cannot be written.
    fn save_written(
        &mut self,
        units: WrittenUnits,
        state: Vec<u8>,
        output: &Output,
    ) -> Result<(), Self::Error>;

    /// The error of a saved state that is malformed.
    fn damaged(&self, error: MalformedState) -> Self::Error;

    /// Bytes of records between two calls of [`Checkpoints::save_written`].
    fn step_bytes(&self) -> u64;
}

/// How many units of the output are written.
#[derive(Debug, Clone, Copy)]
pub struct WrittenUnits {
    /// Units written so far.
    pub written: usize,
    /// Units of the whole output.
    pub all: usize,
}

/// How much is written, and what was counted of it.
pub(super) struct Written {
    pub(super) units: usize,
    pub(super) finished: Finished,
    pub(super) index: Option<OutputIndex>,
}

persist_fields!(Written { units, finished, index });
