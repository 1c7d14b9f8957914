//! Read groups: one for all records (Picard AddOrReplaceReadGroups, elPrep's replace-read-group),
//! or one for some of them (`samtools addreplacerg`).

use seqloom_format::bam::edit::{append_tag, find_tag, set_tag};
use seqloom_format::bam::{AuxValue, Header};

use super::{RecordStep, Stage, StepError, StepScratch, Verdict};

/// Which records get the read group, and what becomes of the others in the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadGroupMode {
    /// All records; it becomes the header's only read group (Picard, elPrep).
    ReplaceAll,
    /// All records; the header keeps its read groups (samtools' `overwrite_all`).
    OverwriteAll,
    /// Records without RG tag; the header keeps its read groups (samtools' `orphan_only`).
    OrphanOnly,
}

/// Sets the RG tag of records.
#[derive(Debug, Clone)]
pub struct SetReadGroup {
    id: Vec<u8>,
    /// The @RG line to add; `None` for one that the header has.
    line: Option<Vec<u8>>,
    mode: ReadGroupMode,
}

/// Makes an @RG line of a command line argument: `@RG\tID:x\tSM:y`, `ID:x\tSM:y` (tabs, real or
/// as `\t`), or elPrep's `ID:x SM:y`. With tabs, values may hold spaces.
///
/// # Errors
/// [`StepError::BadReadGroup`] when there is no ID or a field is not `TT:value`.
pub fn read_group_line(text: &str) -> Result<Vec<u8>, StepError> {
    let bad = || StepError::BadReadGroup(text.to_owned());
    let expanded = seqloom_format::bam::expand_escapes(text);
    let separator = if expanded.contains('\t') { '\t' } else { ' ' };
    let mut fields: Vec<&str> = expanded.split(separator).filter(|it| !it.is_empty()).collect();
    if fields.first() == Some(&"@RG") {
        fields.remove(0);
    }
    let line = std::iter::once("@RG").chain(fields).collect::<Vec<_>>().join("\t").into_bytes();
    // The header's own rules decide what a good line is.
    Header::default().add_read_group(&line).map_err(|_| bad())?;
    Ok(line)
}

impl SetReadGroup {
    /// A new read group, `line` being a whole @RG line (see [`read_group_line`]).
    ///
    /// # Errors
    /// [`StepError::BadReadGroup`], or [`StepError::ReadGroupExists`] where the header keeps its
    /// read groups and has one of that ID.
    pub fn new(line: &[u8], mode: ReadGroupMode, header: &Header) -> Result<Self, StepError> {
        let bad = |_| StepError::BadReadGroup(String::from_utf8_lossy(line).into_owned());
        let id = Header::default().add_read_group(line).map_err(bad)?;
        if mode != ReadGroupMode::ReplaceAll && has_group(header, &id) {
            return Err(StepError::ReadGroupExists(String::from_utf8_lossy(&id).into_owned()));
        }
        Ok(Self { id, line: Some(line.to_vec()), mode })
    }

    /// A read group that the header has, for all records or for those without.
    ///
    /// # Errors
    /// [`StepError::UnknownReadGroup`]
    pub fn existing(id: &[u8], mode: ReadGroupMode, header: &Header) -> Result<Self, StepError> {
        if !has_group(header, id) {
            return Err(StepError::UnknownReadGroup(String::from_utf8_lossy(id).into_owned()));
        }
        Ok(Self { id: id.to_vec(), line: None, mode })
    }
}

fn has_group(header: &Header, id: &[u8]) -> bool {
    header.read_groups().iter().any(|group| group.id == id)
}

impl RecordStep for SetReadGroup {
    fn name(&self) -> &'static str {
        "read-group"
    }

    fn stage(&self) -> Stage {
        Stage::ReadGroup
    }

    fn prepare_header(&self, header: &mut Header) -> Result<(), StepError> {
        if self.mode == ReadGroupMode::ReplaceAll {
            let mut text = Vec::new();
            for line in header.lines() {
                let is_group = line.starts_with(b"@RG\t");
                let is_ours = self.line.is_none() && id_of(line) == Some(&self.id);
                if !is_group || is_ours {
                    text.extend_from_slice(line);
                    text.push(b'\n');
                }
            }
            *header = Header::parse(&text)?;
        }
        if let Some(line) = &self.line {
            header.add_read_group(line)?;
        }
        Ok(())
    }

    fn apply(&self, body: &mut Vec<u8>, _: &mut StepScratch) -> Result<Verdict, StepError> {
        let value = AuxValue::String(&self.id);
        match self.mode {
            ReadGroupMode::OrphanOnly => {
                if find_tag(body, *b"RG")?.is_none() {
                    append_tag(body, *b"RG", value)?;
                }
            }
            ReadGroupMode::ReplaceAll | ReadGroupMode::OverwriteAll => {
                set_tag(body, *b"RG", value)?;
            }
        }
        Ok(Verdict::Keep)
    }
}

/// ID of an @RG line.
fn id_of(line: &[u8]) -> Option<&[u8]> {
    line.split(|&byte| byte == b'\t').find_map(|field| field.strip_prefix(b"ID:"))
}
