//! Records to output bytes: BGZF blocks of BAM with their index entries, lines of SAM, or
//! containers of CRAM.
//!
//! An encoder works on one *unit*, a run of consecutive records of the output; units are encoded in
//! parallel and their bytes put one after the other. A unit starts a block of its own, and its
//! blocks share what the compressor knows of it and no more, so bytes are what units and records
//! say, whoever encodes them.

use seqloom_cram::{Container, CramError, EOF_CONTAINER, Numbering, Referred, file_start};
use seqloom_format::bam::{Header, HeaderError, RecordError, RecordRef, Reference, set_duplicate};
use seqloom_format::bam_deflate::{BamCompressor, Settings};
use seqloom_format::bgzf::{
    BgzfError, BlockCompressor, EOF_BLOCK, MAX_PAYLOAD_BYTES, VirtualOffset,
};
use seqloom_format::index::{BinningScheme, IndexBuilder, IndexError, IndexFragment};
use seqloom_format::sam;
use seqloom_runtime::error::{Class, RunError};

use super::output_index::OutputIndex;

/// Format of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// BAM in BGZF blocks, with index entries if `index` says so.
    Bam {
        /// How blocks are deflated.
        deflate: Settings,
        /// Scheme of the index, if one is requested.
        index: Option<BinningScheme>,
    },
    /// SAM text.
    Sam,
    /// Containers of CRAM.
    Cram {
        /// Version, level and what is stored.
        settings: seqloom_cram::Settings,
        /// Whether an index is requested (`.crai`).
        index: bool,
    },
}

/// Bytes of records after which a unit of BAM or SAM is closed.
pub const UNIT_BYTES: u64 = 2 << 20;
/// The same of CRAM, whose slices do not go on over units: those of 5,000 records are 1 % larger
/// than those of 10,000.
const CRAM_UNIT_BYTES: u64 = 6 << 20;

impl Encoding {
    /// Bytes of records after which a unit is closed.
    #[must_use]
    pub fn unit_bytes(self) -> u64 {
        match self {
            Self::Bam { .. } | Self::Sam => UNIT_BYTES,
            Self::Cram { .. } => CRAM_UNIT_BYTES,
        }
    }

    /// The header as it is before the records.
    ///
    /// # Errors
    /// It is too large for BAM or CRAM.
    pub fn header(self, header: &Header) -> Result<Vec<u8>, EncodeError> {
        match self {
            Self::Bam { deflate, .. } => Ok(bgzf_blocks(&header.encode()?, deflate.level)?),
            Self::Sam => Ok(header.text()),
            Self::Cram { settings, .. } => Ok(file_start(settings.version, &header.text())?),
        }
    }

    /// What gathers index entries, if an index is requested, and numbers containers of CRAM.
    #[must_use]
    pub fn index(self, references: usize) -> Option<OutputIndex> {
        match self {
            Self::Bam { index, .. } => {
                index.map(|scheme| OutputIndex::Bins(IndexBuilder::new(scheme, references)))
            }
            Self::Sam => None,
            Self::Cram { index, .. } => Some(OutputIndex::Containers(Numbering::new(index))),
        }
    }

    /// The bytes after the records.
    #[must_use]
    pub fn end(self) -> &'static [u8] {
        match self {
            Self::Bam { .. } => &EOF_BLOCK,
            Self::Sam => &[],
            Self::Cram { .. } => &EOF_CONTAINER,
        }
    }
}

/// `payload` as BGZF blocks.
///
/// # Errors
/// There is no such level, or memory is short.
pub fn bgzf_blocks(payload: &[u8], level: u8) -> Result<Vec<u8>, BgzfError> {
    let mut compressor = BlockCompressor::new(level)?;
    let mut out = Vec::new();
    for piece in payload.chunks(MAX_PAYLOAD_BYTES) {
        compressor.compress(piece, &mut out)?;
    }
    Ok(out)
}

/// Why a record could not be encoded.
#[derive(Debug, thiserror::Error)]
pub enum EncodeError {
    /// Deflate failed.
    #[error(transparent)]
    Bgzf(#[from] BgzfError),
    /// The record cannot be indexed.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// The record has no SAM text.
    #[error(transparent)]
    Sam(#[from] RecordError),
    /// The record cannot be CRAM.
    #[error(transparent)]
    Cram(#[from] CramError),
    /// The header is too large.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// Nobody has given the bases that CRAM refers to.
    #[error("CRAM without the bases of its reference; this is a bug")]
    NoReference,
}

impl RunError for EncodeError {
    fn class(&self) -> Class {
        match self {
            Self::Bgzf(_) | Self::NoReference | Self::Cram(CramError::Deflate) => Class::Bug,
            Self::Index(_) | Self::Sam(_) | Self::Cram(_) | Self::Header(_) => Class::Input,
        }
    }
}

/// An encoded unit: bytes, and index entries relative to their start.
#[derive(Debug, Default)]
pub struct EncodedUnit {
    /// Output bytes.
    pub bytes: Vec<u8>,
    /// Index entries, when an index is requested.
    pub(crate) index: Option<IndexFragment>,
    /// Containers, whose bytes are made when it is known how many records come first.
    pub(crate) containers: Vec<Container>,
}

impl EncodedUnit {
    /// Memory that waits to be written.
    pub(super) fn held_bytes(&self) -> usize {
        let containers = self.containers.iter().map(Container::heap_bytes);
        self.bytes.capacity() + containers.sum::<usize>()
    }
}

/// One worker's encoder.
pub struct Encoder<'a> {
    references: &'a [Reference],
    compressor: Option<BamCompressor>,
    cram: Option<seqloom_cram::Encoder<'a>>,
    payload: Vec<u8>,
    /// Bytes of the unit that were drained already.
    drained_bytes: u64,
    unit: EncodedUnit,
    scheme: Option<BinningScheme>,
}

impl<'a> Encoder<'a> {
    /// An encoder for records on `references`, which in CRAM refer to `referred`.
    ///
    /// # Errors
    /// A level that does not exist; CRAM without what it refers to.
    pub fn new(
        encoding: Encoding,
        references: &'a [Reference],
        referred: Option<Referred<'a>>,
    ) -> Result<Self, EncodeError> {
        let (mut compressor, mut scheme, mut cram) = (None, None, None);
        match encoding {
            Encoding::Bam { deflate, index } => {
                (compressor, scheme) = (Some(BamCompressor::new(deflate)?), index);
            }
            Encoding::Sam => {}
            Encoding::Cram { settings, .. } => {
                let referred = referred.ok_or(EncodeError::NoReference)?;
                cram = Some(seqloom_cram::Encoder::new(settings, referred));
            }
        }
        let index = scheme.map(IndexFragment::new);
        Ok(Self {
            references,
            compressor,
            cram,
            payload: Vec::new(),
            drained_bytes: 0,
            unit: EncodedUnit { index, ..EncodedUnit::default() },
            scheme,
        })
    }

    /// Adds a record to the unit, with its duplicate flag set or cleared if `duplicate` says so.
    ///
    /// # Errors
    /// When the record cannot be encoded.
    pub fn push(
        &mut self,
        record: &RecordRef<'_>,
        duplicate: Option<bool>,
    ) -> Result<(), EncodeError> {
        let body = record.body();
        if let Some(cram) = &mut self.cram {
            return Ok(cram.push(record, duplicate, &mut self.unit.containers)?);
        }
        if self.compressor.is_none() {
            return self.push_text(record, duplicate);
        }
        let framed_bytes = body.len() + 4;
        if !self.payload.is_empty() && self.payload.len() + framed_bytes > MAX_PAYLOAD_BYTES {
            self.flush_block()?;
        }
        if let Some(index) = &mut self.unit.index {
            let block_offset = self.drained_bytes + self.unit.bytes.len() as u64;
            let offset_in_block = self.payload.len() as u16;
            let start = VirtualOffset::new(block_offset, offset_in_block).unwrap_or_default();
            index.push_record(record, start)?;
        }
        self.payload.extend_from_slice(&(body.len() as u32).to_le_bytes());
        let at = self.payload.len();
        self.payload.extend_from_slice(body);
        if let Some(duplicate) = duplicate {
            set_duplicate(&mut self.payload[at..], duplicate);
        }
        while self.payload.len() >= MAX_PAYLOAD_BYTES {
            self.flush_block()?;
        }
        Ok(())
    }

    fn push_text(
        &mut self,
        record: &RecordRef<'_>,
        duplicate: Option<bool>,
    ) -> Result<(), EncodeError> {
        let Some(duplicate) = duplicate else {
            return Ok(sam::append_line(record, self.references, &mut self.unit.bytes)?);
        };
        self.payload.clear();
        self.payload.extend_from_slice(record.body());
        set_duplicate(&mut self.payload, duplicate);
        Ok(sam::append_record(&self.payload, self.references, &mut self.unit.bytes)?)
    }

    /// Compresses the payload, at most one block of it.
    fn flush_block(&mut self) -> Result<(), EncodeError> {
        let Some(compressor) = &mut self.compressor else { return Ok(()) };
        let len = self.payload.len().min(MAX_PAYLOAD_BYTES);
        compressor.compress(&self.payload[..len], &mut self.unit.bytes)?;
        self.payload.drain(..len);
        Ok(())
    }

    /// Bytes encoded and not drained.
    #[must_use]
    pub(crate) fn pending_bytes(&self) -> usize {
        let containers = self.unit.containers.iter().map(Container::block_bytes);
        self.unit.bytes.len() + containers.sum::<usize>()
    }

    /// Takes what is encoded of the unit so far, which goes on; containers by themselves.
    pub(crate) fn drain(&mut self, into: &mut Vec<u8>) -> Vec<Container> {
        self.drained_bytes += self.unit.bytes.len() as u64;
        into.append(&mut self.unit.bytes);
        std::mem::take(&mut self.unit.containers)
    }

    /// Ends the unit and starts the next.
    ///
    /// # Errors
    /// When the last block cannot be compressed, or records that wait cannot be encoded.
    pub fn finish_unit(&mut self) -> Result<EncodedUnit, EncodeError> {
        if self.compressor.is_some() && !self.payload.is_empty() {
            self.flush_block()?;
        }
        if let Some(compressor) = &mut self.compressor {
            compressor.end_unit();
        }
        if let Some(cram) = &mut self.cram {
            cram.finish_unit(&mut self.unit.containers)?;
        }
        self.drained_bytes = 0;
        let index = self.scheme.map(IndexFragment::new);
        let next = EncodedUnit { index, ..EncodedUnit::default() };
        Ok(std::mem::replace(&mut self.unit, next))
    }

    /// Takes the memory of bytes that have been written, for a unit to come.
    pub fn recycle(&mut self, mut bytes: Vec<u8>) {
        bytes.clear();
        if self.unit.bytes.capacity() == 0 {
            self.unit.bytes = bytes;
        }
    }
}

#[cfg(test)]
#[path = "encode_tests.rs"]
mod tests;
