//! Reads of a file as they are stored, and how far a pass over them is.

use crate::flow::account::Fault;

/// Where one read is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Frame {
    /// Where its stored bytes begin in [`FrameBatch::bytes`]; nothing for formats without records.
    pub start: usize,
    /// Where they end.
    pub end: usize,
    /// Where the record begins in the file; the index of the read for formats without records.
    pub offset: u64,
    /// Bytes of the record in the file.
    pub size_bytes: u64,
}

/// Some reads of a file as they are stored, one after the other. Buffers are kept when it is
/// filled again.
#[derive(Debug, Default)]
pub struct FrameBatch {
    /// Stored bytes; one after the other without a gap when they come from
    /// [`SignalStore::next`](super::SignalStore::next).
    pub bytes: Vec<u8>,
    /// The reads.
    pub frames: Vec<Frame>,
    /// Faults of what could not be framed, all of it after the frames.
    pub faults: Vec<Fault>,
}

impl FrameBatch {
    /// Empties it, but leaves `bytes` as long as they were: they are overwritten, not appended to.
    pub fn clear(&mut self) {
        self.frames.clear();
        self.faults.clear();
    }

    /// Nothing but a fault.
    pub(crate) fn of_fault(fault: Fault) -> Self {
        Self { faults: vec![fault], ..Self::default() }
    }

    /// Stored bytes of a frame.
    #[must_use]
    pub fn stored(&self, frame: &Frame) -> &[u8] {
        self.bytes.get(frame.start..frame.end).unwrap_or_default()
    }
}

/// How far a sequential pass is.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cursor {
    /// Start of the next record; index of the next read for formats without records.
    pub(super) offset: u64,
    pub(super) started: bool,
    pub(super) ended: bool,
}
