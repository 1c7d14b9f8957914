//! The tags MD and NM of a path.

use super::super::differences::differences;
use super::{DELETION, INSERTION, MATCH};

/// Letters of codes, as they are and complemented.
const LETTERS: [&[u8; 5]; 2] = [b"ACGTN", b"TGCAN"];

/// MD and NM of a path.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(in super::super) struct MdNm {
    /// As in the tag MD.
    pub(in super::super) text: Vec<u8>,
    /// As in the tag NM.
    pub(in super::super) edits: i32,
    /// Working memory.
    places: Vec<usize>,
}

impl MdNm {
    /// Of a path of two sequences of codes, in order of the forward strand; on the reverse strand
    /// the letters are the complements of the codes. A deletion at an end is none.
    pub(super) fn find(&mut self, cigar: &[u32], query: &[u8], target: &[u8], on_reverse: bool) {
        let letters = LETTERS[usize::from(on_reverse)];
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
                    let mut after = 0;
                    for at in differences(ours, theirs) {
                        push_number(&mut self.text, equal + (at - after) as u64);
                        self.text.push(letter(theirs[at]));
                        self.edits += 1;
                        (equal, after) = (0, at + 1);
                    }
                    equal += (length - after) as u64;
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

    /// Of a path without a gap: two sequences of one length, both of the strand of the read.
    pub(super) fn find_straight(&mut self, query: &[u8], target: &[u8], on_reverse: bool) {
        let letters = LETTERS[usize::from(on_reverse)];
        let last = query.len().saturating_sub(1);
        self.text.clear();
        self.places.clear();
        self.places.extend(differences(query, target));
        self.edits = self.places.len() as i32;
        if on_reverse {
            self.places.reverse();
        }
        let mut after = 0;
        for &place in &self.places {
            let at = if on_reverse { last - place } else { place };
            push_number(&mut self.text, (at - after) as u64);
            self.text.push(letters[usize::from(target[place].min(4))]);
            after = at + 1;
        }
        push_number(&mut self.text, (query.len() - after) as u64);
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
