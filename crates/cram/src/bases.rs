//! Aligned bases as differences from the reference: *features*, in the order of the CIGAR (CRAM
//! specification 3.0, section 10.6). What has no feature is equal.

use seqloom_format::bam::cigar::{
    DELETION, HARD_CLIP, INSERTION, PADDING, SKIP, SOFT_CLIP, consumes_read, is_aligned,
};
use seqloom_format::bam::{BASE_LETTERS, CigarOps};

use crate::integers::push_itf8;
use crate::series::{Series, SeriesValues};

/// Letters of two packed bases.
const PAIRS: [[u8; 2]; 256] = {
    let mut pairs = [[0; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        pairs[byte] = [BASE_LETTERS[byte >> 4], BASE_LETTERS[byte & 0xf]];
        byte += 1;
    }
    pairs
};

/// The bases that substitutions have codes for, in the order of the substitution matrix.
const CODED: &[u8; 5] = b"ACGTN";
/// Code of a read's base (column) in place of the reference's (row): transitions first, N last.
const CODES: [[u8; 5]; 5] =
    [[0, 1, 0, 2, 3], [1, 0, 2, 0, 3], [0, 1, 0, 2, 3], [1, 0, 2, 0, 3], [0, 1, 2, 3, 0]];

/// The matrix as a compression header has it: for each reference base the codes of the other four,
/// two bits each.
pub(crate) fn substitution_matrix() -> [u8; 5] {
    std::array::from_fn(|reference| {
        let codes = CODES[reference].iter().enumerate();
        let others = codes.filter(|(base, _)| *base != reference);
        others.fold(0, |bits, (_, code)| bits << 2 | code)
    })
}

/// Place of a letter in [`CODED`].
#[inline]
fn coded(letter: u8) -> Option<usize> {
    CODED.iter().position(|it| *it == letter)
}

/// Replaces `letters` by those of packed bases.
pub(crate) fn unpack(packed: &[u8], count: usize, letters: &mut Vec<u8>) {
    letters.clear();
    letters.reserve(2 * packed.len());
    packed.iter().for_each(|&byte| letters.extend_from_slice(&PAIRS[usize::from(byte)]));
    letters.truncate(count);
}

/// A read that is on a reference.
#[derive(Clone, Copy)]
pub(crate) struct Aligned<'a> {
    pub(crate) cigar: CigarOps<'a>,
    /// 0-based place of its first aligned base.
    pub(crate) position: usize,
    /// Its letters; `None` where the record has no bases (SEQ is `*`).
    pub(crate) bases: Option<&'a [u8]>,
    /// The letters of the whole reference, upper case.
    pub(crate) reference: &'a [u8],
}

/// Tags that a reader can make of an alignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mismatches {
    /// NM.
    pub(crate) count: u64,
    /// Whether every reader makes the same NM and MD.
    pub(crate) are_certain: bool,
}

impl Aligned<'_> {
    /// Adds the features to their series; replaces `md` by the text of MD.
    pub(crate) fn push_features(&self, values: &mut SeriesValues, md: &mut Vec<u8>) -> Mismatches {
        md.clear();
        let mut features = Features {
            values,
            last: 0,
            count: 0,
            md,
            equal: 0,
            mismatches: Mismatches { count: 0, are_certain: self.bases.is_some() },
        };
        let (mut on_read, mut on_reference) = (0, self.position);
        for (code, length) in self.cigar.codes() {
            let length = length as usize;
            match code {
                INSERTION | SOFT_CLIP => features.push_unaligned(code, on_read, length, self.bases),
                DELETION => features.push_deletion(on_read, self.chunk(on_reference, length)),
                SKIP => features.push_length(b'N', Series::SkipLength, on_read, length),
                HARD_CLIP => features.push_length(b'H', Series::HardClipLength, on_read, length),
                PADDING => features.push_length(b'P', Series::PaddingLength, on_read, length),
                _ => {
                    if let Some(bases) = self.bases {
                        let theirs = self.chunk(on_reference, length).bases;
                        features.push_aligned(on_read, &bases[on_read..on_read + length], theirs);
                    }
                }
            }
            on_read += if consumes_read(code) { length } else { 0 };
            let moves = is_aligned(code) || matches!(code, DELETION | SKIP);
            on_reference += if moves { length } else { 0 };
        }
        features.end_md();
        let Features { count, mismatches, .. } = features;
        values.push(Series::FeatureCount, count);
        mismatches
    }

    /// The part of the reference from a place on that there is.
    fn chunk(&self, start: usize, length: usize) -> Chunk<'_> {
        let end = (start + length).min(self.reference.len());
        Chunk { bases: &self.reference[start.min(end)..end], length }
    }

    /// Whether it begins on the reference and deletes only what that has: readers give up on
    /// others.
    pub(crate) fn begins_and_deletes_inside(&self) -> bool {
        let mut place = self.position;
        self.cigar.codes().all(|(code, length)| {
            let start = place;
            let moves = is_aligned(code) || matches!(code, DELETION | SKIP);
            place += if moves { length as usize } else { 0 };
            code != DELETION || self.chunk(start, length as usize).bases.len() == length as usize
        }) && (self.position < self.reference.len() || self.cigar.len() == 0)
    }

    /// Whether the reference has only A, C, G and T under aligned and deleted bases: readers do not
    /// agree on whether others are mismatches.
    pub(crate) fn lies_on_plain_bases(&self) -> bool {
        let mut place = self.position;
        self.cigar.codes().all(|(code, length)| {
            let length = length as usize;
            let start = place;
            place += if is_aligned(code) || matches!(code, DELETION | SKIP) { length } else { 0 };
            let is_compared = is_aligned(code) || code == DELETION;
            let bases = self.chunk(start, length).bases;
            !is_compared || bases.iter().all(|base| matches!(base, b'A' | b'C' | b'G' | b'T'))
        })
    }
}

/// A chunk of the reference, which may end before it.
#[derive(Clone, Copy)]
struct Chunk<'a> {
    bases: &'a [u8],
    length: usize,
}

/// The features of one record as they are written.
struct Features<'v> {
    values: &'v mut SeriesValues,
    /// 1-based place of the last one on the read.
    last: usize,
    count: i32,
    md: &'v mut Vec<u8>,
    /// Equal bases since the last mismatch, as MD counts them.
    equal: u64,
    mismatches: Mismatches,
}

impl Features<'_> {
    /// Begins a feature at a 0-based place of the read.
    fn begin(&mut self, code: u8, place: usize) {
        self.values.bytes(Series::FeatureCode).push(code);
        self.values.push(Series::FeaturePosition, (place + 1 - self.last) as i32);
        self.last = place + 1;
        self.count += 1;
    }

    /// A skip, a clip or padding.
    fn push_length(&mut self, code: u8, series: Series, place: usize, length: usize) {
        self.begin(code, place);
        self.values.push(series, length as i32);
    }

    /// Inserted and clipped bases; N in place of bases that the record has not.
    fn push_unaligned(&mut self, code: u8, place: usize, length: usize, bases: Option<&[u8]>) {
        let (letter, series) = match code {
            SOFT_CLIP => (b'S', Series::SoftClip),
            _ => (b'I', Series::Insertion),
        };
        if code == INSERTION {
            self.mismatches.count += length as u64;
        }
        let bases = bases.map(|bases| &bases[place..place + length]);
        match bases {
            Some(&[base]) if code == INSERTION => {
                self.begin(b'i', place);
                self.values.bytes(Series::Base).push(base);
            }
            Some(bases) => {
                self.begin(letter, place);
                self.values.push_stopped(series, bases);
            }
            None => {
                self.begin(letter, place);
                let bytes = self.values.bytes(series);
                bytes.resize(bytes.len() + length, b'N');
                bytes.push(0);
            }
        }
    }

    fn push_deletion(&mut self, place: usize, deleted: Chunk<'_>) {
        self.push_length(b'D', Series::DeletionLength, place, deleted.length);
        self.mismatches.count += deleted.length as u64;
        self.mismatches.are_certain &= deleted.bases.len() == deleted.length;
        self.end_md();
        self.md.push(b'^');
        self.md.extend_from_slice(deleted.bases);
    }

    /// Bases of the read against those of the reference, which may end before them.
    fn push_aligned(&mut self, place: usize, ours: &[u8], theirs: &[u8]) {
        let (ours, outside) = ours.split_at(theirs.len());
        let mut at = 0;
        while let Some(equal) = first_difference(&ours[at..], &theirs[at..]) {
            at += equal;
            self.equal += equal as u64;
            self.push_mismatch(place + at, ours[at], theirs[at]);
            at += 1;
        }
        self.equal += (ours.len() - at) as u64;
        if !outside.is_empty() {
            self.push_bases(place + ours.len(), outside);
        }
    }

    fn push_mismatch(&mut self, place: usize, ours: u8, theirs: u8) {
        match (coded(theirs), coded(ours)) {
            (Some(reference), Some(base)) => {
                self.begin(b'X', place);
                self.values.bytes(Series::Substitution).push(CODES[reference][base]);
            }
            _ => self.push_bases(place, &[ours]),
        }
        self.mismatches.count += 1;
        self.end_md();
        self.md.push(theirs);
    }

    /// Bases as they are.
    fn push_bases(&mut self, place: usize, bases: &[u8]) {
        self.mismatches.are_certain = false;
        self.begin(b'b', place);
        let bytes = self.values.bytes(Series::Bases);
        push_itf8(bytes, bases.len() as i32);
        bytes.extend_from_slice(bases);
    }

    /// Writes the number of equal bases that MD has between what differs.
    fn end_md(&mut self) {
        let mut digits = [0; 20];
        let mut start = digits.len();
        let mut number = std::mem::take(&mut self.equal);
        loop {
            start -= 1;
            digits[start] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                break;
            }
        }
        self.md.extend_from_slice(&digits[start..]);
    }
}

/// Place of the first difference of two texts of one length.
#[inline]
fn first_difference(ours: &[u8], theirs: &[u8]) -> Option<usize> {
    const WORD: usize = 8;
    let (left, right) = (ours.chunks_exact(WORD), theirs.chunks_exact(WORD));
    let whole = ours.len() / WORD * WORD;
    for (index, (left, right)) in left.zip(right).enumerate() {
        if left != right {
            let at = left.iter().zip(right).position(|(a, b)| a != b)?;
            return Some(index * WORD + at);
        }
    }
    let rest = ours[whole..].iter().zip(&theirs[whole..]);
    rest.into_iter().position(|(a, b)| a != b).map(|at| whole + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_matrix_has_each_code_once_in_a_row() {
        for (reference, row) in CODES.iter().enumerate() {
            let mut codes: Vec<u8> = row.to_vec();
            codes.remove(reference);
            codes.sort_unstable();
            assert_eq!(codes, [0, 1, 2, 3]);
        }
        // A by C, G, T, N: 1, 0, 2, 3.
        assert_eq!(substitution_matrix()[0], 0b01_00_10_11);
    }

    #[test]
    fn differences_are_found_wherever_they_are() {
        for length in 0..40 {
            let theirs = vec![b'A'; length];
            assert_eq!(first_difference(&theirs, &theirs), None);
            for at in 0..length {
                let mut ours = theirs.clone();
                ours[at..].fill(b'C');
                assert_eq!(first_difference(&ours, &theirs), Some(at));
            }
        }
    }
}
