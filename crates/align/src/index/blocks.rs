//! From the checkpoints of `.bwt.2bit.64` to the [`Block`]s that searches read.

use bytemuck::{Pod, Zeroable};

use super::layout::{BLOCK_BYTES, BLOCK_ROWS, Layout};
use super::memory::Large;
use super::parts::{Block, SUPERBLOCK_ROWS_LOG2};
use super::read::{PartError, Parts, piece_values};

/// A checkpoint as the file has it.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
struct Checkpoint {
    /// How often each base occurs in the rows before.
    before: [u64; 4],
    /// One bit a row for each base.
    rows: [u64; 4],
}

const _: () = assert!(size_of::<Block>() as u64 == BLOCK_BYTES);
const _: () = assert!(size_of::<Checkpoint>() as u64 == BLOCK_BYTES);

/// Blocks of a superblock, as a power of two.
const SUPERBLOCK_LOG2: u32 = SUPERBLOCK_ROWS_LOG2 - BLOCK_ROWS.trailing_zeros();

/// Which rows are sampled.
#[derive(Debug)]
pub(super) enum SampledRows {
    /// Every so-manieth, as a power of two.
    Every(u8),
    /// Those of which a block's word has the bit.
    Marked {
        /// A word for each block; the first row is the highest bit.
        words: Large<u64>,
        /// How many are marked before each piece of [`piece_values`] blocks.
        before_pieces: Vec<u64>,
    },
}

impl SampledRows {
    /// Those that `words` mark.
    pub(super) fn marked(words: Vec<u64>) -> Self {
        let mut before = 0;
        let count = |piece: &[u64]| {
            let here = piece.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
            before += here;
            before - here
        };
        let before_pieces = words.chunks(piece_values::<Block>()).map(count).collect();
        Self::Marked { words: words.into(), before_pieces }
    }

    /// Sets them in a piece of the blocks, whose first is `first`.
    fn set(&self, first: usize, blocks: &mut [Block]) {
        match self {
            Self::Every(stride_log2) => {
                let word = every(*stride_log2);
                let starts = (first as u64..).map(|number| BLOCK_ROWS * number);
                for (block, start) in blocks.iter_mut().zip(starts) {
                    (block.sampled, block.samples_before) = (word, start >> stride_log2);
                }
            }
            Self::Marked { words, before_pieces } => {
                let mut before = before_pieces[first / piece_values::<Block>()];
                for (block, &word) in blocks.iter_mut().zip(&words[first..]) {
                    (block.sampled, block.samples_before) = (word, before);
                    before += u64::from(word.count_ones());
                }
            }
        }
    }
}

/// The rows of a block of which every `1 << stride_log2`-th is sampled.
fn every(stride_log2: u8) -> u64 {
    (0..BLOCK_ROWS).step_by(1 << stride_log2).fold(0, |word, row| word | 1 << (63 - row))
}

/// Reads the checkpoints, which come next, and makes the blocks of them. Also returns how often
/// each base occurs before each superblock.
pub(super) fn read(
    parts: &mut Parts,
    layout: Layout,
    sampled: &SampledRows,
) -> Result<(Vec<Block>, Vec<[u64; 4]>), PartError> {
    let count = layout.blocks() as usize;
    let superblocks = (0..layout.blocks()).step_by(1 << SUPERBLOCK_LOG2);
    let before = |block: u64| Ok(parts.peek::<Checkpoint>(block * BLOCK_BYTES)?.before);
    let superblocks: Vec<_> = superblocks.map(before).collect::<Result<_, PartError>>()?;
    let convert = |first: usize, blocks: &mut [Block]| {
        for (number, block) in (first..).zip(&mut *blocks) {
            let Checkpoint { before, rows } = bytemuck::cast(*block);
            let earlier = superblocks[number >> SUPERBLOCK_LOG2];
            // Damage shows in what is found, as it would anywhere else.
            block.before = std::array::from_fn(|b| before[b].wrapping_sub(earlier[b]) as u32);
            block.rows = rows;
        }
        sampled.set(first, blocks);
    };
    let blocks = parts.take_each(count, convert)?;
    Ok((blocks, superblocks))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sampled_rows_are_numbered() {
        let mut state = 9_u64;
        let words = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state & state << 7
        });
        let words: Vec<u64> = words.take(2 * piece_values::<Block>() + 3).collect();
        let rows = SampledRows::marked(words.clone());
        let mut blocks = vec![Block::default(); words.len()];
        let pieces = blocks.chunks_mut(piece_values::<Block>()).enumerate();
        pieces.for_each(|(piece, blocks)| rows.set(piece * piece_values::<Block>(), blocks));
        let mut before = 0;
        for (block, word) in blocks.iter().zip(words) {
            assert_eq!((block.sampled, block.samples_before), (word, before));
            before += u64::from(word.count_ones());
        }
    }

    #[test]
    fn strides_are_words() {
        assert_eq!([0, 3, 6].map(every), [u64::MAX, 0x8080_8080_8080_8080, 1 << 63]);
        let mut blocks = [Block::default(); 3];
        SampledRows::Every(4).set(5, &mut blocks);
        assert_eq!(blocks.map(|block| block.samples_before), [20, 24, 28]);
    }
}
