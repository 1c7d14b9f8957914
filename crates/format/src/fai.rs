//! Indices for reading a FASTA by region: `.fai`, and `.gzi` of one that bgzip compressed.
//!
//! Source: samtools `faidx(5)`: a line per sequence, with tabs between name, length, offset of its
//! first base in the (uncompressed) text, bases per line and bytes per line; bgzip(1), "GZI
//! FORMAT": the number of blocks but for the first, then two little-endian 64-bit numbers for each
//! of these: where it starts in the file, and in the text.
//!
//! Any base of an [`FaiEntry`] that was parsed or built can be located without overflow.

use std::collections::HashSet;

/// Most line-end bytes of one line: `\r\n`.
const MAX_LINE_END_BYTES: u64 = 2;

/// Longest name of a sequence: BAM's limit is looser, but nothing that is a name is longer.
pub const MAX_NAME_BYTES: usize = 64 << 10;

/// One sequence of a FASTA and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaiEntry {
    /// Its name: what is after `>`, up to the first white space.
    pub name: Vec<u8>,
    /// Its length in bases.
    pub length_bp: u64,
    /// Offset of its first base in the text.
    pub offset: u64,
    /// Bases of each line but the last.
    pub line_bases: u64,
    /// Bytes of each line but the last, its end included.
    pub line_bytes: u64,
}

impl FaiEntry {
    /// Where base `index`, counted from 0, is in the text; the sequence's length is the most that
    /// may be requested, and is where its last line ends.
    #[must_use]
    pub fn place(&self, index: u64) -> u64 {
        let index = index.min(self.length_bp);
        if self.line_bases == 0 {
            return self.offset;
        }
        let (line, column) = match index {
            0 => (0, 0),
            // One past the last base of a full line, not at the start of the next one.
            _ if index == self.length_bp => {
                ((index - 1) / self.line_bases, (index - 1) % self.line_bases + 1)
            }
            _ => (index / self.line_bases, index % self.line_bases),
        };
        self.offset + line * self.line_bytes + column
    }

    fn check(&self) -> Result<(), &'static str> {
        if self.length_bp == 0 {
            return Ok(());
        }
        if self.line_bases == 0 {
            return Err("a sequence has bases, but its lines have none");
        }
        let end_bytes = self.line_bytes.checked_sub(self.line_bases);
        // The only line of a file may lack its end.
        let least = u64::from(self.length_bp > self.line_bases);
        if !end_bytes.is_some_and(|bytes| (least..=MAX_LINE_END_BYTES).contains(&bytes)) {
            return Err("the lengths of lines in bases and in bytes do not go together");
        }
        let lines = self.length_bp.div_ceil(self.line_bases);
        let end = lines.checked_mul(self.line_bytes).and_then(|it| it.checked_add(self.offset));
        // Leaves room for sums with other places of the file.
        end.filter(|&end| end <= u64::MAX / 4).map(|_| ()).ok_or("a sequence has no place")
    }
}

/// Problem of an index.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IndexTextError {
    /// A line of a `.fai`.
    #[error("line {line}: {problem}")]
    Line {
        /// Number of the line, from 1.
        line: usize,
        /// The problem.
        problem: &'static str,
    },
    /// A `.gzi`.
    #[error("entry {entry}: {problem}")]
    Block {
        /// Number of the entry, from 1.
        entry: usize,
        /// The problem.
        problem: &'static str,
    },
    /// The number of entries of a `.gzi` is not that of its bytes.
    #[error("{bytes} bytes do not hold the {entries} entries that the first eight state")]
    Size {
        /// Bytes of the index.
        bytes: usize,
        /// Entries by its first bytes.
        entries: u64,
    },
}

/// Parses a `.fai`.
///
/// # Errors
/// [`IndexTextError::Line`]: a malformed line, a name that is there twice, lengths that no
/// file has.
pub fn parse_fai(text: &[u8]) -> Result<Vec<FaiEntry>, IndexTextError> {
    let mut entries = Vec::new();
    let mut names = HashSet::new();
    let lines = text.split(|&byte| byte == b'\n').enumerate();
    for (index, line) in lines.filter(|(_, line)| !line.is_empty()) {
        let failed = |problem| IndexTextError::Line { line: index + 1, problem };
        let entry = parse_line(line).map_err(failed)?;
        if !names.insert(entry.name.clone()) {
            return Err(failed("the name is there twice"));
        }
        entries.push(entry);
    }
    Ok(entries)
}

fn parse_line(line: &[u8]) -> Result<FaiEntry, &'static str> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let mut fields = line.split(|&byte| byte == b'\t');
    let name = fields.next().filter(|name| !name.is_empty()).ok_or("there is no name")?;
    let mut number = || {
        let text = std::str::from_utf8(fields.next()?).ok()?;
        text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<u64>().ok())?
    };
    let mut next = || number().ok_or("name and four numbers are expected");
    let entry = FaiEntry {
        name: name.to_vec(),
        length_bp: next()?,
        offset: next()?,
        line_bases: next()?,
        line_bytes: next()?,
    };
    if fields.next().is_some() {
        return Err("more than a name and four numbers: this is the index of a FASTQ");
    }
    entry.check()?;
    Ok(entry)
}

/// The start of a BGZF block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockStart {
    /// In the file.
    pub raw: u64,
    /// In the text.
    pub text: u64,
}

/// Parses a `.gzi`: the starts of all blocks, the first one included.
///
/// # Errors
/// [`IndexTextError::Size`]; [`IndexTextError::Block`] when blocks do not follow each other.
pub fn parse_gzi(bytes: &[u8]) -> Result<Vec<BlockStart>, IndexTextError> {
    let number = |bytes: &[u8]| bytes.first_chunk().copied().map(u64::from_le_bytes);
    let entries = number(bytes).unwrap_or(0);
    let body = bytes.get(8..).unwrap_or_default();
    if bytes.len() < 8 || entries.checked_mul(16) != Some(body.len() as u64) {
        return Err(IndexTextError::Size { bytes: bytes.len(), entries });
    }
    let mut starts = Vec::with_capacity(1 + body.len() / 16);
    let mut last = BlockStart { raw: 0, text: 0 };
    starts.push(last);
    for (index, entry) in body.chunks_exact(16).enumerate() {
        let failed = |problem| IndexTextError::Block { entry: index + 1, problem };
        let (raw, text) = entry.split_at(8);
        let start = BlockStart { raw: number(raw).unwrap_or(0), text: number(text).unwrap_or(0) };
        if start.raw <= last.raw || start.raw - last.raw > crate::bgzf::MAX_BLOCK_BYTES as u64 {
            return Err(failed("no block has such a length"));
        }
        let inflated = start.text.checked_sub(last.text);
        if inflated.is_none_or(|bytes| bytes > crate::bgzf::MAX_BLOCK_BYTES as u64) {
            return Err(failed("no block has so much text"));
        }
        last = start;
        starts.push(start);
    }
    Ok(starts)
}

/// Why no index can be made of a FASTA.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct FaiBuildError {
    /// Number of the line, from 1.
    pub(crate) line: u64,
    /// The problem.
    pub(crate) problem: &'static str,
}

/// Makes a `.fai` of text that is pushed in pieces of any size.
#[derive(Debug, Default)]
pub struct FaiBuilder {
    entries: Vec<FaiEntry>,
    names: HashSet<Vec<u8>>,
    /// The line so far: a name, or the count of bytes.
    header: Vec<u8>,
    line_bytes: u64,
    last_byte: u8,
    is_header: bool,
    /// Offset of the line.
    line_start: u64,
    line: u64,
    /// A line of the sequence was shorter than those before it: it must be the last.
    is_short: bool,
}

impl FaiBuilder {
    /// Takes the next piece.
    ///
    /// # Errors
    /// [`FaiBuildError`].
    pub fn push(&mut self, mut text: &[u8]) -> Result<(), FaiBuildError> {
        while let Some(&first) = text.first() {
            if self.line_bytes == 0 {
                self.is_header = first == b'>';
            }
            let end = memchr::memchr(b'\n', text);
            let (part, rest) = text.split_at(end.map_or(text.len(), |end| end + 1));
            let bases = &part[..end.unwrap_or(part.len())];
            if self.is_header {
                let room = MAX_NAME_BYTES.saturating_sub(self.header.len());
                self.header.extend_from_slice(&bases[..bases.len().min(room)]);
            }
            self.line_bytes += part.len() as u64;
            self.last_byte = bases.last().copied().unwrap_or(self.last_byte);
            text = rest;
            if end.is_some() {
                self.end_line(1)?;
            }
        }
        Ok(())
    }

    /// The entries.
    ///
    /// # Errors
    /// [`FaiBuildError`]; a text without a sequence is one.
    pub fn finish(mut self) -> Result<Vec<FaiEntry>, FaiBuildError> {
        if self.line_bytes > 0 {
            self.end_line(0)?;
        }
        if self.entries.is_empty() {
            return Err(self.failed("there is no sequence"));
        }
        Ok(self.entries)
    }

    fn failed(&self, problem: &'static str) -> FaiBuildError {
        FaiBuildError { line: self.line, problem }
    }

    fn end_line(&mut self, newline_bytes: u64) -> Result<(), FaiBuildError> {
        self.line += 1;
        let total = self.line_bytes;
        let has_return = total > newline_bytes && self.last_byte == b'\r';
        let bases = total - newline_bytes - u64::from(has_return);
        let start = self.line_start;
        self.line_start += total;
        (self.line_bytes, self.last_byte) = (0, 0);
        if self.is_header {
            return self.begin_sequence();
        }
        let Some(entry) = self.entries.last_mut() else {
            return match bases {
                0 => Ok(()),
                _ => Err(self.failed("text before the first '>': this is not FASTA")),
            };
        };
        if bases == 0 {
            self.is_short = true;
            return Ok(());
        }
        if entry.length_bp == 0 && !self.is_short {
            (entry.offset, entry.line_bases, entry.line_bytes) = (start, bases, total);
        } else if self.is_short || bases > entry.line_bases {
            return Err(self.failed(
                "lines of a sequence differ in length, so that it cannot be read by region",
            ));
        }
        // A last line may lack its end; another kind of end in the middle may not be.
        self.is_short = bases < entry.line_bases || total != entry.line_bytes;
        entry.length_bp += bases;
        Ok(())
    }

    fn begin_sequence(&mut self) -> Result<(), FaiBuildError> {
        let line = self.header.get(1..).unwrap_or_default();
        let end = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
        let name = line[..end].to_vec();
        self.header.clear();
        if name.is_empty() {
            return Err(self.failed("a sequence without a name"));
        }
        if !self.names.insert(name.clone()) {
            return Err(self.failed("the name of this sequence is there twice"));
        }
        let offset = self.line_start;
        let entry = FaiEntry { name, length_bp: 0, offset, line_bases: 0, line_bytes: 0 };
        self.entries.push(entry);
        self.is_short = false;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entry(name: &str, numbers: [u64; 4]) -> FaiEntry {
        let [length_bp, offset, line_bases, line_bytes] = numbers;
        FaiEntry { name: name.into(), length_bp, offset, line_bases, line_bytes }
    }

    fn built(text: &[u8], step: usize) -> Result<Vec<FaiEntry>, FaiBuildError> {
        let mut builder = FaiBuilder::default();
        text.chunks(step).try_for_each(|chunk| builder.push(chunk))?;
        builder.finish()
    }

    #[test]
    fn an_index_is_built_as_samtools_builds_it() {
        fn t(text: &[u8], expected: &[FaiEntry]) {
            for step in [1, 2, 1000] {
                assert_eq!(built(text, step).as_deref(), Ok(expected));
            }
        }
        t(b">a x\nACGT\nAC\n>b\nNN\n", &[entry("a", [6, 5, 4, 5]), entry("b", [2, 16, 2, 3])]);
        t(b">a\r\nACGT\r\nAC", &[entry("a", [6, 4, 4, 6])]);
        t(b"\n>a\nAC\nAC\n\n\n", &[entry("a", [4, 4, 2, 3])]);
        t(b">a\n>b\nAC", &[entry("a", [0, 3, 0, 0]), entry("b", [2, 6, 2, 2])]);
    }

    #[test]
    fn what_cannot_be_read_by_region_is_refused() {
        fn t(text: &[u8], line: u64, problem: &str) {
            let error = built(text, 1).unwrap_err();
            assert!(error.line == line && error.problem.contains(problem), "{error}");
        }
        t(b"", 0, "no sequence");
        t(b"ACGT\n", 1, "not FASTA");
        t(b"> a\nAC\n", 1, "without a name");
        t(b">a\nAC\n>a y\nAC\n", 3, "twice");
        t(b">a\nAC\nA\nAC\n", 4, "differ");
        t(b">a\nAC\nACG\n", 3, "differ");
        t(b">a\nAC\n\nAC\n", 4, "differ");
        t(b">a\nAC\r\nAC\nA\n", 4, "differ");
    }

    #[test]
    fn malformed_indices_are_refused() {
        fn t(text: &str, problem: &str) {
            let error = parse_fai(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
        }
        t("a\t1\t2\t3\n", "line 1: name and four numbers");
        t("a\t1\t2\t1\t2\na\t1\t9\t1\t2\n", "line 2: the name is there twice");
        t("\t1\t2\t1\t2\n", "no name");
        t("a\t+1\t2\t1\t2\n", "four numbers");
        t("a\t1\t2\t0\t1\n", "lines have none");
        t("a\t9\t2\t3\t3\n", "do not go together");
        t("a\t9\t2\t3\t9\n", "do not go together");
        t("a\t9\t2\t3\t4\t5\n", "FASTQ");
        t("a\t18446744073709551615\t2\t1\t2\n", "no place");
        assert_eq!(parse_fai(b"a\t4\t3\t4\t4\n"), Ok(vec![entry("a", [4, 3, 4, 4])]));
        assert_eq!(parse_fai(b""), Ok(Vec::new()));
    }

    #[test]
    fn bases_have_their_places() {
        let entry = entry("a", [6, 10, 3, 4]);
        let places: Vec<u64> = (0..=7).map(|index| entry.place(index)).collect();
        assert_eq!(places, [10, 11, 12, 14, 15, 16, 17, 17]);
    }

    #[test]
    fn block_starts_follow_each_other() {
        let gzi = |count: u64, numbers: &[u64]| {
            let all = std::iter::once(&count).chain(numbers);
            all.flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>()
        };
        let start = |raw, text| BlockStart { raw, text };
        assert_eq!(parse_gzi(&gzi(1, &[9, 65536])), Ok(vec![start(0, 0), start(9, 65536)]));
        assert_eq!(parse_gzi(&gzi(0, &[])), Ok(vec![start(0, 0)]));
        for bad in [gzi(2, &[9, 9]), gzi(u64::MAX, &[]), Vec::new()] {
            assert!(matches!(parse_gzi(&bad), Err(IndexTextError::Size { .. })));
        }
        for bad in [[0, 9], [9, 65537], [70_000, 9]] {
            assert!(matches!(parse_gzi(&gzi(1, &bad)), Err(IndexTextError::Block { .. })));
        }
    }

    proptest! {
        #[test]
        fn every_base_is_found_in_its_place(
            sequences in prop::collection::vec((0_usize..40, 1_usize..12), 1..5),
            crlf: bool,
            step in 1_usize..50,
        ) {
            let end = if crlf { "\r\n" } else { "\n" };
            let (mut text, mut expected) = (String::new(), Vec::new());
            for (number, (length, width)) in sequences.iter().enumerate() {
                let bases: String = (0..*length).map(|i| char::from(b"ACGTN"[i * 7 % 5])).collect();
                text += &format!(">s{number} comment{end}");
                for line in bases.as_bytes().chunks(*width) {
                    text += &format!("{}{end}", String::from_utf8_lossy(line));
                }
                expected.push(bases);
            }
            let entries = built(text.as_bytes(), step).unwrap();
            prop_assert_eq!(entries.len(), expected.len());
            for (entry, bases) in entries.iter().zip(&expected) {
                prop_assert_eq!(entry.length_bp, bases.len() as u64);
                for (index, base) in bases.bytes().enumerate() {
                    prop_assert_eq!(text.as_bytes()[entry.place(index as u64) as usize], base);
                }
                prop_assert!(entry.check().is_ok());
            }
        }
    }
}
