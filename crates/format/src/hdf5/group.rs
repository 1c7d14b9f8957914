//! Groups and their links: symbol tables (specification, III.B to III.D), link messages (IV.A.2.g)
//! and dense links (IV.A.2.c).

use super::btree1::{self, TreeKind};
use super::btree2;
use super::bytes::{Fields, UNDEFINED};
use super::error::Hdf5Error;
use super::file::{Hdf5File, MetadataReader};
use super::fractal_heap::FractalHeap;
use super::object::{Message, MessageKind};
use super::scratch::Hdf5Scratch;

/// Kind of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectKind {
    /// Has links.
    Group,
    /// Has values.
    Dataset,
    /// A committed datatype, or something else without links or values.
    Other,
}

/// Record type of the tree of dense links by name (III.A.2).
const NAME_INDEX: u8 = 5;
/// Most names on the way of a soft link, with those of the links that it leads over.
const MAX_LINK_STEPS: u8 = 32;
/// Most soft links of a group that are followed; each may read whole groups.
const MAX_SOFT_LINKS: usize = 1000;
/// Most links of one group.
const MAX_LINKS: usize = 1 << 24;

/// Target of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkTarget {
    /// To the object whose header is at this address.
    Object(u64),
    /// Nowhere: a soft link to a missing object, or a link into another file.
    Nowhere,
}

/// A member of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// Its target.
    pub target: LinkTarget,
}

/// Links of one or more groups, in recycled buffers: a stack.
#[derive(Debug, Default)]
pub struct Links {
    texts: Vec<u8>,
    entries: Vec<Entry>,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    start: usize,
    end: usize,
    target: LinkTarget,
    /// End of the path of a soft link, which starts where the name ends.
    path_end: usize,
}

impl Links {
    /// Number of links.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The link with this number, which must exist.
    #[must_use]
    pub fn get(&self, index: usize) -> Link<'_> {
        let entry = self.entries[index];
        Link { name: &self.texts[entry.start..entry.end], target: entry.target }
    }

    /// Removes all links from number `len` on.
    pub fn truncate(&mut self, len: usize) {
        if let Some(entry) = self.entries.get(len) {
            // Names are sorted within a group, so the first is not the first in the buffer.
            let start = self.entries[len..].iter().map(|entry| entry.start).min();
            self.texts.truncate(start.unwrap_or(entry.start));
        }
        self.entries.truncate(len);
    }

    /// Appends a link that another library found.
    ///
    /// # Errors
    /// There are too many.
    pub fn add(&mut self, name: &[u8], target: LinkTarget) -> Result<(), Hdf5Error> {
        self.push(name, target, b"")
    }

    fn push(&mut self, name: &[u8], target: LinkTarget, path: &[u8]) -> Result<(), Hdf5Error> {
        if self.entries.len() == MAX_LINKS {
            let (value, limit) = (MAX_LINKS as u64 + 1, MAX_LINKS as u64);
            return Err(Hdf5Error::Limit { what: "group", value, limit, address: 0 });
        }
        let start = self.texts.len();
        self.texts.extend_from_slice(name);
        let end = self.texts.len();
        self.texts.extend_from_slice(path);
        self.entries.push(Entry { start, end, target, path_end: self.texts.len() });
        Ok(())
    }

    fn sort_from(&mut self, first: usize) {
        let texts = &self.texts;
        self.entries[first..].sort_by(|a, b| texts[a.start..a.end].cmp(&texts[b.start..b.end]));
    }
}

impl Hdf5File {
    /// Kind of the object at `address`.
    ///
    /// # Errors
    /// The object's header cannot be read.
    pub fn kind(&self, address: u64, scratch: &mut Hdf5Scratch) -> Result<ObjectKind, Hdf5Error> {
        scratch.object.load(&mut self.metadata(&mut scratch.cache), address)?;
        let has = |kind| scratch.object.find(kind).is_some();
        let links = [MessageKind::SYMBOL_TABLE, MessageKind::LINK_INFO, MessageKind::LINK];
        Ok(if has(MessageKind::LAYOUT) {
            ObjectKind::Dataset
        } else if links.into_iter().any(has) {
            ObjectKind::Group
        } else {
            ObjectKind::Other
        })
    }

    /// Appends the links of a group to `out`, in byte order of their names, soft links followed.
    /// An object that is no group has none.
    ///
    /// # Errors
    /// Damage in the group.
    pub fn links(
        &self,
        group: u64,
        scratch: &mut Hdf5Scratch,
        out: &mut Links,
    ) -> Result<(), Hdf5Error> {
        let first = out.len();
        self.links_as_they_are(group, scratch, out)?;
        out.sort_from(first);
        let mut followed = 0;
        for index in first..out.len() {
            let entry = out.entries[index];
            if entry.path_end > entry.end && followed < MAX_SOFT_LINKS {
                followed += 1;
                let path = out.texts[entry.end..entry.path_end].to_vec();
                let mut steps = MAX_LINK_STEPS;
                let target = self.follow(group, &path, scratch, &mut steps)?;
                out.entries[index].target = target.map_or(LinkTarget::Nowhere, LinkTarget::Object);
            }
        }
        Ok(())
    }

    /// Appends the links of a group without an order, soft links with their path and no target.
    fn links_as_they_are(
        &self,
        group: u64,
        scratch: &mut Hdf5Scratch,
        out: &mut Links,
    ) -> Result<(), Hdf5Error> {
        scratch.object.load(&mut self.metadata(&mut scratch.cache), group)?;
        for index in 0..scratch.object.messages().len() {
            let message = scratch.object.messages()[index];
            match message.kind {
                MessageKind::SYMBOL_TABLE => self.symbol_table(message, scratch, out)?,
                MessageKind::LINK => {
                    let body = scratch.object.body(message);
                    parse_link(Fields::new(body, message.address, "link", self.sizes), out)?;
                }
                MessageKind::LINK_INFO => self.dense_links(message, scratch, out)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Follows the path of a soft link from `group`, or from the root when it starts with a slash.
    /// Every name on the way, and on the way of links met there, takes one of `steps`.
    fn follow(
        &self,
        group: u64,
        path: &[u8],
        scratch: &mut Hdf5Scratch,
        steps: &mut u8,
    ) -> Result<Option<u64>, Hdf5Error> {
        let mut at = if path.starts_with(b"/") { self.root() } else { group };
        for part in path.split(|&byte| byte == b'/').filter(|part| !matches!(part, [] | [b'.'])) {
            let Some(left) = steps.checked_sub(1) else { return Ok(None) };
            *steps = left;
            let mut links = Links::default();
            self.links_as_they_are(at, scratch, &mut links)?;
            let found = links.entries.iter().find(|it| &links.texts[it.start..it.end] == part);
            let Some(&entry) = found else { return Ok(None) };
            let target = match entry.target {
                LinkTarget::Object(address) => Some(address),
                LinkTarget::Nowhere if entry.path_end > entry.end => {
                    let path = &links.texts[entry.end..entry.path_end];
                    self.follow(at, path, scratch, steps)?
                }
                LinkTarget::Nowhere => None,
            };
            let Some(address) = target else { return Ok(None) };
            at = address;
        }
        Ok(Some(at))
    }

    fn symbol_table(
        &self,
        message: Message,
        scratch: &mut Hdf5Scratch,
        out: &mut Links,
    ) -> Result<(), Hdf5Error> {
        let Hdf5Scratch { cache, object, node, heap, tree: walk, symbols, .. } = scratch;
        let mut reader = self.metadata(cache);
        let body = object.body(message);
        let mut fields = Fields::new(body, message.address, "symbol table", self.sizes);
        let (tree, names) = (fields.offset()?, fields.offset()?);
        local_heap(&mut reader, names, node, heap)?;
        btree1::visit(&mut reader, tree, TreeKind::Group, walk, &mut |reader, _, child| {
            symbol_node(reader, child, symbols, heap, out)
        })
    }

    fn dense_links(
        &self,
        message: Message,
        scratch: &mut Hdf5Scratch,
        out: &mut Links,
    ) -> Result<(), Hdf5Error> {
        let Hdf5Scratch { cache, object, node, heap: block, .. } = scratch;
        let mut reader = self.metadata(cache);
        let body = object.body(message);
        let mut fields = Fields::new(body, message.address, "link info message", self.sizes);
        fields.version(0)?;
        let flags = fields.u8()?;
        fields.skip(if flags & 1 != 0 { 8 } else { 0 })?;
        let (heap, index) = (fields.offset()?, fields.offset()?);
        if heap == UNDEFINED || index == UNDEFINED {
            return Ok(());
        }
        let heap = FractalHeap::open(&mut reader, heap, node)?;
        btree2::visit(&mut reader, index, NAME_INDEX, node, &mut |reader, record| {
            // Type 5: hash of the name (4), heap ID (7).
            let place = heap.read(reader, record.get(4..11).unwrap_or_default(), block)?;
            parse_link(Fields::new(block, place, "link", self.sizes), out)
        })
    }
}

/// Reads the data segment of a local heap (III.D).
fn local_heap(
    reader: &mut MetadataReader<'_>,
    address: u64,
    buffer: &mut Vec<u8>,
    out: &mut Vec<u8>,
) -> Result<(), Hdf5Error> {
    const WHAT: &str = "local heap";
    let sizes = reader.file.sizes;
    let length = 8 + 2 * u64::from(sizes.length) + u64::from(sizes.offset);
    let mut fields = reader.fetch(address, length, WHAT, buffer)?;
    fields.signature(b"HEAP")?;
    fields.version(0)?;
    fields.skip(3)?;
    let size = fields.length()?;
    fields.length()?; // free list
    let data = fields.offset()?;
    reader.fetch(data, size, WHAT, out).map(|_| ())
}

/// Reads a symbol table node (III.B, III.C).
fn symbol_node(
    reader: &mut MetadataReader<'_>,
    address: u64,
    buffer: &mut Vec<u8>,
    heap: &[u8],
    out: &mut Links,
) -> Result<(), Hdf5Error> {
    const WHAT: &str = "symbol table node";
    let mut fields = reader.fetch(address, 8, WHAT, buffer)?;
    fields.signature(b"SNOD")?;
    fields.version(1)?;
    fields.skip(1)?;
    let symbols = u64::from(fields.u16()?);
    let entry_bytes = 2 * u64::from(reader.file.sizes.offset) + 24;
    let mut fields = reader.fetch(address, 8 + symbols * entry_bytes, WHAT, buffer)?;
    fields.skip(8)?;
    for _ in 0..symbols {
        let name = heap_text(heap, fields.offset()?, &fields)?;
        let object = fields.offset()?;
        let cache_type = fields.u32()?;
        fields.skip(4)?;
        let mut scratch_pad = Fields::new(fields.take(16)?, address, WHAT, reader.file.sizes);
        match (object, cache_type) {
            (_, 2) => {
                let path = heap_text(heap, u64::from(scratch_pad.u32()?), &fields)?;
                out.push(name, LinkTarget::Nowhere, path)?;
            }
            (UNDEFINED, _) => out.push(name, LinkTarget::Nowhere, b"")?,
            (object, _) => out.push(name, LinkTarget::Object(object), b"")?,
        }
    }
    Ok(())
}

/// Text in a local heap, up to its NUL.
fn heap_text<'a>(heap: &'a [u8], at: u64, fields: &Fields<'_>) -> Result<&'a [u8], Hdf5Error> {
    let text = usize::try_from(at).ok().and_then(|at| heap.get(at..));
    let text = text.ok_or_else(|| fields.malformed("a name is outside the local heap"))?;
    let end = memchr::memchr(0, text);
    let end = end.ok_or_else(|| fields.malformed("a name in the local heap has no end"))?;
    Ok(&text[..end])
}

/// A link message (IV.A.2.g).
fn parse_link(mut fields: Fields<'_>, out: &mut Links) -> Result<(), Hdf5Error> {
    fields.version(1)?;
    let flags = fields.u8()?;
    let kind = if flags & 0x08 != 0 { fields.u8()? } else { 0 };
    fields.skip(if flags & 0x04 != 0 { 8 } else { 0 })?;
    fields.skip(if flags & 0x10 != 0 { 1 } else { 0 })?;
    let length = fields.unsigned(1 << (flags & 3))?;
    let name = fields.take(usize::try_from(length).unwrap_or(usize::MAX))?;
    match kind {
        0 => match fields.offset()? {
            UNDEFINED => out.push(name, LinkTarget::Nowhere, b""),
            address => out.push(name, LinkTarget::Object(address), b""),
        },
        1 => {
            let length = usize::from(fields.u16()?);
            out.push(name, LinkTarget::Nowhere, fields.take(length)?)
        }
        _ => out.push(name, LinkTarget::Nowhere, b""),
    }
}
