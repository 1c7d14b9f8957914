//! The tags MD and NM of a path.

use super::{DELETION, INSERTION, MATCH};

/// MD and NM of a path.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(in super::super) struct MdNm {
    /// As in the tag MD.
    pub(in super::super) text: Vec<u8>,
    /// As in the tag NM.
    pub(in super::super) edits: i32,
}

impl MdNm {
    /// Of a path of two sequences of codes, in order of the forward strand; on the reverse strand
    /// the letters are the complements of the codes. A deletion at an end is none.
    pub(super) fn find(&mut self, cigar: &[u32], query: &[u8], target: &[u8], on_reverse: bool) {
        let letters = if on_reverse { b"TGCAN" } else { b"ACGTN" };
        let letter = |code: u8| letters[usize::from(code.min(4))];
        self.text.clear();
        self.edits = 0;
        let (mut query, mut target) = (query, target);
        let mut equal = 0;
        for (at, operation) in cigar.iter().enumerate() {
            let length = (operation >> 4) as usize;
            match operation & 0xF {
                MATCH => {
                    let (ours, theirs);
                    (ours, query) = query.split_at(length);
                    (theirs, target) = target.split_at(length);
                    for (our, their) in ours.iter().zip(theirs) {
                        if our == their {
                            equal += 1;
                            continue;
                        }
                        push_number(&mut self.text, equal);
                        self.text.push(letter(*their));
                        self.edits += 1;
                        equal = 0;
                    }
                }
                DELETION => {
                    let deleted;
                    (deleted, target) = target.split_at(length);
                    if at > 0 && at + 1 < cigar.len() {
                        push_number(&mut self.text, equal);
                        self.text.push(b'^');
                        self.text.extend(deleted.iter().map(|&code| letter(code)));
                        self.edits += length as i32;
                        equal = 0;
                    }
                }
                INSERTION => {
                    query = &query[length..];
                    self.edits += length as i32;
                }
                _ => {}
            }
        }
        push_number(&mut self.text, equal);
    }
}

/// A number in decimal digits.
pub(in super::super) fn push_number(out: &mut Vec<u8>, number: u64) {
    const MOST_DIGITS: usize = 20;
    let mut digits = [0; MOST_DIGITS];
    let (mut rest, mut first) = (number, MOST_DIGITS);
    loop {
        first -= 1;
        digits[first] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[first..]);
}
