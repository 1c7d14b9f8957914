//! Reading of FlatBuffers, for the few tables that POD5 and Arrow keep in them.
//!
//! Every offset is checked where it is followed, so hostile bytes give an error and never a panic.
//! What a caller allocates per element of a vector it must bound itself: many elements may share
//! bytes.

/// An offset or a length that leads out of the buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{what} at byte {at} of a FlatBuffer")]
pub struct FlatError {
    /// The problem.
    pub(crate) what: &'static str,
    /// Offset in the buffer.
    pub(crate) at: usize,
}

/// A table: fields by number, each of which may be absent.
#[derive(Debug, Clone, Copy)]
pub struct Table<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The entries of its vtable: one `u16` per field.
    slots: &'a [u8],
}

/// A vector of elements of one size.
#[derive(Debug, Clone, Copy)]
pub struct Vector<'a> {
    bytes: &'a [u8],
    start: usize,
    element_bytes: usize,
    len: usize,
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], FlatError> {
    let end = at.checked_add(N);
    let found = end.and_then(|end| bytes.get(at..end)).and_then(|found| found.try_into().ok());
    found.ok_or(FlatError { what: "a value past the end", at })
}

/// Follows the unsigned offset that is at `at`.
fn target(bytes: &[u8], at: usize) -> Result<usize, FlatError> {
    let offset = u32::from_le_bytes(array(bytes, at)?) as usize;
    at.checked_add(offset).ok_or(FlatError { what: "an offset that overflows", at })
}

impl<'a> Table<'a> {
    /// The root table of a buffer.
    ///
    /// # Errors
    /// [`FlatError`] as everywhere here.
    pub fn root(bytes: &'a [u8]) -> Result<Self, FlatError> {
        Self::new(bytes, target(bytes, 0)?)
    }

    fn new(bytes: &'a [u8], at: usize) -> Result<Self, FlatError> {
        let back = i64::from(i32::from_le_bytes(array(bytes, at)?));
        let vtable = usize::try_from(at as i64 - back);
        let vtable = vtable.map_err(|_| FlatError { what: "a vtable before the start", at })?;
        let vtable_bytes = usize::from(u16::from_le_bytes(array(bytes, vtable)?));
        let slots = vtable_bytes.checked_sub(4).and_then(|n| bytes.get(vtable + 4..)?.get(..n));
        let slots = slots.ok_or(FlatError { what: "a vtable past the end", at: vtable })?;
        Ok(Self { bytes, at, slots })
    }

    /// Offset of field `field`, if it does.
    fn place(&self, field: usize) -> Option<usize> {
        let slot = self.slots.get(2 * field..2 * field + 2)?;
        let offset = usize::from(u16::from_le_bytes([slot[0], slot[1]]));
        (offset != 0).then(|| self.at + offset)
    }

    fn scalar<const N: usize>(&self, field: usize) -> Result<Option<[u8; N]>, FlatError> {
        self.place(field).map(|at| array(self.bytes, at)).transpose()
    }

    /// An unsigned byte or a boolean; 0 when absent.
    ///
    /// # Errors
    /// When it is outside the buffer; so for all below.
    pub fn u8(&self, field: usize) -> Result<u8, FlatError> {
        Ok(self.scalar::<1>(field)?.map_or(0, |[byte]| byte))
    }

    /// A 16-bit integer; 0 when absent.
    ///
    /// # Errors
    /// As [`Self::u8`].
    pub fn i16(&self, field: usize) -> Result<i16, FlatError> {
        Ok(self.scalar(field)?.map_or(0, i16::from_le_bytes))
    }

    /// A 32-bit integer; 0 when absent.
    ///
    /// # Errors
    /// As [`Self::u8`].
    pub fn i32(&self, field: usize) -> Result<i32, FlatError> {
        Ok(self.scalar(field)?.map_or(0, i32::from_le_bytes))
    }

    /// A 64-bit integer; 0 when absent.
    ///
    /// # Errors
    /// As [`Self::u8`].
    pub fn i64(&self, field: usize) -> Result<i64, FlatError> {
        Ok(self.scalar(field)?.map_or(0, i64::from_le_bytes))
    }

    /// A table inside this one.
    ///
    /// # Errors
    /// As [`Self::u8`].
    pub fn table(&self, field: usize) -> Result<Option<Self>, FlatError> {
        let Some(at) = self.place(field) else { return Ok(None) };
        Self::new(self.bytes, target(self.bytes, at)?).map(Some)
    }

    /// A vector of elements of `element_bytes`: 4 for tables and strings.
    ///
    /// # Errors
    /// As [`Self::u8`].
    pub fn vector(
        &self,
        field: usize,
        element_bytes: usize,
    ) -> Result<Option<Vector<'a>>, FlatError> {
        let Some(at) = self.place(field) else { return Ok(None) };
        let at = target(self.bytes, at)?;
        Vector::new(self.bytes, at, element_bytes).map(Some)
    }

    /// The bytes of a string; empty when absent.
    ///
    /// # Errors
    /// As [`Self::u8`].
    pub fn string(&self, field: usize) -> Result<&'a [u8], FlatError> {
        Ok(self.vector(field, 1)?.map_or(&[], |vector| vector.all()))
    }
}

impl<'a> Vector<'a> {
    fn new(bytes: &'a [u8], at: usize, element_bytes: usize) -> Result<Self, FlatError> {
        let len = u32::from_le_bytes(array(bytes, at)?) as usize;
        let start = at + 4;
        let total = len.checked_mul(element_bytes);
        let fits = total.is_some_and(|total| total <= bytes.len().saturating_sub(start));
        if !fits {
            return Err(FlatError { what: "a vector past the end", at });
        }
        Ok(Self { bytes, start, element_bytes, len })
    }

    /// Number of elements. All of them are in the buffer.
    #[must_use]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Whether it has none.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn all(&self) -> &'a [u8] {
        &self.bytes[self.start..self.start + self.len * self.element_bytes]
    }

    /// The elements as bytes: structures and numbers.
    pub fn elements(&self) -> std::slice::ChunksExact<'a, u8> {
        self.all().chunks_exact(self.element_bytes)
    }

    /// The elements as tables.
    pub fn tables(&self) -> impl Iterator<Item = Result<Table<'a>, FlatError>> + use<'a> {
        let (bytes, start) = (self.bytes, self.start);
        (0..self.len).map(move |i| Table::new(bytes, target(bytes, start + 4 * i)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A root table with an i16, a string, and an absent field, written by hand.
    const SMALL: [u8; 36] = [
        16, 0, 0, 0, // root at 16
        0, 0, // padding
        10, 0, 12, 0, 4, 0, 8, 0, 0,
        0, // vtable at 6: 10 bytes, table 12; fields at 4, 8, absent
        10, 0, 0, 0, // table at 16, vtable 10 before it
        0xFE, 0xFF, 0, 0, // field 0: -2
        4, 0, 0, 0, // field 1: string at 28
        3, 0, 0, 0, b'a', b'b', b'c', 0,
    ];

    #[test]
    fn fields_are_found_and_absent_ones_have_defaults() {
        let table = Table::root(&SMALL).unwrap();
        assert_eq!(table.i16(0), Ok(-2));
        assert_eq!(table.string(1), Ok(b"abc".as_slice()));
        assert_eq!((table.i64(2), table.i32(3)), (Ok(0), Ok(0)));
        assert!(table.table(2).unwrap().is_none());
        assert!(table.vector(9, 4).unwrap().is_none());
    }

    #[test]
    fn what_leads_out_of_the_buffer_is_an_error() {
        for cut in 0..SMALL.len() - 1 {
            let read = Table::root(&SMALL[..cut]).and_then(|table| table.string(1));
            assert!(read.is_err() || read == Ok(b"abc"), "{cut}: {read:?}");
        }
        let mut wide = SMALL;
        wide[28..32].copy_from_slice(&u32::MAX.to_le_bytes());
        let table = Table::root(&wide).unwrap();
        assert!(table.string(1).is_err() && table.vector(1, 24).is_err());
    }
}
