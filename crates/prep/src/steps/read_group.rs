//! Read groups: one for all records (Picard AddOrReplaceReadGroups, elPrep's replace-read-group,
//! `samtools addreplacerg -m overwrite_all`), or for those that have none (`-m orphan_only`).

use seqloom_format::bam::edit::{append_tag, find_tag, set_tag};
use seqloom_format::bam::{AuxValue, Header};

use super::{RecordStep, StepError, StepScratch, StepStage, Verdict, first_of};

/// Which records get the read group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadGroupMode {
    /// All records. A new read group becomes the header's only one; one that the header has
    /// leaves the header as it is.
    ReplaceAll,
    /// Records without RG tag; a new read group is added to the header.
    OrphanOnly,
}

/// Sets the RG tag of records.
#[derive(Debug, Clone)]
pub(crate) struct SetReadGroup {
    id: Vec<u8>,
    /// The @RG line to add; `None` for one that the header has.
    line: Option<Vec<u8>>,
    mode: ReadGroupMode,
}

/// Makes an @RG line of a command line argument: `@RG\tID:x\tSM:y`, `ID:x\tSM:y` (tabs, real or
/// as `\t`), or elPrep's `ID:x SM:y`. With tabs, values may hold spaces.
///
/// # Errors
/// [`StepError::BadReadGroup`] when there is no ID, a tag is there twice, or a field is not
/// `TT:value`.
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
    pub(crate) fn new(
        line: &[u8],
        mode: ReadGroupMode,
        header: &Header,
    ) -> Result<Self, StepError> {
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
    pub(crate) fn existing(
        id: &[u8],
        mode: ReadGroupMode,
        header: &Header,
    ) -> Result<Self, StepError> {
        if !has_group(header, id) {
            let id = String::from_utf8_lossy(id).into_owned();
            let groups: Vec<_> =
                header.read_groups().iter().map(|it| String::from_utf8_lossy(it.id)).collect();
            let groups = first_of(groups.iter().map(AsRef::as_ref));
            return Err(StepError::UnknownReadGroup { id, groups });
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

    fn stage(&self) -> StepStage {
        StepStage::ReadGroup
    }

    fn prepare_header(&self, header: &mut Header) -> Result<(), StepError> {
        let Some(line) = &self.line else { return Ok(()) };
        if self.mode == ReadGroupMode::ReplaceAll {
            let others = header.lines().filter(|line| !line.starts_with(b"@RG\t"));
            *header = Header::parse(&others.collect::<Vec<_>>().join(&b'\n'))?;
        }
        header.add_read_group(line)?;
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
            ReadGroupMode::ReplaceAll => set_tag(body, *b"RG", value)?,
        }
        Ok(Verdict::Keep)
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_bodies::{apply, header};
    use super::super::{StepOptions, options::ReadGroupOptions};
    use super::*;

    const READS: [&str; 3] = [
        "r 4 * 0 0 * * 0 0 A I RG:Z:a X0:i:1",
        "s 4 * 0 0 * * 0 0 A I X0:i:1 RG:Z:unknown",
        "t 4 * 0 0 * * 0 0 A I",
    ];

    fn groups(line_or_id: &[u8], mode: ReadGroupMode) -> (Vec<String>, Vec<String>) {
        let read_group = Some(ReadGroupOptions { line_or_id: line_or_id.to_vec(), mode });
        let options = StepOptions { read_group, ..StepOptions::default() };
        let steps = options.build(&header()).unwrap();
        let mut header = header();
        steps.prepare_header(&mut header).unwrap();
        let ids = header.read_groups().into_iter().map(|it| String::from_utf8_lossy(it.id).into());
        let ids = ids.collect();
        let tags = |line: &String| line.split_whitespace().skip(11).collect::<Vec<_>>().join(" ");
        (ids, apply(&steps, &READS).0.iter().map(tags).collect())
    }

    #[test]
    fn all_records_or_those_without_get_the_group() {
        fn t(line: &[u8], mode: ReadGroupMode, ids: &[&str], tags: [&str; 3]) {
            assert_eq!(
                groups(line, mode),
                (ids.iter().map(|&id| id.to_owned()).collect(), tags.map(str::to_owned).to_vec())
            );
        }
        let (all, orphans) = (ReadGroupMode::ReplaceAll, ReadGroupMode::OrphanOnly);
        let replaced = ["X0:i:1 RG:Z:n", "X0:i:1 RG:Z:n", "RG:Z:n"];
        t(b"@RG\tID:n", all, &["n"], replaced);
        t(b"@RG\tID:a\tSM:new", all, &["a"], ["X0:i:1 RG:Z:a", "X0:i:1 RG:Z:a", "RG:Z:a"]);
        t(b"b", all, &["a", "b"], ["X0:i:1 RG:Z:b", "X0:i:1 RG:Z:b", "RG:Z:b"]);
        let kept = |last| ["RG:Z:a X0:i:1", "X0:i:1 RG:Z:unknown", last];
        t(b"@RG\tID:n", orphans, &["a", "b", "n"], kept("RG:Z:n"));
        t(b"b", orphans, &["a", "b"], kept("RG:Z:b"));
    }

    #[test]
    fn the_header_must_allow_the_group() {
        let refused = |result: Result<SetReadGroup, StepError>| result.unwrap_err().to_string();
        let orphans = ReadGroupMode::OrphanOnly;
        let error = refused(SetReadGroup::new(b"@RG\tID:a", orphans, &header()));
        assert!(error.contains("is in the header already"), "{error}");
        let error = refused(SetReadGroup::existing(b"c", orphans, &header()));
        let expected = "read group \"c\" is not in the header, which has \"a\", \"b\"; ";
        assert!(error.starts_with(expected) && error.ends_with("(ID:c SM:NAME)"), "{error}");
        let error = refused(SetReadGroup::new(b"@RG\tSM:x", orphans, &header()));
        assert!(error.contains("is not a read group"), "{error}");
    }

    #[test]
    fn read_groups_of_the_command_line() {
        fn t(text: &str, expected: Option<&str>) {
            let line = read_group_line(text).ok();
            assert_eq!(line.as_deref(), expected.map(str::as_bytes), "{text:?}");
        }
        t("@RG\\tID:x\\tSM:a b", Some("@RG\tID:x\tSM:a b"));
        t("@RG\tID:x", Some("@RG\tID:x"));
        t("ID:x\\tSM:y", Some("@RG\tID:x\tSM:y"));
        t("ID:group1 LB:lib1  PL:illumina", Some("@RG\tID:group1\tLB:lib1\tPL:illumina"));
        t("ID:x", Some("@RG\tID:x"));
        t("SM:y", None);
        t("", None);
        t("ID:x SM", None);
        t("@SQ\tSN:x", None);
    }
}
