//! Containers, and what is around them in a file (CRAM specification 3.0, sections 6 to 9), which
//! is the same in 3.1.
//!
//! A container holds one slice. The number of records before it is known to whoever puts
//! containers after one another, and is in its header and in that of the slice, neither of
//! which is compressed: both are made then, and nothing else is touched.

use md5::{Digest, Md5};

use crate::block::{Content, Method, push_block, push_raw_block};
use crate::codec::Codecs;
use crate::error::CramError;
use crate::integers::{push_itf8, push_ltf8};
use crate::version::Version;

/// Bytes of a file's definition: format, version, and a name of the file, which is left empty:
/// bytes depend on records.
const DEFINITION_BYTES: usize = 26;
/// The container that ends a file (section 9).
pub const EOF_CONTAINER: [u8; 38] = [
    0x0f, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0x0f, 0xe0, 0x45, 0x4f, 0x46, 0x00, 0x00, 0x00,
    0x00, 0x01, 0x00, 0x05, 0xbd, 0xd9, 0x4f, 0x00, 0x01, 0x00, 0x06, 0x06, 0x01, 0x00, 0x01, 0x00,
    0x01, 0x00, 0xee, 0x63, 0x01, 0x4b,
];
/// Reference of a slice whose records are on several.
pub(crate) const SEVERAL_REFERENCES: i32 = -2;
/// Longest header text that is not compressed.
const SHORT_TEXT_BYTES: usize = 4096;

/// Bases that records cover.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Region {
    /// -1 for none, [`SEVERAL_REFERENCES`] for more than one.
    pub(crate) reference_id: i32,
    /// 1-based; 0 where there is no one reference.
    pub(crate) start: i32,
    pub(crate) span: i32,
}

/// What precedes a container in its file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Behind {
    pub(crate) records: u64,
    pub(crate) bytes: u64,
}

/// A line of the index: where a slice is that has records of a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IndexLine {
    pub(crate) reference_id: i32,
    pub(crate) start: i32,
    pub(crate) span: i32,
    /// In the file.
    pub(crate) container_at: u64,
    /// After the container's header.
    pub(crate) slice_at: u64,
    pub(crate) slice_bytes: u64,
}

/// A container without its headers.
#[derive(Debug)]
pub struct Container {
    /// The compression header's block, and the slice's after its own header.
    pub(crate) blocks: Vec<u8>,
    /// Start of the slice in them.
    pub(crate) slice_at: usize,
    pub(crate) region: Region,
    /// Of these the index has a line each.
    pub(crate) regions: Vec<Region>,
    pub(crate) records: u32,
    pub(crate) bases: u64,
    /// External blocks.
    pub(crate) block_ids: Vec<i32>,
    /// MD5 of the region's bases.
    pub(crate) digest: [u8; 16],
}

impl Container {
    /// Records in it.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records.into()
    }

    /// Memory that it takes.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.blocks.capacity()
            + size_of::<Region>() * self.regions.capacity()
            + size_of::<i32>() * self.block_ids.capacity()
    }

    /// Bytes of its blocks.
    #[must_use]
    pub fn block_bytes(&self) -> usize {
        self.blocks.len()
    }

    /// Appends all of it; gives its lines of the index to `line`.
    pub(crate) fn push(&self, after: Behind, out: &mut Vec<u8>, mut line: impl FnMut(IndexLine)) {
        let Behind { records: counter, bytes: offset } = after;
        let mut slice = Vec::new();
        push_raw_block(&mut slice, Content::SliceHeader, &self.slice_header(counter));
        let bytes = self.blocks.len() + slice.len();
        let head = Head {
            bytes,
            region: self.region,
            records: self.records as i32,
            counter,
            bases: self.bases,
            // The headers of compression and slice, the core.
            blocks: self.block_ids.len() as i32 + 3,
            landmark: self.slice_at,
        };
        head.push(out);
        let (compression, blocks) = self.blocks.split_at(self.slice_at);
        out.extend_from_slice(compression);
        out.extend_from_slice(&slice);
        out.extend_from_slice(blocks);
        for &region in &self.regions {
            line(IndexLine {
                reference_id: region.reference_id,
                start: region.start,
                span: region.span,
                container_at: offset,
                slice_at: self.slice_at as u64,
                slice_bytes: (slice.len() + blocks.len()) as u64,
            });
        }
    }

    fn slice_header(&self, counter: u64) -> Vec<u8> {
        let mut out = Vec::new();
        push_region(&mut out, self.region);
        push_itf8(&mut out, self.records as i32);
        push_ltf8(&mut out, counter);
        push_itf8(&mut out, self.block_ids.len() as i32 + 1);
        push_itf8(&mut out, self.block_ids.len() as i32);
        self.block_ids.iter().for_each(|&id| push_itf8(&mut out, id));
        // No block holds bases of the reference.
        push_itf8(&mut out, -1);
        out.extend_from_slice(&self.digest);
        out
    }
}

pub(crate) fn push_region(out: &mut Vec<u8>, region: Region) {
    push_itf8(out, region.reference_id);
    push_itf8(out, region.start);
    push_itf8(out, region.span);
}

/// A container's header.
struct Head {
    /// Of all blocks.
    bytes: usize,
    region: Region,
    records: i32,
    counter: u64,
    bases: u64,
    blocks: i32,
    landmark: usize,
}

impl Head {
    fn push(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&(self.bytes as u32).to_le_bytes());
        push_region(out, self.region);
        push_itf8(out, self.records);
        push_ltf8(out, self.counter);
        push_ltf8(out, self.bases);
        push_itf8(out, self.blocks);
        push_itf8(out, 1);
        push_itf8(out, self.landmark as i32);
        let checksum = crc32fast::hash(&out[start..]);
        out.extend_from_slice(&checksum.to_le_bytes());
    }
}

/// The start of a file: its definition and the container of the SAM header.
///
/// # Errors
/// A text that is too large.
pub fn file_start(version: Version, text: &[u8]) -> Result<Vec<u8>, CramError> {
    let too_large = |_| CramError::TooLarge("the header");
    let length = i32::try_from(text.len()).map_err(too_large)?;
    let mut content = length.to_le_bytes().to_vec();
    content.extend_from_slice(text);
    let mut block = Vec::new();
    if content.len() > SHORT_TEXT_BYTES {
        let mut codecs = Codecs::default();
        let bytes = codecs.gzip(6, &content)?;
        let of = (Method::Gzip, Content::FileHeader, 0);
        push_block(&mut block, of, content.len(), bytes);
    } else {
        push_raw_block(&mut block, Content::FileHeader, &content);
    }
    let minor = match version {
        Version::V30 => 0,
        Version::V31 => 1,
    };
    let mut out = b"CRAM\x03".to_vec();
    out.push(minor);
    out.resize(DEFINITION_BYTES, 0);
    let region = Region { reference_id: 0, start: 0, span: 0 };
    let (records, counter, bases, landmark) = (0, 0, 0, 0);
    let head = Head { bytes: block.len(), region, records, counter, bases, blocks: 1, landmark };
    head.push(&mut out);
    out.extend_from_slice(&block);
    Ok(out)
}

/// MD5 of bases that are in upper case, as the M5 of a header's @SQ line has it.
#[must_use]
pub fn digest(bases: &[u8]) -> [u8; 16] {
    Md5::digest(bases).into()
}
