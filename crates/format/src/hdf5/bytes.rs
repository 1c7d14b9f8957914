//! A structure of the file in memory, read field by field with every step checked.

use super::checksum;
use super::error::Hdf5Error;
use super::little_endian::little_endian;

/// The address that points nowhere: all bits set, in whatever width the file has.
pub(super) const UNDEFINED: u64 = u64::MAX;

/// Widths of addresses and lengths in this file (specification, II: size of offsets, of lengths).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sizes {
    /// Bytes of an address.
    pub(super) offset: u8,
    /// Bytes of a length.
    pub(super) length: u8,
}

/// Reads fields from the front of a structure.
#[derive(Debug, Clone)]
pub(super) struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Address of the first byte, for errors.
    pub(super) address: u64,
    /// Name of the structure, for errors.
    pub(super) what: &'static str,
    pub(super) sizes: Sizes,
}

impl<'a> Fields<'a> {
    pub(super) fn new(bytes: &'a [u8], address: u64, what: &'static str, sizes: Sizes) -> Self {
        Self { bytes, at: 0, address, what, sizes }
    }

    /// An error about this structure.
    pub(super) fn malformed(&self, why: &'static str) -> Hdf5Error {
        Hdf5Error::malformed(self.what, self.address, why)
    }

    /// Verifies the checksum of a structure that ends with one.
    pub(super) fn verify_checksum(&self) -> Result<(), Hdf5Error> {
        checksum::verify(self.bytes, self.what, self.address)
    }

    pub(super) fn position(&self) -> usize {
        self.at
    }

    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], Hdf5Error> {
        let end = self.at.checked_add(count).filter(|&end| end <= self.bytes.len());
        let end = end.ok_or_else(|| self.malformed("it is shorter than its fields"))?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    pub(super) fn skip(&mut self, count: usize) -> Result<(), Hdf5Error> {
        self.take(count).map(|_| ())
    }

    /// Skips to the next multiple of eight bytes from the start of the structure, as far as there
    /// are bytes.
    pub(super) fn align8(&mut self) {
        self.at = self.at.next_multiple_of(8).min(self.bytes.len());
    }

    /// The signature of a structure.
    pub(super) fn signature(&mut self, expected: &[u8; 4]) -> Result<(), Hdf5Error> {
        if self.take(4)? == expected {
            return Ok(());
        }
        Err(self.malformed("its signature is missing"))
    }

    /// A version number that must be `expected`.
    pub(super) fn version(&mut self, expected: u8) -> Result<(), Hdf5Error> {
        match self.u8()? {
            version if version == expected => Ok(()),
            version => Err(Hdf5Error::unsupported(self.what, version, self.address)),
        }
    }

    pub(super) fn u8(&mut self) -> Result<u8, Hdf5Error> {
        Ok(self.take(1)?[0])
    }

    pub(super) fn u16(&mut self) -> Result<u16, Hdf5Error> {
        Ok(self.unsigned(2)? as u16)
    }

    pub(super) fn u32(&mut self) -> Result<u32, Hdf5Error> {
        Ok(self.unsigned(4)? as u32)
    }

    pub(super) fn u64(&mut self) -> Result<u64, Hdf5Error> {
        self.unsigned(8)
    }

    /// A little-endian number of up to eight bytes.
    pub(super) fn unsigned(&mut self, width: usize) -> Result<u64, Hdf5Error> {
        if width > 8 {
            return Err(self.malformed("a number is wider than eight bytes"));
        }
        Ok(little_endian(self.take(width)?))
    }

    /// An address, [`UNDEFINED`] when all its bits are set.
    pub(super) fn offset(&mut self) -> Result<u64, Hdf5Error> {
        let width = usize::from(self.sizes.offset);
        let value = self.unsigned(width)?;
        let undefined = u64::MAX >> (64 - 8 * width as u32);
        Ok(if value == undefined { UNDEFINED } else { value })
    }

    /// A length.
    pub(super) fn length(&mut self) -> Result<u64, Hdf5Error> {
        self.unsigned(usize::from(self.sizes.length))
    }
}

/// Bytes that a number up to `limit` is stored in (libhdf5's encoding of counts: one byte per
/// started eight bits of its logarithm).
pub(super) fn encoded_width(limit: u64) -> usize {
    limit.checked_ilog2().unwrap_or(0) as usize / 8 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_in_order_and_never_past_the_end() {
        let sizes = Sizes { offset: 4, length: 2 };
        let bytes = [1, 2, 0, 0xff, 0xff, 0xff, 0xff, 5, 1, 9];
        let mut fields = Fields::new(&bytes, 100, "thing", sizes);
        assert_eq!(fields.u8().unwrap(), 1);
        assert_eq!(fields.u16().unwrap(), 2);
        assert_eq!(fields.offset().unwrap(), UNDEFINED);
        assert_eq!(fields.length().unwrap(), 0x105);
        assert_eq!(fields.position(), 9);
        let error = fields.u32().unwrap_err().to_string();
        assert_eq!(error, "damaged thing at byte 100: it is shorter than its fields");
        assert!(fields.take(usize::MAX).is_err());
    }

    #[test]
    fn widths_of_counts() {
        fn t(limit: u64, expected: usize) {
            assert_eq!(encoded_width(limit), expected, "{limit}");
        }
        t(0, 1);
        t(255, 1);
        t(256, 2);
        t(u64::MAX, 8);
    }
}
