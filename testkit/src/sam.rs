//! SAM text, template by template, and records as borrowed columns.

use crate::Error;
use std::io::BufRead;
use std::ops::Range;
use std::path::Path;
use std::process::{Child, ChildStdout, Stdio};

/// FLAG bits (SAM specification, section 1.4).
pub mod flag {
    /// Template has more than one read.
    pub const PAIRED: u16 = 0x1;
    /// Not aligned.
    pub const UNMAPPED: u16 = 0x4;
    /// Mate not aligned.
    pub const MATE_UNMAPPED: u16 = 0x8;
    /// Reverse strand.
    pub const REVERSE: u16 = 0x10;
    /// First read of a pair.
    pub const FIRST: u16 = 0x40;
    /// Second read of a pair.
    pub const SECOND: u16 = 0x80;
    /// Secondary alignment.
    pub const SECONDARY: u16 = 0x100;
    /// Did not pass the instrument's filter.
    pub const QC_FAIL: u16 = 0x200;
    /// Duplicate.
    pub const DUPLICATE: u16 = 0x400;
    /// Supplementary alignment.
    pub const SUPPLEMENTARY: u16 = 0x800;
}

/// The eleven columns every record has.
pub const COLUMNS: [&str; 11] =
    ["QNAME", "FLAG", "RNAME", "POS", "MAPQ", "CIGAR", "RNEXT", "PNEXT", "TLEN", "SEQ", "QUAL"];

/// A record of SAM text, borrowed from its line.
#[derive(Debug, Clone, Copy)]
pub struct SamRecord<'a> {
    /// The columns, in the order of [`COLUMNS`].
    pub columns: [&'a [u8]; 11],
    /// FLAG as a number.
    pub flag: u16,
    /// The tags, still separated by tabs; empty when there are none.
    pub tags: &'a [u8],
}

impl<'a> SamRecord<'a> {
    /// Splits a line (without its newline); `None` when it is no record.
    #[must_use]
    pub fn parse(line: &'a [u8]) -> Option<SamRecord<'a>> {
        let mut parts = line.splitn(12, |&b| b == b'\t');
        let mut columns = [&line[..0]; 11];
        for column in &mut columns {
            *column = parts.next()?;
        }
        let flag = std::str::from_utf8(columns[1]).ok()?.parse().ok()?;
        Some(SamRecord { columns, flag, tags: parts.next().unwrap_or_default() })
    }

    /// Type and value of `tag` (`i:5`), or `None` when the record does not have it.
    #[must_use]
    pub fn tag(&self, tag: [u8; 2]) -> Option<&'a [u8]> {
        let mut fields = self.tags.split(|&b| b == b'\t');
        fields.find(|field| field.starts_with(&tag)).map(|field| &field[3.min(field.len())..])
    }

    /// Neither secondary nor supplementary.
    #[must_use]
    pub fn is_primary(&self) -> bool {
        self.flag & (flag::SECONDARY | flag::SUPPLEMENTARY) == 0
    }
}

/// Reads SAM text one template (run of equal names) at a time. Holds one template in memory.
#[derive(Debug)]
pub struct Templates<R> {
    from: R,
    what: String,
    text: Vec<u8>,
    lines: Vec<Range<usize>>,
    /// The first line of the next template, already read.
    ahead: Vec<u8>,
    records: u64,
    header: bool,
}

impl<R: BufRead> Templates<R> {
    /// A reader of `from`, which errors call `what`.
    pub fn new(from: R, what: impl Into<String>) -> Templates<R> {
        Templates {
            from,
            what: what.into(),
            text: Vec::new(),
            lines: Vec::new(),
            ahead: Vec::new(),
            records: 0,
            header: true,
        }
    }

    /// Moves to the next template; false at the end.
    ///
    /// # Errors
    /// The stream cannot be read.
    pub fn advance(&mut self) -> Result<bool, Error> {
        self.text.clear();
        self.lines.clear();
        if self.ahead.is_empty() && !self.read_ahead()? {
            return Ok(false);
        }
        loop {
            let start = self.text.len();
            self.text.extend_from_slice(&self.ahead);
            self.lines.push(start..self.text.len());
            self.records += 1;
            let same = self.read_ahead()? && name(&self.ahead) == name(&self.text);
            if !same {
                return Ok(true);
            }
        }
    }

    /// Name of the current template.
    #[must_use]
    pub fn name(&self) -> &[u8] {
        name(&self.text)
    }

    /// Records of the current template, in file order.
    ///
    /// # Errors
    /// A line is no SAM record.
    pub fn records(&self) -> Result<Vec<SamRecord<'_>>, Error> {
        let parse = |range: &Range<usize>| {
            let line = &self.text[range.clone()];
            SamRecord::parse(line).ok_or_else(|| {
                let near = format!("near record {}: {}", self.records, lossy(line));
                Error::format(self.what.clone(), format!("not a SAM record {near}"))
            })
        };
        self.lines.iter().map(parse).collect()
    }

    /// Records read so far.
    #[must_use]
    pub fn records_read(&self) -> u64 {
        self.records
    }

    /// Reads the next line into `ahead`; false (and empty) at the end.
    fn read_ahead(&mut self) -> Result<bool, Error> {
        loop {
            self.ahead.clear();
            self.from.read_until(b'\n', &mut self.ahead)?;
            while self.ahead.last().is_some_and(|b| b"\r\n".contains(b)) {
                self.ahead.pop();
            }
            if self.ahead.is_empty() {
                return Ok(false);
            }
            self.header &= self.ahead[0] == b'@';
            if !self.header {
                return Ok(true);
            }
        }
    }
}

fn name(line: &[u8]) -> &[u8] {
    line.split(|&b| b == b'\t').next().unwrap_or_default()
}

/// Bytes for a message.
#[must_use]
pub fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// SAM text from a file, from standard input (`-`), or from `samtools view -h` of a BAM or CRAM.
///
/// # Errors
/// The file cannot be opened, or samtools not be started.
pub fn open_text(path: &Path) -> Result<Box<dyn BufRead>, Error> {
    const BUFFER_BYTES: usize = 1 << 20;
    if path == Path::new("-") {
        return Ok(Box::new(std::io::BufReader::with_capacity(BUFFER_BYTES, std::io::stdin())));
    }
    let binary = path.extension().is_some_and(|e| e == "bam" || e == "cram");
    if !binary {
        let file = std::fs::File::open(path).map_err(Error::file(path))?;
        return Ok(Box::new(std::io::BufReader::with_capacity(BUFFER_BYTES, file)));
    }
    let mut child = crate::running::words("samtools")
        .args(["view", "-h"])
        .arg(path)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(Error::file(Path::new("samtools")))?;
    let Some(stdout) = child.stdout.take() else {
        return Err(Error::format("samtools", "no standard output"));
    };
    let reader = ChildText { child, stdout, what: path.display().to_string() };
    Ok(Box::new(std::io::BufReader::with_capacity(BUFFER_BYTES, reader)))
}

/// What a child process writes; its failure is an error at the end of the text.
struct ChildText {
    child: Child,
    stdout: ChildStdout,
    what: String,
}

impl std::io::Read for ChildText {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.stdout.read(buffer)?;
        if n == 0 && !buffer.is_empty() {
            let status = self.child.wait()?;
            if !status.success() {
                let why = format!("samtools view of {}: {status}", self.what);
                return Err(std::io::Error::other(why));
            }
        }
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<(String, usize)> {
        let mut t = Templates::new(text.as_bytes(), "test");
        let mut out = Vec::new();
        while t.advance().unwrap() {
            out.push((lossy(t.name()), t.records().unwrap().len()));
        }
        out
    }

    #[test]
    fn groups_by_name_and_skips_the_header() {
        let line = |n: &str| format!("{n}\t77\t*\t0\t0\t*\t*\t0\t0\tA\tI\n");
        let text =
            format!("@HD\tVN:1.6\n@SQ\tSN:x\n{}{}{}{}", line("a"), line("a"), line("b"), line("a"));
        let expected = [("a", 2), ("b", 1), ("a", 1)].map(|(n, k)| (n.to_owned(), k));
        assert_eq!(names(&text), expected);
        assert_eq!(names(""), []);
        assert_eq!(names("@HD\tVN:1.6\n"), []);
        assert_eq!(names(line("z").trim_end()), [("z".to_owned(), 1)]);
    }

    #[test]
    fn columns_and_tags() {
        let line = b"q\t99\tc\t5\t60\t4M\t=\t9\t8\tACGT\tIIII\tNM:i:1\tMD:Z:3A\tXA:Z:";
        let r = SamRecord::parse(line).unwrap();
        assert_eq!((r.flag, r.columns[5], r.columns[10]), (99, &b"4M"[..], &b"IIII"[..]));
        assert_eq!(r.tag(*b"NM"), Some(&b"i:1"[..]));
        assert_eq!(r.tag(*b"MD"), Some(&b"Z:3A"[..]));
        assert_eq!(r.tag(*b"XA"), Some(&b"Z:"[..]));
        assert_eq!(r.tag(*b"AS"), None);
        assert!(SamRecord::parse(b"q\t99\tc").is_none());
        assert!(SamRecord::parse(b"q\tx\tc\t5\t60\t4M\t=\t9\t8\tA\tI").is_none());
    }
}
