//! What the id of a read of raw signal may be: the one rule that readers and writers of SLOW5,
//! BLOW5, FAST5 and POD5 ask.
//!
//! The id is the name of the read's record in a BAM file, where the SAM specification allows
//! `[!-?A-~]{1,254}`. `slow5tools f2s` wants a letter or digit first, since `#` and `@` begin the
//! lines of a SLOW5 header; and FAST5 makes a group's name of the id, in which `/` would part two
//! groups (HDF5 File Format Specification, version 3.0, III.C).

use crate::names::MAX_READ_NAME_BYTES;

/// Most bytes of a read id.
const MAX_READ_ID_BYTES: usize = MAX_READ_NAME_BYTES;
/// Replaces a byte that an id may not have.
const REPLACEMENT: u8 = b'_';
/// Begins an id that would else begin with neither letter nor digit.
const PREFIX: u8 = b'r';
/// Characters of a bad id that an error shows.
const SHOWN_BYTES: usize = 60;

/// Why bytes are no read id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadIdError {
    /// There are none.
    #[error("the read id is empty; `seqloom signal convert --mend-names` writes r")]
    Empty,
    /// There are more than [`MAX_READ_NAME_BYTES`].
    #[error(
        "the read id {shown:?}... has {length} bytes, more than {MAX_READ_ID_BYTES}; `seqloom \
         signal convert --mend-names` cuts it off"
    )]
    TooLong {
        /// How it begins.
        shown: String,
        /// Bytes that it has.
        length: usize,
    },
    /// The first is neither letter nor digit.
    #[error(
        "the read id {0:?} begins with neither letter nor digit; `seqloom signal convert \
         --mend-names` puts an r before it"
    )]
    Start(String),
    /// One is not of `!` to `~`, or is `@` or `/`.
    #[error(
        "the read id {id:?} has the byte {byte:#04x}; it may have those of ! to ~ but @ and /; \
         `seqloom signal convert --mend-names` puts _ for others"
    )]
    Byte {
        /// The id, cut to some characters.
        id: String,
        /// The first such byte.
        byte: u8,
    },
}

/// Whether bytes are a read id.
///
/// # Errors
/// The first rule that they break.
pub fn check(id: &[u8]) -> Result<(), ReadIdError> {
    let shown = || String::from_utf8_lossy(&id[..id.len().min(SHOWN_BYTES)]).into_owned();
    if id.len() > MAX_READ_ID_BYTES {
        return Err(ReadIdError::TooLong { shown: shown(), length: id.len() });
    }
    if let Some(&byte) = id.iter().find(|&&byte| !is_possible(byte)) {
        return Err(ReadIdError::Byte { id: shown(), byte });
    }
    match id.first() {
        None => Err(ReadIdError::Empty),
        Some(first) if !first.is_ascii_alphanumeric() => Err(ReadIdError::Start(shown())),
        Some(_) => Ok(()),
    }
}

/// Makes a read id of any bytes; what is one already stays as it is. Two ids that differ may
/// become the same.
pub fn rename(id: &mut Vec<u8>) {
    for byte in id.iter_mut().filter(|byte| !is_possible(**byte)) {
        *byte = REPLACEMENT;
    }
    if !id.first().is_some_and(u8::is_ascii_alphanumeric) {
        id.insert(0, PREFIX);
    }
    id.truncate(MAX_READ_ID_BYTES);
}

/// Whether an id may have the byte, at any place but the first.
fn is_possible(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'@' | b'/')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_read_id_is_a_read_name_that_every_format_can_hold() {
        let t = |id: &[u8], expected: Option<&str>, renamed: &[u8]| {
            let said = check(id).map_err(|error| error.to_string());
            match (expected, &said) {
                (None, Ok(())) => {}
                (Some(word), Err(text)) => {
                    assert!(text.contains(word) && text.contains("--mend-names"), "{text}");
                }
                _ => panic!("{:?}: {said:?}", String::from_utf8_lossy(id)),
            }
            let mut id = id.to_vec();
            rename(&mut id);
            assert_eq!(id, renamed);
        };
        t(b"a649a4ae-c43d-492a-b6a1-a5b8b8076be4", None, b"a649a4ae-c43d-492a-b6a1-a5b8b8076be4");
        // squigulator's, of simulated reads.
        t(b"S1_1!chr22!4500000!4510000!+", None, b"S1_1!chr22!4500000!4510000!+");
        t(b"0", None, b"0");
        t(&[b'z'; 254], None, &[b'z'; 254]);
        t(b"", Some("is empty"), b"r");
        t(&[b'z'; 255], Some("has 255 bytes, more than 254"), &[b'z'; 254]);
        t(b"@x", Some("has the byte 0x40"), b"r_x");
        t(b"#x", Some("begins with neither letter nor digit"), b"r#x");
        t(b"*", Some("\"*\" begins with neither"), b"r*");
        t(b"..", Some("begins with neither"), b"r..");
        t(b"a/1", Some("has the byte 0x2f"), b"a_1");
        t(b"a b", Some("has the byte 0x20"), b"a_b");
        t(b"a\tb\n", Some("has the byte 0x09"), b"a_b_");
        t("\u{3bc}".as_bytes(), Some("has the byte 0xce"), b"r__");
        t(b"\0", Some("has the byte 0x00"), b"r_");
    }

    proptest! {
        #[test]
        fn what_is_made_of_any_bytes_is_a_read_id(
            id in prop::collection::vec(any::<u8>(), 0..300),
        ) {
            let (mut renamed, is_one) = (id.clone(), check(&id).is_ok());
            rename(&mut renamed);
            prop_assert_eq!(check(&renamed), Ok(()));
            prop_assert_eq!(renamed == id, is_one);
            // Also a read name of SAM.
            prop_assert!(renamed.iter().all(|byte| matches!(byte, b'!'..=b'?' | b'A'..=b'~')));
        }
    }
}
