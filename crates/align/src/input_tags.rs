//! What the input says of a read besides its bases, as BAM tags.

use seqloom_format::bam::AuxFields;

/// Tags that the aligner writes, or that describe an alignment: the input's are stale.
const ALIGNER_TAGS: [&[u8; 2]; 11] =
    [b"NM", b"MD", b"MC", b"MQ", b"AS", b"XS", b"SA", b"XA", b"pa", b"HN", b"PG"];

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

/// Why an annotation is no tag.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no SAM tag (TAG:TYPE:VALUE); -C takes comments such as BC:Z:ACGT")]
pub struct TagError(String);

impl InputTags {
    /// Whether annotations must be kept until records are emitted.
    #[must_use]
    pub fn wanted(self) -> bool {
        self != Self::Drop
    }

    /// `extra` of one read as BAM fields, without those that are `replaced`.
    ///
    /// # Errors
    /// A comment that is no list of SAM tags; malformed fields.
    pub fn encode(self, extra: &[u8], replaced: &[[u8; 2]]) -> Result<Vec<u8>, TagError> {
        match self {
            Self::Drop => Ok(Vec::new()),
            Self::Comments => encode_comment(extra, replaced),
            Self::Fields => kept_fields(extra, replaced),
        }
    }
}

fn kept_fields(aux: &[u8], replaced: &[[u8; 2]]) -> Result<Vec<u8>, TagError> {
    let mut kept = Vec::with_capacity(aux.len());
    let mut fields = AuxFields::of(aux);
    let mut start = 0;
    while let Some(field) = fields.next() {
        let (tag, _) = field.map_err(|e| TagError(e.to_string()))?;
        if !ALIGNER_TAGS.contains(&&tag) && !replaced.contains(&tag) {
            kept.extend_from_slice(&aux[start..fields.offset()]);
        }
        start = fields.offset();
    }
    Ok(kept)
}

fn encode_comment(comment: &[u8], replaced: &[[u8; 2]]) -> Result<Vec<u8>, TagError> {
    let mut out = Vec::with_capacity(comment.len() + 1);
    for text in comment.split(|&b| b == b'\t').filter(|text| !text.is_empty()) {
        let start = out.len();
        encode_tag(text, &mut out)
            .ok_or_else(|| TagError(String::from_utf8_lossy(text).into_owned()))?;
        if replaced.iter().any(|tag| out[start..].starts_with(tag)) {
            out.truncate(start);
        }
    }
    Ok(out)
}

/// One `TAG:TYPE:VALUE` (SAM specification 1.5).
fn encode_tag(text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let &[first, second, b':', kind, b':', ref value @ ..] = text else { return None };
    if !first.is_ascii_alphabetic() || !second.is_ascii_alphanumeric() {
        return None;
    }
    out.extend_from_slice(&[first, second]);
    let as_text = || std::str::from_utf8(value).ok();
    match kind {
        b'A' => {
            let &[character @ b'!'..=b'~'] = value else { return None };
            out.extend_from_slice(&[b'A', character]);
        }
        b'i' => {
            let number: i64 = as_text()?.parse().ok()?;
            match i32::try_from(number) {
                Ok(number) => out.push_all(b'i', &number.to_le_bytes()),
                Err(_) => out.push_all(b'I', &u32::try_from(number).ok()?.to_le_bytes()),
            }
        }
        b'f' => out.push_all(b'f', &as_text()?.parse::<f32>().ok()?.to_le_bytes()),
        b'Z' | b'H' => {
            if !value.iter().all(|b| (b' '..=b'~').contains(b)) {
                return None;
            }
            out.push_all(kind, value);
            out.push(0);
        }
        b'B' => encode_array(as_text()?, out)?,
        _ => return None,
    }
    Some(())
}

fn encode_array(value: &str, out: &mut Vec<u8>) -> Option<()> {
    let mut parts = value.split(',');
    let &[subtype @ (b'c' | b'C' | b's' | b'S' | b'i' | b'I' | b'f')] = parts.next()?.as_bytes()
    else {
        return None;
    };
    let mut elements = Vec::new();
    let mut count = 0u32;
    for part in parts {
        count += 1;
        match subtype {
            b'c' => elements.extend(part.parse::<i8>().ok()?.to_le_bytes()),
            b'C' => elements.extend(part.parse::<u8>().ok()?.to_le_bytes()),
            b's' => elements.extend(part.parse::<i16>().ok()?.to_le_bytes()),
            b'S' => elements.extend(part.parse::<u16>().ok()?.to_le_bytes()),
            b'i' => elements.extend(part.parse::<i32>().ok()?.to_le_bytes()),
            b'I' => elements.extend(part.parse::<u32>().ok()?.to_le_bytes()),
            b'f' => elements.extend(part.parse::<f32>().ok()?.to_le_bytes()),
            _ => return None,
        }
    }
    out.extend_from_slice(&[b'B', subtype]);
    out.extend_from_slice(&count.to_le_bytes());
    out.extend_from_slice(&elements);
    Some(())
}

trait PushAll {
    fn push_all(&mut self, kind: u8, value: &[u8]);
}

impl PushAll for Vec<u8> {
    fn push_all(&mut self, kind: u8, value: &[u8]) {
        self.push(kind);
        self.extend_from_slice(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_become_fields_or_errors() {
        fn t(comment: &str, expected: Option<&[u8]>) {
            let encoded = InputTags::Comments.encode(comment.as_bytes(), &[]).ok();
            assert_eq!(encoded.as_deref(), expected, "{comment}");
        }
        t("", Some(b""));
        t("BC:Z:ACGT", Some(b"BCZACGT\0"));
        t("BC:Z:A C\tXI:i:-2", Some(b"BCZA C\0XIi\xfe\xff\xff\xff"));
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
    }

    #[test]
    fn stale_fields_of_unaligned_input_are_left_out() {
        let aux = b"RGZg\0NMC\x01RXZAC\0";
        assert_eq!(InputTags::Fields.encode(aux, &[]).unwrap(), b"RGZg\0RXZAC\0");
        assert_eq!(InputTags::Fields.encode(aux, &[*b"RG"]).unwrap(), b"RXZAC\0");
        assert_eq!(InputTags::Fields.encode(aux, &[*b"RX"]).unwrap(), b"RGZg\0");
        let comment = InputTags::Comments.encode(b"BC:Z:A\tRX:Z:AC\tXX:i:1", &[*b"RX"]);
        assert_eq!(comment.unwrap(), b"BCZA\0XXi\x01\0\0\0");
    }
}
