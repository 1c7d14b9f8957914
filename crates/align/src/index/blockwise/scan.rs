//! Goes over a slice of the text: counts suffixes by the 8 symbols that they start with, or puts
//! the entries of some where those counts say.

use std::cmp::Ordering;
use std::ops::Range;

use super::super::bwt::NO_SYMBOL;
use super::cover::Cover;
use super::entry::{Entry, Format};
use super::matcher::Matcher;
use super::ranks::Ranks;
use super::text::{Text, WORD_SYMBOLS, joined};

/// Symbols by which suffixes are dealt out.
pub(super) const BIN_SYMBOLS: u64 = 8;

/// Number of bins.
pub(super) const BINS: usize = 1 << (2 * BIN_SYMBOLS);

/// Entries of a worker's buffer per bin: a cache line, so that the bins' own lines and pages are
/// met once in four entries.
const BUFFERED: usize = 4;

/// Which suffixes are looked at.
#[derive(Debug, Clone, Copy)]
pub(super) enum Members<'a> {
    /// All but the empty one.
    All,
    /// Those of the sample, the empty one among them.
    Sample(&'a Cover),
}

/// Some suffixes of a bin: those between two others.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part<'a> {
    pub(super) bin: usize,
    /// Those that are larger than this one, or are it, where ties are broken.
    pub(super) low: Option<u64>,
    /// Those that are smaller.
    pub(super) high: Option<u64>,
    /// Symbols that are compared. Both edges have that many.
    pub(super) depth: u64,
    /// What decides among them.
    pub(super) ranks: Option<&'a Ranks>,
}

/// What a scan looks for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Search<'a> {
    pub(super) text: &'a Text,
    pub(super) members: Members<'a>,
    /// With it, its suffixes alone, as the only bin.
    pub(super) part: Option<Part<'a>>,
}

/// Parts of about the same length of the positions `0 ..= symbols`; part `part` of `parts`.
pub(super) fn slice(symbols: u64, part: usize, parts: usize, unit: u64) -> Range<u64> {
    let units = symbols / unit + 1;
    let edge = |part: usize| {
        let edge = u128::from(units) * part as u128 / parts as u128;
        (edge as u64 * unit).min(symbols + 1)
    };
    edge(part)..edge(part + 1)
}

impl Search<'_> {
    /// Positions per unit of a slice.
    pub(super) fn unit(&self) -> u64 {
        match self.members {
            Members::All => WORD_SYMBOLS,
            Members::Sample(cover) => cover.modulus().max(WORD_SYMBOLS),
        }
    }

    /// Number of bins.
    pub(super) fn bins(&self) -> usize {
        if self.part.is_some() { 1 } else { BINS }
    }

    /// Calls `found` with the position and the bin of each suffix in `slice` whose bin is one of
    /// `bins`, ascending.
    pub(super) fn each(
        &self,
        slice: Range<u64>,
        bins: Range<usize>,
        mut found: impl FnMut(u64, usize),
    ) {
        let Some(part) = self.part else {
            return self.each_start(slice, bins, |at, _, bin| found(at, bin));
        };
        let matcher = |edge: Option<u64>| edge.map(|at| Matcher::new(self.text, at, part.depth));
        let (mut low, mut high) = (matcher(part.low), matcher(part.high));
        self.each_start(slice, part.bin..part.bin + 1, |at, _, _| {
            let above = low.as_mut().is_none_or(|low| match self.order(&part, low, at) {
                Ordering::Less => false,
                Ordering::Equal => part.ranks.is_some(),
                Ordering::Greater => true,
            });
            if above && high.as_mut().is_none_or(|high| self.order(&part, high, at).is_lt()) {
                found(at, 0);
            }
        });
    }

    /// The order of the suffix at `at` and an edge.
    #[inline]
    fn order(&self, part: &Part<'_>, edge: &mut Matcher<'_>, at: u64) -> Ordering {
        let common = edge.common(at);
        if common < part.depth {
            // Where one is past the end, it is the suffix, and its A the smaller symbol.
            let symbol = |of: u64| self.text.symbol(of + common);
            symbol(at).cmp(&symbol(edge.like()))
        } else if at + part.depth > self.text.symbols() {
            Ordering::Less
        } else {
            part.ranks.map_or(Ordering::Equal, |ranks| ranks.compare(at, edge.like()))
        }
    }

    /// Calls `found` with the position, the words there and the first 8 symbols of each suffix in
    /// `slice` for which those are one of `bins`, ascending.
    #[inline]
    fn each_start(
        &self,
        slice: Range<u64>,
        bins: Range<usize>,
        mut found: impl FnMut(u64, Near, usize),
    ) {
        let Members::Sample(cover) = self.members else {
            return each_word(self.text, slice, bins, found);
        };
        for start in slice.clone().step_by(cover.modulus() as usize) {
            let places = cover.residues().iter().map(|&residue| start + u64::from(residue));
            for at in places.take_while(|&at| at < slice.end) {
                let near = Near::new(self.text, at);
                let bin = bin_of_key(near.window(at)[0]);
                if bins.contains(&bin) {
                    found(at, near, bin);
                }
            }
        }
    }

    /// Counts the suffixes of a slice by their bins, one more for each in `counts`.
    pub(super) fn count(&self, slice: Range<u64>, counts: &mut [u64]) {
        self.each(slice, 0..self.bins(), |_, bin| counts[bin] += 1);
    }

    /// Puts the entries of the suffixes in `slice` and `bins` into the slots of `filling`, by bin
    /// from the first of `bins` on. Returns whether they had the sizes that were needed, exactly.
    pub(super) fn collect(
        &self,
        format: Format,
        slice: Range<u64>,
        bins: Range<usize>,
        mut filling: Filling<'_, '_>,
    ) -> bool {
        if self.part.is_some() {
            self.each(slice, bins, |at, bin| filling.put(bin, format.entry(self.text, at)));
        } else {
            let first = bins.start;
            self.each_start(slice, bins, |at, near, bin| {
                filling.put(bin - first, format.with(near.window(at), near.before(at), at));
            });
        }
        filling.finish()
    }
}

/// The 8 symbols that a key starts with.
#[inline]
pub(super) fn bin_of_key(key: u64) -> usize {
    (key >> (64 - 2 * BIN_SYMBOLS)) as usize
}

/// The words round a position.
#[derive(Clone, Copy)]
struct Near {
    /// The symbol before the first word.
    before: u8,
    words: [u64; 3],
}

impl Near {
    fn new(text: &Text, at: u64) -> Self {
        let start = at - at % WORD_SYMBOLS;
        let before = start.checked_sub(1).map_or(NO_SYMBOL, |before| text.symbol(before));
        let words = std::array::from_fn(|word| text.key(start + WORD_SYMBOLS * word as u64));
        Self { before, words }
    }

    /// The symbol before the suffix at `at`.
    #[inline]
    fn before(&self, at: u64) -> u8 {
        let shift = 2 * (at % WORD_SYMBOLS);
        if shift == 0 { self.before } else { (self.words[0] >> (64 - shift)) as u8 & 3 }
    }

    /// The 64 symbols from `at` on.
    #[inline]
    fn window(&self, at: u64) -> [u64; 2] {
        let ([a, b, c], shift) = (self.words, 2 * (at % WORD_SYMBOLS));
        [joined(a, b, shift), joined(b, c, shift)]
    }
}

/// Calls `found` with each position of `slice` before the end whose 8 symbols are a bin of
/// `bins`, the words there, and the bin.
#[inline]
fn each_word(
    text: &Text,
    slice: Range<u64>,
    bins: Range<usize>,
    mut found: impl FnMut(u64, Near, usize),
) {
    let end = slice.end.min(text.symbols());
    let (first, last) = (bins.start as u16, (bins.end - 1) as u16);
    let mut before = slice.start.checked_sub(1).map_or(NO_SYMBOL, |at| text.symbol(at));
    let from = (slice.start / WORD_SYMBOLS) as usize;
    let mut start = slice.start;
    for words in text.words()[from..].windows(3) {
        if start >= end {
            break;
        }
        let [a, b, c] = [words[0], words[1], words[2]];
        let mut chosen = chosen(a, b, first, last);
        if end - start < WORD_SYMBOLS {
            chosen &= (1 << (end - start)) - 1;
        }
        let near = Near { before, words: [a, b, c] };
        while chosen != 0 {
            let place = u64::from(chosen.trailing_zeros());
            chosen &= chosen - 1;
            found(start + place, near, bin_of_key(joined(a, b, 2 * place)));
        }
        before = (a & 3) as u8;
        start += WORD_SYMBOLS;
    }
}

/// Which of the 32 positions of word `a`, which `b` follows, start with a bin of `first ..= last`:
/// the first is the lowest bit.
#[inline]
fn chosen(a: u64, b: u64, first: u16, last: u16) -> u32 {
    let width = last - first;
    let within = |word: u64, place: u32| {
        let bin = (word >> (64 - 2 * BIN_SYMBOLS as u32 - 2 * place)) as u16;
        u32::from(bin.wrapping_sub(first) <= width)
    };
    // No place of the first word's bins reaches into the second; of its end, all do.
    let end = joined(a, b, 2 * (WORD_SYMBOLS - BIN_SYMBOLS));
    let mut chosen = 0;
    for place in 0..(WORD_SYMBOLS - BIN_SYMBOLS) as u32 {
        chosen |= within(a, place) << place;
    }
    for place in 0..BIN_SYMBOLS as u32 {
        chosen |= within(end, place) << (place + (WORD_SYMBOLS - BIN_SYMBOLS) as u32);
    }
    chosen
}

/// Slots that are being filled, each through a buffer.
pub(super) struct Filling<'a, 'b> {
    slots: Vec<&'a mut [Entry]>,
    filled: Vec<u8>,
    buffers: &'b mut Vec<[Entry; BUFFERED]>,
    fits: bool,
}

impl<'a, 'b> Filling<'a, 'b> {
    pub(super) fn new(
        slots: Vec<&'a mut [Entry]>,
        buffers: &'b mut Vec<[Entry; BUFFERED]>,
    ) -> Self {
        buffers.resize(slots.len(), Default::default());
        Self { filled: vec![0; slots.len()], slots, buffers, fits: true }
    }

    #[inline]
    fn put(&mut self, bin: usize, entry: Entry) {
        let filled = usize::from(self.filled[bin]);
        self.buffers[bin][filled % BUFFERED] = entry;
        self.filled[bin] = ((filled + 1) % BUFFERED) as u8;
        if filled + 1 == BUFFERED {
            self.flush(bin, BUFFERED);
        }
    }

    #[inline]
    fn flush(&mut self, bin: usize, filled: usize) {
        match self.slots[bin].split_off_mut(..filled) {
            Some(place) => place.copy_from_slice(&self.buffers[bin][..filled]),
            None => self.fits = false,
        }
    }

    /// Empties the buffers; whether all slots are full.
    fn finish(mut self) -> bool {
        for bin in 0..self.slots.len() {
            self.flush(bin, usize::from(self.filled[bin]));
        }
        self.fits && self.slots.iter().all(|slot| slot.is_empty())
    }
}
