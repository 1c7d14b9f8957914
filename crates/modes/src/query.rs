//! A read as searches take it, and how it differs from the genome.

use seqloom_align::index::CODE;
use seqloom_align::search::{Genome, WORD_BASES};

/// Longest read that is searched for, in bases: single reads of Illumina, merged mates, Sanger's.
/// [`score`](super::by_score::score) and [`seeds`](super::by_score::seeds) prove that numbers of
/// such reads fit their types.
pub(super) const LONGEST_READ: usize = 1024;
/// Words that hold the longest read.
const WORDS: usize = LONGEST_READ.div_ceil(WORD_BASES);
/// The higher bit of each base's two.
const HIGHER_BITS: u64 = 0xAAAA_AAAA_AAAA_AAAA;
/// What stands for a base that is not A, C, G or T.
pub(super) const UNKNOWN: u8 = 4;

/// A read of [`LONGEST_READ`] bases at most; of a longer one nothing is here, as it is not searched
/// for.
#[derive(Debug, Clone)]
pub(super) struct Query {
    length: usize,
    codes: [u8; LONGEST_READ],
    /// Two bits a base, the first in the highest; unknown bases are zero.
    words: [u64; WORDS],
    /// The higher bit of each unknown base.
    unknown: [u64; WORDS],
    /// Quality of each base.
    qualities: [u8; LONGEST_READ],
}

impl Default for Query {
    fn default() -> Self {
        Self {
            length: 0,
            codes: [0; LONGEST_READ],
            words: [0; WORDS],
            unknown: [0; WORDS],
            qualities: [0; LONGEST_READ],
        }
    }
}

/// Bases, two bits each, the first in the highest; unknown ones are zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Word {
    bases: u64,
    /// The higher bit of each unknown base.
    unknown: u64,
}

/// The same, where what is after the read is not known.
#[derive(Debug, Clone, Copy)]
pub(super) struct KnownWord {
    pub(super) bases: u64,
    /// The higher bit of each base that is known.
    pub(super) known: u64,
}

/// Where a read and the genome differ, in the read's order: the higher bit of each base's two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Differences {
    words: [u64; WORDS],
    /// Words of the read; the others are zero.
    count: usize,
}

impl Query {
    /// Takes a read in place of what was here, or no base of one that is too long.
    pub(super) fn take(&mut self, ascii: &[u8], qualities: Option<&[u8]>) {
        let ascii = if ascii.len() > LONGEST_READ { &[] } else { ascii };
        self.length = ascii.len();
        for (code, &letter) in self.codes.iter_mut().zip(ascii) {
            *code = CODE[usize::from(letter)];
        }
        // What is after the read in its last word is known and zero.
        let padded = self.length.next_multiple_of(WORD_BASES).min(LONGEST_READ);
        self.codes[self.length..padded].fill(0);
        for (word, chunk) in self.codes[..padded].chunks(WORD_BASES).enumerate() {
            let Word { bases, unknown } = pack(chunk);
            (self.words[word], self.unknown[word]) = (bases, unknown);
        }
        // Bowtie takes bases without qualities for good ones.
        match qualities {
            Some(all) => self.qualities[..self.length].copy_from_slice(&all[..self.length]),
            None => self.qualities[..self.length].fill(b'I'),
        }
    }

    /// Number of bases.
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// Codes 0 to 3 of the bases, [`UNKNOWN`] of others.
    #[inline(always)]
    pub(super) fn codes(&self) -> &[u8] {
        &self.codes[..self.length]
    }

    /// Its bases, [`WORD_BASES`] at a time.
    #[inline(always)]
    pub(super) fn words(&self) -> impl Iterator<Item = KnownWord> {
        let words = (0..self.length).step_by(WORD_BASES).zip(&self.words).zip(&self.unknown);
        words.map(|((from, &bases), &unknown)| {
            let after = 2 * (self.length - from).min(WORD_BASES) as u32;
            let known = HIGHER_BITS & !unknown & !u64::MAX.checked_shr(after).unwrap_or(0);
            KnownWord { bases, known }
        })
    }

    /// Qualities of the bases.
    pub(super) fn qualities(&self) -> impl Iterator<Item = u8> {
        self.qualities[..self.length].iter().map(|quality| quality.saturating_sub(b'!'))
    }

    /// What all differences cost, where that at a base of a quality is `cost`.
    #[inline(always)]
    pub(super) fn cost(&self, differences: &Differences, cost: impl Fn(u8) -> u8) -> u32 {
        let of_base = |at: usize| u32::from(cost(self.qualities[at].saturating_sub(b'!')));
        differences.places().map(of_base).sum()
    }

    /// Where the read differs from the bases that start at `place` of `T`, which must be on one
    /// strand.
    pub(super) fn all_differences(&self, genome: Genome<'_>, place: u64) -> Differences {
        self.differences(genome, place, u32::MAX).unwrap_or(Differences::NONE)
    }

    /// Words of the read.
    #[inline(always)]
    pub(super) fn word_count(&self) -> usize {
        self.length.div_ceil(WORD_BASES)
    }

    /// Where the read's word number `word` differs, if the read starts at `place` of `T`, from what
    /// is there, which must be on one strand: the higher bit of each base's two.
    #[inline(always)]
    pub(super) fn differences_of(&self, genome: Genome<'_>, place: u64, word: usize) -> u64 {
        let from = word * WORD_BASES;
        let count = (self.length - from).min(WORD_BASES);
        let either = genome.word(place + from as u64, count) ^ self.words[word];
        // One past the last base both are zero.
        (either | either << 1) & HIGHER_BITS | self.unknown[word]
    }

    /// Where the read differs from the bases that start at `place` of `T`, which must be on one
    /// strand; `None` where that is in more than `most` places.
    #[inline(always)]
    pub(super) fn differences(
        &self,
        genome: Genome<'_>,
        place: u64,
        most: u32,
    ) -> Option<Differences> {
        let mut found = Differences { count: self.word_count(), ..Differences::NONE };
        let mut sum = 0;
        for word in 0..found.count {
            let bits = self.differences_of(genome, place, word);
            found.words[word] = bits;
            sum += bits.count_ones();
            if sum > most {
                return None;
            }
        }
        Some(found)
    }
}

/// Up to [`WORD_BASES`] codes as a word.
#[inline(always)]
fn pack(codes: &[u8]) -> Word {
    let (mut bases, mut unknown) = (0, 0);
    let mut shift = 64;
    for eight in codes.chunks(8) {
        let mut bytes = [0; 8];
        bytes[..eight.len()].copy_from_slice(eight);
        let bytes = u64::from_be_bytes(bytes);
        shift -= 16;
        bases |= pack_eight(bytes & 0x0303_0303_0303_0303) << shift;
        // The bit of UNKNOWN, moved to where the higher bit of a base is.
        unknown |= pack_eight(bytes >> 1 & 0x0202_0202_0202_0202) << shift;
    }
    Word { bases, unknown }
}

/// The two lowest bits of each byte side by side, those of the highest byte first.
#[inline(always)]
fn pack_eight(bytes: u64) -> u64 {
    let fours = (bytes | bytes >> 6) & 0x000F_000F_000F_000F;
    let eights = (fours | fours >> 12) & 0x0000_00FF_0000_00FF;
    (eights | eights >> 24) & 0xFFFF
}

/// Takes the first of the places that a word's higher bits say.
#[inline(always)]
pub(super) fn pop(bits: &mut u64) -> Option<usize> {
    let first = (*bits != 0).then(|| bits.leading_zeros())?;
    *bits &= !(1 << 63 >> first);
    Some(first as usize / 2)
}

impl Differences {
    /// None at all.
    const NONE: Self = Self { words: [0; WORDS], count: 0 };

    /// Words of the read.
    #[inline(always)]
    fn words(&self) -> &[u64] {
        &self.words[..self.count]
    }

    /// Number of places.
    #[inline(always)]
    pub(super) fn count(&self) -> u32 {
        self.words().iter().map(|word| word.count_ones()).sum()
    }

    /// Number of places in bases `[from, end)`.
    #[inline(always)]
    pub(super) fn count_in(&self, from: usize, end: usize) -> u32 {
        let words = from / WORD_BASES..end.div_ceil(WORD_BASES);
        let inside = |word: usize| {
            let first = word * WORD_BASES;
            let mut bits = self.words[word];
            if from > first {
                bits &= u64::MAX >> (2 * (from - first));
            }
            if end < first + WORD_BASES {
                bits &= !(u64::MAX >> (2 * (end - first)));
            }
            bits.count_ones()
        };
        words.map(inside).sum()
    }

    /// The places in order.
    pub(super) fn places(&self) -> impl DoubleEndedIterator<Item = usize> + '_ {
        let in_word =
            |(word, &bits): (usize, &u64)| PlacesOfWord(bits).map(move |at| word * WORD_BASES + at);
        self.words().iter().enumerate().flat_map(in_word)
    }
}

/// The places of a word of [`Differences`] in order.
struct PlacesOfWord(u64);

impl Iterator for PlacesOfWord {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        pop(&mut self.0)
    }
}

impl DoubleEndedIterator for PlacesOfWord {
    #[inline(always)]
    fn next_back(&mut self) -> Option<usize> {
        let last = (self.0 != 0).then(|| 63 - self.0.trailing_zeros())?;
        self.0 &= self.0 - 1;
        Some(last as usize / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Base by base.
    fn packed(codes: &[u8]) -> Word {
        let words = |value: fn(u8) -> u64| {
            let bits = codes.iter().fold(0, |word: u64, &code| word << 2 | value(code));
            if codes.is_empty() { 0 } else { bits << (2 * (WORD_BASES - codes.len())) }
        };
        Word {
            bases: words(|code| u64::from(code % UNKNOWN)),
            unknown: words(|code| u64::from(code / UNKNOWN) << 1),
        }
    }

    proptest! {
        #[test]
        fn eight_bases_at_once_are_packed_as_one_by_one(
            codes in proptest::collection::vec(0_u8..=UNKNOWN, 0..=WORD_BASES),
        ) {
            prop_assert_eq!(pack(&codes), packed(&codes));
        }

        #[test]
        fn a_query_is_its_read_whatever_it_was_before(
            before in proptest::collection::vec(any::<u8>(), 0..=LONGEST_READ + 9),
            read in proptest::collection::vec(
                prop::sample::select(b"ACGTacgtNR.-*".to_vec()), 0..=LONGEST_READ + 9,
            ),
        ) {
            let mut query = Query::default();
            query.take(&before, Some(&vec![b'#'; before.len()]));
            query.take(&read, None);
            // A read that is too long is as one without bases.
            let length = if read.len() > LONGEST_READ { 0 } else { read.len() };
            prop_assert_eq!(query.len(), length);
            let codes: Vec<u8> = read[..length].iter().map(|&it| CODE[usize::from(it)]).collect();
            prop_assert_eq!(query.codes(), &codes[..]);
            for (word, chunk) in codes.chunks(WORD_BASES).enumerate() {
                let found = Word { bases: query.words[word], unknown: query.unknown[word] };
                prop_assert_eq!(found, packed(chunk));
            }
            let mut all = Differences { count: query.word_count(), ..Differences::NONE };
            all.words[..all.count].copy_from_slice(&query.unknown[..all.count]);
            let unknown = codes.iter().filter(|&&code| code == UNKNOWN).count() as u32;
            prop_assert_eq!(query.cost(&all, |quality| quality), 40 * unknown);
        }
    }
}
