//! The header: SAM text and the list of references, read, changed and written.

use std::collections::HashSet;
use std::sync::Arc;

use super::header_check::{HeaderError, LineProblem, Seen, lossy};
use super::header_line as line;
use super::numbers::u32_at;
use crate::names::check_sequence_name;

const BAM_MAGIC: &[u8; 4] = b"BAM\x01";

/// Longest header line that readers take. Linux refuses command lines, which @PG lines hold, of
/// more than 6 MiB.
pub const MAX_HEADER_LINE_BYTES: usize = 8 * 1024 * 1024;

/// A reference sequence of the header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// SN
    pub name: String,
    /// LN, 0..=2^31 - 1, in bp
    pub length: u32,
}

/// A read group of the header; the values borrow from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadGroup<'a> {
    /// ID
    pub id: &'a [u8],
    /// LB
    pub library: Option<&'a [u8]>,
    /// SM
    pub(crate) sample: Option<&'a [u8]>,
    /// PU
    pub platform_unit: Option<&'a [u8]>,
    /// PL
    pub platform: Option<&'a [u8]>,
}

/// The header of a SAM or BAM file. Copies share lines and references, of which there may be
/// millions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Header {
    /// Lines without their newline.
    lines: Vec<Arc<[u8]>>,
    references: Arc<Vec<Reference>>,
}

impl Header {
    /// A header with one @SQ line per reference and nothing else.
    #[must_use]
    pub fn from_references(references: Vec<Reference>) -> Self {
        let lines = references.iter().map(|it| sequence_line(it).into()).collect();
        Self { lines, references: Arc::new(references) }
    }

    /// Parses SAM header text: lines ended by newline, carriage returns before it dropped, the
    /// last newline optional, padding NULs and empty lines at the end ignored.
    ///
    /// # Errors
    /// [`HeaderError::Line`] for the first malformed line.
    pub fn parse(text: &[u8]) -> Result<Self, HeaderError> {
        let end = text.iter().rposition(|byte| !matches!(byte, 0 | b'\n' | b'\r'));
        let text = &text[..end.map_or(0, |end| end + 1)];
        if text.is_empty() {
            return Ok(Self::default());
        }
        let (mut lines, mut references) = (Vec::new(), Vec::new());
        let mut seen = Seen::default();
        for (index, text) in text.split(|&byte| byte == b'\n').enumerate() {
            // All of them: a line that kept one would read back as another line.
            let end = text.iter().rposition(|&byte| byte != b'\r').map_or(0, |at| at + 1);
            let text = &text[..end];
            let reference = seen
                .check(text)
                .map_err(|problem| HeaderError::Line { line: index + 1, problem })?;
            references.extend(reference);
            // A comment without its tab makes the header one that samtools 1.24 cannot change.
            lines.push(if text == b"@CO" { b"@CO\t".as_slice() } else { text }.into());
        }
        Ok(Self { lines, references: Arc::new(references) })
    }

    /// Looks through as much of a header's text as is at hand, so that nobody has to hold a line
    /// that is longer than may be. `text` is that of SAM, or a BAM file from its start on.
    ///
    /// # Errors
    /// [`LineProblem::TooLong`].
    pub fn check_line_lengths(text: &[u8]) -> Result<(), HeaderError> {
        let text = match text {
            [b'B', b'A', b'M', 1, a, b, c, d, rest @ ..] => {
                let text_bytes = u32::from_le_bytes([*a, *b, *c, *d]) as usize;
                &rest[..rest.len().min(text_bytes)]
            }
            text => text,
        };
        let mut lines = text.split(|&byte| byte == b'\n').enumerate();
        match lines.find(|(_, line)| line.len() > MAX_HEADER_LINE_BYTES) {
            Some((index, _)) => {
                Err(HeaderError::Line { line: index + 1, problem: LineProblem::TooLong })
            }
            None => Ok(()),
        }
    }

    /// Lines in order, without their newlines.
    pub fn lines(&self) -> impl Iterator<Item = &[u8]> {
        self.lines.iter().map(|line| &**line)
    }

    /// Lines, for changes that leave their kinds and the references as they are.
    pub(super) fn lines_mut(&mut self) -> &mut [Arc<[u8]>] {
        &mut self.lines
    }

    /// The references, in the order of their indices.
    #[must_use]
    pub fn references(&self) -> &[Reference] {
        &self.references
    }

    /// The SAM text: every line with its newline.
    #[must_use]
    pub fn text(&self) -> Vec<u8> {
        let mut text = Vec::with_capacity(self.lines.iter().map(|line| line.len() + 1).sum());
        for line in &self.lines {
            text.extend_from_slice(line);
            text.push(b'\n');
        }
        text
    }

    /// The header as it is (uncompressed) at the start of a BAM file.
    ///
    /// # Errors
    /// [`HeaderError::TooLarge`] when a size does not fit its 32-bit field.
    pub fn encode(&self) -> Result<Vec<u8>, HeaderError> {
        let count = |len: usize| match i32::try_from(len) {
            Ok(len) => Ok(len.to_le_bytes()),
            Err(_) => Err(HeaderError::TooLarge),
        };
        let text = self.text();
        let mut out = BAM_MAGIC.to_vec();
        out.extend_from_slice(&count(text.len())?);
        out.extend_from_slice(&text);
        out.extend_from_slice(&count(self.references.len())?);
        for reference in &*self.references {
            out.extend_from_slice(&count(reference.name.len() + 1)?);
            out.extend_from_slice(reference.name.as_bytes());
            out.push(0);
            out.extend_from_slice(&reference.length.to_le_bytes());
        }
        Ok(out)
    }

    /// Whether a header starts here, where a record could: by its magic and the first byte of its
    /// text. A record that looks so has 21,840,190 bytes.
    #[must_use]
    pub fn starts(bytes: &[u8]) -> bool {
        let text = bytes.strip_prefix(BAM_MAGIC.as_slice()).and_then(|rest| rest.get(..5));
        text.is_some_and(|text| text.starts_with(&[0; 4]) || text[4] == b'@')
    }

    /// Reads the header at the start of the inflated bytes of a BAM file and returns it with the
    /// number of bytes it takes. A file without @SQ lines gets them from its reference list.
    ///
    /// # Errors
    /// [`HeaderError::Truncated`] when more bytes are needed to decide; call again with more.
    pub fn decode(bytes: &[u8]) -> Result<(Self, usize), HeaderError> {
        let seen = bytes.len().min(BAM_MAGIC.len());
        if bytes[..seen] != BAM_MAGIC[..seen] {
            return Err(HeaderError::BadMagic);
        }
        let mut cursor = Cursor { bytes, offset: BAM_MAGIC.len() };
        let text_bytes = cursor.count("l_text", 0)?;
        let text = cursor.take(text_bytes)?;
        let reference_count = cursor.count("n_ref", 0)?;
        // A reference takes at least 9 bytes: the count is believed only as far as bytes go.
        let mut references =
            Vec::with_capacity(reference_count.min((bytes.len() - cursor.offset) / 9));
        for index in 0..reference_count {
            references.push(cursor.reference(index)?);
        }
        let mut header = Self::parse(text)?;
        if header.references.is_empty() {
            header.adopt_references(references)?;
        } else if let Some(index) = first_difference(&header.references, &references) {
            return Err(HeaderError::ReferenceMismatch(index));
        }
        Ok((header, cursor.offset))
    }

    /// Takes over the reference list of a BAM file whose text has no @SQ lines.
    fn adopt_references(&mut self, references: Vec<Reference>) -> Result<(), HeaderError> {
        let mut names = HashSet::with_capacity(references.len());
        if let Some(index) = references.iter().position(|it| !names.insert(it.name.as_str())) {
            return Err(HeaderError::BadReference(index));
        }
        let at = usize::from(self.lines.first().is_some_and(|it| line::kind(it) == b"HD"));
        let lines = references.iter().map(|it| sequence_line(it).into());
        self.lines.splice(at..at, lines);
        self.references = Arc::new(references);
        Ok(())
    }

    /// Sets SO (`coordinate`, `queryname`, `unsorted`) and SS (`queryname:natural`, or `None`) on
    /// the @HD line, which is added with VN:1.6 as first line if there is none. GO is removed: it
    /// described the order there was before.
    pub fn set_sort_order(&mut self, sort_order: &str, sub_sort_order: Option<&str>) {
        self.set_order(sort_order, sub_sort_order.map(|order| (*b"SS", order)));
    }

    /// Sets SO:unsorted and GO:query: records of a template are together, in no order of names. SS
    /// is removed.
    pub fn set_grouped_by_name(&mut self) {
        self.set_order("unsorted", Some((*b"GO", "query")));
    }

    fn set_order(&mut self, sort_order: &str, more: Option<([u8; 2], &str)>) {
        let index = self.lines.iter().position(|it| line::kind(it) == b"HD").unwrap_or_else(|| {
            self.lines.insert(0, b"@HD\tVN:1.6".as_slice().into());
            0
        });
        let old = &self.lines[index];
        let mut hd = b"@HD".to_vec();
        line::push(&mut hd, *b"VN", line::value(old, *b"VN").unwrap_or(b"1.6"));
        line::push(&mut hd, *b"SO", sort_order.as_bytes());
        if let Some((tag, value)) = more {
            line::push(&mut hd, tag, value.as_bytes());
        }
        let rest = line::without(old, &[*b"VN", *b"SO", *b"GO", *b"SS"]);
        hd.extend_from_slice(&rest[3..]);
        self.lines[index] = hd.into();
    }

    /// SO of the @HD line.
    #[must_use]
    pub fn sort_order(&self) -> Option<&[u8]> {
        self.lines_of(b"HD").find_map(|it| line::value(it, *b"SO"))
    }

    /// GO of the @HD line.
    #[must_use]
    pub fn group_order(&self) -> Option<&[u8]> {
        self.lines_of(b"HD").find_map(|it| line::value(it, *b"GO"))
    }

    /// Adds an @RG line (real tabs: see [`expand_escapes`]) after the last line that is no @PG
    /// or @CO line, and returns its ID.
    ///
    /// # Errors
    /// [`HeaderError::ReadGroupLine`] when it is malformed, has no ID, or the ID exists; also when
    /// it has a tag twice, which the specification (1.3) forbids and programs nevertheless write:
    /// header lines that are read may have it.
    pub fn add_read_group(&mut self, text: &[u8]) -> Result<Vec<u8>, HeaderError> {
        let mut seen = Seen::default();
        seen.read_groups.extend(self.read_groups().iter().map(|group| group.id.to_vec()));
        if line::is_header_line(text) && line::kind(text) != b"RG" {
            return Err(HeaderError::ReadGroupLine(LineProblem::NotAReadGroup));
        }
        let repeated = line::repeated_tag(text).map(|tag| LineProblem::TagTwice(lossy(tag)));
        let checked = seen.check(text).and_then(|_| repeated.map_or(Ok(()), Err));
        checked.map_err(HeaderError::ReadGroupLine)?;
        let is_after = |it: &Arc<[u8]>| matches!(line::kind(it), b"PG" | b"CO");
        let at = self.lines.iter().rposition(|it| !is_after(it)).map_or(0, |index| index + 1);
        self.lines.insert(at, text.into());
        Ok(line::value(text, *b"ID").unwrap_or_default().to_vec())
    }

    /// The read groups in order.
    #[must_use]
    pub fn read_groups(&self) -> Vec<ReadGroup<'_>> {
        self.lines_of(b"RG")
            .filter_map(|it| {
                Some(ReadGroup {
                    id: line::value(it, *b"ID")?,
                    library: line::value(it, *b"LB"),
                    sample: line::value(it, *b"SM"),
                    platform_unit: line::value(it, *b"PU"),
                    platform: line::value(it, *b"PL"),
                })
            })
            .collect()
    }

    /// Adds @PG lines for a program: one after each end of a chain of programs (its PP is that
    /// end), or one after the last program when there are no chains, as samtools does. IDs are
    /// `name`, or the first of `name.1`, `name.2`, ... that is free. Returns the IDs. Control
    /// characters in the command line become spaces.
    pub fn add_program(&mut self, name: &str, version: &str, command_line: &str) -> Vec<String> {
        let ends = self.chain_ends();
        let parents =
            if ends.is_empty() { vec![None] } else { ends.into_iter().map(Some).collect() };
        parents
            .into_iter()
            .map(|parent| {
                let id = self.free_program_id(name);
                let mut pg = b"@PG".to_vec();
                line::push(&mut pg, *b"ID", id.as_bytes());
                line::push(&mut pg, *b"PN", name.as_bytes());
                if let Some(parent) = parent {
                    line::push(&mut pg, *b"PP", &parent);
                }
                line::push(&mut pg, *b"VN", version.as_bytes());
                let command_line = command_line.replace(|c: char| c.is_control(), " ");
                line::push(&mut pg, *b"CL", command_line.as_bytes());
                self.lines.push(pg.into());
                id
            })
            .collect()
    }

    /// IDs of the last programs of the chains, as htslib finds them: those that name a known
    /// predecessor and that no other names. Where there is no chain at all it is the last program
    /// that no other names: unrelated lines are then taken to be in the order they were run.
    fn chain_ends(&self) -> Vec<Vec<u8>> {
        let programs: Vec<(&[u8], Option<&[u8]>)> = self
            .lines_of(b"PG")
            .filter_map(|it| Some((line::value(it, *b"ID")?, line::value(it, *b"PP"))))
            .collect();
        let ids: HashSet<&[u8]> = programs.iter().map(|&(id, _)| id).collect();
        let parents: HashSet<&[u8]> = programs.iter().filter_map(|&(_, parent)| parent).collect();
        let is_end = |id: &[u8]| !parents.contains(id);
        let mut ends: Vec<&[u8]> = programs
            .iter()
            .filter(|&&(id, parent)| is_end(id) && parent.is_some_and(|it| ids.contains(it)))
            .map(|&(id, _)| id)
            .collect();
        if ends.is_empty() {
            ends.extend(programs.iter().rev().map(|&(id, _)| id).find(|&id| is_end(id)));
        }
        ends.into_iter().map(<[u8]>::to_vec).collect()
    }

    fn free_program_id(&self, name: &str) -> String {
        let taken: HashSet<&[u8]> =
            self.lines_of(b"PG").filter_map(|it| line::value(it, *b"ID")).collect();
        let mut id = name.to_owned();
        let mut suffix = 0_usize;
        while taken.contains(id.as_bytes()) {
            suffix += 1;
            id = format!("{name}.{suffix}");
        }
        id
    }

    fn lines_of(&self, kind: &[u8; 2]) -> impl Iterator<Item = &[u8]> {
        self.lines().filter(move |it| line::kind(it) == kind)
    }
}

/// Expands the escapes `\t`, `\n`, `\r` and `\\` of a command line argument, as bwa does with `-R`;
/// a backslash before anything else stays.
#[must_use]
pub fn expand_escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let expanded = match (c, chars.peek()) {
            ('\\', Some('t')) => Some('\t'),
            ('\\', Some('n')) => Some('\n'),
            ('\\', Some('r')) => Some('\r'),
            ('\\', Some('\\')) => Some('\\'),
            _ => None,
        };
        if expanded.is_some() {
            chars.next();
        }
        out.push(expanded.unwrap_or(c));
    }
    out
}

fn sequence_line(reference: &Reference) -> Vec<u8> {
    format!("@SQ\tSN:{}\tLN:{}", reference.name, reference.length).into_bytes()
}

/// The first index where the two lists are not the same.
fn first_difference(left: &[Reference], right: &[Reference]) -> Option<usize> {
    let common = left.len().min(right.len());
    (0..common)
        .find(|&index| left[index] != right[index])
        .or((left.len() != right.len()).then_some(common))
}

/// Reads the binary part of a BAM header.
struct Cursor<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Cursor<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], HeaderError> {
        let end = self.offset.saturating_add(len);
        let part = self.bytes.get(self.offset..end).ok_or(HeaderError::Truncated {
            available_bytes: self.bytes.len(),
            needed_bytes: end,
        })?;
        self.offset = end;
        Ok(part)
    }

    /// A 32-bit count of at least `least`.
    fn count(&mut self, field: &'static str, least: i32) -> Result<usize, HeaderError> {
        let value = u32_at(self.take(4)?, 0).cast_signed();
        match usize::try_from(value) {
            Ok(count) if value >= least => Ok(count),
            _ => Err(HeaderError::BadValue { field, value }),
        }
    }

    fn reference(&mut self, index: usize) -> Result<Reference, HeaderError> {
        let name_bytes = self.count("l_name", 1)?;
        let name = self.take(name_bytes)?.strip_suffix(&[0]);
        let length = u32_at(self.take(4)?, 0);
        let name = name.filter(|_| i32::try_from(length).is_ok());
        let name = name.ok_or(HeaderError::BadReference(index))?;
        match check_sequence_name(name) {
            Ok(()) => Ok(Reference { name: lossy(name), length }),
            Err(problem) => {
                Err(HeaderError::BadReferenceName { index, name: lossy(name), problem })
            }
        }
    }
}

#[cfg(test)]
#[path = "header_tests.rs"]
mod tests;
