//! How a stream of reads is cut.

use seqloom_format::fastq::{self, Grammar};

use crate::input::bam;
use crate::input::stream::Cut;

/// How a stream of reads is cut into records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamGrammar {
    Text(Grammar),
    Bam,
}

impl Cut for StreamGrammar {
    fn last_boundary(self, text: &[u8]) -> usize {
        match self {
            Self::Text(grammar) => fastq::last_boundary(grammar, text),
            Self::Bam => bam::last_boundary(text),
        }
    }

    fn needs_eof_block(self) -> bool {
        self == Self::Bam
    }
}
