//! How a source of aligned reads reads.

use seqloom_format::names::ReadNames;

use crate::cram::MAX_CONTAINER_BYTES;
use crate::input::MAX_RECORD_BYTES;

/// Options of an [`AlignmentSource`](super::AlignmentSource).
#[derive(Debug, Clone)]
pub struct AlignmentOptions {
    /// Text per block, in bytes, about; between 1 and 256 MiB.
    pub block_bytes: usize,
    /// Input that was cut short counts as far as it goes:
    /// [`BlockCheck::truncation`](super::BlockCheck::truncation) says where.
    pub allow_truncated: bool,
    /// Treatment of read names that SAM does not allow.
    pub read_names: ReadNames,
    /// Buffers kept for reuse.
    pub free_blocks: usize,
    /// Longest line of SAM text, in bytes, header lines apart; [`MAX_RECORD_BYTES`] at most. No
    /// more than that and a block is held of a line that is longer.
    ///
    /// [`MAX_RECORD_BYTES`]: crate::input::MAX_RECORD_BYTES
    pub max_line_bytes: usize,
    /// What a container of CRAM may inflate to, in bytes, and its records too; four times what the
    /// first one takes is always allowed.
    pub max_container_bytes: usize,
}

impl Default for AlignmentOptions {
    fn default() -> Self {
        Self {
            block_bytes: 1024 * 1024,
            allow_truncated: false,
            read_names: ReadNames::Check,
            free_blocks: 256,
            max_line_bytes: MAX_RECORD_BYTES,
            max_container_bytes: MAX_CONTAINER_BYTES,
        }
    }
}
