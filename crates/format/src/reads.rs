//! A block of unaligned reads: one buffer of bytes and, per read, where its parts are in it.
//!
//! Every input (FASTQ, unaligned BAM) is parsed into this one shape, so that nothing after the
//! source knows which format the reads came from. No read owns memory of its own.

use memchr::memchr2;

/// A part of a [`ReadBlock`]'s buffer: `len` bytes from `start`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// Number of bytes.
    pub len: u32,
}

impl Span {
    /// The bytes of this span in `buffer`.
    #[must_use]
    pub fn of(self, buffer: &[u8]) -> &[u8] {
        &buffer[self.start as usize..(self.start + self.len) as usize]
    }
}

/// Where one read's parts are. Bases are ASCII; qualities are ASCII Phred+33, empty when absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadSpans {
    /// Read name without `@`, without `/1` or `/2`, up to the first white space.
    pub name: Span,
    /// Bases as in the input.
    pub bases: Span,
    /// Phred+33 qualities; `len == 0` means none were given (or the read is empty).
    pub qualities: Span,
    /// What else the input said: the FASTQ comment, or the auxiliary fields of an unaligned BAM
    /// record.
    pub extra: Span,
}

/// A run of consecutive reads of one input file.
#[derive(Debug, Default)]
pub struct ReadBlock {
    /// The bytes that `reads` point into.
    pub bytes: Vec<u8>,
    /// The reads, in file order.
    pub reads: Vec<ReadSpans>,
    /// Template flags of each read when the input states them (unaligned BAM): empty for FASTQ.
    pub mate_of_pair: Vec<MateOfPair>,
    /// Numbers of the reads that did not pass the instrument's filter (FLAG 0x200 of unaligned
    /// BAM), in order.
    pub failed_filter: Vec<u32>,
}

/// Place of an unaligned BAM record in its template, by its flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MateOfPair {
    /// Not paired (FLAG 0x1 clear).
    Unpaired,
    /// First of a pair (0x40).
    First,
    /// Second of a pair (0x80).
    Second,
}

impl ReadBlock {
    /// Name of read `i`.
    #[must_use]
    pub fn name(&self, i: usize) -> &[u8] {
        self.reads[i].name.of(&self.bytes)
    }
    /// The number, 1 or 2, that the name of read `i` ends with after a dot, as `fastq-dump
    /// --readids` writes names of mates (`SRR1.5.1`). `None` where it has none, and in BAM. Whether
    /// it is the number of a mate, the names of other reads say: `SRR1.1` is the first read of a
    /// run, too.
    #[must_use]
    pub fn dotted_number(&self, i: usize) -> Option<u8> {
        match self.name(i) {
            [_, .., b'.', digit @ b'1'..=b'2'] if self.mate_of_pair.is_empty() => {
                digit_value(*digit)
            }
            _ => None,
        }
    }
    /// Takes that number, and its dot, off the name of every read that has one.
    pub fn cut_dotted_numbers(&mut self) {
        for i in 0..self.reads.len() {
            if self.dotted_number(i).is_some() {
                self.reads[i].name.len -= 2;
            }
        }
    }
    /// The number that was taken off the name of read `i` by [`ReadBlock::cut_dotted_numbers`].
    #[must_use]
    pub fn cut_number(&self, i: usize) -> Option<u8> {
        let name = self.reads[i].name;
        match self.bytes.get((name.start + name.len) as usize..)? {
            // A name goes up to white space or its `/1`.
            [b'.', digit @ b'1'..=b'2', ..] if self.mate_of_pair.is_empty() => digit_value(*digit),
            _ => None,
        }
    }
    /// Name of read `i` with the number that was taken off it.
    #[must_use]
    pub fn uncut_name(&self, i: usize) -> &[u8] {
        let Span { start, len } = self.reads[i].name;
        let len = if self.cut_number(i).is_some() { len + 2 } else { len };
        Span { start, len }.of(&self.bytes)
    }
    /// Which of its pair read `i` is by what FASTQ or FASTA says after its name: `/1` there, a
    /// number that was taken off it, or a comment that begins like `1:N:0` (Casava 1.8). `None`
    /// where nothing is said, and in BAM, which has [`ReadBlock::mate_of_pair`].
    ///
    /// The header line is in the buffer as it was read: nothing had to be kept for this.
    #[must_use]
    pub fn mate_number(&self, i: usize) -> Option<u8> {
        if !self.mate_of_pair.is_empty() {
            return None;
        }
        if let Some(number) = self.cut_number(i) {
            return Some(number);
        }
        let name = self.reads[i].name;
        match self.bytes.get((name.start + name.len) as usize..)? {
            [b'/', digit, b' ' | b'\t' | b'\r' | b'\n', ..] => digit_value(*digit),
            [b' ' | b'\t', comment @ ..] => casava_number(comment),
            _ => None,
        }
    }
    /// The header line of read `i` as FASTQ or FASTA has it, with its `@` or `>`; `None` in BAM.
    #[must_use]
    pub fn header_line(&self, i: usize) -> Option<&[u8]> {
        let start = (self.reads[i].name.start as usize).checked_sub(1)?;
        let line = self.bytes.get(start..).filter(|_| self.mate_of_pair.is_empty())?;
        let end = memchr2(b'\n', b'\r', line).unwrap_or(line.len());
        Some(&line[..end])
    }
    /// Bases of read `i` (ASCII).
    #[must_use]
    pub fn bases(&self, i: usize) -> &[u8] {
        self.reads[i].bases.of(&self.bytes)
    }
    /// Qualities of read `i` (ASCII Phred+33), empty when absent.
    #[must_use]
    pub fn qualities(&self, i: usize) -> &[u8] {
        self.reads[i].qualities.of(&self.bytes)
    }
    /// Whether read `i` did not pass the instrument's filter; only BAM says so.
    #[must_use]
    pub fn failed_filter(&self, i: usize) -> bool {
        u32::try_from(i).is_ok_and(|i| self.failed_filter.binary_search(&i).is_ok())
    }
    /// FASTQ comment, or BAM auxiliary fields, of read `i`.
    #[must_use]
    pub fn extra(&self, i: usize) -> &[u8] {
        self.reads[i].extra.of(&self.bytes)
    }
}

fn digit_value(digit: u8) -> Option<u8> {
    digit.is_ascii_digit().then(|| digit - b'0')
}

/// The number in `1:N:0:ACGT`: read, whether filtered, control bits, index.
fn casava_number(comment: &[u8]) -> Option<u8> {
    let [digit, b':', b'Y' | b'N', b':', control, rest @ ..] = comment else { return None };
    let after = rest.iter().find(|byte| !byte.is_ascii_digit());
    let ends = after.is_none_or(|byte| matches!(byte, b':' | b' ' | b'\t' | b'\r' | b'\n'));
    (control.is_ascii_digit() && ends).then(|| digit_value(*digit)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fastq::{Grammar, ParseOptions, TextRange, parse};

    #[test]
    fn a_mate_number_is_what_header_lines_say() {
        let t = |header: &str, expected: Option<u8>| {
            for (grammar, text) in [
                (Grammar::FourLine, format!("@{header}\nA\n+\nI\n")),
                (Grammar::FourLine, format!("@{header}\r\nA\r\n+\r\nI\r\n")),
                (Grammar::MultiLine, format!("@{header}\nA\nC\n+\nI\nI\n")),
                (Grammar::Fasta, format!(">{header}\nA\nC\n")),
            ] {
                let mut block = ReadBlock { bytes: text.into(), ..ReadBlock::default() };
                let range = TextRange { from: 0, limit: block.bytes.len(), at_eof: true };
                parse(grammar, &mut block, range, ParseOptions::default());
                assert_eq!(block.reads.len(), 1);
                assert_eq!(block.mate_number(0), expected, "{header:?}");
                let first = if grammar == Grammar::Fasta { '>' } else { '@' };
                let line = format!("{first}{header}");
                assert_eq!(block.header_line(0), Some(line.as_bytes()));
            }
        };
        t("r/1", Some(1));
        t("r/2 x", Some(2));
        t("r/2\tx", Some(2));
        t("r/3", Some(3));
        t("r#ACGT/1", Some(1));
        t("r 1:N:0:ACGT", Some(1));
        t("r 2:Y:18:ACGT+ACGT", Some(2));
        t("r\t2:N:0:", Some(2));
        t("r 2:N:0", Some(2));
        t("r 2:N:0 BX:Z:A", Some(2));
        // The number in the name counts where both are there.
        t("r/1 2:N:0:", Some(1));
        for nothing in [
            "r",
            "r x",
            "r/11",
            "r/a",
            "/1",
            "r 1",
            "r 1:N",
            "r 1:N:",
            "r 1:X:0:",
            "r 1:N:a:",
            "r 1:N:0x",
            "r 12:N:0:",
            "r a:N:0:",
            "r  1:N:0:",
            "r.1",
            "r_1",
            "r 1 length=100",
        ] {
            t(nothing, None);
        }
    }

    #[test]
    fn dotted_numbers_are_taken_off_names() {
        let t = |header: &str, number: Option<u8>, name: &str| {
            let text = format!("@{header}\nA\n+\nI\n");
            let mut block = ReadBlock { bytes: text.into(), ..ReadBlock::default() };
            let range = TextRange { from: 0, limit: block.bytes.len(), at_eof: true };
            parse(Grammar::FourLine, &mut block, range, ParseOptions::default());
            let before = block.name(0).to_vec();
            assert_eq!(block.dotted_number(0), number, "{header}");
            assert_eq!(block.cut_number(0), None, "{header}");
            block.cut_dotted_numbers();
            assert_eq!(block.name(0), name.as_bytes(), "{header}");
            assert_eq!(block.cut_number(0), number, "{header}");
            assert_eq!(block.uncut_name(0), before, "{header}");
            if number.is_some() {
                assert_eq!(block.mate_number(0), number, "{header}");
            }
        };
        t("SRR1.5.1", Some(1), "SRR1.5");
        t("SRR1.5.2 5 length=100", Some(2), "SRR1.5");
        t("a.1\t2:N:0:", Some(1), "a");
        t("a.2/1", Some(2), "a");
        t("a.1.2.1", Some(1), "a.1.2");
        t("a.3", None, "a.3");
        t("a.11", None, "a.11");
        t("a1", None, "a1");
        t(".1", None, ".1");
        t("a/1 .1", None, "a");
    }

    #[test]
    fn bam_says_it_by_flags() {
        let name = Span { start: 0, len: 1 };
        let reads = vec![ReadSpans { name, ..ReadSpans::default() }];
        let bytes = b"r/1\n".to_vec();
        let block = ReadBlock {
            bytes,
            reads,
            mate_of_pair: vec![MateOfPair::Second],
            ..ReadBlock::default()
        };
        assert_eq!(block.mate_number(0), None);
        assert_eq!(block.header_line(0), None);
    }
}
