//! Bytes at any place: what readers of indexed formats (FAST5, POD5, BLOW5 by read id) ask for.
//!
//! The formats know no files. Whoever has one implements this; a slice of bytes does, for tests.

use std::io::{Error, ErrorKind};

/// Random access to bytes that do not change while they are read. Several threads may read at once.
pub trait ReadAt: Send + Sync {
    /// Number of bytes there are.
    fn size_bytes(&self) -> u64;

    /// Fills `out` with the bytes from `offset`.
    ///
    /// # Errors
    /// What the operating system says; [`ErrorKind::UnexpectedEof`] when there are fewer bytes.
    fn read_exact_at(&self, out: &mut [u8], offset: u64) -> std::io::Result<()>;
}

impl ReadAt for &[u8] {
    fn size_bytes(&self) -> u64 {
        self.len() as u64
    }

    fn read_exact_at(&self, out: &mut [u8], offset: u64) -> std::io::Result<()> {
        let start = usize::try_from(offset).ok();
        let bytes = start.and_then(|start| self.get(start..)?.get(..out.len()));
        out.copy_from_slice(bytes.ok_or_else(|| Error::from(ErrorKind::UnexpectedEof))?);
        Ok(())
    }
}

impl ReadAt for Vec<u8> {
    fn size_bytes(&self) -> u64 {
        self.len() as u64
    }

    fn read_exact_at(&self, out: &mut [u8], offset: u64) -> std::io::Result<()> {
        self.as_slice().read_exact_at(out, offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_gives_what_it_has_and_no_more() {
        fn t(offset: u64, len: usize, expected: Option<&[u8]>) {
            let mut out = vec![0; len];
            let read = b"abcde".as_slice().read_exact_at(&mut out, offset);
            assert_eq!(read.ok().map(|()| out.as_slice()), expected, "{offset} {len}");
        }
        t(0, 5, Some(b"abcde"));
        t(3, 2, Some(b"de"));
        t(5, 0, Some(b""));
        t(3, 3, None);
        t(6, 0, None);
        t(u64::MAX, 1, None);
    }
}
