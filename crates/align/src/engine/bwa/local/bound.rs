//! Where in a window a mate may align at all: a bound by 5-mers.
//!
//! **The bound.** A local alignment is a chain of runs of matches. Let it have `n` runs, of
//! lengths `L`, and let a match score 1, a mismatch cost 4 or more, and a gap of `g` bases `6 + g`
//! or more. Between two runs there is a mismatch or a gap at least, so the score is at most the
//! sum of `L`, less `4 (n - 1)`, less what gaps cost beyond 4, which is `2 + g` each. A run of `L`
//! bases has `L - 4` 5-mers that query and window have in common on one diagonal (none if that is
//! negative), so that the sum of `L` is at most the number of 5-mers plus `4 n`. Together: a score
//! is at most the number of 5-mers on the diagonals that the alignment uses, plus 4, less 2 for
//! each gap and 1 for each base of a gap. An alignment that uses `m` diagonals has `m - 1` gaps or
//! more, and those it crosses, first to last, are `1 +` the bases of its gaps at most. With `c`
//! 5-mers on a diagonal, the score of an alignment that stays within an interval of diagonals and
//! crosses all of it is thus at most
//!
//! ```text
//! sum over the interval of (max(c - 2, 0) - 1)  +  7
//! ```
//!
//! Columns that pad the query add nothing to a score and hold no 5-mers, so they change none of
//! this; nor does a gap at either end.
//!
//! **What follows.** Where no interval reaches the least score that counts, there is no alignment.
//! Else every alignment that counts is in the union of the intervals that reach it, which falls
//! into *bands*. A cell of the matrix whose score counts is exact if only its band is computed: its
//! best path is in that band, and no path gains by the loss of others. Cells of lower scores may
//! come out lower than they are, and are not looked at.
//!
//! A base that is not known costs 1, which is 3 less than a mismatch. Each block of such bases is
//! between two runs once at most, so the bound is 3 higher for each.
//!
//! **How 5-mers are counted.** One bit a diagonal: where a base of the query equals the window's is
//! a row of bits for each base of the query, the window's own bits for that letter moved by the
//! base's place. Five such rows, one after the other, are a row of 5-mers; rows are added up by
//! full adders, one bit of the sum each. To move by bits is dear and by bytes free, so the bits of
//! each letter are kept eight times, moved by 0 to 7.

use super::super::settings::{Settings, has_gap};
use crate::search::text::Bases;

/// Bases of a k-mer.
const K: usize = 5;
/// 5-mers on a diagonal that a change of diagonals may be worth: what opens a gap, less a
/// mismatch.
const FREE: i32 = 2;
/// The score that an interval without k-mers is below by its length.
const BASE: i32 = 7;
/// What a mismatch costs more than a base that is not known.
const UNKNOWN_GAIN: i32 = 3;

/// Longest query that is counted: a sum has eight bits.
const MOST_BASES: usize = 256;
/// A diagonal of fewer bases has no more than [`FREE`] k-mers.
const LEAST_BASES: usize = K + FREE as usize;
/// Bits of a sum.
const PLANES: usize = 8;
/// Words of 64 diagonals that are counted at once, at most.
const MOST_WORDS: usize = 8;

/// Whether scores are such that the bound holds.
pub(in super::super) fn holds(settings: &Settings) -> bool {
    let gaps = &settings.gaps;
    settings.matching == 1
        && settings.mismatch_score <= -4
        && gaps.open_deletion.min(gaps.open_insertion) >= 6
        && gaps.extend_deletion.min(gaps.extend_insertion) >= 1
}

/// Diagonals, the first and the last: base `at` of the query and base `at + diagonal` of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) struct Band {
    pub(in super::super) first: i32,
    pub(in super::super) last: i32,
}

/// A diagonal with more than [`FREE`] k-mers, and how many more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct DiagonalHit {
    pub(in super::super) diagonal: i32,
    pub(in super::super) gain: i32,
}

/// Bits, `N` words of them.
#[derive(Debug, Clone, Copy)]
struct Bits<const WORDS: usize>([u64; WORDS]);

impl<const WORDS: usize> Bits<WORDS> {
    const NONE: Self = Self([0; WORDS]);

    #[inline(always)]
    fn with(mut self, other: Self, of: impl Fn(u64, u64) -> u64) -> Self {
        for at in 0..WORDS {
            self.0[at] = of(self.0[at], other.0[at]);
        }
        self
    }

    #[inline(always)]
    fn and(self, other: Self) -> Self {
        self.with(other, |one, two| one & two)
    }

    #[inline(always)]
    fn or(self, other: Self) -> Self {
        self.with(other, |one, two| one | two)
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        self.with(other, |one, two| one ^ two)
    }

    /// Adds two rows to this one; the carry.
    #[inline(always)]
    fn add(&mut self, one: Self, two: Self) -> Self {
        let either = self.xor(one);
        let carry = self.and(one).or(either.and(two));
        *self = either.xor(two);
        carry
    }
}

/// Where alignments of a query are to be searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum SearchScope {
    /// It has fewer known bases than the least score.
    Nowhere,
    /// In bands whose bound is at least so much.
    Bands { least: i32 },
    /// In the whole window.
    Everywhere,
}

/// A query as the counter needs it.
#[derive(Debug, Default)]
pub(in super::super) struct QueryKmers {
    codes: Vec<u8>,
}

impl QueryKmers {
    /// Takes codes in place of what was here, and says what of the bound can be had for alignments
    /// that score `least` and more.
    pub(in super::super) fn take(
        &mut self,
        codes: impl Iterator<Item = u8>,
        least: i32,
    ) -> SearchScope {
        self.codes.clear();
        self.codes.extend(codes);
        let blocks = || self.codes.chunk_by(|one, next| (*one < 4) == (*next < 4));
        let known: usize = blocks().filter(|block| block[0] < 4).map(<[u8]>::len).sum();
        if (known as i32) < least {
            return SearchScope::Nowhere;
        }
        let unknown = blocks().filter(|block| block[0] > 3).count() as i32;
        let least = least - UNKNOWN_GAIN * unknown;
        // Fewer words than are listed have to be too few.
        let is_odd = has_gap(&self.codes);
        if !is_odd && least >= BASE && self.codes.len() <= MOST_BASES - K {
            SearchScope::Bands { least }
        } else {
            SearchScope::Everywhere
        }
    }
}

/// Bits of sums, the lowest first, of as many diagonals as are counted at once.
type Sums = [[u64; MOST_WORDS]; PLANES];

/// Working memory of [`count`].
#[derive(Debug, Default)]
pub(super) struct BoundScratch {
    /// Bits of the window, a letter each, by words of 64.
    letters: [Vec<u64>; 4],
    /// The same, moved by 0 to 7 bits, and a row without bits after all.
    moved: Vec<u8>,
    /// Where in `moved` each base of the query begins.
    starts: Vec<u32>,
    /// Sums of k-mers by diagonals, a bit of each in a row.
    sums: Sums,
}

/// The even bits of a word, the first of which is the lowest.
#[inline(always)]
fn even_bits(word: u64) -> u64 {
    let mut bits = word & 0x5555_5555_5555_5555;
    bits = (bits | bits >> 1) & 0x3333_3333_3333_3333;
    bits = (bits | bits >> 2) & 0x0F0F_0F0F_0F0F_0F0F;
    bits = (bits | bits >> 4) & 0x00FF_00FF_00FF_00FF;
    bits = (bits | bits >> 8) & 0x0000_FFFF_0000_FFFF;
    (bits | bits >> 16) & 0xFFFF_FFFF
}

/// Counts the k-mers that a query has in common with a window, by diagonals; puts those with more
/// than [`FREE`] in `out`, in order.
#[inline(always)]
pub(super) fn count<const WORDS: usize>(
    query: &QueryKmers,
    window: &Bases,
    scratch: &mut BoundScratch,
    out: &mut Vec<DiagonalHit>,
) {
    let bases = query.codes.len();
    out.clear();
    if bases < LEAST_BASES || window.len() < LEAST_BASES {
        return;
    }
    // On the first diagonal so many bases are before the window.
    let before = bases - LEAST_BASES;
    let diagonals = before + window.len() - LEAST_BASES + 1;
    let steps = diagonals.div_ceil(64 * WORDS);
    let lead_words = before.div_ceil(64);
    let lead = 64 * lead_words - before;
    // The last base is as many bits further.
    let row = ((lead + bases) / 8 + 1 + steps * 8 * WORDS).next_multiple_of(8);
    spread(window, lead_words, row, scratch);
    move_bits(row, scratch);
    scratch.starts.clear();
    scratch.starts.extend(query.codes.iter().enumerate().map(|(at, &code)| {
        let bit = lead + at;
        let place = if code < 4 { 8 * usize::from(code) + bit % 8 } else { 32 };
        (row * place + bit / 8) as u32
    }));
    let words = (bases - K + 1).next_multiple_of(8);
    scratch.starts.resize(words + K - 1, (32 * row) as u32);
    for step in 0..steps {
        sum::<WORDS>(&scratch.starts, &scratch.moved, 8 * WORDS * step, &mut scratch.sums);
        let first = (64 * WORDS * step) as i32 - before as i32;
        list(&scratch.sums, WORDS, first, out);
    }
}

/// Makes of a window the bits of each letter, after `lead` words, in words for `row` bytes.
#[inline(always)]
fn spread(window: &Bases, lead: usize, row: usize, scratch: &mut BoundScratch) {
    for bits in &mut scratch.letters {
        bits.clear();
        bits.resize(lead, 0);
    }
    for from in (0..window.len()).step_by(64) {
        let halves = [0, 32].map(|at| {
            // The first base is in the lowest bits, its higher bit first.
            let word = if from + at < window.len() { window.word(from + at) } else { 0 };
            let word = word.reverse_bits();
            [even_bits(word), even_bits(word >> 1)]
        });
        let [high, low] = [0, 1].map(|bit| halves[0][bit] | halves[1][bit] << 32);
        let count = window.len() - from;
        let known = if count < 64 { !(u64::MAX << count) } else { u64::MAX };
        let [a, c, g, t] = &mut scratch.letters;
        a.push(!high & !low & known);
        c.push(!high & low & known);
        g.push(high & !low & known);
        t.push(high & low & known);
    }
    for bits in &mut scratch.letters {
        bits.resize(row / 8 + 1, 0);
    }
}

/// Makes the rows of bits that are moved by 0 to 7.
#[inline(always)]
fn move_bits(row: usize, scratch: &mut BoundScratch) {
    let BoundScratch { letters, moved, .. } = scratch;
    moved.resize(33 * row, 0);
    let mut rows = moved.chunks_exact_mut(row);
    for bits in letters {
        for shift in 0..8_u32 {
            let Some(row) = rows.next() else { return };
            let words = row.as_chunks_mut::<8>().0;
            for (word, two) in words.iter_mut().zip(bits.windows(2)) {
                *word = (two[0] >> shift | (two[1] << 1) << (63 - shift)).to_le_bytes();
            }
        }
    }
    if let Some(last) = rows.next() {
        last.fill(0);
    }
}

/// Rows of bits, one after the other, and what of them the next word needs: the last one, and where
/// two neighbours are both set, of the last three pairs.
struct KmerRows<'a, const WORDS: usize> {
    moved: &'a [u8],
    from: usize,
    last: Bits<WORDS>,
    pairs: [Bits<WORDS>; 3],
}

impl<const WORDS: usize> KmerRows<'_, WORDS> {
    /// The row that begins at `start`, and where it ends a k-mer.
    #[inline(always)]
    fn next(&mut self, start: u32) -> Bits<WORDS> {
        let rest = self.moved.get(start as usize + self.from..);
        let mut same = Bits::NONE;
        if let Some(words) = rest.and_then(|rest| rest.as_chunks().0.first_chunk::<WORDS>()) {
            for (bits, word) in same.0.iter_mut().zip(words) {
                *bits = u64::from_le_bytes(*word);
            }
        }
        let [first, second, third] = self.pairs;
        self.pairs = [second, third, self.last.and(same)];
        self.last = same;
        first.and(third).and(same)
    }
}

/// Sums up the words of `64 N` diagonals, `from` bytes on. (What goes to memory is computed by
/// vectors, which are not found otherwise.)
#[inline(always)]
fn sum<const WORDS: usize>(starts: &[u32], moved: &[u8], from: usize, out: &mut Sums) {
    let mut words = KmerRows::<WORDS> { moved, from, last: Bits::NONE, pairs: [Bits::NONE; 3] };
    let [mut ones, mut twos, mut fours] = [Bits::<WORDS>::NONE; 3];
    let [mut p3, mut p4, mut p5, mut p6, mut p7] = [Bits::<WORDS>::NONE; PLANES - 3];
    let (first, rest) = starts.split_at(K - 1);
    for &start in first {
        words.next(start);
    }
    for &[s0, s1, s2, s3, s4, s5, s6, s7] in rest.as_chunks().0 {
        let of_two = [
            ones.add(words.next(s0), words.next(s1)),
            ones.add(words.next(s2), words.next(s3)),
            ones.add(words.next(s4), words.next(s5)),
            ones.add(words.next(s6), words.next(s7)),
        ];
        let of_four = [twos.add(of_two[0], of_two[1]), twos.add(of_two[2], of_two[3])];
        let mut carry = fours.add(of_four[0], of_four[1]);
        for plane in [&mut p3, &mut p4, &mut p5, &mut p6, &mut p7] {
            (*plane, carry) = (plane.xor(carry), plane.and(carry));
        }
    }
    for (out, plane) in out.iter_mut().zip([ones, twos, fours, p3, p4, p5, p6, p7]) {
        out[..WORDS].copy_from_slice(&plane.0);
    }
}

/// Lists diagonals of `words` words, of which the first is `first`, by their sums.
#[inline(always)]
fn list(sums: &Sums, words: usize, first: i32, out: &mut Vec<DiagonalHit>) {
    let [ones, twos, more @ ..] = sums;
    for at in 0..words.min(MOST_WORDS) {
        let mut left = more.iter().fold(ones[at] & twos[at], |bits, plane| bits | plane[at]);
        let planes =
            sums.iter().rposition(|plane| plane[at] & left != 0).map_or(0, |last| last + 1);
        while left != 0 {
            let bit = left.trailing_zeros();
            left &= left - 1;
            let bits = (0..).zip(&sums[..planes]).map(|(plane, sum)| (sum[at] >> bit & 1) << plane);
            let count = bits.fold(0, |count, bit| count | bit) as i32;
            let diagonal = first + (64 * at) as i32 + bit as i32;
            out.push(DiagonalHit { diagonal, gain: count - FREE });
        }
    }
}

/// The bands in which alignments are that score `least` and more, in order, none of which touch.
/// `reach` is working memory.
///
/// A diagonal is in a band if the best interval with it is good enough. Of diagonals with hits that
/// interval has the best that ends there and the best that begins there; of one between two hits it
/// has the best on one side of it, or on both.
pub(in super::super) fn bands(
    hits: &[DiagonalHit],
    least: i32,
    reach: &mut Vec<i32>,
    out: &mut Vec<Band>,
) {
    out.clear();
    let spare = BASE - least;
    // The best interval that begins with each hit, last hit first.
    reach.clear();
    let mut next: Option<(i32, i32)> = None;
    for hit in hits.iter().rev() {
        let ahead = next.map_or(0, |(diagonal, best)| best - (diagonal - hit.diagonal - 1));
        let best = hit.gain - 1 + ahead.max(0);
        reach.push(best);
        next = Some((hit.diagonal, best));
    }
    let mut before: Option<(i32, i32)> = None;
    for (hit, &ahead) in hits.iter().zip(reach.iter().rev()) {
        let here = hit.diagonal;
        let crossed = before.map(|(diagonal, best)| (diagonal, best - (here - diagonal - 1)));
        let behind = hit.gain - 1 + crossed.map_or(0, |(_, best)| best.max(0));
        let between = crossed.filter(|(_, best)| best + ahead + spare >= 0);
        before = Some((here, behind));
        let [back, on] = [ahead, behind].map(|best| best + spare);
        if back < 0 && on < 0 && between.is_none() {
            continue;
        }
        // The first diagonals of bands never decrease: a hit that reaches far back is reached from
        // there too.
        let first = (here - back.max(0)).min(between.map_or(here, |(diagonal, _)| diagonal));
        let last = here + on.max(0);
        match out.last_mut() {
            Some(band) if first <= band.last + 1 => band.last = band.last.max(last),
            _ => out.push(Band { first, last }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::certified_tests::Dice;
    use super::super::dispatch::Kernels;
    use super::*;

    /// The k-mers of each diagonal, one by one.
    fn listed(query: &[u8], window: &[u8]) -> Vec<DiagonalHit> {
        let [bases, length] = [query.len(), window.len()].map(|length| length as i32);
        let count = |diagonal: i32| {
            let starts = (0..=bases - K as i32).filter(|&at| {
                let place = usize::try_from(at + diagonal).ok();
                let of_window = place.and_then(|place| window.get(place..place + K));
                of_window == Some(&query[at as usize..at as usize + K])
            });
            starts.count() as i32
        };
        let hit = |diagonal| DiagonalHit { diagonal, gain: count(diagonal) - FREE };
        (1 - bases..length).map(hit).filter(|hit| hit.gain > 0).collect()
    }

    #[test]
    fn all_diagonals_are_counted_for_every_width() {
        let (mut dice, mut seen) = (Dice(19), 0);
        let mut query = QueryKmers::default();
        let (mut found, mut kernels) = (Vec::new(), Kernels::all());
        for round in 0..600 {
            let longest = [12, 70, MOST_BASES - K][round % 3];
            let bases = K + dice.below(longest - K + 1);
            let rows = K + dice.below([20, 150, 600, 1200][round % 4]);
            let letters = 1 + dice.below(4);
            let mut codes: Vec<u8> = (0..bases).map(|_| dice.below(letters) as u8).collect();
            let mut window: Vec<u8> = (0..rows).map(|_| dice.below(letters) as u8).collect();
            // What the two have in common may be at either end.
            let common = LEAST_BASES.min(bases).min(rows);
            window[..common].copy_from_slice(&codes[bases - common..]);
            window[rows - common..].copy_from_slice(&codes[..common]);
            if dice.below(4) == 0 {
                codes[dice.below(bases)] = 4;
            }
            let mut packed = Bases::default();
            let ascii: Vec<u8> = window.iter().map(|&code| b"ACGT"[usize::from(code)]).collect();
            assert!(packed.take_read(&ascii));
            query.take(codes.iter().copied(), 0);
            let expected = listed(&codes, &window);
            seen += expected.len();
            for kernels in &mut kernels {
                kernels.count(&query, &packed, &mut found);
                assert_eq!(found, expected, "{codes:?} {window:?}");
            }
        }
        assert!(seen > 10_000, "{seen}");
    }
}
