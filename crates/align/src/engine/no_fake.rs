//! In place of [`fake`](super) where its feature is off, as in the program that users get: the same
//! names, of which there is no value. So whoever chooses between engines need not know the feature.

use std::str::FromStr;

use super::{CohortEngine, EngineError, EngineReads, RecordSink, SeededBatch};

/// No options: the engine is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FakeOptions {}

impl FromStr for FakeOptions {
    type Err = EngineError;

    fn from_str(_: &str) -> Result<Self, EngineError> {
        let text = "this program was built without the engine 'fake', which tests have";
        Err(EngineError::Option(text.to_owned()))
    }
}

/// No engine.
#[derive(Debug)]
pub enum FakeEngine {}

impl FakeEngine {
    /// There are no options to make one of.
    #[must_use]
    pub fn new(options: FakeOptions, _: Vec<u64>) -> Self {
        match options {}
    }
}

impl CohortEngine for FakeEngine {
    type Scratch = ();
    type Candidates = ();
    type Model = ();

    fn scratch(&self) -> Result<(), EngineError> {
        match *self {}
    }

    fn seed_extend(&self, (): &mut (), _: &EngineReads<'_>) -> Result<(), EngineError> {
        match *self {}
    }

    fn infer_cohort(&self, _: &[()]) -> Result<(), EngineError> {
        match *self {}
    }

    fn emit(
        &self,
        (): &mut (),
        _: SeededBatch<'_, Self>,
        _: &mut dyn RecordSink,
    ) -> Result<(), EngineError> {
        match *self {}
    }

    fn held_bytes(&self, (): &()) -> u64 {
        match *self {}
    }

    fn longest_read_bases(&self) -> usize {
        match *self {}
    }
}
