//! One read of nanopore raw signal, and the header it belongs to: the shape that SLOW5, BLOW5,
//! FAST5 and POD5 are all read into and written from.
//!
//! The model is SLOW5's (its specification, version 1.0.0): it is the only one of the four that has
//! a place for everything the others keep of a read. Current in picoampere is
//! `(sample + offset) * range / digitisation`.

pub mod read_id;

use std::collections::BTreeMap;

/// Type of one auxiliary value, or of the elements of an array of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuxiliaryType {
    /// `int8_t`.
    I8,
    /// `int16_t`.
    I16,
    /// `int32_t`.
    I32,
    /// `int64_t`.
    I64,
    /// `uint8_t`.
    U8,
    /// `uint16_t`.
    U16,
    /// `uint32_t`.
    U32,
    /// `uint64_t`.
    U64,
    /// `float`.
    F32,
    /// `double`.
    F64,
    /// `char`; an array of these is a string.
    Char,
    /// `enum{...}`: one byte, the index of a label; 255 is "missing".
    Enum(Vec<Vec<u8>>),
}

impl AuxiliaryType {
    /// Bytes of one value.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        match self {
            Self::I8 | Self::U8 | Self::Char | Self::Enum(_) => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    /// The value that stands for "missing" in a scalar, little-endian (specification, table of null
    /// values; the two quiet NaN are the ones that C's `nanf("")` and `nan("")` give).
    #[must_use]
    pub fn missing(&self) -> Vec<u8> {
        match self {
            Self::I8 => i8::MAX.to_le_bytes().to_vec(),
            Self::I16 => i16::MAX.to_le_bytes().to_vec(),
            Self::I32 => i32::MAX.to_le_bytes().to_vec(),
            Self::I64 => i64::MAX.to_le_bytes().to_vec(),
            Self::U8 | Self::Enum(_) => vec![u8::MAX],
            Self::U16 => u16::MAX.to_le_bytes().to_vec(),
            Self::U32 => u32::MAX.to_le_bytes().to_vec(),
            Self::U64 => u64::MAX.to_le_bytes().to_vec(),
            Self::F32 => 0x7FC0_0000_u32.to_le_bytes().to_vec(),
            Self::F64 => 0x7FF8_0000_0000_0000_u64.to_le_bytes().to_vec(),
            Self::Char => vec![0],
        }
    }
}

/// An auxiliary field of all reads of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuxiliaryField {
    /// Its name, such as `channel_number`.
    pub name: Vec<u8>,
    /// Type of the value or of the array's elements.
    pub kind: AuxiliaryType,
    /// Whether a read has any number of values.
    pub is_array: bool,
}

/// Version of the SLOW5 specification that a file follows: major, minor, patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slow5Version(pub u8, pub u8, pub u8);

impl Slow5Version {
    /// The first published version: no enums, no signal compression, no zstd.
    pub(crate) const V0_1_0: Self = Self(0, 1, 0);
    /// As slow5lib writes it, and we.
    pub(crate) const V0_2_0: Self = Self(0, 2, 0);
    /// The newest; equal to 0.2.0 but for the number.
    pub(crate) const V1_0_0: Self = Self(1, 0, 0);
}

/// Attributes of all reads of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignalHeader {
    /// Version to be written; what was read, when it was read from SLOW5.
    pub version: Slow5Version,
    /// Number of read groups, at least 1.
    pub read_groups: u32,
    /// Attributes by name without `@`, in byte order. Each has one value per read group; an empty
    /// value is a missing one (`.` in text).
    pub attributes: BTreeMap<Vec<u8>, Vec<Vec<u8>>>,
    /// Auxiliary fields in the order of the columns.
    pub auxiliary: Vec<AuxiliaryField>,
}

impl Default for SignalHeader {
    fn default() -> Self {
        Self {
            version: Slow5Version::V0_2_0,
            read_groups: 1,
            attributes: BTreeMap::new(),
            auxiliary: Vec::new(),
        }
    }
}

/// The auxiliary values of one read, one after the other in one buffer: a scalar as its
/// little-endian bytes, an array as those of its elements, a string without NUL.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuxiliaryValues {
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

impl AuxiliaryValues {
    /// Empties it, keeping its memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Appends the value of the next field.
    pub fn push(&mut self, value: &[u8]) {
        self.bytes.extend_from_slice(value);
        self.ends.push(self.bytes.len() as u32);
    }

    /// Appends what `write` appends as the value of the next field; nothing when it gives `None`.
    pub fn push_with(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Option<()>) -> Option<()> {
        let start = self.bytes.len();
        let outcome = write(&mut self.bytes);
        match outcome {
            Some(()) => self.ends.push(self.bytes.len() as u32),
            None => self.bytes.truncate(start),
        }
        outcome
    }

    /// Bytes of the value of field `index`; empty when there is no such field.
    #[must_use]
    pub fn get(&self, index: usize) -> &[u8] {
        let Some(&end) = self.ends.get(index) else { return &[] };
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.bytes[start as usize..end as usize]
    }

    /// All values in the order of the fields.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|index| self.get(index))
    }
}

/// One read of raw signal. Callers keep one and have it filled again and again.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SignalRead {
    /// Read id, a UUID in text as a rule; [`read_id`] says what it may be.
    pub read_id: Vec<u8>,
    /// Read group, from 0.
    pub read_group: u32,
    /// Number of quantisation levels of the converter.
    pub digitisation: f64,
    /// Added to each sample.
    pub offset: f64,
    /// Full scale of the converter, in picoampere.
    pub range: f64,
    /// Samples per second.
    pub sampling_rate: f64,
    /// The raw signal.
    pub samples: Vec<i16>,
    /// One value for each of the header's auxiliary fields.
    pub auxiliary: AuxiliaryValues,
}

impl SignalRead {
    /// Empties it, keeping its memory.
    pub fn clear(&mut self) {
        self.read_id.clear();
        self.samples.clear();
        self.auxiliary.clear();
        self.read_group = 0;
        (self.digitisation, self.offset, self.range, self.sampling_rate) = (0.0, 0.0, 0.0, 0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auxiliary_values_come_back_as_they_were_pushed() {
        let mut values = AuxiliaryValues::default();
        assert_eq!(values.get(0), b"");
        for value in [b"abc".as_slice(), b"", b"\0\x01"] {
            values.push(value);
        }
        assert_eq!(values.iter().collect::<Vec<_>>(), [b"abc".as_slice(), b"", b"\0\x01"]);
        assert_eq!(values.get(3), b"");
        values.clear();
        assert!(values.is_empty());
    }

    #[test]
    fn a_missing_value_has_the_size_of_its_type() {
        let kinds = [AuxiliaryType::I8, AuxiliaryType::F64, AuxiliaryType::Enum(Vec::new())];
        for kind in kinds {
            assert_eq!(kind.missing().len(), kind.size_bytes());
        }
    }
}
