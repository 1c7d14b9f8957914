//! MD5s of the header's sequences (M5 of @SQ, SAM specification 1.3): what says which reference
//! records are on, where names do not.

use super::header::Header;
use super::header_line as line;

/// A sequence is another than the header says.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "sequence {name} has the MD5 {found}, but the header's M5 of it is {stated}; is it another \
     reference?"
)]
pub struct OtherSequence {
    /// SN
    pub name: String,
    /// M5 of the header.
    pub stated: String,
    /// Digest of the bases at hand.
    pub found: String,
}

impl Header {
    /// Compares the M5 of every @SQ line that has one with the MD5 of its sequence, as far as that
    /// is known.
    ///
    /// # Errors
    /// The first sequence whose M5 is another one.
    pub fn check_sequence_digests(
        &self,
        digest_of: impl Fn(usize) -> Option<[u8; 16]>,
    ) -> Result<(), OtherSequence> {
        let lines = self.lines().filter(|it| line::kind(it) == b"SQ");
        for (index, text) in lines.enumerate() {
            let Some(stated) = line::value(text, *b"M5") else { continue };
            if let Some(digest) = digest_of(index) {
                check_one(text, stated, &hexadecimal(&digest))?;
            }
        }
        Ok(())
    }

    /// The M5 of every @SQ line.
    #[must_use]
    pub fn stated_digests(&self) -> Vec<Option<String>> {
        let lines = self.lines().filter(|it| line::kind(it) == b"SQ");
        let stated = |text| line::value(text, *b"M5");
        lines.map(|it| Some(String::from_utf8_lossy(stated(it)?).into_owned())).collect()
    }

    /// Gives every @SQ line the M5 of its sequence, in their order; those that have one keep it.
    ///
    /// # Errors
    /// The first sequence whose M5 is another one.
    pub fn set_sequence_digests(&mut self, digests: &[[u8; 16]]) -> Result<(), OtherSequence> {
        let lines = self.lines_mut().iter_mut().filter(|it| line::kind(it) == b"SQ");
        for (text, digest) in lines.zip(digests) {
            let found = hexadecimal(digest);
            match line::value(text, *b"M5") {
                None => {
                    let mut with = text.to_vec();
                    line::push(&mut with, *b"M5", found.as_bytes());
                    *text = with.into();
                }
                Some(stated) => check_one(text, stated, &found)?,
            }
        }
        Ok(())
    }
}

/// An MD5 as M5 has it.
#[must_use]
pub fn hexadecimal(digest: &[u8; 16]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Compares the M5 of an @SQ line with that of the bases.
fn check_one(text: &[u8], stated: &[u8], found: &str) -> Result<(), OtherSequence> {
    if stated.eq_ignore_ascii_case(found.as_bytes()) {
        return Ok(());
    }
    let lossy = |bytes| String::from_utf8_lossy(bytes).into_owned();
    let name = lossy(line::value(text, *b"SN").unwrap_or_default());
    Err(OtherSequence { name, stated: lossy(stated), found: found.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_added_kept_or_refused() {
        let text = "@HD\tVN:1.6\n@SQ\tSN:a\tLN:1\n@CO\tM5:no\n@SQ\tSN:b\tLN:1\tM5:0A0b\tAS:x\n";
        let ends = |end: [u8; 2]| {
            let mut digest = [0; 16];
            digest[..2].copy_from_slice(&end);
            digest
        };
        let zeros = "0".repeat(28);
        let text = text.replace("0A0b", &format!("0A0b{zeros}"));
        let header = Header::parse(text.as_bytes()).unwrap();
        let mut with = header.clone();
        with.set_sequence_digests(&[ends([1, 0xff]), ends([10, 11])]).unwrap();
        let expected = text.replace("LN:1\n@CO", &format!("LN:1\tM5:01ff{zeros}\n@CO"));
        assert_eq!(String::from_utf8(with.text()).unwrap(), expected);
        let error = header.clone().set_sequence_digests(&[[0; 16], ends([10, 12])]).unwrap_err();
        assert_eq!((error.name.as_str(), &error.found[..4]), ("b", "0a0c"));
        let digests = [ends([1, 0xff]), ends([10, 11]), ends([10, 12])];
        assert_eq!(header.check_sequence_digests(|index| digests.get(index).copied()), Ok(()));
        assert_eq!(header.check_sequence_digests(|_| None), Ok(()));
        let other = header.check_sequence_digests(|index| digests.get(index + 1).copied());
        assert_eq!(other, Err(error));
        // Fewer digests than lines: the others stay.
        let mut none = header.clone();
        none.set_sequence_digests(&[]).unwrap();
        assert_eq!(none, header);
    }
}
