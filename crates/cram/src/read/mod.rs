//! CRAM 3.0 and 3.1, read: containers to records of BAM, as pure functions on bytes.
//!
//! ```text
//! file ─► ContainerHead ─► container ─► blocks ────► encodings ─► records ──► mates ─► BAM
//!         how long it is   of slices    inflated     numbers,     fields,     made of
//!                                       (codecs)     bytes        bases       each other
//! ```
//!
//! A container is a task of one worker; nothing of it depends on another. What bytes say is
//! checked before it is a length or a place, and what a container may take is bounded by
//! [`Decoder::new`].
//!
//! Source: CRAM format specification, versions 3.0 and 3.1, and CRAM codecs, of the SAM/BAM format
//! group.

mod bases;
mod blocks;
pub(crate) mod codecs;
mod compression;
mod container;
pub(crate) mod cursor;
mod encodings;
pub(crate) mod error;
mod index;
mod look;
mod mates;
mod records;
mod slice;
mod window;

#[cfg(test)]
pub(crate) mod tests;

use blocks::{Block, COMPRESSION_HEADER, Inflater, SLICE_HEADER};
use compression::CompressionHeader;
use cursor::Cursor;
use encodings::{Slots, Streams};
use records::{Context, RecordReader};
use slice::{SliceHeader, read_blocks};
use window::Window;

pub use container::{ContainerHead, DEFINITION_BYTES, HEAD_BYTES, check_definition, header_text};
pub use error::{Defect, Problem};
pub use index::{BadLine, ContainerPlace, first_container};
pub use look::Wants;
pub use records::Sources;
pub use slice::sequence_digest;
pub use window::{MOST_BASES, SequenceBases};

/// One worker's decoder.
pub struct Decoder {
    most_bytes: usize,
    inflater: Inflater,
    slots: Slots,
    streams: Streams,
    records: RecordReader,
    header: Vec<u8>,
    embedded: Vec<u8>,
    window: Window,
}

impl Decoder {
    /// A decoder of containers whose blocks take `most_bytes` when they are inflated, and whose
    /// records take as much.
    #[must_use]
    pub fn new(most_bytes: usize) -> Self {
        Self {
            most_bytes,
            inflater: Inflater::default(),
            slots: Slots::default(),
            streams: Streams::default(),
            records: RecordReader::default(),
            header: Vec::new(),
            embedded: Vec::new(),
            window: Window::default(),
        }
    }

    /// Appends the records of a container to `out`, each preceded by its size, as BAM has them.
    ///
    /// # Errors
    /// What is wrong, and with which block; `out` holds the records of slices before it then.
    pub fn decode(
        &mut self,
        head: &ContainerHead,
        body: &[u8],
        sources: Sources<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Defect> {
        self.decode_slices(head, body, sources, out).map_err(|mut fault| {
            // The limit, and not what the blocks before have left of it.
            if let Problem::TooLarge(bytes) = &mut fault.problem {
                *bytes = self.most_bytes;
            }
            fault
        })
    }

    fn decode_slices(
        &mut self,
        head: &ContainerHead,
        body: &[u8],
        sources: Sources<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Defect> {
        self.inflater.left_bytes = self.most_bytes;
        let mut cursor = Cursor::new(body, "a container");
        if head.records == 0 {
            while !cursor.is_empty() {
                Block::read(&mut cursor, head.head_bytes)?;
            }
            return Ok(());
        }
        let block = Block::read(&mut cursor, head.head_bytes)?;
        block.expect(COMPRESSION_HEADER, "the first block is not the compression header")?;
        self.inflater.inflate(&block, &mut self.header)?;
        let header = CompressionHeader::parse(&self.header, &mut self.slots)
            .map_err(|problem| problem.at(block.at))?;
        let mut records = 0;
        let mut slices = 0;
        while !cursor.is_empty() && records < head.records {
            records = records.saturating_add(self.decode_slice(
                &header,
                &mut cursor,
                head,
                sources,
                out,
            )?);
            slices += 1;
        }
        let counts = [
            ("the number of a container's records", head.records as usize, records as usize),
            ("the number of a container's slices", head.landmarks.len(), slices),
        ];
        for (what, said, found) in counts {
            if said != found {
                return Err(Problem::Count { what, said: said as i64, found: found as i64 }.at(0));
            }
        }
        Ok(())
    }

    /// Decodes the next slice; gives the number of its records.
    fn decode_slice(
        &mut self,
        header: &CompressionHeader,
        cursor: &mut Cursor<'_>,
        head: &ContainerHead,
        sources: Sources<'_>,
        out: &mut Vec<u8>,
    ) -> Result<u32, Defect> {
        let block = Block::read(cursor, head.head_bytes)?;
        block.expect(SLICE_HEADER, "a block is not the header of a slice")?;
        let at = |problem: Problem| problem.at(block.at);
        let mut bytes = Vec::new();
        self.inflater.inflate(&block, &mut bytes)?;
        let slice = SliceHeader::parse(&bytes).map_err(at)?;
        let (slots, streams) = (&self.slots, &mut self.streams);
        let (inflater, embedded) = (&mut self.inflater, &mut self.embedded);
        read_blocks(&slice, cursor, head.head_bytes, slots, inflater, streams, embedded)?;
        let window = &mut self.window;
        window.clear();
        let has_bases = slice.is_embedded() || (header.needs_reference && slice.reference_id >= 0);
        if slice.is_embedded() {
            window.embed(i64::from(slice.start) - 1, embedded);
        } else if has_bases {
            slice.go_to(window, sources.sequences).map_err(at)?;
        }
        let most = out.len().saturating_add(self.most_bytes);
        let context = Context { header, slice: &slice, sources, has_bases, most };
        self.records.read_all(&context, window, streams, out).map_err(at)?;
        Ok(slice.records)
    }
}

/// What a block holds whose `bytes` are compressed by the method of this number, if that is
/// `raw_bytes`.
///
/// # Errors
/// Bytes that no compressor of the method writes, and methods that are not read.
pub fn decompress(method: u8, bytes: &[u8], raw_bytes: usize) -> Result<Vec<u8>, Problem> {
    let mut inflater = Inflater::default();
    inflater.left_bytes = raw_bytes;
    let mut out = Vec::new();
    inflater.decompress(method, bytes, raw_bytes, &mut out).map(|()| out)
}
