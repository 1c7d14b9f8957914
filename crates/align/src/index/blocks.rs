//! From the checkpoints of `.bwt.2bit.64` to the [`Block`]s that searches read.

use bytemuck::{Pod, Zeroable};

use super::layout::{BLOCK_BYTES, BLOCK_ROWS, Layout};
use super::parts::{Block, SUPERBLOCK_ROWS_LOG2};
use super::read::{PartError, Parts};
use super::text_samples::RowWords;

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
    Marked(RowWords),
}

impl SampledRows {
    /// Sets them in a step of the blocks, whose first is `first`.
    fn set(&self, first: usize, blocks: &mut [Block]) -> Result<(), PartError> {
        match self {
            Self::Every(stride_log2) => {
                let word = every(*stride_log2);
                let starts = (first as u64..).map(|number| BLOCK_ROWS * number);
                for (block, start) in blocks.iter_mut().zip(starts) {
                    (block.sampled, block.samples_before) = (word, start >> stride_log2);
                }
            }
            Self::Marked(words) => {
                let (words, mut before) = words.of_step(first, blocks.len())?;
                for (block, word) in blocks.iter_mut().zip(words) {
                    (block.sampled, block.samples_before) = (word, before);
                    before += u64::from(word.count_ones());
                }
            }
        }
        Ok(())
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
    let before = |block: u64| {
        let mut checkpoint = [Checkpoint::zeroed()];
        parts.read_at(block as usize, &mut checkpoint)?;
        Ok(checkpoint[0].before)
    };
    let superblocks: Vec<_> = superblocks.map(before).collect::<Result<_, PartError>>()?;
    let convert = |first: usize, blocks: &mut [Block]| {
        for (number, block) in (first..).zip(&mut *blocks) {
            let Checkpoint { before, rows } = bytemuck::cast(*block);
            let earlier = superblocks[number >> SUPERBLOCK_LOG2];
            // Damage shows in what is found, as it would anywhere else.
            block.before = std::array::from_fn(|b| before[b].wrapping_sub(earlier[b]) as u32);
            block.rows = rows;
        }
        sampled.set(first, blocks)
    };
    let (blocks, _) = parts.take_each(count, convert)?;
    Ok((blocks, superblocks))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::path::PathBuf;

    use super::super::read::{Readers, step_values};
    use super::*;

    #[test]
    fn sampled_rows_are_numbered() {
        let mut state = 9_u64;
        let words = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state & state << 7
        });
        let words: Vec<u64> = words.take(2 * step_values::<Block>() + 3).collect();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytemuck::cast_slice(&words)).unwrap();
        let parts = Parts::new(file, PathBuf::new(), 0, Readers::ONE);
        let rows = SampledRows::Marked(RowWords::read(parts, words.len()).unwrap().0);
        let mut blocks = vec![Block::default(); words.len()];
        let steps = (0..).step_by(step_values::<Block>());
        let steps = steps.zip(blocks.chunks_mut(step_values::<Block>()));
        steps.for_each(|(first, blocks)| rows.set(first, blocks).unwrap());
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
        SampledRows::Every(4).set(5, &mut blocks).unwrap();
        assert_eq!(blocks.map(|block| block.samples_before), [20, 24, 28]);
    }
}
