//! What the input says of a read besides its bases, as BAM tags.

use seqloom_format::bam::{AuxFields, RecordError};
use seqloom_format::sam::{SamError, append_tag};

use super::umi::{self, UmiRules};

/// Tags that the aligner writes, or that describe an alignment: the input's are stale.
const ALIGNER_TAGS: [&[u8; 2]; 12] =
    [b"NM", b"MD", b"MC", b"MQ", b"AS", b"XS", b"SA", b"XA", b"YF", b"pa", b"HN", b"PG"];

/// What becomes of the input's annotations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum InputTags {
    /// They are left out.
    #[default]
    Drop,
    /// FASTQ comments hold tags in SAM's form and are appended (bwa's `-C`).
    Comments,
    /// Auxiliary fields of unaligned BAM are kept.
    Fields,
}

/// What we add to every record, and which we leave out.
#[derive(Debug, Clone, Default)]
pub struct RecordTags {
    /// Identifier of the read group that all records get (`-R`).
    pub read_group: Option<Vec<u8>>,
    /// What becomes of the input's own annotations.
    pub input: InputTags,
    /// The UMIs that records get.
    pub umi: Option<UmiRules>,
    /// Reads and pairs of which nothing is placed get no record.
    pub drops_unaligned: bool,
}

impl RecordTags {
    /// Tags of the input that are replaced by ours. Comments keep their RG, as in bwa.
    pub(crate) fn replaced(&self) -> Vec<[u8; 2]> {
        let read_group = self.read_group.is_some() && self.input == InputTags::Fields;
        let umi = self.umi.as_ref().map_or(&[][..], |_| &umi::TAGS);
        umi.iter().copied().chain(read_group.then_some(*b"RG")).collect()
    }
}

/// Why an annotation is no tag.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TagError {
    /// Of a comment.
    #[error("{0} in its comment; -C takes comments of SAM tags, such as BC:Z:ACGT")]
    Comment(SamError),
    /// Of unaligned BAM.
    #[error(transparent)]
    Field(#[from] RecordError),
}

impl InputTags {
    /// Appends `extra` of one read as BAM fields, without those that are `replaced`.
    ///
    /// # Errors
    /// A comment that is no list of SAM tags; malformed fields.
    pub fn append(
        self,
        extra: &[u8],
        replaced: &[[u8; 2]],
        out: &mut Vec<u8>,
    ) -> Result<(), TagError> {
        match self {
            Self::Drop => Ok(()),
            Self::Comments => append_comment(extra, replaced, out),
            Self::Fields => append_fields(extra, replaced, out),
        }
    }
}

fn append_fields(aux: &[u8], replaced: &[[u8; 2]], out: &mut Vec<u8>) -> Result<(), TagError> {
    let mut fields = AuxFields::of(aux);
    let mut start = 0;
    while let Some(field) = fields.next() {
        let (tag, _) = field?;
        if !ALIGNER_TAGS.contains(&&tag) && !replaced.contains(&tag) {
            out.extend_from_slice(&aux[start..fields.offset()]);
        }
        start = fields.offset();
    }
    Ok(())
}

fn append_comment(comment: &[u8], replaced: &[[u8; 2]], out: &mut Vec<u8>) -> Result<(), TagError> {
    for text in comment.split(|&b| b == b'\t').filter(|text| !text.is_empty()) {
        let start = out.len();
        append_tag(text, out).map_err(TagError::Comment)?;
        if replaced.iter().any(|tag| out[start..].starts_with(tag)) {
            out.truncate(start);
        }
    }
    Ok(())
}

/// Tags that the reads of consecutive templates brought along, encoded for BAM.
#[derive(Debug, Default)]
pub struct ReadTags {
    bytes: Vec<u8>,
    /// Two for each template: the ends of the tags of its first and of its second read.
    ends: Vec<usize>,
}

impl ReadTags {
    /// Of both reads of the template with this index; none where none were taken.
    pub(crate) fn of(&self, template: usize) -> [&[u8]; 2] {
        let Some(&[first, second]) = self.ends.as_chunks().0.get(template) else {
            return [&[], &[]];
        };
        let start = (2 * template).checked_sub(1).map_or(0, |before| self.ends[before]);
        [&self.bytes[start..first], &self.bytes[first..second]]
    }

    /// Memory that they take.
    pub(crate) fn held_bytes(&self) -> u64 {
        (self.bytes.capacity() + size_of::<usize>() * self.ends.capacity()) as u64
    }

    /// Takes what the input said of the next read: the first or the second of its template, `None`
    /// where there is no second.
    pub(crate) fn push(
        &mut self,
        extra: Option<&[u8]>,
        kind: InputTags,
        replaced: &[[u8; 2]],
    ) -> Result<(), TagError> {
        let taken = kind.append(extra.unwrap_or_default(), replaced, &mut self.bytes);
        self.ends.push(self.bytes.len());
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_become_fields_or_errors() {
        fn t(comment: &str, expected: Option<&[u8]>) {
            let mut encoded = Vec::new();
            let taken = InputTags::Comments.append(comment.as_bytes(), &[], &mut encoded);
            assert_eq!(taken.ok().map(|()| encoded.as_slice()), expected, "{comment}");
        }
        t("", Some(b""));
        t("BC:Z:ACGT", Some(b"BCZACGT\0"));
        t("BC:Z:A C\tXI:i:-2", Some(b"BCZA C\0XIc\xfe"));
        t("XI:i:4000000000", Some(b"XII\x00\x28\x6b\xee"));
        t("XA:A:c", Some(b"XAAc"));
        t("XB:B:c,1,-1", Some(b"XBBc\x02\0\0\0\x01\xff"));
        t("1:N:0:ACGT", None);
        t("XI:i:99999999999", None);
        t("XI:i:x", None);
        t("XB:B:q,1", None);
        t("XB:B:q", None);
        t("XB:B::", None);
        t("XB:B:c", Some(b"XBBc\0\0\0\0"));
        t("XH:H:1AE3\tXZ:Z:\u{e9}", Some(b"XHH1AE3\0XZZ\xc3\xa9\0"));
        for bad in ["XX:H:ABC", "XX:H:AG", "XX:A: ", "XX:A:ab", "XX:Z:a\rb", "XX:Z:\x07", "X :Z:a"]
        {
            t(bad, None);
        }
    }

    #[test]
    fn tags_are_those_of_the_read_they_came_with() {
        let mut tags = ReadTags::default();
        for extra in [Some("BC:Z:A"), None, Some(""), Some("XI:i:1"), Some("BC:Z:C"), Some("")] {
            tags.push(extra.map(str::as_bytes), InputTags::Comments, &[]).unwrap();
        }
        assert_eq!(tags.of(0), [&b"BCZA\0"[..], b""]);
        assert_eq!(tags.of(1), [&b""[..], b"XIC\x01"]);
        assert_eq!(tags.of(2), [&b"BCZC\0"[..], b""]);
        assert_eq!(tags.of(3), [b"", b""]);
    }

    #[test]
    fn stale_fields_of_unaligned_input_are_left_out() {
        let t = |kind: InputTags, extra: &[u8], replaced: [u8; 2], expected: &[u8]| {
            let mut out = Vec::new();
            kind.append(extra, &[replaced], &mut out).unwrap();
            assert_eq!(out, expected);
        };
        let aux = b"RGZg\0NMC\x01RXZAC\0";
        t(InputTags::Fields, aux, *b"XX", b"RGZg\0RXZAC\0");
        t(InputTags::Fields, aux, *b"RG", b"RXZAC\0");
        t(InputTags::Fields, aux, *b"RX", b"RGZg\0");
        t(InputTags::Comments, b"BC:Z:A\tRX:Z:AC\tXX:i:1", *b"RX", b"BCZA\0XXC\x01");
    }
}
