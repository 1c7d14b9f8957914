//! What is counted of the records that are written: flags and sequences, depth, and what Picard's
//! collectors and `samtools stats` count.

pub mod depth;
pub mod quality;
pub mod tally;
