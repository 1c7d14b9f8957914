//! The index of a SLOW5 or BLOW5 file (`.idx` after the file's name): where each read is.
//!
//! Source: SLOW5 specification 1.0.0, "SLOW5 index". 64 bytes of header, then an entry per read in
//! the order of the file (`u16` length and the read id, `u64` offset, `u64` size), then a footer.
//! In BLOW5 a record's offset is that of its length and its size includes those eight bytes; in
//! text they are those of the line with its line feed. slow5lib takes an index only if its version
//! is the file's.

use super::IndexError;
use crate::signal::Slow5Version;

/// First bytes of an index.
pub(crate) const MAGIC: [u8; 9] = *b"SLOW5IDX\x01";
/// Last bytes of an index.
pub(crate) const FOOTER: [u8; 8] = *b"XDI5WOLS";

/// Offset of the entries.
const HEADER_BYTES: usize = 64;
/// Offset and size.
const PLACE_BYTES: usize = 16;

/// One read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Its id.
    pub read_id: &'a [u8],
    /// Offset of its record or line in the file.
    pub offset: u64,
    /// Bytes of the record with its length, or of the line with its line feed.
    pub size_bytes: u64,
}

/// Appends the header of the index of a file of this version.
pub fn append_header(version: Slow5Version, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&[version.0, version.1, version.2]);
    out.resize(start + HEADER_BYTES, 0);
}

/// Appends one entry. The read id has at most 65,535 bytes, as that of every record; what a longer
/// one has more is left out.
pub fn append_entry(entry: &Entry<'_>, out: &mut Vec<u8>) {
    let length = u16::try_from(entry.read_id.len()).unwrap_or(u16::MAX);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&entry.read_id[..length.into()]);
    out.extend_from_slice(&entry.offset.to_le_bytes());
    out.extend_from_slice(&entry.size_bytes.to_le_bytes());
}

/// Appends what ends an index.
pub fn append_footer(out: &mut Vec<u8>) {
    out.extend_from_slice(&FOOTER);
}

/// Version of the file, and the entries. Offsets and sizes are as stated: compare them with the
/// file. A read id may come twice here; in a file it must not.
///
/// # Errors
/// When the bytes are not a whole index; defects of entries come with the entries.
pub fn parse(bytes: &[u8]) -> Result<(Slow5Version, Entries<'_>), IndexError> {
    if !bytes.starts_with(&MAGIC) {
        return Err(IndexError::NotAnIndex);
    }
    let body = bytes.strip_suffix(&FOOTER).ok_or(IndexError::NoFooter)?;
    let header = body.get(..HEADER_BYTES).ok_or(IndexError::NoFooter)?;
    let version = Slow5Version(header[9], header[10], header[11]);
    Ok((version, Entries { body, at: HEADER_BYTES }))
}

/// Entries of an index, in its order. Ends after the first defect.
#[derive(Debug, Clone)]
pub struct Entries<'a> {
    body: &'a [u8],
    at: usize,
}

impl<'a> Entries<'a> {
    fn entry(&self) -> Option<(Entry<'a>, usize)> {
        let rest = &self.body[self.at..];
        let (length, rest) = rest.split_first_chunk()?;
        let length = usize::from(u16::from_le_bytes(*length));
        let (read_id, rest) = rest.split_at_checked(length)?;
        let (offset, rest) = rest.split_first_chunk()?;
        let size = rest.first_chunk()?;
        let (offset, size_bytes) = (u64::from_le_bytes(*offset), u64::from_le_bytes(*size));
        Some((Entry { read_id, offset, size_bytes }, self.at + 2 + length + PLACE_BYTES))
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<Entry<'a>, IndexError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at == self.body.len() {
            return None;
        }
        match self.entry() {
            Some((entry, end)) => {
                self.at = end;
                Some(Ok(entry))
            }
            None => {
                let defect = IndexError::Truncated(self.at);
                self.at = self.body.len();
                Some(Err(defect))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index() -> Vec<u8> {
        let mut out = Vec::new();
        append_header(Slow5Version::V0_2_0, &mut out);
        append_entry(&Entry { read_id: b"abc", offset: 68, size_bytes: 300 }, &mut out);
        append_entry(&Entry { read_id: b"", offset: u64::MAX, size_bytes: 1 }, &mut out);
        append_footer(&mut out);
        out
    }

    #[test]
    fn what_is_written_is_read() {
        let bytes = index();
        assert_eq!(bytes.len(), 64 + 2 + 3 + 16 + 2 + 16 + 8);
        assert_eq!(bytes[..12], *b"SLOW5IDX\x01\0\x02\0");
        let (version, entries) = parse(&bytes).unwrap();
        assert_eq!(version, Slow5Version::V0_2_0);
        let entries: Vec<_> = entries.map(Result::unwrap).collect();
        assert_eq!(entries[0], Entry { read_id: b"abc", offset: 68, size_bytes: 300 });
        assert_eq!(entries[1], Entry { read_id: b"", offset: u64::MAX, size_bytes: 1 });
        assert_eq!(entries.len(), 2);
    }

    #[test]
    fn what_is_not_an_index_is_refused() {
        let bytes = index();
        assert_eq!(parse(b"").unwrap_err(), IndexError::NotAnIndex);
        assert_eq!(parse(b"SLOW5IDX\x02").unwrap_err(), IndexError::NotAnIndex);
        for cut in 9..bytes.len() {
            assert_eq!(parse(&bytes[..cut]).unwrap_err(), IndexError::NoFooter, "cut at {cut}");
        }
        assert_eq!(parse(b"SLOW5IDX\x01XDI5WOLS").unwrap_err(), IndexError::NoFooter);
        // An entry that is cut short ends the iteration.
        let cut = [&bytes[..64 + 21 + 5], &FOOTER].concat();
        let entries: Vec<_> = parse(&cut).unwrap().1.collect();
        assert_eq!(entries.len(), 2);
        assert_eq!(entries[1], Err(IndexError::Truncated(85)));
    }
}
