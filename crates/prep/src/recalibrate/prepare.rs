//! A read as its covariates are counted: without what it read of the adaptor, and without soft
//! clips.

use seqloom_format::bam::cigar::{DELETION, HARD_CLIP, SOFT_CLIP, consumes_read};
use seqloom_format::bam::{Flags, RecordRef};

use super::cigar::{self, Clip, Op};

/// Code of what is no A, C, G or T.
pub(super) const NO_BASE: u8 = 4;

/// Code 0..=3 of A, C, G, T for each 4-bit code of BAM (`=ACMGRSVTWYHKDBN`).
const CODES: [u8; 16] = [4, 0, 1, 4, 2, 4, 4, 4, 3, 4, 4, 4, 4, 4, 4, 4];

/// The two codes of each byte of packed bases.
const PAIRS: [[u8; 2]; 256] = {
    let mut pairs = [[0; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        pairs[byte] = [CODES[byte >> 4], CODES[byte & 15]];
        byte += 1;
    }
    pairs
};

/// Code 0..=3 of A, C, G, T in either case, else [`NO_BASE`]. Computed and not looked up, so that
/// the compiler does many bases at a time.
#[inline]
pub(super) fn reference_code(letter: u8) -> u8 {
    let upper = letter & 0xdf;
    let is_base = (upper == b'A') | (upper == b'C') | (upper == b'G') | (upper == b'T');
    // Bits 1 and 2 of the four letters are 0, 1, 3, 2.
    let gray = letter >> 1 & 3;
    if is_base { gray ^ gray >> 1 } else { NO_BASE }
}

/// Unpacks bases `first..last` of a record.
pub(super) fn unpack(record: &RecordRef<'_>, first: usize, last: usize, codes: &mut Vec<u8>) {
    codes.clear();
    let from = first / 2;
    let packed = record.packed_bases().get(from..last.div_ceil(2)).unwrap_or_default();
    codes.extend(packed.iter().flat_map(|&byte| PAIRS[usize::from(byte)]));
    codes.truncate(last - 2 * from);
    if first % 2 == 1 && !codes.is_empty() {
        codes.remove(0);
    }
}

/// Clipped bounds of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Clipped {
    /// First base kept, in the record.
    pub(super) first: usize,
    /// One past the last base kept.
    pub(super) last: usize,
    /// Reference position of the first aligned base, 0-based.
    pub(super) start: i64,
}

/// A read that is being clipped: `ops` describe what is left, `spare` is scratch.
struct Cutting<'a> {
    ops: &'a mut Vec<Op>,
    spare: &'a mut Vec<Op>,
    left: Clipped,
}

impl Cutting<'_> {
    fn bases(&self) -> usize {
        self.left.last - self.left.first
    }

    /// Clips; `None` where nothing is left.
    fn clip(&mut self, clip: Clip) -> Option<()> {
        let is_nothing = match clip {
            Clip::Left(count) => count >= self.bases(),
            Clip::Right(index) => index == 0,
        };
        if is_nothing || !cigar::clip(self.ops, clip, self.spare) {
            return None;
        }
        match clip {
            Clip::Left(count) => {
                self.left.start += cigar::start_shift(self.ops, count);
                self.left.first += count;
            }
            Clip::Right(index) => self.left.last = self.left.first + index,
        }
        std::mem::swap(self.ops, self.spare);
        Some(())
    }

    /// Cuts off what is after the other end of the template: adaptor.
    fn clip_adaptor(&mut self, record: &RecordRef<'_>) -> Option<()> {
        let start = self.left.start;
        let end = start + cigar::reference_span(self.ops) - 1;
        let Some(boundary) = adaptor_boundary(record, start, end) else { return Some(()) };
        if boundary < start || boundary > end {
            return Some(());
        }
        let soft_start = start - cigar::leading_soft_clip(self.ops);
        let Some((index, code)) = cigar::read_index(self.ops, soft_start, boundary) else {
            return Some(());
        };
        if !record.has_flags(Flags::REVERSE) {
            return self.clip(Clip::Right(index));
        }
        match index + usize::from(code != DELETION) {
            0 => Some(()),
            count => self.clip(Clip::Left(count)),
        }
    }

    /// Cuts off soft clips, the right one first.
    fn clip_soft(&mut self) -> Option<()> {
        let (mut index, mut left, mut right, mut is_after) = (0_usize, 0, None, false);
        for &(code, len) in self.ops.iter() {
            match code {
                SOFT_CLIP if is_after => right = Some(index),
                SOFT_CLIP => left = index + len as usize,
                HARD_CLIP => {}
                _ => is_after = true,
            }
            index += if consumes_read(code) { len as usize } else { 0 };
        }
        if let Some(index) = right {
            self.clip(Clip::Right(index))?;
        }
        if left > 0 { self.clip(Clip::Left(left)) } else { Some(()) }
    }
}

/// Clips `record`, whose CIGAR fits its bases, and writes what is left of the CIGAR to `ops`;
/// `None` where nothing is left.
pub(super) fn prepare(
    record: &RecordRef<'_>,
    ops: &mut Vec<Op>,
    spare: &mut Vec<Op>,
) -> Option<Clipped> {
    if !cigar::canonical(record.full_cigar().codes(), ops) {
        return None;
    }
    let start = i64::from(record.position());
    let left = Clipped { first: 0, last: record.base_count(), start };
    let mut cutting = Cutting { ops, spare, left };
    cutting.clip_adaptor(record)?;
    cutting.clip_soft()?;
    Some(cutting.left)
}

/// First reference position that is adaptor, seen from the read: it goes on to the right of it for
/// a forward read, to the left for a reverse one. `None` where mates do not face each other.
fn adaptor_boundary(record: &RecordRef<'_>, start: i64, end: i64) -> Option<i64> {
    let template = i64::from(record.template_length());
    let mate = i64::from(record.mate_position());
    let is_reverse = record.has_flags(Flags::REVERSE);
    let is_mate_mapped = record.has_flags(Flags::PAIRED)
        && !record.has_flags(Flags::MATE_UNMAPPED)
        && record.mate_reference_id() >= 0
        && mate != -1;
    if template == 0 || !is_mate_mapped || is_reverse == record.has_flags(Flags::MATE_REVERSE) {
        return None;
    }
    let is_facing = if is_reverse { end > mate } else { start <= mate + template };
    is_facing.then_some(if is_reverse { mate - 1 } else { start + template.abs() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_letters() {
        for letter in 0..=255_u8 {
            let at = b"ACGTacgt".iter().position(|&it| it == letter);
            assert_eq!(reference_code(letter), at.map_or(NO_BASE, |at| at as u8 & 3), "{letter}");
        }
    }
}
