//! What a FAST5 needs of an HDF5 library: members of groups, attributes, samples.

use seqloom_format::hdf5::{
    Datatype, DatatypeClass, Hdf5Error, Hdf5File, Hdf5Scratch, Links, ObjectKind, Value,
};

use super::error::Fast5Problem;

/// Looks into one open HDF5 file. Objects are known by their address in the file.
pub trait Engine: Send + Sync {
    /// Buffers of one caller.
    type Scratch: Default + Send;

    /// The root group.
    fn root(&self) -> u64;

    /// What an object is.
    ///
    /// # Errors
    /// Damage in the file.
    fn kind(&self, object: u64, scratch: &mut Self::Scratch) -> Result<ObjectKind, Hdf5Error>;

    /// Appends the members of a group in byte order of their names.
    ///
    /// # Errors
    /// Damage in the file.
    fn links(
        &self,
        group: u64,
        scratch: &mut Self::Scratch,
        out: &mut Links,
    ) -> Result<(), Hdf5Error>;

    /// Visits the attributes of an object in the order of the file.
    ///
    /// # Errors
    /// Damage in the file, or what `visit` returns.
    fn attributes(
        &self,
        object: u64,
        scratch: &mut Self::Scratch,
        visit: &mut dyn FnMut(Field<'_>) -> Result<(), Fast5Problem>,
    ) -> Result<(), Fast5Problem>;

    /// Reads a dataset of samples.
    ///
    /// # Errors
    /// Damage in the file, or no such dataset.
    fn samples(
        &self,
        dataset: u64,
        scratch: &mut Self::Scratch,
        out: &mut Vec<i16>,
    ) -> Result<(), Hdf5Error>;
}

/// An attribute.
#[derive(Debug, Clone, Copy)]
pub struct Field<'a> {
    /// Its name.
    pub(crate) name: &'a [u8],
    /// Its value.
    pub(crate) value: FieldValue<'a>,
}

/// The value of an attribute.
#[derive(Debug, Clone, Copy)]
pub(crate) enum FieldValue<'a> {
    /// An integer.
    Integer {
        /// The number.
        value: i128,
        /// Bytes that it is stored in.
        size_bytes: u32,
        /// Whether its type has a sign.
        signed: bool,
    },
    /// A 32-bit float.
    F32(f32),
    /// A 64-bit float.
    F64(f64),
    /// A string.
    Text(&'a [u8]),
    /// A number with a name.
    Enum {
        /// The number.
        value: u64,
        /// Its type, with the names.
        datatype: &'a Datatype,
    },
    /// A list, or something that FAST5 does not use.
    Other,
}

impl Engine for Hdf5File {
    type Scratch = Hdf5Scratch;

    fn root(&self) -> u64 {
        Self::root(self)
    }

    fn kind(&self, object: u64, scratch: &mut Hdf5Scratch) -> Result<ObjectKind, Hdf5Error> {
        Self::kind(self, object, scratch)
    }

    fn links(
        &self,
        group: u64,
        scratch: &mut Hdf5Scratch,
        out: &mut Links,
    ) -> Result<(), Hdf5Error> {
        Self::links(self, group, scratch, out)
    }

    fn attributes(
        &self,
        object: u64,
        scratch: &mut Hdf5Scratch,
        visit: &mut dyn FnMut(Field<'_>) -> Result<(), Fast5Problem>,
    ) -> Result<(), Fast5Problem> {
        Self::attributes(self, object, scratch, |attribute| {
            let datatype = attribute.datatype();
            let signed = datatype.class == DatatypeClass::Integer { signed: true };
            let value = match attribute.value() {
                Value::Integer(value) => {
                    FieldValue::Integer { value, size_bytes: datatype.size_bytes, signed }
                }
                Value::F32(value) => FieldValue::F32(value),
                Value::F64(value) => FieldValue::F64(value),
                Value::Text(text) => FieldValue::Text(text),
                Value::Enum(value) => FieldValue::Enum { value, datatype },
                Value::Other => FieldValue::Other,
            };
            visit(Field { name: attribute.name(), value })
        })
    }

    fn samples(
        &self,
        dataset: u64,
        scratch: &mut Hdf5Scratch,
        out: &mut Vec<i16>,
    ) -> Result<(), Hdf5Error> {
        self.read_i16(dataset, scratch, out)
    }
}
