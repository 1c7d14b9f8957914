//! Ranks the suffixes of the sample: sorts them by as many symbols as there are between two of one
//! residue, and those that are equal so far by what follows.
//!
//! A suffix is followed by the next one of its residue, whose rank is known as far as that one has
//! been sorted; so each round over the tied suffixes looks twice as far as the one before (Larsson
//! and Sadakane 2007, doi:10.1016/j.tcs.2007.07.017). Most suffixes of a genome are distinguished
//! before the first round. The last suffix of a residue has fewer than `v` symbols, so it is tied
//! with none: no round looks into the next residue.

use std::num::NonZeroUsize;
use std::ops::Range;

use super::super::error::BuildError;
use super::super::memory::{Large, reserved};
use super::cover::{Cover, Places};
use super::entry::{Entry, Format};
use super::matcher::Matcher;
use super::passes::{PassOptions, Sink, Workers};
use super::ranks::Ranks;
use super::scan::Members;
use super::sort::Sorting;
use super::text::Text;

/// Ranks that are being given.
struct Ranking<'a> {
    format: Format,
    text: &'a Text,
    cover: &'a Cover,
    places: &'a Places,
    /// By place: how many suffixes are smaller; all bits inverted if the suffix is tied.
    ranks: Large<i32>,
    /// Suffixes ranked so far, the place of the last, and its rank.
    given: i32,
    last: usize,
    rank: i32,
}

impl Ranking<'_> {
    fn give(&mut self, at: u64, is_tied: bool) -> Result<(), BuildError> {
        if !is_tied {
            self.rank = self.given;
        }
        let places = [self.last, self.places.of(at)];
        for &place in if is_tied { &places[..] } else { &places[1..] } {
            let Some(rank) = self.ranks.get_mut(place) else {
                return Err(BuildError::SuffixArray("a sample without a place".into()));
            };
            *rank = if is_tied { !self.rank } else { self.rank };
        }
        self.last = places[1];
        self.given += 1;
        Ok(())
    }
}

impl Sink for Ranking<'_> {
    fn entries(&mut self, entries: &[Entry]) -> Result<(), BuildError> {
        for &entry in entries {
            self.give(self.format.position(entry), self.format.is_tied(entry))?;
        }
        Ok(())
    }

    fn tied(&mut self, like: u64) -> Result<u64, BuildError> {
        let (cover, symbols) = (self.cover, self.text.symbols());
        let depth = cover.modulus();
        let mut matcher = Matcher::new(self.text, like, depth);
        let mut count = 0;
        for start in (0..=symbols).step_by(depth as usize) {
            for at in cover.residues().iter().map(|&residue| start + u64::from(residue)) {
                if at + depth <= symbols && matcher.common(at) == depth {
                    self.give(at, count > 0)?;
                    count += 1;
                }
            }
        }
        Ok(count)
    }
}

/// Ranks the sample of `cover`, in passes of at most `cap` entries.
pub(super) fn rank(
    text: &Text,
    cover: Cover,
    cap: u64,
    threads: NonZeroUsize,
    progress: &dyn Fn(f64),
) -> Result<Ranks, BuildError> {
    let format = Format::new(text.symbols());
    let places = Places::new(&cover, text.symbols());
    let all = cover.positions(text.symbols());
    let mut ranks = reserved(all)?;
    ranks.resize(all as usize, 0);
    let (cover_of, places_of) = (&cover, &places);
    let (given, last, rank) = (0, 0, 0);
    let mut ranking =
        Ranking { format, text, cover: cover_of, places: places_of, ranks, given, last, rank };
    let sorting = Sorting { text, format, depth: cover.modulus(), ranks: None };
    Workers::new(sorting, Members::Sample(&cover), all, PassOptions { cap, threads, progress })
        .sort_into(&mut ranking)?;
    let mut ranks = ranking.ranks;
    break_ties(&mut ranks)?;
    Ok(Ranks::new(cover, places, ranks))
}

/// A suffix that is tied with others.
#[derive(Clone, Copy)]
struct Tied {
    /// Rank of the smallest of those, or what distinguishes it from them.
    key: i32,
    place: u32,
}

/// Gives suffixes that are tied, whose ranks are inverted, ranks of their own.
fn break_ties(ranks: &mut [i32]) -> Result<(), BuildError> {
    let count = ranks.iter().filter(|&&rank| rank < 0).count();
    let mut tied: Large<Tied> = reserved(count as u64)?;
    for (place, rank) in ranks.iter_mut().enumerate().filter(|(_, rank)| **rank < 0) {
        *rank = !*rank;
        tied.push(Tied { key: *rank, place: place as u32 });
    }
    tied.sort_unstable_by_key(|it| it.key);
    // So many suffixes of a residue further on is what has not been looked at yet.
    let mut ahead = 1;
    while !tied.is_empty() {
        let (mut from, mut kept) = (0, 0);
        while let Some(first) = tied.get(from) {
            let rank = first.key;
            let length = tied[from..].iter().take_while(|it| it.key == rank).count();
            let group = &mut tied[from..from + length];
            for it in &mut *group {
                let after = ranks.get(it.place as usize + ahead);
                it.key = *after.ok_or_else(|| {
                    BuildError::SuffixArray("a tied sample at the end; this is a bug".into())
                })?;
            }
            group.sort_unstable_by_key(|it| it.key);
            kept = split(&mut tied, from..from + length, rank, kept, ranks);
            from += length;
        }
        tied.truncate(kept);
        ahead *= 2;
    }
    Ok(())
}

/// Ranks the suffixes of a sorted group, the smallest of which has `rank`. Those that are still
/// tied are kept, from `kept` on; returns where they end.
fn split(
    tied: &mut [Tied],
    group: Range<usize>,
    rank: i32,
    mut kept: usize,
    ranks: &mut [i32],
) -> usize {
    let mut at = group.start;
    while at < group.end {
        let key = tied[at].key;
        let length = tied[at..group.end].iter().take_while(|it| it.key == key).count();
        let rank = rank + (at - group.start) as i32;
        for from in at..at + length {
            let place = tied[from].place;
            ranks[place as usize] = rank;
            if length > 1 {
                tied[kept] = Tied { key: rank, place };
                kept += 1;
            }
        }
        at += length;
    }
    kept
}
