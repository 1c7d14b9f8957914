//! What CRAM output wants beyond that of other formats: MD5s of the reference's sequences in the
//! header, and memory for its encoders.

use std::path::Path;

use seqloom_cram::digest;
use seqloom_format::bam::Header;
use seqloom_prep::input::ReferenceSequences;
use seqloom_terminal::error::UnusableFile;

/// What a worker holds besides what it holds for BAM: the records of two slices, at most 12 MiB, as
/// much again of their series, and what these are compressed in.
pub(super) const ENCODER_BYTES: u64 = 40 << 20;

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
    Ok(header.set_sequence_digests(&digests).map_err(|error| UnusableFile::new(fasta, error))?)
}
