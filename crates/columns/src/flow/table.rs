//! What the flow asks of a kind of table: alignments, reads or signal.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use seqloom_runtime::schedule::Fetch;

use crate::error::ColumnsError;

/// Whether the input goes on after a block that was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    /// There is more.
    More,
    /// It was the last, or nothing after it is requested.
    Nothing,
}

/// Rows of an input, one after the other.
pub(crate) trait Block: Send + Sync {
    /// Input and number in it, from 0.
    fn place(&self) -> (usize, u64);
    /// Rows that the block gives.
    fn rows(&self) -> usize;
    /// Bytes of a row.
    fn row_bytes(&self, row: usize) -> u64;
    /// Bytes of all rows.
    fn held_bytes(&self) -> u64;
}

/// Source of the rows.
pub(crate) trait Table: Sync {
    type Block: Block;
    /// Working memory, kept from fetch to fetch.
    type Scratch: Default;
    /// State of the check of accepted blocks.
    type Check: Send;
    /// Builders of one worker.
    type Builders;

    fn inputs(&self) -> usize;
    fn check(&self) -> Self::Check;
    fn builders(&self) -> Self::Builders;
    /// Bytes read, and how many there are.
    fn progress(&self) -> (u64, Option<u64>);

    /// Takes the next block, never waiting for another worker.
    fn fetch(&self, scratch: &mut Self::Scratch) -> Result<Fetch<Self::Block>, ColumnsError>;

    /// Accepts blocks in order.
    fn accept(
        &self,
        check: &mut Self::Check,
        block: &mut Self::Block,
    ) -> Result<Rest, ColumnsError>;

    /// Columns of the rows of `pieces`.
    fn build(
        &self,
        builders: &mut Self::Builders,
        pieces: &[Piece<Self::Block>],
    ) -> Result<RecordBatch, ColumnsError>;

    /// Takes a block back.
    fn recycle(&self, block: Self::Block);
}

/// Some rows of a block.
pub(crate) struct Piece<B> {
    pub(crate) block: Arc<B>,
    pub(crate) rows: Range<usize>,
}
