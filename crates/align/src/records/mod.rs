//! Records of templates: the parts that several engines write are here; [`tagged`] puts an engine's
//! records in input order, with our tags; [`unsearched`] reads have records, too.

pub(crate) mod tagged;
pub(crate) mod unsearched;

use crate::engine::Read;

/// The tag of a read that is not searched for because of its length, as Bowtie 2 and HISAT2 have
/// it: YF:Z:LN.
pub const UNSEARCHED: &[u8; 6] = b"YFZLN\0";

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
pub fn push_bases(bases: &[u8], is_reverse: bool, body: &mut Vec<u8>) {
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
pub fn push_qualities(read: &Read<'_>, is_reverse: bool, body: &mut Vec<u8>) {
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
