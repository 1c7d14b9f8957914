//! Datatype messages (specification, IV.A.2.d), as far as attributes and signals need them.

use super::bytes::Fields;
use super::error::Hdf5Error;

/// Most labels of an enum; SLOW5 has room for 255.
const MAX_MEMBERS: usize = 4096;
/// How deep datatypes may be nested: an enum or variable-length type over its base.
const MAX_DEPTH: u8 = 4;

/// Kind of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DatatypeClass {
    /// Integer of any size and byte order.
    Integer {
        /// Whether it has a sign.
        signed: bool,
    },
    /// IEEE floating point.
    Float,
    /// String of a fixed number of bytes.
    FixedString,
    /// String of any length.
    VariableString,
    /// Integer with names.
    Enum,
    /// Something else, by its class number.
    #[default]
    Unknown,
}

/// A name and the value it stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EnumMember<'a> {
    /// The name.
    pub name: &'a [u8],
    /// Its value.
    pub value: u64,
}

/// Type of an attribute's or dataset's values.
#[derive(Debug, Clone, Default)]
pub struct Datatype {
    /// Kind of value.
    pub class: DatatypeClass,
    /// Bytes of one value; of a variable-length string, those of its reference.
    pub size_bytes: u32,
    /// Whether the most significant byte comes first.
    pub is_big_endian: bool,
    names: Vec<u8>,
    /// End of each name in `names`, and its value.
    members: Vec<(usize, u64)>,
}

impl Datatype {
    /// An enum that another library found: names and values in the order of the file.
    #[must_use]
    pub fn of_enum(size_bytes: u32, members: &[(Vec<u8>, u64)]) -> Self {
        let mut datatype = Self { class: DatatypeClass::Enum, size_bytes, ..Self::default() };
        for (name, value) in members {
            datatype.names.extend_from_slice(name);
            datatype.members.push((datatype.names.len(), *value));
        }
        datatype
    }

    /// Names of an enum's values, in the order of the file.
    pub fn members(&self) -> impl ExactSizeIterator<Item = EnumMember<'_>> {
        (0..self.members.len()).map(|index| {
            let start = if index == 0 { 0 } else { self.members[index - 1].0 };
            let (end, value) = self.members[index];
            EnumMember { name: &self.names[start..end], value }
        })
    }

    /// Fills this from a message.
    pub(super) fn parse(&mut self, fields: &mut Fields<'_>) -> Result<(), Hdf5Error> {
        self.names.clear();
        self.members.clear();
        self.is_big_endian = false;
        self.parse_nested(fields, 0)
    }

    fn parse_nested(&mut self, fields: &mut Fields<'_>, depth: u8) -> Result<(), Hdf5Error> {
        if depth == MAX_DEPTH {
            return Err(fields.malformed("datatypes are nested too deep"));
        }
        let first = fields.u8()?;
        let (class, version) = (first & 0x0f, first >> 4);
        let bits = fields.unsigned(3)?;
        let size_bytes = fields.u32()?;
        self.size_bytes = size_bytes;
        match class {
            0 => {
                let bit_offset = fields.u16()?;
                let precision = u32::from(fields.u16()?);
                if bit_offset != 0 || size_bytes > 8 || precision != size_bytes.wrapping_mul(8) {
                    self.class = DatatypeClass::Unknown;
                    return Ok(());
                }
                self.is_big_endian = bits & 1 != 0;
                self.class = DatatypeClass::Integer { signed: bits & 8 != 0 };
            }
            1 => {
                fields.skip(12)?;
                self.is_big_endian = bits & 1 != 0;
                // Bit 6 with bit 0 is VAX order.
                let known = matches!(size_bytes, 4 | 8) && bits & 0x40 == 0;
                self.class = if known { DatatypeClass::Float } else { DatatypeClass::Unknown };
            }
            3 => self.class = DatatypeClass::FixedString,
            8 => self.parse_enum(fields, depth, version, (bits & 0xffff) as usize)?,
            9 => {
                self.parse_nested(fields, depth + 1)?;
                self.size_bytes = size_bytes;
                let is_string = bits & 0x0f == 1;
                self.class = match is_string {
                    true => DatatypeClass::VariableString,
                    false => DatatypeClass::Unknown,
                };
            }
            _ => self.class = DatatypeClass::Unknown,
        }
        Ok(())
    }

    /// Class 8: the integer below it, the names, the values.
    fn parse_enum(
        &mut self,
        fields: &mut Fields<'_>,
        depth: u8,
        version: u8,
        count: usize,
    ) -> Result<(), Hdf5Error> {
        let size_bytes = self.size_bytes;
        self.parse_nested(fields, depth + 1)?;
        let is_integer = matches!(self.class, DatatypeClass::Integer { .. });
        if !is_integer || self.size_bytes != size_bytes || count > MAX_MEMBERS {
            return Err(fields.malformed("an enum is not one of integers, or has too many names"));
        }
        for _ in 0..count {
            let mut length = 0;
            loop {
                match fields.u8()? {
                    0 => break,
                    byte => self.names.push(byte),
                }
                length += 1;
            }
            // Names of versions 1 and 2 take multiples of eight bytes with their NUL.
            fields.skip(if version < 3 { 7 - length % 8 } else { 0 })?;
            self.members.push((self.names.len(), 0));
        }
        for member in &mut self.members {
            member.1 = integer(fields.take(size_bytes as usize)?, self.is_big_endian);
        }
        self.class = DatatypeClass::Enum;
        Ok(())
    }
}

/// Up to eight bytes as an unsigned number.
pub(super) fn integer(bytes: &[u8], is_big_endian: bool) -> u64 {
    let add = |value: u64, &byte: &u8| value << 8 | u64::from(byte);
    match is_big_endian {
        true => bytes.iter().fold(0, add),
        false => bytes.iter().rev().fold(0, add),
    }
}

/// An unsigned number of `size_bytes` bytes as the signed one with the same bits.
pub(super) fn sign_extended(value: u64, size_bytes: u32) -> i64 {
    let unused = 64u32.saturating_sub(size_bytes.saturating_mul(8)).min(63);
    (value << unused) as i64 >> unused
}

/// Converts integers to the nearest samples and appends them.
pub(super) fn append(datatype: &Datatype, bytes: &[u8], out: &mut Vec<i16>) {
    let signed = datatype.class == DatatypeClass::Integer { signed: true };
    match (datatype.size_bytes, signed, datatype.is_big_endian) {
        (2, true, false) => out.extend(bytes.as_chunks().0.iter().map(|&b| i16::from_le_bytes(b))),
        (2, true, true) => out.extend(bytes.as_chunks().0.iter().map(|&b| i16::from_be_bytes(b))),
        (size, signed, is_big_endian) => {
            let limits = (i64::from(i16::MIN), i64::from(i16::MAX));
            out.extend(bytes.chunks_exact(size as usize).map(|bytes| {
                let bits = integer(bytes, is_big_endian);
                let value = match signed {
                    true => sign_extended(bits, size),
                    false => bits.min(i64::MAX as u64) as i64,
                };
                value.clamp(limits.0, limits.1) as i16
            }));
        }
    }
}
