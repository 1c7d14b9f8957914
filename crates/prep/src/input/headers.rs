//! Several inputs as one: the header that all of them have in common, and what their records must
//! change for it.
//!
//! As `samtools merge`: sequences are joined in the order in which they are first met; read groups
//! and programs that are the same line by line are one, and those that share an ID with another
//! line get a new one.

use std::collections::BTreeMap;

use seqloom_format::bam::edit::{EditError, replace_tag, set_mate_reference_id, set_reference_id};
use seqloom_format::bam::{AuxValue, Header, HeaderError, RecordRef, Reference};
use seqloom_runtime::error::{Class, Place, RunError};

use crate::steps::{RecordStep, StepError, StepScratch, StepStage, Verdict};

/// Why headers cannot be joined.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// One name, two lengths.
    #[error(
        "sequence {name} is {first_bp} bp long in one input and {second_bp} bp in another: they \
         were aligned to different references"
    )]
    Length {
        /// The sequence.
        name: String,
        /// Length in the first input.
        first_bp: u32,
        /// Length in a later input.
        second_bp: u32,
    },
    /// The joined text is no header.
    #[error(transparent)]
    Header(#[from] HeaderError),
}

impl RunError for MergeError {
    fn class(&self) -> Class {
        match self {
            Self::Length { .. } | Self::Header(_) => Class::Input,
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::Length { name, .. } => Place::default().at_name(name),
            Self::Header(_) => Place::default(),
        }
    }
}

/// IDs that records of one input use, and those they get.
type Renamed = BTreeMap<Vec<u8>, Vec<u8>>;

/// Changes of the records of one input.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct InputChanges {
    /// The joined index of each of the input's sequences; empty where all stay.
    references: Vec<i32>,
    read_groups: Renamed,
    programs: Renamed,
}

impl InputChanges {
    /// Whether records stay as they are.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn reference(&self, id: i32) -> i32 {
        let index = usize::try_from(id).ok();
        index.and_then(|index| self.references.get(index)).copied().unwrap_or(id)
    }
}

/// What is done to records of one input so that the joined header is theirs.
impl RecordStep for InputChanges {
    fn name(&self) -> &'static str {
        "merge"
    }

    fn stage(&self) -> StepStage {
        StepStage::Merge
    }

    fn apply(&self, body: &mut Vec<u8>, _: &mut StepScratch) -> Result<Verdict, StepError> {
        let record = RecordRef::new(body)?;
        let (own, mate) = (record.reference_id(), record.mate_reference_id());
        if !self.references.is_empty() {
            set_reference_id(body, self.reference(own))?;
            set_mate_reference_id(body, self.reference(mate))?;
        }
        rename(body, *b"RG", &self.read_groups)?;
        rename(body, *b"PG", &self.programs)?;
        Ok(Verdict::Keep)
    }
}

fn rename(body: &mut Vec<u8>, tag: [u8; 2], names: &Renamed) -> Result<(), EditError> {
    if names.is_empty() {
        return Ok(());
    }
    let value = RecordRef::new(body)?.find_aux(tag)?.and_then(|value| value.as_string());
    if let Some(new) = value.and_then(|id| names.get(id)) {
        replace_tag(body, tag, AuxValue::String(new))?;
    }
    Ok(())
}

/// Joins the headers of all inputs; with what the records of each must change.
///
/// # Errors
/// Sequences of one name and different lengths.
pub fn merge(headers: &[Header]) -> Result<(Header, Vec<InputChanges>), MergeError> {
    let Some((first, others)) = headers.split_first() else {
        return Ok((Header::default(), Vec::new()));
    };
    if others.iter().all(|other| other.text() == first.text()) {
        let unchanged = headers.iter().map(|_| InputChanges::default());
        return Ok((first.clone(), unchanged.collect()));
    }
    let mut joined = Joined::default();
    let changes = headers.iter().map(|header| joined.add(header)).collect::<Result<_, _>>()?;
    Ok((joined.header(first)?, changes))
}

/// The lines gathered so far.
#[derive(Default)]
struct Joined {
    references: Vec<Reference>,
    index_of: BTreeMap<String, usize>,
    /// The first line of each sequence, by index.
    sequence_lines: BTreeMap<usize, Vec<u8>>,
    read_groups: Identified,
    programs: Identified,
    comments: Vec<Vec<u8>>,
}

/// Lines with an ID field.
#[derive(Default)]
struct Identified {
    lines: Vec<Vec<u8>>,
    by_id: BTreeMap<Vec<u8>, usize>,
}

impl Identified {
    /// Takes a line; if its ID is that of another one, `new_ids` gives the one it goes by from now
    /// on.
    fn add(&mut self, line: &[u8], new_ids: &mut BTreeMap<Vec<u8>, Vec<u8>>) {
        let Some(id) = field(line, b"ID:").map(<[u8]>::to_vec) else { return };
        match self.by_id.get(&id) {
            None => self.insert(id, line.to_vec()),
            Some(&at) if self.lines[at] == line => {}
            Some(_) => {
                let new = self.free_id(&id);
                self.insert(new.clone(), with_field(line, b"ID:", &new));
                new_ids.insert(id, new);
            }
        }
    }

    fn insert(&mut self, id: Vec<u8>, line: Vec<u8>) {
        self.by_id.insert(id, self.lines.len());
        self.lines.push(line);
    }

    fn free_id(&self, id: &[u8]) -> Vec<u8> {
        let numbered = |n: u32| [id, b".", n.to_string().as_bytes()].concat();
        (1..).map(numbered).find(|new| !self.by_id.contains_key(new)).unwrap_or_default()
    }
}

impl Joined {
    fn add(&mut self, header: &Header) -> Result<InputChanges, MergeError> {
        let mut changes = InputChanges::default();
        for reference in header.references() {
            changes.references.push(self.add_reference(reference)? as i32);
        }
        if changes.references.iter().zip(0..).all(|(&new, old)| new == old) {
            changes.references.clear();
        }
        // A program may name one that has got a new ID as the one before it, which is above.
        for line in header.lines() {
            match line.get(..3) {
                Some(b"@SQ") => self.add_sequence_line(line),
                Some(b"@RG") => self.read_groups.add(line, &mut changes.read_groups),
                Some(b"@PG") => {
                    let before = field(line, b"PP:").and_then(|id| changes.programs.get(id));
                    let line =
                        before.map_or_else(|| line.to_vec(), |id| with_field(line, b"PP:", id));
                    self.programs.add(&line, &mut changes.programs);
                }
                Some(b"@CO") if !self.comments.iter().any(|known| known == line) => {
                    self.comments.push(line.to_vec());
                }
                _ => {}
            }
        }
        Ok(changes)
    }

    fn add_reference(&mut self, reference: &Reference) -> Result<usize, MergeError> {
        if let Some(&at) = self.index_of.get(&reference.name) {
            let (name, first_bp) = (reference.name.clone(), self.references[at].length);
            let second_bp = reference.length;
            let same = first_bp == second_bp;
            return if same {
                Ok(at)
            } else {
                Err(MergeError::Length { name, first_bp, second_bp })
            };
        }
        let at = self.references.len();
        self.index_of.insert(reference.name.clone(), at);
        self.references.push(reference.clone());
        Ok(at)
    }

    fn add_sequence_line(&mut self, line: &[u8]) {
        let name = field(line, b"SN:").and_then(|name| std::str::from_utf8(name).ok());
        if let Some(&at) = name.and_then(|name| self.index_of.get(name)) {
            self.sequence_lines.entry(at).or_insert_with(|| line.to_vec());
        }
    }

    fn header(self, first: &Header) -> Result<Header, HeaderError> {
        let mut text = Vec::new();
        let top = first.lines().filter(|line| line.starts_with(b"@HD")).map(<[u8]>::to_vec);
        let groups = self.read_groups.lines.into_iter().chain(self.programs.lines);
        let lines = top.chain(self.sequence_lines.into_values()).chain(groups).chain(self.comments);
        for line in lines {
            text.extend_from_slice(&line);
            text.push(b'\n');
        }
        Header::parse(&text)
    }
}

/// Value of a field of a header line.
fn field<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    line.split(|&byte| byte == b'\t').find_map(|field| field.strip_prefix(name))
}

/// The line with another value of a field that it has.
fn with_field(line: &[u8], name: &[u8], value: &[u8]) -> Vec<u8> {
    let changed = |part: &[u8]| {
        if part.starts_with(name) { [name, value].concat() } else { part.to_vec() }
    };
    line.split(|&byte| byte == b'\t').map(changed).collect::<Vec<_>>().join(&b'\t')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_records::body;

    fn header(text: &str) -> Header {
        Header::parse(text.as_bytes()).unwrap()
    }

    fn text(header: &Header) -> String {
        String::from_utf8(header.text()).unwrap()
    }

    #[test]
    fn equal_headers_change_nothing() {
        let one = header("@HD\tVN:1.6\n@SQ\tSN:a\tLN:9\n@RG\tID:x\n");
        let (joined, changes) = merge(&[one.clone(), one.clone()]).unwrap();
        assert_eq!(text(&joined), text(&one));
        assert!(changes.iter().all(InputChanges::is_empty));
        assert!(merge(&[]).unwrap().1.is_empty());
    }

    #[test]
    fn sequences_are_joined_and_records_follow() {
        let first = header("@SQ\tSN:a\tLN:9\n@SQ\tSN:b\tLN:8\n");
        let second = header("@SQ\tSN:c\tLN:7\n@SQ\tSN:a\tLN:9\n");
        let (joined, changes) = merge(&[first, second]).unwrap();
        assert_eq!(text(&joined), "@SQ\tSN:a\tLN:9\n@SQ\tSN:b\tLN:8\n@SQ\tSN:c\tLN:7\n");
        assert!(changes[0].is_empty());
        let mut record = body("q", 0, 1, 5, 4);
        changes[1].apply(&mut record, &mut StepScratch::default()).unwrap();
        let record = RecordRef::new(&record).unwrap();
        assert_eq!((record.reference_id(), record.mate_reference_id()), (0, -1));
    }

    #[test]
    fn one_name_with_two_lengths_is_refused() {
        let both = [header("@SQ\tSN:a\tLN:9\n"), header("@SQ\tSN:a\tLN:8\n")];
        assert!(matches!(merge(&both), Err(MergeError::Length { first_bp: 9, second_bp: 8, .. })));
    }

    #[test]
    fn read_groups_and_programs_that_differ_get_a_new_id() {
        let first = header("@RG\tID:x\tSM:1\n@RG\tID:y\n@PG\tID:p\n@CO\tk\n");
        let second =
            header("@RG\tID:x\tSM:2\n@RG\tID:y\n@PG\tID:p\tVN:2\n@PG\tID:q\tPP:p\n@CO\tk\n");
        let (joined, changes) = merge(&[first, second]).unwrap();
        let expected = "@RG\tID:x\tSM:1\n@RG\tID:y\n@RG\tID:x.1\tSM:2\n\
                        @PG\tID:p\n@PG\tID:p.1\tVN:2\n@PG\tID:q\tPP:p.1\n@CO\tk\n";
        assert_eq!(text(&joined), expected);
        let mut record = body("q", 0, 0, 5, 4);
        record.extend_from_slice(b"RGZx\0PGZp\0");
        changes[1].apply(&mut record, &mut StepScratch::default()).unwrap();
        assert!(record.ends_with(b"RGZx.1\0PGZp.1\0"));
        let mut record = body("q", 0, 0, 5, 4);
        record.extend_from_slice(b"RGZy\0");
        changes[1].apply(&mut record, &mut StepScratch::default()).unwrap();
        assert!(record.ends_with(b"RGZy\0"));
    }
}
