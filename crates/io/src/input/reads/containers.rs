//! Files of CRAM: a container becomes a block.

use std::sync::atomic::Ordering;

use super::block::{Defect, Problem};
use super::parse::parse_bam_piece;
use super::{FetchScratch, ReadSource, ReadsError, Taken};
use crate::cram::{ContainerPiece, CramInput};
use crate::input::extent::BlockExtent;
use crate::input::stream::Pull;

impl ReadSource {
    /// Inflated bytes of the first container of an input of CRAM; 0 where there is none.
    #[must_use]
    pub fn container_bytes(&self) -> u64 {
        self.files.iter().filter_map(|file| file.containers()).map(|it| it.wants.raw_bytes).sum()
    }

    /// Takes the next container of a file, and decodes it.
    pub(super) fn pull_container(
        &self,
        file: usize,
        cram: &CramInput,
        scratch: &mut FetchScratch,
    ) -> Result<Taken, ReadsError> {
        let progress = &self.files[file].progress;
        match cram.pull(&mut scratch.container)? {
            Pull::Piece(piece) => {
                // Relaxed: see `Progress`.
                progress.claimed_blocks.fetch_add(1, Ordering::Relaxed);
                progress.starved_since.store(0, Ordering::Relaxed);
                Ok(self.decode(file, cram, piece, scratch))
            }
            Pull::Held => Ok(Taken::Held),
            Pull::Ended => Ok(Taken::Exhausted),
            Pull::Waiting => Ok(self.wait_for(progress)),
        }
    }

    fn decode(
        &self,
        file: usize,
        cram: &CramInput,
        mut piece: ContainerPiece,
        scratch: &mut FetchScratch,
    ) -> Taken {
        let own_bytes = piece.bytes.len() as u64;
        let FetchScratch { container, records, .. } = scratch;
        records.clear();
        let broken = cram.decode(&mut piece, container, records);
        let mut block = self.buffers.take();
        block.bytes.clear();
        let mut parsed = parse_bam_piece(records, &mut block, self.parse.names);
        if let Some(defect) = &mut parsed.defect {
            // Of a record it is known in which container it is.
            defect.byte = 0;
        } else if let Some(broken) = broken {
            let (record, byte) = (parsed.records, broken.byte);
            let problem = Problem::Container(broken);
            parsed.defect = Some(Defect { problem, record, line: None, byte, name: Vec::new() });
        }
        parsed.place =
            BlockExtent { own_bytes, first: Some(0), end: own_bytes, ..BlockExtent::default() };
        self.deliver(file, (piece.index, piece.last), block, parsed, piece.raw_bytes)
    }
}
