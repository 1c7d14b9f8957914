//! A writer of small HDF5 files, as old as any reader: superblock 0, object headers of version 1,
//! groups as symbol tables, attributes of one value, and datasets of one deflated chunk.
//!
//! Everything is appended in the order in which it is made, so a file of any size needs no more
//! memory than what the caller collects for its root group. Only the superblock, at byte 0, is
//! known last: [`superblock`] makes it, and the caller puts it over the [`SUPERBLOCK_BYTES`] bytes
//! that it left free there. Section numbers are those of the *HDF5 File Format Specification*,
//! version 3.0.

use libdeflater::{CompressionLvl, Compressor};

use super::bytes::UNDEFINED;
use super::object::MessageKind;

/// Bytes at the start of a file that belong to its superblock.
pub const SUPERBLOCK_BYTES: usize = 96;
/// Half the symbols of a symbol table node (II: group leaf node K), as libhdf5 has it.
const LEAF_K: usize = 4;
/// Half the children of a node of a group's tree (II: group internal node K), as libhdf5 has it.
const GROUP_K: usize = 16;
/// Half the children of a node of a tree of chunks: fixed in files with this superblock.
const CHUNK_K: usize = 32;
/// Most bytes of a message (IV.A.1.a: its length has 16 bits), as a multiple of eight.
const MAX_MESSAGE_BYTES: usize = 65_528;
/// Deflate level of signal, that of slow5tools and ont_fast5_api.
const DEFLATE_LEVEL: u32 = 1;

/// A value that a file of this form cannot hold.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum WriteError {
    /// An attribute with its name takes more than an HDF5 message may.
    #[error("attribute {0:?} is too long for FAST5")]
    TooLong(String),
    /// More attributes of one object than can be counted.
    #[error("an object has more attributes than HDF5 can count")]
    TooManyAttributes,
    /// More samples than a chunk may have.
    #[error("{0} samples are too many for a chunk of HDF5")]
    TooManySamples(usize),
}

/// A number type of an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberType {
    /// Integer of this many bytes, with a sign or without.
    Integer(u8, bool),
    /// 32-bit float.
    F32,
    /// 64-bit float.
    F64,
}

/// The messages of an object that is being made, in a recycled buffer.
#[derive(Debug, Default)]
pub struct Messages {
    bytes: Vec<u8>,
    count: u16,
    /// A message under construction.
    body: Vec<u8>,
    datatype: Vec<u8>,
}

impl Messages {
    /// Empties it, keeping its memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.count = 0;
    }

    /// Adds an attribute of text. A text ends with a NUL in HDF5 and should have none itself.
    ///
    /// # Errors
    /// It is too long.
    pub fn text(&mut self, name: &[u8], value: &[u8]) -> Result<(), WriteError> {
        // IV.A.2.d, class 3: NUL-terminated; ASCII, or else UTF-8.
        let charset = if value.is_ascii() { 0x00 } else { 0x10 };
        let length = (value.len() + 1) as u32;
        self.datatype.clear();
        self.datatype.extend_from_slice(&[0x13, charset, 0, 0]);
        self.datatype.extend_from_slice(&length.to_le_bytes());
        self.attribute(name, &[value, b"\0"])
    }

    /// Adds an attribute that is a number, given as little-endian bytes of its type.
    ///
    /// # Errors
    /// Its name is too long.
    pub fn number(
        &mut self,
        name: &[u8],
        kind: NumberType,
        value: &[u8],
    ) -> Result<(), WriteError> {
        self.datatype.clear();
        append_number_type(kind, &mut self.datatype);
        self.attribute(name, &[value])
    }

    /// Adds an attribute that is one of the labels of an enum of bytes.
    ///
    /// # Errors
    /// Its labels are too long.
    pub fn label(&mut self, name: &[u8], labels: &[Vec<u8>], value: u8) -> Result<(), WriteError> {
        // Class 8, version 1: names padded to eight bytes with their NUL, then the values.
        let count = labels.len().min(256) as u16;
        self.datatype.clear();
        self.datatype.extend_from_slice(&[0x18, count as u8, (count >> 8) as u8, 0, 1, 0, 0, 0]);
        append_number_type(NumberType::Integer(1, false), &mut self.datatype);
        for label in labels.iter().take(256) {
            self.datatype.extend_from_slice(label);
            self.datatype.push(0);
            pad8_from(8 + 12, &mut self.datatype);
        }
        self.datatype.extend((0..count).map(|value| value as u8));
        self.attribute(name, &[&[value]])
    }

    /// An attribute message of version 1 (IV.A.2.m): name, type and dataspace, each padded.
    fn attribute(&mut self, name: &[u8], value: &[&[u8]]) -> Result<(), WriteError> {
        let value_bytes: usize = value.iter().map(|part| part.len()).sum();
        let whole = 8 + name.len() + 8 + self.datatype.len() + 8 + 8 + value_bytes;
        if whole > MAX_MESSAGE_BYTES {
            return Err(WriteError::TooLong(String::from_utf8_lossy(name).into_owned()));
        }
        let Self { body, datatype, .. } = self;
        body.clear();
        body.extend_from_slice(&[1, 0]);
        // All three are below the limit of a message.
        body.extend_from_slice(&(name.len() as u16 + 1).to_le_bytes());
        body.extend_from_slice(&(datatype.len() as u16).to_le_bytes());
        body.extend_from_slice(&8u16.to_le_bytes());
        body.extend_from_slice(name);
        body.push(0);
        pad8_from(0, body);
        body.extend_from_slice(datatype);
        pad8_from(0, body);
        body.extend_from_slice(&[1, 0, 0, 0, 0, 0, 0, 0]); // a scalar dataspace
        value.iter().for_each(|part| body.extend_from_slice(part));
        self.push(MessageKind::ATTRIBUTE)
    }

    /// Adds the body as a message.
    fn push(&mut self, kind: MessageKind) -> Result<(), WriteError> {
        pad8_from(0, &mut self.body);
        self.count = self.count.checked_add(1).ok_or(WriteError::TooManyAttributes)?;
        self.bytes.extend_from_slice(&kind.0.to_le_bytes());
        self.bytes.extend_from_slice(&(self.body.len() as u16).to_le_bytes());
        self.bytes.extend_from_slice(&[0; 4]);
        self.bytes.extend_from_slice(&self.body);
        Ok(())
    }
}

/// IV.A.2.d, classes 0 and 1, little-endian.
fn append_number_type(kind: NumberType, out: &mut Vec<u8>) {
    match kind {
        NumberType::Integer(size, signed) => {
            out.extend_from_slice(&[0x10, if signed { 8 } else { 0 }, 0, 0, size, 0, 0, 0]);
            out.extend_from_slice(&[0, 0, size.saturating_mul(8), 0]);
        }
        NumberType::F32 => out.extend_from_slice(&[
            0x11, 0x20, 31, 0, 4, 0, 0, 0, 0, 0, 32, 0, 23, 8, 0, 23, 127, 0, 0, 0,
        ]),
        NumberType::F64 => out.extend_from_slice(&[
            0x11, 0x20, 63, 0, 8, 0, 0, 0, 0, 0, 64, 0, 52, 11, 0, 52, 0xff, 0x03, 0, 0,
        ]),
    }
}

/// Pads `out`, counted from `start`, to a multiple of eight bytes.
fn pad8_from(start: usize, out: &mut Vec<u8>) {
    let counted = out.len().saturating_sub(start);
    out.resize(start + counted.next_multiple_of(8), 0);
}

/// A node of a group's tree.
struct Child {
    address: u64,
    /// Place of its greatest name.
    greatest: u64,
}

/// Place of a group, for links to it and for the superblock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupPlace {
    /// Its object header.
    pub header: u64,
    tree: u64,
    names: u64,
}

/// A member of a group that is being made: its name and the address of its header.
pub(crate) type Member<'a> = (&'a [u8], u64);

/// Appends objects and knows where they come to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hdf5Writer {
    /// Address of the first byte of what the caller appends to now.
    position: u64,
}

impl Hdf5Writer {
    /// A writer that starts at this address.
    #[must_use]
    pub fn at(position: u64) -> Self {
        Self { position }
    }

    /// Address of the next byte.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Appends bytes, and zeros to the next multiple of eight. Returns their address.
    fn put(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> u64 {
        let address = self.position;
        let start = out.len();
        out.extend_from_slice(bytes);
        pad8_from(start, out);
        self.position += (out.len() - start) as u64;
        address
    }

    /// Appends an object header of version 1 (IV.A.1.a). `links` is how many lead to it.
    fn object(&mut self, messages: &Messages, links: u32, out: &mut Vec<u8>) -> u64 {
        let mut prefix = [0; 16];
        prefix[0] = 1;
        prefix[2..4].copy_from_slice(&messages.count.to_le_bytes());
        prefix[4..8].copy_from_slice(&links.to_le_bytes());
        prefix[8..12].copy_from_slice(&(messages.bytes.len() as u32).to_le_bytes());
        let address = self.put(&prefix, out);
        self.put(&messages.bytes, out);
        address
    }

    /// Appends a group with these attributes. Its members must be in byte order of their names.
    /// `links` is how many links will lead to it.
    ///
    /// # Errors
    /// It has too many attributes.
    pub fn group<'a>(
        &mut self,
        members: impl Iterator<Item = Member<'a>>,
        attributes: &mut Messages,
        links: u32,
        out: &mut Vec<u8>,
    ) -> Result<GroupPlace, WriteError> {
        let mut names = vec![0; 8]; // the empty name, that all others are greater than
        let mut node = Vec::new();
        let mut in_node = 0u16;
        let mut children = Vec::new();
        let mut last = 0;
        for (name, header) in members {
            if usize::from(in_node) == 2 * LEAF_K {
                let address = self.symbol_node(&mut node, in_node, out);
                children.push(Child { address, greatest: last });
                in_node = 0;
            }
            last = names.len() as u64;
            names.extend_from_slice(name);
            names.push(0);
            pad8_from(0, &mut names);
            node.extend_from_slice(&last.to_le_bytes());
            node.extend_from_slice(&header.to_le_bytes());
            node.extend_from_slice(&[0; 24]);
            in_node += 1;
        }
        if in_node > 0 {
            let address = self.symbol_node(&mut node, in_node, out);
            children.push(Child { address, greatest: last });
        }
        let tree = self.group_tree(children, out);
        let names = self.local_heap(&names, out);
        attributes.body.clear();
        attributes.body.extend_from_slice(&tree.to_le_bytes());
        attributes.body.extend_from_slice(&names.to_le_bytes());
        attributes.push(MessageKind::SYMBOL_TABLE)?;
        let header = self.object(attributes, links, out);
        Ok(GroupPlace { header, tree, names })
    }

    /// III.B, of the size that all nodes of a file have. Empties `entries`.
    fn symbol_node(&mut self, entries: &mut Vec<u8>, count: u16, out: &mut Vec<u8>) -> u64 {
        let mut prefix = *b"SNOD\x01\0\0\0";
        prefix[6..8].copy_from_slice(&count.to_le_bytes());
        let address = self.put(&prefix, out);
        entries.resize(2 * LEAF_K * 40, 0);
        self.put(entries, out);
        entries.clear();
        address
    }

    /// III.A.1 for groups, level by level from the leaves up.
    fn group_tree(&mut self, mut children: Vec<Child>, out: &mut Vec<u8>) -> u64 {
        let node_bytes = (24 + 2 * GROUP_K * 8 + (2 * GROUP_K + 1) * 8) as u64;
        let mut level = 0u8;
        loop {
            let nodes = children.len().div_ceil(2 * GROUP_K).max(1);
            let first = self.position;
            let mut parents = Vec::with_capacity(nodes);
            let mut least = 0; // the empty name
            for index in 0..nodes {
                let from = index * 2 * GROUP_K;
                let part = &children[from..children.len().min(from + 2 * GROUP_K)];
                let address_of = |index: usize| first + index as u64 * node_bytes;
                let left = index.checked_sub(1).map_or(UNDEFINED, address_of);
                let right = if index + 1 < nodes { address_of(index + 1) } else { UNDEFINED };
                let mut node = b"TREE\0".to_vec();
                node.push(level);
                node.extend_from_slice(&(part.len() as u16).to_le_bytes());
                let mut word = |value: u64| node.extend_from_slice(&value.to_le_bytes());
                [left, right, least].into_iter().for_each(&mut word);
                for child in part {
                    word(child.address);
                    word(child.greatest);
                    least = child.greatest;
                }
                node.resize(node_bytes as usize, 0);
                parents.push(Child { address: self.put(&node, out), greatest: least });
            }
            if let [root] = &parents[..] {
                return root.address;
            }
            children = parents;
            // Each level has a 32nd of the nodes below it: 255 are never reached.
            level = level.saturating_add(1);
        }
    }

    /// III.D.
    fn local_heap(&mut self, names: &[u8], out: &mut Vec<u8>) -> u64 {
        let mut heap = b"HEAP\0\0\0\0".to_vec();
        heap.extend_from_slice(&(names.len() as u64).to_le_bytes());
        heap.extend_from_slice(&1u64.to_le_bytes()); // no free space
        heap.extend_from_slice(&(self.position + 32).to_le_bytes());
        let address = self.put(&heap, out);
        self.put(names, out);
        address
    }

    /// Appends a dataset of 16-bit samples that may grow, as one chunk: `chunk` is what
    /// [`SignalCompressor::compress`] made of them. Returns the address of its header.
    ///
    /// # Errors
    /// There are more samples than a chunk may have.
    pub fn samples(
        &mut self,
        samples: usize,
        chunk: &[u8],
        messages: &mut Messages,
        out: &mut Vec<u8>,
    ) -> Result<u64, WriteError> {
        let too_many = |_| WriteError::TooManySamples(samples);
        // HDF5 counts the bytes of a chunk in 32 bits.
        i32::try_from(samples).map_err(too_many)?;
        let stored = u32::try_from(chunk.len()).map_err(too_many)?;
        messages.clear();
        let body = &mut messages.body;
        body.clear();
        // IV.A.2.b: one dimension, without limit unless it is empty.
        let has_limit = u8::from(samples > 0);
        body.extend_from_slice(&[1, 1, has_limit, 0, 0, 0, 0, 0]);
        body.extend_from_slice(&(samples as u64).to_le_bytes());
        if samples > 0 {
            body.extend_from_slice(&UNDEFINED.to_le_bytes());
        }
        messages.push(MessageKind::DATASPACE)?;
        messages.body.clear();
        append_number_type(NumberType::Integer(2, true), &mut messages.body);
        messages.push(MessageKind::DATATYPE)?;
        messages.body.clear();
        // IV.A.2.e, version 2: space as chunks come, written if set, the default value.
        let allocation = if samples > 0 { 3 } else { 2 };
        messages.body.extend_from_slice(&[2, allocation, 2, 1, 0, 0, 0, 0]);
        messages.push(MessageKind::FILL_VALUE)?;
        messages.body.clear();
        if samples == 0 {
            // A chunk cannot be empty: contiguous, and nowhere.
            messages.body.extend_from_slice(&[3, 1]);
            messages.body.extend_from_slice(&UNDEFINED.to_le_bytes());
            messages.body.extend_from_slice(&0u64.to_le_bytes());
        } else {
            let chunk = self.put(chunk, out);
            let tree = self.chunk_tree(chunk, stored, samples as u64, out);
            messages.body.extend_from_slice(&[3, 2, 2]);
            messages.body.extend_from_slice(&tree.to_le_bytes());
            messages.body.extend_from_slice(&(samples as u32).to_le_bytes());
            messages.body.extend_from_slice(&2u32.to_le_bytes());
        }
        messages.push(MessageKind::LAYOUT)?;
        if samples > 0 {
            // IV.A.2.l, version 1: deflate, optional as libhdf5 has it, with its level.
            messages.body.clear();
            messages.body.extend_from_slice(&[1, 1, 0, 0, 0, 0, 0, 0, 1, 0, 8, 0, 1, 0, 1, 0]);
            messages.body.extend_from_slice(b"deflate\0");
            messages.body.extend_from_slice(&u64::from(DEFLATE_LEVEL).to_le_bytes());
            messages.push(MessageKind::FILTERS)?;
        }
        Ok(self.object(messages, 1, out))
    }

    /// III.A.1 for chunks: one leaf with one chunk.
    fn chunk_tree(&mut self, chunk: u64, stored: u32, samples: u64, out: &mut Vec<u8>) -> u64 {
        const KEY_BYTES: usize = 24;
        let mut node = b"TREE\x01\0\x01\0".to_vec();
        let mut word = |value: u64| node.extend_from_slice(&value.to_le_bytes());
        word(UNDEFINED);
        word(UNDEFINED);
        // A key: stored bytes and filter mask, then the chunk's place, of which the last counts
        // the bytes of a value.
        [u64::from(stored), 0, 0, chunk].into_iter().for_each(&mut word);
        [0, samples, 0].into_iter().for_each(&mut word);
        node.resize(24 + 2 * CHUNK_K * 8 + (2 * CHUNK_K + 1) * KEY_BYTES, 0);
        self.put(&node, out)
    }
}

/// The superblock (II, version 0) of a file with this root group and this many bytes.
#[must_use]
pub fn superblock(root: GroupPlace, file_bytes: u64) -> [u8; SUPERBLOCK_BYTES] {
    let mut out = Vec::with_capacity(SUPERBLOCK_BYTES);
    out.extend_from_slice(b"\x89HDF\r\n\x1a\n");
    out.extend_from_slice(&[0, 0, 0, 0, 0, 8, 8, 0]);
    out.extend_from_slice(&(LEAF_K as u16).to_le_bytes());
    out.extend_from_slice(&(GROUP_K as u16).to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    // Base, free space, end of file, driver; then the root's symbol table entry, with its tree and
    // heap cached (III.C).
    for word in [0, UNDEFINED, file_bytes, UNDEFINED, 0, root.header, 1, root.tree, root.names] {
        out.extend_from_slice(&word.to_le_bytes());
    }
    let mut superblock = [0; SUPERBLOCK_BYTES];
    superblock.copy_from_slice(&out);
    superblock
}

/// Deflates signal; one for each thread.
pub struct SignalCompressor {
    deflate: Compressor,
    bytes: Vec<u8>,
}

impl Default for SignalCompressor {
    fn default() -> Self {
        let level = CompressionLvl::new(DEFLATE_LEVEL as i32).unwrap_or_default();
        Self { deflate: Compressor::new(level), bytes: Vec::new() }
    }
}

impl SignalCompressor {
    /// Replaces `out` by the chunk of these samples.
    pub fn compress(&mut self, samples: &[i16], out: &mut Vec<u8>) {
        self.bytes.clear();
        self.bytes.extend(samples.iter().flat_map(|sample| sample.to_le_bytes()));
        out.resize(self.deflate.zlib_compress_bound(self.bytes.len()), 0);
        // It cannot fail within its own bound; an empty chunk would be seen when it is read.
        let written = self.deflate.zlib_compress(&self.bytes, out);
        out.truncate(written.unwrap_or(0));
    }
}
