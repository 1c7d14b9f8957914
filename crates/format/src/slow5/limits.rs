//! What is refused as too large, whatever a file states.

/// Most bytes of a header: room for thousands of read groups of a hundred attributes each.
pub(crate) const MAX_HEADER_BYTES: usize = 1 << 26;
/// Most bytes of a record, stored or inflated: hours of signal of one pore.
pub const MAX_BODY_BYTES: usize = 1 << 30;
