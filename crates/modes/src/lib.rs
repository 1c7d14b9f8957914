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
//! [`OUTSIDE`](seqloom_align::record::OUTSIDE): it stops nothing.

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

use seqloom_format::names::check_read_name;

use seqloom_align::engine::{EngineError, Read};

/// The read without so many bases at its 5' and its 3' end.
fn trimmed<'r>(read: Read<'r>, [start, end]: [usize; 2]) -> Result<Read<'r>, EngineError> {
    check_read_name(read.name).map_err(|fault| EngineError::Read {
        name: String::from_utf8_lossy(read.name).into_owned(),
        problem: fault.to_string(),
    })?;
    let end = read.bases.len().saturating_sub(end);
    let start = start.min(end);
    let bases = &read.bases[start..end];
    let qualities = read.qualities.map(|qualities| &qualities[start..end]);
    Ok(Read { bases, qualities, ..read })
}
