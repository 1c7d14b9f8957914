//! Unique molecular identifiers (UMIs) of reads: where they are in the input, and the tags RX and
//! QX that they become.
//!
//! Both mates get the same tags. UMIs of two parts are joined by `-`, their qualities by a space
//! (SAM optional fields specification). UMIs of one input may have different lengths.

mod first;
mod structure;

use std::num::NonZeroUsize;
use std::ops::Range;
use std::str::FromStr;

use seqloom_format::ReadBlock;

use crate::input::Mates;
pub use first::OneUmi;
pub use structure::{ReadStructure, StructureError};

/// The tags that are put on records, which replace those of the input.
pub(crate) const TAGS: [[u8; 2]; 2] = [*b"RX", *b"QX"];

/// Where UMIs are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UmiSource {
    /// After the last `:` of the read's name, or after a `_` there.
    Name,
    /// In the first word after the name: its last field between colons, or that with this number.
    Comment(Option<NonZeroUsize>),
    /// Among the bases of the first and the second read.
    Reads([Option<ReadStructure>; 2]),
}

/// UMIs as they are taken from an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UmiRules {
    /// Where they are.
    pub source: UmiSource,
    /// Text of names and comments that precedes each, as fastp's `UMI_`; the UMI is all that
    /// follows its last occurrence. Not empty. `None`: no such text.
    pub prefix: Option<String>,
}

/// Why a template has no UMI.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UmiError {
    /// There is none where it should be.
    #[error("no UMI in its {0}; --umi says where UMIs are")]
    Missing(&'static str),
    /// The text that should precede it is not there.
    #[error("'{prefix}' of --umi-prefix is not in its {place}, '{text}'")]
    NoPrefix {
        /// The text that is missing.
        prefix: String,
        /// `name` or `comment`.
        place: &'static str,
        /// The name, or the field of the comment.
        text: String,
    },
    /// Other letters than those of a UMI.
    #[error(
        "'{0}' is not a UMI: letters are A, C, G, T and N, parts are joined by +, - or _, an r \
         before a part says that it is reverse-complemented; --umi-prefix TEXT removes what \
         precedes a UMI"
    )]
    NotBases(String),
    /// Mates with one each.
    #[error("mates have different UMIs, '{0}' and '{1}'")]
    MatesDiffer(String, String),
    /// A read that is not of its structure.
    #[error("read {read} has {bases} bases, and its read structure has {needed}{}",
        if *is_open { " at least" } else { "" })]
    Length {
        /// 1 or 2.
        read: usize,
        /// Its bases.
        bases: usize,
        /// Bases of the structure.
        needed: usize,
        /// Whether there may be more.
        is_open: bool,
    },
}

/// Tags of consecutive templates, encoded for BAM.
#[derive(Debug, Default)]
pub struct UmiTags {
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

impl UmiTags {
    /// The tags of the template with this index; none where none were taken.
    pub(crate) fn of(&self, template: usize) -> &[u8] {
        let Some(&end) = self.ends.get(template) else { return &[] };
        let start = template.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start as usize..end as usize]
    }

    /// Memory that they take.
    pub(crate) fn held_bytes(&self) -> u64 {
        (self.bytes.capacity() + 4 * self.ends.capacity()) as u64
    }

    /// Takes the UMI of the next template.
    pub(crate) fn push(&mut self, mates: Mates<'_>, rules: &UmiRules) -> Result<(), UmiError> {
        self.bytes.extend_from_slice(b"RXZ");
        match &rules.source {
            UmiSource::Reads(structures) => self.push_of_reads(mates, structures)?,
            UmiSource::Name | UmiSource::Comment(_) => self.push_of_text(mates, rules)?,
        }
        self.ends.push(self.bytes.len() as u32);
        Ok(())
    }

    fn push_of_text(
        &mut self,
        (first, second): Mates<'_>,
        rules: &UmiRules,
    ) -> Result<(), UmiError> {
        let start = self.bytes.len();
        append_text(rules.text_of(first)?, &mut self.bytes)?;
        // Mates have one name.
        if let Some(second) = second.filter(|_| rules.source != UmiSource::Name) {
            let end = self.bytes.len();
            append_text(rules.text_of(second)?, &mut self.bytes)?;
            let (one, two) = (&self.bytes[start..end], &self.bytes[end..]);
            if one != two {
                return Err(UmiError::MatesDiffer(text(one), text(two)));
            }
            self.bytes.truncate(end);
        }
        self.bytes.push(0);
        Ok(())
    }

    fn push_of_reads(
        &mut self,
        (first, second): Mates<'_>,
        structures: &[Option<ReadStructure>; 2],
    ) -> Result<(), UmiError> {
        let reads = || {
            let mates = [Some(first), second].into_iter().enumerate();
            mates.filter_map(|(read, mate)| Some((read, mate?, structures[read].as_ref()?)))
        };
        let start = self.bytes.len();
        let mut has_qualities = true;
        for (read, (block, i), structure) in reads() {
            check_length(read, block.bases(i).len(), structure)?;
            has_qualities &= !block.qualities(i).is_empty();
            for part in structure.umis() {
                if self.bytes.len() > start {
                    self.bytes.push(b'-');
                }
                append_bases(&block.bases(i)[part.clone()], &mut self.bytes)?;
            }
        }
        self.bytes.push(0);
        if !has_qualities {
            return Ok(());
        }
        self.bytes.extend_from_slice(b"QXZ");
        let start = self.bytes.len();
        for (_, (block, i), structure) in reads() {
            for part in structure.umis() {
                if self.bytes.len() > start {
                    self.bytes.push(b' ');
                }
                self.bytes.extend_from_slice(&block.qualities(i)[part.clone()]);
            }
        }
        self.bytes.push(0);
        Ok(())
    }
}

fn check_length(read: usize, bases: usize, structure: &ReadStructure) -> Result<(), UmiError> {
    let (needed, is_open) = structure.bases();
    let fits = structure.template(bases).map(|_| ());
    fits.ok_or(UmiError::Length { read: read + 1, bases, needed, is_open })
}

impl UmiSource {
    /// Where in a read the bases are that are aligned: all of them if the read does not fit, of
    /// which [`UmiTags::push`] reports.
    pub(crate) fn template(&self, read: usize, bases: usize) -> Range<usize> {
        let structure = match self {
            Self::Reads(structures) => structures.get(read).and_then(Option::as_ref),
            Self::Name | Self::Comment(_) => None,
        };
        structure.and_then(|it| it.template(bases)).unwrap_or(0..bases)
    }
}

impl UmiRules {
    /// What the name or the comment of a read has as its UMI.
    fn text_of<'b>(&self, (block, i): (&'b ReadBlock, usize)) -> Result<&'b [u8], UmiError> {
        let (place, found) = match self.source {
            UmiSource::Comment(field) => ("comment", field_of_comment(block.header_line(i), field)),
            UmiSource::Name | UmiSource::Reads(_) if self.prefix.is_some() => {
                ("name", Some(block.name(i)))
            }
            UmiSource::Name | UmiSource::Reads(_) => ("name", umi_in_name(block.name(i))),
        };
        let found = found.ok_or(UmiError::Missing(place))?;
        let Some(prefix) = &self.prefix else { return Ok(found) };
        let at = found.windows(prefix.len()).rposition(|it| it == prefix.as_bytes());
        let after = at.map(|at| &found[at + prefix.len()..]);
        let after = after.ok_or_else(|| UmiError::NoPrefix {
            prefix: prefix.clone(),
            place,
            text: text(found),
        })?;
        if after.is_empty() { Err(UmiError::Missing(place)) } else { Ok(after) }
    }
}

/// The last field between colons of the first word of a comment, or the one with a number.
fn field_of_comment(line: Option<&[u8]>, field: Option<NonZeroUsize>) -> Option<&[u8]> {
    let mut words = line?.splitn(2, |byte| byte.is_ascii_whitespace());
    let word = words.nth(1)?.split(|byte| byte.is_ascii_whitespace()).next();
    let mut fields = word.filter(|word| !word.is_empty())?.split(|&byte| byte == b':');
    let found = match field {
        None => fields.next_back(),
        Some(field) => fields.nth(field.get() - 1),
    };
    found.filter(|it| !it.is_empty())
}

/// Illumina's names have the UMI as their eighth field; UMI-tools appends it after a `_`.
fn umi_in_name(name: &[u8]) -> Option<&[u8]> {
    let mut fields = name.rsplit(|&byte| byte == b':');
    let last = fields.next()?;
    let preceding = fields.count();
    let underscore = last.iter().rposition(|&byte| byte == b'_').filter(|_| preceding != 7);
    let umi = match underscore {
        Some(at) => &last[at + 1..],
        None if preceding > 0 => last,
        None => return None,
    };
    (!umi.is_empty()).then_some(umi)
}

/// Appends the UMI of a name or a comment: letters in upper case, parts joined by `-`. BCL Convert
/// writes an `r` before a part that it has reverse-complemented; fgbio's `CopyUmiFromReadName`
/// takes that back, and so does this.
fn append_text(umi: &[u8], out: &mut Vec<u8>) -> Result<(), UmiError> {
    let start = out.len();
    for part in umi.split(|byte| matches!(byte, b'+' | b'-' | b'_')) {
        if out.len() > start {
            out.push(b'-');
        }
        let (is_reversed, letters) = match part {
            [b'r', letters @ ..] => (true, letters),
            letters => (false, letters),
        };
        let from = out.len();
        if letters.is_empty() || append_bases(letters, out).is_err() {
            return Err(UmiError::NotBases(text(umi)));
        }
        if is_reversed {
            out[from..].reverse();
            out[from..].iter_mut().for_each(|letter| *letter = complement(*letter));
        }
    }
    Ok(())
}

/// Appends bases in upper case.
fn append_bases(bases: &[u8], out: &mut Vec<u8>) -> Result<(), UmiError> {
    let upper = bases.iter().map(u8::to_ascii_uppercase);
    out.extend(upper);
    let is_base = |letter: &u8| matches!(letter, b'A' | b'C' | b'G' | b'T' | b'N');
    let all = out[out.len() - bases.len()..].iter().all(is_base);
    if all { Ok(()) } else { Err(UmiError::NotBases(text(bases))) }
}

fn complement(letter: u8) -> u8 {
    match letter {
        b'A' => b'T',
        b'C' => b'G',
        b'G' => b'C',
        b'T' => b'A',
        other => other,
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl FromStr for UmiSource {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "name" {
            return Ok(Self::Name);
        }
        if let Some(rest) = text.strip_prefix("comment") {
            return match rest.strip_prefix(':').map(str::parse) {
                None if rest.is_empty() => Ok(Self::Comment(None)),
                Some(Ok(field)) => Ok(Self::Comment(Some(field))),
                _ => Err("comment:N has the number of a field, from 1".to_owned()),
            };
        }
        let mut structures = [None, None];
        for part in text.split(',') {
            let (read, structure) = part.split_once(':').unwrap_or_default();
            let slot = match read {
                "read1" => &mut structures[0],
                "read2" => &mut structures[1],
                _ => {
                    let text = "must be name, comment, comment:N, or read1:STRUCTURE and \
                                read2:STRUCTURE with a comma";
                    return Err(text.to_owned());
                }
            };
            if slot.is_some() {
                return Err(format!("{read} has two structures"));
            }
            let parsed = structure.parse();
            *slot = Some(parsed.map_err(|error: StructureError| format!("{structure} {error}"))?);
        }
        let has_umi = structures.iter().flatten().any(|it: &ReadStructure| !it.umis().is_empty());
        if has_umi { Ok(Self::Reads(structures)) } else { Err("no structure has an M".to_owned()) }
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
