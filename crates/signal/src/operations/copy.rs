//! The stage that hands records over as they are stored, for joining files of one header.

use crate::flow::pass::{Stage, Tally, Work};

/// Hands on the bytes of each record.
pub struct Copy;

/// The records of a batch as they are stored.
#[derive(Debug, Default)]
pub struct Copied {
    /// All of them, one after the other.
    pub bytes: Vec<u8>,
    /// What was read and lost.
    pub tally: Tally,
}

impl Stage for Copy {
    type Scratch = ();
    type Output = Copied;

    fn scratch(&self) {}

    fn process(&self, (): &mut (), work: &Work, output: &mut Copied) {
        output.bytes.clear();
        output.tally.clear();
        output.tally.faults.extend_from_slice(&work.batch.faults);
        if !work.batch.frames.is_empty() {
            output.bytes.extend_from_slice(&work.batch.bytes);
        }
        output.tally.reads = work.batch.frames.len() as u64;
    }
}
