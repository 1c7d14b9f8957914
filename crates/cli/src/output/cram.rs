//! What CRAM output wants beyond that of other formats: the bases of the reference, of which each
//! sequence's MD5 is in the header.

use std::num::NonZeroUsize;
use std::path::Path;

use seqloom_cram::digest;
use seqloom_format::bam::{Header, Reference};
use seqloom_io::reference;
use seqloom_prep::input::ReferenceSequences;
use seqloom_terminal::error::InputError;

/// What a worker holds besides what it holds for BAM: the records of two slices, at most 12 MiB, as
/// much again of their series, and what these are compressed in.
const ENCODER_BYTES: u64 = 40 << 20;

/// Memory of all workers' encoders.
pub(crate) fn encoder_bytes(threads: NonZeroUsize) -> u64 {
    ENCODER_BYTES * threads.get() as u64
}

/// The bases of all sequences of a header, in upper case, as CRAM refers to them.
///
/// # Errors
/// What is wrong with the file, or not in it.
pub(crate) fn load_reference(
    fasta: &Path,
    references: &[Reference],
) -> seqloom_terminal::Result<ReferenceSequences> {
    let mut sequences = reference::load(fasta, references)?;
    sequences.iter_mut().for_each(|bases| bases.make_ascii_uppercase());
    Ok(ReferenceSequences::new(sequences))
}

/// Gives the header the MD5s of the sequences that are in the file at `fasta`.
///
/// # Errors
/// The header says another one.
pub(crate) fn set_digests(
    header: &mut Header,
    sequences: &ReferenceSequences,
    fasta: &Path,
) -> seqloom_terminal::Result<()> {
    let digests: Vec<[u8; 16]> = sequences.sequences().iter().map(|it| digest(it)).collect();
    Ok(header.set_sequence_digests(&digests).map_err(|error| InputError::new(fasta, error))?)
}
