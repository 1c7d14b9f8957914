//! Bytes that are read from the first to the last.

use super::error::Problem;

/// Bytes and a place in them.
#[derive(Debug, Clone)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Name of the structure, for messages.
    what: &'static str,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8], what: &'static str) -> Self {
        Self { bytes, at: 0, what }
    }

    /// Offset of the next byte.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// All that is left.
    pub(crate) fn rest(&mut self) -> &'a [u8] {
        let rest = &self.bytes[self.at..];
        self.at = self.bytes.len();
        rest
    }

    fn ends(&self) -> Problem {
        Problem::Ends(self.what)
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], Problem> {
        let end = self.at.checked_add(count).ok_or_else(|| self.ends())?;
        let taken = self.bytes.get(self.at..end).ok_or_else(|| self.ends())?;
        self.at = end;
        Ok(taken)
    }

    #[inline]
    pub(crate) fn byte(&mut self) -> Result<u8, Problem> {
        let byte = *self.bytes.get(self.at).ok_or_else(|| self.ends())?;
        self.at += 1;
        Ok(byte)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Problem> {
        let what = self.what;
        self.take(N)?.first_chunk().copied().ok_or(Problem::Ends(what))
    }

    pub(crate) fn word(&mut self) -> Result<u32, Problem> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// ITF8: 32 bits in 1 to 5 bytes.
    #[inline]
    pub(crate) fn itf8(&mut self) -> Result<i32, Problem> {
        let first = self.byte()?;
        if first < 0x80 {
            return Ok(first.into());
        }
        let after = first.leading_ones().min(4);
        let mut value = u32::from(first) & (0xff >> (after + 1).min(8));
        if after == 4 {
            value = u32::from(first) & 0xf;
            for byte in self.array::<3>()? {
                value = value << 8 | u32::from(byte);
            }
            // The last byte holds four bits alone.
            return Ok((value << 4 | u32::from(self.byte()? & 0xf)).cast_signed());
        }
        for _ in 0..after {
            value = value << 8 | u32::from(self.byte()?);
        }
        Ok(value.cast_signed())
    }

    /// ITF8 that is a size or a count.
    pub(crate) fn size(&mut self) -> Result<usize, Problem> {
        usize::try_from(self.itf8()?).map_err(|_| Problem::Malformed("a size is negative"))
    }

    /// LTF8: 64 bits in 1 to 9 bytes.
    pub(crate) fn ltf8(&mut self) -> Result<u64, Problem> {
        let first = self.byte()?;
        let after = first.leading_ones();
        let mut value = if after >= 7 { 0 } else { u64::from(first & 0x7f >> after) };
        for _ in 0..after {
            value = value << 8 | u64::from(self.byte()?);
        }
        Ok(value)
    }

    /// Seven bits a byte, the highest first: sizes in the codecs of 3.1.
    pub(crate) fn uint7(&mut self) -> Result<usize, Problem> {
        let mut value = 0_u32;
        for _ in 0..5 {
            let byte = self.byte()?;
            value = value << 7 | u32::from(byte & 0x7f);
            if byte < 0x80 {
                return Ok(value as usize);
            }
        }
        Err(Problem::Malformed("a number has more than 5 bytes"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::integers::{push_itf8, push_ltf8};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_come_back(value in any::<i32>(), long in any::<u64>(), shift in 0..64_u32) {
            let (mut bytes, long, value) = (Vec::new(), long >> shift, value >> (shift % 32));
            push_itf8(&mut bytes, value);
            push_ltf8(&mut bytes, long);
            let mut cursor = Cursor::new(&bytes, "it");
            prop_assert_eq!(cursor.itf8(), Ok(value));
            prop_assert_eq!(cursor.ltf8(), Ok(long));
            prop_assert!(cursor.is_empty());
            for end in 0..bytes.len() {
                let mut cursor = Cursor::new(&bytes[..end], "it");
                prop_assert!(cursor.itf8().is_err() || cursor.ltf8().is_err());
            }
        }
    }
}
