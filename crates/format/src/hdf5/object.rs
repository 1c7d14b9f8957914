//! Object headers (specification, IV.A.1): the messages that an object consists of.

use super::bytes::{Fields, Sizes, UNDEFINED};
use super::checksum;
use super::error::Hdf5Error;
use super::file::MetadataReader;

const WHAT: &str = "object header";

/// Most messages of one object. libhdf5 writes two per attribute at most, and attributes go to
/// dense storage long before.
const MAX_MESSAGES: usize = 1 << 16;
/// Most bytes of one object header with its continuations.
const MAX_HEADER_BYTES: usize = 1 << 26;

/// Types of messages (IV.A.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MessageKind(pub(super) u16);

impl MessageKind {
    pub(super) const DATASPACE: Self = Self(0x01);
    pub(super) const LINK_INFO: Self = Self(0x02);
    pub(super) const DATATYPE: Self = Self(0x03);
    pub(super) const FILL_VALUE: Self = Self(0x05);
    pub(super) const LINK: Self = Self(0x06);
    pub(super) const LAYOUT: Self = Self(0x08);
    pub(super) const FILTERS: Self = Self(0x0b);
    pub(super) const ATTRIBUTE: Self = Self(0x0c);
    pub(super) const CONTINUATION: Self = Self(0x10);
    pub(super) const SYMBOL_TABLE: Self = Self(0x11);
    pub(super) const ATTRIBUTE_INFO: Self = Self(0x15);
}

/// Header of each message, by the version of the object header.
#[derive(Debug, Clone, Copy)]
enum MessagePrefix {
    Version1,
    /// Whether messages carry the order of their creation.
    Version2 {
        has_order: bool,
    },
}

impl MessagePrefix {
    fn bytes(self) -> usize {
        match self {
            Self::Version1 => 8,
            Self::Version2 { has_order: true } => 6,
            Self::Version2 { has_order: false } => 4,
        }
    }
}

/// Place of a message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Message {
    pub(super) kind: MessageKind,
    /// Bit 1: the body is elsewhere.
    pub(super) flags: u8,
    start: usize,
    end: usize,
    /// Address in the file, for errors.
    pub(super) address: u64,
}

impl Message {
    pub(super) fn is_shared(self) -> bool {
        self.flags & 0x02 != 0
    }
}

/// All messages of one object, in one recycled buffer.
#[derive(Debug, Default)]
pub(super) struct ObjectHeader {
    bytes: Vec<u8>,
    messages: Vec<Message>,
    blocks: Vec<(u64, u64)>,
    block: Vec<u8>,
}

impl ObjectHeader {
    /// Reads the header of the object at `address`.
    pub(super) fn load(
        &mut self,
        reader: &mut MetadataReader<'_>,
        address: u64,
    ) -> Result<(), Hdf5Error> {
        self.bytes.clear();
        self.messages.clear();
        self.blocks.clear();
        reader.file.check(address, 8, WHAT)?;
        let length = (reader.file.size_bytes - address).min(34);
        reader.fetch(address, length, WHAT, &mut self.block)?;
        if self.block.starts_with(b"OHDR") {
            self.load_version2(reader, address)
        } else {
            self.load_version1(reader, address)
        }
    }

    pub(super) fn messages(&self) -> &[Message] {
        &self.messages
    }

    pub(super) fn body(&self, message: Message) -> &[u8] {
        &self.bytes[message.start..message.end]
    }

    /// Offset of a message's body in [`Self::bytes_between`]'s bytes.
    pub(super) fn start(&self, message: Message) -> usize {
        message.start
    }

    pub(super) fn bytes_between(&self, start: usize, end: usize) -> &[u8] {
        self.bytes.get(start..end).unwrap_or_default()
    }

    pub(super) fn find(&self, kind: MessageKind) -> Option<Message> {
        self.messages.iter().copied().find(|message| message.kind == kind)
    }

    /// IV.A.1.a.
    fn load_version1(
        &mut self,
        reader: &mut MetadataReader<'_>,
        address: u64,
    ) -> Result<(), Hdf5Error> {
        let mut fields = Fields::new(&self.block, address, WHAT, reader.file.sizes);
        fields.version(1)?;
        fields.skip(7)?; // reserved byte, number of messages, reference count
        let length = u64::from(fields.u32()?);
        self.blocks.push((address.saturating_add(16), length));
        let mut next = 0;
        while let Some(&(start, length)) = self.blocks.get(next) {
            next += 1;
            let at = self.append(reader, start, length)?;
            self.parse_block(reader.file.sizes, start, at, MessagePrefix::Version1)?;
        }
        Ok(())
    }

    /// IV.A.1.b.
    fn load_version2(
        &mut self,
        reader: &mut MetadataReader<'_>,
        address: u64,
    ) -> Result<(), Hdf5Error> {
        let mut fields = Fields::new(&self.block, address, WHAT, reader.file.sizes);
        fields.skip(4)?;
        fields.version(2)?;
        let flags = fields.u8()?;
        fields.skip(if flags & 0x20 != 0 { 16 } else { 0 })?;
        fields.skip(if flags & 0x10 != 0 { 4 } else { 0 })?;
        let length = fields.unsigned(1 << (flags & 3))?;
        let prefix = fields.position();
        let message_prefix = MessagePrefix::Version2 { has_order: flags & 0x04 != 0 };
        let whole = length.saturating_add(prefix as u64 + 4);
        let at = self.append(reader, address, whole)?;
        checksum::verify(&self.bytes[at..], WHAT, address)?;
        self.bytes.truncate(self.bytes.len() - 4);
        self.parse_block(reader.file.sizes, address, at + prefix, message_prefix)?;
        let mut next = 0;
        while let Some(&(start, length)) = self.blocks.get(next) {
            next += 1;
            let at = self.append(reader, start, length)?;
            let block = &self.bytes[at..];
            if !block.starts_with(b"OCHK") || block.len() < 8 {
                return Err(Hdf5Error::malformed(WHAT, start, "its signature is missing"));
            }
            checksum::verify(block, WHAT, start)?;
            self.bytes.truncate(self.bytes.len() - 4);
            self.parse_block(reader.file.sizes, start, at + 4, message_prefix)?;
        }
        Ok(())
    }

    /// Appends a block of the header and returns where it starts in the buffer.
    fn append(
        &mut self,
        reader: &mut MetadataReader<'_>,
        address: u64,
        length: u64,
    ) -> Result<usize, Hdf5Error> {
        // Blocks that continue each other in a circle meet this limit too.
        let whole = length.saturating_add(self.bytes.len() as u64);
        let limit = (MAX_HEADER_BYTES as u64).min(reader.file.size_bytes);
        if whole > limit {
            return Err(Hdf5Error::Limit { what: WHAT, value: whole, limit, address });
        }
        reader.fetch(address, length, WHAT, &mut self.block)?;
        let at = self.bytes.len();
        self.bytes.extend_from_slice(&self.block);
        Ok(at)
    }

    /// Splits the bytes from `start` to the end of the buffer into messages.
    fn parse_block(
        &mut self,
        sizes: Sizes,
        address: u64,
        start: usize,
        prefix: MessagePrefix,
    ) -> Result<(), Hdf5Error> {
        let end = self.bytes.len();
        let mut at = start;
        // Less than a message's header at the end of a version 2 block is a gap.
        while at + prefix.bytes() <= end {
            let place = address.saturating_add((at - start) as u64);
            let mut fields = Fields::new(&self.bytes[at..end], place, WHAT, sizes);
            let kind = match prefix {
                MessagePrefix::Version1 => fields.u16()?,
                MessagePrefix::Version2 { .. } => u16::from(fields.u8()?),
            };
            let (length, flags) = (fields.u16()?, fields.u8()?);
            at += prefix.bytes();
            let message_end = at + usize::from(length);
            if message_end > end {
                return Err(Hdf5Error::malformed(WHAT, place, "a message is longer than it"));
            }
            if self.messages.len() == MAX_MESSAGES {
                let (value, limit) = (MAX_MESSAGES as u64 + 1, MAX_MESSAGES as u64);
                return Err(Hdf5Error::Limit { what: WHAT, value, limit, address });
            }
            let kind = MessageKind(kind);
            if kind == MessageKind::CONTINUATION {
                let body = &self.bytes[at..message_end];
                let mut fields = Fields::new(body, place, "continuation message", sizes);
                self.blocks.push((fields.offset()?, fields.length()?));
            } else if kind.0 != 0 {
                let message = Message { kind, flags, start: at, end: message_end, address: place };
                self.messages.push(message);
            }
            at = message_end;
        }
        Ok(())
    }
}

/// Address of the object header that holds the body of a shared message (IV.A.1.c).
pub(super) fn shared_address(mut fields: Fields<'_>) -> Result<u64, Hdf5Error> {
    let version = fields.u8()?;
    let kind = fields.u8()?;
    match (version, kind) {
        (1, _) => fields.skip(6)?,
        (2, _) | (3, 2) => {}
        _ => return Err(Hdf5Error::unsupported("shared message of type", kind, fields.address)),
    }
    match fields.offset()? {
        UNDEFINED => Err(fields.malformed("its address is undefined")),
        address => Ok(address),
    }
}
