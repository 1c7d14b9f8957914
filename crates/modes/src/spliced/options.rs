//! What is searched for, and what its records say.

use crate::by_score::mates::MateOptions;
use crate::by_score::score::Scoring;
use crate::options::Strands;

/// Which introns count, and what they cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IntronOptions {
    /// Introns are looked for at all.
    pub are_requested: bool,
    /// Those that are in no table are looked for, too.
    pub novel: bool,
    /// Bases of the shortest intron.
    pub least_bp: u32,
    /// Bases of the longest intron.
    pub most_bp: u32,
    /// What one costs that does not begin with GT and end with AG.
    pub other_penalty: i16,
    /// Fewest bases of the read on either side of a new one.
    pub anchor_bases: u16,
    /// The same, of one that does not begin with GT and end with AG.
    pub other_anchor_bases: u16,
}

/// How a library determines the strand of the transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LibraryStrand {
    /// Not at all.
    Unstranded,
    /// A single read, or the first mate, is as the transcript is.
    Forward,
    /// It is its reverse complement.
    Reverse,
}

/// The tag that has the strand of the transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StrandTag {
    /// XS:A, on the genome.
    Genome,
    /// TS:A, on the read (SAM optional fields 1.5).
    Read,
}

/// All options of the mode.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SplicedOptions {
    /// What alignments are worth; reads are clipped at a cost.
    pub scoring: Scoring,
    /// What a clipped base costs at quality 40 or more, and at less.
    pub clip: [i16; 2],
    /// Which introns may be found, and what they cost.
    pub introns: IntronOptions,
    /// Most placements of a read that are reported, all of the best score.
    pub placements: usize,
    /// On which strands.
    pub strands: Strands,
    /// Bases cut off at the 5' and the 3' end.
    pub trim: [usize; 2],
    /// What of mates.
    pub mates: MateOptions,
    /// What the library says of strands.
    pub library: LibraryStrand,
    /// Where that is said.
    pub strand_tag: StrandTag,
}

impl SplicedOptions {
    /// Whether a base costs a point at least that is not the reference's, or is clipped.
    pub(super) fn costs_points(&self) -> bool {
        let Scoring { mismatch, unknown, .. } = self.scoring;
        [self.clip, mismatch].as_flattened().iter().all(|it| *it > 0) && unknown > 0
    }
}
