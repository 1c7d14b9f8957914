//! Attributes of objects (specification, IV.A.2.m and IV.A.2.v).

use super::bytes::{Fields, UNDEFINED};
use super::datatype::{Datatype, DatatypeClass, integer, sign_extended};
use super::error::Hdf5Error;
use super::file::MetadataReader;
use super::object::{MessageKind, ObjectHeader, shared_address};

const WHAT: &str = "attribute";

/// One attribute: its name, type and value.
#[derive(Debug, Default)]
pub struct Attribute {
    name: Vec<u8>,
    datatype: Datatype,
    /// Number of values; 1 for a scalar, 0 for the null dataspace.
    elements: u64,
    value: Vec<u8>,
}

/// The value of an attribute.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// An integer of any width and sign.
    Integer(i128),
    /// A 32-bit float.
    F32(f32),
    /// A 64-bit float.
    F64(f64),
    /// A string up to its first NUL.
    Text(&'a [u8]),
    /// The number of an enum's member.
    Enum(u64),
    /// More or fewer values than one, or of a type that FAST5 does not use.
    Other,
}

impl Attribute {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &[u8] {
        &self.name
    }

    /// Its type.
    #[must_use]
    pub fn datatype(&self) -> &Datatype {
        &self.datatype
    }

    /// Number of values.
    #[must_use]
    pub fn elements(&self) -> u64 {
        self.elements
    }

    /// Its value, when it has exactly one.
    #[must_use]
    pub fn value(&self) -> Value<'_> {
        let datatype = &self.datatype;
        if self.elements != 1 {
            return Value::Other;
        }
        let bits = || integer(&self.value, datatype.is_big_endian);
        match datatype.class {
            DatatypeClass::Integer { signed: false } => Value::Integer(i128::from(bits())),
            DatatypeClass::Integer { signed: true } => {
                Value::Integer(i128::from(sign_extended(bits(), datatype.size_bytes)))
            }
            DatatypeClass::Float if datatype.size_bytes == 4 => {
                Value::F32(f32::from_bits(bits() as u32))
            }
            DatatypeClass::Float => Value::F64(f64::from_bits(bits())),
            DatatypeClass::FixedString | DatatypeClass::VariableString => {
                let end = memchr::memchr(0, &self.value).unwrap_or(self.value.len());
                Value::Text(&self.value[..end])
            }
            DatatypeClass::Enum => Value::Enum(bits()),
            DatatypeClass::Unknown => Value::Other,
        }
    }

    /// Fills this from the body of an attribute message at `address`.
    pub(super) fn parse(
        &mut self,
        reader: &mut MetadataReader<'_>,
        shared: &mut ObjectHeader,
        body: &[u8],
        address: u64,
    ) -> Result<(), Hdf5Error> {
        let mut fields = Fields::new(body, address, WHAT, reader.file.sizes);
        let version = fields.u8()?;
        if !(1..=3).contains(&version) {
            return Err(Hdf5Error::unsupported("attribute version", version, address));
        }
        let flags = fields.u8()?;
        let flags = if version == 1 { 0 } else { flags };
        let name_bytes = usize::from(fields.u16()?);
        let datatype_bytes = usize::from(fields.u16()?);
        let dataspace_bytes = usize::from(fields.u16()?);
        fields.skip(if version == 3 { 1 } else { 0 })?;
        // Version 1 pads each part to a multiple of eight bytes; its fixed fields are eight.
        let mut part = |count: usize| {
            let taken = fields.take(count);
            if version == 1 {
                fields.align8();
            }
            taken
        };
        let name = part(name_bytes)?;
        let datatype = part(datatype_bytes)?;
        let dataspace = part(dataspace_bytes)?;
        self.name.clear();
        let end = memchr::memchr(0, name).unwrap_or(name.len());
        self.name.extend_from_slice(&name[..end]);
        let field = |bytes| Fields::new(bytes, address, WHAT, reader.file.sizes);
        if flags & 1 == 0 {
            self.datatype.parse(&mut field(datatype))?;
        } else {
            shared.load(reader, shared_address(field(datatype))?)?;
            let message = shared.find(MessageKind::DATATYPE);
            let missing = "its committed object is not a datatype";
            let message = message.ok_or_else(|| Hdf5Error::malformed(WHAT, address, missing))?;
            let body = shared.body(message);
            self.datatype.parse(&mut Fields::new(
                body,
                message.address,
                WHAT,
                reader.file.sizes,
            ))?;
        }
        if flags & 2 != 0 {
            return Err(Hdf5Error::unsupported("shared dataspace, flags", flags, address));
        }
        self.elements = elements_of(&mut field(dataspace))?;
        self.parse_value(reader, fields)
    }

    fn parse_value(
        &mut self,
        reader: &mut MetadataReader<'_>,
        mut fields: Fields<'_>,
    ) -> Result<(), Hdf5Error> {
        self.value.clear();
        if self.elements != 1 || self.datatype.class == DatatypeClass::Unknown {
            return Ok(());
        }
        let address = fields.address;
        let bytes = fields.take(self.datatype.size_bytes as usize)?;
        if self.datatype.class != DatatypeClass::VariableString {
            self.value.extend_from_slice(bytes);
            return Ok(());
        }
        // III.E: length, collection and number of the object in the global heap.
        let mut reference = Fields::new(bytes, address, WHAT, reader.file.sizes);
        let length = u64::from(reference.u32()?);
        let collection = reference.offset()?;
        let number = reference.u32()?;
        if length == 0 || collection == 0 || collection == UNDEFINED {
            return Ok(());
        }
        read_global_heap(reader, collection, number, &mut self.value)?;
        self.value.truncate(usize::try_from(length).unwrap_or(usize::MAX));
        Ok(())
    }
}

/// Number of values that a dataspace message stands for (IV.A.2.b).
pub(super) fn elements_of(fields: &mut Fields<'_>) -> Result<u64, Hdf5Error> {
    let version = fields.u8()?;
    let rank = fields.u8()?;
    fields.u8()?; // whether there are maximal sizes
    match version {
        1 => fields.skip(5)?,
        2 if fields.u8()? == 2 => return Ok(0),
        2 => {}
        _ => return Err(Hdf5Error::unsupported("dataspace version", version, fields.address)),
    }
    let mut elements = 1u64;
    for _ in 0..rank {
        let size = fields.length()?;
        elements = elements.checked_mul(size).ok_or_else(|| fields.malformed("it is too large"))?;
    }
    Ok(elements)
}

/// Reads one object of a global heap collection (III.E).
fn read_global_heap(
    reader: &mut MetadataReader<'_>,
    collection: u64,
    number: u32,
    out: &mut Vec<u8>,
) -> Result<(), Hdf5Error> {
    const WHAT: &str = "global heap";
    let mut header = [0u8; 16];
    let prefix = 8 + u64::from(reader.file.sizes.length);
    let mut fields = reader.fetch_into(collection, WHAT, &mut header[..prefix as usize])?;
    fields.signature(b"GCOL")?;
    fields.version(1)?;
    fields.skip(3)?;
    let size = fields.length()?;
    reader.file.check(collection, size, WHAT)?;
    let end = collection + size;
    let mut at = collection + prefix;
    while end.saturating_sub(at) >= prefix {
        let mut fields = reader.fetch_into(at, WHAT, &mut header[..prefix as usize])?;
        let index = fields.u16()?;
        fields.skip(6)?;
        let length = fields.length()?;
        if index == 0 {
            break; // free space, which ends the collection
        }
        if length > end - at - prefix {
            return Err(Hdf5Error::malformed(WHAT, at, "an object is longer than it"));
        }
        if u32::from(index) == number {
            return reader.fetch(at + prefix, length, WHAT, out).map(|_| ());
        }
        // Objects are padded to eight bytes; collections themselves may be anywhere.
        at = at + prefix + length.next_multiple_of(8);
    }
    Err(Hdf5Error::malformed(WHAT, collection, "it lacks an object that is referred to"))
}
