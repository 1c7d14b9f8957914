//! A piece as it is on disk: zstd, records in columns.

use std::io;

use seqloom_format::{Persist, persist_fields};

use super::columns::Columns;
use super::{Content, MAX_EXTENT_BYTES, SpillError, SpillExtent};

/// zstd level of spilled data: higher levels cost more time than their bytes save.
const ZSTD_LEVEL: i32 = 1;
/// That of bases and qualities, where codes of unequal length do almost all there is to do: at
/// level 1 the piece would be smaller by a tenth, and a third more work.
const COLUMN_LEVEL: i32 = -40;
/// Before a piece in columns: see [`ColumnSizes`].
const COLUMN_SIZES_BYTES: usize = 24;

/// A thread's buffers for spilling and reading back.
pub struct SpillScratch {
    compressor: zstd::bulk::Compressor<'static>,
    /// Of bases and qualities.
    column_compressor: zstd::bulk::Compressor<'static>,
    decompressor: zstd::bulk::Decompressor<'static>,
    pub(super) compressed: Vec<u8>,
    columns: Columns,
}

impl SpillScratch {
    /// Empty buffers; they grow to the compressed bound of the largest piece.
    ///
    /// # Errors
    /// [`SpillError::Zstd`] for want of memory.
    pub fn new() -> Result<Self, SpillError> {
        use zstd::zstd_safe::{CParameter, ParamSwitch};
        let compressor = |level| zstd::bulk::Compressor::new(level).map_err(SpillError::Zstd);
        let mut column_compressor = compressor(COLUMN_LEVEL)?;
        // Levels below zero leave it out unless configured otherwise.
        let with_codes = CParameter::LiteralCompressionMode(ParamSwitch::Enable);
        column_compressor.set_parameter(with_codes).map_err(SpillError::Zstd)?;
        Ok(Self {
            compressor: compressor(ZSTD_LEVEL)?,
            column_compressor,
            decompressor: zstd::bulk::Decompressor::new().map_err(SpillError::Zstd)?,
            compressed: Vec::new(),
            columns: Columns::default(),
        })
    }

    /// Compresses a piece into the buffer.
    pub(super) fn compress(&mut self, raw: &[u8], content: Content) -> Result<&[u8], SpillError> {
        if raw.len() > MAX_EXTENT_BYTES {
            return Err(SpillError::TooLarge(raw.len()));
        }
        self.compressed.clear();
        match content {
            Content::Bytes => {
                compress(&mut self.compressor, raw, &mut self.compressed)?;
            }
            Content::Records => self.compress_columns(raw)?,
        }
        Ok(&self.compressed)
    }

    fn compress_columns(&mut self, raw: &[u8]) -> Result<(), SpillError> {
        let Self { compressor, column_compressor, compressed, columns, .. } = self;
        columns.split(raw);
        compressed.resize(COLUMN_SIZES_BYTES, 0);
        let rest = compress(compressor, &columns.rest, compressed)?;
        let bases = compress(column_compressor, &columns.bases, compressed)?;
        compress(column_compressor, &columns.qualities, compressed)?;
        // A piece has at most 2^30 bytes: all fit.
        let raw = [columns.rest.len(), columns.bases.len(), columns.qualities.len()];
        let sizes = ColumnSizes {
            records: columns.records,
            raw: raw.map(|it| it as u32),
            packed: [rest as u32, bases as u32],
        };
        compressed[..COLUMN_SIZES_BYTES].copy_from_slice(&sizes.to_state());
        Ok(())
    }

    /// Appends the piece that the buffer holds to `out`; `None` if it is damaged.
    pub(super) fn decompress(&mut self, extent: SpillExtent, out: &mut Vec<u8>) -> Option<()> {
        if extent.in_columns {
            return self.decompress_columns(extent.raw_bytes(), out);
        }
        decompress(&mut self.decompressor, &self.compressed, extent.raw_bytes(), out)
    }

    fn decompress_columns(&mut self, raw_bytes: usize, out: &mut Vec<u8>) -> Option<()> {
        let Self { decompressor, compressed, columns, .. } = self;
        let (sizes, packed) = compressed.split_at_checked(COLUMN_SIZES_BYTES)?;
        let ColumnSizes { records, raw, packed: sizes } = ColumnSizes::from_state(sizes).ok()?;
        let raw = raw.map(|it| it as usize);
        if raw.iter().sum::<usize>() != raw_bytes {
            return None;
        }
        let (rest, packed) = packed.split_at_checked(sizes[0] as usize)?;
        let (bases, qualities) = packed.split_at_checked(sizes[1] as usize)?;
        columns.records = records;
        let to = [&mut columns.rest, &mut columns.bases, &mut columns.qualities];
        for ((packed, raw), column) in [rest, bases, qualities].into_iter().zip(raw).zip(to) {
            column.clear();
            decompress(decompressor, packed, raw, column)?;
        }
        out.reserve(raw_bytes);
        columns.join(out)
    }

    /// Bytes of the buffers held, zstd's own tables (about 1 MB) not counted.
    #[must_use]
    pub(crate) fn heap_bytes(&self) -> usize {
        let Columns { rest, bases, qualities, .. } = &self.columns;
        let columns = [rest, bases, qualities].map(Vec::capacity);
        self.compressed.capacity() + columns.iter().sum::<usize>()
    }
}

/// Header of a piece in columns.
struct ColumnSizes {
    /// Records that were cut.
    records: u32,
    /// Bytes of the rest, of bases and of qualities.
    raw: [u32; 3],
    /// Compressed bytes of the rest and of bases; qualities have what is left.
    packed: [u32; 2],
}

persist_fields!(ColumnSizes { records, raw, packed });

/// Appends `raw`, compressed, to `out`; gives how many bytes that were.
fn compress(
    compressor: &mut zstd::bulk::Compressor<'static>,
    raw: &[u8],
    out: &mut Vec<u8>,
) -> Result<usize, SpillError> {
    let start = out.len();
    out.reserve(zstd::zstd_safe::compress_bound(raw.len()));
    let mut tail = io::Cursor::new(&mut *out);
    tail.set_position(start as u64);
    compressor.compress_to_buffer(raw, &mut tail).map_err(SpillError::Zstd)
}

/// Appends `raw_bytes` of what was compressed to `out`; `None` if it was not as many.
fn decompress(
    decompressor: &mut zstd::bulk::Decompressor<'static>,
    compressed: &[u8],
    raw_bytes: usize,
    out: &mut Vec<u8>,
) -> Option<()> {
    let start = out.len();
    out.resize(start + raw_bytes, 0);
    let inflated = decompressor.decompress_to_buffer(compressed, &mut out[start..]);
    inflated.is_ok_and(|bytes| bytes == raw_bytes).then_some(())
}

impl std::fmt::Debug for SpillScratch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SpillScratch").field("heap_bytes", &self.heap_bytes()).finish()
    }
}
