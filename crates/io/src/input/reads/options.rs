//! How a source of reads reads.

use std::time::Duration;

use seqloom_format::names::ReadNames;

use crate::cram::MAX_CONTAINER_BYTES;
use crate::input::MAX_RECORD_BYTES;

/// Longest FASTQ record. The longest reads there are have about four million bases.
pub(crate) const MAX_FASTQ_BYTES: usize = 64 * 1024 * 1024;

/// Options of a [`ReadSource`](super::ReadSource).
#[derive(Debug, Clone)]
pub struct SourceOptions {
    /// Text per block, in bytes; between 1 and 256 MiB.
    pub block_bytes: usize,
    /// Keep FASTQ comments in `extra` (the auxiliary fields of BAM are always kept there).
    pub keep_comments: bool,
    /// Qualities are Phred+33 whatever they look like.
    pub assume_phred33: bool,
    /// Qualities of FASTQ are Phred+64; they are handed out as Phred+33.
    pub phred64: bool,
    /// Treatment of read names that SAM does not allow.
    pub names: ReadNames,
    /// Buffers kept for reuse: those of a cohort of 2x150 and more, since the next one takes them
    /// all again.
    pub free_blocks: usize,
    /// Text by which one of two pipes may be ahead while the other gives nothing, in bytes. The
    /// blocks are handed out meanwhile: the caller must be able to hold that much.
    pub max_skew_bytes: u64,
    /// How long one of two pipes may give nothing while the other is that far ahead.
    pub skew_patience: Duration,
    /// Longest record of FASTQ (64 MiB at most) or FASTA ([`MAX_RECORD_BYTES`] at most), in bytes
    /// of text. No more than that and a block is held of a record that is longer.
    pub max_text_bytes: usize,
    /// What a container of CRAM may inflate to, in bytes, and its records too; four times what the
    /// first one takes is always allowed.
    pub max_container_bytes: usize,
    /// Takes note of restart points in gzip files, so many bytes of text apart.
    pub restart_every_bytes: Option<u64>,
}

impl Default for SourceOptions {
    fn default() -> Self {
        Self {
            block_bytes: 512 * 1024,
            keep_comments: false,
            assume_phred33: false,
            phred64: false,
            names: ReadNames::Check,
            free_blocks: 1024,
            max_skew_bytes: 256 * 1024 * 1024,
            skew_patience: Duration::from_secs(120),
            max_text_bytes: MAX_RECORD_BYTES,
            max_container_bytes: MAX_CONTAINER_BYTES,
            restart_every_bytes: None,
        }
    }
}
