//! Where a block's records are in its chunk.

/// Where a block is in the file's text. The block *owns* `own_bytes` of it; these chunks join
/// without gap or overlap in the order of the blocks. A record belongs to the block that owns the
/// byte before it (the first record: to block 0), so that a block knows its records without
/// knowing its predecessor. All offsets count from the chunk's start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct BlockExtent {
    pub(crate) own_bytes: u64,
    /// Start of the block's first record, `None` if it has none.
    pub(crate) first: Option<u64>,
    /// One past its last record.
    pub(crate) end: u64,
    /// From here to `own_bytes` there are only CR and LF.
    pub(crate) blank_from: u64,
    /// Compressed units of the block, first byte to one past the last, as offsets in the file;
    /// `None` if none starts in its chunk of the file, or if the file is read front to back.
    pub(crate) raw: Option<(u64, u64)>,
}
