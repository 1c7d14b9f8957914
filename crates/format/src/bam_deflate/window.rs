//! The bytes of one block, with room after them, so that a comparison may read beyond their end.

use crate::bgzf::MAX_PAYLOAD_BYTES;

/// Columns that are compared at once: bytes from a place on.
pub(super) const COLUMNS: usize = 64;
/// Fibonacci hashing of eight bytes: 2^64 by the golden ratio.
pub(super) const HASH_64: u64 = 0x9e37_79b9_7f4a_7c15;
/// Places of a block are below this; it is a power of two, so that a place in it needs no check.
const PLACES: usize = 1 << 16;

const _: () = assert!(MAX_PAYLOAD_BYTES + COLUMNS <= PLACES);

/// See the module. What is after the bytes of the block is zeros: what is compared never depends on
/// earlier blocks.
pub(super) struct Window {
    bytes: Box<[u8; PLACES + COLUMNS]>,
    len: usize,
}

impl Window {
    pub(super) fn new() -> Self {
        Self { bytes: Box::new([0; PLACES + COLUMNS]), len: 0 }
    }

    /// Takes the bytes of a block, of which no more than [`MAX_PAYLOAD_BYTES`] count.
    pub(super) fn fill(&mut self, payload: &[u8]) {
        self.len = payload.len().min(MAX_PAYLOAD_BYTES);
        self.bytes[..self.len].copy_from_slice(&payload[..self.len]);
        self.bytes[self.len..self.len + COLUMNS].fill(0);
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The block.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// What is at `at` and after it. A place that is none of a block, which no caller has, is taken
    /// modulo the size of the window.
    #[inline(always)]
    pub(super) fn columns(&self, at: usize) -> &[u8; COLUMNS] {
        const NONE: [u8; COLUMNS] = [0; COLUMNS];
        self.bytes[at % PLACES..].first_chunk().unwrap_or(&NONE)
    }

    #[inline(always)]
    pub(super) fn byte_at(&self, at: usize) -> u8 {
        self.bytes[at % PLACES]
    }

    #[inline(always)]
    pub(super) fn u32_at(&self, at: usize) -> u32 {
        self.columns(at).first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
    }

    #[inline(always)]
    pub(super) fn u64_at(&self, at: usize) -> u64 {
        self.columns(at).first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }

    /// The first zero byte from `at` on and before `end`.
    #[inline(always)]
    pub(super) fn find_zero(&self, at: usize, end: usize) -> Option<usize> {
        let found = memchr::memchr(0, self.bytes.get(at..end)?)?;
        Some(at + found)
    }
}
