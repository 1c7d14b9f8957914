//! Fields of BAM records, which all modes write.

use seqloom_format::bam::{FIXED_BYTES, reg2bin};

use seqloom_align::engine::Read;

use super::reference::Spot;

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
