//! Goes over a stretch of the text and finds the suffixes that start with some prefix: counts them
//! by the 8 symbols behind it, or puts their entries where those counts say.

use std::ops::Range;

use super::super::bwt::NO_SYMBOL;
use super::cover::Cover;
use super::entry::{Entry, Format};
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

/// A prefix: the first `symbols` symbols from `at` on, which may reach behind the end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Prefix {
    pub(super) at: u64,
    pub(super) symbols: u64,
}

/// Into which bin a suffix falls.
#[derive(Debug, Clone, Copy)]
pub(super) enum Cut<'a> {
    /// By the symbols behind the prefix.
    Symbols,
    /// By the number of these suffixes, which have the prefix and are in order, that are not
    /// larger.
    Splitters(&'a [u64], &'a Ranks),
}

/// What a scan looks for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Search<'a> {
    pub(super) text: &'a Text,
    pub(super) members: Members<'a>,
    pub(super) prefix: Prefix,
    pub(super) cut: Cut<'a>,
}

/// Parts of about the same length of the positions `0 ..= symbols`; part `part` of `parts`.
pub(super) fn stretch(symbols: u64, part: usize, parts: usize, unit: u64) -> Range<u64> {
    let units = symbols / unit + 1;
    let edge = |part: usize| {
        let edge = u128::from(units) * part as u128 / parts as u128;
        (edge as u64 * unit).min(symbols + 1)
    };
    edge(part)..edge(part + 1)
}

impl Search<'_> {
    /// Positions per unit of a stretch.
    pub(super) fn unit(&self) -> u64 {
        match self.members {
            Members::All => WORD_SYMBOLS,
            Members::Sample(cover) => cover.modulus().max(WORD_SYMBOLS),
        }
    }

    /// Calls `found` with the position and the bin of each suffix in `stretch` whose bin is one of
    /// `bins`, ascending.
    pub(super) fn each(
        &self,
        stretch: Range<u64>,
        bins: Range<usize>,
        mut found: impl FnMut(u64, usize),
    ) {
        let whole = self.prefix.symbols == 0 && matches!(self.cut, Cut::Symbols);
        let mut candidate = |at: u64| {
            if let Some(bin) = self.bin_of(at).filter(|bin| bins.contains(bin)) {
                found(at, bin);
            }
        };
        match self.members {
            Members::Sample(cover) => {
                let modulus = cover.modulus();
                for start in stretch.clone().step_by(modulus as usize) {
                    let places = cover.residues().iter().map(|&residue| start + u64::from(residue));
                    places.take_while(|&at| at < stretch.end).for_each(&mut candidate);
                }
            }
            Members::All if whole => {
                each_word(self.text, stretch, bins.clone(), |at, _, bin| found(at, bin));
            }
            Members::All => {
                let first = bin_of_key(self.text.key(self.prefix.at));
                let bins = if self.prefix.symbols == 0 { 0..BINS } else { first..first + 1 };
                each_word(self.text, stretch, bins, |at, _, _| candidate(at));
            }
        }
    }

    /// The bin of the suffix at `at`, if it has the prefix.
    #[inline]
    fn bin_of(&self, at: u64) -> Option<usize> {
        let Prefix { at: like, symbols } = self.prefix;
        if symbols > 0 && self.text.common(at, like, symbols) < symbols {
            return None;
        }
        Some(match self.cut {
            Cut::Symbols => bin_of_key(self.text.key(at + symbols)),
            // One that has ended comes before all others.
            Cut::Splitters(..) if at + symbols > self.text.symbols() => 0,
            Cut::Splitters(splitters, ranks) => {
                splitters.partition_point(|&splitter| ranks.compare(splitter, at).is_le())
            }
        })
    }

    /// Counts the suffixes of a stretch by their bins, one more for each in `counts`.
    pub(super) fn count(&self, stretch: Range<u64>, counts: &mut [u64]) {
        self.each(stretch, 0..counts.len(), |_, bin| counts[bin] += 1);
    }

    /// Puts the entries of the suffixes in `stretch` and `bins` into `slots`, by bin from the first
    /// of `bins` on. Returns whether they had the sizes that were needed, exactly.
    pub(super) fn collect(
        &self,
        format: Format,
        stretch: Range<u64>,
        bins: Range<usize>,
        slots: Vec<&mut [Entry]>,
        buffers: &mut Vec<[Entry; BUFFERED]>,
    ) -> bool {
        let mut filling = Filling::new(slots, buffers);
        let depth = self.prefix.symbols;
        if depth == 0 && matches!((self.members, self.cut), (Members::All, Cut::Symbols)) {
            each_word(self.text, stretch, bins.clone(), |at, near, bin| {
                let entry = near.entry(format, at);
                filling.put(bin - bins.start, entry);
            });
        } else {
            self.each(stretch, bins.clone(), |at, bin| {
                filling.put(bin - bins.start, format.entry(self.text, at, depth));
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
    before: u8,
    words: [u64; 3],
}

impl Near {
    #[inline]
    fn entry(&self, format: Format, at: u64) -> Entry {
        let [a, b, c] = self.words;
        let shift = 2 * (at % WORD_SYMBOLS);
        let before = if shift == 0 { self.before } else { (a >> (64 - shift)) as u8 & 3 };
        format.with([joined(a, b, shift), joined(b, c, shift)], before, at)
    }
}

/// Calls `found` with each position of `stretch` before the end whose 8 symbols are a bin of
/// `bins`, the words there, and the bin.
#[inline]
fn each_word(
    text: &Text,
    stretch: Range<u64>,
    bins: Range<usize>,
    mut found: impl FnMut(u64, &Near, usize),
) {
    let end = stretch.end.min(text.symbols());
    let (first, last) = (bins.start as u16, (bins.end - 1) as u16);
    let mut before = stretch.start.checked_sub(1).map_or(NO_SYMBOL, |at| text.symbol(at));
    let from = (stretch.start / WORD_SYMBOLS) as usize;
    let mut start = stretch.start;
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
            found(start + place, &near, bin_of_key(joined(a, b, 2 * place)));
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
struct Filling<'a, 'b> {
    slots: Vec<&'a mut [Entry]>,
    filled: Vec<u8>,
    buffers: &'b mut Vec<[Entry; BUFFERED]>,
    fits: bool,
}

impl<'a, 'b> Filling<'a, 'b> {
    fn new(slots: Vec<&'a mut [Entry]>, buffers: &'b mut Vec<[Entry; BUFFERED]>) -> Self {
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
