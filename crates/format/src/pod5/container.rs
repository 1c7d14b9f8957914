//! The container: where in a POD5 file which table is (POD5 Format Specification, "Combined file
//! Layout").
//!
//! ```text
//! signature, section marker, { Arrow file padded to 8 bytes, section marker } ...
//! "FOOTER\0\0", FlatBuffer padded to 8 bytes, its length as i64, section marker, signature
//! ```
//!
//! It is read from its end. A file without a footer is refused: the writer of POD5 appends reads
//! and runs when it closes the file, so what such a file holds is signal that belongs to no read.

use super::error::in_flatbuffer;
use super::flatbuffers::Table;
use super::{MAX_METADATA_BYTES, Pod5FormatError};
use crate::read_at::ReadAt;

/// First and last bytes of a POD5 file.
pub(crate) const SIGNATURE: [u8; 8] = [0x8B, b'P', b'O', b'D', b'\r', b'\n', 0x1A, b'\n'];
/// Magic before the footer.
pub(crate) const FOOTER_MAGIC: [u8; 8] = *b"FOOTER\0\0";
/// Signature and section marker.
const HEAD_BYTES: u64 = 8 + 16;
/// Length of the footer, section marker, signature.
const TAIL_BYTES: u64 = 8 + 16 + 8;

/// Part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub offset: u64,
    /// Number of bytes.
    pub len: u64,
}

/// Contents of the footer. All spans are in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container {
    /// Identifier of the file, a UUID in text.
    pub(crate) file_identifier: Vec<u8>,
    /// The program that wrote it.
    pub software: Vec<u8>,
    /// Version of POD5 it was written with.
    pub(crate) pod5_version: Vec<u8>,
    /// The Reads table.
    pub reads: Span,
    /// The Signal table.
    pub signal: Span,
    /// The Run Info table; files before version 0.0.35 have none.
    pub run_info: Option<Span>,
}

impl Container {
    /// Reads the footer of `file`.
    ///
    /// # Errors
    /// When this is no POD5 file, has no footer, or the footer is damaged.
    pub fn read(file: &dyn ReadAt) -> Result<Self, Pod5FormatError> {
        let size_bytes = file.size_bytes();
        let mut signature = [0; 8];
        if size_bytes < HEAD_BYTES {
            return Err(Pod5FormatError::NotPod5);
        }
        file.read_exact_at(&mut signature, 0)?;
        if signature != SIGNATURE {
            return Err(Pod5FormatError::NotPod5);
        }
        let footer_at = footer_start(file)?;
        let footer_bytes = size_bytes - TAIL_BYTES - footer_at;
        let mut footer = vec![0; footer_bytes as usize];
        file.read_exact_at(&mut footer, footer_at)?;
        Self::parse(&footer, footer_at)
    }

    /// `footer_at` bounds the tables: they all are before it.
    fn parse(footer: &[u8], footer_at: u64) -> Result<Self, Pod5FormatError> {
        let flat = in_flatbuffer(footer_at);
        let root = Table::root(footer).map_err(flat)?;
        let (mut reads, mut signal, mut run_info) = (None, None, None);
        if let Some(contents) = root.vector(3, 4).map_err(flat)? {
            for embedded in contents.tables() {
                let embedded = embedded.map_err(flat)?;
                let offset = embedded.i64(0).map_err(flat)?;
                let len = embedded.i64(1).map_err(flat)?;
                let table = match embedded.i16(3).map_err(flat)? {
                    0 => &mut reads,
                    1 => &mut signal,
                    4 => &mut run_info,
                    // Indices, of which nobody writes any, and what may come.
                    _ => continue,
                };
                let span = u64::try_from(offset).ok().zip(u64::try_from(len).ok());
                let span = span.filter(|&(offset, len)| {
                    offset.checked_add(len).is_some_and(|end| end <= footer_at)
                });
                let what = "a table outside the file";
                let (offset, len) =
                    span.ok_or(Pod5FormatError::Malformed { what, at: footer_at })?;
                if embedded.i16(2).map_err(flat)? != 0 {
                    let what = "a table that is not in Arrow's file format";
                    return Err(Pod5FormatError::Unsupported { what, at: offset });
                }
                *table = Some(Span { offset, len });
            }
        }
        Ok(Self {
            file_identifier: root.string(0).map_err(flat)?.to_vec(),
            software: root.string(1).map_err(flat)?.to_vec(),
            pod5_version: root.string(2).map_err(flat)?.to_vec(),
            reads: reads.ok_or(Pod5FormatError::NoTable { table: "reads" })?,
            signal: signal.ok_or(Pod5FormatError::NoTable { table: "signal" })?,
            run_info,
        })
    }
}

/// First byte of the footer's FlatBuffer.
fn footer_start(file: &dyn ReadAt) -> Result<u64, Pod5FormatError> {
    let size_bytes = file.size_bytes();
    let no_footer = || Pod5FormatError::NoFooter { size_bytes };
    let tail_at = size_bytes.checked_sub(TAIL_BYTES).ok_or_else(no_footer)?;
    if tail_at < HEAD_BYTES + 8 {
        return Err(no_footer());
    }
    let mut tail = [0; TAIL_BYTES as usize];
    file.read_exact_at(&mut tail, tail_at)?;
    if tail[24..] != SIGNATURE {
        return Err(no_footer());
    }
    let mut length = [0; 8];
    length.copy_from_slice(&tail[..8]);
    let length = u64::try_from(i64::from_le_bytes(length)).ok();
    let length = length.filter(|&length| length <= MAX_METADATA_BYTES);
    let start = length.and_then(|length| tail_at.checked_sub(length));
    let what = "a footer of impossible length";
    let start = start.filter(|&start| start >= HEAD_BYTES + 8);
    let start = start.ok_or(Pod5FormatError::Malformed { what, at: tail_at })?;
    let mut magic = [0; 8];
    file.read_exact_at(&mut magic, start - 8)?;
    if magic != FOOTER_MAGIC {
        let what = "no footer where the end of the file says";
        return Err(Pod5FormatError::Malformed { what, at: start - 8 });
    }
    Ok(start)
}
