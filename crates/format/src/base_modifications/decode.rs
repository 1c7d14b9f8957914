//! From MM and ML to positions.

use super::{ModCode, ModError, ModGroup, ModStrand, SkippedBases, as_sequenced};
use crate::bam::{AuxValue, RecordRef};

/// One modification of one base.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Called {
    /// Of the base, on the read as sequenced.
    pub position: usize,
    /// Its list.
    pub group: ModGroup,
    /// The modification.
    pub code: ModCode,
    /// Value `n` of ML stands for a probability from n/256 to (n+1)/256; none without ML.
    pub probability: Option<u8>,
}

/// Text of MM, and how far it is read.
struct Text<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Text<'a> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// The next byte if it is one of those.
    fn take(&mut self, accepts: impl Fn(u8) -> bool) -> Option<u8> {
        let byte = self.peek().filter(|&byte| accepts(byte))?;
        self.at += 1;
        Some(byte)
    }

    /// All bytes up to the first that is none of those.
    fn take_all(&mut self, accepts: impl Fn(u8) -> bool) -> &'a [u8] {
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(|&byte| !accepts(byte)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    fn number(&mut self, required: &'static str) -> Result<u32, ModError> {
        let at = self.at;
        let digits = self.take_all(|byte| byte.is_ascii_digit());
        let number = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
        number.ok_or(ModError::Syntax { at, required })
    }

    fn expected(&self, required: &'static str) -> ModError {
        ModError::Syntax { at: self.at, required }
    }
}

/// Codes of a list: letters, one modification each, or one number.
enum Codes<'a> {
    Letters(&'a [u8]),
    Chebi(u32),
}

impl Codes<'_> {
    fn count(&self) -> usize {
        match self {
            Self::Letters(letters) => letters.len(),
            Self::Chebi(_) => 1,
        }
    }

    fn at(&self, index: usize) -> ModCode {
        match self {
            Self::Letters(letters) => ModCode::Letter(letters[index]),
            Self::Chebi(number) => ModCode::Chebi(*number),
        }
    }
}

/// Letters that name a modification: those of the specification are lower case, and the ambiguity
/// codes are those of the bases.
fn is_code(byte: u8) -> bool {
    byte.is_ascii_lowercase() || matches!(byte, b'A' | b'C' | b'G' | b'T' | b'U' | b'N')
}

fn head<'a>(text: &mut Text<'a>) -> Result<(ModGroup, Codes<'a>), ModError> {
    let is_base = |byte| matches!(byte, b'A' | b'C' | b'G' | b'T' | b'U' | b'N');
    let base = text.take(is_base).ok_or_else(|| text.expected("one of A, C, G, T, U and N"))?;
    let sign = text.take(|byte| matches!(byte, b'+' | b'-'));
    let strand = match sign {
        Some(b'+') => ModStrand::Same,
        Some(_) => ModStrand::Opposite,
        None => return Err(text.expected("+ or -")),
    };
    let codes = if text.peek().is_some_and(|byte| byte.is_ascii_digit()) {
        Codes::Chebi(text.number("a number of ChEBI")?)
    } else {
        Codes::Letters(text.take_all(is_code))
    };
    if codes.count() == 0 {
        return Err(text.expected("the code of a modification"));
    }
    let skipped = match text.take(|byte| matches!(byte, b'.' | b'?')) {
        Some(b'?') => SkippedBases::Unknown,
        _ => SkippedBases::Unmodified,
    };
    Ok((ModGroup { base, strand, skipped }, codes))
}

/// Appends the modifications that MM (text) and ML (values) describe of a read whose bases as
/// sequenced are `bases`, in upper case letters, to `called`, in the order of the tags.
///
/// # Errors
/// A [`ModError`]; `called` is then as it was.
pub fn decode(
    mm: &[u8],
    ml: Option<&[u8]>,
    bases: &[u8],
    called: &mut Vec<Called>,
) -> Result<(), ModError> {
    let start = called.len();
    let decoded = decode_lists(mm, ml, bases, called).and_then(|()| {
        let expected = called.len() - start;
        let found = ml.map_or(expected, <[u8]>::len);
        if found == expected { Ok(()) } else { Err(ModError::Probabilities { expected, found }) }
    });
    if decoded.is_err() {
        called.truncate(start);
    }
    decoded
}

fn decode_lists(
    mm: &[u8],
    ml: Option<&[u8]>,
    bases: &[u8],
    called: &mut Vec<Called>,
) -> Result<(), ModError> {
    let start = called.len();
    let mut text = Text { bytes: mm, at: 0 };
    while text.peek().is_some() {
        let (group, codes) = head(&mut text)?;
        let mut counted = (0..bases.len()).filter(|&at| group.counts(bases[at]));
        while text.take(|byte| byte == b',').is_some() {
            let at = text.at;
            let skip = text.number("a number of bases")? as usize;
            let Some(position) = counted.nth(skip) else {
                let have = bases.iter().filter(|&&base| group.counts(base)).count();
                return Err(ModError::BeyondRead { at, have });
            };
            for index in 0..codes.count() {
                let value = ml.map(|ml| ml.get(called.len() - start));
                // Too few values are reported at the end, with their number.
                let probability = value.map(|value| value.copied().unwrap_or_default());
                called.push(Called { position, group, code: codes.at(index), probability });
            }
        }
        text.take(|byte| byte == b';').ok_or_else(|| text.expected("a comma or semicolon"))?;
    }
    Ok(())
}

/// The first of the tags that a record has: today's name, or that of the draft.
fn tag<'a>(record: &RecordRef<'a>, names: [[u8; 2]; 2]) -> Result<Option<AuxValue<'a>>, ModError> {
    Ok(match record.find_aux(names[0])? {
        None => record.find_aux(names[1])?,
        found => found,
    })
}

/// Appends the modifications that a record's tags describe to `called`; nothing where it has none.
/// `bases` is scratch, and holds the read as sequenced afterwards.
///
/// # Errors
/// A [`ModError`]; among others when the read was cut since the tags were written.
pub fn decode_record(
    record: &RecordRef<'_>,
    bases: &mut Vec<u8>,
    called: &mut Vec<Called>,
) -> Result<(), ModError> {
    let mm = match tag(record, [*b"MM", *b"Mm"])? {
        None => return Ok(()),
        Some(AuxValue::String(text)) => text,
        Some(_) => return Err(ModError::TagType { tag: "MM" }),
    };
    let ml = match tag(record, [*b"ML", *b"Ml"])? {
        None => None,
        Some(AuxValue::Array(array)) if array.subtype == b'C' => Some(array.bytes),
        Some(_) => return Err(ModError::TagType { tag: "ML" }),
    };
    if let Some(value) = record.find_aux(*b"MN")? {
        let tagged = value.as_int().ok_or(ModError::TagType { tag: "MN" })?;
        let found = record.base_count();
        if usize::try_from(tagged) != Ok(found) {
            return Err(ModError::OtherLength { tagged, found });
        }
    }
    as_sequenced(record, bases);
    decode(mm, ml, bases, called)
}
