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
    /// That of the bases at hand.
    pub found: String,
}

impl Header {
    /// Gives every @SQ line the M5 of its sequence, in their order; those that have one keep it.
    ///
    /// # Errors
    /// The first sequence whose M5 is another one.
    pub fn set_sequence_digests(&mut self, digests: &[[u8; 16]]) -> Result<(), OtherSequence> {
        let lines = self.lines_mut().iter_mut().filter(|it| line::kind(it) == b"SQ");
        for (text, digest) in lines.zip(digests) {
            let found: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            match line::value(text, *b"M5") {
                None => {
                    let mut with = text.to_vec();
                    line::push(&mut with, *b"M5", found.as_bytes());
                    *text = with.into();
                }
                Some(stated) if stated.eq_ignore_ascii_case(found.as_bytes()) => {}
                Some(stated) => {
                    let lossy = |bytes| String::from_utf8_lossy(bytes).into_owned();
                    let name = lossy(line::value(text, *b"SN").unwrap_or_default());
                    return Err(OtherSequence { name, stated: lossy(stated), found });
                }
            }
        }
        Ok(())
    }
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
        // Fewer digests than lines: the others stay.
        let mut none = header.clone();
        none.set_sequence_digests(&[]).unwrap();
        assert_eq!(none, header);
    }
}
