//! Sorts the suffixes of one bin: by the symbols in their entries, then groups of equal ones by
//! the symbols after those, until the groups are gone or the sample's ranks decide.
//!
//! A suffix has *ended* at a depth when it has fewer symbols than that; the sentinel is smaller
//! than what its padding reads as. So ended suffixes come first among equal ones, the longest last,
//! and leave their group: what is read for a group always starts within the text.
//!
//! Symbols are fetched for all groups of a batch in one loop without branches, because each fetch
//! is a cache miss and a processor overlaps those of independent iterations.

use super::entry::{Entry, Format};
use super::ranks::Ranks;
use super::text::Text;

/// Entries in the groups of a batch: their fetches overlap, and they stay in the second cache.
const BATCH_ENTRIES: usize = 16_384;

/// Longest group that insertion sorts fastest.
const INSERTION_ENTRIES: usize = 24;

/// What is compared with, and what decides in the end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sorting<'a> {
    pub(super) text: &'a Text,
    pub(super) format: Format,
    /// Suffixes with this many equal symbols are tied.
    pub(super) depth: u64,
    /// How ties are broken; without it they are marked in the entries ([`Format::tie`]).
    pub(super) ranks: Option<&'a Ranks>,
}

/// A range of entries of the bin.
#[derive(Debug, Clone, Copy)]
struct SuffixRange {
    start: usize,
    end: usize,
    depth: u64,
}

/// What a worker needs besides the entries; grows to about `16 BATCH_ENTRIES` bytes, and 24 bytes
/// per [`BATCH_ENTRIES`] entries of a bin.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    batch: Vec<SuffixRange>,
    next: Vec<SuffixRange>,
    large: Vec<SuffixRange>,
}

/// Sorts `entries`, which hold their first symbols.
pub(super) fn sort_bin(sorting: &Sorting<'_>, entries: &mut [Entry], scratch: &mut Scratch) {
    sort_keys(sorting.format, entries);
    let all = SuffixRange { start: 0, end: entries.len(), depth: 0 };
    split_large(sorting, entries, all, scratch);
    while let Some(group) = scratch.large.pop() {
        let members = &mut entries[group.start..group.end];
        sorting.fetch(members, group.depth);
        sort_keys(sorting.format, members);
        split_large(sorting, entries, group, scratch);
    }
}

/// Finds the groups of a sorted range; small ones are resolved, in batches, large ones stacked.
fn split_large(
    sorting: &Sorting<'_>,
    entries: &mut [Entry],
    range: SuffixRange,
    scratch: &mut Scratch,
) {
    let mut held = 0;
    let Scratch { batch, next, large } = scratch;
    batch.clear();
    let mut at = range.start;
    while at < range.end {
        let Some(group) = next_group(sorting, entries, &mut at, range) else { continue };
        let length = group.end - group.start;
        if length > BATCH_ENTRIES {
            large.push(group);
            continue;
        }
        batch.push(group);
        held += length;
        if held >= BATCH_ENTRIES {
            resolve(sorting, entries, batch, next);
            held = 0;
        }
    }
    resolve(sorting, entries, batch, next);
}

/// Sorts the groups of a batch, round after round; empties it.
fn resolve(
    sorting: &Sorting<'_>,
    entries: &mut [Entry],
    batch: &mut Vec<SuffixRange>,
    next: &mut Vec<SuffixRange>,
) {
    while !batch.is_empty() {
        for group in &*batch {
            sorting.fetch(&mut entries[group.start..group.end], group.depth);
        }
        next.clear();
        for &group in &*batch {
            let mut at = group.start;
            sort_keys(sorting.format, &mut entries[group.start..group.end]);
            while at < group.end {
                next.extend(next_group(sorting, entries, &mut at, group));
            }
        }
        std::mem::swap(batch, next);
    }
}

/// Moves `at` over the entries with the key of the first one there. They are a group, to be sorted
/// further, if they are several and have not ended or been distinguished by the ranks.
#[inline]
fn next_group(
    sorting: &Sorting<'_>,
    entries: &mut [Entry],
    at: &mut usize,
    range: SuffixRange,
) -> Option<SuffixRange> {
    let start = *at;
    let first = sorting.format.key(entries[start]);
    let mut end = start + 1;
    while end < range.end && sorting.format.key(entries[end]) == first {
        end += 1;
    }
    *at = end;
    if end - start == 1 {
        return None;
    }
    let depth = range.depth + sorting.format.key_symbols();
    let mut group = None;
    settle(sorting, &mut entries[start..end], depth, |rest| {
        if depth >= sorting.depth {
            sorting.break_ties(rest);
        } else if rest.len() > 1 {
            group = Some(SuffixRange { start: end - rest.len(), end, depth });
        }
    });
    group
}

/// Puts those of `entries`, which are equal for `depth` symbols, that have ended first, and does
/// `then` with the others.
fn settle(
    sorting: &Sorting<'_>,
    entries: &mut [Entry],
    depth: u64,
    then: impl FnOnce(&mut [Entry]),
) {
    let last = sorting.text.symbols().checked_sub(depth);
    let has_ended = |entry: Entry| last.is_none_or(|last| sorting.format.position(entry) > last);
    let mut ended = 0;
    for at in 0..entries.len() {
        if has_ended(entries[at]) {
            entries.swap(ended, at);
            ended += 1;
        }
    }
    let (ended, rest) = entries.split_at_mut(ended);
    ended.sort_unstable_by_key(|&entry| std::cmp::Reverse(sorting.format.position(entry)));
    then(rest);
}

impl Sorting<'_> {
    /// Gives entries their symbols from `depth` on.
    #[inline]
    fn fetch(&self, entries: &mut [Entry], depth: u64) {
        for entry in entries {
            *entry = self.format.deeper(self.text, *entry, depth);
        }
    }

    /// Orders or marks entries that are equal as far as symbols are looked at.
    fn break_ties(&self, entries: &mut [Entry]) {
        let Some(ranks) = self.ranks else {
            entries.iter_mut().skip(1).for_each(|entry| self.format.tie(entry));
            return;
        };
        let position = |entry: &Entry| self.format.position(*entry);
        entries.sort_unstable_by(|a, b| ranks.compare(position(a), position(b)));
    }
}

/// Sorts entries by their keys alone: in repeats most of a group have the same, and the sorter is
/// quick when it sees that they are equal.
fn sort_keys(format: Format, entries: &mut [Entry]) {
    if entries.len() <= INSERTION_ENTRIES {
        insertion_sort(format, entries);
    } else {
        entries.sort_unstable_by_key(|&entry| format.key(entry));
    }
}

fn insertion_sort(format: Format, entries: &mut [Entry]) {
    for end in 1..entries.len() {
        let entry = entries[end];
        let key = format.key(entry);
        let mut at = end;
        while at > 0 && format.key(entries[at - 1]) > key {
            entries[at] = entries[at - 1];
            at -= 1;
        }
        entries[at] = entry;
    }
}
