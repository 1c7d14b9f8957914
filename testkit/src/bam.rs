//! A plain reader of BAM, independent of the product's: tests read our output through other eyes.
//!
//! Format: SAM/BAM specification, section 4.2. BGZF is read as what it also is, a gzip file of many
//! members.

use crate::Error;
use crate::sam::{flag, lossy};
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::path::Path;

/// Limits of a record: longer ones are a damaged file, not data of ours.
const RECORD_MAX_BYTES: usize = 1 << 28;

/// A BAM file, read from front to back.
pub struct BamReader {
    from: BufReader<MultiGzDecoder<BufReader<File>>>,
    what: String,
    /// Header text.
    pub header: String,
    /// Name and length of the references.
    pub references: Vec<(String, u32)>,
}

/// One record, without its length.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BamRecord {
    /// The packed bytes from `refID` on.
    pub bytes: Vec<u8>,
}

impl BamReader {
    /// Opens `path` and reads the header.
    ///
    /// # Errors
    /// The file cannot be read or is no BAM.
    pub fn open(path: &Path) -> Result<BamReader, Error> {
        let file = BufReader::with_capacity(1 << 17, File::open(path).map_err(Error::file(path))?);
        let from = BufReader::with_capacity(1 << 17, MultiGzDecoder::new(file));
        let what = path.display().to_string();
        let mut reader = BamReader { from, what, header: String::new(), references: Vec::new() };
        if reader.take(4)? != b"BAM\x01" {
            return Err(reader.bad("no BAM magic"));
        }
        reader.header = lossy(&reader.text()?);
        for _ in 0..reader.number()? {
            let name = reader.text()?;
            let name = lossy(name.strip_suffix(b"\0").unwrap_or(&name));
            let length = reader.number()?;
            reader.references.push((name, length));
        }
        Ok(reader)
    }

    /// Reads the next record into `record`; false at the end.
    ///
    /// # Errors
    /// The file ends inside a record or cannot be read.
    pub fn read(&mut self, record: &mut BamRecord) -> Result<bool, Error> {
        let mut length = [0; 4];
        match self.from.read(&mut length[..1])? {
            0 => return Ok(false),
            _ => self.from.read_exact(&mut length[1..])?,
        }
        let length = u32::from_le_bytes(length) as usize;
        if !(32..=RECORD_MAX_BYTES).contains(&length) {
            return Err(self.bad("impossible record length"));
        }
        record.bytes.resize(length, 0);
        self.from.read_exact(&mut record.bytes).map_err(|e| match e.kind() {
            ErrorKind::UnexpectedEof => self.bad("ends inside a record"),
            _ => e.into(),
        })?;
        let fixed = 32 + record.name_length() + 4 * record.cigar_length();
        if fixed > length || record.name_length() == 0 {
            return Err(self.bad("record shorter than its parts"));
        }
        Ok(true)
    }

    fn bad(&self, why: &str) -> Error {
        Error::format(self.what.clone(), why)
    }

    fn take(&mut self, n: usize) -> Result<Vec<u8>, Error> {
        if n > RECORD_MAX_BYTES {
            return Err(self.bad("impossible length"));
        }
        let mut bytes = vec![0; n];
        self.from.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn number(&mut self) -> Result<u32, Error> {
        let mut bytes = [0; 4];
        self.from.read_exact(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn text(&mut self) -> Result<Vec<u8>, Error> {
        let n = self.number()? as usize;
        self.take(n)
    }
}

impl BamRecord {
    fn i32_at(&self, at: usize) -> i32 {
        let mut four = [0; 4];
        four.copy_from_slice(&self.bytes[at..at + 4]);
        i32::from_le_bytes(four)
    }

    fn name_length(&self) -> usize {
        usize::from(self.bytes[8])
    }

    fn cigar_length(&self) -> usize {
        usize::from(u16::from_le_bytes([self.bytes[12], self.bytes[13]]))
    }

    /// Reference index, -1 for none.
    #[must_use]
    pub fn reference(&self) -> i32 {
        self.i32_at(0)
    }

    /// Leftmost position, 0-based, -1 for none.
    #[must_use]
    pub fn position(&self) -> i32 {
        self.i32_at(4)
    }

    /// Mapping quality.
    #[must_use]
    pub fn mapq(&self) -> u8 {
        self.bytes[9]
    }

    /// FLAG.
    #[must_use]
    pub fn flag(&self) -> u16 {
        u16::from_le_bytes([self.bytes[14], self.bytes[15]])
    }

    /// Neither secondary nor supplementary.
    #[must_use]
    pub fn is_primary(&self) -> bool {
        self.flag() & (flag::SECONDARY | flag::SUPPLEMENTARY) == 0
    }

    /// Read name.
    #[must_use]
    pub fn name(&self) -> &[u8] {
        &self.bytes[32..32 + self.name_length() - 1]
    }

    /// CIGAR operations as (length, letter).
    pub fn cigar(&self) -> impl Iterator<Item = (u32, u8)> + '_ {
        let start = 32 + self.name_length();
        (0..self.cigar_length()).map(move |i| {
            let packed = self.i32_at(start + 4 * i) as u32;
            (packed >> 4, *b"MIDNSHP=X".get((packed & 15) as usize).unwrap_or(&b'?'))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAM: &str = "@HD\tVN:1.6\n@SQ\tSN:c\tLN:100\n@SQ\tSN:d\tLN:50\n\
        r1\t99\tc\t5\t60\t2S4M1I3M\t=\t9\t8\t*\t*\n\
        r2\t2048\td\t1\t7\t3M\t*\t0\t0\t*\t*\n\
        r3\t4\t*\t0\t0\t*\t*\t0\t0\tA\tI\n";

    fn bam(folder: &Path) -> Option<std::path::PathBuf> {
        let (sam, bam) = (folder.join("a.sam"), folder.join("a.bam"));
        std::fs::write(&sam, SAM).unwrap();
        let made = crate::running::words("samtools")
            .args(["view", "-b", "-o"])
            .arg(&bam)
            .arg(&sam)
            .status();
        if !made.is_ok_and(|status| status.success()) {
            crate::skip::skip("samtools is not installed");
            return None;
        }
        Some(bam)
    }

    #[test]
    fn reads_what_samtools_writes() {
        let folder = tempfile::tempdir().unwrap();
        let Some(bam) = bam(folder.path()) else { return };
        let mut reader = BamReader::open(&bam).unwrap();
        assert_eq!(reader.references, [("c".to_owned(), 100), ("d".to_owned(), 50)]);
        assert!(reader.header.starts_with("@HD\tVN:1.6"));
        let mut r = BamRecord::default();
        assert!(reader.read(&mut r).unwrap());
        assert_eq!((r.name(), r.flag(), r.reference(), r.position()), (&b"r1"[..], 99, 0, 4));
        assert_eq!(r.cigar().collect::<Vec<_>>(), [(2, b'S'), (4, b'M'), (1, b'I'), (3, b'M')]);
        assert!(reader.read(&mut r).unwrap());
        assert!(!r.is_primary() && r.mapq() == 7 && r.reference() == 1);
        assert!(reader.read(&mut r).unwrap());
        assert_eq!((r.reference(), r.position(), r.cigar().count()), (-1, -1, 0));
        assert!(!reader.read(&mut r).unwrap());
    }

    #[test]
    fn refuses_what_is_no_bam_or_cut_short() {
        let folder = tempfile::tempdir().unwrap();
        let Some(bam) = bam(folder.path()) else { return };
        let cut = folder.path().join("cut.bam");
        let bytes = std::fs::read(&bam).unwrap();
        std::fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
        let all = |path: &Path| -> Result<(), Error> {
            let mut reader = BamReader::open(path)?;
            while reader.read(&mut BamRecord::default())? {}
            Ok(())
        };
        assert!(all(&bam).is_ok());
        assert!(all(&cut).is_err());
        assert!(all(&folder.path().join("a.sam")).is_err());
    }
}
