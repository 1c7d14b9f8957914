//! Everything that reads are called from.

use seqloom_io::IndexedFasta;
use seqloom_io::alignments::AlignmentSource;

use super::record::{Filter, HardClips};
use super::sequences::ReadSequences;
use super::signals::SignalFiles;

/// Alignments, reference, reads and signal of one run.
pub struct CallInputs<'a> {
    /// Aligned reads: one BAM or SAM.
    pub alignments: &'a AlignmentSource,
    /// The reference.
    pub reference: &'a IndexedFasta,
    /// Which of the reference's sequences each of the BAM's is.
    pub contigs: Vec<Option<usize>>,
    /// The reads' bases; taken from the BAM where there are none.
    pub sequences: Option<&'a ReadSequences>,
    /// The reads' signal.
    pub signals: &'a SignalFiles,
    /// Which records are called.
    pub filter: Filter,
    /// Whether bases that were clipped off a record count.
    pub hard_clips: HardClips,
}
