//! Fields of BAM records, which all engines of our own write.

use seqloom_format::bam::{FIXED_BYTES, reg2bin};

use super::reference::Spot;
use crate::engine::Read;

/// FLAG: one of two mates.
pub(super) const PAIRED: u16 = 0x1;
/// FLAG: both mates are where they should be.
pub(super) const PROPER: u16 = 0x2;
/// FLAG: no placement.
pub(super) const UNMAPPED: u16 = 0x4;
/// FLAG: the mate has no placement.
pub(super) const MATE_UNMAPPED: u16 = 0x8;
/// FLAG: the reverse complement is placed.
pub(super) const REVERSE: u16 = 0x10;
/// FLAG: the mate's reverse complement is placed.
pub(super) const MATE_REVERSE: u16 = 0x20;
/// FLAG: the first mate.
pub(super) const FIRST: u16 = 0x40;
/// FLAG: the second mate.
pub(super) const SECOND: u16 = 0x80;
/// FLAG: another placement is the primary one.
pub(super) const SECONDARY: u16 = 0x100;

/// The tag of a read that is not searched for because of its length, as Bowtie 2 and HISAT2 have
/// it: YF:Z:LN.
pub(crate) const OUTSIDE: &[u8; 6] = b"YFZLN\0";

/// The fixed part of a record.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fixed {
    pub(super) flags: u16,
    pub(super) place: Option<Spot>,
    /// That of the mate.
    pub(super) mate: Option<Spot>,
    pub(super) template_length: i32,
    pub(super) mapping_quality: u8,
    /// Operations of the CIGAR.
    pub(super) operations: u32,
    /// Bases of the reference that the record is on.
    pub(super) reference_bases: u32,
}

impl Fixed {
    /// Begins the record of `read`, with its name, in place of what is in `body`.
    pub(super) fn begin(&self, read: &Read<'_>, body: &mut Vec<u8>) {
        body.clear();
        body.extend_from_slice(&self.bytes(read));
        body.extend_from_slice(read.name);
        body.push(0);
    }

    /// As the record of `read` begins.
    pub(super) fn bytes(&self, read: &Read<'_>) -> [u8; FIXED_BYTES] {
        let of = |place: Option<Spot>| {
            place.map_or([-1, -1], |spot| [spot.sequence as i32, spot.position as i32])
        };
        let ([sequence, position], [mate_sequence, mate_position]) =
            (of(self.place), of(self.mate));
        // A record without place has the bin of [-1, 0) (SAM specification 4.2.1).
        let span = if self.place.is_some() { self.reference_bases.into() } else { 1 };
        let bin = u32::from(reg2bin(position.into(), i64::from(position) + span));
        let name_bytes = read.name.len() as u32 + 1;
        let mut bytes = [0; FIXED_BYTES];
        let words = [
            sequence as u32,
            position as u32,
            bin << 16 | u32::from(self.mapping_quality) << 8 | name_bytes,
            u32::from(self.flags) << 16 | self.operations,
            read.bases.len() as u32,
            mate_sequence as u32,
            mate_position as u32,
            self.template_length as u32,
        ];
        for (four, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
            *four = word.to_le_bytes();
        }
        bytes
    }
}

/// Four bits of a letter (SAM specification 4.2.3); N for what is none.
const NIBBLE: [u8; 256] = {
    let mut table = [15; 256];
    let letters = b"=ACMGRSVTWYHKDBN";
    let mut at = 0;
    while at < 16 {
        table[letters[at] as usize] = at as u8;
        table[letters[at].to_ascii_lowercase() as usize] = at as u8;
        at += 1;
    }
    table
};

/// Bases in the order of the strand. Whole bytes are written into room that is there: a loop
/// without a branch a base.
pub(crate) fn push_bases(bases: &[u8], is_reverse: bool, body: &mut Vec<u8>) {
    let nibble = |letter: u8| NIBBLE[usize::from(letter)];
    // The bits of A, C, G and T are 1, 2, 4 and 8: a complement has them turned round.
    let complement = |letter: u8| nibble(letter).reverse_bits() >> 4;
    let start = body.len();
    body.resize(start + bases.len().div_ceil(2), 0);
    let bytes = body[start..].iter_mut();
    if is_reverse {
        let twos = bases.rchunks_exact(2);
        let last = twos.remainder().first().map(|&it| complement(it) << 4);
        let whole = twos.map(|two| complement(two[1]) << 4 | complement(two[0]));
        bytes.zip(whole.chain(last)).for_each(|(byte, two)| *byte = two);
    } else {
        let twos = bases.chunks_exact(2);
        let last = twos.remainder().first().map(|&it| nibble(it) << 4);
        let whole = twos.map(|two| nibble(two[0]) << 4 | nibble(two[1]));
        bytes.zip(whole.chain(last)).for_each(|(byte, two)| *byte = two);
    }
}

/// Qualities in the order of the strand; 0xff where the read has none.
pub(crate) fn push_qualities(read: &Read<'_>, is_reverse: bool, body: &mut Vec<u8>) {
    let start = body.len();
    body.resize(start + read.bases.len(), 0xff);
    let Some(qualities) = read.qualities else { return };
    let slots = body[start..].iter_mut();
    if is_reverse {
        slots.zip(qualities.iter().rev()).for_each(|(slot, it)| *slot = it.saturating_sub(b'!'));
    } else {
        slots.zip(qualities).for_each(|(slot, it)| *slot = it.saturating_sub(b'!'));
    }
}

/// A tag with a number, in the smallest type that holds it.
pub(super) fn push_number(tag: &[u8; 2], number: u32, body: &mut Vec<u8>) {
    body.extend_from_slice(tag);
    if let Ok(small) = u8::try_from(number) {
        body.extend_from_slice(&[b'C', small]);
    } else if let Ok(medium) = u16::try_from(number) {
        body.push(b'S');
        body.extend_from_slice(&medium.to_le_bytes());
    } else {
        body.push(b'I');
        body.extend_from_slice(&number.to_le_bytes());
    }
}

/// A tag with a number that may be below zero.
pub(super) fn push_signed(tag: &[u8; 2], number: i32, body: &mut Vec<u8>) {
    if let Ok(number) = u32::try_from(number) {
        push_number(tag, number, body);
        return;
    }
    body.extend_from_slice(tag);
    if let Ok(small) = i8::try_from(number) {
        body.extend_from_slice(&[b'c', small as u8]);
    } else if let Ok(medium) = i16::try_from(number) {
        body.push(b's');
        body.extend_from_slice(&medium.to_le_bytes());
    } else {
        body.push(b'i');
        body.extend_from_slice(&number.to_le_bytes());
    }
}

pub(super) fn push_decimal(number: u32, out: &mut Vec<u8>) {
    let mut digits = [0; 10];
    let mut at = digits.len();
    let mut rest = number;
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bases_are_two_a_byte_in_the_order_of_the_strand() {
        let t = |bases: &[u8], is_reverse, expected: &[u8]| {
            let mut body = vec![7];
            push_bases(bases, is_reverse, &mut body);
            assert_eq!(body, [&[7], expected].concat());
        };
        t(b"", false, &[]);
        t(b"A", false, &[0x10]);
        t(b"ACGTn", false, &[0x12, 0x48, 0xf0]);
        t(b"", true, &[]);
        t(b"A", true, &[0x80]);
        t(b"AC", true, &[0x48]);
        t(b"AACGN", true, &[0xf2, 0x48, 0x80]);
        t(b"RM", true, &[0xca]);
    }

    #[test]
    fn qualities_lose_their_offset_and_follow_the_strand() {
        let t = |qualities: Option<&[u8]>, is_reverse, expected: &[u8]| {
            let read = Read { name: b"r", bases: b"ACG", qualities };
            let mut body = Vec::new();
            push_qualities(&read, is_reverse, &mut body);
            assert_eq!(body, expected);
        };
        t(Some(b"!5I"), false, &[0, 20, 40]);
        t(Some(b"!5I"), true, &[40, 20, 0]);
        t(None, true, &[0xff; 3]);
    }
}
