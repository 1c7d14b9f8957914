//! Object headers (specification, IV.A.1): the messages that an object consists of.

use super::bytes::{Fields, UNDEFINED};
use super::checksum;
use super::error::Hdf5Error;
use super::file::{Hdf5File, PageCache};

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

/// Where a message lies.
#[derive(Debug, Clone, Copy)]
pub(super) struct Message {
    pub(super) kind: MessageKind,
    /// Bit 1: the body stands elsewhere.
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
        file: &Hdf5File,
        cache: &mut PageCache,
        address: u64,
    ) -> Result<(), Hdf5Error> {
        self.bytes.clear();
        self.messages.clear();
        self.blocks.clear();
        file.check(address, 8, "object header")?;
        let length = (file.size_bytes - address).min(34);
        file.fetch(cache, address, length, "object header", &mut self.block)?;
        if self.block.starts_with(b"OHDR") {
            self.load_version2(file, cache, address)
        } else {
            self.load_version1(file, cache, address)
        }
    }

    pub(super) fn messages(&self) -> &[Message] {
        &self.messages
    }

    pub(super) fn body(&self, message: Message) -> &[u8] {
        &self.bytes[message.start..message.end]
    }

    /// Where the body of a message starts in [`Self::bytes_between`]'s bytes.
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
        file: &Hdf5File,
        cache: &mut PageCache,
        address: u64,
    ) -> Result<(), Hdf5Error> {
        let mut fields = Fields::new(&self.block, address, "object header", file.sizes);
        fields.version(1)?;
        fields.skip(7)?; // reserved byte, number of messages, reference count
        let length = u64::from(fields.u32()?);
        self.blocks.push((address.saturating_add(16), length));
        let mut next = 0;
        while let Some(&(start, length)) = self.blocks.get(next) {
            next += 1;
            let at = self.append(file, cache, start, length)?;
            self.parse_block(file, start, at, 8, false)?;
        }
        Ok(())
    }

    /// IV.A.1.b.
    fn load_version2(
        &mut self,
        file: &Hdf5File,
        cache: &mut PageCache,
        address: u64,
    ) -> Result<(), Hdf5Error> {
        const WHAT: &str = "object header";
        let mut fields = Fields::new(&self.block, address, WHAT, file.sizes);
        fields.skip(4)?;
        fields.version(2)?;
        let flags = fields.u8()?;
        fields.skip(if flags & 0x20 != 0 { 16 } else { 0 })?;
        fields.skip(if flags & 0x10 != 0 { 4 } else { 0 })?;
        let length = fields.unsigned(1 << (flags & 3))?;
        let prefix = fields.position();
        let has_order = flags & 0x04 != 0;
        let header = if has_order { 6 } else { 4 };
        let whole = length.saturating_add(prefix as u64 + 4);
        let at = self.append(file, cache, address, whole)?;
        checksum::verify(&self.bytes[at..], WHAT, address)?;
        self.bytes.truncate(self.bytes.len() - 4);
        self.parse_block(file, address, at + prefix, header, true)?;
        let mut next = 0;
        while let Some(&(start, length)) = self.blocks.get(next) {
            next += 1;
            let at = self.append(file, cache, start, length)?;
            let block = &self.bytes[at..];
            if !block.starts_with(b"OCHK") || block.len() < 8 {
                return Err(Hdf5Error::malformed(WHAT, start, "its signature is missing"));
            }
            checksum::verify(block, WHAT, start)?;
            self.bytes.truncate(self.bytes.len() - 4);
            self.parse_block(file, start, at + 4, header, true)?;
        }
        Ok(())
    }

    /// Appends a block of the header and returns where it starts in the buffer.
    fn append(
        &mut self,
        file: &Hdf5File,
        cache: &mut PageCache,
        address: u64,
        length: u64,
    ) -> Result<usize, Hdf5Error> {
        const WHAT: &str = "object header";
        // Blocks that continue each other in a circle meet this limit too.
        let whole = length.saturating_add(self.bytes.len() as u64);
        let limit = (MAX_HEADER_BYTES as u64).min(file.size_bytes);
        if whole > limit {
            return Err(Hdf5Error::Limit { what: WHAT, value: whole, limit, address });
        }
        file.fetch(cache, address, length, WHAT, &mut self.block)?;
        let at = self.bytes.len();
        self.bytes.extend_from_slice(&self.block);
        Ok(at)
    }

    /// Splits the bytes from `start` to the end of the buffer into messages.
    fn parse_block(
        &mut self,
        file: &Hdf5File,
        address: u64,
        start: usize,
        header: usize,
        is_version2: bool,
    ) -> Result<(), Hdf5Error> {
        const WHAT: &str = "object header";
        let end = self.bytes.len();
        let mut at = start;
        // Less than a message's header at the end of a version 2 block is a gap.
        while at + header <= end {
            let place = address.saturating_add((at - start) as u64);
            let mut fields = Fields::new(&self.bytes[at..end], place, WHAT, file.sizes);
            let (kind, length, flags) = if is_version2 {
                (u16::from(fields.u8()?), fields.u16()?, fields.u8()?)
            } else {
                (fields.u16()?, fields.u16()?, fields.u8()?)
            };
            at += header;
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
                let mut fields = Fields::new(body, place, "continuation message", file.sizes);
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
