//! Readers of inputs: files and pipes, read by many workers at once and without one that feeds the
//! others.
//!
//! * Open (`raw`, `reader`, `decode`): an input's first bytes name its compression.
//! * Claim (`claim`, `window`, `look_ahead`): of a plain or BGZF file whoever is next takes a
//!   chunk, and as much after it as its last record needs.
//! * Stream (`stream`, `waiting`, `restart`): of all else, whoever comes first decompresses a block
//!   and cuts it where a `Cut` says.
//! * Place (`extent`): which bytes of its chunk a block owns, so that blocks join without gap or
//!   overlap.
//!
//! What the bytes are is the grammar's: [`reads`] (FASTQ, FASTA, unaligned BAM and CRAM) and
//! [`alignments`] (SAM, BAM, CRAM). Each recognises its formats, parses a block in the worker that
//! took it, and checks in order that the blocks join.

pub mod alignments;
pub(crate) mod bam;
pub(crate) mod buffers;
pub(crate) mod claim;
mod decode;
pub(crate) mod error;
pub(crate) mod extent;
pub(crate) mod header;
pub(crate) mod look_ahead;
pub(crate) mod malformed;
pub(crate) mod poll;
pub(crate) mod raw;
pub(crate) mod reader;
pub mod reads;
pub(crate) mod restart;
pub(crate) mod stream;
#[cfg(test)]
mod test_file;
pub(crate) mod trailing;
pub(crate) mod waiting;
pub(crate) mod window;

/// Longest record that is read, in bytes of its text or of its BAM body.
pub const MAX_RECORD_BYTES: usize = 256 * 1024 * 1024;

/// Text at the start of an input by which its format is recognised.
pub(crate) const SAMPLE_BYTES: usize = 64 * 1024;

/// Largest block that can be requested: with a record of the greatest length it stays below the
/// 4 GiB that the spans of a [`ReadBlock`](seqloom_format::ReadBlock) reach.
pub(crate) const MAX_BLOCK_BYTES: usize = 256 * 1024 * 1024;
