//! What reads are given to: nothing, or whole reads placed by score.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use seqloom_align::engine::{BatchEngine, EngineReads, Origin, Read, RecordSink};
use seqloom_align::index::{self, IndexSource, Readers};
use seqloom_format::ReadBlock;
use seqloom_modes::gapped::{GappedEngine, GappedOptions};
use seqloom_runtime::machine;

use crate::experiment::LabError;

/// Its name in facts.
pub(crate) const END_TO_END: &str = "align --mode end-to-end";

/// An engine that takes blocks of reads of any thread.
pub(super) enum Engine {
    /// Sees that there are reads.
    Null,
    /// Places each read by itself, mates too, and makes its record.
    EndToEnd(Box<EndToEnd>),
}

/// An engine with its index, and working memory of threads that are not at it.
pub(super) struct EndToEnd {
    engine: GappedEngine,
    idle: Mutex<Vec<<GappedEngine as BatchEngine>::Scratch>>,
}

/// Counts the bytes of records, and leaves them.
struct Bytes(u64);

impl RecordSink for Bytes {
    fn record(&mut self, _: Origin, body: &[u8]) {
        self.0 += body.len() as u64;
    }
}

impl Engine {
    /// By score, on the index of this prefix; nothing without one.
    pub(super) fn load(prefix: Option<&Path>) -> Result<Self, LabError> {
        let Some(prefix) = prefix else { return Ok(Self::Null) };
        let prepare = |error: index::IndexError| LabError::Prepare(error.to_string());
        let info = &index::check(prefix).map_err(prepare)?;
        let readers = Readers { threads: machine::available_cores(), ..Readers::ONE };
        let source = IndexSource { prefix, info, readers };
        let engine = GappedEngine::load(source, GappedOptions::new(false)).map_err(prepare)?;
        Ok(Self::EndToEnd(Box::new(EndToEnd { engine, idle: Mutex::default() })))
    }

    /// Takes a block; a sum over its reads that does not depend on their order.
    pub(super) fn take(&self, block: &ReadBlock) -> Result<u64, String> {
        match self {
            Self::Null => Ok(block.reads.iter().map(|read| u64::from(read.bases.len)).sum()),
            Self::EndToEnd(engine) => engine.take(block),
        }
    }
}

impl EndToEnd {
    fn take(&self, block: &ReadBlock) -> Result<u64, String> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let found = idle().pop();
        let mut scratch = match found {
            Some(scratch) => scratch,
            None => self.engine.scratch().map_err(|error| error.to_string())?,
        };
        let read = |i| {
            let qualities = Some(block.qualities(i)).filter(|it| !it.is_empty());
            Read { name: block.name(i), bases: block.bases(i), qualities }
        };
        let singles = (0..block.reads.len()).map(read).collect();
        let (reads, mut bytes) = (EngineReads { pairs: Vec::new(), singles }, Bytes(0));
        let done = self.engine.align(&mut scratch, &reads, 0, &mut bytes);
        idle().push(scratch);
        done.map(|()| bytes.0).map_err(|error| error.to_string())
    }
}
