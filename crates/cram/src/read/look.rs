//! A look at a container before any of it is decoded: what a reader has to have for it.

use super::blocks::{Block, COMPRESSION_HEADER, Inflater, SLICE_HEADER};
use super::compression::CompressionHeader;
use super::container::ContainerHead;
use super::cursor::Cursor;
use super::encodings::Slots;
use super::error::Defect;
use super::slice::SliceHeader;

/// Most bytes that a container's own headers may inflate to.
const MOST_HEADER_BYTES: usize = 64 << 20;

/// Needs of a container.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wants {
    /// Its first slice is of differences from bases that are not in the file.
    pub reference: bool,
    /// Inflated bytes of its blocks, by their headers.
    pub raw_bytes: u64,
}

impl Wants {
    /// Those of a container.
    ///
    /// # Errors
    /// The problem.
    pub fn of(head: &ContainerHead, body: &[u8]) -> Result<Self, Defect> {
        let (mut wants, mut cursor) = (Self::default(), Cursor::new(body, "a container"));
        let mut inflater = Inflater::default();
        inflater.left_bytes = MOST_HEADER_BYTES;
        let (mut header, mut bytes) = (None, Vec::new());
        let mut has_slice = false;
        while !cursor.is_empty() {
            let block = Block::read(&mut cursor, head.head_bytes)?;
            wants.raw_bytes += block.raw_bytes as u64;
            if block.content == COMPRESSION_HEADER && header.is_none() {
                inflater.inflate(&block, &mut bytes)?;
                let parsed = CompressionHeader::parse(&bytes, &mut Slots::default());
                header = Some(parsed.map_err(|problem| problem.at(block.at))?);
            }
            if block.content == SLICE_HEADER && !has_slice {
                has_slice = true;
                inflater.inflate(&block, &mut bytes)?;
                let slice = SliceHeader::parse(&bytes).map_err(|problem| problem.at(block.at))?;
                let is_on_bases = slice.reference_id != -1 && !slice.is_embedded();
                let differs = header.as_ref().is_some_and(|it| it.needs_reference);
                wants.reference = is_on_bases && differs;
            }
        }
        Ok(wants)
    }
}
