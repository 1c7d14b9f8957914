//! Placements to BAM records.

use seqloom_format::bam::{FIXED_BYTES, reg2bin};

use crate::engine::Read;
use crate::search::text::Genome;

use super::locate::{Placement, Spot};
use super::pairs::Hit;
use super::query::Query;

/// FLAG: one of two mates.
const PAIRED: u16 = 0x1;
/// FLAG: both mates are where they should be.
const PROPER: u16 = 0x2;
/// FLAG: no placement.
const UNMAPPED: u16 = 0x4;
/// FLAG: the reverse complement is placed.
const REVERSE: u16 = 0x10;
/// FLAG: the mate's reverse complement is placed.
const MATE_REVERSE: u16 = 0x20;
/// FLAG: the first mate.
const FIRST: u16 = 0x40;
/// FLAG: the second mate.
const SECOND: u16 = 0x80;
/// FLAG: another placement is the primary one.
pub(super) const SECONDARY: u16 = 0x100;
/// MAPQ of all placements: not known, as Bowtie has it.
const MAPPING_QUALITY: u8 = 255;

/// A record but for its sequence, qualities and tags.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    flags: u16,
    spot: Option<Spot>,
    mate: Option<Spot>,
    template_length: i32,
}

impl Head {
    /// Of a read without a placement.
    pub(super) fn unmapped(flags: u16) -> Self {
        Self { flags: flags | UNMAPPED, spot: None, mate: None, template_length: 0 }
    }

    /// Of a single read.
    pub(super) fn single(flags: u16, spot: Spot) -> Self {
        let flags = flags | if spot.is_reverse { REVERSE } else { 0 };
        Self { flags, spot: Some(spot), mate: None, template_length: 0 }
    }

    /// Of mate `mate`, 0 or 1, of a pair.
    pub(super) fn of_pair(mate: usize, flags: u16, spots: [Spot; 2], lengths: [usize; 2]) -> Self {
        let (own, other) = (spots[mate], spots[1 - mate]);
        let number = if mate == 0 { FIRST } else { SECOND };
        let mate_reverse = if other.is_reverse { MATE_REVERSE } else { 0 };
        let start = own.position.min(other.position);
        let end = |at: usize| spots[at].position + lengths[at] as u64;
        let span = (end(0).max(end(1)) - start) as i32;
        Self {
            flags: Self::single(flags, own).flags | PAIRED | PROPER | number | mate_reverse,
            spot: Some(own),
            mate: Some(other),
            template_length: if own.position == start { span } else { -span },
        }
    }
}

/// What the tags of a placement say.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tags {
    pub(super) place: u64,
    pub(super) stratum: u8,
    /// Placements of the read that are reported.
    pub(super) reported: u32,
    /// Of a pair: which one.
    pub(super) hit: Option<Hit>,
}

impl Tags {
    /// Those of a read's only placement.
    pub(super) fn of(placement: &Placement) -> Self {
        Self { place: placement.place, stratum: placement.stratum, reported: 1, hit: None }
    }
}

impl Head {
    /// The fixed part of a record of `read`.
    fn bytes(&self, read: &Read<'_>) -> [u8; FIXED_BYTES] {
        let numbers = |spot: Option<Spot>| {
            spot.map_or([-1, -1], |spot| [spot.sequence as i32, spot.position as i32])
        };
        let [sequence, position] = numbers(self.spot);
        let [mate_sequence, mate_position] = numbers(self.mate);
        let bases = read.bases.len() as u32;
        // A record without place has the bin of [-1, 0) (SAM specification 4.2.1).
        let end = i64::from(position) + self.spot.map_or(1, |_| bases.into());
        let mapping_quality = if self.spot.is_some() { MAPPING_QUALITY } else { 0 };
        let name_and_quality = u32::from(mapping_quality) << 8 | (read.name.len() as u32 + 1);
        let bin = u32::from(reg2bin(position.into(), end));
        let operations = u32::from(self.spot.is_some());
        let mut bytes = [0; FIXED_BYTES];
        let words = [
            sequence as u32,
            position as u32,
            bin << 16 | name_and_quality,
            u32::from(self.flags) << 16 | operations,
            bases,
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

/// The records of a read: what they have in common is made once for each strand.
#[derive(Debug, Default)]
pub(super) struct Records {
    /// Of a record without place, a forward one, a reverse one: the last that was made.
    bodies: [Vec<u8>; 3],
    /// By the same: where tags start, 0 where there is no record yet.
    ends: [usize; 3],
}

impl Records {
    /// The records that follow are of another read.
    pub(super) fn clear(&mut self) {
        self.ends = [0; 3];
    }

    /// Begins a record of `read`: all but its tags.
    pub(super) fn begin(&mut self, read: &Read<'_>, head: Head) -> &mut Vec<u8> {
        let kind = head.spot.map_or(0, |spot| 1 + usize::from(spot.is_reverse));
        let (body, end) = (&mut self.bodies[kind], &mut self.ends[kind]);
        body.truncate(*end);
        if *end == 0 {
            body.resize(FIXED_BYTES, 0);
            push_text(read, head.spot, body);
            *end = body.len();
        }
        body[..FIXED_BYTES].copy_from_slice(&head.bytes(read));
        body
    }
}

/// Name, CIGAR, bases and qualities.
fn push_text(read: &Read<'_>, spot: Option<Spot>, body: &mut Vec<u8>) {
    body.extend_from_slice(read.name);
    body.push(0);
    if spot.is_some() {
        body.extend_from_slice(&((read.bases.len() as u32) << 4).to_le_bytes());
    }
    let is_reverse = spot.is_some_and(|spot| spot.is_reverse);
    push_bases(read.bases, is_reverse, body);
    push_qualities(read, is_reverse, body);
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

/// Whole bytes are written into room that is there: a loop without a branch a base.
fn push_bases(bases: &[u8], is_reverse: bool, body: &mut Vec<u8>) {
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

fn push_qualities(read: &Read<'_>, is_reverse: bool, body: &mut Vec<u8>) {
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

/// The tags of a placement: NM, MD, NH, for mates HI and MC, and Bowtie's XA, the stratum.
pub(super) fn push_tags(query: &Query, tags: &Tags, genome: Genome<'_>, body: &mut Vec<u8>) {
    let differences = query.all_differences(genome, tags.place);
    push_number(b"NM", differences.count(), body);
    body.extend_from_slice(b"MDZ");
    let is_reverse = tags.place >= genome.bases;
    let mut matching_from = 0;
    let length = query.len();
    let mut one = |at: usize| {
        // `at` counts from the read's first base, MD from the reference's.
        let code = (genome.word(tags.place + at as u64, 1) >> 62) as usize;
        let (at, code) = if is_reverse { (length - 1 - at, 3 - code) } else { (at, code) };
        push_decimal((at - matching_from) as u32, body);
        body.push(b"ACGT"[code]);
        matching_from = at + 1;
    };
    if is_reverse {
        differences.places().rev().for_each(&mut one);
    } else {
        differences.places().for_each(&mut one);
    }
    push_decimal((length - matching_from) as u32, body);
    body.push(0);
    if let Some(hit) = tags.hit {
        body.extend_from_slice(b"MCZ");
        push_decimal(hit.mate_bases, body);
        body.extend_from_slice(b"M\0");
    }
    push_number(b"NH", tags.reported, body);
    if let Some(hit) = tags.hit {
        push_number(b"HI", hit.number, body);
    }
    push_number(b"XA", tags.stratum.into(), body);
}

/// Bowtie's XM of a read without a placement: one more than `--max-placements` where there are
/// more than that.
pub(super) fn push_suppressed(count: u32, body: &mut Vec<u8>) {
    push_number(b"XM", count, body);
}

/// A tag with a number, in the smallest type that holds it.
fn push_number(tag: &[u8; 2], number: u32, body: &mut Vec<u8>) {
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

fn push_decimal(number: u32, out: &mut Vec<u8>) {
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
