//! Records to output bytes: BGZF blocks of BAM with their index entries, or lines of SAM.
//!
//! An encoder works on one *unit*, a run of consecutive records of the output; units are encoded in
//! parallel and their bytes put one behind the other. A unit starts a block of its own, and its
//! blocks share what the compressor knows of it and no more, so bytes are what units and records
//! say, whoever encodes them.

use seqloom_format::bam::{RecordError, RecordRef, Reference, set_duplicate};
use seqloom_format::bam_deflate::{BamCompressor, Settings};
use seqloom_format::bgzf::{BgzfError, MAX_PAYLOAD_BYTES, VirtualOffset};
use seqloom_format::index::{BinningScheme, IndexError, IndexFragment};
use seqloom_format::sam;
use seqloom_runtime::error::{Class, RunError};

/// What records become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// BAM in BGZF blocks, with index entries if `index` says so.
    Bam {
        /// How blocks are deflated.
        deflate: Settings,
        /// Scheme of the index, if one is wanted.
        index: Option<BinningScheme>,
    },
    /// SAM text.
    Sam,
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
}

impl RunError for EncodeError {
    fn class(&self) -> Class {
        match self {
            Self::Bgzf(_) => Class::Bug,
            Self::Index(_) | Self::Sam(_) => Class::Input,
        }
    }
}

/// What one unit became: bytes, and index entries relative to their start.
#[derive(Debug, Default)]
pub struct EncodedUnit {
    /// Output bytes.
    pub bytes: Vec<u8>,
    /// Index entries, when an index is wanted.
    pub(crate) index: Option<IndexFragment>,
}

/// One worker's encoder.
pub struct Encoder<'a> {
    references: &'a [Reference],
    compressor: Option<BamCompressor>,
    payload: Vec<u8>,
    /// Bytes of the unit that were drained already.
    drained_bytes: u64,
    unit: EncodedUnit,
    scheme: Option<BinningScheme>,
}

impl<'a> Encoder<'a> {
    /// An encoder for records on `references`.
    ///
    /// # Errors
    /// A level that does not exist.
    pub fn new(encoding: Encoding, references: &'a [Reference]) -> Result<Self, EncodeError> {
        let (compressor, scheme) = match encoding {
            Encoding::Bam { deflate, index } => (Some(BamCompressor::new(deflate)?), index),
            Encoding::Sam => (None, None),
        };
        Ok(Self {
            references,
            compressor,
            payload: Vec::new(),
            drained_bytes: 0,
            unit: EncodedUnit { bytes: Vec::new(), index: scheme.map(IndexFragment::new) },
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
        self.unit.bytes.len()
    }

    /// Takes what is encoded of the unit so far, which goes on.
    pub(crate) fn drain(&mut self, into: &mut Vec<u8>) {
        self.drained_bytes += self.unit.bytes.len() as u64;
        into.append(&mut self.unit.bytes);
    }

    /// Ends the unit and starts the next.
    ///
    /// # Errors
    /// When the last block cannot be compressed.
    pub fn finish_unit(&mut self) -> Result<EncodedUnit, EncodeError> {
        if self.compressor.is_some() && !self.payload.is_empty() {
            self.flush_block()?;
        }
        if let Some(compressor) = &mut self.compressor {
            compressor.end_unit();
        }
        self.drained_bytes = 0;
        let next = EncodedUnit { bytes: Vec::new(), index: self.scheme.map(IndexFragment::new) };
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
