//! The blocks of one file, in order, and the reads at their front.

use std::collections::VecDeque;
use std::sync::Arc;

use seqloom_format::{MateOfPair, ReadBlock};
use seqloom_io::reads::{BlockCheck, BlockPlace, FilePosition, InputBlock, ReadSource};
use seqloom_runtime::schedule::InOrder;

use super::batch::Segment;
use crate::input::error::CohortError;
use crate::input::mates::MateOrder;

/// One file's blocks, put in order.
pub(super) struct FileBlocks {
    pub(super) path: String,
    check: BlockCheck,
    pub(super) mates: Option<MateOrder>,
    /// Blocks that came before their turn.
    order: InOrder<InputBlock>,
    /// In order, not yet cut, each with its place; `front` reads of the first are used up.
    blocks: VecDeque<(Arc<ReadBlock>, BlockPlace)>,
    front: usize,
    pub(super) available: usize,
    pub(super) taken: u64,
    pub(super) ended: bool,
    /// It has ended with a malformed block: nothing after that counts.
    pub(super) is_malformed: bool,
    /// What is wrong with that one, until it is reported.
    pub(super) defect: Option<CohortError>,
    /// Numbers of mates are taken off the names of its reads.
    cuts_numbers: bool,
}

impl FileBlocks {
    /// File number `file` (0 or 1) of `source`.
    pub(super) fn new(source: &ReadSource, file: usize) -> Self {
        Self {
            path: source.path(file).display().to_string(),
            check: BlockCheck::new(source, file),
            mates: MateOrder::of(source),
            order: InOrder::default(),
            blocks: VecDeque::new(),
            front: 0,
            available: 0,
            taken: 0,
            ended: false,
            is_malformed: false,
            defect: None,
            cuts_numbers: false,
        }
    }

    /// Takes the numbers of mates off the names of all reads that are here and that come. No read
    /// may have been taken yet.
    pub(super) fn cut_numbers(&mut self) {
        self.cuts_numbers = true;
        // Nobody else has them before the first is taken.
        let blocks = self.blocks.iter_mut().filter_map(|(block, _)| Arc::get_mut(block));
        blocks.for_each(ReadBlock::cut_dotted_numbers);
    }

    /// Takes a block, which may come before its turn.
    pub(super) fn accept(&mut self, source: &ReadSource, block: InputBlock) {
        self.order.push(block.index, block);
        while let Some(block) = self.order.pop().filter(|_| !self.ended) {
            self.defect = self.append(source, block).err();
            self.is_malformed = self.defect.is_some();
            self.ended |= self.is_malformed;
        }
    }

    /// Takes the next block in order.
    fn append(&mut self, source: &ReadSource, mut block: InputBlock) -> Result<(), CohortError> {
        let place = self.check.place_of_next(&block);
        self.check.accept(source, &mut block)?;
        if let Some(mates) = &mut self.mates {
            mates.accept(&block)?;
        }
        if self.cuts_numbers {
            block.reads.cut_dotted_numbers();
        }
        self.ended = block.last;
        self.available += block.reads.reads.len();
        self.blocks.push_back((Arc::new(block.reads), place));
        Ok(())
    }

    /// Read `offset` places after the front.
    pub(super) fn peek(&self, mut offset: usize) -> Option<(&ReadBlock, usize)> {
        offset += self.front;
        for (block, _) in &self.blocks {
            if offset < block.reads.len() {
                return Some((block, offset));
            }
            offset -= block.reads.len();
        }
        None
    }

    /// Where the read at the front is; `None` before it is there.
    pub(super) fn place(&self) -> Option<FilePosition> {
        let mut front = self.front;
        for (block, place) in &self.blocks {
            if let Some(read) = block.reads.get(front) {
                return Some(place.of_read(front, &block.bytes, read.name.start));
            }
            front -= block.reads.len();
        }
        None
    }

    /// Takes so many reads off the front.
    pub(super) fn take(&mut self, mut count: usize) -> Vec<Segment> {
        self.available -= count;
        self.taken += count as u64;
        let mut segments = Vec::with_capacity(2);
        while count > 0 {
            let Some((block, _)) = self.blocks.front() else { break };
            let end = block.reads.len().min(self.front + count);
            count -= end - self.front;
            if end > self.front {
                segments.push(Segment { block: block.clone(), reads: self.front..end });
            }
            self.front = end;
            if end == block.reads.len() {
                self.blocks.pop_front();
                self.front = 0;
            }
        }
        segments
    }

    /// Whether all was taken, and nothing else will come.
    pub(super) fn exhausted(&self) -> bool {
        self.ended && self.available == 0 && !self.is_malformed
    }

    /// Blocks that wait for one before them.
    pub(super) fn early_blocks(&self) -> usize {
        self.order.early()
    }

    /// Whether the read at `offset` and the next one are mates: by what the input says where it
    /// does (unaligned BAM), and by equal names.
    pub(super) fn has_mates(&self, offset: usize) -> bool {
        let (Some((a, i)), Some((b, j))) = (self.peek(offset), self.peek(offset + 1)) else {
            return false;
        };
        let stated = match (a.mate_of_pair.get(i), b.mate_of_pair.get(j)) {
            (Some(first), Some(second)) => {
                (*first, *second) == (MateOfPair::First, MateOfPair::Second)
            }
            _ => true,
        };
        stated && a.name(i) == b.name(j)
    }
}
