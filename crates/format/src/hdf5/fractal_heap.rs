//! Fractal heaps (specification, III.G): where dense links and attributes are stored.

use super::bytes::{Fields, UNDEFINED, encoded_width};
use super::error::Hdf5Error;
use super::file::MetadataReader;

const WHAT: &str = "fractal heap";

/// The header of a heap: enough to find an object by its ID.
pub(super) struct FractalHeap {
    address: u64,
    width: u64,
    start_bytes: u64,
    max_direct_bytes: u64,
    offset_bits: u32,
    root: u64,
    /// Rows of the root block; 0 when it is a direct block.
    root_rows: u64,
    id_bytes: u64,
    /// Bytes of a length in an ID.
    length_width: usize,
}

impl FractalHeap {
    /// Reads a heap's header.
    pub(super) fn open(
        reader: &mut MetadataReader<'_>,
        address: u64,
        buffer: &mut Vec<u8>,
    ) -> Result<Self, Hdf5Error> {
        let sizes = reader.file.sizes;
        let length = 26 + 12 * u64::from(sizes.length) + 3 * u64::from(sizes.offset);
        let mut fields = reader.fetch(address, length, WHAT, buffer)?;
        fields.signature(b"FRHP")?;
        fields.version(0)?;
        let id_bytes = u64::from(fields.u16()?);
        let filter_bytes = fields.u16()?;
        if filter_bytes != 0 {
            return Err(Hdf5Error::unsupported("filtered fractal heap", filter_bytes, address));
        }
        fields.verify_checksum()?;
        fields.u8()?; // flags: whether direct blocks have checksums, which are not verified
        let max_managed_bytes = u64::from(fields.u32()?);
        fields.length()?; // next huge ID
        fields.offset()?; // tree of huge objects
        fields.length()?; // free space
        fields.offset()?; // its manager
        for _ in 0..8 {
            fields.length()?; // statistics of managed, huge and tiny objects
        }
        let width = u64::from(fields.u16()?);
        let start_bytes = fields.length()?;
        let max_direct_bytes = fields.length()?;
        let offset_bits = u32::from(fields.u16()?);
        fields.u16()?; // rows of a root indirect block at the start
        let root = fields.offset()?;
        let root_rows = u64::from(fields.u16()?);
        let sane = width.is_power_of_two()
            && start_bytes.is_power_of_two()
            && max_direct_bytes.is_power_of_two()
            && start_bytes <= max_direct_bytes
            && max_direct_bytes <= 1 << 32
            && offset_bits <= 64
            && root_rows <= 64;
        if !sane {
            return Err(fields.malformed("its sizes make no sense"));
        }
        let direct_width = max_direct_bytes.ilog2().div_ceil(8) as usize;
        let length_width = direct_width.min(encoded_width(max_managed_bytes));
        Ok(Self {
            address,
            width,
            start_bytes,
            max_direct_bytes,
            offset_bits,
            root,
            root_rows,
            id_bytes,
            length_width,
        })
    }

    /// Reads the object with this ID into `out`; returns where it is in the file, or the heap's
    /// own address for one that is in its ID.
    pub(super) fn read(
        &self,
        reader: &mut MetadataReader<'_>,
        id: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<u64, Hdf5Error> {
        let mut fields = Fields::new(id, self.address, "fractal heap ID", reader.file.sizes);
        let first = fields.u8()?;
        match (first >> 6, first >> 4 & 3) {
            (0, 0) => {
                let offset = fields.unsigned(self.offset_bits.div_ceil(8) as usize)?;
                let length = fields.unsigned(self.length_width)?;
                let at = self.locate(reader, offset, length)?;
                reader.fetch(at, length, WHAT, out)?;
                Ok(at)
            }
            (0, 2) => {
                // Tiny objects: one byte of length for IDs of up to 17 bytes, else 12 bits.
                let mut length = usize::from(first & 0x0f);
                if self.id_bytes > 17 {
                    length = length << 8 | usize::from(fields.u8()?);
                }
                out.clear();
                out.extend_from_slice(fields.take(length + 1)?);
                Ok(self.address)
            }
            (_, kind) => Err(Hdf5Error::unsupported("fractal heap ID type", kind, self.address)),
        }
    }

    /// Bytes of each block of a row of the doubling table.
    fn block_bytes(&self, row: u64) -> Result<u64, Hdf5Error> {
        let doublings = row.saturating_sub(1) as u32;
        let bytes = self.start_bytes.checked_mul(1u64.checked_shl(doublings).unwrap_or(0));
        bytes
            .filter(|&bytes| bytes > 0)
            .ok_or_else(|| Hdf5Error::malformed(WHAT, self.address, "a row is too large"))
    }

    /// Finds where in the file byte `offset` of the heap is (III.G, the doubling table).
    fn locate(
        &self,
        reader: &mut MetadataReader<'_>,
        offset: u64,
        length: u64,
    ) -> Result<u64, Hdf5Error> {
        let missing = || Hdf5Error::malformed(WHAT, self.address, "it lacks an object's block");
        let (mut block, mut rows, mut within) = (self.root, self.root_rows, offset);
        let mut direct_bytes = self.start_bytes;
        // Each step goes to a block of at most half the heap, so 64 steps reach any byte.
        for _ in 0..64 {
            if block == UNDEFINED {
                return Err(missing());
            }
            if rows == 0 {
                let fits = within.checked_add(length).is_some_and(|end| end <= direct_bytes);
                return if fits {
                    block.checked_add(within).ok_or_else(missing)
                } else {
                    Err(missing())
                };
            }
            let mut row = 0;
            let mut row_start = 0u64;
            let bytes = loop {
                let bytes = self.block_bytes(row)?;
                let row_bytes = bytes.checked_mul(self.width).ok_or_else(missing)?;
                let next = row_start.checked_add(row_bytes).ok_or_else(missing)?;
                if within < next {
                    break bytes;
                }
                row_start = next;
                row += 1;
                if row == rows {
                    return Err(missing());
                }
            };
            let column = (within - row_start) / bytes;
            block = self.child(reader, block, row * self.width + column)?;
            within = (within - row_start) % bytes;
            let is_direct = bytes <= self.max_direct_bytes;
            // An indirect block of this size has this many rows.
            let doubled = bytes / self.start_bytes / self.width;
            rows = if is_direct { 0 } else { u64::from(doubled.max(1).ilog2()) + 1 };
            direct_bytes = bytes;
        }
        Err(missing())
    }

    /// Address of the child with this number of an indirect block.
    fn child(
        &self,
        reader: &mut MetadataReader<'_>,
        block: u64,
        index: u64,
    ) -> Result<u64, Hdf5Error> {
        let mut bytes = [0u8; 8];
        reader.fetch_into(block, WHAT, &mut bytes[..4])?;
        if bytes[..4] != *b"FHIB" {
            return Err(Hdf5Error::malformed(WHAT, block, "its signature is missing"));
        }
        let width = u64::from(reader.file.sizes.offset);
        let header = 5 + width + u64::from(self.offset_bits.div_ceil(8));
        // At most 64 rows of at most 65,536 columns.
        let at = block.saturating_add(header + index * width);
        let field = &mut bytes[..usize::from(reader.file.sizes.offset)];
        reader.fetch_into(at, WHAT, field)?.offset()
    }
}
