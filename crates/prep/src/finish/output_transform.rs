//! What is done to records last, when they are sorted and their duplicate flag is final: new base
//! qualities, tags that say what sort of duplicate they are, and the late steps.

use std::io::Write;

use seqloom_format::bam::edit::{append_tag, find_tag, remove_tag};
use seqloom_format::bam::{AuxValue, RecordRef};

use crate::duplicates::{DuplicateKind, DuplicateMarks};
use crate::finish::hooks::{Edited, EditorSource, HookError, RecordEditor};
use crate::partition::frame::template_of;
use crate::recalibrate::{AppliedCounts, Applier, ApplyScratch};
use crate::steps::{StepCounts, StepScratch, Steps};

/// Picard's tag for the sort of a duplicate.
const KIND_TAG: [u8; 2] = *b"DT";
/// Tag of the molecule that a template was copied from.
const MOLECULE_TAG: [u8; 2] = *b"MI";

/// Which duplicates get a DT tag (Picard's TAGGING_POLICY). That of the input always goes
/// (CLEAR_DT).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DuplicateTagging {
    /// No tag is written.
    #[default]
    None,
    /// Optical ones: SQ.
    Optical,
    /// All: SQ or LB.
    All,
}

impl DuplicateTagging {
    fn value(self, kind: DuplicateKind) -> Option<&'static [u8]> {
        match (self, kind) {
            (Self::None, _) | (_, DuplicateKind::Unique) => None,
            (_, DuplicateKind::Optical) => Some(b"SQ"),
            (Self::All, DuplicateKind::Library) => Some(b"LB"),
            (Self::Optical, DuplicateKind::Library) => None,
        }
    }
}

/// The last changes of a record: qualities, tags of duplicates, late steps.
pub struct OutputTransform<'a> {
    /// Marks, and which of them are written in tags.
    pub duplicates: Option<(&'a DuplicateMarks, DuplicateTagging)>,
    /// Marks that record families, which are written in tags MI in place of those of the input.
    pub families: Option<&'a DuplicateMarks>,
    /// New base qualities.
    pub recalibration: Option<&'a Applier>,
    /// Steps that come last.
    pub late: &'a Steps,
}

impl OutputTransform<'_> {
    /// Whether records stay as they are.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let tags = self.duplicates.is_some() || self.families.is_some();
        !tags && self.recalibration.is_none() && self.late.is_empty()
    }
}

impl EditorSource for OutputTransform<'_> {
    fn editor(&self) -> Box<dyn RecordEditor + '_> {
        Box::new(Editor {
            changes: self,
            qualities: ApplyScratch::default(),
            scratch: StepScratch::default(),
            counts: StepCounts::default(),
            framed: Vec::new(),
            changed: Vec::new(),
            number: Vec::new(),
        })
    }
}

/// One worker's editor.
struct Editor<'a> {
    changes: &'a OutputTransform<'a>,
    qualities: ApplyScratch,
    scratch: StepScratch,
    counts: StepCounts,
    framed: Vec<u8>,
    changed: Vec<u8>,
    /// Text of a number.
    number: Vec<u8>,
}

impl RecordEditor for Editor<'_> {
    fn edit(
        &mut self,
        ordinal: u64,
        record: &RecordRef<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Edited, HookError> {
        let recalibrated = self.recalibrate(record, out)?;
        let tagged = self.tag(ordinal, record, out)? | self.tag_family(ordinal, record, out)?;
        let changed_late = self.apply_late_steps(record, out)?;
        let Some(changed_late) = changed_late else { return Ok(Edited::Dropped) };
        let is_changed = recalibrated || tagged || changed_late;
        Ok(if is_changed { Edited::Changed } else { Edited::Unchanged })
    }

    fn recalibrated(&self) -> AppliedCounts {
        let applier = self.changes.recalibration;
        applier.map(|applier| applier.counts(&self.qualities)).unwrap_or_default()
    }
}

/// Each change works on `out`, which is empty as long as the record is as it was.
impl Editor<'_> {
    fn recalibrate(
        &mut self,
        record: &RecordRef<'_>,
        out: &mut Vec<u8>,
    ) -> Result<bool, HookError> {
        let Some(applier) = self.changes.recalibration else { return Ok(false) };
        out.extend_from_slice(record.body());
        applier.apply(out, &mut self.qualities)?;
        Ok(true)
    }

    fn tag(
        &mut self,
        ordinal: u64,
        record: &RecordRef<'_>,
        out: &mut Vec<u8>,
    ) -> Result<bool, HookError> {
        let Some((marks, tagging)) = self.changes.duplicates else { return Ok(false) };
        let kind = marks.kind(template_of(ordinal), record.flags());
        replace_text(record, KIND_TAG, tagging.value(kind), out)
    }

    fn tag_family(
        &mut self,
        ordinal: u64,
        record: &RecordRef<'_>,
        out: &mut Vec<u8>,
    ) -> Result<bool, HookError> {
        let Some(marks) = self.changes.families else { return Ok(false) };
        let family = marks.family(template_of(ordinal));
        self.number.clear();
        if let Some(family) = family {
            let _ = write!(self.number, "{family}"); // memory takes any write
        }
        replace_text(record, MOLECULE_TAG, family.map(|_| &self.number[..]), out)
    }

    /// `None` when a step leaves the record out.
    fn apply_late_steps(
        &mut self,
        record: &RecordRef<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Option<bool>, HookError> {
        if self.changes.late.is_empty() {
            return Ok(Some(false));
        }
        let body = if out.is_empty() { record.body() } else { &out[..] };
        self.framed.clear();
        self.framed.extend_from_slice(&(body.len() as u32).to_le_bytes());
        self.framed.extend_from_slice(body);
        self.changed.clear();
        let Self { changes, scratch, counts, framed, changed, .. } = self;
        changes.late.apply(framed, changed, scratch, counts)?;
        let Some(body) = changed.get(size_of::<u32>()..) else { return Ok(None) };
        out.clear();
        out.extend_from_slice(body);
        Ok(Some(true))
    }
}

/// Puts a tag with this text in place of the record's own, which goes without one; whether there
/// was anything to do.
fn replace_text(
    record: &RecordRef<'_>,
    tag: [u8; 2],
    text: Option<&[u8]>,
    out: &mut Vec<u8>,
) -> Result<bool, HookError> {
    if text.is_none() && find_tag(record.body(), tag)?.is_none() {
        return Ok(false);
    }
    if out.is_empty() {
        out.extend_from_slice(record.body());
    }
    remove_tag(out, tag)?;
    if let Some(text) = text {
        append_tag(out, tag, AuxValue::String(text))?;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::duplicates::{DuplicateMode, MarkSink, MarkedReads};
    use crate::steps::{KeepTags, RemoveTags};
    use crate::test_records::body;

    fn edit(changes: &OutputTransform<'_>, tags: &[u8]) -> (Edited, Vec<u8>) {
        let mut record = body("q", 0x400, 0, 5, 4);
        let start = record.len();
        record.extend_from_slice(tags);
        let mut out = Vec::new();
        let record = RecordRef::new(&record).unwrap();
        let edited = changes.editor().edit(0, &record, &mut out).unwrap();
        (edited, out.get(start..).unwrap_or_default().to_vec())
    }

    #[test]
    fn tags_show_the_kind_and_old_ones_go() {
        let marks = DuplicateMarks::new(1, DuplicateMode::Query).telling_optical();
        let late = Steps::new();
        let changes = |tagging| OutputTransform {
            duplicates: Some((&marks, tagging)),
            families: None,
            recalibration: None,
            late: &late,
        };
        let t = |tagging, tags: &[u8], expected: Option<&[u8]>| {
            let (edited, found) = edit(&changes(tagging), tags);
            assert_eq!((edited == Edited::Changed).then_some(found.as_slice()), expected);
        };
        t(DuplicateTagging::All, b"", None);
        t(DuplicateTagging::None, b"DTZLB\0NMC\x01", Some(b"NMC\x01"));
        (&marks).mark(0, MarkedReads::Both);
        t(DuplicateTagging::None, b"NMC\x01", None);
        t(DuplicateTagging::Optical, b"NMC\x01", None);
        t(DuplicateTagging::All, b"DTZSQ\0NMC\x01", Some(b"NMC\x01DTZLB\0"));
    }

    #[test]
    fn late_steps_see_the_new_tags() {
        let marks = DuplicateMarks::new(1, DuplicateMode::Query);
        (&marks).mark(0, MarkedReads::Both);
        let mut late = Steps::new();
        late.add_record_step(RemoveTags(vec![*b"XA"]));
        late.add_record_step(KeepTags(vec![*b"DT"]));
        let duplicates = Some((&marks, DuplicateTagging::All));
        let (edited, tags) = edit(
            &OutputTransform { duplicates, families: None, recalibration: None, late: &late },
            b"NMC\x01",
        );
        assert_eq!((edited, tags.as_slice()), (Edited::Changed, &b"DTZLB\0"[..]));
    }
}
