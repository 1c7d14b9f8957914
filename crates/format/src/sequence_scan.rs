//! FASTA and FASTQ text as it arrives: which read is where. For looking up reads by name; what is
//! aligned is parsed by [`crate::fastq`].
//!
//! Both may be wrapped, and may follow each other. A name is what is after `>` or `@` up to
//! the first white space, exactly. Nothing of a read is held but its name.

/// Longest name.
const MAX_NAME_BYTES: usize = 64 << 10;

/// Receiver of the sequences of a scanner.
pub trait SequenceSink {
    /// A read begins.
    fn begin(&mut self, name: &[u8]);
    /// More of its bases, as in the text; never empty.
    fn bases(&mut self, bases: &[u8]);
    /// It is complete, and its bases are in these bytes of the text, with line ends between them.
    fn end(&mut self, text: std::ops::Range<u64>);
}

/// Problem of a text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct SequenceScanError {
    /// Number of the line, from 1.
    pub(crate) line: u64,
    /// The problem.
    pub(crate) problem: &'static str,
}

/// Kind of the next line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    /// A header, or nothing.
    #[default]
    Between,
    Header,
    Fasta,
    Fastq,
    Separator,
    Quality,
}

/// Finds where each read begins and ends, of text that comes in pieces.
#[derive(Debug, Default)]
pub struct SequenceScanner {
    state: State,
    is_fastq: bool,
    name: Vec<u8>,
    /// Offset of the next byte.
    at: u64,
    line: u64,
    is_in_line: bool,
    /// A carriage return that is content, unless the line ends after it.
    held_return: bool,
    /// Start and end of the bases of the read.
    text: (u64, u64),
    bases: u64,
    qualities: u64,
}

impl SequenceScanner {
    /// Takes the next piece.
    ///
    /// # Errors
    /// [`SequenceScanError`].
    pub fn push<S: SequenceSink>(
        &mut self,
        mut text: &[u8],
        sink: &mut S,
    ) -> Result<(), SequenceScanError> {
        while let Some(&first) = text.first() {
            if !self.is_in_line {
                self.line += 1;
                self.begin_line(first, sink)?;
            }
            let newline = memchr::memchr(b'\n', text);
            let (part, rest) = text.split_at(newline.map_or(text.len(), |end| end + 1));
            let content = &part[..newline.unwrap_or(part.len())];
            self.at += part.len() as u64;
            if std::mem::take(&mut self.held_return) && !content.is_empty() {
                self.take(b"\r", sink)?;
            }
            let without_return = content.strip_suffix(b"\r");
            self.take(without_return.unwrap_or(content), sink)?;
            self.is_in_line = newline.is_none();
            self.held_return = self.is_in_line && without_return.is_some();
            if !self.is_in_line {
                self.end_line(sink)?;
            }
            text = rest;
        }
        Ok(())
    }

    /// The text ends here.
    ///
    /// # Errors
    /// [`SequenceScanError`]: a read is cut short.
    pub fn finish<S: SequenceSink>(mut self, sink: &mut S) -> Result<(), SequenceScanError> {
        if self.is_in_line {
            self.end_line(sink)?;
        }
        match self.state {
            State::Fasta => self.end_read(sink),
            State::Between => {}
            _ => return Err(self.failed("truncated: the text ends within this read")),
        }
        Ok(())
    }

    fn failed(&self, problem: &'static str) -> SequenceScanError {
        SequenceScanError { line: self.line, problem }
    }

    fn begin_line<S: SequenceSink>(
        &mut self,
        first: u8,
        sink: &mut S,
    ) -> Result<(), SequenceScanError> {
        match (self.state, first) {
            (State::Fasta, b'>') => {
                self.end_read(sink);
                self.begin_header(false);
            }
            (State::Between, b'>') => self.begin_header(false),
            (State::Between, b'@') => self.begin_header(true),
            (State::Between, b'\n' | b'\r') => {}
            (State::Between, _) => {
                return Err(self.failed("neither '>' nor '@': this is neither FASTA nor FASTQ"));
            }
            (State::Fastq, b'+') => self.state = State::Separator,
            _ => {}
        }
        Ok(())
    }

    fn begin_header(&mut self, is_fastq: bool) {
        self.state = State::Header;
        self.is_fastq = is_fastq;
        self.name.clear();
    }

    /// More of the current line.
    fn take<S: SequenceSink>(
        &mut self,
        content: &[u8],
        sink: &mut S,
    ) -> Result<(), SequenceScanError> {
        match self.state {
            State::Header => {
                let room = MAX_NAME_BYTES.saturating_sub(self.name.len());
                self.name.extend_from_slice(&content[..content.len().min(room)]);
            }
            State::Fasta | State::Fastq if !content.is_empty() => {
                let is_base = |byte: &u8| byte.is_ascii_alphabetic() || matches!(byte, b'*' | b'-');
                if !content.iter().all(is_base) {
                    return Err(self.failed("a byte that is not a base"));
                }
                self.bases += content.len() as u64;
                sink.bases(content);
            }
            State::Quality => self.qualities += content.len() as u64,
            _ => {}
        }
        Ok(())
    }

    fn end_line<S: SequenceSink>(&mut self, sink: &mut S) -> Result<(), SequenceScanError> {
        match self.state {
            State::Header => {
                let line = self.name.get(1..).unwrap_or_default();
                let end = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
                if end == 0 {
                    return Err(self.failed("a read without a name"));
                }
                sink.begin(&line[..end]);
                self.state = if self.is_fastq { State::Fastq } else { State::Fasta };
                (self.text, self.bases, self.qualities) = ((self.at, self.at), 0, 0);
            }
            State::Fasta | State::Fastq => self.text.1 = self.at,
            State::Separator => {
                self.end_read(sink);
                // An empty quality line is a blank line between reads.
                self.state = if self.bases == 0 { State::Between } else { State::Quality };
            }
            State::Quality if self.qualities == self.bases => self.state = State::Between,
            State::Quality if self.qualities > self.bases => {
                return Err(self.failed("more qualities than bases"));
            }
            State::Quality | State::Between => {}
        }
        Ok(())
    }

    fn end_read<S: SequenceSink>(&mut self, sink: &mut S) {
        sink.end(self.text.0..self.text.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Default)]
    struct Reads {
        found: Vec<(String, String, std::ops::Range<u64>)>,
    }

    impl SequenceSink for Reads {
        fn begin(&mut self, name: &[u8]) {
            let name = String::from_utf8_lossy(name).into_owned();
            self.found.push((name, String::new(), 0..0));
        }
        fn bases(&mut self, bases: &[u8]) {
            self.found.last_mut().unwrap().1 += std::str::from_utf8(bases).unwrap();
        }
        fn end(&mut self, text: std::ops::Range<u64>) {
            self.found.last_mut().unwrap().2 = text;
        }
    }

    fn scanned(text: &[u8], step: usize) -> Result<Reads, SequenceScanError> {
        let (mut scanner, mut reads) = (SequenceScanner::default(), Reads::default());
        text.chunks(step).try_for_each(|chunk| scanner.push(chunk, &mut reads))?;
        scanner.finish(&mut reads).map(|()| reads)
    }

    #[test]
    fn reads_are_found_with_their_places() {
        fn t(text: &str, expected: &[(&str, &str, &str)]) {
            for step in [1, 2, 3, 1000] {
                let reads = scanned(text.as_bytes(), step).unwrap().found;
                let found: Vec<(&str, &str, &str)> = reads
                    .iter()
                    .map(|(name, bases, place)| {
                        let place = place.start as usize..place.end as usize;
                        (name.as_str(), bases.as_str(), &text[place])
                    })
                    .collect();
                assert_eq!(found, expected, "in steps of {step}");
            }
        }
        t("", &[]);
        t(">a x\nACGT\nAC\n>b/1\nN", &[("a", "ACGTAC", "ACGT\nAC\n"), ("b/1", "N", "N")]);
        t("@a\tx\r\nAC\r\n+\r\n@I\r\n", &[("a", "AC", "AC\r\n")]);
        t(
            "@a\nAC\nG\n+a\n+I\nI\n\n@b\n\n+\n\n@c\nA\n+\n@",
            &[("a", "ACG", "AC\nG\n"), ("b", "", "\n"), ("c", "A", "A\n")],
        );
        t(">a\n>b\n\n", &[("a", "", ""), ("b", "", "\n")]);
    }

    #[test]
    fn malformed_text_is_refused_with_its_line() {
        fn t(text: &str, line: u64, problem: &str) {
            let error = scanned(text.as_bytes(), 2).map(|_| ()).unwrap_err();
            assert!(error.line == line && error.problem.contains(problem), "{error}");
        }
        t("ACGT\n", 1, "neither");
        t(">\nAC\n", 1, "without a name");
        t("> a\nAC\n", 1, "without a name");
        t(">\r+\n", 1, "without a name");
        t("@a\nAC\n+\nIII\n", 4, "more qualities");
        t("@a\nAC\n+\nI\n", 4, "truncated");
        t("@a\nAC\n", 2, "truncated");
        t("@a", 1, "truncated");
        t(">a\nA C\n", 2, "not a base");
    }

    proptest! {
        #[test]
        fn cutting_changes_nothing(text in "[>@+ACG\n\r ]{0,60}", step in 1_usize..9) {
            let whole = scanned(text.as_bytes(), 1000).map(|reads| reads.found);
            prop_assert_eq!(scanned(text.as_bytes(), step).map(|reads| reads.found), whole);
        }
    }
}
