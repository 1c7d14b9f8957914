//! Alignment other than bwa's, on the same index: an engine a mode, and what they share.
//!
//! * [`ungapped`]: every placement with a few mismatches and no gap, as Bowtie.
//! * [`gapped`]: the best placements by score, whole or clipped, as Bowtie 2.
//! * [`spliced`]: the best placements over introns, as HISAT2.
//!
//! All are a `Placer`, which is driven by groups of reads: it finds their
//! placements on an index (`indexed`), and hands out the records of one template after the other.
//! What the two modes by score have in common besides that, the writing of records above all, is in
//! `by_score`; a mode says there only what it words in its own way.
//!
//! A read that a mode does not search for, as it is too short or longer than
//! `query::LONGEST_READ`, has an unmapped record with the tag
//! [`UNSEARCHED`](seqloom_align::UNSEARCHED): it stops nothing.

mod by_score;
mod chance;
mod fields;
pub mod gapped;
mod indexed;
pub mod options;
pub mod pairs;
mod placer;
mod query;
mod reference;
pub mod spliced;
pub mod ungapped;
