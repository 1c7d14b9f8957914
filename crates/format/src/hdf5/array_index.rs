//! Fixed and extensible arrays (specification, VII.C and VII.D): where the chunks of a dataset of
//! one dimension are, in files of HDF5 1.10 and later.

use super::bytes::{Fields, UNDEFINED};
use super::error::Hdf5Error;
use super::file::MetadataReader;

/// Place of a chunk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chunk {
    /// Its first value in the dataset.
    pub(super) first: u64,
    pub(super) address: u64,
    pub(super) stored_bytes: u64,
    /// Filters that were left out.
    pub(super) mask: u32,
}

/// Signature, version and client of a block.
const BLOCK_PREFIX: u64 = 6;
const CHECKSUM_BYTES: u64 = 4;

/// How an entry is stored.
#[derive(Debug, Clone, Copy)]
struct Entries {
    bytes: u64,
    has_filters: bool,
}

impl Entries {
    fn parse(fields: &mut Fields<'_>) -> Result<Self, Hdf5Error> {
        let client = fields.u8()?;
        let bytes = u64::from(fields.u8()?);
        let address = u64::from(fields.sizes.offset);
        let is_known = match client {
            0 => bytes == address,
            // Address, stored bytes in one to eight bytes, filter mask.
            1 => (address + 5..=address + 12).contains(&bytes),
            _ => false,
        };
        if !is_known {
            return Err(fields.malformed("its entries are not chunks"));
        }
        Ok(Self { bytes, has_filters: client == 1 })
    }

    /// Reads the entry at `at`; `plain` is what it is when nothing but the address is stored.
    fn read(
        self,
        reader: &mut MetadataReader<'_>,
        at: u64,
        plain: Chunk,
    ) -> Result<Chunk, Hdf5Error> {
        const WHAT: &str = "chunk entry";
        let mut bytes = [0u8; 24];
        let part = &mut bytes[..self.bytes as usize];
        let mut fields = reader.fetch_into(at, WHAT, part)?;
        let mut chunk = Chunk { address: fields.offset()?, ..plain };
        if self.has_filters {
            let width = self.bytes as usize - usize::from(reader.file.sizes.offset) - 4;
            chunk.stored_bytes = fields.unsigned(width)?;
            chunk.mask = fields.u32()?;
        }
        Ok(chunk)
    }
}

fn read_address(reader: &mut MetadataReader<'_>, at: u64) -> Result<u64, Hdf5Error> {
    const WHAT: &str = "chunk index";
    let mut bytes = [0u8; 8];
    let part = &mut bytes[..usize::from(reader.file.sizes.offset)];
    reader.fetch_into(at, WHAT, part)?.offset()
}

/// Whether the bit of a page is set in the map at `at`; the first is the highest of the first byte.
fn is_page_written(reader: &mut MetadataReader<'_>, at: u64, page: u64) -> Result<bool, Hdf5Error> {
    let mut byte = [0u8];
    reader.fetch_into(at.saturating_add(page / 8), "chunk index", &mut byte)?;
    Ok(byte[0] & 0x80 >> (page % 8) != 0)
}

/// Header of a fixed array.
#[derive(Debug)]
pub(super) struct FixedArray {
    entries: Entries,
    page_entries: u64,
    count: u64,
    block: u64,
}

impl FixedArray {
    pub(super) fn open(
        reader: &mut MetadataReader<'_>,
        address: u64,
        buffer: &mut Vec<u8>,
    ) -> Result<Self, Hdf5Error> {
        const WHAT: &str = "fixed array";
        let length = 12 + u64::from(reader.file.sizes.offset) + u64::from(reader.file.sizes.length);
        let mut fields = reader.fetch(address, length, WHAT, buffer)?;
        fields.signature(b"FAHD")?;
        fields.version(0)?;
        fields.verify_checksum()?;
        let entries = Entries::parse(&mut fields)?;
        let page_bits = fields.u8()?;
        let count = fields.length()?;
        let block = fields.offset()?;
        if page_bits > 32 || count > reader.file.size_bytes {
            return Err(fields.malformed("its sizes make no sense"));
        }
        Ok(Self { entries, page_entries: 1 << page_bits, count, block })
    }

    /// The entry of chunk `number`.
    pub(super) fn entry(
        &self,
        reader: &mut MetadataReader<'_>,
        number: u64,
        plain: Chunk,
    ) -> Result<Chunk, Hdf5Error> {
        if number >= self.count || self.block == UNDEFINED {
            return Ok(Chunk { address: UNDEFINED, ..plain });
        }
        let mut at = self.block.saturating_add(BLOCK_PREFIX + u64::from(reader.file.sizes.offset));
        let mut within = number;
        if self.count > self.page_entries {
            let page = number / self.page_entries;
            if !is_page_written(reader, at, page)? {
                return Ok(Chunk { address: UNDEFINED, ..plain });
            }
            let map_bytes = self.count.div_ceil(self.page_entries).div_ceil(8);
            let page_bytes = self.page_entries * self.entries.bytes + CHECKSUM_BYTES;
            at = at.saturating_add(map_bytes + CHECKSUM_BYTES);
            at = at.saturating_add(page.saturating_mul(page_bytes));
            within = number % self.page_entries;
        }
        // `within` is below the number of bytes of the file.
        self.entries.read(reader, at.saturating_add(within * self.entries.bytes), plain)
    }
}

/// Header of an extensible array.
#[derive(Debug)]
pub(super) struct ExtensibleArray {
    entries: Entries,
    /// Entries that are in the index block itself.
    index_entries: u64,
    min_block_entries: u64,
    min_super_pointers: u64,
    page_entries: u64,
    /// Bytes of a block's place in the array.
    offset_bytes: u64,
    index_block: u64,
}

impl ExtensibleArray {
    pub(super) fn open(
        reader: &mut MetadataReader<'_>,
        address: u64,
        buffer: &mut Vec<u8>,
    ) -> Result<Self, Hdf5Error> {
        const WHAT: &str = "extensible array";
        let length =
            16 + u64::from(reader.file.sizes.offset) + 6 * u64::from(reader.file.sizes.length);
        let mut fields = reader.fetch(address, length, WHAT, buffer)?;
        fields.signature(b"EAHD")?;
        fields.version(0)?;
        fields.verify_checksum()?;
        let entries = Entries::parse(&mut fields)?;
        let max_bits = fields.u8()?;
        let index_entries = u64::from(fields.u8()?);
        let min_block_entries = u64::from(fields.u8()?);
        let min_super_pointers = u64::from(fields.u8()?);
        let page_bits = fields.u8()?;
        for _ in 0..6 {
            fields.length()?; // statistics
        }
        let index_block = fields.offset()?;
        let sane = max_bits <= 64
            && page_bits <= 32
            && min_block_entries.is_power_of_two()
            && min_super_pointers.is_power_of_two();
        if !sane {
            return Err(fields.malformed("its sizes make no sense"));
        }
        Ok(Self {
            entries,
            index_entries,
            min_block_entries,
            min_super_pointers,
            page_entries: 1 << page_bits,
            offset_bytes: u64::from(max_bits.div_ceil(8)),
            index_block,
        })
    }

    /// The entry of chunk `number`: in the index block, in a data block that the index block
    /// points to, or in one that a super block points to (VII.D).
    pub(super) fn entry(
        &self,
        reader: &mut MetadataReader<'_>,
        number: u64,
        plain: Chunk,
    ) -> Result<Chunk, Hdf5Error> {
        let nowhere = Chunk { address: UNDEFINED, ..plain };
        if self.index_block == UNDEFINED {
            return Ok(nowhere);
        }
        let width = u64::from(reader.file.sizes.offset);
        let first_entry = self.index_block.saturating_add(BLOCK_PREFIX + width);
        if number < self.index_entries {
            let at = first_entry.saturating_add(number * self.entries.bytes);
            return self.entries.read(reader, at, plain);
        }
        let pointers = first_entry.saturating_add(self.index_entries * self.entries.bytes);
        // Super block `u` has 2^(u/2) data blocks of 2^((u+1)/2) times the least entries.
        let rest = number - self.index_entries;
        let super_block = u64::from((rest / self.min_block_entries + 1).ilog2());
        let start = ((1 << super_block) - 1) * self.min_block_entries;
        let block_entries = (1 << super_block.div_ceil(2)) * self.min_block_entries;
        let (block, within) = ((rest - start) / block_entries, (rest - start) % block_entries);
        let direct_supers = 2 * u64::from(self.min_super_pointers.ilog2());
        let (pointer, written) = if super_block < direct_supers {
            // Data blocks of all super blocks before this one.
            let before: u64 = (0..super_block).map(|u| 1 << (u / 2)).sum();
            (pointers.saturating_add((before + block) * width), None)
        } else {
            let direct = 2 * (self.min_super_pointers - 1);
            let at = pointers.saturating_add((direct + super_block - direct_supers) * width);
            let address = read_address(reader, at)?;
            if address == UNDEFINED {
                return Ok(nowhere);
            }
            let maps = address.saturating_add(BLOCK_PREFIX + width + self.offset_bytes);
            let map_bytes = match block_entries > self.page_entries {
                true => (block_entries / self.page_entries).div_ceil(8),
                false => 0,
            };
            let all_maps = map_bytes << (super_block / 2);
            let map = maps.saturating_add(block * map_bytes);
            (maps.saturating_add(all_maps).saturating_add(block * width), Some(map))
        };
        let data = read_address(reader, pointer)?;
        if data == UNDEFINED {
            return Ok(nowhere);
        }
        let mut at = data.saturating_add(BLOCK_PREFIX + width + self.offset_bytes);
        let mut within = within;
        if block_entries > self.page_entries {
            let page = within / self.page_entries;
            let Some(map) = written else {
                let value = block_entries;
                return Err(Hdf5Error::unsupported("paged block of an index", value, data));
            };
            if !is_page_written(reader, map, page)? {
                return Ok(nowhere);
            }
            let page_bytes = self.page_entries * self.entries.bytes + CHECKSUM_BYTES;
            at = at.saturating_add(CHECKSUM_BYTES).saturating_add(page.saturating_mul(page_bytes));
            within %= self.page_entries;
        }
        self.entries.read(reader, at.saturating_add(within * self.entries.bytes), plain)
    }
}
