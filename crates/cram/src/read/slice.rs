//! Slices: their headers, blocks and references.

use super::blocks::{Block, CORE, EXTERNAL, Inflater, SLICE_HEADER};
use super::cursor::Cursor;
use super::encodings::{Slots, Streams};
use super::error::{Fault, Problem};
use crate::container::digest;

/// Bases of the sequences of a header.
pub trait SequenceBases {
    /// Bases of a sequence, upper case; `None` if they are not known.
    fn bases(&self, index: usize) -> Option<&[u8]>;
}

/// What a slice is of.
#[derive(Debug, Clone)]
pub(crate) struct SliceHeader {
    /// -1 for none, -2 for several.
    pub(crate) reference_id: i32,
    /// 1-based.
    pub(crate) start: i32,
    span: i32,
    pub(crate) records: u32,
    pub(crate) counter: u64,
    blocks: usize,
    /// Block of bases of the reference, -1 for none.
    embedded: i32,
    digest: [u8; 16],
}

impl SliceHeader {
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, Problem> {
        let mut cursor = Cursor::new(bytes, "a slice's header");
        let [reference_id, start, span] = [cursor.itf8()?, cursor.itf8()?, cursor.itf8()?];
        let records = cursor.size()? as u32;
        let counter = cursor.ltf8()?;
        let blocks = cursor.size()?;
        for _ in 0..cursor.size()? {
            cursor.itf8()?;
        }
        let embedded = cursor.itf8()?;
        let digest = cursor.array()?;
        Ok(Self { reference_id, start, span, records, counter, blocks, embedded, digest })
    }

    /// Whether its own reference's bases are in the file.
    pub(crate) fn is_embedded(&self) -> bool {
        self.embedded >= 0
    }

    /// Refuses bases that are not those of the writer. Zeros are no MD5.
    pub(crate) fn check_digest(&self, bases: &[u8]) -> Result<(), Problem> {
        if self.digest == [0; 16] || self.reference_id < 0 {
            return Ok(());
        }
        let first = usize::try_from(self.start - 1).unwrap_or(0).min(bases.len());
        let last = first.saturating_add(usize::try_from(self.span).unwrap_or(0)).min(bases.len());
        if digest(&bases[first..last]) == self.digest {
            return Ok(());
        }
        let (start, end) = (first as i64 + 1, last as i64);
        Err(Problem::OtherReference { sequence: self.reference_id, start, end })
    }
}

/// Reads the blocks of a slice into `streams`, and bases that it brings into `embedded`.
pub(crate) fn read_blocks(
    header: &SliceHeader,
    cursor: &mut Cursor<'_>,
    head_bytes: usize,
    slots: &Slots,
    inflater: &mut Inflater,
    streams: &mut Streams,
    embedded: &mut Vec<u8>,
) -> Result<(), Fault> {
    streams.external.resize_with(slots.len().max(streams.external.len()), Default::default);
    for stream in &mut streams.external {
        stream.bytes.clear();
        stream.at = 0;
    }
    streams.core.clear();
    streams.bit = 0;
    embedded.clear();
    for _ in 0..header.blocks {
        let block = Block::read(cursor, head_bytes)?;
        match block.content {
            CORE => inflater.inflate(&block, &mut streams.core)?,
            EXTERNAL => {
                if header.is_embedded() && block.id == header.embedded {
                    inflater.inflate(&block, embedded)?;
                }
                // What no encoding names is nobody's.
                if let Some(slot) = slots.find(block.id) {
                    inflater.inflate(&block, &mut streams.external[slot].bytes)?;
                }
            }
            SLICE_HEADER => {
                return Err(Problem::Malformed("a slice has fewer blocks than its header says")
                    .at(block.at));
            }
            _ => return Err(Problem::Malformed("a block is not one of a slice").at(block.at)),
        }
    }
    Ok(())
}
