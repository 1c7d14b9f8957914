//! The file as a whole: superblock, and checked access to its bytes.

use std::sync::Arc;

use super::bytes::{Fields, Sizes, UNDEFINED};
use super::checksum;
use super::error::Hdf5Error;
use crate::read_at::ReadAt;

const SIGNATURE: &[u8; 8] = b"\x89HDF\r\n\x1a\n";

/// Bytes of a page of the metadata cache: a FAST5 read's object headers are within a few of them.
const PAGE_BYTES: u64 = 4096;
/// Pages that a scratch holds.
const PAGES: usize = 32;
/// Largest structure that is read in one piece, but for the chunks of a dataset: the names of a
/// group of a million reads take 42 MB.
const MAX_STRUCTURE_BYTES: u64 = 1 << 28;

/// An open HDF5 file. It never changes; threads may share it.
#[derive(Clone)]
pub struct Hdf5File {
    source: Arc<dyn ReadAt>,
    /// Addresses count from here (user blocks may be before it).
    base: u64,
    /// Bytes of the file from `base`.
    pub(super) size_bytes: u64,
    pub(super) sizes: Sizes,
    root: u64,
    /// Key of this file in the cache of a scratch.
    identity: Arc<()>,
}

/// A file whose metadata is read through a caller's cache.
pub(super) struct MetadataReader<'a> {
    pub(super) file: &'a Hdf5File,
    cache: &'a mut PageCache,
}

/// Recently read pages of one file.
#[derive(Default)]
pub(super) struct PageCache {
    identity: Option<Arc<()>>,
    pages: Vec<Page>,
    clock: u64,
}

struct Page {
    index: u64,
    used: u64,
    bytes: Vec<u8>,
}

impl Hdf5File {
    /// Opens a file: reads its superblock.
    ///
    /// # Errors
    /// No HDF5 file, a damaged or unknown superblock, or bytes that cannot be read.
    pub fn open(source: Arc<dyn ReadAt>) -> Result<Self, Hdf5Error> {
        let sizes = Sizes { offset: 8, length: 8 };
        let size_bytes = source.size_bytes();
        let identity = Arc::new(());
        let mut file = Self { source, base: 0, size_bytes, sizes, root: UNDEFINED, identity };
        let mut cache = PageCache::default();
        let mut bytes = Vec::new();
        // II: the superblock is at byte 0, 512, 1024, and so on by doubling.
        let mut at = 0u64;
        loop {
            let fetched = file.metadata(&mut cache).fetch(at, 8, "signature", &mut bytes);
            fetched.map_err(|error| match error {
                Hdf5Error::Truncated { .. } => Hdf5Error::NotHdf5,
                other => other,
            })?;
            if bytes == SIGNATURE {
                break;
            }
            at = if at == 0 { 512 } else { at.saturating_mul(2) };
        }
        file.parse_superblock(&mut cache, at)?;
        Ok(file)
    }

    fn parse_superblock(&mut self, cache: &mut PageCache, at: u64) -> Result<(), Hdf5Error> {
        const WHAT: &str = "superblock";
        let mut bytes = Vec::new();
        // The longest, version 1 with 8-byte addresses, has 100 bytes.
        let length = (self.size_bytes - at).min(100);
        self.metadata(cache).fetch(at, length, WHAT, &mut bytes)?;
        let mut fields = Fields::new(&bytes, at, WHAT, self.sizes);
        fields.skip(8)?;
        let version = fields.u8()?;
        if version > 3 {
            return Err(Hdf5Error::unsupported("superblock version", version, at));
        }
        fields.skip(if version < 2 { 4 } else { 0 })?;
        let (offset, length) = (fields.u8()?, fields.u8()?);
        let known = |size| matches!(size, 2 | 4 | 8);
        if !known(offset) || !known(length) {
            return Err(fields.malformed("addresses or lengths are not of 2, 4 or 8 bytes"));
        }
        self.sizes = Sizes { offset, length };
        fields.sizes = self.sizes;
        // Versions 0 and 1: reserved byte, two tree ranks, flags; in 1 another rank and padding.
        fields.skip([9, 13, 1, 1][usize::from(version)])?;
        fields.offset()?; // base address
        fields.offset()?; // free space, or the superblock's extension
        fields.offset()?; // end of file
        if version < 2 {
            fields.offset()?; // driver information
            fields.offset()?; // name of the root group
        }
        let root = fields.offset()?;
        if version >= 2 {
            let end = fields.position() + 4;
            let whole = bytes.get(..end).ok_or_else(|| fields.malformed("it is cut short"))?;
            checksum::verify(whole, WHAT, at)?;
        }
        // Where the base address is not that of the signature, bytes were put before the file
        // afterwards. libhdf5 then counts from the signature, so the field decides nothing.
        self.base = at;
        self.size_bytes -= self.base;
        self.root = root;
        // The cache knows nothing of the base.
        cache.pages.clear();
        Ok(())
    }

    /// Address of the root group.
    #[must_use]
    pub fn root(&self) -> u64 {
        self.root
    }

    /// Checks that `length` bytes at `address` are in the file.
    pub(super) fn check(
        &self,
        address: u64,
        length: u64,
        what: &'static str,
    ) -> Result<(), Hdf5Error> {
        if address.checked_add(length).is_some_and(|end| end <= self.size_bytes) {
            return Ok(());
        }
        Err(Hdf5Error::Truncated { what, address, length_bytes: length })
    }

    /// This file, its metadata read through `cache`.
    pub(super) fn metadata<'a>(&'a self, cache: &'a mut PageCache) -> MetadataReader<'a> {
        MetadataReader { file: self, cache }
    }

    /// Reads bytes past the cache: chunks of signal, large nodes.
    pub(super) fn fetch_direct(
        &self,
        address: u64,
        length: u64,
        what: &'static str,
        out: &mut Vec<u8>,
    ) -> Result<(), Hdf5Error> {
        self.check(address, length, what)?;
        // The bytes are there, so this is no more than the file's size.
        out.clear();
        out.resize(length as usize, 0);
        self.read(address, out)
    }

    fn read(&self, address: u64, out: &mut [u8]) -> Result<(), Hdf5Error> {
        let length_bytes = out.len() as u64;
        let at = self.base + address;
        let read = self.source.read_exact_at(out, at);
        read.map_err(|source| Hdf5Error::Io { address: at, length_bytes, source })
    }
}

impl std::fmt::Debug for Hdf5File {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { base, size_bytes, sizes, root, .. } = self;
        write!(f, "Hdf5File {{ base: {base}, size_bytes: {size_bytes}, {sizes:?}, root: {root} }}")
    }
}

impl MetadataReader<'_> {
    /// Reads a structure named `what`, through the cache when it is small.
    pub(super) fn fetch<'b>(
        &mut self,
        address: u64,
        length: u64,
        what: &'static str,
        out: &'b mut Vec<u8>,
    ) -> Result<Fields<'b>, Hdf5Error> {
        if length > MAX_STRUCTURE_BYTES {
            let limit = MAX_STRUCTURE_BYTES;
            return Err(Hdf5Error::Limit { what, value: length, limit, address });
        }
        if length > PAGE_BYTES * 4 {
            self.file.fetch_direct(address, length, what, out)?;
            return Ok(Fields::new(out, address, what, self.file.sizes));
        }
        self.file.check(address, length, what)?;
        out.clear();
        out.resize(length as usize, 0);
        self.fetch_into(address, what, out)
    }

    /// Reads a few bytes through the cache.
    pub(super) fn fetch_into<'b>(
        &mut self,
        address: u64,
        what: &'static str,
        out: &'b mut [u8],
    ) -> Result<Fields<'b>, Hdf5Error> {
        self.file.check(address, out.len() as u64, what)?;
        let mut filled = 0;
        while filled < out.len() {
            let at = address + filled as u64;
            let page = self.cache.page(self.file, at / PAGE_BYTES)?;
            let page = &page[(at % PAGE_BYTES) as usize..];
            let count = page.len().min(out.len() - filled);
            out[filled..filled + count].copy_from_slice(&page[..count]);
            filled += count;
        }
        Ok(Fields::new(out, address, what, self.file.sizes))
    }
}

impl PageCache {
    /// The bytes of page `index` of `file`, which must have that page.
    fn page(&mut self, file: &Hdf5File, index: u64) -> Result<&[u8], Hdf5Error> {
        let known = self.identity.as_ref().is_some_and(|it| Arc::ptr_eq(it, &file.identity));
        if !known {
            self.identity = Some(Arc::clone(&file.identity));
            self.pages.iter_mut().for_each(|page| page.index = u64::MAX);
        }
        self.clock += 1;
        let found = self.pages.iter().position(|page| page.index == index);
        let slot = match found {
            Some(slot) => slot,
            None => self.load(file, index)?,
        };
        let page = &mut self.pages[slot];
        page.used = self.clock;
        Ok(&page.bytes)
    }

    fn load(&mut self, file: &Hdf5File, index: u64) -> Result<usize, Hdf5Error> {
        let slot = if self.pages.len() < PAGES {
            self.pages.push(Page { index: u64::MAX, used: 0, bytes: Vec::new() });
            self.pages.len() - 1
        } else {
            let oldest = self.pages.iter().enumerate().min_by_key(|(_, page)| page.used);
            oldest.map_or(0, |(slot, _)| slot)
        };
        let page = &mut self.pages[slot];
        page.index = u64::MAX;
        let address = index * PAGE_BYTES;
        let length = PAGE_BYTES.min(file.size_bytes.saturating_sub(address));
        file.fetch_direct(address, length, "metadata", &mut page.bytes)?;
        page.index = index;
        Ok(slot)
    }
}
