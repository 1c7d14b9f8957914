//! Block after block of a unit: search, codes, bits; which blocks share codes.

use super::compare::{Compare, Comparing};
use super::emit::Emitter;
use super::search::Search;
use super::simd;
use super::window::Window;
use crate::bgzf::STORED_OVERHEAD_BYTES;

/// Blocks that are written with the codes of one, that one included: a unit of usual records, so
/// that codes are never older than 2 MiB. With 16 files were 0.04 % smaller, and 2 % more time went
/// into them.
const BLOCKS_OF_A_CODE: u32 = 32;
/// Fewest bytes of a block whose codes others use, and of one that uses others'.
const MIN_SHARED_BYTES: usize = 16 << 10;
/// Size of the payload for which deflated bytes are compared.
const RATE_BYTES: usize = 1 << 16;
/// A block that is larger than that of its codes by more than one part of this requires new codes.
const RENEWAL_PART: usize = 32;
/// A block that is larger than the first of its unit by more than one part of this is refused.
const REFUSAL_PART: usize = 4;

/// How blocks of records are deflated.
pub(super) trait Deflate {
    /// Forgets all: what follows depends on the blocks to come alone.
    fn start_unit(&mut self);

    /// The deflate stream of a block; `None` if it is not whole records, would not be smaller, or
    /// is much larger than the first of the unit.
    fn deflate(&mut self, payload: &[u8]) -> Option<&[u8]>;
}

/// Codes that later blocks may use.
#[derive(Debug, Clone, Copy)]
struct Learned {
    /// Deflated bytes of the block they are from, for [`RATE_BYTES`].
    rate: usize,
    /// Blocks that have used them.
    blocks: u32,
}

/// Deflates with one effort.
pub(super) struct RecordDeflater<const K: usize, const READS: usize, const LAZY: bool> {
    window: Window,
    search: Search<K, READS, LAZY>,
    emitter: Emitter,
    learned: Option<Learned>,
    /// Of the first block of the unit, as in [`Learned`].
    first_rate: Option<usize>,
}

impl<const K: usize, const READS: usize, const LAZY: bool> RecordDeflater<K, READS, LAZY> {
    pub(super) fn new() -> Self {
        Self {
            window: Window::new(),
            search: Search::new(),
            emitter: Emitter::new(),
            learned: None,
            first_rate: None,
        }
    }

    /// The stream of the last block.
    pub(super) fn written(&self) -> &[u8] {
        self.emitter.written()
    }

    /// Whether the codes at hand are good for a block of `size` bytes.
    fn can_share(&self, size: usize) -> bool {
        let is_young = |learned: Learned| learned.blocks < BLOCKS_OF_A_CODE;
        size >= MIN_SHARED_BYTES && self.learned.is_some_and(is_young)
    }

    /// Makes codes of the block at hand; `None` if it would not be smaller with them.
    #[inline(always)]
    fn learn(&mut self) -> Option<()> {
        let bytes = self.window.bytes();
        let (size, deflated) =
            (bytes.len(), self.emitter.learn(self.search.tokens().list(), bytes));
        let learned = Learned { rate: rate(size, deflated), blocks: 0 };
        self.learned = (size >= MIN_SHARED_BYTES).then_some(learned);
        (deflated < size + STORED_OVERHEAD_BYTES).then_some(())
    }

    /// Writes the block at hand, and gives how many bytes that are.
    #[inline(always)]
    fn write(&mut self) -> usize {
        self.emitter.write(self.search.tokens().list(), &self.window)
    }

    /// Whether a block is so much larger than the first of its unit that libdeflate should make it.
    fn is_outlier(&self, rate: usize) -> bool {
        self.first_rate.is_some_and(|first| rate > first + first / REFUSAL_PART)
    }

    /// Notes how large a block became.
    fn note(&mut self, rate: usize) {
        if let Some(learned) = &mut self.learned {
            learned.blocks += 1;
            if rate > learned.rate + learned.rate / RENEWAL_PART {
                self.learned = None;
            }
        }
        self.first_rate.get_or_insert(rate);
    }
}

impl<const K: usize, const READS: usize, const LAZY: bool> Comparing
    for RecordDeflater<K, READS, LAZY>
{
    /// Deflates a block; see [`Deflate::deflate`].
    #[inline(always)]
    fn run<C: Compare>(&mut self, payload: &[u8], compare: C) -> Option<()> {
        self.window.fill(payload);
        self.search.run(&self.window, compare)?;
        let size = payload.len();
        let is_shared = self.can_share(size);
        if !is_shared {
            self.learn()?;
        }
        let mut deflated = self.write();
        if is_shared && self.is_outlier(rate(size, deflated)) {
            // Reads unlike those that the codes are of: its own may do.
            self.learn()?;
            deflated = self.write();
        }
        self.note(rate(size, deflated));
        let is_smaller = deflated < size + STORED_OVERHEAD_BYTES;
        (is_smaller && !self.is_outlier(rate(size, deflated))).then_some(())
    }
}

/// Deflated bytes as they would be for a payload of [`RATE_BYTES`].
fn rate(size: usize, deflated: usize) -> usize {
    deflated * RATE_BYTES / size.max(1)
}

impl<const K: usize, const READS: usize, const LAZY: bool> Deflate
    for RecordDeflater<K, READS, LAZY>
{
    fn start_unit(&mut self) {
        self.learned = None;
        self.first_rate = None;
    }

    fn deflate(&mut self, payload: &[u8]) -> Option<&[u8]> {
        simd::run(self, payload)?;
        Some(self.written())
    }
}
