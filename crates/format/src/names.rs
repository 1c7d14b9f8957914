//! What a read name, a tag, the identifier of a read group and the name of a reference sequence may
//! be. Every reader and every writer checks here, so that what one of them writes all others read.
//!
//! Source: SAM specification v1, sections 1.2.1 (reference sequences), 1.3 (header), 1.4 (QNAME),
//! 1.5 and 4.2.4 (optional fields). Names are what the specification allows, no more and no less.
//! Tags and text are what htslib reads and writes beyond it, as far as a line of SAM can hold them:
//! any two printable characters as a tag, bytes above ASCII in text (UTF-8 is common there).

use std::fmt;

/// Longest read name in bytes: `l_read_name` of BAM is one byte and counts the NUL.
pub const MAX_READ_NAME_BYTES: usize = 254;

/// Bytes at the end of a shortened read name: `_` and the digits of a hash.
const HASH_SUFFIX_BYTES: usize = 17;

/// Why bytes are not a read name (QNAME), which is `[!-?A-~]{1,254}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ReadNameProblem {
    /// There are none.
    #[error("the read has no name")]
    Empty,
    /// They are more than [`MAX_READ_NAME_BYTES`].
    #[error("the read name has {0} bytes, more than {MAX_READ_NAME_BYTES}")]
    Long(usize),
    /// One of them is `@`, or no printable ASCII character.
    #[error("{} in the read name, which SAM does not allow", Shown(*.byte))]
    Byte {
        /// The first such byte.
        byte: u8,
        /// Its index.
        at: usize,
    },
}

impl ReadNameProblem {
    /// A hint, if there is one.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Empty => None,
            Self::Long(_) => Some("with --mend-names, align, prep and columns shorten such names"),
            Self::Byte { .. } => {
                Some("with --mend-names, align, prep and columns have `_` in place of such a byte")
            }
        }
    }
}

/// A byte as a message shows it.
struct Shown(u8);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            b' ' => f.write_str("a space"),
            b'\t' => f.write_str("a tab"),
            b'\n' => f.write_str("a line end"),
            b'\r' => f.write_str("a carriage return"),
            b'!'..=b'~' => write!(f, "'{}'", char::from(self.0)),
            other => write!(f, "byte 0x{other:02x}"),
        }
    }
}

/// Treatment of read names that SAM does not allow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ReadNames {
    /// Their record is malformed.
    #[default]
    Check,
    /// They become names that SAM allows: see [`rename_read`].
    Rename,
}

/// Whether a read name may have this byte.
#[inline]
fn is_read_name_byte(byte: u8) -> bool {
    (byte > b' ') & (byte < 0x7f) & (byte != b'@')
}

/// Checks a read name.
///
/// # Errors
/// The problem.
#[inline]
pub fn check_read_name(name: &[u8]) -> Result<(), ReadNameProblem> {
    // Without an early exit: the compiler makes vector instructions of this.
    let are_good = name.iter().fold(true, |good, &byte| good & is_read_name_byte(byte));
    if are_good & (1..=MAX_READ_NAME_BYTES).contains(&name.len()) {
        return Ok(());
    }
    Err(read_name_fault(name))
}

/// Problem of a name that is not a read name.
#[cold]
fn read_name_fault(name: &[u8]) -> ReadNameProblem {
    let bad = name.iter().position(|&byte| !is_read_name_byte(byte));
    match bad.map(|at| (name[at], at)) {
        _ if name.is_empty() => ReadNameProblem::Empty,
        Some((byte, at)) => ReadNameProblem::Byte { byte, at },
        None => ReadNameProblem::Long(name.len()),
    }
}

/// Makes a read name of bytes that are not one, in place, and returns its length: `_` in place of
/// each byte that SAM does not allow; of a name longer than [`MAX_READ_NAME_BYTES`] the first 237
/// bytes, `_`, and 16 hexadecimal digits of a hash of the whole name (FNV-1a, 64 bits). Equal
/// names, those of mates, stay equal; long names that differ stay different.
pub fn rename_read(name: &mut [u8]) -> usize {
    let is_long = name.len() > MAX_READ_NAME_BYTES;
    let suffix = is_long.then(|| format!("_{:016x}", fnv1a(name)));
    for byte in name.iter_mut().filter(|byte| !is_read_name_byte(**byte)) {
        *byte = b'_';
    }
    let Some(suffix) = suffix else { return name.len() };
    let end = MAX_READ_NAME_BYTES;
    name[end - HASH_SUFFIX_BYTES..end].copy_from_slice(suffix.as_bytes());
    end
}

/// FNV-1a of 64 bits (Fowler, Noll, Vo).
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Why bytes are not the name of a reference sequence, which is
/// `[0-9A-Za-z!#$%&+./:;?@^_|~-][0-9A-Za-z!#$%&*+./:;=?@^_|~-]*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SequenceNameProblem {
    /// There are none.
    #[error("a sequence without a name")]
    Empty,
    /// One of them may not be where it is.
    #[error("{} in the name of a sequence, which SAM does not allow", Shown(*.byte))]
    Byte {
        /// The first such byte.
        byte: u8,
        /// Its index.
        at: usize,
    },
}

/// Bytes that the name of a reference sequence may have.
const SEQUENCE_NAME_BYTES: [bool; 256] = {
    let mut allowed = [false; 256];
    let mut byte = b'!';
    while byte <= b'~' {
        allowed[byte as usize] =
            !matches!(byte, b'"' | b'\'' | b'(' | b')' | b',' | b'<' | b'>' | b'['..=b']')
                && !matches!(byte, b'`' | b'{' | b'}');
        byte += 1;
    }
    allowed
};

/// Checks the name of a reference sequence.
///
/// # Errors
/// The problem.
pub fn check_sequence_name(name: &[u8]) -> Result<(), SequenceNameProblem> {
    let is_allowed = |at: usize, byte: u8| {
        SEQUENCE_NAME_BYTES[usize::from(byte)] && (at > 0 || !matches!(byte, b'*' | b'='))
    };
    let bad = name.iter().enumerate().find(|&(at, &byte)| !is_allowed(at, byte));
    match bad {
        _ if name.is_empty() => Err(SequenceNameProblem::Empty),
        Some((at, &byte)) => Err(SequenceNameProblem::Byte { byte, at }),
        None => Ok(()),
    }
}

/// Whether these may be a tag: two printable characters. The specification has a letter, and a
/// letter or digit; htslib writes and reads others.
#[must_use]
pub fn is_tag(tag: [u8; 2]) -> bool {
    tag.iter().all(u8::is_ascii_graphic)
}

/// Whether this may be the value of a tag of type `A`.
#[must_use]
pub(crate) fn is_character(byte: u8) -> bool {
    byte.is_ascii_graphic()
}

/// Whether these may be the value of a tag of type `Z`, or of a field of a header line: no control
/// characters, because a tab or a line end would begin another field or record of SAM text.
#[must_use]
#[inline]
pub(crate) fn is_text(text: &[u8]) -> bool {
    text.iter().fold(true, |good, &byte| good & (byte >= b' ') & (byte != 0x7f))
}

/// Whether these may be the value of a tag of type `H`: an even number of hexadecimal digits.
#[must_use]
pub(crate) fn is_hex(digits: &[u8]) -> bool {
    digits.len().is_multiple_of(2) && digits.iter().all(u8::is_ascii_hexdigit)
}

/// Size in bytes of an element of a tag of type `B`; `None` if this is not the type of one.
#[must_use]
pub(crate) fn array_element_bytes(subtype: u8) -> Option<usize> {
    Some(match subtype {
        b'c' | b'C' => 1,
        b's' | b'S' => 2,
        b'i' | b'I' | b'f' => 4,
        _ => return None,
    })
}

/// Whether these may be the identifier of a read group, which records have as text of RG.
#[must_use]
pub(crate) fn is_read_group_id(id: &[u8]) -> bool {
    !id.is_empty() && is_text(id)
}

#[cfg(test)]
#[path = "names_tests.rs"]
mod tests;
