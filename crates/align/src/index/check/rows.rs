//! Looks at `.bwt.2bit.64`: its head, and blocks of its rows.

use super::IndexError;
use super::files::{COMPARED_SYMBOLS, Pac, Sized};
use crate::index::IndexPaths;
use crate::index::layout::{
    BLOCK_ROWS, CHECKPOINTS_AT, Layout, MAX_STRIDE_LOG2, UNTAGGED_STRIDE_LOG2,
};

/// Blocks of rows that are examined in full; all of them when there are fewer.
const BLOCKS_EXAMINED: u64 = 64;

/// Steps from a sample to another one that are taken in large indexes: each is a read in any place.
const WALKED_STEPS: u64 = 8;

/// `.bwt.2bit.64`, its size checked.
pub(super) struct Bwt {
    file: Sized,
    pub(super) layout: Layout,
    pub(super) size_bytes: u64,
    sentinel_row: u64,
}

/// What a block of rows says.
struct Block {
    start: u64,
    filled: u64,
    occ: [u64; 4],
    masks: [u64; 4],
}

impl Block {
    /// Symbol of row `start + place`.
    fn symbol(&self, place: u64) -> Option<u8> {
        (0..4).find(|&c| (self.masks[usize::from(c)] >> (63 - place)) & 1 == 1)
    }

    /// Symbols before the next block.
    fn occ_after(&self) -> [u64; 4] {
        let mut occ = self.occ;
        for (count, mask) in occ.iter_mut().zip(self.masks) {
            *count += u64::from(mask.count_ones());
        }
        occ
    }
}

impl Bwt {
    pub(super) fn open(paths: &IndexPaths, bases: u64) -> Result<Self, IndexError> {
        let (file, size_bytes) = Sized::open(paths.bwt())?;
        let layouts = (0..=MAX_STRIDE_LOG2).filter_map(|s| Layout::new(bases, s));
        let tagged = layouts.clone().filter(|layout| layout.tagged_bytes() == size_bytes);
        let tag = match size_bytes.checked_sub(8) {
            Some(at) => file.numbers::<1>(at)?[0],
            None => return Err(file.damaged(format!("{size_bytes} bytes only"))),
        };
        let untagged = |s| move |l: &Layout| l.stride_log2 == s && l.untagged_bytes() == size_bytes;
        let chosen = tagged
            .into_iter()
            .find(|layout| u64::from(layout.stride_log2) == tag)
            .or_else(|| layouts.clone().find(untagged(UNTAGGED_STRIDE_LOG2)));
        let Some(layout) = chosen else {
            let stride = layouts.clone().find(|layout| layout.untagged_bytes() == size_bytes);
            return Err(file.damaged(match stride {
                Some(layout) => format!(
                    "a suffix-array stride of {} without the tag that says so",
                    1_u32 << layout.stride_log2
                ),
                None => format!("{size_bytes} bytes do not fit {bases} bases"),
            }));
        };
        let [sentinel_row] = file.numbers(layout.sentinel_at())?;
        if !(1..layout.rows()).contains(&sentinel_row) {
            return Err(file.damaged(format!("sentinel in row {sentinel_row}")));
        }
        Ok(Self { file, layout, size_bytes, sentinel_row })
    }

    /// The number of rows and the counts, against those of the bases.
    pub(super) fn check_head(&self, pac: &Pac, counts: [u64; 5]) -> Result<(), IndexError> {
        let [rows, found @ ..] = self.file.numbers::<{ CHECKPOINTS_AT as usize / 8 }>(0)?;
        if rows != self.layout.rows() {
            let expected = self.layout.rows();
            return Err(self.file.damaged(format!("{rows} rows; expected {expected}")));
        }
        if !found.is_sorted() || found[0] != 0 || found[4] != self.layout.symbols() {
            return Err(self.file.damaged(format!("impossible symbol counts {found:?}")));
        }
        if found != counts {
            return Err(self.other_reference(pac, "the symbol counts differ"));
        }
        Ok(())
    }

    fn other_reference(&self, pac: &Pac, problem: impl Into<String>) -> IndexError {
        IndexError::OtherReference {
            pac: pac.file.path.clone(),
            bwt: self.file.path.clone(),
            problem: problem.into(),
        }
    }

    /// Examines blocks from the first to the last.
    pub(super) fn check_blocks(&self, pac: &Pac, counts: [u64; 5]) -> Result<(), IndexError> {
        let blocks = self.layout.blocks();
        let examined = blocks.min(BLOCKS_EXAMINED);
        for i in 0..examined {
            let index = i * (blocks - 1) / (examined - 1).max(1);
            let block = self.block(index)?;
            let expected_after = if index + 1 < blocks {
                self.file.numbers(self.layout.checkpoint_at(index + 1))?
            } else {
                std::array::from_fn(|c| counts[c + 1] - counts[c])
            };
            let first_is_zero = index > 0 || block.occ == [0; 4];
            if !first_is_zero || block.occ_after() != expected_after {
                let problem = format!("the counts around row {} disagree", block.start);
                return Err(self.file.damaged(problem));
            }
            self.check_samples(pac, &block)?;
            let stride = 1 << self.layout.stride_log2;
            let (walks, steps) =
                if blocks == examined { (u64::MAX, u64::MAX) } else { (1, WALKED_STEPS) };
            let starts = (block.start..block.start + block.filled).step_by(stride);
            for row in starts.take(usize::try_from(walks).unwrap_or(usize::MAX)) {
                self.check_walk(pac, counts, row, steps)?;
            }
        }
        Ok(())
    }

    /// Goes from the suffix of `start`, a sampled row, to the suffixes before it until a row is
    /// sampled, for `steps` steps at most: it must have as many symbols more.
    fn check_walk(
        &self,
        pac: &Pac,
        counts: [u64; 5],
        start: u64,
        steps: u64,
    ) -> Result<(), IndexError> {
        let suffix = self.sample(start >> self.layout.stride_log2)?;
        let mut row = start;
        for step in 1..=steps.min(suffix) {
            let block = self.block(row / BLOCK_ROWS)?;
            let place = row % BLOCK_ROWS;
            let Some(symbol) = block.symbol(place) else { break };
            let c = usize::from(symbol);
            let before = block.masks[c].checked_shr((BLOCK_ROWS - place) as u32).unwrap_or(0);
            row = 1 + counts[c] + block.occ[c] + u64::from(before.count_ones());
            if row >= self.layout.rows() {
                return Err(self.file.damaged(format!("row {start} leads to no row")));
            }
            if row.is_multiple_of(1 << self.layout.stride_log2) {
                let found = self.sample(row >> self.layout.stride_log2)?;
                if found + step != suffix {
                    let problem = format!("the rows {step} steps from row {start} on disagree");
                    return Err(self.other_reference(pac, problem));
                }
                break;
            }
        }
        Ok(())
    }

    /// Reads block `index`; its masks must be disjoint and cover all rows but the sentinel's.
    fn block(&self, index: u64) -> Result<Block, IndexError> {
        let [a, c, g, t, masks @ ..] = self.file.numbers::<8>(self.layout.checkpoint_at(index))?;
        let start = BLOCK_ROWS * index;
        let filled = (self.layout.rows() - start).min(BLOCK_ROWS);
        // The last block is filled by 1 to 63 rows, because there are 2L + 1.
        let mut rows = u64::MAX << (BLOCK_ROWS - filled);
        if let Some(place) = self.sentinel_row.checked_sub(start).filter(|&p| p < BLOCK_ROWS) {
            rows &= !(1 << (63 - place));
        }
        let disjoint = masks.iter().map(|mask| mask.count_ones()).sum::<u32>();
        let union = masks.iter().fold(0, |union, mask| union | mask);
        if union != rows || disjoint != rows.count_ones() {
            let problem = format!("rows from {start} do not have one symbol each");
            return Err(self.file.damaged(problem));
        }
        let occ = [a, c, g, t];
        if occ.iter().any(|&count| count > self.layout.symbols()) {
            return Err(self.file.damaged(format!("impossible counts before row {start}")));
        }
        Ok(Block { start, filled, occ, masks })
    }

    /// The samples of a block: in range, after the symbol that the rows say, in order.
    fn check_samples(&self, pac: &Pac, block: &Block) -> Result<(), IndexError> {
        let stride = 1_u64 << self.layout.stride_log2;
        let mut previous: Option<Vec<u8>> = None;
        for place in (0..block.filled).step_by(stride as usize) {
            let row = block.start + place;
            let suffix = self.sample(row >> self.layout.stride_log2)?;
            let in_range = suffix <= self.layout.symbols();
            let ends_agree = (suffix == self.layout.symbols()) == (row == 0)
                && (suffix == 0) == (row == self.sentinel_row);
            if !in_range || !ends_agree {
                return Err(self.file.damaged(format!("row {row} has suffix {suffix}")));
            }
            let mut text = pac.symbols(suffix.saturating_sub(1))?;
            if suffix > 0 {
                let before = text.remove(0);
                if block.symbol(place) != Some(before) {
                    let problem = format!("row {row} has another symbol before suffix {suffix}");
                    return Err(self.other_reference(pac, problem));
                }
            }
            text.truncate(COMPARED_SYMBOLS as usize);
            if previous.is_some_and(|previous| previous > text) {
                let problem = format!("row {row} is out of order");
                return Err(self.other_reference(pac, problem));
            }
            previous = Some(text);
        }
        Ok(())
    }

    fn sample(&self, sample: u64) -> Result<u64, IndexError> {
        let (mut high, mut low) = ([0; 1], [0; 4]);
        self.file.read(self.layout.high_at(sample), &mut high)?;
        self.file.read(self.layout.low_at(sample), &mut low)?;
        Ok((u64::from(high[0]) << 32) | u64::from(u32::from_le_bytes(low)))
    }
}
